//! Netlink (netlink(7)), the routing protocol (rtnetlink(7)) and the generic one ([`generic`]): a request and its
//! acknowledgement, several requests in one system call, and lists that the kernel sends in many messages.
//!
//! Each socket belongs to the network namespace of the thread that opened it.

pub mod attribute;
pub mod generic;

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::buffer::spare_capacity;
use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType};

use crate::Error;

// linux/netlink.h.
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const NLM_F_REQUEST: u16 = 0x1;
const NLM_F_ACK: u16 = 0x4;
const NLM_F_DUMP_INTR: u16 = 0x10;
const NLM_F_DUMP: u16 = 0x300;
/// Replaces what exists.
pub const NLM_F_REPLACE: u16 = 0x100;
/// Fails if it exists.
pub const NLM_F_EXCL: u16 = 0x200;
/// Creates what does not exist.
pub const NLM_F_CREATE: u16 = 0x400;
/// Puts it behind its equals.
pub const NLM_F_APPEND: u16 = 0x800;

// linux/netfilter/nfnetlink.h.
const NFNL_MSG_BATCH_BEGIN: u16 = 0x10;
const NFNL_MSG_BATCH_END: u16 = 0x11;

// Address families in messages.
pub(crate) const AF_INET: u8 = 2;
pub(crate) const AF_INET6: u8 = 10;

const HEADER: usize = 16;
/// The kernel sends at most 32 KiB of a list at a time.
const RECEIVE_BUFFER: usize = 1 << 16;
/// Requests of which the kernel keeps the answers for a socket: some 400 bytes each, of 200 KiB.
const REQUESTS_AT_ONCE: usize = 64;
/// A list that changes while it is read is read again, this many times.
const DUMP_ATTEMPTS: u32 = 20;

/// One request.
#[derive(Clone, Debug)]
pub struct NetlinkRequest {
    /// Type of the message, as `RTM_NEWROUTE`.
    pub kind: u16,
    /// Flags beside `NLM_F_REQUEST` and `NLM_F_ACK`.
    pub flags: u16,
    /// What follows the header of the message.
    pub body: Vec<u8>,
}

/// A netlink socket.
#[derive(Debug)]
pub struct NetlinkSocket {
    fd: OwnedFd,
    sequence: u32,
}

impl NetlinkSocket {
    /// Opens a socket of the routing protocol in the network namespace of this thread.
    ///
    /// # Errors
    /// If the kernel gives none.
    pub fn open() -> Result<Self, Error> {
        // NETLINK_ROUTE is number 0, which is what no protocol means.
        Self::of_protocol(None)
    }

    pub(crate) fn of_protocol(protocol: Option<Protocol>) -> Result<Self, Error> {
        let (raw, flags) = (SocketType::RAW, SocketFlags::CLOEXEC);
        let fd = rustix::net::socket_with(AddressFamily::NETLINK, raw, flags, protocol)
            .map_err(Error::of("netlink"))?;
        Ok(Self { fd, sequence: 0 })
    }

    /// Has the socket closed before others when this process dies.
    pub(crate) fn close_early(self) -> Self {
        Self { fd: crate::descriptor::close_early(self.fd), ..self }
    }

    /// Sends the requests in one system call, which no signal can end half-way, and returns the kernel's answer to each. The kernel
    /// goes on with the next request after one that failed.
    ///
    /// # Errors
    /// If the socket fails. Refused requests are in the answers.
    pub fn exchange(&mut self, requests: &[NetlinkRequest]) -> Result<Vec<io::Result<()>>, Error> {
        let first = self.sequence.wrapping_add(1);
        let mut bytes = Vec::new();
        for request in requests {
            self.sequence = self.sequence.wrapping_add(1);
            push(
                &mut bytes,
                request.kind,
                NLM_F_REQUEST | NLM_F_ACK | request.flags,
                self.sequence,
                &request.body,
            );
        }
        self.send(&bytes)?;
        let mut answers: Vec<Option<io::Result<()>>> = requests.iter().map(|_| None).collect();
        while answers.iter().any(Option::is_none) {
            self.receive(|message| {
                let index = message.sequence.wrapping_sub(first) as usize;
                if let (NLMSG_ERROR, Some(answer)) = (message.kind, answers.get_mut(index)) {
                    *answer = Some(message.answer());
                }
            })?;
        }
        Ok(answers.into_iter().flatten().collect())
    }

