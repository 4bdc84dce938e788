//! What a tunnel and a gateway have beside their machine: signals, the control socket, metrics, and where the peers are.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::Path;

use airwatt_base::Span;
use airwatt_linux::Error;
use airwatt_linux::capability::ProcessCapability;
use airwatt_linux::changes::{Change, Changes};
use airwatt_linux::clock::SuspendWatch;
use airwatt_linux::control::ControlSocket;
use airwatt_linux::event_loop::{EventLoop, Interest, Token};
use airwatt_linux::guardian::Guardian;
use airwatt_linux::metrics::{Metrics, MetricsAddress, Page};
use airwatt_linux::service::{self, Unit};
use airwatt_linux::signals::{Signal, Signals};
use airwatt_proto::session::UNANSWERED_AFTER;
use serde::Serialize;
use serde_json::json;
use tracing::{info, warn};

use crate::endpoint::Resolver;
use crate::failure::Failure;
use crate::instance;
use crate::last_endpoints::LastEndpoints;
use crate::output::{self, ANSWERS_AGAIN, UNANSWERED};
use crate::peering::PeerSettings;
use crate::ways::Ways;

/// Sources of the event loop. Those that only one kind of daemon has are numbered from [`FIRST_OWN`].
pub(crate) const DEVICE: Token = Token(0);
pub(crate) const SOCKET: Token = Token(1);
const SIGNALS: Token = Token(2);
const CONTROL: Token = Token(3);
const METRICS: Token = Token(4);
const GUARDIAN: Token = Token(5);
const NAMES: Token = Token(6);
const WAYS: Token = Token(7);
pub(crate) const FIRST_OWN: u64 = 8;

/// What a daemon has to do about a source that is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Occasion {
    /// It has a signal.
    Signal(Signal),
    /// Names of peers were resolved.
    Names,
    /// Nothing now: whoever asks for the state gets it when the machine is at rest.
    Nothing,
    /// The source is one of its own.
    Own,
}

/// Where others ask for a daemon's state: the control socket, and that of metrics.
pub(crate) struct Doors {
    control: ControlSocket,
    metrics: Option<Metrics>,
    /// Whether something has happened at the one and at the other.
    asked: [bool; 2],
}

/// What somebody wants to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Everything.
    Status,
    /// The sums of which metrics are made.
    Metrics,
}

/// What a daemon with peers works with beside its machine.
pub(crate) struct Services {
    signals: Signals,
    pub(crate) doors: Doors,
    resolver: Resolver,
    /// The addresses of the peers.
    pub(crate) endpoints: LastEndpoints,
    /// What leads packets here.
    pub(crate) ways: Ways,
    suspends: SuspendWatch,
    /// Peers of which the log has said that they do not answer.
    silent_peers: BTreeSet<String>,
    /// Timeouts served, by reason.
    pub(crate) wakeups: BTreeMap<&'static str, u64>,
}

impl Services {
    /// Connects them to the loop. `is_v6` is the IP version of the peers' socket.
    pub(crate) fn new(
        events: &mut EventLoop,
        guardian: &Guardian,
        (signals, control, metrics): (Signals, ControlSocket, Option<Metrics>),
        (endpoints, ways): (LastEndpoints, Ways),
        is_v6: bool,
    ) -> Result<Self, Error> {
        let resolver = Resolver::new(events.waker(NAMES)?, is_v6);
        events.add(&signals, SIGNALS, Interest::Read)?;
        events.add(&control, CONTROL, Interest::Read)?;
        events.add(guardian, GUARDIAN, Interest::Read)?;
        events.add(&ways, WAYS, Interest::Read)?;
        // Some may have been removed before they were watched.
        ways.restore()?;
        if let Some(metrics) = &metrics {
            events.add(metrics, METRICS, Interest::Read)?;
        }
        let (suspends, wakeups) = (SuspendWatch::start(), BTreeMap::new());
        Ok(Self {
            signals,
            doors: Doors { control, metrics, asked: [false; 2] },
            resolver,
            endpoints,
            ways,
            suspends,
            silent_peers: BTreeSet::new(),
            wakeups,
        })
    }

    /// A source is ready.
    pub(crate) fn receive(&mut self, token: Token) -> Result<Occasion, Error> {
        match token {
            SIGNALS => return Ok(self.signals.read()?.map_or(Occasion::Nothing, Occasion::Signal)),
            NAMES => return Ok(Occasion::Names),
            GUARDIAN => return Err(Guardian::ended()),
            WAYS => self.ways.restore()?,
            CONTROL => self.doors.asked[0] = true,
            METRICS => self.doors.asked[1] = true,
            _ => return Ok(Occasion::Own),
        }
        Ok(Occasion::Nothing)
    }

    /// The time for which the host was suspended since the last call, if it was.
    pub(crate) fn suspended(&mut self) -> Option<Span> {
        let span = self.suspends.check()?;
        info!(seconds = span.as_secs_f64(), "the host was suspended");
        Some(span)
    }

    /// The new addresses of peers whose names have been resolved.
    pub(crate) fn resolved(&mut self, peers: &mut [PeerSettings]) -> Vec<(usize, SocketAddr)> {
        let mut found = Vec::new();
        for (text, address) in self.resolver.take() {
            for (index, peer) in peers.iter_mut().enumerate() {
                if peer.endpoint.as_mut().is_some_and(|endpoint| endpoint.take(&text, address)) {
                    info!(peer = peer.name, %address, "the peer's name has another address");
                    found.push((index, address));
                }
            }
        }
        found
    }

