//! The blocks of pcap and pcapng: from the file to the packets in it.
//!
//! Blocks of pcapng are read here rather than by the library, which does not apply the interface's time resolution,
//! and gives up on a comment that is not UTF-8 and on options without `opt_endofopt`, which may be missing (section 3.5
//! of draft-ietf-opsawg-pcapng). Of statistics only the packets are read that were dropped, and what a copy says of its original. Left out: name
//! resolution, secrets.

use std::io::{self, Read};

use pcap_file::pcap::PcapParser;
use pcap_file::{Endianness, PcapError, TsResolution};

use super::buffer::{Buffer, End};
use crate::capture::{CUT, LinkType};
use crate::packet::PacketSink;

const NANOS_PER_SECOND: u128 = 1_000_000_000;
/// The largest snap length of capture tools (libpcap's MAXIMUM_SNAPLEN), which writers of a smaller one in the header need not keep to.
const LONGEST_SNAP: u32 = 1 << 18;

/// Block types of pcapng (draft-ietf-opsawg-pcapng section 4). That of a section header reads the same in either byte order.
const BLOCK_SECTION: u32 = 0x0a0d_0d0a;
const BLOCK_INTERFACE: u32 = 1;
const BLOCK_PACKET: u32 = 2;
const BLOCK_SIMPLE_PACKET: u32 = 3;
const BLOCK_STATISTICS: u32 = 5;
const BLOCK_ENHANCED_PACKET: u32 = 6;

