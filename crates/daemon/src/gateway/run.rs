//! `up` and `down`: the gateway from its start to the host restored.

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
use airwatt_linux::route::KernelRoute;
use airwatt_linux::service;
use airwatt_linux::signals::Signals;
use airwatt_linux::transparent::{self, PacketSender};
use airwatt_linux::{random, seccomp, tun, udp};
use airwatt_proto::gateway::{SplitProxy, SplitProxyConfig, SplitProxyInput};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tracing::{info, warn};

use super::config::{Config, Gateway, Mode, patience};
use super::ends::{Ends, Input};
use super::host::{END, GatewayHost, LISTENERS, LOCAL, Parts};
use super::local::Local;
use super::sockets::{Sockets, loopback};
use super::{KIND, Up, instance, rules, tails, usual_file};
use crate::failure::Failure;
use crate::firewall_hints;
use crate::instance::{self, Started};
use crate::last_endpoints::LastEndpoints;
use crate::peering::{Carrier, Peering as _};
use crate::services::{self, DEVICE, SOCKET, Services};
use crate::settings::Prefix;
use crate::ways::Ways;
use crate::{host, output};

/// Bytes of the UDP socket's buffers: some milliseconds at 1 Gbit/s.
const SOCKET_BUFFER_BYTES: usize = 4 << 20;
/// Largest packet of the device: what opens connections is shorter.
const DEVICE_MTU: u16 = 1_500;
/// Privileges that the gateway and its guardian keep after their start.
pub(super) const PRIVILEGES: [ProcessCapability; 2] =
    [ProcessCapability::NetAdmin, ProcessCapability::NetRaw];

/// Reads the configuration of a file.
fn read(file: &Path, mode: Option<Mode>) -> Result<Config, Failure> {
    Config::read(file)?.checked(mode).map_err(|failure| match failure {
        Failure::Input(line) if !line.starts_with("--") => {
            Failure::Input(format!("{}: {line}", file.display()))
        }
        other => other,
    })
}

/// `airwattd gateway up`.
pub(super) fn up(options: &Up) -> Result<(), Failure> {
    let mut config = read(&options.file, options.mode)?;
    options.foreground.log.start()?;
    config.sessions().warn_of_readers(&options.file);
    if options.foreground.dry_run {
        output::print(&rules::commands(&config)?);
    }
    if options.foreground.dry_run || options.foreground.check {
        let forwarding = rules::hints_of_forwarding(&config);
        let hints = firewall_hints::give(forwarding.into_iter().chain(hints_of_firewall(&config)));
        options.foreground.in_order(&options.file, hints);
        return Ok(());
    }
    config.resolve()?;
    host::need(&PRIVILEGES)?;
    let name = config.interface.clone();
    let signals = Signals::take()?;
    firewall_hints::give(hints_of_firewall(&config));
    let mobiles = config.mobiles();
    tails::finish_left(&name, &mobiles)?;
    let (fwmark, drain) = (config.fwmark.to_string(), config.gateway.drain.as_nanos().to_string());
    let mobiles: Vec<String> = mobiles.iter().map(ToString::to_string).collect();
    let guard: Vec<&str> = ["gateway", "guard", &name, &fwmark, &drain]
        .into_iter()
        .chain(mobiles.iter().map(String::as_str))
        .collect();
    let Started { control, guardian, mut changes } = instance(&name).start(&guard)?;
    let done = serve(config, signals, control, &guardian, &mut changes);
    service::stopping();
    instance::undo(&mut changes)?;
    done
}

/// Says which chains of a firewall may keep datagrams of mobiles, or connections, from this gateway.
fn hints_of_firewall(config: &Config) -> Vec<String> {
    [firewall_hints::of_port(config.sessions().listen), rules::hints_of_firewall(config)].concat()
}

