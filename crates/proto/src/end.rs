//! One end of a connection, whatever its transport: what sockets, gateways and relays need of it.
//!
//! [`Stream`] is what a user of an end does with its data, and [`End`] adds packets, timers, and what a sender counts. Data and payloads are those of the end's buffers: lengths in the simulator, bytes on a
//! device. Left out: what only one transport has (urgent data, grants of a power-save policy), for which there is the
//! transport's own interface.

use std::fmt::Debug;

use airwatt_base::{Instant, Span};

use crate::event::Event;

/// The calls of the user of a connection.
pub trait Stream {
    /// A piece of the data: a length, or bytes.
    type Data;

    /// Opens the connection.
    fn open(&mut self, now: Instant);
    /// Waits for the peer to open the connection.
    fn listen(&mut self, now: Instant);
    /// Sends data.
    fn write(&mut self, data: Self::Data, now: Instant);
    /// Takes up to `bytes` bytes out of the receive buffer. Given-up ones are zeros.
    fn read(&mut self, bytes: u64, now: Instant) -> Self::Data;
    /// Has nothing more to write. What was written is still delivered.
    fn close(&mut self, now: Instant);
    /// Ends the connection; the peer gets a reset.
    fn abort(&mut self, now: Instant);
    /// Bytes in the receive buffer that can be read, given-up ones included.
    fn readable(&self) -> u64;
    /// Bytes written and not acknowledged yet.
    fn unacknowledged(&self) -> u64;
}

/// One end of a connection.
pub trait End: Stream + Clone + Debug + Send {
    /// What it sends and receives, payload included.
    type Packet: Clone + Debug + PartialEq;

    /// Processes a packet of the peer.
    fn receive(&mut self, packet: Self::Packet, now: Instant);
    /// The packet that refuses a connection which this packet would open; `None` if there is none.
    fn refusal(packet: &Self::Packet) -> Option<Self::Packet>;
    /// Serves the timers that are due.
    fn handle_timeout(&mut self, now: Instant);
    /// The next output.
    fn poll(&mut self) -> Option<EndOutput<Self::Packet>>;
    /// The time of the next timer.
    fn due(&self) -> Option<Instant>;
    /// The length in bytes of the IP packet around a packet that it sends.
    fn packet_bytes(&self, packet: &Self::Packet) -> u32;
    /// The counters of its sender.
    fn counts(&self) -> SenderCounts;
    /// The window of its sender.
    fn sender_window(&self) -> SenderWindow;
}

/// An output of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndOutput<P> {
    /// A packet to send.
    Transmit(P),
    /// An event of the connection.
    Event(EndEvent),
}

/// What happened on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndEvent {
    /// The connection is established.
    Connected,
    /// This many bytes more are in order.
    Delivered(u64),
    /// This many bytes were given up, as the reliability permits.
    GaveUp(u64),
    /// This many bytes that had been given up arrived after all.
    Late(u64),
    /// The peer has, or has given up, everything written so far.
    AllAcknowledged,
    /// The peer has closed its direction, and all its data is in order.
    PeerClosed,
    /// The peer has marked data as urgent.
    Urgent,
    /// The peer refused the connection or reset it.
    Reset,
    /// The peer did not answer, and the connection was given up.
    TimedOut,
    /// Both directions are closed, and the connection no longer exists.
    Closed,
}

/// Counters of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderCounts {
    /// Packets with data sent, including retransmissions.
    pub sent: u64,
    /// Retransmissions; of QUIC packets taken for lost, whose data go into others.
    pub retransmitted: u64,
    /// Retransmission time-outs; of QUIC probe time-outs.
    pub timeouts: u64,
    /// Acknowledgements of the peer that the sender took for lost, and the number of times that this halved its window.
    pub ack_losses: (u64, u64),
    /// Mean of the measurements of the round-trip time.
    pub rtt_mean: Option<Span>,
}

impl SenderCounts {
    /// The counters of two senders together. Their mean round-trip times count by what each has sent.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let sum = |counts: &Self, mean: Span| u128::from(mean.as_nanos()) * u128::from(counts.sent);
        let sent = self.sent + other.sent;
        let rtt_mean = match (self.rtt_mean, other.rtt_mean) {
            (Some(one), Some(two)) if sent > 0 => {
                Some(Span::from_nanos(((sum(&self, one) + sum(&other, two)) / u128::from(sent)) as u64))
            }
            (one, two) => one.or(two),
        };
        Self {
            sent,
            retransmitted: self.retransmitted + other.retransmitted,
            timeouts: self.timeouts + other.timeouts,
            ack_losses: (self.ack_losses.0 + other.ack_losses.0, self.ack_losses.1 + other.ack_losses.1),
            rtt_mean,
        }
    }
}

/// A sender's window in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderWindow {
    /// The congestion window.
    pub window: u32,
    /// The slow-start threshold; of E2TCP the largest window.
    pub threshold: u32,
    /// Bytes in flight.
    pub flight: u32,
}

impl From<Event> for EndEvent {
    fn from(event: Event) -> Self {
        match event {
            Event::Connected => Self::Connected,
            Event::Delivered { bytes } => Self::Delivered(bytes),
            Event::Gap { bytes, .. } => Self::GaveUp(bytes),
            Event::Late { bytes, .. } => Self::Late(bytes),
            Event::AllAcknowledged => Self::AllAcknowledged,
            Event::PeerClosed => Self::PeerClosed,
            Event::Urgent { .. } => Self::Urgent,
            Event::Refused | Event::Reset => Self::Reset,
            Event::TimedOut => Self::TimedOut,
            Event::Closed => Self::Closed,
        }
    }
}

