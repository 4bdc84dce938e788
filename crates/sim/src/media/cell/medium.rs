//! What the medium is doing, and the frames that one exchange puts on it.

use airwatt_base::{Instant, Span};

use super::contention::ContenderId;
use super::frame::Kind;

/// What the medium is doing.
#[derive(Clone, Debug)]
pub(super) enum Medium {
    /// Contention runs.
    Idle,
    /// One node's frame is on its way and will be acknowledged, or is a beacon.
    Exchange(Exchange),
    /// One node's frame is on its way and will not be acknowledged.
    Failure(Exchange),
    /// The nodes in `Cell::winners` began at once.
    Collision {
        /// When the longest of the frames ends.
        end: Instant,
    },
}

/// One attempt at one frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exchange {
    pub(super) sender: ContenderId,
    /// When the frame has arrived.
    pub(super) data_end: Instant,
    /// When the acknowledgement has arrived.
    pub(super) end: Instant,
    /// Whether the data frame has been handled.
    pub(super) arrived: bool,
    /// Last instant of the sender's transmission opportunity.
    pub(super) txop_end: Instant,
    /// An RTS was sent and not answered.
    pub(super) rts_failed: bool,
}

impl Medium {
    /// When the cell has to act next, unless contention runs.
    pub(super) fn next_step(&self) -> Option<Instant> {
        match self {
            Self::Idle => None,
            Self::Exchange(exchange) if exchange.arrived => Some(exchange.end),
            Self::Exchange(exchange) | Self::Failure(exchange) => Some(exchange.data_end),
            Self::Collision { end } => Some(*end),
        }
    }
}

/// How long the parts of one exchange last.
pub(super) struct Plan {
    pub(super) bytes: u32,
    pub(super) rts: bool,
    pub(super) rts_time: Span,
    pub(super) cts_time: Span,
    /// From the exchange's beginning to the data frame's.
    pub(super) before_data: Span,
    pub(super) data_time: Span,
    pub(super) ack_time: Span,
    pub(super) tau: Span,
    pub(super) sifs: Span,
}

impl Plan {
    /// From the exchange's beginning until the acknowledgement has arrived.
    pub(super) fn total(&self) -> Span {
        self.before_data + self.data_time + self.sifs + self.ack_time + self.tau * 2
    }

    /// What a frame of the exchange says in its Duration field: the rest of the exchange (802.11-2020 9.2.5.2).
    pub(super) fn nav(&self, kind: Kind) -> Span {
        let after_data = self.sifs + self.ack_time;
        let after_cts = self.sifs + self.data_time + after_data;
        match kind {
            Kind::Rts => self.sifs + self.cts_time + after_cts,
            Kind::Cts => after_cts,
            Kind::Ack | Kind::Beacon => Span::ZERO,
            _ => after_data,
        }
    }
}

/// One frame of an exchange.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub(super) kind: Kind,
    pub(super) start: Instant,
    pub(super) duration: Span,
    pub(super) by_station: bool,
    pub(super) received: bool,
}

/// The frames of an exchange: at most RTS, CTS, data and ACK.
#[derive(Default)]
pub(super) struct Parts {
    parts: [Option<Part>; 4],
    count: usize,
}

impl Parts {
    pub(super) fn push(
        &mut self,
        kind: Kind,
        start: Instant,
        duration: Span,
        by_station: bool,
        received: bool,
    ) {
        self.parts[self.count] = Some(Part { kind, start, duration, by_station, received });
        self.count += 1;
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Part> {
        self.parts.iter().flatten()
    }
}
