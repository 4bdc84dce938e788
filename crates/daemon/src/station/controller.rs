//! What the daemon decides, without input or output of its own: a policy of `airwatt_proto::powersave` over the power save of a
//! driver, and the rules of living with others who set it too.
//!
//! ```text
//!   before ---- the time of observation ends ---> acting <--- a while later --- aside
//!                                                    |                            ^
//!                                                    +--- others set it again and again
//! ```
//! *Before* acting, the daemon only counts, so that there is something to compare with. While *acting*, it reads the setting
//! every [`CHECK`]: if another program has changed it, it sets it again; if that happens [`REWRITES_MAX`] times within
//! [`REWRITES_WITHIN`], it stands *aside* for [`ASIDE`] and leaves the setting to the other program.
//!
//! A policy with triggers (BA-TA) is given the packets of flows as frames: an own packet opens a service period as a trigger
//! does, and what has arrived since the last reading counts as one frame, at the time of its last packet. It is woken for the
//! first packet of a burst.
//!
//! Left out: who the other program is, which the kernel does not say.

use std::collections::VecDeque;

use airwatt_base::{Instant, Machine, Span, Timeout};
use airwatt_proto::powersave::{
    Abilities, ArrivalAfterPause, Demand, Fact, FlowClass, FlowSample, GuardCounts, PolicyTimer,
    PowerSaveConfig, PowerSaveFrame, PowerSavePolicy, PowerSaveRadio, ReceiveWindow, StationTimer, Uplink,
};

/// Time between two looks at the setting. There is no event for it. A wake-up of 200 µJ each 5 s is 40 µW.
const CHECK: Span = Span::from_secs(5);
/// Changes by others within this time that make the daemon stand aside, and for how long it does.
const REWRITES_MAX: usize = 5;
const REWRITES_WITHIN: Span = Span::from_secs(60);
const ASIDE: Span = Span::from_secs(600);

/// What comes in.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Input {
    /// The answer to [`Output::ReadFlows`], or packets that the program in the kernel has reported.
    Flows(Vec<FlowSample>),
    /// Packets of peers after pauses of their flows.
    Arrivals(Vec<ArrivalAfterPause>),
    /// The answer to [`Output::ReadSetting`].
    Setting {
        /// Whether power save is on.
        found: bool,
        /// Whether it was on when the daemon set or read it last.
        known: bool,
    },
    /// The driver did not switch power save.
    Refused,
    /// The interface is connected, or connected to another access point: beacons come at this interval.
    Associated(PowerSaveConfig, Span),
    /// The interface is not connected, or is gone.
    Left,
    /// Power save is on or off for another reason than this controller: the interface has come back, or a measurement has
    /// switched it.
    Found(bool),
    /// A packet of a peer is worth this much time awake from now on.
    Worth(Span),
    /// A measurement lets the policy act from now on, or only observe.
    Act(bool),
}

/// What goes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Output {
    /// Switch power save.
    PowerSave(bool),
    /// Send a trigger.
    Trigger,
    /// Hand in [`Input::Flows`], even if there are none.
    ReadFlows,
    /// Hand in [`Input::Setting`].
    ReadSetting,
    /// The state has changed.
    Changed(State),
}

/// Why it wakes up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// The policy decides anew.
    Policy,
    /// The setting is looked at.
    Check,
    /// The time of observation is over.
    Begin,
    /// The time aside is over.
    Resume,
}

impl Reason {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Policy => "policy",
            Self::Check => "check",
            Self::Begin => "begin",
            Self::Resume => "resume",
        }
    }
}

/// What the daemon is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It counts, and leaves the setting as it was found, until this time.
    Before(Instant),
    /// Its policy decides.
    Acting,
    /// Another program decides, until this time.
    Aside(Instant),
}

impl State {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Before(_) => "before",
            Self::Acting => "acting",
            Self::Aside(_) => "aside",
        }
    }
}

/// The driver's power save, as a policy acts on it.
#[derive(Clone, Debug)]
struct DriverRadio {
    /// Whether power save is to be on.
    on: bool,
    listening_interval: Span,
    /// Whether triggers can be sent.
    has_triggers: bool,
    timers: PolicyTimers,
    /// Whether the policy has asked for a trigger of which it has not been notified.
    triggered: bool,
    outputs: VecDeque<Output>,
}

