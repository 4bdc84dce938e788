//! The sum of the replays of all segments under one policy.

use std::collections::BTreeMap;

use airwatt_base::{Energy, Instant, Span};
use airwatt_energy::{Cause, Radio, RadioState, StateSeconds};
use airwatt_sim::record::EnergyByCause;
use airwatt_sim::replay::{Delay, Destination, RadioPeriod, Replayed};

use crate::replay::SegmentArrivals;
use crate::report::{DelayReport, LIST_LIMIT};

/// The sum of the replays of all segments under one policy at one rate.
#[derive(Clone, Debug, Default)]
pub(crate) struct Total {
    pub(super) energy: Energy,
    pub(super) causes: BTreeMap<Cause, Energy>,
    pub(super) tails: BTreeMap<u32, Energy>,
    pub(super) idealized: Energy,
    pub(super) elapsed: Span,
    pub(super) asleep: Span,
    pub(super) states: StateSeconds,
    pub(super) wakeups: BTreeMap<String, u64>,
    /// Delay of each packet of all segments, in order; `None` if it was lost or not received in time.
    pub(super) delays: Vec<Option<Span>>,
    pub(super) packets: u64,
    pub(super) lost: u64,
    /// Events that were simulated.
    pub(super) events: u64,
    /// The states of the radio, as times of the capture, if they were traced.
    pub(super) radio_states: Vec<RadioPeriod>,
    pub(super) radio: Option<Radio>,
}

impl Total {
    /// Energy in joules.
    pub(crate) fn energy_j(&self) -> f64 {
        self.energy.as_joules()
    }

    /// The energy by cause, with all flows after those of the document's list as one.
    pub(super) fn energy_by_cause(&self) -> EnergyByCause {
        let mut causes: BTreeMap<Cause, Energy> = BTreeMap::new();
        for (cause, energy) in &self.causes {
            let cause = match *cause {
                Cause::Flow(flow) => Cause::Flow(listed(flow)),
                other => other,
            };
            *causes.entry(cause).or_default() += *energy;
        }
        EnergyByCause::of(causes)
    }

    /// The energy of timeout tails by flow, with all flows after those of the document's list as one.
    pub(super) fn timeout_tail_by_flow(&self) -> BTreeMap<u32, f64> {
        let mut tails: BTreeMap<u32, Energy> = BTreeMap::new();
        for (flow, energy) in &self.tails {
            *tails.entry(listed(*flow)).or_default() += *energy;
        }
        tails.into_iter().map(|(flow, energy)| (flow, energy.as_joules())).collect()
    }

    /// The energy of timeout tails by peer.
    pub(super) fn timeout_tail_by_peer(&self, peers: &[String]) -> BTreeMap<String, f64> {
        let mut tails: BTreeMap<String, f64> = BTreeMap::new();
        for (flow, energy) in &self.tails {
            let peer = peers.get(*flow as usize).map_or("others", String::as_str);
            *tails.entry(peer.to_owned()).or_default() += energy.as_joules();
        }
        tails
    }

    /// The energy by peer: the same total as by cause.
    pub(super) fn energy_by_peer(&self, peers: &[String]) -> BTreeMap<String, f64> {
        let mut energies: BTreeMap<String, Energy> = BTreeMap::new();
        for (cause, energy) in &self.causes {
            let peer = match cause {
                Cause::Flow(flow) => peers.get(*flow as usize).map_or("others", String::as_str),
                _ => "none",
            };
            *energies.entry(peer.to_owned()).or_default() += *energy;
        }
        energies.into_iter().map(|(peer, energy)| (peer, energy.as_joules())).collect()
    }

    /// The delay of each packet beyond that of a radio that is always awake.
    pub(super) fn added_delay(&self, awake: &Self) -> Option<DelayReport> {
        let both = self.delays.iter().zip(&awake.delays);
        let mut added: Vec<Span> =
            both.filter_map(|(delay, awake)| Some((*delay)?.saturating_sub((*awake)?))).collect();
        DelayReport::of(&mut added)
    }

    /// Adds the replay of a segment that begins at `from`.
    pub(super) fn add(&mut self, segment: &SegmentArrivals, from: Instant, replayed: &Replayed) {
        let SegmentArrivals { arrivals, without_data, .. } = segment;
        let (ledger, radio) = (&replayed.ledger, &replayed.radio);
        self.energy += ledger.energy(radio);
        self.radio.get_or_insert_with(|| radio.clone());
        for (cause, energy) in replayed.causes.energies(radio) {
            *self.causes.entry(cause).or_default() += energy;
        }
        for (flow, energy) in replayed.causes.tail_energies(radio) {
            *self.tails.entry(flow).or_default() += energy;
        }
        self.idealized += ledger.idealized_energy(radio);
        self.elapsed = self.elapsed.saturating_add(ledger.elapsed());
        self.asleep = self.asleep.saturating_add(ledger.duration(RadioState::Sleep));
        self.states += StateSeconds::of(ledger);
        for (reason, count) in &replayed.wakeups {
            *self.wakeups.entry((*reason).to_owned()).or_default() += count;
        }
        let first = self.delays.len();
        self.delays.resize(first + arrivals.len(), None);
        for Delay { number, delay, .. } in &replayed.delays {
            self.delays[first + *number as usize] = Some(*delay);
        }
        for place in without_data {
            self.delays[first + *place as usize] = None;
        }
        self.packets += arrivals.iter().filter(|arrival| arrival.to != Destination::Group).count() as u64;
        self.lost += replayed.lost;
        let shift = from - Instant::ZERO;
        let moved = |period: &RadioPeriod| RadioPeriod { start: period.start + shift, ..*period };
        self.radio_states.extend(replayed.radio_states.iter().map(moved));
    }
}

/// The number of a flow in the document: all flows after those of its list have the same.
fn listed(flow: u32) -> u32 {
    flow.min(LIST_LIMIT as u32)
}
