//! The least energy that the same frames at the same times cost: what a radio would spend if it knew its own traffic.
//!
//! The driver tells of each frame that the radio sends, and of each that is sent to it, retries and acknowledgements
//! included, in order of time. Between two of them the radio does what is cheapest: it listens, or it sleeps, if there is
//! time to fall asleep and wake up again and both together with the sleep cost less than listening. Gaps are independent
//! of each other, so the sum is the least over everything that such a radio could do.
//!
//! # What it knows
//! When frames from it and to it are on the air: not whether an attempt will fail, so it is awake for those that fail too,
//! and sends them. Everything else it needs not hear: beacons, since it knows what they announce, frames of others, and the
//! idle medium, since it knows when its backoff will be over. It begins awake, as every radio does.
//!
//! That is a bound from below for every policy *at this timing*: the times are those of a run in which the radio never
//! slept. A policy that moves frames, so that they come closer together, may spend less, with other delays.
//!
//! Left out: overheard frames while it listens through a gap that is too short for sleep; they would cost a little more.

use airwatt_base::{Instant, Span};

use crate::ledger::{Ledger, State};
use crate::radio::Radio;

#[cfg(test)]
mod tests;

/// A time that the radio would have slept, transitions included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nap {
    /// When it begins to fall asleep.
    pub from: Instant,
    /// When it begins to wake up.
    pub wake: Instant,
    /// When it is awake, and the next frame begins; the end of the account for the last one.
    pub until: Instant,
}

/// The account of a radio with perfect knowledge of its own traffic.
#[derive(Clone, Debug)]
pub struct Ideal {
    ledger: Ledger,
    radio: Radio,
    /// Gaps of at least this length are slept through.
    worth_sleeping: Span,
}

impl Ideal {
    /// An account from `start` on.
    pub fn new(start: Instant, radio: Radio) -> Self {
        let worth_sleeping = break_even(&radio);
        Self { ledger: Ledger::new(start), radio, worth_sleeping }
    }

    /// A frame that the radio sends ([`State::Transmit`]) or receives ([`State::Receive`]) from `start` to `end`. Returns the
    /// nap before it, if there was one. What of a frame lies before the end of the one told before counts as that one's.
    pub fn frame(&mut self, state: State, start: Instant, end: Instant) -> Option<Nap> {
        let since = self.ledger.since();
        if end <= since {
            return None;
        }
        let nap = (start > since).then(|| self.gap(start)).flatten();
        self.ledger.spend(state, end);
        nap
    }

    /// Ends the account at `now`, after which nothing comes, and returns it with the nap that goes on to the end. A frame
    /// under way is charged in full: the account may end a little later than `now`.
    pub fn finish(mut self, now: Instant) -> (Ledger, Option<Nap>) {
        let from = self.ledger.since();
        if now <= from {
            return (self.ledger, None);
        }
        // Nothing to be awake for any more: falling asleep is the only cost.
        let Radio { to_sleep, listen, sleep, .. } = &self.radio;
        let gap = now - from;
        let asleep = to_sleep.energy() + *sleep * gap.saturating_sub(to_sleep.time);
        if gap < to_sleep.time || asleep > *listen * gap {
            self.ledger.spend(State::Listen, now);
            return (self.ledger, None);
        }
        self.ledger.spend(State::ToSleep, from + to_sleep.time);
        self.ledger.spend(State::Sleep, now);
        (self.ledger, Some(Nap { from, wake: now, until: now }))
    }

    /// The account so far: up to the end of the last frame.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Nothing of its own until `until`.
    fn gap(&mut self, until: Instant) -> Option<Nap> {
        let from = self.ledger.since();
        if until - from < self.worth_sleeping {
            self.ledger.spend(State::Listen, until);
            return None;
        }
        let wake = until.saturating_sub(self.radio.wake_up.time);
        self.ledger.spend(State::ToSleep, from + self.radio.to_sleep.time);
        self.ledger.spend(State::Sleep, wake);
        self.ledger.spend(State::WakeUp, until);
        self.ledger.wake("frame");
        Some(Nap { from, wake, until })
    }
}

/// The shortest gap that is worth sleeping through: both transitions fit, and with the sleep between cost no more than
/// listening. [`Span::MAX`] for a radio that saves nothing by sleep.
fn break_even(radio: &Radio) -> Span {
    let transitions = radio.to_sleep.time + radio.wake_up.time;
    let listen = radio.listen.as_nanowatts();
    let Some(saved) = listen.checked_sub(radio.sleep.as_nanowatts()).filter(|saved| *saved > 0) else {
        return Span::MAX;
    };
    // listen x gap >= transitions' energy + sleep x (gap - transitions' time), in attojoules.
    let cost = (radio.to_sleep.energy() + radio.wake_up.energy()).as_attojoules();
    let asleep = (radio.sleep * transitions).as_attojoules();
    let gap = cost.saturating_sub(asleep).div_ceil(u128::from(saved));
    let gap = Span::from_nanos(u64::try_from(gap).unwrap_or(u64::MAX));
    // A gap of no length is no gap, even where sleep is free.
    gap.max(transitions).max(Span::from_nanos(1))
}
