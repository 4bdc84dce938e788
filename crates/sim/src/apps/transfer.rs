//! One transfer over a TCP connection: who opens it, who sends, and when everything has arrived.

use airwatt_base::{Instant, Span};
use airwatt_proto::tcp::{Connection, Event, TcpConfig};

/// How far a transfer has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Payload delivered in order to the receiving application, in bytes.
    pub delivered: u64,
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
    /// Bytes of IP packets that both ends sent.
    pub bytes_sent: u64,
    /// The connection ended before the transfer was complete.
    pub failed: bool,
}

/// A transfer between the server and a station.
#[derive(Clone, Debug)]
pub struct TcpFlow {
    /// The end at the server.
    pub server: Connection,
    /// The end at the station.
    pub station: Connection,
    /// Whether the connection begins with a SYN exchange; else it stands from the start.
    pub handshake: bool,
    /// Whether data goes to the station.
    pub down: bool,
    /// How much; `None` for as long as the run lasts.
    pub size: Option<u64>,
    /// How far it has come.
    pub progress: Progress,
}

impl TcpFlow {
    /// A transfer whose connection is opened by the station, or stands already if `handshake` is false.
    pub fn new(config: &TcpConfig, handshake: bool, down: bool, size: Option<u64>) -> Self {
        let end = || {
            if handshake {
                Connection::new(config.clone())
            } else {
                Connection::established(config.clone(), config)
            }
        };
        Self { server: end(), station: end(), handshake, down, size, progress: Progress::default() }
    }

    /// One of the ends.
    pub const fn end_mut(&mut self, at_server: bool) -> &mut Connection {
        if at_server { &mut self.server } else { &mut self.station }
    }

    /// The end that sends the data.
    pub const fn sender(&self) -> &Connection {
        if self.down { &self.server } else { &self.station }
    }

    /// The end that receives the data.
    pub const fn receiver(&self) -> &Connection {
        if self.down { &self.station } else { &self.server }
    }

    /// What the sending application writes at once: a whole file, or more than any run can carry.
    pub const fn written(&self) -> u64 {
        match self.size {
            Some(size) => size,
            None => u64::MAX >> 8,
        }
    }

    /// Whether a flow with a size is done, one way or the other.
    pub const fn is_over(&self) -> bool {
        self.progress.acknowledged.is_some() || self.progress.failed
    }

    /// Takes note of what one end tells its application.
    pub fn note(&mut self, at_server: bool, event: Event, now: Instant) {
        let at_receiver = at_server != self.down;
        match event {
            Event::Delivered { bytes } if at_receiver => {
                self.progress.delivered += bytes;
                if self.size.is_some_and(|size| self.progress.delivered >= size) {
                    self.progress.completed.get_or_insert(now);
                }
            }
            Event::AllAcknowledged if !at_receiver => {
                self.progress.acknowledged.get_or_insert(now);
            }
            Event::Reset | Event::TimedOut => self.progress.failed = self.progress.acknowledged.is_none(),
            _ => {}
        }
    }
}
