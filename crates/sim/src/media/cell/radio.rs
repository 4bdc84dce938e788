//! A station's radio: awake or dozing, and what each state cost.
//!
//! While a radio is awake it receives every frame of its cell, whoever it is for, and listens in between. The cell keeps
//! one sum of the time during which frames were on the air; a radio's share of receiving is the growth of that sum
//! while it was awake and did not send. So a frame costs nothing for stations that only overhear it.

use airwatt_base::{Instant, Span};
use airwatt_energy::{Ideal, Ledger, Nap, Radio, State};
use airwatt_proto::powersave::StationId;

/// The sum of the time during which frames were on the air, up to any instant of the present exchange.
#[derive(Clone, Debug, Default)]
pub(super) struct Airborne {
    before: Span,
    /// Frames of the present exchange, in order.
    present: Vec<(Instant, Instant)>,
}

impl Airborne {
    /// The frames so far belong to the past.
    pub(super) fn fold(&mut self) {
        for (start, end) in self.present.drain(..) {
            self.before += end - start;
        }
    }

    /// A frame from `start` to `end`, not before the one added last.
    pub(super) fn add(&mut self, start: Instant, end: Instant) {
        self.present.push((start, end));
    }

    /// The sum up to `at`, which lies after every folded frame.
    pub(super) fn until(&self, at: Instant) -> Span {
        let present = self.present.iter().map(|&(start, end)| end.min(at).saturating_since(start));
        present.fold(self.before, |sum, part| sum + part)
    }
}

/// A change of a radio's state that its own decisions made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RadioEvent {
    /// Whose radio.
    pub station: StationId,
    /// When.
    pub at: Instant,
    /// The state from there on: `Listen` stands for awake.
    pub state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wakefulness {
    Awake { since: Instant },
    Dozing,
    Waking { until: Instant },
}

#[derive(Clone, Debug)]
pub(super) struct StationRadio {
    pub(super) ledger: Ledger,
    profile: Radio,
    state: Wakefulness,
    /// The air's sum where this radio's account stands.
    mark: Span,
    /// The account of a radio that knows its own traffic, kept beside that of what this one did, and put in its place in
    /// the end.
    ideal: Option<Box<Ideal>>,
}

impl StationRadio {
    /// `ideal`: the account is to be that of a radio with perfect knowledge.
    pub(super) fn new(profile: Radio, ideal: bool) -> Self {
        let state = Wakefulness::Awake { since: Instant::ZERO };
        let ideal = ideal.then(|| Box::new(Ideal::new(Instant::ZERO, profile.clone())));
        Self { ledger: Ledger::new(Instant::ZERO), profile, state, mark: Span::ZERO, ideal }
    }

    /// Up to when time is charged in either account.
    pub(super) fn charged(&self) -> Instant {
        let ideal = self.ideal.as_ref().map(|ideal| ideal.ledger().since());
        ideal.map_or(self.ledger.since(), |ideal| ideal.max(self.ledger.since()))
    }

    /// A frame from or to this station, for the ideal account. Returns the nap before it.
    pub(super) fn tell_ideal(&mut self, state: State, start: Instant, end: Instant) -> Option<Nap> {
        self.ideal.as_mut()?.frame(state, start, end)
    }

    /// The ideal account, if one was kept, takes the place of the other, up to `end`. Returns the nap at its end.
    pub(super) fn idealize(&mut self, end: Instant) -> Option<Nap> {
        let (ledger, nap) = self.ideal.take()?.finish(end);
        self.ledger = ledger;
        nap
    }

    pub(super) const fn profile(&self) -> &Radio {
        &self.profile
    }

    /// Whether the radio can send now.
    pub(super) const fn is_ready(&self) -> bool {
        matches!(self.state, Wakefulness::Awake { .. })
    }

    /// Whether the radio hears a frame that begins at `start`.
    pub(super) fn hears(&self, start: Instant) -> bool {
        matches!(self.state, Wakefulness::Awake { since } if since <= start)
    }

    /// Brings the account up to `at`, or leaves it if it already stands beyond.
    pub(super) fn settle(&mut self, at: Instant, air: &Airborne) {
        if at <= self.ledger.since() {
            return;
        }
        match self.state {
            Wakefulness::Awake { .. } => {
                let sum = air.until(at);
                self.ledger.spend_awake(at, sum - self.mark);
                self.mark = sum;
            }
            Wakefulness::Dozing => self.ledger.spend(State::Sleep, at),
            Wakefulness::Waking { until } if until < at => {
                // The end of a run that lies between this radio's waking and the event that would say so.
                self.awake(until, air);
                self.settle(at, air);
            }
            Wakefulness::Waking { .. } => self.ledger.spend(State::WakeUp, at),
        }
    }

    /// The radio sends from `start` to `end`, both of the present exchange.
    pub(super) fn send(&mut self, start: Instant, end: Instant, air: &Airborne) {
        self.settle(start, air);
        self.ledger.spend(State::Transmit, end);
        self.mark = air.until(end);
    }

    /// Goes to sleep, as soon as what is being sent is out. Returns when it began to.
    pub(super) fn doze(&mut self, now: Instant, air: &Airborne) -> Instant {
        let at = now.max(self.ledger.since());
        self.settle(at, air);
        self.ledger.spend(State::ToSleep, at + self.profile.to_sleep.time);
        self.state = Wakefulness::Dozing;
        at
    }

    /// Begins to wake up. Returns when it began to and when it will be awake.
    pub(super) fn wake(&mut self, now: Instant) -> (Instant, Instant) {
        let at = now.max(self.ledger.since());
        self.ledger.spend(State::Sleep, at);
        let until = at + self.profile.wake_up.time;
        self.state = Wakefulness::Waking { until };
        (at, until)
    }

    /// The radio is awake from `now` on.
    pub(super) fn awake(&mut self, now: Instant, air: &Airborne) {
        self.ledger.spend(State::WakeUp, now);
        self.state = Wakefulness::Awake { since: now };
        self.mark = air.until(now);
    }
}
