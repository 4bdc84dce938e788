//! Statistics of each connection, derived from its packets as they enter and leave the machines.
//!
//! A byte is delivered when the receiver acknowledges it, observed as the acknowledgement leaves the receiver, so that
//! lost acknowledgements do not matter. A round-trip time is measured from the transmission of a segment to the arrival
//! at its sender of the first acknowledgement that covers it, for one segment at a time and without retransmitted
//! segments (RFC 6298, section 3). A timeout is a retransmission after [`SILENCE`] without a packet to or from the
//! sender. The goodput is that from the first packet of a connection, the opening, as in a simulation; of one that is reset, until its
//! last byte. Datagrams count when they arrive, over the time until the last of them arrived or was lost.
//!
//! Of a connection, the direction that delivered more data is the flow. Left out: fragments, and protocols other than
//! TCP and UDP; they are carried all the same.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddrV4};

use airwatt_base::{Instant, Span};
use airwatt_sim::live::{Meter, Observed, OutsideHost};
use airwatt_sim::record::FlowResult;
use etherparse::{NetSlice, SlicedPacket, TransportSlice};

use crate::hosts::host_at;
use crate::traffic::KnownFlow;

/// Linux's least retransmission timeout, less a tenth for the granularity of its clock.
const SILENCE: Span = Span::from_millis(180);

/// The facts about a packet that are needed when it arrives or is lost.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PacketNote {
    /// The connection, and whether it was opened by the packet's sender.
    connection: Option<(usize, bool)>,
    /// Whether the packet carries data.
    data: bool,
    /// Position up to which it acknowledges the data of the other direction.
    ack: Option<u64>,
    /// Payload in bytes.
    payload: u32,
}

/// All observed connections.
#[derive(Debug, Default)]
pub(crate) struct FlowMonitor {
    connections: Vec<Connection>,
    /// Index of each connection, by protocol and both endpoints, the lesser first.
    index: BTreeMap<(Protocol, SocketAddrV4, SocketAddrV4), usize>,
    measure_from: Instant,
    bins: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Protocol {
    Tcp,
    Udp,
}

#[derive(Debug)]
struct Connection {
    protocol: Protocol,
    /// Sender and receiver of its first packet.
    ends: (SocketAddrV4, SocketAddrV4),
    /// The time at which its first packet left its sender.
    began: Instant,
    /// Data sent by the opener, and data sent to it.
    halves: [Half; 2],
}

/// The data of one direction.
#[derive(Clone, Debug, Default)]
struct Half {
    /// Sequence number of the first byte.
    base: Option<u32>,
    /// Position after the data sent, counted from the first byte.
    sent_end: u64,
    /// Position up to which data was delivered.
    delivered: u64,
    /// Position of the FIN, once it was sent.
    fin: Option<u64>,
    complete: Option<Instant>,
    segments: u64,
    retransmitted: u64,
    timeouts: u64,
    acks_lost: u64,
    /// Time at which the sender last sent or received a packet.
    last_active: Instant,
    /// Time at which a byte of a connection was last delivered.
    last_delivered: Option<Instant>,
    /// Time at which a packet of a flow of datagrams last arrived or was lost, and the last byte of a connection that was reset.
    last_ended: Option<Instant>,
    timed: Option<(u64, Instant)>,
    round_trips: (Span, u64),
    latencies: (Span, u64),
    meter: Meter,
}

impl Half {
    fn new(meter: Meter) -> Self {
        Self { meter, ..Self::default() }
    }

    /// The position of a sequence number near the end of the data sent.
    fn position(&self, seq: u32) -> u64 {
        let top = (self.base.unwrap_or(seq)).wrapping_add(self.sent_end as u32);
        let ahead = seq.wrapping_sub(top).cast_signed();
        self.sent_end.saturating_add_signed(i64::from(ahead))
    }

