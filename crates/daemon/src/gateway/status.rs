//! `status`: the connections of a running gateway, as the daemon reports them on its control socket.
//!
//! Joules are estimates: the bytes of E2TCP that the mobile sends and receives, with IP, UDP and the session around each packet,
//! at the rate of the configuration and the powers of its radio profile. Frame preambles, acknowledgements of the MAC, contention
//! and listening are left out, so that they are a lower bound by which connections can be compared.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use airwatt_base::{Instant, Span};
use airwatt_energy::Radio;
use airwatt_linux::metrics::Page;
use airwatt_linux::sock_diag;
use airwatt_proto::e2tcp::IDENTIFIERS;
use airwatt_proto::gateway::{ConnectionEnding, ConnectionRow};
use airwatt_proto::tunnel::wire::{OuterIp, carrier_bytes};
use serde::Serialize;
use serde_json::Value;

use super::config::{Config, Mode};
use super::ends::Ends;
use super::sockets::socket_address;
use super::{KIND, Status};
use crate::failure::Failure;
use crate::instance;
use crate::output::{unanswered_line, word};
use crate::services::{GaugeOfPeer, Wanted, add_gauges, peer_labels};
use crate::settings::{canonical, radio};

/// What the daemon reports.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Document {
    schema: u32,
    version: &'static str,
    interface: String,
    mode: &'static str,
    plain: bool,
    radio: Option<String>,
    /// The time that connections have to finish when the gateway ends.
    drain_s: f64,
    peers: Vec<PeerRow>,
    connections: Vec<Row>,
    /// Connections now, which metrics have without their rows.
    #[serde(skip)]
    connections_now: usize,
    half_open: usize,
    /// The most at once with one peer, and of all that are half open.
    connections_max: Option<usize>,
    half_open_max: usize,
    connections_begun: u64,
    connections_relayed: u64,
    connections_passed: u64,
    connections_declined: u64,
    over_limit: u64,
    messages_dropped: u64,
    /// Connections that a mobile had lost and opened anew as plain TCP.
    connections_replaced: u64,
    /// Bytes that were acknowledged to their sender and not delivered, because a connection was reset.
    undelivered_bytes: u64,
    given_up_bytes: u64,
    peer_restarts: u64,
    /// Times that a peer's connections were reset because it was silent.
    peer_silences: u64,
    strange_datagrams: u64,
    packet_failures: u64,
    /// Mobiles whose SYNs were led to the device within the last ten minutes and did not come through the chains that forward them.
    mobiles_kept_away: Vec<IpAddr>,
    /// Timeouts served, by reason.
    wakeups: BTreeMap<&'static str, u64>,
}

#[derive(Clone, Debug, Serialize)]
struct PeerRow {
    name: String,
    endpoint: Option<String>,
    handshake_age_s: Option<f64>,
    heard_age_s: Option<f64>,
    /// Initiations sent since the peer was heard last.
    unanswered: u32,
    moves: u64,
    /// Datagrams that had come before, and were refused.
    replayed: u64,
    /// Largest outer packet.
    mtu_bytes: u16,
    datagram_bytes_sent: u64,
    datagram_bytes_received: u64,
}

/// A connection. The wired leg is the kernel's, the wireless one E2TCP's.
#[derive(Clone, Debug, Serialize)]
struct Row {
    /// The mobile, or the base station; a base station alone knows no names.
    peer: Option<String>,
    from: String,
    to: String,
    opened_here: bool,
    stands: bool,
    age_s: f64,
    bytes_from_host: u64,
    bytes_to_host: u64,
    held_bytes: u64,
    packets_sent: u64,
    packets_received: u64,
    packets_resent: u64,
    /// Timeouts of E2TCP, and how many of them were undone because they came too early.
    timeouts: u64,
    timeouts_undone: u64,
    /// Bytes of E2TCP in both directions beyond the payload that was sent once or delivered, in per cent of that: headers,
    /// acknowledgements and repetitions.
    overhead_percent: Option<f64>,
    rtt_s_mean: Option<f64>,
    bytes_skipped: u64,
    /// Retransmissions of the kernel's leg.
    wired_retransmissions: Option<u32>,
    /// Retransmissions of the leg to the mobile, if the kernel has that too.
    hop_retransmissions: Option<u32>,
    mobile_j: Option<f64>,
}

