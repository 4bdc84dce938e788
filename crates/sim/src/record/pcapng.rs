//! The frames of a run as a capture, as a perfect sniffer next to the access point would have written it: one interface a channel.
//!
//! The format is radiotap (link type 127) in pcapng, with nanosecond timestamps from the beginning of the run. Each
//! frame has its real 802.11 bytes and, for packets, LLC/SNAP, IPv4 and TCP or UDP headers. The timestamp is the
//! beginning of the preamble; the radiotap clock counts from the first bit after it. Frames that a collision or noise
//! has damaged carry a wrong FCS and the radiotap flag for it; a frame whose receiver was asleep does not, because the
//! sniffer received it.
//!
//! Left out, because the simulator knows only their lengths: the payload and the FCS after it, so captured lengths are
//! shorter than original ones; TCP options except those of a SYN; the elements of a beacon other than those of power
//! save, which are replaced by one element of zeros. A header of 40 bytes has no room for window scaling: windows above
//! 65,535 are then written as 65,535.

mod group;
mod headers;
mod mac;
mod packet;
mod target_wake;

use std::borrow::Cow;
use std::io;
use std::time::Duration;

use airwatt_base::Instant;
use airwatt_dot11::{AmpduStatus, Band, Channel, Format, McsField, Radiotap, RadiotapFlags, append_fcs};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::pcapng::blocks::{Block, PcapNgBlock};
use pcap_file::{DataLink, Endianness, PcapError};

use super::timeline::{Outcome, Receivers};
use super::{CellSetting, RunTrace, Setting};
use crate::media::cell::RadioEvent;
use crate::media::cell::frame::{Aggregate, TracedFrame};
use crate::route::MediumId;

#[cfg(test)]
mod tests;

const FCS_BYTES: usize = 4;
/// Bytes of a radio profile that a comment of the file holds, beside its name.
const LONGEST_PROFILE: usize = 65_000;
/// Timestamps are in units of 10^-9 s.
const NANOSECONDS: u8 = 9;

impl RunTrace {
    /// Writes the frames on the air as pcapng. `out` should be buffered; it is flushed at the end.
    ///
    /// # Errors
    /// Returns the errors of `out`, and [`io::ErrorKind::Unsupported`] for a run without a cell, which has no frames.
    pub fn write_pcapng(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let mut capture = FrameWriter::new(Cow::Borrowed(&self.setting), out)?;
        let frames = self.frames_by_start();
        for (frame, outcome) in frames.iter().zip(self.outcomes(&frames)) {
            capture.write(frame, outcome)?;
        }
        capture.finish()
    }
}

/// A capture under construction.
struct FrameWriter<'a> {
    capture: PcapNgWriter<&'a mut dyn io::Write>,
    setting: Cow<'a, Setting>,
    /// The medium of each interface of the capture: one a channel.
    channels: Vec<MediumId>,
    bytes: Vec<u8>,
    mpdu: Vec<u8>,
}

impl<'a> FrameWriter<'a> {
    fn new(setting: Cow<'a, Setting>, out: &'a mut dyn io::Write) -> io::Result<Self> {
        if setting.cells.is_empty() {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "a point-to-point link has no 802.11 frames",
            ));
        }
        let mut capture = PcapNgWriter::with_section_header(out, section(&setting)).map_err(io_error)?;
        let mut channels = Vec::new();
        for cell in &setting.cells {
            if !channels.contains(&cell.medium) {
                channels.push(cell.medium);
                write(&mut capture, &interface(cell).into_block())?;
            }
        }
        Ok(Self { capture, setting, channels, bytes: Vec::new(), mpdu: Vec::new() })
    }

    fn write(&mut self, frame: &TracedFrame, outcome: Outcome) -> io::Result<()> {
        self.bytes.clear();
        self.mpdu.clear();
        let Some(cell) = self.setting.cell_of(frame) else {
            return Err(io::Error::other("a frame of no cell"));
        };
        let (length, has_fcs) = encode_mpdu(&self.setting, cell, frame, outcome, &mut self.mpdu);
        let header = radiotap(cell, frame, outcome, has_fcs).encode(&mut self.bytes);
        self.bytes.extend_from_slice(&self.mpdu);
        let packet = EnhancedPacketBlock {
            interface_id: self.channels.iter().position(|medium| *medium == frame.medium).unwrap_or(0) as u32,
            timestamp: Duration::from_nanos(frame.start.as_nanos()),
            original_len: (header + length) as u32,
            data: Cow::Borrowed(&self.bytes),
            options: Vec::new(),
        };
        write(&mut self.capture, &packet.into_block())
    }

    fn finish(self) -> io::Result<()> {
        self.capture.into_inner().flush()
    }
}