/// A `Connection` as a machine with timers `$Timer`, and as an end: its calls are inputs, and its packets are an input of the kind
/// `$packet`; `$refusal` gives the packet that refuses one.
macro_rules! end_of_connection {
    ($Packet:ident, $packet:ident, $refusal:ident, $Timer:ident) => {
        impl<S: SendBuffer, R: ReceiveBuffer> Connection<S, R> {
            /// The first `bytes` bytes that are in order and not yet read, or as many as there are; skipped bytes are zeros.
            /// [`Input::Read`] then reports that they were taken.
            pub fn front(&self, bytes: u64) -> R::Data {
                self.receiver.buffer.front(bytes.min(self.readable_bytes()))
            }
        }

        impl<S: SendBuffer> Connection<S, ReceiveBytes> {
            /// The ranges, with their positions in the stream, for which the last input brought
            /// [`Late`](crate::event::Event::Late). Must be called before the next input.
            pub fn late(&self) -> &[(u64, Vec<u8>)] {
                self.receiver.buffer.late()
            }
        }

        impl<S: SendBuffer, R: ReceiveBuffer> Machine for Connection<S, R> {
            type Input = Input<S::Data, R::Payload>;
            type Output = Output;
            type Reason = $Timer;

            fn handle_input(&mut self, input: Self::Input, now: Instant) {
                self.receiver.buffer.forget_late();
                self.take(input, now);
                self.transmit(now);
            }

            fn handle_timeout(&mut self, now: Instant) {
                let mut expired = false;
                while let Some(timer) = self.timers.expire(now) {
                    expired = true;
                    self.on_timer(timer, now);
                }
                if expired {
                    self.transmit(now);
                }
            }

            fn poll_output(&mut self) -> Option<Output> {
                self.outputs.pop_front()
            }

            fn poll_timeout(&self) -> Option<Timeout<$Timer>> {
                self.timers.next()
            }
        }

        impl<S, R> Stream for Connection<S, R>
        where
            S: SendBuffer<Data = R::Data, Payload = R::Payload>,
            R: ReceiveBuffer,
        {
            type Data = R::Data;

            fn open(&mut self, now: Instant) {
                self.handle_input(Input::Open, now);
            }

            fn listen(&mut self, now: Instant) {
                self.handle_input(Input::Listen, now);
            }

            fn write(&mut self, data: R::Data, now: Instant) {
                self.handle_input(Input::Write(data), now);
            }

            fn read(&mut self, bytes: u64, now: Instant) -> R::Data {
                let data = self.front(bytes);
                self.handle_input(Input::Read(bytes), now);
                data
            }

            fn close(&mut self, now: Instant) {
                self.handle_input(Input::Close, now);
            }

            fn abort(&mut self, now: Instant) {
                self.handle_input(Input::Abort, now);
            }

            fn readable(&self) -> u64 {
                self.readable_bytes()
            }

            fn unacknowledged(&self) -> u64 {
                self.unacknowledged_bytes()
            }
        }

        impl<S, R> End for Connection<S, R>
        where
            S: SendBuffer<Data = R::Data, Payload = R::Payload>,
            R: ReceiveBuffer,
        {
            type Packet = ($Packet, R::Payload);

            fn receive(&mut self, (packet, payload): Self::Packet, now: Instant) {
                self.handle_input(Input::$packet(packet, payload), now);
            }

            fn refusal((packet, _): &Self::Packet) -> Option<Self::Packet> {
                Some((packet.$refusal()?, S::default().payload(0, 0)))
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

            fn packet_bytes(&self, (packet, _): &Self::Packet) -> u32 {
                self.config().packet_bytes(packet)
            }

            fn counts(&self) -> SenderCounts {
                self.statistics().into()
            }

            fn sender_window(&self) -> SenderWindow {
                self.into()
            }
        }
    };
}
pub(crate) use end_of_connection;

/// An end whose user's calls are those of the end inside it, which `$inner!(self, end => ...)` gives.
macro_rules! stream_of_inner {
    ($Outer:ident, $inner:ident) => {
        impl<S, R> Stream for $Outer<S, R>
        where
            S: SendBuffer<Data = R::Data, Payload = R::Payload>,
            R: ReceiveBuffer,
        {
            type Data = R::Data;

            fn open(&mut self, now: Instant) {
                $inner!(self, end => end.open(now));
            }

            fn listen(&mut self, now: Instant) {
                $inner!(self, end => end.listen(now));
            }

            fn write(&mut self, data: R::Data, now: Instant) {
                $inner!(self, end => end.write(data, now));
            }

            fn read(&mut self, bytes: u64, now: Instant) -> R::Data {
                $inner!(self, end => end.read(bytes, now))
            }

            fn close(&mut self, now: Instant) {
                $inner!(self, end => end.close(now));
            }

            fn abort(&mut self, now: Instant) {
                $inner!(self, end => end.abort(now));
            }

            fn readable(&self) -> u64 {
                $inner!(self, end => end.readable())
            }

            fn unacknowledged(&self) -> u64 {
                $inner!(self, end => end.unacknowledged())
            }
        }
    };
}
pub(crate) use stream_of_inner;

impl<P> EndOutput<P> {
    #[inline]
    pub(crate) fn map<Q>(self, wrap: impl FnOnce(P) -> Q) -> EndOutput<Q> {
        match self {
            Self::Transmit(packet) => EndOutput::Transmit(wrap(packet)),
            Self::Event(event) => EndOutput::Event(event),
        }
    }
}
