//! Queues before a link that choose which packet is next: the queueing disciplines of Linux hosts and home gateways (`tc qdisc`).
//!
//! * **fq_codel**: [`FqCodel`] as RFC 8290 sets it, which is what the kernel has: 5 ms, 100 ms, 1024 queues, turns of 1514 bytes.
//! * **fq**: flows take turns of two packets, a new one of ten, and each has at most 100 packets. Nothing is dropped for having waited. Its other
//!   half, pacing, is the sender's own (`tcp.paced`): the kernel's TCP sets the times at which `fq` lets a flow's packets go.
//! * **CAKE**: FQ-CoDel in which the flows of a host share its turns, of the sender's and of the receiver's the one with more (*triple
//!   isolation*). With its ACK filter an acknowledgement of TCP goes when two newer ones of its flow wait. Hoeiland-Joergensen, Taht and Morton,
//!   *Piece of CAKE*, LANMAN 2018.
//!
//! Left out of CAKE: its shaper (the link has its rate), tins of DSCP (there is one, `besteffort`), BLUE, which drops at random from what does not
//! answer CoDel, hashing in sets of eight, and the quantum of slow links. The filter here lets acknowledgements with SACK blocks alone; CAKE filters those
//! whose blocks a newer one has.

use airwatt_base::Instant;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fq_codel::{FqCodel, FqCodelConfig, HostKeys};
use crate::packet::{Endpoints, Packet, Payload};

/// How packets wait before a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LinkDiscipline {
    /// First come, first served; what finds the queue full is dropped.
    #[default]
    DropTail,
    /// Flows take turns, and queues that stand are dropped from (RFC 8290).
    FqCodel,
    /// Flows take turns, each with at most 100 packets.
    Fq,
    /// As `fq-codel`, but hosts take turns, and the flows of each.
    Cake,
    /// The same with CAKE's ACK filter.
    CakeAckFilter,
}

/// Acknowledgements that the filter leaves beside the newest one. CAKE's code was not at hand; its manual says that the filter is conservative.
const KEPT_ACKS: usize = 1;

/// A queue that chooses.
#[derive(Clone, Debug)]
pub(super) struct LinkQueue {
    flows: FqCodel<Endpoints, Packet>,
    filters: bool,
}

impl LinkQueue {
    /// An empty queue of at most `limit` packets; `None` for one that does not choose.
    pub(super) fn new(discipline: LinkDiscipline, limit: u32) -> Option<Self> {
        let codel = FqCodelConfig { limit, ..FqCodelConfig::default() };
        let flows = match discipline {
            LinkDiscipline::DropTail => return None,
            LinkDiscipline::FqCodel => FqCodel::new(codel),
            LinkDiscipline::Fq => FqCodel::new(FqCodelConfig {
                quantum: 2 * codel.quantum,
                first_quantum: 10 * codel.quantum,
                flow_limit: 100,
                // No packet waits that long.
                target: Instant::FOREVER - Instant::ZERO,
                ..codel
            }),
            LinkDiscipline::Cake | LinkDiscipline::CakeAckFilter => FqCodel::new(codel).with_hosts(hosts),
        };
        let flows = flows.with_marks(Packet::mark);
        Some(Self { flows, filters: discipline == LinkDiscipline::CakeAckFilter })
    }

    /// Number of packets.
    pub(super) const fn len(&self) -> usize {
        self.flows.len()
    }

    /// Takes a packet. What has to go for it is appended to `dropped`.
    pub(super) fn push(&mut self, packet: Packet, now: Instant, dropped: &mut Vec<Packet>) {
        let flow = packet.endpoints();
        dropped.extend(self.flows.enqueue(flow, packet, packet.bytes, now));
        if self.filters && packet.payload.is_pure_ack() {
            dropped.extend(self.flows.take_first(flow, KEPT_ACKS, |older| is_covered(older, &packet)));
        }
    }

    /// The next packet. What CoDel drops on the way is appended to `dropped`.
    pub(super) fn pop(&mut self, now: Instant, dropped: &mut Vec<Packet>) -> Option<Packet> {
        self.flows.dequeue(now, dropped)
    }
}

/// Sender and receiver of a flow, told apart by their last bit.
fn hosts((src, _, dst, _): &Endpoints) -> HostKeys {
    [u32::from(src.0) << 1, u32::from(dst.0) << 1 | 1]
}

/// Whether a newer acknowledgement of the same flow says all that an older one says.
fn is_covered(older: &Packet, newer: &Packet) -> bool {
    let (Payload::Tcp(old), Payload::Tcp(new)) = (older.payload, newer.payload) else { return false };
    let is_alike = older.endpoints() == newer.endpoints()
        && old.is_pure_ack()
        && (old.flags, old.ecn) == (new.flags, new.ecn);
    is_alike && old.sack.iter().next().is_none() && old.ack.before(new.ack)
}

