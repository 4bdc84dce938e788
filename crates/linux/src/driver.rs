//! Drives a machine of the contract ([`airwatt_base::Machine`]) by the clock and the descriptors of this host.
//!
//! A [`MachineHost`] connects the machine to the world: it reads inputs from sources that are ready and carries out outputs. The
//! driver keeps the contract: inputs come one at a time, outputs are drained after each, a timeout is served at its time,
//! and a timeout that is due is served before a later input, unless the host reads first ([`MachineHost::READS_FIRST`]).
//! Between these the thread sleeps. Nothing is polled: a machine without a timeout on a host without traffic wakes up never.
//!
//! ```text
//!   descriptor ready -> Host::receive -> handle_input  -> poll_output -> Host::carry_out
//!   timeout due      ------------------> handle_timeout -> poll_output -> Host::carry_out
//!                                                          then Host::settle, once for all of them
//! ```

use std::ops::ControlFlow;

use airwatt_base::{Instant, Machine, Timeout};

use crate::Error;
use crate::event_loop::{EventLoop, ReadySource};

/// What connects a machine to the world.
pub trait MachineHost<M: Machine> {
    /// Whether what has arrived is handed in before a timeout that is due. A thread that was not scheduled for a time finds both: its
    /// timer has expired, and the answer for which the timer waited may have come long ago. Machines that send again after a timeout
    /// need the answer first; those that move a model of time forward need the timeout first.
    const READS_FIRST: bool = false;

    /// Reads what is ready and appends the inputs that follow from it, at most as many as leave the other sources their
    /// turn; what is left is reported again. `Break` ends the driver after these inputs.
    ///
    /// # Errors
    /// An error ends the driver.
    fn receive(&mut self, ready: ReadySource, inputs: &mut Vec<M::Input>) -> Result<ControlFlow<()>, Error>;

    /// Carries out one output, or collects it for [`MachineHost::settle`].
    ///
    /// # Errors
    /// An error ends the driver.
    fn carry_out(&mut self, output: M::Output, now: Instant) -> Result<(), Error>;

    /// Called when the machine is drained and before the thread sleeps: the place to send a batch, and to read or
    /// configure the machine. Outputs that the machine has queued here are carried out.
    ///
    /// # Errors
    /// An error ends the driver.
    fn settle(&mut self, machine: &mut M, now: Instant) -> Result<(), Error> {
        let _ = (machine, now);
        Ok(())
    }

    /// Called before the machine serves a timeout: wake-ups by reason are energy by reason.
    fn wakes_up(&mut self, reason: M::Reason) {
        let _ = reason;
    }
}

/// Drives `machine` until the host ends it.
///
/// # Errors
/// The first error of the host or of the loop.
pub fn run<M: Machine, H: MachineHost<M>>(
    machine: &mut M,
    host: &mut H,
    events: &mut EventLoop,
) -> Result<(), Error> {
    let mut inputs = Vec::new();
    let mut ready = Vec::new();
    // What the machine was given before is carried out before the host settles.
    drain(machine, host, events.now())?;
    loop {
        host.settle(machine, events.now())?;
        drain(machine, host, events.now())?;
        let until = machine.poll_timeout().map(|timeout| timeout.at);
        ready.clear();
        ready.extend_from_slice(events.wait(until)?);
        for source in &ready {
            let flow = host.receive(*source, &mut inputs)?;
            let now = events.now();
            if !H::READS_FIRST {
                serve_timeout(machine, host, now)?;
            }
            for input in inputs.drain(..) {
                machine.handle_input(input, now);
                drain(machine, host, now)?;
            }
            if flow.is_break() {
                return host.settle(machine, now);
            }
        }
        serve_timeout(machine, host, events.now())?;
    }
}

fn serve_timeout<M: Machine>(
    machine: &mut M,
    host: &mut impl MachineHost<M>,
    now: Instant,
) -> Result<(), Error> {
    if let Some(Timeout { at, reason }) = machine.poll_timeout()
        && at <= now
    {
        host.wakes_up(reason);
        machine.handle_timeout(now);
        drain(machine, host, now)?;
    }
    Ok(())
}

fn drain<M: Machine>(machine: &mut M, host: &mut impl MachineHost<M>, now: Instant) -> Result<(), Error> {
    while let Some(output) = machine.poll_output() {
        host.carry_out(output, now)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
