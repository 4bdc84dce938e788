//! One table of nf_tables (nft(8)) that belongs to this process: the kernel removes it, with everything in it, when the process
//! ends, also after SIGKILL (the flag `owner`). `nft flush ruleset` leaves it alone.
//!
//! A rule is a list of terms: conditions, and what is done with a packet that meets them all. Known are the terms that programs of
//! this project need, each with its text in the language of nft(8). Sets hold the addresses and ports of TCP connections, and
//! change while the rules stand.
//!
//! Left out: everything else of nf_tables. The libraries that exist are under a copyleft licence (`rustables`), need a C library
//! (`nftnl`), or start `nft`, whose tables cannot have an owner that outlives it (`nftables`).

use std::fmt;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use rustix::net::netlink as protocol;

use crate::Error;
use crate::netlink::attribute;
use crate::netlink::{NLM_F_APPEND, NLM_F_CREATE, NetlinkRequest, NetlinkSocket, address_bytes};

// linux/netfilter/nf_tables.h: messages, and attributes as they are used.
const SUBSYSTEM: u16 = 10;
const NEWTABLE: u16 = 0;
const NEWCHAIN: u16 = 3;
const NEWRULE: u16 = 6;
const NEWSET: u16 = 9;
const NEWSETELEM: u16 = 12;
const GETSETELEM: u16 = 13;
const DELSETELEM: u16 = 14;
const NFPROTO_INET: u8 = 1;
const NFPROTO_IPV4: u8 = 2;
const NFPROTO_IPV6: u8 = 10;
/// Flags of a set: its elements expire, and rules change it.
const SET_TIMEOUT: u32 = 0x10;
const SET_EVAL: u32 = 0x20;
const DYNSET_ADD: u32 = 0;
const DYNSET_UPDATE: u32 = 1;
const DYNSET_DELETE: u32 = 2;
const LIMIT_INVERTED: u32 = 1;
const TABLE_FLAG_OWNER: u32 = 2;
/// NFTA_DATA_VALUE, and NFTA_LIST_ELEM.
const VALUE: u16 = 1;
const ELEMENT: u16 = 1;
/// The register of verdicts, and those of four bytes each.
const VERDICT_REGISTER: u32 = 0;
const REGISTER: u32 = 8;
const NF_DROP: u32 = 0;
const NF_ACCEPT: u32 = 1;
const CT_STATUS: u32 = 2;
const CT_MARK: u32 = 3;
/// The destination has been translated (IPS_DST_NAT).
const CT_STATUS_DNAT: u32 = 0x20;
/// Bases of payloads.
const NETWORK_HEADER: u32 = 1;
const TRANSPORT_HEADER: u32 = 2;
// Keys of `meta`.
const META_MARK: u32 = 3;
const META_INTERFACE: u32 = 4;
const META_FAMILY: u32 = 15;
const META_PROTOCOL: u32 = 16;
const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMP: u8 = 1;
const ICMP_V6: u8 = 58;
/// The flags FIN, SYN, RST and ACK of a TCP header.
const FLAGS_MASK: u8 = 0x17;
const FLAG_SYN: u8 = 0x02;
const FLAG_RST: u8 = 0x04;
const FIB_ADDRESS_TYPE: u32 = 3;
const FIB_OF_DESTINATION: u32 = 2;
const RTN_LOCAL: u32 = 2;
const REJECT_TCP_RESET: u32 = 1;

/// Time for which a set of addresses has an address that is not removed.
pub const ADDRESS_TIMEOUT: Duration = Duration::from_secs(600);
/// Addresses that such a set can have.
const ADDRESSES_MAX: u32 = 4_096;
/// Flows that a set can have to which rules add them.
const FLOWS_MAX: u32 = 1 << 16;
/// Flows that one request changes: a list of them is one attribute, of at most 65,531 bytes, and one of IPv6 takes 52.
const FLOWS_AT_ONCE: usize = 1_000;

/// Before the text of a rule that has a term for which nft(8) has no words: it compares bytes at a place with sets of bytes alone.
const WITHOUT_WORDS: &str = "# in the kernel, and not for nft(8): ";

