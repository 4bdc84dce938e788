//! BA-TA: U-APSD with an interval between triggers that follows the path's bottleneck (Camps-Mur and Sallent-Ribes).
//!
//! A slow path fills the access point's buffer slowly, and the beacons fetch what it brings; a fast one needs triggers in
//! between, or a radio that stays awake. The station learns which from the frames alone: the [estimator] says
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
//! The controller runs every `t_update` from the first packet on. When nothing has come for `forget_after` and the interval
//! is back at its longest, it rests: an idle station has no timer but the beacons'. In active mode it asks for the air
//! time, which the driver knows, before it decides.
//!
//! Left out: everything that is not elastic traffic. The paper leaves real-time categories to their own trigger schemes.

mod config;
mod controller;
mod estimator;
mod streaming;
#[cfg(test)]
mod tests;

use std::marker::PhantomData;

use airwatt_base::settings::Settings;
use airwatt_base::{Instant, Span};

pub use self::config::{BaTaConfig, BaTaStrConfig, StreamConfig};
use self::controller::{Controller, Seen, Switch};
use self::estimator::PeakRate;
use self::streaming::History;
use super::{Policy, rate_bps};
use crate::powersave::link::Link;
use crate::powersave::station::{AirTime, StationTimer, Uplink};
use crate::powersave::{Adaptation, Control, Ratio, ServiceFlags};

/// What is known of the service period that is open.
#[derive(Clone, Copy, Debug, Default)]
struct Period {
    open: bool,
    /// A trigger opened it, not a frame of the user.
    asked: bool,
    /// A packet came in it.
    data: bool,
}

/// BA-TA, and by its settings `C` also BA-TA+Str.
#[derive(Clone, Debug)]
pub(in crate::powersave) struct BaTa<C = BaTaConfig> {
    config: BaTaConfig,
    peak: PeakRate,
    controller: Controller,
    history: Option<History>,
    period: Period,
    /// From when the interval counts: the end of the last service period, or a trigger that was lost.
    trigger_from: Instant,
    /// Since the last update.
    received_bits: u64,
    empty_triggers: u32,
    updated: Instant,
    last_data: Instant,
    resting: bool,
    /// Air time at the last reading.
    busy: Option<Span>,
    /// The update that is due waits for the air time.
    measuring: bool,
    settings: PhantomData<C>,
}

/// BA-TA with its addition for streams.
pub(in crate::powersave) type BaTaStr = BaTa<BaTaStrConfig>;

impl<C> BaTa<C> {
    /// What the throughput is compared with.
    fn reference_bps(&self) -> u64 {
        let application = self.history.as_ref().and_then(History::application_bps);
        application.unwrap_or(self.peak.bps())
    }

    fn resume(&mut self, link: &mut Link, now: Instant) {
        self.resting = false;
        self.received_bits = 0;
        self.empty_triggers = 0;
        self.updated = now;
        link.set_timer(StationTimer::Update, now + self.config.t_update);
    }

    /// Sets the next trigger, if there has to be one.
    fn schedule(&self, link: &mut Link, now: Instant) {
        if !link.pm() {
            return;
        }
        let interval = self.controller.interval();
        if interval >= link.config().listening_interval() {
            link.cancel_trigger();
        } else {
            link.schedule_trigger((self.trigger_from + interval).max(now));
        }
    }

    fn restart_interval(&mut self, link: &mut Link, now: Instant) {
        self.trigger_from = now;
        self.schedule(link, now);
    }

