//! Reading capture files: pcap and pcapng, micro- and nanoseconds, both byte orders, several interfaces.
//!
//! A file is read once from front to back, so that a pipe works as well, and may be compressed with gzip or Zstandard. A folder
//! stands for its capture files.
//! A small record is kept of each packet; the buffer holds one block. A last packet that is cut short, and damage in the
//! middle, end the reading: what came before is kept, and [`crate::Notes`] says so.

mod blocks;
mod buffer;
mod source;
pub(crate) mod sources;

use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::Path;

use airwatt_base::{Span, reason_of};
use tracing::debug;

use self::buffer::Buffer;
pub(crate) use self::buffer::End;
use self::source::{Expanded, Source, Threaded};
pub(crate) use self::sources::SourceFile;
use crate::capture::{Capture, CaptureFile, FileFormat};
use crate::clock;
use crate::decode::Decoder;
use crate::decrypt::{Decryption, NetworkKey};
use crate::doubles;
use crate::error::CaptureError;
use crate::limits::{DEFAULT_MEMORY_BYTES, Limits};
use crate::packet::PacketSink;

/// Bytes that tell one format from the other.
const MAGIC_BYTES: usize = 4;

/// The part of a capture that has been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Bytes of its files so far, as they are stored.
    pub bytes: u64,
    /// Their size; `None` if it is not known before the end, as that of a pipe.
    pub of: Option<u64>,
}

/// Is asked now and then whether to go on with reading.
pub type OnReading<'a> = &'a mut dyn FnMut(Reading) -> ControlFlow<()>;

impl Capture {
    /// Reads the capture at `path`; `-` is standard input, and a folder stands for its capture files in order of time. While it
    /// reads, it asks `goes_on` whether to.
    ///
    /// # Errors
    /// [`CaptureError`]: the file is not a capture, exceeds the limits, or the caller asked to stop.
    pub fn open(path: &Path, limits: &Limits, goes_on: OnReading<'_>) -> Result<Self, CaptureError> {
        let sources = sources::of(path)?;
        Self::read_sources(&file_name(path), sources, limits, &[], goes_on)
    }

    /// As [`Capture::open`], but protected frames are opened with `keys`, and `opened` is called when all files are open and nothing of them has been read, so that the
    /// caller can give up privileges there. Opening a named pipe blocks until there is a writer.
    ///
    /// # Errors
    /// As [`Capture::open`], and [`CaptureError::Unreadable`] with the error of `opened`.
    pub fn open_then(
        path: &Path,
        limits: &Limits,
        keys: &[NetworkKey],
        opened: impl FnOnce() -> io::Result<()>,
        goes_on: OnReading<'_>,
    ) -> Result<Self, CaptureError> {
        let name = file_name(path);
        let mut sources = sources::of(path)?;
        for source in &mut sources {
            source.open()?;
        }
        opened().map_err(|error| failure(&name, &error))?;
        Self::read_sources(&name, sources, limits, keys, goes_on)
    }

    fn read_sources(
        name: &str,
        sources: Vec<SourceFile>,
        limits: &Limits,
        keys: &[NetworkKey],
        goes_on: OnReading<'_>,
    ) -> Result<Self, CaptureError> {
        let mut decryption = Decryption::new(keys);
        let (mut parts, mut failed) = (Vec::new(), Vec::new());
        let (of, is_folder) = (sources::total_bytes(&sources), sources::is_folder(&sources));
        // A small file that expands to a large capture is still a small file.
        let limit_bytes = limits.memory_bytes_for(of.unwrap_or(u64::MAX));
        let mut memory_bytes = limit_bytes;
        let mut before = 0;
        for source in sources {
            let (file, size) = (source.name.clone(), source.bytes);
            let mut sink = Decoder::new(memory_bytes, decryption);
            let mut ask = |bytes| goes_on(Reading { bytes: before + bytes, of });
            let read = read_to_sink(source, &mut sink, &mut ask);
            match &read {
                Ok(_) => debug!(file, packets = sink.capture.packets_in_file, "capture read"),
                Err(error) => debug!(file, %error, "capture not read"),
            }
            decryption = sink.take_decryption();
            before += size.unwrap_or_default();
            match read.and_then(|read| Part::new(file, sink, read, limit_bytes)) {
                Ok(part) => {
                    memory_bytes = memory_bytes.saturating_sub(part.decoder.memory_bytes());
                    parts.push(part);
                }
                // One file of a night does not lose the others.
                Err(error) if is_folder && error.is_of_one_file() => failed.push(error),
                Err(error) => return Err(error),
            }
        }
        let unread = failed.iter().map(CaptureError::to_string).collect();
        if let (true, Some(error)) = (parts.is_empty(), failed.pop()) {
            return Err(error);
        }
        let names: Vec<String> = parts.iter().map(|part| part.name.clone()).collect();
        let mut capture = Part::join(name, parts, is_folder)?;
        capture.notes.unread = unread;
        let number = |file: usize, number| {
            let before = capture.files.iter().find(|one| names.get(file) == Some(&one.name));
            before.map_or(number, |file| file.packets_before + number)
        };
        Ok(Self { decryption: decryption.report(number), bytes: of.unwrap_or(capture.bytes), ..capture })
    }

