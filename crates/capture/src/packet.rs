//! The records of a capture: small, without payload; and who takes packets while a file is read.

use std::collections::BTreeMap;
use std::net::IpAddr;

use airwatt_base::{Instant, Rate, Seq, Span};
use airwatt_dot11::{
    AccessParameters, Band, FrameControl, FrameKind, MacAddress, QuietInterval, TwtSchedule, TxVector,
    WnmSleep,
};

use crate::absence::Absences;

/// One packet. An A-MSDU becomes one of these for each MSDU, of which the first has the frame.
#[derive(Clone, Debug, PartialEq)]
pub struct CapturedPacket {
    /// Its number in the file, from 1, as Wireshark counts.
    pub number: u32,
    /// Time since the earliest packet of the capture.
    pub at: Instant,
    /// Bytes of the frame on the link, of which the capture may hold fewer.
    pub wire_bytes: u32,
    /// Source and destination MAC address, if the link type has them.
    pub macs: Option<(MacAddress, MacAddress)>,
    /// The IP packet in it.
    pub ip: Option<Ip>,
    /// Index into [`crate::Capture::frames`].
    pub frame: Option<u32>,
    /// The protocol of a group-addressed packet; of 802.11 frames only those of access points.
    pub group: Option<GroupProtocol>,
    /// Whether it is an 802.11 retransmission of a frame that is in the capture: another transmission, but no other packet.
    pub repeated: bool,
}

/// An IP packet; the inner one if it is tunnelled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ip {
    /// Sender.
    pub source: IpAddr,
    /// Receiver.
    pub destination: IpAddr,
    /// Bytes from the IP header on, as the header states them.
    pub bytes: u32,
    /// Its transport header.
    pub transport: TransportHeader,
}

/// The transport protocol of an IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransportHeader {
    /// A TCP segment.
    Tcp(TcpFields),
    /// A UDP datagram. Encrypted QUIC cannot be recognized, so port 443 stands for it (RFC 9000 leaves the port open,
    /// RFC 9114 3.1 uses 443).
    Udp {
        /// Sender's port.
        source_port: u16,
        /// Receiver's port.
        destination_port: u16,
    },
    /// An echo request or reply (RFC 792, RFC 4443 4).
    Echo {
        /// ICMP or ICMPv6.
        protocol: u8,
        /// Whose request it is.
        identifier: u16,
        /// Which of them.
        number: u16,
        /// Whether it is a reply.
        reply: bool,
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
    /// The window field, not scaled.
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

    /// The length of the segment in sequence space: payload, SYN and FIN.
    pub const fn sequence_length(&self) -> u32 {
        self.payload + (self.flags & Self::SYN != 0) as u32 + (self.flags & Self::FIN != 0) as u32
    }
}

impl TransportHeader {
    /// The ports, source first.
    pub const fn ports(&self) -> Option<(u16, u16)> {
        match self {
            Self::Tcp(tcp) => Some((tcp.source_port, tcp.destination_port)),
            Self::Udp { source_port, destination_port } => Some((*source_port, *destination_port)),
            Self::Echo { .. } | Self::Other(_) => None,
        }
    }
}

