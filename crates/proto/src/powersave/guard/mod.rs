//! The latency guard: when a radio has to be in active mode, so that interactive flows do not wait for it.
//!
//! A radio in power save gets a packet at the next beacon that it receives, up to a beacon interval late. That is too long
//! for somebody who types, plays or talks, and harmless for mail that arrives. The guard is given [samples of
//! flows](FlowSample), [classifies](FlowClass) the flows, and demands active mode
//!
//! * for an **interactive** flow from its first packet until [`LatencyGuardConfig::hold`] after its last one,
//! * for a **keep-alive** for [`LatencyGuardConfig::answer`] after a packet of this host, so that its answer does not wait,
//! * while traffic **saturates** the air ([`LatencyGuardConfig::saturation`]): the radio would not sleep anyway, and power
//!   save only costs throughput.
//!
//! Bulk below saturation and background traffic get what power save gives them. The first packet of a peer after a silence
//! has waited for its beacon before anybody can see it; such packets are [counted](GuardCounts::unsolicited).
//!
//! The guard has no timers while nothing is demanded and no throughput is being measured: a quiet link costs no wake-up,
//! and nothing is sent on it. Whoever drives it calls [`LatencyGuard::look`] at [`LatencyGuard::next_look`], after handing
//! in the samples until then.
//!
//! Left out: learning how long a particular flow's pauses are. A hold that follows the flow would sleep sooner after
//! a keystroke, at the price of a wrong guess that somebody notices.

mod flow;
#[cfg(test)]
mod tests;

use airwatt_base::settings::{SettingError, Settings, in_range};
use airwatt_base::{Instant, Rate, Span};

use self::flow::Flow;
pub use self::flow::{FlowClass, FlowSample, Volume};

/// Flows that are remembered. The one that was silent longest makes room for a new one.
const FLOWS_MAX: usize = 256;
/// The time over which a throughput is measured when a large packet came in power save.
const MEASURE: Span = Span::from_millis(250);
/// The time for which traffic counts as saturating the air once it was found to; then it is measured again.
const SATURATED: Span = Span::from_secs(1);
/// Volume of a sample from which on it is worth a measurement: a large packet.
const MEASURE_BYTES: u64 = 1_000;

/// Settings of the latency guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LatencyGuardConfig {
    /// The longest time for which a packet of an interactive flow may wait for the radio. If beacons come at least as often, power
    /// save keeps the bound by itself. Default 30 ms.
    pub bound: Span,
    /// The time for which a flow counts as interactive after its last packet. Default 2 s, the pause of somebody who types.
    pub hold: Span,
    /// The time for which the radio stays awake for the answer to a packet of a keep-alive. Default 300 ms, a round trip to
    /// another continent.
    pub answer: Span,
    /// The throughput of all flows together from which on the air counts as saturated. Default 10 Mbit/s; the daemon takes 30 %
    /// of the rate of the link.
    pub saturation: Rate,
    /// Time without traffic after which the driver's own power save sleeps. A device has a timeout of its own, and this one is for
    /// simulations only. Default 100 ms, as in Linux mac80211.
    pub timeout: Span,
}

impl Default for LatencyGuardConfig {
    fn default() -> Self {
        Self {
            bound: Span::from_millis(30),
            hold: Span::from_secs(2),
            answer: Span::from_millis(300),
            saturation: Rate::from_bps(10_000_000),
            timeout: Span::from_millis(100),
        }
    }
}

impl Settings for LatencyGuardConfig {
    fn check(&self) -> Result<(), SettingError> {
        let (ms, s) = (Span::from_millis, Span::from_secs);
        in_range("bound", self.bound, ms(1), s(10))?;
        in_range("hold", self.hold, ms(100), s(60))?;
        in_range("answer", self.answer, ms(1), self.hold)?;
        in_range("saturation", self.saturation, Rate::from_bps(1_000), Rate::from_bps(100_000_000_000))?;
        in_range("timeout", self.timeout, Span::ZERO, s(3_600))
    }
}

/// Why active mode is demanded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Demand {
    /// An interactive flow.
    Interactive,
    /// The answer to a keep-alive.
    Answer,
    /// Traffic that saturates the air.
    Saturation,
}

impl Demand {
    /// The name, as documents have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Interactive => "interactive",
            Self::Answer => "answer",
            Self::Saturation => "saturation",
        }
    }
}

/// What the guard has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GuardCounts {
    /// Times at which it began to demand active mode, by [`Demand`] in the order of its variants.
    pub demands: [u64; 3],
    /// First packets of peers after a silence of all flows, which may have waited for a beacon.
    pub unsolicited: u64,
}

