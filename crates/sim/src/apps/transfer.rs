//! Data over transport connections: who opens them, who sends, and when everything has arrived.
//!
//! ```text
//!  one leg    server 0 ------------------------------ 1 station
//!  two legs   server 0 ------ 1 base station 2 ------ 3 station
//! ```
//! Ends have numbers. With two legs the base station ends the server's connection and has one of its own to the station
//! (I-TCP; the gateway of E2TCP): it writes to the one what it reads from the other, as long as the other's backlog is below
//! its buffer, so that a slow leg holds the fast one back through its window.
//!
//! Data goes one way, but for a [`Dialogue`]: there the receiver asks for it over the same connection.
//!
//! Left out: dialogues over two connections, and what becomes of data in the base station when a station moves on.

use airwatt_base::{Instant, Span};

use super::blocks::Blocks;
use super::delivery::Deliveries;
use super::dialogue::{Dialogue, Speaker};
use super::end::{End, EndEvent};
use super::source::Source;

/// Where an end is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// At the server.
    Server,
    /// At the base station, towards the server.
    BaseToServer,
    /// At the base station, towards the station.
    BaseToStation,
    /// At the station.
    Station,
}

/// How far a transfer has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// What the receiving application got, in bytes.
    pub received: u64,
    /// Zeros among it, in place of what the base station gave up.
    pub zeros: u64,
    /// Payload that the receiver gave up, by leave of the reliability, in bytes.
    pub skipped: u64,
    /// When the application asked for it.
    pub started: Option<Instant>,
    /// When the receiver had everything.
    pub completed: Option<Instant>,
    /// When the sender knew.
    pub acknowledged: Option<Instant>,
    /// Data packets that arrived, and the sum of their ways through the network.
    pub packets_arrived: u64,
    /// Sum over data packets of the time from the sending host to the receiving one.
    pub latency: Span,
    /// Pure acknowledgements lost on the way.
    pub acks_lost: u64,
    /// Bytes of IP packets that both ends of the station's leg sent.
    pub bytes_sent: u64,
    /// A connection ended before the transfer was complete.
    pub failed: bool,
}

impl Progress {
    /// Payload delivered to the receiving application, in bytes.
    pub const fn delivered(&self) -> u64 {
        self.received.saturating_sub(self.zeros)
    }

    /// Payload given up on the way, in bytes.
    pub const fn given_up(&self) -> u64 {
        self.skipped + self.zeros
    }

    /// Whether a flow with a size is done, one way or the other.
    const fn is_over(&self) -> bool {
        self.failed || self.acknowledged.is_some() && self.completed.is_some()
    }
}

/// One connection: its end towards the server, and its end towards the station.
#[derive(Clone, Debug)]
pub struct Leg {
    /// The end towards the server.
    pub near: End,
    /// The end towards the station.
    pub far: End,
}

/// Data between the server and a station.
#[derive(Clone, Debug)]
pub struct Transfer {
    /// The connections, from the server to the station: one or two.
    pub legs: Vec<Leg>,
    /// What the base station holds for a leg at most, in bytes.
    pub relay_buffer: u64,
    /// Whether connections begin with a SYN exchange; else they stand from the start.
    pub handshake: bool,
    /// Whether data goes to the station.
    pub down: bool,
    /// What the application sends.
    pub source: Source,
    /// Instead of the source: who asks and who replies. The receiver of the data is the client.
    pub dialogue: Option<Dialogue>,
    /// How far it has come.
    pub progress: Progress,
    /// How long data took over a point-to-point link.
    pub deliveries: Deliveries,
    /// Of a stream: how long its blocks took.
    pub blocks: Option<Blocks>,
}

impl Transfer {
    /// A transfer over `legs` that has not begun.
    pub fn new(legs: Vec<Leg>, relay_buffer: u64, handshake: bool, down: bool, source: Source) -> Self {
        let (progress, deliveries) = (Progress::default(), Deliveries::default());
        let blocks = source.is_stream().then(Blocks::default);
        Self { legs, relay_buffer, handshake, down, source, dialogue: None, progress, deliveries, blocks }
    }

