//! The machine as an end of a connection: what a host has around its TCP.
//!
//! The network card cuts a burst into segments, and an application that writes more than the send buffer holds waits until a
//! third of the buffer is free. Both ends have equal settings, so that what their SYNs negotiate is known, and a [`Segment`] need
//! not carry it.
//!
//! # Left out
//! * The coalescing of segments that arrive together (GRO), after which fewer acknowledgements leave.
//! * The option of AccECN: a [`Segment`] has no room for it, and connections are as with `tcp_ecn_option` 0.

use std::num::NonZeroU32;

use airwatt_base::{Instant, Machine, Seq, Span};

use super::config::LinuxConfig;
use super::connection::{Connection, Input, Output};
use super::packet::{Options, Packet, Stamps, bits};
use crate::end::{End, EndOutput, SenderCounts, SenderWindow, Stream};
use crate::event::Event;
use crate::lifecycle::State;
use crate::tcp::{Ecn, Flags, SackBlocks, Segment, Timestamps};

/// IP and TCP header without options, in bytes.
const HEADERS: u32 = 40;
/// The options of a SYN: segment size, selective acknowledgements, time stamps, window scale.
const SYN_OPTIONS: u32 = 20;

/// One end of a connection between hosts that have this TCP.
#[derive(Clone, Debug)]
pub struct LinuxEnd {
    connection: Connection,
    config: LinuxConfig,
    /// Bytes that the application waits to write, and whether it closes after them.
    waiting: u64,
    closes: bool,
    /// What is left of a burst.
    burst: Option<Packet>,
    /// The sequence number after the last one sent.
    sent_until: Seq,
    sent: u64,
    retransmitted: u64,
}

impl LinuxEnd {
    /// Creates a closed end.
    pub fn new(config: LinuxConfig) -> Self {
        Self {
            connection: Connection::new(config.clone()),
            waiting: 0,
            closes: false,
            burst: None,
            sent_until: config.initial_sequence,
            sent: 0,
            retransmitted: 0,
            config,
        }
    }

    /// Limits what the peer may send to this many bytes beyond the data in order, or not.
    pub fn grant(&mut self, bytes: Option<u64>, now: Instant) {
        self.input(Input::Grant(bytes), now);
    }

    /// Gives the machine an input, and then what the application waits to write.
    fn input(&mut self, input: Input, now: Instant) {
        self.connection.handle_input(input, now);
        self.write_waiting(now);
    }

    fn write_waiting(&mut self, now: Instant) {
        let takes = |connection: &Connection| {
            matches!(connection.state(), State::Established | State::CloseWait)
                && 2 * connection.room() >= connection.unacknowledged()
        };
        while self.waiting > 0 && takes(&self.connection) {
            let bytes = self.waiting.min(self.connection.room());
            if bytes == 0 {
                break;
            }
            self.waiting -= bytes;
            self.connection.handle_input(Input::Write { bytes, more: false, record: false }, now);
        }
        self.connection.set_no_space(self.waiting > 0);
        if self.closes && self.waiting == 0 {
            self.closes = false;
            self.connection.handle_input(Input::Shutdown, now);
        }
    }

    /// The next segment of a burst. Flags that end something are on the last one.
    fn cut(&mut self, packet: Packet) -> Segment {
        let len = packet.len.min(self.connection.segment());
        let is_last = len == packet.len;
        let last_only = if is_last { 0 } else { bits::FIN | bits::PSH };
        let scale = if packet.has(bits::SYN) { 0 } else { self.connection.scale() };
        let mut sack = SackBlocks::NONE;
        for (start, end) in packet.options.sack.iter() {
            sack.push(start, end);
        }
        self.burst = (!is_last).then(|| Packet { seq: packet.seq + len, len: packet.len - len, ..packet });
        if len > 0 {
            self.sent += 1;
            let end = packet.seq + len;
            let is_new = (self.sent_until.distance_to(end) as i32) > 0;
            self.retransmitted += u64::from(!is_new);
            self.sent_until = if is_new { end } else { self.sent_until };
        }
        Segment {
            seq: packet.seq,
            ack: packet.ack,
            window: u32::from(packet.window) << scale,
            len: len as u16,
            flags: Flags::from_wire((packet.flags & !last_only) as u8),
            ecn: Ecn::new(packet.ecn, packet.flags),
            sack,
            timestamps: packet.options.timestamps.map(|stamps| Timestamps {
                // The clock of a simulation begins at zero, which stands for no time stamp.
                value: NonZeroU32::MIN.saturating_add(stamps.value),
                echo: stamps.echo,
            }),
        }
    }

