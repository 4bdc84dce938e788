//! What a connection holds of its streams: lengths in the simulator, bytes on a device.
//!
//! The halves of a connection know positions and ranges; a buffer only stores. A counter costs nothing, so that a
//! simulated transfer of many gigabytes needs no memory.

use std::collections::VecDeque;
use std::fmt::Debug;

/// Holds what was written and is not yet acknowledged.
pub trait SendBuffer: Clone + Debug + Send + Default {
    /// What the application writes.
    type Data: Clone + Debug;

    /// Keeps `data` behind what is there, and returns its length in bytes.
    fn append(&mut self, data: Self::Data) -> u64;

    /// Forgets the first `bytes`: they are acknowledged.
    fn release(&mut self, bytes: u64);
}

/// Holds what was received and is not yet read, and what arrived ahead of a gap.
pub trait ReceiveBuffer: Clone + Debug + Send + Default {
    /// What comes with a segment.
    type Payload: Clone + Debug;
    /// Whether the buffer keeps bytes that have to be fetched, so that nothing counts as read by itself.
    const KEEPS: bool;

    /// Stores `len` bytes of the payload, from its byte `from` on, so that they lie `at` bytes behind the data in order.
    fn store(&mut self, at: u64, payload: &Self::Payload, from: usize, len: usize);

    /// The next `bytes` behind the data in order are in order too.
    fn advance(&mut self, bytes: u64);

    /// The application has read the first `bytes` of the data in order.
    fn consume(&mut self, bytes: u64);
}

/// Counts instead of storing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Lengths;

impl SendBuffer for Lengths {
    type Data = u64;

    fn append(&mut self, bytes: u64) -> u64 {
        bytes
    }

    fn release(&mut self, _bytes: u64) {}
}

impl ReceiveBuffer for Lengths {
    type Payload = ();
    const KEEPS: bool = false;

    fn store(&mut self, _at: u64, _payload: &(), _from: usize, _len: usize) {}

    fn advance(&mut self, _bytes: u64) {}

    fn consume(&mut self, _bytes: u64) {}
}

/// Keeps the bytes that were written until they are acknowledged.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct SendBytes {
    bytes: VecDeque<u8>,
}

impl SendBytes {
    /// Appends to `out` the `len` bytes that lie `at` bytes behind the first unacknowledged one, or as many as there are.
    pub(crate) fn copy(&self, at: usize, len: usize, out: &mut Vec<u8>) {
        let end = at.saturating_add(len).min(self.bytes.len());
        copy_range(&self.bytes, at.min(end), end, out);
    }
}

impl SendBuffer for SendBytes {
    type Data = Vec<u8>;

    fn append(&mut self, data: Vec<u8>) -> u64 {
        let len = data.len() as u64;
        self.bytes.extend(data);
        len
    }

    fn release(&mut self, bytes: u64) {
        self.bytes.drain(..bytes as usize);
    }
}

/// Keeps the bytes that were received until they are read.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ReceiveBytes {
    /// Data in order, then data behind gaps; a gap holds zeros that nobody sees.
    bytes: VecDeque<u8>,
    in_order: usize,
}

impl ReceiveBytes {
    /// Appends to `out` all bytes that are in order and not yet read.
    pub(super) fn copy(&self, out: &mut Vec<u8>) {
        copy_range(&self.bytes, 0, self.in_order, out);
    }
}

impl ReceiveBuffer for ReceiveBytes {
    type Payload = Vec<u8>;
    const KEEPS: bool = true;

    fn store(&mut self, at: u64, payload: &Vec<u8>, from: usize, len: usize) {
        let start = self.in_order + at as usize;
        if self.bytes.len() < start + len {
            self.bytes.resize(start + len, 0);
        }
        let places = self.bytes.range_mut(start..start + len);
        for (place, byte) in places.zip(&payload[from..from + len]) {
            *place = *byte;
        }
    }

    fn advance(&mut self, bytes: u64) {
        self.in_order += bytes as usize;
    }

    fn consume(&mut self, bytes: u64) {
        self.bytes.drain(..bytes as usize);
        self.in_order -= bytes as usize;
    }
}

fn copy_range(bytes: &VecDeque<u8>, start: usize, end: usize, out: &mut Vec<u8>) {
    let (front, back) = bytes.as_slices();
    let split = front.len();
    out.extend_from_slice(&front[start.min(split)..end.min(split)]);
    out.extend_from_slice(&back[start.saturating_sub(split)..end.saturating_sub(split)]);
}