    fn on_sent(&mut self, begin: u64, length: u64, now: Instant) {
        let end = begin + length;
        self.segments += 1;
        if begin < self.sent_end {
            self.retransmitted += 1;
            self.timeouts += u64::from(now.saturating_since(self.last_active) >= SILENCE);
            self.timed = self.timed.filter(|(timed, _)| *timed <= begin);
        } else if self.timed.is_none() {
            self.timed = Some((end, now));
        }
        self.sent_end = self.sent_end.max(end);
    }

    /// Records that the receiver has everything up to this position.
    fn on_delivered(&mut self, position: u64, now: Instant) {
        let position = position.min(self.fin.unwrap_or(self.sent_end));
        if position > self.delivered {
            self.meter.add(position - self.delivered, now);
            self.delivered = position;
            self.last_delivered = Some(now);
        }
        if self.fin == Some(self.delivered) {
            self.complete.get_or_insert(now);
        }
    }

    /// Records that an acknowledgement up to this position has arrived at the sender.
    fn on_ack_received(&mut self, position: u64, now: Instant) {
        self.last_active = now;
        if let Some((_, sent)) = self.timed.take_if(|(end, _)| position >= *end) {
            self.round_trips.0 += now - sent;
            self.round_trips.1 += 1;
        }
    }
}

impl FlowMonitor {
    /// Creates a monitor of flows. Throughputs are measured from this time on, in bins if `bins` is set.
    pub(crate) fn new(measure_from: Span, bins: bool) -> Self {
        Self { measure_from: Instant::ZERO + measure_from, bins, ..Self::default() }
    }

    /// Processes a packet that leaves a host.
    pub(crate) fn packet_sent(&mut self, bytes: &[u8], now: Instant) -> PacketNote {
        let Ok(packet) = SlicedPacket::from_ip(bytes) else { return PacketNote::default() };
        let (Some(NetSlice::Ipv4(ip)), Some(transport)) = (&packet.net, &packet.transport) else {
            return PacketNote::default();
        };
        let (from, to) = (ip.header().source_addr(), ip.header().destination_addr());
        match transport {
            TransportSlice::Tcp(tcp) => {
                let (id, opener) = self.connection(
                    Protocol::Tcp,
                    (from, tcp.source_port()),
                    (to, tcp.destination_port()),
                    now,
                );
                let [theirs, ours] = &mut self.connections[id].halves;
                let (sending, receiving) = if opener { (theirs, ours) } else { (ours, theirs) };
                let payload = tcp.payload().len() as u64;
                if tcp.syn() {
                    sending.base = Some(tcp.sequence_number().wrapping_add(1));
                } else {
                    let begin = sending.position(tcp.sequence_number());
                    if payload > 0 {
                        sending.on_sent(begin, payload, now);
                    }
                    if tcp.fin() {
                        sending.fin = Some(begin + payload);
                    }
                }
                sending.last_active = now;
                let ack = (tcp.ack() && receiving.base.is_some())
                    .then(|| receiving.position(tcp.acknowledgment_number()))
                    // A FIN takes one more number than there is data.
                    .map(|ack| ack.min(receiving.fin.unwrap_or(receiving.sent_end)));
                if let Some(ack) = ack {
                    receiving.on_delivered(ack, now);
                }
                if tcp.rst() {
                    for half in [sending, receiving] {
                        half.last_ended = half.last_delivered;
                    }
                }
                PacketNote { connection: Some((id, opener)), data: payload > 0, ack, payload: payload as u32 }
            }
            TransportSlice::Udp(udp) => {
                let (id, opener) = self.connection(
                    Protocol::Udp,
                    (from, udp.source_port()),
                    (to, udp.destination_port()),
                    now,
                );
                let half = &mut self.connections[id].halves[usize::from(!opener)];
                half.segments += 1;
                let payload = udp.payload().len() as u32;
                PacketNote { connection: Some((id, opener)), data: true, ack: None, payload }
            }
            _ => PacketNote::default(),
        }
    }

