//! The [`PowerSaveRadio`] whose MAC this project runs: PM bit, beacons, service periods, and the decision to doze.
//!
//! Every policy shares it. It wakes the radio first if a request of the policy needs that. It has every [ability](Abilities)
//! but those that its settings [hide](StationConfig::hidden), and it models no air: that a frame was sent or lost comes in.
//! `scan` leaves the channel and returns, `negotiation` asks for a target wake time agreement, and `wake_periods` keeps it.

mod negotiation;
mod scan;
mod wake_periods;

use std::collections::VecDeque;

use airwatt_base::{Instant, SleepClock, Span, Timeout, TimerKind, TimerTable, time_shown, with_defaults};

use super::interface::{Purpose, ReceiveWindow, StationOutput, StationTimer, Uplink};
use super::radio::{Abilities, PolicyTimer, PowerSaveRadio};
use super::{PowerSaveFrame, ServiceFlags, WakeAgreement, WakeFrame, WakeHabits, WakeProposal};
use negotiation::Negotiation;
pub use scan::ScanConfig;
use scan::Scans;
use wake_periods::WakePeriods;

/// Number of [`StationTimer`]s.
const TIMERS: usize = StationTimer::ALL.len();

/// Pause before a lost announcement of power save is repeated: the retry limit that it ran into lasts some
/// milliseconds, so a cause that passes has passed, and a tenth of a beacon interval awake costs little.
const ANNOUNCE_AGAIN: Span = Span::from_millis(10);

with_defaults! {
    /// Settings of a station's power save.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct StationConfig {
        /// Time between two beacons, as in the beacons.
        pub beacon_interval: Span = Span::from_millis(100),
        /// A target beacon transmission time; all others are whole beacon intervals later.
        pub first_beacon: Instant = Instant::ZERO,
        /// The clock while the radio dozes. Its guard time says how long before a target beacon transmission time the radio is
        /// ready to receive. Default 0.5 ms.
        pub sleep_clock: SleepClock = SleepClock::default(),
        /// Error of that clock's frequency in parts per billion, positive if it is fast. The station does not know it and relies on its guard time; a
        /// beacon or a frame of a service period sets its clock right. Default: the station knows the access point's time.
        pub clock_error_ppb: Option<i64> = None,
        /// What the radio takes from sleep to ready; it is woken this much earlier. Default 0.
        pub wake_time: Span = Span::ZERO,
        /// Least time awake: from the target time of a beacon, or from the end of any other wake-up. Default 0.
        pub min_awake: Span = Span::ZERO,
        /// The station receives one of this many beacons, at least 1 (802.11-2020 9.4.1.6). Default 1.
        pub listen_interval: u32 = 1,
        /// One of this many beacons is a DTIM, among them the one at [`StationConfig::first_beacon`]; the station receives all of them,
        /// whatever its listen interval (ReceiveDTIMs, 802.11-2020 11.2.3.7). Default: it does not.
        pub dtim_period: Option<u32> = None,
        /// The station waits for a beacon for this long after its target time. Default 10 ms: three transmission opportunities of 3 ms
        /// that others may hold before it, and its own contention.
        pub beacon_window: Span = Span::from_millis(10),
        /// The station waits for the next frame for this long after the last frame of a service period, or after a PS-Poll. Default 50
        /// ms: a hundred full frames of others at 54 Mbit/s in the access point's queue, with room for contention. It is half a beacon
        /// interval, so that a lost end of period costs less than the beacon that repairs it.
        pub frame_wait: Span = Span::from_millis(50),
        /// The time at which the machine acts first. Default: the beginning.
        pub start: Instant = Instant::ZERO,
        /// Whether the station has been without traffic for longer than any policy waits for before the machine acts first: a timeout
        /// that begins then is over at once. Default: it is not.
        pub rested: bool = false,
        /// Abilities that the policy is to do without. Default: none.
        pub hidden: Abilities = Abilities::NONE,
        /// Scans of other channels. Default: none.
        pub scan: Option<ScanConfig> = None,
        /// Beginning of the first scan.
        pub first_scan: Instant = Instant::ZERO,
    }
}