    /// Makes the requests of a netfilter subsystem as one transaction (nfnetlink): all of them or none. `what` names it in an error.
    ///
    /// # Errors
    /// The first refusal of the kernel.
    pub(crate) fn batch(
        &mut self,
        what: &str,
        subsystem: u16,
        requests: &[NetlinkRequest],
    ) -> Result<(), Error> {
        let first = self.sequence.wrapping_add(1);
        self.sequence = self.sequence.wrapping_add(requests.len() as u32 + 2);
        let [high, low] = subsystem.to_be_bytes();
        // struct nfgenmsg with the number of the subsystem.
        let boundary = [0, 0, high, low];
        let mut bytes = Vec::new();
        push(&mut bytes, NFNL_MSG_BATCH_BEGIN, NLM_F_REQUEST, first, &boundary);
        let mut sequence = first;
        for request in requests {
            sequence = sequence.wrapping_add(1);
            let flags = NLM_F_REQUEST | NLM_F_ACK | request.flags;
            push(&mut bytes, request.kind, flags, sequence, &request.body);
        }
        push(&mut bytes, NFNL_MSG_BATCH_END, NLM_F_REQUEST, sequence.wrapping_add(1), &boundary);
        self.send(&bytes)?;
        // The beginning is answered only if the whole is refused.
        let (mut missing, mut refused, mut is_over) = (requests.len(), None, false);
        while missing > 0 && !is_over {
            self.receive(|message| {
                let index = message.sequence.wrapping_sub(first) as usize;
                if message.kind != NLMSG_ERROR || index > requests.len() {
                    return;
                }
                is_over |= index == 0;
                missing -= usize::from(index > 0).min(missing);
                if let Err(error) = message.answer() {
                    refused.get_or_insert(error);
                }
            })?;
        }
        refused.map_or(Ok(()), |error| Err(Error::new(what, error)))
    }

    /// Sends a message of the type `kind`, for which no acknowledgement is asked.
    fn post(&self, kind: u16, body: &[u8]) -> Result<(), Error> {
        let mut bytes = Vec::with_capacity(HEADER + body.len());
        push(&mut bytes, kind, NLM_F_REQUEST, 0, body);
        self.send(&bytes)
    }

