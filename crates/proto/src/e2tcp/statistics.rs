//! Counters of a connection.

use airwatt_base::Span;

/// Counters of one end, from its creation on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Statistics {
    /// Packets sent, of every kind.
    pub packets_sent: u64,
    /// Bytes sent, headers included.
    pub bytes_sent: u64,
    /// Packets with payload sent, retransmissions included.
    pub data_packets_sent: u64,
    /// Payload sent in bytes, retransmissions included.
    pub payload_sent: u64,
    /// Retransmitted packets with payload.
    pub packets_resent: u64,
    /// Payload sent more than once in bytes, that of probes included.
    pub payload_resent: u64,
    /// Probes of a closed window. One that carries a byte ahead of its packet does not count as resent.
    pub probes_sent: u64,
    /// Number of expirations of the transmission timer.
    pub transmission_timeouts: u64,
    /// Expirations of the transmission timer that were undone, because they came too early.
    pub timeouts_undone: u64,
    /// Number of expirations of the retransmission timer.
    pub retransmission_timeouts: u64,
    /// Packets received, of every kind.
    pub packets_received: u64,
    /// Their bytes, headers included.
    pub bytes_received: u64,
    /// Payload delivered to the application in order, in bytes; gaps are not counted.
    pub bytes_delivered: u64,
    /// Bytes acknowledged without having arrived, less those that arrived later.
    pub bytes_skipped: u64,
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