impl StationConfig {
    /// The longest time between two beacons that are heard.
    pub fn listening_interval(&self) -> Span {
        let beacons =
            self.dtim_period.map_or(self.listen_interval, |period| period.min(self.listen_interval));
        self.beacon_interval * u64::from(beacons)
    }
}

/// Counts of a station's power save.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StationCounts {
    wakeups: [u64; TIMERS],
    /// Wake-ups because the user had a frame to send.
    pub uplink_wakeups: u64,
    /// QoS Null triggers handed out to be sent.
    pub triggers: u64,
    /// PS-Polls handed out to be sent.
    pub polls: u64,
    /// Service periods opened, by triggers and by the user's frames.
    pub periods: u64,
    /// Service periods, and answers to PS-Polls, whose next frame did not come within [`StationConfig::frame_wait`].
    pub waits_given_up: u64,
    /// Beacons waited for in vain.
    pub beacons_missed: u64,
}

impl StationCounts {
    /// Wake-ups of the radio for this reason.
    pub fn wakeups_for(&self, reason: StationTimer) -> u64 {
        self.wakeups[reason.index()]
    }

    /// Wake-ups of the radio by reason, those for uplink frames last as `uplink`; reasons that did not occur are left
    /// out.
    pub fn wakeups(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        let timers = StationTimer::ALL.iter().map(|reason| (reason.name(), self.wakeups_for(*reason)));
        timers.chain([("uplink", self.uplink_wakeups)]).filter(|(_, count)| *count > 0)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Power {
    Awake,
    Waking,
    Dozing,
    /// Awake, on another channel.
    Away,
}

/// The downlink frames that the station expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Service {
    None,
    /// Those of a U-APSD service period, until EOSP.
    Period,
    /// The one that answers a PS-Poll.
    Answer,
}

/// The part of a station that every policy shares.
#[derive(Clone, Debug)]
pub(super) struct MacRadio {
    config: StationConfig,
    /// Whether the policy has not finished [`Fact::Start`](super::Fact::Start): no frame may be sent yet.
    starting: bool,
    uapsd: bool,
    power: Power,
    /// The PM bit that uplink frames carry.
    pm: bool,
    /// Whether the access point has acknowledged a frame with PM = 1, and no frame with PM = 0 since.
    announced: bool,
    service: Service,
    backlog: u32,
    /// Frames that have been handed out and whose transmission has not been reported yet.
    controls: VecDeque<PowerSaveFrame>,
    /// Frames that wait for the radio to wake up, or to return from a scan.
    held: Vec<PowerSaveFrame>,
    awaiting_beacon: bool,
    /// Group-addressed frames are due.
    awaiting_group: bool,
    /// Target time of the beacon that [`StationTimer::Beacon`] wakes for, by the station's clock.
    beacon_at: Instant,
    /// When the station last learned the access point's time: from a beacon, or by its association.
    synchronized_at: Instant,
    /// The time until which the radio stays awake.
    stay_until: Instant,
    /// The time of the next scheduled trigger.
    trigger_at: Option<Instant>,
    scans: Scans,
    /// The target wake time agreement, by which the station wakes up instead of by beacons.
    wakes: Option<WakePeriods>,
    habits: WakeHabits,
    /// Beacons that are still to be received after a service period.
    beacons_left: u32,
    negotiation: Negotiation,
    timers: TimerTable<StationTimer, TIMERS>,
    outputs: VecDeque<StationOutput>,
    counts: StationCounts,
}

/// The inputs from the station.
impl MacRadio {
    pub(super) fn new(config: StationConfig, uapsd: bool) -> Self {
        assert!(!config.beacon_interval.is_zero(), "a beacon interval is longer than nothing");
        assert!(config.listen_interval > 0, "a listen interval is at least one beacon");
        assert!(config.dtim_period != Some(0), "a DTIM period is at least one beacon");
        let mut timers = TimerTable::new();
        if config.scan.is_some() {
            timers.set(StationTimer::Scan, config.first_scan);
        }
        Self {
            config,
            starting: true,
            uapsd,
            power: Power::Awake,
            pm: false,
            announced: false,
            service: Service::None,
            backlog: 0,
            controls: VecDeque::new(),
            held: Vec::new(),
            awaiting_beacon: false,
            awaiting_group: false,
            beacon_at: config.first_beacon,
            synchronized_at: Instant::ZERO,
            stay_until: Instant::ZERO,
            trigger_at: None,
            scans: Scans::new(),
            wakes: None,
            habits: WakeHabits::default(),
            beacons_left: 0,
            negotiation: Negotiation::default(),
            timers,
            outputs: VecDeque::new(),
            counts: StationCounts::default(),
        }
    }

