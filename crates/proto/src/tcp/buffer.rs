//! The send and receive buffers of a connection: lengths in the simulator, bytes on a device.
//!
//! The halves of a connection know positions and ranges; a buffer only stores. A counter costs nothing, so that a
//! simulated transfer of many gigabytes needs no memory.

use std::collections::VecDeque;
use std::fmt::Debug;

/// Holds the data that was written and is not yet acknowledged.
pub trait SendBuffer: Clone + Debug + Send + Default {
    /// The data of one write by the application.
    type Data: Clone + Debug;
    /// The payload of a segment that is sent.
    type Payload: Clone + Debug + PartialEq;

    /// Appends `data` to the buffer, and returns its length in bytes.
    fn append(&mut self, data: Self::Data) -> u64;

    /// Discards the first `bytes`, which are acknowledged.
    fn release(&mut self, bytes: u64);

    /// The `len` bytes at an offset of `at` bytes from the first unacknowledged one.
    fn payload(&self, at: usize, len: usize) -> Self::Payload;
}

/// Holds the data that was received and not yet read, the data beyond gaps, and the skipped data that arrived late.
pub trait ReceiveBuffer: Clone + Debug + Send + Default {
    /// The payload of a segment.
    type Payload: Clone + Debug + PartialEq;
    /// A part of the data in order.
    type Data: Clone + Debug;
    /// Whether the buffer stores bytes that the application has to fetch. If so, received data never counts as read at
    /// once.
    const KEEPS: bool;

    /// Stores `len` bytes of the payload, beginning with its byte `from`, at an offset of `at` bytes after the end of
    /// the data in order.
    fn store(&mut self, at: u64, payload: &Self::Payload, from: usize, len: usize);

    /// Stores a range that was skipped before: it begins at byte `position` of the stream, `behind` bytes before the
    /// end of the data in order.
    fn store_late(&mut self, position: u64, behind: u64, payload: &Self::Payload, from: usize, len: usize);

    /// Marks the next `bytes` after the data in order as in order too, whether they arrived or were skipped.
    fn advance(&mut self, bytes: u64);

    /// The first `bytes` of the data in order, which the application has not read.
    fn front(&self, bytes: u64) -> Self::Data;

    /// Discards the first `bytes` of the data in order, which the application has read.
    fn consume(&mut self, bytes: u64);

    /// Discards the late ranges of the last input.
    fn forget_late(&mut self);
}

/// A buffer that counts bytes without storing them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Lengths;

impl SendBuffer for Lengths {
    type Data = u64;
    type Payload = ();

    fn append(&mut self, bytes: u64) -> u64 {
        bytes
    }

    fn release(&mut self, _bytes: u64) {}

    fn payload(&self, _at: usize, _len: usize) {}
}

impl ReceiveBuffer for Lengths {
    type Payload = ();
    type Data = u64;
    const KEEPS: bool = false;

    fn store(&mut self, _at: u64, _payload: &(), _from: usize, _len: usize) {}

    fn store_late(&mut self, _position: u64, _behind: u64, _payload: &(), _from: usize, _len: usize) {}

    fn advance(&mut self, _bytes: u64) {}

    fn front(&self, bytes: u64) -> u64 {
        bytes
    }

    fn consume(&mut self, _bytes: u64) {}

    fn forget_late(&mut self) {}
}

/// A send buffer that stores the written bytes until they are acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct SendBytes {
    bytes: VecDeque<u8>,
}

impl SendBuffer for SendBytes {
    type Data = Vec<u8>;
    type Payload = Vec<u8>;

    fn append(&mut self, data: Vec<u8>) -> u64 {
        let len = data.len() as u64;
        self.bytes.extend(data);
        len
    }

    fn release(&mut self, bytes: u64) {
        self.bytes.drain(..bytes as usize);
    }

    fn payload(&self, at: usize, len: usize) -> Vec<u8> {
        let end = at.saturating_add(len).min(self.bytes.len());
        copy_range(&self.bytes, at.min(end), end)
    }
}

/// A receive buffer that stores the received bytes until they are read. A skipped byte reads as zero; the events report
/// which.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ReceiveBytes {
    /// Data in order, followed by data beyond gaps. A gap holds zeros.
    bytes: VecDeque<u8>,
    in_order: usize,
    /// Ranges that the last input brought late, with their positions in the stream.
    late: Vec<(u64, Vec<u8>)>,
}

impl ReceiveBytes {
    /// Returns the ranges that the last input brought late.
    pub(crate) fn late(&self) -> &[(u64, Vec<u8>)] {
        &self.late
    }
}

impl ReceiveBuffer for ReceiveBytes {
    type Payload = Vec<u8>;
    type Data = Vec<u8>;
    const KEEPS: bool = true;

    fn store(&mut self, at: u64, payload: &Vec<u8>, from: usize, len: usize) {
        let start = self.in_order + at as usize;
        let piece = &payload[from..from + len];
        // What follows everything that is there, as most data do, is not written twice.
        if start >= self.bytes.len() {
            self.bytes.resize(start, 0);
            return self.bytes.extend(piece);
        }
        if self.bytes.len() < start + len {
            self.bytes.resize(start + len, 0);
        }
        let (front, back) = self.bytes.as_mut_slices();
        let split = front.len();
        let (first, second) = piece.split_at(split.saturating_sub(start).min(len));
        front[start.min(split)..][..first.len()].copy_from_slice(first);
        back[start.saturating_sub(split)..][..second.len()].copy_from_slice(second);
    }

    fn store_late(&mut self, position: u64, behind: u64, payload: &Vec<u8>, from: usize, len: usize) {
        let piece = &payload[from..from + len];
        self.late.push((position, piece.to_vec()));
        // Late bytes that the application has not read yet also replace the zeros in the buffer.
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

    fn front(&self, bytes: u64) -> Vec<u8> {
        copy_range(&self.bytes, 0, self.in_order.min(bytes as usize))
    }

    fn consume(&mut self, bytes: u64) {
        self.bytes.drain(..bytes as usize);
        self.in_order -= bytes as usize;
    }

    fn forget_late(&mut self) {
        self.late.clear();
    }
}

fn copy_range(bytes: &VecDeque<u8>, start: usize, end: usize) -> Vec<u8> {
    let (front, back) = bytes.as_slices();
    let split = front.len();
    let ends = start.saturating_sub(split)..end.saturating_sub(split);
    [&front[start.min(split)..end.min(split)], &back[ends]].concat()
}
