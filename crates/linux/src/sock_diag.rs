//! What the kernel knows of TCP connections, and their end on demand (sock_diag(7)).

use std::net::{IpAddr, SocketAddr};

use rustix::net::netlink as protocol;

use crate::Error;
use crate::netlink::attribute;
use crate::netlink::{AF_INET, AF_INET6, NetlinkRequest, NetlinkSocket, address_bytes};

// linux/sock_diag.h, linux/inet_diag.h.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const SOCK_DESTROY: u16 = 21;
const IPPROTO_TCP: u8 = 6;
/// INET_DIAG_INFO, an attribute, is asked for by a bit.
const INFO: u16 = 2;
const ASK_FOR_INFO: u8 = 1 << (INFO - 1);
/// INET_DIAG_MARK, which the kernel tells those who administer the network, without being asked.
const MARK: u16 = 15;
/// All states but LISTEN.
const STATES: u32 = !(1 << 10);
/// The states in which a socket without a process has something to deliver (FIN-WAIT-1, LAST-ACK, CLOSING), and the one in which it
/// waits for the end of the other direction (FIN-WAIT-2).
const TAIL_STATES: [u8; 3] = [4, 9, 11];
const FIN_WAIT_2: u8 = 5;
/// The state of a connection that has ended in both directions and whose addresses the kernel keeps for a minute.
const TIME_WAIT: u8 = 6;
/// Size of `struct inet_diag_sockid`, which lies at 4 in a message, and of `struct inet_diag_msg`, of which the last number is the
/// inode of the socket's file.
const SOCKID: usize = 48;
const MESSAGE: usize = 72;
const INODE: usize = 68;
/// Where `tcpi_total_retrans` lies in `struct tcp_info`.
const TOTAL_RETRANS: usize = 100;

/// Segments that each TCP connection of this thread's network namespace has sent again; `None` where there is no such connection in a state
/// in which it may still send or receive. One in TIME-WAIT is over. A connection is named by its local and its remote address.
///
/// The cost is one look-up in the kernel's table each.
///
/// # Errors
/// If the kernel has no sock_diag.
pub fn tcp_retransmissions(connections: &[(SocketAddr, SocketAddr)]) -> Result<Vec<Option<u32>>, Error> {
    let ask = |connection: &(SocketAddr, SocketAddr)| {
        let (family, id) = socket_id(*connection);
        let body = request(family, STATES, ASK_FOR_INFO, &id);
        NetlinkRequest { kind: SOCK_DIAG_BY_FAMILY, flags: 0, body }
    };
    let requests: Vec<_> = connections.iter().map(ask).collect();
    let mut socket = NetlinkSocket::of_protocol(Some(protocol::SOCK_DIAG))?;
    let answers = socket.get_each(&requests, SOCK_DIAG_BY_FAMILY)?;
    let sent_again = |answer: std::io::Result<Vec<u8>>, connection: &(SocketAddr, SocketAddr)| match answer {
        // Where there is no connection the kernel finds a socket that listens at the local address. What is over has no `tcp_info`.
        Ok(message) => Ok(retransmissions(&message).filter(|_| ends(&message) == Some(*connection))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::new("sock_diag", error)),
    };
    answers.into_iter().zip(connections).map(|(answer, connection)| sent_again(answer, connection)).collect()
}

/// Has the kernel forget a connection that has ended in both directions (TIME-WAIT), named by its local and its remote address. Returns
/// whether there was one.
///
/// # Errors
/// If the kernel has no sock_diag, or is too old to forget connections.
pub fn forget_ended(connection: (SocketAddr, SocketAddr)) -> Result<bool, Error> {
    let (family, id) = socket_id(connection);
    let body = request(family, STATES, 0, &id);
    let request = NetlinkRequest { kind: SOCK_DIAG_BY_FAMILY, flags: 0, body };
    let mut socket = NetlinkSocket::of_protocol(Some(protocol::SOCK_DIAG))?;
    let found = socket.get_each(&[request], SOCK_DIAG_BY_FAMILY)?;
    let Some(Ok(message)) = found.into_iter().next() else { return Ok(false) };
    // Where there is no connection the kernel finds a socket that listens at the local address.
    let has_ended = message.get(1) == Some(&TIME_WAIT) && ends(&message) == Some(connection);
    let Some(id) = message.get(4..4 + SOCKID).and_then(|id| id.try_into().ok()).filter(|_| has_ended) else {
        return Ok(false);
    };
    Orphan { ends: connection, is_delivering: false, family, id }.reset()?;
    Ok(true)
}

/// The family, and `struct inet_diag_sockid`, of a connection with any number.
fn socket_id((local, remote): (SocketAddr, SocketAddr)) -> (u8, [u8; SOCKID]) {
    let mut id = [0; SOCKID];
    id[..2].copy_from_slice(&local.port().to_be_bytes());
    id[2..4].copy_from_slice(&remote.port().to_be_bytes());
    let (family, bytes) = address_bytes(local.ip());
    id[4..4 + bytes.len()].copy_from_slice(&bytes);
    let (_, bytes) = address_bytes(remote.ip());
    id[20..20 + bytes.len()].copy_from_slice(&bytes);
    // INET_DIAG_NOCOOKIE; the interface before it is any.
    id[40..].fill(0xff);
    (family, id)
}

