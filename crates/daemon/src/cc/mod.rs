//! `airwattd cc`: the congestion control that reacts to lost acknowledgements, in the running kernel.
//!
//! `load` puts the programs of `bpf/` into the kernel, where they outlive this process, and directs new connections to them:
//! those over a route, over the routes of an interface, or all of this network namespace. `unload` undoes that by the log that
//! `load` wrote, and by looking for what the log does not know. `status` reads settings and counters from the kernel itself.
//! One `load` or `unload` runs at a time on a host.
//!
//! Connections that are open keep the congestion control, and the program, that they began with.
//!
//! Left out: watching for routes that appear later. A route that DHCP renews may lose its `congctl`; a second `load` restores it.

mod changes;
mod kernel;
mod load;
mod settings;
mod sockets;
mod status;
mod unload;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::failure::Failure;

/// The default of the undo log. It is gone after a restart, as the changes are.
const STATE_FILE: &str = "/run/airwatt/cc.jsonl";

/// On Reno, and on CUBIC where the kernel has it built in.
const NAMES: [&str; 2] = ["ackloss", "ackloss_cubic"];

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Load the congestion controls `ackloss` and `ackloss_cubic`, and choose which connections get them
    Load(Load),
    /// Put everything back as `load` found it
    Unload(Unload),
    /// Show what is loaded, with which settings, and the counters of each connection
    Status(Status),
}

#[derive(Args)]
#[command(after_help = "Examples:
  airwattd cc load --interface wlan0 --dry-run
  airwattd cc load --interface wlan0
  airwattd cc load --route default --algorithm ackloss_cubic

Without --route, --interface and --default nothing is directed anywhere: a
program asks for `ackloss` by itself (setsockopt TCP_CONGESTION, iperf3 -C
ackloss), or a route does (ip route change ... congctl ackloss).")]
pub(crate) struct Load {
    /// New connections over the route to this prefix, as `ip route` shows it (`default`, `192.0.2.0/24`)
    #[arg(long, value_name = "PREFIX")]
    route: Vec<String>,
    /// New connections over the routes that leave by this interface and no other
    #[arg(long, value_name = "NAME")]
    interface: Vec<String>,
    /// All new connections of this network namespace
    #[arg(long)]
    default: bool,
    /// Which of the two those connections get
    #[arg(long, value_name = "NAME", default_value = "ackloss", value_parser = NAMES)]
    algorithm: String,
    /// Print the commands that would change the host, and end
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    settings: settings::Arguments,
    #[command(flatten)]
    state: State,
}

#[derive(Args)]
#[command(after_help = "Examples:
  airwattd cc unload
  airwattd cc unload --force

Routes that other programs renewed meanwhile stay as they are, without our
congestion control. --force looks through all network namespaces that can be
found, without a state file as well. Where it is not known what
net.ipv4.tcp_congestion_control was, --force sets cubic.")]
pub(crate) struct Unload {
    /// Undo also what no state file tells of, and what is in other network namespaces
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    state: State,
}

#[derive(Args)]
#[command(after_help = "Examples:\n  airwattd cc status\n  airwattd cc status --json")]
pub(crate) struct Status {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    state: State,
}

#[derive(Args)]
pub(crate) struct State {
    /// File that has the changes of the host, in a folder that only root can write to
    #[arg(long = "state", value_name = "FILE", default_value = STATE_FILE)]
    file: PathBuf,
}

/// Whether the congestion control of this name is one of ours.
fn is_ours(name: &str) -> bool {
    NAMES.contains(&name)
}

/// Runs one command.
pub(crate) fn run(command: &Command) -> Result<(), Failure> {
    kernel::keep_messages();
    match command {
        Command::Load(options) => load::run(options),
        Command::Unload(options) => unload::run(options),
        Command::Status(options) => status::run(options),
    }
}
