//! The rules, routes and settings that lead connections here. The table of rules and the device end with the process; the rules of
//! the routing policy and one table of routes are undone by it, or by its guardian, and lead nothing anywhere meanwhile.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use airwatt_linux::changes::{Change, Changes};
use airwatt_linux::firewall::{self, FilterHook};
use airwatt_linux::interface;
use airwatt_linux::nftables::{Chain, Contents, Hook, PRIORITY_RAW, Term};
use airwatt_linux::route::KernelRoute;
use airwatt_linux::rule::Rule;

use super::config::Config;
use crate::failure::Failure;
use crate::firewall_hints::{Known, dropping};
use crate::settings::Prefix;

/// The dummy address of IPv4 (RFC 7600): from an interface without one the kernel takes no packets if it validates sources.
pub(super) const DEVICE_ADDRESS: std::net::Ipv4Addr = std::net::Ipv4Addr::new(192, 0, 0, 8);

/// The sets of flows that are delivered to this host.
const SETS: [&str; 2] = ["relayed4", "relayed6"];
/// The sets of hosts whose SYNs were led to the device and have not come through the chains that forward them.
const UNANSWERED: [&str; 2] = ["unanswered4", "unanswered6"];
/// Neighbours beyond the device for copies of SYNs. The device has no neighbours, so that any that are not this host's do.
const BEYOND_DEVICE: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(192, 0, 0, 11)), IpAddr::V6(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 11))];
/// Time for which a flow of a mobile counts as one that this host answers. A killed gateway resets what it has answered within that time;
/// of older flows connection tracking has forgotten the end before the mobile says something.
const ANSWERED_TIMEOUT: Duration = Duration::from_secs(60);
/// After every other chain.
const PRIORITY_LAST: i32 = i32::MAX;
/// After the translation of addresses at arrival (-100), so that mobiles behind one are found by their own addresses.
const PRIORITY_ARRIVING: i32 = -90;
/// Where packets of this host are marked (`mangle`).
const PRIORITY_OUTPUT: i32 = -150;
/// Types of ICMP messages: destination unreachable, which with IPv4 includes that a packet is too big, and packet too big.
const ICMP_UNREACHABLE: u8 = 3;
const ICMP_V6_UNREACHABLE: u8 = 1;
const ICMP_V6_TOO_BIG: u8 = 2;
/// Priorities of the rules of the routing policy: before that of the main table (32766).
const PRIORITY_OPENING: u32 = 32_762;
const PRIORITY_RELAYED: u32 = 32_763;

