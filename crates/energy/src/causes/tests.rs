use airwatt_base::Instant;

use super::*;

const MS: Span = Span::from_millis(1);

fn ledger(spent: &[(RadioState, u64)]) -> Ledger {
    let mut ledger = Ledger::new(Instant::ZERO);
    for &(state, ms) in spent {
        let until = ledger.since() + MS * ms;
        ledger.spend(state, until);
    }
    ledger
}

fn causes(charged: &[(Cause, RadioState, u64)]) -> Causes {
    let mut causes = Causes::default();
    for &(cause, state, ms) in charged {
        causes.charge(cause, state, MS * ms);
    }
    causes
}

/// Flows are listed by number after the fixed causes, and energies add up to the ledger's exactly.
#[test]
fn energies_add_up() {
    let charged = [
        (Cause::Flow(7), RadioState::Transmit, 3),
        (Cause::Flow(2), RadioState::Receive, 5),
        (Cause::Flow(7), RadioState::Receive, 1),
        (Cause::Idle, RadioState::Listen, 11),
        (Cause::Doze, RadioState::Sleep, 13),
    ];
    let causes = causes(&charged);
    let ledger = ledger(&charged.map(|(_, state, ms)| (state, ms)));
    causes.check(&ledger);
    let radio = &Radio::shipped()[0];
    let energies = causes.energies(radio);
    assert_eq!(energies.iter().map(|(_, energy)| *energy).sum::<Energy>(), ledger.energy(radio));
    let flows: Vec<_> = energies.iter().map(|(cause, _)| *cause).skip(FIXED).collect();
    assert_eq!(flows, [Cause::Flow(2), Cause::Flow(7)]);
    assert_eq!(causes.duration(Cause::Flow(7), RadioState::Receive), MS);
}

#[test]
#[should_panic(expected = "the causes of listen add up to")]
fn a_nanosecond_without_a_cause_is_found() {
    causes(&[(Cause::Idle, RadioState::Listen, 4)]).check(&ledger(&[(RadioState::Listen, 5)]));
}

/// 10 ms of silence are divided as 1 ms for beacons and 2 ms idle were: 3.333333 ms and the rest.
#[test]
fn shares_of_skipped_time_are_exact() {
    let from = causes(&[(Cause::Idle, RadioState::Listen, 5)]);
    let until = causes(&[
        (Cause::Idle, RadioState::Listen, 7),
        (Cause::Beacon, RadioState::Listen, 1),
        (Cause::Doze, RadioState::Sleep, 2),
    ]);
    let before = ledger(&[(RadioState::Listen, 4)]);
    let mut added = before.clone();
    added.spend(RadioState::Listen, added.since() + MS * 10);
    added.spend(RadioState::Sleep, added.since() + MS * 20);
    let mut account = causes(&[(Cause::Idle, RadioState::Listen, 4)]);
    account.spend_like([&before, &added], [&from, &until]);
    account.check(&added);
    assert_eq!(account.duration(Cause::Beacon, RadioState::Listen), Span::from_nanos(3_333_333));
    assert_eq!(account.duration(Cause::Doze, RadioState::Sleep), MS * 20);
}

/// The bound of a run hears no beacons and no frames of others; its frames are divided as the run's. It contends for as long as the run,
/// and the rest of its short gaps is silence.
#[test]
fn a_bound_has_the_frames_of_its_run() {
    let run = causes(&[
        (Cause::Flow(0), RadioState::Receive, 6),
        (Cause::Flow(1), RadioState::Receive, 2),
        (Cause::Beacon, RadioState::Receive, 9),
        (Cause::Overhearing, RadioState::Receive, 9),
        (Cause::Contention, RadioState::Listen, 2),
        (Cause::Idle, RadioState::Listen, 50),
    ]);
    let bound = ledger(&[
        (RadioState::Receive, 8),
        (RadioState::Listen, 3),
        (RadioState::Sleep, 60),
        (RadioState::ToSleep, 5),
    ]);
    let divided = Causes::of_bound(&bound, &run);
    divided.check(&bound);
    assert_eq!(divided.duration(Cause::Flow(0), RadioState::Receive), MS * 6);
    assert_eq!(divided.duration(Cause::Flow(1), RadioState::Receive), MS * 2);
    assert_eq!(divided.duration(Cause::Contention, RadioState::Listen), MS * 2);
    assert_eq!(divided.duration(Cause::Idle, RadioState::Listen), MS);
    assert_eq!(divided.duration(Cause::WakeUp, RadioState::ToSleep), MS * 5);
}

#[test]
fn every_fixed_cause_has_its_place() {
    for (place, cause) in Cause::FIXED.into_iter().enumerate() {
        assert_eq!(cause.index(), Some(place), "{cause:?}");
    }
}
