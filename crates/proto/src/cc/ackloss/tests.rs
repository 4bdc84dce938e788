//! Tests of Algorithm 1 and its edge cases, event by event. Segments have 1000 bytes.

use airwatt_base::RandomStream;

use super::*;

const MSS: u64 = 1000;

/// A sender with a window of constant size whose acknowledgements arrive as the test says.
struct Bench {
    detector: AckLoss,
    una: u64,
    /// Bytes in flight.
    window: u64,
    /// Number of halvings requested.
    halvings: u32,
}

impl Bench {
    fn new(config: AckLossConfig, window: u64) -> Self {
        config.check().expect("good settings");
        Self { detector: AckLoss::new(config, MSS as u32), una: 1, window: window * MSS, halvings: 0 }
    }

    /// Acknowledges this many segments, after this many duplicates.
    fn ack(&mut self, segments: u64, duplicates: u32) -> bool {
        self.ack_with_evidence(segments, duplicates, TimestampEvidence::Absent)
    }

    /// Acknowledges segments with timestamp evidence.
    fn ack_with_evidence(&mut self, segments: u64, duplicates: u32, evidence: TimestampEvidence) -> bool {
        let (from, to) = (self.una, self.una + segments * MSS);
        self.una = to;
        let halve = self.detector.on_ack(Advance { from, to, sent: to + self.window, duplicates, evidence });
        self.halvings += u32::from(halve);
        halve
    }

    /// Runs a round trip in which every acknowledgement covers `each` segments. Returns whether the window was halved
    /// in it.
    fn round(&mut self, each: u64) -> bool {
        (0..self.window / MSS / each).fold(false, |halved, _| self.ack(each, 0) | halved)
    }

    fn sent(&self) -> u64 {
        self.una + self.window
    }
}

/// The published rule, whose decisions these tests derive by hand.
fn published() -> AckLossConfig {
    AckLossConfig { rule: AckLossRule::Published, ..AckLossConfig::default() }
}

fn fixed(b: u32) -> AckLossConfig {
    AckLossConfig { segments_per_ack: SegmentsPerAck::Fixed(b), ..published() }
}

#[test]
fn a_lost_acknowledgement_halves_after_a_round_trip_of_grace() {
    let mut bench = Bench::new(fixed(1), 10);
    bench.round(1);
    for _ in 0..4 {
        bench.ack(1, 0);
    }
    bench.ack(2, 0);
    assert_eq!(bench.detector.losses(), 1);
    let mut acks = 0;
    while !bench.ack(1, 0) {
        acks += 1;
        assert!(acks < 30, "never halved");
    }
    // There are five to the end of the round trip, and ten of grace, of which the last one halves.
    assert_eq!(acks, 14);
    assert_eq!(bench.detector.halvings(), 1);
    // Nothing of it is left.
    assert!((0..5).all(|_| !bench.round(1)));
}

#[test]
fn nothing_lost_halves_nothing() {
    for every in 1..=4 {
        let mut bench = Bench::new(fixed(every), 60);
        assert!((0..100).all(|_| !bench.round(u64::from(every))));
        assert_eq!(bench.detector.losses(), 0);
    }
    let mut bench = Bench::new(published(), 60);
    assert!((0..100).all(|_| !bench.round(2)));
    assert_eq!((bench.detector.losses(), bench.detector.segments_per_ack()), (0, 2));
}

#[test]
fn the_estimate_falls_from_two_to_one_in_22_acknowledgements() {
    let mut bench = Bench::new(published(), 10);
    for _ in 0..21 {
        bench.ack(1, 0);
        assert_eq!(bench.detector.segments_per_ack(), 2);
    }
    // (31/32)^22 is the first power below one half.
    bench.ack(1, 0);
    assert_eq!(bench.detector.segments_per_ack(), 1);
    // The average takes the sample before it is used: this close to the limit a loss hides itself.
    bench.ack(2, 0);
    assert_eq!((bench.detector.losses(), bench.detector.segments_per_ack()), (0, 2));
    bench.ack(1, 0);
    bench.ack(1, 0);
    bench.ack(1, 0);
    bench.ack(2, 0);
    assert_eq!(bench.detector.losses(), 1);
}

#[test]
fn the_estimate_of_a_constant_stays() {
    for (shift, each) in [(1, 1), (5, 1), (5, 2), (10, 1), (10, 3)] {
        let config = AckLossConfig { beta_shift: shift, ..published() };
        let mut bench = Bench::new(config, 12);
        (0..5000).for_each(|_| {
            bench.ack(each, 0);
        });
        let excess = bench.detector.smoothed - (each << SCALE_BITS);
        assert!(excess < 1 << shift, "{excess} with shift {shift}");
        assert_eq!(u64::from(bench.detector.segments_per_ack()), each);
    }
}

