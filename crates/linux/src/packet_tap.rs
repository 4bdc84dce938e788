//! Packet sockets: one whose filter is a BPF program, which sees every packet of one interface, sent and received, and one that
//! sends frames.
//!
//! The first strips the link layer (`SOCK_DGRAM`), so that the program's offset 0 is the IP header in both directions. A
//! program that accepts nothing leaves the socket empty and its owner asleep. The kernel detaches the program when the
//! socket is closed, however its owner ends.
#![expect(unsafe_code, reason = "SO_ATTACH_BPF and the addresses of packet sockets have no safe form")]

use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use nix::libc;

use crate::Error;

/// linux/if_ether.h: all protocols.
const ETH_P_ALL: u16 = 3;

/// A program at work on an interface.
#[derive(Debug)]
pub struct PacketTap {
    _socket: OwnedFd,
}

impl PacketTap {
    /// Attaches a program of type socket filter to the interface with this number. Needs `CAP_NET_RAW`.
    ///
    /// # Errors
    /// If the privilege is missing or there is no such interface.
    pub fn attach(program: BorrowedFd<'_>, index: u32) -> Result<Self, Error> {
        let socket = open()?;
        let fd = socket.as_raw_fd();
        let program = program.as_raw_fd();
        // SAFETY: the option's value is one descriptor, of the given size.
        check(unsafe {
            libc::setsockopt(
                fd,
                libc::SOL_SOCKET,
                libc::SO_ATTACH_BPF,
                (&raw const program).cast(),
                size_of_val(&program) as libc::socklen_t,
            )
        })?;
        let address = address(index, ETH_P_ALL);
        // SAFETY: the address is of this type and size.
        check(unsafe {
            libc::bind(fd, (&raw const address).cast(), size_of::<libc::sockaddr_ll>() as libc::socklen_t)
        })?;
        Ok(Self { _socket: socket })
    }
}

/// Sends frames of one protocol on one interface, in one access category.
#[derive(Debug)]
pub struct FrameSender {
    socket: OwnedFd,
    index: u32,
    ethertype: u16,
}

impl FrameSender {
    /// Sends frames with this EtherType on the interface with this number. On Wi-Fi, `priority` is the user priority
    /// (IEEE 802.1D), which decides the access category. Needs `CAP_NET_RAW`, and for a priority of 7 `CAP_NET_ADMIN`.
    ///
    /// # Errors
    /// If a privilege is missing.
    pub fn new(index: u32, ethertype: u16, priority: u8) -> Result<Self, Error> {
        let socket = open()?;
        // cfg80211 takes 256 and more for user priorities that are set on purpose.
        let priority = 256 + libc::c_int::from(priority);
        // SAFETY: the option's value is one number, of the given size.
        check(unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_PRIORITY,
                (&raw const priority).cast(),
                size_of_val(&priority) as libc::socklen_t,
            )
        })?;
        Ok(Self { socket, index, ethertype })
    }

    /// Sends a frame to a link-layer address.
    ///
    /// # Errors
    /// If the interface is down or gone.
    pub fn send(&self, to: [u8; 6], payload: &[u8]) -> Result<(), Error> {
        let mut address = address(self.index, self.ethertype);
        address.sll_halen = to.len() as libc::c_uchar;
        address.sll_addr[..to.len()].copy_from_slice(&to);
        // SAFETY: the payload and the address are of these sizes.
        let sent = unsafe {
            libc::sendto(
                self.socket.as_raw_fd(),
                payload.as_ptr().cast(),
                payload.len(),
                libc::MSG_DONTWAIT,
                (&raw const address).cast(),
                size_of::<libc::sockaddr_ll>() as libc::socklen_t,
            )
        };
        check(sent.clamp(-1, 0) as libc::c_int).map(drop)
    }
}

/// Opens a packet socket without the link layer, which receives nothing before it is bound.
fn open() -> Result<OwnedFd, Error> {
    // SAFETY: no pointers.
    let fd = check(unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) })?;
    // SAFETY: the descriptor was just made and is owned by nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn check(code: libc::c_int) -> Result<libc::c_int, Error> {
    match code {
        -1 => Err(Error::new("a packet socket", std::io::Error::last_os_error())),
        code => Ok(code),
    }
}

/// The address of frames of a protocol on an interface.
fn address(index: u32, protocol: u16) -> libc::sockaddr_ll {
    // SAFETY: the structure consists of numbers, for which zero is a value.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as libc::c_ushort;
    address.sll_protocol = protocol.to_be();
    address.sll_ifindex = index.cast_signed();
    address
}
