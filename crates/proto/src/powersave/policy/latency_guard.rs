//! The driver's own power save under the [latency guard](LatencyGuard): what `airwattd station` runs on any interface.
//!
//! As long as the guard demands nothing, power save is left to the driver, which on a device ([`Abilities::DYNAMIC_PS`]) sleeps
//! after a time without traffic and fetches what a beacon announces. Where the policy itself has to do that, as in a simulation, it
//! runs [`Timeout`] for the driver. For an answer, and while traffic saturates the air, the station is in active mode. For what a
//! peer may send unasked it stays within reach as [`LatencyGuardConfig::reach`] says:
//!
//! ```text
//!   active    awake ------------------------------------------------ until the hold is over
//!   polls     dozing ---- PM=0, [`LISTEN`], PM=1 ---- dozing ------- ...
//!   triggers  dozing ---- QoS Null, service period ---- dozing ----- ...
//! ```
//! Where beacons come at least as often as [`LatencyGuardConfig::bound`], power save keeps the bound and nothing is demanded; the
//! policy is then the driver's.
//!
//! Left out: drivers with another power save than that of mac80211, such as the adaptive ones of some firmware.

use airwatt_base::{Instant, Span};

use super::Policy;
use super::timeout::{Timeout, TimeoutConfig};
use crate::powersave::guard::{
    ACKNOWLEDGEMENT, ArrivalAfterPause, Demand, FlowSample, LISTEN, LatencyGuard, LatencyGuardConfig, Reach,
};
use crate::powersave::interface::StationTimer;
use crate::powersave::radio::{Abilities, Fact, PolicyTimer, PowerSaveRadio};

/// A packet that comes within this time of a beacon that announced it has waited for it.
const AFTER_BEACON: Span = Span::from_millis(20);

/// What the station does at present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// What the driver does.
    Driver,
    /// It is in active mode.
    Active,
    /// It polls, and the driver sleeps soon after each poll.
    Polling,
    /// It is in power save and sends triggers.
    Triggering,
}

#[derive(Clone, Debug)]
pub(in crate::powersave) struct GuardedTimeout {
    config: LatencyGuardConfig,
    guard: LatencyGuard,
    driver: Timeout,
    mode: Mode,
    seen: Seen,
}

/// Packets that follow each other within this time are a run.
const RUN: Span = Span::from_millis(1);
/// Peers that are remembered. The one that was silent longest makes room for a new one.
const PEERS_MAX: usize = 1_024;

/// The latest packets, by time.
#[derive(Clone, Copy, Debug)]
struct Recent {
    /// When this host sent more than acknowledgements, if the peer has not since.
    sent: Option<Instant>,
    /// The end of the run before the latest one.
    before: Instant,
    /// The latest run.
    began: Instant,
    last: Instant,
}

impl Recent {
    const fn new(at: Instant) -> Self {
        Self { sent: None, before: at, began: at, last: at }
    }

    fn add(&mut self, at: Instant) {
        if at.saturating_since(self.last) >= RUN {
            (self.before, self.began) = (self.last, at);
        }
        self.last = self.last.max(at);
    }

    /// Notes who has sent more than acknowledgements. A reply may be known before what it replies to. Returns whether this host has.
    fn exchange(&mut self, sample: &FlowSample) -> bool {
        let has_sent = self.sent.is_some();
        if sample.sent.bytes > ACKNOWLEDGEMENT {
            self.sent = Some(sample.first);
        } else if sample.received.bytes > ACKNOWLEDGEMENT {
            self.sent.take_if(|at| sample.first.saturating_since(*at) >= RUN);
        }
        has_sent
    }

    /// Time from the packet before `at` until then. The reply of this host may be known before the packet that it replies to; it
    /// does not count.
    fn until(&self, at: Instant) -> Span {
        let from = if at <= self.began { self.before } else { self.last };
        at.saturating_since(from)
    }
}

/// What a radio whose MAC is this project's shows of packets that wait.
#[derive(Clone, Debug, Default)]
struct Seen {
    /// The last beacon that announced packets.
    announced: Option<Instant>,
    /// Packets of any peer, and of each.
    any: Option<Recent>,
    peers: Vec<(u64, Recent)>,
}

impl Seen {
    /// The arrival that a packet is; `None` if this host sent it, or if it is the first of its peer.
    fn packet(&mut self, sample: &FlowSample) -> Option<ArrivalAfterPause> {
        let at = sample.first;
        let (any, known) = (self.any, self.peers.iter_mut().find(|(peer, _)| *peer == sample.peer));
        self.any.get_or_insert(Recent::new(at)).add(at);
        let Some((_, own)) = known else {
            if self.peers.len() == PEERS_MAX {
                let oldest = (0..PEERS_MAX).min_by_key(|index| self.peers[*index].1.last);
                self.peers.swap_remove(oldest.expect("the table is full"));
            }
            let mut recent = Recent::new(at);
            recent.exchange(sample);
            self.peers.push((sample.peer, recent));
            return None;
        };
        let has_sent = own.exchange(sample);
        let pause = own.until(at);
        own.add(at);
        let silence = any.filter(|_| sample.received.packets > 0)?.until(at);
        let announced = self.announced.filter(|beacon| at.saturating_since(*beacon) <= AFTER_BEACON);
        let waited = announced.is_some_and(|beacon| at.saturating_since(beacon) < silence);
        Some(ArrivalAfterPause { peer: sample.peer, at, pause, silence, waited: Some(waited), has_sent })
    }
}

