//! From a station's packets to the arrivals that the simulator replays.
//!
//! A downlink packet arrives at the access point, an uplink packet at the station's own queue, at its time in the
//! capture. A frame that waited in the access point's buffer arrived before it was sent (`buffered`). Times differ if the capture was taken elsewhere: at a server, they are off by half a round trip of the wired
//! path, which changes when the radio spends energy but not how much. A TCP segment that acknowledges data waits for that
//! data, as the simulator's replay does. Arrival times count from the first packet of the capture's segment. A bundle that
//! was captured before segmentation (GSO) or after reassembly (GRO) is divided here into packets of at most [`MTU`].
//! Group-addressed packets of neighbours arrive at the access point, which sends them to all stations. One of the station
//! itself is sent to the access point like any other, and the access point relays it to the whole cell. The relayed frame is in
//! an 802.11 capture; elsewhere it follows the packet here. Access points that isolate clients or answer ARP themselves do
//! not relay it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use airwatt_base::{Instant, Seq, Span};
use airwatt_dot11::MacAddress;
use airwatt_sim::Direction;
use airwatt_sim::replay::{Arrival, Destination};

use crate::buffered;
use crate::capture::{Capture, SteadyPart};
use crate::flows::{self, Ends, Flow, FlowEndpoint, FlowKey, endpoints};
use crate::group::{self, CellGroups};
use crate::packet::{CapturedPacket, Ip, TcpFields, TransportHeader};
use crate::power_save;
use crate::report::LIST_LIMIT;
use crate::stations::Station;

/// Time after the last packet of a segment in which buffered packets still reach the station: a little more than two
/// beacon intervals. It counts like the rest, under every policy alike.
pub const TAIL: Span = Span::from_millis(250);

/// The largest IP packet of a replay in bytes: that of Ethernet.
pub const MTU: u32 = 1_500;

/// The headers that are repeated in each packet of a bundle, in bytes: IPv4 20, TCP 20, timestamps 12.
const BUNDLE_HEADERS: u32 = 52;

/// The arrivals of one segment of the capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentArrivals {
    /// In order of time.
    pub arrivals: Vec<Arrival>,
    /// The places of TCP segments among them that have neither data nor SYN or FIN, in order: nobody waits for them.
    pub without_data: Vec<u32>,
    /// Time from the segment's first packet to its last, of any station: idle time at both ends counts.
    pub duration: Span,
}

/// The station's arrivals, segment by segment; 802.11 retransmissions are left out, since the replay makes its own.
pub fn arrivals(capture: &Capture, station: &Station) -> Vec<SegmentArrivals> {
    Traffic::of(capture, station).arrivals(&BTreeSet::new())
}

/// The packets of a capture that matter to a station's radio: its own, and those that its access point sends to all.
#[derive(Debug)]
pub(crate) struct Traffic<'a> {
    pub(crate) capture: &'a Capture,
    station: &'a Station,
    /// The station's flows, those with most bytes first. Their places are the labels of arrivals.
    pub(crate) flows: Vec<Flow>,
    places: BTreeMap<FlowKey, u32>,
    /// The station's MAC address.
    own: Option<MacAddress>,
    groups: CellGroups,
    /// When frames that waited in the access point's buffer came there, by packet.
    came: BTreeMap<u32, Instant>,
}

/// A packet of the station.
struct OwnPacket {
    direction: Direction,
    /// Length of the IP packet, or of the body of a frame without one.
    bytes: u32,
    /// The place of its flow; of a packet without a flow the number of flows.
    flow: u32,
}

impl<'a> Traffic<'a> {
    /// The traffic of `station`.
    pub(crate) fn of(capture: &'a Capture, station: &'a Station) -> Self {
        let (flows, _) = flows::by_bytes(capture, Some(station));
        let places = flows.iter().zip(0..).map(|(flow, place)| (flow.key(), place)).collect();
        let own = group::own_address(capture, station);
        let seen = power_save::observe(capture);
        let groups = CellGroups::of(own, &seen);
        let came = |mac| {
            capture
                .segments
                .iter()
                .flat_map(move |part| buffered::arrivals(capture, part, mac, &seen))
                .collect()
        };
        let came = own.filter(|_| capture.is_air()).map(came).unwrap_or_default();
        Self { capture, station, flows, places, own, groups, came }
    }

