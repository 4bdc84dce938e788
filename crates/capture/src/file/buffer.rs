//! A window on the bytes of a capture that grows until the next block fits.

use std::io::{self, Read};

use pcap_file::PcapError;

/// A block longer than this is damage: capture tools end at 256 KiB for a packet.
const BLOCK_LIMIT: usize = 16 << 20;
/// What is left of a last packet that is cut short: no more than one of IP. What is more is of packets behind a damaged length.
const MOST_CUT: usize = (1 << 16) + 1_024;
/// The size of one read.
const READ_BYTES: usize = 1 << 16;

/// The way in which the reading of a file ended.
#[derive(Debug)]
pub(crate) enum End {
    /// At the end of a block.
    Complete,
    /// In the middle of a block.
    CutShort,
    /// At bytes that are not what the format asks for.
    Damaged(&'static str),
    /// At a link type that is not supported.
    LinkType(u32),
    /// The sink takes no more packets.
    Full,
}

/// The part of a file that is in memory.
pub(super) struct Buffer<R> {
    source: R,
    bytes: Vec<u8>,
    start: usize,
    /// Bytes of the capture before `start`.
    pub(super) position: u64,
    /// Why reading failed, where bytes before the failure are still to be used.
    failed: Option<io::Error>,
}

impl<R: Read> Buffer<R> {
    pub(super) const fn new(source: R) -> Self {
        Self { source, bytes: Vec::new(), start: 0, position: 0, failed: None }
    }

    /// Bytes that were read and not consumed.
    pub(super) fn rest(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    /// Bytes of the capture that were read.
    pub(super) fn bytes_read(&self) -> u64 {
        self.position + self.rest().len() as u64
    }

    /// The source, to ask about an error.
    pub(super) const fn source(&self) -> &R {
        &self.source
    }

    fn advance_to(&mut self, remaining: usize) {
        let used = self.rest().len() - remaining;
        self.start += used;
        self.position += used as u64;
    }

    /// Reads on until `bytes` are there; `false` if the file ends before.
    pub(super) fn fill_to(&mut self, bytes: usize) -> io::Result<bool> {
        while self.rest().len() < bytes {
            if !self.fill()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads on; `false` at the end of the file.
    fn fill(&mut self) -> io::Result<bool> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        self.bytes.drain(..self.start);
        self.start = 0;
        let before = self.bytes.len();
        // Doubling keeps the copying of a long block linear in its length.
        let wanted = READ_BYTES.max(before);
        self.bytes.try_reserve(wanted).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        let read = self.source.by_ref().take(wanted as u64).read_to_end(&mut self.bytes);
        if self.bytes.len() > before {
            // What a compressed file has before its damage is as good as in a larger one.
            self.failed = read.err();
            return Ok(true);
        }
        read.map(|_| false)
    }

    /// Parses the next thing in the file. `Ok(Err(end))` if there is none.
    pub(super) fn next<T>(
        &mut self,
        mut parse: impl FnMut(&[u8]) -> Result<(usize, T), PcapError>,
    ) -> io::Result<Result<T, End>> {
        loop {
            match parse(self.rest()) {
                Ok((remaining, value)) => {
                    self.advance_to(remaining);
                    return Ok(Ok(value));
                }
                Err(PcapError::IncompleteBuffer) if self.rest().len() > BLOCK_LIMIT => {
                    return Ok(Err(End::Damaged("a block states a length above 16 MiB")));
                }
                Err(PcapError::IncompleteBuffer) => {
                    if !self.fill()? {
                        return Ok(Err(match self.rest().len() {
                            0 => End::Complete,
                            1..=MOST_CUT => End::CutShort,
                            _ => End::Damaged("a packet is stated to be longer than the rest of the file"),
                        }));
                    }
                }
                Err(PcapError::InvalidField(what)) => return Ok(Err(End::Damaged(what))),
                Err(PcapError::IoError(error)) => return Err(error),
                // Only a parser of pcapng has others.
                Err(error) => return Err(io::Error::other(error)),
            }
        }
    }
}
