//! A deterministic queue of wake-ups: one slot for each source, each with at most one time.
//!
//! It is an indexed 4-ary heap: changing a slot's time and cancelling it cost a few comparisons and no search, because
//! each slot knows its position. Equal times are served in order of slot number; slots are unique, so the order is
//! total and no tie is ever ambiguous. Time never goes back: serving an earlier time than the last one served panics.
//!
//! The cost is dominated by the comparisons on the way down from the root, about four cache-resident entries for each
//! level and log4(n) levels. Four children instead of two halve the levels; the `engine` benchmark has the numbers.

use crate::Instant;

/// A source of wake-ups.
pub type Slot = u32;

/// Number of children of an entry.
const ARITY: usize = 4;
/// The position of a slot without a time.
const NOWHERE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    at: Instant,
    slot: Slot,
}

/// The pending wake-ups.
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    heap: Vec<Entry>,
    /// The position of each slot in the heap.
    place: Vec<u32>,
    served: Instant,
}

impl Schedule {
    /// Creates an empty schedule with slots `0..slots`.
    pub fn new(slots: usize) -> Self {
        Self { heap: Vec::with_capacity(slots), place: vec![NOWHERE; slots], served: Instant::ZERO }
    }

    /// Sets the slot's time, or cancels it with `None`.
    pub fn put(&mut self, slot: Slot, at: Option<Instant>) {
        match at {
            Some(at) => self.set(slot, at),
            None => self.cancel(slot),
        }
    }

    /// Sets the slot's time, whether or not it had one. Panics if the time lies before the one last served.
    pub fn set(&mut self, slot: Slot, at: Instant) {
        assert!(
            at >= self.served,
            "slot {slot} asked for {at:?}, before {:?} which has been served",
            self.served
        );
        let entry = Entry { at, slot };
        match self.place[slot as usize] {
            NOWHERE => {
                self.heap.push(entry);
                self.sift_up(self.heap.len() - 1, entry);
            }
            place => {
                let place = place as usize;
                let old = self.heap[place];
                if entry < old {
                    self.sift_up(place, entry);
                } else if entry > old {
                    self.sift_down(place, entry);
                }
            }
        }
    }

    /// Removes the slot's time, if it has one.
    pub fn cancel(&mut self, slot: Slot) {
        let place = self.place[slot as usize];
        if place == NOWHERE {
            return;
        }
        self.place[slot as usize] = NOWHERE;
        let Some(last) = self.heap.pop() else { return };
        let place = place as usize;
        if place == self.heap.len() {
            return;
        }
        let gone = self.heap[place];
        if last < gone {
            self.sift_up(place, last);
        } else {
            self.sift_down(place, last);
        }
    }

    /// The slot that is due first, and its time. It keeps the time until it is changed or cancelled.
    pub fn first(&self) -> Option<(Instant, Slot)> {
        self.heap.first().map(|entry| (entry.at, entry.slot))
    }

    /// Returns [`Schedule::first`], and forbids earlier times from now on.
    pub fn serve(&mut self) -> Option<(Instant, Slot)> {
        let first = self.first()?;
        self.served = first.0;
        Some(first)
    }

    /// The slot's time.
    pub fn at(&self, slot: Slot) -> Option<Instant> {
        match self.place[slot as usize] {
            NOWHERE => None,
            place => Some(self.heap[place as usize].at),
        }
    }

    fn write(&mut self, place: usize, entry: Entry) {
        self.heap[place] = entry;
        self.place[entry.slot as usize] = place as u32;
    }

    fn sift_up(&mut self, mut place: usize, entry: Entry) {
        while place > 0 {
            let parent = (place - 1) / ARITY;
            if self.heap[parent] <= entry {
                break;
            }
            self.write(place, self.heap[parent]);
            place = parent;
        }
        self.write(place, entry);
    }

    fn sift_down(&mut self, mut place: usize, entry: Entry) {
        loop {
            let first = place * ARITY + 1;
            let Some(children) = self.heap.get(first..(first + ARITY).min(self.heap.len())) else { break };
            let Some((offset, &least)) = children.iter().enumerate().min_by_key(|(_, child)| **child) else {
                break;
            };
            if entry <= least {
                break;
            }
            self.write(place, least);
            place = first + offset;
        }
        self.write(place, entry);
    }
}

#[cfg(test)]
mod tests;
