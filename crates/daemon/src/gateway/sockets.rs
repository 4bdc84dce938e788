//! The host's sockets: those of relayed connections, and of programs that opened theirs by the local socket.
//!
//! A socket that the kernel closes because this process has died resets its connection. Only one whose whole stream has been written
//! ends it: the kernel delivers what it has taken.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use airwatt_base::{Instant, Span};
use airwatt_linux::event_loop::{Interest, Sources, Token};
use airwatt_linux::nftables::{FourTuple, NftablesTable};
use airwatt_linux::{Error, sock_diag, transparent};
use airwatt_proto::e2tcp::{Addresses, Endpoint};
use airwatt_proto::gateway::{ConnectFailure, ConnectionId};
use tracing::debug;

use super::local::Frames;

/// The tokens of connections follow those of other sources.
pub(super) const FIRST_CONNECTION: u64 = 1 << 16;
/// Time for which the last segments of a connection are still led here, and again while the kernel has something to deliver.
const FLOW_LINGER: Span = Span::from_secs(15);

/// Time between two looks at the flows whose time is over: each look changes the table of nftables, whose kernel waits for its readers.
const FLOWS_EVERY: Span = Span::from_secs(1);

/// Flows of ended connections, each led here no longer than to a time.
#[derive(Debug, Default)]
struct LeavingFlows {
    until: BTreeMap<FourTuple, Instant>,
    looked: Option<Instant>,
}

impl LeavingFlows {
    fn add(&mut self, flow: FourTuple, now: Instant) {
        self.until.insert(flow, now + FLOW_LINGER);
    }

    fn remove(&mut self, flow: &FourTuple) -> bool {
        self.until.remove(flow).is_some()
    }

    /// Takes out the flows whose time is over and whose connections the kernel has no more, as `has` says of each; the others stay for
    /// as long again. The kernel is asked about the flows whose time is over, all at once and once in [`FLOWS_EVERY`] at most.
    fn take_over(&mut self, now: Instant, has: impl FnOnce(&[FourTuple]) -> Vec<bool>) -> Vec<FourTuple> {
        if self.looked.is_some_and(|looked| now < looked + FLOWS_EVERY) {
            return Vec::new();
        }
        self.looked = Some(now);
        let is_over = |(_, until): &(&FourTuple, &Instant)| **until <= now;
        let mut over: Vec<FourTuple> = self.until.iter().filter(is_over).map(|(flow, _)| *flow).collect();
        if over.is_empty() {
            return over;
        }
        let mut living = has(&over).into_iter();
        over.retain(|flow| {
            let lives = living.next().unwrap_or(false);
            if lives {
                self.add(*flow, now);
            } else {
                self.remove(flow);
            }
            !lives
        });
        over
    }
}

/// The loopback address of an IP version.
pub(super) fn loopback(is_v6: bool, port: u16) -> SocketAddr {
    let ip: IpAddr = if is_v6 { Ipv6Addr::LOCALHOST.into() } else { Ipv4Addr::LOCALHOST.into() };
    SocketAddr::new(ip, port)
}

pub(super) fn socket_address(end: Endpoint) -> SocketAddr {
    SocketAddr::new(end.ip, end.port)
}

pub(super) const fn token(id: ConnectionId) -> Token {
    Token(FIRST_CONNECTION + id)
}

/// The stream of a connection.
#[derive(Debug)]
enum Stream {
    Tcp(TcpStream),
    /// A program's, with the socket that reserves its port.
    Local {
        stream: UnixStream,
        frames: Frames,
        _port: OwnedFd,
    },
}

/// A connection of this host.
#[derive(Debug)]
pub(super) struct Connection {
    stream: Stream,
    is_connecting: bool,
    interest: Interest,
    /// Bytes that may be read.
    room: u64,
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.stream {
            Stream::Tcp(stream) => stream.as_fd(),
            Stream::Local { stream, .. } => stream.as_fd(),
        }
    }
}

/// What reading has brought.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Received {
    Data(Vec<u8>),
    End,
    Nothing,
    Lost,
}

