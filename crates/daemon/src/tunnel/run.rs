//! `up`: the tunnel from its start to the host restored; and who restores it if that comes to nothing.

use std::path::Path;

use airwatt_linux::capability::{self, Capability};
use airwatt_linux::changes::{Change, Changes};
use airwatt_linux::control::{self, Control};
use airwatt_linux::driver;
use airwatt_linux::event_loop::{EventLoop, Interest};
use airwatt_linux::guardian::{self, Guardian};
use airwatt_linux::metrics::Metrics;
use airwatt_linux::route::Route;
use airwatt_linux::service::{self, Unit};
use airwatt_linux::signals::Signals;
use airwatt_linux::{interface, tun, udp};
use airwatt_proto::tunnel::{self, Plain, Tunnel};
use tracing::{info, warn};

use super::config::{Config, End, Prefix};
use super::host::{CONTROL, DEVICE, GUARDIAN, METRICS, SIGNALS, SOCKET, TunnelHost};
use super::peers::{PeerTunnel, Peers};
use super::{KIND, Up};
use crate::common::{control_socket, leave_run_folder, undo_log};
use crate::failure::Failure;
use crate::output;

/// Bytes of the socket's buffers: some milliseconds at 1 Gbit/s.
const SOCKET_BUFFER_BYTES: usize = 1 << 20;
const FORWARDING: &str = "net/ipv4/ip_forward";
const PROGRAM: &str = "airwattd tunnel";

/// `airwattd tunnel up`.
pub(super) fn up(options: &Up) -> Result<(), Failure> {
    let config = Config::read(&options.file)?;
    if options.foreground.check {
        return Ok(());
    }
    if options.foreground.dry_run {
        output::print(&commands(&config));
        return Ok(());
    }
    options.foreground.log.start()?;
    if let Some(missing) = capability::first_missing(&[Capability::NetAdmin])? {
        return Err(Failure::Missing(format!(
            "the capability {} is missing: run this as root",
            missing.name()
        )));
    }
    let name = config.interface.clone();
    let signals = Signals::take()?;
    // Refuses a second tunnel of this name before anything has changed.
    let control = Control::bind(&control_socket(KIND, &name))?;
    let guardian = Guardian::start(&["tunnel", "guard", &name])?;
    restore(&name)?;
    let (mut changes, _) = Changes::open(&undo_log(KIND, &name), PROGRAM)?;
    let done = serve(config, options, signals, control, &guardian, &mut changes);
    service::stopping();
    undo(&mut changes)?;
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
    let settings = tun::Settings {
        name: config.interface.clone(),
        addresses: config.addresses.iter().map(|prefix| (prefix.address, prefix.length)).collect(),
        mtu: config.mtu(),
        offload: false,
    };
    let device = tun::create(&settings)?;
    let index = interface::index(&config.interface)
        .ok_or_else(|| Failure::Failed(format!("{}: the device has gone", config.interface)))?;
    for prefix in routes(&config) {
        // It ends with the device.
        Route::over(index, (prefix.address, prefix.length)).add()?;
    }
    if config.forward
        && let Some(change) = Change::setting(FORWARDING, "1")?
    {
        info!(command = change.describe(), "host changed");
        changes.make(change)?;
    }
    let socket = udp::Socket::bind(config.listen(), Some(SOCKET_BUFFER_BYTES))?;
    let metrics = config.metrics.as_ref().map(Metrics::bind).transpose()?;
    capability::keep_only(&[Capability::NetAdmin], None)?;
    let mut events = EventLoop::new()?;
    events.add(&device, DEVICE, Interest::Read)?;
    events.add(&socket, SOCKET, Interest::Read)?;
    events.add(&signals, SIGNALS, Interest::Read)?;
    events.add(&control, CONTROL, Interest::Read)?;
    events.add(guardian, GUARDIAN, Interest::Read)?;
    if let Some(metrics) = &metrics {
        events.add(metrics, METRICS, Interest::Read)?;
    }
    let mut machine = Peers::new(config.peer.iter().map(|_| tunnel(&config)).collect());
    let file = options.file.clone();
    let mut host = TunnelHost::new(config, file, device, socket, signals, control, metrics);
    service::ready(&format!("{} peers", host.peers.len()));
    info!(interface = host.config.interface, peers = host.peers.len(), "tunnel is up");
    driver::run(&mut machine, &mut host, &mut events)?;
    info!(wakeups = events.wakeups(), "tunnel ends");
    Ok(())
}

