//! The timestamps option (RFC 7323 section 3): the clock, what a segment carries, and which timestamp is echoed.
//!
//! Both ends use the option if both SYNs carry it. The sender of data learns from the echo which of its segments
//! triggered an acknowledgement, the evidence that the ACK-loss detector prefers
//! ([`TimestampEvidence`](crate::cc::TimestampEvidence)).
//!
//! Left out: RTT samples from echoes, because the sender keeps the time of each transmission, which is finer than a tick;
//! and PAWS (section 5), because no medium here keeps a segment until sequence numbers wrap.

use std::num::NonZeroU32;

use airwatt_base::Instant;

/// Bytes that the option adds to the header: 10, and 2 of padding (RFC 7323 appendix A).
pub(super) const OPTION_BYTES: u32 = 12;

/// The timestamps option of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timestamps {
    /// TSval: the sender's clock when it sent the segment.
    pub value: NonZeroU32,
    /// TSecr: the timestamp that is echoed; 0 in a SYN, which has none to echo.
    pub echo: u32,
}

/// Returns the clock's reading at `now`: milliseconds, as in Linux, from 1 on. It skips 0 when it wraps after 49.7 days.
pub(super) fn clock(now: Instant) -> NonZeroU32 {
    let wrapped = now.as_nanos() / 1_000_000 % u64::from(u32::MAX);
    NonZeroU32::MIN.saturating_add(wrapped as u32)
}

/// The timestamp that the receive half echoes, once both ends have agreed on the option.
#[derive(Clone, Copy, Debug)]
pub(super) struct Echo {
    /// TS.Recent.
    recent: u32,
}

impl Echo {
    /// The peer's SYN carried `first`.
    pub(super) fn new(first: Timestamps) -> Self {
        Self { recent: first.value.get() }
    }

    /// The timestamp to echo now.
    pub(super) fn recent(self) -> u32 {
        self.recent
    }

    /// Takes note of an acceptable segment that begins at or before the last acknowledgement sent: its timestamp is
    /// echoed unless it is older than the current one (RFC 7323 section 4.3). A delayed acknowledgement thus echoes the
    /// first of the segments that it acknowledges, and one that fills a gap echoes the segment that filled it.
    pub(super) fn update(&mut self, timestamps: Option<Timestamps>) {
        if let Some(timestamps) = timestamps
            && timestamps.value.get().wrapping_sub(self.recent) as i32 >= 0
        {
            self.recent = timestamps.value.get();
        }
    }
}
