//! The records that are kept of a capture: small, without payload.

use std::net::IpAddr;

use airwatt_base::{Instant, Rate, Seq};
use airwatt_dot11::{FrameControl, MacAddress, Preamble};

/// One packet. An A-MSDU makes one of these for each MSDU, of which the first has the frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Packet {
    /// Its number in the file, from 1, as Wireshark counts.
    pub number: u32,
    /// When, since the earliest packet of the capture.
    pub at: Instant,
    /// Bytes of the frame as it was on the link, however many were captured.
    pub wire_bytes: u32,
    /// Source and destination MAC address, where the link has them.
    pub macs: Option<(MacAddress, MacAddress)>,
    /// The IP packet in it.
    pub ip: Option<Ip>,
    /// Index into [`crate::Capture::frames`].
    pub frame: Option<u32>,
    /// An 802.11 retransmission of a frame that the capture already has: on the air again, not a packet again.
    pub repeated: bool,
}

/// An IP packet; of a tunnelled one the inner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ip {
    /// Sender.
    pub source: IpAddr,
    /// Receiver.
    pub destination: IpAddr,
    /// Bytes from the IP header on, as the header states them.
    pub bytes: u32,
    /// What it carries.
    pub transport: Transport,
}

/// What an IP packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A TCP segment.
    Tcp(TcpFields),
    /// A UDP datagram. QUIC has no mark that survives encryption: port 443 is taken for it (RFC 9000 leaves the port
    /// open, RFC 9114 3.1 uses 443).
    Udp {
        /// Sender's port.
        source_port: u16,
        /// Receiver's port.
        destination_port: u16,
    },
    /// Another protocol, by its number; also fragments after the first, whose ports are unknown.
    Other(u8),
}

/// The fields of a TCP header that an analysis needs (RFC 9293 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpFields {
    /// Sender's port.
    pub source_port: u16,
    /// Receiver's port.
    pub destination_port: u16,
    /// Sequence number of the first payload byte.
    pub sequence: Seq,
    /// Acknowledgement number.
    pub acknowledgement: Seq,
    /// The flags octet: FIN 1, SYN 2, RST 4, PSH 8, ACK 16.
    pub flags: u8,
    /// Window as sent, before scaling.
    pub window: u16,
    /// Payload bytes.
    pub payload: u32,
}

impl TcpFields {
    /// FIN.
    pub const FIN: u8 = 1;
    /// SYN.
    pub const SYN: u8 = 2;
    /// RST.
    pub const RST: u8 = 4;
    /// ACK.
    pub const ACK: u8 = 16;

    /// Whether all flags of `flags` are set.
    pub const fn has(&self, flags: u8) -> bool {
        self.flags & flags == flags
    }

    /// What the segment takes of the sequence space: payload, SYN and FIN.
    pub const fn sequence_length(&self) -> u32 {
        self.payload + (self.flags & Self::SYN != 0) as u32 + (self.flags & Self::FIN != 0) as u32
    }
}

impl Transport {
    /// The ports, source first.
    pub const fn ports(&self) -> Option<(u16, u16)> {
        match self {
            Self::Tcp(tcp) => Some((tcp.source_port, tcp.destination_port)),
            Self::Udp { source_port, destination_port } => Some((*source_port, *destination_port)),
            Self::Other(_) => None,
        }
    }
}

/// An 802.11 frame as a monitor saw it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AirFrame {
    /// Kind and flags.
    pub control: FrameControl,
    /// Address 1.
    pub receiver: MacAddress,
    /// Address 2; CTS and ACK have none.
    pub transmitter: Option<MacAddress>,
    /// The cell, where the frame names it.
    pub bssid: Option<MacAddress>,
    /// Sequence control, raw.
    pub sequence_control: Option<u16>,
    /// Traffic identifier of a QoS frame.
    pub tid: Option<u8>,
    /// End of service period.
    pub eosp: bool,
    /// The association identifier in a PS-Poll or in a successful association response.
    pub aid: Option<u16>,
    /// In an association request: the station's U-APSD access categories, one bit each; zero without WMM.
    pub requested_uapsd: Option<u8>,
    /// Index into [`crate::Capture::beacons`].
    pub beacon: Option<u32>,
    /// Bytes of the MPDU with its FCS: what the rate applies to.
    pub air_bytes: u32,
    /// Bytes of what the body carries above LLC: IP bytes, also of encrypted bodies, whose overhead is taken off.
    pub msdu_bytes: u32,
    /// Data rate, from radiotap.
    pub rate: Option<Rate>,
    /// Physical header, from radiotap.
    pub preamble: Option<Preamble>,
    /// The capturing machine sent it itself.
    pub sent_here: bool,
    /// It failed its FCS check: nothing in it can be trusted.
    pub damaged: bool,
}

/// What a beacon said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beacon {
    /// Whose.
    pub bssid: MacAddress,
    /// Beacon interval in time units of 1,024 us.
    pub interval_tu: u16,
    /// Beacons until the next DTIM beacon, and every how many there is one; `None` without a sound TIM.
    pub dtim: Option<(u8, u8)>,
    /// Association identifiers with their TIM bit set.
    pub aids: Vec<u16>,
}

/// What is known of a cell from its beacons and probe responses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Network {
    /// Its name; damaged text is replaced.
    pub ssid: String,
    /// Whether it announces U-APSD; `None` if it has no WMM element.
    pub uapsd: Option<bool>,
    /// Beacon interval in time units of 1,024 us.
    pub interval_tu: u16,
    /// Every how many beacons there is a DTIM beacon; zero if no beacon was seen.
    pub dtim_period: u8,
    /// Beacons in the capture.
    pub beacons: u32,
}
