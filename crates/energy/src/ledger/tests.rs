//! Tests that durations add up, and that energies equal those of a reference that walks the time line nanosecond by
//! nanosecond.

use airwatt_base::Power;
use proptest::prelude::*;

use super::*;
use crate::radio::Transition;

/// A radio with six different powers, so that confused states are detected.
fn radio(powers: [u64; 6]) -> Radio {
    let power = |state: RadioState| Power::from_nanowatts(powers[state as usize]);
    Radio {
        name: "test".into(),
        description: String::new(),
        source: String::new(),
        voltage: None,
        transmit: power(RadioState::Transmit),
        receive: power(RadioState::Receive),
        listen: power(RadioState::Listen),
        sleep: power(RadioState::Sleep),
        to_sleep: Transition { time: Span::from_nanos(3), power: power(RadioState::ToSleep) },
        wake_up: Transition { time: Span::from_nanos(5), power: power(RadioState::WakeUp) },
        ..Radio::shipped()[0].clone()
    }
}

/// One entry of a ledger.
#[derive(Clone, Debug)]
enum Entry {
    One(RadioState, u64),
    Awake { span: u64, receiving: u64 },
}

fn entries(longest: u64) -> impl Strategy<Value = Vec<Entry>> {
    let one =
        (0..RadioState::ALL.len(), 0..=longest).prop_map(|(i, span)| Entry::One(RadioState::ALL[i], span));
    let awake = (0..=longest)
        .prop_flat_map(|span| (Just(span), 0..=span))
        .prop_map(|(span, receiving)| Entry::Awake { span, receiving });
    prop::collection::vec(prop_oneof![one, awake], 0..30)
}

fn enter(ledger: &mut Ledger, now: &mut Instant, entry: &Entry) {
    match *entry {
        Entry::One(state, span) => {
            *now += Span::from_nanos(span);
            ledger.spend(state, *now);
        }
        Entry::Awake { span, receiving } => {
            *now += Span::from_nanos(span);
            ledger.spend_awake(*now, Span::from_nanos(receiving));
        }
    }
}

/// Computes attojoules one nanosecond at a time; `listen` set to zero gives the idealised energy.
fn slow_energy(entries: &[Entry], powers: [u64; 6]) -> u128 {
    let mut sum = 0;
    for entry in entries {
        match *entry {
            Entry::One(state, span) => {
                for _ in 0..span {
                    sum += u128::from(powers[state as usize]);
                }
            }
            Entry::Awake { span, receiving } => {
                for nanosecond in 0..span {
                    let state = if nanosecond < receiving { RadioState::Receive } else { RadioState::Listen };
                    sum += u128::from(powers[state as usize]);
                }
            }
        }
    }
    sum
}

proptest! {
    #[test]
    fn durations_add_up_exactly(start in 0_u64..1 << 60, entries in entries(1 << 54)) {
        let mut now = Instant::from_nanos(start);
        let mut ledger = Ledger::new(now);
        for entry in &entries {
            enter(&mut ledger, &mut now, entry);
            ledger.check(now);
        }
        prop_assert_eq!(ledger.elapsed().as_nanos(), now.as_nanos() - start);
    }

    #[test]
    fn energy_is_that_of_the_slow_reference(entries in entries(200), powers: [u64; 6]) {
        let mut now = Instant::ZERO;
        let mut ledger = Ledger::new(now);
        for entry in &entries {
            enter(&mut ledger, &mut now, entry);
        }
        let radio = radio(powers);
        prop_assert_eq!(ledger.energy(&radio).as_attojoules(), slow_energy(&entries, powers));
        let mut without_listen = powers;
        without_listen[RadioState::Listen as usize] = 0;
        prop_assert_eq!(ledger.idealized_energy(&radio).as_attojoules(), slow_energy(&entries, without_listen));
    }
}

/// Ten beacon intervals asleep with the AR5004: in each 0.1 s, 1 us to sleep, 1 ms wake-up, 2 ms awake with 0.5 ms of
/// reception. By hand: 10 x (0.8 uJ + 1.4 mJ + 1.2 mJ + 0.45 mJ + 96.999 ms x 16 mW) = 46.02784 mJ.
#[test]
fn a_beacon_schedule_by_hand() {
    let radio = Radio::find("ar5004").unwrap();
    let mut now = Instant::from_secs(1);
    let mut ledger = Ledger::new(now);
    for _ in 0..10 {
        now += radio.to_sleep.time;
        ledger.spend(RadioState::ToSleep, now);
        now += Span::from_micros(96_999);
        ledger.spend(RadioState::Sleep, now);
        ledger.count_wakeups("beacon", 1);
        now += radio.wake_up.time;
        ledger.spend(RadioState::WakeUp, now);
        now += Span::from_millis(2);
        ledger.spend_awake(now, Span::from_micros(500));
    }
    ledger.check(Instant::from_secs(2));
    assert_eq!(ledger.duration(RadioState::WakeUp), Span::from_millis(10));
    assert_eq!(ledger.energy(&radio), "46.02784mJ".parse().unwrap());
    assert_eq!(ledger.idealized_energy(&radio), "34.02784mJ".parse().unwrap());
    assert_eq!(ledger.wakeups().get("beacon"), Some(&10));
}

#[test]
fn wakeups_are_counted_by_reason() {
    let mut ledger = Ledger::new(Instant::ZERO);
    for reason in ["uplink", "beacon", "uplink"] {
        ledger.count_wakeups(reason, 1);
    }
    let counted: Vec<_> = ledger.wakeups().iter().map(|(reason, count)| (*reason, *count)).collect();
    assert_eq!(counted, [("beacon", 1), ("uplink", 2)]);
}

#[test]
#[should_panic(expected = "charged up to")]
fn time_does_not_go_back() {
    let mut ledger = Ledger::new(Instant::from_secs(1));
    ledger.spend(RadioState::Sleep, Instant::from_millis(999));
}

#[test]
#[should_panic(expected = "cannot have received")]
fn reception_fits_in_the_time_awake() {
    Ledger::new(Instant::ZERO).spend_awake(Instant::from_millis(1), Span::from_millis(2));
}

#[test]
#[should_panic(expected = "not up to")]
fn an_open_end_is_found() {
    let mut ledger = Ledger::new(Instant::ZERO);
    ledger.spend(RadioState::Listen, Instant::from_secs(1));
    ledger.check(Instant::from_secs(2));
}
