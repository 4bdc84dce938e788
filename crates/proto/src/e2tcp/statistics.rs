//! What a connection counts.

use airwatt_base::Span;

/// Counters of one end, since it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Statistics {
    /// Packets sent, of every kind.
    pub packets_sent: u64,
    /// Bytes sent, headers and payload.
    pub bytes_sent: u64,
    /// Packets with payload sent, those sent again included.
    pub data_packets_sent: u64,
    /// Payload sent in bytes, that sent again included.
    pub payload_sent: u64,
    /// Packets with payload sent again, for whatever reason.
    pub packets_resent: u64,
    /// Payload sent again in bytes.
    pub payload_resent: u64,
    /// Packets that only acknowledge.
    pub acks_sent: u64,
    /// Probes of a closed window.
    pub probes_sent: u64,
    /// Packets that the blocks of an acknowledgement showed to be lost.
    pub losses_inferred: u64,
    /// Acknowledgements that showed losses up to the error limit.
    pub static_errors: u64,
    /// Acknowledgements that showed more.
    pub burst_errors: u64,
    /// Times the transmission timer expired.
    pub transmission_timeouts: u64,
    /// Times the retransmission timer expired.
    pub retransmission_timeouts: u64,
    /// Packets received, of every kind.
    pub packets_received: u64,
    /// Packets received that this connection cannot have been sent: another connection's, or nonsense.
    pub packets_rejected: u64,
    /// Packets with payload of which nothing was new or in the window.
    pub useless_packets_received: u64,
    /// Packets with payload that came ahead of a gap.
    pub packets_out_of_order: u64,
    /// Payload handed to the application in order, in bytes, gaps not counted.
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
    /// The mean of the RTT samples, if there are any.
    pub fn rtt_mean(&self) -> Option<Span> {
        (self.rtt_count > 0).then(|| self.rtt_sum / self.rtt_count)
    }
}