/// The timers that a policy has set.
#[derive(Clone, Copy, Debug, Default)]
struct PolicyTimers {
    inactivity: Option<Instant>,
    trigger: Option<Instant>,
    update: Option<Instant>,
}

impl PolicyTimers {
    /// In the order in which timers that are due are served: a burst ends before the next trigger is decided.
    const ORDER: [PolicyTimer; 3] = [PolicyTimer::Inactivity, PolicyTimer::Trigger, PolicyTimer::Update];

    const fn slot(&mut self, timer: PolicyTimer) -> &mut Option<Instant> {
        match timer {
            PolicyTimer::Inactivity => &mut self.inactivity,
            PolicyTimer::Trigger => &mut self.trigger,
            PolicyTimer::Update => &mut self.update,
        }
    }

    fn next(&self) -> Option<Instant> {
        [self.inactivity, self.trigger, self.update].into_iter().flatten().min()
    }
}

impl PowerSaveRadio for DriverRadio {
    fn abilities(&self) -> Abilities {
        let abilities = Abilities::SWITCH | Abilities::SEE_FLOWS | Abilities::DYNAMIC_PS;
        if self.has_triggers { abilities | Abilities::TRIGGER } else { abilities }
    }
    fn in_power_save(&self) -> bool {
        self.on
    }
    fn backlog(&self) -> u32 {
        0
    }
    fn in_service(&self) -> Option<bool> {
        None
    }
    fn listening_interval(&self) -> Span {
        self.listening_interval
    }
    fn set_power_save(&mut self, on: bool, _why: StationTimer) {
        if on != self.on {
            self.on = on;
            self.outputs.push_back(Output::PowerSave(on));
        }
    }
    fn trigger(&mut self, _why: StationTimer) {
        if self.has_triggers && !self.triggered {
            self.triggered = true;
            self.outputs.push_back(Output::Trigger);
        }
    }
    fn poll(&mut self, _why: StationTimer) {}
    fn set_timer(&mut self, timer: PolicyTimer, at: Option<Instant>) {
        *self.timers.slot(timer) = at;
    }
    fn measure_air_time(&mut self) {}
    fn grant(&mut self, _window: ReceiveWindow) {}
}

/// What it has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Times that power save was switched.
    pub(super) switches: u64,
    /// Changes of the setting by other programs.
    pub(super) rewrites: u64,
    /// Times that the driver refused.
    pub(super) refusals: u64,
    /// Triggers.
    pub(super) triggers: u64,
}

/// The state of the daemon on one interface.
#[derive(Clone, Debug)]
pub(super) struct Controller {
    state: State,
    radio: DriverRadio,
    /// `None` while the interface is not connected.
    policy: Option<PowerSavePolicy>,
    /// Counts of guards of earlier associations.
    earlier: GuardCounts,
    check_at: Instant,
    /// The time of the last fact.
    latest: Instant,
    /// A timer of the policy has expired and waits for the flows.
    reading: bool,
    /// When others changed the setting.
    rewritten: VecDeque<Instant>,
    /// Whether the driver refused the last switch.
    refused: bool,
    counts: Counts,
}

impl Controller {
    /// A daemon that observes until `acts_at`. `on` is the setting as it was found.
    pub(super) fn new(on: bool, acts_at: Instant) -> Self {
        let outputs = VecDeque::new();
        Self {
            state: State::Before(acts_at),
            radio: DriverRadio {
                on,
                listening_interval: Span::MAX,
                has_triggers: false,
                timers: PolicyTimers::default(),
                triggered: false,
                outputs,
            },
            policy: None,
            earlier: GuardCounts::default(),
            check_at: acts_at.saturating_add(CHECK),
            latest: Instant::ZERO,
            reading: false,
            rewritten: VecDeque::new(),
            refused: false,
            counts: Counts::default(),
        }
    }

    pub(super) const fn state(&self) -> State {
        self.state
    }

    pub(super) const fn counts(&self) -> Counts {
        self.counts
    }

