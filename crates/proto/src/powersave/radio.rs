//! What a policy sees of a radio, and what it can ask of it.
//!
//! A [`Policy`](super::Policy) is given [facts](Fact) in the order in which they happen, and acts through a [`PowerSaveRadio`]. The
//! simulator and a Wi-Fi card whose frames are all seen offer everything. A managed interface of Linux hides the end of
//! service periods, the More Data bit and the TIM: these facts do not come there. [`Policy::NEEDS`](super::Policy::NEEDS)
//! says what a policy cannot do without; what else it uses, it replaces by what it sees.
//!
//! A simulated station can [hide](Observable) facts from its policy, so that the same code predicts what a device with
//! less sight can reach. Hiding changes what the policy sees and nothing of what the MAC does with a frame, with one
//! exception: a MAC that does not report service periods also does not hold back a trigger because one is open.

use std::ops::{BitOr, BitOrAssign};

use airwatt_base::{Instant, Span, named_values};

use super::guard::{ArrivalAfterPause, FlowSample};
use super::interface::{AirTime, ReceiveWindow, StationTimer, Uplink};
use super::{ServiceFlags, WakeAgreement, WakeHabits, WakeProposal};

/// What a device can do and see, as a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Abilities(u16);

impl Abilities {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// Reports whether a beacon announces frames for the station ([`Fact::Beacon`]).
    pub const SEE_TIM: Self = Self(1);
    /// Reports More Data, EOSP and the end of service periods ([`Fact::ServiceEnded`]).
    pub const SEE_SERVICE: Self = Self(1 << 1);
    /// Answers [`PowerSaveRadio::measure_air_time`].
    pub const SEE_AIR_TIME: Self = Self(1 << 2);
    /// Changes between active mode and power save.
    pub const SWITCH: Self = Self(1 << 3);
    /// Sends U-APSD triggers, for which the access point has to offer U-APSD (802.11-2020 11.2.3.5).
    pub const TRIGGER: Self = Self(1 << 4);
    /// Sends PS-Polls (802.11-2020 11.2.3.6).
    pub const POLL: Self = Self(1 << 5);
    /// Limits what the peers of the station's connections may send.
    pub const GRANT: Self = Self(1 << 6);
    /// Reports the packets of each flow ([`Fact::Flow`]).
    pub const SEE_FLOWS: Self = Self(1 << 7);
    /// Keeps an individual target wake time agreement (802.11ax-2021 26.8.2).
    pub const WAKE_AGREEMENT: Self = Self(1 << 9);
    /// Everything that a MAC of this project does and sees.
    pub const ALL: Self = Self(((1 << 8) - 1) | Self::WAKE_AGREEMENT.0);
    /// Saves power by itself while it is in power save: it sleeps after a time without traffic, wakes to send, and fetches what
    /// a beacon announces. So do the drivers and the firmware of Linux.
    pub const DYNAMIC_PS: Self = Self(1 << 8);

    /// Whether all of `others` are in the set.
    pub const fn contains(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }

    /// The abilities of this set that are not in the other.
    #[must_use]
    pub const fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    /// Both sets together, in a constant; elsewhere `|`.
    #[must_use]
    pub const fn and(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }
}

impl BitOr for Abilities {
    type Output = Self;
    fn bitor(self, others: Self) -> Self {
        self.and(others)
    }
}

impl BitOrAssign for Abilities {
    fn bitor_assign(&mut self, others: Self) {
        *self = self.and(others);
    }
}

/// A kind of facts that a device may be unable to report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Observable {
    /// More Data, EOSP, the end of service periods, and Null frames, which carry nothing else.
    Service,
    /// The station's bit in the TIM of beacons.
    Tim,
    /// The time that the station's own frames take on the air.
    AirTime,
}

named_values! {
    Observable {
        "service" => Self::Service = Self::Service;
        "tim" => Self::Tim = Self::Tim;
        "air-time" => Self::AirTime = Self::AirTime;
    }
}

impl Observable {
    /// The ability to report it.
    pub const fn ability(self) -> Abilities {
        match self {
            Self::Service => Abilities::SEE_SERVICE,
            Self::Tim => Abilities::SEE_TIM,
            Self::AirTime => Abilities::SEE_AIR_TIME,
        }
    }
}

/// A timer that a policy sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PolicyTimer {
    /// A time without traffic is over.
    Inactivity,
    /// The next trigger is due. Unlike the others this timer wakes the radio, in time.
    Trigger,
    /// The policy decides anew.
    Update,
}

impl From<PolicyTimer> for StationTimer {
    fn from(timer: PolicyTimer) -> Self {
        match timer {
            PolicyTimer::Inactivity => Self::Inactivity,
            PolicyTimer::Trigger => Self::Trigger,
            PolicyTimer::Update => Self::Update,
        }
    }
}