    /// The arrivals without the packets of these numbers: the traffic if an application had not sent them.
    pub(crate) fn arrivals(&self, left_out: &BTreeSet<u32>) -> Vec<SegmentArrivals> {
        self.capture.segments.iter().map(|segment| self.segment_arrivals(segment, left_out)).collect()
    }

    /// The peer of each flow by its place; `others` beyond the [`LIST_LIMIT`] peers with most bytes.
    pub(crate) fn peers(&self) -> Vec<String> {
        let mut bytes: BTreeMap<Station, u64> = BTreeMap::new();
        for flow in &self.flows {
            *bytes.entry(peer(flow)).or_default() += flow.bytes();
        }
        let mut ranked: Vec<(Station, u64)> = bytes.into_iter().collect();
        ranked.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
        let named: BTreeSet<Station> = ranked.into_iter().take(LIST_LIMIT).map(|(peer, _)| peer).collect();
        let name =
            |flow| if named.contains(&peer(flow)) { peer(flow).to_string() } else { "others".to_owned() };
        self.flows.iter().map(name).collect()
    }

    /// The number of arrivals, without building them.
    pub(crate) fn count(&self) -> u64 {
        let packets = self.capture.packets.iter().filter(|packet| !packet.repeated);
        let count = |packet: &CapturedPacket| {
            let own = self.own_packet(packet).map_or(0, |own| segments(own.bytes).count() as u64);
            own + u64::from(self.groups.protocol(self.capture, packet).is_some())
        };
        packets.map(count).sum()
    }

    /// What a packet is to the station; `None` if it is not the station's or carries nothing.
    fn own_packet(&self, packet: &CapturedPacket) -> Option<OwnPacket> {
        let direction =
            self.station.direction(self.capture, packet).or_else(|| self.direction_by_mac(packet))?;
        let (bytes, flow) = match Ends::of(self.capture, packet) {
            Some(ends) => (ends.bytes, self.places.get(&ends.key()).copied()),
            None if self.capture.is_air() => return None,
            None => (group::msdu_bytes(self.capture, packet).min(MTU), None),
        };
        (bytes > 0).then(|| OwnPacket { direction, bytes, flow: flow.unwrap_or(self.flows.len() as u32) })
    }

    /// The direction of a packet that only its MAC addresses show to be the station's: one without IP, as those of ARP, or one to
    /// a group from another of its IP addresses, as before DHCP. In 802.11 captures the station's own frames are known.
    fn direction_by_mac(&self, packet: &CapturedPacket) -> Option<Direction> {
        let is_unknown = packet.ip.is_none() || packet.group.is_some();
        let (source, destination) = packet.macs.filter(|_| is_unknown && !self.capture.is_air())?;
        match self.own? {
            own if own == source => Some(Direction::Up),
            own if own == destination => Some(Direction::Down),
            _ => None,
        }
    }

    fn segment_arrivals(&self, segment: &SteadyPart, left_out: &BTreeSet<u32>) -> SegmentArrivals {
        let mut arrivals: Vec<Arrival> = Vec::new();
        let mut without_data = Vec::new();
        let mut received: BTreeMap<(FlowEndpoint, FlowEndpoint), Unacknowledged> = BTreeMap::new();
        let packets = &self.capture.packets[segment.first..segment.end];
        let replayed = packets.iter().filter(|packet| !packet.repeated && !left_out.contains(&packet.number));
        let came = |packet: &CapturedPacket| self.came.get(&packet.number).copied().unwrap_or(packet.at);
        let mut order: Vec<(Instant, &CapturedPacket)> =
            replayed.map(|packet| (came(packet), packet)).collect();
        order.sort_by_key(|(at, _)| *at);
        for (at, packet) in order {
            let at = Instant::ZERO + at.saturating_since(segment.from);
            let own = self.own_packet(packet);
            let sent = arrivals.len() as u64;
            if let Some(own) = &own {
                self.add_own(own, packet, at, &mut arrivals, &mut received);
                if packet.ip.as_ref().and_then(tcp).is_some_and(|tcp| tcp.sequence_length() == 0) {
                    without_data.extend(u32::try_from(sent));
                }
            }
            if self.groups.protocol(self.capture, packet).is_some() {
                let bytes = group::msdu_bytes(self.capture, packet).clamp(1, MTU);
                arrivals.push(Arrival {
                    at,
                    to: Destination::Group,
                    bytes,
                    after: own.and_then(|_| u32::try_from(sent).ok()),
                    flow: 0,
                });
            }
        }
        SegmentArrivals { arrivals, without_data, duration: segment.duration() }
    }

