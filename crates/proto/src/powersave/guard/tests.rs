//! The guard alone: classes of flows, holds, saturation, and silence.

use proptest::prelude::*;

use super::*;

const CONFIG: fn() -> LatencyGuardConfig = LatencyGuardConfig::default;

fn ms(time: u64) -> Instant {
    Instant::from_millis(time)
}

fn packet(flow: u64, is_sent: bool, bytes: u64, at: u64) -> FlowSample {
    let volume = Volume { packets: 1, bytes };
    let [sent, received] = if is_sent { [volume, Volume::default()] } else { [Volume::default(), volume] };
    FlowSample { flow, dscp: 0, sent, received, first: ms(at), last: ms(at) }
}

/// A guard with a driver that looks when it is due.
struct Rig {
    guard: LatencyGuard,
    looks: u64,
}

impl Rig {
    fn new() -> Self {
        Self { guard: LatencyGuard::new(CONFIG()), looks: 0 }
    }

    fn run_until(&mut self, until: Instant) {
        while let Some(at) = self.guard.next_look().filter(|at| *at <= until) {
            self.guard.look(at);
            self.looks += 1;
            assert!(self.guard.next_look() != Some(at), "a look leads to another one at the same time");
        }
    }

    fn sample(&mut self, sample: FlowSample) {
        self.run_until(sample.last);
        self.guard.observe(&sample, sample.last);
    }

    fn packet(&mut self, flow: u64, is_sent: bool, bytes: u64, at: u64) {
        self.sample(packet(flow, is_sent, bytes, at));
    }

    fn is_active(&mut self, at: u64) -> bool {
        self.run_until(ms(at));
        self.guard.demands_active_mode()
    }
}

#[test]
fn a_flow_is_interactive_from_its_first_packet_until_the_hold_after_its_last() {
    let mut rig = Rig::new();
    assert_eq!(rig.guard.next_look(), None);
    rig.packet(1, true, 60, 1_000);
    rig.packet(1, false, 120, 1_040);
    assert_eq!(rig.guard.demand(), Some(Demand::Interactive));
    assert!(rig.is_active(3_039));
    assert!(!rig.is_active(3_040));
    assert_eq!(rig.guard.next_look(), None, "a quiet link has no timer");
}

#[test]
fn somebody_who_types_never_meets_a_sleeping_radio_after_the_first_key() {
    let mut rig = Rig::new();
    for key in 0..100 {
        let at = 1_000 + key * 700;
        assert_eq!(rig.is_active(at), key > 0);
        rig.packet(1, true, 92, at);
        rig.packet(1, false, 92, at + 35);
    }
    assert_eq!(rig.guard.counts().demands, [1, 0, 0]);
    assert!(rig.looks == 0, "every packet moved the end of the hold");
}

#[test]
fn marks_are_believed() {
    let marked = |dscp| {
        let mut rig = Rig::new();
        for at in 0..2_000 {
            rig.sample(FlowSample { dscp, ..packet(1, false, 1_500, at) });
        }
        rig.guard.class(1).unwrap()
    };
    assert_eq!(marked(46), FlowClass::Interactive);
    assert_eq!(marked(18), FlowClass::Interactive, "OpenSSH marks shells AF21");
    assert_eq!(marked(8), FlowClass::Background);
    assert_eq!(marked(1), FlowClass::Background);
    assert_eq!(marked(0), FlowClass::Bulk);
}

#[test]
fn a_mail_client_that_asks_every_minute_is_a_keep_alive_and_waits_for_its_answers_only() {
    let mut rig = Rig::new();
    for round in 0..5 {
        let at = 1_000 + round * 60_000;
        rig.packet(1, true, 100, at);
        rig.packet(1, false, 100, at + 50);
        let awake = if round < 2 { 2_049 } else { 299 };
        assert!(rig.is_active(at + awake), "round {round}");
        assert!(!rig.is_active(at + awake + 1), "round {round}");
    }
    assert_eq!(rig.guard.class(1), Some(FlowClass::KeepAlive));
    // Then its user opens a message.
    for at in (0..400).step_by(20) {
        rig.packet(1, at % 40 == 0, 200, 400_000 + at);
    }
    assert_eq!(rig.guard.class(1), Some(FlowClass::Interactive));
}

#[test]
fn a_keep_alive_of_the_peer_does_not_keep_the_radio_awake() {
    let mut rig = Rig::new();
    for round in 0..4 {
        rig.packet(1, false, 60, 1_000 + round * 30_000);
        assert_eq!(rig.guard.demands_active_mode(), round < 2);
    }
    assert_eq!(rig.guard.counts().unsolicited, 4);
}

#[test]
fn a_download_below_saturation_is_left_to_power_save() {
    let mut rig = Rig::new();
    // 2.4 Mbit/s with an acknowledgement for every second packet.
    for number in 0..4_000_u64 {
        let at = 1_000 + number * 5;
        rig.packet(1, false, 1_500, at);
        if number % 2 == 0 {
            rig.packet(1, true, 52, at);
        }
    }
    assert_eq!(rig.guard.class(1), Some(FlowClass::Bulk));
    assert!(!rig.guard.demands_active_mode());
    assert_eq!(rig.guard.counts().demands, [1, 0, 0]);
}