    fn connection(
        &mut self,
        protocol: Protocol,
        from: (Ipv4Addr, u16),
        to: (Ipv4Addr, u16),
        now: Instant,
    ) -> (usize, bool) {
        let (from, to) = (SocketAddrV4::new(from.0, from.1), SocketAddrV4::new(to.0, to.1));
        let (meter_from, bins) = (self.measure_from, self.bins);
        let connections = &mut self.connections;
        let id = *self.index.entry((protocol, from.min(to), from.max(to))).or_insert_with(|| {
            let half = || {
                let mut meter = Meter::new(meter_from);
                if bins {
                    meter.keep_bins();
                }
                Half::new(meter)
            };
            connections.push(Connection { protocol, ends: (from, to), began: now, halves: [half(), half()] });
            connections.len() - 1
        });
        (id, self.connections[id].ends.0 == from)
    }

    /// Processes a packet that has arrived or was lost, after this time.
    pub(crate) fn packet_ended(&mut self, note: PacketNote, arrived: bool, took: Span, now: Instant) {
        let Some((id, opener)) = note.connection else { return };
        let Connection { protocol, halves: [theirs, ours], .. } = &mut self.connections[id];
        let (sending, receiving) = if opener { (theirs, ours) } else { (ours, theirs) };
        if *protocol == Protocol::Udp {
            sending.last_ended = Some(now);
        }
        if !arrived {
            receiving.acks_lost += u64::from(note.ack.is_some() && !note.data);
            return;
        }
        if note.data {
            sending.latencies.0 += took;
            sending.latencies.1 += 1;
        }
        if *protocol == Protocol::Udp {
            sending.delivered += u64::from(note.payload);
            sending.meter.add(u64::from(note.payload), now);
        }
        if let Some(ack) = note.ack {
            receiving.on_ack_received(ack, now);
        }
    }

    /// The flows that delivered anything, in the order of their beginning. `known` returns properties of a flow by the
    /// server's port.
    pub(crate) fn flows(&self, end: Instant, known: impl Fn(u16) -> Option<KnownFlow>) -> Vec<Observed> {
        let mut flows: Vec<(Option<u32>, Instant, Observed)> = Vec::new();
        for connection in &self.connections {
            let [theirs, ours] = &connection.halves;
            let (half, from, to) = if theirs.delivered >= ours.delivered {
                (theirs, connection.ends.0, connection.ends.1)
            } else {
                (ours, connection.ends.1, connection.ends.0)
            };
            if half.segments == 0 {
                continue;
            }
            let began = connection.began;
            let hosts = (host_at(*from.ip()), host_at(*to.ip()));
            let (station, down, server_port) = match hosts {
                (Some(OutsideHost::Server), Some(OutsideHost::Station(id))) => (id, true, from.port()),
                (Some(OutsideHost::Station(id)), Some(OutsideHost::Server)) => (id, false, to.port()),
                (Some(OutsideHost::Station(id)), _) => (id, false, 0),
                _ => continue,
            };
            let known = known(server_port);
            let transport = known.map_or(connection.protocol.name(), |known| known.transport);
            let responses = known.and_then(|known| known.responses);
            let empty = FlowResult { responses, ..FlowResult::empty(0, station, down, transport) };
            let result = half.result(empty, began, end);
            flows.push((known.map(|known| known.id), began, Observed { result, meter: half.meter.clone() }));
        }
        flows.sort_by_key(|(number, began, _)| (number.unwrap_or(u32::MAX), *began));
        let numbered = flows.into_iter().zip(0..);
        numbered
            .map(|((number, _, flow), id)| {
                let result = FlowResult { id: number.unwrap_or(id), ..flow.result };
                Observed { result, ..flow }
            })
            .collect()
    }
}

impl Half {
    fn result(&self, empty: FlowResult, began: Instant, end: Instant) -> FlowResult {
        let mean = |(sum, count): (Span, u64)| (count > 0).then(|| sum.as_secs_f64() / count as f64);
        let elapsed = self.complete.or(self.last_ended).unwrap_or(end).saturating_since(began).as_secs_f64();
        FlowResult {
            bytes_delivered: self.delivered,
            goodput_bps: if elapsed > 0.0 { self.delivered as f64 * 8.0 / elapsed } else { 0.0 },
            completed_s: self.complete.map(Instant::as_secs_f64),
            latency_s_mean: mean(self.latencies),
            rtt_s_mean: mean(self.round_trips),
            segments_sent: self.segments,
            segments_retransmitted: self.retransmitted,
            timeouts: self.timeouts,
            acks_lost: self.acks_lost,
            ..empty
        }
    }
}

impl Protocol {
    const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
        }
    }
}

