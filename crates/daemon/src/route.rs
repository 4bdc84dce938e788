//! Routes by rtnetlink (rtnetlink(7)): which congestion control new connections over a route get, and nothing else of it.
//!
//! A route is kept as the kernel dumped it, attribute by attribute, and sent back with only its metric `congctl` changed, so
//! that gateways, sources, metrics, expiry and what later kernels add stay as they are. What a dump has and a request must not
//! is taken out: states of next hops, and the next hop beside the object that stands for it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::OwnedFd;

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::host;

// linux/netlink.h and linux/rtnetlink.h.
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const RTM_NEWROUTE: u16 = 24;
const RTM_GETROUTE: u16 = 26;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const NLM_F_DUMP: u16 = 0x300;
const NLM_F_REPLACE: u16 = 0x100;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_GATEWAY: u16 = 5;
const RTA_PRIORITY: u16 = 6;
const RTA_METRICS: u16 = 8;
const RTA_MULTIPATH: u16 = 9;
const RTA_CACHEINFO: u16 = 12;
const RTA_TABLE: u16 = 15;
const RTA_VIA: u16 = 18;
const RTA_EXPIRES: u16 = 23;
const RTA_NH_ID: u16 = 30;
const RTAX_CC_ALGO: u16 = 16;
const RTN_UNICAST: u8 = 1;
const RT_TABLE_LOCAL: u32 = 255;
/// The flags of a route that a request may have: RTNH_F_PERVASIVE and RTNH_F_ONLINK.
const REQUEST_FLAGS: u32 = 2 | 4;
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;

const NLMSG_HEADER: usize = 16;
const RTMSG: usize = 12;

/// What tells a route from the others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    /// `192.0.2.0/24`; a default route is `0.0.0.0/0` or `::/0`.
    pub(crate) destination: String,
    /// Routing table.
    pub(crate) table: u32,
    /// Type of service.
    pub(crate) tos: u8,
    /// Metric; 0 where there is none.
    pub(crate) priority: u32,
    /// Index of the interface that it leaves by; 0 where it leaves by several.
    pub(crate) interface: u32,
}

/// A route as the kernel has it.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    header: [u8; RTMSG],
    attributes: Vec<(u16, Vec<u8>)>,
}

impl Route {
    fn attribute(&self, kind: u16) -> Option<&[u8]> {
        self.attributes.iter().find(|(k, _)| *k == kind).map(|(_, value)| value.as_slice())
    }

    fn number(&self, kind: u16) -> Option<u32> {
        self.attribute(kind).and_then(|value| value.try_into().ok()).map(u32::from_ne_bytes)
    }

    fn table(&self) -> u32 {
        self.number(RTA_TABLE).unwrap_or(u32::from(self.header[4]))
    }

    /// Index of the interface that it leaves by; 0 where it leaves by several or none.
    pub(crate) fn interface(&self) -> u32 {
        self.number(RTA_OIF).unwrap_or(0)
    }

    /// Where it leads: address and length of the prefix.
    pub(crate) fn destination(&self) -> (IpAddr, u8) {
        let bytes = self.attribute(RTA_DST).unwrap_or(&[]);
        let address = if self.header[0] == AF_INET {
            IpAddr::V4(<[u8; 4]>::try_from(bytes).map_or(Ipv4Addr::UNSPECIFIED, Ipv4Addr::from))
        } else {
            IpAddr::V6(<[u8; 16]>::try_from(bytes).map_or(Ipv6Addr::UNSPECIFIED, Ipv6Addr::from))
        };
        (address, self.header[1])
    }

    /// Whether connections to other hosts take it, apart from those within a link.
    fn leads_anywhere(&self) -> bool {
        let (address, length) = self.destination();
        let link_local = match address {
            IpAddr::V4(_) => false,
            IpAddr::V6(address) => (address.segments()[0] & 0xffc0) == 0xfe80 && length >= 10,
        };
        self.header[7] == RTN_UNICAST && self.table() != RT_TABLE_LOCAL && !link_local
    }

