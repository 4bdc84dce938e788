//! BA-TA: U-APSD with an interval between triggers that follows the path's bottleneck (Camps-Mur and Sallent-Ribes).
//!
//! A slow path fills the access point's buffer slowly, and the beacons fetch what it brings; a fast one needs triggers in
//! between, or a radio that stays awake. The station learns which from the frames alone: the [estimator](super::estimator) says
//! what the path can carry, the [controller] how often to trigger and when to change mode. `ba-ta+str` also
//! takes [note of streams](streaming) that have all they want.
//!
//! # Triggers
//! * The next trigger goes out an interval after the last service period's end. One that falls into a period is left out,
//!   and one that was lost is tried again after an interval. The user's frames trigger as well.
//! * Beacons are heard all the time, and one that announces frames is answered by a trigger.
//! * While the interval is no shorter than the time between beacons there are no other triggers: beacons say sooner, and
//!   for less energy, whether something waits. An idle station costs what it costs under `psm`.
//! * Only triggers count as answered in vain, not frames of the user: the period that a TCP acknowledgement opens is
//!   empty as a rule, and says nothing about the interval.
//!
//! # Time
//! The controller runs every `t_update` from the first packet on, or by setting at the beacons. When nothing has come for
//! `forget_after` and the interval is back at its longest, it rests: an idle station has no timer but the beacons'. In active mode it asks for the air
//! time, which the driver knows, before it decides.
//!
//! # Devices that show less
//! * Without More Data, EOSP and Null frames, a *burst* takes the place of a service period: it begins with an own frame that
//!   was acknowledged, or with a packet, and ends after a [silence](SILENCE). The buffer was empty at the last packet of a
//!   burst, so the bytes from one such moment to the next bound the peak rate as those between two EOSPs do. They are the
//!   bytes between two own triggers, except that bursts which run into each other give no moment. A trigger was in vain
//!   if no packet came before the next own frame. What is lost: a burst is known to be over only a silence later, a
//!   period that ends with more data waiting is not followed by a trigger at once, and a gap of others' traffic that is
//!   longer than the silence splits a burst, so that the estimate can exceed the bottleneck's rate.
//! * Without the TIM nothing but own frames fetches packets. Triggers go out at the interval, however long it is, and an
//!   idle station sends one each `int_max`.
//! * A driver that saves power by itself fetches what a beacon announces. Over such a driver nothing is sent on a quiet link:
//!   when nothing has come for `forget_after` there are no triggers, whatever the interval. That matters if `int_max` is
//!   shorter than the time between beacons, as the paper's 100 ms beside 100 time units; a simulated station, which does as
//!   the paper says, triggers then also when idle.
//! * Without the air time, that of the station counts as none: active mode is left as soon as the throughput reaches
//!   `ratio_min` of the peak rate.
//!
//! Left out: everything that is not elastic traffic. The paper leaves real-time categories to their own trigger schemes.

mod config;
mod controller;
mod streaming;
#[cfg(test)]
mod tests;

use std::marker::PhantomData;

use airwatt_base::settings::Settings;
use airwatt_base::{Instant, Span};

pub use self::config::{BaTaConfig, BaTaStrConfig, StreamConfig};
use self::controller::{Controller, Seen, Switch};
use self::streaming::History;
use super::Policy;
use super::estimator::PeakRate;
use crate::powersave::interface::{AirTime, StationTimer, Uplink};
use crate::powersave::radio::{Abilities, Fact, PolicyTimer, PowerSaveRadio};
use crate::powersave::{Adaptation, PowerSaveFrame, Ratio, ServiceFlags};

/// The time without a frame after which a burst is over, if the end of service periods is hidden: three transmission
/// opportunities of 3 ms that others may hold between two frames, and their contention. At most half of `int_min`, so that
/// a burst is over before the next trigger is due.
const SILENCE: Span = Span::from_millis(10);

/// What is known of the service period or burst that is open, or of the last one.
#[derive(Clone, Copy, Debug, Default)]
struct Period {
    open: bool,
    /// Whether a trigger opened it, and no frame of the user.
    asked: bool,
    /// Whether a packet was received in it.
    data: bool,
}

