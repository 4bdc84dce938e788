//! The radios of a cell: awake or dozing, and the time that each spent in each state.
//!
//! An awake radio receives every frame on its channel, whatever its receiver address, and listens in between. The channel
//! keeps one sum of the time during which frames were on the air; the receive time of a radio is the growth of that sum
//! while the radio was awake and did not send. A frame therefore costs no computation for stations that only overhear it.

pub(super) mod cause_account;

use airwatt_base::{Instant, Span};
use airwatt_energy::{Cause, Causes, Ledger, LowerBound, Radio, RadioState};
use airwatt_proto::powersave::StationId;

use self::cause_account::{CauseAccount, Charged};
use super::access::contention::ContenderId;
use super::frame::parts::{Airborne, Part, Parts};
use crate::engine::Fingerprint;

/// Index of a radio in its cell, which is the number of its station.
pub(super) type RadioId = StationId;

/// A change of a radio's state that its station decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RadioEvent {
    /// The station of the radio.
    pub station: StationId,
    /// When.
    pub at: Instant,
    /// The state from there on: `Listen` stands for awake.
    pub state: RadioState,
}

/// Every radio whose energy is accounted for.
#[derive(Clone, Debug, Default)]
pub(super) struct Radios {
    radios: Vec<StationRadio>,
    print: Fingerprint,
    /// Changes of state, if they are traced.
    events: Option<Vec<RadioEvent>>,
}

impl Radios {
    /// Adds an awake radio.
    pub(super) fn add(&mut self, profile: Radio) -> RadioId {
        self.radios.push(StationRadio::new(profile));
        self.radios.len() as RadioId - 1
    }

    /// Keeps changes of state from now on.
    pub(super) fn trace(&mut self) {
        self.events = Some(Vec::new());
    }

    /// What the changes of state that were kept occupy, in bytes.
    pub(super) fn kept_bytes(&self) -> usize {
        self.events.as_ref().map_or(0, |events| size_of_val(&events[..]))
    }

    /// The changes of state that were kept.
    pub(super) fn take_events(&mut self) -> Vec<RadioEvent> {
        self.events.take().unwrap_or_default()
    }

    /// Fingerprint of the changes of state.
    pub(super) const fn print(&self) -> Fingerprint {
        self.print
    }

    /// The profile of a radio.
    pub(super) fn profile(&self, id: RadioId) -> &Radio {
        &self.of(id).profile
    }

    /// The ledger of a radio.
    pub(super) fn ledger(&self, id: RadioId) -> &Ledger {
        &self.of(id).ledger
    }

    /// The account of the radio if it knew its own traffic, up to `end`.
    pub(super) fn lower_bound(&self, id: RadioId, end: Instant) -> Ledger {
        let StationRadio { bound, profile, .. } = self.of(id);
        bound.finish(profile, end).0
    }

    /// Whether the radio can send now.
    pub(super) fn is_ready(&self, id: RadioId) -> bool {
        matches!(self.of(id).state, Wakefulness::Awake { .. })
    }

    /// Whether the radio receives a frame that begins at `start`.
    pub(super) fn hears(&self, id: RadioId, start: Instant) -> bool {
        matches!(self.of(id).state, Wakefulness::Awake { since } if since <= start)
    }

    /// What the time of a radio was spent on.
    pub(super) fn causes(&self, id: RadioId) -> &Causes {
        &self.of(id).causes.causes
    }

    /// The radio is at one of the ends of an exchange without collision. `sends`: it sends the PPDU. `hears`: it listens.
    pub(super) fn take_part(
        &mut self,
        id: RadioId,
        charged: Charged<'_>,
        [sends, hears]: [bool; 2],
        now: Instant,
        parts: &Parts,
        air: &Airborne,
    ) {
        if !hears {
            return;
        }
        let radio = &mut self.radios[id as usize];
        radio.begin_exchange(charged, sends, now, parts, air);
        for part in parts.iter() {
            radio.bound_frame(part, sends);
            radio.send_frame(part, sends, air);
        }
    }

    /// An exchange begins at which the radio takes part and listens. `sends`: it sends the PPDU.
    pub(super) fn begin_exchange(
        &mut self,
        id: RadioId,
        charged: Charged<'_>,
        sends: bool,
        now: Instant,
        parts: &Parts,
        air: &Airborne,
    ) {
        self.radios[id as usize].begin_exchange(charged, sends, now, parts, air);
    }

    /// The radio receives a group-addressed frame from `start` to `end`, of which it has what it needs.
    pub(super) fn heard_group(
        &mut self,
        id: RadioId,
        cause: Cause,
        start: Instant,
        end: Instant,
        air: &Airborne,
    ) {
        let radio = &mut self.radios[id as usize];
        radio.settle(start, air);
        radio.causes.receive(cause, start, end);
    }

