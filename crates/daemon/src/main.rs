//! `airwattd`: what runs on a device. Each command is a module: `cc`, the congestion control in the running kernel;
//! `tunnel`, all flows of a client in bursts; `gateway`, TCP over E2TCP between a base station and its mobiles; `station`, the Wi-Fi power save of this host; `keys`, of tunnels and gateways.
//!
//! What a command changes on the host it prints, remembers and can undo. Nothing here needs Python, and nothing here is part
//! of the simulator.

mod cc;
mod common;
mod endpoint;
mod failure;
mod file_format;
mod firewall_hints;
mod gateway;
mod host;
mod instance;
mod keys;
mod last_endpoints;
mod manual;
mod output;
mod path_watch;
mod peering;
mod services;
mod settings;
mod station;
mod tunnel;
mod ways;

use std::process::ExitCode;
use std::sync::LazyLock;

use clap::{CommandFactory, Parser, Subcommand};

#[expect(unexpected_cfgs, reason = "the flag of fuzzers is not known to rustc")]
const _: () = assert!(!cfg!(fuzzing), "a build for fuzzing has keys that are not secret");

/// The version, with the commit where the build has named it.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let commit = option_env!("AIRWATT_COMMIT").filter(|commit| !commit.is_empty());
    env!("CARGO_PKG_VERSION").to_owned() + &commit.map_or_else(String::new, |commit| format!(" ({commit})"))
});

/// The mechanisms of airwatt on this machine.
#[derive(Parser)]
#[command(
    name = "airwattd",
    version = VERSION.as_str(),
    arg_required_else_help = true,
    after_help = "Examples:
  airwattd station doctor
  airwattd tunnel pair --endpoint 192.168.1.1 --reach everything
  airwattd gateway example base > gateway.toml
  airwattd cc load --interface wlan0 --dry-run"
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// The congestion control that reacts to lost acknowledgements, in the running kernel
    #[command(
        subcommand,
        after_help = "Examples:
  airwattd cc load --interface wlan0
  airwattd cc status
  airwattd cc unload"
    )]
    Cc(cc::Command),
    /// All flows of a client in bursts over one UDP path, so that its radio wakes up less often
    #[command(
        subcommand,
        after_help = "Examples:
  airwattd tunnel pair --endpoint 192.168.1.1 --reach everything
  airwattd tunnel up airwatt0-concentrator.toml
  airwattd tunnel show
  airwattd tunnel down airwatt0"
    )]
    Tunnel(tunnel::Command),
    /// Wi-Fi power save of this host: a daemon that follows the traffic, and what power save costs in delay
    Station(station::Station),
    /// TCP connections of mobiles over E2TCP between a base station and the mobiles, so that losses cost less energy
    #[command(
        subcommand,
        after_help = "Examples:
  airwattd gateway example base > gateway.toml
  airwattd gateway up gateway.toml --dry-run
  airwattd gateway status
  airwattd gateway down gateway.toml"
    )]
    Gateway(gateway::Command),
    /// Print a new private key of a tunnel or a gateway
    #[command(after_help = "Example:\n  umask 077; airwattd genkey > client.key")]
    Genkey,
    /// Print the public key of the private key on standard input
    #[command(after_help = "Example:\n  airwattd pubkey < client.key")]
    Pubkey,
    /// Print the completion script of a shell
    Completion(manual::Completion),
    /// Write the manual pages into a folder
    #[command(hide = true)]
    Manual(manual::Manual),
}

fn main() -> ExitCode {
    if let Err(error) = airwatt_linux::signals::survive_file_limit() {
        output::error(&error.to_string());
    }
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return output::status(failure::of_arguments(&mistyped_command().unwrap_or(error))),
    };
    let done = match arguments.command {
        Command::Cc(command) => cc::run(&command),
        Command::Tunnel(command) => tunnel::run(&command),
        Command::Station(station) => station::run(&station),
        Command::Gateway(command) => gateway::run(&command),
        Command::Genkey => keys::generate(),
        Command::Pubkey => keys::public(),
        Command::Completion(arguments) => {
            manual::complete(&arguments, Arguments::command());
            Ok(())
        }
        Command::Manual(arguments) => manual::write(&arguments, Arguments::command()),
    };
    match done {
        Ok(()) => output::status(ExitCode::SUCCESS),
        Err(failure) => {
            output::error(&failure.to_string());
            failure.status()
        }
    }
}

/// The error about a mistyped command of `station`, if its options were refused first: in `doctr --explain` the mistake is `doctr`, and
/// `--explain` was refused only because `doctr` was taken for a file.
fn mistyped_command() -> Option<clap::Error> {
    let matches = Arguments::command().ignore_errors(true).try_get_matches().ok()?;
    station::mistyped_in(matches.subcommand_matches("station")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The help of a command and of those below it: of 80 columns, in which no command of an example is divided.
    fn fits(command: &mut clap::Command) {
        let name = command.get_name().to_owned();
        let is_narrow = |text: &str| text.lines().all(|line| line.chars().count() <= 80);
        for help in [command.render_help(), command.render_long_help()] {
            let help = output::folded(&help.to_string(), 0);
            assert!(is_narrow(&help), "{name}: {help}");
        }
        let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        assert!(is_narrow(&examples), "{name}: {examples}");
        command.get_subcommands_mut().for_each(fits);
    }

    #[test]
    fn every_help_has_80_columns() {
        let mut program = Arguments::command();
        program.build();
        fits(&mut program);
    }
}
