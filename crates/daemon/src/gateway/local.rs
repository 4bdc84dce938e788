//! Connections with a reliability: programs of this host open them by a local socket and read gaps beside their data.
//!
//! A program connects to the socket and sends one line,
//!
//! ```text
//! open ADDRESS PORT WANTED OFFERED
//! ```
//! the per cent of what it receives, and of what it sends, that must arrive. The answer is the line `ok` when the server has
//! accepted the connection, or `error WHY`. Until then a program that closes its socket gives the connection up. From then on the program sends bytes, and ends its direction by shutting it down. It
//! receives frames of a kind (1 byte), a position in the stream (8), a length (4, all big-endian), and with kinds `D` and `L`
//! that many bytes:
//!
//! * `D`: the next bytes of the stream. Those that are missing are zeros.
//! * `G`: these bytes are missing. The frame comes before the data.
//! * `L`: bytes that had been missing have arrived.
//! * `E`: the stream is complete, with as many bytes as the position says. A socket that ends without it was cut off.

use std::io::{self, Read as _, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use airwatt_linux::event_loop::{Interest, Sources, Token};
use airwatt_linux::{Error, control};
use airwatt_proto::gateway::Shares;
use rustix::event::{PollFd, PollFlags};

/// Longest request.
const REQUEST_BYTES_MAX: usize = 128;
/// Bytes of data in a frame, at most.
const FRAME_DATA_MAX: usize = 16_384;

/// The frames for a program.
#[derive(Debug, Default)]
pub(super) struct Frames {
    pending: Vec<u8>,
    /// Position of the next data.
    position: u64,
    /// The frame that ends the stream was added.
    has_ended: bool,
}

impl Frames {
    pub(super) const fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Adds a line of the beginning.
    pub(super) fn push_line(&mut self, line: &str) {
        self.pending.extend_from_slice(line.as_bytes());
        self.pending.push(b'\n');
    }

    /// Writes what waits, and the frame that ends the stream. Returns whether all of it was taken.
    pub(super) fn end(&mut self, stream: &mut impl Write) -> io::Result<bool> {
        if !self.has_ended {
            self.push(b'E', self.position, 0, &[]);
            self.has_ended = true;
        }
        self.flush(stream)?;
        Ok(!self.has_pending())
    }

    /// Adds a frame. `data` is empty for a gap. What comes too late for the end of the stream is left out.
    pub(super) fn push(&mut self, kind: u8, position: u64, length: u64, data: &[u8]) {
        if self.has_ended {
            return;
        }
        self.pending.push(kind);
        self.pending.extend_from_slice(&position.to_be_bytes());
        // A gap of a connection is no longer than its window.
        self.pending.extend_from_slice(&(length.min(u32::MAX.into()) as u32).to_be_bytes());
        self.pending.extend_from_slice(data);
    }

    /// Writes what waits, and then data. Returns how much of the data was taken.
    pub(super) fn write(&mut self, stream: &mut impl Write, data: &[u8]) -> io::Result<usize> {
        self.flush(stream)?;
        if self.has_pending() || data.is_empty() {
            return Ok(0);
        }
        let count = data.len().min(FRAME_DATA_MAX);
        self.push(b'D', self.position, count as u64, &data[..count]);
        self.position += count as u64;
        self.flush(stream)?;
        Ok(count)
    }

    fn flush(&mut self, stream: &mut impl Write) -> io::Result<()> {
        while self.has_pending() {
            match stream.write(&self.pending) {
                Ok(count) => drop(self.pending.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// What a program asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) to: SocketAddr,
    pub(super) shares: Shares,
}

/// Reads a request.
pub(super) fn parse(line: &str) -> Result<Request, String> {
    let expected = || format!("expected open ADDRESS PORT WANTED OFFERED, got {line:?}");
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let ["open", address, port, wanted, offered] = words[..] else { return Err(expected()) };
    let address: IpAddr = address.parse().map_err(|_| expected())?;
    let port: u16 = port.parse().map_err(|_| expected())?;
    let share = |text: &str| text.parse().ok().filter(|share: &u8| *share <= 100);
    match (share(wanted), share(offered)) {
        (Some(wanted), Some(offered)) => {
            Ok(Request { to: SocketAddr::new(address, port), shares: Shares { wanted, offered } })
        }
        _ => Err(format!("expected reliabilities of 0 to 100 per cent, got {wanted} and {offered}")),
    }
}

/// A program, and what it asks for.
pub(super) type Asked = (UnixStream, Result<Request, String>);

/// The local socket.
#[derive(Debug)]
pub(super) struct Local {
    pub(super) listener: UnixListener,
    path: PathBuf,
    /// Programs that have not sent their line yet.
    waiting: Vec<(UnixStream, Vec<u8>)>,
}

/// Programs that may be about to send their line.
const WAITING_MAX: usize = 64;

impl Local {
    /// Listens at `path`, for every user: whoever runs programs here may open connections without this socket as well.
    pub(super) fn bind(path: &Path) -> Result<Self, Error> {
        let what = path.display().to_string();
        let listener = control::listen_for_all(path)?;
        listener.set_nonblocking(true).map_err(Error::of(&what))?;
        Ok(Self { listener, path: path.to_owned(), waiting: Vec::new() })
    }

    /// Takes the programs that connect, and returns those that have sent their line. `token` is that of the listener in the event loop,
    /// and of the programs.
    pub(super) fn accept(&mut self, sources: &Sources, token: Token) -> Result<Vec<Asked>, Error> {
        let mut asking = Vec::new();
        while let Ok((stream, _)) = self.listener.accept() {
            if self.waiting.len() == WAITING_MAX {
                asking.extend(self.read(sources)?);
            }
            // The line is sent at once; one that has not sent it is dropped for those that do.
            if self.waiting.len() == WAITING_MAX {
                self.waiting.remove(0);
            }
            if stream.set_nonblocking(true).is_ok() {
                sources.add(&stream, token, Interest::Read)?;
                self.waiting.push((stream, Vec::new()));
            }
        }
        asking.extend(self.read(sources)?);
        Ok(asking)
    }

    /// Takes those of the waiting programs that have sent their line.
    fn read(&mut self, sources: &Sources) -> Result<Vec<Asked>, Error> {
        let mut asking = Vec::new();
        for (mut stream, mut line) in std::mem::take(&mut self.waiting) {
            match read_line(&mut stream, &mut line) {
                Line::Incomplete => self.waiting.push((stream, line)),
                Line::Complete => {
                    sources.remove(&stream)?;
                    asking.push((stream, parse(&String::from_utf8_lossy(&line))));
                }
                Line::Ended => {}
            }
        }
        Ok(asking)
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Whether a program has closed its socket.
pub(super) fn has_gone(stream: &UnixStream) -> bool {
    let mut asked = [PollFd::new(stream, PollFlags::empty())];
    let at_once = rustix::time::Timespec { tv_sec: 0, tv_nsec: 0 };
    rustix::event::poll(&mut asked, Some(&at_once)).is_ok() && asked[0].revents().contains(PollFlags::HUP)
}

/// How far a program has come with its line.
enum Line {
    Incomplete,
    Complete,
    Ended,
}

fn read_line(stream: &mut UnixStream, line: &mut Vec<u8>) -> Line {
    let mut byte = [0];
    while line.len() < REQUEST_BYTES_MAX {
        match stream.read(&mut byte) {
            Ok(1) if byte[0] == b'\n' => return Line::Complete,
            Ok(1) => line.push(byte[0]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Line::Incomplete,
            _ => return Line::Ended,
        }
    }
    Line::Ended
}

#[cfg(test)]
mod tests;
