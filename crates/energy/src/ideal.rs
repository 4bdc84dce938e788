//! The least energy for the same frames at the same times: the energy of a radio that knows its own traffic in advance.
//!
//! The driver reports each frame that the radio sends and each that is addressed to it, retries and acknowledgements
//! included, in order of time. Between two frames the radio does what is cheapest: it listens or, if there is time to
//! fall asleep and wake up again and both transitions with the sleep cost less than listening, it sleeps. Gaps are
//! independent of each other, so the sum is the minimum over all behaviours of such a radio.
//!
//! # What the radio knows
//! The radio knows when frames from it and to it are on the air, but not whether an attempt will fail, so it is awake
//! for failed attempts too, and sends them. It needs to receive nothing else: not beacons, because it knows their
//! content, not frames of others, and not the idle medium, because it knows when its backoff ends. It is awake at the
//! start, as every radio is.
//!
//! This is a lower bound for every policy *at this timing*: the times are those of a run in which the radio never
//! slept. A policy that moves frames closer together may spend less, with other delays.
//!
//! Left out: frames overheard while the radio listens through a gap that is too short for sleep; they would cost
//! slightly more.

use airwatt_base::{Instant, Span};

use crate::ledger::{Ledger, State};
use crate::radio::Radio;

#[cfg(test)]
mod tests;

/// A period in which the radio would have slept, transitions included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nap {
    /// Time at which it begins to fall asleep.
    pub from: Instant,
    /// Time at which it begins to wake up.
    pub wake: Instant,
    /// Time at which it is awake and the next frame begins; for the last period, the end of the account.
    pub until: Instant,
}

/// The account of a radio with perfect knowledge of its own traffic.
#[derive(Clone, Debug)]
pub struct Ideal {
    ledger: Ledger,
    radio: Radio,
    /// Least length of a gap in which the radio sleeps.
    worth_sleeping: Span,
}

impl Ideal {
    /// Creates an account that begins at `start`.
    pub fn new(start: Instant, radio: Radio) -> Self {
        let worth_sleeping = break_even(&radio);
        Self { ledger: Ledger::new(start), radio, worth_sleeping }
    }

    /// Accounts for a frame that the radio sends ([`State::Transmit`]) or receives ([`State::Receive`]) from `start` to
    /// `end`. Returns the nap before it, if there was one. A part of the frame before the end of the previous one is
    /// charged to the previous one.
    pub fn frame(&mut self, state: State, start: Instant, end: Instant) -> Option<Nap> {
        let since = self.ledger.since();
        if end <= since {
            return None;
        }
        let nap = (start > since).then(|| self.gap(start)).flatten();
        self.ledger.spend(state, end);
        nap
    }

    /// Ends the account at `now` without further frames, and returns it with the nap that lasts to the end. A frame in
    /// progress is charged in full: the account may end slightly after `now`.
    pub fn finish(mut self, now: Instant) -> (Ledger, Option<Nap>) {
        let from = self.ledger.since();
        if now <= from {
            return (self.ledger, None);
        }
        // No frame follows: falling asleep is the only cost.
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

    /// The account up to the end of the last frame.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Accounts for a gap without frames until `until`.
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

/// The shortest gap in which sleep pays: both transitions fit, and with the sleep between them they cost no more than
/// listening. [`Span::MAX`] for a radio that saves nothing by sleep.
fn break_even(radio: &Radio) -> Span {
    let transitions = radio.to_sleep.time + radio.wake_up.time;
    let listen = radio.listen.as_nanowatts();
    let Some(saved) = listen.checked_sub(radio.sleep.as_nanowatts()).filter(|saved| *saved > 0) else {
        return Span::MAX;
    };
    // The condition is listen x gap >= transitions' energy + sleep x (gap - transitions' time), in attojoules.
    let cost = (radio.to_sleep.energy() + radio.wake_up.energy()).as_attojoules();
    let asleep = (radio.sleep * transitions).as_attojoules();
    let gap = cost.saturating_sub(asleep).div_ceil(u128::from(saved));
    let gap = Span::from_nanos(u64::try_from(gap).unwrap_or(u64::MAX));
    // A gap of zero length does not count, even if sleep is free.
    gap.max(transitions).max(Span::from_nanos(1))
}