/// Returns whether the device can report or do this.
fn sees(radio: &dyn PowerSaveRadio, ability: Abilities) -> bool {
    radio.abilities().contains(ability)
}

/// BA-TA, and by its settings `C` also BA-TA+Str.
#[derive(Clone, Debug)]
pub(in crate::powersave) struct BaTa<C = BaTaConfig> {
    config: BaTaConfig,
    peak: PeakRate,
    controller: Controller,
    history: Option<History>,
    period: Period,
    /// The time from which the interval counts: the end of the last service period, or the time of a trigger that was lost.
    trigger_from: Instant,
    /// Bits received since the last update.
    received_bits: u64,
    empty_triggers: u32,
    updated: Instant,
    last_data: Instant,
    resting: bool,
    /// Air time at the last reading.
    busy: Option<Span>,
    /// Whether the update that is due waits for the air time.
    measuring: bool,
    settings: PhantomData<C>,
}

/// BA-TA with its addition for streams.
pub(in crate::powersave) type BaTaStr = BaTa<BaTaStrConfig>;

impl<C> BaTa<C> {
    /// Returns the rate with which the throughput is compared.
    fn reference_bps(&self) -> u64 {
        let application = self.history.as_ref().and_then(History::application_bps);
        application.unwrap_or(self.peak.bps())
    }

    fn nothing_came_lately(&self, now: Instant) -> bool {
        now.saturating_since(self.last_data) >= self.config.forget_after
    }

    fn resume(&mut self, radio: &mut dyn PowerSaveRadio, now: Instant) {
        self.resting = false;
        self.received_bits = 0;
        self.empty_triggers = 0;
        self.updated = now;
        self.set_update_timer(radio, now);
    }

    /// Sets the time of the next update, unless a beacon gives it.
    fn set_update_timer(&self, radio: &mut dyn PowerSaveRadio, now: Instant) {
        if !self.runs_at_beacons(radio) {
            radio.set_timer(PolicyTimer::Update, Some(now + self.config.t_update));
        }
    }

    /// Returns whether beacons run the controller. A device that hides them has a timer.
    fn runs_at_beacons(&self, radio: &dyn PowerSaveRadio) -> bool {
        self.config.update_on_beacons && sees(radio, Abilities::SEE_TIM)
    }

    /// Runs the controller at a beacon if it is time.
    fn beacon(&mut self, radio: &mut dyn PowerSaveRadio, now: Instant) {
        let since = now.saturating_since(self.updated) + radio.listening_interval() / 2;
        if self.runs_at_beacons(radio) && !self.resting && since >= self.config.t_update {
            self.update_due(radio, now);
        }
    }

    /// Sets the next trigger if one is needed.
    fn schedule(&self, radio: &mut dyn PowerSaveRadio, now: Instant) {
        if !radio.in_power_save() {
            return;
        }
        let interval = self.controller.interval();
        // A driver that saves power by itself fetches what a beacon announces.
        let by_itself = sees(radio, Abilities::DYNAMIC_PS);
        let fetches = sees(radio, Abilities::SEE_TIM) || by_itself;
        let quiet = by_itself && self.nothing_came_lately(now);
        let beacons_suffice = fetches && (quiet || interval >= radio.listening_interval());
        let at = (self.trigger_from + interval).max(now);
        radio.set_timer(PolicyTimer::Trigger, (!beacons_suffice).then_some(at));
    }

    fn restart_interval(&mut self, radio: &mut dyn PowerSaveRadio, now: Instant) {
        self.trigger_from = now;
        self.schedule(radio, now);
    }

    /// Starts the wait for the silence that ends a burst.
    fn await_silence(&self, radio: &mut dyn PowerSaveRadio, now: Instant) {
        let silence = SILENCE.min(self.config.int_min / 2);
        radio.set_timer(PolicyTimer::Inactivity, Some(now + silence));
    }

    /// Ends a burst after a silence: the buffer was empty at its last packet.
    fn burst_ended(&mut self, radio: &mut dyn PowerSaveRadio, now: Instant) {
        self.period.open = false;
        if self.period.data {
            self.peak.emptied(self.last_data, self.config.t_update);
            self.trigger_from = self.last_data;
        }
        self.schedule(radio, now);
    }

