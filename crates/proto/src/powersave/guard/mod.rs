//! The latency guard: when a radio in power save delays somebody who waits, and what is to be done about it.
//!
//! A radio in power save gets a packet at the next beacon that it receives, up to a beacon interval late. Most packets never meet
//! it asleep, since drivers let it sleep only after a time without traffic, the *tail*. The guard leaves power save alone as long as
//! that is so. It is given the [packets of flows](FlowSample) and the [pauses before packets that arrived](ArrivalAfterPause), learns after which
//! silence packets [wait for a beacon](tail), and finds the flows that [suffer from it](flow). For these it demands
//!
//! * **active mode** for answers, for as long after a packet as the flow's answers take,
//! * to be **within reach** ([`Reach`]) for packets that peers send unasked, over the flow's pauses or about when a regular peer sends
//!   next, as long as that [costs no more than it is worth](reach).
//!
//! What it demands, it measures: once in a while it lets power save have a packet of such a flow, and if packets wait for beacons
//! although the radio is in active mode, active mode does not help and is not demanded any more. A time within reach in which the
//! packets of one flow wait all the same, as on a host that switches too late, [rests](reach).
//!
//! The guard has no timers while nothing is demanded: a quiet link costs no wake-up, and nothing is sent on it. Whoever drives it calls [`LatencyGuard::look`] at [`LatencyGuard::next_look`], after handing
//! in the samples until then.
//!
//! Left out: what a peer waits for. The only bound that is kept is that of packets to this host.

mod flow;
mod reach;
mod tail;
#[cfg(test)]
mod tests;

use airwatt_base::settings::{SettingError, Settings, in_range};
use airwatt_base::{Instant, Span, named_values, with_defaults};

pub use self::flow::{ACKNOWLEDGEMENT, ArrivalAfterPause, FlowClass, FlowSample, Volume};
use self::flow::{Flow, Scheduled};
use self::tail::{Tail, class_of};

/// How long the station listens after a poll or a trigger: three full frames at 11 Mbit/s with contention for the medium.
pub(super) const LISTEN: Span = Span::from_millis(5);
/// Flows that are remembered. The one that was silent longest makes room for a new one.
const FLOWS_MAX: usize = 256;
/// Packets in active mode after a silence, all of which came with beacons, from which on active mode counts as useless.
const USELESS: u32 = 16;

/// How a station stays within reach of a peer that may send at any time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reach {
    /// It is in active mode.
    Active,
    /// It leaves power save for a moment at an interval shorter than the bound, so that the access point sends what it has. If the tail
    /// is longer than that, the radio would not sleep between these moments, and it is in active mode.
    Polls,
    /// It sends U-APSD triggers at that interval, where the access point has granted U-APSD.
    Triggers,
}

named_values! {
    Reach {
        "active" => Self::Active = Self::Active;
        "polls" => Self::Polls = Self::Polls;
        "triggers" => Self::Triggers = Self::Triggers;
    }
}

with_defaults! {
    /// Settings of the latency guard.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    pub struct LatencyGuardConfig {
        /// The longest time for which a packet of a flow that somebody waits for may wait for the radio. If beacons come at least as often,
        /// power save keeps the bound by itself. Default 30 ms.
        pub bound: Span = Span::from_millis(30),
        /// The time awake that it is worth to save a packet, which a peer sends unasked, its wait for a beacon. Peers that cost more on average
        /// are left to power save, since they send rarely and at random; 0 s leaves all to it. Default 20 s.
        pub worth: Span = Span::from_secs(20),
        /// The longest time without a break for which the station stays within reach of a silent peer. Default 5 min.
        pub hold: Span = Span::from_secs(300),
        /// The longest time for which the radio stays awake for an answer. Default 300 ms, a round trip to another continent.
        pub answer: Span = Span::from_millis(300),
        /// How the station stays within reach of a peer that may send at any time. Default polls, which need nothing of the access point.
        pub reach: Reach = Reach::Polls,
        /// Time without traffic after which the driver's own power save sleeps. A device has a timeout of its own, and this one is for
        /// simulations only. Default 100 ms, as in Linux mac80211.
        pub timeout: Span = Span::from_millis(100),
    }
}

impl Settings for LatencyGuardConfig {
    fn check(&self) -> Result<(), SettingError> {
        let (ms, s) = (Span::from_millis, Span::from_secs);
        in_range("bound", self.bound, ms(2), s(10))?;
        in_range("worth", self.worth, Span::ZERO, s(3_600))?;
        in_range("hold", self.hold, ms(1), s(3_600))?;
        in_range("answer", self.answer, ms(1), s(10))?;
        in_range("timeout", self.timeout, Span::ZERO, s(3_600))
    }
}

