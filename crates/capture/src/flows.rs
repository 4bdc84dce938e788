//! Flows: their endpoints, the bytes in each direction and the retransmissions; and the small exchanges for which alone the
//! radio woke up.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use airwatt_base::{Instant, Seq, Span};
use serde::Serialize;

use crate::file::Capture;
use crate::packet::{Ip, TcpFields, Transport};
use crate::stations::{Direction, Station};

/// A time without packets of the station that ends a burst: two beacon intervals, after which power save of any kind has
/// put the radio to sleep.
pub const QUIET: Span = Span::from_millis(200);

/// A burst of at most this many IP bytes counts as small: a few headers, a name lookup, a TLS record or two.
pub const SMALL_BURST_BYTES: u64 = 1_000;

/// IP bytes by what carries them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
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
    /// All together.
    pub const fn total(&self) -> u64 {
        self.tcp + self.quic + self.udp + self.other + self.encrypted
    }

    fn count(&mut self, ip: &Ip) {
        let class =
            match ip.transport {
                Transport::Tcp(_) => &mut self.tcp,
                Transport::Udp { source_port, destination_port } => {
                    if is_quic(source_port, destination_port) { &mut self.quic } else { &mut self.udp }
                }
                Transport::Other(_) => &mut self.other,
            };
        *class += u64::from(ip.bytes);
    }
}

const fn is_quic(source_port: u16, destination_port: u16) -> bool {
    source_port == 443 || destination_port == 443
}

/// An endpoint of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Endpoint {
    /// Address.
    pub ip: IpAddr,
    /// Port; zero for protocols without ports.
    pub port: u16,
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.port {
            0 => self.ip.fmt(f),
            port => std::net::SocketAddr::new(self.ip, port).fmt(f),
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

/// A flow between two endpoints.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flow {
    /// The endpoint that sent the first packet.
    pub first: Endpoint,
    /// The other endpoint.
    pub second: Endpoint,
    /// IP protocol number.
    pub protocol: u8,
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

    /// `tcp`, `quic`, `udp`, or the protocol's number.
    pub fn protocol_name(&self) -> String {
        match self.protocol {
            6 => "tcp".to_owned(),
            17 if is_quic(self.first.port, self.second.port) => "quic".to_owned(),
            17 => "udp".to_owned(),
            132 => "sctp".to_owned(),
            1 | 58 => "icmp".to_owned(),
            other => format!("protocol-{other}"),
        }
    }

    fn add(&mut self, at: Instant, forward: bool, ip: &Ip) {
        self.until = self.until.max(at);
        let direction = if forward { &mut self.forward } else { &mut self.reverse };
        direction.packets += 1;
        direction.bytes += u64::from(ip.bytes);
        if let Transport::Tcp(tcp) = ip.transport {
            direction.add_segment(&tcp);
            self.follow_handshake(at, forward, &tcp);
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
    let mut index: BTreeMap<(u8, Endpoint, Endpoint), usize> = BTreeMap::new();
    let mut classes = ByteClasses::default();
    for packet in capture.packets.iter().filter(|packet| !packet.repeated) {
        if station.is_some_and(|station| station.direction(capture, packet).is_none()) {
            continue;
        }
        let Some(ip) = &packet.ip else {
            let encrypted = capture.frame(packet).filter(|frame| frame.control.protected);
            classes.encrypted += encrypted.map_or(0, |frame| u64::from(frame.msdu_bytes));
            continue;
        };
        classes.count(ip);
        let (protocol, source, destination) = endpoints(ip);
        let key = (protocol, source.min(destination), source.max(destination));
        let at = *index.entry(key).or_insert_with(|| {
            list.push(Flow {
                first: source,
                second: destination,
                protocol,
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
        flow.add(packet.at, flow.first == source, ip);
    }
    (list, classes)
}

/// Protocol number, source and destination.
pub(crate) fn endpoints(ip: &Ip) -> (u8, Endpoint, Endpoint) {
    let (source, destination) = ip.transport.ports().unwrap_or_default();
    let protocol = match ip.transport {
        Transport::Tcp(_) => 6,
        Transport::Udp { .. } => 17,
        Transport::Other(number) => number,
    };
    (protocol, Endpoint { ip: ip.source, port: source }, Endpoint { ip: ip.destination, port: destination })
}

/// Small exchanges with one peer around which the station had no other packets.
#[derive(Clone, Debug, PartialEq)]
pub struct LoneExchanges {
    /// The peer's address and port.
    pub peer: String,
    /// Their number.
    pub count: u64,
    /// IP bytes of all.
    pub bytes: u64,
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
    peer: Option<Endpoint>,
    same_peer: bool,
    bytes: u64,
    from: Instant,
    until: Instant,
    packets: Vec<u32>,
}

/// The station's lone small exchanges by peer, the most frequent first, and the number of all bursts of the station.
pub fn lone_exchanges(capture: &Capture, station: &Station) -> (Vec<LoneExchanges>, u64) {
    let mut found: BTreeMap<Endpoint, LoneExchanges> = BTreeMap::new();
    let mut bursts = 0;
    let mut close = |burst: Burst| {
        bursts += 1;
        let (Some(peer), true) = (burst.peer, burst.same_peer && burst.bytes <= SMALL_BURST_BYTES) else {
            return;
        };
        let entry = found.entry(peer).or_insert_with(|| LoneExchanges {
            peer: peer.to_string(),
            count: 0,
            bytes: 0,
            from: burst.from,
            until: burst.from,
            starts: Vec::new(),
            packets: BTreeSet::new(),
        });
        entry.starts.push((burst.from, burst.packets[0]));
        entry.count += 1;
        entry.bytes += burst.bytes;
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
        match &mut current {
            Some(burst) if packet.at.saturating_since(burst.until) <= QUIET && packet.at >= burst.until => {
                burst.until = packet.at;
                burst.bytes += bytes;
                burst.same_peer &= burst.peer == peer;
                // The packets of a large burst are not needed.
                if burst.bytes <= SMALL_BURST_BYTES {
                    burst.packets.push(packet.number);
                }
            }
            _ => {
                let next = Burst {
                    peer,
                    same_peer: true,
                    bytes,
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
