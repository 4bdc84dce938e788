//! Flows: their endpoints, the bytes in each direction and the retransmissions; and the small exchanges for which alone the
//! radio woke up.

use std::collections::{BTreeMap, BTreeSet};

use airwatt_base::{Instant, Seq, Span};
use airwatt_sim::Direction;
use schemars::JsonSchema;
use serde::Serialize;

use crate::capture::Capture;
use crate::packet::{CapturedPacket, Ip, TcpFields, TransportHeader};
use crate::stations::Station;

/// A time without packets of the station that ends a burst: more than any acknowledgement may be delayed, 500 ms (RFC 1122 4.2.3.2),
/// so that an exchange and its last acknowledgement are one.
pub const QUIET: Span = Span::from_millis(500);

/// A burst of at most this many IP bytes counts as small: a few headers, a name lookup, a TLS record or two.
pub const SMALL_BURST_BYTES: u64 = 1_000;

/// IP bytes by what carries them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ByteClasses {
    /// TCP.
    pub tcp: u64,
    /// UDP to or from port 443, which is taken for QUIC.
    pub quic: u64,
    /// UDP otherwise.
    pub udp: u64,
    /// SCTP, ICMP, fragments and all others.
    pub other: u64,
    /// Sizes of encrypted 802.11 bodies, whose kind is hidden.
    pub encrypted: u64,
}

impl ByteClasses {
    fn count(&mut self, ip: &Ip) {
        let class = match ip.transport {
            TransportHeader::Tcp(_) => &mut self.tcp,
            TransportHeader::Udp { source_port, destination_port } => {
                if is_quic(source_port, destination_port) { &mut self.quic } else { &mut self.udp }
            }
            TransportHeader::Echo { .. } | TransportHeader::Other(_) => &mut self.other,
        };
        *class += u64::from(ip.bytes);
    }
}

const fn is_quic(source_port: u16, destination_port: u16) -> bool {
    source_port == 443 || destination_port == 443
}

/// An endpoint of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowEndpoint {
    /// Address: of a host that the capture does not show, its MAC address.
    pub address: Station,
    /// Port; zero for protocols without ports.
    pub port: u16,
}

impl std::fmt::Display for FlowEndpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.address, self.port) {
            (Station::Ip(ip), port) if port > 0 => std::net::SocketAddr::new(ip, port).fmt(f),
            (address, _) => address.fmt(f),
        }
    }
}

/// The packets of one direction of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DirectionCounts {
    /// Packets.
    pub packets: u64,
    /// IP bytes.
    pub bytes: u64,
    /// TCP segments that hold no new data, keep-alive probes apart.
    pub retransmissions: u64,
    highest: Option<Seq>,
}

/// A flow between two endpoints. Frames whose packets cannot be read are one flow for each pair of MAC addresses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flow {
    /// The endpoint that sent the first packet.
    pub first: FlowEndpoint,
    /// The other endpoint.
    pub second: FlowEndpoint,
    /// The endpoint that is not the station's; `None` without a station.
    pub peer: Option<FlowEndpoint>,
    /// IP protocol number; `None` for frames whose packets cannot be read.
    pub protocol: Option<u8>,
    /// Time of the first packet.
    pub from: Instant,
    /// Time of the last packet.
    pub until: Instant,
    /// From `first` to `second`.
    pub forward: DirectionCounts,
    /// From `second` to `first`.
    pub reverse: DirectionCounts,
    /// Time from the SYN to the ACK that completes the handshake: a whole round trip wherever the capture was taken.
    /// `None` if a part of it is not in the capture, or if the SYN was repeated: which of the two was answered is unknown.
    pub handshake_rtt: Option<Span>,
    handshake: Handshake,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Handshake {
    #[default]
    Nothing,
    Syn(Instant, Seq),
    SynAck(Instant, Seq),
    Over,
}

impl Flow {
    /// Whether packets of only one direction were captured.
    pub const fn is_one_sided(&self) -> bool {
        self.forward.packets == 0 || self.reverse.packets == 0
    }

    /// IP bytes in both directions.
    pub const fn bytes(&self) -> u64 {
        self.forward.bytes + self.reverse.bytes
    }