    /// A contender of the radio has a frame to send.
    pub(super) fn wait_for_medium(
        &mut self,
        id: RadioId,
        contender: ContenderId,
        now: Instant,
        air: &Airborne,
    ) {
        let radio = &mut self.radios[id as usize];
        if !radio.causes.waiting.contains(&contender) {
            radio.settle_silence(now, air);
            radio.causes.waiting.push(contender);
        }
    }

    /// A contender of the radio has no frame to send any more.
    pub(super) fn end_waiting(&mut self, id: RadioId, contender: ContenderId, now: Instant, air: &Airborne) {
        let radio = &mut self.radios[id as usize];
        if radio.causes.waiting.contains(&contender) {
            radio.settle_silence(now, air);
            radio.causes.waiting.retain(|other| *other != contender);
        }
    }

    /// Silence is charged to `purpose` from now on, unless a frame waits.
    pub(super) fn set_purpose(&mut self, id: RadioId, purpose: Cause, now: Instant, air: &Airborne) {
        let radio = &mut self.radios[id as usize];
        if radio.causes.purpose != purpose {
            radio.settle_silence(now, air);
            radio.causes.purpose = purpose;
        }
    }

    /// Charges the frames of the present exchange that the radio sends. `sends`: it sends the PPDU.
    pub(super) fn send_own(&mut self, id: RadioId, sends: bool, parts: &Parts, air: &Airborne) {
        let radio = &mut self.radios[id as usize];
        parts.iter().for_each(|part| radio.send_frame(part, sends, air));
    }

    /// Adds the frames of an exchange that begins at `start` to the lower bound of the radio at one of its ends. `sends`: it sends the PPDU.
    /// A radio that sleeps needs nothing of what is sent to it.
    pub(super) fn own_frames(&mut self, id: RadioId, sends: bool, start: Instant, parts: &Parts) {
        if !sends && !self.hears(id, start) {
            return;
        }
        let radio = &mut self.radios[id as usize];
        parts.iter().for_each(|part| radio.bound_frame(part, sends));
    }

    /// Puts the radio to sleep once the frame that it sends has ended.
    pub(super) fn doze(&mut self, id: RadioId, now: Instant, air: &Airborne) {
        let at = self.radios[id as usize].doze(now, air);
        self.note(RadioEvent { station: id, at, state: RadioState::Sleep });
    }

    /// Begins to wake the radio up. Returns the time at which it will be awake.
    pub(super) fn wake(&mut self, id: RadioId, now: Instant) -> Instant {
        let (at, until) = self.radios[id as usize].wake(now);
        self.note(RadioEvent { station: id, at, state: RadioState::WakeUp });
        until
    }

    /// Marks the radio as awake from `now` on.
    pub(super) fn awake(&mut self, id: RadioId, now: Instant, air: &Airborne) {
        self.radios[id as usize].awake(now, air);
        self.note(RadioEvent { station: id, at: now, state: RadioState::Listen });
    }

    /// Lets the radio leave the channel once the frames that it has begun have ended.
    pub(super) fn leave_channel(&mut self, id: RadioId, now: Instant, air: &Airborne) {
        let radio = &mut self.radios[id as usize];
        radio.settle(now, air);
        radio.state = Wakefulness::Away;
        self.print.add(now.as_nanos());
    }

    /// Lets the radio return to the channel.
    pub(super) fn return_to_channel(&mut self, id: RadioId, now: Instant, air: &Airborne) {
        let radio = &mut self.radios[id as usize];
        radio.settle(now, air);
        radio.state = Wakefulness::Awake { since: now };
        radio.mark = air.until(now.max(radio.ledger.since()));
        self.print.add(now.as_nanos());
    }