/// One term of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Term {
    /// The packet is of IPv6 (true) or IPv4.
    Family(bool),
    /// It came in by the interface with this index.
    Interface(u32),
    /// It has this mark.
    Mark(u32),
    /// It is a TCP segment.
    Tcp,
    /// It is a UDP datagram.
    Udp,
    /// It opens a TCP connection: of FIN, SYN, RST and ACK only SYN is set. ECN bits do not count.
    Opens,
    /// It resets a TCP connection: of FIN, SYN, RST and ACK only RST is set.
    Resets,
    /// Its source is within the prefix.
    Source(IpAddr, u8),
    /// Its destination is within the prefix.
    Destination(IpAddr, u8),
    /// Its destination is no address of this host.
    NotForThisHost,
    /// Source and destination, with their ports, are in the set with this name, for IPv6 (true) or IPv4.
    InSet(&'static str, bool),
    /// The same of the other direction: destination and source, with their ports, are in the set.
    AnswersSet(&'static str, bool),
    /// It is an ICMP error of this type about a segment that answers a flow of the set: what the kernel needs for connections whose
    /// local address is another host's.
    ErrorOf(&'static str, bool, u8),
    /// Connection tracking has translated its destination.
    Redirected,
    /// Connection tracking has this mark for what it belongs to.
    TrackedMark(u32),
    /// Connection tracking gets this mark for it.
    SetTrackedMark(u32),
    /// It is the third packet or a later one of its source that has met this term since the source was last removed from the set of
    /// addresses with this name, for IPv6 (true) or IPv4.
    ThirdOfSource(&'static str, bool),
    /// Its source is removed from that set.
    RemoveSource(&'static str, bool),
    /// The flow that it answers is added to the set with this name, for IPv6 (true) or IPv4, or stays in it for the set's time from now on.
    NoteAnswered(&'static str, bool),
    /// Its flow is removed from that set.
    ForgetFlow(&'static str, bool),
    /// Connection tracking leaves it alone. It has to be in a chain before that ([`PRIORITY_RAW`]).
    Untracked,
    /// A copy of it, which is not tracked, leaves by the interface with this index, for this neighbour. For tables of one IP version.
    Duplicate(IpAddr, u32),
    /// It gets this mark.
    SetMark(u32),
    /// It goes to the transparent socket that listens there.
    Tproxy(SocketAddr),
    /// It is accepted.
    Accept,
    /// It is dropped.
    Drop,
    /// It is dropped, and its sender gets a TCP reset with the number that it expects, from the address that the packet goes to,
    /// whosever that is.
    Refuse,
}

impl fmt::Display for Term {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let family = |is_v6: bool| if is_v6 { "ip6" } else { "ip" };
        let flow = |is_v6: bool| format!("{0} saddr . tcp sport . {0} daddr . tcp dport", family(is_v6));
        let answered = |is_v6: bool| format!("{0} daddr . tcp dport . {0} saddr . tcp sport", family(is_v6));
        match self {
            Self::Family(is_v6) => write!(out, "meta nfproto {}", if *is_v6 { "ipv6" } else { "ipv4" }),
            Self::Interface(index) => write!(out, "iif {}", crate::interface::name(*index)),
            Self::Mark(mark) => write!(out, "meta mark {mark}"),
            Self::Tcp => out.write_str("meta l4proto tcp"),
            Self::Udp => out.write_str("meta l4proto udp"),
            Self::Opens => out.write_str("tcp flags & (fin|syn|rst|ack) == syn"),
            Self::Resets => out.write_str("tcp flags & (fin|syn|rst|ack) == rst"),
            Self::Source(address, length) => {
                write!(out, "{} saddr {address}/{length}", family(address.is_ipv6()))
            }
            Self::Destination(address, length) => {
                write!(out, "{} daddr {address}/{length}", family(address.is_ipv6()))
            }
            Self::NotForThisHost => out.write_str("fib daddr type != local"),
            Self::InSet(set, is_v6) => write!(out, "{} @{set}", flow(*is_v6)),
            Self::AnswersSet(set, is_v6) => write!(out, "{} @{set}", answered(*is_v6)),
            // The quoted packet's destination, destination port, source and source port.
            Self::ErrorOf(set, false, kind) => {
                write!(out, "icmp type {kind} @th,192,32 . @th,240,16 . @th,160,32 . @th,224,16 @{set}")
            }
            Self::ErrorOf(set, true, kind) => {
                write!(out, "icmpv6 type {kind} @th,256,128 . @th,400,16 . @th,128,128 . @th,384,16 @{set}")
            }
            Self::Redirected => out.write_str("ct status dnat"),
            Self::TrackedMark(mark) => write!(out, "ct mark {mark}"),
            Self::SetTrackedMark(mark) => write!(out, "ct mark set {mark}"),
            Self::ThirdOfSource(set, is_v6) => {
                write!(out, "add @{set} {{ {} saddr limit rate over 1/day burst 2 packets }}", family(*is_v6))
            }
            Self::RemoveSource(set, is_v6) => write!(out, "delete @{set} {{ {} saddr }}", family(*is_v6)),
            Self::NoteAnswered(set, is_v6) => write!(out, "update @{set} {{ {} }}", answered(*is_v6)),
            Self::ForgetFlow(set, is_v6) => write!(out, "delete @{set} {{ {} }}", flow(*is_v6)),
            Self::Untracked => out.write_str("notrack"),
            Self::Duplicate(to, index) => {
                write!(out, "dup to {to} device {}", crate::interface::name(*index))
            }
            Self::SetMark(mark) => write!(out, "meta mark set {mark}"),
            Self::Tproxy(to) => write!(out, "tproxy {} to {to}", family(to.is_ipv6())),
            Self::Accept => out.write_str("accept"),
            Self::Drop => out.write_str("drop"),
            Self::Refuse => out.write_str("reject with tcp reset"),
        }
    }
}

impl Term {
    /// Appends the expressions of the term.
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Family(is_v6) => {
                meta(META_FAMILY, out);
                compare(&[if *is_v6 { 10 } else { 2 }], true, out);
            }
            Self::Interface(index) => {
                meta(META_INTERFACE, out);
                compare(&index.to_ne_bytes(), true, out);
            }
            Self::Mark(mark) => {
                meta(META_MARK, out);
                compare(&mark.to_ne_bytes(), true, out);
            }
            Self::Tcp | Self::Udp => {
                meta(META_PROTOCOL, out);
                compare(&[if matches!(self, Self::Tcp) { TCP } else { UDP }], true, out);
            }
            Self::Opens => flags(FLAG_SYN, out),
            Self::Resets => flags(FLAG_RST, out),
            Self::Source(address, length) => prefix(*address, *length, false, out),
            Self::Destination(address, length) => prefix(*address, *length, true, out),
            Self::NotForThisHost => {
                expression(
                    "fib",
                    &numbers(&[(1, REGISTER), (2, FIB_ADDRESS_TYPE), (3, FIB_OF_DESTINATION)]),
                    out,
                );
                compare(&RTN_LOCAL.to_ne_bytes(), false, out);
            }
            Self::InSet(set, is_v6) | Self::AnswersSet(set, is_v6) => {
                look_up(flow_places(*is_v6, matches!(self, Self::AnswersSet(..))), set, out);
            }
            Self::ErrorOf(set, is_v6, kind) => error_of(set, *is_v6, *kind, out),
            Self::Redirected => {
                expression("ct", &numbers(&[(1, REGISTER), (2, CT_STATUS)]), out);
                mask(&CT_STATUS_DNAT.to_ne_bytes(), out);
                compare(&[0; 4], false, out);
            }
            Self::TrackedMark(mark) => {
                expression("ct", &numbers(&[(1, REGISTER), (2, CT_MARK)]), out);
                compare(&mark.to_ne_bytes(), true, out);
            }
            Self::SetTrackedMark(mark) => {
                immediate(REGISTER, &mark.to_ne_bytes(), out);
                expression("ct", &numbers(&[(2, CT_MARK), (4, REGISTER)]), out);
            }
            Self::NoteAnswered(set, is_v6) => change_flows(set, *is_v6, true, DYNSET_UPDATE, out),
            Self::ForgetFlow(set, is_v6) => change_flows(set, *is_v6, false, DYNSET_DELETE, out),
            Self::ThirdOfSource(set, is_v6) => third_of_source(set, *is_v6, out),
            Self::RemoveSource(set, is_v6) => change_set(set, *is_v6, DYNSET_DELETE, None, out),
            Self::Untracked => expression("notrack", &[], out),
            Self::Duplicate(to, index) => {
                let device_register = REGISTER + 4;
                immediate(REGISTER, &address_bytes(*to).1, out);
                immediate(device_register, &index.to_ne_bytes(), out);
                expression("dup", &numbers(&[(1, REGISTER), (2, device_register)]), out);
            }
            Self::SetMark(mark) => {
                immediate(REGISTER, &mark.to_ne_bytes(), out);
                expression("meta", &numbers(&[(2, META_MARK), (3, REGISTER)]), out);
            }
            Self::Tproxy(to) => {
                let (family, address) = address_bytes(to.ip());
                let port_register = REGISTER + 4;
                immediate(REGISTER, &address, out);
                immediate(port_register, &to.port().to_be_bytes(), out);
                let attributes = numbers(&[(1, u32::from(family)), (2, REGISTER), (3, port_register)]);
                expression("tproxy", &attributes, out);
            }
            Self::Accept => verdict(NF_ACCEPT, out),
            Self::Drop => verdict(NF_DROP, out),
            Self::Refuse => expression("reject", &numbers(&[(1, REJECT_TCP_RESET)]), out),
        }
    }
}

/// Where the rules of a chain see packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// Packets that arrive, before they are routed.
    Prerouting,
    /// Packets of others that this host passes on.
    Forward,
    /// Packets of this host. Those that get another mark are routed again.
    Output,
    /// Packets that leave, of this host or of others.
    Postrouting,
}

/// The place of a chain that comes before connection tracking.
pub const PRIORITY_RAW: i32 = -300;
/// The place of a chain that comes after connection tracking and before other chains read marks.
pub const PRIORITY_MANGLE: i32 = -150;

/// A chain of rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// Its name.
    pub name: &'static str,
    /// Where it is called.
    pub hook: Hook,
    /// Its place among the chains of the hook.
    pub priority: i32,
    /// Its rules.
    pub rules: Vec<Vec<Term>>,
}

/// Addresses and ports of the segments of a connection: source and destination.
pub type FourTuple = (SocketAddr, SocketAddr);

/// What a table holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    /// Its name.
    pub name: String,
    /// The only IP version that it sees, IPv6 (true) or IPv4; `None` if it sees both.
    pub version: Option<bool>,
    /// Sets of flows of IPv4 and of IPv6; none if empty.
    pub sets: &'static [&'static str],
    /// Time for which the sets of flows have one after a rule has last added it; `None` if rules do not change them.
    pub flows_timeout: Option<Duration>,
    /// Sets of addresses of IPv4 and of IPv6, which rules change; none if empty.
    pub address_sets: &'static [&'static str],
    /// Its chains.
    pub chains: Vec<Chain>,
}

