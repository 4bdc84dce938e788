//! What the application has written and is not sent, cut into buffers, and the memory that it may occupy.
//!
//! The kernel's buffers decide how bursts are cut and where PSH is set: a write fills the last buffer up to the size goal.

use std::collections::VecDeque;

use super::space::{FIRST, SendSpace};

/// Memory of a segment of 1500 bytes in a buffer of the kernel, for the size of the send buffer.
const SEGMENT_MEMORY: u64 = 2304;

/// A buffer: data up to `end`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunk {
    pub(super) end: u64,
    push: bool,
    /// Whether nothing may be appended (`MSG_EOR`).
    pub(super) closed: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct WriteQueue {
    chunks: VecDeque<Chunk>,
    /// Position after everything written, FIN included.
    pub(super) end: u64,
    /// The position of the FIN, once it is written.
    pub(super) fin: Option<u64>,
    /// Position after the last data that was marked with PSH.
    pushed: u64,
    /// Position after the last short segment sent (Minshall).
    pub(super) short_until: u64,
    pub(super) no_delay: bool,
    pub(super) cork: bool,
    /// Memory in bytes, and whether the user has set it.
    memory: u64,
    fixed: bool,
    /// Whether the application waits for room.
    pub(super) no_space: bool,
}

impl WriteQueue {
    pub(super) fn new(memory: u64, no_delay: bool) -> Self {
        Self { end: FIRST, pushed: FIRST, no_delay, memory, ..Self::default() }
    }

    /// The room in bytes beside `written` ones. Buffers of full segments are assumed to cost 2304 bytes each; while the user has
    /// not set the memory, it holds twice so many `segments` and at most `most` bytes.
    pub(super) fn room(&self, written: u64, goal: u64, segments: u32, most: u64) -> u64 {
        let tuned = if self.fixed { 0 } else { (2 * u64::from(segments) * SEGMENT_MEMORY).min(most) };
        // A buffer that is begun may be filled.
        self.memory.max(tuned).saturating_sub(written).div_ceil(goal) * goal
    }

    /// Sets the memory, which then does not grow. The kernel doubles what a user asks for.
    pub(super) fn set_memory(&mut self, bytes: u64) {
        (self.memory, self.fixed) = ((2 * bytes).max(4608), true);
    }

    /// Appends `bytes` to buffers of `goal` bytes.
    pub(super) fn append(&mut self, bytes: u64, goal: u64, space: &SendSpace) {
        let mut left = bytes;
        let from = space.nxt.max(FIRST);
        while left > 0 {
            let start = self.chunks.iter().rev().nth(1).map_or(from, |chunk| chunk.end.max(from));
            let part = match self.chunks.back_mut().filter(|tail| !tail.closed && tail.end - start < goal) {
                Some(tail) => {
                    let part = left.min(goal - (tail.end - start));
                    tail.end += part;
                    tail.push = false;
                    part
                }
                None => {
                    let part = left.min(goal);
                    self.chunks.push_back(Chunk { end: self.end + part, push: false, closed: false });
                    part
                }
            };
            self.end += part;
            left -= part;
            if self.end > self.pushed + u64::from(space.window_max / 2) && left > 0 {
                self.mark_push();
            }
        }
    }

    /// Sets PSH at the end of what is written.
    pub(super) fn mark_push(&mut self) {
        if let Some(tail) = self.chunks.back_mut() {
            tail.push = true;
        }
        self.pushed = self.end;
    }

    /// Closes the record: later data is not appended to its last buffer.
    pub(super) fn close_record(&mut self) {
        if let Some(tail) = self.chunks.back_mut() {
            tail.closed = true;
        }
    }

    /// Appends the FIN, to the last data that was not sent if there is some.
    pub(super) fn append_fin(&mut self) {
        self.fin = Some(self.end);
        self.end += 1;
        match self.chunks.back_mut() {
            Some(tail) => tail.end = self.end,
            None => self.chunks.push_back(Chunk { end: self.end, push: false, closed: true }),
        }
    }

    /// The first buffer, and whether it is the only one.
    pub(super) fn first(&self) -> Option<(Chunk, bool)> {
        self.chunks.front().map(|chunk| (*chunk, self.chunks.len() == 1))
    }

    /// The end of the first buffer, with what follows in the next ones as far as `room`.
    pub(super) fn grown(&self, first: Chunk, room: u64) -> u64 {
        let Chunk { mut end, mut closed, .. } = first;
        for next in self.chunks.iter().skip(1) {
            if closed || end >= room {
                break;
            }
            // Only whole segments of the next buffer are moved.
            end = next.end.min(room);
            closed = next.closed;
        }
        end
    }

    /// Removes what ends at or before `end`, which is sent. Returns whether PSH is set at `end`.
    pub(super) fn take(&mut self, end: u64) -> bool {
        let mut push = false;
        while let Some(chunk) = self.chunks.front().filter(|chunk| chunk.end <= end) {
            push = chunk.push && chunk.end == end;
            self.chunks.pop_front();
        }
        push
    }

    /// Nagle's rule in Minshall's form: a short segment waits while another short one is outstanding.
    pub(super) fn must_wait(&self, len: u32, mss: u32, space: &SendSpace, outstanding: bool) -> bool {
        if len >= mss || self.fin.is_some() {
            return false;
        }
        let short_outstanding = self.short_until > space.una && self.short_until <= space.nxt;
        self.cork || (!self.no_delay && outstanding && short_outstanding)
    }
}