    /// Whether the next packet of a flow that it [wants](Self::wants) is to wake it: for the guard if nothing is demanded, for BA-TA if
    /// no burst is under way.
    pub(super) fn waits_for_packets(&self) -> bool {
        let Some(policy) = self.policy.as_ref().filter(|_| self.acts() && !self.reading) else {
            return false;
        };
        let timers = &self.radio.timers;
        match policy.guard() {
            Some(guard) => guard.demand().is_none(),
            None => self.radio.has_triggers && self.radio.on && timers.inactivity.is_none(),
        }
    }

    /// Why active mode is demanded.
    pub(super) fn demand(&self) -> Option<Demand> {
        self.policy.as_ref().filter(|_| self.acts()).and_then(PowerSavePolicy::guard)?.demand()
    }

    /// Whether the next packet of a flow is of interest when it comes. What power save does to the others is read at the next look at
    /// the setting, and a flow whose next time within reach is known when that begins.
    pub(super) fn wants(&self, flow: u64) -> bool {
        let Some(guard) = self.policy.as_ref().and_then(PowerSavePolicy::guard) else { return true };
        let is_quiet = matches!(
            guard.class(flow),
            Some(FlowClass::Unharmed | FlowClass::Streamed | FlowClass::Background)
        );
        !is_quiet && !guard.expects(flow)
    }

    /// The classes of the flows that had a packet lately.
    pub(super) fn flows(&self, now: Instant) -> Vec<FlowClass> {
        let guard = self.policy.as_ref().and_then(PowerSavePolicy::guard);
        guard.map(|guard| guard.flows(now).collect()).unwrap_or_default()
    }

    /// What the guard has counted.
    pub(super) fn guard_counts(&self) -> GuardCounts {
        let guard = self.policy.as_ref().and_then(PowerSavePolicy::guard);
        let (a, b) = (self.earlier, guard.map_or_else(GuardCounts::default, |guard| guard.counts()));
        GuardCounts {
            demands: std::array::from_fn(|index| a.demands[index] + b.demands[index]),
            unsolicited: a.unsolicited + b.unsolicited,
        }
    }

    fn acts(&self) -> bool {
        self.state == State::Acting
    }

    fn fact(&mut self, fact: Fact, now: Instant) {
        let Some(policy) = &mut self.policy else { return };
        self.latest = self.latest.max(now);
        let on = self.radio.on;
        policy.fact(&mut self.radio, fact, self.latest);
        self.counts.switches += u64::from(on != self.radio.on);
        if std::mem::take(&mut self.radio.triggered) {
            self.counts.triggers += 1;
            let frame = Uplink::Control(PowerSaveFrame::Trigger);
            self.fact(Fact::Sent { frame, delivered: true }, now);
        }
    }

    /// Gives the policy the packets of a flow, which are frames to a policy with triggers.
    fn packets(&mut self, sample: &FlowSample, now: Instant) {
        self.fact(Fact::Flow(*sample), now);
        if !self.radio.has_triggers {
            return;
        }
        let bytes = |volume: u64| u32::try_from(volume).unwrap_or(u32::MAX);
        if sample.sent.packets > 0 {
            let frame = Uplink::Data { bytes: bytes(sample.sent.bytes) };
            self.fact(Fact::Sent { frame, delivered: true }, sample.last);
        }
        if sample.received.packets > 0 {
            let bytes = bytes(sample.received.bytes);
            self.fact(Fact::Received { bytes, service: None, null: false }, sample.last);
        }
    }

    fn enter(&mut self, state: State, now: Instant) {
        self.state = state;
        self.reading = false;
        self.radio.timers = PolicyTimers::default();
        self.radio.outputs.push_back(Output::Changed(state));
        if state == State::Acting {
            self.check_at = now + CHECK;
            self.fact(Fact::Start, now);
        }
    }

    fn associated(&mut self, policy: PowerSaveConfig, listening_interval: Span, now: Instant) {
        self.earlier = self.guard_counts();
        self.radio.listening_interval = listening_interval;
        self.radio.has_triggers = policy.needs_uapsd();
        self.radio.timers = PolicyTimers::default();
        self.reading = false;
        self.policy = Some(PowerSavePolicy::new(policy, now));
        if self.acts() {
            self.fact(Fact::Start, now);
        }
    }

