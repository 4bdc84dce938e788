//! A deterministic queue of wake-ups: one slot for each source, each with at most one time.
//!
//! It is a tournament of four: the slots are leaves in groups of four, the least entry of each group stands in the group
//! above, and the least of all is at hand. Changing a slot's time replays the groups above it until one keeps its least entry.
//! Equal times are served in order of slot number; slots are unique, so the order is total and no tie is ever ambiguous.
//! Time never goes back: setting an earlier time than the last one served panics.
//!
//! A group is one cache line, and its least entry is found without branches. A heap of the same arity writes two places for
//! each level, and its comparisons are hard to predict: a hop of PHOLD takes twice as long with 4 slots and four times as long
//! with 256 and more.

use crate::Instant;

/// A source of wake-ups.
pub type Slot = u32;

/// Number of entries in a group.
const ARITY: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    /// [`Instant::FOREVER`] if the slot has no time.
    at: Instant,
    slot: Slot,
}

impl Entry {
    const NONE: Self = Self { at: Instant::FOREVER, slot: 0 };
}

/// Entries in order of slot.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Group([Entry; ARITY]);

impl Group {
    /// The entry with the least time; of equal ones, that of the lowest slot.
    #[inline]
    fn least(&self) -> Entry {
        let least = |left: Entry, right: Entry| if right.at < left.at { right } else { left };
        let [a, b, c, d] = self.0;
        least(least(a, b), least(c, d))
    }
}

/// The pending wake-ups.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// The groups, level by level: group 0 holds the least entries of groups 1 to 4, and so on down to the slots.
    groups: Vec<Group>,
    /// The first group of the lowest level.
    lowest: usize,
    slots: usize,
    first: Entry,
    served: Instant,
}

impl Default for Schedule {
    fn default() -> Self {
        Self::new(0)
    }
}

impl Schedule {
    /// Creates an empty schedule with slots `0..slots`.
    pub fn new(slots: usize) -> Self {
        let (mut lowest, mut width) = (0, 1);
        while width * ARITY < slots {
            lowest += width;
            width *= ARITY;
        }
        // Groups without slots at the end of the lowest level are left out.
        let groups = vec![Group([Entry::NONE; ARITY]); lowest + slots.div_ceil(ARITY)];
        let mut schedule = Self { groups, lowest, slots, first: Entry::NONE, served: Instant::ZERO };
        for slot in 0..slots as Slot {
            let (group, place) = schedule.leaf(slot);
            schedule.groups[group].0[place].slot = slot;
        }
        schedule
    }

    /// Sets the slot's time, or cancels it with `None`.
    #[inline]
    pub fn put(&mut self, slot: Slot, at: Option<Instant>) {
        match at {
            Some(at) => self.set(slot, at),
            None => self.cancel(slot),
        }
    }

    /// Sets the slot's time, whether or not it had one. Panics if the time lies before the one last served.
    #[inline]
    pub fn set(&mut self, slot: Slot, at: Instant) {
        assert!(
            at >= self.served,
            "slot {slot} asked for {at:?}, before {:?} which has been served",
            self.served
        );
        self.write(slot, at);
    }

    /// Removes the slot's time, if it has one.
    #[inline]
    pub fn cancel(&mut self, slot: Slot) {
        self.write(slot, Instant::FOREVER);
    }

    /// The slot that is due first, and its time. It keeps the time until it is changed or cancelled.
    #[inline]
    pub fn first(&self) -> Option<(Instant, Slot)> {
        (self.first.at < Instant::FOREVER).then_some((self.first.at, self.first.slot))
    }

    /// Returns [`Schedule::first`], and forbids earlier times from now on.
    #[inline]
    pub fn serve(&mut self) -> Option<(Instant, Slot)> {
        let first = self.first()?;
        self.served = first.0;
        Some(first)
    }

    /// The slot's time.
    pub fn at(&self, slot: Slot) -> Option<Instant> {
        let (group, place) = self.leaf(slot);
        Some(self.groups[group].0[place].at).filter(|at| *at < Instant::FOREVER)
    }

    /// The group and the place in it of a slot.
    #[inline]
    fn leaf(&self, slot: Slot) -> (usize, usize) {
        debug_assert!((slot as usize) < self.slots, "there is no slot {slot}");
        (self.lowest + slot as usize / ARITY, slot as usize % ARITY)
    }

    #[inline]
    fn write(&mut self, slot: Slot, at: Instant) {
        let (group, place) = self.leaf(slot);
        let entry = &mut self.groups[group].0[place];
        if entry.at != at {
            entry.at = at;
            self.replay(group);
        }
    }

    /// Carries a change in a group up to the first.
    fn replay(&mut self, mut group: usize) {
        loop {
            let least = self.groups[group].least();
            if group == 0 {
                self.first = least;
                return;
            }
            let place = (group - 1) % ARITY;
            group = (group - 1) / ARITY;
            let entry = &mut self.groups[group].0[place];
            if *entry == least {
                return;
            }
            *entry = least;
        }
    }
}

#[cfg(test)]
mod tests;
