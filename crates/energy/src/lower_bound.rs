//! The least energy for the same frames at the same times: the energy of a radio that knows its own traffic in advance.
//!
//! The driver reports each frame that the radio sends and each that is addressed to it while it is awake, retries and acknowledgements
//! included, in order of time. Between two frames the radio does what is cheapest: it listens or, if there is time to
//! fall asleep and wake up again and both transitions with the sleep cost less than listening, it sleeps. Gaps are
//! independent of each other, so the sum is the minimum over all behaviours of such a radio.
//!
//! # What the radio knows
//! The radio knows when frames from it and to it are on the air, but not whether an attempt will fail, so it is awake
//! for failed attempts too, and sends them. It needs to receive nothing else: not what was sent while the radio of the run slept, not beacons, because it knows their
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

/// Frames of an exchange that are reported together, before they are on the air: RTS, CTS, data and its acknowledgement.
const EXCHANGE: usize = 4;

/// A frame that is accounted for, to take it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Charged {
    state: RadioState,
    /// End of the frame before.
    from: Instant,
    /// Start of the time that is charged to it.
    start: Instant,
    /// Whether the gap before it is a nap.
    is_nap: bool,
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
    /// The last frames, and the number of all.
    last: [Option<Charged>; EXCHANGE],
    frames: usize,
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
            last: [None; EXCHANGE],
            frames: 0,
        }
    }

    /// Accounts for a frame that the radio sends from `start` to `end`. Returns the nap before it, if there was one. A part of
    /// the frame before the end of the previous one is charged to the previous one.
    pub fn transmit(&mut self, start: Instant, end: Instant) -> Option<Nap> {
        self.frame(RadioState::Transmit, start, end)
    }

    /// Accounts for a frame that is addressed to the radio, as [`LowerBound::transmit`] does for one that it sends.
    pub fn receive(&mut self, start: Instant, end: Instant) -> Option<Nap> {
        self.frame(RadioState::Receive, start, end)
    }

    /// The account up to `now`, without further frames, and the nap that lasts to its end. What an exchange in progress has after
    /// `now` is not charged. `radio` is the profile of [`LowerBound::new`].
    pub fn finish(mut self, radio: &Radio, now: Instant) -> (Ledger, Option<Nap>) {
        self.cut(now);
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

    /// Accounts for a frame and the gap before it. Returns the gap if it is a nap.
    fn frame(&mut self, state: RadioState, start: Instant, end: Instant) -> Option<Nap> {
        let from = self.since;
        if end <= from {
            return None;
        }
        self.since = end;
        let start = start.max(from);
        let gap = start - from;
        let is_nap = !gap.is_zero() && gap >= self.worth_sleeping;
        *self.time_of(state) += end - start;
        if is_nap {
            self.naps += 1;
            self.napping += gap;
        } else {
            self.listening += gap;
        }
        self.last[self.frames % EXCHANGE] = Some(Charged { state, from, start, is_nap });
        self.frames += 1;
        is_nap.then_some(Nap { from, until: start })
    }

    fn time_of(&mut self, state: RadioState) -> &mut Span {
        if state == RadioState::Transmit { &mut self.transmitting } else { &mut self.receiving }
    }

    /// Takes back what the last frames have after `now`.
    fn cut(&mut self, now: Instant) {
        while self.since > now && self.frames > 0 {
            self.frames -= 1;
            let Some(frame) = self.last[self.frames % EXCHANGE].take() else { return };
            let end = self.since;
            *self.time_of(frame.state) -= end - frame.start.max(now);
            if frame.start < now {
                self.since = now;
                return;
            }
            let gap = frame.start - frame.from;
            if frame.is_nap {
                self.naps -= 1;
                self.napping -= gap;
            } else {
                self.listening -= gap;
            }
            self.since = frame.from;
        }
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