#[cfg(test)]
mod tests {
    use airwatt_base::Seq;
    use airwatt_proto::tcp::{Ecn, Flags, SackBlocks, Segment};

    use super::*;
    use crate::route::Address;

    fn packet(src: u16, sport: u16, number: u32) -> Packet {
        let packet = Packet::datagram(number, 1_500, Instant::ZERO);
        Packet { src: Address(src), dst: Address(100 + sport), sport, ..packet }
    }

    fn ack(to: u32, len: u16) -> Packet {
        let segment = Segment {
            seq: Seq::new(0),
            ack: Seq::new(to),
            window: 65_535,
            len,
            flags: Flags::ACK,
            ecn: Ecn::NONE,
            sack: SackBlocks::default(),
            timestamps: None,
        };
        Packet { payload: Payload::Tcp(segment), bytes: 52 + u32::from(len), ..packet(1, 1, 0) }
    }

    /// The order in which the queue gives packets at one time, by sender and port.
    fn order(queue: &mut LinkQueue) -> Vec<(u16, u16)> {
        let mut dropped = Vec::new();
        let next = || queue.pop(Instant::ZERO, &mut dropped);
        std::iter::from_fn(next).map(|packet| (packet.src.0, packet.sport)).collect()
    }

    /// Host 1 has three flows and host 2 one. By flows it has three turns of four, by hosts each has half.
    #[test]
    fn cake_is_fair_to_hosts() {
        let share = |discipline| {
            let mut queue = LinkQueue::new(discipline, 10_000).expect("it chooses");
            let mut dropped = Vec::new();
            for number in 0..400 {
                for (src, sport) in [(1, 1), (1, 2), (1, 3), (2, 4)] {
                    queue.push(packet(src, sport, number), Instant::ZERO, &mut dropped);
                }
            }
            assert!(dropped.is_empty());
            let first = order(&mut queue).into_iter().take(400);
            first.filter(|(src, _)| *src == 2).count()
        };
        let (flows, hosts) = (share(LinkDiscipline::FqCodel), share(LinkDiscipline::Cake));
        assert!((95..=105).contains(&flows), "{flows}");
        assert!((185..=205).contains(&hosts), "{hosts}");
    }

    /// A flow has 100 packets at most, a new one is served first with ten, then all take turns of two.
    #[test]
    fn fq_has_turns_and_a_limit_for_each_flow() {
        let mut queue = LinkQueue::new(LinkDiscipline::Fq, 10_000).expect("it chooses");
        let mut dropped = Vec::new();
        for number in 0..150 {
            queue.push(packet(1, 1, number), Instant::ZERO, &mut dropped);
        }
        queue.push(packet(2, 2, 0), Instant::ZERO, &mut dropped);
        assert_eq!((queue.len(), dropped.len()), (101, 50));
        // Hours later all are still there.
        let later = Instant::from_secs(36_000);
        let mut found = Vec::new();
        while let Some(packet) = queue.pop(later, &mut dropped) {
            found.push(packet.src.0);
        }
        assert_eq!((found.len(), dropped.len()), (101, 50));
        // Ten packets of 1500 bytes are less than ten of 1514: the eleventh is taken with the rest of the turn.
        assert_eq!(found.iter().position(|src| *src == 2), Some(11));
    }

    /// Of acknowledgements that wait the newest two are left; data, other flags and the same number again stay.
    #[test]
    fn the_filter_takes_acknowledgements_that_newer_ones_cover() {
        let left = |discipline, packets: &[Packet]| {
            let mut queue = LinkQueue::new(discipline, 100).expect("it chooses");
            let mut dropped = Vec::new();
            packets.iter().for_each(|packet| queue.push(*packet, Instant::ZERO, &mut dropped));
            (queue.len(), dropped.len())
        };
        let acks: Vec<Packet> = (1..=10).map(|number| ack(1_000 * number, 0)).collect();
        assert_eq!(left(LinkDiscipline::Cake, &acks), (10, 0));
        assert_eq!(left(LinkDiscipline::CakeAckFilter, &acks), (2, 8));
        let again: Vec<Packet> = (1..=10).map(|_| ack(1_000, 0)).collect();
        assert_eq!(
            left(LinkDiscipline::CakeAckFilter, &again),
            (10, 0),
            "duplicates say that something is lost"
        );
        let data: Vec<Packet> = (1..=10).map(|number| ack(1_000 * number, 1)).collect();
        assert_eq!(left(LinkDiscipline::CakeAckFilter, &data), (10, 0));
    }
}
