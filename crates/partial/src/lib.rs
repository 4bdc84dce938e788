//! Connections that may lose a share of their data, by the local socket of `airwattd gateway` at a mobile.
//!
//! ```no_run
//! use std::io::Write as _;
//!
//! use airwatt_partial::{RequiredShares, connect};
//!
//! # fn main() -> std::io::Result<()> {
//! let shares = RequiredShares { wanted: 90, ..RequiredShares::default() };
//! let mut stream = connect("/run/airwatt-gateway.sock", "192.0.2.1:80".parse().unwrap(), shares)?;
//! stream.write_all(b"GET /picture HTTP/1.0\r\n\r\n")?;
//! while let Some(piece) = stream.read_piece()? {
//!     println!("{:?} {} {}", piece.kind, piece.position, piece.length);
//! }
//! # Ok(())
//! # }
//! ```
//! The server needs to know nothing of it. The protocol of the socket is in `docs/gateway.md`; `packaging/airwatt_partial.h` is the
//! same for C, and `airwatt.partial` for Python. This crate has no dependencies. Left out: waiting for several connections at once,
//! for which [`PartialStream::as_fd`](AsFd::as_fd) has the descriptor.

use std::io::{self, BufRead as _, BufReader, ErrorKind, Read as _, Write};
use std::net::{Shutdown, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Bytes of a piece, at most: the gateway sends less.
const PIECE_BYTES_MAX: u32 = 65_536;
/// Longest answer to a request.
const ANSWER_BYTES_MAX: u64 = 256;
/// Kind, position and length.
const HEADER_BYTES: usize = 13;

/// How much of the data of a connection must arrive, in per cent from 0 to 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequiredShares {
    /// Of what this program receives.
    pub wanted: u8,
    /// Of what this program sends; the base station fills what is missing with zeros.
    pub offered: u8,
}

impl Default for RequiredShares {
    /// Everything, in both directions.
    fn default() -> Self {
        Self { wanted: 100, offered: 100 }
    }
}

/// What a piece is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PieceKind {
    /// The next bytes of the stream, with zeros where some are missing.
    Data,
    /// These bytes are missing. The piece comes before the data of that place.
    Gap,
    /// Bytes of an earlier gap have arrived.
    Late,
}

/// A part of the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// What it is.
    pub kind: PieceKind,
    /// Its place in the stream in bytes.
    pub position: u64,
    /// Its length in bytes.
    pub length: u32,
    /// The bytes; none of a gap.
    pub data: Vec<u8>,
}

/// A connection. Bytes are sent by [`Write`].
#[derive(Debug)]
pub struct PartialStream {
    reader: BufReader<UnixStream>,
}

/// Connects to a server through the gateway whose local socket is at `path`.
///
/// # Errors
/// [`ErrorKind::ConnectionRefused`] with the gateway's reason if the server or the gateway refuses, and what the system says if no
/// gateway listens at `path`.
pub fn connect(
    path: impl AsRef<Path>,
    server: SocketAddr,
    shares: RequiredShares,
) -> io::Result<PartialStream> {
    let mut reader = BufReader::new(UnixStream::connect(path)?);
    let RequiredShares { wanted, offered } = shares;
    let line = format!("open {} {} {wanted} {offered}\n", server.ip(), server.port());
    reader.get_mut().write_all(line.as_bytes())?;
    let mut answer = String::new();
    (&mut reader).take(ANSWER_BYTES_MAX).read_line(&mut answer)?;
    match answer.strip_suffix('\n') {
        Some("ok") => Ok(PartialStream { reader }),
        Some(answer) => {
            let why = answer.strip_prefix("error ").unwrap_or(answer);
            Err(io::Error::new(ErrorKind::ConnectionRefused, why))
        }
        None => Err(io::Error::new(ErrorKind::ConnectionReset, "the gateway has ended")),
    }
}

impl PartialStream {
    /// Reads the next piece; `None` when the server has closed its direction.
    ///
    /// # Errors
    /// [`ErrorKind::UnexpectedEof`] if the connection was lost, [`ErrorKind::InvalidData`] if it is no gateway, and what the system
    /// says.
    pub fn read_piece(&mut self) -> io::Result<Option<Piece>> {
        let mut header = [0; HEADER_BYTES];
        self.reader.read_exact(&mut header)?;
        let [kind, rest @ ..] = header;
        let (position, length) = rest.split_at(8);
        let position = u64::from_be_bytes(position.try_into().expect("8 bytes"));
        let length = u32::from_be_bytes(length.try_into().expect("4 bytes"));
        let kind = match kind {
            b'D' => PieceKind::Data,
            b'G' => PieceKind::Gap,
            b'L' => PieceKind::Late,
            b'E' => return Ok(None),
            other => return Err(invalid(format!("expected a piece of kind D, G, L or E, got {other}"))),
        };
        let mut data = Vec::new();
        if kind != PieceKind::Gap {
            if length > PIECE_BYTES_MAX {
                return Err(invalid(format!(
                    "expected at most {PIECE_BYTES_MAX} bytes in a piece, got {length}"
                )));
            }
            data.resize(length as usize, 0);
            self.reader.read_exact(&mut data)?;
        }
        Ok(Some(Piece { kind, position, length, data }))
    }

    /// Has nothing more to send.
    ///
    /// # Errors
    /// If the connection is lost.
    pub fn end(&self) -> io::Result<()> {
        self.reader.get_ref().shutdown(Shutdown::Write)
    }
}

impl Write for PartialStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.reader.get_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.reader.get_mut().flush()
    }
}

impl AsFd for PartialStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.reader.get_ref().as_fd()
    }
}

fn invalid(what: String) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}
