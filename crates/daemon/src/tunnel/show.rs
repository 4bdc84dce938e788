//! `show`: the peers of a running tunnel and what it has counted, as the daemon reports them on its control socket.

use std::collections::BTreeMap;

use airwatt_linux::control;
use airwatt_linux::metrics::Page;
use serde::Serialize;

use super::host::{Counts, TunnelHost};
use super::peers::Peers;
use super::{KIND, Show};
use crate::common::control_socket;
use crate::failure::Failure;
use crate::output;

/// What the daemon reports.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Document {
    schema: u32,
    version: &'static str,
    interface: String,
    listen: String,
    mtu_bytes: u16,
    plain: bool,
    peers: Vec<PeerRow>,
    #[serde(flatten)]
    counts: Counts,
    socket: SocketRow,
    /// Timeouts served, by reason.
    wakeups: BTreeMap<&'static str, u64>,
}

#[derive(Clone, Debug, Serialize)]
struct PeerRow {
    name: String,
    endpoint: Option<String>,
    allowed_ips: Vec<String>,
    burst_packets: u32,
    trigger_interval_s: Option<f64>,
    held_packets: usize,
    packets_sent: u64,
    bytes_sent: u64,
    packets_delivered: u64,
    datagrams_sent: u64,
    datagrams_received: u64,
    datagrams_lost: u64,
    bursts_full: u64,
    bursts_timed_out: u64,
    bursts_awake: u64,
    triggers: u64,
    keep_alives: u64,
    dropped: u64,
    superseded: u64,
    refused_sources: u64,
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

/// The state of a tunnel.
pub(super) fn document(host: &TunnelHost, machine: &Peers) -> Document {
    let peers = host.peers.iter().zip(&machine.tunnels).map(|(state, tunnel)| {
        let counts = tunnel.counts();
        PeerRow {
            name: state.config.name.clone(),
            endpoint: state.endpoint.map(|endpoint| endpoint.to_string()),
            allowed_ips: state.config.allowed_ips.iter().map(ToString::to_string).collect(),
            burst_packets: tunnel.burst_packets(),
            trigger_interval_s: tunnel.trigger_interval().map(|interval| interval.as_secs_f64()),
            held_packets: tunnel.held_packets(),
            packets_sent: counts.packets,
            bytes_sent: counts.packet_bytes,
            packets_delivered: counts.delivered,
            datagrams_sent: counts.datagrams,
            datagrams_received: state.datagrams_received,
            datagrams_lost: tunnel.association().lost(),
            bursts_full: counts.full_bursts,
            bursts_timed_out: counts.timed_out_bursts,
            bursts_awake: counts.awake_bursts,
            triggers: counts.triggers,
            keep_alives: counts.keep_alives,
            dropped: counts.dropped,
            superseded: counts.superseded,
            refused_sources: state.refused_sources,
            held_s_mean: (counts.packets > 0).then(|| counts.held.as_secs_f64() / counts.packets as f64),
            held_s_max: counts.held_longest.as_secs_f64(),
        }
    });
    let socket = host.socket.counts();
    Document {
        schema: 1,
        version: env!("CARGO_PKG_VERSION"),
        interface: host.config.interface.clone(),
        listen: host.socket.address().map_or_else(|error| error.to_string(), |address| address.to_string()),
        mtu_bytes: host.config.mtu(),
        plain: host.config.tunnel.plain,
        peers: peers.collect(),
        counts: host.counts,
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

/// The same for Prometheus.
pub(super) fn metrics(document: &Document) -> Page {
    let mut page = Page::default();
    let interface = document.interface.as_str();
    let labels: Vec<[(&str, &str); 2]> =
        document.peers.iter().map(|peer| [("interface", interface), ("peer", peer.name.as_str())]).collect();
    let mut of_peers = |name: &str, help: &str, value: fn(&PeerRow) -> u64| {
        page.counter(
            name,
            help,
            labels.iter().zip(&document.peers).map(|(labels, peer)| (&labels[..], value(peer))),
        );
    };
    of_peers("airwatt_tunnel_packets_sent_total", "Inner packets sent.", |peer| peer.packets_sent);
    of_peers("airwatt_tunnel_bytes_sent_total", "Bytes of inner packets sent.", |peer| peer.bytes_sent);
    of_peers("airwatt_tunnel_packets_delivered_total", "Inner packets received.", |peer| {
        peer.packets_delivered
    });
    of_peers("airwatt_tunnel_datagrams_lost_total", "Datagrams of the peer that were lost.", |peer| {
        peer.datagrams_lost
    });
    of_peers("airwatt_tunnel_triggers_total", "Empty datagrams sent as triggers.", |peer| peer.triggers);
    of_peers("airwatt_tunnel_dropped_total", "Inner packets dropped.", |peer| peer.dropped);
    of_peers("airwatt_tunnel_refused_sources_total", "Packets with a source that is not allowed.", |peer| {
        peer.refused_sources
    });
    let reasons: Vec<[(&str, &str); 2]> =
        document.wakeups.keys().map(|reason| [("interface", interface), ("reason", *reason)]).collect();
    page.counter(
        "airwatt_tunnel_wakeups_total",
        "Timeouts served.",
        reasons.iter().zip(document.wakeups.values()).map(|(labels, count)| (&labels[..], *count)),
    );
    page
}

/// `airwattd tunnel show`.
pub(super) fn show(options: &Show) -> Result<(), Failure> {
    let interface = &options.name.interface;
    let document = control::ask(&control_socket(KIND, interface), "status").map_err(|error| {
        match error.io().kind() {
            std::io::ErrorKind::NotFound | std::io::ErrorKind::ConnectionRefused => {
                Failure::Failed(format!("no tunnel runs on {interface}"))
            }
            _ => error.into(),
        }
    })?;
    if options.json {
        output::print(&format!("{document:#}\n"));
        return Ok(());
    }
    let text = |value: &serde_json::Value| match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Null => "-".to_owned(),
        other => other.to_string(),
    };
    let mut lines = vec![format!(
        "interface: {}\n  listening: {}\n  mtu: {} bytes",
        text(&document["interface"]),
        text(&document["listen"]),
        text(&document["mtu_bytes"])
    )];
    for peer in document["peers"].as_array().into_iter().flatten() {
        let of = |key: &str| text(&peer[key]);
        let allowed: Vec<String> = peer["allowed_ips"].as_array().into_iter().flatten().map(text).collect();
        lines.push(format!(
            "peer: {}\n  endpoint: {}\n  allowed ips: {}\n  sent: {} packets in {} datagrams, {} bytes\n  received: {} \
             packets in {} datagrams, {} lost\n  bursts: {} full, {} timed out, {} while the radio was awake; {} triggers",
            of("name"),
            of("endpoint"),
            allowed.join(", "),
            of("packets_sent"),
            of("datagrams_sent"),
            of("bytes_sent"),
            of("packets_delivered"),
            of("datagrams_received"),
            of("datagrams_lost"),
            of("bursts_full"),
            of("bursts_timed_out"),
            of("bursts_awake"),
            of("triggers"),
        ));
    }
    output::print(&format!("{}\n", lines.join("\n\n")));
    Ok(())
}
