//! Emulation: real kernels in network namespaces, connected by the simulated network in real time, with simulated
//! radios.
//!
//! Each station of a scenario and the server become a host of its own (`hosts`): a network namespace with one TUN
//! device, whose other end is in this process. A packet that a kernel sends is read from its device and enters, as an
//! external packet, the machines that a simulation runs: wire, access point, air, power save ([`airwatt_sim::live`]).
//! When it arrives, it is written to the device of its destination (`bridge`). There is no polling and no fixed tick:
//! the next wake-up is a packet, or the time for which a machine has asked.
//!
//! ```text
//!  station0 kernel -- TUN --+                       +-- TUN -- server kernel
//!  station1 kernel -- TUN --+-- bridge: the machines +
//! ```
//! The hosts run (`work`) one command, the commands that the scenario lists, or its flows over kernel sockets
//! (`traffic`). The statistics of each connection are derived from its packets (`flow_monitor`).
//!
//! Left out: IPv6 (disabled, so that an idle host is silent), group-addressed packets, windows granted by
//! `psm-throttling`, and the time between the transmission of a packet by a kernel and the read here, which counts as
//! delay of the sender. If this process is killed, the kernel removes the namespaces, the devices and all processes:
//! nothing has a name or a file outside.

mod bridge;
mod error;
mod flow_monitor;
mod hosts;
mod hwsim;
mod kernel;
mod realtime;
mod report;
mod traffic;
mod tuning;
mod work;

use airwatt_base::Span;
use airwatt_linux::event_loop::Waker;
use airwatt_sim::Run;
use airwatt_sim::scenario::Checked;

pub use error::EmulateError;
pub use hwsim::be_the_medium;
pub use realtime::Realtime;
pub use work::{Command, Output, Work};

/// EmulationOptions of an emulation.
#[derive(Debug)]
pub struct EmulationOptions {
    /// The work of the hosts.
    pub work: Work,
    /// Destination of the standard output of commands.
    pub output: Output,
    /// Name of the user as whom the commands of the scenario's hosts run; `None` for that of this process.
    pub user: Option<String>,
    /// Whether to keep frames, queues, radio states, and the bytes of every packet.
    pub trace: bool,
    /// Lateness above which a delivery counts as late. If more than one of a hundred is late, the run is not trusted.
    pub bound: Span,
    /// Stops the emulation early.
    pub stop: Stop,
}

/// Progress of an emulation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EmulationProgress {
    /// Time since it began.
    pub elapsed: Span,
    /// Share of the time that has passed, 0 to 1; meaningful if the end is known.
    pub share: f64,
    /// Wake-ups of machines so far.
    pub events: u64,
}

/// Outcome of an emulation.
#[derive(Debug)]
pub struct Emulated {
    /// Result document and traces, as in a simulation.
    pub run: Run,
    /// Accuracy of the timing.
    pub realtime: Realtime,
    /// Exit status of the command, or of the first of the scenario's commands that failed; 128 plus the signal number
    /// if it was killed.
    pub status: Option<i32>,
    /// Whether the emulation was stopped.
    pub interrupted: bool,
}

/// Stops an emulation from another thread.
#[derive(Clone, Debug)]
pub struct Stop(Waker);

impl Stop {
    /// Creates a handle for one emulation.
    ///
    /// # Errors
    /// Returns the error of the kernel if no file descriptor is available.
    pub fn new() -> Result<Self, airwatt_linux::Error> {
        Ok(Self(Waker::new()?))
    }

    /// Ends the emulation soon, with the results so far.
    pub fn stop(&self) {
        self.0.wake();
    }

    pub(crate) const fn waker(&self) -> &Waker {
        &self.0
    }
}

/// Emulates `scenario`. `report` is called at most ten times per second with the progress.
///
/// # Errors
/// Returns [`EmulateError`] if hosts cannot be created or their work cannot be started.
pub fn emulate(
    scenario: &Checked,
    seed: u64,
    options: EmulationOptions,
    report: &mut dyn FnMut(EmulationProgress),
) -> Result<Emulated, EmulateError> {
    let scenario = &scenario.ready().map_err(EmulateError::Input)?;
    let hosts = hosts::Hosts::build(scenario)?;
    bridge::run(scenario, seed, hosts, options, report)
}