/// An 802.11 frame as a monitor received it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AirFrame {
    /// Kind and flags.
    pub control: FrameControl,
    /// Address 1.
    pub receiver: MacAddress,
    /// Address 2; CTS and ACK have none.
    pub transmitter: Option<MacAddress>,
    /// The BSSID of the cell, if the frame has it.
    pub bssid: Option<MacAddress>,
    /// Sequence control, raw.
    pub sequence_control: Option<u16>,
    /// Traffic identifier of a QoS frame.
    pub tid: Option<u8>,
    /// End of service period.
    pub eosp: bool,
    /// The association identifier in a PS-Poll or in a successful association response.
    pub aid: Option<u16>,
    /// In an association request: the access categories of which frames trigger and are delivered by U-APSD, as bits of the WMM element; `None`
    /// where that was cut off, as all that follows.
    pub requested_uapsd: Option<u8>,
    /// Whether a frame of an association has a Multi-Link element (802.11be), so that the station may be awake on another link.
    pub is_multi_link: Option<bool>,
    /// Of an association: the sender may ask for target wake time (the station), or answers who does (the access point).
    pub supports_twt: Option<bool>,
    /// Of an action frame: what it changes about the station's sleep.
    pub sleep_change: Option<SleepChange>,
    /// In an association request: the beacon intervals that the station may sleep through.
    pub listen_interval: Option<u16>,
    /// In an association response: whether its WMM element grants U-APSD.
    pub grants_uapsd: Option<bool>,
    /// Index into [`crate::Capture::beacons`].
    pub beacon: Option<u32>,
    /// Bytes of the MPDU with its FCS, to which the rate applies.
    pub air_bytes: u32,
    /// Bytes that the body carries above LLC: IP bytes, also of encrypted bodies, whose overhead is subtracted.
    pub msdu_bytes: u32,
    /// How it was sent, from radiotap.
    pub vector: Option<TxVector>,
    /// When the radio of the monitor received it, in microseconds of that radio's own clock (radiotap's TSFT).
    pub received_us: Option<u64>,
    /// The band in which it was received, from radiotap.
    pub band: Option<Band>,
    /// Whether it follows another frame in its A-MPDU, from radiotap.
    pub is_continued: bool,
    /// Whether the capturing machine sent it.
    pub sent_here: bool,
    /// Whether it failed its FCS check, so that none of its fields is reliable.
    pub damaged: bool,
    /// For how long after its end it reserves the medium, by its Duration field.
    pub reserves: Span,
    /// Whether it is a management frame that is buffered as data is, and has a PM bit.
    pub is_bufferable: bool,
    /// Of a Trigger frame that calls stations as an RTS does (MU-RTS, 802.11ax-2021 9.3.1.22.5): index into [`crate::Capture::called`].
    pub mu_rts: Option<u32>,
    /// Of a compressed block acknowledgement: index into [`crate::Capture::block_acks`].
    pub block_ack: Option<u32>,
}

/// A compressed block acknowledgement (802.11-2020 9.3.1.8.2) of at most 256 MPDUs.
#[derive(Clone, Copy, Debug)]
pub struct BlockAck {
    /// Traffic identifier.
    pub tid: u8,
    /// The sequence number that the first bit is about.
    pub start: u16,
    /// A bit for each MPDU that arrived.
    pub bitmap: [u8; 32],
}

impl BlockAck {
    /// Whether it acknowledges an MPDU with a traffic identifier and a sequence number. Of what came before its first number it does not tell:
    /// that counts as acknowledged.
    pub fn has(&self, tid: u8, number: u16) -> bool {
        let place = usize::from(number.wrapping_sub(self.start) & 0x0fff);
        let is_set = self.bitmap.get(place / 8).is_some_and(|byte| byte >> (place % 8) & 1 == 1);
        self.tid == tid && (is_set || place >= 0x0800)
    }
}

/// What an action frame changes about the times at which a station is awake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SleepChange {
    /// The sender accepts an individual target wake time: an index into [`crate::Capture::wake_times`].
    TwtAccepted(u32),
    /// The sender asks for an individual target wake time.
    TwtRequested,
    /// The sender answers such a request without an agreement: it names what it would accept, or rejects.
    TwtRefused,
    /// One such agreement ends, or all do.
    TwtEnded(Option<u8>),
    /// One such agreement is suspended by an information frame, or all are.
    TwtSuspended(Option<u8>),
    /// One such agreement goes on, or all do, with a service period whose start by the access point's clock has these low 32 bits, in
    /// microseconds.
    TwtResumed(Option<u8>, u32),
    /// The access point agrees to WNM sleep mode, or to its end.
    Wnm(WnmSleep),
    /// The frame is encrypted: it may be any of these.
    Unreadable,
}

/// Bytes of the delimiter before each frame of an A-MPDU, to a multiple of which they are padded (802.11-2020 9.7.1).
const DELIMITER_BYTES: u64 = 4;

impl AirFrame {
    /// Its data rate.
    pub fn rate(&self) -> Option<Rate> {
        self.vector.map(|vector| vector.rate())
    }

    /// Whether its PM bit says in which mode its station is: in other management frames it is reserved (802.11-2020 9.2.4.1.7).
    pub(crate) fn shows_mode(&self) -> bool {
        let kind = self.control.kind;
        let is_up = if kind.is_data() {
            self.control.to_ds && !self.control.from_ds
        } else {
            self.is_bufferable && self.bssid == Some(self.receiver)
        };
        is_up || kind == FrameKind::PsPoll
    }

