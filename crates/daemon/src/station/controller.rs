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
    Abilities, Arrival, Demand, Fact, FlowClass, FlowSample, GuardCounts, PolicyTimer, PowerSaveConfig,
    PowerSaveFrame, PowerSavePolicy, PowerSaveRadio, StationTimer, Uplink, Window,
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
    Arrivals(Vec<Arrival>),
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
    fn grant(&mut self, _window: Window) {}
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
mod tests {
    use airwatt_base::testkit::check_machine;
    use airwatt_proto::powersave::{BaTaConfig, LatencyGuardConfig, Volume};

    use super::*;
    use crate::station::config;

    const BEACONS: Span = Span::from_micros(102_400);

    fn policy() -> PowerSaveConfig {
        PowerSaveConfig::LatencyGuard(LatencyGuardConfig::default())
    }

    fn ms(at: u64) -> Instant {
        Instant::from_millis(at)
    }

    fn keystroke(at: u64) -> Input {
        let sent = Volume { packets: 1, bytes: 92 };
        let (received, at) = (Volume::default(), ms(at));
        Input::Flows(vec![FlowSample { flow: 1, peer: 1, dscp: 18, sent, received, first: at, last: at }])
    }

    /// A driver whose setting others can change.
    struct Rig {
        controller: Controller,
        setting: bool,
        /// As the daemon set or read it last.
        known: bool,
        log: Vec<(u64, Output)>,
        now: Instant,
        wakeups: u64,
        /// The frames that the access point sends for a trigger.
        packets_a_trigger: u64,
    }

    impl Rig {
        fn new(found: bool, acts_at: u64) -> Self {
            let mut controller = Controller::new(found, ms(acts_at));
            controller.handle_input(Input::Associated(policy(), BEACONS), Instant::ZERO);
            Self {
                controller,
                setting: found,
                known: found,
                log: Vec::new(),
                now: Instant::ZERO,
                wakeups: 0,
                packets_a_trigger: 0,
            }
        }

        fn drain(&mut self) {
            while let Some(output) = self.controller.poll_output() {
                self.log.push((self.now.as_nanos() / 1_000_000, output));
                match output {
                    Output::PowerSave(on) => (self.setting, self.known) = (on, on),
                    Output::ReadFlows => self.controller.handle_input(Input::Flows(Vec::new()), self.now),
                    Output::ReadSetting => {
                        let input = Input::Setting { found: self.setting, known: self.known };
                        self.known = self.setting;
                        self.controller.handle_input(input, self.now);
                    }
                    Output::Trigger if self.packets_a_trigger > 0 => {
                        self.controller.handle_input(burst(self.now, self.packets_a_trigger), self.now);
                    }
                    Output::Changed(_) | Output::Trigger => {}
                }
            }
        }

        fn run_until(&mut self, until: u64) {
            while let Some(at) =
                self.controller.poll_timeout().map(|timeout| timeout.at).filter(|at| *at <= ms(until))
            {
                self.now = at;
                self.wakeups += 1;
                self.controller.handle_timeout(at);
                self.drain();
            }
            self.now = ms(until);
        }

        fn input(&mut self, input: Input, at: u64) {
            self.run_until(at);
            self.controller.handle_input(input, self.now);
            self.drain();
        }

        /// The peer has sent unasked, 1, 2 and 3 s after a packet, and its packets waited: the station is within its reach for 3.75 s, a
        /// quarter longer than the longest pause.
        fn asked(&mut self, at: u64) {
            self.input(keystroke(at), at);
            let late = [1, 2, 3].map(|seconds| {
                let pause = Span::from_secs(seconds);
                Arrival { peer: 1, at: ms(at), pause, silence: pause, waited: Some(true), has_sent: true }
            });
            self.input(Input::Arrivals(late.to_vec()), at);
        }

        /// A monitor has asked each 30 s, three times. Whether it waited is known.
        fn monitored(&mut self, at: u64) {
            self.input(keystroke(at), at);
            let pause = Span::from_secs(30);
            let late =
                Arrival { peer: 1, at: ms(at), pause, silence: pause, waited: Some(true), has_sent: true };
            self.input(Input::Arrivals(vec![late; 3]), at);
        }

        fn switches(&self) -> Vec<(u64, bool)> {
            let switch = |(at, output): &(u64, Output)| match output {
                Output::PowerSave(on) => Some((*at, *on)),
                _ => None,
            };
            self.log.iter().filter_map(switch).collect()
        }
    }

    #[test]
    fn it_observes_then_saves_power_and_stays_awake_for_packets_that_waited() {
        let mut rig = Rig::new(false, 60_000);
        rig.asked(30_000);
        assert_eq!(rig.switches(), [], "nothing is touched while it observes");
        rig.input(keystroke(61_000), 61_000);
        assert_eq!(rig.switches(), [(60_000, true)], "nothing is known of the flow");
        rig.asked(65_000);
        rig.input(keystroke(70_000), 70_000);
        rig.run_until(80_000);
        assert_eq!(rig.switches(), [(60_000, true), (70_000, false), (73_750, true)]);
    }

