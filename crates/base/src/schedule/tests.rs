use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

/// The time of a slot, whether it is the first one or not.
fn time_of(schedule: &Schedule, slot: Slot) -> Option<Instant> {
    let (group, place) = schedule.leaf(slot);
    Some(Keys::at(schedule.groups[group].0[place])).filter(|at| *at < Instant::FOREVER)
}

#[test]
fn equal_times_are_served_in_order_of_slot() {
    let mut schedule = Schedule::new(5);
    for slot in [3, 1, 4, 0, 2] {
        schedule.set(slot, Instant::from_nanos(7));
    }
    let mut served = Vec::new();
    while let Some((_, slot)) = schedule.serve() {
        served.push(slot);
        schedule.cancel(slot);
    }
    assert_eq!(served, [0, 1, 2, 3, 4]);
}

#[test]
#[should_panic(expected = "has been served")]
fn time_never_goes_back() {
    let mut schedule = Schedule::new(2);
    schedule.set(0, Instant::from_nanos(7));
    schedule.serve();
    schedule.set(1, Instant::from_nanos(6));
}

proptest! {
    /// Against a set that is plainly right: any mix of setting, moving and cancelling.
    #[test]
    fn agrees_with_an_ordered_set(
        slots in prop::sample::select(vec![1_u32, 8, 9, 64, 65, 600]),
        steps in prop::collection::vec((0_u32..600, prop::option::of(0_u64..50)), 1..400),
    ) {
        let mut schedule = Schedule::new(slots as usize);
        let mut reference = BTreeSet::new();
        for (slot, at) in steps {
            let slot = slot % slots;
            let at = at.map(Instant::from_nanos);
            schedule.put(slot, at);
            reference.retain(|&(_, other)| other != slot);
            reference.extend(at.map(|at| (at, slot)));
            prop_assert_eq!(schedule.first(), reference.first().copied());
            prop_assert_eq!(time_of(&schedule, slot), at);
        }
    }
}

/// A time that has no room beside the place in its group is one that never comes.
#[test]
fn times_after_73_years_never_come() {
    let years = |years: u64| Instant::from_secs(years * 365 * 86_400);
    let mut schedule = Schedule::new(9);
    schedule.set(8, years(72));
    assert_eq!(schedule.first(), Some((years(72), 8)));
    schedule.set(8, years(74));
    assert_eq!(schedule.first(), None);
    assert_eq!(time_of(&schedule, 8), None);
}
