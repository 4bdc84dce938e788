//! What a sender learns of the hop, from which the largest window follows: the rate at which packets arrive, and the shortest
//! round trip.
//!
//! Their product is what the hop holds without a queue. A window of twice that keeps a queue of at most as much, so that
//! acknowledgements that come in lumps do not leave the hop idle. While the window is the limit, the measured rate is the window
//! divided by the round trip, so that the bound doubles with each round trip until the hop is the limit.
//!
//! The shortest round trip is that of the whole connection: a sender that always has data never sees an empty queue again.

use airwatt_base::Span;

/// Number of round trips of which the highest rate counts.
const ROUNDS: usize = 8;

/// The estimates of one direction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HopEstimate {
    /// The packets that arrived in each of the last round trips, and how long it took; a ring.
    rounds: [(u64, Span); ROUNDS],
    next: usize,
    shortest: Option<Span>,
}

impl HopEstimate {
    /// Takes a round trip in which `packets` arrived.
    pub(super) fn note(&mut self, packets: u64, rtt: Span) {
        let rtt = rtt.max(Span::from_nanos(1));
        self.rounds[self.next] = (packets, rtt);
        self.next = (self.next + 1) % ROUNDS;
        self.shortest = Some(self.shortest.map_or(rtt, |shortest| shortest.min(rtt)));
    }

    /// Twice the packets that the hop holds, rounded up; 0 before the first round trip.
    pub(super) fn window(&self) -> u32 {
        let Some(shortest) = self.shortest else { return 0 };
        let held = |(packets, rtt): &(u64, Span)| {
            let twice = 2 * u128::from(*packets) * u128::from(shortest.as_nanos());
            twice.div_ceil(u128::from(rtt.as_nanos().max(1)))
        };
        self.rounds.iter().map(held).max().map_or(0, |packets| packets.min(u32::MAX.into()) as u32)
    }
}
