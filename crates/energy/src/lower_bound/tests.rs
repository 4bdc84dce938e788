//! Tests that each gap is spent in the cheaper of two ways; a reference tries both.

use airwatt_base::Power;
use proptest::prelude::*;

use super::*;
use crate::radio::Transition;

fn radio(listen: u64, sleep: u64, to_sleep: (u64, u64), wake_up: (u64, u64)) -> Radio {
    let transition =
        |(nanos, power)| Transition { time: Span::from_nanos(nanos), power: Power::from_nanowatts(power) };
    Radio {
        name: "test".into(),
        description: String::new(),
        source: String::new(),
        voltage: None,
        transmit: Power::from_nanowatts(70),
        receive: Power::from_nanowatts(50),
        listen: Power::from_nanowatts(listen),
        sleep: Power::from_nanowatts(sleep),
        to_sleep: transition(to_sleep),
        wake_up: transition(wake_up),
        ..Radio::shipped()[0].clone()
    }
}

const fn ns(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

/// The radio draws 30 nW awake and 2 nW asleep; falling asleep takes 10 ns at 30 nW, waking 20 ns at 60 nW: 1500 aJ.
/// Each nanosecond asleep saves 28 aJ, and 1440 / 28 = 51.4.
#[test]
fn a_gap_is_slept_through_where_that_is_cheaper() {
    let radio = radio(30, 2, (10, 30), (20, 60));
    for (gap, nap) in [(29, false), (51, false), (52, true), (1_000, true)] {
        let mut bound = LowerBound::new(ns(0), &radio);
        assert_eq!(bound.receive(ns(0), ns(100)), None);
        let taken = bound.transmit(ns(100 + gap), ns(110 + gap));
        let expected = Nap { from: ns(100), until: ns(100 + gap) };
        assert_eq!(taken, nap.then_some(expected), "a gap of {gap} ns");
        let (ledger, _) = bound.finish(&radio, ns(110 + gap));
        ledger.check(ns(110 + gap));
        let asleep = if nap { gap - 30 } else { 0 };
        assert_eq!(ledger.duration(RadioState::Sleep), Span::from_nanos(asleep));
        assert_eq!(ledger.wakeups().values().sum::<u64>(), u64::from(nap));
    }
}

/// Within one exchange there are only SIFS gaps: a radio whose transitions are free and take no time sleeps even then.
#[test]
fn a_radio_with_free_transitions_never_listens() {
    let radio = radio(30, 2, (0, 0), (0, 0));
    let mut bound = LowerBound::new(ns(0), &radio);
    for start in [1_u64, 20, 22, 100] {
        bound.receive(ns(start), ns(start + 1));
    }
    let (ledger, nap) = bound.finish(&radio, ns(200));
    ledger.check(ns(200));
    assert_eq!(ledger.duration(RadioState::Listen), Span::ZERO);
    assert_eq!(ledger.duration(RadioState::Receive), Span::from_nanos(4));
    assert_eq!(nap, Some(Nap { from: ns(101), until: ns(200) }));
}

#[test]
fn a_radio_that_saves_nothing_by_sleep_stays_awake() {
    let radio = radio(30, 30, (0, 0), (0, 0));
    let mut bound = LowerBound::new(ns(0), &radio);
    assert_eq!(bound.receive(ns(1_000_000), ns(1_000_001)), None);
    assert_eq!(bound.finish(&radio, ns(1_000_001)).0.duration(RadioState::Sleep), Span::ZERO);
}

/// Overlapping time is charged once, to the frame that was reported first.
#[test]
fn no_time_is_charged_twice() {
    let radio = radio(30, 2, (0, 0), (0, 0));
    let mut bound = LowerBound::new(ns(0), &radio);
    bound.transmit(ns(0), ns(10));
    bound.receive(ns(5), ns(8));
    bound.receive(ns(5), ns(12));
    let (ledger, _) = bound.finish(&radio, ns(12));
    ledger.check(ns(12));
    assert_eq!(ledger.duration(RadioState::Transmit), Span::from_nanos(10));
    assert_eq!(ledger.duration(RadioState::Receive), Span::from_nanos(2));
}

/// The frames of an exchange are reported when it begins. At any time of it, the account ends at that time.
#[test]
fn an_exchange_in_progress_is_charged_up_to_now() {
    let radio = radio(30, 2, (10, 30), (20, 60));
    let mut bound = LowerBound::new(ns(0), &radio);
    bound.receive(ns(0), ns(10));
    // A nap, RTS, CTS, data and acknowledgement with gaps between them.
    bound.transmit(ns(1_010), ns(1_020));
    bound.receive(ns(1_025), ns(1_035));
    bound.transmit(ns(1_040), ns(1_140));
    bound.receive(ns(1_145), ns(1_155));
    for now in 10..1_200 {
        let (ledger, _) = bound.finish(&radio, ns(now));
        ledger.check(ns(now));
        let sent = now.clamp(1_010, 1_020) - 1_010 + now.clamp(1_040, 1_140) - 1_040;
        assert_eq!(ledger.duration(RadioState::Transmit), Span::from_nanos(sent), "at {now} ns");
    }
}

/// The least energy of a gap, found by trying both ways.
fn least(radio: &Radio, gap: u64) -> u128 {
    let gap = Span::from_nanos(gap);
    let listening = (radio.listen * gap).as_attojoules();
    let transitions = radio.to_sleep.time + radio.wake_up.time;
    if gap < transitions {
        return listening;
    }
    let asleep = radio.sleep * gap.saturating_sub(transitions);
    listening.min((radio.to_sleep.energy() + radio.wake_up.energy() + asleep).as_attojoules())
}

proptest! {
    #[test]
    fn every_gap_costs_the_least(
        listen in 0_u64..200,
        sleep in 0_u64..200,
        to_sleep in (0_u64..50, 0_u64..300),
        wake_up in (0_u64..50, 0_u64..300),
        gaps in prop::collection::vec((0_u64..200, 1_u64..20), 0..20),
    ) {
        let radio = radio(listen, sleep, to_sleep, wake_up);
        let mut bound = LowerBound::new(ns(0), &radio);
        let (mut now, mut expected) = (0, 0);
        for (gap, length) in gaps {
            expected += least(&radio, gap) + 50 * u128::from(length);
            bound.receive(ns(now + gap), ns(now + gap + length));
            now += gap + length;
        }
        let (ledger, _) = bound.finish(&radio, ns(now));
        ledger.check(ns(now));
        // Sleep that draws more than listening never pays, even if its transitions would compensate for that.
        if sleep < listen {
            prop_assert_eq!(ledger.energy(&radio).as_attojoules(), expected);
        } else {
            prop_assert!(ledger.duration(RadioState::Sleep).is_zero());
        }
    }
}
