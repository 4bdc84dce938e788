//! `show`: the peers of a running tunnel and what it has counted, as the daemon reports them on its control socket.

use std::collections::BTreeMap;

use airwatt_base::Instant;
use airwatt_linux::metrics::Page;
use airwatt_linux::{interface, link, udp};
use airwatt_proto::tunnel::AssociationKind;
use serde::Serialize;

use super::KIND;
use super::config::{Config, End};
use super::peers::{Counts, Peers};
use crate::common::Shown;
use crate::failure::Failure;
use crate::instance;
use crate::output::{unanswered_line, word};
use crate::peering::Carrier;
use crate::services::{GaugeOfPeer, add_gauges, peer_labels};
use crate::settings::{canonical, radio};

/// What the daemon reports.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Document {
    schema: u32,
    version: &'static str,
    interface: String,
    listen: String,
    mtu_bytes: u16,
    plain: bool,
    association: AssociationKind,
    public_key: Option<String>,
    fwmark: Option<u32>,
    radio: Option<String>,
    peers: Vec<PeerRow>,
    #[serde(flatten)]
    counts: Counts,
    device_failures: u64,
    /// Packets of this host for which the queue of the device had no room. `None` if the kernel does not say.
    device_dropped: Option<u64>,
    socket: SocketRow,
    /// Timeouts served, by reason.
    wakeups: BTreeMap<&'static str, u64>,
}

#[derive(Clone, Debug, Serialize)]
struct PeerRow {
    name: String,
    public_key: Option<String>,
    endpoint: Option<String>,
    /// Time since a session last came into use.
    handshake_age_s: Option<f64>,
    handshakes: u64,
    /// Initiations sent since the peer was heard last.
    unanswered: u32,
    /// Datagrams that had been received before, and were refused.
    replayed: u64,
    /// Changes of the peer's address.
    moves: u64,
    /// Datagrams of those that count as sent which have not left: there is no session yet, none came in time, or there was no address.
    unsent: u64,
    allowed_ips: Vec<String>,
    burst_packets: u32,
    trigger_interval_s: Option<f64>,
    held_packets: usize,
    packets_sent: u64,
    bytes_sent: u64,
    packets_delivered: u64,
    bytes_delivered: u64,
    datagrams_sent: u64,
    datagrams_received: u64,
    /// Those of the peer in the form of another association, whose packets are lost.
    datagrams_other_form: u64,
    /// `None` with SCTP, which does not report it; it has `datagrams_repeated` instead.
    datagrams_lost: Option<u64>,
    datagrams_repeated: Option<u64>,
    bursts_full: u64,
    bursts_timed_out: u64,
    bursts_awake: u64,
    triggers: u64,
    keep_alives: u64,
    dropped: u64,
    superseded: u64,
    refused_sources: u64,
    /// Wake-ups of the radio that bursts have saved (an estimate, at a client that has reached its peer), and their energy by the
    /// profile `radio`: the least and the most over radios that stay awake after a packet for `saved_tail_s`.
    saved_wakeups: Option<[i64; 2]>,
    saved_j: Option<[f64; 2]>,
    saved_tail_s: Option<[f64; 2]>,
    held_s_mean: Option<f64>,
    held_s_max: f64,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct SocketRow {
    received: u64,
    receive_calls: u64,
    sent: u64,
    send_calls: u64,
    send_failures: u64,
}

/// What the host of a running tunnel knows beside its machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct HostState<'a> {
    pub(super) config: &'a Config,
    pub(super) socket: &'a udp::Socket,
    /// Packets that the device did not take.
    pub(super) device_failures: u64,
    /// Timeouts served, by reason.
    pub(super) wakeups: &'a BTreeMap<&'static str, u64>,
}