#[test]
fn b_is_at_least_one() {
    let mut bench = Bench::new(published(), 10);
    for _ in 0..1000 {
        let from = bench.una;
        bench.una += 10;
        let ack = Advance {
            from,
            to: from + 10,
            sent: from + 10_000,
            duplicates: 0,
            evidence: TimestampEvidence::Absent,
        };
        bench.detector.on_ack(ack);
    }
    assert_eq!((bench.detector.segments_per_ack(), bench.detector.losses()), (1, 0));
}

#[test]
fn small_acknowledgements_take_nothing_off_but_in_the_listing() {
    for (counting, left) in [(Counting::PerAck, 1), (Counting::Listing, 0)] {
        let mut bench = Bench::new(AckLossConfig { counting, ..fixed(2) }, 100);
        bench.ack(2, 0);
        bench.ack(4, 0);
        assert_eq!(bench.detector.count, 1);
        bench.ack(1, 0);
        assert_eq!(bench.detector.count, left, "{counting:?}");
        // The count never falls below zero.
        bench.ack(1, 0);
        bench.ack(4, 0);
        assert_eq!(bench.detector.count, left + 1);
    }
}

#[test]
fn the_threshold_is_met_when_it_is_reached() {
    for (threshold, losses, expected) in [(1, 1, true), (2, 1, false), (2, 2, true), (3, 2, false)] {
        let mut bench = Bench::new(AckLossConfig { threshold, ..fixed(1) }, 20);
        bench.round(1);
        (0..losses).for_each(|_| {
            bench.ack(2, 0);
        });
        let halved = (0..4).fold(false, |halved, _| bench.round(1) | halved);
        assert_eq!(halved, expected, "{losses} of {threshold}");
    }
}

#[test]
fn a_data_loss_in_either_round_trip_cancels() {
    // The data loss is in the round trip with the lost acknowledgement, then in the one of grace.
    for rounds in [0, 1] {
        let mut bench = Bench::new(fixed(1), 10);
        bench.round(1);
        bench.ack(2, 0);
        (0..rounds).for_each(|_| {
            bench.round(1);
        });
        let sent = bench.sent();
        bench.detector.on_data_loss(sent);
        assert!((0..6).all(|_| !bench.round(1)), "after {rounds}");
        // It has no effect after that.
        bench.ack(2, 0);
        assert!((0..4).any(|_| bench.round(1)));
    }
}

#[test]
fn what_recovery_acknowledges_at_once_is_no_loss() {
    let mut bench = Bench::new(published(), 20);
    (0..10).for_each(|_| {
        bench.round(1);
    });
    let (smoothed, sent) = (bench.detector.smoothed, bench.sent());
    bench.detector.on_data_loss(sent);
    bench.ack(1, 0);
    bench.ack(19, 0);
    assert_eq!((bench.detector.smoothed, bench.detector.losses()), (smoothed, 0));
    bench.ack(2, 0);
    assert_eq!(bench.detector.losses(), 1, "behind what had been sent it counts again");
}

#[test]
fn a_timeout_begins_a_new_round_trip() {
    let mut bench = Bench::new(fixed(1), 10);
    bench.round(1);
    bench.ack(1, 0);
    bench.ack(2, 0);
    let sent = bench.sent();
    bench.detector.on_timeout(sent);
    // The window is retransmitted segment by segment; no round trip ends before all of it is acknowledged.
    for _ in 0..9 {
        bench.ack(1, 0);
        assert!(!bench.detector.waiting);
    }
    bench.ack(1, 0);
    assert!(bench.detector.waiting);
    assert!(!bench.round(1), "it held a data loss");
}

#[test]
fn reordering_is_excused() {
    let mut bench = Bench::new(fixed(1), 20);
    bench.round(1);
    // One segment is late by one, then by two: there are as many duplicates, and one acknowledgement for all of them.
    bench.ack(2, 1);
    bench.ack(3, 2);
    assert!((0..4).all(|_| !bench.round(1)));
    assert_eq!(bench.detector.losses(), 0);
    // With a loss and a late segment, the loss is left. Two late segments beside it excuse one too many.
    bench.ack(2, 0);
    bench.ack(2, 1);
    assert_eq!(bench.detector.losses(), 1);
    bench.ack(1, 1);
    assert_eq!(bench.detector.losses(), 0);
}