/// The same in the language of nft(8).
impl fmt::Display for Contents {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let family = self.version.map_or("inet", |is_v6| if is_v6 { "ip6" } else { "ip" });
        writeln!(out, "table {family} {} {{\n    flags owner", self.name)?;
        for (set, kind) in self.sets.iter().zip(["ipv4_addr", "ipv6_addr"]) {
            let rest = self.flows_timeout.map_or(String::new(), |timeout| {
                format!(" flags dynamic,timeout; timeout {}s; size {FLOWS_MAX};", timeout.as_secs())
            });
            writeln!(out, "    set {set} {{ type {kind} . inet_service . {kind} . inet_service;{rest} }}")?;
        }
        for (set, kind) in self.address_sets.iter().zip(["ipv4_addr", "ipv6_addr"]) {
            let timeout = ADDRESS_TIMEOUT.as_secs();
            let rest = format!("flags dynamic,timeout; timeout {timeout}s; size {ADDRESSES_MAX};");
            writeln!(out, "    set {set} {{ type {kind}; {rest} }}")?;
        }
        for chain in &self.chains {
            let (kind, hook) = match chain.hook {
                Hook::Prerouting => ("filter", "prerouting"),
                Hook::Forward => ("filter", "forward"),
                Hook::Output if chain.priority == PRIORITY_RAW => ("filter", "output"),
                Hook::Output => ("route", "output"),
                Hook::Postrouting => ("filter", "postrouting"),
            };
            writeln!(
                out,
                "    chain {} {{\n        type {kind} hook {hook} priority {};",
                chain.name, chain.priority
            )?;
            for rule in &chain.rules {
                let terms: Vec<String> = rule.iter().map(ToString::to_string).collect();
                let has_words = !rule.iter().any(|term| matches!(term, Term::ErrorOf(..)));
                writeln!(out, "        {}{}", if has_words { "" } else { WITHOUT_WORDS }, terms.join(" "))?;
            }
            writeln!(out, "    }}")?;
        }
        writeln!(out, "}}")
    }
}