    /// Handles the end of a wake-up: frames that waited for it are handed out.
    pub(super) fn awake(&mut self, now: Instant) {
        self.power = Power::Awake;
        self.stay_until = self.stay_until.max(now + self.config.min_awake);
        if !self.scans.is_leaving() {
            self.give_out_held();
        }
    }

    /// Hands out the frames that waited for the radio.
    fn give_out_held(&mut self) {
        for control in std::mem::take(&mut self.held) {
            // Meanwhile frames of the user may have arrived, which trigger as well, or the mode may have changed again.
            let needed = match control {
                PowerSaveFrame::Trigger => self.pm && self.backlog == 0,
                PowerSaveFrame::PsPoll => self.pm,
                PowerSaveFrame::PmNull { pm } => pm == self.pm,
                PowerSaveFrame::Wake(_) => true,
            };
            if needed {
                self.give_out(control);
            }
        }
    }

    pub(super) fn set_backlog(&mut self, frames: u32) {
        self.backlog = frames;
        if frames > 0 && self.power == Power::Dozing && !self.holds_frames() {
            self.counts.uplink_wakeups += 1;
            self.start_waking();
        }
    }

    /// Handles a beacon. If the TIM is set for a station that is in active mode, the access point has not received its
    /// announcement, so the station repeats it.
    pub(super) fn beacon(&mut self, tim: bool, group: bool, now: Instant) {
        self.synchronized_at = now;
        if group && self.wakes.is_none() {
            self.expect_group(now);
        }
        if self.awaiting_beacon {
            self.awaiting_beacon = false;
            self.timers.stop(StationTimer::BeaconWindow);
            if self.wakes.is_none() {
                self.schedule_beacon(now, self.config.listen_interval);
            } else {
                self.beacons_left = self.beacons_left.saturating_sub(1);
                if self.beacons_left > 0 {
                    self.schedule_beacon(now, 1);
                }
                if tim && !self.is_heard() {
                    self.note_unserved();
                }
            }
        }
        if tim && !self.pm && !self.announcing() {
            self.request(PowerSaveFrame::PmNull { pm: false }, StationTimer::Announce);
        }
    }

    /// Handles [`StationTimer::Beacon`]: the radio is awake from now until the beacon arrives or its window ends. A radio that scans
    /// receives the next beacon instead, whatever the listen interval.
    pub(super) fn await_beacon(&mut self, now: Instant) {
        if self.power == Power::Away {
            return self.schedule_beacon(now, 1);
        }
        self.wake(StationTimer::Beacon);
        self.awaiting_beacon = true;
        self.stay_until = self.stay_until.max(self.beacon_at + self.config.min_awake);
        self.timers.set(StationTimer::BeaconWindow, self.beacon_at + self.config.beacon_window);
    }

    /// Handles [`StationTimer::BeaconWindow`]: the TIM was missed, so the station receives the next beacon, whatever the listen
    /// interval. If its clock may be wrong, it stays awake until then.
    pub(super) fn beacon_missed(&mut self, now: Instant) {
        self.counts.beacons_missed += 1;
        if self.config.clock_error_ppb.is_some() {
            return self.timers.set(StationTimer::BeaconWindow, now + self.config.beacon_interval);
        }
        self.awaiting_beacon = false;
        self.schedule_beacon(now, 1);
    }

    /// Handles a group-addressed frame.
    pub(super) fn group_received(&mut self, more_data: bool, now: Instant) {
        if !self.awaiting_group {
            return;
        }
        if more_data {
            self.expect_group(now);
        } else {
            self.end_group();
        }
    }