    /// Whether it ends by itself.
    pub fn is_finite(&self) -> bool {
        self.dialogue.as_ref().map_or(self.source.size().is_some(), |dialogue| dialogue.count().is_some())
    }

    /// What the dialogue has an end write now: which end, and how many bytes.
    pub fn take_speech(&mut self) -> Option<(usize, u64)> {
        let (speaker, bytes) = self.dialogue.as_mut()?.take_speech()?;
        let end = match speaker {
            Speaker::Client => self.receiver(),
            Speaker::Server => self.sender(),
        };
        Some((end, bytes))
    }

    /// How many ends there are.
    pub fn ends(&self) -> usize {
        2 * self.legs.len()
    }

    /// Where an end is.
    pub fn side(&self, end: usize) -> Side {
        match end {
            0 => Side::Server,
            end if end + 1 == self.ends() => Side::Station,
            1 => Side::BaseToServer,
            _ => Side::BaseToStation,
        }
    }

    /// The end on this side, if there is one.
    pub fn at(&self, side: Side) -> Option<usize> {
        match side {
            Side::Server => Some(0),
            Side::Station => Some(self.ends() - 1),
            Side::BaseToServer => (self.ends() > 2).then_some(1),
            Side::BaseToStation => (self.ends() > 2).then_some(2),
        }
    }

    /// One of the ends.
    pub fn end(&self, end: usize) -> &End {
        let leg = &self.legs[end / 2];
        if end.is_multiple_of(2) { &leg.near } else { &leg.far }
    }

    /// One of the ends.
    pub fn end_mut(&mut self, end: usize) -> &mut End {
        let leg = &mut self.legs[end / 2];
        if end.is_multiple_of(2) { &mut leg.near } else { &mut leg.far }
    }

    /// The end that the application writes to.
    pub fn sender(&self) -> usize {
        if self.down { 0 } else { self.ends() - 1 }
    }

    /// The end that the data arrive at.
    pub fn receiver(&self) -> usize {
        if self.down { self.ends() - 1 } else { 0 }
    }

    /// Whether a flow with a size is done, one way or the other.
    pub const fn is_over(&self) -> bool {
        self.progress.is_over()
    }

    /// Takes note of what an end tells its application.
    pub fn note(&mut self, end: usize, event: EndEvent, now: Instant) {
        let (at_receiver, at_sender) = (end == self.receiver(), end == self.sender());
        let progress = &mut self.progress;
        if let (Some(dialogue), EndEvent::Delivered(bytes)) = (&mut self.dialogue, event) {
            dialogue.heard(if at_receiver { Speaker::Client } else { Speaker::Server }, bytes, now);
            if dialogue.is_over() {
                progress.completed.get_or_insert(now);
                progress.acknowledged.get_or_insert(now);
            }
        }
        match event {
            EndEvent::Delivered(bytes) if at_receiver => progress.received += bytes,
            EndEvent::Skipped(bytes) if at_receiver => progress.skipped += bytes,
            // The base station passes zeros on for what it can do without.
            EndEvent::Skipped(bytes) => progress.zeros += bytes,
            EndEvent::Late(bytes) if at_receiver => {
                progress.received += bytes;
                progress.skipped -= bytes;
            }
            EndEvent::AllAcknowledged
                if at_sender && self.dialogue.is_none() && self.source.is_exhausted() =>
            {
                progress.acknowledged.get_or_insert(now);
            }
            EndEvent::Lost => progress.failed |= !progress.is_over(),
            _ => {}
        }
        let progress = &mut self.progress;
        if at_receiver
            && self.dialogue.is_none()
            && self.source.size().is_some_and(|size| progress.received + progress.skipped >= size)
        {
            progress.completed.get_or_insert(now);
        }
    }

    /// How many bytes the base station can pass on, and from which end to which; `None` if nothing waits.
    pub fn relayable(&self) -> Option<(usize, usize, u64)> {
        if self.legs.len() < 2 {
            return None;
        }
        let (from, to) = if self.down { (1, 2) } else { (2, 1) };
        let room = self.relay_buffer.saturating_sub(self.end(to).unacknowledged());
        let bytes = self.end(from).readable().min(room);
        (bytes > 0).then_some((from, to, bytes))
    }
}
