//! E2TCP's rules in TCP's segments: the base station's end of a connection with a mobile that speaks TCP with selective
//! acknowledgements.
//!
//! It is the first of the stages in which document 002 (the thesis on energy-efficient TCP) lets E2TCP be introduced: the
//! base station has the new rules, the mobile is unchanged. Data to the mobile have E2TCP's windows and are retransmitted as
//! soon as an acknowledgement shows what is missing; data from the mobile are acknowledged at once, with two blocks. Headers
//! stay TCP's. Numbers are translated as the thesis has it, `tcp_seq = e2_seq - len + 1` and `tcp_ack = e2_ack + 1`.
//!
//! What the two protocols express differently:
//! * Every TCP segment after the SYN carries an acknowledgement and a window; E2TCP leaves out those that say nothing new. The
//!   last ones are repeated.
//! * A FIN may be on a data segment in TCP; E2TCP has a packet for it. Such a segment becomes two packets.
//! * A TCP receiver reports its newest blocks first; E2TCP's sender needs the two lowest, and takes everything below the highest
//!   reported block for lost that is not reported. What was reported is therefore remembered until it is acknowledged.
//! * A window of TCP is scaled to 32 bits; E2TCP's field has 16.
//!
//! Left out: urgent data, which this TCP does not have; timestamps; selective acknowledgements that are taken back (RFC 2018
//! section 8), which E2TCP's timers find.

use airwatt_base::{Instant, Machine, Seq};

use crate::e2tcp::{
    Acknowledgement, Block, Connection, ControlFlags, E2tcpConfig, E2tcpPacket, Header, Input, IpVersion,
    Output, WindowField, first_sequence,
};
use crate::end::{End, EndOutput, SenderCounts, SenderWindow, Stream, stream_of_inner};
use crate::tcp::{Ecn, Flags, Lengths, ReceiveBuffer, SackBlocks, Segment, SendBuffer};

/// Ranges of reported data that are remembered at most: a window of packets of which every other one is lost has fewer.
const REPORTED_MAX: usize = 256;

/// An end of a connection with E2TCP's rules and TCP's segments.
#[derive(Clone, Debug)]
pub struct Translated<S: SendBuffer = Lengths, R: ReceiveBuffer = Lengths> {
    inner: Connection<S, R>,
    /// IP and TCP header of every segment in bytes, without options.
    header_bytes: u32,
    /// Sequence number after the highest one that was sent.
    next: Seq,
    /// The acknowledgement number and the window of the last segment, in TCP's terms.
    ack: Option<Seq>,
    window: u16,
    /// What the peer has acknowledged, in E2TCP's terms.
    acknowledged: Seq,
    /// Ranges that the peer has reported beyond that, from first to after last, ascending and neither adjacent nor overlapping.
    reported: Vec<(Seq, Seq)>,
}

impl<S: SendBuffer, R: ReceiveBuffer> Translated<S, R> {
    /// A closed end whose segments have headers of `header_bytes` bytes without options. A window of the peer only lowers the
    /// largest window. Panics if the settings do not pass their check.
    pub fn new(config: E2tcpConfig, header_bytes: u32) -> Self {
        let config = E2tcpConfig { window_field: WindowField::Caps, ..config };
        Self::around(Connection::new(config, 0, IpVersion::V4), header_bytes)
    }

    /// An established end whose peer's SYN had the sequence number `peer_initial`.
    pub fn established(config: E2tcpConfig, header_bytes: u32, peer_initial: Seq) -> Self {
        let config = E2tcpConfig { window_field: WindowField::Caps, ..config };
        let peer = E2tcpConfig { initial_sequence: peer_initial, ..config.clone() };
        let mut end = Self::around(Connection::established(config, &peer, 0), header_bytes);
        end.next += 1;
        end.ack = Some(peer_initial + 1);
        end
    }

    fn around(inner: Connection<S, R>, header_bytes: u32) -> Self {
        let config = inner.config();
        Self {
            next: config.initial_sequence,
            ack: None,
            window: config.receive_window.min(u32::from(u16::MAX)) as u16,
            acknowledged: config.initial_sequence,
            reported: Vec::new(),
            header_bytes,
            inner,
        }
    }

    /// The length in bytes of the IP packet of a segment.
    pub(crate) fn segment_bytes(&self, segment: &Segment) -> u32 {
        self.header_bytes + segment.sack.option_bytes() + u32::from(segment.len)
    }

    /// The segment that says what `packet` says.
    fn segment(&mut self, packet: &E2tcpPacket) -> Segment {
        let header = &packet.header;
        self.window = header.window.unwrap_or(self.window);
        if let Some(ack) = header.acknowledgement {
            self.ack = Some(ack.number + 1);
        }
        let seq = match header.sequence {
            Some(last) if packet.len > 0 => first_sequence(last, packet.len),
            Some(number) => number,
            None => self.next,
        };
        let end = seq + packet.sequence_length();
        self.next = self.next.later(end);
        let control = header.control;
        let flag = |set: bool, flag| if set { flag } else { Flags::NONE };
        let mut sack = SackBlocks::NONE;
        for block in header.acknowledgement.iter().flat_map(|ack| ack.blocks).flatten() {
            sack.push(block.first, block.last + 1);
        }
        Segment {
            seq,
            ack: self.ack.unwrap_or_default(),
            window: if control.rst() { 0 } else { u32::from(self.window) },
            len: packet.len,
            flags: flag(control.syn(), Flags::SYN)
                | flag(control.fin(), Flags::FIN)
                | flag(control.rst(), Flags::RST)
                | flag(self.ack.is_some(), Flags::ACK),
            ecn: Ecn::NONE,
            sack,
            timestamps: None,
        }
    }

