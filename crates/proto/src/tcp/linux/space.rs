//! The send sequence space (RFC 9293 section 3.3.1), in positions of the stream, and the size of segments in it.

/// Position of the first byte of data: the SYN is position 0.
pub(super) const FIRST: u64 = 1;
/// The window below which a peer counts as one with small buffers (`TCP_MSS_DEFAULT`).
const SMALL_WINDOW: u32 = 536;

#[derive(Clone, Debug, Default)]
pub(super) struct SendSpace {
    /// The first position that is not acknowledged (SND.UNA).
    pub(super) una: u64,
    /// The next position to be sent (SND.NXT).
    pub(super) nxt: u64,
    /// The peer's window (SND.WND), the largest that it has offered, and the position of its last update (SND.WL1).
    pub(super) window: u32,
    pub(super) window_max: u32,
    pub(super) updated_at: u64,
    /// Payload of a full-sized segment, options taken off.
    pub(super) mss: u32,
}

impl SendSpace {
    /// Takes the window of the peer's SYN, or of the packet that ends the handshake.
    pub(super) fn begin(&mut self, window: u32, from: u64) {
        (self.window, self.window_max, self.updated_at) = (window, window, from);
    }

    /// The right edge of the peer's window.
    pub(super) fn edge(&self) -> u64 {
        self.una + u64::from(self.window)
    }

    /// Half of the largest window; all of one that is small.
    fn half(&self) -> u32 {
        if self.window_max > SMALL_WINDOW { self.window_max / 2 } else { self.window_max }
    }

    /// Payload of a segment now: a window below two segments makes it smaller.
    pub(super) fn current_mss(&self) -> u32 {
        if self.half() > 0 { self.mss.min(self.half().max(48)) } else { self.mss }
    }

    /// Bytes of a buffer: half of the peer's largest window, at most what the `device` takes, in whole segments.
    pub(super) fn size_goal(&self, device: u32) -> u64 {
        let mss = self.current_mss();
        u64::from(device.min(self.half().max(mss)) / mss * mss).max(u64::from(mss))
    }

    /// Takes the window of a packet at position `from` if it is newer than the last, or larger. Returns whether it was taken.
    pub(super) fn update(&mut self, ack: u64, window: u32, from: u64) -> bool {
        let newer = ack > self.una || from > self.updated_at;
        let counts = newer || (from == self.updated_at && (window > self.window || window == 0));
        if counts {
            (self.window, self.updated_at) = (window, from);
            self.window_max = self.window_max.max(window);
        }
        counts
    }
}
