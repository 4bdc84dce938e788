//! How much a queue of the air holds: packets, as access points and stations count them.

use airwatt_base::QueueLimit;
use serde::{Deserialize, Serialize};

/// At most this many packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "QueueLimit", into = "QueueLimit")]
pub struct PacketLimit(pub u32);

impl From<PacketLimit> for QueueLimit {
    fn from(PacketLimit(packets): PacketLimit) -> Self {
        Self::Packets(packets)
    }
}

impl TryFrom<QueueLimit> for PacketLimit {
    type Error = String;

    fn try_from(limit: QueueLimit) -> Result<Self, String> {
        match limit {
            QueueLimit::Packets(packets) => Ok(Self(packets)),
            QueueLimit::Bytes(_) => {
                Err(format!("expected a number of packets such as 100packets, got {limit}"))
            }
        }
    }
}
