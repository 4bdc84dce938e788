//! `airwattd station`: Wi-Fi power save of this host, what its driver can do, and what power save costs in delay.
//!
//! `doctor` says what is known of the interface without changing anything. `measure` switches power save on and off in
//! blocks of random order, sends probes meanwhile, and says with confidence intervals how long answers take under each;
//! `reflect`, on a wired host, answers its probes late, so that they meet a radio that sleeps.
//!
//! Left out so far: the daemon that adapts power save to the traffic.

mod doctor;
mod measure;
mod others;
mod probe;
mod reflect;
mod wifi;

use std::net::{IpAddr, SocketAddr};

use clap::{Args, Subcommand};

use crate::common::Log;
use crate::failure::Failure;
use crate::instance::Instance;

/// What runs on an interface.
fn instance(name: &str) -> Instance<'_> {
    Instance { kind: "station", program: "airwattd station", name }
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Say what the Wi-Fi interface and its driver can do, and who else sets power save; nothing is changed
    Doctor(Doctor),
    /// Measure the delay with power save off and on, in turns; power save is restored afterwards
    Measure(Measure),
    /// Answer probes of `measure` after a random time; for a wired host in the same network
    Reflect(Reflect),
    /// Undo what a killed measurement has left
    Restore(Interface),
    /// Wait for the end of the measurement that started this, and restore the host
    #[command(hide = true)]
    Guard(Interface),
}

#[derive(Args)]
#[command(after_help = "Examples:
  airwattd station doctor
  airwattd station doctor --interface wlan0 --json")]
pub(crate) struct Doctor {
    #[command(flatten)]
    interface: Interface,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
#[command(after_help = "Examples:
  airwattd station measure --minutes 10 --reflector 192.168.1.10:4647
  airwattd station measure --minutes 5

Without a reflector the probes are echo requests to the gateway. The station itself starts these exchanges,
and its radio is awake when the answer comes: they show what power save costs a host that asks, not what it
costs a host that is asked.")]
pub(crate) struct Measure {
    #[command(flatten)]
    interface: Interface,
    /// How long to measure
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=1440))]
    minutes: u64,
    /// Seconds between two switches of power save
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(5..=600))]
    block_seconds: u64,
    /// Where `airwattd station reflect` runs: a host that is connected by cable to the access point
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with = "target")]
    reflector: Option<SocketAddr>,
    /// What to send echo requests to instead of the gateway (IPv4)
    #[arg(long, value_name = "ADDRESS")]
    target: Option<IpAddr>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    log: Log,
}

#[derive(Args)]
#[command(after_help = "Example:
  airwattd station reflect --listen 192.168.1.10:4647")]
pub(crate) struct Reflect {
    /// Address and port to listen on
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "0.0.0.0:4647")]
    listen: SocketAddr,
    #[command(flatten)]
    log: Log,
}

#[derive(Args)]
pub(crate) struct Interface {
    /// The Wi-Fi interface; needed only where there are several
    #[arg(long, value_name = "NAME")]
    interface: Option<String>,
}

/// Runs one command.
pub(crate) fn run(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Doctor(options) => doctor::doctor(options),
        Command::Measure(options) => measure::measure(options),
        Command::Reflect(options) => reflect::reflect(options),
        Command::Restore(options) => instance(&wifi::named(options)?).clean_up(),
        Command::Guard(options) => instance(&wifi::named(options)?).guard(),
    }
}
