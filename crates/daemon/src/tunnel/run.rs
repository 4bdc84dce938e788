//! `up` and `down`: the tunnel from its start to the host restored; and who restores it if that comes to nothing.

use std::path::Path;

use airwatt_base::{Instant, Machine as _, Span};
use airwatt_linux::capability::{self, ProcessCapability};
use airwatt_linux::changes::{Change, Changes};
use airwatt_linux::control::ControlSocket;
use airwatt_linux::driver;
use airwatt_linux::event_loop::{EventLoop, Interest};
use airwatt_linux::guardian::Guardian;
use airwatt_linux::metrics::MetricsAddress;
use airwatt_linux::nftables::NftablesTable;
use airwatt_linux::service;
use airwatt_linux::signals::Signals;
use airwatt_linux::{seccomp, tun, udp};
use tracing::{info, warn};

use super::config::{Config, End};
use super::host::{NEWS, Parts, TunnelHost, tunnel_of};
use super::own_address::OwnAddress;
use super::peers::{Input, Peer, Peers};
use super::routing::{
    add_routes, change_host, forwards, host_changes, marks_of_answers, routes_before, ways,
};
use super::{KIND, Up, instance};
use crate::failure::Failure;
use crate::instance::{self, Started};
use crate::last_endpoints::LastEndpoints;
use crate::output;
use crate::peering::{PeerSettings, Peering as _};
use crate::services::{self, DEVICE, SOCKET, Services};
use crate::settings::{Prefix, radio};
use crate::ways::Ways;
use crate::{firewall_hints, host};

/// Privileges that the tunnel and its guardian keep after their start.
pub(super) const PRIVILEGES: [ProcessCapability; 1] = [ProcessCapability::NetAdmin];
/// Bytes of the socket's buffers: some milliseconds at 1 Gbit/s.
const SOCKET_BUFFER_BYTES: usize = 1 << 20;
/// Time for which `down` waits for the end of a tunnel.
const END_PATIENCE: Span = Span::from_secs(5);

/// Prefixes that a client leads into the tunnel although it has no address of their IP version there: nothing of it arrives, which may be
/// what is wanted of it.
fn without_address(config: &Config) -> Vec<String> {
    let has = |prefix: &Prefix| config.addresses.iter().any(|own| own.width() == prefix.width());
    let prefixes =
        config.peer.iter().flat_map(|peer| &peer.allowed_ips).filter(|_| config.end == End::Client);
    let lost = prefixes.filter(|prefix| !has(prefix));
    lost.map(|prefix| {
        let version = prefix.version();
        format!("{prefix}: {version} enters the tunnel and is lost, since this end has no address of it there; hint: addresses")
    })
    .collect()
}

/// `airwattd tunnel up`.
pub(super) fn up(options: &Up) -> Result<(), Failure> {
    let mut config = Config::read(&options.file)?;
    options.foreground.log.start()?;
    config.sessions().warn_of_readers(&options.file);
    if options.foreground.dry_run {
        output::print(&commands(&config)?);
    }
    let forwarded = [false, true].into_iter().filter(|ipv6| forwards(&config, *ipv6));
    let passing = forwarded.flat_map(|ipv6| firewall_hints::of_passing(&config.interface, ipv6));
    let of_firewall = firewall_hints::of_port(config.sessions().listen).into_iter().chain(passing);
    // Routes and rules that were there before the tunnel: for `--check` and `--dry-run` they are hints, at a start an error.
    let is_asked = options.foreground.dry_run || options.foreground.check;
    let own = host::index_of_device(&config.interface).ok();
    let before = if is_asked { routes_before(&config.routes(), own)? } else { Vec::new() };
    let is_refused = !before.is_empty();
    let hints = firewall_hints::give(of_firewall.chain(before).chain(without_address(&config)));
    if is_refused && options.foreground.check {
        let file = options.file.display();
        return Err(Failure::Failed(format!(
            "{file}: nothing is wrong with this configuration itself, but on this host it would not start"
        )));
    }
    if is_asked {
        options.foreground.in_order(&options.file, hints);
        return Ok(());
    }
    config.resolve()?;
    host::need(&PRIVILEGES)?;
    let name = config.interface.clone();
    let signals = Signals::take()?;
    let Started { control, guardian, mut changes } = instance(&name).start(&["tunnel", "guard", &name])?;
    let done = serve(config, options, signals, control, &guardian, &mut changes);
    service::stopping();
    // Of two daemons that end at the same time one has to see that it is the last. If the lock cannot be had, the guardian undoes the changes.
    let _lock = instance::lock()?;
    instance::undo(&mut changes)?;
    done
}

/// Sets everything up and drives the tunnels until a signal ends them.
fn serve(
    config: Config,
    options: &Up,
    signals: Signals,
    control: ControlSocket,
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
    let marks = marks_of_answers(&config).map(NftablesTable::create).transpose();
    // It ends with this function.
    let _marks = marks.inspect_err(
        |error| warn!(%error, "a host that validates sources strictly (rp_filter = 1) drops what peers send"),
    );
    let socket = udp::Socket::bind(config.sessions().listen(), Some(SOCKET_BUFFER_BYTES))?;
    if !config.default_routes().is_empty() {
        socket.set_mark(config.fwmark)?;
    }
    let metrics = services::serve_metrics(config.metrics.as_ref(), changes)?;
    capability::keep_only(&PRIVILEGES, None)?;
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
    let addresses = config.addresses.iter().map(|prefix| (index, prefix.address, prefix.length)).collect();
    let ways = Ways::watch(ways(&config, index), addresses)?;
    let services = Services::new(&mut events, guardian, outside, (endpoints, ways), is_v6)?;
    let parts = Parts { device, socket, services };
    let mut host = TunnelHost::new(config, file, parts, own_address);
    service::ready(&format!("{count} peers"));
    info!(interface = name, peers = count, "tunnel is up");
    driver::run(&mut machine, &mut host, &mut events)?;
    host.parts.services.end()?;
    info!(event_loop_waits = events.wakeups(), "tunnel ends");
    Ok(())
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
    lines.extend(
        marks_of_answers(config)
            .iter()
            .flat_map(|table| table.to_string().lines().map(str::to_owned).collect::<Vec<_>>()),
    );
    Ok(lines.iter().map(|line| format!("[#] {line}\n")).collect())
}

/// `airwattd tunnel down`: ends the tunnel that runs, and undoes what a killed one has left.
pub(super) fn down(argument: &Path) -> Result<(), Failure> {
    let name = match instance::named(KIND, argument)? {
        Some(name) => name.to_owned(),
        None => Config::read(argument).map_err(instance::by_name(KIND))?.interface,
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
        END_PATIENCE * 2,
        &PRIVILEGES,
        &[],
        &[config.metrics.as_ref().and_then(MetricsAddress::path)],
    )
}
