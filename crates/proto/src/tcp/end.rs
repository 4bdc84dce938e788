//! A connection as an end.

use airwatt_base::{Instant, Machine};

use super::{Connection, Input, Output, ReceiveBuffer, Segment, SendBuffer};
use crate::end::{End, EndOutput, Stream, stream_by_inputs};

stream_by_inputs!(Connection, Input);

impl<S, R> End for Connection<S, R>
where
    S: SendBuffer<Data = R::Data, Payload = R::Payload>,
    R: ReceiveBuffer,
{
    type Packet = (Segment, R::Payload);

    fn receive(&mut self, (segment, payload): Self::Packet, now: Instant) {
        self.handle_input(Input::Segment(segment, payload), now);
    }

    fn refusal((segment, _): &Self::Packet) -> Option<Self::Packet> {
        Some((segment.reset()?, S::default().payload(0, 0)))
    }

    fn handle_timeout(&mut self, now: Instant) {
        Machine::handle_timeout(self, now);
    }

    fn poll(&mut self) -> Option<EndOutput<Self::Packet>> {
        Some(match self.poll_output()? {
            Output::Transmit(segment) => EndOutput::Transmit((segment, self.payload_of(&segment))),
            Output::Event(event) => EndOutput::Event(event.into()),
        })
    }

    fn due(&self) -> Option<Instant> {
        self.poll_timeout().map(|timeout| timeout.at)
    }
}
