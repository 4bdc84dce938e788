//! Target wake time: the radio sleeps from one agreed service period to the next, without receiving the beacons between them.
//!
//! The station asks for a [`WakeAgreement`](crate::powersave::WakeAgreement) at the beginning; the radio negotiates and keeps its times. In an
//! announced period the first frame of the station, or a trigger if it has none to send, tells the access point to begin. The station
//! sleeps at the end of the period, or before it when a frame says that the access point has finished (EOSP), which not every device
//! honours. A frame of the user is sent at once, outside periods too, unless the [device](WakeDevice) holds it back; what answers it waits
//! for the next period. In a trigger-enabled agreement the access point begins, with a Trigger frame, and frames of the user wait for one.
//! Group-addressed frames are not received.
//!
//! An agreement for an idle station is wrong for traffic. With [`TwtConfig::resume_after`] a frame of the user, or
//! [`TwtConfig::suspend_at`] packets in a period, suspend it: the station is in active mode until no packet has come or gone for that
//! time, as under `timeout`. If the access point takes no information frames, the PM bit of the station's frames does the same.
//!
//! Without an agreement, because the access point refuses or does not answer, the station receives beacons and fetches what they announce by
//! PS-Polls, as `psm-legacy` does. It asks again after [`ASK_AGAIN`].

mod config;
mod device;

use airwatt_base::{Instant, Span};

use super::Policy;
use super::timeout::NEXT_FRAME;
use crate::powersave::estimate::{Dozing, Estimate, Trial};
use crate::powersave::interface::{StationTimer, Uplink};
use crate::powersave::radio::{Abilities, Fact, PolicyTimer, PowerSaveRadio};
use crate::powersave::wake_agreement::WakeProposal;
use config::SUSPEND_AT;
pub use config::TwtConfig;
pub use device::WakeDevice;

/// The time after which a station whose request was refused asks again. The standard names none; agreements of others end rarely.
const ASK_AGAIN: Span = Span::from_secs(60);

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
            Fact::Start => {
                radio.set_wake_habits(self.config.habits());
                radio.agree_on(self.proposal);
            }
            Fact::Timer(PolicyTimer::Update) => radio.agree_on(self.proposal),
            Fact::Agreed { agreement } => {
                self.agreed = agreement.is_some();
                radio.set_power_save(true, StationTimer::Announce);
                radio.set_timer(PolicyTimer::Inactivity, None);
                radio.set_timer(PolicyTimer::Update, (!self.agreed).then_some(now + ASK_AGAIN));
            }
            Fact::ServiceEnded { last: Some(_) } if self.agreed && self.config.ends_early() => {
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