/// The state of a guard.
#[derive(Clone, Debug)]
pub struct LatencyGuard {
    config: LatencyGuardConfig,
    flows: Vec<Flow>,
    /// Until when active mode is demanded, and the reason that demands it for longest.
    demand: Option<(Instant, Demand)>,
    /// Bits since the time at which the present measurement began.
    measured: (Instant, u64),
    /// When the throughput is to be read, unless active mode ends later.
    measure_at: Option<Instant>,
    /// Time of the last packet of any flow.
    last: Option<Instant>,
    counts: GuardCounts,
}

impl LatencyGuard {
    /// A guard that has seen nothing. Panics if a setting is out of range.
    pub fn new(config: LatencyGuardConfig) -> Self {
        config.check().unwrap_or_else(|error| panic!("{error}"));
        Self {
            config,
            flows: Vec::new(),
            demand: None,
            measured: (Instant::ZERO, 0),
            measure_at: None,
            last: None,
            counts: GuardCounts::default(),
        }
    }

    /// Whether active mode is demanded.
    pub const fn demands_active_mode(&self) -> bool {
        self.demand.is_some()
    }

    /// Why active mode is demanded.
    pub fn demand(&self) -> Option<Demand> {
        self.demand.map(|(_, why)| why)
    }

    /// When [`LatencyGuard::look`] is due.
    pub fn next_look(&self) -> Option<Instant> {
        self.demand.map(|(until, _)| until).or(self.measure_at)
    }

    /// What it has counted.
    pub const fn counts(&self) -> GuardCounts {
        self.counts
    }

    /// The class of a flow; `None` if the flow is not known, or no longer.
    pub fn class(&self, flow: u64) -> Option<FlowClass> {
        self.flows.iter().find(|known| known.number == flow).map(Flow::class)
    }

    /// The number of known flows of each class that had a packet within the last `hold`.
    pub fn flows(&self, now: Instant) -> impl Iterator<Item = FlowClass> + '_ {
        let live = move |flow: &&Flow| now.saturating_since(flow.last) < self.config.hold;
        self.flows.iter().filter(live).map(Flow::class)
    }

    /// Handles packets of a flow.
    pub fn observe(&mut self, sample: &FlowSample, now: Instant) {
        let silent = |last: Instant| sample.first.saturating_since(last) >= self.config.hold;
        if self.last.is_none_or(silent) && sample.sent.packets == 0 {
            self.counts.unsolicited += 1;
        }
        self.last = Some(self.last.map_or(sample.last, |last| last.max(sample.last)));
        let class = self.add(sample);
        self.measured.1 += sample.bytes() * 8;
        let (why, until) = match class {
            FlowClass::Interactive => (Demand::Interactive, sample.last + self.config.hold),
            FlowClass::KeepAlive if sample.sent.packets > 0 => {
                (Demand::Answer, sample.last + self.config.answer)
            }
            FlowClass::KeepAlive | FlowClass::Bulk | FlowClass::Background => {
                return self.measure(sample, now);
            }
        };
        self.extend(why, until, now);
    }

    /// Decides anew. All samples until now have been handed in.
    pub fn look(&mut self, now: Instant) {
        if self.next_look().is_none_or(|at| at > now) {
            return;
        }
        let (began, bits) = self.measured;
        let elapsed = now.saturating_since(began);
        let threshold = u128::from(self.config.saturation.as_bps()) * u128::from(elapsed.as_nanos());
        let saturates = !elapsed.is_zero() && u128::from(bits) * 1_000_000_000 >= threshold;
        self.measured = (now, 0);
        self.measure_at = None;
        if self.demand.is_some_and(|(until, _)| until <= now) {
            self.demand = None;
        }
        if saturates {
            self.extend(Demand::Saturation, now + SATURATED, now);
        }
    }

    fn extend(&mut self, why: Demand, until: Instant, now: Instant) {
        if until <= now {
            return;
        }
        match &mut self.demand {
            Some(demand) if demand.0 >= until => {}
            Some(demand) => *demand = (until, why),
            None => {
                self.counts.demands[why as usize] += 1;
                self.demand = Some((until, why));
                // What came before belongs to the time in power save.
                self.measured = (now, 0);
                self.measure_at = None;
            }
        }
    }

    /// Begins to measure the throughput if the radio is in power save and the sample has a large packet.
    fn measure(&mut self, sample: &FlowSample, now: Instant) {
        if self.next_look().is_none() && sample.bytes() >= MEASURE_BYTES {
            self.measured = (now, 0);
            self.measure_at = Some(now + MEASURE);
        }
    }

    fn add(&mut self, sample: &FlowSample) -> FlowClass {
        let index = match self.flows.iter().position(|flow| flow.number == sample.flow) {
            Some(index) => index,
            None => {
                if self.flows.len() == FLOWS_MAX {
                    let oldest = (0..FLOWS_MAX).min_by_key(|index| self.flows[*index].last);
                    self.flows.swap_remove(oldest.expect("the table is full"));
                }
                self.flows.push(Flow::new(sample));
                self.flows.len() - 1
            }
        };
        self.flows[index].add(sample, self.config.hold);
        self.flows[index].class()
    }
}
