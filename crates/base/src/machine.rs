//! The contract of every machine: protocols, links, queues, the air, access points and stations all obey it.
//!
//! A machine is *sans-IO*: no clock, no socket, no thread and no hidden randomness. Its driver (simulator, emulator or
//! daemon) passes in inputs and the time, and takes out outputs and the next time at which the machine needs to wake
//! up.
//!
//! # The four kinds of methods
//! 1. **Inputs**: [`Machine::handle_input`] and [`Machine::handle_timeout`] change the state and may queue outputs.
//! 2. **Outputs**: [`Machine::poll_output`] takes the queued outputs, first in, first out.
//! 3. **The clock**: [`Machine::poll_timeout`] returns when, and why, `handle_timeout` is to be called. It changes
//!    nothing.
//! 4. **Getters** change nothing and do not depend on the time.
//!
//! # The rules
//! * **Single mutation.** After each input, drain `poll_output` until it is `None`, then ask `poll_timeout`. Only then
//!   comes the next input.
//! * **Time never goes back.** Each `now` is at least as late as the one before it.
//! * **A timeout is a promise.** Nothing happens in a machine between now and its timeout unless an input arrives.
//! * **Waking early changes nothing.** `handle_timeout(now)` before the timeout is harmless and without effect.
//! * **A served timeout is gone.** After `handle_timeout(now)` and a drain, the next timeout lies after `now`.
//! * **A drained machine is quiet**, and a new one has no output before its first input; it may have a timeout.
//! * **Machines are values**: `Clone`, `Debug` and `Send`, so that they can be snapshotted, compared and forked. The
//!   exceptions are a tunnel over SCTP and an end of QUIC, which cannot be cloned: the state is their libraries'.
//!
//! [`crate::testkit::check_machine`] holds a machine to these rules.

use std::fmt::Debug;

use crate::units::Instant;

/// The time at which a machine needs to wake up, and the reason. Wake-ups by reason give energy by reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeout<R> {
    /// The time of the wake-up.
    pub at: Instant,
    /// The reason for the wake-up.
    pub reason: R,
}

/// A sans-IO state machine, which obeys the rules of the [module](self).
pub trait Machine {
    /// Inputs of the machine.
    type Input;
    /// Outputs of the machine.
    type Output;
    /// Reasons for which the machine wakes up.
    type Reason: Copy + Debug + PartialEq;

    /// Takes one input at `now`.
    fn handle_input(&mut self, input: Self::Input, now: Instant);

    /// Serves every timer that is due at `now`.
    fn handle_timeout(&mut self, now: Instant);

    /// Returns the next queued output.
    fn poll_output(&mut self) -> Option<Self::Output>;

    /// Returns the next time at which [`Machine::handle_timeout`] is to be called, and the reason.
    fn poll_timeout(&self) -> Option<Timeout<Self::Reason>>;
}
