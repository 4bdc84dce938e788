//! UDP sockets that send and receive in batches.
//!
//! Received are up to 32 messages with one system call (recvmmsg(2)), each of which may hold several datagrams of one
//! sender (`UDP_GRO`). Sent are runs of datagrams of equal size to one address as one message that the kernel divides
//! (`UDP_SEGMENT`, GSO). The system calls are those of the library `quinn_udp`, which does without where a kernel or a
//! device cannot. No datagram is fragmented on its way, since the don't-fragment bit is set, unless [`Socket::fragment_above`]
//! says otherwise.

use std::io::{self, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

use airwatt_base::Span;
use quinn_udp::{BATCH_SIZE, EcnCodepoint, RecvMeta, Transmit, UdpSocketState};
use rustix::net::sockopt;

use crate::{Error, clock};

/// Bytes of one buffer of a batch: the largest datagram, and with it the largest bundle of GRO.
const BUFFER_BYTES: usize = 65_535;
/// Largest number of bytes in one message: an IPv4 packet less its headers.
const MESSAGE_BYTES_MAX: usize = 65_507;

/// A datagram that was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpDatagram<'a> {
    /// Its sender.
    pub from: SocketAddr,
    /// The address of this host to which it was sent.
    pub to: Option<IpAddr>,
    /// The ECN field of its IP header (RFC 3168): 0 for not ECN-capable, 3 for congestion experienced.
    pub ecn: u8,
    /// How long it has waited for this process, by the wall clock; zero where the kernel does not say.
    pub waited: Span,
    /// Its payload.
    pub bytes: &'a [u8],
}

/// Counters of a socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UdpCounts {
    /// Datagrams received.
    pub received: u64,
    /// System calls that received any.
    pub receive_calls: u64,
    /// Datagrams sent.
    pub sent: u64,
    /// System calls that sent them.
    pub send_calls: u64,
    /// Datagrams that the kernel did not take: its buffer was full, or the address cannot be reached.
    pub send_failures: u64,
}

/// A UDP socket that never blocks.
#[derive(Debug)]
pub struct Socket {
    socket: std::net::UdpSocket,
    state: UdpSocketState,
    received: Vec<u8>,
    /// Datagrams that wait to be sent: a run of equal size to one address, the last of which may be shorter.
    pending: Vec<u8>,
    run: Option<Run>,
    segments_max: usize,
    /// Largest datagram that may be in a run: the kernel divides no run into fragments.
    run_bytes_max: usize,
    counts: UdpCounts,
}

/// The run in `pending`.
#[derive(Clone, Copy, Debug)]
struct Run {
    to: SocketAddr,
    from: Option<IpAddr>,
    size: usize,
    count: usize,
    /// A shorter datagram has ended the run.
    is_closed: bool,
}

impl Socket {
    /// Binds a socket in the network namespace of this thread. Buffers are in bytes, as the kernel counts the payload; `None`
    /// leaves its default.
    ///
    /// # Errors
    /// If the address is taken or not this host's.
    pub fn bind(address: SocketAddr, buffer_bytes: Option<usize>) -> Result<Self, Error> {
        let what = format!("UDP socket at {address}");
        let socket = std::net::UdpSocket::bind(address).map_err(Error::of(&what))?;
        let state = UdpSocketState::new((&socket).into()).map_err(Error::of(&what))?;
        socket.set_nonblocking(true).map_err(Error::of(&what))?;
        if let Some(bytes) = buffer_bytes {
            state.set_recv_buffer_size((&socket).into(), bytes).map_err(Error::of(&what))?;
            state.set_send_buffer_size((&socket).into(), bytes).map_err(Error::of(&what))?;
        }
        let segments_max = state.max_gso_segments().max(1);
        Ok(Self {
            socket,
            state,
            received: vec![0; BATCH_SIZE * BUFFER_BYTES],
            pending: Vec::new(),
            run: None,
            segments_max,
            run_bytes_max: MESSAGE_BYTES_MAX,
            counts: UdpCounts::default(),
        })
    }

