//! Reading capture files: pcap and pcapng, micro- and nanoseconds, both byte orders, several interfaces.
//!
//! The file is read once from front to back, so that a pipe does as well. What is kept of a packet is a small record;
//! the buffer holds one block. A last packet that is cut short, and damage in the middle, end the reading: what came
//! before is kept, and [`Notes`] says so.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;

use airwatt_dot11::MacAddress;
use pcap_file::pcap::PcapParser;
use pcap_file::pcapng::PcapNgParser;
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
use pcap_file::{Endianness, PcapError, TsResolution};

use crate::clock::{self, Segment};
use crate::decode::Decoder;
use crate::error::CaptureError;
use crate::packet::{AirFrame, Beacon, Network, Packet};

/// A block longer than this is damage: capture tools end at 256 KiB for a packet.
const BLOCK_LIMIT: usize = 16 << 20;
/// How much is read at a time.
const READ_BYTES: usize = 1 << 16;
const NANOS_PER_SECOND: u128 = 1_000_000_000;

/// Block types of pcapng (draft-ietf-opsawg-pcapng section 4).
const BLOCK_PACKET: u32 = 2;
const BLOCK_SIMPLE_PACKET: u32 = 3;
const BLOCK_ENHANCED_PACKET: u32 = 6;

/// The container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// libpcap's.
    Pcap,
    /// Its successor.
    PcapNg,
}

/// What a packet of a capture begins with (the registry's numbers, tcpdump.org/linktypes.html).
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

/// What was odd about the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// The last packet is cut short and was left out.
    pub truncated: bool,
    /// Reading ended at damage, after this many bytes of the file; the text says what it was.
    pub damaged: Option<(u64, &'static str)>,
    /// Packets of link types that cannot be read, left out.
    pub skipped_link_type: u32,
    /// Packets without a time of their own (pcapng's simple packets), which took that of the packet before.
    pub without_time: u32,
    /// Packets that stood after a later one and were sorted.
    pub out_of_order: u32,
}

/// A capture in memory: records, and what was learnt from beacons on the way.
#[derive(Clone, Debug)]
pub struct Capture {
    /// The file's name as given.
    pub file: String,
    /// Container.
    pub format: Format,
    /// Link types of the packets that were read.
    pub link_types: Vec<LinkType>,
    /// Packets in the file up to its end or damage, of any link type.
    pub packets_in_file: u32,
    /// Bytes of all packets as they were on the link.
    pub bytes_on_link: u64,
    /// When the earliest packet was, in nanoseconds since 1970.
    pub start_unix_ns: u64,
    /// Packets in order of time within each segment.
    pub packets: Vec<Packet>,
    /// 802.11 frames, which packets point into.
    pub frames: Vec<AirFrame>,
    /// Beacons, which frames point into.
    pub beacons: Vec<Beacon>,
    /// Cells by BSSID.
    pub networks: BTreeMap<MacAddress, Network>,
    /// Stretches of the capture between which nothing is known.
    pub segments: Vec<Segment>,
    /// What was odd.
    pub notes: Notes,
}

impl Capture {
    /// Reads the capture at `path`; `-` is standard input.
    pub fn open(path: &str) -> Result<Self, CaptureError> {
        if path == "-" {
            return Self::read("standard input", std::io::stdin().lock());
        }
        let file = File::open(path).map_err(|e| CaptureError::Unreadable(path.to_owned(), reason(&e)))?;
        Self::read(path, file)
    }

    /// Reads a capture from bytes; `name` stands for the file in errors and results.
    pub fn read(name: &str, source: impl Read) -> Result<Self, CaptureError> {
        let mut buffer = Buffer::new(source);
        let format = buffer.format(name)?;
        let mut decoder = Decoder::default();
        let unreadable = |e: std::io::Error| CaptureError::Unreadable(name.to_owned(), reason(&e));
        let end = match format {
            Format::Pcap => read_pcap(&mut buffer, &mut decoder),
            Format::PcapNg => read_pcapng(&mut buffer, &mut decoder),
        }
        .map_err(unreadable)?;
        let position = buffer.position;
        let mut capture = decoder.into_capture(name, format);
        match end {
            End::Complete => {}
            End::CutShort => capture.notes.truncated = true,
            End::Damaged(what) if capture.packets_in_file == 0 => {
                return Err(CaptureError::NotACapture(name.to_owned(), what.to_owned()));
            }
            End::Damaged(what) => capture.notes.damaged = Some((position, what)),
            End::LinkType(number) => return Err(CaptureError::LinkType(name.to_owned(), number)),
        }
        if capture.packets.is_empty() {
            return Err(CaptureError::NoPackets(name.to_owned()));
        }
        clock::mend(&mut capture);
        clock::mark_repeated(&mut capture);
        Ok(capture)
    }

    /// The packet's 802.11 frame, unless it is damaged.
    pub fn frame(&self, packet: &Packet) -> Option<&AirFrame> {
        self.frames.get(packet.frame? as usize).filter(|frame| !frame.damaged)
    }

