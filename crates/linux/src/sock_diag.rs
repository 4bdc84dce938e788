//! What the kernel counts of TCP connections (sock_diag(7)).

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use rustix::net::netlink as protocol;

use crate::Error;
use crate::netlink::attribute;
use crate::netlink::{AF_INET, AF_INET6, NetlinkSocket};

// linux/sock_diag.h, linux/inet_diag.h.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const IPPROTO_TCP: u8 = 6;
/// INET_DIAG_INFO, an attribute, is asked for by a bit.
const INFO: u16 = 2;
const ASK_FOR_INFO: u8 = 1 << (INFO - 1);
/// All states but LISTEN.
const STATES: u32 = !(1 << 10);
/// Size of `struct inet_diag_sockid`, which lies at 4 in a message, and of `struct inet_diag_msg`.
const SOCKID: usize = 48;
const MESSAGE: usize = 72;
/// Where `tcpi_total_retrans` lies in `struct tcp_info`.
const TOTAL_RETRANS: usize = 100;

/// Segments that each TCP connection of this thread's network namespace has sent again, by its local and remote address.
///
/// # Errors
/// If the kernel does not list them.
pub fn tcp_retransmissions() -> Result<BTreeMap<(SocketAddr, SocketAddr), u32>, Error> {
    let mut socket = NetlinkSocket::of_protocol(Some(protocol::SOCK_DIAG))?;
    let mut found = BTreeMap::new();
    for family in [AF_INET, AF_INET6] {
        let mut request = vec![family, IPPROTO_TCP, ASK_FOR_INFO, 0];
        request.extend_from_slice(&STATES.to_ne_bytes());
        request.resize(8 + SOCKID, 0);
        let list = socket.dump(SOCK_DIAG_BY_FAMILY, &request, SOCK_DIAG_BY_FAMILY)?;
        found.extend(list.iter().filter_map(|message| read(message)));
    }
    Ok(found)
}

fn read(message: &[u8]) -> Option<((SocketAddr, SocketAddr), u32)> {
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
    let attributes = attribute::parse(message.get(MESSAGE..)?);
    let (_, info) = attributes.iter().find(|(kind, _)| *kind == INFO)?;
    let total = info.get(TOTAL_RETRANS..TOTAL_RETRANS + 4)?.try_into().ok()?;
    Some(((local, remote), u32::from_ne_bytes(total)))
}
