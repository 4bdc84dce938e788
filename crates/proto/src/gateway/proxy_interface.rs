//! What a proxy of a device is given and what it gives: settings, inputs, outputs, timers, counters, and the rows of its
//! status.

use airwatt_base::{Instant, Seq, Span, with_defaults};

use super::ending::{BUFFER, ConnectionEnding, HALF_OPEN, IDLE};
use super::opening::Opening;
use crate::e2tcp::{Addresses, E2tcpConfig, Statistics, TableConfig};

/// A connection of a proxy. Numbers are not used again.
pub type ConnectionId = u64;

with_defaults! {
    /// Settings of a proxy.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct SplitProxyConfig {
        /// The E2TCP legs. Receive window and buffer are derived from `buffer`.
        pub wireless: E2tcpConfig = E2tcpConfig::default(),
        /// Data that a connection holds in each direction, in bytes, from 4 KiB: half at either leg. Default 256 KiB.
        pub buffer: u32 = BUFFER,
        /// Connections at the same time, at most: a host has so many descriptors. Default no limit.
        pub connections: usize = usize::MAX,
        /// Connections that have not been set up on both legs, at most. Default 4,096.
        pub half_open: usize = HALF_OPEN,
        /// Time without data or acknowledgements that ends a connection. Default 2 hours and 4 minutes.
        pub idle: Span = IDLE,
        /// Time without a sign of the peer after which an opening goes as plain TCP. Default 1.5 s.
        pub fallback: Span = Span::from_millis(1_500),
        /// Time without a sign of a peer that has connections, after which they are reset. Default 5 s.
        pub silence: Span = Span::from_secs(5),
        /// Time for the kernel's connection to be established after it was admitted. Default 10 s.
        pub admission: Span = Span::from_secs(10),
        /// Whether an opening of a peer is answered at once by a sign of life, as carriers without sessions need it. Default no.
        pub shows_presence: bool = false,
        /// Whether this end is the first to ask a silent peer. The other end asks a little later, if nobody has asked it by then: a question and
        /// its answer are a sign for both. Default yes.
        pub asks_first: bool = true,
        /// The number of this start.
        pub epoch: u64 = 0,
        /// Drawn at the start and known to this end alone: challenges are computed by it.
        pub secret: [u8; 32] = [0; 32],
    }
}

impl SplitProxyConfig {
    pub(super) fn half(&self) -> u32 {
        self.buffer.max(4_096) / 2
    }

    /// The settings of E2TCP with windows within the buffer.
    pub(super) fn table(&self) -> TableConfig {
        let half = self.half();
        let receive_window = self.wireless.receive_window.min(half / 2).min(u32::from(u16::MAX));
        let wireless = self.wireless.clone();
        TableConfig {
            connection: E2tcpConfig { receive_window, receive_buffer: half, read_at_once: false, ..wireless },
        }
    }
}

/// How much of the data of a connection must arrive, in per cent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shares {
    /// Of what this end receives.
    pub wanted: u8,
    /// Of what this end sends.
    pub offered: u8,
}

/// Why a connection of the kernel could not be opened, or was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectFailure {
    /// The host reset it.
    Refused,
    /// The host did not answer.
    TimedOut,
    /// The network cannot reach the host.
    Unreachable,
    /// This end does not relay connections to there.
    Declined,
}

/// An input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SplitProxyInput {
    /// A SYN of the kernel's side for this peer.
    Opening(usize, Opening),
    /// A SYN on its way from this peer's side as plain TCP, with the addresses of a connection that this end knows or knew.
    PlainOpening(usize, Opening),
    /// A reset on its way from this peer's side as plain TCP, with such addresses, and its sequence number.
    PlainReset(usize, Addresses, Seq),
    /// An application opens a connection through this peer by itself, for which it needs no SYN.
    Open(usize, Addresses, Shares),
    /// The application has gone before that connection was opened.
    Cancel(usize, Addresses),
    /// The connection that was admitted is established.
    Accepted(ConnectionId),
    /// The connection that the host was asked to open is established.
    Connected(ConnectionId),
    /// The kernel's connection has failed.
    Failed(ConnectionId, ConnectFailure),
    /// Data of the kernel's connection.
    Received(ConnectionId, Vec<u8>),
    /// The kernel's peer has closed its direction.
    PeerClosed(ConnectionId),
    /// A message of a peer.
    Message(usize, Vec<u8>),
    /// Something came from the peer, whatever it was.
    SignOfLife(usize),
    /// This end greets the peer: a session with it has begun, and openings that waited for it are sent again.
    Greet(usize),
    /// From now on openings go as plain TCP.
    Drain,
    /// All connections are reset.
    Abort,
}

