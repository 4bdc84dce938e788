//! The station's side of power save: what drives one radio.
//!
//! The machine is a skeleton ([`MacRadio`]) that every policy shares: it wakes the radio for beacons and for uplink frames,
//! follows service periods and poll answers, announces the power-management mode, and dozes when nothing is pending.
//! A [policy](StationPolicy) decides the rest: when to be in power save, when to trigger or poll.
//!
//! # What the driver does
//! * Hands in every correctly received beacon and unicast frame, and every own frame when it is acknowledged or given
//!   up: [`StationInput::Sent`] before the [`StationInput::Backlog`] that goes with it.
//! * Stamps [`StationPowerSave::pm`] on an uplink frame when an attempt at it starts.
//! * Puts [`StationOutput::Send`] ahead of the user's frames, behind earlier such frames, and does not contend while
//!   the radio sleeps or wakes up.
//! * After [`StationOutput::LeaveChannel`] neither sends nor receives until [`StationOutput::ReturnToChannel`].
//! * Applies [`StationOutput::Doze`] after it has acknowledged the frame just received.
//! * Answers [`StationOutput::Wake`] by [`StationInput::Awake`], [`StationConfig::wake_time`] later.
//! * Answers [`StationOutput::MeasureAirTime`] by [`StationInput::AirTime`], after the drain.
//! * Carries [`StationOutput::Window`] to the receivers of the station's connections.
//! * Does not contend while [`StationPowerSave::holds_frames`].
//! * While [`StationPowerSave::awaits_trigger`] sends a PPDU a SIFS after each Trigger frame instead.
//!
//! A station that receives a DTIM beacon whose group bit is set stays awake until a group-addressed frame says that no more
//! follow, or until none has come for [`StationConfig::frame_wait`] (802.11-2020 11.2.3.7).
//!
//! Left out: association, the noise of the clock between beacons (its guard time is kept, but the beacon is where the target time and an error
//! that is set say), and keep-alive frames against the access point's inactivity limit.

use airwatt_base::{Instant, Machine, Timeout};

use super::ServiceFlags;
use super::interface::{Adaptation, Purpose, StationInput, StationOutput, StationTimer};
use super::mac_radio::{MacRadio, StationConfig, StationCounts};
use super::own::{PolicyAtWork, StationPolicy};
use super::radio::{Abilities, Fact, PolicyTimer};

/// One station's power save.
#[derive(Clone, Debug)]
pub struct StationPowerSave {
    radio: MacRadio,
    sees_flows: bool,
    policy: PolicyAtWork,
}

impl StationPowerSave {
    /// A station that starts awake, and with [`StationConfig::rested`] dozes as soon as it has said so. Panics if the beacon, listen or DTIM
    /// interval is zero, if a setting of the policy is out of range, or if the policy needs what [`StationConfig::hidden`] hides.
    pub fn new(config: StationConfig, policy: impl Into<StationPolicy>) -> Self {
        let policy = policy.into();
        assert!(
            policy.needs().without(config.hidden) == policy.needs(),
            "{} needs what is hidden",
            policy.name()
        );
        let mut station = Self {
            radio: MacRadio::new(config, policy.needs_uapsd()),
            sees_flows: policy.needs().contains(Abilities::SEE_FLOWS),
            policy: policy.begin(config.start),
        };
        station.fact(Fact::Start, config.start);
        station.radio.started();
        station
    }

    /// The PM bit of an uplink frame whose first attempt starts now.
    pub fn pm(&self) -> bool {
        self.radio.pm()
    }

    /// Whether the policy decides by flows, so that [`StationInput::Flow`] is needed.
    pub fn sees_flows(&self) -> bool {
        self.sees_flows
    }

    /// Whether the radio is awake as far as the machine knows: neither dozing nor waking up.
    pub fn is_awake(&self) -> bool {
        self.radio.is_awake()
    }

    /// Whether the user's frames wait, for a service period or for a Trigger frame in one.
    pub fn holds_frames(&self) -> bool {
        self.radio.holds_frames()
    }

    /// Whether frames may be sent only in answer to Trigger frames of the access point, a SIFS after them and without contention.
    pub fn awaits_trigger(&self) -> bool {
        self.radio.awaits_trigger()
    }

    /// Whether a service period is open, or a poll's answer expected.
    pub fn in_service(&self) -> bool {
        self.radio.serves()
    }

    /// What the radio is awake for, unless it has a frame to send.
    pub fn purpose(&self) -> Purpose {
        self.radio.purpose()
    }

    /// Whether the station is idle and goes on in the same way, beacon by beacon and trigger by trigger, until a packet
    /// comes.
    pub fn is_at_rest(&self) -> bool {
        self.radio.is_at_rest()
    }

