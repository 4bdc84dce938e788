//! What is measured of a flow.
//!
//! The network counts in four places only: a socket transmits, a data packet arrives at the receiving socket, the
//! receiving socket delivers, and a packet is lost.

mod delivery;
mod meter;

use airwatt_base::percentile::Histogram;
use airwatt_base::{Instant, Span};

pub use delivery::Deliveries;
pub use meter::{BIN, Meter};

use crate::stack::role::Role;
use crate::stack::transport::SocketEvent;

/// The measurements of one flow.
#[derive(Clone, Debug, Default)]
pub struct FlowRecord {
    /// The time at which the application began.
    pub started: Option<Instant>,
    /// The time at which the receiver had everything.
    pub completed: Option<Instant>,
    /// The time at which the sender knew.
    pub acknowledged: Option<Instant>,
    /// Whether a connection ended before the flow was complete.
    pub failed: bool,
    /// Payload that the receiving application got, in bytes.
    pub received: u64,
    /// The part of it that a gateway gave up, and that arrived as zeros.
    pub given_up_by_gateway: u64,
    /// Payload that the receiver gave up, as permitted by the reliability, in bytes.
    pub given_up_by_receiver: u64,
    /// Datagrams sent.
    pub packets_sent: u64,
    /// Packets with data that arrived.
    pub packets_arrived: u64,
    /// Datagrams lost.
    pub packets_lost: u64,
    /// Sum of the latencies of the packets that arrived, from the sending to the receiving host; with a gateway, from the
    /// gateway.
    pub latency: Span,
    /// The latency of the first of them.
    pub first_latency: Span,
    /// The distribution of the latencies of the others, if it is wanted.
    pub later_latencies: Option<Histogram>,
    /// Pure acknowledgements lost.
    pub acks_lost: u64,
    /// Bytes of IP packets sent in both directions; with a gateway, on its wireless side.
    pub bytes_sent: u64,
    /// How long data took over a point-to-point link.
    pub deliveries: Deliveries,
    /// What the receiver delivered in the measured interval.
    pub meter: Meter,
}

impl FlowRecord {
    /// The record of a flow that has not begun.
    pub fn new(meter: Meter) -> Self {
        Self { meter, ..Self::default() }
    }

    /// Enters a packet with data that arrived after this time.
    pub(crate) fn arrive(&mut self, latency: Span) {
        self.packets_arrived += 1;
        self.latency += latency;
        if self.packets_arrived == 1 {
            self.first_latency = latency;
        } else if let Some(later) = &mut self.later_latencies {
            later.add(latency);
        }
    }

    /// The distribution of the latencies of all packets that arrived, if it is wanted.
    pub(crate) fn latencies(&self) -> Option<Histogram> {
        let mut all = self.later_latencies.clone()?;
        if self.packets_arrived > 0 {
            all.add(self.first_latency);
        }
        Some(all)
    }

    /// Payload delivered to the receiving application, without zeros, in bytes.
    pub const fn delivered(&self) -> u64 {
        self.received.saturating_sub(self.given_up_by_gateway)
    }

    /// Payload given up on the way, in bytes.
    pub const fn given_up(&self) -> u64 {
        self.given_up_by_receiver + self.given_up_by_gateway
    }

    /// Whether a flow over a connection is done, whether it was successful or not.
    pub const fn is_over(&self) -> bool {
        self.failed || self.acknowledged.is_some() && self.completed.is_some()
    }

    /// Whether the flow has begun and is not over.
    pub(crate) const fn is_under_way(&self) -> bool {
        self.started.is_some() && !self.is_over()
    }

    /// A connection of the flow was reset, refused or timed out.
    pub(crate) const fn lose_connection(&mut self) {
        self.failed |= !self.is_over();
    }

    /// Takes note of an event of the socket at the `role` end.
    pub(crate) const fn note(&mut self, role: Role, event: SocketEvent) {
        match (event, role) {
            (SocketEvent::Delivered(bytes), Role::Receiver) => self.received += bytes,
            (SocketEvent::GaveUp(bytes), Role::Receiver) => self.given_up_by_receiver += bytes,
            (SocketEvent::Late(bytes), Role::Receiver) => {
                self.received += bytes;
                self.given_up_by_receiver -= bytes;
            }
            (SocketEvent::Lost, _) => self.lose_connection(),
            _ => {}
        }
    }
}