    /// Reads a capture from bytes, within the default limits; `name` stands for the file in errors and results.
    ///
    /// # Errors
    /// [`CaptureError`]: the bytes are not a capture, or it exceeds the limits.
    pub fn read(name: &str, source: impl Read) -> Result<Self, CaptureError> {
        let mut decoder = Decoder::new(DEFAULT_MEMORY_BYTES, Decryption::default());
        let read = read_source(name, source, &mut decoder)?;
        let part = Part::new(name.to_owned(), decoder, read, DEFAULT_MEMORY_BYTES)?;
        Part::join(name, vec![part], false)
    }
}

/// The contents of one file.
struct Part {
    name: String,
    decoder: Decoder,
    read: FileRead,
}

impl Part {
    /// Refuses a file that is no capture, or whose records exceed the limit of memory.
    fn new(name: String, decoder: Decoder, read: FileRead, limit_bytes: u64) -> Result<Self, CaptureError> {
        match read.end {
            End::Damaged(what) if decoder.capture.packets_in_file == 0 => {
                return Err(CaptureError::NotACapture(name, what.to_owned()));
            }
            End::Full => {
                return Err(CaptureError::Memory {
                    file: name,
                    packets: decoder.capture.packets_in_file,
                    memory_bytes: decoder.memory_bytes(),
                    limit_bytes,
                });
            }
            End::Complete | End::CutShort | End::Damaged(_) | End::LinkType(_) => {}
        }
        Ok(Self { name, decoder, read })
    }

    /// The capture of all parts, the files of a folder in order of their first packets.
    fn join(name: &str, mut parts: Vec<Self>, is_folder: bool) -> Result<Capture, CaptureError> {
        if is_folder {
            parts.sort_by_key(|part| part.decoder.first_unix_ns());
            // A tool that rotates its files leaves empty ones.
            parts.retain(|part| part.decoder.first_unix_ns().is_some());
        }
        let no_packets =
            |oversized, is_cut| CaptureError::NoPackets { file: name.to_owned(), oversized, is_cut };
        let mut parts = parts.into_iter();
        let Some(first) = parts.next() else { return Err(no_packets(None, false)) };
        let (format, mut bytes) = (first.read.format, first.read.bytes);
        let mut files = vec![CaptureFile { name: first.name, packets_before: 0 }];
        let mut joined = first.decoder;
        let mut ends = vec![(first.read.end, first.read.position)];
        let mut until = (joined.last_unix_ns(), files[0].name.clone());
        for part in parts {
            let (begins, ended) = (part.decoder.first_unix_ns(), until.0);
            let overlap = ended.unwrap_or_default().saturating_sub(begins.unwrap_or_default());
            // The next file of a monitor ends later, and packets at its begin may be out of order. A copy does not end later.
            let is_within = overlap > 0 && part.decoder.last_unix_ns() <= ended;
            if Span::from_nanos(overlap) > clock::REORDER_LIMIT || is_within {
                return Err(CaptureError::Overlap {
                    folder: name.to_owned(),
                    first: until.1,
                    second: part.name,
                    by: Span::from_nanos(overlap),
                });
            }
            until = until.max((part.decoder.last_unix_ns(), part.name.clone()));
            files.push(CaptureFile { name: part.name, packets_before: joined.capture.packets_in_file });
            joined.append(part.decoder);
            bytes += part.read.bytes;
            ends.push((part.read.end, part.read.position));
        }
        if files.len() > 1 {
            joined.sort_by_time();
        }
        let mut capture = joined.into_capture(name, format, bytes);
        for (end, position) in ends {
            match end {
                End::CutShort => capture.notes.truncated = true,
                End::Damaged(what) => {
                    capture.notes.damaged.get_or_insert((position, what));
                }
                _ => {}
            }
        }
        if capture.packets.is_empty() {
            return Err(no_packets(capture.notes.oversized, capture.notes.truncated));
        }
        if is_folder {
            capture.files = files;
        }
        clock::divide(&mut capture);
        doubles::leave_out(&mut capture);
        clock::mark_repeated(&mut capture);
        Ok(capture)
    }
}