/// A TCP connection that the kernel still has and no process: its program has closed it, or died.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Orphan {
    /// Its local and its remote address.
    pub ends: (SocketAddr, SocketAddr),
    /// Whether it has something to deliver: data, or the end of the stream.
    pub is_delivering: bool,
    family: u8,
    /// `struct inet_diag_sockid`, with a number that no other socket has.
    id: [u8; SOCKID],
}

impl Orphan {
    /// The connections with this mark in this thread's network namespace that no process has any more, and that have not ended in both
    /// directions.
    ///
    /// # Errors
    /// If the kernel does not list them. Without CAP_NET_ADMIN it tells no marks, and none are found.
    pub fn with_mark(mark: u32) -> Result<Vec<Self>, Error> {
        Self::of_states(
            TAIL_STATES.iter().chain([&FIN_WAIT_2]).fold(0, |states, state| states | 1 << state),
            mark,
        )
    }

    /// The connections with this mark in this thread's network namespace that have ended in both directions and that the kernel still has
    /// (TIME-WAIT).
    ///
    /// # Errors
    /// As [`Orphan::with_mark`].
    pub fn ended(mark: u32) -> Result<Vec<Self>, Error> {
        Self::of_states(1 << TIME_WAIT, mark)
    }

    fn of_states(states: u32, mark: u32) -> Result<Vec<Self>, Error> {
        let read = |message: &Vec<u8>| {
            let [family, state, ..] = message[..] else { return None };
            let is_orphan = message.get(INODE..MESSAGE)? == [0; 4];
            let (_, found) = attribute_of(message, MARK)?;
            let is_ours = is_orphan && found[..] == mark.to_ne_bytes();
            let (ends, id) = (ends(message)?, message.get(4..4 + SOCKID)?.try_into().ok()?);
            is_ours.then_some(Self { ends, is_delivering: TAIL_STATES.contains(&state), family, id })
        };
        Ok(list(states)?.iter().filter_map(read).collect())
    }

    /// Whether both are one connection.
    pub fn is(&self, other: &Self) -> bool {
        self.id == other.id
    }

    /// Ends the connection with a reset to the other host. Of one that has [ended](Orphan::ended) nothing is sent, and the kernel forgets it.
    ///
    /// # Errors
    /// If it has ended meanwhile, if the kernel was built without CONFIG_INET_DIAG_DESTROY, or if it is too old to forget connections.
    pub fn reset(&self) -> Result<(), Error> {
        let body = request(self.family, u32::MAX, 0, &self.id);
        let request = NetlinkRequest { kind: SOCK_DESTROY, flags: 0, body };
        let answers = NetlinkSocket::of_protocol(Some(protocol::SOCK_DIAG))?.exchange(&[request])?;
        let (local, remote) = self.ends;
        answers
            .into_iter()
            .collect::<std::io::Result<()>>()
            .map_err(Error::of(&format!("connection from {local} to {remote}")))
    }
}

/// `struct inet_diag_req_v2`.
fn request(family: u8, states: u32, ask_for: u8, id: &[u8; SOCKID]) -> Vec<u8> {
    [&[family, IPPROTO_TCP, ask_for, 0], &states.to_ne_bytes(), &id[..]].concat()
}

/// The kernel's messages about all connections in these states, one bit each.
fn list(states: u32) -> Result<Vec<Vec<u8>>, Error> {
    let mut socket = NetlinkSocket::of_protocol(Some(protocol::SOCK_DIAG))?;
    let mut found = Vec::new();
    for family in [AF_INET, AF_INET6] {
        let request = request(family, states, 0, &[0; SOCKID]);
        found.extend(socket.dump(SOCK_DIAG_BY_FAMILY, &request, SOCK_DIAG_BY_FAMILY)?);
    }
    Ok(found)
}

/// The local and the remote address of a connection.
fn ends(message: &[u8]) -> Option<(SocketAddr, SocketAddr)> {
    let is_v6 = *message.first()? == AF_INET6;
    let ports: &[u8; 4] = message.get(4..8)?.try_into().ok()?;
    let address = |at: usize| -> Option<IpAddr> {
        Some(if is_v6 {
            IpAddr::from(<[u8; 16]>::try_from(message.get(at..at + 16)?).ok()?)
        } else {
            IpAddr::from(<[u8; 4]>::try_from(message.get(at..at + 4)?).ok()?)
        })
    };
    let port = |bytes: [u8; 2]| u16::from_be_bytes(bytes);
    let local = SocketAddr::new(address(8)?, port([ports[0], ports[1]]));
    let remote = SocketAddr::new(address(24)?, port([ports[2], ports[3]]));
    Some((local, remote))
}

fn attribute_of(message: &[u8], kind: u16) -> Option<attribute::Attribute> {
    attribute::parse(message.get(MESSAGE..)?).into_iter().find(|(found, _)| *found == kind)
}

fn retransmissions(message: &[u8]) -> Option<u32> {
    let (_, info) = attribute_of(message, INFO)?;
    let total = info.get(TOTAL_RETRANS..TOTAL_RETRANS + 4)?.try_into().ok()?;
    Some(u32::from_ne_bytes(total))
}

#[cfg(test)]
mod tests;
