//! The packets that a tunnel holds, flow by flow, taken by deficit round robin (Shreedhar and Varghese 1996).
//!
//! A flow may send 300 bytes in each round: acknowledgements and other small packets precede the full-sized packets of bulk
//! transfers, which wait a few rounds (RFC 8290 recommends this quantum for slow links). Within a flow packets keep their order.
//! A full queue drops the oldest packet of the flow that holds the most bytes. A flow without packets has no entry, so
//! that a peer cannot make the table long.

use std::collections::{BTreeMap, VecDeque};

use airwatt_base::Instant;

use super::Inner;

/// Bytes that a flow may send in each round.
pub const QUANTUM: u32 = 300;

#[derive(Clone, Debug)]
struct FlowQueue<P> {
    packets: VecDeque<(P, Instant)>,
    bytes: u64,
    /// Bytes that the flow may still send in this round.
    deficit: u32,
}

/// Packets by flow.
#[derive(Clone, Debug)]
pub struct FlowQueues<P: Inner> {
    flows: BTreeMap<P::Flow, FlowQueue<P>>,
    /// Flows with packets, in the order of their turns.
    turns: VecDeque<P::Flow>,
    packets: usize,
    bytes: u64,
    limit: u64,
}

impl<P: Inner> FlowQueues<P> {
    /// Queues that hold up to `limit` bytes together.
    pub const fn new(limit: u64) -> Self {
        Self { flows: BTreeMap::new(), turns: VecDeque::new(), packets: 0, bytes: 0, limit }
    }

    /// Number of packets.
    pub const fn len(&self) -> usize {
        self.packets
    }

    /// Whether there is no packet.
    pub const fn is_empty(&self) -> bool {
        self.packets == 0
    }

    /// If `packet` makes the last packet of its flow superfluous, takes its place. Returns the packet that is dropped.
    pub fn supersede(&mut self, packet: &P) -> Option<P> {
        let queue = self.flows.get_mut(&packet.flow())?;
        let (last, _) = queue.packets.back_mut()?;
        if !packet.supersedes(last) {
            return None;
        }
        let (old, new) = (u64::from(last.bytes()), u64::from(packet.bytes()));
        queue.bytes = queue.bytes - old + new;
        self.bytes = self.bytes - old + new;
        Some(std::mem::replace(last, packet.clone()))
    }

    /// Adds a packet. Returns the packet that is dropped for it, which may be this one.
    pub fn push(&mut self, packet: P, now: Instant) -> Option<P> {
        let (flow, bytes) = (packet.flow(), u64::from(packet.bytes()));
        let queue = self.flows.entry(flow).or_insert_with(|| {
            self.turns.push_back(flow);
            FlowQueue { packets: VecDeque::new(), bytes: 0, deficit: QUANTUM }
        });
        queue.packets.push_back((packet, now));
        queue.bytes += bytes;
        self.packets += 1;
        self.bytes += bytes;
        if self.bytes <= self.limit { None } else { self.drop_longest() }
    }

    fn drop_longest(&mut self) -> Option<P> {
        let (flow, _) = self.flows.iter().max_by_key(|(_, queue)| queue.bytes)?;
        let (packet, _) = self.take(*flow)?;
        Some(packet)
    }

    /// Takes the first packet of a flow.
    fn take(&mut self, flow: P::Flow) -> Option<(P, Instant)> {
        let queue = self.flows.get_mut(&flow)?;
        let (packet, since) = queue.packets.pop_front()?;
        let bytes = u64::from(packet.bytes());
        queue.bytes -= bytes;
        self.bytes -= bytes;
        self.packets -= 1;
        if queue.packets.is_empty() {
            self.flows.remove(&flow);
            self.turns.retain(|turn| *turn != flow);
        }
        Some((packet, since))
    }

    /// Takes the packet whose turn it is, with the time since which it was held.
    pub fn pop(&mut self) -> Option<(P, Instant)> {
        loop {
            let flow = *self.turns.front()?;
            let queue = self.flows.get_mut(&flow)?;
            let bytes = queue.packets.front()?.0.bytes();
            if bytes <= queue.deficit {
                queue.deficit -= bytes;
                return self.take(flow);
            }
            queue.deficit = queue.deficit.saturating_add(QUANTUM);
            self.turns.rotate_left(1);
        }
    }
}
