//! `run`, `off` and `on`: the daemon from its start to the setting restored.

use std::io::ErrorKind;
use std::path::Path;

use airwatt_base::{Instant, Span};
use airwatt_linux::clock::Clock;
use airwatt_linux::control;
use airwatt_linux::driver;
use airwatt_linux::event_loop::{EventLoop, Interest};
use airwatt_linux::service::{self, Unit};
use clap::Subcommand as _;
use tracing::{info, warn};

use super::account::Account;
use super::config::Config;
use super::controller::Controller;
use super::host::{CONTROL, METRICS, Parts, StationHost, WIRELESS};
use super::target::{NEEDS, Taken, Target};
use super::{Command, Interface, KIND, Run, instance, on_or_off, state, waiting, wifi};
use crate::failure::Failure;
use crate::instance::{Found, Instance};
use crate::output;

/// Time for which `off` waits for the end of a daemon.
const END_PATIENCE: Span = Span::from_secs(5);
/// The unit that ships, and the folder of those that start with the host.
const UNIT: &str = "airwattd-station";
const ENABLED: &str = "/etc/systemd/system/multi-user.target.wants";

/// `airwattd station`.
pub(super) fn run(options: &Run) -> Result<(), Failure> {
    if let Some(word) = command_in_place_of_a_file(options.file.as_deref()) {
        let option = options.interface.interface.as_ref();
        let option = option.map_or_else(String::new, |name| format!(" --interface {name}"));
        return Err(Failure::Input(format!(
            "{word}: expected a configuration behind an option; hint: airwattd station {word}{option}"
        )));
    }
    let config = Config::of_command(options.file.as_deref(), &options.interface)?;
    if let Some(file) = &options.file {
        options.foreground.in_order(file, 0);
    }
    if options.foreground.check && !options.foreground.dry_run {
        return Ok(());
    }
    if options.foreground.dry_run {
        let target = Target::find(config)?;
        output::print(&plan(&target.interface.name, &target.config));
        return Ok(());
    }
    options.foreground.log.start()?;
    if is_off(&waiting::name_of(&config)) {
        return Ok(());
    }
    let config = match service::is_managed() {
        true => waiting::wait_for_interface(options, config)?,
        false => Some(config),
    };
    let Some(config) = config else { return Ok(()) };
    let target = Target::find(config)?;
    if is_off(&target.interface.name) {
        return Ok(());
    }
    let file = Config::file(options.file.as_deref(), &options.interface);
    let Taken { parts, mut events, guardian: _guardian } = target.take(file, true)?;
    events.add(&parts.control, CONTROL, Interest::Read)?;
    if let Some(metrics) = &parts.metrics {
        events.add(metrics, METRICS, Interest::Read)?;
    }
    serve(parts, &mut events)
}

/// The name of a command that stands where a file is expected, since an option came before it.
fn command_in_place_of_a_file(file: Option<&Path>) -> Option<&str> {
    let word = file.filter(|file| !file.exists())?.to_str()?;
    Command::has_subcommand(word).then_some(word)
}

/// Whether the daemon was switched off, which is said.
fn is_off(name: &str) -> bool {
    let is_off = state::is_off(name);
    if is_off {
        output::progress(&format!(
            "{}: switched off by `airwattd station off`; `airwattd station on` ends that",
            waiting::described(name)
        ));
        // For a service manager this is a start and an end, and no failure.
        service::ready("switched off");
    }
    is_off
}

fn serve(parts: Parts, events: &mut EventLoop) -> Result<(), Failure> {
    let (name, found, clock) = (parts.name.clone(), parts.found, parts.clock);
    let now = clock.now();
    let stored = state::read(&name).filter(|stored| {
        let is_of_this = stored.found == found;
        if !is_of_this {
            warn!(
                "{name}: power save was found {}, and the account before is of a host that has it {}: it begins anew",
                on_or_off(found),
                on_or_off(!found)
            );
        }
        is_of_this
    });
    let periods = stored.map(|stored| stored.periods).unwrap_or_default();
    // What an earlier run has observed counts.
    let observed = Span::from_nanos(periods[0].elapsed);
    let acts_at = now + parts.config.observe.saturating_sub(observed);
    let mut machine = Controller::new(found, acts_at);
    let mut host = StationHost::new(parts, Account::new(periods, now, found))?;
    events.add(&host.events, WIRELESS, Interest::Read)?;
    // What cannot be kept is said at the start.
    host.keep(&machine, now)?;
    service::ready(&name);
    info!(interface = name, power_save = on_or_off(found), "the station daemon runs");
    let done = driver::run(&mut machine, &mut host, events);
    service::stopping();
    // First the host, then the account.
    host.restore()?;
    done?;
    host.keep(&machine, clock.now())?;
    info!(interface = name, "the station daemon has ended");
    Ok(())
}