    /// Handles the end of group-addressed frames, or [`StationTimer::GroupFrames`] if the last one did not come.
    pub(super) fn end_group(&mut self) {
        self.awaiting_group = false;
        self.timers.stop(StationTimer::GroupFrames);
    }

    fn expect_group(&mut self, now: Instant) {
        self.awaiting_group = true;
        self.timers.set(StationTimer::GroupFrames, now + self.config.frame_wait);
    }

    /// Handles a downlink frame. Returns whether it is the last one that was expected.
    pub(super) fn received(&mut self, flags: ServiceFlags, now: Instant) -> bool {
        self.synchronize_by_frame(now);
        let ended = match self.service {
            Service::None => return false,
            Service::Period => flags.eosp,
            Service::Answer => true,
        };
        if ended {
            self.service = Service::None;
            self.timers.stop(StationTimer::ServicePeriod);
        } else {
            self.await_frame(now);
        }
        ended
    }

    /// Handles [`StationTimer::ServicePeriod`].
    pub(super) fn end_service(&mut self) {
        self.counts.waits_given_up += u64::from(self.service != Service::None);
        self.service = Service::None;
    }

    /// Handles [`StationTimer::Trigger`]. Returns whether the trigger itself is due; otherwise the timer only began to wake the
    /// radio for it.
    pub(super) fn trigger_is_due(&mut self, now: Instant) -> bool {
        let Some(at) = self.trigger_at else { return false };
        self.wake(StationTimer::Trigger);
        if now < at {
            self.timers.set(StationTimer::Trigger, at);
            return false;
        }
        self.trigger_at = None;
        true
    }

    /// Handles the end of an own frame.
    pub(super) fn sent(&mut self, frame: Uplink, delivered: bool, now: Instant) {
        if let Uplink::Control(control) = frame {
            let place = self.controls.iter().position(|given| *given == control);
            self.controls.remove(place.expect("only controls that were given out are sent"));
        }
        match frame {
            Uplink::Control(PowerSaveFrame::PmNull { pm: true }) if self.pm && !self.announcing() => {
                if delivered {
                    self.announced = true;
                    if self.wakes.is_some() {
                        self.schedule_wake_period(now);
                    } else {
                        self.schedule_beacon(now, self.config.listen_interval);
                    }
                } else {
                    self.timers.set(StationTimer::Announce, now + ANNOUNCE_AGAIN);
                }
            }
            Uplink::Control(PowerSaveFrame::PsPoll) if delivered => self.expect(Service::Answer, now),
            Uplink::Control(PowerSaveFrame::Wake(WakeFrame::Request { token, .. })) => {
                self.request_sent(token, delivered, now);
            }
            Uplink::Control(PowerSaveFrame::Wake(WakeFrame::Information { next })) => {
                self.information_sent(next, delivered, now);
            }
            Uplink::Data { .. } | Uplink::Control(PowerSaveFrame::Trigger)
                if delivered && (self.uapsd || self.announces_itself()) && self.announced =>
            {
                self.expect(Service::Period, now);
            }
            Uplink::Data { .. } | Uplink::Control(_) => {}
        }
    }

    /// Handles [`StationTimer::Announce`].
    pub(super) fn announce(&mut self, now: Instant) {
        if !self.announcing() {
            let frame = self.announcement(now);
            self.request(frame, StationTimer::Announce);
        }
    }

    /// Lets the radio leave the channel for a scan that is due, or doze.
    pub(super) fn settle(&mut self, now: Instant) {
        if self.scans.is_leaving() {
            self.leave_channel_if_possible(now);
        } else {
            self.doze_if_idle(now);
        }
    }

