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
//! This is a lower bound for every behaviour of the radio *at this timing*: the times are those of the run that is
//! accounted for. A policy that moves frames closer together may spend less, with other delays.
//!
//! # Cost
//! The account is six sums, because joules need only the number and the duration of the naps. It is kept for every station.
//!
//! Left out: frames overheard while the radio listens through a gap that is too short for sleep; they would cost
//! slightly more.

use airwatt_base::{Instant, Span};

use crate::ledger::Ledger;
use crate::radio::Radio;
use crate::state::RadioState;

#[cfg(test)]
mod tests;

/// A period in which the radio would have slept, transitions included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nap {
    /// Time at which it begins to fall asleep.
    pub from: Instant,
    /// Time at which it is awake and the next frame begins; for the last period, the end of the account.
    pub until: Instant,
}

/// The account of a radio with perfect knowledge of its own traffic, as running sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LowerBound {
    start: Instant,
    /// End of the last frame.
    since: Instant,
    /// Least length of a gap in which the radio sleeps.
    worth_sleeping: Span,
    transmitting: Span,
    receiving: Span,
    /// Gaps that are too short for sleep.
    listening: Span,
    naps: u64,
    /// Duration of all naps, transitions included.
    napping: Span,
}

impl LowerBound {
    /// Creates an account that begins at `start`.
    pub fn new(start: Instant, radio: &Radio) -> Self {
        Self {
            start,
            since: start,
            worth_sleeping: break_even(radio),
            transmitting: Span::ZERO,
            receiving: Span::ZERO,
            listening: Span::ZERO,
            naps: 0,
            napping: Span::ZERO,
        }
    }

    /// Accounts for a frame that the radio sends from `start` to `end`. Returns the nap before it, if there was one. A part of
    /// the frame before the end of the previous one is charged to the previous one.
    pub fn transmit(&mut self, start: Instant, end: Instant) -> Option<Nap> {
        let (nap, length) = self.frame(start, end);
        self.transmitting += length;
        nap
    }

    /// Accounts for a frame that is addressed to the radio, as [`LowerBound::transmit`] does for one that it sends.
    pub fn receive(&mut self, start: Instant, end: Instant) -> Option<Nap> {
        let (nap, length) = self.frame(start, end);
        self.receiving += length;
        nap
    }

    /// End of the last frame.
    pub const fn since(&self) -> Instant {
        self.since
    }

    /// The account up to `now`, without further frames, and the nap that lasts to its end. A frame in progress is charged in
    /// full: the account may end slightly after `now`. `radio` is the profile of [`LowerBound::new`].
    pub fn finish(&self, radio: &Radio, now: Instant) -> (Ledger, Option<Nap>) {
        let mut ledger = Ledger::new(self.start);
        let mut spend = |state, span| {
            let until = ledger.since() + span;
            ledger.spend(state, until);
        };
        let (to_sleep, wake_up) = (radio.to_sleep.time, radio.wake_up.time);
        spend(RadioState::Transmit, self.transmitting);
        spend(RadioState::Receive, self.receiving);
        spend(RadioState::Listen, self.listening);
        spend(RadioState::ToSleep, to_sleep * self.naps);
        spend(RadioState::Sleep, self.napping - (to_sleep + wake_up) * self.naps);
        spend(RadioState::WakeUp, wake_up * self.naps);
        let gap = now.saturating_since(self.since);
        // No frame follows: falling asleep is the only cost.
        let asleep = radio.to_sleep.energy() + radio.sleep * gap.saturating_sub(to_sleep);
        let sleeps = !gap.is_zero() && gap >= to_sleep && asleep <= radio.listen * gap;
        if sleeps {
            spend(RadioState::ToSleep, to_sleep);
            spend(RadioState::Sleep, gap - to_sleep);
        } else {
            spend(RadioState::Listen, gap);
        }
        ledger.count_wakeups("frame", self.naps);
        (ledger, sleeps.then_some(Nap { from: self.since, until: now }))
    }

    /// Moves the account to `end`. Returns the nap before `start`, and the length of the frame that is not charged yet.
    fn frame(&mut self, start: Instant, end: Instant) -> (Option<Nap>, Span) {
        let from = self.since;
        if end <= from {
            return (None, Span::ZERO);
        }
        self.since = end;
        if start <= from {
            return (None, end - from);
        }
        let gap = start - from;
        if gap < self.worth_sleeping {
            self.listening += gap;
            return (None, end - start);
        }
        self.naps += 1;
        self.napping += gap;
        (Some(Nap { from, until: start }), end - start)
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