/// A table of this process.
#[derive(Debug)]
pub struct NftablesTable {
    socket: NetlinkSocket,
    contents: Contents,
}

impl NftablesTable {
    /// Creates a table with its sets, chains and rules at once, in the network namespace of this thread. When this process dies, the
    /// table goes before its sockets with low descriptors do: what these are answered then goes the way that it has without the table.
    ///
    /// # Errors
    /// If the kernel lacks nf_tables or one of the terms, there is a table of this name, or a privilege is missing.
    pub fn create(contents: Contents) -> Result<Self, Error> {
        let mut socket = NetlinkSocket::of_protocol(Some(protocol::NETFILTER))?.close_early();
        let mut requests = vec![contents.table()];
        requests.extend(contents.sets.iter().enumerate().map(|(index, set)| contents.set(index, set)));
        let address_sets = contents.address_sets.iter().enumerate();
        requests.extend(address_sets.map(|(index, set)| contents.address_set(index, set)));
        requests.extend(contents.chains.iter().flat_map(|chain| contents.chain_with_rules(chain)));
        socket.batch(&format!("nf_tables: table {}", contents.name), SUBSYSTEM, &requests)?;
        Ok(Self { socket, contents })
    }

    /// Adds flows to the sets of their IP versions.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn add(&mut self, flows: &[FourTuple]) -> Result<(), Error> {
        flows.chunks(FLOWS_AT_ONCE).try_for_each(|flows| self.change(NEWSETELEM, NLM_F_CREATE, flows))
    }

    /// Removes flows. Those that are in no set are passed over.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn remove(&mut self, flows: &[FourTuple]) -> Result<(), Error> {
        flows.chunks(FLOWS_AT_ONCE).try_for_each(|flows| match self.change(DELSETELEM, 0, flows) {
            // Where one is missing the kernel removes none of them.
            Err(error) if error.io().kind() == ErrorKind::NotFound => match flows.split_at(flows.len() / 2) {
                ([], _) => Ok(()),
                (some, others) => self.remove(some).and_then(|()| self.remove(others)),
            },
            done => done,
        })
    }

    /// Adds a chain with its rules.
    ///
    /// # Errors
    /// As [`NftablesTable::create`].
    pub fn add_chain(&mut self, chain: &Chain) -> Result<(), Error> {
        let what = format!("nf_tables: table {}", self.contents.name);
        self.socket.batch(&what, SUBSYSTEM, &self.contents.chain_with_rules(chain))
    }

    /// The flows that the sets have now.
    ///
    /// # Errors
    /// If the kernel does not list them.
    pub fn flows(&mut self) -> Result<Vec<FourTuple>, Error> {
        Ok(self.keys(self.contents.sets)?.iter().filter_map(|key| flow_of(key)).collect())
    }

    /// The addresses that the sets of addresses have now.
    ///
    /// # Errors
    /// If the kernel does not list them.
    pub fn addresses(&mut self) -> Result<Vec<IpAddr>, Error> {
        Ok(self.keys(self.contents.address_sets)?.iter().filter_map(|key| address_of(key)).collect())
    }

    /// The keys of all elements of these sets.
    fn keys(&mut self, sets: &[&str]) -> Result<Vec<Vec<u8>>, Error> {
        let mut found = Vec::new();
        for set in sets {
            let mut attributes = Vec::new();
            text(&mut attributes, 1, &self.contents.name);
            text(&mut attributes, 2, set);
            let body = self.contents.request(GETSETELEM, 0, &attributes).body;
            let messages =
                self.socket.dump(SUBSYSTEM << 8 | GETSETELEM, &body, SUBSYSTEM << 8 | NEWSETELEM)?;
            found.extend(messages.iter().flat_map(|message| keys_of(message)));
        }
        Ok(found)
    }

    /// Changes the sets by at most [`FLOWS_AT_ONCE`] flows, by all of them or by none.
    fn change(&mut self, message: u16, flags: u16, flows: &[FourTuple]) -> Result<(), Error> {
        let of_version = |is_v6: bool| {
            let keys: Vec<Vec<u8>> = flows
                .iter()
                .filter(|(source, _)| source.is_ipv6() == is_v6)
                .map(|(source, destination)| key(*source, *destination))
                .collect();
            (!keys.is_empty()).then(|| self.contents.elements(message, flags, is_v6, &keys))
        };
        let requests: Vec<NetlinkRequest> = [false, true].into_iter().filter_map(of_version).collect();
        self.socket.batch(&format!("nf_tables: sets of {}", self.contents.name), SUBSYSTEM, &requests)
    }
}