    /// Within reach begins a beacon interval before the time at which the monitor asks again, since its questions waited for a beacon, and half a
    /// bound earlier. Until then packets of other flows wake the daemon, and those of this flow do not.
    #[test]
    fn a_regular_peer_is_expected_and_other_flows_are_noticed_meanwhile() {
        let mut rig = Rig::new(true, 0);
        rig.monitored(1_000);
        rig.input(keystroke(2_000), 2_000);
        assert!(rig.controller.waits_for_packets() && !rig.controller.wants(1) && rig.controller.wants(2));
        rig.run_until(31_990);
        assert_eq!(rig.switches(), [(31_882, false)]);
        assert!(!rig.controller.waits_for_packets());
        rig.run_until(60_000);
        assert_eq!(rig.switches(), [(31_882, false), (32_015, true)]);
        assert!(rig.controller.waits_for_packets() && rig.controller.wants(1), "it has not come");
    }

    /// Blocks of 44 segments each quarter of a second, of which this host acknowledges every second one. Once that is known, the setting
    /// stays, and packets wake nobody.
    #[test]
    fn a_stream_at_its_servers_pace_wakes_nobody() {
        let mut rig = Rig::new(true, 0);
        let block = |rig: &mut Rig, number: u64| {
            let (at, pause) = (ms(1_000 + number * 250), Span::from_millis(210));
            let arrival = Arrival { peer: 1, at, pause, silence: pause, waited: Some(true), has_sent: false };
            let [sent, received] =
                [(22, 52), (44, 1_500)].map(|(packets, bytes)| Volume { packets, bytes: packets * bytes });
            let last = at + Span::from_millis(40);
            rig.input(Input::Arrivals(vec![arrival]), 1_000 + number * 250);
            let sample = FlowSample { flow: 1, peer: 1, dscp: 0, sent, received, first: at, last };
            rig.input(Input::Flows(vec![sample]), 1_040 + number * 250);
        };
        (0..20).for_each(|number| block(&mut rig, number));
        assert_eq!(rig.controller.flows(rig.now), [FlowClass::Streamed]);
        rig.run_until(6_000);
        let switches = rig.switches().len();
        (20..220).for_each(|number| block(&mut rig, number));
        assert!(!rig.controller.wants(1) && rig.controller.wants(2));
        assert_eq!(rig.switches().len(), switches);
    }

    #[test]
    fn a_quiet_hour_costs_a_look_at_the_setting_each_five_seconds_and_nothing_else() {
        let mut rig = Rig::new(true, 0);
        rig.run_until(3_600_000);
        assert_eq!(rig.switches(), []);
        assert_eq!(rig.wakeups, 1 + 720);
    }

    #[test]
    fn it_is_a_machine_of_the_contract() {
        let make = || {
            let mut controller = Controller::new(true, ms(100));
            controller.handle_input(Input::Associated(policy(), BEACONS), Instant::ZERO);
            controller
        };
        let outputs = check_machine(make, &[], ms(1_000));
        assert_eq!(outputs, [(ms(100), Output::Changed(State::Acting))]);
    }

    #[test]
    fn what_another_program_sets_is_set_again_until_it_insists() {
        let mut rig = Rig::new(true, 0);
        rig.run_until(1_000);
        rig.setting = false;
        rig.run_until(6_000);
        assert!(rig.setting, "set again");
        rig.run_until(600_000);
        for round in 0..4 {
            rig.setting = false;
            rig.run_until(600_001 + round * 5_000);
            rig.run_until(605_000 + round * 5_000);
        }
        assert!(rig.setting);
        rig.setting = false;
        rig.run_until(625_000);
        assert!(!rig.setting, "the other program has it");
        assert!(matches!(rig.controller.state(), State::Aside(_)));
        rig.input(keystroke(630_000), 630_000);
        let switches = rig.switches().len();
        rig.run_until(1_220_000);
        assert_eq!(rig.switches().len(), switches, "nothing is touched for ten minutes");
        rig.run_until(1_226_000);
        assert!(rig.setting && rig.controller.state() == State::Acting);
        assert_eq!(rig.controller.counts().rewrites, 6);
    }

    #[test]
    fn a_driver_that_refuses_is_asked_again_at_the_next_look() {
        let mut rig = Rig::new(true, 0);
        rig.asked(500);
        rig.input(keystroke(2_000), 2_000);
        // It said no.
        (rig.setting, rig.known) = (true, true);
        rig.input(Input::Refused, 2_001);
        rig.run_until(4_999);
        assert_eq!(rig.switches(), [(2_000, false)]);
        rig.run_until(6_000);
        assert_eq!(rig.switches(), [(2_000, false), (5_000, false), (5_750, true)]);
        assert_eq!((rig.controller.counts().refusals, rig.controller.counts().rewrites), (1, 0));
    }

