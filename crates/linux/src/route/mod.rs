//! Routes of this network namespace (rtnetlink(7)), and changing the congestion control that one of them asks for.
//!
//! A route is kept as the kernel lists it, attribute by attribute, and sent back with only its metric `congctl` changed, so that
//! gateways, sources, other metrics, expiry and attributes of later kernels stay as they are. A list has some things that a request
//! must not have, and those are taken out: the state of next hops, and the next hop beside the object that stands for it.
//!
//! Left out: rules, next-hop objects themselves, and notifications of changes.

mod advertised;
mod build;
mod change;
mod news;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::netlink::attribute::{self, Attribute};
use crate::netlink::{self, AF_INET, AF_INET6, NetlinkRequest};
use crate::{Error, interface};

pub use build::Metric;
pub use change::{ChangeError, Placement, plan, remove_detours, restore_lost, set_congestion_control};
pub use news::RouteNews;

// linux/rtnetlink.h.
const RTM_NEWROUTE: u16 = 24;
const RTM_DELROUTE: u16 = 25;
const RTM_GETROUTE: u16 = 26;
const RTA_DST: u16 = 1;
const RTA_SRC: u16 = 2;
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
/// A flag of `rtm_flags`, which are the last four bytes of the header: the route is derived from another one.
const RTM_F_CLONED: u32 = 0x200;
const RTN_UNICAST: u8 = 1;
const RTN_LOCAL: u8 = 2;
const RT_TABLE_MAIN: u32 = 254;
const RT_TABLE_LOCAL: u32 = 255;
/// The flags of a next hop that are settings, not states: RTNH_F_PERVASIVE and RTNH_F_ONLINK.
const SETTING_FLAGS: u8 = 2 | 4;

/// Size of `struct rtmsg`, and where its members are.
const RTMSG: usize = 12;
const DESTINATION_LENGTH: usize = 1;
const SOURCE_LENGTH: usize = 2;
const TOS: usize = 3;
const TABLE: usize = 4;
const PROTOCOL: usize = 5;
const KIND: usize = 7;
/// Size of `struct rtnexthop`.
const RTNEXTHOP: usize = 8;

/// A route as the kernel lists it.
#[derive(Clone, Debug)]
pub struct KernelRoute {
    header: [u8; RTMSG],
    attributes: Vec<Attribute>,
    advertised: bool,
}

/// The routes among which the kernel keeps an order: all to one prefix of one table.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Prefix {
    family: u8,
    table: u32,
    destination: (u8, Vec<u8>),
    source: (u8, Vec<u8>),
}

impl KernelRoute {
    /// From the body of a message; `None` for what is no route of IPv4 or IPv6.
    pub fn from_bytes(body: &[u8]) -> Option<Self> {
        let (header, rest) = body.split_first_chunk::<RTMSG>()?;
        [AF_INET, AF_INET6].contains(&header[0]).then(|| Self {
            header: *header,
            attributes: attribute::parse(rest),
            advertised: false,
        })
    }

