//! `airwattd station`: the Wi-Fi power save of this host, which follows its traffic.
//!
//! `run`, the default, is the daemon (`run`, `waiting`, `controller`, `host`, `observer`): a policy of `airwatt_proto::powersave` over the
//! driver's power save. `status` and `report` prove what it brings (`account`, `doze`, `show`, `verdict`), `off` ends it for good. `doctor` says
//! what is known of the interface without changing anything. `measure` has power save off, on, and under the daemon's policy in
//! blocks of random order, sends probes meanwhile, and says with confidence intervals how long answers take under each;
//! `reflect`, on a wired host, answers its probes late, so that they meet a radio that sleeps.
//!
//! Left out: the timeout of dynamic power save, which cannot be read back and so not be restored.

mod account;
mod as_unit;
mod benefit;
mod config;
mod controller;
mod doctor;
mod doze;
mod drivers;
mod host;
mod measure;
mod network_manager;
mod observer;
mod other_files;
mod others;
mod probe;
mod reflect;
mod run;
mod show;
mod state;
mod supply;
mod target;
mod target_wake;
mod uapsd;
mod verdict;
mod waiting;
mod wifi;

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use airwatt_base::Span;
use airwatt_linux::capability::ProcessCapability;
use airwatt_linux::control;
use clap::error::ErrorKind;
use clap::{ArgMatches, Args, FromArgMatches as _, Subcommand};

use crate::common::{Foreground, Log};
use crate::failure::{self, Failure};
use crate::file_format::Format;
use crate::instance::{Instance, Started};
use crate::output;

/// The kind of daemon, in the names of its files.
const KIND: &str = "station";
/// The interval of beacons of nearly all access points, for drivers that do not report it.
const BEACON_INTERVAL: Span = Span::from_micros(102_400);
/// Where packages put the program.
const PROGRAM_PATH: &str = "/usr/bin/airwattd";

/// What runs on an interface.
fn instance(name: &str) -> Instance<'_> {
    Instance { kind: KIND, program: "airwattd station", name }
}

/// Starts the daemon or a measurement on an interface, which is refused while another one has it.
fn start(name: &str) -> Result<Started, Failure> {
    let instance = instance(name);
    instance.start(&["station", "guard", "--interface", name]).map_err(|failure| match failure {
        Failure::Taken(_) => {
            let owner = control::describe_owner(&instance.control_socket());
            let owner = owner.map_or_else(String::new, |owner| format!(", {owner}"));
            Failure::Taken(format!(
                "{name}: the station daemon or a measurement already runs there{owner}; hint: end it first (systemctl stop \
                 airwattd-station, or Ctrl-C)"
            ))
        }
        other => other,
    })
}

fn on_or_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Examples:
  airwattd station --dry-run
  airwattd station doctor
  airwattd station status"
)]
pub(crate) struct Station {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    run: Run,
}

#[derive(Subcommand)]
enum Command {
    /// Run the daemon in the foreground, until SIGTERM (the default)
    Run(Run),
    /// Show what the daemon does, what it brings, and what it costs
    Status(Status),
    /// Show what the daemon has brought, also while none runs
    Report(Show),
    /// End the daemon, restore power save, and keep the daemon from starting again
    Off(Interface),
    /// Let the daemon start again after `off`
    On(Interface),
    /// Print the unit for systemd; with --interface, that of one interface
    Unit(Interface),
    /// Say what the Wi-Fi interface, its driver and this host can do, and what the daemon would do; nothing is changed
    Doctor(Doctor),
    /// Measure the delay with power save off, on and under airwatt, in turns; power save is restored afterwards
    Measure(Measure),
    /// Answer probes of `measure` after a random time; for a wired host in the same network
    Reflect(Reflect),
    /// Undo what a killed daemon or measurement has left
    Restore(Interface),
    /// Wait for the end of the daemon or measurement that started this, and restore the host
    #[command(hide = true)]
    Guard(Interface),
}

#[derive(Args)]
#[command(after_help = "Examples:
  airwattd station run --interface wlan0 --verbose
  airwattd station run --dry-run")]
struct Run {
    #[command(flatten)]
    interface: Interface,
    /// The configuration (TOML); without one /etc/airwatt/station-NAME.toml of the interface that is named, or
    /// /etc/airwatt/station.toml if it is there, and otherwise the defaults
    #[arg(value_name = "CONFIG")]
    file: Option<PathBuf>,
    #[command(flatten)]
    foreground: Foreground,
}

#[derive(Args)]
#[command(after_help = "Examples:
  airwattd station status
  airwattd station status --metrics >airwatt.prom")]
struct Status {
    #[command(flatten)]
    show: Show,
    /// Print the metrics for Prometheus, as for the textfile collector of node_exporter
    #[arg(long, conflicts_with = "json")]
    metrics: bool,
}

#[derive(Args)]
#[command(after_help = "Examples:
  airwattd station report
  airwattd station report --json")]