/// The way in which the reading of a file ended.
pub(crate) struct FileRead {
    pub(crate) format: FileFormat,
    pub(crate) end: End,
    /// Bytes of the capture that were consumed.
    position: u64,
    /// Bytes of the capture that were read, decompressed.
    bytes: u64,
}

/// Reads the packets of a file. `goes_on` is asked with the bytes of the file so far.
pub(crate) fn read_to_sink(
    source: SourceFile,
    sink: &mut dyn PacketSink,
    goes_on: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<FileRead, CaptureError> {
    let SourceFile { name, origin, refused, .. } = source;
    if let Some(error) = refused {
        return Err(error);
    }
    let mut is_stopped = false;
    let mut ask = |arrived| {
        let answer = goes_on(arrived);
        is_stopped |= answer.is_break();
        answer
    };
    let read = Threaded::start(origin, &mut ask)
        .map_err(|error| failure(&name, &error))
        .and_then(|threaded| read_source(&name, threaded, sink));
    // A decompressor reports the error of a stopped source as its own.
    if is_stopped { Err(CaptureError::Interrupted) } else { read }
}

fn read_source(name: &str, source: impl Read, sink: &mut dyn PacketSink) -> Result<FileRead, CaptureError> {
    let source = Source::new(source).map_err(|error| failure(name, &error))?;
    let mut buffer = Buffer::new(source);
    let (format, end) = read_blocks(name, &mut buffer, sink)?;
    if let End::LinkType(number) = end {
        return Err(CaptureError::LinkType(name.to_owned(), number));
    }
    Ok(FileRead { format, end, position: buffer.position, bytes: buffer.bytes_read() })
}

/// The file's name in results; bytes that are not UTF-8 are replaced.
fn file_name(path: &Path) -> String {
    if path == Path::new("-") { "standard input".to_owned() } else { path.to_string_lossy().into_owned() }
}

/// Reads all blocks, and says how the reading ended.
fn read_blocks(
    name: &str,
    buffer: &mut Buffer<Source<'_>>,
    sink: &mut dyn PacketSink,
) -> Result<(FileFormat, End), CaptureError> {
    const DAMAGE: &str = "the compressed data is damaged or cut short";
    const CORRUPT: &str =
        "the compressed data is damaged, and what comes before may be, too, since its checksum is at its end";
    if let Err(error) = buffer.fill_to(MAGIC_BYTES) {
        let is_damage = buffer.source().is_damage(&error);
        let damaged =
            || CaptureError::NotACapture(name.to_owned(), format!("{DAMAGE} before its first packet"));
        return Err(if is_damage { damaged() } else { failure(name, &error) });
    }
    let format = format(name, buffer.rest())?;
    let end = match format {
        FileFormat::Pcap => blocks::read_pcap(buffer, sink),
        FileFormat::PcapNg => blocks::read_pcapng(buffer, sink),
    };
    match end {
        Ok(end) => Ok((format, end)),
        Err(error) if buffer.source().is_wrong_checksum(&error) => {
            Err(CaptureError::Checksum(name.to_owned()))
        }
        Err(error) if buffer.source().is_corrupt(&error) => Ok((format, End::Damaged(CORRUPT))),
        Err(error) if buffer.source().is_damage(&error) => Ok((format, End::Damaged(DAMAGE))),
        Err(error) => Err(failure(name, &error)),
    }
}

/// Says by its first bytes what a file is.
fn format(name: &str, bytes: &[u8]) -> Result<FileFormat, CaptureError> {
    match bytes {
        [] => Err(CaptureError::Empty(name.to_owned())),
        [0x0a, 0x0d, 0x0d, 0x0a, ..] => Ok(FileFormat::PcapNg),
        [0xa1, 0xb2, 0xc3, 0xd4, ..]
        | [0xa1, 0xb2, 0x3c, 0x4d, ..]
        | [0xd4, 0xc3, 0xb2, 0xa1, ..]
        | [0x4d, 0x3c, 0xb2, 0xa1, ..] => Ok(FileFormat::Pcap),
        _ => Err(CaptureError::NotACapture(
            name.to_owned(),
            "its first bytes are those of neither format".to_owned(),
        )),
    }
}

/// An error of the source.
fn failure(name: &str, error: &io::Error) -> CaptureError {
    let inner = error.get_ref();
    if inner.is_some_and(|inner| inner.is::<Expanded>()) {
        CaptureError::Expanded(name.to_owned())
    } else {
        CaptureError::Unreadable(name.to_owned(), reason_of(error))
    }
}