    /// Marks the packets that it sends (`SO_MARK`), for rules of the routing policy.
    ///
    /// # Errors
    /// If the capability CAP_NET_ADMIN is missing.
    pub fn set_mark(&self, mark: u32) -> Result<(), Error> {
        let set = nix::sys::socket::setsockopt(&self.socket, nix::sys::socket::sockopt::Mark, &mark);
        set.map_err(|error| Error::new("mark of the UDP socket", std::io::Error::from(error)))
    }

    /// Has the kernel, and routers of IPv4, divide datagrams into fragments that do not fit the path. Those of more than `bytes`, which
    /// may need it, are sent one by one. With `None` nothing is divided, as at the start.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn fragment_above(&mut self, bytes: Option<usize>) -> Result<(), Error> {
        use sockopt::{Ipv4PathMtuDiscovery as V4, Ipv6PathMtuDiscovery as V6};

        self.flush();
        // The library sets these too.
        let (for_v4, for_v6) = if bytes.is_some() { (V4::DONT, V6::DONT) } else { (V4::PROBE, V6::PROBE) };
        let v4 = sockopt::set_ip_mtu_discover(&self.socket, for_v4);
        let v6 = sockopt::set_ipv6_mtu_discover(&self.socket, for_v6);
        let dont_fragment = nix::sys::socket::sockopt::Ipv6DontFrag;
        let _ = nix::sys::socket::setsockopt(&self.socket, dont_fragment, &bytes.is_none());
        // A socket of IPv4 has no option of IPv6.
        v4.or(v6).map_err(Error::of("UDP socket"))?;
        self.run_bytes_max = bytes.unwrap_or(MESSAGE_BYTES_MAX);
        Ok(())
    }

    /// The address of the socket.
    ///
    /// # Errors
    /// If the kernel does not say.
    pub fn address(&self) -> Result<SocketAddr, Error> {
        self.socket.local_addr().map_err(Error::of("UDP socket"))
    }

    /// The counters.
    pub const fn counts(&self) -> UdpCounts {
        self.counts
    }

    /// Receives one batch and calls `each` for its datagrams. Returns their number; 0 if none has arrived.
    ///
    /// # Errors
    /// If the kernel refuses. Errors that the network reports about datagrams that were sent are left out.
    pub fn receive(&mut self, mut each: impl FnMut(UdpDatagram<'_>)) -> Result<usize, Error> {
        let mut metas = [RecvMeta::default(); BATCH_SIZE];
        let mut chunks = self.received.chunks_exact_mut(BUFFER_BYTES);
        let mut buffers: [IoSliceMut<'_>; BATCH_SIZE] =
            std::array::from_fn(|_| IoSliceMut::new(chunks.next().expect("one for each of the batch")));
        let messages = match self.state.recv((&self.socket).into(), &mut buffers, &mut metas) {
            Ok(messages) => messages,
            Err(error) if is_empty(&error) => return Ok(0),
            Err(error) => return Err(Error::new("UDP socket", error)),
        };
        self.counts.receive_calls += 1;
        let read = clock::unix_time();
        let mut count = 0;
        for (buffer, meta) in buffers.iter().zip(&metas[..messages]) {
            // A datagram without payload has a stride of 0.
            for bytes in datagrams(&buffer[..meta.len], meta.stride) {
                let ecn = meta.ecn.map_or(0, |ecn| ecn as u8);
                let waited = meta.timestamp.map_or(Span::ZERO, |came| {
                    let came_ns = u64::try_from(came.as_nanos()).unwrap_or(u64::MAX);
                    read.saturating_sub(Span::from_nanos(came_ns))
                });
                each(UdpDatagram { from: meta.addr, to: meta.dst_ip, ecn, waited, bytes });
                count += 1;
            }
        }
        self.counts.received += count as u64;
        Ok(count)
    }

    /// Sends a datagram now or with the next ones, from the address `from` of this host or the one that the kernel
    /// chooses. Call [`Socket::flush`] when there is no next one.
    pub fn send(&mut self, to: SocketAddr, from: Option<IpAddr>, bytes: &[u8]) {
        if let Some(run) = &mut self.run {
            let continues = (run.to, run.from) == (to, from)
                && !run.is_closed
                && !bytes.is_empty()
                && bytes.len() <= run.size
                && run.size <= self.run_bytes_max
                && run.count < self.segments_max
                && self.pending.len() + bytes.len() <= MESSAGE_BYTES_MAX;
            if continues {
                run.count += 1;
                run.is_closed = bytes.len() < run.size;
                self.pending.extend_from_slice(bytes);
                return;
            }
            self.flush();
        }
        self.pending.extend_from_slice(bytes);
        self.run = Some(Run { to, from, size: bytes.len(), count: 1, is_closed: bytes.is_empty() });
    }

    /// Sends what waits. A datagram that the kernel does not take is lost and counted, as on any network; but it chooses the source where
    /// this host has that address no more, or no way from there.
    pub fn flush(&mut self) {
        let Some(run) = self.run.take() else { return };
        let transmit = |src_ip| Transmit {
            destination: run.to,
            ecn: None::<EcnCodepoint>,
            contents: &self.pending,
            segment_size: (run.count > 1).then_some(run.size),
            src_ip,
        };
        let send = |src_ip| self.state.try_send((&self.socket).into(), &transmit(src_ip));
        self.counts.send_calls += 1;
        let sent = send(run.from).or_else(|error| {
            let is_full = error.kind() == io::ErrorKind::WouldBlock;
            if is_full || run.from.is_none() { Err(error) } else { send(None) }
        });
        match sent {
            Ok(()) => self.counts.sent += run.count as u64,
            Err(_) => self.counts.send_failures += run.count as u64,
        }
        self.pending.clear();
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Bytes of the largest packet that the path to an address carries, as this host knows it: what its interface carries, or less if a
/// router has reported so (RFC 1191, RFC 8201). `mark` is that of the packets (`SO_MARK`). `None` without a route.
pub fn path_mtu(to: SocketAddr, mark: Option<u32>) -> Option<u16> {
    use rustix::net::sockopt::{ip_mtu, ipv6_mtu};

    let socket = towards(to, mark)?;
    let bytes = if to.ip().to_canonical().is_ipv4() { ip_mtu(&socket) } else { ipv6_mtu(&socket) };
    // The loopback interface carries more than a length field has room for.
    Some(u16::try_from(bytes.ok()?).unwrap_or(u16::MAX))
}

/// The address of this host from which packets with this mark leave for an address. `None` without a route.
pub fn path_source(to: SocketAddr, mark: Option<u32>) -> Option<IpAddr> {
    Some(towards(to, mark)?.local_addr().ok()?.ip())
}

/// A socket that has looked its route up; nothing is sent.
fn towards(to: SocketAddr, mark: Option<u32>) -> Option<std::net::UdpSocket> {
    // A socket of IPv6 that is open to both versions has addresses of IPv4 in a form of IPv6.
    let to = SocketAddr::new(to.ip().to_canonical(), to.port());
    let any = if to.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { IpAddr::from(Ipv6Addr::UNSPECIFIED) };
    let socket = std::net::UdpSocket::bind((any, 0)).ok()?;
    if let Some(mark) = mark {
        nix::sys::socket::setsockopt(&socket, nix::sys::socket::sockopt::Mark, &mark).ok()?;
    }
    socket.connect(to).ok()?;
    Some(socket)
}

/// The datagrams in one message.
fn datagrams(bytes: &[u8], stride: usize) -> impl Iterator<Item = &[u8]> {
    let empty = bytes.is_empty().then_some(bytes);
    empty.into_iter().chain(bytes.chunks(stride.max(1)))
}

/// Whether nothing was received: no datagram waits, or the network refused an earlier one of ours.
fn is_empty(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, HostUnreachable, Interrupted, NetworkUnreachable, WouldBlock};
    matches!(
        error.kind(),
        WouldBlock | Interrupted | ConnectionRefused | HostUnreachable | NetworkUnreachable
    )
}

#[cfg(test)]
mod tests;
