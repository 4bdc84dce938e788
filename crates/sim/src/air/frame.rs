//! MAC frames: what waits in a transmission queue, and what is recorded of a frame on the air.

use airwatt_base::{Instant, Rate, Span};
use airwatt_proto::powersave::{Control, ServiceFlags, StationId};

use crate::packet::Packet;

/// A frame that waits for the air, or is on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mpdu {
    /// The station that it is from or for.
    pub station: StationId,
    /// What it carries.
    pub body: Body,
    /// More Data and EOSP, once stamped.
    pub flags: ServiceFlags,
    /// Whether a first attempt has been made: header bits are fixed from there on.
    pub stamped: bool,
    /// Failed attempts.
    pub retries: u32,
    /// 12-bit sequence number of its sender.
    pub sequence: u16,
}

/// What a frame carries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Body {
    /// An IP packet.
    Data(Packet),
    /// A station's power-save frame.
    Control(Control),
    /// A QoS Null or Null from the access point: the answer to a trigger or poll that finds nothing buffered.
    NullData,
}

/// Kind of a frame on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// QoS Data.
    Data,
    /// QoS Null.
    QosNull,
    /// Null.
    Null,
    /// PS-Poll.
    PsPoll,
    /// Beacon.
    Beacon,
    /// Request to send.
    Rts,
    /// Clear to send.
    Cts,
    /// Acknowledgement.
    Ack,
}

impl Kind {
    /// The name in traces.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::QosNull => "qos-null",
            Self::Null => "null",
            Self::PsPoll => "ps-poll",
            Self::Beacon => "beacon",
            Self::Rts => "rts",
            Self::Cts => "cts",
            Self::Ack => "ack",
        }
    }
}

/// A node of the cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// The access point.
    AccessPoint,
    /// A station.
    Station(StationId),
    /// Everyone: beacons.
    All,
}

/// A frame as it was on the air.
#[derive(Clone, Debug, PartialEq)]
pub struct AirFrame {
    /// When its preamble began.
    pub start: Instant,
    /// How long it lasted.
    pub duration: Span,
    /// Who sent it.
    pub from: Node,
    /// For whom.
    pub to: Node,
    /// What it was.
    pub kind: Kind,
    /// At which rate its body went out.
    pub rate: Rate,
    /// MAC header to FCS, in bytes.
    pub bytes: u32,
    /// Whether its receiver got it.
    pub received: bool,
    /// Whether it was an attempt after the first.
    pub retry: bool,
    /// The power-management bit.
    pub pm: bool,
    /// More Data and EOSP.
    pub flags: ServiceFlags,
    /// 12-bit sequence number.
    pub sequence: u16,
    /// NAV that the frame announces: the Duration field.
    pub nav: Span,
    /// The IP packet inside.
    pub packet: Option<Packet>,
    /// Beacons: stations whose TIM bit is set, and the DTIM count.
    pub beacon: Option<(u8, Vec<StationId>)>,
}
