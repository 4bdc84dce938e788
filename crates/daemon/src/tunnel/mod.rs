//! `airwattd tunnel`: all flows of a client in bursts over one UDP path, so that its radio wakes up less often.
//!
//! The mechanism is [`airwatt_proto::tunnel`], the same machine as in simulations, over [`airwatt_proto::session`], which
//! authenticates and encrypts its datagrams. This is their host: a TUN device, a UDP socket, the configuration (`config`) and
//! who may send what (`peers`). Both ends run the same program, and `pair` writes the files of both.

mod association;
mod config;
mod example;
mod host;
mod known_paths;
mod own_address;
mod pair;
mod peers;
mod routing;
mod run;
mod show;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use crate::common::{ByFile, ByName, Foreground, Shown};
use crate::failure::Failure;
use crate::file_format::Format;
use crate::instance::{Instance, to_restore};
use crate::peering::Peering as _;

/// The kind of daemon, in the names of its files.
pub(crate) const KIND: &str = "tunnel";

/// The daemon of an interface.
fn instance(name: &str) -> Instance<'_> {
    Instance { kind: KIND, program: "airwattd tunnel", name }
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run one end of a tunnel in the foreground, until SIGTERM
    Up(Up),
    /// End a tunnel and restore the host
    Down(Down),
    /// Show the peers of running tunnels, and what they have counted
    #[command(visible_alias = "status")]
    Show(Shown),
    /// Undo what a killed tunnel has left
    Restore(Down),
    /// Print a unit for systemd
    Unit(ByFile),
    /// Print a commented configuration
    Example(Example),
    /// Write the configurations of both ends of a new tunnel, with keys
    Pair(pair::Pair),
    /// Wait for the end of the tunnel that started this, and restore the host
    #[command(hide = true)]
    Guard(ByName),
}

#[derive(Args)]
pub(crate) struct Down {
    /// The configuration (TOML), or the interface
    #[arg(value_name = "FILE|INTERFACE")]
    argument: PathBuf,
}

#[derive(Args)]
#[command(after_help = "Examples:
  airwattd tunnel up /etc/airwatt/tunnel.toml
  airwattd tunnel up tunnel.toml --dry-run

  airwattd tunnel example > tunnel.toml   # a configuration with comments")]
pub(crate) struct Up {
    /// The configuration (TOML)
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    foreground: Foreground,
}

#[derive(Args)]
pub(crate) struct Example {
    /// Which end it is for
    #[arg(value_enum, default_value = "client")]
    end: config::End,
}

/// The configuration file, for its manual page.
pub(crate) fn format() -> Format {
    Format::new::<config::Config>(
        "tunnel",
        "configuration of an airwatt tunnel",
        "Each end of a tunnel has a file, by custom /etc/airwatt/NAME.toml with the name of its interface, where \
         airwattd-tunnel@NAME.service reads it. It holds a private key, so that it is for root alone.",
    )
    .metrics(show::metric_names())
    .example("EXAMPLE: A CLIENT", example::CLIENT)
    .example("EXAMPLE: A CONCENTRATOR", example::CONCENTRATOR)
}

/// Runs one command.
pub(crate) fn run(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Up(options) => run::up(options),
        Command::Show(options) => show::show(options),
        Command::Restore(options) => {
            let read = |file: &Path| Ok(config::Config::read(file)?.interface);
            let name = to_restore(KIND, &options.argument, read)?;
            let usual = PathBuf::from(format!("/etc/airwatt/{name}.toml"));
            let is_file = options.argument.is_file();
            instance(&name).restore_named(if is_file { &options.argument } else { &usual })
        }
        Command::Down(options) => run::down(&options.argument),
        Command::Unit(options) => run::unit(&options.file),
        Command::Example(options) => {
            example::print(options.end);
            Ok(())
        }
        Command::Pair(options) => pair::pair(options),
        Command::Guard(name) => instance(&name.interface).guard(&run::PRIVILEGES, || (), |()| ()),
    }
}
