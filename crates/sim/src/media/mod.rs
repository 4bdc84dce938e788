//! Media: what joins the nodes of a network.
//!
//! * [`Wire`]: two [`Pipe`]s, each one direction with a rate, a delay and a queue.
//! * [`PointToPointMedium`]: both directions of a point-to-point wireless hop, and the states of its station's radio.
//! * [`cell`]: an 802.11 cell.
//! * [`errors`]: packets that a wireless hop damages.
//! * [`fq_codel`]: a queue of flows that take turns, before a wire and in an access point.
//!
//! [`Medium`] is one of the three. Its members are numbered: of a wire 0 is the end towards the server, of a
//! point-to-point hop 0 is the base station, and those of a cell are, access point by access point, the access point and its
//! stations.

pub mod cell;
pub mod errors;
pub mod fq_codel;
mod link_queue;
mod pipe;
mod point_to_point;
mod wire;

use airwatt_base::{Instant, Machine};
use airwatt_proto::powersave::ReceiveWindow;

use crate::direction::Direction;
use crate::packet::Packet;
use crate::pending::Pending;
use crate::route::Member;
use cell::CellMedium;

pub use link_queue::LinkDiscipline;
pub use pipe::{CrossTraffic, Pipe, PipeConfig, PipeOutput, PipeStatistics, PipeTimer};
pub(crate) use point_to_point::large_queue;
pub use point_to_point::{PointToPointConfig, PointToPointInput, PointToPointMedium, PointToPointOutput};
pub use wire::Wire;

/// One medium of a network.
#[derive(Clone, Debug)]
pub enum Medium {
    /// A wire.
    Wire(Box<Wire>),
    /// A point-to-point wireless hop.
    PointToPoint(Box<PointToPointMedium>),
    /// An 802.11 cell.
    Cell(Box<CellMedium>),
}

/// An output of a medium. Packets are lent, since copies of them decide the speed of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MediumOutput<'a> {
    /// A packet has arrived at a member.
    Arrived {
        /// The member that received it.
        at: Member,
        /// The packet.
        packet: &'a Packet,
        /// On a point-to-point hop, the time at which its transmission began.
        began: Option<Instant>,
    },
    /// A packet was lost.
    Lost {
        /// The packet.
        packet: &'a Packet,
        /// On a point-to-point hop, the time at which the transmission of a packet began that arrived damaged.
        began: Option<Instant>,
    },
    /// The power save of a member bounds what the senders of its downloads may send.
    Grant {
        /// The member.
        member: Member,
        /// The bound.
        window: ReceiveWindow,
    },
}

impl Direction {
    /// The direction of a packet that this member of a wire or of a point-to-point hop sends.
    pub(crate) const fn from_member(member: Member) -> Self {
        if member == 0 { Self::Down } else { Self::Up }
    }

    /// The member at which packets of this direction arrive.
    const fn destination(self) -> Member {
        match self {
            Self::Down => 1,
            Self::Up => 0,
        }
    }
}

impl Medium {
    /// Keeps every trace from now on.
    pub fn trace(&mut self) {
        match self {
            Self::Wire(wire) => wire.pipes.iter_mut().for_each(Pipe::trace),
            Self::PointToPoint(hop) => hop.trace(),
            Self::Cell(cell) => cell.trace(),
        }
    }

    /// What its traces so far occupy, in bytes.
    pub(crate) fn kept_bytes(&self) -> usize {
        match self {
            Self::Wire(wire) => wire.pipes.iter().map(Pipe::kept_bytes).sum(),
            Self::PointToPoint(hop) => hop.kept_bytes(),
            Self::Cell(cell) => cell.kept_bytes(),
        }
    }

    /// Member `from` transmits a packet to member `to`.
    #[inline]
    pub fn transmit(&mut self, from: Member, to: Member, packet: Packet, now: Instant) -> Pending {
        match self {
            Self::Wire(wire) => {
                let pipe = &mut wire.pipes[Direction::from_member(from) as usize];
                pipe.handle_input(packet, now);
                pipe.pending()
            }
            Self::PointToPoint(hop) => {
                let direction = Direction::from_member(from);
                hop.handle_input(PointToPointInput { direction, packet }, now);
                hop.pending()
            }
            Self::Cell(cell) => {
                cell.transmit(from, to, packet, now);
                cell.pending()
            }
        }
    }

    /// Serves the timers that are due; of a wire, those of one direction.
    #[inline]
    pub fn handle_timeout(&mut self, direction: Direction, now: Instant) -> Pending {
        match self {
            Self::Wire(wire) => {
                let pipe = &mut wire.pipes[direction as usize];
                pipe.handle_timeout(now);
                pipe.pending()
            }
            Self::PointToPoint(hop) => {
                hop.handle_timeout(now);
                hop.pending()
            }
            Self::Cell(cell) => {
                cell.handle_timeout(now);
                cell.pending()
            }
        }
    }

    /// Takes all outputs in order; of a wire, those of one direction.
    #[inline]
    pub fn drain(&mut self, direction: Direction, mut each: impl FnMut(MediumOutput<'_>)) {
        match self {
            Self::Wire(wire) => {
                let (pipe, at) = (&mut wire.pipes[direction as usize], direction.destination());
                while let Some((packet, sound)) = pipe.front() {
                    each(if sound {
                        MediumOutput::Arrived { at, packet, began: None }
                    } else {
                        MediumOutput::Lost { packet, began: None }
                    });
                    pipe.advance();
                }
            }
            Self::PointToPoint(hop) => {
                while let Some(PointToPointOutput { direction, output }) = hop.poll_output() {
                    each(of_hop(&output, direction));
                }
            }
            Self::Cell(cell) => cell.drain(each),
        }
    }

    /// The time of the next timer, [`Instant::FOREVER`] if there is none; of a wire, of one direction.
    #[inline]
    pub fn due(&self, direction: Direction) -> Instant {
        match self {
            Self::Wire(wire) => wire.pipes[direction as usize].due(),
            Self::PointToPoint(hop) => hop.pending().due,
            Self::Cell(cell) => cell.due(),
        }
    }
}

fn of_hop(output: &PipeOutput, direction: Direction) -> MediumOutput<'_> {
    match output {
        PipeOutput::Arrived { packet, began } => {
            MediumOutput::Arrived { at: direction.destination(), packet, began: Some(*began) }
        }
        PipeOutput::Damaged { packet, began } => MediumOutput::Lost { packet, began: Some(*began) },
        PipeOutput::Dropped(packet) => MediumOutput::Lost { packet, began: None },
    }
}