#[cfg(test)]
mod tests {
    use etherparse::PacketBuilder;

    use super::*;

    const SERVER: ([u8; 4], u16) = ([10, 0, 0, 1], 5_001);
    const STATION: ([u8; 4], u16) = ([10, 1, 0, 1], 40_000);

    struct Ladder {
        monitor: FlowMonitor,
        now: Instant,
    }

    impl Ladder {
        fn new() -> Self {
            Self { monitor: FlowMonitor::new(Span::ZERO, false), now: Instant::ZERO }
        }

        /// Sends a segment after this many milliseconds, which arrives or is lost 10 ms later.
        fn segment(
            &mut self,
            after_ms: u64,
            up: bool,
            flags: &str,
            seq: u32,
            ack: u32,
            payload: usize,
            arrives: bool,
        ) {
            self.now += Span::from_millis(after_ms);
            let (from, to) = if up { (STATION, SERVER) } else { (SERVER, STATION) };
            let mut builder = PacketBuilder::ipv4(from.0, to.0, 64).tcp(from.1, to.1, seq, 65_000);
            if flags.contains('S') {
                builder = builder.syn();
            }
            if flags.contains('F') {
                builder = builder.fin();
            }
            if flags.contains('R') {
                builder = builder.rst();
            }
            if flags.contains('A') {
                builder = builder.ack(ack);
            }
            let mut bytes = Vec::new();
            builder.write(&mut bytes, &vec![0; payload]).unwrap();
            let note = self.monitor.packet_sent(&bytes, self.now);
            let took = Span::from_millis(10);
            self.monitor.packet_ended(note, arrives, took, self.now + took);
        }

        fn flow(&self) -> FlowResult {
            let flows = self.monitor.flows(self.now, |_| None);
            assert_eq!(flows.len(), 1);
            flows[0].result.clone()
        }
    }

    /// Sequence numbers wrap in the middle; a segment is lost and retransmitted after a timeout; an acknowledgement is
    /// lost.
    #[test]
    fn a_download_with_losses() {
        let mut ladder = Ladder::new();
        let isn = u32::MAX - 1_000;
        ladder.segment(0, true, "S", 99, 0, 0, true);
        ladder.segment(10, false, "SA", isn, 100, 0, true);
        ladder.segment(10, true, "A", 100, isn.wrapping_add(1), 0, true);
        let at = |byte: u32| isn.wrapping_add(1).wrapping_add(byte);
        ladder.segment(10, false, "A", at(0), 100, 1_000, true);
        ladder.segment(0, false, "A", at(1_000), 100, 1_000, false);
        ladder.segment(10, true, "A", 100, at(1_000), 0, true);
        ladder.segment(300, false, "A", at(1_000), 100, 1_000, true);
        ladder.segment(10, true, "A", 100, at(2_000), 0, false);
        ladder.segment(5, false, "FA", at(2_000), 100, 500, true);
        ladder.segment(10, true, "FA", 100, at(2_501), 0, true);
        let flow = ladder.flow();
        assert_eq!((flow.direction, flow.station, &*flow.transport), ("down", Some(0), "tcp"));
        assert_eq!(flow.bytes_delivered, 2_500);
        assert_eq!((flow.segments_sent, flow.segments_retransmitted, flow.timeouts), (4, 1, 1));
        assert_eq!(flow.acks_lost, 1);
        assert!((flow.completed_s.unwrap() - 0.365).abs() < 1e-9);
        // With the 30 ms before the first segment.
        assert!((flow.goodput_bps - 20_000.0 / 0.365).abs() < 1e-6, "{}", flow.goodput_bps);
        // Three segments arrived after 10 ms; the first and the last were timed, the retransmitted one was not.
        assert!((flow.latency_s_mean.unwrap() - 0.01).abs() < 1e-9);
        assert!((flow.rtt_s_mean.unwrap() - 0.02).abs() < 1e-9, "{:?}", flow.rtt_s_mean);
    }

