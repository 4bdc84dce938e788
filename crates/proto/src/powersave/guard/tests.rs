//! The guard alone: tails, pauses, holds, trials, and silence.

use std::collections::BTreeSet;

use airwatt_base::RandomStream;
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
    sized(flow, is_sent, at, 92)
}

fn sized(flow: u64, is_sent: bool, at: u64, bytes: u64) -> FlowSample {
    let volume = Volume { packets: 1, bytes };
    let [sent, received] = if is_sent { [volume, Volume::default()] } else { [Volume::default(), volume] };
    FlowSample { flow, peer: flow, dscp: 0, sent, received, first: ms(at), last: ms(at) }
}

/// A guard over a radio that sleeps `tail` after a packet and after a demand, and then gets a packet at the next of its beacons.
struct Rig {
    guard: LatencyGuard,
    tail: u64,
    /// Whether active mode helps.
    obeys: bool,
    /// How much later than they are due the host looks.
    lateness: u64,
    last: Vec<(u64, u64)>,
    /// Flows in which this host has sent more than acknowledgements since the peer did.
    has_sent: BTreeSet<u64>,
    awake_until: u64,
    looks: u64,
    waits: Vec<u64>,
    /// The time until which time awake was counted, and that time.
    counted: u64,
    awake: u64,
}

const BEACONS: u64 = 100;

impl Rig {
    fn new(tail: u64) -> Self {
        Self::with(CONFIG(), tail)
    }

    fn with(config: LatencyGuardConfig, tail: u64) -> Self {
        let guard = LatencyGuard::new(config);
        let (last, waits) = (Vec::new(), Vec::new());
        let has_sent = BTreeSet::new();
        Self {
            guard,
            tail,
            obeys: true,
            lateness: 0,
            last,
            has_sent,
            awake_until: 0,
            looks: 0,
            waits,
            counted: 0,
            awake: 0,
        }
    }

    /// Counts time awake until then: what is demanded, and the tail.
    fn count(&mut self, until: u64) {
        let end = if self.guard.demand().is_some() { until } else { until.min(self.awake_until) };
        self.awake += end.saturating_sub(self.counted);
        self.counted = until;
    }

    fn run_until(&mut self, until: u64) {
        while let Some(due) = self.guard.next_look().filter(|due| *due + span(self.lateness) <= ms(until)) {
            let at = due + span(self.lateness);
            let demanded = self.guard.demand().is_some();
            self.count(at.as_nanos() / 1_000_000);
            self.guard.look(at);
            self.looks += 1;
            if demanded && self.guard.demand().is_none() {
                self.awake_until = at.as_nanos() / 1_000_000 + self.tail;
            }
            assert!(self.guard.next_look() != Some(at), "a look leads to another one at the same time");
        }
        self.count(until);
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
        self.has_sent.insert(flow);
        self.guard.observe(&packet(flow, true, at), ms(at));
    }

    fn acknowledged(&mut self, flow: u64, at: u64) {
        self.run_until(at);
        self.note(flow, at);
        self.guard.observe(&sized(flow, true, at, ACKNOWLEDGEMENT), ms(at));
    }

    /// A packet that gets to the access point at this time. Returns when it arrives.
    fn received(&mut self, flow: u64, due: u64) -> u64 {
        self.received_of(flow, due, 92)
    }

    fn received_of(&mut self, flow: u64, due: u64, bytes: u64) -> u64 {
        self.run_until(due);
        let is_active = self.obeys && self.guard.demand().is_some();
        let waits = !is_active && due > self.awake_until;
        let at = if waits { self.fetched(due) } else { due };
        let waits = waits && at.is_multiple_of(BEACONS);
        let any = self.last.iter().map(|(_, last)| *last).max().unwrap_or(0);
        let has_sent = self.has_sent.remove(&flow);
        if let Some(last) = self.note(flow, at) {
            let (pause, silence) = (span(at - last), span(at - any));
            let arrival =
                ArrivalAfterPause { peer: flow, at: ms(at), pause, silence, waited: Some(waits), has_sent };
            self.guard.arrived(&arrival, span(BEACONS));
        }
        self.guard.observe(&sized(flow, false, at, bytes), ms(at));
        self.waits.push(at - due);
        at
    }