impl Contents {
    fn request(&self, message: u16, flags: u16, attributes: &[u8]) -> NetlinkRequest {
        let family =
            self.version.map_or(NFPROTO_INET, |is_v6| if is_v6 { NFPROTO_IPV6 } else { NFPROTO_IPV4 });
        // struct nfgenmsg: family, version, and the number of a resource that is not used.
        let body = [&[family, 0, 0, 0], attributes].concat();
        NetlinkRequest { kind: SUBSYSTEM << 8 | message, flags, body }
    }

    fn table(&self) -> NetlinkRequest {
        let mut attributes = Vec::new();
        text(&mut attributes, 1, &self.name);
        number(&mut attributes, 2, TABLE_FLAG_OWNER);
        self.request(NEWTABLE, NLM_F_CREATE | crate::netlink::NLM_F_EXCL, &attributes)
    }

    fn set(&self, index: usize, set: &str) -> NetlinkRequest {
        let mut attributes = Vec::new();
        text(&mut attributes, 1, &self.name);
        text(&mut attributes, 2, set);
        // Flags; a type that only nft(8) reads; the length of a key; an identifier.
        let key_bytes = [16, 40][index];
        let flags = if self.flows_timeout.is_some() { SET_TIMEOUT | SET_EVAL } else { 0 };
        for (kind, value) in [(3, flags), (4, 0), (5, key_bytes), (10, 1 + index as u32)] {
            number(&mut attributes, kind, value);
        }
        if let Some(timeout) = self.flows_timeout {
            nested(&mut attributes, 9, &numbers(&[(1, FLOWS_MAX)]));
            attribute::push(&mut attributes, 11, &(timeout.as_millis() as u64).to_be_bytes());
        }
        self.request(NEWSET, NLM_F_CREATE, &attributes)
    }