fn plan(name: &str, config: &Config) -> String {
    let begin = match config.observe {
        Span::ZERO => "at once".to_owned(),
        observe => format!("after {observe} of observation"),
    };
    format!(
        "[#] a packet socket on {name} with a BPF filter that counts packets and accepts none\n\
         [#] iw dev {name} set power_save on|off, by the policy {}, {begin}\n",
        config.power_save.name(),
    )
}

/// The interfaces that `off` is about: the named one, or those with a daemon (`known`), or all, and what the unit waits for that ships, so
/// that it does not start on an interface that comes later.
fn interfaces(options: &Interface, known: &[String]) -> Result<Vec<String>, Failure> {
    if let Some(name) = &options.interface {
        return Ok(vec![name.clone()]);
    }
    let mut names = match wifi::all(options) {
        _ if !known.is_empty() => known.to_vec(),
        Err(Failure::Missing(_)) => Vec::new(),
        found => found?,
    };
    let of_unit = of_unit(options);
    if !names.contains(&of_unit) {
        names.push(of_unit);
    }
    Ok(names)
}

/// `airwattd station off`: ends the daemon, restores the setting, and keeps later daemons from starting.
pub(super) fn off(options: &Interface) -> Result<(), Failure> {
    let (running, waits) = (crate::instance::running(KIND)?, waiting::names()?);
    let first_waits = options.interface.is_some() && waits.iter().any(|name| name == waiting::FIRST);
    let known = [running, waits].concat();
    // If no interface was named and daemons end, the other interfaces get no line.
    let is_quiet = options.interface.is_none() && !known.is_empty();
    let (mut failed, mut done, mut prevented) = (Vec::new(), Vec::new(), Ok(()));
    for name in interfaces(options, &known)? {
        let shown = waiting::described(&name);
        // First, since what runs there may not answer; and what cannot be written keeps nothing from being restored.
        prevented = prevented.and(state::set_off(&name, true));
        let did = match end_all(&name) {
            Ok(Did::Nothing) if first_waits => Did::NothingBesideFirst,
            Ok(did) => did,
            Err(error) => {
                failed.push(error.to_string());
                continue;
            }
        };
        let said = if prevented.is_ok() { did.then_prevented() } else { did.said() };
        if let Some(said) = said.filter(|_| !is_quiet || did != Did::Nothing) {
            done.push(format!("{shown}: {said}"));
        }
    }
    finish(failed, done, prevented)
}

/// Says what `off` has done, in lines of their own unless it failed. The reason why later starts are not prevented is that of all interfaces.
fn finish(failed: Vec<String>, done: Vec<String>, prevented: Result<(), Failure>) -> Result<(), Failure> {
    let is_done = !failed.is_empty() || !done.is_empty();
    let said = || failed.iter().chain(&done).cloned().collect::<Vec<_>>().join("; ");
    match prevented {
        Ok(()) => {
            done.iter().for_each(|line| output::progress(line));
            let later = "; later starts are prevented";
            if failed.is_empty() { Ok(()) } else { Err(Failure::Failed(failed.join("; ") + later)) }
        }
        Err(why) if is_done => Err(why.after(&format!("{}; later starts are not prevented: ", said()))),
        Err(why) => Err(why.after("nothing is switched off: ")),
    }
}

/// What `off` has done about an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Did {
    /// Ended a daemon that waited for it.
    EndWaiting,
    /// Ended a daemon that ran on it.
    End,
    /// Undone what a killed daemon had left.
    Restore,
    /// No daemon was there, but one that may take this interface waits for the first one.
    NothingBesideFirst,
    /// No daemon was there.
    Nothing,
}