    /// When a packet that waits is delivered: at the next beacon, or when something is demanded, which the access point notices.
    fn fetched(&mut self, due: u64) -> u64 {
        let beacon = due.next_multiple_of(BEACONS);
        let lateness = self.lateness;
        let late = |at: Instant| at.as_nanos().div_ceil(1_000_000) + lateness;
        while let Some(look) = self.guard.next_look().map(late).filter(|at| *at < beacon) {
            self.run_until(look);
            if self.obeys && self.guard.demand().is_some() {
                return look;
            }
        }
        self.run_until(beacon);
        beacon
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

/// Most that a regular peer costs, times the power with the driver's own power save.
const REGULAR: f64 = 3.0;
/// Packets whose worth the guard may spend in vain for a peer, which by chance looks worth its cost for a while. Of 20,000 peers at random
/// times, with 100 packets each, one in a hundred took more than 7.6, one in a thousand more than 12.2, and none more than 16.2.
const TRUSTED: u64 = 24;

/// Power as a share of that of active mode: the radio is awake for a part of the time, and receives a beacon in 3 ms of each
/// interval.
fn power(awake: u64, time: u64) -> f64 {
    awake as f64 / time as f64 + 3.0 / BEACONS as f64
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

/// What a server sends at its own pace to flow `flow`: a block of three full segments each `period`, of which this host acknowledges two
/// at a time. Returns the time of the last one.
fn streams(rig: &mut Rig, flow: u64, from: u64, period: u64, blocks: u64) -> u64 {
    let mut at = from;
    for block in 0..blocks {
        at = at.max(from + block * period);
        for segment in 0..3 {
            at = rig.received_of(flow, at, 1_500);
            if segment == 1 {
                rig.acknowledged(flow, at);
            }
            at += 3;
        }
    }
    at.max(from + blocks * period)
}

/// Nobody waits for the blocks of a stream, which are left to power save whatever the tail. A peer that types beside it is served as
/// without it.
#[test]
fn a_stream_at_its_servers_pace_is_left_to_power_save() {
    for (tail, period) in [(0, 260), (20, 260), (100, 260), (100, 520), (100, 2_000)] {
        let mut rig = Rig::new(tail);
        let at = streams(&mut rig, 1, 0, period, 30);
        assert_eq!(rig.guard.class(1), Some(FlowClass::Streamed), "each {period} ms, tail {tail} ms");
        let awake = rig.awake;
        streams(&mut rig, 1, at, period, 200);
        // The block, and what follows each of its packets.
        assert!(rig.awake - awake <= 200 * (10 + tail.max(50)), "{} ms", rig.awake - awake);
    }
    let mut rig = Rig::new(100);
    let at = streams(&mut rig, 1, 0, 520, 30);
    let waits = (0..400).map(|key| {
        let due = streams(&mut rig, 1, at + key * 520, 520, 1) - 200;
        let typed = rig.received(2, due);
        rig.sent(2, typed + 1);
        typed - due
    });
    let late = waits.filter(|wait| *wait > 30).count();
    assert_eq!([1, 2].map(|flow| rig.guard.class(flow)), [Some(FlowClass::Streamed), Some(FlowClass::Asked)]);
    assert!(late <= 9, "{late} late");
}

/// Who asks over the connection of a stream waits for the answers, and a window of TCP for the next one.
#[test]
fn what_this_host_asks_for_or_acknowledges_is_no_stream() {
    let mut rig = Rig::new(20);
    let at = streams(&mut rig, 1, 0, 260, 30);
    assert_eq!(rig.guard.class(1), Some(FlowClass::Streamed));
    for question in 0..20 {
        rig.sent(1, at + 1_000 * question);
        rig.received_of(1, at + 1_000 * question + 60, 1_500);
    }
    assert_eq!(rig.guard.class(1), Some(FlowClass::Asking));
    let mut rig = Rig::new(20);
    for question in 0..10 {
        rig.sent(1, 1_000 * question);
        rig.received_of(1, 1_000 * question + 80, 1_500);
    }
    streams(&mut rig, 1, 10_000, 80, 100);
    assert_eq!(rig.guard.class(1), Some(FlowClass::Asking), "a download of a window in each round trip");
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

/// Questions of a peer, each answered within a millisecond. Returns the time of the last one.
fn asks(rig: &mut Rig, from: u64, gaps: impl IntoIterator<Item = u64>) -> u64 {
    gaps.into_iter().fold(from, |at, gap| {
        let at = rig.received(1, at + gap);
        rig.sent(1, at);
        at
    })
}

/// Exponentially distributed gaps.
fn random_gaps(mean: u64, count: usize, seed: u64) -> Vec<u64> {
    let mut random = RandomStream::new(seed, "gaps");
    (0..count).map(|_| (random.exponential(1.0) * mean as f64) as u64 + 1).collect()
}

#[test]
fn rare_questions_at_random_times_are_left_to_power_save() {
    for (mean, asked) in [(2_000, true), (8_000, true), (60_000, false), (300_000, false)] {
        let mut rig = Rig::new(100);
        asks(&mut rig, 0, random_gaps(mean, 300, 1));
        let share = rig.awake as f64 / rig.counted as f64;
        assert_eq!(rig.guard.class(1) == Some(FlowClass::Asked), asked, "each {mean} ms");
        assert_eq!(rig.late(10) < 0.05, asked, "each {mean} ms: {} late", rig.late(10));
        assert_eq!(share > 0.1, asked, "each {mean} ms: {share} awake");
    }
}

/// A monitor asks each 30 s. The station is within reach when the question comes, and asleep until then.
#[test]
fn a_regular_peer_meets_the_station_within_reach() {
    let mut rig = Rig::new(100);
    let at = asks(&mut rig, 0, std::iter::repeat_n(30_000, 100));
    assert!(rig.late(5) <= 0.02, "{} late", rig.late(5));
    assert!(!rig.is_held(at + 29_500) && rig.is_held(at + 30_000) && !rig.is_held(at + 30_500));
    // The tail of 0.1 s is 0.33 %.
    assert!(rig.awake * 100 < rig.counted, "{} of {} ms awake", rig.awake, rig.counted);
}

/// A host that is so busy that it opens each time within reach after the packet. The rhythm brings nothing and rests, and so does its
/// next try, while a hold over the whole pause, which needs no time to begin, is not worth its cost.
#[test]
fn a_reach_that_brings_nothing_is_given_up() {
    const PAUSE: u64 = 31_313;
    let busy = |lateness: u64, questions: usize| {
        let mut rig = Rig::new(100);
        asks(&mut rig, 0, std::iter::repeat_n(PAUSE, 10));
        rig.lateness = lateness;
        let (reached, begun) = (rig.guard.counts().demands[Demand::Reach as usize], rig.waits.len());
        let from = rig.counted;
        let at = asks(&mut rig, from, std::iter::repeat_n(PAUSE, questions));
        let reached = rig.guard.counts().demands[Demand::Reach as usize] - reached;
        (rig, at, begun, reached)
    };
    let (rig, _, begun, reached) = busy(0, 500);
    assert!(rig.late(begun) < 0.01 && reached > 480, "it helps, and is kept: {reached}");
    let (rig, _, begun, reached) = busy(900, 500);
    assert!(rig.late(begun) > 0.8, "{} late", rig.late(begun));
    // 16 tries before the rest of 64 pauses, and 4 before that of 128 and before that of 256.
    assert!(reached <= 30, "{reached} of 500");
    // The host is not busy any more: the next try is a success.
    let (mut rig, at, _, _) = busy(900, 100);
    rig.lateness = 0;
    let at = asks(&mut rig, at, std::iter::repeat_n(PAUSE, 140));
    let begun = rig.waits.len();
    asks(&mut rig, at, std::iter::repeat_n(PAUSE, 60));
    assert!(rig.late(begun) < 0.02, "{} late", rig.late(begun));
}

/// `ping -i 1.3` towards a busy host: a rhythm that comes too late gives way to a hold, which is in force when the ping comes.
#[test]
fn a_rhythm_that_comes_too_late_gives_way_to_a_hold_that_pays() {
    let mut rig = Rig::new(100);
    asks(&mut rig, 0, std::iter::repeat_n(1_330, 20));
    rig.lateness = 200;
    let begun = rig.waits.len();
    let from = rig.counted;
    asks(&mut rig, from, std::iter::repeat_n(1_330, 200));
    // Four tries of the rhythm after a rest are late.
    assert!(rig.late(begun + 40) <= 0.03, "{} late", rig.late(begun + 40));
}

/// Who asks over a new connection each time is the peer of before.
#[test]
fn connections_of_a_peer_to_a_service_are_one_flow() {
    let mut rig = Rig::new(100);
    let at = asks(&mut rig, 0, std::iter::repeat_n(30_000, 10));
    let question = FlowSample { flow: 99, ..packet(1, false, at + 30_000) };
    rig.run_until(at + 30_000);
    rig.guard.observe(&question, ms(at + 30_000));
    assert!(rig.is_held(at + 60_000), "the guard expects the next one");
    let stranger = FlowSample { flow: 1, ..packet(2, false, at + 70_000) };
    rig.run_until(at + 70_000);
    rig.guard.observe(&stranger, ms(at + 70_000));
    assert_eq!(rig.guard.class(2), Some(FlowClass::Unharmed));
    assert!(!rig.is_held(at + 100_000), "another peer with the number of the flow");
}

/// One question is lost, then the peer asks at random, then at another rhythm.
#[test]
fn a_rhythm_may_have_an_exception_and_an_end() {
    let mut rig = Rig::new(100);
    let at = asks(&mut rig, 0, std::iter::repeat_n(30_000, 20));
    let (at, asked) = (asks(&mut rig, at, [60_000]), rig.waits.len());
    let at = asks(&mut rig, at, std::iter::repeat_n(30_000, 10));
    assert!(rig.late(asked) == 0.0, "{:?}", &rig.waits[asked..]);
    let at = asks(&mut rig, at, random_gaps(45_000, 40, 2));
    assert_eq!(rig.guard.class(1), Some(FlowClass::Unharmed));
    let at = asks(&mut rig, at, std::iter::repeat_n(20_000, 40));
    let asked = rig.waits.len();
    asks(&mut rig, at, std::iter::repeat_n(20_000, 10));
    assert!(rig.late(asked) == 0.0, "{:?}", &rig.waits[asked..]);
}

/// What this host sends of its own accord ends pauses that reach would have cost, and gains nothing.
#[test]
fn pauses_that_this_host_ends_are_costs() {
    let is_asked = |own: u64| {
        let mut rig = Rig::new(100);
        let mut at = 1_000;
        for _ in 0..30 {
            at = asks(&mut rig, at, random_gaps(4_000, 1, at));
            for _ in 0..own {
                at += 9_000;
                rig.sent(1, at);
            }
        }
        rig.guard.class(1) == Some(FlowClass::Asked)
    };
    assert_eq!((is_asked(0), is_asked(5)), (true, false));
}

#[test]
fn nothing_is_worth_anything_to_who_says_so() {
    let mut rig = Rig::with(LatencyGuardConfig { worth: Span::ZERO, ..CONFIG() }, 100);
    asks(&mut rig, 0, std::iter::repeat_n(2_000, 100));
    assert_eq!((rig.guard.class(1), rig.guard.counts().demands), (Some(FlowClass::Unharmed), [0, 0]));
}

/// A laptop whose plug is pulled between two messages of a broker, and put back.
#[test]
fn a_lower_price_ends_what_is_not_worth_it_at_once_and_forgets_nothing() {
    let mut rig = Rig::new(100);
    let at = asks(&mut rig, 0, random_gaps(10_000, 100, 7));
    assert!(rig.is_held(at + 1_000));
    rig.guard.set_worth(Span::from_secs(2), ms(at + 1_000));
    assert!(rig.guard.demand().is_none() && rig.guard.next_look().is_none(), "the radio may sleep");
    let (at, awake) = (asks(&mut rig, at, random_gaps(10_000, 50, 8)), rig.awake);
    assert!(rig.awake - awake == 0 && rig.guard.class(1) != Some(FlowClass::Asked));
    rig.guard.set_worth(Span::from_secs(20), ms(at));
    let at = asks(&mut rig, at, [10_000]);
    assert!(rig.is_held(at + 1_000), "its pauses are known");
}

/// Triggers cost a fifth of the time: peers that are too rare for active mode are within their reach.
#[test]
fn triggers_reach_peers_that_active_mode_does_not() {
    for (reach, asked) in [(Reach::Active, false), (Reach::Triggers, true)] {
        let mut rig = Rig::with(LatencyGuardConfig { reach, ..CONFIG() }, 100);
        asks(&mut rig, 0, random_gaps(40_000, 100, 3));
        assert_eq!(rig.guard.class(1) == Some(FlowClass::Asked), asked, "{reach:?}");
    }
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
            let arrival =
                ArrivalAfterPause { peer: 1, at, pause, silence: pause, waited: Some(true), has_sent: true };
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

/// A packet that waits for its beacon ends a longer silence than one that meets the station within reach. Here the silences of the
/// former are of the class from 16.384 s on and those of the latter of the class before it, of which the guard knew nothing: it
/// forgot the rhythm as soon as it was met (9.4 % late).
#[test]
fn a_rhythm_beside_the_end_of_a_class_is_kept() {
    let (gap, jitter) = (16_321, 38);
    let mut random = RandomStream::new(2_615_516_229_041_258_882, "jitter");
    let mut rig = Rig::new(0);
    asks(&mut rig, 0, (0..200).map(|_| gap + u64::from(random.below(jitter + 1))));
    assert!(rig.late(8) <= 0.01, "{} late", rig.late(8));
}

/// Gaps in milliseconds which a wait for a beacon puts into the next class.
fn before_the_end_of_a_class() -> impl Strategy<Value = u64> {
    (20..33_usize, 0..200_u64).prop_map(|(class, before)| tail::end_of(class).as_nanos() / 1_000_000 - before)
}

/// The packets whose worth is spent in vain for a hundred packets at random times with this mean pause in milliseconds, and no tail.
fn spent_in_vain(mean: u64, seed: u64) -> f64 {
    let mut rig = Rig::new(0);
    asks(&mut rig, 0, random_gaps(mean, 100, seed));
    let gained = rig.waits.iter().filter(|wait| **wait == 0).count() as f64;
    rig.awake as f64 / (CONFIG().worth.as_nanos() as f64 / 1e6) - gained
}

#[test]
fn chance_costs_one_peer_in_a_hundred_eight_packets() {
    let mut random = RandomStream::new(1, "peers");
    let mut vain: Vec<f64> =
        (0..1_000).map(|seed| spent_in_vain(300 + u64::from(random.below(99_700)), seed)).collect();
    vain.sort_by(f64::total_cmp);
    assert!(vain[500] <= 0.0 && vain[990] <= 8.0, "{} and {}", vain[500], vain[990]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// A peer that asks at regular times, more or less, gets its answers in time, and the radio is awake for hardly longer than with the
    /// driver's own power save, which keeps the bound for nobody.
    #[test]
    fn regular_peers_cost_little(
        gap in prop_oneof![1_000_u64..120_000, before_the_end_of_a_class()],
        jitter in 0_u64..100, tail in 0_u64..250, seed in any::<u64>(),
    ) {
        let mut random = RandomStream::new(seed, "jitter");
        let gaps: Vec<u64> = (0..200).map(|_| gap + u64::from(random.below(jitter as u32 + 1))).collect();
        let mut rig = Rig::new(tail);
        asks(&mut rig, 0, gaps.iter().copied());
        prop_assert!(rig.late(8) <= 0.05, "{} late", rig.late(8));
        let on = power(200 * tail, gaps.iter().sum());
        let guarded = power(rig.awake, rig.counted);
        prop_assert!(guarded <= REGULAR * on, "{guarded} of {on}");
    }

    /// Whatever a peer does, time awake for it is at most what its packets that gained are worth, and what is on trust.
    #[test]
    fn reach_is_worth_its_cost(
        means in proptest::collection::vec(300_u64..100_000, 1..6), tail in 0_u64..250, seed in any::<u64>(),
    ) {
        let mut rig = Rig::new(tail);
        let (mut at, mut asked) = (0, 0);
        for (place, mean) in means.iter().enumerate() {
            at = asks(&mut rig, at, random_gaps(*mean, 100, seed ^ place as u64));
            asked += 100;
        }
        let gained = rig.waits.iter().filter(|wait| **wait == 0).count() as u64;
        let worth = CONFIG().worth.as_nanos() / 1_000_000;
        let trusted = means.len() as u64 * TRUSTED;
        prop_assert!(rig.awake <= worth * (gained + trusted) + asked * tail, "{} ms awake, {gained} gained", rig.awake);
    }

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