/// The state of a tunnel.
pub(super) fn document(host: HostState<'_>, machine: &Peers, now: Instant) -> Document {
    // The configuration was checked with its radio; a file may have gone since.
    let radio = radio(host.config.radio.as_deref()).ok().flatten();
    let wakeup_j =
        radio.as_ref().map(|radio| radio.wake_up.energy().as_joules() + radio.to_sleep.energy().as_joules());
    let peers =
        (0..host.config.peer.len()).map(|index| PeerRow::of(host.config, machine, index, wakeup_j, now));
    let socket = host.socket.counts();
    Document {
        schema: 1,
        version: env!("CARGO_PKG_VERSION"),
        interface: host.config.interface.clone(),
        listen: host.socket.address().map_or_else(|error| error.to_string(), |address| address.to_string()),
        mtu_bytes: host.config.mtu(),
        plain: host.config.tunnel.plain,
        association: host.config.tunnel.association,
        public_key: match &machine.carrier {
            Carrier::Sealed(sessions) => Some(sessions.public_key().to_string()),
            Carrier::Plain(_) => None,
        },
        fwmark: (!host.config.default_routes().is_empty()).then_some(host.config.fwmark),
        radio: host.config.radio.clone(),
        peers: peers.collect(),
        counts: machine.counts(),
        device_failures: host.device_failures,
        device_dropped: interface::index(&host.config.interface).and_then(link::dropped),
        socket: SocketRow {
            received: socket.received,
            receive_calls: socket.receive_calls,
            sent: socket.sent,
            send_calls: socket.send_calls,
            send_failures: socket.send_failures,
        },
        wakeups: host.wakeups.clone(),
    }
}

impl PeerRow {
    /// The state of a peer, by its place in the configuration. `wakeup_j` is the energy of a wake-up of the radio.
    fn of(config: &Config, machine: &Peers, index: usize, wakeup_j: Option<f64>, now: Instant) -> Self {
        let is_client = config.end == End::Client;
        let config = &config.peer[index];
        let (peer, session) = (&machine.peers[index], machine.carrier.session(index).unwrap_or_default());
        let (tunnel, counts) = (&peer.tunnel, peer.tunnel.counts());
        // Packets that nobody has taken saved nothing.
        let reaches = peer.datagrams_received > 0 || session.counts.handshakes > 0;
        let saved_wakeups = (is_client && reaches).then(|| peer.saved_wakeups());
        let age = session.handshake_at.map(|at| now.saturating_since(at).as_secs_f64());
        Self {
            name: config.name.clone(),
            public_key: config.public_key.map(|key| key.to_string()),
            endpoint: machine.carrier.endpoint(index).map(canonical).map(|endpoint| endpoint.to_string()),
            handshake_age_s: age,
            handshakes: session.counts.handshakes,
            unanswered: session.unanswered,
            replayed: session.counts.replayed,
            moves: session.counts.moves,
            unsent: session.counts.dropped + session.waiting as u64,
            allowed_ips: config.allowed_ips.iter().map(ToString::to_string).collect(),
            burst_packets: tunnel.burst_packets(),
            trigger_interval_s: tunnel.trigger_interval().map(|interval| interval.as_secs_f64()),
            held_packets: tunnel.held_packets(),
            packets_sent: counts.packets,
            bytes_sent: counts.packet_bytes,
            packets_delivered: counts.delivered,
            bytes_delivered: counts.delivered_bytes,
            datagrams_sent: counts.datagrams,
            datagrams_received: peer.datagrams_received,
            datagrams_other_form: peer.other_form,
            datagrams_lost: tunnel.association().lost(),
            datagrams_repeated: tunnel.association().repeated(),
            bursts_full: counts.full_bursts,
            bursts_timed_out: counts.timed_out_bursts,
            bursts_awake: counts.awake_bursts,
            triggers: counts.triggers,
            keep_alives: counts.keep_alives,
            dropped: counts.dropped,
            superseded: counts.superseded,
            refused_sources: peer.refused_sources,
            saved_wakeups,
            saved_j: saved_wakeups
                .zip(wakeup_j)
                .map(|(band, joules)| band.map(|count| count as f64 * joules)),
            saved_tail_s: is_client.then(|| machine.tails().map(|tail| tail.as_secs_f64())),
            held_s_mean: (counts.packets > 0).then(|| counts.held.as_secs_f64() / counts.packets as f64),
            held_s_max: counts.held_longest.as_secs_f64(),
        }
    }
}