    /// Makes one request and returns the bodies of the messages of the type `kind` that the kernel sends before its acknowledgement;
    /// `what` names the request in an error.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn get(&mut self, what: &str, request: &NetlinkRequest, kind: u16) -> Result<Vec<Vec<u8>>, Error> {
        self.sequence = self.sequence.wrapping_add(1);
        let sequence = self.sequence;
        let mut bytes = Vec::new();
        push(&mut bytes, request.kind, NLM_F_REQUEST | NLM_F_ACK | request.flags, sequence, &request.body);
        self.send(&bytes)?;
        let (mut found, mut end) = (Vec::new(), None);
        while end.is_none() {
            self.receive(|message| match message.kind {
                _ if message.sequence != sequence => {}
                NLMSG_ERROR => end = Some(message.answer()),
                other if other == kind => found.push(message.body.to_vec()),
                _ => {}
            })?;
        }
        end.unwrap_or(Ok(())).map_err(Error::of(what))?;
        Ok(found)
    }

    /// Makes requests each of which the kernel answers by one message of the type `kind`, or by an error, many in one system call. Returns the
    /// bodies of the messages.
    ///
    /// # Errors
    /// If the socket fails. Refused requests are in the answers.
    pub(crate) fn get_each(
        &mut self,
        requests: &[NetlinkRequest],
        kind: u16,
    ) -> Result<Vec<io::Result<Vec<u8>>>, Error> {
        let mut answers = Vec::with_capacity(requests.len());
        for part in requests.chunks(REQUESTS_AT_ONCE) {
            let (end, mut bytes) = (answers.len() + part.len(), Vec::new());
            let first = self.sequence.wrapping_add(1);
            for request in part {
                self.sequence = self.sequence.wrapping_add(1);
                push(&mut bytes, request.kind, NLM_F_REQUEST | request.flags, self.sequence, &request.body);
            }
            self.send(&bytes)?;
            while answers.len() < end {
                self.receive(|message| {
                    let is_ours = message.sequence.wrapping_sub(first) < part.len() as u32;
                    match message.kind {
                        NLMSG_ERROR if is_ours => answers.push(message.answer().map(|()| Vec::new())),
                        found if is_ours && found == kind => answers.push(Ok(message.body.to_vec())),
                        _ => {}
                    }
                })?;
            }
        }
        Ok(answers)
    }

    /// Asks for a list and returns the bodies of its messages of the type `kind`. A list that changed while the kernel wrote it is
    /// asked for again.
    ///
    /// # Errors
    /// If the kernel refuses, or the list never stands still.
    pub(crate) fn dump(&mut self, request: u16, body: &[u8], kind: u16) -> Result<Vec<Vec<u8>>, Error> {
        for _ in 0..DUMP_ATTEMPTS {
            self.sequence = self.sequence.wrapping_add(1);
            let sequence = self.sequence;
            let mut bytes = Vec::new();
            push(&mut bytes, request, NLM_F_REQUEST | NLM_F_DUMP, sequence, body);
            self.send(&bytes)?;
            let (mut list, mut end, mut interrupted) = (Vec::new(), None, false);
            while end.is_none() {
                self.receive(|message| {
                    if message.sequence != sequence {
                        return;
                    }
                    interrupted |= message.flags & NLM_F_DUMP_INTR != 0;
                    match message.kind {
                        NLMSG_DONE | NLMSG_ERROR => end = Some(message.answer()),
                        found if found == kind => list.push(message.body.to_vec()),
                        _ => {}
                    }
                })?;
            }
            end.unwrap_or(Ok(())).map_err(Error::of("netlink: a list"))?;
            if !interrupted {
                return Ok(list);
            }
        }
        Err(Error::other("netlink: a list", "it changes faster than it can be read"))
    }

    fn send(&self, bytes: &[u8]) -> Result<(), Error> {
        rustix::io::retry_on_intr(|| {
            rustix::net::sendto(&self.fd, bytes, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))
        })
        .map(drop)
        .map_err(Error::of("netlink"))
    }

    /// Receives what is sent to these multicast groups, one bit each, from now on.
    pub(crate) fn join(&self, groups: u32) -> Result<(), Error> {
        rustix::net::bind(&self.fd, &SocketAddrNetlink::new(0, groups)).map_err(Error::of("netlink"))
    }

    /// Returns the bodies of the messages of type `kind` that have arrived, without waiting; `None` if some were lost.
    fn receive_now(&self, kind: u16) -> Result<Option<Vec<Vec<u8>>>, Error> {
        let mut found = Vec::new();
        loop {
            let mut each = |message: &Message<'_>| {
                if message.kind == kind {
                    found.push(message.body.to_vec());
                }
            };
            match self.receive_with(RecvFlags::DONTWAIT, &mut each) {
                Ok(()) => {}
                Err(error) if error.io().kind() == io::ErrorKind::WouldBlock => return Ok(Some(found)),
                Err(error) if error.io().raw_os_error() == Some(Errno::NOBUFS.raw_os_error()) => {
                    return Ok(None);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Takes all that has arrived, without waiting. It does not matter whether something was lost.
    pub(crate) fn discard(&self) -> Result<(), Error> {
        // No message has type 0.
        self.receive_now(0).map(drop)
    }

    /// Waits for one datagram and calls `each` for its messages.
    fn receive(&self, mut each: impl FnMut(&Message<'_>)) -> Result<(), Error> {
        self.receive_with(RecvFlags::empty(), &mut each)
    }

    fn receive_with(&self, flags: RecvFlags, each: &mut dyn FnMut(&Message<'_>)) -> Result<(), Error> {
        let mut buffer = Vec::with_capacity(RECEIVE_BUFFER);
        rustix::io::retry_on_intr(|| rustix::net::recv(&self.fd, spare_capacity(&mut buffer), flags))
            .map_err(Error::of("netlink"))?;
        let mut rest = &buffer[..];
        while let Some((header, _)) = rest.split_first_chunk::<HEADER>() {
            let size = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]) as usize;
            let Some(body) = rest.get(HEADER..size) else {
                return Err(Error::other("netlink", &format!("a message claims {size} bytes")));
            };
            each(&Message {
                kind: u16::from_ne_bytes([header[4], header[5]]),
                flags: u16::from_ne_bytes([header[6], header[7]]),
                sequence: u32::from_ne_bytes([header[8], header[9], header[10], header[11]]),
                body,
            });
            rest = rest.get(size.next_multiple_of(4)..).unwrap_or(&[]);
        }
        Ok(())
    }
}

impl AsFd for NetlinkSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Makes one request in the network namespace of this thread; `what` names it in an error.
///
/// # Errors
/// If the kernel refuses.
pub fn ask(what: &str, request: NetlinkRequest) -> Result<(), Error> {
    let answers = NetlinkSocket::open()?.exchange(&[request])?;
    answers.into_iter().collect::<io::Result<()>>().map_err(Error::of(what))
}

/// The family and the bytes of an address in messages.
pub(crate) fn address_bytes(address: IpAddr) -> (u8, Vec<u8>) {
    match address {
        IpAddr::V4(address) => (AF_INET, address.octets().to_vec()),
        IpAddr::V6(address) => (AF_INET6, address.octets().to_vec()),
    }
}

/// The address in an attribute.
pub(crate) fn address_of(bytes: &[u8]) -> Option<IpAddr> {
    let v4 = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    v4.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from)).ok()
}

/// One message of the kernel.
struct Message<'a> {
    kind: u16,
    flags: u16,
    sequence: u32,
    body: &'a [u8],
}

impl Message<'_> {
    /// The number that `NLMSG_ERROR` and `NLMSG_DONE` begin with: 0, or an error's number negated.
    fn answer(&self) -> io::Result<()> {
        match self.body.first_chunk().map_or(0, |code| i32::from_ne_bytes(*code)) {
            code if code < 0 => Err(Errno::from_raw_os_error(-code).into()),
            _ => Ok(()),
        }
    }
}

fn push(bytes: &mut Vec<u8>, kind: u16, flags: u16, sequence: u32, body: &[u8]) {
    bytes.extend_from_slice(&((HEADER + body.len()) as u32).to_ne_bytes());
    bytes.extend_from_slice(&kind.to_ne_bytes());
    bytes.extend_from_slice(&flags.to_ne_bytes());
    bytes.extend_from_slice(&sequence.to_ne_bytes());
    // The kernel fills in the port.
    bytes.extend_from_slice(&0_u32.to_ne_bytes());
    bytes.extend_from_slice(body);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests;
