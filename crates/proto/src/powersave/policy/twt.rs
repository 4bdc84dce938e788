//! Target wake time: the radio sleeps from one agreed service period to the next, without receiving the beacons between them.
//!
//! The station asks for a [`WakeAgreement`](crate::powersave::WakeAgreement) at the beginning; the radio negotiates and keeps its times. In an
//! announced period the first frame of the station, or a trigger if it has none to send, tells the access point to begin. The station
//! sleeps at the end of the period, or before it when a frame says that the access point has finished (EOSP), which not every device
//! honours. A frame of the user is sent at once, outside periods too; what answers it waits for the next period. In a trigger-enabled
//! agreement the access point begins, with a Trigger frame, and frames of the user wait for one.
//! Group-addressed frames are not received.
//!
//! An agreement for an idle station is wrong for traffic. With [`TwtConfig::resume_after`] a frame of the user, or
//! [`TwtConfig::suspend_at`] packets in a period, suspend it: the station is in active mode until no packet has come or gone for that
//! time, as under `timeout`. If the access point takes no information frames, the PM bit of the station's frames does the same.
//!
//! Without an agreement, because the access point refuses or does not answer, the station receives beacons and fetches what they announce by
//! PS-Polls, as `psm-legacy` does. It asks again after [`ASK_AGAIN`].

use airwatt_base::settings::{SettingError, Settings, in_range};
use airwatt_base::{Instant, Span, with_defaults};

use super::Policy;
use super::timeout::NEXT_FRAME;
use crate::powersave::estimate::{Dozing, Estimate, Trial};
use crate::powersave::interface::{StationTimer, Uplink};
use crate::powersave::radio::{Abilities, Fact, PolicyTimer, PowerSaveRadio};
use crate::powersave::wake_agreement::{WakeProposal, WakeRequest};

with_defaults! {
    /// Settings of policy `twt`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    pub struct TwtConfig {
        /// Time from the start of one service period to that of the next, rounded down to what the TWT element can carry. Default 1 s.
        pub interval: Span = Span::from_secs(1),
        /// Least time awake in a service period that is not ended early, rounded up to what the element can carry. Default 16.384 ms, the
        /// least that access points with Linux's driver mt7915 accept.
        pub duration: Span = Span::from_micros(16_384),
        /// Whether the access point waits for a frame of the station before it sends. Default: it does.
        pub announced: bool = true,
        /// Whether the station sends only in answer to Trigger frames, of which the access point sends one at the start of each service period.
        /// Frames of the user wait for it. Default: the station contends.
        pub trigger_enabled: bool = false,
        /// Whether the station sleeps as soon as the access point ends the service period (EOSP). Default: it does. Firmware of the nRF70
        /// stays awake for the whole duration.
        pub early_end: bool = true,
        /// Time without a packet after which an agreement that was suspended for traffic holds again. Default: none, traffic does not suspend
        /// it.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub resume_after: Option<Span> = None,
        /// Packets received in one service period that suspend the agreement; a frame of the user always does. Only with `resume_after`;
        /// default 2.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub suspend_at: Option<u32> = None,
    }
}

impl TwtConfig {
    /// What the station asks of the access point.
    pub(in crate::powersave) fn request(&self) -> WakeRequest {
        let request = WakeRequest::nearest(self.interval, self.duration, self.announced);
        WakeRequest { trigger_enabled: self.trigger_enabled, ..request }
    }
}

impl Settings for TwtConfig {
    fn check(&self) -> Result<(), SettingError> {
        in_range("duration", self.duration, Span::from_micros(256), WakeRequest::MAX_DURATION)?;
        let least = self.duration.max(Span::from_millis(1));
        in_range("interval", self.interval, least, Span::from_secs(86_400))?;
        // Rounding may turn an interval of hardly more than the duration into less.
        let WakeRequest { interval, duration, .. } = self.request();
        in_range("interval", interval, duration, Span::from_secs(86_400))?;
        if let Some(resume_after) = self.resume_after {
            in_range("resume_after", resume_after, Span::from_millis(1), Span::from_secs(3_600))?;
        } else if self.suspend_at.is_some() {
            return Err(SettingError::no_effect(
                "suspend_at",
                "an agreement that traffic does not suspend",
                "resume_after",
            ));
        }
        in_range("suspend_at", self.suspend_at.unwrap_or(SUSPEND_AT), 1, 1_000_000)
    }
}