/// The table of rules. `device` is the index of the TUN device, and `listeners` the addresses of the transparent sockets.
///
/// A SYN is led to the device, wherever it comes from, and one from the device to a listener. Further segments of relayed
/// connections are delivered to this host; everything else goes its way. A SYN of a mobile with the addresses of a relayed
/// connection is led to the device as well, and so is a reset: the mobile has fallen back to plain TCP.
pub(super) fn table(config: &Config, device: u32, listeners: &[SocketAddr]) -> Contents {
    let [opening, relayed, own] = marks(config.fwmark);
    let mut arriving = Vec::new();
    for listener in listeners {
        arriving.push(vec![
            Term::Family(listener.is_ipv6()),
            Term::Interface(device),
            Term::Tcp,
            Term::Opens,
            Term::Tproxy(*listener),
            Term::SetMark(relayed),
            Term::Accept,
        ]);
    }
    let for_device = |prefix: Prefix, is_source: bool| {
        let (address, length) = (prefix.network().address, prefix.length);
        let place =
            if is_source { Term::Source(address, length) } else { Term::Destination(address, length) };
        vec![Term::Tcp, Term::Opens, place, Term::NotForThisHost, Term::SetMark(opening), Term::Accept]
    };
    let of_known_flow = |is_v6: bool, segment: Term| {
        let again = Term::AnswersSet(SETS[usize::from(is_v6)], is_v6);
        vec![Term::Family(is_v6), Term::Tcp, segment, again, Term::SetMark(opening), Term::Accept]
    };
    let relayed_flows = |is_v6: &bool| relayed_flows(*is_v6, relayed);
    // What routers, and this host, say about segments that were sent with a mobile's address.
    let errors_of = |is_v6: &bool| {
        let kinds = if *is_v6 { &[ICMP_V6_UNREACHABLE, ICMP_V6_TOO_BIG][..] } else { &[ICMP_UNREACHABLE] };
        let (set, is_v6) = (SETS[usize::from(*is_v6)], *is_v6);
        kinds.iter().map(move |kind| {
            let error = Term::ErrorOf(set, is_v6, *kind);
            vec![Term::Family(is_v6), error, Term::SetMark(relayed), Term::Accept]
        })
    };
    let versions = config.versions();
    let mut leaving = vec![vec![Term::Mark(own), Term::Accept]];
    let mut more = Vec::new();
    if config.is_base() {
        if config.is_alone() {
            // The segments that follow are translated, and those of a connection of this host's sockets would not be.
            arriving.push(vec![Term::Tcp, Term::Opens, Term::Redirected, Term::Accept]);
            arriving.extend(config.prefixes().map(|prefix| unanswered(prefix, true)));
            more.extend(untracked_chains(&config.mobiles()));
            arriving.extend(config.prefixes().map(|prefix| for_device(prefix, true)));
        } else {
            arriving.extend(versions.iter().map(|is_v6| of_known_flow(*is_v6, Term::Opens)));
            arriving.extend(versions.iter().map(|is_v6| of_known_flow(*is_v6, Term::Resets)));
        }
        arriving.extend(config.prefixes().map(|prefix| unanswered(prefix, false)));
        let arrived = |is_v6: &bool| {
            vec![Term::Mark(opening), Term::RemoveSource(UNANSWERED[usize::from(*is_v6)], *is_v6)]
        };
        more.push(Chain {
            name: "forwarded",
            hook: Hook::Forward,
            priority: PRIORITY_LAST - 1,
            rules: versions.iter().map(arrived).collect(),
        });
        arriving.extend(config.prefixes().map(|prefix| for_device(prefix, false)));
        arriving.extend(versions.iter().flat_map(errors_of));
        leaving.extend(versions.iter().flat_map(errors_of));
    } else {
        leaving.extend(config.prefixes().map(|prefix| for_device(prefix, true)));
        leaving.extend(versions.iter().map(relayed_flows));
    }
    arriving.extend(versions.iter().map(relayed_flows));
    let mut contents = contents(format!("airwatt-{}", config.interface), arriving, leaving);
    if config.is_base() {
        contents.address_sets = &UNANSWERED;
    }
    contents.chains.extend(more);
    contents
}

/// Has SYNs of these mobiles, or to them, pass as plain TCP if three in a row of one host have not come through the chains that forward
/// them to the device: a firewall does not let them there. After some minutes they are led there again.
fn unanswered(mobiles: Prefix, are_sources: bool) -> Vec<Term> {
    let network = mobiles.network().address;
    let is_v6 = network.is_ipv6();
    let third = Term::ThirdOfSource(UNANSWERED[usize::from(is_v6)], is_v6);
    let place = if are_sources { Term::Source } else { Term::Destination };
    vec![Term::Tcp, Term::Opens, place(network, mobiles.length), Term::NotForThisHost, third, Term::Accept]
}

