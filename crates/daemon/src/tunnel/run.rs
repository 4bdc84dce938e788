//! `up` and `down`: the tunnel from its start to the host restored; and who restores it if that comes to nothing.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

use airwatt_base::{Instant, Machine as _, Span};
use airwatt_linux::capability::{self, ProcessCapability};
use airwatt_linux::changes::{self, Change, Changes};
use airwatt_linux::control::Control;
use airwatt_linux::driver;
use airwatt_linux::event_loop::{EventLoop, Interest};
use airwatt_linux::guardian::Guardian;
use airwatt_linux::metrics::MetricsAddress;
use airwatt_linux::route::{self, KernelRoute};
use airwatt_linux::rule::Rule;
use airwatt_linux::service;
use airwatt_linux::signals::Signals;
use airwatt_linux::{seccomp, tun, udp};
use tracing::info;

use super::config::{Config, End};
use super::host::{NEWS, Parts, TunnelHost, tunnel_of};
use super::own_address::OwnAddress;
use super::peers::{Input, Peer, Peers};
use super::{KIND, Up, instance};
use crate::failure::Failure;
use crate::firewall_hints::{warn_of_passing, warn_of_port};
use crate::host;
use crate::instance::{self, Started};
use crate::last_endpoints::LastEndpoints;
use crate::output;
use crate::peering::{PeerSettings, Peering as _};
use crate::services::{self, DEVICE, SOCKET, Services};
use crate::settings::{Prefix, radio};

/// Bytes of the socket's buffers: some milliseconds at 1 Gbit/s.
const SOCKET_BUFFER_BYTES: usize = 1 << 20;
const FORWARDING: [&str; 2] = ["net/ipv4/ip_forward", "net/ipv6/conf/all/forwarding"];
/// Whether the mark of a packet counts when its source is validated by the routes back.
const VALID_MARK: &str = "net/ipv4/conf/all/src_valid_mark";
/// The main routing table, and priorities of rules just before the one that leads to it (32766).
const TABLE_MAIN: u32 = 254;
const PRIORITY_MAIN: u32 = 32_764;
const PRIORITY_TUNNEL: u32 = 32_765;
/// Time for which `down` waits for the end of a tunnel.
const END_PATIENCE: Span = Span::from_secs(5);

/// `airwattd tunnel up`.
pub(super) fn up(options: &Up) -> Result<(), Failure> {
    let mut config = Config::read(&options.file)?;
    options.foreground.log.start()?;
    config.sessions().warn_of_readers(&options.file);
    if options.foreground.dry_run {
        output::print(&commands(&config)?);
    }
    let forwarded = [false, true].into_iter().filter(|ipv6| forwards(&config, *ipv6));
    let hints = warn_of_port(config.sessions().listen)
        + forwarded.map(|ipv6| warn_of_passing(&config.interface, ipv6)).sum::<usize>();
    if options.foreground.dry_run || options.foreground.check {
        options.foreground.in_order(&options.file, hints);
        return Ok(());
    }
    config.resolve()?;
    host::need(&[ProcessCapability::NetAdmin])?;
    let name = config.interface.clone();
    let signals = Signals::take()?;
    let Started { control, guardian, mut changes } = instance(&name).start(&["tunnel", "guard", &name])?;
    let done = serve(config, options, signals, control, &guardian, &mut changes);
    service::stopping();
    // Of two that end at the same time one has to see that it is the last. Without the lock the guardian undoes the changes.
    let _lock = instance::lock()?;
    instance::undo(&mut changes)?;
    done
}

/// Sets everything up and drives the tunnels until a signal ends them.
fn serve(
    config: Config,
    options: &Up,
    signals: Signals,
    control: Control,
    guardian: &Guardian,
    changes: &mut Changes,
) -> Result<(), Failure> {
    let settings = tun::TunSettings {
        name: config.interface.clone(),
        addresses: config.addresses.iter().map(|prefix| (prefix.address, prefix.length)).collect(),
        mtu: config.mtu(),
        offload: false,
    };
    let device = tun::create(&settings)?;
    let index = host::index_of_device(&config.interface)?;
    add_routes(&config.routes(), index)?;
    change_host(&config, index, changes)?;
    let socket = udp::Socket::bind(config.sessions().listen(), Some(SOCKET_BUFFER_BYTES))?;
    if !config.default_routes().is_empty() {
        socket.set_mark(config.fwmark)?;
    }
    let metrics = services::serve_metrics(config.metrics.as_ref(), changes)?;
    capability::keep_only(&[ProcessCapability::NetAdmin], None)?;
    seccomp::keep_only_needed(false)?;
    let mut events = EventLoop::new()?;
    events.add(&device, DEVICE, Interest::Read)?;
    events.add(&socket, SOCKET, Interest::Read)?;
    let mut machine = machine(&config, events.now())?;
    let endpoints = LastEndpoints::open(instance(&config.interface))?;
    for (index, peer) in config.peer.iter().enumerate().filter(|(_, peer)| peer.endpoint.is_none()) {
        endpoints.of(&peer.name).filter(|at| !machine.is_inside(at.ip())).into_iter().for_each(|at| {
            machine.carrier.set_endpoint(index, at);
        });
    }
    // A concentrator that has forgotten a client reaches it again without a packet from it. The session ends by age, and nothing more is sent.
    let own_address = if config.end == End::Client {
        machine.handle_input(Input::Here, events.now());
        let own_address = OwnAddress::watch()?;
        events.add(&own_address.news, NEWS, Interest::Read)?;
        Some(own_address)
    } else {
        None
    };
    let (name, count) = (config.interface.clone(), config.peer.len());
    let file = options.file.clone();
    let is_v6 = config.sessions().listen().is_ipv6();
    let outside = (signals, control, metrics);
    let services = Services::new(&mut events, guardian, outside, endpoints, is_v6)?;
    let parts = Parts { device, socket, services };
    let mut host = TunnelHost::new(config, file, parts, own_address);
    service::ready(&format!("{count} peers"));
    info!(interface = name, peers = count, "tunnel is up");
    driver::run(&mut machine, &mut host, &mut events)?;
    host.parts.services.end()?;
    info!(event_loop_waits = events.wakeups(), "tunnel ends");
    Ok(())
}