struct Show {
    #[command(flatten)]
    interface: Interface,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
#[command(after_help = "Examples:
  airwattd station doctor --explain
  airwattd station doctor --as-unit
  airwattd station doctor --interface wlan0 --json")]
struct Doctor {
    #[command(flatten)]
    interface: Interface,
    /// Also say of each line how it is known
    #[arg(long)]
    explain: bool,
    /// Do it under the restrictions of the daemon's unit, by systemd-run: what a service may do is less than what root may
    #[arg(long)]
    as_unit: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
#[command(after_help = "Examples:
  airwattd station measure --minutes 10 --reflector 192.168.1.10:4647
  airwattd station measure --minutes 5
  airwattd station measure /etc/airwatt/station.toml

Without a reflector the probes are echo requests to the gateway. The station
itself starts these exchanges, and its radio is awake when the answer comes:
they show what power save costs a host that asks, not what it costs a host that
is asked.")]
struct Measure {
    #[command(flatten)]
    interface: Interface,
    /// The configuration whose policy is measured (TOML); without one as for the daemon
    #[arg(value_name = "CONFIG")]
    file: Option<PathBuf>,
    /// How long to measure
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=1440))]
    minutes: u64,
    /// Seconds for which a setting lasts at a time
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
struct Reflect {
    /// Address and port to listen on
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "0.0.0.0:4647")]
    listen: SocketAddr,
    #[command(flatten)]
    log: Log,
}

#[derive(Args, Default)]
struct Interface {
    /// The Wi-Fi interface; without it the first that is connected, unless the configuration names one
    #[arg(long, value_name = "NAME", value_parser = wifi::name_of)]
    interface: Option<String>,
}

/// The configuration file, for its manual page.
pub(crate) fn format() -> Format {
    Format::new::<config::Config>(
        "station",
        "configuration of airwattd station",
        "airwattd station run CONFIG reads it. Without CONFIG, as in airwattd-station.service, it is \
         /etc/airwatt/station.toml. With --interface NAME, as in airwattd-station@NAME.service, it is \
         /etc/airwatt/station-NAME.toml if that is there. Every key has a default, so that no file is needed.",
    )
    .policies(config::policies())
    .values("power_save", "Without a policy it is latency-guard.")
    .without("power_save.timeout")
    .values(
        "power_save.reach",
        "active: in active mode. polls: out of power save for a moment at an interval shorter than the bound, in which the access point \
         sends what it has. triggers: a trigger of U-APSD at that interval, and polls where the access point has not granted it.",
    )
    .metrics(show::metric_names())
}

/// Why a word in the place of a command is none, if no file has that name: without a command it would be the configuration.
fn mistyped(file: Option<&Path>) -> Option<clap::Error> {
    let word = file.filter(|file| !file.exists())?.to_str().filter(|word| !word.contains(['/', '.']))?;
    let program = Command::augment_subcommands(clap::Command::new("station"));
    program
        .try_get_matches_from(["station", word])
        .err()
        .filter(|error| error.kind() == ErrorKind::InvalidSubcommand)
}

/// The error about a mistyped command, if the refused arguments have a word in the place of one that is neither a command nor a file.
pub(crate) fn mistyped_in(matches: &ArgMatches) -> Option<clap::Error> {
    let station = Station::from_arg_matches(matches).ok()?;
    mistyped(station.run.file.as_deref())
}

/// Runs one command.
pub(crate) fn run(station: &Station) -> Result<(), Failure> {
    let Some(command) = &station.command else {
        return match mistyped(station.run.file.as_deref()) {
            Some(error) => Err(Failure::Input(failure::line(&error))),
            None => run::run(&station.run),
        };
    };
    match command {
        Command::Run(options) => run::run(options),
        Command::Status(options) => show::status(options),
        Command::Report(options) => show::report(options),
        Command::Off(options) => run::off(options),
        Command::On(options) => run::on(options),
        Command::Unit(options) => {
            output::print(&run::unit(PROGRAM_PATH, options));
            Ok(())
        }
        Command::Doctor(options) if options.as_unit => as_unit::doctor(options),
        Command::Doctor(options) => doctor::doctor(options),
        Command::Measure(options) => measure::measure(options),
        Command::Reflect(options) => reflect::reflect(options),
        Command::Restore(options) => restore(options),
        Command::Guard(options) => {
            instance(&wifi::named(options)?).guard(&[ProcessCapability::NetAdmin], || (), |()| ())
        }
    }
}

/// Undoes what was left on the named interface, or on all. What has left nothing needs no Wi-Fi.
fn restore(options: &Interface) -> Result<(), Failure> {
    let names =
        options.interface.clone().map_or_else(|| crate::instance::with_log(KIND), |name| Ok(vec![name]))?;
    if names.is_empty() {
        output::progress(&crate::instance::nothing_here(KIND));
    }
    waiting::clean_up()?;
    names.iter().try_for_each(|name| instance(name).restore())
}