/// Chains that keep the segments between mobiles and this host's sockets from connection tracking. The connection to the host beyond has
/// the same addresses and ports, and would else be taken for the same connection: its addresses would not be translated.
fn untracked_chains(mobiles: &[Prefix]) -> [Chain; 2] {
    let of = |is_arriving: bool| {
        let rule = move |prefix: &Prefix| {
            let (network, is_v6) = (prefix.network().address, prefix.address.is_ipv6());
            let set = SETS[usize::from(is_v6)];
            let of_mobile = |is_source: bool| {
                if is_source {
                    Term::Source(network, prefix.length)
                } else {
                    Term::Destination(network, prefix.length)
                }
            };
            // A mobile that repeats its SYN has no flow in the set yet, and the host beyond has one.
            let repeated =
                [Term::Tcp, Term::Opens, of_mobile(true), Term::AnswersSet(set, is_v6), Term::Untracked];
            let segment = [
                Term::Tcp,
                of_mobile(is_arriving),
                if is_arriving { Term::InSet(set, is_v6) } else { Term::AnswersSet(set, is_v6) },
                Term::Untracked,
            ];
            if is_arriving { vec![segment.to_vec(), repeated.to_vec()] } else { vec![segment.to_vec()] }
        };
        mobiles.iter().flat_map(rule).collect()
    };
    let chain = |name, hook, rules| Chain { name, hook, priority: PRIORITY_RAW, rules };
    [
        chain("untracked-arriving", Hook::Prerouting, of(true)),
        chain("untracked-leaving", Hook::Output, of(false)),
    ]
}

/// Tables of a base station alone that replace each SYN on its way to the device by a copy, which connection tracking leaves alone and no
/// rule translates. The SYN itself is dropped before its connection is tracked, after the rules of every firewall.
pub(super) fn tables_of_copies(config: &Config, device: u32) -> Vec<Contents> {
    let [opening, ..] = marks(config.fwmark);
    let table = |is_v6: bool| {
        let copy = Term::Duplicate(BEYOND_DEVICE[usize::from(is_v6)], device);
        let rules = vec![vec![Term::Mark(opening), copy, Term::Drop]];
        Contents {
            name: format!("airwatt-{}", config.interface),
            version: Some(is_v6),
            sets: &[],
            flows_timeout: None,
            address_sets: &[],
            chains: vec![Chain { name: "forwarded", hook: Hook::Forward, priority: PRIORITY_LAST, rules }],
        }
    };
    let versions = if config.is_alone() { config.versions() } else { Vec::new() };
    versions.into_iter().map(table).collect()
}

/// The table of the guardian of a killed gateway, which leads segments of flows here as that gateway did, and opens nothing.
pub(super) fn table_of_tails(interface: &str, fwmark: u32, mobiles: &[Prefix]) -> Contents {
    let [_, relayed, own] = marks(fwmark);
    let flows = || [false, true].into_iter().map(|is_v6| relayed_flows(is_v6, relayed));
    let leaving = std::iter::once(vec![Term::Mark(own), Term::Accept]).chain(flows()).collect();
    // Two gateways of one name may have been killed within the time of their guardians.
    let name = format!("airwatt-{interface}-{}", std::process::id());
    let mut contents = contents(name, flows().collect(), leaving);
    contents.chains.extend(untracked_chains(mobiles));
    contents
}