/// Codes of options.
const OPTION_COMMENT: u32 = 1;
/// Packets that were dropped before an enhanced packet, since the one before it of that interface.
const OPTION_DROPPED_BEFORE: u32 = 4;
/// Packets that an interface has dropped, and the operating system for want of room, since the capture began.
const OPTIONS_DROPPED: [u32; 2] = [5, 7];
const OPTION_TIME_RESOLUTION: u32 = 9;
const OPTION_TIME_OFFSET: u32 = 14;

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
    let longest = header.snaplen.max(LONGEST_SNAP);
    loop {
        let next = buffer.next(|bytes| {
            if captured_length(bytes, header.endianness).is_some_and(|length| length > longest) {
                return Err(PcapError::InvalidField("a packet is stated to be longer than the snap length"));
            }
            let (rest, packet) = parser.next_raw_packet(bytes)?;
            let seconds = u64::from(packet.ts_sec) * NANOS_PER_SECOND as u64;
            let nanos = u64::from(packet.ts_frac) * nanos_per_fraction;
            // No clock shows a fraction of a second or more.
            let time = (u128::from(nanos) < NANOS_PER_SECOND).then_some(seconds + nanos);
            sink.packet(number, time, packet.orig_len, &packet.data);
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

/// The length of the packet whose header comes next, as far as that is there.
fn captured_length(bytes: &[u8], order: Endianness) -> Option<u32> {
    let field = bytes.get(8..12)?.try_into().ok()?;
    Some(match order {
        Endianness::Big => u32::from_be_bytes(field),
        Endianness::Little => u32::from_le_bytes(field),
    })
}

/// The properties of an interface that its packet blocks depend on.
#[derive(Clone, Copy)]
struct Interface {
    link: u32,
    /// Ticks of the clock are `10^-decimal` or `2^-binary` seconds.
    resolution: u8,
    offset_s: i64,
    snaplen: u32,
    /// Packets that were dropped, as packets say and as statistics do.
    dropped: [u64; 2],
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

/// Reads a file of the pcapng format.
pub(super) fn read_pcapng(buffer: &mut Buffer<impl Read>, sink: &mut dyn PacketSink) -> io::Result<End> {
    let mut big = false;
    let mut known: Vec<Interface> = Vec::new();
    let mut dropped_before = 0;
    let mut unsupported = None;
    let mut begun = false;
    loop {
        let next = buffer.next(|bytes| {
            let (rest, kind, words) = block(bytes, &mut big)?;
            match kind {
                BLOCK_SECTION => {
                    let comments = words.options(16)?;
                    let comments = comments.into_iter().filter(|(code, _)| !begun && *code == OPTION_COMMENT);
                    comments.for_each(|(_, text)| sink.comment(&String::from_utf8_lossy(text)));
                    dropped_before = dropped(dropped_before, &known);
                    known.clear();
                }
                _ if !begun => return Err(PcapError::InvalidField("its section header is missing")),
                BLOCK_INTERFACE => known.push(words.interface()?),
                BLOCK_STATISTICS => {
                    if let Some(interface) = known.get_mut(words.get(0)? as usize) {
                        interface.dropped[1] = words.sum(12, &OPTIONS_DROPPED);
                    }
                    let mut options = words.options(12).unwrap_or_default().into_iter();
                    if options.any(|(code, text)| code == OPTION_COMMENT && text == CUT.as_bytes()) {
                        sink.comment(CUT);
                    }
                }
                _ => {
                    if let Some(link) = packet_block(kind, words, &mut known, sink)? {
                        unsupported.get_or_insert(link);
                    }
                }
            }
            Ok((rest, ()))
        })?;
        if let Err(end) = next {
            sink.dropped(dropped(dropped_before, &known));
            return Ok(match (end, unsupported) {
                (End::Complete | End::CutShort, _) if !begun => {
                    End::Damaged("its section header is cut short")
                }
                (End::Complete | End::CutShort, Some(link)) if sink.is_empty() => End::LinkType(link),
                (end, _) => end,
            });
        }
        begun = true;
        if sink.is_full() {
            return Ok(End::Full);
        }
    }
}

/// Packets that were dropped at these interfaces, and `before` in other sections. What packets say of it is part of what statistics do.
fn dropped(before: u64, interfaces: &[Interface]) -> u64 {
    let of_each = interfaces.iter().map(|interface| interface.dropped[0].max(interface.dropped[1]));
    of_each.fold(before, u64::saturating_add)
}

/// The first block of `bytes`: how many bytes come after it, its type and its body. A section header says in which byte order it and
/// what follows is.
fn block<'a>(bytes: &'a [u8], big: &mut bool) -> Result<(usize, u32, Words<'a>), PcapError> {
    if bytes.len() < 12 {
        return Err(PcapError::IncompleteBuffer);
    }
    if bytes[..4] == BLOCK_SECTION.to_be_bytes() {
        *big = match bytes[8..12] {
            [0x1a, 0x2b, 0x3c, 0x4d] => true,
            [0x4d, 0x3c, 0x2b, 0x1a] => false,
            _ => return Err(PcapError::InvalidField("a section header has no byte order")),
        };
    }
    let whole = Words { bytes, big: *big };
    let length = whole.get(4)? as usize;
    if length < 12 || !length.is_multiple_of(4) {
        return Err(PcapError::InvalidField("a block states a length that none has"));
    }
    if bytes.len() < length {
        return Err(PcapError::IncompleteBuffer);
    }
    if whole.get(length - 4)? as usize != length {
        return Err(PcapError::InvalidField("a block states two lengths"));
    }
    Ok((bytes.len() - length, whole.get(0)?, Words { bytes: &bytes[8..length - 4], big: *big }))
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
        let word = word.ok_or(PcapError::InvalidField("a block is too short for what it has"))?;
        Ok(if self.big { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) })
    }

    /// Two numbers of 16 bits, in the order in which they stand.
    fn halves(self, at: usize) -> Result<(u32, u32), PcapError> {
        let word = self.get(at)?;
        Ok(if self.big { (word >> 16, word & 0xffff) } else { (word & 0xffff, word >> 16) })
    }

    /// The codes and values of options, which begin at `at` and end with the block or before.
    fn options(self, mut at: usize) -> Result<Vec<(u32, &'a [u8])>, PcapError> {
        let mut found = Vec::new();
        while at < self.bytes.len() {
            let (code, length) = self.halves(at)?;
            if code == 0 {
                break;
            }
            found.push((code, self.data(at + 4, length)?));
            at += 4 + length.next_multiple_of(4) as usize;
        }
        Ok(found)
    }

    /// What an interface description says.
    fn interface(self) -> Result<Interface, PcapError> {
        let mut found = Interface {
            link: self.halves(0)?.0,
            resolution: 6,
            offset_s: 0,
            snaplen: self.get(4)?,
            dropped: [0; 2],
        };
        for (code, value) in self.options(8)? {
            match (code, value) {
                (OPTION_TIME_RESOLUTION, [resolution]) => found.resolution = *resolution,
                (OPTION_TIME_OFFSET, value) if value.len() == 8 => {
                    found.offset_s = Words { bytes: value, ..self }.long()? as i64;
                }
                (OPTION_TIME_RESOLUTION | OPTION_TIME_OFFSET, _) => {
                    return Err(PcapError::InvalidField(
                        "an option of an interface has a length that it cannot have",
                    ));
                }
                _ => {}
            }
        }
        Ok(found)
    }

    /// A number of 64 bits.
    fn long(self) -> Result<u64, PcapError> {
        let (first, second) = (u64::from(self.get(0)?), u64::from(self.get(4)?));
        Ok(if self.big { first << 32 | second } else { second << 32 | first })
    }

    /// The sum of these options, each a number of 64 bits. What follows a packet and is no list of options says nothing.
    fn sum(self, at: usize, codes: &[u32]) -> u64 {
        let options = self.options(at).unwrap_or_default().into_iter();
        let wanted = options.filter(|(code, _)| codes.contains(code));
        wanted
            .filter_map(|(_, value)| Words { bytes: value, ..self }.long().ok())
            .fold(0, u64::saturating_add)
    }

    fn data(self, at: usize, length: u32) -> Result<&'a [u8], PcapError> {
        let data = self.bytes.get(at..).and_then(|rest| rest.get(..length as usize));
        data.ok_or(PcapError::InvalidField("a packet or an option is longer than its block"))
    }
}