    /// The flows and the setting are read at the same time: the setting that was read is that of before.
    #[test]
    fn a_look_at_the_setting_beside_a_decision_is_no_change_by_others() {
        let mut rig = Rig::new(true, 0);
        rig.asked(1_000);
        rig.run_until(4_000);
        rig.controller.handle_input(keystroke(4_999), ms(4_999));
        rig.controller.handle_input(Input::Setting { found: true, known: true }, ms(5_000));
        rig.drain();
        assert_eq!(rig.switches(), [(4_000, false)]);
        assert_eq!(rig.controller.counts().rewrites, 0);
    }

    #[test]
    fn without_an_association_nothing_happens_and_the_next_one_starts_afresh() {
        let mut rig = Rig::new(true, 0);
        rig.asked(500);
        rig.input(keystroke(1_000), 1_000);
        rig.input(Input::Left, 1_500);
        rig.run_until(1_000_000);
        assert_eq!(rig.controller.poll_timeout(), None);
        assert!(!rig.setting);
        rig.input(Input::Associated(policy(), BEACONS), 1_000_000);
        assert!(rig.setting, "power save is the rule");
    }

    #[test]
    fn beacons_as_frequent_as_the_bound_need_no_active_mode() {
        let mut controller = Controller::new(true, Instant::ZERO);
        controller.handle_input(Input::Associated(policy(), Span::from_millis(20)), Instant::ZERO);
        let mut rig = Rig { controller, ..Rig::new(true, 0) };
        rig.asked(500);
        rig.input(keystroke(1_000), 1_000);
        rig.run_until(10_000);
        assert_eq!(rig.switches(), []);
    }

    #[test]
    fn policies_need_nothing_that_a_driver_cannot_do() {
        let offered = Abilities::SWITCH | Abilities::SEE_FLOWS | Abilities::DYNAMIC_PS | Abilities::TRIGGER;
        assert_eq!(config::policies(), ["latency-guard", "active", "ba-ta", "ba-ta+str"]);
        for name in config::policies() {
            let policy = PowerSaveConfig::named(name).expect("it is listed");
            // The driver answers the TIM by itself.
            assert!(offered.contains(policy.needs().without(Abilities::SEE_TIM)), "{name}");
            assert_eq!(policy.needs_uapsd(), name.starts_with("ba-ta"), "{name}");
        }
    }

    fn ba_ta(config: BaTaConfig) -> Rig {
        let mut rig = Rig::new(true, 0);
        rig.input(Input::Associated(PowerSaveConfig::BaTa(config), BEACONS), 0);
        rig
    }

    /// Packets of a download that arrive together.
    fn burst(at: Instant, packets: u64) -> Input {
        let received = Volume { packets, bytes: packets * 1_500 };
        Input::Flows(vec![FlowSample {
            flow: 1,
            peer: 1,
            dscp: 0,
            sent: Volume::default(),
            received,
            first: at,
            last: at,
        }])
    }

    /// The access point has a burst for each trigger. Active mode, which would need none, is not tried.
    #[test]
    fn ba_ta_triggers_while_a_download_runs_and_rests_on_a_quiet_link() {
        let twenty = Span::from_millis(20);
        let config = BaTaConfig { int_min: twenty, int_max: twenty, n_max: 1_000, ..BaTaConfig::default() };
        let mut rig = ba_ta(config);
        rig.run_until(60_000);
        assert_eq!(rig.controller.counts().triggers, 0, "a quiet link");
        assert!(rig.controller.waits_for_packets());
        rig.packets_a_trigger = 30;
        rig.input(burst(ms(60_000), 30), 60_000);
        rig.run_until(65_000);
        let triggers = rig.controller.counts().triggers;
        let sent = rig.log.iter().filter(|(_, output)| *output == Output::Trigger).count() as u64;
        assert!((200..=250).contains(&triggers), "{triggers} triggers in 5 s, 20 ms apart");
        assert_eq!(sent, triggers);
        rig.packets_a_trigger = 0;
        rig.run_until(90_000);
        let triggers = rig.controller.counts().triggers;
        rig.wakeups = 0;
        rig.run_until(150_000);
        assert_eq!(rig.controller.counts().triggers, triggers, "the download has ended");
        assert_eq!(rig.wakeups, 12, "a look at the setting each 5 s");
        assert!(rig.setting && rig.controller.waits_for_packets());
    }

    /// The longest interval of 100 ms is shorter than that of the beacons: it triggers until it rests. At the interval of the
    /// beacons it does not trigger at all.
    #[test]
    fn ba_ta_leaves_what_comes_rarely_to_the_beacons() {
        let triggers = |int_max, until| {
            let mut rig = ba_ta(BaTaConfig { int_max, ..BaTaConfig::default() });
            rig.input(burst(ms(1_000), 2), 1_000);
            rig.run_until(until);
            rig.controller.counts().triggers
        };
        let before = triggers(Span::from_millis(100), 12_000);
        assert!((80..=110).contains(&before), "{before} triggers in 10 s, 100 ms apart");
        assert_eq!(triggers(Span::from_millis(100), 100_000), before);
        assert_eq!(triggers(BEACONS, 100_000), 0);
    }
}