    /// Notes the service period, or the burst, that an own frame opened.
    fn note_opening(&mut self, radio: &mut dyn PowerSaveRadio, frame: Uplink, delivered: bool, now: Instant) {
        let asked = frame == Uplink::Control(PowerSaveFrame::Trigger);
        let Some(in_service) = radio.in_service() else {
            if delivered && (asked || matches!(frame, Uplink::Data { .. })) {
                self.empty_triggers += u32::from(self.period.asked && !self.period.data);
                self.period = Period { open: true, asked, data: false };
                self.await_silence(radio, now);
            }
            return;
        };
        if in_service && !self.period.open {
            self.period = Period { open: true, asked, data: false };
        }
    }

    /// Runs the controller. `utilization` counts in active mode only.
    fn update(&mut self, radio: &mut dyn PowerSaveRadio, utilization: Ratio, now: Instant) {
        let active = !radio.in_power_save();
        if active {
            self.peak.estimate(now, self.config.t_update);
        }
        if self.nothing_came_lately(now) {
            self.forget();
        }
        let elapsed = now.saturating_since(self.updated);
        let (bits, empty_triggers) = (self.received_bits, self.empty_triggers);
        let seen = Seen { bits, elapsed, empty_triggers, active, utilization };
        let before = self.controller.interval();
        self.controller.measure(&seen);
        if let Some(history) = &mut self.history {
            history.measured(self.controller.throughput_bps);
        }
        let switch = self.controller.decide(&seen, self.reference_bps());
        let interval = self.controller.interval();
        if let Some(history) = &mut self.history {
            history.record(bits, elapsed, before, interval, switch == Some(Switch::Enter));
        }
        self.received_bits = 0;
        self.empty_triggers = 0;
        self.updated = now;
        match switch {
            Some(Switch::Enter) => {
                self.period = Period::default();
                radio.set_timer(PolicyTimer::Inactivity, None);
                radio.set_power_save(false, StationTimer::Update);
                // The next update measures the difference from a reading at the beginning.
                if sees(radio, Abilities::SEE_AIR_TIME) {
                    radio.measure_air_time();
                }
            }
            Some(Switch::Leave) => {
                self.busy = None;
                radio.set_power_save(true, StationTimer::Announce);
            }
            None => {}
        }
        if interval != before {
            self.schedule(radio, now);
        }
        let idle = bits == 0 && self.peak.bps() == 0 && interval == self.config.int_max;
        if idle && radio.in_power_save() {
            self.resting = true;
            radio.set_timer(PolicyTimer::Update, None);
        }
    }

    fn received(&mut self, radio: &mut dyn PowerSaveRadio, bytes: u32, now: Instant) {
        if self.resting {
            self.resume(radio, now);
        }
        let bits = u64::from(bytes) * 8;
        self.received_bits += bits;
        self.period.data = true;
        self.last_data = now;
        self.peak.received(bits);
        if radio.in_power_save() && !sees(radio, Abilities::SEE_SERVICE) {
            self.period.open = true;
            self.await_silence(radio, now);
        }
    }

    fn sent(&mut self, radio: &mut dyn PowerSaveRadio, frame: Uplink, delivered: bool, now: Instant) {
        self.note_opening(radio, frame, delivered, now);
        match frame {
            Uplink::Control(PowerSaveFrame::PmNull { pm: true }) if !delivered => {}
            Uplink::Control(PowerSaveFrame::PmNull { pm: false } | PowerSaveFrame::PsPoll) => {}
            Uplink::Data { .. } | Uplink::Control(_) => self.restart_interval(radio, now),
        }
    }

    fn period_ended(&mut self, radio: &mut dyn PowerSaveRadio, last: Option<ServiceFlags>, now: Instant) {
        let Period { asked, data, .. } = std::mem::take(&mut self.period);
        // A period whose end was not received does not count as answered.
        self.empty_triggers += u32::from(asked && !data && last.is_some());
        self.restart_interval(radio, now);
        if radio.in_power_save() && last.is_some_and(|flags| flags.more_data) {
            radio.trigger(StationTimer::ServicePeriod);
        }
    }