/// Something that happened at the station. The radio has processed it before the policy is given it, and decides to doze
/// afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fact {
    /// The station begins. Only the mode and timers may be set.
    Start,
    /// A beacon was received. Needs [`Abilities::SEE_TIM`].
    Beacon {
        /// Whether it announces frames for this station.
        tim: bool,
    },
    /// A unicast frame was received.
    Received {
        /// Bytes of its IP packet; 0 of a Null frame.
        bytes: u32,
        /// What its header says of the service period; `None` without [`Abilities::SEE_SERVICE`].
        service: Option<ServiceFlags>,
        /// Whether it is a Null frame, without a packet. Such a frame is not reported without [`Abilities::SEE_SERVICE`].
        null: bool,
    },
    /// An own frame left the MAC.
    Sent {
        /// The frame.
        frame: Uplink,
        /// Whether it was acknowledged; otherwise it was given up at the retry limit.
        delivered: bool,
    },
    /// The number of the user's frames in the MAC ([`PowerSaveRadio::backlog`]) has changed.
    Backlog,
    /// A service period, or the wait for a poll's answer, is over. Needs [`Abilities::SEE_SERVICE`]. It comes after
    /// [`Fact::Received`] of the frame that ended it.
    ServiceEnded {
        /// The flags of that frame; `None` if it did not come in time.
        last: Option<ServiceFlags>,
    },
    /// The negotiation of a target wake time is over, and the station is in active mode. It also comes when the radio has asked again by
    /// itself, because the access point no longer kept to an agreement.
    Agreed {
        /// What was agreed on; `None` if the access point has refused, or did not answer.
        agreement: Option<WakeAgreement>,
    },
    /// The answer to [`PowerSaveRadio::measure_air_time`].
    AirTime(AirTime),
    /// Packets of a flow were sent or received. Needs [`Abilities::SEE_FLOWS`].
    Flow(FlowSample),
    /// A packet arrived after a pause of its flow, from a device that counts packets in its kernel; before the [`Fact::Flow`] with
    /// this packet. Where each packet is a fact, the policy finds these by itself. Needs [`Abilities::SEE_FLOWS`].
    Arrival(ArrivalAfterPause),
    /// A timer that the policy set has expired.
    Timer(PolicyTimer),
}

/// A station's radio as its policy acts on it. `why` is the reason under which a wake-up is counted, if the request wakes the
/// radio.
pub trait PowerSaveRadio {
    /// What this device can do and see. Constant for the life of a policy.
    fn abilities(&self) -> Abilities;

    /// Whether the station is in power save: its frames carry PM = 1, or will as soon as one is sent.
    fn in_power_save(&self) -> bool;

    /// The number of the user's frames that wait to be sent.
    fn backlog(&self) -> u32;

    /// Whether a service period is open or a poll's answer is expected; `None` without [`Abilities::SEE_SERVICE`].
    fn in_service(&self) -> Option<bool>;

    /// The longest time between two beacons that the station receives.
    fn listening_interval(&self) -> Span;

    /// Enters or leaves power save, and announces it. In power save the radio dozes whenever nothing is pending. Does
    /// nothing if the station is in that mode.
    fn set_power_save(&mut self, on: bool, why: StationTimer);

    /// Asks for a service period. Does nothing if one is known to be open or asked for, or if a frame of the user is about to
    /// ask.
    fn trigger(&mut self, why: StationTimer);

    /// Asks for one buffered frame, unless one is expected or asked for.
    fn poll(&mut self, why: StationTimer);

    /// Says how the device keeps agreements, before it asks for one. Does nothing on a device without [`Abilities::WAKE_AGREEMENT`].
    fn set_wake_habits(&mut self, _habits: WakeHabits) {}

    /// Asks the access point for a target wake time agreement instead of the one that holds, if any. The station is in active mode from
    /// now on; [`Fact::Agreed`] is the outcome. Does nothing on a device without [`Abilities::WAKE_AGREEMENT`].
    fn agree_on(&mut self, _proposal: WakeProposal) {}

    /// Leaves power save for traffic, in which the agreement is suspended by an information frame if the access point takes such frames.
    /// Does nothing on a device without [`Abilities::WAKE_AGREEMENT`].
    fn suspend_agreement(&mut self, _why: StationTimer) {}

    /// Enters power save again, with the periods of the agreement from now on. Does nothing on a device without
    /// [`Abilities::WAKE_AGREEMENT`].
    fn resume_agreement(&mut self, _now: Instant) {}

    /// Lets the radio sleep before the end of an agreed service period. Does nothing on a device without
    /// [`Abilities::WAKE_AGREEMENT`].
    fn end_wake_period(&mut self) {}

    /// Sets or, with `None`, stops a timer of the policy.
    fn set_timer(&mut self, timer: PolicyTimer, at: Option<Instant>);

    /// Asks for [`Fact::AirTime`], which comes after the present fact is handled. Needs [`Abilities::SEE_AIR_TIME`].
    fn measure_air_time(&mut self);

    /// Lets the peers of the station's connections send this much.
    fn grant(&mut self, window: ReceiveWindow);
}