    /// Whether the capture is of 802.11 frames.
    pub fn is_air(&self) -> bool {
        self.link_types.iter().any(|link| link.is_air())
    }
}

/// How the reading of a file ended.
enum End {
    Complete,
    CutShort,
    Damaged(&'static str),
    LinkType(u32),
}

/// The system's reason without its number.
fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

/// A window on the file that grows until what is looked for fits.
struct Buffer<R> {
    source: R,
    bytes: Vec<u8>,
    start: usize,
    /// Bytes of the file before `start`.
    position: u64,
}

impl<R: Read> Buffer<R> {
    fn new(source: R) -> Self {
        Self { source, bytes: Vec::new(), start: 0, position: 0 }
    }

    fn rest(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    fn advance_to(&mut self, remaining: usize) {
        let used = self.rest().len() - remaining;
        self.start += used;
        self.position += used as u64;
    }

    /// Reads on; false at the end of the file.
    fn fill(&mut self) -> std::io::Result<bool> {
        self.bytes.drain(..self.start);
        self.start = 0;
        let before = self.bytes.len();
        // Doubling keeps the copying of a long block linear in its length.
        self.bytes.resize(before + READ_BYTES.max(before), 0);
        let read = loop {
            match self.source.read(&mut self.bytes[before..]) {
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        self.bytes.truncate(before + *read.as_ref().unwrap_or(&0));
        Ok(read? > 0)
    }

    /// Looks at the first bytes and says what the file is.
    fn format(&mut self, name: &str) -> Result<Format, CaptureError> {
        while self.rest().len() < 24 {
            let more = self.fill().map_err(|e| CaptureError::Unreadable(name.to_owned(), reason(&e)))?;
            if !more {
                break;
            }
        }
        let not = |what: &str| Err(CaptureError::NotACapture(name.to_owned(), what.to_owned()));
        match self.rest() {
            [] => Err(CaptureError::Empty(name.to_owned())),
            [0x1f, 0x8b, ..] => not("it is compressed with gzip, unpack it first"),
            [0x0a, 0x0d, 0x0d, 0x0a, ..] => Ok(Format::PcapNg),
            [0xa1, 0xb2, 0xc3, 0xd4, ..]
            | [0xa1, 0xb2, 0x3c, 0x4d, ..]
            | [0xd4, 0xc3, 0xb2, 0xa1, ..]
            | [0x4d, 0x3c, 0xb2, 0xa1, ..] => Ok(Format::Pcap),
            _ => not("its first bytes are of neither"),
        }
    }

    /// Parses the next thing in the file. `Ok(Err(end))` where there is none.
    fn next<T>(
        &mut self,
        mut parse: impl FnMut(&[u8]) -> Result<(usize, T), PcapError>,
    ) -> std::io::Result<Result<T, End>> {
        loop {
            match parse(self.rest()) {
                Ok((remaining, value)) => {
                    self.advance_to(remaining);
                    return Ok(Ok(value));
                }
                Err(PcapError::IncompleteBuffer) if self.rest().len() > BLOCK_LIMIT => {
                    return Ok(Err(End::Damaged("a packet claims to be longer than any")));
                }
                Err(PcapError::IncompleteBuffer) => {
                    if !self.fill()? {
                        let end = if self.rest().is_empty() { End::Complete } else { End::CutShort };
                        return Ok(Err(end));
                    }
                }
                Err(PcapError::InvalidField(what)) => return Ok(Err(End::Damaged(what))),
                Err(PcapError::IoError(e)) => return Err(e),
                Err(_) => return Ok(Err(End::Damaged("a text that is not UTF-8"))),
            }
        }
    }
}

fn read_pcap(buffer: &mut Buffer<impl Read>, decoder: &mut Decoder) -> std::io::Result<End> {
    let parser = match buffer.next(|bytes| PcapParser::new(bytes).map(|(rest, p)| (rest.len(), p)))? {
        Ok(parser) => parser,
        Err(_) => return Ok(End::Damaged("its header is cut short")),
    };
    let header = parser.header();
    // The upper bits say how long the FCS is, where it is captured.
    let number = u32::from(header.datalink) & 0x03ff_ffff;
    let Some(link) = LinkType::from_number(number) else { return Ok(End::LinkType(number)) };
    let nanos_per_fraction = if header.ts_resolution == TsResolution::NanoSecond { 1 } else { 1_000 };
    loop {
        let next = buffer.next(|bytes| {
            let (rest, packet) = parser.next_raw_packet(bytes)?;
            let time = u64::from(packet.ts_sec) * NANOS_PER_SECOND as u64
                + u64::from(packet.ts_frac) * nanos_per_fraction;
            decoder.record(link, Some(time), packet.orig_len, &packet.data);
            Ok((rest.len(), ()))
        })?;
        if let Err(end) = next {
            return Ok(end);
        }
    }
}

/// What a packet block refers to of its interface.
#[derive(Clone, Copy)]
struct Interface {
    link: u32,
    /// Ticks of the clock are `10^-decimal` or `2^-binary` seconds.
    resolution: u8,
    offset_s: i64,
    snaplen: u32,
}

impl Interface {
    /// Nanoseconds since 1970 of a count of ticks; what is out of range is clamped.
    fn time(self, ticks: u64) -> u64 {
        let scaled = u128::from(ticks) * NANOS_PER_SECOND;
        let exponent = u32::from(self.resolution & 0x7f);
        let nanos = if self.resolution & 0x80 != 0 {
            scaled >> exponent
        } else {
            10u128.checked_pow(exponent).map_or(0, |unit| scaled / unit)
        };
        let nanos = nanos as i128 + i128::from(self.offset_s) * NANOS_PER_SECOND as i128;
        nanos.clamp(0, i128::from(u64::MAX)) as u64
    }
}

fn interfaces(parser: &PcapNgParser) -> Vec<Interface> {
    let read =
        |interface: &pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionBlock<'_>| {
            let mut found = Interface {
                link: u32::from(interface.linktype),
                resolution: 6,
                offset_s: 0,
                snaplen: interface.snaplen,
            };
            for option in &interface.options {
                match option {
                    InterfaceDescriptionOption::IfTsResol(value) => found.resolution = *value,
                    InterfaceDescriptionOption::IfTsOffset(value) => found.offset_s = *value as i64,
                    _ => {}
                }
            }
            found
        };
    parser.interfaces().iter().map(read).collect()
}

fn read_pcapng(buffer: &mut Buffer<impl Read>, decoder: &mut Decoder) -> std::io::Result<End> {
    let mut parser = match buffer.next(|bytes| PcapNgParser::new(bytes).map(|(rest, p)| (rest.len(), p)))? {
        Ok(parser) => parser,
        Err(End::Damaged(what)) => return Ok(End::Damaged(what)),
        Err(_) => return Ok(End::Damaged("its section header is cut short")),
    };
    let mut known = Vec::new();
    let mut foreign = None;
    loop {
        let next = buffer.next(|bytes| {
            let (rest, block) = parser.next_raw_block(bytes)?;
            if parser.interfaces().len() != known.len() {
                known = interfaces(&parser);
            }
            let words = Words { bytes: &block.body, big: parser.section().endianness == Endianness::Big };
            if let Some(link) = packet_block(block.type_, words, &known, decoder)? {
                foreign.get_or_insert(link);
            }
            Ok((rest.len(), ()))
        })?;
        if let Err(end) = next {
            return Ok(match (end, foreign) {
                (End::Complete | End::CutShort, Some(link)) if decoder.is_empty() => End::LinkType(link),
                (end, _) => end,
            });
        }
    }
}

/// Numbers in a block, in its section's byte order.
#[derive(Clone, Copy)]
struct Words<'a> {
    bytes: &'a [u8],
    big: bool,
}

impl<'a> Words<'a> {
    fn get(self, at: usize) -> Result<u32, PcapError> {
        let word = self.bytes.get(at..at + 4).and_then(|word| <[u8; 4]>::try_from(word).ok());
        let word = word.ok_or(PcapError::InvalidField("a packet block is too short"))?;
        Ok(if self.big { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) })
    }

