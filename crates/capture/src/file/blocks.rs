//! The blocks of pcap and pcapng: from the file to the packets in it.
//!
//! Packet blocks of pcapng are read here rather than by the library, which does not apply the interface's time
//! resolution and gives up on a comment that is not UTF-8. Left out: name resolution, statistics, secrets.

use std::io::{self, Read};

use pcap_file::pcap::PcapParser;
use pcap_file::pcapng::PcapNgParser;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::section_header::SectionHeaderOption;
use pcap_file::{Endianness, PcapError, TsResolution};

use super::buffer::{Buffer, End};
use crate::capture::LinkType;
use crate::packet::PacketSink;

const NANOS_PER_SECOND: u128 = 1_000_000_000;

/// Block types of pcapng (draft-ietf-opsawg-pcapng section 4).
const BLOCK_PACKET: u32 = 2;
const BLOCK_SIMPLE_PACKET: u32 = 3;
const BLOCK_ENHANCED_PACKET: u32 = 6;

/// Reads a file of libpcap's format.
pub(super) fn read_pcap(buffer: &mut Buffer<impl Read>, sink: &mut dyn PacketSink) -> io::Result<End> {
    let parser = match buffer.next(|bytes| PcapParser::new(bytes).map(|(rest, p)| (rest.len(), p)))? {
        Ok(parser) => parser,
        Err(_) => return Ok(End::Damaged("its header is cut short")),
    };
    let header = parser.header();
    // The upper bits say how long the FCS is, where it is captured.
    let number = u32::from(header.datalink) & 0x03ff_ffff;
    if LinkType::from_number(number).is_none() {
        return Ok(End::LinkType(number));
    }
    let nanos_per_fraction = if header.ts_resolution == TsResolution::NanoSecond { 1 } else { 1_000 };
    loop {
        let next = buffer.next(|bytes| {
            let (rest, packet) = parser.next_raw_packet(bytes)?;
            let time = u64::from(packet.ts_sec) * NANOS_PER_SECOND as u64
                + u64::from(packet.ts_frac) * nanos_per_fraction;
            sink.packet(number, Some(time), packet.orig_len, &packet.data);
            Ok((rest.len(), ()))
        })?;
        if let Err(end) = next {
            return Ok(end);
        }
        if sink.is_full() {
            return Ok(End::Full);
        }
    }
}

/// The properties of an interface that its packet blocks depend on.
#[derive(Clone, Copy)]
struct Interface {
    link: u32,
    /// Ticks of the clock are `10^-decimal` or `2^-binary` seconds.
    resolution: u8,
    offset_s: i64,
    snaplen: u32,
}

impl Interface {
    /// Nanoseconds since 1970 of a count of ticks; `None` for a time that no clock shows, before 1970 or after 2554.
    fn time(self, ticks: u64) -> Option<u64> {
        let scaled = u128::from(ticks) * NANOS_PER_SECOND;
        let exponent = u32::from(self.resolution & 0x7f);
        let nanos = if self.resolution & 0x80 != 0 {
            scaled >> exponent
        } else {
            10u128.checked_pow(exponent).map_or(0, |unit| scaled / unit)
        };
        let nanos = nanos as i128 + i128::from(self.offset_s) * NANOS_PER_SECOND as i128;
        u64::try_from(nanos).ok()
    }
}

impl From<&InterfaceDescriptionBlock<'_>> for Interface {
    fn from(block: &InterfaceDescriptionBlock<'_>) -> Self {
        let link = u32::from(block.linktype);
        let mut found = Self { link, resolution: 6, offset_s: 0, snaplen: block.snaplen };
        for option in &block.options {
            match option {
                InterfaceDescriptionOption::IfTsResol(value) => found.resolution = *value,
                InterfaceDescriptionOption::IfTsOffset(value) => found.offset_s = *value as i64,
                _ => {}
            }
        }
        found
    }
}

/// Brings the interfaces up to date after a block. A section header clears the parser's list, and each description adds
/// to it, so only what is new is converted: the work is linear in the number of descriptions.
fn update_interfaces(known: &mut Vec<Interface>, described: &[InterfaceDescriptionBlock<'_>]) {
    if described.len() < known.len() {
        known.clear();
    }
    known.extend(described[known.len()..].iter().map(Interface::from));
}

/// Reads a file of the pcapng format.
pub(super) fn read_pcapng(buffer: &mut Buffer<impl Read>, sink: &mut dyn PacketSink) -> io::Result<End> {
    let mut parser = match buffer.next(|bytes| PcapNgParser::new(bytes).map(|(rest, p)| (rest.len(), p)))? {
        Ok(parser) => parser,
        Err(End::Damaged(what)) => return Ok(End::Damaged(what)),
        Err(_) => return Ok(End::Damaged("its section header is cut short")),
    };
    for option in &parser.section().options {
        if let SectionHeaderOption::Comment(text) = option {
            sink.comment(text);
        }
    }
    let mut known = Vec::new();
    let mut unsupported = None;
    loop {
        let next = buffer.next(|bytes| {
            let (rest, block) = parser.next_raw_block(bytes)?;
            update_interfaces(&mut known, parser.interfaces());
            let words = Words { bytes: &block.body, big: parser.section().endianness == Endianness::Big };
            if let Some(link) = packet_block(block.type_, words, &known, sink)? {
                unsupported.get_or_insert(link);
            }
            Ok((rest.len(), ()))
        })?;
        if let Err(end) = next {
            return Ok(match (end, unsupported) {
                (End::Complete | End::CutShort, Some(link)) if sink.is_empty() => End::LinkType(link),
                (end, _) => end,
            });
        }
        if sink.is_full() {
            return Ok(End::Full);
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

/// Records the packet of a packet block and ignores other blocks; returns the link type's number if that is not
/// supported.
fn packet_block(
    kind: u32,
    words: Words<'_>,
    interfaces: &[Interface],
    sink: &mut dyn PacketSink,
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
    sink.packet(interface.link, time.and_then(|ticks| interface.time(ticks)), original, data);
    Ok(Some(interface.link).filter(|link| LinkType::from_number(*link).is_none()))
}
