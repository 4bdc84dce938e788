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

/// A packet of the peer that waited and came this long after the one before, to a host that has sent.
fn unasked(at: u64, pause: Span) -> ArrivalAfterPause {
    ArrivalAfterPause { peer: 1, at: ms(at), pause, silence: pause, waited: Some(true), has_sent: true }
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
    /// The setting as the daemon set or read it last.
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
        let late = [1, 2, 3].map(|seconds| unasked(at, Span::from_secs(seconds)));
        self.input(Input::Arrivals(late.to_vec()), at);
    }

    /// A monitor has asked each 30 s, three times. Whether it waited is known.
    fn monitored(&mut self, at: u64) {
        self.input(keystroke(at), at);
        self.input(Input::Arrivals(vec![unasked(at, Span::from_secs(30)); 3]), at);
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

/// The radio may sleep at once, and not at the end of the time for which it was worth to be awake.
#[test]
fn on_battery_the_radio_sleeps_again_at_once() {
    let mut rig = Rig::new(true, 0);
    rig.asked(1_000);
    rig.input(keystroke(2_000), 2_000);
    assert_eq!(rig.switches(), [(2_000, false)]);
    rig.input(Input::Worth(Span::from_millis(100)), 3_000);
    rig.run_until(3_001);
    assert_eq!(rig.switches(), [(2_000, false), (3_000, true)]);
    rig.input(keystroke(10_000), 10_000);
    rig.run_until(12_000);
    assert_eq!(rig.switches().len(), 2, "no longer worth its cost");
    rig.input(Input::Worth(Span::from_secs(20)), 12_000);
    rig.input(keystroke(20_000), 20_000);
    assert_eq!(rig.switches().last(), Some(&(20_000, false)), "what was learned stays");
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
        let arrival =
            ArrivalAfterPause { peer: 1, at, pause, silence: pause, waited: Some(true), has_sent: false };
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
