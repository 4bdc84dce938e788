//! Group-addressed traffic of neighbours: what an access point has to send to all stations of its cell.
//!
//! Each table stands for a number of hosts that send one kind of packet at random times. The hosts are on the access point's wire or
//! stations of other cells; packets reach the access point by themselves. Left out: the frame by which a wireless neighbour of the
//! same cell sends its packet to the access point, answers of the stations, bursts of one host, and filters by which access
//! points turn group-addressed frames into individually addressed ones or answer ARP themselves.

use airwatt_base::settings::{SettingError, in_range};
use airwatt_base::{Instant, RandomStream, Size, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::packet::{GroupKind, Packet};

/// Longest mean time between two packets of a host: a week.
const MAX_INTERVAL: Span = Span::from_secs(7 * 24 * 3_600);
/// Most hosts in one table.
const MAX_HOSTS: u32 = 100_000;

/// Group-addressed packets of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GroupTraffic {
    /// What the packets are: `arp`, `mdns` or `neighbour-discovery`.
    pub kind: GroupKind,
    /// Number of hosts that send them.
    #[serde(default = "one")]
    pub hosts: u32,
    /// Mean time between two packets of one host. The times between are exponentially distributed.
    pub interval: Span,
    /// Length of a packet in the frame, without the MAC and LLC headers. Default: ARP 46 bytes, since an Ethernet frame is padded;
    /// mDNS 200 bytes, assumed; neighbour discovery 72 bytes, a solicitation with the sender's address (RFC 4861 4.3).
    pub packet: Option<Size>,
}

impl GroupTraffic {
    /// The length of a packet.
    pub fn packet(&self) -> Size {
        self.packet.unwrap_or(Size::from_bytes(match self.kind {
            GroupKind::Arp => 46,
            GroupKind::Mdns => 200,
            GroupKind::NeighbourDiscovery => 72,
        }))
    }

    /// Checks the ranges.
    ///
    /// # Errors
    /// A value outside its range.
    pub(crate) fn check(&self) -> Result<(), SettingError> {
        in_range("hosts", self.hosts, 1, MAX_HOSTS)?;
        in_range("interval", self.interval, Span::from_millis(1), MAX_INTERVAL)?;
        in_range("packet", self.packet(), Size::from_bytes(28), Size::from_bytes(1_500))
    }
}

const fn one() -> u32 {
    1
}

/// One source: a Poisson process.
#[derive(Clone, Debug)]
struct Source {
    config: GroupTraffic,
    stream: RandomStream,
    next: Instant,
}

impl Source {
    fn schedule(&mut self, from: Instant) {
        let mean_s = self.config.interval.as_secs_f64() / f64::from(self.config.hosts);
        self.next = from + Span::from_secs_f64(self.stream.exponential(mean_s));
    }
}

/// All sources of one access point.
#[derive(Clone, Debug)]
pub(super) struct GroupSources(Vec<Source>);

impl GroupSources {
    /// Makes the sources of the access point with this name. Each has a random stream of its own.
    pub(super) fn new(configs: &[GroupTraffic], name: &str, seed: u64) -> Self {
        let source = |(index, config): (usize, &GroupTraffic)| {
            let stream = RandomStream::new(seed, &format!("{name}/group/{index}"));
            let mut source = Source { config: config.clone(), stream, next: Instant::ZERO };
            source.schedule(Instant::ZERO);
            source
        };
        Self(configs.iter().enumerate().map(source).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The time of the next packet.
    pub(super) fn next(&self) -> Option<Instant> {
        self.0.iter().map(|source| source.next).min()
    }

    /// Takes a packet that is due.
    pub(super) fn take(&mut self, now: Instant) -> Option<Packet> {
        let source = self.0.iter_mut().find(|source| source.next <= now)?;
        let host = source.stream.below(source.config.hosts);
        let at = source.next;
        source.schedule(at);
        Some(Packet::group(source.config.kind, host, source.config.packet().as_bytes() as u32, at))
    }
}