/// An output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SplitProxyOutput {
    /// A message for a peer, and whether the peer will answer it.
    Transmit(usize, Vec<u8>, bool),
    /// A connection is to be opened between these addresses, for this peer.
    Connect(ConnectionId, usize, Addresses),
    /// The SYN goes to the kernel, which accepts the connection.
    Admit(ConnectionId, Opening),
    /// The application's own connection is established.
    Opened(ConnectionId, Addresses),
    /// The SYN goes on as plain TCP.
    Pass(Opening),
    /// The SYN is answered by a challenge with this number: there is a connection with its addresses.
    Challenge(Seq, Opening),
    /// The SYN goes to the kernel's connection with its addresses, which challenges it.
    Present(Opening),
    /// The SYN is answered by a reset.
    Refuse(Opening),
    /// The SYN is answered by an ICMP message.
    Unreachable(Opening),
    /// Bytes `at` to `at + bytes` of what the application will read are missing, and zeros in their place.
    Gap(ConnectionId, u64, u64),
    /// Bytes that had been missing have arrived.
    Late(ConnectionId, u64, Vec<u8>),
    /// The kernel's connection is to be reset, or given up.
    Reset(ConnectionId),
    /// The kernel's connection is closed in both directions and is no longer needed.
    Close(ConnectionId),
    /// Long packets do not arrive at this peer, and shorter ones do: packets carry at most this payload from now on.
    Narrowed(usize, u16),
    /// A connection is over.
    Ended(ConnectionId, Addresses, ConnectionEnding),
}

/// What a proxy has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProxyCounters {
    /// Connections whose opening was held.
    pub begun: u64,
    /// Connections that stood on both legs.
    pub relayed: u64,
    /// Connections that went as plain TCP.
    pub passed: u64,
    /// Of these, and of declined and refused ones, those beyond a limit.
    pub over_limit: u64,
    /// Openings of peers that are not relayed.
    pub declined: u64,
    /// Messages without an effect.
    pub dropped: u64,
    /// Bytes that were acknowledged to their sender and not delivered, as far as they were held here and not by sockets.
    pub undelivered: u64,
    /// Bytes that were given up, and replaced by zeros.
    pub given_up: u64,
    /// Connections that a host had lost and opened anew as plain TCP.
    pub replaced: u64,
    /// Times that a peer had forgotten its connections.
    pub restarts: u64,
    /// Times that a peer with connections was given up because it was silent.
    pub silences: u64,
}

/// What a timer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProxyTimer {
    /// When to serve the E2TCP connections of a peer.
    Peer(usize),
    /// When to look after a silent peer.
    Silence(usize),
    /// When to give up an opening.
    Opening(ConnectionId),
    /// When to end a silent connection.
    Idle(ConnectionId),
}

impl ProxyTimer {
    /// Its name, for counts of wake-ups.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Peer(_) => "e2tcp",
            Self::Silence(_) => "silence",
            Self::Opening(_) => "opening",
            Self::Idle(_) => "idle",
        }
    }
}

/// The state of a connection, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionRow {
    /// Its number.
    pub id: ConnectionId,
    /// The peer.
    pub peer: usize,
    /// From the host that opened it to the other.
    pub addresses: Addresses,
    /// Whether it was opened on this side.
    pub is_own: bool,
    /// Whether both legs stand.
    pub stands: bool,
    /// Bytes read from and written to the kernel's connection.
    pub socket_bytes: [u64; 2],
    /// Data that is held, towards the peer and towards the kernel's connection.
    pub held_bytes: [u64; 2],
    /// The counters of the E2TCP leg, if there is one.
    pub wireless: Option<Statistics>,
    /// When the connection began.
    pub began: Instant,
}