#[test]
fn a_download_that_saturates_the_air_gets_active_mode_and_loses_it_afterwards() {
    let mut rig = Rig::new();
    // 12 Mbit/s.
    for number in 0..8_000_u64 {
        rig.packet(1, false, 1_500, 1_000 + number);
    }
    assert_eq!(rig.guard.demand(), Some(Demand::Saturation));
    assert!(!rig.is_active(11_500), "it is over two measurements later at the latest");
    assert_eq!(rig.guard.next_look(), None);
    // The same again after a pause: it is known as bulk, and measured first.
    for number in 0..1_000_u64 {
        rig.packet(1, false, 1_500, 60_000 + number);
        if number < 250 {
            assert!(!rig.guard.demands_active_mode());
        }
    }
    assert_eq!(rig.guard.demand(), Some(Demand::Saturation));
}

#[test]
fn a_call_with_pictures_is_interactive_whatever_its_rate() {
    let mut rig = Rig::new();
    for number in 0..4_000_u64 {
        rig.packet(1, number % 2 == 0, 1_100, 1_000 + number * 5);
    }
    assert_eq!(rig.guard.class(1), Some(FlowClass::Interactive));
    assert_eq!(rig.guard.demand(), Some(Demand::Interactive));
}

#[test]
fn a_game_beside_a_download_keeps_its_bound() {
    let mut rig = Rig::new();
    for number in 0..2_000_u64 {
        rig.packet(1, false, 1_500, 1_000 + number * 5);
        if number % 10 == 0 {
            rig.packet(2, true, 90, 1_000 + number * 5);
        }
        if number % 10 == 5 {
            rig.packet(2, false, 150, 1_000 + number * 5);
        }
    }
    assert_eq!(rig.guard.class(1), Some(FlowClass::Bulk));
    assert_eq!(rig.guard.demand(), Some(Demand::Interactive));
}

/// On a device samples are totals, read when the guard looks.
#[test]
fn totals_lead_to_the_same_decisions_as_packets() {
    let mut rig = Rig::new();
    rig.packet(1, true, 60, 1_000);
    assert!(rig.guard.demands_active_mode());
    let totals = |packets, bytes, first, last| FlowSample {
        received: Volume { packets, bytes },
        first: ms(first),
        last: ms(last),
        ..packet(1, true, 52, first)
    };
    // 3 MB until the end of the hold are 12 Mbit/s.
    rig.guard.observe(&totals(2_000, 3_000_000, 1_010, 3_000), ms(3_000));
    rig.guard.look(ms(3_000));
    assert_eq!(rig.guard.class(1), Some(FlowClass::Bulk));
    assert_eq!(rig.guard.demand(), Some(Demand::Saturation));
    rig.guard.observe(&totals(100, 150_000, 3_000, 4_000), ms(4_000));
    rig.guard.look(ms(4_000));
    assert_eq!(rig.guard.demand(), None, "1.2 Mbit/s");
    // A sample of long ago keeps nobody awake.
    rig.guard.observe(&FlowSample { flow: 2, ..totals(1, 100, 4_100, 4_100) }, ms(60_000));
    assert_eq!(rig.guard.demand(), None);
}

#[test]
fn the_table_of_flows_is_bounded_and_forgets_the_most_silent() {
    let mut rig = Rig::new();
    for flow in 0..10_000_u64 {
        rig.packet(flow, true, 60, flow);
    }
    assert_eq!(rig.guard.flows.len(), FLOWS_MAX);
    assert_eq!(rig.guard.class(0), None);
    assert_eq!(rig.guard.class(9_999), Some(FlowClass::Interactive));
}

fn trace() -> impl Strategy<Value = Vec<(u64, u64, bool, u64)>> {
    let packet = (0_u64..4, 0_u64..4_000, any::<bool>(), 40_u64..1_500);
    proptest::collection::vec(packet, 1..300)
}

proptest! {
    /// Whatever else flows, a flow with the mark of a call never meets power save between its first packet and the hold after
    /// its last one; and when everything is silent, the guard is too.
    #[test]
    fn marked_flows_keep_their_bound_and_silence_is_silent(trace in trace(), seed in 0_u64..3) {
        let mut rig = Rig::new();
        let (mut at, mut called) = (0, None);
        for (flow, gap, is_sent, bytes) in trace {
            at += if seed == 0 { gap / 100 } else { gap };
            rig.run_until(ms(at));
            if called.is_some_and(|last| at < last + 2_000) {
                prop_assert!(rig.guard.demands_active_mode());
            }
            let dscp = if flow == 0 { 46 } else { 0 };
            if flow == 0 {
                called = Some(at);
            }
            rig.sample(FlowSample { dscp, ..packet(flow, is_sent, bytes, at) });
        }
        let looks = rig.looks;
        prop_assert!(!rig.is_active(at + 5_000));
        prop_assert_eq!(rig.guard.next_look(), None);
        prop_assert!(rig.looks - looks <= 6);
    }
}
