//! Hints about packet filters of the host that may keep from a daemon what it needs.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use airwatt_linux::firewall::{self, DroppingChain, FilterHook};

use crate::output;

/// The names by which a rule that accepts a daemon's packets is recognized: it contains at least one of them, such as the number of a port.
pub(crate) struct Known {
    /// As bytes in rules and sets of nf_tables.
    pub(crate) bytes: Vec<Vec<u8>>,
    /// As text in rules of the legacy iptables.
    pub(crate) words: Vec<String>,
}

/// Says which chains of a hook drop what they do not accept and name nothing of `known`, what is lost with it, and the command that adds the rule
/// that `accepts`: for nft, and for the old iptables.
pub(crate) fn dropping(
    hook: FilterHook,
    ipv6: bool,
    known: &Known,
    lost: &str,
    accepts: &[String; 2],
) -> Vec<String> {
    let hint = |chain: &str, rule: &str| {
        format!("{chain} drops what its rules do not accept, and {lost}; hint: {rule}")
    };
    let chains = firewall::dropping_chains(hook, ipv6, &known.bytes).unwrap_or_default();
    let of_nft = |chain: &DroppingChain| {
        hint(&format!("nf_tables: {chain}"), &format!("nft insert rule {chain} {}", accepts[0]))
    };
    let mut hints: Vec<String> = chains.iter().map(of_nft).collect();
    if firewall::legacy_drops(hook, ipv6, &known.words) {
        let program = if ipv6 { "ip6tables-legacy" } else { "iptables-legacy" };
        let chain = hook.legacy_chain();
        hints.push(hint(&format!("{program}: {chain}"), &format!("{program} -I {chain} {}", accepts[1])));
    }
    hints
}

/// Gives hints, each once: a chain may be of both IP versions. Returns how many.
pub(crate) fn give(hints: impl IntoIterator<Item = String>) -> usize {
    let mut given = BTreeSet::new();
    for hint in hints {
        if given.insert(hint.clone()) {
            output::error(&hint);
        }
    }
    given.len()
}

/// Says which chains may keep packets from passing between a device and other interfaces.
pub(crate) fn of_passing(interface: &str, ipv6: bool) -> Vec<String> {
    let known = Known {
        bytes: vec![firewall::interface(interface)],
        words: vec![format!("-i {interface} "), format!("-o {interface} ")],
    };
    let lost = format!("none names {interface}, whose packets go on to other hosts");
    let accepts = [format!("iifname {interface} accept"), format!("-i {interface} -j ACCEPT")];
    dropping(FilterHook::Forward, ipv6, &known, &lost, &accepts)
}

/// Says which chains may keep from the UDP socket at `listen` the datagrams of ends that begin.
pub(crate) fn of_port(listen: Option<SocketAddr>) -> Vec<String> {
    let Some(listen) = listen else { return Vec::new() };
    let port = listen.port();
    let known = Known { bytes: vec![firewall::port(port)], words: vec![format!("--dport {port} ")] };
    let lost = format!("none names UDP port {port}, at which the other end asks for a session");
    let accepts = [format!("udp dport {port} accept"), format!("-p udp --dport {port} -j ACCEPT")];
    dropping(FilterHook::Input, listen.is_ipv6(), &known, &lost, &accepts)
}