impl Did {
    /// What is said when later starts are not prevented; nothing where nothing was done.
    const fn said(self) -> Option<&'static str> {
        match self {
            Self::EndWaiting => Some("the daemon that waited for it has ended"),
            Self::End => Some("the daemon has ended and power save is restored"),
            Self::Restore => Some("what a killed daemon had left is undone"),
            Self::NothingBesideFirst | Self::Nothing => None,
        }
    }

    /// What is said when later starts are prevented; nothing where that is all that anybody expects.
    const fn then_prevented(self) -> Option<&'static str> {
        match self {
            Self::EndWaiting => Some(
                "the daemon that waited for it has ended, and none starts there until `airwattd station on`",
            ),
            Self::NothingBesideFirst => Some(
                "no daemon starts there; the one that waits for the first Wi-Fi interface still waits; hint: airwattd station off",
            ),
            Self::Nothing => Some("no daemon starts there until `airwattd station on`"),
            Self::End | Self::Restore => None,
        }
    }
}

/// Ends the daemon that waits for an interface and the one that runs on it, or restores what a killed one has left.
fn end_all(name: &str) -> Result<Did, Failure> {
    let waited = end(&waiting::instance(name))?;
    Ok(match (end(&instance(name))?, waited) {
        (Did::Nothing, Did::End) => Did::EndWaiting,
        (did, _) => did,
    })
}

