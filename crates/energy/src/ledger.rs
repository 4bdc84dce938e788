//! The time line of one radio as durations of its states, and the energy that follows from it.
//!
//! A ledger covers the time since its start without gap and without overlap: each entry charges everything since the
//! last one. Durations are integers and add up to the elapsed time exactly; energy is their product with the radio's
//! powers, also an integer, and is computed only in [`Ledger::energy`]. A transition costs its power for as long as it
//! lasted, so that one that was cut short costs less.
//!
//! Left out: the time line itself (a trace is the simulator's affair); only its integral is kept.

use std::collections::BTreeMap;

use airwatt_base::{Energy, Instant, Span};

use crate::radio::Radio;

#[cfg(test)]
mod tests;

/// What a radio does at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// Sends.
    Transmit,
    /// Receives a frame, whoever it is for.
    Receive,
    /// Awake, neither sends nor receives: carrier sense, backoff, waiting.
    Listen,
    /// Sleeps and hears nothing.
    Sleep,
    /// On the way from awake to sleep.
    ToSleep,
    /// On the way from sleep to awake.
    WakeUp,
}

impl State {
    /// Every state, in the order of the results.
    pub const ALL: [Self; 6] =
        [Self::Transmit, Self::Receive, Self::Listen, Self::Sleep, Self::ToSleep, Self::WakeUp];

    /// The name in traces.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Transmit => "transmit",
            Self::Receive => "receive",
            Self::Listen => "listen",
            Self::Sleep => "sleep",
            Self::ToSleep => "to-sleep",
            Self::WakeUp => "wake-up",
        }
    }
}

/// How long one radio was in each state since a start, and how often it woke up, by reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ledger {
    start: Instant,
    since: Instant,
    spent: [Span; State::ALL.len()],
    wakeups: BTreeMap<&'static str, u64>,
}

impl Ledger {
    /// A ledger that covers the time from `start` on.
    pub const fn new(start: Instant) -> Self {
        Self { start, since: start, spent: [Span::ZERO; State::ALL.len()], wakeups: BTreeMap::new() }
    }

    /// Charges the time from the last entry to `until` to `state`. Panics if `until` lies before the last entry.
    pub fn spend(&mut self, state: State, until: Instant) {
        let span = self.advance(until);
        self.spent[state as usize] += span;
    }

    /// Charges the time from the last entry to `until` to an awake radio that received for `receiving` of it and
    /// listened for the rest. Panics if `until` lies before the last entry or `receiving` is longer than that time.
    pub fn spend_awake(&mut self, until: Instant, receiving: Span) {
        let span = self.advance(until);
        assert!(receiving <= span, "a radio awake for {span} cannot have received for {receiving}");
        self.spent[State::Receive as usize] += receiving;
        self.spent[State::Listen as usize] += span - receiving;
    }

    /// Moves the last entry to `until` and returns the time between.
    fn advance(&mut self, until: Instant) -> Span {
        assert!(until >= self.since, "time is charged up to {}, which is later than {until}", self.since);
        let span = until - self.since;
        self.since = until;
        span
    }

    /// Up to when time is charged.
    pub const fn since(&self) -> Instant {
        self.since
    }

    /// How long the radio was in `state`.
    pub const fn duration(&self, state: State) -> Span {
        self.spent[state as usize]
    }

    /// The time from the start to the last entry.
    pub fn elapsed(&self) -> Span {
        self.since - self.start
    }

    /// What this time costs with `radio`, exactly.
    pub fn energy(&self, radio: &Radio) -> Energy {
        State::ALL.into_iter().map(|state| radio.power(state) * self.duration(state)).sum()
    }

    /// The energy without what idle listening costs: what would remain if the radio drew nothing while it is awake and
    /// neither sends nor receives (Singh 2002, idealised energy; time asleep stays charged at the power of sleep).
    pub fn idealized_energy(&self, radio: &Radio) -> Energy {
        self.energy(radio).saturating_sub(radio.listen * self.duration(State::Listen))
    }

    /// Counts a wake-up and why it happened.
    pub fn wake(&mut self, reason: &'static str) {
        *self.wakeups.entry(reason).or_default() += 1;
    }

    /// The wake-ups by reason, reasons in alphabetical order.
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