/// The machine of one peer.
pub(super) fn tunnel(config: &Config) -> PeerTunnel {
    let end = match config.end {
        End::Client => tunnel::End::Client,
        End::Concentrator => tunnel::End::Concentrator,
    };
    Tunnel::new(config.tunnel, end, Plain::new(config.tunnel.bundle_bytes(config.outer())))
}

/// The prefixes of the peers that no address of the device leads to.
fn routes(config: &Config) -> Vec<Prefix> {
    let covered = |prefix: &Prefix| config.addresses.iter().any(|own| own.network() == *prefix);
    let mut routes: Vec<Prefix> =
        config.peer.iter().flat_map(|peer| &peer.allowed_ips).map(|prefix| prefix.network()).collect();
    routes.retain(|prefix| !covered(prefix));
    routes.dedup();
    routes
}

/// The commands that would do the same.
fn commands(config: &Config) -> String {
    let name = &config.interface;
    let mut lines =
        vec![format!("ip tuntap add {name} mode tun"), format!("ip link set {name} mtu {} up", config.mtu())];
    lines.extend(config.addresses.iter().map(|prefix| format!("ip address add {prefix} dev {name}")));
    lines.extend(routes(config).iter().map(|prefix| format!("ip route add {prefix} dev {name}")));
    if config.forward {
        lines.push(format!("sysctl -w {}=1", FORWARDING.replace('/', ".")));
    }
    lines.iter().map(|line| format!("[#] {line}\n")).collect()
}

/// Undoes what the log lists: of a tunnel that was killed together with its guardian, or of none.
fn restore(interface: &str) -> Result<(), Failure> {
    let (mut changes, damage) = Changes::open(&undo_log(KIND, interface), PROGRAM)?;
    for line in damage {
        warn!("{line}");
    }
    undo(&mut changes)
}

fn undo(changes: &mut Changes) -> Result<(), Failure> {
    let failed = changes.undo()?.join("; ");
    leave_run_folder();
    if failed.is_empty() { Ok(()) } else { Err(Failure::Failed(failed)) }
}

/// Removes what a killed tunnel has left: its control socket, and what its undo log lists.
pub(super) fn clean_up(interface: &str) -> Result<(), Failure> {
    control::remove_dead(&control_socket(KIND, interface));
    restore(interface)
}

/// The life of the guardian.
pub(super) fn guard(interface: &str) -> Result<(), Failure> {
    guardian::watch()?;
    clean_up(interface)
}

/// `airwattd tunnel unit`.
pub(super) fn unit(file: &Path) -> Result<(), Failure> {
    let config = Config::read(file)?;
    let file = file.canonicalize().map_err(|error| Failure::of_io(&file.display().to_string(), &error))?;
    let program = std::env::current_exe().map_err(|error| Failure::of_io("this program", &error))?;
    let (program, file, name) = (program.display(), file.display(), &config.interface);
    let unit = Unit {
        description: &format!("airwatt tunnel {name}"),
        start: &format!("{program} tunnel up {file}"),
        restore: &format!("{program} tunnel restore {name}"),
        capabilities: &[Capability::NetAdmin],
        families: &["AF_INET", "AF_INET6"],
        devices: &["/dev/net/tun"],
    };
    output::print(&unit.text());
    Ok(())
}