    /// Whether there is an output, or the next timer or the [purpose](Self::purpose) may have changed since the last call.
    #[inline]
    pub fn has_changed(&mut self) -> bool {
        self.radio.has_changed()
    }

    /// Whether there is an output.
    #[inline]
    pub fn has_output(&self) -> bool {
        self.radio.has_output()
    }

    /// The time of the next timer; [`Instant::FOREVER`] if none runs.
    #[inline]
    pub fn due(&self) -> Instant {
        self.radio.due()
    }

    /// What happened so far: wake-ups by reason, triggers, polls.
    pub fn counts(&self) -> &StationCounts {
        self.radio.counts()
    }

    /// The estimates of the policy; `None` if it does not adapt.
    pub fn adaptation(&self) -> Option<Adaptation> {
        self.policy.adaptation(&self.radio)
    }

    fn fact(&mut self, fact: Fact, now: Instant) {
        self.policy.fact(&mut self.radio, fact, now);
    }

    fn received(&mut self, bytes: u32, flags: ServiceFlags, null: bool, now: Instant) {
        let ended = self.radio.received(flags, now);
        if !self.radio.sees(Abilities::SEE_SERVICE) {
            if !null {
                self.fact(Fact::Received { bytes, service: None, null }, now);
            }
            return;
        }
        self.fact(Fact::Received { bytes, service: Some(flags), null }, now);
        if ended {
            self.fact(Fact::ServiceEnded { last: Some(flags) }, now);
        }
    }

    fn timer(&mut self, timer: StationTimer, now: Instant) {
        match timer {
            StationTimer::Announce => self.radio.announce(now),
            StationTimer::Beacon => self.radio.await_beacon(now),
            StationTimer::BeaconWindow => self.radio.beacon_missed(now),
            StationTimer::ServicePeriod => {
                self.radio.end_service();
                if self.radio.sees(Abilities::SEE_SERVICE) {
                    self.fact(Fact::ServiceEnded { last: None }, now);
                }
            }
            StationTimer::Inactivity => self.fact(Fact::Timer(PolicyTimer::Inactivity), now),
            StationTimer::Update => self.fact(Fact::Timer(PolicyTimer::Update), now),
            StationTimer::GroupFrames => self.radio.end_group(),
            StationTimer::Scan => self.radio.scan_is_due(now),
            StationTimer::TargetWake => self.radio.wake_period_is_due(now),
            StationTimer::TargetWakeEnd => self.radio.wake_period_is_over(now),
            StationTimer::WakeRequest => {
                if self.radio.wake_request_is_due() {
                    self.fact(Fact::Agreed { agreement: None }, now);
                }
            }
            // Every timer is followed by the decision to doze.
            StationTimer::MinimumAwake => {}
            StationTimer::Trigger => {
                if self.radio.trigger_is_due(now) {
                    self.fact(Fact::Timer(PolicyTimer::Trigger), now);
                }
            }
        }
    }
}

impl Machine for StationPowerSave {
    type Input = StationInput;
    type Output = StationOutput;
    type Reason = StationTimer;

    fn handle_input(&mut self, input: StationInput, now: Instant) {
        match input {
            StationInput::Beacon { tim, group } => {
                self.radio.beacon(tim, group, now);
                if self.radio.sees(Abilities::SEE_TIM) {
                    self.fact(Fact::Beacon { tim }, now);
                }
            }
            StationInput::Group { more_data } => self.radio.group_received(more_data, now),
            StationInput::Received { bytes, flags, null } => self.received(bytes, flags, null, now),
            StationInput::Wake(frame) => {
                if let Some(agreement) = self.radio.answered(frame, now) {
                    self.fact(Fact::Agreed { agreement }, now);
                }
            }
            StationInput::Sent { frame, delivered } => {
                self.radio.sent(frame, delivered, now);
                self.fact(Fact::Sent { frame, delivered }, now);
            }
            StationInput::Backlog { frames } => {
                self.radio.set_backlog(frames);
                self.fact(Fact::Backlog, now);
            }
            StationInput::Awake => self.radio.awake(now),
            StationInput::AirTime(air_time) => self.fact(Fact::AirTime(air_time), now),
            StationInput::Flow(sample) => self.fact(Fact::Flow(sample), now),
        }
        self.radio.settle(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        let mut served = false;
        while let Some(timer) = self.radio.expire(now) {
            self.timer(timer, now);
            served = true;
        }
        if served {
            self.radio.settle(now);
        }
    }

    fn poll_output(&mut self) -> Option<StationOutput> {
        self.radio.poll_output()
    }

    fn poll_timeout(&self) -> Option<Timeout<StationTimer>> {
        self.radio.next_timeout()
    }
}