    fn data(self, at: usize, length: u32) -> Result<&'a [u8], PcapError> {
        let data = self.bytes.get(at..).and_then(|rest| rest.get(..length as usize));
        data.ok_or(PcapError::InvalidField("a packet is longer than its block"))
    }
}

/// Takes a packet out of a block, if it is of a packet; returns the link type's number if that is not supported. Packet
/// blocks are read here rather than by the library, which does not apply the interface's time resolution and gives up on
/// a comment that is not UTF-8.
fn packet_block(
    kind: u32,
    words: Words<'_>,
    interfaces: &[Interface],
    decoder: &mut Decoder,
) -> Result<Option<u32>, PcapError> {
    let (index, time, original, data) = match kind {
        BLOCK_ENHANCED_PACKET | BLOCK_PACKET => {
            let first = words.get(0)?;
            // The obsolete block has 16 bits of interface, then 16 bits of drop count.
            let index = match kind {
                BLOCK_ENHANCED_PACKET => first,
                _ if words.big => first >> 16,
                _ => first & 0xffff,
            };
            let ticks = u64::from(words.get(4)?) << 32 | u64::from(words.get(8)?);
            (index, Some(ticks), words.get(16)?, words.data(20, words.get(12)?)?)
        }
        BLOCK_SIMPLE_PACKET => {
            let original = words.get(0)?;
            let limit = interfaces.first().map_or(0, |i| i.snaplen);
            let length = if limit == 0 { original } else { original.min(limit) };
            (0, None, original, words.data(4, length)?)
        }
        _ => return Ok(None),
    };
    let Some(interface) = interfaces.get(index as usize) else {
        return Err(PcapError::InvalidField("a packet names an interface that is not described"));
    };
    match LinkType::from_number(interface.link) {
        Some(link) => {
            decoder.record(link, time.map(|ticks| interface.time(ticks)), original, data);
            Ok(None)
        }
        None => {
            decoder.skip();
            Ok(Some(interface.link))
        }
    }
}
