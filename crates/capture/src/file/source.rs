//! Where the bytes of a capture come from: a file, a pipe or standard input, compressed or not.
//!
//! A file is read by a thread of its own, so that a pipe on which nothing arrives does not keep the analysis from being
//! stopped. Compression with gzip (RFC 1952) and Zstandard (RFC 8878) is recognized by the first bytes. A decompressor
//! may produce at most [`EXPANSION_LIMIT`] times what it has read of the file: more is an attack, or padding that no capture has.

use std::cell::Cell;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use flate2::read::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::limits::EXPANSION_LIMIT;

/// Decompressed bytes below which the ratio is not checked.
const ALLOWANCE_BYTES: u64 = 1 << 20;
/// Largest window of a Zstandard frame. `zstd` itself writes larger ones only with `--long` or `--ultra`.
const ZSTD_WINDOW_BYTES: u64 = 32 << 20;

const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b];
const ZSTD_MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// The upper bytes of the magic number of a skippable frame, 0x184d2a50 to 0x184d2a5f, little-endian (RFC 8878 3.1.2).
const ZSTD_SKIPPABLE_MAGIC: &[u8] = &[0x2a, 0x4d, 0x18];

/// The size of the pieces that the reading thread hands over.
const CHUNK_BYTES: usize = 1 << 18;
/// Chunks that may wait to be analysed.
const CHUNKS_AHEAD: usize = 2;
/// The time after which a reader that waits for bytes asks whether to go on.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// The decompressed data exceeds [`EXPANSION_LIMIT`].
#[derive(Debug)]
pub(crate) struct Expanded;

impl fmt::Display for Expanded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "decompressed data exceeds {EXPANSION_LIMIT} times what was read of the file")
    }
}

impl std::error::Error for Expanded {}

/// The source of a capture's bytes.
pub(crate) enum Origin {
    StandardInput,
    Path(PathBuf),
    /// A file that is open already.
    File(File),
}

/// The bytes of a file, which a thread reads.
pub(super) struct Threaded<'a> {
    chunks: Receiver<io::Result<Vec<u8>>>,
    present: Vec<u8>,
    /// Bytes of `present` that were handed out.
    used: usize,
    /// Bytes of the file so far.
    arrived: u64,
    goes_on: &'a mut dyn FnMut(u64) -> ControlFlow<()>,
}

impl<'a> Threaded<'a> {
    /// Starts to read. `goes_on` is asked while nothing arrives and after each chunk, with the bytes of the file so far.
    pub(super) fn start(
        origin: Origin,
        goes_on: &'a mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> io::Result<Self> {
        let (sender, chunks) = sync_channel(CHUNKS_AHEAD);
        // Opening a named pipe blocks until there is a writer, so the thread does this, too.
        std::thread::Builder::new().name("capture".to_owned()).spawn(move || {
            let mut file: Box<dyn Read> = match origin {
                Origin::StandardInput => Box::new(io::stdin().lock()),
                Origin::File(file) => Box::new(file),
                Origin::Path(path) => match File::open(path) {
                    Ok(file) => Box::new(file),
                    Err(error) => {
                        // The receiver is gone only if the analysis was stopped.
                        let _ = sender.send(Err(error));
                        return;
                    }
                },
            };
            loop {
                let mut chunk = vec![0; CHUNK_BYTES];
                let read = match file.read(&mut chunk) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    read => read,
                };
                let is_last = !matches!(read, Ok(1..));
                let message = read.map(|length| {
                    chunk.truncate(length);
                    chunk
                });
                if sender.send(message).is_err() || is_last {
                    return;
                }
            }
        })?;
        Ok(Self { chunks, present: Vec::new(), used: 0, arrived: 0, goes_on })
    }
}

impl Read for Threaded<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.used == self.present.len() {
            if (self.goes_on)(self.arrived).is_break() {
                return Err(io::Error::other("interrupted"));
            }
            match self.chunks.recv_timeout(ASK_EVERY) {
                Ok(chunk) => {
                    (self.present, self.used) = (chunk?, 0);
                    self.arrived += self.present.len() as u64;
                }
                Err(RecvTimeoutError::Timeout) => continue,
                // The thread ended after the last chunk, which is empty.
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
            }
            if self.present.is_empty() {
                return Ok(0);
            }
        }
        let length = buffer.len().min(self.present.len() - self.used);
        buffer[..length].copy_from_slice(&self.present[self.used..self.used + length]);
        self.used += length;
        Ok(length)
    }
}

/// The state of a file while it is read.
#[derive(Debug, Default)]
struct Progress {
    /// Bytes of the file so far.
    bytes: Cell<u64>,
    /// The system reported an error.
    failed: Cell<bool>,
}

/// Counts the bytes that are read through it.
struct Counted<R> {
    source: R,
    progress: Rc<Progress>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.source.read(buffer).inspect_err(|_| self.progress.failed.set(true))?;
        self.progress.bytes.set(self.progress.bytes.get() + length as u64);
        Ok(length)
    }
}