    /// The acknowledgement that `segment` carries, with the two lowest ranges of all that were reported.
    fn acknowledgement(&mut self, segment: &Segment) -> Option<Acknowledgement> {
        if !segment.flags.has(Flags::ACK) {
            return None;
        }
        let number = segment.ack - 1;
        // An old acknowledgement has old blocks, of which some are acknowledged by now.
        if number.before(self.acknowledged) {
            return Some(Acknowledgement::plain(number));
        }
        self.acknowledged = number;
        for (start, end) in segment.sack.iter() {
            // A block below the acknowledgement reports a duplicate (RFC 2883).
            if start.after(segment.ack) && end.after(start) && end.at_or_before(self.next) {
                self.report(start, end);
            }
        }
        self.reported.retain(|(_, end)| end.after(segment.ack));
        let mut blocks = [None, None];
        for (block, (start, end)) in blocks.iter_mut().zip(&self.reported) {
            *block = Some(Block { first: *start, last: *end - 1 });
        }
        Some(Acknowledgement { number, blocks })
    }

    /// Adds a range to those reported.
    fn report(&mut self, mut start: Seq, mut end: Seq) {
        let apart = |range: &(Seq, Seq)| range.1.before(start) || range.0.after(end);
        let (joined, mut kept): (Vec<_>, Vec<_>) =
            self.reported.iter().copied().partition(|range| !apart(range));
        for (first, after) in joined {
            start = if first.before(start) { first } else { start };
            end = end.later(after);
        }
        let at = kept.partition_point(|range| range.0.before(start));
        kept.insert(at, (start, end));
        kept.truncate(REPORTED_MAX);
        self.reported = kept;
    }

    /// Whether a reset belongs to this connection: it continues what arrived (RFC 5961 section 3.2), or refuses the SYN.
    fn believes(&self, segment: &Segment) -> bool {
        match self.ack {
            Some(expected) => segment.seq == expected,
            None => segment.flags.has(Flags::ACK) && segment.ack == self.next,
        }
    }
}

macro_rules! inner {
    ($self:expr, $end:ident => $call:expr) => {{
        let Translated { inner: $end, .. } = $self;
        $call
    }};
}

stream_of_inner!(Translated, inner);

impl<S, R> End for Translated<S, R>
where
    S: SendBuffer<Data = R::Data, Payload = R::Payload>,
    R: ReceiveBuffer,
{
    type Packet = (Segment, R::Payload);

    fn receive(&mut self, (segment, payload): Self::Packet, now: Instant) {
        let id = self.inner.id();
        let flags = segment.flags;
        if flags.has(Flags::RST) && !self.believes(&segment) {
            return;
        }
        let window = Some(segment.window.min(u32::from(u16::MAX)) as u16);
        let acknowledgement = if flags.has(Flags::RST) && self.ack.is_some() {
            Some(Acknowledgement::plain(self.acknowledged))
        } else {
            self.acknowledgement(&segment)
        };
        let window = window.filter(|_| acknowledgement.is_some() || flags.has(Flags::SYN));
        let header = Header { acknowledgement, window, ..Header::new(id) };
        let nothing = || S::default().payload(0, 0);
        let mut take = |header, len, payload| {
            self.inner.handle_input(Input::Packet(E2tcpPacket { header, len }, payload), now);
        };
        if flags.has(Flags::RST) {
            let header = Header { control: ControlFlags::RST, window: None, ..header };
            return take(header, 0, nothing());
        }
        if flags.has(Flags::SYN) {
            let header = Header { control: ControlFlags::SYN, sequence: Some(segment.seq), ..header };
            return take(header, 0, nothing());
        }
        let end = segment.seq + u32::from(segment.len);
        if segment.len > 0 {
            take(Header { sequence: Some(end - 1), ..header }, segment.len, payload);
        }
        if flags.has(Flags::FIN) {
            take(Header { control: ControlFlags::FIN, sequence: Some(end), ..header }, 0, nothing());
        } else if segment.len == 0 {
            take(header, 0, nothing());
        }
    }

    fn refusal((segment, _): &Self::Packet) -> Option<Self::Packet> {
        Some((segment.reset()?, S::default().payload(0, 0)))
    }

    fn handle_timeout(&mut self, now: Instant) {
        Machine::handle_timeout(&mut self.inner, now);
    }

    fn poll(&mut self) -> Option<EndOutput<Self::Packet>> {
        Some(match self.inner.poll_output()? {
            Output::Transmit(packet) => {
                let payload = self.inner.payload_of(&packet);
                EndOutput::Transmit((self.segment(&packet), payload))
            }
            Output::Event(event) => EndOutput::Event(event.into()),
        })
    }

    fn due(&self) -> Option<Instant> {
        self.inner.poll_timeout().map(|timeout| timeout.at)
    }

    fn packet_bytes(&self, (segment, _): &Self::Packet) -> u32 {
        self.segment_bytes(segment)
    }

    fn counts(&self) -> SenderCounts {
        self.inner.counts()
    }

    fn sender_window(&self) -> SenderWindow {
        self.inner.sender_window()
    }
}