    /// Looks up where a peer is, if its endpoint is a name.
    pub(crate) fn look_up(&mut self, peer: &PeerSettings) {
        self.resolver.ask(peer.endpoint.as_ref());
    }

    /// A peer has answered none of `count` handshakes.
    pub(crate) fn note_unanswered(&mut self, peer: &PeerSettings, count: u32) {
        if count == UNANSWERED_AFTER {
            warn!(peer = peer.name, count, "no answer to handshakes: {UNANSWERED}");
            self.silent_peers.insert(peer.name.clone());
        }
        self.look_up(peer);
    }

    /// A handshake with a peer was completed.
    pub(crate) fn note_connected(&mut self, peer: &PeerSettings) {
        if self.silent_peers.remove(&peer.name) {
            warn!(peer = peer.name, "{ANSWERS_AGAIN}");
        }
    }

    /// A timeout is served.
    pub(crate) fn note_wakeup(&mut self, reason: &'static str) {
        *self.wakeups.entry(reason).or_default() += 1;
    }

    /// The daemon has ended. Where the peers are is kept for a service that is started again.
    pub(crate) fn end(&self) -> Result<(), Error> {
        if service::is_managed() { Ok(()) } else { self.endpoints.remove() }
    }
}

impl Doors {
    /// Answers what has been asked. The state is made once for each question that has come as a whole, and not while one or its answer is
    /// on its way: it can be long.
    pub(crate) fn answer<D: Serialize>(
        &mut self,
        mut state: impl FnMut(Wanted) -> D,
        page: fn(&D) -> Page,
    ) -> Result<(), Error> {
        let [control, metrics] = std::mem::take(&mut self.asked);
        if control {
            self.control.serve(|command| match command {
                "metrics" => Ok(json!({ "metrics": page(&state(Wanted::Metrics)).to_string() }).to_string()),
                other => instance::answer(other, || state(Wanted::Status)),
            })?;
        }
        match &mut self.metrics {
            Some(server) if metrics => server.serve(|| page(&state(Wanted::Metrics))),
            _ => Ok(()),
        }
    }
}

/// The labels of each peer's metrics.
pub(crate) fn peer_labels<'a>(
    interface: &'a str,
    names: impl Iterator<Item = &'a str>,
) -> Vec<[(&'a str, &'a str); 2]> {
    names.map(|name| [("interface", interface), ("peer", name)]).collect()
}

/// A value of each peer that may also fall: its name, what it means, and the value, if there is one.
pub(crate) type GaugeOfPeer<P> = (&'static str, &'static str, fn(&P) -> Option<f64>);

/// Adds gauges of each peer to a page. `labels` are those of [`peer_labels`].
pub(crate) fn add_gauges<P>(
    page: &mut Page,
    labels: &[[(&str, &str); 2]],
    peers: &[P],
    gauges: &[GaugeOfPeer<P>],
) {
    for (name, help, value) in gauges {
        let values = labels.iter().zip(peers);
        page.gauge(name, help, values.filter_map(|(labels, peer)| Some((&labels[..], value(peer)?))));
    }
}

/// Serves metrics, if there is an address for them. A socket that a killed daemon leaves is removed as its other `changes` are undone.
pub(crate) fn serve_metrics(
    address: Option<&MetricsAddress>,
    changes: &mut Changes,
) -> Result<Option<Metrics>, Failure> {
    if let Some(path) = address.and_then(MetricsAddress::path) {
        changes.make(Change::socket(path)?)?;
    }
    Ok(address.map(Metrics::bind).transpose()?)
}

/// Prints the unit of a daemon that makes a TUN device and ends within `patience`. `more` are further lines of its section `[Service]`, and
/// `sockets` the paths of Unix sockets that its configuration names, whose folders it has to write to.
pub(crate) fn print_unit(
    kind: &str,
    interface: &str,
    file: &Path,
    patience: Span,
    capabilities: &[ProcessCapability],
    more: &[&str],
    sockets: &[Option<&Path>],
) -> Result<(), Failure> {
    let file = file.canonicalize().map_err(|error| Failure::of_io(&file.display().to_string(), &error))?;
    let program = std::env::current_exe().map_err(|error| Failure::of_io("this program", &error))?;
    let [program, file] = [program, file].map(|path| service::literal(&path.display().to_string()));
    let unit = Unit {
        description: &format!("airwatt {kind} {interface}"),
        manual: &format!("airwattd-{kind}"),
        start: &[&program, kind, "up", &file],
        restore: &[&program, kind, "restore", interface],
        capabilities,
        families: &["AF_INET", "AF_INET6"],
        devices: &["/dev/net/tun"],
        restart_s: 1,
        stop_s: patience.as_nanos().div_ceil(1_000_000_000),
    };
    // They have the privileges that they keep from the beginning, and no threads but their own to favour.
    let calls = ["SystemCallFilter=~@privileged @resources"];
    let folders = sockets.iter().flatten().filter_map(|path| path.parent());
    let writable: Vec<String> = folders
        .map(|folder| {
            format!("ReadWritePaths={}", service::in_quotes(&service::literal(&folder.display().to_string())))
        })
        .collect();
    let writable: Vec<&str> = writable.iter().map(String::as_str).collect();
    output::print(&unit.text_with(&[&calls[..], more, &writable].concat()));
    Ok(())
}
