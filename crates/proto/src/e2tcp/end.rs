//! A connection as an end.

use airwatt_base::{Instant, Machine};

use super::{Connection, E2tcpPacket, Input, Output};
use crate::end::{End, EndOutput, Stream, stream_by_inputs};
use crate::tcp::{ReceiveBuffer, SendBuffer};

stream_by_inputs!(Connection, Input);

impl<S, R> End for Connection<S, R>
where
    S: SendBuffer<Data = R::Data, Payload = R::Payload>,
    R: ReceiveBuffer,
{
    type Packet = (E2tcpPacket, R::Payload);

    fn receive(&mut self, (packet, payload): Self::Packet, now: Instant) {
        self.handle_input(Input::Packet(packet, payload), now);
    }

    fn refusal((packet, _): &Self::Packet) -> Option<Self::Packet> {
        Some((packet.refusal()?, S::default().payload(0, 0)))
    }

    fn handle_timeout(&mut self, now: Instant) {
        Machine::handle_timeout(self, now);
    }

    fn poll(&mut self) -> Option<EndOutput<Self::Packet>> {
        Some(match self.poll_output()? {
            Output::Transmit(packet) => EndOutput::Transmit((packet, self.payload_of(&packet))),
            Output::Event(event) => EndOutput::Event(event.into()),
        })
    }

    fn due(&self) -> Option<Instant> {
        self.poll_timeout().map(|timeout| timeout.at)
    }
}