/// Ends a daemon, or restores what a killed one has left.
fn end(instance: &Instance<'_>) -> Result<Did, Failure> {
    let name = waiting::described(instance.name);
    let socket = instance.control_socket();
    if let Err(error) = control::ask(&socket, "stop") {
        return match error.io().kind() {
            ErrorKind::NotFound | ErrorKind::ConnectionRefused => Ok(match instance.clean_up()? {
                Found::Left(left) if !left.undone.is_empty() => Did::Restore,
                _ => Did::Nothing,
            }),
            // A measurement has the socket too, and does not answer.
            _ => Err(Failure::Failed(format!(
                "{name}: what runs there does not answer, and may not have ended: {error}"
            ))),
        };
    }
    let began = Clock::start();
    while socket.exists() {
        if began.now() > Instant::ZERO + END_PATIENCE {
            return Err(Failure::Failed(format!("{name}: the station daemon has not ended within 5 s")));
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    Ok(Did::End)
}

/// `airwattd station on`: lets daemons start again.
pub(super) fn on(options: &Interface) -> Result<(), Failure> {
    let names = options.interface.clone().map_or_else(state::switched_off, |name| Ok(vec![name]))?;
    if names.is_empty() {
        output::progress("no daemon is switched off: nothing to do");
    }
    let is_idle = crate::instance::running(KIND)?.is_empty() && waiting::names()?.is_empty();
    let (off, others): (Vec<String>, Vec<String>) = names.into_iter().partition(|name| state::is_off(name));
    for name in others {
        let shown = waiting::described(&name);
        output::progress(&format!("{shown}: the daemon was not switched off: nothing has changed"));
    }
    off.iter().try_for_each(|name| state::set_off(name, false))?;
    if !off.is_empty() {
        let shown: Vec<&str> = off.iter().map(|name| waiting::described(name)).collect();
        let hint = format!("; hint: systemctl start {}", units_to_start(&off, Path::new(ENABLED)).join(" "));
        let hint = if is_idle { hint } else { String::new() };
        output::progress(&format!("{}: a daemon may start again{hint}", shown.join(", ")));
    }
    if options.interface.is_some() && state::is_off(waiting::FIRST) {
        let first = waiting::described(waiting::FIRST);
        output::progress(&format!("{first} stays switched off; hint: airwattd station on"));
    }
    Ok(())
}

/// The units to start for interfaces that are switched on again: those of them that start with the host (in the folder `enabled`), or the
/// one that ships, which takes any of them. `off` without a name is said of what ran and of that one.
fn units_to_start(names: &[String], enabled: &Path) -> Vec<String> {
    let shipped = of_unit(&Interface::default());
    let unit_of = |name: &String| match *name == shipped {
        true => UNIT.to_owned(),
        false => format!("{UNIT}@{name}"),
    };
    let mut units: Vec<String> = names.iter().map(unit_of).collect();
    let is_enabled = |unit: &String| enabled.join(format!("{unit}.service")).exists();
    if units.iter().any(is_enabled) {
        units.retain(is_enabled);
    } else if units.iter().any(|unit| unit == UNIT) {
        units.retain(|unit| unit == UNIT);
    }
    units
}

/// The name of the interface of the unit that ships.
fn of_unit(options: &Interface) -> String {
    Config::of_command(None, options)
        .map_or_else(|_| waiting::FIRST.to_owned(), |config| waiting::name_of(&config))
}

/// `airwattd station unit`: for the named interface, or for the first.
pub(super) fn unit(program: &str, options: &Interface) -> String {
    let interface = options.interface.as_ref();
    let of = interface.map_or_else(String::new, |name| format!(" of {name}"));
    let option = interface.map_or_else(Vec::new, |name| vec!["--interface", name]);
    let program = &*service::literal(program);
    let unit = Unit {
        description: &format!("airwatt: Wi-Fi power save{of} that follows the traffic"),
        manual: "airwattd-station",
        start: &[&[program, "station"][..], &option].concat(),
        restore: &[&[program, "station", "restore"][..], &option].concat(),
        capabilities: &NEEDS,
        // IP for metrics on a loopback address, if the configuration asks for them.
        families: &["AF_PACKET", "AF_INET", "AF_INET6"],
        devices: &[],
        restart_s: 5,
        stop_s: 10,
    };
    unit.text_with(&[
        "ProtectKernelTunables=yes",
        "PrivateDevices=yes",
        "IPAddressDeny=any",
        "IPAddressAllow=localhost",
        "UMask=0077",
        "# Where the file system is read-only, the daemon does without. With StateDirectory the service manager would refuse to start it.",
        "ExecStartPre=-+/bin/sh -c 'mkdir -m 0700 -p /var/lib/airwatt 2>/dev/null'",
        "ReadWritePaths=-/var/lib/airwatt",
        "# The program that counts packets.",
        "SystemCallFilter=bpf",
        "# What this host does not permit it will not permit in five seconds. The daemon waits for a Wi-Fi interface by itself.",
        "RestartPreventExitStatus=4",
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn off_says_only_what_is_so() {
        for done in [Did::EndWaiting, Did::Restore, Did::NothingBesideFirst, Did::Nothing] {
            let said = done.said().unwrap_or_default();
            assert!(!said.contains("restored"), "{done:?}");
            assert!(!said.contains("starts"), "{done:?}: this is not known yet");
        }
        assert!(Did::End.said().unwrap().contains("power save is restored"));
    }

    #[test]
    fn off_that_fails_is_one_line_with_one_reason() {
        let why = || Err(Failure::Missing("folder: no".to_owned()));
        let of = |failed: &[&str], done: &[&str], prevented| {
            let owned = |lines: &[&str]| lines.iter().map(|&line| line.to_owned()).collect();
            finish(owned(failed), owned(done), prevented).map_err(|failure| failure.to_string())
        };
        assert_eq!(of(&[], &[], Ok(())), Ok(()));
        assert_eq!(of(&[], &[], why()), Err("nothing is switched off: folder: no".to_owned()));
        let both = of(&["a: mute"], &["b: ended", "c: ended"], why());
        assert_eq!(
            both,
            Err("a: mute; b: ended; c: ended; later starts are not prevented: folder: no".to_owned())
        );
        assert_eq!(of(&["a: mute"], &[], Ok(())), Err("a: mute; later starts are prevented".to_owned()));
    }

    #[test]
    fn on_names_the_unit_that_starts_with_the_host_or_the_one_that_ships() {
        let enabled = std::env::temp_dir().join(format!("airwatt-enabled-{}", std::process::id()));
        std::fs::create_dir_all(&enabled).unwrap();
        let shipped = of_unit(&Interface::default());
        let of = |names: &[&str]| {
            units_to_start(&names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>(), &enabled)
        };
        assert_eq!(of(&["aw8", &shipped]), [UNIT]);
        assert_eq!(of(&["aw8", "aw9"]), ["airwattd-station@aw8", "airwattd-station@aw9"]);
        std::fs::write(enabled.join("airwattd-station@aw8.service"), "").unwrap();
        assert_eq!(of(&["aw8", &shipped]), ["airwattd-station@aw8"]);
        std::fs::remove_dir_all(enabled).unwrap();
    }

    #[test]
    fn off_without_a_name_holds_for_the_interface_of_the_unit() {
        let of_unit = of_unit(&Interface::default());
        let known = ["aw8".to_owned()];
        assert_eq!(interfaces(&Interface::default(), &known).unwrap(), ["aw8".to_owned(), of_unit.clone()]);
        assert!(interfaces(&Interface::default(), &[]).unwrap().contains(&of_unit));
        let named = Interface { interface: Some("aw9".to_owned()) };
        assert_eq!(interfaces(&named, &known).unwrap(), ["aw9"]);
    }
}