/// Routes prefixes into the tunnel; the routes end with the device.
fn add_routes(prefixes: &[Prefix], device: u32) -> Result<(), Failure> {
    /// The metric of an IPv6 route for which none is named (IP6_RT_PRIO_USER of linux/ipv6_route.h); one of IPv4 has 0.
    const METRIC_V6: u32 = 1024;
    let there = if prefixes.is_empty() { Vec::new() } else { route::list()? };
    for prefix in prefixes {
        let (to, metric) =
            ((prefix.address, prefix.length), if prefix.address.is_ipv6() { METRIC_V6 } else { 0 });
        let comes_first = |other: &&KernelRoute| {
            other.destination() == to && other.table() == TABLE_MAIN && other.priority() <= metric
        };
        if let Some(other) = there.iter().find(comes_first) {
            return Err(Failure::Failed(format!(
                "allowed_ips: {prefix} is reached by another route already, which would come first: {}",
                other.describe()
            )));
        }
        KernelRoute::over(device, to).add()?;
    }
    Ok(())
}

/// Makes the changes of the host that do not end with the device.
fn change_host(config: &Config, device: u32, changes: &mut Changes) -> Result<(), Failure> {
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
fn forwards(config: &Config, ipv6: bool) -> bool {
    config.forward && config.addresses.iter().any(|prefix| prefix.address.is_ipv6() == ipv6)
}

/// The tunnels to all peers.
fn machine(config: &Config, now: Instant) -> Result<Peers, Failure> {
    let peer = |peer: &PeerSettings| Ok(Peer::new(tunnel_of(config)?, peer.allowed_ips.clone()));
    let peers = config.peer.iter().map(peer).collect::<Result<_, Failure>>()?;
    let carrier = config.sessions().carrier(now)?;
    let radio = radio(config.radio.as_deref())?;
    let sleeps_after = radio.map_or(Span::from_millis(1), |radio| radio.to_sleep.time + radio.wake_up.time);
    Ok(Peers::new(peers, carrier, config.mtu(), sleeps_after).with_addresses(&config.addresses))
}

/// Changes of the host that do not end with the device. `device` is `None` if it is not there yet.
///
/// If all destinations are routed into the tunnel, its own packets must not be: they have a mark, and every packet without it is
/// looked up in a table of the tunnel, after the routes of the main table except its default. wg-quick(8) does the same.
fn host_changes(config: &Config, device: Option<u32>) -> Result<Vec<Change>, Failure> {
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
    for ipv6 in config.default_routes() {
        if !ipv6 {
            changes.extend(Change::setting(VALID_MARK, "1")?);
        }
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
    Ok(changes)
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

/// The commands that would do the same.
fn commands(config: &Config) -> Result<String, Failure> {
    let name = &config.interface;
    let mut lines =
        vec![format!("ip tuntap add {name} mode tun"), format!("ip link set {name} mtu {} up", config.mtu())];
    lines.extend(config.addresses.iter().map(|prefix| format!("ip address add {prefix} dev {name}")));
    lines.extend(config.routes().iter().map(|prefix| format!("ip route add {prefix} dev {name}")));
    for ipv6 in config.default_routes() {
        let family = if ipv6 { "-6 " } else { "" };
        lines.push(format!("ip {family}route add default dev {name} table {}", config.fwmark));
    }
    lines.extend(host_changes(config, None)?.iter().map(Change::describe));
    Ok(lines.iter().map(|line| format!("[#] {line}\n")).collect())
}

/// `airwattd tunnel down`: ends the tunnel that runs, and undoes what a killed one has left.
pub(super) fn down(argument: &Path) -> Result<(), Failure> {
    let name = match instance::named(KIND, argument)? {
        Some(name) => name.to_owned(),
        None => Config::read(argument)?.interface,
    };
    instance(&name).stop(END_PATIENCE)?;
    Ok(LastEndpoints::open(instance(&name))?.remove()?)
}

/// `airwattd tunnel unit`.
pub(super) fn unit(file: &Path) -> Result<(), Failure> {
    let config = Config::read(file)?;
    services::print_unit(
        KIND,
        &config.interface,
        file,
        &[ProcessCapability::NetAdmin],
        &[],
        &[config.metrics.as_ref().and_then(MetricsAddress::path)],
    )
}
