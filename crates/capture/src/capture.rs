//! A capture in memory, and what its files are.
//!
//! This is what every analysis reads. It has no way back to the file: [`crate::file`] fills it, and [`crate::clock`] divides it.

use std::collections::{BTreeMap, BTreeSet};

use airwatt_base::{Instant, Span};
use airwatt_dot11::{MacAddress, TwtSetup};
use airwatt_energy::Radio;

use crate::decrypt::DecryptionReport;
use crate::packet::{AirFrame, Beacon, BlockAck, CapturedPacket, ObservedCell};

/// The container.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileFormat {
    /// libpcap's.
    #[default]
    Pcap,
    /// Its successor.
    PcapNg,
}

/// The header that a packet of a capture begins with (the registry's numbers, tcpdump.org/linktypes.html).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LinkType {
    /// 0 and 108: BSD loopback, four bytes of address family.
    Loopback,
    /// 1.
    Ethernet,
    /// 12, 14, 101, 228 and 229: an IP header.
    RawIp,
    /// 113: Linux cooked capture.
    LinuxCooked,
    /// 276: Linux cooked capture, second version.
    LinuxCooked2,
    /// 105: an 802.11 header.
    Dot11,
    /// 127: radiotap, then an 802.11 header.
    Radiotap,
}

impl LinkType {
    /// By the registry's number.
    pub const fn from_number(number: u32) -> Option<Self> {
        Some(match number {
            0 | 108 => Self::Loopback,
            1 => Self::Ethernet,
            12 | 14 | 101 | 228 | 229 => Self::RawIp,
            113 => Self::LinuxCooked,
            276 => Self::LinuxCooked2,
            105 => Self::Dot11,
            127 => Self::Radiotap,
            _ => return None,
        })
    }

    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Loopback => "loopback",
            Self::Ethernet => "ethernet",
            Self::RawIp => "raw-ip",
            Self::LinuxCooked => "linux-cooked",
            Self::LinuxCooked2 => "linux-cooked-v2",
            Self::Dot11 => "802.11",
            Self::Radiotap => "802.11-radiotap",
        }
    }

    /// Whether its packets are 802.11 frames.
    pub const fn is_air(self) -> bool {
        matches!(self, Self::Dot11 | Self::Radiotap)
    }

    /// All, for an error's text.
    pub(crate) const fn supported() -> &'static str {
        "Ethernet (1), raw IP (12, 14, 101, 228, 229), Linux cooked (113, 276), 802.11 (105), radiotap (127) and \
         loopback (0, 108)"
    }
}

/// A packet that states a length which neither a frame nor a bundle of segments can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Oversized {
    /// Number of the first such packet in the file.
    pub first: u32,
    /// The length that it states, in bytes.
    pub bytes: u32,
    /// The largest length that its link type can have, in bytes.
    pub limit_bytes: u32,
    /// Number of such packets.
    pub count: u32,
}

/// Frames that a file has twice, of which the later ones were left out, and the time from a frame to its copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doubles {
    /// Number of frames that were left out.
    pub frames: u32,
    /// The usual time from a frame to its copy, of the first two monitors.
    pub apart: Span,
}

/// A comment of statistics by which a copy says that the original ends within a packet, or is damaged.
pub(crate) const CUT: &str =
    "the capture that this is a copy of is cut short or damaged: what came after is missing";

/// Defects of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// The last packet is cut short and was left out.
    pub truncated: bool,
    /// Reading ended at damage, after this many bytes of the capture; the text says what it was.
    pub damaged: Option<(u64, &'static str)>,
    /// It is a copy by this crate of a capture that was cut short or damaged.
    pub original_cut: bool,
    /// The snap length cuts beacons off: elements that excuse a station or its access point may be missing.
    pub beacons_cut: bool,
    /// Packets that the file says were dropped as it was made, at least.
    pub dropped: u64,
    /// Files of a folder that cannot be read, a sentence each: the others are the capture.
    pub unread: Vec<String>,
    /// Packets of link types that cannot be read, which were left out.
    pub skipped_link_type: u32,
    /// Packets whose stated length is impossible, which were left out.
    pub oversized: Option<Oversized>,
    /// Packets without a time of their own (pcapng's simple packets), which took that of the packet before.
    pub without_time: u32,
    /// Packets that followed a later one in the file and were sorted.
    pub out_of_order: u32,
    /// Steps of the clock that divide nothing.
    pub steps: Vec<ClockStep>,
    /// Frames that the file has twice, of which the later ones were left out.
    pub doubles: Option<Doubles>,
}

/// The memory that rules take for a cell of one beacon, as measured. Damaged beacons make such cells by the thousand.
pub(crate) const CELL_BYTES: usize = 4_500;

