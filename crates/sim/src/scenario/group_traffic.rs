//! Group-addressed traffic of neighbours: what the access point has to send to all stations of its cell.
//!
//! Each table stands for a number of hosts that send one kind of packet at random times. The hosts are on the access point's wire or
//! stations of other cells; packets reach the access point by themselves. Left out: the frame by which a wireless neighbour of the
//! same cell sends its packet to the access point, answers of the stations, bursts of one host, and filters by which access
//! points turn group-addressed frames into individually addressed ones or answer ARP themselves.

use airwatt_base::settings::{SettingError, in_range};
use airwatt_base::{Size, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::packet::GroupKind;

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
    pub(super) fn check(&self) -> Result<(), SettingError> {
        in_range("hosts", self.hosts, 1, MAX_HOSTS)?;
        in_range("interval", self.interval, Span::from_millis(1), MAX_INTERVAL)?;
        in_range("packet", self.packet(), Size::from_bytes(28), Size::from_bytes(1_500))
    }
}

const fn one() -> u32 {
    1
}
