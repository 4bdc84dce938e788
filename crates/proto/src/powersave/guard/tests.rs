//! The guard alone: tails, pauses, holds, trials, and silence.

use proptest::prelude::*;

use super::*;

const CONFIG: fn() -> LatencyGuardConfig = LatencyGuardConfig::default;

fn ms(time: u64) -> Instant {
    Instant::from_millis(time)
}

fn span(time: u64) -> Span {
    Span::from_millis(time)
}

fn packet(flow: u64, is_sent: bool, at: u64) -> FlowSample {
    let volume = Volume { packets: 1, bytes: 92 };
    let [sent, received] = if is_sent { [volume, Volume::default()] } else { [Volume::default(), volume] };
    FlowSample { flow, dscp: 0, sent, received, first: ms(at), last: ms(at) }
}

/// A guard over a radio that sleeps `tail` after a packet and after a demand, and then gets a packet at the next of its beacons.
struct Rig {
    guard: LatencyGuard,
    tail: u64,
    /// Whether active mode helps.
    obeys: bool,
    last: Vec<(u64, u64)>,
    awake_until: u64,
    looks: u64,
    waits: Vec<u64>,
}

const BEACONS: u64 = 100;

impl Rig {
    fn new(tail: u64) -> Self {
        let guard = LatencyGuard::new(CONFIG());
        Self { guard, tail, obeys: true, last: Vec::new(), awake_until: 0, looks: 0, waits: Vec::new() }
    }

    fn run_until(&mut self, until: u64) {
        while let Some(at) = self.guard.next_look().filter(|at| *at <= ms(until)) {
            let demanded = self.guard.demand().is_some();
            self.guard.look(at);
            self.looks += 1;
            if demanded && self.guard.demand().is_none() {
                self.awake_until = at.as_nanos() / 1_000_000 + self.tail;
            }
            assert!(self.guard.next_look() != Some(at), "a look leads to another one at the same time");
        }
    }

    fn note(&mut self, flow: u64, at: u64) -> Option<u64> {
        self.awake_until = self.awake_until.max(at + self.tail);
        match self.last.iter_mut().find(|(known, _)| *known == flow) {
            Some((_, last)) => Some(std::mem::replace(last, at)),
            None => {
                self.last.push((flow, at));
                None
            }
        }
    }

    fn sent(&mut self, flow: u64, at: u64) {
        self.run_until(at);
        self.note(flow, at);
        self.guard.observe(&packet(flow, true, at), ms(at));
    }

    /// A packet that gets to the access point at this time. Returns when it arrives.
    fn received(&mut self, flow: u64, due: u64) -> u64 {
        self.run_until(due);
        let is_active = self.obeys && self.guard.demand().is_some();
        let waits = !is_active && due > self.awake_until;
        let at = if waits { due.next_multiple_of(BEACONS) } else { due };
        self.run_until(at);
        let any = self.last.iter().map(|(_, last)| *last).max().unwrap_or(0);
        if let Some(last) = self.note(flow, at) {
            let (pause, silence) = (span(at - last), span(at - any));
            let arrival = Arrival { flow, at: ms(at), pause, silence, waited: Some(waits) };
            self.guard.arrived(&arrival, span(BEACONS));
        }
        self.guard.observe(&packet(flow, false, at), ms(at));
        self.waits.push(at - due);
        at
    }

    /// The share of packets that waited longer than the bound, of all but the first ones.
    fn late(&self, skip: usize) -> f64 {
        let rest = &self.waits[skip..];
        rest.iter().filter(|wait| **wait > 30).count() as f64 / rest.len() as f64
    }

    fn is_held(&mut self, at: u64) -> bool {
        self.run_until(at);
        self.guard.demand().is_some()
    }
}

/// Somebody types here: an echo 21 ms after each key.
fn types(rig: &mut Rig, keys: u64) -> u64 {
    let mut at = 1_000;
    for key in 0..keys {
        rig.sent(1, at);
        at = rig.received(1, at + 21) + 437 + 89 * (key % 7);
    }
    at
}

#[test]
fn keys_whose_echo_comes_within_the_tail_leave_power_save_alone() {
    let mut rig = Rig::new(100);
    types(&mut rig, 300);
    assert_eq!((rig.guard.class(1), rig.guard.counts().demands), (Some(FlowClass::Unharmed), [0, 0]));
    assert_eq!((rig.looks, rig.late(0)), (0, 0.0));
}

#[test]
fn an_echo_beyond_the_tail_gets_active_mode_until_it_is_there() {
    for tail in [0, 20] {
        let mut rig = Rig::new(tail);
        let at = types(&mut rig, 300);
        assert_eq!(rig.guard.class(1), Some(FlowClass::Asking));
        // The first, and the trials.
        assert!(rig.late(0) <= 0.015, "{} late", rig.late(0));
        rig.sent(1, at);
        assert!(rig.is_held(at + 21), "for the answer");
        rig.received(1, at + 21);
        assert!(!rig.is_held(at + 21 + 430), "not for longer than answers take");
    }
}