/// The table of the guardian of a base station alone, from the start on. It notes the flows of mobiles that this host's sockets answer,
/// until the mobile opens a connection with the same addresses, and what they say stays untracked after the gateway's own table has gone: a socket that is not closed yet would else be tracked as a
/// connection of the host beyond, whose port is translated because the one to that host has the same. The mobile would answer the
/// strange port by a reset, which reaches the socket, and never learn that its connection has ended.
pub(super) fn table_of_answered(interface: &str, fwmark: u32, mobiles: &[Prefix]) -> Contents {
    let [.., own] = marks(fwmark);
    let answer = |prefix: &Prefix| {
        let is_v6 = prefix.address.is_ipv6();
        let to = Term::Destination(prefix.network().address, prefix.length);
        let note = Term::NoteAnswered(SETS[usize::from(is_v6)], is_v6);
        vec![Term::Mark(own), Term::Tcp, to, Term::Untracked, note]
    };
    let opened = |prefix: &Prefix| {
        let is_v6 = prefix.address.is_ipv6();
        let from = Term::Source(prefix.network().address, prefix.length);
        vec![Term::Tcp, Term::Opens, from, Term::ForgetFlow(SETS[usize::from(is_v6)], is_v6)]
    };
    // A SYN that goes its way as plain TCP is tracked, as its answer will be.
    let rules = std::iter::once(vec![Term::Mark(own), Term::Tcp, Term::Opens, Term::Accept])
        .chain(mobiles.iter().map(answer))
        .collect();
    Contents {
        name: format!("airwatt-{interface}-{}-answered", std::process::id()),
        version: None,
        sets: &SETS,
        flows_timeout: Some(ANSWERED_TIMEOUT),
        address_sets: &[],
        chains: vec![
            Chain { name: "untracked", hook: Hook::Output, priority: PRIORITY_RAW, rules },
            Chain {
                name: "opened",
                hook: Hook::Prerouting,
                priority: PRIORITY_ARRIVING + 1,
                rules: mobiles.iter().map(opened).collect(),
            },
        ],
    }
}

/// Chains of that table for the time after the gateway has been killed: what mobiles send of these flows is refused, unless rules lead it
/// here, and SYNs that provoke it are not tracked either.
pub(super) fn chains_of_killed(fwmark: u32, mobiles: &[Prefix]) -> [Chain; 2] {
    let [_, relayed, own] = marks(fwmark);
    let mut refused = vec![vec![Term::Mark(relayed), Term::Accept]];
    let mut untracked = Vec::new();
    for prefix in mobiles {
        let (network, is_v6) = (prefix.network().address, prefix.address.is_ipv6());
        let set = SETS[usize::from(is_v6)];
        let from = Term::Source(network, prefix.length);
        refused.push(vec![Term::Tcp, from, Term::InSet(set, is_v6), Term::Refuse]);
        let to = Term::Destination(network, prefix.length);
        untracked.push(vec![Term::Mark(own), Term::Tcp, to, Term::Untracked]);
    }
    let chain = |name, hook, priority, rules| Chain { name, hook, priority, rules };
    [
        chain("refused", Hook::Prerouting, PRIORITY_ARRIVING + 2, refused),
        chain("provoking", Hook::Output, PRIORITY_RAW, untracked),
    ]
}

/// The table of connections that have ended here: each segment of their hosts is answered by a reset. The kernel's own reset cannot do
/// it, because it has to come from another host's address.
pub(super) fn table_of_ended(interface: &str) -> Contents {
    let refused = |is_v6: bool| {
        vec![Term::Family(is_v6), Term::Tcp, Term::InSet(SETS[usize::from(is_v6)], is_v6), Term::Refuse]
    };
    let rules = || [false, true].map(refused).to_vec();
    let mut contents =
        contents(format!("airwatt-{interface}-{}-ended", std::process::id()), rules(), rules());
    // Before the chains that lead segments here.
    for chain in &mut contents.chains {
        chain.priority -= 1;
    }
    contents
}

fn contents(name: String, arriving: Vec<Vec<Term>>, leaving: Vec<Vec<Term>>) -> Contents {
    let chain = |name, hook, priority, rules| Chain { name, hook, priority, rules };
    let chains = vec![
        chain("arriving", Hook::Prerouting, PRIORITY_ARRIVING, arriving),
        chain("leaving", Hook::Output, PRIORITY_OUTPUT, leaving),
    ];
    Contents { name, version: None, sets: &SETS, flows_timeout: None, address_sets: &[], chains }
}

/// Has the segments of the flows of a set delivered to this host.
fn relayed_flows(is_v6: bool, relayed: u32) -> Vec<Term> {
    let set = SETS[usize::from(is_v6)];
    vec![Term::Family(is_v6), Term::Tcp, Term::InSet(set, is_v6), Term::SetMark(relayed), Term::Accept]
}

