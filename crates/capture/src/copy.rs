//! A copy of a capture as pcapng, packet by packet, in the order of the file.

use std::borrow::Cow;
use std::io;
use std::time::Duration;

use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::PcapNgBlock;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::interface_statistics::{InterfaceStatisticsBlock, InterfaceStatisticsOption};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness, PcapError};

use crate::capture::CUT;
use crate::file::End;

/// Timestamps are in units of 10^-9 s.
const NANOSECONDS: u8 = 9;

/// Writes packets; the first error ends it.
pub(crate) struct Writer<'a> {
    out: PcapNgWriter<&'a mut dyn io::Write>,
    /// Link types in the order of the interfaces.
    links: Vec<u32>,
    /// The time of the packet before, in nanoseconds since 1970.
    last_ns: u64,
    /// Packets that were dropped as the original was made.
    dropped: u64,
    /// Whether the original, or what it is itself a copy of, is cut short or damaged.
    is_cut: bool,
    failed: Option<io::Error>,
}

impl<'a> Writer<'a> {
    /// Begins a file with a comment of its own.
    pub(crate) fn new(out: &'a mut dyn io::Write, comment: String) -> io::Result<Self> {
        let program = concat!("airwatt ", env!("CARGO_PKG_VERSION"));
        let section = SectionHeaderBlock {
            endianness: Endianness::Little,
            options: vec![
                SectionHeaderOption::Comment(Cow::Owned(comment)),
                SectionHeaderOption::UserApplication(Cow::Borrowed(program)),
            ],
            ..SectionHeaderBlock::default()
        };
        let out = PcapNgWriter::with_section_header(out, section).map_err(io_error)?;
        Ok(Self { out, links: Vec::new(), last_ns: 0, dropped: 0, is_cut: false, failed: None })
    }

    /// Writes a packet, with the arguments of a sink; one without a time has that of the packet before.
    pub(crate) fn packet(
        &mut self,
        link: u32,
        unix_ns: Option<u64>,
        original: u32,
        data: &[u8],
        comments: Vec<String>,
    ) {
        self.last_ns = unix_ns.unwrap_or(self.last_ns);
        if self.failed.is_none() {
            self.failed = self.write(link, original, data, comments).err();
        }
    }

    fn write(&mut self, link: u32, original: u32, data: &[u8], comments: Vec<String>) -> io::Result<()> {
        let interface = match self.links.iter().position(|known| *known == link) {
            Some(interface) => interface,
            None => {
                let description = InterfaceDescriptionBlock {
                    linktype: DataLink::from(link),
                    snaplen: 0,
                    options: vec![InterfaceDescriptionOption::IfTsResol(NANOSECONDS)],
                };
                self.out.write_block(&description.into_block()).map_err(io_error)?;
                self.links.push(link);
                self.links.len() - 1
            }
        };
        let comment = |text| EnhancedPacketOption::Comment(Cow::Owned(text));
        let packet = EnhancedPacketBlock {
            interface_id: interface as u32,
            timestamp: Duration::from_nanos(self.last_ns),
            original_len: original.max(u32::try_from(data.len()).unwrap_or(u32::MAX)),
            data: Cow::Borrowed(data),
            options: comments.into_iter().map(comment).collect(),
        };
        self.out.write_block(&packet.into_block()).map_err(io_error)?;
        Ok(())
    }

    /// How the reading of a file of the original ended.
    pub(crate) fn ended(&mut self, end: &End) {
        self.is_cut |= matches!(end, End::CutShort | End::Damaged(_));
    }

    /// A comment of the original.
    pub(crate) fn comment(&mut self, text: &str) {
        self.is_cut |= text == CUT;
    }

    /// Packets that a file of the original says were dropped. Files of a ring have counts from its beginning on.
    pub(crate) fn dropped(&mut self, packets: u64) {
        self.dropped = self.dropped.max(packets);
    }

    /// Statistics that say what the original lacks, at the end of the copy.
    fn write_lacks(&mut self) -> io::Result<()> {
        let dropped = (self.dropped > 0).then_some(InterfaceStatisticsOption::IsbIfDrop(self.dropped));
        let cut = self.is_cut.then_some(InterfaceStatisticsOption::Comment(Cow::Borrowed(CUT)));
        let options: Vec<_> = cut.into_iter().chain(dropped).collect();
        if self.is_empty() || options.is_empty() {
            return Ok(());
        }
        let lacks = InterfaceStatisticsBlock { interface_id: 0, timestamp: self.last_ns, options };
        self.out.write_block(&lacks.into_block()).map_err(io_error)?;
        Ok(())
    }

    /// Whether the original is cut short or damaged, as far as it has been read.
    pub(crate) const fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Whether no packet was written.
    pub(crate) fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// Whether the file could not be written.
    pub(crate) fn is_full(&self) -> bool {
        self.failed.is_some()
    }

    /// Ends the file, with the first error of it.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        if self.failed.is_none() {
            self.failed = self.write_lacks().err();
        }
        match self.failed {
            Some(error) => Err(error),
            None => self.out.into_inner().flush(),
        }
    }
}

fn io_error(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}
