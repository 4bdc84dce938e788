//! The plain association: numbered datagrams, each with one or more whole inner packets.
//!
//! Congestion control and retransmission are left to the inner transports, which have both: a second control loop below
//! them only hides losses from them. Numbers count what was lost on the way. A datagram that comes twice is delivered
//! twice, which IP permits.

use std::collections::VecDeque;

use airwatt_base::Instant;

use super::wire::{NUMBERS, TunnelHeader};
use super::{Association, AssociationOutput, Inner};

/// A datagram of the plain association.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram<P> {
    /// Its header.
    pub header: TunnelHeader,
    /// The packets that it carries; none in a trigger or a keep-alive.
    pub packets: Vec<P>,
}

/// The plain association.
#[derive(Clone, Debug)]
pub struct Plain<P> {
    /// Inner packets share a datagram as long as they have this many bytes together. A longer packet has its own.
    limit: u32,
    /// The datagram in the making, and its bytes.
    packets: Vec<P>,
    bytes: u32,
    /// The number of the next datagram.
    next: u32,
    /// The number that the next datagram of the peer should have; `None` before the first.
    expected: Option<u32>,
    lost: u64,
    /// The latest numbers that count as lost, in the order of the datagrams: one that is only late is taken back.
    missing: VecDeque<u32>,
    outputs: VecDeque<AssociationOutput<P, Datagram<P>>>,
}

/// Numbers of datagrams that may still come late: a path that holds back more than these has lost them to its user.
const MISSING_MAX: usize = 1_024;
/// A number that differs from the expected one by so many or more is that of a peer that began anew, and shows no loss.
const FARTHEST: u32 = 1 << 16;

impl<P> Plain<P> {
    /// An association in which packets of up to `limit` bytes together share a datagram; 0 for one packet in each.
    pub const fn new(limit: u32) -> Self {
        Self {
            limit,
            packets: Vec::new(),
            bytes: 0,
            next: 0,
            expected: None,
            lost: 0,
            missing: VecDeque::new(),
            outputs: VecDeque::new(),
        }
    }

    /// Changes the number of bytes up to which packets share a datagram.
    pub const fn set_limit(&mut self, limit: u32) {
        self.limit = limit;
    }

    /// Datagrams of the peer that have not come, as far as the numbers of the others show. One that was overtaken counts until it
    /// comes.
    pub const fn lost(&self) -> u64 {
        self.lost
    }

    fn flush(&mut self, ends_burst: bool) {
        let header = TunnelHeader { number: self.next, ends_burst };
        self.next = (self.next + 1) % NUMBERS;
        self.bytes = 0;
        let packets = std::mem::take(&mut self.packets);
        self.outputs.push_back(AssociationOutput::Transmit(Datagram { header, packets }));
    }

    fn note_number(&mut self, number: u32) {
        let expected = self.expected.unwrap_or(number);
        let (ahead, behind) =
            (number.wrapping_sub(expected) % NUMBERS, expected.wrapping_sub(number) % NUMBERS);
        if ahead < FARTHEST {
            self.lost += u64::from(ahead);
            let latest = (1..=ahead.min(MISSING_MAX as u32)).rev();
            self.missing.extend(latest.map(|back| number.wrapping_sub(back) % NUMBERS));
            self.missing.drain(..self.missing.len().saturating_sub(MISSING_MAX));
            self.expected = Some((number + 1) % NUMBERS);
        } else if let Some(place) = self.missing.iter().rposition(|missing| *missing == number) {
            self.missing.remove(place);
            self.lost -= 1;
        } else if number == 0 || behind >= FARTHEST {
            // The peer began anew.
            self.expected = Some((number + 1) % NUMBERS);
            self.missing.clear();
        }
    }
}

impl<P: Inner> Association for Plain<P> {
    type Inner = P;
    type Datagram = Datagram<P>;

    fn has_room(&self) -> bool {
        true
    }

    fn send(&mut self, packet: P, _now: Instant) {
        let bytes = packet.bytes();
        if !self.packets.is_empty() && self.bytes.saturating_add(bytes) > self.limit {
            self.flush(false);
        }
        self.bytes = self.bytes.saturating_add(bytes);
        self.packets.push(packet);
    }

    fn end_burst(&mut self, _now: Instant) {
        if !self.packets.is_empty() {
            self.flush(true);
        }
    }

    fn probe(&mut self, _now: Instant) {
        self.flush(true);
    }

    fn receive(&mut self, datagram: Datagram<P>, _now: Instant) {
        self.note_number(datagram.header.number);
        self.outputs.extend(datagram.packets.into_iter().map(AssociationOutput::Deliver));
        if datagram.header.ends_burst {
            self.outputs.push_back(AssociationOutput::BurstEnded);
        }
    }

    fn handle_timeout(&mut self, _now: Instant) {}

    fn due(&self) -> Option<Instant> {
        None
    }

    fn poll(&mut self) -> Option<AssociationOutput<P, Datagram<P>>> {
        self.outputs.pop_front()
    }
}