impl Connection {
    fn read(&mut self, buffer: &mut [u8]) -> Received {
        let most = buffer.len().min(self.room as usize);
        let result = match &mut self.stream {
            Stream::Tcp(stream) => stream.read(&mut buffer[..most]),
            Stream::Local { stream, .. } => stream.read(&mut buffer[..most]),
        };
        match result {
            Ok(0) => Received::End,
            Ok(count) => {
                self.room -= count as u64;
                Received::Data(buffer[..count].to_vec())
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                Received::Nothing
            }
            Err(_) => Received::Lost,
        }
    }

    /// Writes as much of `bytes` as goes. Returns how much was taken.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = match &mut self.stream {
            Stream::Tcp(stream) => stream.write(bytes),
            Stream::Local { stream, frames, .. } => frames.write(stream, bytes),
        };
        match result {
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(0),
            other => other,
        }
    }

    /// Whether something of its own waits to be written.
    fn has_pending(&self) -> bool {
        matches!(&self.stream, Stream::Local { frames, .. } if frames.has_pending())
    }
}

/// All sockets of connections.
#[derive(Debug)]
pub(super) struct Sockets {
    pub(super) listeners: Vec<TcpListener>,
    connections: BTreeMap<ConnectionId, Connection>,
    /// Connections that were admitted, by their flow to this host.
    pending: BTreeMap<FourTuple, ConnectionId>,
    /// The flow of each connection that is led here.
    flows: BTreeMap<ConnectionId, FourTuple>,
    leaving: LeavingFlows,
    table: NftablesTable,
    /// Tables that only have to stay as long as this.
    _others: Vec<NftablesTable>,
    mark: u32,
    buffer: u32,
    scratch: Vec<u8>,
}

impl Sockets {
    pub(super) fn new(
        listeners: Vec<TcpListener>,
        (table, others): (NftablesTable, Vec<NftablesTable>),
        mark: u32,
        buffer: u32,
    ) -> Self {
        Self {
            listeners,
            connections: BTreeMap::new(),
            pending: BTreeMap::new(),
            flows: BTreeMap::new(),
            leaving: LeavingFlows::default(),
            table,
            _others: others,
            mark,
            buffer,
            scratch: vec![0; 1 << 16],
        }
    }

    /// Hosts whose SYNs were led to the device and have not come through the chains that forward them.
    pub(super) fn kept_away(&mut self) -> Vec<IpAddr> {
        // A kernel that does not list them leaves them out.
        self.table.addresses().unwrap_or_default()
    }

    pub(super) fn has(&self, id: ConnectionId) -> bool {
        self.connections.contains_key(&id)
    }

    fn add(&mut self, id: ConnectionId, connection: Connection, events: &Sources) -> Result<(), Error> {
        events.add(&connection, token(id), connection.interest)?;
        self.connections.insert(id, connection);
        Ok(())
    }

    /// Has the segments of a flow led here.
    fn lead(&mut self, id: ConnectionId, flow: FourTuple) -> Result<(), Error> {
        self.table.add(&[flow])?;
        self.leaving.remove(&flow);
        self.flows.insert(id, flow);
        Ok(())
    }

    /// The SYN of the connection is about to reach a listener.
    pub(super) fn expect(&mut self, id: ConnectionId, addresses: Addresses) -> Result<(), Error> {
        let flow = (socket_address(addresses.sender()), socket_address(addresses.receiver()));
        self.pending.insert(flow, id);
        self.lead(id, flow)
    }

    /// Takes the connections that have been accepted and were expected. Others are reset.
    pub(super) fn accept(&mut self, events: &Sources) -> Result<Vec<ConnectionId>, Error> {
        let mut accepted = Vec::new();
        for index in 0..self.listeners.len() {
            while let Ok((stream, from)) = self.listeners[index].accept() {
                let at = stream.local_addr().ok();
                let id = at.and_then(|at| self.pending.remove(&(from, at)));
                match id {
                    Some(id) if self.set_up(&stream).is_ok() => {
                        let interest = Interest::Errors;
                        let stream = Stream::Tcp(stream);
                        let connection = Connection { stream, is_connecting: false, interest, room: 0 };
                        self.add(id, connection, events)?;
                        accepted.push(id);
                    }
                    _ => drop(stream),
                }
            }
        }
        Ok(accepted)
    }