    /// Lets the radio doze if power save is announced, nothing waits to be sent without a Trigger frame, nothing is expected, and no wake-up is so
    /// near that the two transitions would take longer than the sleep.
    fn doze_if_idle(&mut self, now: Instant) {
        let idle = self.power == Power::Awake
            && self.announced
            && self.service == Service::None
            && (self.holds_frames() || self.backlog == 0 && self.controls.is_empty())
            && !self.awaiting_beacon
            && !self.awaiting_group
            && !self.stays_for_wake_period();
        if !idle || !self.worth_dozing(now) {
            return;
        }
        if now < self.stay_until {
            self.timers.set(StationTimer::MinimumAwake, self.stay_until);
            return;
        }
        self.power = Power::Dozing;
        self.outputs.push_back(StationOutput::Doze);
        if let Some(at) = self.trigger_at {
            self.timers.set(StationTimer::Trigger, at.saturating_sub(self.config.wake_time));
        }
        self.time_wake_period(now);
    }

    fn worth_dozing(&self, now: Instant) -> bool {
        let wake_ups = [StationTimer::Beacon, StationTimer::TargetWake];
        let wake_ups = wake_ups.into_iter().filter_map(|timer| self.timers.get(timer));
        let next = wake_ups.map(|at| at + self.config.wake_time).chain(self.trigger_at).min();
        next.is_none_or(|at| at.saturating_since(now) > self.config.wake_time.saturating_mul(2))
    }

    pub(super) fn expire(&mut self, now: Instant) -> Option<StationTimer> {
        self.timers.expire(now)
    }

    pub(super) fn poll_output(&mut self) -> Option<StationOutput> {
        self.outputs.pop_front()
    }

    /// Whether there is an output, or a timer has changed since the last call. [`MacRadio::purpose`] changes with timers only.
    #[inline]
    pub(super) fn has_changed(&mut self) -> bool {
        self.timers.take_changed() || !self.outputs.is_empty()
    }

    #[inline]
    pub(super) fn has_output(&self) -> bool {
        !self.outputs.is_empty()
    }

    #[inline]
    pub(super) fn due(&self) -> Instant {
        self.timers.due()
    }

    pub(super) fn next_timeout(&self) -> Option<Timeout<StationTimer>> {
        self.timers.next()
    }

    /// Sets [`StationTimer::Beacon`] for the first target time whose number is a multiple of `every`, or that of a DTIM if the
    /// station receives those, and for which the radio can still be woken in time.
    fn schedule_beacon(&mut self, now: Instant, every: u32) {
        let mut earliest = now;
        loop {
            let target = self.next_target(earliest, every);
            let ahead = self.guard_before(target).saturating_add(self.config.wake_time);
            let shown = self.when_shown(target);
            if shown > now.saturating_add(ahead) {
                self.beacon_at = shown;
                return self.timers.set(StationTimer::Beacon, shown.saturating_sub(ahead));
            }
            earliest = target;
        }
    }

    /// The guard time before `at`, which grows with the time since the station learned the access point's time.
    fn guard_before(&self, at: Instant) -> Span {
        self.config.sleep_clock.guard_after(at.saturating_since(self.synchronized_at))
    }

    /// The time at which the station's clock shows `at`.
    fn when_shown(&self, at: Instant) -> Instant {
        self.config.clock_error_ppb.map_or(at, |error| time_shown(self.synchronized_at, at, error))
    }

    /// Returns the first target time later than `after` that the station receives.
    fn next_target(&self, after: Instant, every: u32) -> Instant {
        let beacon = self.beacon_after(after, every);
        let dtim = self.config.dtim_period.map(|period| self.beacon_after(after, period));
        dtim.map_or(beacon, |dtim| dtim.min(beacon))
    }

    /// Returns the first target time later than `after` whose number is a multiple of `every`.
    fn beacon_after(&self, after: Instant, every: u32) -> Instant {
        let step = self.config.beacon_interval * u64::from(every);
        if after < self.config.first_beacon {
            return self.config.first_beacon;
        }
        let number = after.saturating_since(self.config.first_beacon).whole(step) + 1;
        self.config.first_beacon + step * number
    }

    fn expect(&mut self, service: Service, now: Instant) {
        if service == Service::Period && self.service != Service::Period {
            self.counts.periods += 1;
        }
        self.service = service;
        self.await_frame(now);
    }

    fn await_frame(&mut self, now: Instant) {
        self.timers.set(StationTimer::ServicePeriod, now + self.config.frame_wait);
    }