/// Counters of each peer for Prometheus: name, meaning, value.
type OfPeer = (&'static str, &'static str, fn(&PeerRow) -> Option<u64>);
const OF_PEERS: [OfPeer; 11] = [
    ("airwatt_tunnel_packets_sent_total", "Inner packets sent.", |peer| Some(peer.packets_sent)),
    ("airwatt_tunnel_bytes_sent_total", "Bytes of inner packets sent.", |peer| Some(peer.bytes_sent)),
    ("airwatt_tunnel_packets_delivered_total", "Inner packets received.", |peer| {
        Some(peer.packets_delivered)
    }),
    ("airwatt_tunnel_bytes_delivered_total", "Bytes of inner packets received.", |peer| {
        Some(peer.bytes_delivered)
    }),
    ("airwatt_tunnel_datagrams_lost_total", "Datagrams of the peer that were lost; not with SCTP.", |peer| {
        peer.datagrams_lost
    }),
    ("airwatt_tunnel_datagrams_repeated_total", "Datagrams that SCTP sent again.", |peer| {
        peer.datagrams_repeated
    }),
    ("airwatt_tunnel_triggers_total", "Empty datagrams sent as triggers.", |peer| Some(peer.triggers)),
    ("airwatt_tunnel_dropped_total", "Inner packets dropped.", |peer| Some(peer.dropped)),
    ("airwatt_tunnel_replayed_total", "Datagrams that had come before, and were refused.", |peer| {
        Some(peer.replayed)
    }),
    ("airwatt_tunnel_moves_total", "Changes of the peer's address.", |peer| Some(peer.moves)),
    ("airwatt_tunnel_refused_sources_total", "Packets with a source that is not allowed.", |peer| {
        Some(peer.refused_sources)
    }),
];
/// Whether each peer is there.
const GAUGES_OF_PEERS: [GaugeOfPeer<PeerRow>; 3] = [
    ("airwatt_tunnel_handshake_age_seconds", "Time since the last handshake with the peer.", |peer| {
        peer.handshake_age_s
    }),
    ("airwatt_tunnel_unanswered_handshakes", "Handshakes begun since the peer was heard last.", |peer| {
        Some(peer.unanswered.into())
    }),
    ("airwatt_tunnel_unsent_datagrams", "Datagrams that have not left, for want of a session.", |peer| {
        Some(peer.unsent as f64)
    }),
];
const STRANGE: (&str, &str) = (
    "airwatt_tunnel_strange_datagrams_total",
    "Datagrams without an effect: forged, damaged, or not from a peer.",
);
const DEVICE_DROPPED: (&str, &str) = (
    "airwatt_tunnel_device_dropped_total",
    "Packets of this host for which the queue of the device had no room.",
);
const WAKEUPS: (&str, &str) = ("airwatt_tunnel_wakeups_total", "Timeouts served.");

/// The metrics with their meanings, for the manual page.
pub(super) fn metric_names() -> Vec<(String, &'static str)> {
    let of_peers = OF_PEERS.iter().map(|(name, help, _)| (*name, *help));
    let gauges = GAUGES_OF_PEERS.iter().map(|(name, help, _)| (*name, *help));
    of_peers
        .chain(gauges)
        .chain([STRANGE, DEVICE_DROPPED, WAKEUPS])
        .map(|(name, help)| (name.to_owned(), help))
        .collect()
}

/// The same for Prometheus.
pub(super) fn metrics(document: &Document) -> Page {
    let mut page = Page::default();
    let interface = document.interface.as_str();
    let labels = peer_labels(interface, document.peers.iter().map(|peer| peer.name.as_str()));
    for (name, help, value) in OF_PEERS {
        let values = labels.iter().zip(&document.peers);
        page.counter(name, help, values.filter_map(|(labels, peer)| Some((&labels[..], value(peer)?))));
    }
    add_gauges(&mut page, &labels, &document.peers, &GAUGES_OF_PEERS);
    let label = [("interface", interface)];
    let strange = document.counts.strange_datagrams;
    page.counter(STRANGE.0, STRANGE.1, [(&label[..], strange)]);
    let dropped = document.device_dropped.map(|count| (&label[..], count));
    page.counter(DEVICE_DROPPED.0, DEVICE_DROPPED.1, dropped);
    let reasons: Vec<[(&str, &str); 2]> =
        document.wakeups.keys().map(|reason| [("interface", interface), ("reason", *reason)]).collect();
    page.counter(
        WAKEUPS.0,
        WAKEUPS.1,
        reasons.iter().zip(document.wakeups.values()).map(|(labels, count)| (&labels[..], *count)),
    );
    page
}