    fn set_up(&self, stream: &TcpStream) -> io::Result<()> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        transparent::keep_urgent(stream)?;
        transparent::bound_buffers(stream, self.buffer)
    }

    /// Begins to connect.
    pub(super) fn connect(
        &mut self,
        id: ConnectionId,
        addresses: Addresses,
        events: &Sources,
    ) -> Result<(), ConnectFailure> {
        let (from, to) = (socket_address(addresses.sender()), socket_address(addresses.receiver()));
        self.lead(id, (to, from)).map_err(|_| ConnectFailure::Declined)?;
        let stream = transparent::connect(from, to, self.mark).map_err(|error| failure_of(&error))?;
        self.set_up(&stream).map_err(|error| failure_of(&error))?;
        let (stream, interest) = (Stream::Tcp(stream), Interest::Write);
        let connection = Connection { stream, is_connecting: true, interest, room: 0 };
        self.add(id, connection, events).map_err(|_| ConnectFailure::Declined)
    }

    /// A program's connection.
    pub(super) fn add_local(
        &mut self,
        id: ConnectionId,
        stream: UnixStream,
        port: OwnedFd,
        events: &Sources,
    ) -> Result<(), Error> {
        let stream = Stream::Local { stream, frames: Frames::default(), _port: port };
        let connection = Connection { stream, is_connecting: false, interest: Interest::Errors, room: 0 };
        self.add(id, connection, events)
    }

    /// What the program of a connection is told beside its data.
    pub(super) fn frames(&mut self, id: ConnectionId) -> Option<&mut Frames> {
        match &mut self.connections.get_mut(&id)?.stream {
            Stream::Local { frames, .. } => Some(frames),
            Stream::Tcp(_) => None,
        }
    }

    /// The outcome of an attempt to connect that has come to an end; `None` for other connections.
    pub(super) fn finish_connecting(&mut self, id: ConnectionId) -> Option<Result<(), ConnectFailure>> {
        let connection = self.connections.get_mut(&id).filter(|connection| connection.is_connecting)?;
        connection.is_connecting = false;
        let Stream::Tcp(stream) = &connection.stream else { return None };
        Some(transparent::outcome(stream).map_err(|error| failure_of(&error)))
    }

    /// Reads from a connection that is ready.
    pub(super) fn read(&mut self, id: ConnectionId) -> Received {
        let Some(connection) = self.connections.get_mut(&id) else { return Received::Nothing };
        if connection.room == 0 {
            // Only an error or the end of both directions is reported then.
            return match &connection.stream {
                Stream::Tcp(stream) if transparent::outcome(stream).is_ok() => Received::Nothing,
                _ => Received::Lost,
            };
        }
        connection.read(&mut self.scratch)
    }

    /// Writes to a connection. Returns how many of the bytes were taken.
    pub(super) fn write(&mut self, id: ConnectionId, bytes: &[u8]) -> io::Result<usize> {
        // Nothing is written to a socket whose direction has ended, not even no bytes.
        let connection = self.connections.get_mut(&id);
        connection
            .filter(|connection| !bytes.is_empty() || connection.has_pending())
            .map_or(Ok(0), |connection| connection.write(bytes))
    }

    /// Ends this end's direction: the whole stream has been written. Returns false if its end does not fit yet.
    pub(super) fn shut(&mut self, id: ConnectionId) -> bool {
        let Some(connection) = self.connections.get_mut(&id) else { return true };
        let ended = match &mut connection.stream {
            Stream::Tcp(stream) => transparent::end_at_close(stream)
                .and_then(|()| stream.shutdown(Shutdown::Write))
                .map(|()| true),
            Stream::Local { stream, frames, .. } => match frames.end(stream) {
                Ok(true) => stream.shutdown(Shutdown::Write).map(|()| true),
                other => other,
            },
        };
        // A socket that is gone has ended by itself.
        ended.unwrap_or(true)
    }

    /// Waits for what the connection can use: `room` bytes, and a place to write if `waits`.
    pub(super) fn wait_for(
        &mut self,
        id: ConnectionId,
        room: u64,
        waits: bool,
        events: &Sources,
    ) -> Result<(), Error> {
        let Some(connection) = self.connections.get_mut(&id).filter(|connection| !connection.is_connecting)
        else {
            return Ok(());
        };
        connection.room = room;
        let interest = match (room > 0, waits || connection.has_pending()) {
            (true, true) => Interest::ReadWrite,
            (true, false) => Interest::Read,
            (false, true) => Interest::Write,
            (false, false) => Interest::Errors,
        };
        if interest != connection.interest {
            connection.interest = interest;
            events.modify(&*connection, token(id), interest)?;
        }
        Ok(())
    }

    /// Closes the socket of a connection, with a reset or after its end.
    pub(super) fn close(&mut self, id: ConnectionId, with_reset: bool, now: Instant) {
        if let Some(connection) = self.connections.remove(&id)
            && let (true, Stream::Tcp(stream)) = (with_reset, &connection.stream)
        {
            let _ = transparent::reset_at_close(stream);
        }
        if let Some(flow) = self.flows.remove(&id) {
            self.pending.remove(&flow);
            self.leaving.add(flow, now);
            forget_ended(flow);
        }
    }

    /// The connection goes as plain TCP: segments of a predecessor with its addresses are led here no longer.
    pub(super) fn release(&mut self, addresses: Addresses) {
        let (from, to) = (socket_address(addresses.sender()), socket_address(addresses.receiver()));
        for flow in [(from, to), (to, from)] {
            if self.leaving.remove(&flow) {
                let _ = self.table.remove(&[flow]);
            }
        }
    }

    /// Forgets the flows of connections that ended some time ago.
    pub(super) fn forget_flows(&mut self, now: Instant) {
        // A slow reader has not taken everything yet: without its acknowledgements the kernel's socket would be stuck, and the host
        // beyond, which would get them, would reset the connection.
        let has = |over: &[FourTuple]| {
            let sockets: Vec<_> = over.iter().map(|(from, to)| (*to, *from)).collect();
            let found = sock_diag::tcp_retransmissions(&sockets).unwrap_or_default();
            found.iter().map(Option::is_some).collect()
        };
        let over = self.leaving.take_over(now, has);
        if over.is_empty() {
            return;
        }
        over.iter().copied().for_each(forget_ended);
        // One that is not there any more is what was asked for.
        let _ = self.table.remove(&over);
    }
}