#[test]
fn huge_acknowledgements_overflow_nothing() {
    for rule in [AckLossRule::Published, AckLossRule::Stretch(StretchConfig::default())] {
        let mut detector = AckLoss::new(AckLossConfig { rule, ..published() }, 1);
        let mut from = 0;
        for _ in 0..1000 {
            let to = from + (1 << 50);
            let evidence = TimestampEvidence::Lost;
            detector.on_ack(Advance { from, to, sent: to, duplicates: u32::MAX, evidence });
            from = to;
        }
        assert!(detector.segments_per_ack() >= 1);
    }
}

#[test]
fn settings_out_of_range_are_named() {
    let wrong = |config: AckLossConfig| config.check().expect_err("wrong").to_string();
    let good = published();
    assert!(wrong(AckLossConfig { threshold: 0, ..good }).starts_with("threshold: expected 1 to 1000"));
    assert!(wrong(AckLossConfig { beta_shift: 11, ..good }).starts_with("beta_shift: expected 1 to 10"));
    assert!(wrong(fixed(0)).starts_with("segments_per_ack: expected 1 to 1000"));
    let stretch = |stretch| AckLossConfig { rule: AckLossRule::Stretch(stretch), ..good };
    let config = StretchConfig { regular_sixteenths: 17, ..StretchConfig::default() };
    assert!(wrong(stretch(config)).starts_with("rule.regular_sixteenths: expected 0 to 16"));
    let config = StretchConfig { single_sixteenths: 255, ..StretchConfig::default() };
    assert!(wrong(stretch(config)).starts_with("rule.single_sixteenths: expected 0 to 16, got 255"));
}

// Rates: how often a window of constant size is halved in a hundred round trips. Each halving takes two, so 50 means
// always.

/// A receiver without losses: returns the number of segments for the next acknowledgement.
type Receiver = fn(&mut RandomStream) -> u64;

fn rate(rule: AckLossRule, receiver: Receiver, loss_per_mille: u32, run_on: u32) -> f64 {
    const ROUNDS: u64 = 4000;
    let config = AckLossConfig { rule, ..published() };
    let mut bench = Bench::new(config, 60);
    let mut stream = RandomStream::new(7, "test/acks");
    let (mut owed, mut lost) = (0, false);
    while bench.una < ROUNDS * bench.window {
        owed += receiver(&mut stream);
        // A loss begins at random, and continues with the probability `run_on` per mille.
        lost = stream.below(1000) < if lost { loss_per_mille.max(run_on) } else { loss_per_mille };
        if !lost {
            bench.ack(std::mem::take(&mut owed), 0);
        }
    }
    f64::from(bench.halvings) * 100.0 / ROUNDS as f64
}

fn every(_: &mut RandomStream) -> u64 {
    1
}

fn every_second(_: &mut RandomStream) -> u64 {
    2
}

/// A pattern observed on a path without loss: occasionally 7 to 38 segments, here one in 750, about four in a hundred
/// round trips.
fn seldom_long(stream: &mut RandomStream) -> u64 {
    if stream.below(750) == 0 { u64::from(7 + stream.below(32)) } else { 2 }
}

/// A receiver that merges all segments that have arrived in the meantime.
fn merging(stream: &mut RandomStream) -> u64 {
    u64::from(1 + stream.below(38))
}

/// A receiver that merges segments for some time, and then does not.
fn merging_at_times(stream: &mut RandomStream) -> u64 {
    // A third of the data is merged; periods begin and end at random.
    if stream.below(15) == 0 { u64::from(2 + stream.below(37)) } else { 2 }
}

const STRETCH: AckLossRule =
    AckLossRule::Stretch(StretchConfig { regular_sixteenths: 10, single_sixteenths: 4 });

/// Loss rates in thousandths.
const ALONE: [u32; 7] = [5, 10, 20, 50, 100, 200, 300];

#[test]
fn where_nothing_is_lost_stretches_halve_only_by_the_published_rule() {
    // Halvings in a hundred round trips, with the published and with the extended rule, rounded up.
    let cases: &[(Receiver, [u32; 2])] = &[
        (every, [0, 0]),
        (every_second, [0, 0]),
        (seldom_long, [5, 0]),
        (merging, [5, 0]),
        (merging_at_times, [42, 1]),
    ];
    for (index, (receiver, expected)) in cases.iter().enumerate() {
        let rates = [AckLossRule::Published, STRETCH].map(|rule| rate(rule, *receiver, 0, 0));
        assert_eq!(rates.map(|rate| rate.ceil() as u32), *expected, "receiver {index}: {rates:?}");
    }
}

#[test]
fn where_acknowledgements_are_lost_both_rules_halve_alike() {
    for (name, receiver) in [("every", every as Receiver), ("every second", every_second)] {
        for loss in ALONE {
            let [published, extended] =
                [AckLossRule::Published, STRETCH].map(|rule| rate(rule, receiver, loss, 0));
            assert!((published - extended).abs() < 0.06 * published, "{name} {loss}: {published} {extended}");
        }
    }
}

