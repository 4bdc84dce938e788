//! `airwattd gateway`: TCP connections of mobiles over E2TCP between a base station and the mobiles.
//!
//! The mechanism is [`airwatt_proto::gateway::SplitProxy`], over [`airwatt_proto::session`], which authenticates and encrypts what
//! the two ends send each other. This is its host: sockets of the kernel on one side (`sockets`), a UDP socket on the other
//! (`ends`), the rules that lead connections here (`rules`), and the configuration (`config`). Both ends run the same program.
//!
//! A connection is not accepted before the host beyond has accepted it. A rule leads the SYN, and nothing else, into a TUN device,
//! where this process holds it. When the other end has connected, the SYN is written back to the device and a rule of TPROXY
//! hands it to a listening socket, with both addresses kept; from then on the kernel's TCP does the work. All of this ends with the
//! process: the device and the table of rules belong to it.
//!
//! With `mode = "base-only"` the mobiles have no daemon: the same machine, alone, splits their connections between two
//! sockets of this kernel, and there are neither peers nor datagrams.

mod config;
mod ends;
mod example;
mod host;
mod local;
mod note_log;
mod rules;
mod run;
mod sockets;
mod status;
mod tails;

use std::path::{Path, PathBuf};

use airwatt_base::Span;
use clap::{Args, Subcommand};

use self::config::Mode;
use crate::common::{ByFile, Foreground, Shown};
use crate::failure::Failure;
use crate::file_format::Format;
use crate::instance::{Instance, to_restore};
use crate::peering::Peering as _;
use crate::settings::Prefix;

/// The kind of daemon, in the names of its files.
const KIND: &str = "gateway";

/// The gateway on an interface.
const fn instance(interface: &str) -> Instance<'_> {
    Instance { kind: KIND, program: "airwattd gateway", name: interface }
}

/// The configuration file of the gateway with this name, by custom.
fn usual_file(name: &str) -> PathBuf {
    PathBuf::from(format!("/etc/airwatt/gateway-{name}.toml"))
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run one end in the foreground, until SIGTERM
    Up(Up),
    /// End a gateway: its connections may finish, then the host is restored
    Down(Down),
    /// Show running gateways: connections, bytes, retransmissions, and joules at the mobile
    Status(Status),
    /// Undo what a killed gateway has left
    Restore(Down),
    /// Print a unit for systemd
    Unit(ByFile),
    /// Print a commented configuration
    Example(Example),
    /// Wait for the end of the gateway that started this, and restore the host
    #[command(hide = true)]
    Guard(Guard),
}

#[derive(Args)]
pub(crate) struct Status {
    #[command(flatten)]
    shown: Shown,
    /// List every connection, rather than those with the most bytes; the JSON document has every one
    #[arg(long)]
    all: bool,
}

#[derive(Args)]
pub(crate) struct Down {
    /// The configuration (TOML), or the interface
    #[arg(value_name = "FILE|INTERFACE")]
    argument: PathBuf,
}

#[derive(Args)]
#[command(after_help = "Examples:
  airwattd gateway up /etc/airwatt/gateway.toml
  airwattd gateway up gateway.toml --mode mobile --dry-run

  airwattd gateway example base > gateway.toml   # a configuration with comments")]
pub(crate) struct Up {
    /// The configuration (TOML)
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Which end this is, if the file does not say so
    #[arg(long, value_enum)]
    mode: Option<Mode>,
    #[command(flatten)]
    foreground: Foreground,
}

#[derive(Args)]
pub(crate) struct Example {
    /// Which end it is for
    #[arg(value_enum, default_value = "mobile")]
    mode: Mode,
}

/// What the guardian of a gateway has to know of it.
#[derive(Args)]
pub(crate) struct Guard {
    interface: String,
    fwmark: u32,
    /// Time in nanoseconds for which connections may end when the gateway has.
    drain_ns: u64,
    /// The addresses of mobiles without a daemon.
    mobiles: Vec<Prefix>,
}

/// The configuration file, for its manual page.
pub(crate) fn format() -> Format {
    Format::new::<config::Config>(
        "gateway",
        "configuration of an airwatt gateway",
        "The base station and each mobile have a file, by custom /etc/airwatt/gateway-NAME.toml, where \
         airwattd-gateway@NAME.service reads it. It holds a private key, so that it is for root alone.",
    )
    .metrics(status::metric_names())
    .example("EXAMPLE: A MOBILE", example::MOBILE)
    .example("EXAMPLE: A BASE STATION", example::BASE)
    .example("EXAMPLE: A BASE STATION FOR MOBILES WITHOUT A DAEMON", example::BASE_ONLY)
}

/// Runs one command.
pub(crate) fn run(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Up(options) => run::up(options),
        Command::Down(options) => run::down(&options.argument),
        Command::Status(options) => status::status(options),
        Command::Restore(options) => {
            let mut mobiles = None;
            let read = |file: &Path| {
                let config = config::Config::read(file)?;
                mobiles = Some(config.mobiles());
                Ok(config.interface)
            };
            let name = to_restore(KIND, &options.argument, read)?;
            tails::finish_left(&name, &mobiles.unwrap_or_else(|| run::usual_mobiles(&name)))?;
            let usual = usual_file(&name);
            let is_file = options.argument.is_file();
            instance(&name).restore_named(if is_file { &options.argument } else { &usual })
        }
        Command::Unit(options) => run::unit(&options.file),
        Command::Example(options) => {
            example::print(options.mode);
            Ok(())
        }
        Command::Guard(Guard { interface, fwmark, drain_ns, mobiles }) => {
            let patience = Span::from_nanos(*drain_ns);
            instance(interface).guard(
                &run::PRIVILEGES,
                || tails::note_answered(interface, *fwmark, mobiles),
                |answered| tails::lead_and_finish(interface, *fwmark, mobiles, patience, answered),
            )
        }
    }
}