    fn address_set(&self, index: usize, set: &str) -> NetlinkRequest {
        let mut attributes = Vec::new();
        text(&mut attributes, 1, &self.name);
        text(&mut attributes, 2, set);
        let key_bytes = [4, 16][index];
        for (kind, value) in [(3, SET_TIMEOUT | SET_EVAL), (4, 0), (5, key_bytes), (10, 3 + index as u32)] {
            number(&mut attributes, kind, value);
        }
        nested(&mut attributes, 9, &numbers(&[(1, ADDRESSES_MAX)]));
        attribute::push(&mut attributes, 11, &(ADDRESS_TIMEOUT.as_millis() as u64).to_be_bytes());
        self.request(NEWSET, NLM_F_CREATE, &attributes)
    }

    fn chain(&self, chain: &Chain) -> NetlinkRequest {
        let (kind, hook) = match chain.hook {
            Hook::Prerouting => ("filter", 0),
            Hook::Forward => ("filter", 2),
            Hook::Output if chain.priority == PRIORITY_RAW => ("filter", 3),
            Hook::Output => ("route", 3),
            Hook::Postrouting => ("filter", 4),
        };
        let mut attributes = Vec::new();
        text(&mut attributes, 1, &self.name);
        text(&mut attributes, 3, chain.name);
        nested(&mut attributes, 4, &numbers(&[(1, hook), (2, chain.priority as u32)]));
        number(&mut attributes, 5, NF_ACCEPT);
        text(&mut attributes, 7, kind);
        self.request(NEWCHAIN, NLM_F_CREATE, &attributes)
    }

    fn chain_with_rules(&self, chain: &Chain) -> Vec<NetlinkRequest> {
        let rules = chain.rules.iter().map(|rule| self.rule(chain.name, rule));
        std::iter::once(self.chain(chain)).chain(rules).collect()
    }

    fn rule(&self, chain: &str, terms: &[Term]) -> NetlinkRequest {
        let mut expressions = Vec::new();
        for term in terms {
            term.encode(&mut expressions);
        }
        let mut attributes = Vec::new();
        text(&mut attributes, 1, &self.name);
        text(&mut attributes, 2, chain);
        nested(&mut attributes, 4, &expressions);
        self.request(NEWRULE, NLM_F_CREATE | NLM_F_APPEND, &attributes)
    }

    fn elements(&self, message: u16, flags: u16, is_v6: bool, keys: &[Vec<u8>]) -> NetlinkRequest {
        let mut list = Vec::new();
        for key in keys {
            // NFTA_SET_ELEM_KEY.
            let (mut value, mut element) = (Vec::new(), Vec::new());
            attribute::push(&mut value, VALUE, key);
            nested(&mut element, 1, &value);
            nested(&mut list, ELEMENT, &element);
        }
        let mut attributes = Vec::new();
        text(&mut attributes, 1, &self.name);
        text(&mut attributes, 2, self.sets[usize::from(is_v6)]);
        nested(&mut attributes, 3, &list);
        self.request(message, flags, &attributes)
    }
}

/// The key of a flow in a set: each field padded to four bytes.
fn key(source: SocketAddr, destination: SocketAddr) -> Vec<u8> {
    let mut key = Vec::with_capacity(40);
    for end in [source, destination] {
        key.extend(address_bytes(end.ip()).1);
        key.extend(end.port().to_be_bytes());
        key.extend([0, 0]);
    }
    key
}

/// The flow with a key.
fn flow_of(key: &[u8]) -> Option<FourTuple> {
    let (source, destination) = key.split_at(key.len() / 2);
    let end = |bytes: &[u8]| {
        let (address, port) = bytes.split_at_checked(bytes.len().checked_sub(4)?)?;
        Some(SocketAddr::new(address_of(address)?, u16::from_be_bytes([port[0], port[1]])))
    };
    Some((end(source)?, end(destination)?))
}