    /// What arrived, with the options that the SYN of such a host has.
    fn packet(&self, segment: &Segment) -> Packet {
        let is_syn = segment.flags.has(Flags::SYN);
        let scale = if is_syn { 0 } else { self.connection.scale() };
        let mut options = Options {
            timestamps: segment
                .timestamps
                .map(|stamps| Stamps { value: stamps.value.get(), echo: stamps.echo.wrapping_sub(1) }),
            ..Options::default()
        };
        if is_syn {
            options.mss = Some(self.config.mss as u16);
            options.window_scale = self.config.window_scaling.then(|| self.connection.scale());
            options.sack_permitted = self.config.sack;
        }
        for (start, end) in segment.sack.iter() {
            options.sack.push(start, end);
        }
        Packet {
            seq: segment.seq,
            ack: segment.ack,
            window: (segment.window >> scale).min(u32::from(u16::MAX)) as u16,
            len: u32::from(segment.len),
            flags: u16::from(segment.flags.wire()) | segment.ecn.bits(),
            ecn: segment.ecn.field(),
            urgent: 0,
            options,
        }
    }
}

impl Stream for LinuxEnd {
    type Data = u64;

    fn open(&mut self, now: Instant) {
        self.input(Input::Open, now);
    }

    fn listen(&mut self, now: Instant) {
        self.input(Input::Listen, now);
    }

    fn write(&mut self, bytes: u64, now: Instant) {
        self.waiting += bytes;
        self.write_waiting(now);
    }

    fn read(&mut self, bytes: u64, now: Instant) -> u64 {
        let read = bytes.min(self.readable());
        self.input(Input::Read(read), now);
        read
    }

    fn close(&mut self, now: Instant) {
        self.closes = true;
        self.write_waiting(now);
    }

    fn abort(&mut self, now: Instant) {
        self.waiting = 0;
        self.input(Input::Abort, now);
    }

    fn readable(&self) -> u64 {
        self.connection.readable()
    }

    fn unacknowledged(&self) -> u64 {
        self.connection.unacknowledged() + self.waiting
    }
}

impl End for LinuxEnd {
    type Packet = Segment;

    fn receive(&mut self, segment: Segment, now: Instant) {
        let packet = self.packet(&segment);
        self.input(Input::Packet(packet), now);
    }

    fn refusal(segment: &Segment) -> Option<Segment> {
        segment.reset()
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.connection.handle_timeout(now);
        self.write_waiting(now);
    }

    fn poll(&mut self) -> Option<EndOutput<Segment>> {
        loop {
            if let Some(packet) = self.burst.take() {
                return Some(EndOutput::Transmit(self.cut(packet)));
            }
            match self.connection.poll_output()? {
                Output::Transmit(packet) => self.burst = Some(packet),
                // The application has more to write.
                Output::Event(Event::AllAcknowledged) if self.waiting > 0 => {}
                Output::Event(event) => return Some(EndOutput::Event(event.into())),
            }
        }
    }

    fn due(&self) -> Option<Instant> {
        self.connection.poll_timeout().map(|timeout| timeout.at)
    }

    fn packet_bytes(&self, segment: &Segment) -> u32 {
        let options = if segment.flags.has(Flags::SYN) {
            SYN_OPTIONS
        } else {
            segment.timestamp_bytes() + segment.sack.option_bytes()
        };
        HEADERS + options + u32::from(segment.len)
    }

    /// Retransmissions include tail loss probes.
    fn counts(&self) -> SenderCounts {
        let (timeouts, rtt_mean) = self.connection.sender_totals();
        SenderCounts {
            sent: self.sent,
            retransmitted: self.retransmitted,
            timeouts,
            ack_losses: self.connection.ack_losses(),
            rtt_mean: rtt_mean.map(Span::from_micros),
        }
    }

    fn sender_window(&self) -> SenderWindow {
        let mss = self.connection.segment();
        let (window, threshold, flight) = self.connection.window();
        let bytes = |segments: u32| segments.saturating_mul(mss);
        SenderWindow { window: bytes(window), threshold: bytes(threshold), flight: bytes(flight) }
    }
}