impl LatencyGuardConfig {
    /// Time between polls or triggers: five sixths of the bound, so that what follows a poll is within the bound too.
    pub(super) fn poll_interval(&self) -> Span {
        self.bound * 5 / 6
    }

    /// Time awake that a time within reach costs: all of it in active mode, and a [`LISTEN`] of each interval with triggers. Polls
    /// count as active mode, which they are over most drivers.
    fn awake(&self, reached: Span) -> Span {
        match self.reach {
            Reach::Active | Reach::Polls => reached,
            Reach::Triggers => reached / (self.poll_interval() / LISTEN.as_nanos()).as_nanos().max(1),
        }
    }
}

/// Why power save does not have its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Demand {
    /// What a peer may send unasked.
    Reach,
    /// An answer to this host.
    Answer,
}

impl Demand {
    /// Every reason, in the order of [`GuardCounts::demands`].
    pub const ALL: [Self; 2] = [Self::Reach, Self::Answer];

    /// The name, as documents have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reach => "reach",
            Self::Answer => "answer",
        }
    }
}

/// What the guard has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GuardCounts {
    /// Times at which it began to demand something, by [`Demand`] in the order of its variants.
    pub demands: [u64; 2],
    /// First packets of peers after a silence of all flows, which may have waited for a beacon.
    pub unsolicited: u64,
}

/// The state of a guard.
#[derive(Clone, Debug)]
pub struct LatencyGuard {
    config: LatencyGuardConfig,
    flows: Vec<Flow>,
    tail: Tail,
    /// For how long the flow that has learned last needed an awake radio for answers.
    usual: Span,
    /// Until when an awake radio is demanded for answers.
    awake_until: Option<Instant>,
    /// Whether a flow is in its time within reach.
    reached: bool,
    next_look: Option<Instant>,
    /// When a demand ended last.
    ended: Instant,
    /// Packets in active mode after a silence, in a row, that came with beacons.
    useless: u32,
    /// Time of the last packet of any flow.
    last: Option<Instant>,
    counts: GuardCounts,
}

impl LatencyGuard {
    /// A guard that has seen nothing. Panics if a setting is out of range.
    pub fn new(config: LatencyGuardConfig) -> Self {
        config.check().unwrap_or_else(|error| panic!("{error}"));
        Self {
            config,
            flows: Vec::new(),
            tail: Tail::new(),
            usual: Span::ZERO,
            awake_until: None,
            reached: false,
            next_look: None,
            ended: Instant::ZERO,
            useless: 0,
            last: None,
            counts: GuardCounts::default(),
        }
    }

    /// What is demanded. Active mode comes before reach, since it includes it.
    pub fn demand(&self) -> Option<Demand> {
        self.awake_until.map(|_| Demand::Answer).or(self.reached.then_some(Demand::Reach))
    }

    /// Whether the radio sleeps as soon as a time of this length has passed without traffic, as far as is known.
    pub(super) fn sleeps_within(&self, time: Span) -> bool {
        class_of(time).is_some_and(|class| self.tail.waits(class) == Some(true))
    }

    /// Has a packet of a peer be worth this much time awake from now on, as when a host goes on battery. What was learned stays, and times
    /// within reach that are not worth their cost any more end.
    pub fn set_worth(&mut self, worth: Span, now: Instant) {
        if worth == self.config.worth {
            return;
        }
        self.config.worth = worth;
        let demanded = self.demand();
        for flow in &mut self.flows {
            flow.decide(&self.tail, &self.config);
            let is_worth_it = flow.hold().reach.is_some();
            flow.scheduled.take_if(|_| !is_worth_it);
        }
        self.schedule(demanded, now);
    }

    /// When [`LatencyGuard::look`] is due.
    pub const fn next_look(&self) -> Option<Instant> {
        self.next_look
    }

    /// Whether the guard does without the next packet of this peer until it [looks](Self::look): its next time within reach is known.
    pub fn expects(&self, peer: u64) -> bool {
        self.flows.iter().any(|known| known.number == peer && known.scheduled.is_some())
    }

    /// What it has counted.
    pub const fn counts(&self) -> GuardCounts {
        self.counts
    }

    /// The class of a peer's flow; `None` if it is not known, or no longer.
    pub fn class(&self, peer: u64) -> Option<FlowClass> {
        self.flows.iter().find(|known| known.number == peer).map(Flow::class)
    }