/// The address with these bytes.
fn address_of(bytes: &[u8]) -> Option<IpAddr> {
    Some(match bytes.len() {
        4 => <[u8; 4]>::try_from(bytes).ok()?.into(),
        _ => <[u8; 16]>::try_from(bytes).ok()?.into(),
    })
}

/// The keys of a message about elements of a set.
fn keys_of(message: &[u8]) -> Vec<Vec<u8>> {
    // After `struct nfgenmsg`: NFTA_SET_ELEM_LIST_ELEMENTS, and of each NFTA_SET_ELEM_KEY with NFTA_DATA_VALUE.
    let value = |bytes: &[u8], kind: u16| {
        attribute::parse(bytes).into_iter().find_map(|(found, value)| (found == kind).then_some(value))
    };
    let list = message.get(4..).and_then(|attributes| value(attributes, 3)).unwrap_or_default();
    let elements = attribute::parse(&list);
    elements.iter().filter_map(|(_, element)| value(&value(element, 1)?, VALUE)).collect()
}

/// The attribute is a list of attributes (NLA_F_NESTED).
fn nested(out: &mut Vec<u8>, kind: u16, value: &[u8]) {
    attribute::push(out, kind | 0x8000, value);
}

fn number(out: &mut Vec<u8>, kind: u16, value: u32) {
    attribute::push(out, kind, &value.to_be_bytes());
}

