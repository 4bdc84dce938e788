//! Counters of a connection.

use airwatt_base::Span;

/// Counters of one end, from its creation on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Statistics {
    /// Segments with payload sent, retransmissions included.
    pub segments_sent: u64,
    /// Segments with payload that was sent before.
    pub segments_retransmitted: u64,
    /// Payload sent in bytes, retransmissions included.
    pub bytes_sent: u64,
    /// Probes of a closed window.
    pub probes_sent: u64,
    /// Number of expirations of the retransmission timer.
    pub timeouts: u64,
    /// Number of fast retransmits.
    pub fast_retransmits: u64,
    /// Number of fast retransmits that turned out to be spurious, after which the window was restored (RFC 2883).
    pub spurious_retransmits: u64,
    /// Segments with payload that Limited Transmit released (RFC 3042).
    pub limited_transmits: u64,
    /// Partial ACKs: acknowledgements of new data in fast recovery that do not cover everything in flight at its start.
    pub partial_acks: u64,
    /// Acknowledgements of the peer that are considered lost ([`crate::cc::AckLoss`]), less those explained by
    /// reordering.
    pub ack_losses: u64,
    /// Number of window halvings due to ACK loss.
    pub ack_loss_halvings: u64,
    /// Duplicate ACKs received (RFC 5681 section 2).
    pub duplicate_acks: u64,
    /// Payload received in order, in bytes. Each byte is counted once; skipped gaps are not counted.
    pub bytes_delivered: u64,
    /// Bytes acknowledged without having arrived, less those that arrived later.
    pub bytes_skipped: u64,
    /// Bytes that arrived after they had been skipped.
    pub bytes_late: u64,
    /// RTT samples taken.
    pub rtt_count: u64,
    /// Sum of the RTT samples.
    pub rtt_sum: Span,
}

impl Statistics {
    pub(super) fn count_rtt(&mut self, rtt: Span) {
        self.rtt_count += 1;
        self.rtt_sum += rtt;
    }

    /// The mean of the RTT samples, if there are any.
    pub fn rtt_mean(&self) -> Option<Span> {
        (self.rtt_count > 0).then(|| self.rtt_sum / self.rtt_count)
    }
}
