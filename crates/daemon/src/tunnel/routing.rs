//! What the tunnel changes of the host, so that packets go through it: routes, rules, and forwarding.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use airwatt_linux::changes::{self, Change, Changes};
use airwatt_linux::nftables::{Chain, Contents, Hook, PRIORITY_MANGLE, Term};
use airwatt_linux::route::{self, KernelRoute};
use airwatt_linux::rule::Rule;

use super::config::Config;
use crate::failure::Failure;
use crate::host;
use crate::instance;
use crate::settings::Prefix;

const FORWARDING: [&str; 2] = ["net/ipv4/ip_forward", "net/ipv6/conf/all/forwarding"];
/// Whether the mark of a packet counts when its source is validated by the routes back.
const VALID_MARK: &str = "net/ipv4/conf/all/src_valid_mark";
/// The main routing table, and priorities of rules just before the one that leads to it (32766).
const TABLE_MAIN: u32 = 254;
const PRIORITY_MAIN: u32 = 32_764;
const PRIORITY_TUNNEL: u32 = 32_765;

/// The route of a prefix into the tunnel.
pub(super) fn route_of(prefix: &Prefix, device: u32) -> KernelRoute {
    KernelRoute::over(device, (prefix.address, prefix.length))
}

/// The routes and rules that lead packets into the tunnel.
pub(super) fn ways(config: &Config, device: u32) -> Vec<Change> {
    let of_prefix = |prefix: &Prefix| Change::route(&route_of(prefix, device));
    config.routes().iter().map(of_prefix).chain(ways_of_all(config, Some(device))).collect()
}

/// The routes of this host that would come before those of prefixes into the tunnel, a sentence each. Routes over its own device do not.
pub(super) fn routes_before(prefixes: &[Prefix], own: Option<u32>) -> Result<Vec<String>, Failure> {
    /// The metric of an IPv6 route for which none is named (IP6_RT_PRIO_USER of linux/ipv6_route.h); one of IPv4 has 0.
    const METRIC_V6: u32 = 1024;
    let there = if prefixes.is_empty() { Vec::new() } else { route::list()? };
    let before = |prefix: &Prefix| {
        let (to, metric) =
            ((prefix.address, prefix.length), if prefix.address.is_ipv6() { METRIC_V6 } else { 0 });
        let comes_first = |other: &&KernelRoute| {
            other.destination() == to
                && other.table() == TABLE_MAIN
                && other.priority() <= metric
                && !own.is_some_and(|own| other.interfaces().contains(&own))
        };
        let other = there.iter().find(comes_first)?.describe();
        Some(format!(
            "allowed_ips: {prefix} is reached by another route already, which would come first: {other}"
        ))
    };
    Ok(prefixes.iter().filter_map(before).collect())
}

/// Routes prefixes into the tunnel; the routes end with the device.
pub(super) fn add_routes(prefixes: &[Prefix], device: u32) -> Result<(), Failure> {
    if let Some(before) = routes_before(prefixes, Some(device))?.into_iter().next() {
        return Err(Failure::Failed(before));
    }
    for prefix in prefixes {
        route_of(prefix, device).add()?;
    }
    Ok(())
}

/// Makes the changes of the host that do not end with the device.
pub(super) fn change_host(config: &Config, device: u32, changes: &mut Changes) -> Result<(), Failure> {
    // Another daemon that has set what this one relies on does not end meanwhile.
    let _lock = instance::lock()?;
    for ipv6 in [false, true] {
        if forwards(config, ipv6) {
            changes.share(FORWARDING[usize::from(ipv6)])?;
        }
    }
    host::change(changes, host_changes(config, Some(device))?)
}

/// Whether this host has to forward packets of an IP version.
pub(super) fn forwards(config: &Config, ipv6: bool) -> bool {
    config.forward && config.addresses.iter().any(|prefix| prefix.address.is_ipv6() == ipv6)
}

/// Changes of the host that do not end with the device. `device` is `None` if it is not there yet.
///
/// If all destinations are routed into the tunnel, its own packets must not be: they have a mark, and every packet without it is
/// looked up in a table of the tunnel, after the routes of the main table except its default. wg-quick(8) does the same, and gives answers the
/// mark, too ([`marks_of_answers`]).
pub(super) fn host_changes(config: &Config, device: Option<u32>) -> Result<Vec<Change>, Failure> {
    let mut changes = Vec::new();
    for (ipv6, name) in [false, true].into_iter().zip(FORWARDING) {
        if forwards(config, ipv6) {
            let forwarding = Change::setting(name, "1")?;
            if forwarding.is_some() {
                changes.extend(settings_that_forwarding_resets(ipv6));
            }
            if ipv6 && forwarding.is_some() {
                changes.extend(keep_advertisements(device.is_none().then_some(&config.interface))?);
            }
            changes.extend(forwarding);
        }
    }
    if config.default_routes().contains(&false) {
        changes.extend(Change::setting(VALID_MARK, "1")?);
    }
    changes.extend(ways_of_all(config, device));
    Ok(changes)
}