    /// The known flows of each class that had a packet lately.
    pub fn flows(&self, now: Instant) -> impl Iterator<Item = FlowClass> + '_ {
        let live = move |flow: &&Flow| now.saturating_since(flow.last) < flow::PAUSE;
        self.flows.iter().filter(live).map(Flow::class)
    }

    /// Handles packets of a flow. A packet that arrived after a pause is also an [arrival](Self::arrived), before.
    pub fn observe(&mut self, sample: &FlowSample, now: Instant) {
        let silent = |last: Instant| sample.first.saturating_since(last) >= flow::PAUSE;
        if self.last.is_none_or(silent) && sample.sent.packets == 0 {
            self.counts.unsolicited += 1;
        }
        self.last = Some(self.last.map_or(sample.last, |last| last.max(sample.last)));
        let index = self.find(sample);
        let flow = &mut self.flows[index];
        flow.add(sample, &self.config);
        let (hold, after) = (flow.hold(), |span| sample.last.saturating_add(span));
        let helps = self.useless < USELESS;
        let window = hold.reach.map(|window| Scheduled { from: after(window.from), to: after(window.to) });
        flow.scheduled = window.filter(|window| helps && window.to > now);
        let until = Some(after(hold.answer)).filter(|until| helps && *until > now);
        let demanded = self.demand();
        if until.is_some() {
            self.counts.demands[Demand::Answer as usize] += u64::from(self.awake_until.is_none());
            self.awake_until = self.awake_until.max(until);
        }
        self.schedule(demanded, now);
    }

    /// Handles a packet that arrived after a pause. It teaches how long the tail is if nothing was demanded in the silence
    /// before it, and whether active mode helps if it was. Beacons come at `interval`.
    pub fn arrived(&mut self, arrival: &ArrivalAfterPause, interval: Span) {
        self.tail.set_interval(interval);
        let waited = arrival.waited == Some(true) && self.demand().is_none();
        // A packet that waited came to the access point up to a beacon interval before. It counts as an answer if it can have been one.
        let waited = if waited { interval } else { Span::ZERO };
        let is_answer = !waited.is_zero() && arrival.pause.saturating_sub(waited) <= self.config.answer;
        let pause = if is_answer { arrival.pause.min(self.config.answer) } else { arrival.pause };
        let Some(class) = class_of(pause) else { return };
        let free = arrival.at.saturating_since(self.ended).min(arrival.silence);
        match (self.demand(), arrival.waited, class_of(free)) {
            (None, Some(waited), Some(silence)) => self.tail.add(silence, waited),
            (Some(_), Some(waited), Some(_)) => {
                self.useless = if waited { self.useless + 1 } else { 0 };
            }
            _ => {}
        }
        if let Some(flow) = self.flows.iter_mut().find(|flow| flow.number == arrival.peer) {
            if self.tail.waits_after(arrival.silence) == Some(true) {
                flow.tried(arrival, &self.config);
            }
            flow.arrived(class, waited, arrival, &self.config);
            flow.decide(&self.tail, &self.config);
            self.usual = flow.taught().unwrap_or(self.usual);
        }
    }

    /// Decides anew. All samples until now have been handed in.
    pub fn look(&mut self, now: Instant) {
        if self.next_look.is_none_or(|at| at > now) {
            return;
        }
        let demanded = self.demand();
        self.awake_until.take_if(|until| *until <= now);
        for flow in &mut self.flows {
            flow.scheduled.take_if(|window| window.to <= now);
        }
        self.schedule(demanded, now);
    }

    /// Opens and closes times within reach, and finds the next moment at which one does or answers end. `demanded` is what was demanded before.
    fn schedule(&mut self, demanded: Option<Demand>, now: Instant) {
        let was_reached = self.reached;
        let windows = || self.flows.iter().filter_map(|flow| flow.scheduled);
        let edge = |window: Scheduled| if window.from > now { window.from } else { window.to };
        self.reached = windows().any(|window| window.from <= now);
        self.next_look = windows().map(edge).chain(self.awake_until).min();
        self.counts.demands[Demand::Reach as usize] += u64::from(self.reached && !was_reached);
        if demanded.is_some() && self.demand().is_none() {
            self.ended = now;
        }
    }

    fn find(&mut self, sample: &FlowSample) -> usize {
        if let Some(index) = self.flows.iter().position(|flow| flow.number == sample.peer) {
            return index;
        }
        if self.flows.len() == FLOWS_MAX {
            let oldest = (0..FLOWS_MAX).min_by_key(|index| self.flows[*index].last);
            self.flows.swap_remove(oldest.expect("the table is full"));
        }
        self.flows.push(Flow::new(sample, self.usual));
        self.flows.len() - 1
    }
}