/// Writes the frames of a run while it goes on, the same bytes as [`RunTrace::write_pcapng`] in memory that does not
/// grow with the run.
pub(crate) struct PcapngStream<'a> {
    writer: FrameWriter<'a>,
    receivers: Receivers,
    /// Frames that may still follow one that is not recorded yet, in the order of their beginnings.
    pending: Vec<TracedFrame>,
}

impl<'a> PcapngStream<'a> {
    /// Begins the capture of a run.
    ///
    /// # Errors
    /// As [`RunTrace::write_pcapng`].
    pub(crate) fn new(setting: Setting, out: &'a mut dyn io::Write) -> io::Result<Self> {
        let receivers = Receivers::new(setting.stations.len());
        Ok(Self { writer: FrameWriter::new(Cow::Owned(setting), out)?, receivers, pending: Vec::new() })
    }

    /// Takes what was recorded since the last call, and writes every frame that began before `now`: whatever is recorded
    /// later begins at `now` or later.
    ///
    /// # Errors
    /// Those of the output.
    pub(crate) fn take(
        &mut self,
        frames: Vec<TracedFrame>,
        radios: &[RadioEvent],
        now: Instant,
    ) -> io::Result<()> {
        self.receivers.add(radios);
        self.pending.extend(frames);
        // Stable, as `RunTrace::frames_by_start` is.
        self.pending.sort_by_key(|frame| frame.start);
        let ready = self.pending.partition_point(|frame| frame.start < now);
        let ready: Vec<TracedFrame> = self.pending.drain(..ready).collect();
        let frames: Vec<&TracedFrame> = ready.iter().collect();
        for (frame, outcome) in frames.iter().zip(self.receivers.outcomes(&frames)) {
            self.writer.write(frame, outcome)?;
        }
        Ok(())
    }

    /// Writes what is pending and flushes the output.
    ///
    /// # Errors
    /// Those of the output.
    pub(crate) fn finish(mut self, frames: Vec<TracedFrame>, radios: &[RadioEvent]) -> io::Result<()> {
        self.take(frames, radios, Instant::from_nanos(u64::MAX))?;
        self.writer.finish()
    }
}

fn write<W: io::Write>(capture: &mut PcapNgWriter<W>, block: &Block) -> io::Result<()> {
    capture.write_block(block).map_err(io_error)?;
    Ok(())
}

fn io_error(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}

/// The section header, with the program that wrote the file and its content.
fn section(setting: &Setting) -> SectionHeaderBlock<'static> {
    let program = concat!("airwatt ", env!("CARGO_PKG_VERSION"));
    let how = if setting.packets.is_empty() { "simulated" } else { "emulated" };
    let what = format!("{how}: scenario {}, seed {}", setting.scenario, setting.seed);
    // What a replay of the capture has to know: no frame says it.
    let radios = (0..)
        .zip(&setting.radios)
        .map(|(station, radio)| format!("radio of {}: {radio}", mac::station_address(station)));
    // A comment has 65,535 bytes at most. A longer profile, which has more text than figures, is left out.
    let fits = |(_, text): &(&String, &String)| text.len() < LONGEST_PROFILE;
    let profiles =
        setting.profiles.iter().filter(fits).map(|(name, text)| format!("profile of radio {name}:\n{text}"));
    // Stations are associated from the beginning: no frame assigns the identifier.
    let associations = (0..)
        .zip(&setting.stations)
        .map(|(station, of)| format!("AID of {}: {}", mac::station_address(station), of.aid));
    // Nor does one say that it left U-APSD out.
    let without_uapsd = (0..)
        .zip(&setting.stations)
        .filter(|(_, of)| !of.uapsd)
        .map(|(station, _)| format!("U-APSD of {}: none", mac::station_address(station)));
    let comments = std::iter::once(what)
        .chain(profiles)
        .chain(radios)
        .chain(associations)
        .chain(without_uapsd)
        .map(|text| SectionHeaderOption::Comment(Cow::Owned(text)));
    SectionHeaderBlock {
        // The byte order is fixed: the capture of a run has the same bytes on every machine.
        endianness: Endianness::Little,
        options: comments.chain([SectionHeaderOption::UserApplication(Cow::Borrowed(program))]).collect(),
        ..SectionHeaderBlock::default()
    }
}

