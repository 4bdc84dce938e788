//! `run`, `off` and `on`: the daemon from its start to the setting restored.

use std::io::ErrorKind;

use airwatt_base::{Instant, Span};
use airwatt_linux::capability::{self, ProcessCapability};
use airwatt_linux::changes::Change;
use airwatt_linux::clock::Clock;
use airwatt_linux::control;
use airwatt_linux::driver;
use airwatt_linux::event_loop::{EventLoop, Interest};
use airwatt_linux::metrics::Metrics;
use airwatt_linux::service::{self, Unit};
use airwatt_linux::signals::Signals;
use airwatt_linux::wireless::Wireless;
use tracing::info;

use super::book::Book;
use super::config::Config;
use super::controller::Controller;
use super::host::{CONTROL, GUARDIAN, METRICS, OBSERVER, Parts, SIGNALS, StationHost, WIRELESS};
use super::observer::Observer;
use super::{Interface, KIND, Run, drivers, instance, on_or_off, start, state, uapsd, wifi};
use crate::failure::Failure;
use crate::instance::Started;
use crate::{host, output};

/// Time for which `off` waits for the end of a daemon.
const END_PATIENCE: Span = Span::from_secs(5);
/// What the daemon and a measurement need for as long as they run: the setting, the packet socket, and the maps of its program.
pub(super) const NEEDS: [ProcessCapability; 3] =
    [ProcessCapability::NetAdmin, ProcessCapability::NetRaw, ProcessCapability::Bpf];

/// `airwattd station`.
pub(super) fn run(options: &Run) -> Result<(), Failure> {
    let config = Config::of_command(options.file.as_deref(), &options.interface)?;
    if options.foreground.check {
        return Ok(());
    }
    let (mut wireless, interface) = wifi::find(&Interface { interface: config.interface.clone() })?;
    let name = interface.name.clone();
    let driver = wifi::driver(&name).unwrap_or_default();
    let trouble = drivers::known(&driver).and_then(|driver| driver.trouble);
    if let Some(report) = trouble.filter(|_| !config.despite_trouble) {
        return Err(Failure::Missing(format!(
            "{name}: power save of {driver} may hang the device ({report}); hint: despite_trouble = true"
        )));
    }
    let association = wireless.association(interface.index)?;
    uapsd::check(&config.power_save, &mut wireless, &interface, association.as_ref())?;
    if options.foreground.dry_run {
        output::print(&plan(&name, &config));
        return Ok(());
    }
    options.foreground.log.start()?;
    if state::is_off(&name) {
        output::progress(&format!(
            "{name}: switched off by `airwattd station off`; `airwattd station on` ends that"
        ));
        // For a service manager this is a start and an end, and no failure.
        service::ready("switched off");
        return Ok(());
    }
    host::need(&NEEDS)?;
    let signals = Signals::take()?;
    let Started { control, guardian, mut changes } = start(&name)?;
    let found = wireless.power_save(interface.index).map_err(|error| no_power_save(&name, &error))?;
    changes.make(Change::PowerSave { interface: name.clone(), before: found })?;
    let tried = try_driver(&mut wireless, interface.index, found, &name);
    if tried.is_err() {
        crate::instance::undo(&mut changes)?;
        tried?;
    }
    let mut events = EventLoop::new()?;
    let mut observer = Observer::load(events.clock())?;
    observer.attach(interface.index)?;
    let metrics = config.metrics.as_ref().map(Metrics::bind).transpose()?;
    capability::keep_only(&NEEDS, None)?;
    events.add(&observer, OBSERVER, Interest::Read)?;
    events.add(&signals, SIGNALS, Interest::Read)?;
    events.add(&control, CONTROL, Interest::Read)?;
    events.add(&guardian, GUARDIAN, Interest::Read)?;
    if let Some(metrics) = &metrics {
        events.add(metrics, METRICS, Interest::Read)?;
    }
    let clock = events.clock();
    let parts = Parts {
        config,
        file: options.file.clone(),
        name,
        index: interface.index,
        found,
        wireless,
        observer,
        signals,
        control,
        metrics,
        changes,
        clock,
    };
    serve(parts, clock, &mut events)
}