    /// Its time on the air. Where the band is not known, it is one without signal extension. A frame that follows another one in its
    /// A-MPDU takes its bits with a delimiter; where radiotap does not say so, it is charged a preamble, which is an upper bound.
    pub fn air_time(&self) -> Option<Span> {
        match self.vector.filter(|_| self.is_continued) {
            Some(vector) => {
                let bits =
                    8 * (DELIMITER_BYTES + u64::from(self.air_bytes).next_multiple_of(DELIMITER_BYTES));
                Some(Span::from_secs_f64(bits as f64 / vector.rate().as_bps() as f64))
            }
            None => self.air_time_of(self.air_bytes),
        }
    }

    /// The same of a frame with so many bytes.
    pub(crate) fn air_time_of(&self, bytes: u32) -> Option<Span> {
        Some(self.vector?.frame_time(self.band.unwrap_or(Band::Ghz5), bytes))
    }
}

/// The contents of a beacon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beacon {
    /// The BSSID of its cell.
    pub bssid: MacAddress,
    /// Time between two beacons, as it states it.
    pub interval: Span,
    /// DTIM count and DTIM period; `None` without a valid TIM.
    pub dtim: Option<(u8, u8)>,
    /// Whether group-addressed frames follow, by the bit of a DTIM beacon.
    pub group: bool,
    /// Whether the whole body was captured, is an access point's, and has no TIM element.
    pub is_tim_missing: bool,
    /// Whether its map of bits is one of several BSSIDs in one of two forms, and does not say in which (802.11-2020 9.4.2.5, methods A and B):
    /// its octets begin at the first that is not zero, or after those of the groups.
    pub is_map_ambiguous: bool,
    /// Whether it has a Multi-Link element (802.11be), so that its stations may have other links; as what follows, also where that may have been
    /// cut off.
    pub is_multi_link: bool,
    /// Whether its access point answers requests for target wake time.
    pub is_twt_responder: bool,
    /// The access point's clock in microseconds.
    pub timestamp_us: u64,
    /// Association identifiers with their TIM bit set.
    pub aids: Vec<u16>,
    /// Whether group-addressed frames of the DTIM beacon before follow this one, by the bit of one that is no DTIM beacon.
    pub group_goes_on: bool,
    /// Times at which nobody in the cell transmits.
    pub quiet: Vec<QuietInterval>,
    /// Times at which its access point sleeps, as the owner of a group of Wi-Fi Direct.
    pub absences: Vec<Absences>,
    /// Whether its access point is about to move to another channel.
    pub switches_channel: bool,
    /// Whether it announces broadcast target wake times.
    pub has_broadcast_twt: bool,
}

impl Beacon {
    /// Whether it shows for which stations frames are buffered; one without a TIM shows none.
    pub const fn shows_bits(&self) -> bool {
        self.dtim.is_some() && !self.is_map_ambiguous || self.is_tim_missing
    }
}

/// A cell, from its beacons and probe responses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObservedCell {
    /// Its SSID; bytes that are not UTF-8 are replaced.
    pub ssid: String,
    /// Whether it announces U-APSD; `None` if it has no WMM element.
    pub uapsd: Option<bool>,
    /// Whether a beacon or probe response of it was captured whole, so that an element that it does not have is none that was cut off.
    pub is_whole: bool,
    /// The access parameters of best effort that it announces.
    pub access: Option<AccessParameters>,
    /// Time between two beacons, as they state it.
    pub interval: Span,
    /// DTIM period in beacons; zero if no beacon was captured.
    pub dtim_period: u8,
    /// Beacons in the capture.
    pub beacons: u32,
    /// Their bytes with FCS, together.
    pub beacon_bytes: u64,
    /// The broadcast target wake times that its beacons announce, by their numbers: each as it was announced last.
    pub wake_schedules: BTreeMap<u8, TwtSchedule>,
}

impl ObservedCell {
    /// Enters schedules that a beacon announces.
    pub(crate) fn announce(&mut self, schedules: impl Iterator<Item = TwtSchedule>) {
        self.wake_schedules.extend(schedules.map(|schedule| (schedule.id, schedule)));
    }

    /// Adds what the next file of a capture shows. What that does not say is as it was.
    pub(crate) fn append(&mut self, next: Self) {
        *self = Self {
            ssid: if next.ssid.is_empty() { std::mem::take(&mut self.ssid) } else { next.ssid },
            uapsd: next.uapsd.or(self.uapsd),
            is_whole: self.is_whole | next.is_whole,
            access: next.access.or(self.access),
            interval: if next.interval.is_zero() { self.interval } else { next.interval },
            dtim_period: if next.dtim_period == 0 { self.dtim_period } else { next.dtim_period },
            beacons: self.beacons + next.beacons,
            beacon_bytes: self.beacon_bytes + next.beacon_bytes,
            wake_schedules: {
                self.wake_schedules.extend(next.wake_schedules);
                std::mem::take(&mut self.wake_schedules)
            },
        };
    }