impl GuardedTimeout {
    /// The station's mode that meets the guard's demand.
    fn wanted(&self) -> Mode {
        match (self.guard.demand(), self.config.reach) {
            (None, _) => Mode::Driver,
            (Some(Demand::Reach), Reach::Triggers) => Mode::Triggering,
            (Some(Demand::Reach), Reach::Polls)
                if self.guard.sleeps_within(self.config.poll_interval() / 2) =>
            {
                Mode::Polling
            }
            (Some(_), _) => Mode::Active,
        }
    }

    /// Carries out what the guard demands.
    fn follow(&mut self, radio: &mut dyn PowerSaveRadio, now: Instant) {
        radio.set_timer(PolicyTimer::Update, self.guard.next_look());
        let wanted = self.wanted();
        if wanted == self.mode {
            return;
        }
        self.mode = wanted;
        radio.set_timer(PolicyTimer::Trigger, None);
        radio.set_timer(PolicyTimer::Inactivity, None);
        match wanted {
            Mode::Driver => self.leave_to_driver(radio, now),
            Mode::Active => radio.set_power_save(false, StationTimer::Update),
            Mode::Polling => self.poll(radio, now),
            Mode::Triggering => {
                radio.set_power_save(true, StationTimer::Announce);
                self.poll_later(radio, now);
            }
        }
    }

    fn leave_to_driver(&mut self, radio: &mut dyn PowerSaveRadio, now: Instant) {
        if radio.abilities().contains(Abilities::DYNAMIC_PS) {
            radio.set_power_save(true, StationTimer::Announce);
        } else {
            self.driver.fact(radio, Fact::Start, now);
        }
    }

    fn poll_later(&self, radio: &mut dyn PowerSaveRadio, now: Instant) {
        radio.set_timer(PolicyTimer::Trigger, Some(now + self.config.poll_interval()));
    }

    /// Shows the access point for a moment that the radio is awake.
    fn poll(&self, radio: &mut dyn PowerSaveRadio, now: Instant) {
        radio.set_power_save(false, StationTimer::Trigger);
        // A driver adds its tail by itself.
        let is_driver = radio.abilities().contains(Abilities::DYNAMIC_PS);
        let awake = if is_driver { LISTEN } else { LISTEN.max(self.config.timeout) };
        radio.set_timer(PolicyTimer::Inactivity, Some(now + awake));
    }

    /// Handles a fact while the station polls: traffic prolongs the moment.
    fn polling(&self, radio: &mut dyn PowerSaveRadio, fact: Fact, now: Instant) {
        match fact {
            Fact::Timer(PolicyTimer::Inactivity) if radio.backlog() == 0 => {
                radio.set_power_save(true, StationTimer::Announce);
                self.poll_later(radio, now);
            }
            Fact::Timer(_) | Fact::Beacon { tim: true } | Fact::Received { null: false, .. } => {
                self.poll(radio, now);
            }
            Fact::Backlog if radio.backlog() > 0 => self.poll(radio, now),
            _ => {}
        }
    }

    fn triggering(&self, radio: &mut dyn PowerSaveRadio, fact: Fact, now: Instant) {
        match fact {
            Fact::Timer(PolicyTimer::Trigger) => {
                radio.trigger(StationTimer::Trigger);
                self.poll_later(radio, now);
            }
            Fact::Beacon { tim: true } => radio.trigger(StationTimer::Beacon),
            Fact::ServiceEnded { last: Some(flags) } if flags.more_data => {
                radio.trigger(StationTimer::ServicePeriod);
            }
            _ => {}
        }
    }
}

impl Policy for GuardedTimeout {
    type Config = LatencyGuardConfig;
    const NEEDS: Abilities = Abilities::SWITCH.and(Abilities::SEE_TIM).and(Abilities::SEE_FLOWS);
    const DRIVER: bool = true;

    fn new(config: LatencyGuardConfig, start: Instant) -> Self {
        let driver = Timeout::new(TimeoutConfig { timeout: Some(config.timeout) }, start);
        Self { config, guard: LatencyGuard::new(config), driver, mode: Mode::Driver, seen: Seen::default() }
    }

    fn fact(&mut self, radio: &mut dyn PowerSaveRadio, fact: Fact, now: Instant) {
        let is_mac = !radio.abilities().contains(Abilities::DYNAMIC_PS);
        let keeps_bound = radio.listening_interval() <= self.config.bound;
        match fact {
            // A start after others had the setting: what was demanded before them is not in force any more.
            Fact::Start => {
                self.mode = Mode::Driver;
                return self.leave_to_driver(radio, now);
            }
            Fact::Arrival(arrival) => return self.guard.arrived(&arrival, radio.listening_interval()),
            Fact::Flow(sample) => {
                if is_mac && let Some(arrival) = self.seen.packet(&sample) {
                    self.guard.arrived(&arrival, radio.listening_interval());
                }
                self.guard.observe(&sample, now);
                if !keeps_bound {
                    self.follow(radio, now);
                }
                return;
            }
            Fact::Timer(PolicyTimer::Update) => {
                self.guard.look(now);
                return self.follow(radio, now);
            }
            Fact::Beacon { tim: true } => self.seen.announced = Some(now),
            _ => {}
        }
        match self.mode {
            Mode::Driver if is_mac => self.driver.fact(radio, fact, now),
            Mode::Driver | Mode::Active => {}
            Mode::Polling => self.polling(radio, fact, now),
            Mode::Triggering => self.triggering(radio, fact, now),
        }
    }

    fn guard(&self) -> Option<&LatencyGuard> {
        Some(&self.guard)
    }
    fn guard_mut(&mut self) -> Option<&mut LatencyGuard> {
        Some(&mut self.guard)
    }
}