/// The routes and rules with which all destinations are routed into the tunnel.
fn ways_of_all(config: &Config, device: Option<u32>) -> Vec<Change> {
    let mut changes = Vec::new();
    for ipv6 in config.default_routes() {
        let everywhere: IpAddr =
            if ipv6 { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
        if let Some(device) = device {
            changes.push(Change::route(&KernelRoute::over(device, (everywhere, 0)).in_table(config.fwmark)));
        }
        let rule = Rule {
            ipv6,
            priority: PRIORITY_MAIN,
            table: TABLE_MAIN,
            mark: None,
            source: None,
            inverted: false,
            suppress_prefix_length: Some(0),
        };
        changes.push(Change::Rule(Rule {
            priority: PRIORITY_TUNNEL,
            table: config.fwmark,
            mark: Some(config.fwmark),
            inverted: true,
            suppress_prefix_length: None,
            ..rule.clone()
        }));
        changes.push(Change::Rule(rule));
    }
    changes
}

/// Rules that give the datagrams of peers the mark of those to them, `None` where not all destinations are routed into the tunnel. A host
/// that validates sources strictly (`rp_filter = 1`, or a firewall's lookup with the mark) would drop them otherwise: without the mark the way
/// back to a peer is the tunnel. They end with this process.
pub(super) fn marks_of_answers(config: &Config) -> Option<Contents> {
    if config.default_routes().is_empty() {
        return None;
    }
    let mark = config.fwmark;
    let chain = |name, hook, rule| Chain { name, hook, priority: PRIORITY_MANGLE, rules: vec![rule] };
    Some(Contents {
        name: format!("airwatt-{}", config.interface),
        version: None,
        sets: &[],
        flows_timeout: None,
        address_sets: &[],
        chains: vec![
            chain("sent", Hook::Postrouting, vec![Term::Udp, Term::Mark(mark), Term::SetTrackedMark(mark)]),
            chain(
                "answered",
                Hook::Prerouting,
                vec![Term::Udp, Term::TrackedMark(mark), Term::SetMark(mark)],
            ),
        ],
    })
}

/// Settings that the kernel resets when the host stops forwarding: whether single interfaces forward, and with IPv4 whether the host
/// accepts redirects (Linux, Documentation/networking/ip-sysctl.rst).
fn settings_that_forwarding_resets(ipv6: bool) -> Vec<Change> {
    let version = if ipv6 { "ipv6" } else { "ipv4" };
    let conf = format!("net/{version}/conf");
    let names = changes::interfaces(&conf);
    let forwarding = names.iter().filter_map(|name| Change::kept(&format!("{conf}/{name}/forwarding"), "1"));
    let redirects = (!ipv6).then(|| Change::kept(&format!("{conf}/all/accept_redirects"), "0")).flatten();
    forwarding.chain(redirects).collect()
}

/// What keeps router advertisements. When a host begins to forward, the kernel drops the routes from them and takes no other ones, unless
/// the interface accepts them as a router too (`accept_ra = 2`; Linux, Documentation/networking/ip-sysctl.rst). That goes for each interface
/// that accepts them as a host: the first advertisement may come later, as at boot, and an interface that appears later has the default, as
/// `missing` has, which is not there yet.
fn keep_advertisements(missing: Option<&String>) -> Result<Vec<Change>, Failure> {
    const FOLDER: &str = "net/ipv6/conf";
    let mut changes = Vec::new();
    let mut names = changes::interfaces(FOLDER);
    let missing = missing.filter(|missing| !names.contains(missing)).cloned();
    names.extend(missing.clone());
    names.sort();
    // Nothing reads that of `all`.
    for name in names.iter().filter(|name| !["all", "lo"].contains(&name.as_str())) {
        let is_missing = missing.as_ref() == Some(name);
        let read = if is_missing { "default" } else { name };
        let has = |key: &str, value| Change::kept(&format!("{FOLDER}/{read}/{key}"), value).is_some();
        if !has("accept_ra", "1") || !has("forwarding", "0") {
            continue;
        }
        let (key, before, after) = ("accept_ra".to_owned(), "1".to_owned(), "2".to_owned());
        changes.push(if name == "default" {
            Change::Inherited { folder: FOLDER.to_owned(), key, present: names.clone(), before, after }
        } else {
            Change::Setting { name: format!("{FOLDER}/{name}/{key}"), before, after }
        });
    }
    Ok(changes)
}