    /// A run of the controller. `utilization` counts in active mode only.
    fn update(&mut self, link: &mut Link, utilization: Ratio, now: Instant) {
        let active = !link.pm();
        if active {
            self.peak.estimate(now, self.config.t_update);
        }
        if now.saturating_since(self.last_data) >= self.config.forget_after {
            self.forget();
        }
        let elapsed = now.saturating_since(self.updated);
        let (bits, empty_triggers) = (self.received_bits, self.empty_triggers);
        let seen = Seen { bits, elapsed, empty_triggers, active, utilization };
        let before = self.controller.interval();
        self.controller.measure(&seen);
        if let Some(history) = &mut self.history {
            history.measured(self.controller.throughput_bps());
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
                link.leave_power_save(StationTimer::Update);
                // The reading at the next update needs one to start from.
                link.measure_air_time();
            }
            Some(Switch::Leave) => {
                self.busy = None;
                link.enter_power_save();
            }
            None => {}
        }
        if interval != before {
            self.schedule(link, now);
        }
        let idle = bits == 0 && self.peak.bps() == 0 && interval == self.config.int_max;
        if idle && link.pm() {
            self.resting = true;
            link.stop_timer(StationTimer::Update);
        }
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
    const NEEDS_UAPSD: bool = true;

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

    fn adaptation(&self, link: &Link) -> Option<Adaptation> {
        Some(Adaptation {
            interval: self.controller.interval(),
            peak_bps: self.peak.bps(),
            application_bps: self.history.as_ref().and_then(History::application_bps),
            throughput_bps: self.controller.throughput_bps(),
            active: !link.pm(),
        })
    }

    fn start(&mut self, link: &mut Link) {
        link.start_in_power_save();
    }

    fn beacon(&mut self, link: &mut Link, tim: bool, _now: Instant) {
        if tim && link.pm() {
            link.trigger(StationTimer::Beacon);
        }
    }

    fn received(&mut self, link: &mut Link, bytes: u32, flags: ServiceFlags, null: bool, now: Instant) {
        if !null {
            if self.resting {
                self.resume(link, now);
            }
            let bits = u64::from(bytes) * 8;
            self.received_bits += bits;
            self.period.data = true;
            self.last_data = now;
            self.peak.received(bits);
        }
        if flags.eosp && !flags.more_data {
            self.peak.emptied(now, self.config.t_update);
        }
    }

    fn sent(&mut self, link: &mut Link, frame: Uplink, delivered: bool, now: Instant) {
        if !link.pm() {
            return;
        }
        if link.in_service() && !self.period.open {
            let asked = frame == Uplink::Control(Control::Trigger);
            self.period = Period { open: true, asked, data: false };
        }
        match frame {
            Uplink::Control(Control::PmNull { pm: true }) if !delivered => {}
            Uplink::Control(Control::PmNull { pm: false } | Control::PsPoll) => {}
            Uplink::Data { .. } | Uplink::Control(_) => self.restart_interval(link, now),
        }
    }

    fn period_ended(&mut self, link: &mut Link, last: Option<ServiceFlags>, now: Instant) {
        let Period { asked, data, .. } = std::mem::take(&mut self.period);
        // A period whose end was not heard was not answered either.
        self.empty_triggers += u32::from(asked && !data && last.is_some());
        self.restart_interval(link, now);
        if link.pm() && last.is_some_and(|flags| flags.more_data) {
            link.trigger(StationTimer::ServicePeriod);
        }
    }

    fn air_time(&mut self, link: &mut Link, air_time: AirTime, now: Instant) {
        let busy = air_time.total();
        let before = self.busy.replace(busy);
        if std::mem::take(&mut self.measuring) {
            let elapsed = now.saturating_since(self.updated);
            let spent = before.map_or(Span::ZERO, |before| busy.saturating_sub(before));
            self.update(link, Ratio::share(spent.as_nanos(), elapsed.as_nanos()), now);
        }
    }

    fn timer(&mut self, link: &mut Link, timer: StationTimer, now: Instant) {
        if timer == StationTimer::Trigger {
            // With frames of the user waiting no trigger goes out, and the first of them restarts the interval; so does
            // the end of a period that is open.
            if !link.in_service() {
                link.trigger(StationTimer::Trigger);
            }
            return;
        }
        link.set_timer(StationTimer::Update, now + self.config.t_update);
        // A driver that left the last question open gets no other: an air time that nobody knows counts as none.
        let unanswered = std::mem::take(&mut self.measuring);
        if link.pm() || unanswered {
            return self.update(link, Ratio::ZERO, now);
        }
        self.measuring = true;
        link.measure_air_time();
    }
}
