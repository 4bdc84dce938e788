//! Long times without packets in a replay, of which a part is simulated and stands for the rest.
//!
//! In a gap between arrivals that is longer than a bound, the run goes on until every earlier packet has been received or
//! lost and the station is at rest: its power-save policy has no timer but those of beacons and triggers, so that idle
//! time repeats itself. The whole cycles that then remain of the gap are skipped. A cycle is the time after which beacons,
//! the listen interval and DTIMs repeat; later packets arrive earlier by the cycles skipped, so that they meet
//! the same beacons, and the time that was skipped is charged at the end.
//!
//! How it is charged is measured once in a replay: a copy of the network at its first rest runs on without packets for
//! [`WINDOW`]. The skipped time is divided among the radio's states, and wake-ups are counted, in the proportions of that
//! window; durations are integers and add up to the whole time exactly.
//!
//! Two things are approximate. Triggers of an idle station contend, and the backoff in the window stands for that
//! of all idle time: an error of less than 0.1 % of energy at trigger intervals from 1 ms to 1 s. And backoff and
//! triggers go on after a skip where they stood before it, so that the delay of a single packet differs as with another
//! seed; packets meet the same beacons.

use std::ops::ControlFlow;

use airwatt_base::{Instant, Span};
use airwatt_energy::RadioState;

use super::{RadioPeriod, Replayed};
use crate::media::Medium;
use crate::net::{Network, NetworkPlan, RunProgress};
use crate::record::RadioInterval;
use crate::stack::application::Replay;

/// The idle time that is measured: 600 triggers at an interval of 100 ms.
pub const WINDOW: Span = Span::from_secs(60);

/// Skips idle time, and keeps what it has to be charged.
#[derive(Debug)]
pub(super) struct IdleSkip {
    /// Gaps longer than this are simulated in part; `None` if none is.
    gap: Option<Span>,
    /// The time between two beacons.
    beacon_interval: Span,
    /// The time after which the wake-ups of an idle station repeat.
    cycle: Span,
    /// The time skipped so far.
    skipped: Span,
    /// When the simulated time stood still, and for how long.
    skips: Vec<(Instant, Span)>,
    /// The accounts at both ends of the measured window.
    window: Option<Box<[Replayed; 2]>>,
    /// Events of the measured window.
    events: u64,
}

impl IdleSkip {
    /// The skip of idle time in a replay whose plan has one station in a cell.
    pub(super) fn new(plan: &NetworkPlan, gap: Option<Span>) -> Self {
        let station = plan.stations().find_map(|(.., station)| station.in_cell());
        let station = station.expect("a replay has a station in a cell");
        let beacon_interval = station.mac_power_save.beacon_interval;
        let dtim_period = station.mac_power_save.dtim_period.map_or(1, u64::from);
        let listened =
            least_common_multiple(u64::from(station.mac_power_save.listen_interval).max(1), dtim_period);
        // A station with an agreement keeps to its service periods, whenever beacons come.
        let agreed = station.policy.wake_request().map(|request| request.interval);
        let cycle = agreed.unwrap_or_else(|| beacon_interval.saturating_mul(listened));
        Self { gap, beacon_interval, cycle, skipped: Span::ZERO, skips: Vec::new(), window: None, events: 0 }
    }

    /// Runs the replay of `network` to its end. The result breaks if `watch` stopped it.
    pub(super) fn run(
        &mut self,
        network: &mut Network,
        watch: &mut dyn FnMut(RunProgress) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut gap_began = network.now;
        loop {
            let end = Instant::ZERO + network.plan.duration.unwrap_or_default();
            let Some(gap) = self.gap else { return network.run_until(end, watch) };
            let due = network.replay().due().unwrap_or(end).min(end);
            let is_long = due.saturating_since(gap_began) > gap;
            let rest = due.saturating_since(network.now).whole(self.cycle);
            if is_long && rest > 0 {
                if is_at_rest(network) {
                    self.skip(network, self.cycle * rest, watch)?;
                } else {
                    network.run_until((network.now + self.beacon_interval).min(due), watch)?;
                }
                continue;
            }
            network.run_until(due, watch)?;
            gap_began = due;
            if due == end {
                return ControlFlow::Continue(());
            }
        }
    }