    /// Ends the account of every radio at the same instant: `now`, or the end of the last frame or transition that has been
    /// charged, if that is later.
    pub(super) fn finish<'a>(&mut self, now: Instant, air: impl Fn(RadioId) -> &'a Airborne) -> Instant {
        let end = self.radios.iter().map(|radio| radio.ledger.since()).fold(now, Instant::max);
        for (id, radio) in (0..).zip(&mut self.radios) {
            radio.settle(end, air(id));
        }
        end
    }

    fn of(&self, id: RadioId) -> &StationRadio {
        &self.radios[id as usize]
    }

    fn note(&mut self, event: RadioEvent) {
        self.print.add(event.at.as_nanos());
        self.print.add(u64::from(event.station) << 8 | event.state as u64);
        if let Some(events) = &mut self.events {
            events.push(event);
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wakefulness {
    Awake {
        since: Instant,
    },
    Dozing,
    Waking {
        until: Instant,
    },
    /// Awake, and on other channels: it receives nothing of this one.
    Away,
}

/// One radio.
#[derive(Clone, Debug)]
struct StationRadio {
    ledger: Ledger,
    profile: Radio,
    state: Wakefulness,
    /// The sum of the time with frames on the air, at the last entry of the ledger.
    mark: Span,
    /// The account of the radio if it knew its own traffic.
    bound: LowerBound,
    causes: Box<CauseAccount>,
}

impl StationRadio {
    fn new(profile: Radio) -> Self {
        let state = Wakefulness::Awake { since: Instant::ZERO };
        let bound = LowerBound::new(Instant::ZERO, &profile);
        Self {
            ledger: Ledger::new(Instant::ZERO),
            profile,
            state,
            mark: Span::ZERO,
            bound,
            causes: Box::default(),
        }
    }

    /// Charges the time up to `at`, unless it has been charged.
    #[inline]
    fn settle(&mut self, at: Instant, air: &Airborne) {
        if at > self.ledger.since() {
            self.charge_until(at, air);
        }
    }

    fn charge_until(&mut self, at: Instant, air: &Airborne) {
        match self.state {
            Wakefulness::Awake { .. } => {
                let sum = air.until(at);
                let receiving = sum - self.mark;
                self.causes.spend_awake(self.ledger.since(), at, receiving);
                self.ledger.spend_awake(at, receiving);
                self.mark = sum;
            }
            Wakefulness::Away => self.spend(RadioState::Listen, Cause::Scan, at),
            Wakefulness::Dozing => self.spend(RadioState::Sleep, Cause::Doze, at),
            Wakefulness::Waking { until } if until < at => {
                // The run ends between the end of this transition and the event that would handle it.
                self.awake(until, air);
                self.settle(at, air);
            }
            Wakefulness::Waking { .. } => self.spend(RadioState::WakeUp, Cause::WakeUp, at),
        }
    }

    /// Charges silence before what it is charged to changes. Nothing is to be done if all the time that is not charged yet lies in
    /// an own exchange, whose gaps have a cause of their own.
    fn settle_silence(&mut self, now: Instant, air: &Airborne) {
        let is_awake = matches!(self.state, Wakefulness::Awake { .. });
        if is_awake && !self.causes.covers(self.ledger.since(), now) {
            self.settle(now, air);
        }
    }

    fn spend(&mut self, state: RadioState, cause: Cause, until: Instant) {
        self.causes.causes.charge(cause, state, until - self.ledger.since());
        self.ledger.spend(state, until);
    }

    #[inline]
    fn begin_exchange(
        &mut self,
        charged: Charged<'_>,
        sends: bool,
        now: Instant,
        parts: &Parts,
        air: &Airborne,
    ) {
        self.settle(now, air);
        self.causes.begin(charged, sends, now, parts);
    }

    /// Adds a frame of an exchange to the lower bound.
    #[inline]
    fn bound_frame(&mut self, part: &Part, sends: bool) {
        let end = part.start + part.duration;
        if part.by_sender == sends {
            self.bound.transmit(part.start, end);
        } else {
            self.bound.receive(part.start, end);
        }
    }

    /// Charges a frame of the present exchange, if the radio sends it.
    #[inline]
    fn send_frame(&mut self, part: &Part, sends: bool, air: &Airborne) {
        if part.by_sender == sends {
            let end = part.start + part.duration;
            self.settle(part.start, air);
            self.causes.charge_exchange(RadioState::Transmit, end - self.ledger.since());
            self.ledger.spend(RadioState::Transmit, end);
            self.mark = air.until(end);
        }
    }

    /// Returns the time at which the radio begins to fall asleep.
    fn doze(&mut self, now: Instant, air: &Airborne) -> Instant {
        let at = now.max(self.ledger.since());
        self.settle(at, air);
        self.spend(RadioState::ToSleep, Cause::WakeUp, at + self.profile.to_sleep.time);
        self.state = Wakefulness::Dozing;
        at
    }

    /// Returns the times at which the radio begins to wake up and is awake.
    fn wake(&mut self, now: Instant) -> (Instant, Instant) {
        let at = now.max(self.ledger.since());
        self.spend(RadioState::Sleep, Cause::Doze, at);
        let until = at + self.profile.wake_up.time;
        self.state = Wakefulness::Waking { until };
        (at, until)
    }

    fn awake(&mut self, now: Instant, air: &Airborne) {
        self.spend(RadioState::WakeUp, Cause::WakeUp, now);
        self.state = Wakefulness::Awake { since: now };
        self.mark = air.until(now);
    }
}
