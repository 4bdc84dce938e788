//! Hints about packet filters of the host that may keep from a daemon what it needs.

use std::net::SocketAddr;

use airwatt_linux::firewall::{self, FilterHook};

use crate::output;

/// The names by which a rule that accepts a daemon's packets is recognized: it contains at least one of them, such as the number of a port.
pub(crate) struct Known {
    /// As bytes in rules and sets of nf_tables.
    pub(crate) bytes: Vec<Vec<u8>>,
    /// As text in rules of the legacy iptables.
    pub(crate) words: Vec<String>,
}

/// Says which chains of a hook drop what they do not accept and name nothing of `known`, what is lost with it, and the command that adds the rule
/// that `accepts`: for nft, and for the old iptables. Returns how many.
pub(crate) fn warn_of_dropping(
    hook: FilterHook,
    ipv6: bool,
    known: &Known,
    lost: &str,
    accepts: &[String; 2],
) -> usize {
    let warn = |chain: &str, rule: &str| {
        output::error(&format!("{chain} drops what its rules do not accept, and {lost}; hint: {rule}"));
    };
    let chains = firewall::dropping_chains(hook, ipv6, &known.bytes).unwrap_or_default();
    for chain in &chains {
        warn(&format!("nf_tables: {chain}"), &format!("nft insert rule {chain} {}", accepts[0]));
    }
    let legacy_drops = firewall::legacy_drops(hook, ipv6, &known.words);
    if legacy_drops {
        let program = if ipv6 { "ip6tables-legacy" } else { "iptables-legacy" };
        let chain = hook.legacy_chain();
        warn(&format!("{program}: {chain}"), &format!("{program} -I {chain} {}", accepts[1]));
    }
    chains.len() + usize::from(legacy_drops)
}

/// Says which chains may keep packets from passing between a device and other interfaces. Returns how many.
pub(crate) fn warn_of_passing(interface: &str, ipv6: bool) -> usize {
    let known = Known {
        bytes: vec![[interface.as_bytes(), &[0]].concat()],
        words: vec![format!("-i {interface} "), format!("-o {interface} ")],
    };
    let lost = format!("none names {interface}, whose packets go on to other hosts");
    let accepts = [format!("iifname {interface} accept"), format!("-i {interface} -j ACCEPT")];
    warn_of_dropping(FilterHook::Forward, ipv6, &known, &lost, &accepts)
}

/// Says which chains may keep from the UDP socket at `listen` the datagrams of ends that begin. Returns how many.
pub(crate) fn warn_of_port(listen: Option<SocketAddr>) -> usize {
    let Some(listen) = listen else { return 0 };
    let port = listen.port();
    let known = Known { bytes: vec![firewall::port(port)], words: vec![format!("--dport {port} ")] };
    let lost = format!("none names UDP port {port}, at which the other end asks for a session");
    let accepts = [format!("udp dport {port} accept"), format!("-p udp --dport {port} -j ACCEPT")];
    warn_of_dropping(FilterHook::Input, listen.is_ipv6(), &known, &lost, &accepts)
}
