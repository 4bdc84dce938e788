//! What was sent and is not acknowledged: one record for each segment, and the counts that the decisions are made from.
//!
//! The kernel keeps a record for each buffer and splits it where segments of it differ; here each segment has its own from the start.
//! A selective acknowledgement of a part of a segment marks nothing. Without selective acknowledgements, duplicate ACKs are
//! counted in their place.

use std::collections::VecDeque;

use super::rate::Snapshot;
use super::state::{Excess, is_excess};

/// A segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    /// Its first position, and the one after its last; SYN and FIN occupy one each.
    pub(super) start: u64,
    pub(super) end: u64,
    /// When it was sent last, in microseconds.
    pub(super) sent: u64,
    /// Whether it was selectively acknowledged.
    pub(super) sacked: bool,
    /// Whether it is taken for lost.
    pub(super) lost: bool,
    /// Whether a retransmission is on its way.
    pub(super) resent: bool,
    /// Whether it was ever retransmitted.
    pub(super) ever: bool,
    /// Whether PSH is set on it.
    pub(super) push: bool,
    /// Whether it left in one packet with the segment before it.
    pub(super) joined: bool,
    /// What is needed for the delivery rate.
    pub(super) snapshot: Snapshot,
}

impl Record {
    /// A segment that is sent for the first time, now, at `sent`.
    pub(super) fn new(start: u64, end: u64, sent: u64) -> Self {
        Self {
            start,
            end,
            sent,
            sacked: false,
            lost: false,
            resent: false,
            ever: false,
            push: false,
            joined: false,
            snapshot: Snapshot::default(),
        }
    }

    /// Whether the time stamp `echo` shows that an earlier transmission of it has arrived than the last one.
    pub(super) fn precedes(&self, echo: Option<u32>) -> bool {
        self.ever && echo.is_some_and(|echo| (echo.wrapping_sub((self.sent / 1000) as u32) as i32) < 0)
    }
}

/// The queue of records, in order, without gaps.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    records: VecDeque<Record>,
    /// Whether acknowledgements are selective.
    pub(super) sack: bool,
    /// Segments selectively acknowledged, or duplicate ACKs.
    pub(super) sacked: u32,
    /// Segments taken for lost.
    pub(super) lost: u32,
    /// Retransmissions on their way.
    pub(super) resent: u32,
    /// Position after the highest segment selectively acknowledged.
    pub(super) highest: u64,
    /// Segments that were ever newly taken for lost.
    pub(super) lost_ever: u64,
    /// Segments that were ever acknowledged, reported as duplicates, and retransmitted.
    pub(super) delivered: u64,
    pub(super) duplicates: u64,
    pub(super) retransmitted: u64,
    /// The first excess of losses since it was taken.
    pub(super) excess: Option<Excess>,
}

impl Queue {
    /// Segments sent and not acknowledged cumulatively.
    pub(super) fn packets(&self) -> u32 {
        self.records.len() as u32
    }

    pub(super) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Segments in the network, as far as is known.
    pub(super) fn in_flight(&self) -> u32 {
        (self.packets() + self.resent).saturating_sub(self.sacked + self.lost)
    }

    pub(super) fn push(&mut self, record: Record) {
        self.records.push_back(record);
    }

    pub(super) fn head(&self) -> Option<&Record> {
        self.records.front()
    }

    pub(super) fn get(&self, index: usize) -> Option<Record> {
        self.records.get(index).copied()
    }

    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    /// The index of the first segment that does not begin before `position`.
    pub(super) fn from(&self, position: u64) -> usize {
        self.records.partition_point(|record| record.start < position)
    }

    /// Removes the head if it ends at or before `una`, or cuts the part of it that does.
    pub(super) fn take_acknowledged(&mut self, una: u64) -> Option<Record> {
        let head = *self.records.front()?;
        if head.end > una {
            if let Some(first) = self.records.front_mut().filter(|first| first.start < una) {
                first.start = una;
            }
            return None;
        }
        self.records.pop_front();
        self.resent -= u32::from(head.resent);
        self.lost -= u32::from(head.lost);
        Some(head)
    }

    /// Marks a segment as selectively acknowledged. Whether a retransmission of it is taken off depends on its marks.
    pub(super) fn mark_sacked(&mut self, index: usize) {
        let record = &mut self.records[index];
        if record.lost {
            record.lost = false;
            self.lost -= 1;
            self.resent -= u32::from(record.resent);
            record.resent = false;
        }
        record.sacked = true;
        self.sacked += 1;
        self.delivered += 1;
        self.highest = self.highest.max(record.end);
    }

    /// Marks a segment as lost; if it was, its retransmission is.
    pub(super) fn mark_lost(&mut self, index: usize) {
        let record = &mut self.records[index];
        if record.sacked {
            return;
        }
        if record.lost {
            if record.resent {
                record.resent = false;
                self.resent -= 1;
                self.count_loss(index);
            }
            return;
        }
        record.lost = true;
        self.lost += 1;
        self.count_loss(index);
    }

    fn count_loss(&mut self, index: usize) {
        self.lost_ever += 1;
        let Snapshot { lost, flight, limited, .. } = self.records[index].snapshot;
        if self.excess.is_none() && is_excess(self.lost_ever - lost, flight) {
            self.excess = Some(Excess { flight, limited });
        }
    }

    /// Takes off a retransmission that a duplicate report shows to have arrived.
    pub(super) fn clear_resent(&mut self, index: usize) {
        let record = &mut self.records[index];
        self.resent -= u32::from(record.resent);
        record.resent = false;
    }

    /// Takes all marks of losses off.
    pub(super) fn clear_lost(&mut self) {
        self.records.iter_mut().for_each(|record| record.lost = false);
        self.lost = 0;
    }

    /// Forgets all selective acknowledgements: the peer has discarded the data.
    pub(super) fn forget_sacked(&mut self) {
        self.records.iter_mut().for_each(|record| record.sacked = false);
        self.sacked = 0;
    }

    /// Forgets duplicate ACKs if acknowledgements are not selective.
    pub(super) fn forget_duplicates(&mut self) {
        if !self.sack {
            self.sacked = 0;
        }
    }

    /// Keeps room for the segment that is missing: returns whether there were more duplicate ACKs, which is reordering.
    pub(super) fn limit_duplicates(&mut self) -> bool {
        let room = self.packets() - self.lost.max(1).min(self.packets());
        let exceeds = self.sacked > room;
        self.sacked = self.sacked.min(room);
        exceeds
    }

    /// Segments that left in one packet from `index` on, `most` at most, and are lost and not retransmitted.
    pub(super) fn lost_together(&self, index: usize, most: usize) -> usize {
        let is_lost = |record: &Record| record.lost && !record.sacked && !record.resent;
        let records = self.records.iter().skip(index).enumerate();
        records.take_while(|(at, record)| is_lost(record) && (*at == 0 || record.joined)).take(most).count()
    }

    /// Separates the segment at `index` from the one before it: they no longer leave in one packet.
    pub(super) fn split(&mut self, index: usize) {
        if let Some(record) = self.records.get_mut(index) {
            record.joined = false;
        }
    }

    /// Records a retransmission at `now`. One that is only a probe does not count as on its way.
    pub(super) fn resend(&mut self, index: usize, now: u64, probe: bool, snapshot: Snapshot) {
        self.retransmitted += 1;
        let record = &mut self.records[index];
        record.ever = true;
        (record.sent, record.snapshot) = (now, snapshot);
        if !probe && !record.resent {
            record.resent = true;
            self.resent += 1;
        }
    }
}
