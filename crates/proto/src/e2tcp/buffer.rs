//! What a receiver holds of the peer's stream: lengths in the simulator, bytes on a device.
//!
//! It differs from TCP's in that the stream may have gaps for good, and that a piece of one may still arrive.

use std::collections::VecDeque;
use std::fmt::Debug;

use crate::tcp::Lengths;

/// Holds what was received and is not yet read, what arrived ahead of a gap, and what arrived late.
pub trait GapBuffer: Clone + Debug + Send + Default {
    /// What comes with a packet.
    type Payload: Clone + Debug;
    /// Whether the buffer keeps bytes that have to be fetched, so that nothing counts as read by itself.
    const KEEPS: bool;

    /// Stores `len` bytes of the payload, from its byte `from` on, so that they lie `at` bytes behind the data in order.
    fn store(&mut self, at: u64, payload: &Self::Payload, from: usize, len: usize);

    /// Stores a piece that was skipped before: it begins at byte `position` of the stream, `behind` bytes before the end of
    /// the data in order.
    fn store_late(&mut self, position: u64, behind: u64, payload: &Self::Payload, from: usize, len: usize);

    /// The next `bytes` behind the data in order are in order too, or skipped.
    fn advance(&mut self, bytes: u64);

    /// The application has read the first `bytes` of the data in order.
    fn consume(&mut self, bytes: u64);

    /// Nobody will ask for the late pieces any more.
    fn forget_late(&mut self);
}

impl GapBuffer for Lengths {
    type Payload = ();
    const KEEPS: bool = false;

    fn store(&mut self, _at: u64, _payload: &(), _from: usize, _len: usize) {}

    fn store_late(&mut self, _position: u64, _behind: u64, _payload: &(), _from: usize, _len: usize) {}

    fn advance(&mut self, _bytes: u64) {}

    fn consume(&mut self, _bytes: u64) {}

    fn forget_late(&mut self) {}
}

/// Keeps the bytes that were received until they are read. A byte that was skipped reads as zero; the events say which.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct GapBytes {
    /// Data in order, then data behind gaps; a gap holds zeros.
    bytes: VecDeque<u8>,
    in_order: usize,
    /// Pieces that the last packet brought too late, with their places in the stream.
    late: Vec<(u64, Vec<u8>)>,
}

impl GapBytes {
    /// Appends to `out` all bytes that are in order and not yet read.
    pub(super) fn copy(&self, out: &mut Vec<u8>) {
        out.extend(self.bytes.range(..self.in_order));
    }

    /// The pieces that the last packet brought too late.
    pub(super) fn late(&self) -> &[(u64, Vec<u8>)] {
        &self.late
    }
}

impl GapBuffer for GapBytes {
    type Payload = Vec<u8>;
    const KEEPS: bool = true;

    fn store(&mut self, at: u64, payload: &Vec<u8>, from: usize, len: usize) {
        let start = self.in_order + at as usize;
        if self.bytes.len() < start + len {
            self.bytes.resize(start + len, 0);
        }
        for (place, byte) in self.bytes.range_mut(start..start + len).zip(&payload[from..from + len]) {
            *place = *byte;
        }
    }

    fn store_late(&mut self, position: u64, behind: u64, payload: &Vec<u8>, from: usize, len: usize) {
        let piece = &payload[from..from + len];
        self.late.push((position, piece.to_vec()));
        // What the application has not read yet is put right in its place as well.
        let unread = self.in_order as u64;
        let read = behind.saturating_sub(unread).min(len as u64) as usize;
        let start = unread.saturating_sub(behind) as usize;
        for (place, byte) in self.bytes.range_mut(start..).zip(&piece[read..]) {
            *place = *byte;
        }
    }

    fn advance(&mut self, bytes: u64) {
        self.in_order += bytes as usize;
        if self.bytes.len() < self.in_order {
            self.bytes.resize(self.in_order, 0);
        }
    }

    fn consume(&mut self, bytes: u64) {
        self.bytes.drain(..bytes as usize);
        self.in_order -= bytes as usize;
    }

    fn forget_late(&mut self) {
        self.late.clear();
    }
}