/// Segments sent again, by the addresses of a socket.
pub(super) type Resent = BTreeMap<(SocketAddr, SocketAddr), u32>;

/// Time for which the mobiles that the kernel lists are remembered for those who ask for metrics: anybody may, and each list takes the
/// relay's time.
const REMEMBERED: Span = Span::from_secs(1);

/// What the kernel lists of connections and mobiles.
#[derive(Clone, Debug, Default)]
pub(super) struct KernelLists {
    /// Mobiles whose SYNs do not come through to the device.
    pub(super) kept_away: Vec<IpAddr>,
    pub(super) resent: Resent,
    read: Option<Instant>,
}

impl KernelLists {
    /// Lists anew for a status, and the mobiles too if the last time was long ago. No metric needs what the kernel knows of each
    /// connection, which takes longest.
    pub(super) fn refresh(
        &mut self,
        wanted: Wanted,
        now: Instant,
        kept_away: impl FnOnce() -> Vec<IpAddr>,
        resent: impl FnOnce() -> Resent,
    ) {
        let is_exact = wanted == Wanted::Status;
        if is_exact || self.read.is_none_or(|read| now >= read + REMEMBERED) {
            self.kept_away = kept_away();
            self.read = Some(now);
        }
        self.resent = if is_exact { resent() } else { Resent::new() };
    }
}

/// The addresses of this host's sockets of a connection, to the wired host and to the mobile. A socket has the address of the host
/// for which it stands.
fn sockets_of(config: &Config, row: &ConnectionRow) -> [Option<(SocketAddr, SocketAddr)>; 2] {
    let (from, to) = (socket_address(row.addresses.sender()), socket_address(row.addresses.receiver()));
    if !config.is_alone() {
        return [Some(if row.is_own { (to, from) } else { (from, to) }), None];
    }
    let is_of_mobile = config.prefixes().any(|prefix| prefix.contains(from.ip()));
    let (wired, hop) = if is_of_mobile { ((from, to), (to, from)) } else { ((to, from), (from, to)) };
    [Some(wired), Some(hop)]
}

/// Segments that the kernel has sent again for the connections. One that does not say so leaves the numbers out.
pub(super) fn resent(config: &Config, machine: &Ends) -> Resent {
    let sockets: Vec<_> = machine.proxy.rows().flat_map(|row| sockets_of(config, &row)).flatten().collect();
    let found = sock_diag::tcp_retransmissions(&sockets).unwrap_or_default();
    sockets.into_iter().zip(found).filter_map(|(socket, count)| Some((socket, count?))).collect()
}

/// What the host of a running gateway knows beside its machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct HostState<'a> {
    pub(super) config: &'a Config,
    pub(super) lists: &'a KernelLists,
    /// Packets that the kernel did not take.
    pub(super) packet_failures: u64,
    /// Timeouts served, by reason.
    pub(super) wakeups: &'a BTreeMap<&'static str, u64>,
}