    /// `tcp`, `quic`, `udp`, the protocol's number, or `unread`.
    pub fn protocol_name(&self) -> String {
        match self.protocol {
            Some(6) => "tcp".to_owned(),
            Some(17) if is_quic(self.first.port, self.second.port) => "quic".to_owned(),
            Some(17) => "udp".to_owned(),
            Some(132) => "sctp".to_owned(),
            Some(1 | 58) => "icmp".to_owned(),
            Some(other) => format!("protocol-{other}"),
            None => "unread".to_owned(),
        }
    }

    /// What its packets have in common.
    pub(crate) fn key(&self) -> FlowKey {
        (self.protocol, self.first.min(self.second), self.first.max(self.second))
    }

    fn add(&mut self, at: Instant, forward: bool, ends: &Ends, ip: Option<&Ip>) {
        self.until = self.until.max(at);
        let direction = if forward { &mut self.forward } else { &mut self.reverse };
        direction.packets += 1;
        direction.bytes += u64::from(ends.bytes);
        if let Some(Ip { transport: TransportHeader::Tcp(tcp), .. }) = ip {
            direction.add_segment(tcp);
            self.follow_handshake(at, forward, tcp);
        }
    }

    fn follow_handshake(&mut self, at: Instant, forward: bool, tcp: &TcpFields) {
        let next = tcp.sequence + 1;
        self.handshake = match self.handshake {
            Handshake::Nothing if forward && tcp.has(TcpFields::SYN) && !tcp.has(TcpFields::ACK) => {
                Handshake::Syn(at, next)
            }
            Handshake::Syn(sent, expected) if !forward && tcp.has(TcpFields::SYN | TcpFields::ACK) => {
                if tcp.acknowledgement == expected { Handshake::SynAck(sent, next) } else { Handshake::Over }
            }
            Handshake::SynAck(sent, expected) if forward && tcp.has(TcpFields::ACK) => {
                if tcp.acknowledgement == expected {
                    self.handshake_rtt = Some(at.saturating_since(sent));
                }
                Handshake::Over
            }
            Handshake::Syn(..) | Handshake::SynAck(..) if tcp.has(TcpFields::SYN) => Handshake::Over,
            Handshake::Nothing => Handshake::Over,
            other => other,
        };
    }
}

impl DirectionCounts {
    fn add_segment(&mut self, tcp: &TcpFields) {
        let length = tcp.sequence_length();
        if length == 0 {
            return;
        }
        let end = tcp.sequence + length;
        let Some(highest) = self.highest else {
            self.highest = Some(end);
            return;
        };
        // A keep-alive repeats the last byte, or holds none (RFC 9293 3.8.4).
        let keep_alive =
            tcp.payload <= 1 && end == highest && !tcp.has(TcpFields::SYN) && !tcp.has(TcpFields::FIN);
        if end.at_or_before(highest) && !keep_alive {
            self.retransmissions += 1;
        }
        self.highest = Some(highest.later(end));
    }
}

/// Flows of the capture, or of one station, in order of their first packet; and the bytes by class.
pub fn flows(capture: &Capture, station: Option<&Station>) -> (Vec<Flow>, ByteClasses) {
    let mut list: Vec<Flow> = Vec::new();
    let mut index: BTreeMap<FlowKey, usize> = BTreeMap::new();
    let mut classes = ByteClasses::default();
    for packet in capture.packets.iter().filter(|packet| !packet.repeated) {
        let direction = station.map(|station| station.direction(capture, packet));
        if direction == Some(None) {
            continue;
        }
        match &packet.ip {
            Some(ip) => classes.count(ip),
            None => {
                let encrypted = capture.frame(packet).filter(|frame| frame.control.protected);
                classes.encrypted += encrypted.map_or(0, |frame| u64::from(frame.msdu_bytes));
            }
        }
        let Some(ends) = Ends::of(capture, packet) else { continue };
        let Ends { source, destination, .. } = ends;
        let at = *index.entry(ends.key()).or_insert_with(|| {
            list.push(Flow {
                first: source,
                second: destination,
                peer: direction.flatten().map(|direction| match direction {
                    Direction::Up => destination,
                    Direction::Down => source,
                }),
                protocol: ends.protocol,
                from: packet.at,
                until: packet.at,
                forward: DirectionCounts::default(),
                reverse: DirectionCounts::default(),
                handshake_rtt: None,
                handshake: Handshake::Nothing,
            });
            list.len() - 1
        });
        let flow = &mut list[at];
        flow.add(packet.at, flow.first == source, &ends, packet.ip.as_ref());
    }
    (list, classes)
}

