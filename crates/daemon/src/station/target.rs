//! The interface that the daemon or a measurement is to act on: what is examined before it is taken, and taking it.

use std::path::PathBuf;

use airwatt_linux::capability::{self, ProcessCapability};
use airwatt_linux::changes::Change;
use airwatt_linux::event_loop::{EventLoop, Interest};
use airwatt_linux::guardian::Guardian;
use airwatt_linux::metrics::MetricsAddress;
use airwatt_linux::seccomp;
use airwatt_linux::signals::Signals;
use airwatt_linux::wireless::{Wireless, WirelessAssociation, WirelessInterface};

use super::config::Config;
use super::host::{GUARDIAN, OBSERVER, Parts, SIGNALS};
use super::observer::Observer;
use super::waiting::serve_metrics;
use super::wifi::Found;
use super::{Interface, drivers, start, uapsd, wifi};
use crate::failure::Failure;
use crate::instance::{self, Started};
use crate::{host, output};

/// What the daemon and a measurement need for as long as they run: the setting, the packet socket, and the maps of its program.
pub(super) const NEEDS: [ProcessCapability; 4] = [
    ProcessCapability::NetAdmin,
    ProcessCapability::NetRaw,
    ProcessCapability::Bpf,
    // The verifier refuses the program's arithmetic with pointers without it.
    ProcessCapability::Perfmon,
];

/// An interface that the configured policy can act on. Nothing has been changed yet.
pub(super) struct Target {
    pub(super) config: Config,
    pub(super) interface: WirelessInterface,
    pub(super) association: Option<WirelessAssociation>,
    wireless: Wireless,
}

/// An interface that was taken: its setting is in the undo log, and a guardian restores it.
pub(super) struct Taken {
    pub(super) parts: Parts,
    /// Has the sources that the daemon and a measurement share.
    pub(super) events: EventLoop,
    /// Ends with this value, which is kept for as long as the program runs.
    pub(super) guardian: Guardian,
}

impl Target {
    /// Finds the interface.
    ///
    /// # Errors
    /// Without one, for a driver whose power save may hang the device, and for a policy that the association does not permit.
    pub(super) fn find(config: Config) -> Result<Self, Failure> {
        let Found { mut wireless, interface, is_connected, others } =
            wifi::find(&Interface { interface: config.interface.clone() })?;
        let name = &interface.name;
        if !others.is_empty() && config.interface.is_none() {
            output::progress(&others_line(name, is_connected, &others));
        }
        let driver = wifi::driver(name).unwrap_or_default();
        let trouble = drivers::known(&driver).and_then(|driver| driver.trouble);
        if let Some(report) = trouble.filter(|_| !config.despite_trouble) {
            return Err(Failure::Missing(format!(
                "{name}: power save of {driver} may hang the device ({report}); hint: despite_trouble = true"
            )));
        }
        let association = wireless.association(interface.index)?;
        uapsd::check(&config.power_save, &mut wireless, &interface, association.as_ref())?;
        Ok(Self { config, interface, association, wireless })
    }

    /// Takes the interface: nobody else does, its setting is known, and its driver switches it.
    ///
    /// # Errors
    /// If another program of airwatt has it, or its driver does not switch power save.
    pub(super) fn take(self, file: Option<PathBuf>, has_metrics: bool) -> Result<Taken, Failure> {
        let Self { config, interface, mut wireless, .. } = self;
        let WirelessInterface { name, index, .. } = interface;
        host::need(&NEEDS)?;
        let signals = Signals::take()?;
        let Started { control, guardian, mut changes } = start(&name)?;
        let found = wireless.power_save(index).map_err(|error| no_power_save(&name, &error))?;
        changes.make(Change::PowerSave { interface: name.clone(), before: found })?;
        let tried = try_driver(&mut wireless, index, found, &name);
        if tried.is_err() {
            instance::undo(&mut changes)?;
            tried?;
        }
        let events = EventLoop::new()?;
        let clock = events.clock();
        let mut observer = Observer::load(clock)?;
        observer.attach(index)?;
        let address = config.metrics.as_ref().filter(|_| has_metrics);
        if let Some(path) = address.and_then(MetricsAddress::path) {
            changes.make(Change::socket(path)?)?;
        }
        let metrics = serve_metrics(address)?;
        capability::keep_only(&NEEDS, None)?;
        seccomp::keep_only_needed(true)?;
        events.add(&observer, OBSERVER, Interest::Read)?;
        events.add(&signals, SIGNALS, Interest::Read)?;
        events.add(&guardian, GUARDIAN, Interest::Read)?;
        let parts = Parts {
            config,
            file,
            name,
            index,
            found,
            wireless,
            observer,
            signals,
            control,
            metrics,
            changes,
            clock,
        };
        Ok(Taken { parts, events, guardian })
    }
}

/// A line about interfaces that nobody has named, and that nothing acts on.
pub(super) fn others_line(name: &str, is_connected: bool, others: &[String]) -> String {
    let why = if is_connected { "that is connected" } else { "(none is connected)" };
    let stay = if others.len() == 1 { "stays as it is" } else { "stay as they are" };
    let others = others.join(", ");
    format!(
        "{name}: the first Wi-Fi interface {why}; {others} {stay}; hint: --interface, or airwattd-station@NAME.service"
    )
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_which_interface_and_why_and_what_becomes_of_the_others() {
        let line = |is_connected, others: &[&str]| {
            let others: Vec<_> = others.iter().map(|&name| name.to_owned()).collect();
            others_line("wlan0", is_connected, &others)
        };
        let one = line(true, &["wlan1"]);
        assert!(
            one.starts_with("wlan0: the first Wi-Fi interface that is connected; wlan1 stays as it is; ")
        );
        let two = line(false, &["wlan1", "wlan2"]);
        assert!(
            two.starts_with("wlan0: the first Wi-Fi interface (none is connected); wlan1, wlan2 stay as ")
        );
    }
}