/// The state of a gateway. Metrics have no rows of connections.
pub(super) fn document(host: HostState<'_>, wanted: Wanted, machine: &Ends, now: Instant) -> Document {
    let config = host.config;
    // The configuration was checked with its radio; a file may have gone since.
    let radio = radio(config.radio.as_deref()).ok().flatten();
    let counters = machine.proxy.counters();
    let peers = config.peer.iter().enumerate().map(|(index, peer)| {
        let session = machine.carrier.session(index).unwrap_or_default();
        let age = |at: Option<Instant>| at.map(|at| now.saturating_since(at).as_secs_f64());
        let [sent, received] = machine.traffic[index];
        PeerRow {
            name: peer.name.clone(),
            endpoint: machine.carrier.endpoint(index).map(canonical).map(|endpoint| endpoint.to_string()),
            handshake_age_s: age(session.handshake_at),
            heard_age_s: age(machine.proxy.heard(index)),
            unanswered: session.unanswered,
            moves: session.counts.moves,
            replayed: session.counts.replayed,
            mtu_bytes: machine.proxy.payload_max(index).map_or(config.gateway.mtu, |data| config.outer(data)),
            datagram_bytes_sent: sent,
            datagram_bytes_received: received,
        }
    });
    let rows = machine.proxy.rows().filter(|_| wanted == Wanted::Status).map(|row| {
        let endpoint = machine.carrier.endpoint(row.peer).map(canonical);
        let outer = endpoint.map_or(OuterIp::V4, |endpoint| OuterIp::of(endpoint.ip()));
        of_row(config, &row, (radio.as_ref(), outer), &host.lists.resent, now)
    });
    let (connections_now, half_open) = machine.proxy.connections();
    Document {
        schema: 1,
        version: env!("CARGO_PKG_VERSION"),
        interface: config.interface.clone(),
        mode: config.mode.map_or("mobile", Mode::name),
        plain: config.plain,
        radio: config.radio.clone(),
        drain_s: config.gateway.drain.as_secs_f64(),
        peers: peers.collect(),
        connections: rows.collect(),
        connections_now,
        half_open,
        connections_max: (!config.is_alone()).then_some(IDENTIFIERS),
        half_open_max: config.gateway.half_open,
        connections_begun: counters.begun,
        connections_relayed: counters.relayed,
        connections_passed: counters.passed,
        connections_declined: counters.declined,
        over_limit: counters.over_limit,
        messages_dropped: counters.dropped,
        connections_replaced: counters.replaced,
        undelivered_bytes: counters.undelivered,
        given_up_bytes: counters.given_up,
        peer_restarts: counters.restarts,
        peer_silences: counters.silences,
        strange_datagrams: machine.strange_datagrams(),
        packet_failures: host.packet_failures,
        mobiles_kept_away: host.lists.kept_away.clone(),
        wakeups: host.wakeups.clone(),
    }
}

/// The row of a connection whose hop has this radio and this version of IP.
fn of_row(
    config: &Config,
    row: &ConnectionRow,
    (radio, outer): (Option<&Radio>, OuterIp),
    resent: &Resent,
    now: Instant,
) -> Row {
    let wireless = row.wireless.unwrap_or_default();
    let useful = wireless.payload_sent - wireless.payload_resent;
    let carried = useful + wireless.bytes_delivered;
    let beside = (wireless.bytes_sent + wireless.bytes_received).saturating_sub(carried);
    let around = u64::from(carrier_bytes(outer, config.plain));
    let sent = wireless.bytes_sent + wireless.packets_sent * around;
    let received = wireless.bytes_received + wireless.packets_received * around;
    let [transmitted, taken] = if config.is_base() { [received, sent] } else { [sent, received] };
    let joules = radio.map(|radio| {
        let seconds = |bytes: u64| 8.0 * bytes as f64 / config.rate.as_bps() as f64;
        radio.transmit.as_watts() * seconds(transmitted) + radio.receive.as_watts() * seconds(taken)
    });
    let [wired, hop] = sockets_of(config, row).map(|socket| resent.get(&socket?).copied());
    Row {
        peer: config.peer.get(row.peer).map(|peer| peer.name.clone()),
        from: socket_address(row.addresses.sender()).to_string(),
        to: socket_address(row.addresses.receiver()).to_string(),
        opened_here: row.is_own,
        stands: row.stands,
        age_s: now.saturating_since(row.began).as_secs_f64(),
        bytes_from_host: row.socket_bytes[0],
        bytes_to_host: row.socket_bytes[1],
        held_bytes: row.held_bytes.iter().sum(),
        packets_sent: wireless.packets_sent,
        packets_received: wireless.packets_received,
        packets_resent: wireless.packets_resent,
        timeouts: wireless.transmission_timeouts + wireless.retransmission_timeouts,
        timeouts_undone: wireless.timeouts_undone,
        overhead_percent: (carried > 0).then(|| 100.0 * beside as f64 / carried as f64),
        rtt_s_mean: wireless.rtt_mean().map(|rtt| rtt.as_secs_f64()),
        bytes_skipped: wireless.bytes_skipped,
        wired_retransmissions: wired,
        hop_retransmissions: hop,
        mobile_j: joules,
    }
}

