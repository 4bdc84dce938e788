//! What tunnels have carried, for the result document.

use schemars::JsonSchema;
use serde::Serialize;

use crate::net::Network;
use crate::route::NodeId;
use crate::stack::program::{Report, TunnelCounts};

/// The tunnel of a station.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TunnelResult {
    /// The number of the station.
    pub station: u32,
    /// What the station sent through it.
    pub up: TunnelDirection,
    /// What the other end sent through it.
    pub down: TunnelDirection,
}

/// One direction of a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TunnelDirection {
    /// IP packets that were sent through the tunnel.
    pub packets: u64,
    /// Their bytes.
    pub packet_bytes: u64,
    /// Outer packets, each with one or more of these, or with none.
    pub outer_packets: u64,
    /// Their bytes.
    pub outer_bytes: u64,
    /// Bytes of outer packets over those of inner packets, less one.
    pub overhead: Option<f64>,
    /// Bursts that had their full number of packets.
    pub full_bursts: u64,
    /// Bursts sent at their time-out.
    pub timed_out_bursts: u64,
    /// Bursts sent because the radio was awake.
    pub awake_bursts: u64,
    /// Packets in a burst, on average.
    pub packets_per_burst: Option<f64>,
    /// Mean delay that the tunnel added to a packet at its sending end.
    pub held_s_mean: Option<f64>,
    /// The longest such delay.
    pub held_s_max: f64,
    /// Outer packets lost on the way, as the other end could see; not with SCTP.
    pub outer_packets_lost: u64,
    /// Outer packets that SCTP sent again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outer_packets_repeated: Option<u64>,
    /// Acknowledgements that a later one made superfluous.
    pub superseded: u64,
    /// Packets dropped at a full queue.
    pub dropped: u64,
    /// Empty outer packets sent as triggers.
    pub triggers: u64,
    /// Empty outer packets sent to keep mappings of addresses alive.
    pub keep_alives: u64,
}

impl Network {
    /// The results of all tunnels, in the order of the plan.
    pub(super) fn tunnel_results(&self) -> Vec<TunnelResult> {
        let ends: Vec<_> = self.tunnel_counts().collect();
        let tunnels = ends.chunks_exact(2).map(|ends| {
            let [(node, client), (peer, concentrator)] = ends else { unreachable!("a tunnel has two ends") };
            let station = self.plan.stations.iter().position(|station| {
                station.node == *node && self.plan.media[usize::from(station.medium)].members.contains(peer)
            });
            TunnelResult {
                station: station.expect("a tunnel begins at a station") as u32,
                up: direction_of(client, concentrator.lost_from_peer),
                down: direction_of(concentrator, client.lost_from_peer),
            }
        });
        tunnels.collect()
    }

    /// The nodes of the ends of tunnels and what these have counted: for each tunnel the client, then the concentrator.
    pub(crate) fn tunnel_counts(&self) -> impl Iterator<Item = (NodeId, TunnelCounts)> {
        self.reports().filter_map(|(node, report)| {
            if let Report::Tunnel(counts) = report { Some((node, counts)) } else { None }
        })
    }
}

/// The direction of a tunnel in which this end sends.
fn direction_of(end: &TunnelCounts, outer_packets_lost: u64) -> TunnelDirection {
    let TunnelCounts { machine: counts, outer_bytes, .. } = *end;
    let bursts = counts.full_bursts + counts.timed_out_bursts + counts.awake_bursts;
    let ratio = |part: u64, of: u64| (of > 0).then(|| part as f64 / of as f64);
    TunnelDirection {
        packets: counts.packets,
        packet_bytes: counts.packet_bytes,
        outer_packets: counts.datagrams,
        outer_bytes,
        overhead: ratio(outer_bytes, counts.packet_bytes).map(|ratio| ratio - 1.0),
        full_bursts: counts.full_bursts,
        timed_out_bursts: counts.timed_out_bursts,
        awake_bursts: counts.awake_bursts,
        packets_per_burst: ratio(counts.packets, bursts),
        held_s_mean: (counts.packets > 0).then(|| (counts.held / counts.packets).as_secs_f64()),
        held_s_max: counts.held_longest.as_secs_f64(),
        outer_packets_lost,
        outer_packets_repeated: end.repeated,
        superseded: counts.superseded,
        dropped: counts.dropped,
        triggers: counts.triggers,
        keep_alives: counts.keep_alives,
    }
}
