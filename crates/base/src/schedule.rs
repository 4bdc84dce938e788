//! A deterministic queue of wake-ups: one slot for each source, each with at most one time.
//!
//! It is a tournament of eight: the slots are leaves in groups of eight, the least entry of each group stands in the group
//! above, and the least of all is at hand. Changing a slot's time replays the groups above it until one keeps its least entry.
//! Equal times are served in order of slot number; slots are unique, so the order is total and no tie is ever ambiguous.
//! Time never goes back: setting an earlier time than the last one served panics.
//!
//! The times of a group are one cache line, and the least of them is found without branches. A heap writes two places for
//! each level, and its comparisons are hard to predict: a hop of PHOLD takes twice as long with 4 slots and four times as long
//! with 256 and more. With groups of four, networks of five to eight sources need a level more.

use crate::Instant;

/// A source of wake-ups.
pub type Slot = u32;

/// Number of entries in a group.
const ARITY: usize = 8;

/// The times of a group, each with its place in the group in the lowest bits, so that the least key names both.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Keys([u64; ARITY]);

impl Keys {
    const NONE: Self = Self([u64::MAX; ARITY]);

    /// Times from here on, 73 years, are [`Instant::FOREVER`].
    const END: u64 = u64::MAX / ARITY as u64;

    #[inline]
    fn key(at: Instant, place: usize) -> u64 {
        at.as_nanos().min(Self::END) * ARITY as u64 + place as u64
    }

    /// The key of the same time at another place.
    #[inline]
    fn moved(key: u64, place: usize) -> u64 {
        key / ARITY as u64 * ARITY as u64 + place as u64
    }

    #[inline]
    fn at(key: u64) -> Instant {
        match key / ARITY as u64 {
            Self::END => Instant::FOREVER,
            nanos => Instant::from_nanos(nanos),
        }
    }

    /// The least key: that of the least time, and of equal ones that of the lowest place.
    #[inline]
    fn least(&self) -> u64 {
        let [a, b, c, d, e, f, g, h] = self.0;
        (a.min(b).min(c.min(d))).min(e.min(f).min(g.min(h)))
    }
}

/// The pending wake-ups.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// The groups, level by level: group 0 holds the least entries of groups 1 to 8, and so on down to the slots.
    groups: Vec<Keys>,
    /// The slots of the entries in the groups above the lowest level.
    winners: Vec<[Slot; ARITY]>,
    /// The first group of the lowest level.
    lowest: usize,
    slots: usize,
    /// [`Instant::FOREVER`] if no slot has a time.
    first: (Instant, Slot),
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
        let groups = vec![Keys::NONE; lowest + slots.div_ceil(ARITY)];
        let winners = vec![[0; ARITY]; lowest];
        Self { groups, winners, lowest, slots, first: (Instant::FOREVER, 0), served: Instant::ZERO }
    }

    /// Sets the slot's time, or cancels it with `None`.
    #[inline]
    pub fn put(&mut self, slot: Slot, at: Option<Instant>) {
        match at {
            Some(at) => self.set(slot, at),
            None => self.cancel(slot),
        }
    }

    /// Sets the slot's time, whether or not it had one; [`Instant::FOREVER`] removes it. Panics if the time lies before the one
    /// last served.
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
        Some(self.first).filter(|(at, _)| *at < Instant::FOREVER)
    }

    /// The time of the slot that is due first; [`Instant::FOREVER`] if there is none.
    #[inline]
    pub fn due(&self) -> Instant {
        self.first.0
    }

    /// Returns [`Schedule::first`], and forbids earlier times from now on.
    #[inline]
    pub fn serve(&mut self) -> Option<(Instant, Slot)> {
        let first = self.first()?;
        self.served = first.0;
        Some(first)
    }

    /// As [`Schedule::serve`], if the time is not later than `end`.
    #[inline]
    pub fn serve_until(&mut self, end: Instant) -> Option<(Instant, Slot)> {
        if self.first.0 > end { None } else { self.serve() }
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
        let (keys, key) = (&mut self.groups[group], Keys::key(at, place));
        if keys.0[place] != key {
            keys.0[place] = key;
            self.replay(group);
        }
    }

    /// Carries a change in a group of the lowest level up to the first.
    fn replay(&mut self, mut group: usize) {
        let mut least = self.groups[group].least();
        let mut slot = ((group - self.lowest) * ARITY) as Slot + (least % ARITY as u64) as Slot;
        while group > 0 {
            let place = (group - 1) % ARITY;
            group = (group - 1) / ARITY;
            let (keys, slots) = (&mut self.groups[group], &mut self.winners[group]);
            let key = Keys::moved(least, place);
            if (keys.0[place], slots[place]) == (key, slot) {
                return;
            }
            (keys.0[place], slots[place]) = (key, slot);
            least = keys.least();
            slot = slots[(least % ARITY as u64) as usize];
        }
        self.first = (Keys::at(least), slot);
    }
}

#[cfg(test)]
mod tests;