/// Counters for Prometheus: name, meaning, value.
type Metric = (&'static str, &'static str, fn(&Document) -> u64);
const METRICS: [Metric; 10] = [
    ("airwatt_gateway_connections_begun_total", "Openings that were held.", |gateway| {
        gateway.connections_begun
    }),
    ("airwatt_gateway_connections_relayed_total", "Connections that stood on both legs.", |gateway| {
        gateway.connections_relayed
    }),
    ("airwatt_gateway_connections_passed_total", "Connections that went as plain TCP.", |gateway| {
        gateway.connections_passed
    }),
    ("airwatt_gateway_over_limit_total", "Openings beyond a limit, which went as plain TCP.", |gateway| {
        gateway.over_limit
    }),
    (
        "airwatt_gateway_undelivered_bytes_total",
        "Bytes that were acknowledged and not delivered.",
        |gateway| gateway.undelivered_bytes,
    ),
    ("airwatt_gateway_given_up_bytes_total", "Bytes replaced by zeros, as applications permit.", |gateway| {
        gateway.given_up_bytes
    }),
    (
        "airwatt_gateway_peer_silences_total",
        "Times that a silent peer's connections were reset.",
        |gateway| gateway.peer_silences,
    ),
    ("airwatt_gateway_peer_restarts_total", "Times that a peer had started again.", |gateway| {
        gateway.peer_restarts
    }),
    (
        "airwatt_gateway_strange_datagrams_total",
        "Datagrams without an effect: forged, repeated, damaged, or not from a peer.",
        |gateway| gateway.strange_datagrams,
    ),
    ("airwatt_gateway_replayed_total", "Datagrams that had come before, and were refused.", |gateway| {
        gateway.peers.iter().map(|peer| peer.replayed).sum()
    }),
];

/// Values that may also fall.
const GAUGES: [Metric; 2] = [
    ("airwatt_gateway_connections", "Connections that are relayed now.", |gateway| {
        gateway.connections_now as u64
    }),
    ("airwatt_gateway_half_open", "Openings that are held now.", |gateway| gateway.half_open as u64),
];

/// Of each peer: those that a relay depends on, and whether it is there.
const OF_PEERS: [GaugeOfPeer<PeerRow>; 3] = [
    ("airwatt_gateway_heard_age_seconds", "Time since anything came from the peer.", |peer| peer.heard_age_s),
    ("airwatt_gateway_handshake_age_seconds", "Time since the last handshake with the peer.", |peer| {
        peer.handshake_age_s
    }),
    ("airwatt_gateway_unanswered_handshakes", "Handshakes begun since the peer was heard last.", |peer| {
        Some(peer.unanswered.into())
    }),
];

/// The metrics with their meanings, for the manual page.
pub(super) fn metric_names() -> Vec<(String, &'static str)> {
    let of_peers = OF_PEERS.iter().map(|(name, help, _)| (*name, *help));
    let of_all = METRICS.iter().chain(&GAUGES).map(|(name, help, _)| (*name, *help));
    of_all.chain(of_peers).map(|(name, help)| (name.to_owned(), help)).collect()
}

/// The same for Prometheus.
pub(super) fn metrics(document: &Document) -> Page {
    let mut page = Page::default();
    let labels = [("interface", document.interface.as_str())];
    for (name, help, value) in METRICS {
        page.counter(name, help, [(&labels[..], value(document))]);
    }
    for (name, help, value) in GAUGES {
        page.gauge(name, help, [(&labels[..], value(document) as f64)]);
    }
    let labels = peer_labels(&document.interface, document.peers.iter().map(|peer| peer.name.as_str()));
    add_gauges(&mut page, &labels, &document.peers, &OF_PEERS);
    page
}

