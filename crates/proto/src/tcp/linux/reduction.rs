//! Proportional rate reduction (RFC 6937, RFC 9937), and what is needed to undo it.

#[derive(Clone, Debug, Default)]
pub(super) struct Reduction {
    /// Position at which it ends.
    pub(super) until: u64,
    pub(super) cwnd_before: u32,
    /// The threshold to which an undo returns; zero if there is none.
    pub(super) threshold_before: u32,
    delivered: u32,
    /// Segments sent since.
    pub(super) out: u32,
    /// Where the episode began, while it can be undone.
    pub(super) undo_from: Option<u64>,
    /// Retransmissions not yet reported as duplicates; `None` if there were none.
    undo_left: Option<u32>,
    /// When the first retransmission was sent, while it may be on its way (`retrans_stamp`).
    pub(super) resent_at: Option<u64>,
    /// Whether a timeout is checked for being spurious by new data (F-RTO).
    pub(super) frto: bool,
}

impl Reduction {
    /// A reduction from this window begins, until what is sent now is acknowledged.
    pub(super) fn begin(&mut self, cwnd: u32, nxt: u64) {
        (self.until, self.cwnd_before) = (nxt, cwnd);
        (self.delivered, self.out) = (0, 0);
    }

    /// Notes where the episode began, and how many retransmissions are on their way.
    pub(super) fn remember(&mut self, una: u64, resent: u32) {
        self.undo_from = Some(una);
        self.undo_left = Some(resent).filter(|left| *left > 0);
    }

    /// The window towards `threshold` after `delivered` segments arrived with `flight` still in the network. `none_lost` says
    /// that the acknowledgement advanced and showed no loss.
    pub(super) fn window(
        &mut self,
        threshold: u32,
        flight: u32,
        delivered: u32,
        none_lost: bool,
    ) -> Option<u32> {
        if delivered == 0 || self.cwnd_before == 0 {
            return None;
        }
        self.delivered += delivered;
        let (arrived, out) = (i64::from(self.delivered), i64::from(self.out));
        let room = i64::from(threshold) - i64::from(flight);
        let send = if room < 0 {
            let before = i64::from(self.cwnd_before);
            (i64::from(threshold) * arrived + before - 1) / before - out
        } else {
            room.min((arrived - out).max(i64::from(delivered)) + i64::from(none_lost))
        };
        // Entering recovery sends something.
        let send = send.max(i64::from(out == 0));
        Some((i64::from(flight) + send).max(0) as u32)
    }

    /// `segments` are retransmitted.
    pub(super) fn note_resent(&mut self, segments: u32, now: u64) {
        self.resent_at = self.resent_at.or(Some(now));
        self.undo_left = Some(self.undo_left.unwrap_or(0) + segments);
    }

    /// The peer has received `segments` that end at `end` twice.
    pub(super) fn note_duplicate(&mut self, end: u64, segments: u32) {
        if self.undo_from.is_some_and(|from| end > from)
            && let Some(left) = &mut self.undo_left
        {
            *left = left.saturating_sub(segments);
        }
    }

    /// Whether all retransmissions were reported as duplicates.
    pub(super) fn is_repaid(&self) -> bool {
        self.undo_from.is_some() && self.undo_left == Some(0)
    }

    /// Whether the time stamp that came back is older than the first retransmission, or there was none.
    pub(super) fn original_arrived(&self, echo: Option<u32>, sack: bool, una: u64) -> bool {
        match (self.resent_at, echo) {
            // Without selective acknowledgements the stamp is also forgotten while the state is held.
            (None, _) => sack || una < self.until,
            (Some(first), Some(echo)) => (echo.wrapping_sub((first / 1000) as u32) as i32) < 0,
            (Some(_), None) => false,
        }
    }
}
