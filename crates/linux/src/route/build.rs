//! Routes that a program adds itself.

use std::net::IpAddr;

use super::{
    KernelRoute, RTA_DST, RTA_GATEWAY, RTA_METRICS, RTA_OIF, RTA_TABLE, RTM_DELROUTE, RTM_NEWROUTE, RTMSG,
    RTN_LOCAL, RTN_UNICAST,
};
use crate::Error;
use crate::netlink::{self, AF_INET, AF_INET6, NetlinkRequest, address_bytes, attribute};

// linux/rtnetlink.h.
const RTA_PREFSRC: u16 = 7;
const RTPROT_KERNEL: u8 = 2;
const RTPROT_STATIC: u8 = 4;
const RT_SCOPE_UNIVERSE: u8 = 0;
const RT_SCOPE_LINK: u8 = 253;
const RT_SCOPE_HOST: u8 = 254;
/// The table of a route is its attribute.
const RT_TABLE_UNSPEC: u8 = 0;

/// A setting of the connections that take a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Initial congestion window (`RTAX_INITCWND`), in segments.
    InitialWindow(u32),
    /// Least retransmission timeout (`RTAX_RTO_MIN`), in milliseconds.
    MinRtoMs(u32),
    /// Whether each segment is acknowledged at once (`RTAX_QUICKACK`).
    QuickAck(bool),
}

impl Metric {
    const fn attribute(self) -> (u16, u32) {
        match self {
            Self::InitialWindow(segments) => (11, segments),
            Self::MinRtoMs(ms) => (13, ms),
            Self::QuickAck(on) => (15, on as u32),
        }
    }
}

impl KernelRoute {
    /// A route to a prefix over an interface, without a gateway, in the main table.
    pub fn over(interface: u32, (destination, length): (IpAddr, u8)) -> Self {
        let family = if destination.is_ipv4() { AF_INET } else { AF_INET6 };
        let header: [u8; RTMSG] =
            [family, length, 0, 0, RT_TABLE_UNSPEC, RTPROT_STATIC, RT_SCOPE_LINK, RTN_UNICAST, 0, 0, 0, 0];
        let mut route = Self { header, attributes: Vec::new(), advertised: false };
        if length > 0 {
            route.attributes.push((RTA_DST, address_bytes(destination).1));
        }
        route.attributes.push((RTA_OIF, interface.to_ne_bytes().to_vec()));
        route.in_table(super::RT_TABLE_MAIN)
    }

    /// The route to this host itself: packets to the prefix are received, whatever their destination.
    #[must_use]
    pub const fn local(mut self) -> Self {
        self.header[6] = RT_SCOPE_HOST;
        self.header[7] = RTN_LOCAL;
        self
    }

    /// The route by way of a gateway.
    #[must_use]
    pub fn via(mut self, gateway: IpAddr) -> Self {
        self.header[6] = RT_SCOPE_UNIVERSE;
        self.set(RTA_GATEWAY, address_bytes(gateway).1)
    }

    /// The route in a table.
    #[must_use]
    pub fn in_table(self, table: u32) -> Self {
        self.set(RTA_TABLE, table.to_ne_bytes().to_vec())
    }

    /// The route with a preferred source address.
    #[must_use]
    pub fn from_source(self, source: IpAddr) -> Self {
        self.set(RTA_PREFSRC, address_bytes(source).1)
    }

    /// The route as the kernel makes it when an address is added to an interface.
    #[must_use]
    pub fn of_kernel(mut self) -> Self {
        self.header[5] = RTPROT_KERNEL;
        self
    }

    /// The route with these settings of its connections and no others.
    #[must_use]
    pub fn with_metrics(self, metrics: &[Metric]) -> Self {
        let mut nested = Vec::new();
        for (kind, value) in metrics.iter().map(|metric| metric.attribute()) {
            attribute::push(&mut nested, kind, &value.to_ne_bytes());
        }
        self.set(RTA_METRICS, nested)
    }

    fn set(mut self, kind: u16, value: Vec<u8>) -> Self {
        self.attributes.retain(|(found, _)| *found != kind);
        self.attributes.push((kind, value));
        self
    }

    /// Adds it to the routes of this thread's network namespace.
    ///
    /// # Errors
    /// If there is the same already, its gateway cannot be reached, or a privilege is missing.
    pub fn add(&self) -> Result<(), Error> {
        self.ask(RTM_NEWROUTE, netlink::NLM_F_CREATE | netlink::NLM_F_EXCL)
    }

    /// Gives the route with its destination, table and priority the properties of this one.
    ///
    /// Of several such routes the kernel takes the first, whichever interface it leaves by; use
    /// [`super::set_congestion_control`] on a host whose routes are not this program's.
    ///
    /// # Errors
    /// If there is none, or a privilege is missing.
    pub fn replace(&self) -> Result<(), Error> {
        self.ask(RTM_NEWROUTE, netlink::NLM_F_REPLACE)
    }

    /// Removes it.
    ///
    /// # Errors
    /// If there is none, or a privilege is missing.
    pub fn remove(&self) -> Result<(), Error> {
        self.ask(RTM_DELROUTE, 0)
    }

    fn ask(&self, kind: u16, flags: u16) -> Result<(), Error> {
        let body = self.to_bytes();
        netlink::ask(&format!("route {}", self.describe()), NetlinkRequest { kind, flags, body })
    }
}

#[cfg(test)]
mod tests;