/// How a connection ended, for people.
pub(super) const fn ending(ending: ConnectionEnding) -> &'static str {
    match ending {
        ConnectionEnding::Closed => "closed",
        ConnectionEnding::Refused => "refused",
        ConnectionEnding::Unanswered => "no answer",
        ConnectionEnding::Unreachable => "unreachable",
        ConnectionEnding::BeyondLimit => "too many connections",
        ConnectionEnding::Lost(_) => "reset",
        ConnectionEnding::Idle(_) => "idle for too long",
    }
}

/// `airwattd gateway status`.
pub(super) fn status(options: &Status) -> Result<(), Failure> {
    let one = options.shown.interface.as_deref().map(super::instance);
    let text: fn(&Value) -> String = if options.all {
        |document| text_of(document, usize::MAX)
    } else {
        |document| text_of(document, LISTED)
    };
    instance::show(KIND, one.as_ref(), "gateways", &options.shown, text)
}

/// Connections that are listed unless all are.
const LISTED: usize = 10;

/// A document for people, within 80 columns for addresses of IPv4, with so many of its connections.
fn text_of(document: &Value, listed: usize) -> String {
    let of = |key: &str| word(&document[key]);
    let elsewhere =
        document["namespace"].as_str().map_or(String::new(), |name| format!(" in network namespace {name}"));
    let mut lines = vec![format!("interface: {}{elsewhere}\n  mode: {}", of("interface"), of("mode"))];
    if document["plain"] == true {
        lines.push("  plain: neither encrypted nor authenticated".to_owned());
    }
    lines.push(format!(
        "  connections: {} relayed so far, {} passed as plain TCP, {} half open",
        of("connections_relayed"),
        of("connections_passed"),
        of("half_open")
    ));
    let at_once = document["connections_max"].as_u64();
    let at_once = at_once.map_or_else(String::new, |most| format!("{most} at once with a peer, "));
    let (half_open, beyond) = (of("half_open_max"), of("over_limit"));
    lines.push(format!("  limits: {at_once}{half_open} half open; {beyond} were beyond them"));
    lines.push(format!("  datagrams of strangers: {}", of("strange_datagrams")));
    let kept_away: Vec<String> =
        document["mobiles_kept_away"].as_array().into_iter().flatten().take(LISTED).map(word).collect();
    if !kept_away.is_empty() {
        lines.push(format!(
            "  kept away: SYNs of {} were led to {} and did not come back from it, so that these connections are plain TCP and not counted; either \
             the firewall of this host stops them (gateway up FILE --check names its chains), or the gateway ended before it had answered",
            kept_away.join(", "),
            of("interface")
        ));
    }
    lines.extend(document["peers"].as_array().into_iter().flatten().flat_map(peer_lines));
    lines.extend(connections_lines(document, listed));
    lines.join("\n") + "\n"
}

/// What a document says of a peer.
fn peer_lines(peer: &Value) -> Vec<String> {
    let of = |key: &str| word(&peer[key]);
    let mut lines = vec![format!("\npeer: {}\n  endpoint: {}", of("name"), of("endpoint"))];
    if let Some(age) = peer["heard_age_s"].as_f64() {
        lines.push(format!("  last heard of: {age:.0} s ago"));
    }
    lines.extend(unanswered_line(peer));
    if peer["replayed"].as_u64().is_some_and(|count| count > 0) {
        lines.push(format!("  repeated on the way, and refused: {} datagrams", of("replayed")));
    }
    lines.push(format!(
        "  datagrams: {} bytes sent, {} received; mtu: {} bytes",
        of("datagram_bytes_sent"),
        of("datagram_bytes_received"),
        of("mtu_bytes")
    ));
    lines
}