    pub(crate) fn identity(&self) -> Identity {
        let (address, length) = self.destination();
        Identity {
            destination: format!("{address}/{length}"),
            table: self.table(),
            tos: self.header[3],
            priority: self.number(RTA_PRIORITY).unwrap_or(0),
            interface: self.interface(),
        }
    }

    /// The congestion control that it asks for.
    pub(crate) fn congestion_control(&self) -> Option<String> {
        let metrics = attributes(self.attribute(RTA_METRICS)?);
        let (_, value) = metrics.into_iter().find(|(kind, _)| *kind == RTAX_CC_ALGO)?;
        Some(String::from_utf8_lossy(&value).trim_end_matches('\0').to_owned())
    }

    /// Has the kernel replace it by itself with another congestion control, or with none of its own.
    pub(crate) fn set_congestion_control(&self, name: Option<&str>) -> Result<(), Failure> {
        let mut changed = self.clone();
        changed.set_metric(name);
        changed.prepare();
        crate::output::say(&format!("[#] {}", self.command(name)));
        let mut body = changed.header.to_vec();
        for (kind, value) in &changed.attributes {
            push_attribute(&mut body, *kind, value);
        }
        let what = format!("route {}", self.identity().destination);
        let socket = open()?;
        send(&socket, RTM_NEWROUTE, NLM_F_REQUEST | NLM_F_ACK | NLM_F_REPLACE, &body)?;
        replies(&socket, &what, |_, _| {})
    }

    /// The command of ip(8) that does the same.
    fn command(&self, name: Option<&str>) -> String {
        let Identity { destination, table, priority, interface, .. } = self.identity();
        let mut line = format!("ip route change {destination}");
        if interface != 0 {
            line += &format!(" dev {}", host::interface_name(interface));
        }
        if table != 254 {
            line += &format!(" table {table}");
        }
        if priority != 0 {
            line += &format!(" metric {priority}");
        }
        match name {
            Some(name) => line + &format!(" ... congctl {name}"),
            None => line + " ... (without congctl)",
        }
    }

    fn set_metric(&mut self, name: Option<&str>) {
        let mut metrics = self.attribute(RTA_METRICS).map(attributes).unwrap_or_default();
        metrics.retain(|(kind, _)| *kind != RTAX_CC_ALGO);
        if let Some(name) = name {
            metrics.push((RTAX_CC_ALGO, [name.as_bytes(), &[0]].concat()));
        }
        self.attributes.retain(|(kind, _)| *kind != RTA_METRICS);
        if !metrics.is_empty() {
            let mut nested = Vec::new();
            for (kind, value) in &metrics {
                push_attribute(&mut nested, *kind, value);
            }
            self.attributes.push((RTA_METRICS, nested));
        }
    }

    /// From what a dump says to what a request may.
    fn prepare(&mut self) {
        let flags = u32::from_ne_bytes([self.header[8], self.header[9], self.header[10], self.header[11]]);
        self.header[8..12].copy_from_slice(&(flags & REQUEST_FLAGS).to_ne_bytes());
        // struct rta_cacheinfo: rta_expires is its third word, in hundredths of a second; a request has seconds.
        let expires = self
            .attribute(RTA_CACHEINFO)
            .and_then(|info| info.get(8..12)?.try_into().ok())
            .map(i32::from_ne_bytes);
        let object = self.attribute(RTA_NH_ID).is_some();
        self.attributes.retain(|(kind, _)| match *kind {
            RTA_CACHEINFO | RTA_EXPIRES => false,
            RTA_OIF | RTA_GATEWAY | RTA_VIA | RTA_MULTIPATH => !object,
            _ => true,
        });
        if let Some(expires) = expires.filter(|expires| *expires > 0 && self.header[0] == AF_INET6) {
            self.attributes.push((RTA_EXPIRES, (expires as u32).div_ceil(100).to_ne_bytes().to_vec()));
        }
    }
}