    fn wake(&mut self, reason: StationTimer) {
        if self.power == Power::Dozing {
            self.counts.wakeups[reason.index()] += 1;
            self.start_waking();
        }
    }

    fn start_waking(&mut self) {
        self.power = Power::Waking;
        self.outputs.push_back(StationOutput::Wake);
    }

    /// Sends a frame now, or once the radio has woken up or returned from a scan.
    fn request(&mut self, control: PowerSaveFrame, reason: StationTimer) {
        if self.power == Power::Awake && !self.scans.is_leaving() {
            return self.give_out(control);
        }
        self.wake(reason);
        self.held.push(control);
    }

    fn give_out(&mut self, control: PowerSaveFrame) {
        match control {
            PowerSaveFrame::Trigger => self.counts.triggers += 1,
            PowerSaveFrame::PsPoll => self.counts.polls += 1,
            PowerSaveFrame::PmNull { .. } | PowerSaveFrame::Wake(_) => {}
        }
        self.controls.push_back(control);
        self.outputs.push_back(StationOutput::Send(control));
    }

    fn pending(&self, what: impl Fn(&PowerSaveFrame) -> bool) -> bool {
        self.controls.iter().chain(&self.held).any(what)
    }

    fn announcing(&self) -> bool {
        self.pending(|control| {
            matches!(
                control,
                PowerSaveFrame::PmNull { .. } | PowerSaveFrame::Wake(WakeFrame::Information { .. })
            )
        })
    }
}

/// The requests of the station.
impl MacRadio {
    /// Ends the start: frames may be sent from now on.
    pub(super) fn started(&mut self) {
        self.starting = false;
        if self.config.rested && self.timers.is_running(StationTimer::Inactivity) {
            self.timers.set(StationTimer::Inactivity, self.config.start);
        }
    }

    /// The PM bit of uplink frames.
    pub(super) fn pm(&self) -> bool {
        self.pm || self.scans.hides_mode()
    }

    pub(super) fn is_awake(&self) -> bool {
        self.power == Power::Awake
    }

    /// Returns whether a service period is open or the answer to a poll is expected.
    pub(super) fn serves(&self) -> bool {
        self.service != Service::None
    }

    /// Returns what the radio is awake for, unless it has a frame to send.
    pub(super) fn purpose(&self) -> Purpose {
        if self.serves() || self.stays_for_wake_period() {
            Purpose::Service
        } else if self.awaiting_group {
            Purpose::Group
        } else if self.awaiting_beacon {
            Purpose::Beacon
        } else if self.timers.is_running(StationTimer::Inactivity) {
            Purpose::TimeoutTail
        } else {
            Purpose::Idle
        }
    }

    /// Returns whether the policy is given facts of this ability.
    pub(super) fn sees(&self, ability: Abilities) -> bool {
        self.abilities().contains(ability)
    }

    /// Returns whether the station is idle and stays as it is until a packet arrives: its mode is announced, nothing waits to be
    /// sent, and only timers for beacons, triggers and service periods run.
    pub(super) fn is_at_rest(&self) -> bool {
        let changing = [
            StationTimer::Announce,
            StationTimer::Inactivity,
            StationTimer::Update,
            StationTimer::WakeRequest,
        ];
        self.backlog == 0
            && self.config.scan.is_none()
            && self.pm == self.announced
            && !self.announcing()
            && !changing.into_iter().any(|timer| self.timers.is_running(timer))
    }

    pub(super) fn counts(&self) -> &StationCounts {
        &self.counts
    }

    /// Announces power save; once that is acknowledged the station receives beacons and dozes. At the start the frames
    /// carry PM = 1 from the first, and a Null frame announces it at [`StationConfig::start`].
    fn enter_power_save(&mut self) {
        self.pm = true;
        if self.starting {
            self.timers.set(StationTimer::Announce, self.config.start);
        } else {
            self.request(PowerSaveFrame::PmNull { pm: true }, StationTimer::Announce);
        }
    }

