//! A server for a few local clients in an event loop: requests and answers over a Unix socket, or over TCP on a loopback
//! address. What a request is, its protocol says ([`crate::control`], [`crate::metrics`]).
//!
//! It has an event loop of its own, whose descriptor is a source of the caller's loop, so that connections come and go
//! without the caller's help. Bounded: 16 connections, of which the oldest makes place for a new one, 64 KiB a request, and one
//! answer that a client has not taken: its next request is looked at when it has.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};

use airwatt_base::Instant;

use crate::Error;
use crate::event_loop::{EventLoop, Interest, Token};

const CONNECTIONS_MAX: usize = 16;
const REQUEST_BYTES_MAX: usize = 1 << 16;
/// Requests of a client that are answered before others have their turn.
const REQUESTS_AT_ONCE: usize = 16;
const LISTENER: Token = Token(0);

/// What accepts connections.
#[derive(Debug)]
pub(crate) enum Listener {
    Unix(UnixListener),
    Tcp(TcpListener),
}

/// One connection.
#[derive(Debug)]
enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

#[derive(Debug)]
struct Connection {
    stream: Stream,
    received: Vec<u8>,
    to_send: Vec<u8>,
    /// It is closed once everything is sent.
    is_ending: bool,
}

/// What a client has sent so far.
pub(crate) enum Request {
    /// Not complete.
    Partial,
    /// The first `length` bytes are a request; this is the answer.
    Complete { length: usize, answer: Vec<u8>, closes: bool },
}

/// The server.
#[derive(Debug)]
pub(crate) struct LocalServer {
    events: EventLoop,
    listener: Listener,
    connections: BTreeMap<u64, Connection>,
    next: u64,
}

impl LocalServer {
    pub(crate) fn new(listener: Listener) -> Result<Self, Error> {
        const WHAT: &str = "a local server";
        let events = EventLoop::new()?;
        match &listener {
            Listener::Unix(listener) => {
                listener.set_nonblocking(true).map_err(Error::of(WHAT))?;
                events.add(listener, LISTENER, Interest::Read)?;
            }
            Listener::Tcp(listener) => {
                listener.set_nonblocking(true).map_err(Error::of(WHAT))?;
                events.add(listener, LISTENER, Interest::Read)?;
            }
        }
        Ok(Self { events, listener, connections: BTreeMap::new(), next: 1 })
    }

    /// Serves what is ready, without waiting. `answer` reads the bytes that a client has sent.
    pub(crate) fn serve(&mut self, mut answer: impl FnMut(&[u8]) -> Request) -> Result<(), Error> {
        let ready = self.events.wait(Some(Instant::ZERO))?.to_vec();
        for source in ready {
            if source.token == LISTENER {
                self.accept()?;
            } else if let Some(connection) = self.connections.get_mut(&source.token.0) {
                match connection.serve(&mut answer) {
                    Ok(Some(interest)) => {
                        self.events.modify(connection.stream.as_fd(), source.token, interest)?;
                    }
                    Ok(None) | Err(_) => drop(self.connections.remove(&source.token.0)),
                }
            }
        }
        Ok(())
    }

    fn accept(&mut self) -> Result<(), Error> {
        loop {
            let accepted = match &self.listener {
                Listener::Unix(listener) => listener.accept().map(|(stream, _)| Stream::Unix(stream)),
                Listener::Tcp(listener) => listener.accept().map(|(stream, _)| Stream::Tcp(stream)),
            };
            // A client that has gone already is no error of the server.
            let Ok(stream) = accepted else { return Ok(()) };
            if stream.set_nonblocking().is_err() {
                continue;
            }
            if self.connections.len() >= CONNECTIONS_MAX {
                self.connections.pop_first();
            }
            self.events.add(stream.as_fd(), Token(self.next), Interest::Read)?;
            let connection =
                Connection { stream, received: Vec::new(), to_send: Vec::new(), is_ending: false };
            self.connections.insert(self.next, connection);
            self.next += 1;
        }
    }
}

impl AsFd for LocalServer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.events.as_fd()
    }
}

impl Connection {
    /// Reads, answers and writes as far as possible without waiting, a few requests at most. Returns what to wait for; `None` when
    /// the client has ended and has everything.
    fn serve(&mut self, answer: &mut impl FnMut(&[u8]) -> Request) -> io::Result<Option<Interest>> {
        for _ in 0..REQUESTS_AT_ONCE {
            if !self.flush()? {
                return Ok(Some(Interest::Write));
            }
            if self.is_ending {
                return Ok(None);
            }
            let (mut request, mut is_open) = (answer(&self.received), true);
            if matches!(request, Request::Partial) {
                is_open = self.read()?;
                request = answer(&self.received);
            }
            match request {
                Request::Partial if self.received.len() > REQUEST_BYTES_MAX => {
                    return Err(io::ErrorKind::InvalidData.into());
                }
                Request::Partial => return Ok(is_open.then_some(Interest::Read)),
                Request::Complete { length, answer, closes } => {
                    self.received.drain(..length);
                    self.to_send = answer;
                    self.is_ending = closes;
                }
            }
        }
        // Others have their turn first.
        Ok(Some(Interest::Write))
    }

    /// Writes the answer. Returns false if the client has not taken all of it.
    fn flush(&mut self) -> io::Result<bool> {
        while !self.to_send.is_empty() {
            match self.stream.write(&self.to_send) {
                Ok(count) => drop(self.to_send.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Reads what has come, of a request at most. Returns false at the end of the client's data.
    fn read(&mut self) -> io::Result<bool> {
        let mut bytes = [0; 4096];
        while self.received.len() <= REQUEST_BYTES_MAX {
            match self.stream.read(&mut bytes) {
                Ok(0) => return Ok(false),
                Ok(count) => self.received.extend_from_slice(&bytes[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

impl Stream {
    fn set_nonblocking(&self) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.set_nonblocking(true),
            Self::Tcp(stream) => stream.set_nonblocking(true),
        }
    }

    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(stream) => stream.as_fd(),
            Self::Tcp(stream) => stream.as_fd(),
        }
    }

    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.read(bytes),
            Self::Tcp(stream) => stream.read(bytes),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.write(bytes),
            Self::Tcp(stream) => stream.write(bytes),
        }
    }
}