fn serve(parts: Parts, clock: Clock, events: &mut EventLoop) -> Result<(), Failure> {
    let (name, found, now) = (parts.name.clone(), parts.found, clock.now());
    let stored = state::read(&name).filter(|stored| stored.found == found);
    let periods = stored.map(|stored| stored.periods).unwrap_or_default();
    // What an earlier run has observed counts.
    let observed = Span::from_nanos(periods[0].elapsed);
    let acts_at = now + parts.config.observe.saturating_sub(observed);
    let mut machine = Controller::new(found, acts_at);
    let mut host = StationHost::new(parts, Book::new(periods, now, found))?;
    events.add(&host.events, WIRELESS, Interest::Read)?;
    service::ready(&name);
    info!(interface = name, power_save = on_or_off(found), "the station daemon runs");
    let done = driver::run(&mut machine, &mut host, events);
    service::stopping();
    // First the host, then the book.
    host.restore()?;
    done?;
    host.keep(&machine, clock.now())?;
    info!(interface = name, "the station daemon has ended");
    Ok(())
}

fn no_power_save(name: &str, error: &airwatt_linux::Error) -> Failure {
    Failure::Missing(format!("{name}: its driver has no power save to switch: {error}"))
}

/// Finds out whether the driver switches power save, by doing it. The undo log has the setting already.
fn try_driver(wireless: &mut Wireless, index: u32, found: bool, name: &str) -> Result<(), Failure> {
    for on in [!found, found] {
        wireless.set_power_save(index, on).map_err(|error| no_power_save(name, &error))?;
        if wireless.power_save(index)? != on {
            return Err(Failure::Missing(format!("{name}: its driver ignores a switch of power save")));
        }
    }
    Ok(())
}

fn plan(name: &str, config: &Config) -> String {
    format!(
        "[#] a packet socket on {name} with a BPF filter that counts packets and accepts none\n\
         [#] iw dev {name} set power_save on|off, by the policy {}, after {} of observation\n",
        config.power_save.name(),
        config.observe
    )
}

/// The interfaces that `off` and `on` are about: the named one, those with a daemon, or the only one.
fn interfaces(options: &Interface) -> Result<Vec<String>, Failure> {
    let running = crate::instance::running(KIND);
    match (&options.interface, running.is_empty()) {
        (Some(name), _) => Ok(vec![name.clone()]),
        (None, false) => Ok(running),
        (None, true) => Ok(vec![wifi::named(options)?]),
    }
}

/// `airwattd station off`: ends the daemon, restores the setting, and keeps later daemons from starting.
pub(super) fn off(options: &Interface) -> Result<(), Failure> {
    for name in interfaces(options)? {
        state::set_off(&name, true)?;
        let instance = instance(&name);
        let socket = instance.control_socket();
        if let Err(error) = control::ask(&socket, "stop") {
            match error.io().kind() {
                ErrorKind::NotFound | ErrorKind::ConnectionRefused => instance.clean_up()?,
                // A measurement has the socket too, and does not answer.
                _ => return Err(Failure::Failed(format!("{name}: what runs there does not end: {error}"))),
            }
            continue;
        }
        let began = Clock::start();
        while socket.exists() {
            if began.now() > Instant::ZERO + END_PATIENCE {
                return Err(Failure::Failed(format!("{name}: the station daemon has not ended within 5 s")));
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
    Ok(())
}

/// `airwattd station on`: lets daemons start again.
pub(super) fn on(options: &Interface) -> Result<(), Failure> {
    interfaces(options)?.iter().try_for_each(|name| state::set_off(name, false))
}

/// `airwattd station unit`.
pub(super) fn unit(program: &str) -> String {
    let unit = Unit {
        description: "airwatt: Wi-Fi power save that follows the traffic",
        start: &format!("{program} station"),
        restore: &format!("{program} station restore"),
        capabilities: &NEEDS,
        families: &["AF_PACKET"],
        devices: &[],
    };
    unit.text_with(&[
        "ProtectKernelTunables=yes",
        "PrivateDevices=yes",
        "IPAddressDeny=any",
        "UMask=0077",
        "StateDirectory=airwatt",
        "StateDirectoryMode=0700",
        "# The program that counts packets.",
        "SystemCallFilter=bpf",
    ])
}
