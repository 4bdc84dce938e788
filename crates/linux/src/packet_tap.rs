//! A packet socket whose filter is a BPF program: the program sees every packet of one interface, sent and received.
//!
//! The socket strips the link layer (`SOCK_DGRAM`), so that the program's offset 0 is the IP header in both directions. A
//! program that accepts nothing leaves the socket empty and its owner asleep. The kernel detaches the program when the
//! socket is closed, however its owner ends.
#![expect(unsafe_code, reason = "SO_ATTACH_BPF has no safe form")]

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
        const WHAT: &str = "a packet socket";
        let check = |code: libc::c_int| match code {
            -1 => Err(Error::new(WHAT, std::io::Error::last_os_error())),
            code => Ok(code),
        };
        // Protocol 0: it receives nothing before it is bound.
        // SAFETY: no pointers.
        let fd = check(unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) })?;
        // SAFETY: the descriptor was just made and is owned by nobody else.
        let socket = unsafe { OwnedFd::from_raw_fd(fd) };
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
        // SAFETY: the structure consists of numbers, for which zero is a value.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as libc::c_ushort;
        address.sll_protocol = ETH_P_ALL.to_be();
        address.sll_ifindex = index.cast_signed();
        // SAFETY: the address is of this type and size.
        check(unsafe {
            libc::bind(fd, (&raw const address).cast(), size_of::<libc::sockaddr_ll>() as libc::socklen_t)
        })?;
        Ok(Self { _socket: socket })
    }
}
