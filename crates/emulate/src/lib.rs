//! The simulated air under the wall clock, between network namespaces: real kernels, simulated radios.
//!
//! Each station of a scenario and the server become a host of its own (`hosts`): a network namespace with one TUN device,
//! whose other end is here. What a kernel sends is read from its device and goes as a foreign packet into the machines that a
//! simulation runs, wire, access point, air, power save ([`airwatt_sim::live`]); where and when it arrives it is written
//! to the device of its destination (`bridge`). Nothing is polled and nothing ticks: the next wake-up is a packet, or the time that
//! a machine has asked for.
//!
//! ```text
//!  station1 kernel -- TUN --+                       +-- TUN -- server kernel
//!  station2 kernel -- TUN --+-- bridge: the machines +
//! ```
//! What runs in the hosts (`work`) is a command, commands that the scenario lists, or its flows over kernel sockets
//! (`traffic`). What each connection did is read off its packets (`watch`).
//!
//! What is left out: IPv6 (disabled, so that an idle host is silent), group-addressed packets, windows granted by
//! `psm-throttling`, and the time between a kernel's sending a packet and its being read here, which counts as the sender's own.
//! When everything here dies at once, the kernel takes the namespaces, the devices and all processes with it: nothing has
//! a name or a file outside.

mod bridge;
mod error;
mod hosts;
mod kernel;
mod realtime;
mod traffic;
mod tuning;
mod watch;
mod work;

use std::io;
use std::sync::Arc;

use airwatt_base::Span;
use airwatt_sim::Run;
use airwatt_sim::scenario::Scenario;
use nix::sys::eventfd::EventFd;

pub use error::EmulateError;
pub use realtime::Realtime;
pub use work::{Command, Output, Work};

/// How a scenario is emulated.
#[derive(Debug)]
pub struct Options {
    /// What runs in the hosts.
    pub work: Work,
    /// Where the standard output of what runs goes.
    pub output: Output,
    /// Keep frames, queues, radio states, and the bytes of every packet.
    pub trace: bool,
    /// Packets delivered later than this are late; when one of a hundred is, the run is not to be trusted.
    pub bound: Span,
    /// Ends it before its time.
    pub stop: Stop,
}

/// How far an emulation has come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Time since it began.
    pub elapsed: Span,
    /// Share of it that is done, 0 to 1, where that is known.
    pub share: f64,
    /// Wake-ups of machines so far.
    pub events: u64,
}

/// What an emulation gave.
#[derive(Debug)]
pub struct Emulated {
    /// Result document and traces, as of a simulation.
    pub run: Run,
    /// How well the wall clock was kept.
    pub realtime: Realtime,
    /// The exit status of the command, or of the first of the scenario's commands that failed; 128 and the signal where
    /// it was killed.
    pub status: Option<i32>,
    /// Whether it was stopped.
    pub interrupted: bool,
}

/// Stops an emulation from another thread.
#[derive(Clone, Debug)]
pub struct Stop(Arc<EventFd>);

impl Stop {
    /// For one emulation.
    ///
    /// # Errors
    /// The kernel's, where it has no room for another file.
    pub fn new() -> io::Result<Self> {
        Ok(Self(Arc::new(EventFd::new()?)))
    }

    /// Ends the emulation soon, with what there is until then.
    pub fn stop(&self) {
        // Full, it has been said often enough.
        let _ = self.0.write(1);
    }

    pub(crate) fn bell(&self) -> &EventFd {
        &self.0
    }
}

/// Emulates `scenario`. `report` is told ten times a second at most how far it is.
///
/// # Errors
/// [`EmulateError`] where hosts could not be built or what runs in them could not be started.
pub fn emulate(
    scenario: &Scenario,
    seed: u64,
    options: Options,
    report: &mut dyn FnMut(Progress),
) -> Result<Emulated, EmulateError> {
    let hosts = hosts::Hosts::build(scenario)?;
    bridge::run(scenario, seed, hosts, options, report)
}
