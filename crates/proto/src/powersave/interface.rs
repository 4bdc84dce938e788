//! What passes between a station's power save and its driver: inputs, outputs, and the reasons for which it wakes up.
//!
//! [`StationPowerSave`](super::StationPowerSave) says what a driver does with them.

use airwatt_base::{Span, timer_kinds};

use super::guard::FlowSample;
use super::{PowerSaveFrame, ServiceFlags, WakeFrame};

timer_kinds! {
    /// Why a station's power save wakes up. Names are those of the results.
    pub enum StationTimer {
        /// When to announce the power-management mode: at the start, and again after that frame was lost.
        Announce = "announce",
        /// When to hear the next beacon.
        Beacon = "beacon",
        /// When to give up on a beacon that does not come.
        BeaconWindow = "beacon-window",
        /// When to give up on the end of a service period, or on the answer to a PS-Poll.
        ServicePeriod = "service-period",
        /// When to fall asleep after a time without traffic.
        Inactivity = "inactivity",
        /// When to send the next scheduled trigger.
        Trigger = "trigger",
        /// When to decide anew how to save power.
        Update = "update",
        /// When to doze because the radio has been awake for its minimum time.
        MinimumAwake = "minimum-awake",
        /// When to give up on group-addressed frames that do not come.
        GroupFrames = "group-frames",
        /// A scan is due: the radio leaves the channel, or returns.
        Scan = "scan",
        /// When to wake up for an agreed service period, and to begin it.
        TargetWake = "twt",
        /// When to end an agreed service period.
        TargetWakeEnd = "twt-end",
        /// When to ask for an agreement on service periods, or to give up on the answer.
        WakeRequest = "twt-request",
    }
}

/// An uplink frame as power save sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Uplink {
    /// A frame of the user.
    Data {
        /// Its size.
        bytes: u32,
    },
    /// A frame that came by [`StationOutput::Send`].
    Control(PowerSaveFrame),
}

/// What comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StationInput {
    /// A beacon was received.
    Beacon {
        /// Whether this station's TIM bit is set.
        tim: bool,
        /// Whether group-addressed frames follow: the group bit of a DTIM beacon.
        group: bool,
    },
    /// A group-addressed frame was received.
    Group {
        /// Whether more of them follow.
        more_data: bool,
    },
    /// A unicast downlink frame was received correctly.
    Received {
        /// Size of its packet, as the policies count traffic.
        bytes: u32,
        /// What its header says.
        flags: ServiceFlags,
        /// Whether it is a Null frame, without a packet.
        null: bool,
    },
    /// An action frame about target wake time was received. It comes instead of [`StationInput::Received`].
    Wake(WakeFrame),
    /// An own frame was acknowledged, or given up at the retry limit.
    Sent {
        /// Which.
        frame: Uplink,
        /// Whether an acknowledgement came.
        delivered: bool,
    },
    /// The number of the user's frames in the MAC has changed.
    Backlog {
        /// Their number, including the one being sent.
        frames: u32,
    },
    /// The radio has woken up.
    Awake,
    /// The answer to [`StationOutput::MeasureAirTime`].
    AirTime(AirTime),
    /// A packet of a flow was handed to the MAC or received; after [`StationInput::Backlog`] or [`StationInput::Received`]
    /// of the same packet, and so perhaps after a reply to it. Its times are those of the packet. Only if [`StationPowerSave::sees_flows`](super::station::StationPowerSave::sees_flows).
    Flow(FlowSample),
}

/// What the station's radio has done for its own traffic since any fixed beginning. Only differences count, so a driver
/// may hand out counters as it finds them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct AirTime {
    /// Time in which it sent.
    pub transmit: Span,
    /// Time in which it received.
    pub receive: Span,
    /// Time in which it, or the access point on its behalf, contended for the medium: interframe spaces and backoff. A
    /// driver that does not know it adds the mean of one access for each frame exchange.
    pub backoff: Span,
}

impl AirTime {
    /// The sum.
    pub fn total(&self) -> Span {
        self.transmit + self.receive + self.backoff
    }
}

/// The receive window that a station offers to its peers, for all of its connections together. It can shrink a window that was
/// offered before, because nothing else closes a large window in time; senders have to tolerate that (RFC 9293 section
/// 3.8.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveWindow {
    /// The windows are those of the receivers.
    Open,
    /// The receivers advertise no edge beyond this number of bytes after what has arrived. Zero closes the window.
    Grant {
        /// Number of bytes.
        bytes: u64,
    },
}

/// The estimates of an adaptive policy, for traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adaptation {
    /// Time between triggers.
    pub interval: Span,
    /// Estimated peak rate of the path in bit/s; 0 while it is unknown.
    pub peak_bps: u64,
    /// Rate of an application-limited stream in bit/s; `None` if the traffic is not known to be one.
    pub application_bps: Option<u64>,
    /// Smoothed throughput in bit/s.
    pub throughput_bps: u64,
    /// Whether the station is in active mode.
    pub active: bool,
}

/// What a radio is awake for. Of several reasons the first in this list is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A service period is open, or the answer to a PS-Poll is expected.
    Service,
    /// Group-addressed frames are due.
    Group,
    /// A beacon is due.
    Beacon,
    /// The radio sleeps when a time without traffic is over.
    TimeoutTail,
    /// None of these.
    Idle,
}

/// What goes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StationOutput {
    /// Wake the radio.
    Wake,
    /// Let the radio sleep.
    Doze,
    /// Let the radio leave the channel of the access point for a scan.
    LeaveChannel,
    /// Let the radio return to the channel.
    ReturnToChannel,
    /// Queue this frame ahead of the user's. Comes only while the radio is awake.
    Send(PowerSaveFrame),
    /// Discard the user's frames that are not on the air.
    Discard,
    /// Hand in [`StationInput::AirTime`], once the outputs are drained.
    MeasureAirTime,
    /// Let the receivers of the station's connections offer this window.
    Window(ReceiveWindow),
}