    /// Adds a packet of the station, in as many pieces as fit.
    fn add_own(
        &self,
        own: &OwnPacket,
        packet: &CapturedPacket,
        at: Instant,
        arrivals: &mut Vec<Arrival>,
        received: &mut BTreeMap<(FlowEndpoint, FlowEndpoint), Unacknowledged>,
    ) {
        let &OwnPacket { direction, bytes, flow } = own;
        let to = match direction {
            Direction::Down => Destination::Station,
            Direction::Up => Destination::AccessPoint,
        };
        let tcp = packet.ip.as_ref().and_then(|ip| Some((ip, tcp(ip)?)));
        let after = tcp.filter(|_| direction == Direction::Up).and_then(|(ip, tcp)| {
            let (_, source, destination) = endpoints(ip);
            let place = received.get_mut(&(destination, source))?.acknowledge(&tcp)?;
            u32::try_from(place).ok()
        });
        arrivals.extend(segments(bytes).map(|bytes| Arrival { at, to, bytes, after, flow }));
        if let Some((ip, tcp)) = tcp.filter(|_| direction == Direction::Down) {
            let (_, source, destination) = endpoints(ip);
            let place = arrivals.len() as u64 - 1;
            received.entry((source, destination)).or_default().segment(&tcp, place);
        }
    }
}

/// The other end of a station's flow.
fn peer(flow: &Flow) -> Station {
    flow.peer.unwrap_or(flow.second).address
}

/// The lengths of the packets that a bundle of `bytes` is divided into; one if it fits.
fn segments(bytes: u32) -> impl Iterator<Item = u32> {
    let mut rest = bytes;
    let mut first = true;
    std::iter::from_fn(move || {
        if rest == 0 {
            return None;
        }
        let headers = if first { 0 } else { BUNDLE_HEADERS };
        first = false;
        let payload = rest.min(MTU - headers);
        rest -= payload;
        Some(payload + headers)
    })
}

fn tcp(ip: &Ip) -> Option<TcpFields> {
    match ip.transport {
        TransportHeader::Tcp(tcp) => Some(tcp),
        _ => None,
    }
}

/// The segments to the station on one connection that it has not acknowledged yet, and the last one that it has.
#[derive(Default)]
struct Unacknowledged {
    /// Endpoint in sequence space and place among the arrivals, in order of both.
    segments: VecDeque<(Seq, u64)>,
    last: Option<u64>,
}

impl Unacknowledged {
    fn segment(&mut self, tcp: &TcpFields, place: u64) {
        let end = tcp.sequence + tcp.sequence_length();
        let new = self.segments.back().is_none_or(|(highest, _)| end.after(*highest));
        if tcp.sequence_length() > 0 && new {
            self.segments.push_back((end, place));
        }
    }

    /// The arrival that the station must have received before it can send this acknowledgement.
    fn acknowledge(&mut self, tcp: &TcpFields) -> Option<u64> {
        if !tcp.has(TcpFields::ACK) {
            return None;
        }
        while let Some((end, place)) = self.segments.front() {
            if end.after(tcp.acknowledgement) {
                break;
            }
            self.last = Some(*place);
            self.segments.pop_front();
        }
        self.last
    }
}
