//! The time line of one radio, kept as durations of its states, and the energy computed from it.
//!
//! A ledger covers the time since its start without gap and without overlap: each entry charges the whole time since
//! the last one. Durations are integers and add up to the elapsed time exactly; energy is their product with the
//! radio's powers, also an integer, and is computed only in [`Ledger::energy`]. A transition costs its power for its
//! duration, so that an interrupted one costs less.
//!
//! Left out: the time line itself, which the simulator's traces record; only its integral is kept.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use airwatt_base::{Energy, Instant, Span};

use crate::radio::Radio;
use crate::state::RadioState;

#[cfg(test)]
mod tests;

/// The time that one radio has spent in each state since a start, and its number of wake-ups by reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ledger {
    start: Instant,
    since: Instant,
    spent: [Span; RadioState::ALL.len()],
    wakeups: BTreeMap<&'static str, u64>,
}

impl Ledger {
    /// Creates a ledger that covers the time from `start` on.
    pub const fn new(start: Instant) -> Self {
        Self { start, since: start, spent: [Span::ZERO; RadioState::ALL.len()], wakeups: BTreeMap::new() }
    }

    /// Charges the time from the last entry to `until` to `state`. Panics if `until` lies before the last entry.
    pub fn spend(&mut self, state: RadioState, until: Instant) {
        let span = self.advance(until);
        self.spent[state as usize] += span;
    }

    /// Charges the time from the last entry to `until` to an awake radio that received for `receiving` of it and
    /// listened for the rest. Panics if `until` lies before the last entry or `receiving` is longer than that time.
    pub fn spend_awake(&mut self, until: Instant, receiving: Span) {
        let span = self.advance(until);
        assert!(receiving <= span, "a radio awake for {span} cannot have received for {receiving}");
        self.spent[RadioState::Receive as usize] += receiving;
        self.spent[RadioState::Listen as usize] += span - receiving;
    }

    /// Charges `span` after the last entry, divided among the states as the time between the last entries of `from` and
    /// `until`, two ledgers of the same radio. What integer division leaves is charged to the state with the largest
    /// share. Wake-ups are not counted. Panics if `until` does not continue `from`.
    pub fn spend_like(&mut self, span: Span, from: &Self, until: &Self) {
        let elapsed = u128::from((until.since - from.since).as_nanos());
        assert!(elapsed > 0, "the ledger to follow covers no time");
        let spent = |state: RadioState| until.spent[state as usize] - from.spent[state as usize];
        let share = |state: RadioState| {
            let nanos = u128::from(spent(state).as_nanos()) * u128::from(span.as_nanos()) / elapsed;
            Span::from_nanos(u64::try_from(nanos).expect("a share is no longer than the whole"))
        };
        let mut rest = span;
        for state in RadioState::ALL {
            self.spent[state as usize] += share(state);
            rest -= share(state);
        }
        let largest =
            RadioState::ALL.into_iter().max_by_key(|state| spent(*state)).unwrap_or(RadioState::Listen);
        self.spent[largest as usize] += rest;
        self.since += span;
    }

    /// Moves the last entry to `until`, and returns the time between.
    fn advance(&mut self, until: Instant) -> Span {
        assert!(until >= self.since, "time is charged up to {}, which is later than {until}", self.since);
        let span = until - self.since;
        self.since = until;
        span
    }

    /// The time up to which the ledger is charged.
    pub const fn since(&self) -> Instant {
        self.since
    }

    /// The time that the radio has spent in `state`.
    pub const fn duration(&self, state: RadioState) -> Span {
        self.spent[state as usize]
    }

    /// The time from the start to the last entry.
    pub fn elapsed(&self) -> Span {
        self.since - self.start
    }

    /// The exact energy of this time with `radio`.
    pub fn energy(&self, radio: &Radio) -> Energy {
        RadioState::ALL.into_iter().map(|state| radio.power(state) * self.duration(state)).sum()
    }

    /// The energy without the cost of idle listening: the energy if the radio drew no power while it is awake and
    /// neither transmits nor receives (idealised energy of Singh 2002; time asleep is charged at the power of sleep).
    pub fn idealized_energy(&self, radio: &Radio) -> Energy {
        self.energy(radio).saturating_sub(radio.listen * self.duration(RadioState::Listen))
    }

    /// Adds `count` wake-ups with the same reason.
    pub(crate) fn count_wakeups(&mut self, reason: &'static str, count: u64) {
        if count > 0 {
            *self.wakeups.entry(reason).or_default() += count;
        }
    }

    /// The number of wake-ups by reason, with reasons in alphabetical order.
    pub const fn wakeups(&self) -> &BTreeMap<&'static str, u64> {
        &self.wakeups
    }

    /// Panics unless the whole time from the start to `now` is charged, each nanosecond once.
    pub fn check(&self, now: Instant) {
        assert_eq!(self.since, now, "time is charged up to {}, not up to {now}", self.since);
        let sum: Span = self.spent.into_iter().sum();
        assert_eq!(sum, self.elapsed(), "the states add up to {sum} in {}", self.elapsed());
    }
}

/// How long a radio was in each state, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, schemars::JsonSchema)]
pub struct StateSeconds {
    /// Sending.
    pub transmit: f64,
    /// Receiving a frame, whoever it was for.
    pub receive: f64,
    /// Awake, neither sending nor receiving.
    pub listen: f64,
    /// Asleep.
    pub sleep: f64,
    /// Falling asleep and waking up.
    pub transition: f64,
}

impl StateSeconds {
    /// The times of a ledger.
    pub fn of(ledger: &Ledger) -> Self {
        let seconds = |state| ledger.duration(state).as_secs_f64();
        Self {
            transmit: seconds(RadioState::Transmit),
            receive: seconds(RadioState::Receive),
            listen: seconds(RadioState::Listen),
            sleep: seconds(RadioState::Sleep),
            transition: (ledger.duration(RadioState::ToSleep) + ledger.duration(RadioState::WakeUp))
                .as_secs_f64(),
        }
    }

    /// The whole time.
    pub fn total(&self) -> f64 {
        self.transmit + self.receive + self.listen + self.sleep + self.transition
    }
}

/// Adds the times of another time line.
impl AddAssign for StateSeconds {
    fn add_assign(&mut self, other: Self) {
        self.transmit += other.transmit;
        self.receive += other.receive;
        self.listen += other.listen;
        self.sleep += other.sleep;
        self.transition += other.transition;
    }
}
