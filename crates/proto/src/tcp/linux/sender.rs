//! The send half: its parts, and what joins them.
//!
//! Each part has its rules in a file beside this one and knows no other part but as an argument. What joins them is in layers,
//! each of which calls only those before it: `control` (what the congestion control learns and decides), `recovery` (losses and
//! the states of congestion avoidance), `output` (what is sent when, and in which bursts), `expiry` (of the timer), and
//! `ack` (what an acknowledgement does).

mod ack;
mod control;
mod expiry;
pub(super) mod info;
mod output;
mod recovery;

use std::collections::VecDeque;

use super::accurate::Reports;
use super::ackloss::Watch;
use super::chronograph::Chronograph;
use super::clock::Clock;
use super::config::LinuxConfig;
use super::congestion::Congestion;
use super::pacing::Pacing;
use super::queue::Queue;
use super::rack::Rack;
use super::rate::Rate;
use super::reduction::Reduction;
use super::rtt::Rtt;
use super::space::{FIRST, SendSpace};
use super::timers::Timers;
use super::write_queue::WriteQueue;

/// A packet that the send half releases.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outgoing {
    pub(super) start: u64,
    pub(super) len: u32,
    pub(super) flags: u16,
    pub(super) retransmission: bool,
}

/// How a burst is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Push {
    /// Everything that the windows permit; a partial segment by Nagle's rule.
    Nagle,
    /// Everything that the windows permit, partial segments too (Nagle's rule is off).
    Now,
    /// One segment of new data, whatever the window: a probe.
    Probe,
}

/// The send half.
#[derive(Clone, Debug, Default)]
pub(super) struct Sender {
    pub(super) config: LinuxConfig,
    pub(super) writes: WriteQueue,
    pub(super) space: SendSpace,
    pub(super) queue: Queue,
    pub(super) rtt: Rtt,
    pub(super) congestion: Congestion,
    pub(super) timers: Timers,
    pub(super) pacing: Pacing,
    rack: Rack,
    reduction: Reduction,
    rate: Rate,
    chronograph: Chronograph,
    /// The detector of lost acknowledgements, once the connection stands, if there is one.
    pub(super) ackloss: Option<Box<Watch>>,
    /// What the peer says of the marks on packets of this end, with AccECN.
    pub(super) reports: Option<Reports>,
    pub(super) out: VecDeque<Outgoing>,
    pub(super) last_sent: Option<u64>,
    pub(super) established: bool,
    /// The device refuses packets: a queueing discipline without room.
    pub(super) blocked: bool,
}

impl Sender {
    pub(super) fn new(config: &LinuxConfig) -> Self {
        Self {
            writes: WriteQueue::new(config.send_buffer.0, config.no_delay),
            space: SendSpace { mss: 536, ..SendSpace::default() },
            rtt: Rtt::new(config.rto_min.as_nanos() / 1000, config.rto_max.as_nanos() / 1000),
            congestion: Congestion::new(config),
            timers: Timers { clock: Clock::new(config), ..Timers::default() },
            rack: Rack::new(config.reordering),
            config: config.clone(),
            ..Self::default()
        }
    }

    /// Whether data waits to be sent.
    fn has_unsent(&self) -> bool {
        self.writes.end > self.space.nxt
    }

    /// Whether nothing is outstanding and nothing waits to be sent.
    pub(super) fn is_idle(&self) -> bool {
        self.queue.is_empty() && !self.has_unsent()
    }

    /// Bytes written and neither acknowledged nor read by the device.
    pub(super) fn written(&self) -> u64 {
        self.writes.end.saturating_sub(self.space.una.max(FIRST))
    }

    /// The room for writes in bytes.
    pub(super) fn room(&self) -> u64 {
        let segments = self.congestion.cwnd.max(self.config.initial_window).max(self.rack.reordering + 1);
        self.writes.room(self.written(), self.size_goal(), segments, self.config.send_buffer.1)
    }

    /// Bytes of a buffer of the kernel.
    fn size_goal(&self) -> u64 {
        self.space.size_goal(self.config.burst_max())
    }
}
