//! The contract of every machine: protocols, links, queues, the air, access points and stations keep it alike.
//!
//! A machine is *sans-IO*: no clock, no socket, no thread and no hidden randomness. Whoever drives it (simulator,
//! emulator or daemon) hands in inputs and the time, and takes out outputs and the next time at which the machine
//! wants to be woken.
//!
//! # The four kinds of methods
//! 1. **Inputs**: [`Machine::handle_input`] and [`Machine::handle_timeout`] change the state and may queue outputs.
//! 2. **Outputs**: [`Machine::poll_output`] takes the queued outputs, first in, first out.
//! 3. **The clock**: [`Machine::poll_timeout`] says when, and why, the machine wants `handle_timeout`. It only reads.
//! 4. **Getters**, which change nothing and say nothing about time.
//!
//! # The rules
//! * **Single mutation.** After each input, drain `poll_output` until it is `None`, then ask `poll_timeout`. Only then
//!   comes the next input.
//! * **Time never goes back.** Each `now` is at least as late as the one before it.
//! * **A timeout is a promise.** Nothing happens in a machine between now and its timeout unless an input arrives.
//! * **Waking early changes nothing.** `handle_timeout(now)` before the timeout is harmless and without effect.
//! * **A served timeout is gone.** After `handle_timeout(now)` and a drain, the next timeout lies after `now`.
//! * **A drained machine is quiet**, and a fresh one says nothing before its first input, except that it may ask for a
//!   timeout.
//! * **Machines are values**: `Clone`, `Debug` and `Send`, so that they can be snapshotted, compared and forked.
//!
//! [`crate::testkit::check_machine`] holds a machine to these rules.

use std::fmt::Debug;

use crate::units::Instant;

/// When a machine wants to be woken, and why. Wake-ups by reason are energy by reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeout<R> {
    /// When.
    pub at: Instant,
    /// Why.
    pub reason: R,
}

/// A sans-IO state machine. The rules are those of the [module](self).
pub trait Machine {
    /// What comes in.
    type Input;
    /// What goes out.
    type Output;
    /// Why the machine wants to be woken.
    type Reason: Copy + Debug + PartialEq;

    /// Takes one input at `now`.
    fn handle_input(&mut self, input: Self::Input, now: Instant);

    /// Serves every timer that is due at `now`.
    fn handle_timeout(&mut self, now: Instant);

    /// The next queued output.
    fn poll_output(&mut self) -> Option<Self::Output>;

    /// The next time at which the machine wants [`Machine::handle_timeout`], and why.
    fn poll_timeout(&self) -> Option<Timeout<Self::Reason>>;
}
