//! TCP sockets with addresses of other hosts (`IP_TRANSPARENT`), as a proxy needs them that keeps both addresses, and packets that
//! are sent as they are.
//!
//! Rules of the kernel lead the segments of such connections here ([`crate::nftables`]). All sockets are non-blocking, and their
//! packets can have a mark, by which such rules leave them alone.
//!
//! A connection ends with a reset when its socket is closed, unless [`end_at_close`] says otherwise: a proxy that is killed must
//! not end a stream that it has passed on in part.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::time::Duration;

use nix::sys::socket::{setsockopt, sockopt as nix_options};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType, ipproto, sockopt};

use crate::{Error, descriptor};

/// Connections that wait to be accepted.
const BACKLOG: i32 = 4_096;

fn socket(address: SocketAddr, mark: u32) -> io::Result<OwnedFd> {
    let family = if address.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    if address.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, true)?;
    }
    // Accepted connections have the option of their listener from their first moment on.
    sockopt::set_socket_linger(&socket, Some(Duration::ZERO))?;
    // The option of IPv4 is the one of the socket, also with IPv6.
    setsockopt(&socket, nix_options::IpTransparent, &true)?;
    setsockopt(&socket, nix_options::Mark, &mark)?;
    Ok(socket)
}

/// Listens at an address of this host for the connections that rules lead there. Accepted ones have the address that their peer
/// addressed as their own.
///
/// # Errors
/// If the address is taken, or a privilege is missing (CAP_NET_ADMIN).
pub fn listen(address: SocketAddr, mark: u32) -> Result<TcpListener, Error> {
    let what = format!("transparent listener at {address}");
    let bound = || {
        let socket = socket(address, mark)?;
        rustix::net::bind(&socket, &address)?;
        rustix::net::listen(&socket, BACKLOG)?;
        io::Result::Ok(TcpListener::from(socket))
    };
    bound().map_err(Error::of(&what))
}

/// Begins to connect from one address, of this host or not, to another. The stream is writable when the connection is established
/// or has failed; [`outcome`] then says which. A port of 0 is chosen by the kernel. When this process dies, such a connection is
/// reset before accepted ones, and before a table of rules goes that was created earlier.
///
/// # Errors
/// What the kernel knows at once: no route, an address that is taken.
pub fn connect(from: SocketAddr, to: SocketAddr, mark: u32) -> io::Result<TcpStream> {
    let socket = descriptor::close_early(socket(from, mark)?);
    rustix::net::bind(&socket, &from)?;
    match rustix::net::connect(&socket, &to) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket.into()),
        Err(error) => Err(error.into()),
    }
}

/// How an attempt to connect has ended.
///
/// # Errors
/// What has ended the attempt.
pub fn outcome(stream: &TcpStream) -> io::Result<()> {
    match sockopt::socket_error(stream)? {
        Ok(()) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Has the socket end with a reset when it is closed, whatever has not been delivered. This is how it begins.
///
/// # Errors
/// If the kernel refuses, which would be a fault of this program.
pub fn reset_at_close(stream: &TcpStream) -> io::Result<()> {
    sockopt::set_socket_linger(stream, Some(Duration::ZERO))?;
    Ok(())
}

/// Has urgent data stay in its place in the stream (RFC 6093): otherwise the kernel takes the byte before the urgent pointer out of it.
///
/// # Errors
/// If the kernel refuses, which would be a fault of this program.
pub fn keep_urgent(stream: &TcpStream) -> io::Result<()> {
    sockopt::set_socket_oobinline(stream, true)?;
    Ok(())
}

/// Has the kernel deliver what the socket has taken, and then the end of the stream, also after it is closed. The whole stream must
/// have been written.
///
/// # Errors
/// If the kernel refuses, which would be a fault of this program.
pub fn end_at_close(stream: &TcpStream) -> io::Result<()> {
    sockopt::set_socket_linger(stream, None)?;
    Ok(())
}

/// Bounds what the kernel holds of a connection in each direction to about this many bytes of data. It then no longer adapts its
/// buffers.
///
/// # Errors
/// If the kernel refuses, which would be a fault of this program.
pub fn bound_buffers(stream: &TcpStream, bytes: u32) -> io::Result<()> {
    sockopt::set_socket_send_buffer_size(stream, bytes as usize)?;
    sockopt::set_socket_recv_buffer_size(stream, bytes as usize)?;
    Ok(())
}

/// Whether a socket can have the address: it is one of this host, of the broadcasts, or of a group.
pub fn is_local(address: IpAddr) -> bool {
    std::net::UdpSocket::bind((address, 0)).is_ok()
}

/// Reserves a TCP port of this host at the address, as long as the descriptor is open.
///
/// # Errors
/// If the address is not this host's, or no port is free.
pub fn reserve_port(address: IpAddr) -> io::Result<(OwnedFd, SocketAddr)> {
    let family = if address.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET };
    let socket =
        rustix::net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, Some(ipproto::TCP))?;
    rustix::net::bind(&socket, &SocketAddr::new(address, 0))?;
    let bound = rustix::net::getsockname(&socket)?;
    let bound = SocketAddr::try_from(bound).map_err(|_| Errno::AFNOSUPPORT)?;
    Ok((socket, bound))
}

/// Sends whole IP packets as they are, also with addresses of others.
#[derive(Debug)]
pub struct PacketSender {
    v4: OwnedFd,
    v6: Option<OwnedFd>,
}

impl PacketSender {
    /// Opens the sockets (CAP_NET_RAW). A host without IPv6 has one.
    ///
    /// # Errors
    /// If a privilege is missing.
    pub fn open(mark: u32) -> Result<Self, Error> {
        let open = |family| {
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            // With this protocol the header is part of what is sent.
            let socket = rustix::net::socket_with(family, SocketType::RAW, flags, Some(ipproto::RAW))?;
            setsockopt(&socket, nix_options::Mark, &mark)?;
            io::Result::Ok(socket)
        };
        let v4 = open(AddressFamily::INET).map_err(Error::of("raw socket"))?;
        Ok(Self { v4, v6: open(AddressFamily::INET6).ok() })
    }

    /// Sends a packet to its destination. One that the kernel does not take is lost, as on any network.
    ///
    /// # Errors
    /// Why it was not taken.
    pub fn send(&self, to: IpAddr, packet: &[u8]) -> io::Result<()> {
        let socket = if to.is_ipv6() { self.v6.as_ref().ok_or(Errno::AFNOSUPPORT)? } else { &self.v4 };
        rustix::net::sendto(socket, packet, SendFlags::empty(), &SocketAddr::new(to, 0))?;
        Ok(())
    }
}