/// `airwattd tunnel show`.
pub(super) fn show(options: &Shown) -> Result<(), Failure> {
    let one = options.interface.as_deref().map(super::instance);
    instance::show(KIND, one.as_ref(), "tunnels", options, text_of)
}

/// A document for people, as `wg show` has it.
fn text_of(document: &serde_json::Value) -> String {
    let of = |key: &str| word(&document[key]);
    let elsewhere =
        document["namespace"].as_str().map_or(String::new(), |name| format!(" in network namespace {name}"));
    let mut lines = vec![format!("interface: {}{elsewhere}", of("interface"))];
    match document["plain"].as_bool() {
        Some(true) => lines.push("  plain: neither encrypted nor authenticated".to_owned()),
        _ => lines.push(format!("  public key: {}", of("public_key"))),
    }
    lines.push(format!("  listening: {}", of("listen")));
    lines.push(format!("  association: {}, mtu: {} bytes", of("association"), of("mtu_bytes")));
    lines.push(format!("  datagrams of strangers: {}", of("strange_datagrams")));
    if let Some(count) = document["socket"]["send_failures"].as_u64().filter(|count| *count > 0) {
        lines.push(format!(
            "  not taken by the kernel: {count} datagrams of those that count as sent\n    (too long for the interface, no route, or a full buffer)"
        ));
    }
    if let Some(count) = document["device_dropped"].as_u64().filter(|count| *count > 0) {
        lines.push(format!(
            "  dropped before the tunnel: {count} packets, for which the queue of the device had no room"
        ));
    }
    if !document["fwmark"].is_null() {
        lines.push(format!("  fwmark: {}", of("fwmark")));
    }
    let radio = document["radio"].as_str();
    let peers = document["peers"].as_array().into_iter().flatten();
    lines.extend(peers.flat_map(|peer| peer_lines(peer, radio)));
    lines.join("\n") + "\n"
}

/// What a document says of a peer. `radio` is the profile that its joules are of.
fn peer_lines(peer: &serde_json::Value, radio: Option<&str>) -> Vec<String> {
    let of = |key: &str| word(&peer[key]);
    let mut lines = vec![format!("\npeer: {}", of("name"))];
    if let Some(key) = peer["public_key"].as_str() {
        lines.push(format!("  public key: {key}"));
    }
    let allowed: Vec<String> = peer["allowed_ips"].as_array().into_iter().flatten().map(word).collect();
    lines.push(format!("  endpoint: {}\n  allowed ips: {}", of("endpoint"), allowed.join(", ")));
    if let Some(age) = peer["handshake_age_s"].as_f64() {
        lines.push(format!("  latest handshake: {age:.0} s ago"));
    }
    lines.extend(unanswered_line(peer));
    if let Some(count) = peer["datagrams_other_form"].as_u64().filter(|count| *count > 0) {
        lines.push(format!(
            "  lost: {count} datagrams in the form of another association, which has to be\n    the same at both ends"
        ));
    }
    lines.push(format!(
        "  sent: {} packets in {} datagrams, {} bytes",
        of("packets_sent"),
        of("datagrams_sent"),
        of("bytes_sent")
    ));
    if peer["unsent"].as_u64().is_some_and(|count| count > 0) {
        lines
            .push(format!("  of these {} datagrams have not left, since there was no session", of("unsent")));
    }
    lines.push(format!(
        "  received: {} packets in {} datagrams, {} bytes{}",
        of("packets_delivered"),
        of("datagrams_received"),
        of("bytes_delivered"),
        match (peer["datagrams_lost"].as_u64(), peer["datagrams_repeated"].as_u64()) {
            (Some(lost), _) => format!(", {lost} lost"),
            (None, Some(repeated)) => format!("; {repeated} sent again"),
            (None, None) => String::new(),
        }
    ));
    if peer["replayed"].as_u64().is_some_and(|count| count > 0) {
        lines.push(format!("  repeated on the way, and refused: {} datagrams", of("replayed")));
    }
    if peer["refused_sources"].as_u64().is_some_and(|count| count > 0) {
        lines.push(format!(
            "  from addresses that are not its own, and refused: {} packets",
            of("refused_sources")
        ));
    }
    lines.push(format!(
        "  bursts: {} full, {} timed out, {} while the radio was awake; {} triggers",
        of("bursts_full"),
        of("bursts_timed_out"),
        of("bursts_awake"),
        of("triggers")
    ));
    if peer["superseded"].as_u64().is_some_and(|count| count > 0) {
        lines.push(format!("  acknowledgements left out by thin_acks: {}", of("superseded")));
    }
    if peer["saved_wakeups"].is_array() {
        lines.extend(saved_lines(peer, radio));
    }
    lines
}