fn interface(cell: &CellSetting) -> InterfaceDescriptionBlock<'static> {
    let channel = channel(cell);
    let description = format!("the simulated air, {} at {} MHz", cell.standard.name(), channel.frequency_mhz);
    InterfaceDescriptionBlock {
        linktype: DataLink::IEEE802_11_RADIOTAP,
        // There is no limit, because the omitted bytes never existed.
        snaplen: 0,
        options: vec![
            InterfaceDescriptionOption::IfName(Cow::Owned(cell.name.clone())),
            InterfaceDescriptionOption::IfDescription(Cow::Owned(description)),
            InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
        ],
    }
}

/// The channel of a cell: the one of its number, if its name is that of a channel in the PHY's band (802.11-2020 annex E), or else
/// the lowest of the band.
fn channel(cell: &CellSetting) -> Channel {
    let number: Option<u16> = cell.channel.as_ref().and_then(|name| name.parse().ok());
    let (numbers, base_mhz, flags) = match cell.standard.band() {
        Band::Ghz2 => (1..=13, 2407, Channel::DYNAMIC_2GHZ),
        Band::Ghz5 => (36..=177, 5000, Channel::OFDM_5GHZ),
        Band::Ghz6 => (1..=233, 5950, Channel::OFDM_5GHZ),
    };
    let number = number.filter(|number| numbers.contains(number)).unwrap_or(*numbers.start());
    Channel { frequency_mhz: base_mhz + 5 * number, flags }
}

const fn is_broken(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Collision | Outcome::Noise)
}

/// Appends a frame from the MAC header to the FCS, as far as its bytes are known. Returns its whole length, and whether
/// that includes an FCS: it does not if the headers of a scenario are shorter than those of the standard, which leaves
/// no room for one.
fn encode_mpdu(
    setting: &Setting,
    cell: &CellSetting,
    frame: &TracedFrame,
    outcome: Outcome,
    out: &mut Vec<u8>,
) -> (usize, bool) {
    let body_end = mac::encode(setting, cell, frame, out);
    let on_air = frame.bytes as usize;
    if body_end + FCS_BYTES > on_air {
        return (body_end, false);
    }
    if out.len() + FCS_BYTES == on_air {
        append_fcs(out, 0);
        if is_broken(outcome) {
            out[on_air - FCS_BYTES..].iter_mut().for_each(|byte| *byte = !*byte);
        }
    }
    (on_air, true)
}

fn radiotap(cell: &CellSetting, frame: &TracedFrame, outcome: Outcome, has_fcs: bool) -> Radiotap {
    let flag = |set: bool, flag: u8| if set { flag } else { 0 };
    let flag16 = |set: bool, flag: u16| if set { flag } else { 0 };
    let broken = flag(is_broken(outcome), RadiotapFlags::BAD_FCS);
    let vector = frame.vector;
    let format = vector.format();
    let short = flag(format == Format::Dsss { short: true }, RadiotapFlags::SHORT_PREAMBLE);
    // Rates without an index are multiples of 500 kbit/s up to 54 Mbit/s.
    let rate = (vector.rate().as_bps() / 500_000) as u8;
    let (rate_500kbps, vht, he) = match format {
        Format::Dsss { .. } | Format::Ofdm => (Some(rate), None, None),
        Format::Vht => (None, Some(vector), None),
        Format::He(_) => (None, None, Some(vector)),
        // HT has the MCS field, and what no cell sends has none.
        Format::HtMixed | Format::HtGreenfield | Format::Eht(_) => (None, None, None),
    };
    Radiotap {
        tsft_us: Some(first_bit_us(cell, frame)),
        flags: RadiotapFlags(broken | short | flag(has_fcs, RadiotapFlags::FCS)),
        rate_500kbps,
        channel: Some(channel(cell)),
        mcs: McsField::of(&vector),
        vht,
        he,
        ampdu: frame.aggregate.map(|Aggregate { reference, place, count }| {
            let last = flag16(place + 1 == count, AmpduStatus::IS_LAST);
            AmpduStatus { reference, flags: AmpduStatus::LAST_KNOWN | last }
        }),
        ..Radiotap::default()
    }
}

/// The time in microseconds at which the preamble of a frame ends.
fn first_bit_us(cell: &CellSetting, frame: &TracedFrame) -> u64 {
    (frame.start + frame.vector.layout(cell.standard.band()).training()).as_nanos() / 1_000
}
