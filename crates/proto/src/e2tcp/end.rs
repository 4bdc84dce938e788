//! A connection as a machine and as an end.

use airwatt_base::{Instant, Machine, Timeout};

use super::statistics::Statistics;
use super::{Connection, E2tcpPacket, E2tcpTimer, Input, Output};
use crate::end::{End, EndOutput, SenderCounts, SenderWindow, Stream, end_of_connection};
use crate::tcp::{ReceiveBuffer, ReceiveBytes, SendBuffer};

end_of_connection!(E2tcpPacket, Packet, refusal, E2tcpTimer);

impl<S: SendBuffer, R: ReceiveBuffer> Connection<S, R> {
    /// Processes an input; what it leads to is sent afterwards.
    fn take(&mut self, input: Input<S::Data, R::Payload>, now: Instant) {
        match input {
            Input::Open => self.open(),
            Input::Listen => self.listen(),
            Input::Packet(packet, payload) => self.on_packet(&packet, &payload, now),
            Input::Write(data) => self.write(data),
            Input::Urgent => self.sender.mark_urgent(),
            Input::Read(bytes) => self.receiver.read(bytes),
            Input::Close => self.close(),
            Input::Abort => self.abort(),
        }
    }
}

impl<S: SendBuffer, R: ReceiveBuffer> From<&Connection<S, R>> for SenderWindow {
    fn from(end: &Connection<S, R>) -> Self {
        let payload = u32::from(end.config().payload);
        let bytes = |packets: u32| packets.saturating_mul(payload);
        Self {
            window: bytes(end.window()),
            threshold: bytes(end.largest_window()),
            flight: bytes(end.outstanding()),
        }
    }
}

impl From<&Statistics> for SenderCounts {
    fn from(counted: &Statistics) -> Self {
        Self {
            sent: counted.data_packets_sent,
            retransmitted: counted.packets_resent,
            timeouts: counted.transmission_timeouts + counted.retransmission_timeouts,
            ack_losses: (0, 0),
            rtt_mean: counted.rtt_mean(),
        }
    }
}
