//! Which chains of nf_tables drop packets that none of their rules accepts, whoever made them: those of `nft`, of `iptables-nft`, and of
//! programs that use either.
//!
//! Left out: what rules of such a chain accept, except that a rule of its table names something that the caller gives; and the tables of
//! the old `iptables`, which are not nf_tables.

use std::fmt;

use rustix::net::netlink as protocol;

use crate::Error;
use crate::netlink::attribute::{self, Attribute};
use crate::netlink::{AF_INET, AF_INET6, NetlinkSocket};

// linux/netfilter/nf_tables.h.
const SUBSYSTEM: u16 = 10 << 8;
const NEWCHAIN: u16 = SUBSYSTEM | 3;
const GETCHAIN: u16 = SUBSYSTEM | 4;
const NEWRULE: u16 = SUBSYSTEM | 6;
const GETRULE: u16 = SUBSYSTEM | 7;
const NFPROTO_INET: u8 = 1;
const NF_DROP: [u8; 4] = [0; 4];
/// `struct nfgenmsg`.
const HEADER: usize = 4;

/// Where a chain filters packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterHook {
    /// Packets for this host.
    Input,
    /// Packets of others that this host passes on.
    Forward,
}

/// A chain that drops packets. Its text is as `nft` names it: family, table and chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DroppingChain {
    family: u8,
    table: String,
    name: String,
}

impl fmt::Display for DroppingChain {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let family = match self.family {
            AF_INET => "ip",
            AF_INET6 => "ip6",
            _ => "inet",
        };
        write!(out, "{family} {} {}", self.table, self.name)
    }
}

/// Returns the chains of a hook that drop or reject packets of an IP version at their end, by their policy or by a last rule without
/// conditions, and in whose table no rule has one of the byte strings `known`.
///
/// # Errors
/// If the kernel does not list its chains and rules.
pub fn dropping_chains(
    hook: FilterHook,
    is_v6: bool,
    known: &[Vec<u8>],
) -> Result<Vec<DroppingChain>, Error> {
    let mut socket = NetlinkSocket::of_protocol(Some(protocol::NETFILTER))?;
    let every_family = [0; HEADER];
    let chains = socket.dump(GETCHAIN, &every_family, NEWCHAIN)?;
    let rules: Vec<Rule> =
        socket.dump(GETRULE, &every_family, NEWRULE)?.iter().filter_map(|rule| Rule::parse(rule)).collect();
    let is_seen = |family: u8| family == NFPROTO_INET || family == if is_v6 { AF_INET6 } else { AF_INET };
    let found = chains.iter().filter_map(|chain| FilterChain::parse(chain));
    let drops = |chain: &FilterChain| {
        let last = rules.iter().rfind(|rule| rule.chain == chain.place);
        chain.drops || last.is_some_and(Rule::drops_all)
    };
    Ok(found
        .filter(|chain| chain.hook == hook && is_seen(chain.place.family) && drops(chain))
        .map(|chain| chain.place)
        .filter(|place| !rules.iter().any(|rule| rule.is_of_table(place) && rule.has_one_of(known)))
        .collect())
}

/// A chain with a hook that filters.
struct FilterChain {
    place: DroppingChain,
    hook: FilterHook,
    drops: bool,
}

impl FilterChain {
    fn parse(message: &[u8]) -> Option<Self> {
        let attributes = attribute::parse(message.get(HEADER..)?);
        // NFTA_CHAIN_TYPE, NFTA_CHAIN_HOOK with NFTA_HOOK_HOOKNUM, NFTA_CHAIN_POLICY.
        let is_filter = value(&attributes, 7)? == b"filter\0";
        let number = attribute::parse(value(&attributes, 4)?);
        let hook = match value(&number, 1)? {
            [0, 0, 0, 1] => FilterHook::Input,
            [0, 0, 0, 2] => FilterHook::Forward,
            _ => return None,
        };
        let place = place(message[0], &attributes, 1, 3)?;
        let drops = value(&attributes, 5) == Some(&NF_DROP);
        is_filter.then_some(Self { place, hook, drops })
    }
}

/// A rule, with the names and the bytes of its expressions.
struct Rule {
    chain: DroppingChain,
    expressions: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Rule {
    fn parse(message: &[u8]) -> Option<Self> {
        let attributes = attribute::parse(message.get(HEADER..)?);
        let list = attribute::parse(value(&attributes, 4).unwrap_or_default());
        let expression = |(_, element): &Attribute| {
            let parts = attribute::parse(element);
            Some((value(&parts, 1)?.to_vec(), value(&parts, 2).unwrap_or_default().to_vec()))
        };
        let chain = place(message[0], &attributes, 1, 2)?;
        Some(Self { chain, expressions: list.iter().filter_map(expression).collect() })
    }

    /// Whether it drops or rejects every packet.
    fn drops_all(&self) -> bool {
        let mut terms = self.expressions.iter().filter(|(name, _)| name != b"counter\0" && name != b"log\0");
        terms
            .next()
            .is_some_and(|(name, data)| name == b"reject\0" || name == b"immediate\0" && is_drop(data))
    }

    fn is_of_table(&self, of: &DroppingChain) -> bool {
        (self.chain.family, &self.chain.table) == (of.family, &of.table)
    }

    fn has_one_of(&self, known: &[Vec<u8>]) -> bool {
        let has = |data: &[u8]| known.iter().any(|one| data.windows(one.len()).any(|bytes| bytes == one));
        self.expressions.iter().any(|(_, data)| has(data))
    }
}

/// Whether an immediate expression has the verdict to drop: NFTA_IMMEDIATE_DATA, NFTA_DATA_VERDICT, NFTA_VERDICT_CODE.
fn is_drop(immediate: &[u8]) -> bool {
    let code = || {
        let data = attribute::parse(value(&attribute::parse(immediate), 2)?);
        let verdict = attribute::parse(value(&data, 2)?);
        Some(value(&verdict, 1)? == NF_DROP)
    };
    code().unwrap_or(false)
}

fn value(attributes: &[Attribute], kind: u16) -> Option<&[u8]> {
    attributes.iter().find(|(found, _)| *found == kind).map(|(_, value)| &value[..])
}

fn place(family: u8, attributes: &[Attribute], table: u16, name: u16) -> Option<DroppingChain> {
    let text = |kind| {
        let bytes = value(attributes, kind)?.strip_suffix(&[0])?;
        String::from_utf8(bytes.to_vec()).ok()
    };
    Some(DroppingChain { family, table: text(table)?, name: text(name)? })
}
