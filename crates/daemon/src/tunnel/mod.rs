//! `airwattd tunnel`: all flows of a client in bursts over one UDP path, so that its radio wakes up less often.
//!
//! The mechanism is [`airwatt_proto::tunnel`], the same machine as in simulations; this is its host: a TUN device, a UDP
//! socket, the configuration (`config`) and who may send what (`peers`). Both ends run the same program.
//!
//! Left out so far: encryption. Without it a tunnel is for measurement, and runs between private addresses only.

mod config;
mod host;
mod peers;
mod run;
mod show;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::common::Foreground;
use crate::failure::Failure;

/// The kind of daemon, in the names of its files.
const KIND: &str = "tunnel";

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run one end of a tunnel in the foreground, until SIGTERM
    Up(Up),
    /// Show the peers of a running tunnel, and what it has counted
    Show(Show),
    /// Undo what a killed tunnel has left
    Restore(Name),
    /// Print a unit for systemd
    Unit(Unit),
    /// Wait for the end of the tunnel that started this, and restore the host
    #[command(hide = true)]
    Guard(Name),
}

#[derive(Args)]
#[command(after_help = "Examples:
  airwattd tunnel up /etc/airwatt/tunnel.toml
  airwattd tunnel up tunnel.toml --dry-run

A configuration:
  interface = \"airwatt0\"
  addresses = [\"10.77.0.2/24\"]
  end = \"client\"                     # or concentrator
  tunnel = { plain = true, delay_budget = \"10ms\" }
  [[peer]]
  name = \"access-point\"
  endpoint = \"192.168.1.1:4646\"
  allowed_ips = [\"10.77.0.0/24\"]")]
pub(crate) struct Up {
    /// The configuration (TOML)
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    foreground: Foreground,
}

#[derive(Args)]
pub(crate) struct Show {
    #[command(flatten)]
    name: Name,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(crate) struct Name {
    /// The tunnel's interface
    #[arg(value_name = "INTERFACE")]
    interface: String,
}

#[derive(Args)]
pub(crate) struct Unit {
    /// The configuration (TOML)
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Runs one command.
pub(crate) fn run(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Up(options) => run::up(options),
        Command::Show(options) => show::show(options),
        Command::Restore(name) => run::clean_up(&name.interface),
        Command::Unit(options) => run::unit(&options.file),
        Command::Guard(name) => run::guard(&name.interface),
    }
}
