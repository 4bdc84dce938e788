//! Packets at the times at which they were captured, through a cell that decides anew when each is on the air.
//!
//! The times are the capture's and do not react: a delay that the new cell adds does not slow the sender down, as it
//! would with real TCP. One thing is kept, or power save would look better than it is: a packet that acknowledges
//! another is not sent before that one was received, however early the capture has it. What a replay gives is the delay
//! added and the energy spent at otherwise unchanged arrivals.
//!
//! Group-addressed packets come to the access point like others. When they are sent, and whether the station receives them, is
//! up to the power save of both; nothing waits for them, and they have no delay.

use std::collections::{BTreeMap, VecDeque};

use airwatt_base::{Instant, Span};

use super::{Call, DatagramFate, SocketRequest};
use crate::packet::FlowLabel;
use crate::stack::role::Role;

/// Where a packet of a capture goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// From the access point to the station.
    Station,
    /// From the station to the access point.
    AccessPoint,
    /// From the access point to all stations of the cell.
    Group,
}

/// One packet of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The time at which it comes to the access point, or to the station's MAC if it goes to the access point.
    pub at: Instant,
    /// Where it goes.
    pub to: Destination,
    /// Length of the IP packet in bytes.
    pub bytes: u32,
    /// The place, in the order of arrivals, of a packet that must have been received before this one can be sent. It is as wide as the
    /// numbers of packets: a capture has many of these records.
    pub after: Option<u32>,
    /// The flow to which the energy of its frames is charged. A group-addressed packet belongs to none.
    pub flow: FlowLabel,
}

/// What became of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delay {
    /// Which packet: its place in the order of arrivals, from 0.
    pub number: u64,
    /// Towards the station.
    pub down: bool,
    /// From arrival to reception at the other end of the air.
    pub delay: Span,
}

/// The packets of one station, in order of time.
#[derive(Clone, Debug)]
pub struct Replay {
    arrivals: Vec<Arrival>,
    next: usize,
    /// Time that was skipped: the arrivals that follow come this much earlier than the capture has them.
    skipped: Span,
    /// Whether each packet was received or lost.
    settled: Vec<bool>,
    /// Packets that are due and wait for another, by the one they wait for.
    waiting: BTreeMap<u64, Vec<u64>>,
    /// Packets that are to be sent now.
    pending: VecDeque<u64>,
    /// Delay of each packet that crossed the air, in order of reception.
    pub delays: Vec<Delay>,
    /// Packets lost on the way.
    pub lost: u64,
    /// Group-addressed packets that were handed to the access point.
    groups: u64,
}

impl Replay {
    /// A replay of `arrivals`, which are sorted by time here.
    pub fn new(mut arrivals: Vec<Arrival>) -> Self {
        arrivals.sort_by_key(|arrival| arrival.at);
        let delays = Vec::with_capacity(arrivals.len());
        let settled = vec![false; arrivals.len()];
        let (waiting, pending) = (BTreeMap::new(), VecDeque::new());
        Self { arrivals, next: 0, skipped: Span::ZERO, settled, waiting, pending, delays, lost: 0, groups: 0 }
    }

    /// The time at which the next packet is due.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.arrivals.get(self.next).map(|arrival| arrival.at.saturating_sub(self.skipped))
    }

    /// Whether every packet so far has crossed the air or been lost. The access point knows of group-addressed ones.
    pub(crate) fn is_settled(&self) -> bool {
        self.delays.len() as u64 + self.lost + self.groups >= self.next as u64
    }

    /// Lets the packets that follow arrive earlier by `span`.
    pub(crate) fn skip(&mut self, span: Span) {
        self.skipped = self.skipped.saturating_add(span);
    }

    /// Whether every packet has crossed the air or been lost.
    pub(super) fn is_over(&self) -> bool {
        self.due().is_none() && self.is_settled()
    }

    /// Sends the next packet, unless it has to wait for another.
    pub(super) fn handle_timeout(&mut self) {
        let Some(arrival) = self.arrivals.get(self.next) else { return };
        let number = self.next as u64;
        self.next += 1;
        // A packet cannot wait for one that comes later.
        match arrival.after.map(u64::from).filter(|after| *after < number && !self.settled[*after as usize]) {
            Some(after) => self.waiting.entry(after).or_default().push(number),
            None => self.pending.push_back(number),
        }
    }

    /// A packet was received or lost; those that waited for it are sent.
    pub(super) fn settle(&mut self, number: u32, fate: DatagramFate) {
        let number = u64::from(number);
        match fate {
            DatagramFate::Arrived(role, delay) => {
                self.delays.push(Delay { number, down: role == Role::Receiver, delay });
            }
            DatagramFate::Lost => self.lost += 1,
        }
        if let Some(settled) = self.settled.get_mut(number as usize) {
            *settled = true;
        }
        self.pending.extend(self.waiting.remove(&number).unwrap_or_default());
    }

    pub(super) fn poll_call(&mut self) -> Option<Call> {
        let number = self.pending.pop_front()?;
        let Arrival { at, to, bytes, flow, .. } = self.arrivals[number as usize];
        let since = at.saturating_sub(self.skipped);
        let datagram = SocketRequest::Send { number: number as u32, bytes, since, flow: Some(flow) };
        Some(match to {
            Destination::Station => Call { connection: 0, role: Role::Sender, request: datagram },
            Destination::AccessPoint => Call { connection: 0, role: Role::Receiver, request: datagram },
            Destination::Group => {
                self.groups += 1;
                Call {
                    connection: 0,
                    role: Role::Sender,
                    request: SocketRequest::SendToGroup { bytes, since },
                }
            }
        })
    }
}