/// Records the packet of a packet block and ignores other blocks; returns the link type's number if that is not
/// supported.
fn packet_block(
    kind: u32,
    words: Words<'_>,
    interfaces: &mut [Interface],
    sink: &mut dyn PacketSink,
) -> Result<Option<u32>, PcapError> {
    let mut dropped = 0;
    let (index, time, original, data) = match kind {
        BLOCK_ENHANCED_PACKET | BLOCK_PACKET => {
            let data = words.data(20, words.get(12)?)?;
            let index = if kind == BLOCK_ENHANCED_PACKET {
                dropped = words.sum(20 + data.len().next_multiple_of(4), &[OPTION_DROPPED_BEFORE]);
                words.get(0)?
            } else {
                // The obsolete block has 16 bits of interface, then 16 bits of drop count, all ones where it is not known.
                let (index, count) = words.halves(0)?;
                dropped = u64::from(if count == 0xffff { 0 } else { count });
                index
            };
            let ticks = u64::from(words.get(4)?) << 32 | u64::from(words.get(8)?);
            (index, Some(ticks), words.get(16)?, data)
        }
        BLOCK_SIMPLE_PACKET => {
            let original = words.get(0)?;
            let limit = interfaces.first().map_or(0, |i| i.snaplen);
            let length = if limit == 0 { original } else { original.min(limit) };
            (0, None, original, words.data(4, length)?)
        }
        _ => return Ok(None),
    };
    let Some(interface) = interfaces.get_mut(index as usize) else {
        return Err(PcapError::InvalidField("a packet names an interface that is not described"));
    };
    interface.dropped[0] = interface.dropped[0].saturating_add(dropped);
    sink.packet(interface.link, time.and_then(|ticks| interface.time(ticks)), original, data);
    Ok(Some(interface.link).filter(|link| LinkType::from_number(*link).is_none()))
}