#[test]
fn losses_in_runs_and_among_stretches_are_still_found() {
    let halves = |receiver, loss, run_on, most: f64| {
        let [published, extended] =
            [AckLossRule::Published, STRETCH].map(|rule| rate(rule, receiver, loss, run_on));
        let share = extended / published;
        assert!(share > most, "{loss} {run_on}: {published} {extended}");
    };
    // Four in ten gaps consist of one missing acknowledgement.
    halves(every as Receiver, 10, 600, 0.5);
    halves(every, 50, 600, 0.75);
    halves(every_second, 50, 600, 0.6);
    // One acknowledgement in a hundred is lost, and as many are stretched without a loss.
    halves(seldom_long, 10, 0, 0.85);
}

/// Known limit: with two fifths lost, the average rounds to 2 although b is 1, so that single losses are not detected.
/// The extension derives b from regular acknowledgements and recognizes losses by timestamps, whatever b is; without
/// timestamps it is little better here.
#[test]
fn many_losses_hide_themselves_in_the_average() {
    let share_above = |rule| {
        let mut bench = Bench::new(AckLossConfig { rule, ..published() }, 60);
        let mut stream = RandomStream::new(3, "test/acks");
        let (mut owed, mut above) = (0, 0);
        for _ in 0..20_000 {
            owed += 1;
            if stream.below(10) >= 4 {
                bench.ack(std::mem::take(&mut owed), 0);
                above += u32::from(bench.detector.segments_per_ack() > 1);
            }
        }
        above * 100 / 12_000
    };
    assert_eq!([AckLossRule::Published, STRETCH].map(share_above), [89, 73], "per cent");
}

#[test]
fn a_timestamp_distinguishes_a_lost_acknowledgement_from_a_late_one() {
    // The segments were sent at ticks 5, 5, 6, 6; the echo belongs to the first segment after the receiver's last
    // acknowledgement.
    assert_eq!(TimestampEvidence::from_ticks(5, 6, 6), TimestampEvidence::Lost);
    assert_eq!(TimestampEvidence::from_ticks(5, 6, 5), TimestampEvidence::Stretched);
    assert_eq!(TimestampEvidence::from_ticks(5, 5, 5), TimestampEvidence::Undecided);
    // An old echo proves nothing, and the clock wraps.
    assert_eq!(TimestampEvidence::from_ticks(5, 6, 4), TimestampEvidence::Undecided);
    assert_eq!(TimestampEvidence::from_ticks(u32::MAX, 0, 0), TimestampEvidence::Lost);
    assert_eq!(TimestampEvidence::from_ticks(u32::MAX, 0, u32::MAX), TimestampEvidence::Stretched);
}

#[test]
fn what_a_timestamp_proves_holds_for_any_receiver() {
    let config = AckLossConfig { rule: STRETCH, ..published() };
    // With a receiver that merges ten segments at a time, only proof counts.
    let mut bench = Bench::new(config, 100);
    for _ in 0..10 {
        assert!(!bench.round(10));
    }
    bench.ack_with_evidence(20, 0, TimestampEvidence::Lost);
    assert!((0..4).any(|_| bench.round(10)));
    assert_eq!((bench.detector.losses(), bench.detector.halvings()), (1, 1));
    // A receiver delays now and then, also by a single acknowledgement: without proof none counts as lost.
    let mut bench = Bench::new(config, 100);
    bench.round(2);
    bench.ack_with_evidence(4, 0, TimestampEvidence::Stretched);
    bench.round(2);
    bench.ack_with_evidence(4, 0, TimestampEvidence::Undecided);
    bench.round(2);
    assert_eq!((bench.detector.losses(), bench.detector.gaps()), (0, 2));
    // It counts once proofs outweigh the delays.
    bench.ack_with_evidence(4, 0, TimestampEvidence::Lost);
    bench.ack_with_evidence(4, 0, TimestampEvidence::Undecided);
    bench.round(2);
    assert_eq!((bench.detector.losses(), bench.detector.gaps()), (2, 4));
}

#[test]
fn a_habit_that_changes_is_no_loss() {
    // The receiver acknowledges each segment for sixty acknowledgements, as systems do at first, then every second.
    for shares in [[1, 2], [2, 1]] {
        let config = AckLossConfig { rule: STRETCH, ..published() };
        let mut bench = Bench::new(config, 60);
        for each in shares.repeat(10) {
            bench.round(each);
        }
        assert_eq!((bench.detector.losses(), bench.detector.halvings()), (0, 0));
    }
}
