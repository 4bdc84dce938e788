//! What enters and leaves a cell, its counts, and its trace.

use airwatt_base::Instant;
use airwatt_proto::powersave::{self as ps, StationId};

use super::frame::{ExternalFrame, TracedFrame};
use super::radio::RadioEvent;
use crate::packet::Packet;
use crate::route::Member;

/// What enters the cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CellInput {
    /// A packet that an access point sends to one of its stations, a station to its access point, or a station of an ad-hoc
    /// network to another.
    Packet {
        /// The source.
        from: Member,
        /// The destination.
        to: Member,
        /// The packet.
        packet: Packet,
    },
    /// A frame of a node outside.
    Frame {
        /// The node that sends it.
        from: Member,
        /// The destination; `None` is the group address.
        to: Option<Member>,
        /// The frame.
        frame: ExternalFrame,
    },
    /// The radio of a node outside is to sleep, unless it has a frame to send, or to be awake.
    Radio {
        /// The node.
        of: Member,
        /// Whether it is to be awake.
        awake: bool,
    },
}

/// What the cell emits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CellOutput {
    /// A packet has arrived.
    Arrived {
        /// The member that received it.
        at: Member,
        /// The packet.
        packet: Packet,
    },
    /// The receivers of a station have to offer this receive window from now on.
    Window {
        /// The station.
        member: Member,
        /// The window.
        window: ps::ReceiveWindow,
    },
    /// A frame of a node outside has arrived.
    FrameArrived {
        /// The number of the frame.
        number: u32,
        /// The node that received it.
        at: Member,
    },
    /// A frame of a node outside has left its queue.
    FrameEnded {
        /// The number of the frame.
        number: u32,
        /// Whether it was acknowledged, or sent as a broadcast.
        acknowledged: bool,
        /// How often it was sent.
        attempts: u32,
    },
    /// A packet was lost in the cell: it found a buffer full, reached the retry limit, or came to the end of its lifetime.
    Lost(Packet),
}

airwatt_base::timer_kinds! {
    /// Why a cell wakes up.
    pub enum CellTimer {
        /// When to take the next step of an exchange, or to begin one.
        Medium = "medium",
        /// When to send a beacon.
        Beacon = "beacon",
        /// When to wake a station's power-save machine.
        PowerSave = "power-save",
        /// When a radio has woken up.
        Radio = "radio",
    }
}

/// Counts of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CellStatistics {
    /// Attempts to send a frame that carries data, control or a beacon; RTS, CTS and ACK are not counted.
    pub frames: u64,
    /// Attempts after the first.
    pub retries: u64,
    /// Frames in these attempts, if one may have several.
    pub mpdus: Option<u64>,
    /// Accesses at which more than one node began to send.
    pub collisions: u64,
    /// Packets dropped at the access point's buffers.
    pub ap_drops: u64,
    /// Packets given up at the retry limit.
    pub given_up: u64,
    /// Packets whose lifetime was over, if they have one.
    pub expired: Option<u64>,
}

/// Queue lengths and frames over time, if a trace is wanted.
#[derive(Clone, Debug, Default)]
pub struct CellTrace {
    /// Frames on the air.
    pub frames: Vec<TracedFrame>,
    /// Changes between awake and dozing.
    pub radios: Vec<RadioEvent>,
    /// The knowledge of adaptive policies about their traffic, after each change.
    pub adaptations: Vec<(Instant, StationId, ps::Adaptation)>,
    /// Packets in the first access point's transmission queue, after each change.
    pub ap_queue: Vec<(Instant, u32)>,
    /// Packets in the first access point's power-save buffers together, after each change.
    pub ap_power_save: Vec<(Instant, u32)>,
}