/// The setting `fwmark` of a gateway that has made these changes; `None` if it has made no rules.
pub(super) fn mark_of(changes: &Changes) -> Option<u32> {
    changes.iter().find_map(|change| match change {
        Change::Rule(Rule { priority: PRIORITY_OPENING, mark, .. }) => *mark,
        _ => None,
    })
}

/// The mark of openings on their way to the device, of segments for this host, and of this process's own packets.
pub(super) const fn marks(fwmark: u32) -> [u32; 3] {
    [fwmark, fwmark + 1, fwmark + 2]
}

fn everywhere(is_v6: bool) -> IpAddr {
    if is_v6 { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() }
}

/// Routes into the device, which end with it.
pub(super) fn device_routes(config: &Config, device: u32) -> Vec<KernelRoute> {
    let [opening, ..] = marks(config.fwmark);
    let route = |is_v6: bool| KernelRoute::over(device, (everywhere(is_v6), 0)).in_table(opening);
    let mut routes: Vec<_> = config.versions().into_iter().map(route).collect();
    if config.is_alone() && config.versions().contains(&true) {
        // IPv4 takes any neighbour of an interface for reachable, and IPv6 those alone that it has a route to.
        routes.push(KernelRoute::over(device, (BEYOND_DEVICE[1], 128)));
    }
    routes
}

/// Changes that do not end with the device.
pub(super) fn changes(config: &Config) -> Result<Vec<Change>, Failure> {
    let [opening, relayed, _] = marks(config.fwmark);
    let loopback =
        interface::index("lo").ok_or_else(|| Failure::Failed("lo: there is no such interface".to_owned()))?;
    let mut changes = Vec::new();
    for ipv6 in config.versions() {
        let rule = |priority, mark| {
            Change::Rule(Rule {
                ipv6,
                priority,
                table: mark,
                mark: Some(mark),
                source: None,
                inverted: false,
                suppress_prefix_length: None,
            })
        };
        changes.push(Change::route(
            &KernelRoute::over(loopback, (everywhere(ipv6), 0)).local().in_table(relayed),
        ));
        changes.push(rule(PRIORITY_OPENING, opening));
        changes.push(rule(PRIORITY_RELAYED, relayed));
    }
    Ok(changes)
}

/// Says that this host forwards nothing, if it has to: segments of connections that are not relayed would end here.
pub(super) fn hints_of_forwarding(config: &Config) -> Vec<String> {
    let mut hints = Vec::new();
    if !config.is_base() {
        return hints;
    }
    for (ipv6, name) in [(false, "net.ipv4.ip_forward"), (true, "net.ipv6.conf.all.forwarding")] {
        let value = fs::read_to_string(format!("/proc/sys/{}", name.replace('.', "/")));
        if config.versions().contains(&ipv6) && value.is_ok_and(|value| value.trim() == "0") {
            // Alone it takes the SYNs of mobiles as they are forwarded into its device.
            let lacking = if config.is_alone() {
                "relays nothing, and forwards nothing"
            } else {
                "does not forward what it does not relay"
            };
            hints.push(format!("{name} is 0: this base station {lacking}; hint: sysctl -w {name}=1"));
        }
    }
    hints
}