    /// Stays awake and announces it: by the user's frames if some wait to be sent at once, otherwise by a Null frame. That is also needed to
    /// overtake an announcement of power save that is still under way.
    fn leave_power_save(&mut self, reason: StationTimer) {
        let held = self.holds_frames();
        self.stop_power_save();
        if self.backlog == 0 || held || self.announcing() {
            self.request(PowerSaveFrame::PmNull { pm: false }, reason);
        }
    }

    /// Keeps the periods of an agreement from now on. The access point may take information frames.
    fn keep(&mut self, agreement: WakeAgreement, takes_information: bool) {
        self.wakes = Some(WakePeriods::new(agreement, takes_information));
    }

    /// Stays awake, without a frame that says so.
    fn stop_power_save(&mut self) {
        self.pm = false;
        self.announced = false;
        self.awaiting_beacon = false;
        self.end_group();
        self.service = Service::None;
        self.trigger_at = None;
        for timer in [
            StationTimer::Announce,
            StationTimer::Beacon,
            StationTimer::BeaconWindow,
            StationTimer::ServicePeriod,
            StationTimer::Trigger,
        ] {
            self.timers.stop(timer);
        }
        self.forget_wake_periods();
    }

    /// Sets the next trigger, which replaces the one set before. The radio will be awake by then.
    fn schedule_trigger(&mut self, at: Instant) {
        self.trigger_at = Some(at);
        let ahead = if self.power == Power::Dozing { self.config.wake_time } else { Span::ZERO };
        self.timers.set(StationTimer::Trigger, at.saturating_sub(ahead));
    }
}

impl PowerSaveRadio for MacRadio {
    fn abilities(&self) -> Abilities {
        Abilities::ALL.without(self.config.hidden)
    }

    fn in_power_save(&self) -> bool {
        self.pm
    }

    fn backlog(&self) -> u32 {
        self.backlog
    }

    fn in_service(&self) -> Option<bool> {
        self.sees(Abilities::SEE_SERVICE).then(|| self.serves())
    }

    fn listening_interval(&self) -> Span {
        self.config.listening_interval()
    }

    fn set_power_save(&mut self, on: bool, why: StationTimer) {
        // The answer of the access point would find the station asleep.
        if on == self.pm || (on && self.negotiation.is_open()) {
            return;
        }
        if on {
            self.enter_power_save();
        } else {
            self.leave_power_save(why);
        }
    }

    fn trigger(&mut self, why: StationTimer) {
        let open = self.service == Service::Period && self.sees(Abilities::SEE_SERVICE);
        let asked = self.pending(|control| *control == PowerSaveFrame::Trigger);
        if !open && self.backlog == 0 && !asked {
            self.request(PowerSaveFrame::Trigger, why);
        }
    }

    fn poll(&mut self, why: StationTimer) {
        let asked = self.pending(|control| *control == PowerSaveFrame::PsPoll);
        if self.service == Service::None && !asked {
            self.request(PowerSaveFrame::PsPoll, why);
        }
    }

    fn end_wake_period(&mut self) {
        self.leave_wake_period();
    }

    fn set_wake_habits(&mut self, habits: WakeHabits) {
        self.habits = habits;
    }

    fn agree_on(&mut self, proposal: WakeProposal) {
        self.propose(proposal);
    }

    fn suspend_agreement(&mut self, why: StationTimer) {
        self.suspend_wake_periods(why);
    }

    fn resume_agreement(&mut self, now: Instant) {
        self.resume_wake_periods(now);
    }

    fn set_timer(&mut self, timer: PolicyTimer, at: Option<Instant>) {
        match (timer, at) {
            (PolicyTimer::Trigger, Some(at)) => self.schedule_trigger(at),
            (PolicyTimer::Trigger, None) => {
                self.trigger_at = None;
                self.timers.stop(StationTimer::Trigger);
            }
            (timer, Some(at)) => self.timers.set(timer.into(), at),
            (timer, None) => self.timers.stop(timer.into()),
        }
    }

    fn measure_air_time(&mut self) {
        self.outputs.push_back(StationOutput::MeasureAirTime);
    }

    fn grant(&mut self, window: ReceiveWindow) {
        self.outputs.push_back(StationOutput::Window(window));
    }
}
