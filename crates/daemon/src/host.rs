//! The host as it is found: privileges, settings under `/proc/sys`, and what is changed of it.

use std::fs;

use airwatt_linux::capability::{self, ProcessCapability};
use airwatt_linux::changes::{Change, Changes};
use airwatt_linux::interface;
use tracing::info;

use crate::failure::Failure;
use crate::output;

const DEFAULT_CONTROL: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

/// Fails with the name of the first of `needed` that is missing.
pub(crate) fn need(needed: &[ProcessCapability]) -> Result<(), Failure> {
    match capability::first_missing(needed)? {
        None => Ok(()),
        Some(missing) => {
            Err(Failure::Missing(format!("the capability {} is missing: run this as root", missing.name())))
        }
    }
}

/// Makes changes that are undone when the daemon ends, each with a line in the log.
pub(crate) fn change(changes: &mut Changes, wanted: Vec<Change>) -> Result<(), Failure> {
    for change in wanted {
        let command = change.describe();
        changes.make(change)?;
        info!(command, "host changed");
    }
    Ok(())
}

/// The index of a device that was just made.
pub(crate) fn index_of_device(name: &str) -> Result<u32, Failure> {
    interface::index(name).ok_or_else(|| Failure::Failed(format!("{name}: the device has gone")))
}

/// Returns the congestion control that sockets of this thread's network namespace get if nothing else is chosen for them.
pub(crate) fn default_control() -> Result<String, Failure> {
    fs::read_to_string(DEFAULT_CONTROL)
        .map(|text| text.trim().to_owned())
        .map_err(|error| Failure::of_io(DEFAULT_CONTROL, &error))
}

/// The command by which `name` becomes the default, as people are shown it.
pub(crate) fn default_setting(name: &str) -> String {
    format!("[#] sysctl -w net.ipv4.tcp_congestion_control={name}")
}

/// Makes `name` the congestion control of the kernel for connections that name none.
pub(crate) fn set_default_control(name: &str) -> Result<(), Failure> {
    output::progress(&default_setting(name));
    fs::write(DEFAULT_CONTROL, name).map_err(|error| Failure::of_io(DEFAULT_CONTROL, &error))
}