    #[test]
    fn a_reset_connection_ends_with_its_last_byte() {
        let mut ladder = Ladder::new();
        ladder.segment(0, true, "S", 0, 0, 0, true);
        ladder.segment(0, false, "SA", 0, 1, 0, true);
        ladder.segment(0, false, "A", 1, 1, 1_000, true);
        ladder.segment(100, true, "A", 1, 1_001, 0, true);
        ladder.segment(900, true, "RA", 1, 1_001, 0, true);
        ladder.now += Span::from_secs(9);
        let flow = ladder.flow();
        assert_eq!((flow.bytes_delivered, flow.completed_s), (1_000, None));
        assert!((flow.goodput_bps - 80_000.0).abs() < 1e-6, "{}", flow.goodput_bps);
    }

    #[test]
    fn duplicates_deliver_nothing_twice_and_pings_are_no_flow() {
        let mut ladder = Ladder::new();
        ladder.segment(0, true, "S", 0, 0, 0, true);
        ladder.segment(0, false, "SA", 0, 1, 0, true);
        ladder.segment(1, true, "A", 1, 1, 700, true);
        ladder.segment(1, true, "A", 1, 1, 700, true);
        ladder.segment(1, false, "A", 1, 701, 0, true);
        ladder.segment(1, false, "A", 1, 701, 0, true);
        let mut bytes = Vec::new();
        PacketBuilder::ipv4(STATION.0, SERVER.0, 64)
            .icmpv4_echo_request(1, 1)
            .write(&mut bytes, &[0; 56])
            .unwrap();
        ladder.monitor.packet_sent(&bytes, ladder.now);
        let flow = ladder.flow();
        assert_eq!((flow.direction, flow.bytes_delivered, flow.segments_retransmitted), ("up", 700, 1));
        assert_eq!(flow.completed_s, None);
    }

    #[test]
    fn datagrams_count_when_they_arrive() {
        let mut monitor = FlowMonitor::new(Span::ZERO, false);
        let mut bytes = Vec::new();
        PacketBuilder::ipv4(SERVER.0, STATION.0, 64)
            .udp(SERVER.1, STATION.1)
            .write(&mut bytes, &[0; 100])
            .unwrap();
        for arrived in [true, false, true] {
            let note = monitor.packet_sent(&bytes, Instant::from_millis(1));
            monitor.packet_ended(note, arrived, Span::from_millis(2), Instant::from_millis(3));
        }
        let flow = &monitor.flows(Instant::from_secs(1), |port| {
            (port == 5_001).then_some(KnownFlow { id: 4, transport: "udp", responses: None })
        })[0]
            .result;
        assert_eq!((flow.id, &*flow.transport, flow.bytes_delivered, flow.segments_sent), (4, "udp", 200, 3));
    }

    #[test]
    fn noise_is_no_flow() {
        let mut monitor = FlowMonitor::new(Span::ZERO, false);
        for bytes in [&[][..], &[0x45], &[0xff; 60], &[0x60; 80]] {
            let note = monitor.packet_sent(bytes, Instant::ZERO);
            monitor.packet_ended(note, true, Span::ZERO, Instant::ZERO);
        }
        assert!(monitor.flows(Instant::ZERO, |_| None).is_empty());
    }
}
