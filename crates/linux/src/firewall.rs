//! Which chains of packet filters drop packets that none of their rules accepts, whoever made them: those of `nft`, of `iptables-nft`, and
//! of programs that use either, which are nf_tables; and those of the old `iptables` by what `iptables-legacy-save` prints.
//!
//! Left out: what rules of such a chain accept, except that a rule of its table names something that the caller gives.

use std::fmt;
use std::fs;
use std::process::Command;

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
const NEWSET: u16 = SUBSYSTEM | 9;
const GETSET: u16 = SUBSYSTEM | 10;
const NEWSETELEM: u16 = SUBSYSTEM | 12;
const GETSETELEM: u16 = SUBSYSTEM | 13;
const NFPROTO_INET: u8 = 1;
const NF_DROP: [u8; 4] = [0; 4];
/// NFT_META_NFPROTO and NFT_CMP_EQ.
const META_FAMILY: [u8; 4] = [0, 0, 0, 15];
const EQUAL: [u8; 4] = [0; 4];
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

impl FilterHook {
    /// The chain of the old iptables.
    pub const fn legacy_chain(self) -> &'static str {
        match self {
            Self::Input => "INPUT",
            Self::Forward => "FORWARD",
        }
    }
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
/// conditions, and in whose table no rule and no set has one of the byte strings `known`.
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
        .filter(|place| {
            let accepts = |rule: &Rule| rule.has_one_of(known) && !rule.is_of_other_version(is_v6);
            !rules.iter().any(|rule| rule.is_of_table(place) && accepts(rule))
        })
        .filter(|place| !sets_have(&mut socket, place, known))
        .collect())
}

/// How a rule or a set has a port of UDP or TCP: an attribute of two bytes (NFTA_DATA_VALUE).
pub fn port(number: u16) -> Vec<u8> {
    let mut bytes = Vec::new();
    attribute::push(&mut bytes, 1, &number.to_be_bytes());
    bytes.truncate(6);
    bytes
}

/// How a rule has the name of an interface: with the zero that ends it.
pub fn interface(name: &str) -> Vec<u8> {
    [name.as_bytes(), &[0]].concat()
}

/// Whether an element of a set of the table has one of the byte strings.
fn sets_have(socket: &mut NetlinkSocket, of: &DroppingChain, known: &[Vec<u8>]) -> bool {
    let sets = socket.dump(GETSET, &[0; HEADER], NEWSET).unwrap_or_default();
    // NFTA_SET_TABLE and NFTA_SET_NAME.
    let places = sets.iter().filter_map(|set| place(set[0], &attribute::parse(set.get(HEADER..)?), 1, 2));
    let of_table = places.filter(|place| (place.family, &place.table) == (of.family, &of.table));
    of_table.into_iter().any(|set| {
        let mut body = vec![set.family, 0, 0, 0];
        // NFTA_SET_ELEM_LIST_TABLE and NFTA_SET_ELEM_LIST_SET.
        attribute::push(&mut body, 1, &[set.table.as_bytes(), &[0]].concat());
        attribute::push(&mut body, 2, &[set.name.as_bytes(), &[0]].concat());
        let elements = socket.dump(GETSETELEM, &body, NEWSETELEM).unwrap_or_default();
        elements.iter().any(|bytes| has_one_of(bytes, known))
    })
}

fn has_one_of(bytes: &[u8], known: &[Vec<u8>]) -> bool {
    known.iter().any(|one| bytes.windows(one.len()).any(|part| part == one))
}

/// Whether the chain of the old iptables at a hook drops or rejects packets of an IP version at its end, and no rule of the table has one of
/// the words `known`. Where the table is in use and the program that prints it is missing, it may.
pub fn legacy_drops(hook: FilterHook, is_v6: bool, known: &[String]) -> bool {
    let ip = if is_v6 { "ip6" } else { "ip" };
    // The program would make the table where there is none.
    let names = fs::read_to_string(format!("/proc/thread-self/net/{ip}_tables_names")).unwrap_or_default();
    if !names.lines().any(|name| name == "filter") {
        return false;
    }
    let saved = Command::new(format!("{ip}tables-legacy-save")).args(["-t", "filter"]).output();
    saved.map_or(true, |saved| drops_in(&String::from_utf8_lossy(&saved.stdout), hook, known))
}

/// The same of what the program has printed.
fn drops_in(saved: &str, hook: FilterHook, known: &[String]) -> bool {
    let chain = hook.legacy_chain();
    let policy = saved.lines().any(|line| line.starts_with(&format!(":{chain} DROP")));
    let rule = format!("-A {chain} ");
    let last = saved.lines().filter_map(|line| line.strip_prefix(&rule)).next_back();
    let drops = policy || last.is_some_and(|last| last == "-j DROP" || last.starts_with("-j REJECT"));
    drops && !known.iter().any(|word| saved.contains(word))
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

    /// Whether it compares the protocol family with that of the other IP version: a rule of an inet table for that one alone.
    fn is_of_other_version(&self, is_v6: bool) -> bool {
        let other = [if is_v6 { AF_INET } else { AF_INET6 }];
        self.expressions.windows(2).any(|pair| {
            let [(first, of), (second, with)] = pair else { return false };
            let (of, with) = (attribute::parse(of), attribute::parse(with));
            // NFTA_META_KEY; NFTA_CMP_OP, and NFTA_CMP_DATA with NFTA_DATA_VALUE.
            let is_family = first == b"meta\0" && value(&of, 2) == Some(&META_FAMILY);
            let data = attribute::parse(value(&with, 3).unwrap_or_default());
            is_family
                && second == b"cmp\0"
                && value(&with, 2) == Some(&EQUAL)
                && value(&data, 1) == Some(&other)
        })
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
        self.expressions.iter().any(|(_, data)| has_one_of(data, known))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_of_the_old_iptables_drop_by_their_policy_or_their_last_rule() {
        let known = ["-o airwatt-gw ".to_owned()];
        let drops = |saved: &str| drops_in(saved, FilterHook::Forward, &known);
        assert!(drops(
            "*filter\n:INPUT ACCEPT [0:0]\n:FORWARD DROP [0:0]\n-A FORWARD -i wlan0 -o eth0 -j ACCEPT\nCOMMIT\n"
        ));
        assert!(drops(
            ":FORWARD ACCEPT [0:0]\n-A FORWARD -i wlan0 -o eth0 -j ACCEPT\n-A FORWARD -j REJECT --reject-with x\n"
        ));
        assert!(!drops(
            ":INPUT DROP [0:0]\n:FORWARD ACCEPT [0:0]\n-A FORWARD -j DROP\n-A FORWARD -j ACCEPT\n"
        ));
        assert!(!drops(":FORWARD DROP [0:0]\n-A FORWARD -s 10.0.0.0/24 -o airwatt-gw -j ACCEPT\n"));
        assert!(!drops(""));
    }
}