    /// The body of a message that creates it.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.request(self.expires_s())
    }

    fn attribute(&self, kind: u16) -> Option<&[u8]> {
        self.attributes.iter().find(|(found, _)| *found == kind).map(|(_, value)| value.as_slice())
    }

    fn number(&self, kind: u16) -> Option<u32> {
        self.attribute(kind).and_then(|value| value.try_into().ok()).map(u32::from_ne_bytes)
    }

    /// Whether the kernel has derived it from another one for one destination, as where a router has reported a narrow path.
    fn is_learnt(&self) -> bool {
        u32::from_ne_bytes([self.header[8], self.header[9], self.header[10], self.header[11]]) & RTM_F_CLONED
            != 0
    }

    /// Its routing table.
    pub fn table(&self) -> u32 {
        self.number(RTA_TABLE).unwrap_or(u32::from(self.header[TABLE]))
    }

    /// Its metric (`RTA_PRIORITY`); 0 if it has none.
    pub fn priority(&self) -> u32 {
        self.number(RTA_PRIORITY).unwrap_or(0)
    }

    /// The interfaces that it leaves by, each once. Empty for a next-hop object that the kernel lists without them.
    pub fn interfaces(&self) -> Vec<u32> {
        let mut found: Vec<u32> = self.number(RTA_OIF).into_iter().collect();
        for hop in self.attribute(RTA_MULTIPATH).map(next_hops).unwrap_or_default() {
            found.push(u32::from_ne_bytes([hop[4], hop[5], hop[6], hop[7]]));
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The gateway that it names; `None` for hosts of the link itself, and for routes of several paths.
    pub fn gateway(&self) -> Option<IpAddr> {
        self.attribute(RTA_GATEWAY).and_then(crate::netlink::address_of)
    }

    /// The next-hop object that it leaves by, if it names one.
    pub fn next_hop_object(&self) -> Option<u32> {
        self.number(RTA_NH_ID)
    }

    /// Whether the kernel learnt it from a router advertisement. The kernel renews such a route by a flag that no request can set,
    /// so that a changed copy of it stops the processing of further advertisements.
    pub fn is_advertised(&self) -> bool {
        self.advertised
    }

    /// Where it leads: address and length of the prefix.
    pub fn destination(&self) -> (IpAddr, u8) {
        let bytes = self.attribute(RTA_DST).unwrap_or(&[]);
        let address = if self.header[0] == AF_INET {
            IpAddr::V4(<[u8; 4]>::try_from(bytes).map_or(Ipv4Addr::UNSPECIFIED, Ipv4Addr::from))
        } else {
            IpAddr::V6(<[u8; 16]>::try_from(bytes).map_or(Ipv6Addr::UNSPECIFIED, Ipv6Addr::from))
        };
        (address, self.header[DESTINATION_LENGTH])
    }

    /// Whether connections to other hosts take it, apart from those within a link.
    pub fn leads_to_other_hosts(&self) -> bool {
        let (address, length) = self.destination();
        let link_local = match address {
            IpAddr::V4(_) => false,
            IpAddr::V6(address) => (address.segments()[0] & 0xffc0) == 0xfe80 && length >= 10,
        };
        self.header[KIND] == RTN_UNICAST && self.table() != RT_TABLE_LOCAL && !link_local
    }

    /// The congestion control that it asks for. The kernel does not list one that is not registered.
    pub fn congestion_control(&self) -> Option<String> {
        let metrics = attribute::parse(self.attribute(RTA_METRICS)?);
        let (_, value) = metrics.into_iter().find(|(kind, _)| *kind == RTAX_CC_ALGO)?;
        Some(String::from_utf8_lossy(&value).trim_end_matches('\0').to_owned())
    }

    /// The same route with another congestion control, or with none of its own.
    #[must_use]
    pub fn with_congestion_control(&self, name: Option<&str>) -> Self {
        let mut metrics = self.attribute(RTA_METRICS).map(attribute::parse).unwrap_or_default();
        metrics.retain(|(kind, _)| *kind != RTAX_CC_ALGO);
        if let Some(name) = name {
            metrics.push((RTAX_CC_ALGO, [name.as_bytes(), &[0]].concat()));
        }
        metrics.sort();
        let mut changed = self.clone();
        changed.attributes.retain(|(kind, _)| *kind != RTA_METRICS);
        if !metrics.is_empty() {
            let mut nested = Vec::new();
            for (kind, value) in &metrics {
                attribute::push(&mut nested, *kind, value);
            }
            changed.attributes.push((RTA_METRICS, nested));
        }
        changed
    }

    /// Whether both are the same route: all is equal but states and the time that is left until it expires.
    pub fn is_same(&self, other: &Self) -> bool {
        let expires = |route: &Self| route.expires_s().map(|_| 0);
        self.request(expires(self)) == other.request(expires(other))
    }

    /// Whether both are the same route, whatever congestion control they ask for.
    pub fn is_same_but_for_congestion_control(&self, other: &Self) -> bool {
        self.with_congestion_control(None).is_same(&other.with_congestion_control(None))
    }

    /// One line for messages, in the words of ip-route(8).
    pub fn describe(&self) -> String {
        let (address, length) = self.destination();
        let kind = if self.header[KIND] == RTN_LOCAL { "local " } else { "" };
        let mut line = format!("{kind}{address}/{length}");
        for index in self.interfaces() {
            line += &format!(" dev {}", interface::name(index));
        }
        if let Some(object) = self.next_hop_object() {
            line += &format!(" nhid {object}");
        }
        if self.table() != RT_TABLE_MAIN {
            line += &format!(" table {}", self.table());
        }
        if self.priority() != 0 {
            line += &format!(" metric {}", self.priority());
        }
        line
    }

    fn prefix(&self) -> Prefix {
        let address = |kind| self.attribute(kind).unwrap_or(&[]).to_vec();
        Prefix {
            family: self.header[0],
            table: self.table(),
            destination: (self.header[DESTINATION_LENGTH], address(RTA_DST)),
            source: (self.header[SOURCE_LENGTH], address(RTA_SRC)),
        }
    }

    /// Seconds until it expires, rounded up; `None` if it does not.
    fn expires_s(&self) -> Option<u32> {
        if let Some(seconds) = self.number(RTA_EXPIRES) {
            return Some(seconds);
        }
        // `struct rta_cacheinfo`: rta_expires is its third word, in hundredths of a second.
        let expires = self.attribute(RTA_CACHEINFO)?.get(8..12)?.try_into().map(i32::from_ne_bytes).ok()?;
        (expires > 0 && self.header[0] == AF_INET6).then(|| expires.unsigned_abs().div_ceil(100))
    }

    /// The body of a request for it, with its attributes in the order of their types.
    fn request(&self, expires_s: Option<u32>) -> Vec<u8> {
        let flags = u32::from_ne_bytes([self.header[8], self.header[9], self.header[10], self.header[11]]);
        let mut body = self.header.to_vec();
        body[8..].copy_from_slice(&(flags & u32::from(SETTING_FLAGS)).to_ne_bytes());
        let object = self.next_hop_object().is_some();
        let mut attributes: Vec<Attribute> = self
            .attributes
            .iter()
            .filter(|(kind, _)| match *kind {
                RTA_CACHEINFO | RTA_EXPIRES => false,
                RTA_OIF | RTA_GATEWAY | RTA_VIA | RTA_MULTIPATH => !object,
                _ => true,
            })
            .map(|(kind, value)| match *kind {
                RTA_MULTIPATH => (*kind, next_hops(value).concat()),
                _ => (*kind, value.clone()),
            })
            .collect();
        attributes.extend(expires_s.map(|seconds| (RTA_EXPIRES, seconds.to_ne_bytes().to_vec())));
        attributes.sort();
        for (kind, value) in &attributes {
            attribute::push(&mut body, *kind, value);
        }
        body
    }

    /// A request that creates it. Where a request names a next-hop object and has no metrics, the kernel gives it those of another route with
    /// that object (`fib_find_info_nh`); an empty list of metrics prevents that.
    fn creation(&self, flags: u16) -> NetlinkRequest {
        let mut body = self.to_bytes();
        if self.next_hop_object().is_some() && self.attribute(RTA_METRICS).is_none() {
            attribute::push(&mut body, RTA_METRICS, &[]);
        }
        NetlinkRequest { kind: RTM_NEWROUTE, flags, body }
    }

    /// A request that deletes exactly it. For IPv4 the kernel compares all metrics that are given; an empty congestion control stands for
    /// none, so that of two routes that differ in nothing else the right one goes.
    fn deletion(&self) -> NetlinkRequest {
        let exact = match self.congestion_control() {
            None if self.header[0] == AF_INET => self.with_congestion_control(Some("")),
            _ => self.clone(),
        };
        NetlinkRequest { kind: RTM_DELROUTE, flags: 0, body: exact.request(None) }
    }
}

/// The next hops of `RTA_MULTIPATH`, each a `struct rtnexthop` with its attributes, without their states.
fn next_hops(mut bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut hops = Vec::new();
    while bytes.len() >= RTNEXTHOP {
        let size = usize::from(u16::from_ne_bytes([bytes[0], bytes[1]]));
        let Some(hop) = bytes.get(..size).filter(|hop| hop.len() >= RTNEXTHOP) else { break };
        let mut hop = hop.to_vec();
        hop[2] &= SETTING_FLAGS;
        hop.resize(size.next_multiple_of(4), 0);
        hops.push(hop);
        bytes = bytes.get(size.next_multiple_of(4)..).unwrap_or(&[]);
    }
    hops
}

/// Returns the routes of this thread's network namespace, IPv4 and IPv6, in the kernel's order.
///
/// # Errors
/// If the kernel does not list them.
pub fn list() -> Result<Vec<KernelRoute>, Error> {
    let bodies = netlink::NetlinkSocket::open()?.dump(RTM_GETROUTE, &[0; RTMSG], RTM_NEWROUTE)?;
    let routes = bodies.iter().filter_map(|body| KernelRoute::from_bytes(body));
    let mut routes: Vec<KernelRoute> = routes.filter(|route| !route.is_learnt()).collect();
    advertised::mark(&mut routes);
    Ok(routes)
}

#[cfg(test)]
mod tests;