/// Sets everything up and relays until a signal ends it.
fn serve(
    mut config: Config,
    signals: Signals,
    control: ControlSocket,
    guardian: &Guardian,
    changes: &mut Changes,
) -> Result<(), Failure> {
    let connections = allow_connections();
    let mut events = EventLoop::new()?;
    let endpoints = LastEndpoints::open(instance(&config.interface))?;
    for peer in &mut config.peer {
        peer.endpoint = peer.endpoint.take().or_else(|| Some(endpoints.of(&peer.name)?.into()));
    }
    let mut machine = machine(&config, connections, events.now())?;
    let bind = || udp::Socket::bind(config.sessions().listen(), Some(SOCKET_BUFFER_BYTES));
    let socket = (!config.is_alone()).then(bind).transpose()?;
    if let Some(path) = &config.local {
        changes.make(Change::socket(path)?)?;
    }
    let metrics = services::serve_metrics(config.metrics.as_ref(), changes)?;
    let local = config.local.as_deref().map(Local::bind).transpose()?;
    let settings = tun::TunSettings {
        name: config.interface.clone(),
        addresses: vec![(rules::DEVICE_ADDRESS.into(), 32)],
        mtu: DEVICE_MTU,
        offload: false,
    };
    let device = tun::create(&settings)?;
    rules::set_up_device(&config.interface)?;
    let [.., own] = rules::marks(config.fwmark);
    let packets = PacketSender::open(own)?;
    let (sockets, ways) = lead_connections_here(&config, changes)?;
    capability::keep_only(&PRIVILEGES, None)?;
    seccomp::keep_only_needed(false)?;
    let waker = events.waker(END)?;
    let is_v6 = config.sessions().listen().is_ipv6();
    let outside = (signals, control, metrics);
    let of_peers = (endpoints, Ways::watch(ways, Vec::new())?);
    let services = Services::new(&mut events, guardian, outside, of_peers, is_v6)?;
    events.add(&device, DEVICE, Interest::Read)?;
    if let Some(socket) = &socket {
        events.add(socket, SOCKET, Interest::Read)?;
    }
    for listener in &sockets.listeners {
        events.add(listener, LISTENERS, Interest::Read)?;
    }
    if let Some(local) = &local {
        events.add(&local.listener, LOCAL, Interest::Read)?;
    }
    let (name, count) = (config.interface.clone(), config.peer.len());
    let (sources, clock) = (events.sources()?, events.clock());
    let parts = Parts { device, socket, packets, sockets, local, services, waker };
    // Peers whose address is known learn at once that this end has started.
    for peer in (0..count).filter(|peer| config.peer[*peer].address().is_some()) {
        machine.handle_input(Input::Proxy(SplitProxyInput::Greet(peer)), events.now());
    }
    let mut host = GatewayHost::new(parts, config, sources, clock);
    service::ready(&format!("{count} peers"));
    info!(interface = name, peers = count, "gateway is up");
    driver::run(&mut machine, &mut host, &mut events)?;
    let GatewayHost { config, parts, .. } = &host;
    tails::finish(&config.interface, tails::left(own), Vec::new(), own, config.gateway.drain, &parts.packets);
    host.parts.services.end()?;
    info!(event_loop_waits = events.wakeups(), "gateway ends");
    Ok(())
}

/// The listeners, and the rules and routes that lead connections to them.
fn lead_connections_here(config: &Config, changes: &mut Changes) -> Result<(Sockets, Vec<Change>), Failure> {
    let [.., own] = rules::marks(config.fwmark);
    let listeners = config
        .versions()
        .into_iter()
        .map(|is_v6| transparent::listen(loopback(is_v6, 0), own))
        .collect::<Result<Vec<_>, _>>()?;
    let addresses = listeners
        .iter()
        .map(std::net::TcpListener::local_addr)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| Failure::of_io("listener", &error))?;
    let index = host::index_of_device(&config.interface)?;
    let routes = rules::device_routes(config, index);
    routes.iter().try_for_each(KernelRoute::add)?;
    let lasting = rules::changes(config)?;
    let ways = routes.iter().map(Change::route).chain(lasting.clone()).collect();
    host::change(changes, lasting)?;
    // Last, since from now on connections come.
    let table = NftablesTable::create(rules::table(config, index, &addresses))?;
    let copies = rules::tables_of_copies(config, index).into_iter().map(NftablesTable::create);
    let copies = copies.collect::<Result<Vec<_>, _>>().unwrap_or_else(|error| {
        warn!(%error, "connections that this host translates are not relayed; hint: the module nft_dup of both IP versions");
        Vec::new()
    });
    Ok((Sockets::new(listeners, (table, copies), own, config.gateway.buffer), ways))
}

