//! Network interfaces of this network namespace: states and addresses (rtnetlink(7)).

use std::net::IpAddr;

use crate::Error;
use crate::netlink::{self, NetlinkRequest, address_bytes, address_of, attribute};

// linux/rtnetlink.h, linux/if_link.h, linux/if_addr.h, linux/if.h.
const RTM_NEWLINK: u16 = 16;
const RTM_GETLINK: u16 = 18;
const RTM_NEWADDR: u16 = 20;
const RTM_GETADDR: u16 = 22;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const IFLA_STATS64: u16 = 23;
/// The place of `tx_dropped` in `struct rtnl_link_stats64`, in numbers of 8 bytes.
const TX_DROPPED: usize = 7;
const IFF_UP: u32 = 1;
/// IFA_F_NODAD: an IPv6 address of a tunnel needs no detection of duplicates, which would delay it.
const IFA_F_NODAD: u8 = 2;
/// Sizes of `struct ifinfomsg` and `struct ifaddrmsg`.
const IFINFOMSG: usize = 16;
const IFADDRMSG: usize = 8;

/// Brings an interface up or down.
///
/// # Errors
/// If there is none with this number, or a privilege is missing.
pub fn set_up(index: u32, up: bool) -> Result<(), Error> {
    let mut body = header(index);
    body[8..12].copy_from_slice(&(IFF_UP * u32::from(up)).to_ne_bytes());
    body[12..16].copy_from_slice(&IFF_UP.to_ne_bytes());
    netlink::ask(&format!("interface {index}"), NetlinkRequest { kind: RTM_NEWLINK, flags: 0, body })
}

fn header(index: u32) -> Vec<u8> {
    let mut body = vec![0; IFINFOMSG];
    body[4..8].copy_from_slice(&index.to_ne_bytes());
    body
}

/// Packets that an interface had to send and dropped, as those that its queue has no room for. `None` if the kernel does not say.
pub fn dropped(index: u32) -> Option<u64> {
    let links = netlink::NetlinkSocket::open().ok()?.dump(RTM_GETLINK, &header(index), RTM_NEWLINK).ok()?;
    let of_link = |body: &Vec<u8>| {
        let (header, rest) = body.split_first_chunk::<IFINFOMSG>()?;
        let is_meant = header[4..8] == index.to_ne_bytes();
        let attributes = attribute::parse(rest);
        let (_, counts) = attributes.iter().find(|(kind, _)| is_meant && *kind == IFLA_STATS64)?;
        Some(u64::from_ne_bytes(*counts.get(8 * TX_DROPPED..)?.first_chunk()?))
    };
    links.iter().find_map(of_link)
}

/// Returns the addresses of this thread's network namespace: interface, address and length of the prefix.
///
/// # Errors
/// If the kernel does not list them.
pub fn addresses() -> Result<Vec<(u32, IpAddr, u8)>, Error> {
    let bodies = netlink::NetlinkSocket::open()?.dump(RTM_GETADDR, &[0; IFADDRMSG], RTM_NEWADDR)?;
    let parse = |body: &Vec<u8>| {
        let (header, rest) = body.split_first_chunk::<IFADDRMSG>()?;
        let attributes = attribute::parse(rest);
        let value = |kind| attributes.iter().find(|(found, _)| *found == kind).map(|(_, value)| value);
        // Of an interface with a peer the local address is its own.
        let address = address_of(value(IFA_LOCAL).or_else(|| value(IFA_ADDRESS))?)?;
        Some((u32::from_ne_bytes([header[4], header[5], header[6], header[7]]), address, header[1]))
    };
    Ok(bodies.iter().filter_map(parse).collect())
}

/// Adds an address to an interface.
///
/// # Errors
/// If the interface has it already, or a privilege is missing.
pub fn add_address(index: u32, address: IpAddr, prefix: u8) -> Result<(), Error> {
    let (family, bytes) = address_bytes(address);
    let mut body = vec![family, prefix, IFA_F_NODAD * u8::from(address.is_ipv6()), 0];
    body.extend_from_slice(&index.to_ne_bytes());
    attribute::push(&mut body, IFA_LOCAL, &bytes);
    attribute::push(&mut body, IFA_ADDRESS, &bytes);
    netlink::ask(
        &format!("address {address}/{prefix}"),
        NetlinkRequest { kind: RTM_NEWADDR, flags: netlink::NLM_F_CREATE | netlink::NLM_F_EXCL, body },
    )
}

#[cfg(test)]
pub(crate) mod tests;