/// The flows of a capture or of a station, those with most bytes first.
pub(crate) fn by_bytes(capture: &Capture, station: Option<&Station>) -> (Vec<Flow>, ByteClasses) {
    let (mut list, classes) = flows(capture, station);
    list.sort_by_key(|flow| std::cmp::Reverse(flow.bytes()));
    (list, classes)
}

/// What the packets of a flow have in common: the protocol, and the endpoints in order.
pub(crate) type FlowKey = (Option<u8>, FlowEndpoint, FlowEndpoint);

/// The ends of a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    protocol: Option<u8>,
    source: FlowEndpoint,
    destination: FlowEndpoint,
    /// Bytes of the IP packet, also of one that cannot be read.
    pub(crate) bytes: u32,
}

impl Ends {
    /// `None` of a packet that carries nothing for a host, or whose ends are unknown.
    pub(crate) fn of(capture: &Capture, packet: &CapturedPacket) -> Option<Self> {
        let ends = match &packet.ip {
            Some(ip) => {
                let (protocol, source, destination) = endpoints(ip);
                Self { protocol: Some(protocol), source, destination, bytes: ip.bytes }
            }
            None => {
                let (source, destination) = packet.macs?;
                let [source, destination] =
                    [source, destination].map(|mac| FlowEndpoint { address: Station::Mac(mac), port: 0 });
                Self { protocol: None, source, destination, bytes: capture.frame(packet)?.msdu_bytes }
            }
        };
        (ends.bytes > 0).then_some(ends)
    }

    /// The flow to which the packet belongs.
    pub(crate) fn key(&self) -> FlowKey {
        (self.protocol, self.source.min(self.destination), self.source.max(self.destination))
    }
}

/// Protocol number, source and destination.
pub(crate) fn endpoints(ip: &Ip) -> (u8, FlowEndpoint, FlowEndpoint) {
    let (source, destination) = ip.transport.ports().unwrap_or_default();
    let protocol = match ip.transport {
        TransportHeader::Tcp(_) => 6,
        TransportHeader::Udp { .. } => 17,
        TransportHeader::Echo { protocol, .. } => protocol,
        TransportHeader::Other(number) => number,
    };
    let end = |ip, port| FlowEndpoint { address: Station::Ip(ip), port };
    (protocol, end(ip.source, source), end(ip.destination, destination))
}

/// Small exchanges with one peer around which the station had no other packets.
#[derive(Clone, Debug, PartialEq)]
pub struct LoneExchanges {
    /// The peer's address and port.
    pub peer: String,
    /// Their number.
    pub count: u64,
    /// How many of them the station began, with a packet of its own.
    pub begun_by_station: u64,
    /// IP bytes of all.
    pub bytes: u64,
    /// The most data in one of their packets, without headers of IP and transport, in bytes.
    pub most_data: u32,
    /// Time of the first.
    pub from: Instant,
    /// Time of the last.
    pub until: Instant,
    /// Time and number of the first packet of each.
    pub starts: Vec<(Instant, u32)>,
    /// Numbers of all their packets.
    pub packets: BTreeSet<u32>,
}

impl LoneExchanges {
    /// Mean time from one to the next; `None` for a single one.
    pub fn mean_interval(&self) -> Option<Span> {
        (self.count > 1).then(|| self.until.saturating_since(self.from) / (self.count - 1))
    }
}

struct Burst {
    peer: Option<FlowEndpoint>,
    begins: Direction,
    same_peer: bool,
    bytes: u64,
    most_data: u32,
    from: Instant,
    until: Instant,
    packets: Vec<u32>,
}