    fn left(&mut self) {
        self.earlier = self.guard_counts();
        self.policy = None;
        self.radio.timers = PolicyTimers::default();
        self.reading = false;
    }

    fn flows_read(&mut self, samples: &[FlowSample], now: Instant) {
        let reading = std::mem::take(&mut self.reading);
        if !self.acts() {
            return;
        }
        for sample in samples {
            self.packets(sample, now);
        }
        if !reading {
            return;
        }
        for timer in PolicyTimers::ORDER {
            if self.radio.timers.slot(timer).take_if(|at| *at <= now).is_some() {
                self.fact(Fact::Timer(timer), now);
            }
        }
    }

    /// Handles the setting as it was read: whether another program has changed it, or the driver did not take it.
    fn setting(&mut self, found: bool, known: bool, now: Instant) {
        let refused = std::mem::take(&mut self.refused);
        if !self.acts() || self.policy.is_none() {
            return;
        }
        if found != known {
            self.counts.rewrites += 1;
            self.rewritten.push_back(now);
            while self.rewritten.front().is_some_and(|at| now.saturating_since(*at) > REWRITES_WITHIN) {
                self.rewritten.pop_front();
            }
            if self.rewritten.len() >= REWRITES_MAX {
                self.rewritten.clear();
                self.radio.on = found;
                return self.enter(State::Aside(now + ASIDE), now);
            }
        }
        if (refused || found != known) && found != self.radio.on {
            self.radio.outputs.push_back(Output::PowerSave(self.radio.on));
        }
    }

    /// Tells the guard, and has the policy decide anew.
    fn set_worth(&mut self, worth: Span, now: Instant) {
        let acts = self.acts();
        let Some(policy) = &mut self.policy else { return };
        policy.set_worth(worth, now);
        if acts && policy.guard().is_some() {
            self.radio.timers.update = Some(now);
        }
    }

    fn next_state(&self) -> Option<(Instant, Reason)> {
        match self.state {
            State::Before(at) => Some((at, Reason::Begin)),
            State::Aside(at) => Some((at, Reason::Resume)),
            State::Acting => self.policy.is_some().then_some((self.check_at, Reason::Check)),
        }
    }
}

impl Machine for Controller {
    type Input = Input;
    type Output = Output;
    type Reason = Reason;

    fn handle_input(&mut self, input: Input, now: Instant) {
        match input {
            Input::Flows(samples) => self.flows_read(&samples, now),
            Input::Arrivals(arrivals) if self.acts() => {
                arrivals.into_iter().for_each(|arrival| self.fact(Fact::Arrival(arrival), now));
            }
            Input::Arrivals(_) => {}
            Input::Setting { found, known } => self.setting(found, known, now),
            // The next look at the setting finds the difference and tries again.
            Input::Refused => {
                self.refused = true;
                self.counts.refusals += 1;
            }
            Input::Associated(policy, listening_interval) => self.associated(policy, listening_interval, now),
            Input::Left => self.left(),
            Input::Found(on) => self.radio.on = on,
            Input::Worth(worth) => self.set_worth(worth, now),
            Input::Act(true) => self.enter(State::Acting, now),
            Input::Act(false) => self.enter(State::Before(Instant::FOREVER), now),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.radio.timers.next().is_some_and(|at| at <= now) && !self.reading {
            self.reading = true;
            self.radio.outputs.push_back(Output::ReadFlows);
        }
        match self.next_state() {
            Some((at, Reason::Check)) if at <= now => {
                self.check_at = now + CHECK;
                self.radio.outputs.push_back(Output::ReadSetting);
            }
            Some((at, _)) if at <= now => self.enter(State::Acting, now),
            _ => {}
        }
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.radio.outputs.pop_front()
    }

    fn poll_timeout(&self) -> Option<Timeout<Reason>> {
        let policy = self.radio.timers.next().filter(|_| !self.reading).map(|at| (at, Reason::Policy));
        let (at, reason) = policy.into_iter().chain(self.next_state()).min_by_key(|(at, _)| *at)?;
        Some(Timeout { at, reason })
    }
}

#[cfg(test)]
mod tests;