    fn air_time(&mut self, radio: &mut dyn PowerSaveRadio, air_time: AirTime, now: Instant) {
        let busy = air_time.total();
        let before = self.busy.replace(busy);
        if std::mem::take(&mut self.measuring) {
            let elapsed = now.saturating_since(self.updated);
            let spent = before.map_or(Span::ZERO, |before| busy.saturating_sub(before));
            self.update(radio, Ratio::share(spent.as_nanos(), elapsed.as_nanos()), now);
        }
    }

    /// Handles the time of a trigger. If frames of the user wait, no trigger is sent, and the first of these frames restarts the
    /// interval; so does the end of a period or burst that is open.
    fn trigger_due(&self, radio: &mut dyn PowerSaveRadio) {
        if !radio.in_service().unwrap_or(self.period.open) {
            radio.trigger(StationTimer::Trigger);
        }
    }

    fn update_due(&mut self, radio: &mut dyn PowerSaveRadio, now: Instant) {
        self.set_update_timer(radio, now);
        // A driver that did not answer the last request gets no other one: an unknown air time counts as none.
        let unanswered = std::mem::take(&mut self.measuring);
        if radio.in_power_save() || unanswered || !sees(radio, Abilities::SEE_AIR_TIME) {
            return self.update(radio, Ratio::ZERO, now);
        }
        self.measuring = true;
        radio.measure_air_time();
    }

    fn forget(&mut self) {
        self.peak.forget();
        self.controller.forget();
        if let Some(history) = &mut self.history {
            history.forget();
        }
    }
}

impl<C: Settings + Into<(BaTaConfig, Option<StreamConfig>)>> Policy for BaTa<C> {
    type Config = C;
    const NEEDS: Abilities = Abilities::SWITCH.and(Abilities::TRIGGER);
    const DRIVER: bool = true;

    fn new(config: C, start: Instant) -> Self {
        config.check().unwrap_or_else(|error| panic!("{error}"));
        let (config, streams) = config.into();
        Self {
            config,
            peak: PeakRate::new(start),
            controller: Controller::new(config),
            history: streams.map(History::new),
            period: Period::default(),
            trigger_from: start,
            received_bits: 0,
            empty_triggers: 0,
            updated: start,
            last_data: start,
            resting: true,
            busy: None,
            measuring: false,
            settings: PhantomData,
        }
    }

    fn fact(&mut self, radio: &mut dyn PowerSaveRadio, fact: Fact, now: Instant) {
        match fact {
            Fact::Start => radio.set_power_save(true, StationTimer::Announce),
            Fact::Beacon { tim } => {
                if tim && radio.in_power_save() {
                    radio.trigger(StationTimer::Beacon);
                }
                self.beacon(radio, now);
            }
            Fact::Received { bytes, service, null } => {
                if !null {
                    self.received(radio, bytes, now);
                }
                if service.is_some_and(|flags| flags.eosp && !flags.more_data) {
                    self.peak.emptied(now, self.config.t_update);
                }
            }
            Fact::Sent { frame, delivered } if radio.in_power_save() => {
                self.sent(radio, frame, delivered, now);
            }
            Fact::ServiceEnded { last } => self.period_ended(radio, last, now),
            Fact::AirTime(air_time) => self.air_time(radio, air_time, now),
            Fact::Timer(PolicyTimer::Trigger) => self.trigger_due(radio),
            Fact::Timer(PolicyTimer::Inactivity) => self.burst_ended(radio, now),
            Fact::Timer(PolicyTimer::Update) => self.update_due(radio, now),
            _ => {}
        }
    }

    fn adaptation(&self, radio: &dyn PowerSaveRadio) -> Option<Adaptation> {
        Some(Adaptation {
            interval: self.controller.interval(),
            peak_bps: self.peak.bps(),
            application_bps: self.history.as_ref().and_then(History::application_bps),
            throughput_bps: self.controller.throughput_bps,
            active: !radio.in_power_save(),
        })
    }
}