/// The end of a frame: a last block without content (RFC 8878 3.1.1.2), and a checksum, if the frame has one.
const ZSTD_END: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];

/// All frames of a Zstandard file, one after the other (RFC 8878 3).
struct Zstd<R> {
    source: R,
    decoder: FrameDecoder,
    in_frame: bool,
    /// Why the frame ends before its end, when what was decoded has not been read yet.
    failure: Option<io::Error>,
}

impl<R: BufRead> Zstd<R> {
    /// Begins the next frame that carries data; `false` at the end of the file.
    fn next_frame(&mut self) -> io::Result<bool> {
        while !self.source.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.source) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let length = u64::from(length);
                    if io::copy(&mut self.source.by_ref().take(length), &mut io::sink())? < length {
                        return Err(damaged("the file ends within a skippable frame"));
                    }
                }
                Err(error) => return Err(damaged(error)),
            }
        }
        Ok(false)
    }
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.in_frame && !self.next_frame()? {
                return Ok(0);
            }
            self.in_frame = true;
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let strategy = BlockDecodingStrategy::UptoBlocks(1);
                if let Err(error) = self.decoder.decode_blocks(&mut self.source, strategy) {
                    self.failure = Some(damaged(error));
                    // The decoder keeps the last window of a frame until its end. What is lost is the block that is cut or damaged, of
                    // 128 KiB at most.
                    let end = self.decoder.decode_blocks(&mut &ZSTD_END[..], BlockDecodingStrategy::All);
                    if end.is_err() {
                        break;
                    }
                }
            }
            if self.decoder.can_collect() > 0 {
                return self.decoder.read(buffer);
            }
            if let Some(failure) = self.failure.take() {
                return Err(failure);
            }
            let (stated, found) =
                (self.decoder.get_checksum_from_data(), self.decoder.get_calculated_checksum());
            if stated.is_some() && stated != found {
                return Err(damaged("the checksum of a frame does not match"));
            }
            self.in_frame = false;
        }
    }
}

fn damaged(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// The bytes of a capture, decompressed.
pub(super) struct Source<'a> {
    bytes: Box<dyn Read + 'a>,
    is_compressed: bool,
    progress: Rc<Progress>,
    decompressed: u64,
}

impl<'a> Source<'a> {
    /// Looks at the first bytes of `source` and decompresses it if need be.
    pub(super) fn new(mut source: impl Read + 'a) -> io::Result<Self> {
        let mut magic = Vec::new();
        source.by_ref().take(4).read_to_end(&mut magic)?;
        let progress = Rc::new(Progress::default());
        let whole = io::Cursor::new(magic.clone()).chain(source);
        let counted = Counted { source: whole, progress: Rc::clone(&progress) };
        let is_zstd = magic == ZSTD_MAGIC || magic.get(1..) == Some(ZSTD_SKIPPABLE_MAGIC);
        let (bytes, is_compressed): (Box<dyn Read + 'a>, bool) = if magic.starts_with(GZIP_MAGIC) {
            (Box::new(MultiGzDecoder::new(counted)), true)
        } else if is_zstd {
            let mut decoder = FrameDecoder::new();
            decoder.set_max_window_size(ZSTD_WINDOW_BYTES);
            (
                Box::new(Zstd { source: BufReader::new(counted), decoder, in_frame: false, failure: None }),
                true,
            )
        } else {
            (Box::new(counted), false)
        };
        Ok(Self { bytes, is_compressed, progress, decompressed: 0 })
    }

    /// Whether all of the compressed data was read, and its checksum says that some of it is wrong, wherever that is.
    pub(super) fn is_wrong_checksum(&self, error: &io::Error) -> bool {
        self.is_damage(error) && error.to_string().contains("checksum")
    }

    /// Whether a block of gzip's cannot be decoded, which may be long behind the damage. Zstandard's errors do not say it.
    pub(super) fn is_corrupt(&self, error: &io::Error) -> bool {
        self.is_damage(error) && error.to_string().contains("corrupt deflate stream")
    }

    /// Whether an error that a read returned is damage of the compressed data rather than the system's.
    pub(super) fn is_damage(&self, error: &io::Error) -> bool {
        let is_ours = error.get_ref().is_some_and(|inner| inner.is::<Expanded>());
        self.is_compressed && !self.progress.failed.get() && !is_ours
    }
}

impl Read for Source<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.bytes.read(buffer)?;
        self.decompressed += length as u64;
        if self.is_compressed {
            // What has been read, not the size of the file: a bomb of megabytes is known by its first kilobytes.
            let limit = self.progress.bytes.get().saturating_mul(EXPANSION_LIMIT).max(ALLOWANCE_BYTES);
            if self.decompressed > limit {
                return Err(io::Error::other(Expanded));
            }
        }
        Ok(length)
    }
}