/// Descriptors that a gateway has beside those of its connections, at most: its own, and those of programs that ask for something.
const OTHER_DESCRIPTORS: u64 = 128;

/// Allows as many descriptors as this process may have, and returns for how many connections they suffice: each needs two where both its
/// legs are the kernel's, or where a program has reserved a port for it.
fn allow_connections() -> usize {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // Fewer are a limit, and no error.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    let Rlimit { current, .. } = getrlimit(Resource::Nofile);
    current.map_or(usize::MAX, |descriptors| (descriptors.saturating_sub(OTHER_DESCRIPTORS) / 2) as usize)
}

fn machine(config: &Config, connections: usize, now: Instant) -> Result<Ends, Failure> {
    if config.is_alone() {
        let proxy = SplitProxy::alone(SplitProxyConfig { connections, ..config.proxy(0, 0) });
        return Ok(Ends::new(proxy, Carrier::Plain(Vec::new()), Vec::new(), false));
    }
    let drawn: [u8; 32] = random::bytes()?;
    let (epoch, rest) = drawn.split_first_chunk().expect("32 bytes");
    let (sequence, _) = rest.split_first_chunk().expect("24 bytes");
    let proxy = SplitProxyConfig {
        secret: random::bytes()?,
        connections,
        ..config.proxy(u64::from_ne_bytes(*epoch), u32::from_ne_bytes(*sequence))
    };
    let carrier = config.sessions().carrier(now)?;
    let allowed: Vec<_> = config.peer.iter().map(|peer| peer.allowed_ips.clone()).collect();
    Ok(Ends::new(SplitProxy::new(proxy, allowed.len()), carrier, allowed, !config.is_base()))
}

/// The mobiles without a daemon of the gateway with this name, by its usual file, if there is one.
pub(super) fn usual_mobiles(name: &str) -> Vec<Prefix> {
    Config::read(&usual_file(name)).map(|config| config.mobiles()).unwrap_or_default()
}

/// `airwattd gateway down`: ends the gateway that runs, and undoes what a killed one has left.
pub(super) fn down(argument: &Path) -> Result<(), Failure> {
    let (name, drain, mobiles) = match instance::named(KIND, argument)? {
        Some(name) => {
            // Its configuration may be any file.
            let said = instance(name).own_status().and_then(|status| status["drain_s"].as_f64());
            let drain = said.map_or_else(|| Gateway::default().drain, Span::from_secs_f64);
            (name.to_owned(), drain, usual_mobiles(name))
        }
        None => {
            let config = Config::read(argument).map_err(instance::by_name(KIND))?;
            let mobiles = config.mobiles();
            (config.interface, config.gateway.drain, mobiles)
        }
    };
    tails::finish_left(&name, &mobiles)?;
    instance(&name).stop(patience(drain))?;
    Ok(LastEndpoints::open(instance(&name))?.remove()?)
}

/// `airwattd gateway unit`.
pub(super) fn unit(file: &Path) -> Result<(), Failure> {
    let config = read(file, None)?;
    let sockets = [config.local.as_deref(), config.metrics.as_ref().and_then(MetricsAddress::path)];
    services::print_unit(
        KIND,
        &config.interface,
        file,
        patience(config.gateway.drain),
        &PRIVILEGES,
        &["UMask=0077", "PrivateMounts=yes"],
        &sockets,
    )
}