/// The connections of a document, those with most bytes first, of which so many are listed.
fn connections_lines(document: &Value, listed: usize) -> Vec<String> {
    let count = |row: &Value, key: &str| row[key].as_u64().unwrap_or_default();
    let bytes = |row: &Value| count(row, "bytes_from_host") + count(row, "bytes_to_host");
    let mut rows: Vec<&Value> = document["connections"].as_array().into_iter().flatten().collect();
    rows.sort_by_key(|row| std::cmp::Reverse(bytes(row)));
    if rows.is_empty() {
        return Vec::new();
    }
    let sum = |key: &str| rows.iter().map(|row| count(row, key)).sum::<u64>();
    let [there, back, held] = ["bytes_from_host", "bytes_to_host", "held_bytes"].map(sum);
    let mut lines = vec![format!(
        "\nconnections now: {}, with {there} bytes from their hosts, {back} to them, {held} held",
        rows.len()
    )];
    let more = rows.len().saturating_sub(listed);
    lines.extend(rows.into_iter().take(listed).flat_map(|row| connection_lines(document, row)));
    if more > 0 {
        lines.push(format!("\nand {more} with fewer bytes: --all lists them"));
    }
    lines
}

/// A connection of the gateway that has this document.
fn connection_lines(document: &Value, row: &Value) -> Vec<String> {
    let of = |key: &str| word(&row[key]);
    let state = match row["age_s"].as_f64() {
        _ if row["stands"] == true => String::new(),
        Some(age) => format!(" (half open for {age:.0} s)"),
        None => " (half open)".to_owned(),
    };
    let mut lines = vec![format!("\n{} -> {}{state}", of("from"), of("to"))];
    if document["mode"] == Mode::BaseOnly.name() {
        let [there, back] = [of("bytes_from_host"), of("bytes_to_host")];
        lines.push(format!("  bytes: {there} from the first, {back} to it, {} held", of("held_bytes")));
        let [hop, wired] = [of("hop_retransmissions"), of("wired_retransmissions")];
        lines.push(format!("  segments sent again: {hop} to the mobile, {wired} on the wired leg"));
        return lines;
    }
    lines.push(format!(
        "  host: {} bytes from it, {} to it, {} sent again",
        of("bytes_from_host"),
        of("bytes_to_host"),
        of("wired_retransmissions")
    ));
    let number = |key: &str, digits: usize| {
        row[key].as_f64().map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
    };
    lines.push(format!(
        "  E2TCP: {} packets sent, {} again, overhead {} %, held {} bytes",
        of("packets_sent"),
        of("packets_resent"),
        number("overhead_percent", 1),
        of("held_bytes")
    ));
    if row["mobile_j"].is_number() {
        lines.push(format!(
            "  mobile: about {} J by radio {}",
            number("mobile_j", 4),
            word(&document["radio"])
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use airwatt_proto::e2tcp::{Addresses, Endpoint, Statistics};
    use serde_json::json;

    use super::*;
    use crate::peering::Peering as _;

    /// A connection of the first peer that this end opened, with these counters of its wireless leg.
    fn connection(wireless: Statistics) -> ConnectionRow {
        let end = |port| Endpoint { ip: [192, 0, 2, 1].into(), port };
        ConnectionRow {
            id: 0,
            peer: 0,
            addresses: Addresses::new(end(1), end(2)).unwrap(),
            is_own: true,
            stands: true,
            socket_bytes: [0; 2],
            held_bytes: [0; 2],
            wireless: Some(wireless),
            began: Instant::ZERO,
        }
    }

    /// An outer packet over IPv6 is 20 bytes longer in each direction, and one of a session 32.
    #[test]
    fn joules_are_of_the_headers_that_the_hop_has() {
        let radio = Radio::find("cyw43439").unwrap();
        let plain =
            Config::parse("interface = \"gw\"\nmode = \"mobile\"\nplain = true\nrate = \"8Mbps\"").unwrap();
        let sealed = Config { plain: false, ..plain.clone() };
        let row =
            connection(Statistics { packets_sent: 1_000, packets_received: 3_000, ..Statistics::default() });
        let joules = |config: &Config, hop: &str| {
            let outer = OuterIp::of(hop.parse().unwrap());
            let row = of_row(
                config,
                &row,
                (Some(&radio), outer),
                &Resent::new(),
                Instant::ZERO + Span::from_secs(1),
            );
            row.mobile_j.unwrap()
        };
        let of_bytes = |bytes: f64| {
            // A byte takes a microsecond.
            bytes * 1e-6 * (1_000.0 * radio.transmit.as_watts() + 3_000.0 * radio.receive.as_watts())
        };
        let is =
            |joules: f64, expected: f64| assert!((joules - expected).abs() < 1e-9, "{joules} {expected}");
        let v4 = joules(&plain, "192.0.2.2");
        is(joules(&plain, "2001:db8::1") - v4, of_bytes(20.0));
        is(joules(&plain, "::ffff:192.0.2.2"), v4);
        is(joules(&sealed, "2001:db8::1") - v4, of_bytes(20.0 + 32.0));
    }

    #[test]
    fn overhead_is_that_of_both_directions() {
        let config =
            Config::parse("interface = \"gw\"\nmode = \"mobile\"\nplain = true\nrate = \"8Mbps\"").unwrap();
        let row = connection(Statistics {
            payload_sent: 1_100,
            payload_resent: 100,
            bytes_sent: 1_180,
            bytes_received: 560,
            bytes_delivered: 500,
            ..Statistics::default()
        });
        let outer = OuterIp::of("192.0.2.2".parse().unwrap());
        let row = of_row(&config, &row, (None, outer), &Resent::new(), Instant::ZERO);
        // Of 1,500 bytes of data, 180 beside those that it sent and 60 beside those that it received.
        assert_eq!(row.overhead_percent, Some(16.0));
    }

    #[test]
    fn a_connection_that_is_half_open_has_its_age() {
        let row = json!({ "from": "10.0.0.1:1", "to": "192.0.2.1:80", "stands": false, "age_s": 130.4 });
        let document = json!({ "interface": "gw", "mode": "base", "connections": [row] });
        let text = text_of(&document, LISTED);
        assert!(text.contains("10.0.0.1:1 -> 192.0.2.1:80 (half open for 130 s)\n"), "{text}");
    }

    #[test]
    fn many_connections_are_summed_up() {
        let row = |number: u64| {
            json!({ "from": format!("10.0.0.1:{number}"), "to": "192.0.2.1:80", "stands": true,
            "bytes_from_host": number, "bytes_to_host": 100, "held_bytes": 1 })
        };
        let document = json!({ "interface": "gw", "mode": "base", "connections": (1..=12).map(row).collect::<Vec<_>>() });
        let brief = text_of(&document, LISTED);
        assert!(
            brief.contains("connections now: 12, with 78 bytes from their hosts, 1200 to them, 12 held\n"),
            "{brief}"
        );
        assert!(brief.contains("10.0.0.1:3 ->") && !brief.contains("10.0.0.1:2 ->"), "{brief}");
        assert!(brief.ends_with("and 2 with fewer bytes: --all lists them\n"), "{brief}");
        let all = text_of(&document, usize::MAX);
        assert!(all.contains("10.0.0.1:1 ->") && !all.contains("--all"), "{all}");
    }

    #[test]
    fn a_flood_of_questions_for_metrics_has_the_kernel_list_mobiles_once_a_second_and_no_connections() {
        let (mut lists, mut asked, mut listed) = (KernelLists::default(), 0_u8, 0);
        let mut ask = |wanted, millis| {
            let mobiles = || {
                asked += 1;
                vec![IpAddr::from([192, 0, 2, asked])]
            };
            lists.refresh(wanted, Instant::from_millis(millis), mobiles, || {
                listed += 1;
                Resent::new()
            });
            (asked, listed, lists.kept_away.clone())
        };
        for millis in 0..1_000 {
            assert_eq!(ask(Wanted::Metrics, millis).0, 1);
        }
        assert_eq!(ask(Wanted::Metrics, 1_000).0, 2);
        assert_eq!(ask(Wanted::Status, 1_001), (3, 1, vec![IpAddr::from([192, 0, 2, 3])]), "status is exact");
        assert_eq!(ask(Wanted::Metrics, 1_900).0, 3);
        assert_eq!(ask(Wanted::Metrics, 3_000).1, 1);
    }
}
