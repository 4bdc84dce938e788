//! Rules of the routing policy of this network namespace (ip-rule(8)): which packets look in which routing table.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::netlink::{self, AF_INET, AF_INET6, NetlinkRequest, address_bytes, attribute};

// linux/rtnetlink.h, linux/fib_rules.h.
const RTM_NEWRULE: u16 = 32;
const RTM_DELRULE: u16 = 33;
const FRA_SRC: u16 = 2;
const FRA_PRIORITY: u16 = 6;
const FRA_FWMARK: u16 = 10;
const FRA_SUPPRESS_PREFIXLEN: u16 = 14;
const FRA_TABLE: u16 = 15;
const FR_ACT_TO_TBL: u8 = 1;
const FIB_RULE_INVERT: u32 = 2;

/// A rule that directs packets to a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Whether it is for IPv6, otherwise for IPv4.
    pub ipv6: bool,
    /// Its place: rules are tried from the smallest number on.
    pub priority: u32,
    /// The routing table.
    pub table: u32,
    /// Only packets with this mark; `None` for all.
    pub mark: Option<u32>,
    /// Only packets from this prefix; `None` for all.
    pub source: Option<(IpAddr, u8)>,
    /// Whether it is for the packets for which the conditions do not hold.
    pub inverted: bool,
    /// Routes with a prefix of at most this length do not count; 0 leaves out default routes.
    pub suppress_prefix_length: Option<u32>,
}

impl Rule {
    /// The words of ip-rule(8) that add it.
    pub fn describe(&self) -> String {
        let mut words = String::from(if self.ipv6 { "-6 rule add" } else { "rule add" });
        if self.inverted {
            words += " not";
        }
        if let Some((address, length)) = self.source {
            words += &format!(" from {address}/{length}");
        }
        if let Some(mark) = self.mark {
            words += &format!(" fwmark {mark}");
        }
        words += &format!(" table {} priority {}", self.table, self.priority);
        if let Some(length) = self.suppress_prefix_length {
            words += &format!(" suppress_prefixlength {length}");
        }
        words
    }

    fn request(&self, kind: u16, flags: u16) -> NetlinkRequest {
        let (source_length, source) =
            self.source.map_or((0, None), |(address, length)| (length, Some(address_bytes(address).1)));
        let family = if self.ipv6 { AF_INET6 } else { AF_INET };
        let mut body = vec![family, 0, source_length, 0, 0, 0, 0, FR_ACT_TO_TBL];
        body.extend_from_slice(&(FIB_RULE_INVERT * u32::from(self.inverted)).to_ne_bytes());
        let mut number = |kind, value: u32| attribute::push(&mut body, kind, &value.to_ne_bytes());
        number(FRA_PRIORITY, self.priority);
        number(FRA_TABLE, self.table);
        if let Some(mark) = self.mark {
            number(FRA_FWMARK, mark);
        }
        if let Some(length) = self.suppress_prefix_length {
            number(FRA_SUPPRESS_PREFIXLEN, length);
        }
        if let Some(source) = source {
            attribute::push(&mut body, FRA_SRC, &source);
        }
        NetlinkRequest { kind, flags, body }
    }

    /// Adds it.
    ///
    /// # Errors
    /// If there is the same already, or a privilege is missing.
    pub fn add(&self) -> Result<(), Error> {
        let flags = netlink::NLM_F_CREATE | netlink::NLM_F_EXCL;
        netlink::ask(&self.describe(), self.request(RTM_NEWRULE, flags))
    }

    /// Removes it.
    ///
    /// # Errors
    /// If there is none, or a privilege is missing.
    pub fn remove(&self) -> Result<(), Error> {
        netlink::ask(&self.describe(), self.request(RTM_DELRULE, 0))
    }
}

#[cfg(test)]
pub(crate) mod tests;