/// Somebody types at the other end, with pauses of 0.2 to 1.8 s.
#[test]
fn keys_of_a_peer_keep_the_station_within_reach_over_their_pauses() {
    let mut rig = Rig::new(100);
    let mut at = 1_000;
    for key in 0..400 {
        at = rig.received(1, at + 200 + 397 * (key % 5));
        rig.sent(1, at + 1);
    }
    assert_eq!(rig.guard.class(1), Some(FlowClass::Asked));
    assert!(rig.late(3) <= 0.015, "{} late", rig.late(3));
    assert!(rig.is_held(at + 1_700));
    assert!(!rig.is_held(at + 4_000), "she has gone");
}

/// A connection that is closed by its server after a minute has one late packet.
#[test]
fn one_late_packet_after_a_long_pause_changes_nothing() {
    let mut rig = Rig::new(100);
    let at = types(&mut rig, 20);
    rig.received(1, at + 40_000);
    assert_eq!(rig.guard.class(1), Some(FlowClass::Unharmed));
    assert_eq!(rig.guard.counts().demands, [0, 0]);
}

#[test]
fn pauses_longer_than_the_hold_are_left_to_power_save() {
    let mut rig = Rig::new(100);
    for message in 1..50 {
        rig.received(1, message * 300_000);
    }
    assert_eq!((rig.guard.class(1), rig.guard.counts().demands), (Some(FlowClass::Unharmed), [0, 0]));
    assert_eq!(rig.guard.counts().unsolicited, 49);
}

#[test]
fn a_new_flow_needs_what_the_flow_before_it_needed() {
    let mut rig = Rig::new(0);
    let at = types(&mut rig, 20);
    rig.sent(2, at);
    assert_eq!(rig.received(2, at + 21), at + 21, "its first answer does not wait");
}

#[test]
fn marks_of_background_traffic_are_believed() {
    for (dscp, class) in [(8, FlowClass::Background), (1, FlowClass::Background), (18, FlowClass::Asking)] {
        let mut rig = Rig::new(0);
        for key in 1..100 {
            rig.guard.observe(&FlowSample { dscp, ..packet(1, true, key * 500) }, ms(key * 500));
            let (at, pause) = (ms(key * 500 + 60), span(60));
            let arrival = Arrival { flow: 1, at, pause, silence: pause, waited: Some(true) };
            rig.guard.arrived(&arrival, span(BEACONS));
        }
        assert_eq!(rig.guard.class(1), Some(class), "{dscp}");
    }
}

/// A radio that gets its packets at beacons in active mode too is left in power save.
#[test]
fn active_mode_that_does_not_help_is_given_up() {
    let mut rig = Rig::new(0);
    rig.obeys = false;
    let at = types(&mut rig, 100);
    rig.sent(1, at);
    assert!(!rig.is_held(at + 1));
    assert!(rig.guard.counts().demands[Demand::Answer as usize] <= 40);
}

/// Another driver with a longer tail: the trials find out, and the flow is left to power save.
#[test]
fn a_tail_that_has_become_longer_is_learned() {
    let mut rig = Rig::new(20);
    types(&mut rig, 200);
    rig.tail = 200;
    let mut at = 1_000_000;
    for _ in 0..60_000 {
        rig.sent(1, at);
        at = rig.received(1, at + 21) + 500;
    }
    assert_eq!(rig.guard.class(1), Some(FlowClass::Unharmed));
}

#[test]
fn the_table_of_flows_is_bounded_and_forgets_the_most_silent() {
    let mut rig = Rig::new(100);
    for flow in 0..10_000_u64 {
        rig.guard.observe(&packet(flow, true, flow), ms(flow));
    }
    assert_eq!(rig.guard.flows.len(), FLOWS_MAX);
    assert_eq!(rig.guard.class(0), None);
    assert_eq!(rig.guard.class(9_999), Some(FlowClass::Unharmed));
}

proptest! {
    /// Whatever flows, holds end, and when everything is silent, the guard is too.
    #[test]
    fn silence_is_silent(
        tail in 0_u64..300,
        trace in proptest::collection::vec((0_u64..4, 0_u64..4_000, any::<bool>()), 1..300),
    ) {
        let mut rig = Rig::new(tail);
        let mut at = 0;
        for (flow, gap, is_sent) in trace {
            at += gap;
            if is_sent { rig.sent(flow, at) } else { at = rig.received(flow, at) }
            let longest = ms(at) + CONFIG().hold * 2;
            prop_assert!(rig.guard.next_look().is_none_or(|look| look <= longest));
        }
        rig.run_until(at + 200_000);
        prop_assert_eq!(rig.guard.next_look(), None);
        prop_assert_eq!(rig.guard.demand(), None);
    }
}
