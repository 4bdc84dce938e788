//! `airwattd cc`: the congestion control that reacts to lost acknowledgements, in the running kernel.
//!
//! `load` puts the programs of `bpf/` into the kernel, where they outlive this process, and directs new connections to them:
//! those over a route, over the routes of an interface, or all of this network namespace. `unload` takes back exactly what
//! `load` did, by what it wrote down. `status` reads settings and counters from the kernel itself.
//!
//! Connections that are open keep the congestion control, and the program, that they began with.
//!
//! Left out: watching for routes that appear later. A route that DHCP renews may lose its `congctl`; `load` again puts it back.

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

/// Where what was changed is written down, unless told otherwise: gone after a restart, as what it tells of is.
const STATE_FILE: &str = "/run/airwatt/cc.json";

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
  airwattd cc load --interface wlan0
  airwattd cc load --route default --algorithm ackloss_cubic

Without --route, --interface and --default nothing is directed anywhere: a program asks for
`ackloss` by itself (setsockopt TCP_CONGESTION, iperf3 -C ackloss), or a route does
(ip route change ... congctl ackloss).")]
pub(crate) struct Load {
    /// New connections over the route to this prefix, as `ip route` shows it (`default`, `192.0.2.0/24`)
    #[arg(long, value_name = "PREFIX")]
    route: Vec<String>,
    /// New connections over the routes that leave by this interface
    #[arg(long, value_name = "NAME")]
    interface: Vec<String>,
    /// All new connections of this network namespace
    #[arg(long)]
    default: bool,
    /// Which of the two those connections get
    #[arg(long, value_name = "NAME", default_value = "ackloss", value_parser = NAMES)]
    algorithm: String,
    #[command(flatten)]
    settings: settings::Arguments,
    #[command(flatten)]
    state: State,
}

#[derive(Args)]
#[command(after_help = "Example:\n  airwattd cc unload")]
pub(crate) struct Unload {
    /// Forget changes in other network namespaces, which were perhaps removed with their routes
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
    /// File in which changes of the host are remembered
    #[arg(long = "state", value_name = "FILE", default_value = STATE_FILE)]
    file: PathBuf,
}

/// Does it.
pub(crate) fn run(command: &Command) -> Result<(), Failure> {
    kernel::silence();
    match command {
        Command::Load(options) => load::run(options),
        Command::Unload(options) => unload::run(options),
        Command::Status(options) => status::run(options),
    }
}