/// The lines about wake-ups that bursts have saved at a client.
fn saved_lines(peer: &serde_json::Value, radio: Option<&str>) -> Vec<String> {
    let band = |key: &str, factor: f64, digits: usize| {
        let end = |index: usize| peer[key][index].as_f64().unwrap_or_default() * factor;
        format!("{:.digits$} to {:.digits$}", end(0), end(1))
    };
    let tails = band("saved_tail_s", 1e3, 0);
    let ends = [0, 1].map(|end| peer["saved_wakeups"][end].as_i64().unwrap_or_default());
    let mut lines = vec![match ends {
        [least, most] if least < 0 && most <= 0 => {
            format!(
                "  saved: nothing; {} to {} more wake-ups for packets sent than for the same",
                -most, -least
            )
        }
        [least, most] if least < 0 => {
            format!(
                "  saved: from {} more to {most} fewer wake-ups for packets sent than for the same",
                -least
            )
        }
        _ => {
            format!("  saved: {} wake-ups for packets sent, against the same", band("saved_wakeups", 1.0, 0))
        }
    }];
    lines.push(format!("    packets without a tunnel; the radio sleeps after {tails} ms"));
    if ends[0] < 0 {
        lines
            .push("    (triggers, keep-alives and answers woke it up where no packet would have)".to_owned());
    }
    if let (true, Some(radio)) = (peer["saved_j"].is_array(), radio) {
        lines.push(format!("    {} J by radio {radio}", band("saved_j", 1.0, 3)));
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::text_of;

    /// The lines for people about a peer with these savings, acknowledgements that were left out, and datagrams that were not sent.
    fn lines(saved: [i64; 2], superseded: u64, failures: u64) -> String {
        text_of(&json!({
            "plain": true, "fwmark": null, "socket": { "send_failures": failures },
            "peers": [{
                "allowed_ips": [], "saved_wakeups": saved, "saved_tail_s": [0.001, 0.1], "superseded": superseded,
            }],
        }))
    }

    #[test]
    fn what_was_not_sent_and_what_was_left_out_is_said() {
        let quiet = lines([0, 3], 0, 0);
        assert!(!quiet.contains("not taken") && !quiet.contains("thin_acks"), "{quiet}");
        let said = lines([0, 3], 7, 16);
        assert!(
            said.contains("\n  not taken by the kernel: 16 datagrams of those that count as sent\n"),
            "{said}"
        );
        assert!(said.contains("\n  acknowledgements left out by thin_acks: 7\n"), "{said}");
        assert!(said.lines().all(|line| line.len() <= 80), "{said}");
    }

    #[test]
    fn savings_are_never_below_zero() {
        for (saved, expected) in [
            ([3, 20], "saved: 3 to 20 wake-ups for packets sent, against the same"),
            ([-5, -2], "saved: nothing; 2 to 5 more wake-ups for packets sent than for the same"),
            ([-891, 1], "saved: from 891 more to 1 fewer wake-ups for packets sent than for the same"),
        ] {
            let said = lines(saved, 0, 0);
            assert!(said.contains(expected) && !said.contains(": -8") && !said.contains(": -5"), "{said}");
        }
    }
}