/// Has the kernel forget the connection of a flow if it has ended in both directions. The next SYN with its addresses, which is to be forwarded
/// to the device, would be dropped for it: before the kernel routes a segment it looks for a socket of this host, and it forwards none that
/// has one. Kernels that cannot forget drop such SYNs for a minute, as docs/gateway.md says.
fn forget_ended((from, to): FourTuple) {
    if let Err(error) = sock_diag::forget_ended((to, from)) {
        debug!(%error, "the kernel keeps a connection that has ended");
    }
}

/// What the failure of an attempt to connect means.
fn failure_of(error: &io::Error) -> ConnectFailure {
    match error.kind() {
        ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset => ConnectFailure::Refused,
        ErrorKind::TimedOut => ConnectFailure::TimedOut,
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => ConnectFailure::Unreachable,
        _ => ConnectFailure::Declined,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(port: u16) -> FourTuple {
        (([192, 0, 2, 1], port).into(), ([192, 0, 2, 2], 80).into())
    }

    /// Twenty connections a second end for a minute, one of them with a slow reader, and the loop turns a thousand times a second.
    #[test]
    fn the_kernel_is_asked_once_about_each_flow_and_at_most_once_a_second() {
        let mut leaving = LeavingFlows::default();
        let (mut looks, mut asked, mut gone) = (0_u64, 0_usize, Vec::new());
        for millis in 0..90_000 {
            let now = Instant::from_millis(millis);
            if millis < 60_000 && millis % 50 == 0 {
                leaving.add(flow((millis / 50) as u16), now);
            }
            gone.extend(leaving.take_over(now, |over| {
                looks += 1;
                asked += over.len();
                over.iter().map(|over| *over == flow(7) && millis < 60_000).collect()
            }));
        }
        assert!((60..=76).contains(&looks), "{looks}");
        // The slow reader's flow was looked at four times.
        assert_eq!((asked, gone.len(), leaving.until.len()), (1_200 + 3, 1_200, 0));
        assert_eq!(gone.iter().filter(|gone| **gone == flow(7)).count(), 1);
    }
}