/// Bytes in a packet behind the headers of IP, without options, and of its transport.
fn data_bytes(ip: &Ip) -> u32 {
    let header = if ip.source.is_ipv4() { 20 } else { 40 };
    match &ip.transport {
        TransportHeader::Tcp(tcp) => tcp.payload,
        TransportHeader::Udp { .. } => ip.bytes.saturating_sub(header + 8),
        _ => ip.bytes.saturating_sub(header),
    }
}

/// The station's lone small exchanges by peer, the most frequent first, and the number of all bursts of the station.
pub fn lone_exchanges(capture: &Capture, station: &Station) -> (Vec<LoneExchanges>, u64) {
    let mut found: BTreeMap<FlowEndpoint, LoneExchanges> = BTreeMap::new();
    let mut bursts = 0;
    let mut close = |burst: Burst| {
        bursts += 1;
        let (Some(peer), true) = (burst.peer, burst.same_peer && burst.bytes <= SMALL_BURST_BYTES) else {
            return;
        };
        let entry = found.entry(peer).or_insert_with(|| LoneExchanges {
            peer: peer.to_string(),
            count: 0,
            begun_by_station: 0,
            bytes: 0,
            most_data: 0,
            from: burst.from,
            until: burst.from,
            starts: Vec::new(),
            packets: BTreeSet::new(),
        });
        entry.starts.push((burst.from, burst.packets[0]));
        entry.count += 1;
        entry.begun_by_station += u64::from(burst.begins == Direction::Up);
        entry.bytes += burst.bytes;
        entry.most_data = entry.most_data.max(burst.most_data);
        entry.until = burst.from;
        entry.packets.extend(burst.packets);
    };
    let mut current: Option<Burst> = None;
    for packet in &capture.packets {
        let Some(direction) = station.direction(capture, packet) else { continue };
        let peer = packet.ip.as_ref().map(|ip| {
            let (_, source, destination) = endpoints(ip);
            if direction == Direction::Up { destination } else { source }
        });
        let bytes = packet.ip.as_ref().map_or(0, |ip| u64::from(ip.bytes));
        let data = packet.ip.as_ref().map_or(0, data_bytes);
        match &mut current {
            Some(burst) if packet.at.saturating_since(burst.until) <= QUIET && packet.at >= burst.until => {
                burst.until = packet.at;
                burst.bytes += bytes;
                burst.most_data = burst.most_data.max(data);
                burst.same_peer &= burst.peer == peer;
                // The packets of a large burst are not needed.
                if burst.bytes <= SMALL_BURST_BYTES {
                    burst.packets.push(packet.number);
                }
            }
            _ => {
                let next = Burst {
                    peer,
                    begins: direction,
                    same_peer: true,
                    bytes,
                    most_data: data,
                    from: packet.at,
                    until: packet.at,
                    packets: vec![packet.number],
                };
                if let Some(over) = current.replace(next) {
                    close(over);
                }
            }
        }
    }
    if let Some(over) = current {
        close(over);
    }
    let mut list: Vec<LoneExchanges> = found.into_values().collect();
    list.sort_by_key(|exchanges| std::cmp::Reverse(exchanges.count));
    (list, bursts)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A segment of 100 bytes with number 0, and then one with this number and payload.
    fn retransmissions(sequence: u32, payload: u32) -> u64 {
        let mut counts = DirectionCounts::default();
        for (sequence, payload) in [(0, 100), (sequence, payload)] {
            counts.add_segment(&TcpFields {
                source_port: 1,
                destination_port: 2,
                sequence: Seq::new(sequence),
                acknowledgement: Seq::new(0),
                flags: TcpFields::ACK,
                window: 0,
                payload,
            });
        }
        counts.retransmissions
    }

    #[test]
    fn the_last_segment_again_is_a_retransmission_and_a_keep_alive_is_none() {
        assert_eq!([retransmissions(0, 100), retransmissions(98, 2)], [1, 1]);
        assert_eq!([retransmissions(99, 1), retransmissions(100, 100), retransmissions(50, 100)], [0; 3]);
    }
}
