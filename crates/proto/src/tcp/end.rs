//! A connection as a machine and as an end.

use airwatt_base::{Instant, Machine, Timeout};

use super::statistics::Statistics;
use super::{Connection, Input, Output, ReceiveBuffer, ReceiveBytes, Segment, SendBuffer, TcpTimer};
use crate::end::{End, EndOutput, SenderCounts, SenderWindow, Stream, end_of_connection};

end_of_connection!(Segment, Segment, reset, TcpTimer);

impl<S: SendBuffer, R: ReceiveBuffer> Connection<S, R> {
    /// Processes an input; what it leads to is sent afterwards.
    fn take(&mut self, input: Input<S::Data, R::Payload>, now: Instant) {
        match input {
            Input::Open => self.open(),
            Input::Listen => self.listen(),
            Input::Segment(segment, payload) => self.on_segment(&segment, &payload, now),
            Input::Write(data) => self.write(data),
            Input::Read(bytes) => self.receiver.read(bytes),
            Input::Grant(bytes) => self.receiver.grant(bytes),
            Input::Close => self.close(),
            Input::Abort => self.abort(),
        }
    }
}

impl<S: SendBuffer, R: ReceiveBuffer> From<&Connection<S, R>> for SenderWindow {
    fn from(end: &Connection<S, R>) -> Self {
        Self { window: end.cwnd(), threshold: end.ssthresh(), flight: end.flight() }
    }
}

impl From<&Statistics> for SenderCounts {
    fn from(counted: &Statistics) -> Self {
        Self {
            sent: counted.segments_sent,
            retransmitted: counted.segments_retransmitted,
            timeouts: counted.timeouts,
            ack_losses: (counted.ack_losses, counted.ack_loss_halvings),
            rtt_mean: counted.rtt_mean(),
        }
    }
}