/// The time after which a station whose request was refused asks again. The standard names none; agreements of others end rarely.
const ASK_AGAIN: Span = Span::from_secs(60);
/// Packets of a service period that suspend the agreement, unless it is set. One may be all there is; a second one says that there is traffic.
const SUSPEND_AT: u32 = 2;

#[derive(Clone, Debug)]
pub(in crate::powersave) struct Twt {
    config: TwtConfig,
    proposal: WakeProposal,
    agreed: bool,
    /// Time of the first packet of a service period, and the packets from it on.
    period: (Instant, u32),
}

impl Twt {
    /// Handles traffic: the agreement is suspended from now on, for `resume_after`, or `least` if that is longer.
    fn traffic(&self, radio: &mut dyn PowerSaveRadio, least: Span, now: Instant) {
        let Some(resume_after) = self.config.resume_after.filter(|_| self.agreed) else { return };
        radio.suspend_agreement(StationTimer::Inactivity);
        radio.set_timer(PolicyTimer::Inactivity, Some(now + resume_after.max(least)));
    }

    /// Handles a packet. One of a period comes within its duration of the first, and none of the next does.
    fn received(&mut self, radio: &mut dyn PowerSaveRadio, now: Instant) {
        let (first, packets) = self.period;
        let is_same = packets > 0 && now.saturating_since(first) <= self.proposal.request.duration;
        self.period = if is_same { (first, packets + 1) } else { (now, 1) };
        if !radio.in_power_save() || self.period.1 >= self.config.suspend_at.unwrap_or(SUSPEND_AT) {
            self.traffic(radio, NEXT_FRAME, now);
        }
    }
}

impl Policy for Twt {
    type Config = TwtConfig;
    const NEEDS: Abilities = Abilities::SWITCH.and(Abilities::WAKE_AGREEMENT);
    /// From less than a beacon interval to what TCP's timers bear.
    const ESTIMATE: Estimate = Estimate {
        dozing: Dozing::Adaptive,
        trials: &[
            Trial::of("interval", Span::from_millis(50)),
            Trial::of("interval", Span::from_millis(200)),
            Trial::of("interval", Span::from_secs(1)),
            Trial::of("interval", Span::from_secs(10)),
        ],
    };

    fn new(config: TwtConfig, _start: Instant) -> Self {
        let proposal = WakeProposal { request: config.request(), start: None };
        Self { config, proposal, agreed: false, period: (Instant::ZERO, 0) }
    }

    fn fact(&mut self, radio: &mut dyn PowerSaveRadio, fact: Fact, now: Instant) {
        match fact {
            Fact::Start | Fact::Timer(PolicyTimer::Update) => radio.agree_on(self.proposal),
            Fact::Agreed { agreement } => {
                self.agreed = agreement.is_some();
                radio.set_power_save(true, StationTimer::Announce);
                radio.set_timer(PolicyTimer::Inactivity, None);
                radio.set_timer(PolicyTimer::Update, (!self.agreed).then_some(now + ASK_AGAIN));
            }
            Fact::ServiceEnded { last: Some(_) } if self.agreed && self.config.early_end => {
                radio.end_wake_period();
            }
            Fact::Beacon { tim: true } if !self.agreed => radio.poll(StationTimer::Beacon),
            Fact::ServiceEnded { last: Some(flags) } if !self.agreed && flags.more_data => {
                radio.poll(StationTimer::ServicePeriod);
            }
            Fact::Received { null: false, .. } => self.received(radio, now),
            Fact::Sent { frame: Uplink::Data { .. }, .. } => self.traffic(radio, Span::ZERO, now),
            Fact::Backlog if radio.backlog() > 0 => self.traffic(radio, Span::ZERO, now),
            Fact::Timer(PolicyTimer::Inactivity) if radio.backlog() > 0 => {
                self.traffic(radio, NEXT_FRAME, now);
            }
            Fact::Timer(PolicyTimer::Inactivity) => radio.resume_agreement(now),
            _ => {}
        }
    }
}