fn numbers(list: &[(u16, u32)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (kind, value) in list {
        number(&mut out, *kind, *value);
    }
    out
}

fn text(out: &mut Vec<u8>, kind: u16, value: &str) {
    attribute::push(out, kind, &[value.as_bytes(), &[0]].concat());
}

fn expression(name: &str, attributes: &[u8], out: &mut Vec<u8>) {
    let mut element = Vec::new();
    text(&mut element, 1, name);
    nested(&mut element, 2, attributes);
    nested(out, ELEMENT, &element);
}

fn verdict(code: u32, out: &mut Vec<u8>) {
    // NFTA_DATA_VERDICT with NFTA_VERDICT_CODE.
    let mut verdict = Vec::new();
    nested(&mut verdict, 2, &numbers(&[(1, code)]));
    let mut attributes = numbers(&[(1, VERDICT_REGISTER)]);
    nested(&mut attributes, 2, &verdict);
    expression("immediate", &attributes, out);
}

/// Ends the rule unless the packet is the third of its source, or a later one, since the source was last removed from the set.
fn third_of_source(set: &str, is_v6: bool, out: &mut Vec<u8>) {
    // More than one packet a day, and two at once.
    let mut limit = Vec::new();
    attribute::push(&mut limit, 1, &1_u64.to_be_bytes());
    attribute::push(&mut limit, 2, &86_400_u64.to_be_bytes());
    limit.extend(numbers(&[(3, 2), (4, 0), (5, LIMIT_INVERTED)]));
    change_set(set, is_v6, DYNSET_ADD, Some(("limit", &limit)), out);
}

/// Adds the packet's source to a set, with an expression that each address has for itself, or removes it.
fn change_set(set: &str, is_v6: bool, operation: u32, each: Option<(&str, &[u8])>, out: &mut Vec<u8>) {
    meta(META_FAMILY, out);
    compare(&[if is_v6 { NFPROTO_IPV6 } else { NFPROTO_IPV4 }], true, out);
    let (at, bytes) = if is_v6 { (8, 16) } else { (12, 4) };
    payload(NETWORK_HEADER, at, bytes, REGISTER, out);
    let mut attributes = Vec::new();
    text(&mut attributes, 1, set);
    number(&mut attributes, 3, operation);
    number(&mut attributes, 4, REGISTER);
    if let Some((name, data)) = each {
        let mut inner = Vec::new();
        text(&mut inner, 1, name);
        nested(&mut inner, 2, data);
        nested(&mut attributes, 7, &inner);
    }
    expression("dynset", &attributes, out);
}

/// Reads a property of the packet.
fn meta(key: u32, out: &mut Vec<u8>) {
    expression("meta", &numbers(&[(1, REGISTER), (2, key)]), out);
}

fn payload(base: u32, at: u32, bytes: u32, register: u32, out: &mut Vec<u8>) {
    expression("payload", &numbers(&[(1, register), (2, base), (3, at), (4, bytes)]), out);
}

/// Adds the flow of a segment to a set, or the one that it answers, or removes it.
fn change_flows(set: &str, is_v6: bool, is_answer: bool, operation: u32, out: &mut Vec<u8>) {
    load(flow_places(is_v6, is_answer), out);
    let mut attributes = Vec::new();
    text(&mut attributes, 1, set);
    number(&mut attributes, 3, operation);
    number(&mut attributes, 4, REGISTER);
    expression("dynset", &attributes, out);
}

/// Where the addresses and ports of a segment are: source and destination, or the other way round if it answers a flow.
fn flow_places(is_v6: bool, is_answer: bool) -> [(u32, u32, u32); 4] {
    let (at, bytes) = if is_v6 { (8, 16) } else { (12, 4) };
    let source = [(NETWORK_HEADER, at, bytes), (TRANSPORT_HEADER, 0, 2)];
    let destination = [(NETWORK_HEADER, at + bytes, bytes), (TRANSPORT_HEADER, 2, 2)];
    let ([a, b], [c, d]) = if is_answer { (destination, source) } else { (source, destination) };
    [a, b, c, d]
}

/// Reads the bytes at these places, each into registers of four bytes.
fn load(places: [(u32, u32, u32); 4], out: &mut Vec<u8>) {
    let mut register = REGISTER;
    for (base, at, bytes) in places {
        payload(base, at, bytes, register, out);
        register += bytes.div_ceil(4);
    }
}

/// Ends the rule unless the bytes at these places, each in registers of four bytes, are in the set.
fn look_up(places: [(u32, u32, u32); 4], set: &str, out: &mut Vec<u8>) {
    load(places, out);
    let mut attributes = Vec::new();
    text(&mut attributes, 1, set);
    number(&mut attributes, 2, REGISTER);
    expression("lookup", &attributes, out);
}

/// Ends the rule unless the packet is an ICMP error of this type about a segment that answers a flow of the set.
fn error_of(set: &str, is_v6: bool, kind: u8, out: &mut Vec<u8>) {
    // The quoted packet follows the 8 bytes of the message's own header.
    let (protocol, source, bytes, ports) = if is_v6 { (ICMP_V6, 16, 16, 48) } else { (ICMP, 20, 4, 28) };
    meta(META_PROTOCOL, out);
    compare(&[protocol], true, out);
    payload(TRANSPORT_HEADER, 0, 1, REGISTER, out);
    compare(&[kind], true, out);
    let places = [
        (TRANSPORT_HEADER, source + bytes, bytes),
        (TRANSPORT_HEADER, ports + 2, 2),
        (TRANSPORT_HEADER, source, bytes),
        (TRANSPORT_HEADER, ports, 2),
    ];
    look_up(places, set, out);
}

fn data(value: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    attribute::push(&mut out, VALUE, value);
    out
}

/// Ends the rule unless the register has this value, or has another one.
fn compare(value: &[u8], is_equal: bool, out: &mut Vec<u8>) {
    let mut attributes = numbers(&[(1, REGISTER), (2, u32::from(!is_equal))]);
    nested(&mut attributes, 3, &data(value));
    expression("cmp", &attributes, out);
}

/// Ends the rule unless this is the one flag that a TCP segment has of those of the mask.
fn flags(flag: u8, out: &mut Vec<u8>) {
    payload(TRANSPORT_HEADER, 13, 1, REGISTER, out);
    mask(&[FLAGS_MASK], out);
    compare(&[flag], true, out);
}

/// Keeps the bits of the register that are set in `bits`.
fn mask(bits: &[u8], out: &mut Vec<u8>) {
    let mut attributes = numbers(&[(1, REGISTER), (2, REGISTER), (3, bits.len() as u32)]);
    nested(&mut attributes, 4, &data(bits));
    nested(&mut attributes, 5, &data(&vec![0; bits.len()]));
    expression("bitwise", &attributes, out);
}

fn immediate(register: u32, value: &[u8], out: &mut Vec<u8>) {
    let mut attributes = numbers(&[(1, register)]);
    nested(&mut attributes, 2, &data(value));
    expression("immediate", &attributes, out);
}

fn prefix(address: IpAddr, length: u8, is_destination: bool, out: &mut Vec<u8>) {
    let (_, bytes) = address_bytes(address);
    let count = bytes.len() as u32;
    meta(META_FAMILY, out);
    compare(&[if address.is_ipv6() { 10 } else { 2 }], true, out);
    let first = if address.is_ipv6() { 8 } else { 12 };
    payload(NETWORK_HEADER, first + count * u32::from(is_destination), count, REGISTER, out);
    let bits = |index: usize| {
        let kept = u32::from(length).saturating_sub(8 * index as u32).min(8);
        (0xff00_u32 >> kept) as u8
    };
    let ones: Vec<u8> = (0..bytes.len()).map(bits).collect();
    let network: Vec<u8> = bytes.iter().zip(&ones).map(|(byte, one)| byte & one).collect();
    mask(&ones, out);
    compare(&network, true, out);
}

#[cfg(test)]
mod tests;