    fn skip(
        &mut self,
        network: &mut Network,
        span: Span,
        watch: &mut dyn FnMut(RunProgress) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if self.window.is_none() {
            self.measure(network, watch)?;
        }
        network.skip_idle(span);
        self.skips.push((network.now, span));
        self.skipped = self.skipped.saturating_add(span);
        ControlFlow::Continue(())
    }

    /// Measures what a station at rest spends, in a copy of `network` without further packets.
    fn measure(
        &mut self,
        network: &mut Network,
        watch: &mut dyn FnMut(RunProgress) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        // The packets are not copied.
        let replay = std::mem::replace(network.replay(), Replay::new(Vec::new()));
        let mut idle = network.copy();
        *network.replay() = replay;
        // The network has wake-ups for the replay's next packet; without packets they do nothing.
        idle.skip_idle(Span::ZERO);
        let before = idle.copy().into_replayed();
        let window = self.cycle * WINDOW.covering(self.cycle).max(1);
        idle.run_until(idle.now + window, watch)?;
        let after = idle.into_replayed();
        self.events = after.events - before.events;
        self.window = Some(Box::new([before, after]));
        ControlFlow::Continue(())
    }

    /// The states of simulated time as states of the capture's time: what was skipped is a period of its own.
    pub(super) fn in_capture_time(&self, states: &[RadioInterval]) -> Vec<RadioPeriod> {
        let idle = self.window.as_deref().map_or(RadioState::Sleep, |[before, after]| {
            let spent = |state: &RadioState| after.ledger.duration(*state) - before.ledger.duration(*state);
            RadioState::ALL.into_iter().max_by_key(spent).unwrap_or(RadioState::Sleep)
        });
        let mut skips = self.skips.iter().copied().peekable();
        let mut shift = Span::ZERO;
        let mut periods = Vec::with_capacity(states.len() + 2 * self.skips.len());
        for &RadioInterval { start, duration, state } in states {
            let (mut start, end) = (start, start + duration);
            let mut push = |start: Instant, duration: Span, state, is_simulated| {
                if !duration.is_zero() {
                    periods.push(RadioPeriod { start, duration, state, is_simulated });
                }
            };
            while let Some((at, span)) = skips.next_if(|(at, _)| *at < end) {
                push(start + shift, at.saturating_since(start), state, true);
                push(at.max(start) + shift, span, idle, false);
                (start, shift) = (at.max(start), shift + span);
            }
            push(start + shift, end.saturating_since(start), state, true);
        }
        if let Some(last) = states.last() {
            for (_, span) in skips {
                let start = last.start + last.duration + shift;
                periods.push(RadioPeriod { start, duration: span, state: idle, is_simulated: false });
                shift += span;
            }
        }
        periods
    }

    /// Charges the time that was skipped.
    pub(super) fn charge(self, replayed: &mut Replayed) {
        replayed.events += self.events;
        let Some(window) = self.window else { return };
        let [before, after] = *window;
        replayed.skipped = self.skipped;
        let simulated = replayed.ledger.clone();
        replayed.ledger.spend_like(self.skipped, &before.ledger, &after.ledger);
        replayed.causes.spend_like([&simulated, &replayed.ledger], [&before.causes, &after.causes]);
        let measured = u128::from((after.ledger.since() - before.ledger.since()).as_nanos());
        for (reason, count) in after.wakeups {
            let count = u128::from(count - before.wakeups.get(reason).copied().unwrap_or(0));
            let skipped = (count * u128::from(self.skipped.as_nanos()) + measured / 2) / measured;
            *replayed.wakeups.entry(reason).or_default() += u64::try_from(skipped).unwrap_or(u64::MAX);
        }
        replayed.wakeups.retain(|_, count| *count > 0);
    }
}

/// Whether no packet is under way, and the station's power save repeats itself.
fn is_at_rest(network: &mut Network) -> bool {
    let is_quiet = |medium: &Medium| match medium {
        Medium::Cell(cell) => cell.is_at_rest(),
        // Their states depend on packets alone.
        Medium::Wire(_) | Medium::PointToPoint(_) => true,
    };
    network.replay().is_settled() && network.media.iter().all(|entry| is_quiet(&entry.medium))
}

fn least_common_multiple(a: u64, b: u64) -> u64 {
    let (mut divisor, mut rest) = (a, b);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    a / divisor * b
}
