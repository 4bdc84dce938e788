//! What kind of traffic a flow is, by its marks, its packet sizes and its pauses.
//!
//! A flow is a connection or a pair of endpoints, both directions together. Its traffic is divided into *episodes*: packets
//! with no pause of [`LatencyGuardConfig::hold`](super::LatencyGuardConfig::hold) or longer between them.
//!
//! * A differentiated services code point says what the sender wants (RFC 4594, RFC 8622), and is believed.
//! * A flow without a mark is **interactive** from its first packet on, until it shows otherwise.
//! * It is **bulk** when it moves much in one direction in large packets. A call with pictures moves as much, but in both
//!   directions.
//! * It is a **keep-alive** when its last two episodes were one short exchange each.
//!
//! Left out: ports and names of protocols, which say little since most traffic is encrypted and on port 443.

use airwatt_base::{Instant, Span};

/// Packets of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Hash)]
pub struct Volume {
    /// Number of packets.
    pub packets: u64,
    /// Their length in bytes, with IP headers.
    pub bytes: u64,
}

impl Volume {
    fn add(&mut self, other: Self) {
        self.packets += other.packets;
        self.bytes += other.bytes;
    }

    fn mean_bytes(self) -> u64 {
        self.bytes.checked_div(self.packets).unwrap_or(0)
    }
}

/// The packets of one flow since it was sampled last: one packet in a simulation, many on a device that counts in the
/// kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowSample {
    /// Number of the flow, the same for both directions.
    pub flow: u64,
    /// Differentiated services code point of its packets (RFC 2474).
    pub dscp: u8,
    /// Packets sent by this host.
    pub sent: Volume,
    /// Packets received by this host.
    pub received: Volume,
    /// Time of the first of them.
    pub first: Instant,
    /// Time of the last of them.
    pub last: Instant,
}

impl FlowSample {
    /// Bytes of both directions.
    pub const fn bytes(&self) -> u64 {
        self.sent.bytes + self.received.bytes
    }
}

/// What kind of traffic a flow is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FlowClass {
    /// Somebody waits for its packets: a shell, a page, a game, a call.
    Interactive,
    /// Rare short exchanges: keep-alives, polls, probes.
    KeepAlive,
    /// A download, an upload, or a stream.
    Bulk,
    /// Marked as less important than all else.
    Background,
}

impl FlowClass {
    /// The name, as documents have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Interactive => "interactive",
            Self::KeepAlive => "keep-alive",
            Self::Bulk => "bulk",
            Self::Background => "background",
        }
    }
}

/// Code points of traffic that somebody waits for: expedited forwarding, voice-admit, CS5, CS4, AF4x and AF2x (RFC 4594
/// section 2.3), and the low-delay bit of RFC 1349 at its place, which OpenSSH set until 7.7.
const INTERACTIVE_DSCP: [u8; 11] = [46, 44, 40, 32, 34, 36, 38, 18, 20, 22, 4];
/// CS1 (RFC 4594) and lower effort (RFC 8622).
const BACKGROUND_DSCP: [u8; 2] = [8, 1];

/// An episode of at most this many packets and bytes is a keep-alive: a request, its response, and their acknowledgements,
/// or the handshake of a resolver.
const EXCHANGE_PACKETS: u64 = 4;
const EXCHANGE_BYTES: u64 = 600;
/// Episodes of this kind in a row that make a keep-alive of a flow.
const EXCHANGES: u8 = 2;

/// The rate from which on a flow is bulk, if it is one-sided: four times that of a call without pictures (64 kbit/s and
/// headers).
const BULK_BPS: u64 = 250_000;
/// Volume from which on the rate of an episode counts, and its least duration. A page of 32 kB in half a second is none.
const BULK_BYTES: u64 = 64_000;
const BULK_TIME: Span = Span::from_millis(500);
/// Volume that makes a flow bulk whatever its duration.
const BULK_BYTES_AT_ONCE: u64 = 1_000_000;
/// A flow is one-sided if one direction has this many times the bytes of the other one. Acknowledgements of a download are
/// a thirtieth or less.
const ONE_SIDED: u64 = 8;
/// Mean packet of a bulk transfer in bytes, at least.
const BULK_PACKET_BYTES: u64 = 600;

/// A flow that is observed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    pub(super) number: u64,
    class: FlowClass,
    /// The present episode.
    began: Instant,
    sent: Volume,
    received: Volume,
    pub(super) last: Instant,
    /// Short exchanges in a row.
    exchanges: u8,
}

impl Flow {
    pub(super) fn new(sample: &FlowSample) -> Self {
        Self {
            number: sample.flow,
            class: FlowClass::Interactive,
            began: sample.first,
            sent: Volume::default(),
            received: Volume::default(),
            last: sample.first,
            exchanges: 0,
        }
    }

    pub(super) const fn class(&self) -> FlowClass {
        self.class
    }

    /// Adds a sample. `pause` separates episodes.
    pub(super) fn add(&mut self, sample: &FlowSample, pause: Span) {
        if sample.first.saturating_since(self.last) >= pause {
            self.end_episode(sample.first);
        }
        self.sent.add(sample.sent);
        self.received.add(sample.received);
        self.last = self.last.max(sample.last);
        self.class = self.classify(sample.dscp);
    }

    fn end_episode(&mut self, now: Instant) {
        self.exchanges = if self.is_exchange() { self.exchanges.saturating_add(1).min(EXCHANGES) } else { 0 };
        if self.class == FlowClass::Bulk && !self.is_bulk() {
            self.class = FlowClass::Interactive;
        }
        self.began = now;
        self.sent = Volume::default();
        self.received = Volume::default();
    }

    fn is_exchange(&self) -> bool {
        self.sent.packets + self.received.packets <= EXCHANGE_PACKETS
            && self.sent.bytes + self.received.bytes <= EXCHANGE_BYTES
    }

    /// Whether the present episode is a one-sided transfer.
    fn is_bulk(&self) -> bool {
        let (more, less) = if self.sent.bytes > self.received.bytes {
            (self.sent, self.received)
        } else {
            (self.received, self.sent)
        };
        if less.bytes * ONE_SIDED > more.bytes || more.mean_bytes() < BULK_PACKET_BYTES {
            return false;
        }
        let elapsed = self.last.saturating_since(self.began);
        let is_fast = elapsed >= BULK_TIME
            && more.bytes >= BULK_BYTES
            && u128::from(more.bytes) * 8 * 1_000_000_000
                >= u128::from(BULK_BPS) * u128::from(elapsed.as_nanos());
        is_fast || more.bytes >= BULK_BYTES_AT_ONCE
    }

    fn classify(&self, dscp: u8) -> FlowClass {
        if INTERACTIVE_DSCP.contains(&dscp) {
            return FlowClass::Interactive;
        }
        if BACKGROUND_DSCP.contains(&dscp) {
            return FlowClass::Background;
        }
        // A stream pauses between its segments, so a flow stays bulk until a whole episode was none.
        if self.class == FlowClass::Bulk || self.is_bulk() {
            return FlowClass::Bulk;
        }
        if self.exchanges >= EXCHANGES && self.is_exchange() {
            return FlowClass::KeepAlive;
        }
        FlowClass::Interactive
    }
}