/// Says which chains of a firewall may keep connections from this gateway, if rules of theirs do not accept them.
pub(super) fn hints_of_firewall(config: &Config) -> Vec<String> {
    let mut hints = Vec::new();
    let [opening, relayed, _] = marks(config.fwmark);
    let interface = &config.interface;
    let marked = |mark: u32| vec![firewall::interface(interface), mark.to_ne_bytes().to_vec()];
    for ipv6 in config.versions() {
        let mobiles: Vec<String> = config
            .prefixes()
            .filter(|prefix| prefix.address.is_ipv6() == ipv6)
            .map(|prefix| prefix.network().to_string())
            .collect();
        if config.is_base() && !mobiles.is_empty() {
            let ip = if ipv6 { "ip6" } else { "ip" };
            let (all, old) = (mobiles.join(", "), mobiles.join(","));
            let network = if mobiles.len() == 1 { all } else { format!("{{ {all} }}") };
            let (of_nft, of_old, whose, also) = if config.is_alone() {
                ("saddr", "-s", "of mobiles", " (and to them: the same rule with daddr)")
            } else {
                ("daddr", "-d", "to mobiles", " (if it lets connections to them in)")
            };
            let accepts = [
                format!("{ip} {of_nft} {network} oifname {interface} accept"),
                format!("{of_old} {old} -o {interface} -j ACCEPT"),
            ];
            let known = Known {
                bytes: marked(opening),
                words: vec![format!("--mark {opening:#x}"), format!("-o {interface} ")],
            };
            let lost = format!(
                "SYNs {whose}{also} are forwarded into {interface}: those that it drops go on as plain TCP, the first ones late, and `status` does not \
                 count them"
            );
            hints.extend(dropping(FilterHook::Forward, ipv6, &known, &lost, &accepts));
        }
        let accepts = [format!("meta mark {relayed} accept"), format!("-m mark --mark {relayed} -j ACCEPT")];
        // A rule for SYNs on their way to the device says nothing of segments for this host.
        let known = Known { bytes: marked(relayed), words: vec![format!("--mark {relayed:#x}")] };
        let lost = "relayed connections end at this host";
        hints.extend(dropping(FilterHook::Input, ipv6, &known, lost, &accepts));
    }
    hints
}

/// Settings of the device, with which they end. Openings that come back from it have addresses of this host as their source, or
/// such that no route leads back to.
const DEVICE_SETTINGS: [(&str, &str); 2] = [("accept_local", "1"), ("rp_filter", "2")];

/// Makes them.
pub(super) fn set_up_device(interface: &str) -> Result<(), Failure> {
    for (name, value) in DEVICE_SETTINGS {
        let path = format!("/proc/sys/net/ipv4/conf/{interface}/{name}");
        fs::write(&path, value).map_err(|error| Failure::of_io(&path, &error))?;
    }
    Ok(())
}

/// The commands that would do all of this.
pub(super) fn commands(config: &Config) -> Result<String, Failure> {
    let name = &config.interface;
    let [opening, ..] = marks(config.fwmark);
    let mut lines = vec![
        format!("ip tuntap add {name} mode tun"),
        format!("ip address add {DEVICE_ADDRESS}/32 dev {name}"),
        format!("ip link set {name} up"),
    ];
    lines.extend(
        DEVICE_SETTINGS.iter().map(|(key, value)| format!("sysctl -w net.ipv4.conf.{name}.{key}={value}")),
    );
    for ipv6 in config.versions() {
        let family = if ipv6 { "-6 " } else { "" };
        lines.push(format!("ip {family}route add default dev {name} table {opening}"));
    }
    if config.is_alone() && config.versions().contains(&true) {
        lines.push(format!("ip -6 route add {} dev {name}", BEYOND_DEVICE[1]));
    }
    lines.extend(changes(config)?.iter().map(Change::describe));
    let listeners: Vec<SocketAddr> =
        config.versions().into_iter().map(|is_v6| super::sockets::loopback(is_v6, 0)).collect();
    let mut table = table(config, 0, &listeners).to_string();
    table.extend(tables_of_copies(config, 0).iter().map(ToString::to_string));
    if config.is_alone() {
        table += &table_of_answered(name, config.fwmark, &config.mobiles()).to_string();
    }
    let table = ["iif", "device"]
        .iter()
        .fold(table, |text, term| text.replace(&format!("{term} if0"), &format!("{term} {name}")));
    let rules = format!("nft -i <<'END'\n{table}END\n");
    Ok(lines.iter().map(|line| format!("[#] {line}\n")).collect::<String>() + "[#] " + &rules)
}