    /// Whether it serves stations by U-APSD, as far as its beacons show: the element that says so may have been cut off.
    pub fn may_have_uapsd(&self) -> bool {
        self.uapsd.unwrap_or(!self.is_whole)
    }
}

/// The protocol of a group-addressed packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GroupProtocol {
    /// Address resolution (RFC 826).
    Arp,
    /// Multicast DNS: UDP port 5353 (RFC 6762).
    Mdns,
    /// SSDP of UPnP: UDP port 1900.
    Ssdp,
    /// Link-local multicast name resolution: UDP port 5355 (RFC 4795).
    Llmnr,
    /// IPv6 neighbour discovery: ICMPv6 types 133 to 137 (RFC 4861).
    NeighbourDiscovery,
    /// Membership of groups: IGMP, and ICMPv6 types 130 to 132 and 143 (RFC 3376, RFC 3810).
    Membership,
    /// DHCP: UDP ports 67, 68, 546 and 547.
    Dhcp,
    /// Other IP packets.
    OtherIp,
    /// Packets that are neither IP nor ARP.
    Other,
    /// A body that cannot be read.
    Encrypted,
}

impl GroupProtocol {
    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Arp => "arp",
            Self::Mdns => "mdns",
            Self::Ssdp => "ssdp",
            Self::Llmnr => "llmnr",
            Self::NeighbourDiscovery => "ipv6-nd",
            Self::Membership => "igmp-mld",
            Self::Dhcp => "dhcp",
            Self::OtherIp => "other-ip",
            Self::Other => "other",
            Self::Encrypted => "encrypted",
        }
    }

    /// The protocol of a packet of an Ethernet type, also within VLAN tags.
    pub(crate) fn of(kind: u16, data: &[u8]) -> Self {
        let byte = |at: usize| data.get(at).copied().unwrap_or_default();
        match kind {
            0x0806 => Self::Arp,
            0x8100 | 0x88a8 if data.len() > 4 => Self::of(u16::from_be_bytes([data[2], data[3]]), &data[4..]),
            0x0800 => {
                let header = usize::from(byte(0) & 15) * 4;
                Self::of_ip(byte(9), data.get(header..).unwrap_or_default())
            }
            // Hop-by-hop options, as of MLD, are 8 bytes and more (RFC 8200 4.3).
            0x86dd if byte(6) == 0 => {
                let options = 40 + 8 + usize::from(byte(41)) * 8;
                Self::of_ip(byte(40), data.get(options..).unwrap_or_default())
            }
            0x86dd => Self::of_ip(byte(6), data.get(40..).unwrap_or_default()),
            _ => Self::Other,
        }
    }

    fn of_ip(protocol: u8, data: &[u8]) -> Self {
        match (protocol, data) {
            (17, [s0, s1, d0, d1, ..]) => {
                let ports = [u16::from_be_bytes([*s0, *s1]), u16::from_be_bytes([*d0, *d1])];
                match ports {
                    ports if ports.contains(&5353) => Self::Mdns,
                    ports if ports.contains(&1900) => Self::Ssdp,
                    ports if ports.contains(&5355) => Self::Llmnr,
                    [_, 67 | 68 | 546 | 547] => Self::Dhcp,
                    _ => Self::OtherIp,
                }
            }
            (58, [133..=137, ..]) => Self::NeighbourDiscovery,
            (58, [130..=132 | 143, ..]) | (2, _) => Self::Membership,
            _ => Self::OtherIp,
        }
    }
}

/// Takes the packets of a file.
pub(crate) trait PacketSink {
    /// A packet: the number of its link type, its time in nanoseconds since 1970, its length on the link, and the bytes that
    /// were captured.
    fn packet(&mut self, link: u32, unix_ns: Option<u64>, original: u32, data: &[u8]);

    /// A comment of the section header of pcapng, and that of a copy about its original.
    fn comment(&mut self, _text: &str) {}

    /// Packets that the file says were dropped as it was made.
    fn dropped(&mut self, _packets: u64) {}

    /// Whether no packet of a supported link type has come so far.
    fn is_empty(&self) -> bool;

    /// Whether no more packets are wanted.
    fn is_full(&self) -> bool;
}