/// All routes of this network namespace to other hosts.
pub(crate) fn list() -> Result<Vec<Route>, Failure> {
    let socket = open()?;
    send(&socket, RTM_GETROUTE, NLM_F_REQUEST | NLM_F_DUMP, &[0; RTMSG])?;
    let mut routes = Vec::new();
    replies(&socket, "routes", |kind, body| {
        if kind == RTM_NEWROUTE
            && let Some((header, rest)) = body.split_first_chunk::<RTMSG>()
            && [AF_INET, AF_INET6].contains(&header[0])
        {
            routes.push(Route { header: *header, attributes: attributes(rest) });
        }
    })?;
    routes.retain(Route::leads_anywhere);
    Ok(routes)
}

fn failed(what: &str, error: rustix::io::Errno) -> Failure {
    Failure::of_io(what, &std::io::Error::from(error))
}

fn open() -> Result<OwnedFd, Failure> {
    let made = rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None);
    made.map_err(|error| failed("netlink", error))
}

fn send(socket: &OwnedFd, kind: u16, flags: u16, body: &[u8]) -> Result<(), Failure> {
    let mut message = Vec::with_capacity(NLMSG_HEADER + body.len());
    message.extend_from_slice(&((NLMSG_HEADER + body.len()) as u32).to_ne_bytes());
    message.extend_from_slice(&kind.to_ne_bytes());
    message.extend_from_slice(&flags.to_ne_bytes());
    message.extend_from_slice(&1_u32.to_ne_bytes());
    message.extend_from_slice(&0_u32.to_ne_bytes());
    message.extend_from_slice(body);
    rustix::net::sendto(socket, &message, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))
        .map(drop)
        .map_err(|error| failed("netlink", error))
}

/// Reads answers until the last; an error among them is the kernel's answer.
fn replies(socket: &OwnedFd, what: &str, mut each: impl FnMut(u16, &[u8])) -> Result<(), Failure> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        let (length, _) = rustix::net::recv(socket, buffer.as_mut_slice(), RecvFlags::empty())
            .map_err(|error| failed("netlink", error))?;
        let mut rest = &buffer[..length];
        while let Some((header, _)) = rest.split_first_chunk::<NLMSG_HEADER>() {
            let size = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]) as usize;
            let kind = u16::from_ne_bytes([header[4], header[5]]);
            let Some(body) = rest.get(NLMSG_HEADER..size) else {
                return Err(Failure::Failed(format!("{what}: a netlink message of {size} bytes")));
            };
            match kind {
                NLMSG_DONE => return Ok(()),
                NLMSG_ERROR => {
                    let code = body.first_chunk().map_or(0, |code| i32::from_ne_bytes(*code));
                    if code == 0 {
                        return Ok(());
                    }
                    return Err(failed(what, rustix::io::Errno::from_raw_os_error(-code)));
                }
                _ => each(kind, body),
            }
            rest = rest.get(size.next_multiple_of(4)..).unwrap_or(&[]);
        }
    }
}

/// Type and value of each attribute; what is malformed ends the list.
fn attributes(mut bytes: &[u8]) -> Vec<(u16, Vec<u8>)> {
    let mut list = Vec::new();
    while let Some((head, _)) = bytes.split_first_chunk::<4>() {
        let size = usize::from(u16::from_ne_bytes([head[0], head[1]]));
        // The two highest bits are flags (NLA_F_NESTED, NLA_F_NET_BYTEORDER).
        let kind = u16::from_ne_bytes([head[2], head[3]]) & 0x3fff;
        let Some(value) = bytes.get(4..size) else { break };
        list.push((kind, value.to_vec()));
        bytes = bytes.get(size.next_multiple_of(4)..).unwrap_or(&[]);
    }
    list
}

fn push_attribute(body: &mut Vec<u8>, kind: u16, value: &[u8]) {
    body.extend_from_slice(&((4 + value.len()) as u16).to_ne_bytes());
    body.extend_from_slice(&kind.to_ne_bytes());
    body.extend_from_slice(value);
    body.resize(body.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests;