/// A capture in memory: the records of its packets, and of the cells that its beacons announce.
#[derive(Clone, Debug, Default)]
pub struct Capture {
    /// The file's name as given.
    pub file: String,
    /// Container.
    pub format: FileFormat,
    /// Link types of the packets that were read.
    pub link_types: Vec<LinkType>,
    /// Size of its files in bytes, as they are stored; of a stream, what came, decompressed.
    pub bytes: u64,
    /// Packets in the file up to its end or damage, of any link type.
    pub packets_in_file: u32,
    /// Bytes of all packets as they were on the link; those whose length is impossible are left out.
    pub bytes_on_link: u64,
    /// The time of the earliest packet, in nanoseconds since 1970.
    pub start_unix_ns: u64,
    /// Packets in order of time within each segment.
    pub packets: Vec<CapturedPacket>,
    /// 802.11 frames; [`CapturedPacket::frame`] is an index into them.
    pub frames: Vec<AirFrame>,
    /// Beacons; [`AirFrame::beacon`] is an index into them.
    pub beacons: Vec<Beacon>,
    /// The association identifiers that each MU-RTS calls, none of one that was cut off; [`AirFrame::mu_rts`] is an index into them.
    pub called: Vec<Vec<u16>>,
    /// Compressed block acknowledgements; [`AirFrame::block_ack`] is an index into them.
    pub block_acks: Vec<BlockAck>,
    /// Individual target wake times that access points accepted; [`AirFrame::sleep_change`] may have an index into them.
    pub wake_times: Vec<TwtSetup>,
    /// Cells by BSSID.
    pub networks: BTreeMap<MacAddress, ObservedCell>,
    /// The radio profiles of stations, as the simulator that wrote the capture names them.
    pub radios: BTreeMap<MacAddress, String>,
    /// The profiles that the capture has for names which are not those of profiles that ship.
    pub profiles: BTreeMap<String, Radio>,
    /// The association identifiers that stations have from the beginning, as that simulator names them.
    pub associations: BTreeMap<MacAddress, u16>,
    /// The stations that have a target wake time from the beginning, as that simulator names them.
    pub target_wakes: BTreeSet<MacAddress>,
    /// The stations that do not use U-APSD, as that simulator says.
    pub without_uapsd: BTreeSet<MacAddress>,
    /// Parts of the capture between which its clock jumps.
    pub segments: Vec<SteadyPart>,
    /// Its files in order of time, if it is a folder.
    pub files: Vec<CaptureFile>,
    /// Its defects.
    pub notes: Notes,
    /// What became of its protected frames, if a key was given.
    pub decryption: Option<DecryptionReport>,
}

/// A step of the capture's clock that is too small for a jump: the beacon before which it was seen, and how far it went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockStep {
    /// The beacon's packet.
    pub packet: u32,
    /// The size, whether ahead or back.
    pub size: Span,
}

impl Notes {
    /// Adds the defects of another file.
    pub(crate) fn append(&mut self, other: Self) {
        self.truncated |= other.truncated;
        self.original_cut |= other.original_cut;
        self.beacons_cut |= other.beacons_cut;
        self.damaged = self.damaged.or(other.damaged);
        // Files of a ring have counts from its beginning on.
        self.dropped = self.dropped.max(other.dropped);
        self.unread.extend(other.unread);
        self.skipped_link_type += other.skipped_link_type;
        self.without_time += other.without_time;
        self.out_of_order += other.out_of_order;
        self.steps.extend(other.steps);
        if let Some(more) = other.oversized {
            self.oversized.get_or_insert(Oversized { count: 0, ..more }).count += more.count;
        }
    }
}

/// A file of a capture that consists of several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureFile {
    /// Its name.
    pub name: String,
    /// Packets of the files before it: its first packet has the next number.
    pub packets_before: u32,
}

/// A part of a capture in which the clock does not jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SteadyPart {
    /// Index of its first packet.
    pub first: usize,
    /// Index after its last packet.
    pub end: usize,
    /// Time of its first packet.
    pub from: Instant,
    /// Time of its last packet.
    pub until: Instant,
}

impl SteadyPart {
    /// From its first packet to its last.
    pub fn duration(&self) -> Span {
        self.until.saturating_since(self.from)
    }
}

impl Capture {
    /// The packet's 802.11 frame, unless it is damaged.
    pub fn frame(&self, packet: &CapturedPacket) -> Option<&AirFrame> {
        self.frames.get(packet.frame? as usize).filter(|frame| !frame.damaged)
    }

    /// The file of a packet and its number in it, if the capture has several files.
    pub fn file_of(&self, packet: u32) -> Option<(&str, u32)> {
        let after = self.files.partition_point(|file| file.packets_before < packet);
        let file = self.files.get(after.checked_sub(1)?)?;
        Some((&file.name, packet - file.packets_before))
    }

    /// Memory of the records in bytes, with what is found out about each cell later.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let aids: usize = self.beacons.iter().map(|beacon| beacon.aids.len()).sum();
        let records = self.packets.len() * size_of::<CapturedPacket>()
            + self.frames.len() * size_of::<AirFrame>()
            + self.beacons.len() * size_of::<Beacon>()
            + aids * size_of::<u16>()
            + self.networks.len() * CELL_BYTES;
        records as u64
    }

    /// The radio that the simulator named for a station: a profile that the capture has, or one that ships. No file is read, which may
    /// have changed since.
    pub(crate) fn named_radio(&self, mac: MacAddress) -> Option<Radio> {
        let name = self.radios.get(&mac)?;
        let shipped = || if Radio::is_file(name) { None } else { Radio::find(name).ok() };
        self.profiles.get(name).cloned().or_else(shipped)
    }

    /// Those radios of all stations.
    pub(crate) fn named_radios(&self) -> BTreeMap<MacAddress, Radio> {
        self.radios.keys().filter_map(|mac| Some((*mac, self.named_radio(*mac)?))).collect()
    }

    /// Whether the capture is of 802.11 frames.
    pub fn is_air(&self) -> bool {
        self.link_types.iter().any(|link| link.is_air())
    }
}
