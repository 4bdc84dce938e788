//! What a policy would have spent, and the times that its timers depend on.

use std::collections::BTreeMap;

use airwatt_base::{Span, percentile};
use airwatt_energy::{ProfileAccount, StateSeconds};
use airwatt_sim::record::EnergyByCause;
use schemars::JsonSchema;
use serde::Serialize;

use super::Basis;

/// The cell of the replays: what the caller sets, otherwise what the capture shows, otherwise what is assumed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct CellReport {
    /// Time between two beacons.
    pub beacon_interval_s: f64,
    /// Rate of beacons.
    pub beacon_rate_bps: f64,
    /// Length of beacons with FCS.
    pub beacon_bytes: u32,
    /// Rate of data frames.
    pub data_rate_bps: f64,
    /// Number of beacon intervals from one beacon that the station receives in power save to the next.
    pub listen_interval: u32,
    /// Number of beacon intervals from one DTIM beacon to the next.
    pub dtim_period: u8,
}

/// A delay's distribution in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct DelayReport {
    /// Arithmetic mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 95 % are at most this.
    pub p95: f64,
    /// 99 % are at most this.
    pub p99: f64,
}

impl DelayReport {
    /// Mean and percentiles of samples in any order; `None` if there are none.
    pub fn of(samples: &mut [Span]) -> Option<Self> {
        samples.sort_unstable();
        let at = |percent| percentile::of_sorted(samples, percent).map(|sample| sample.as_secs_f64());
        let (p50, p95, p99) = (at(50)?, at(95)?, at(99)?);
        let sum: f64 = samples.iter().map(|sample| sample.as_secs_f64()).sum();
        Some(Self { mean: sum / samples.len() as f64, p50, p95, p99 })
    }
}

/// The times of a station's packets, which the timers of a policy depend on.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PaceReport {
    /// Time covered, with the tail of a replay.
    pub elapsed_s: f64,
    /// Packets to the station.
    pub packets_down: u64,
    /// Packets from it.
    pub packets_up: u64,
    /// Gaps between packets, by their least length.
    pub gaps: Vec<GapReport>,
    /// Gaps between packets from the station. Each such packet, of any size, may trigger the delivery of buffered frames.
    pub gaps_up: Vec<GapReport>,
}

/// Gaps that are longer than a bound.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct GapReport {
    /// The bound.
    pub longer_than_s: f64,
    /// Number of gaps.
    pub count: u64,
    /// Their total length.
    pub time_s: f64,
    /// Number of gaps that end with a packet to the station, which has to wait if the station sleeps.
    pub before_down: u64,
}

impl GapReport {
    /// The bounds: the timers of the policies, and values around them.
    const BOUNDS_MS: [u64; 10] = [1, 5, 10, 20, 40, 50, 80, 100, 200, 1_000];

    /// The reports of gaps in any order, each with whether it ends with a packet to the station.
    pub fn of(gaps: &[(Span, bool)]) -> Vec<Self> {
        let bounds = Self::BOUNDS_MS.map(Span::from_millis);
        let report = |bound: Span| {
            let longer = gaps.iter().filter(|(gap, _)| *gap > bound);
            let time: Span = longer.clone().map(|(gap, _)| *gap).sum();
            Self {
                longer_than_s: bound.as_secs_f64(),
                count: longer.clone().count() as u64,
                time_s: time.as_secs_f64(),
                before_down: longer.filter(|(_, down)| *down).count() as u64,
            }
        };
        bounds.map(report).to_vec()
    }
}

/// The replay of the capture's arrivals under one policy.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PolicyReport {
    /// Its name, with its time if one was stated.
    pub policy: String,
    /// The source of the energy.
    pub basis: Basis,
    /// Energy at the stated rate.
    pub energy_j: f64,
    /// If all assumptions err towards less; `null` if the rate is known and nothing of weight is assumed, and if replays were
    /// left out.
    pub energy_low_j: Option<f64>,
    /// If all assumptions err towards more.
    pub energy_high_j: Option<f64>,
    /// The assumptions of which the band consists.
    pub assumptions: Vec<AssumptionReport>,
    /// Assumptions that belong to the band but were not replayed, since the limit of events would be exceeded. The band is then
    /// `null`.
    pub left_out: Vec<&'static str>,
    /// The energy by what it was spent on. Flows have the numbers of the document's list; the number after its last one stands for
    /// all others.
    pub energy_by_cause_j: EnergyByCause,
    /// The same total by the address at the other end of each flow: the 20 with most bytes, `others`, and `none` for everything
    /// that is no packet of a flow.
    pub energy_by_peer_j: BTreeMap<String, f64>,
    /// `energy_by_cause_j.timeout_tail` by the peer of the packet before each tail, with the names of `energy_by_peer_j`.
    pub timeout_tail_by_peer_j: BTreeMap<String, f64>,
    /// `energy_by_cause_j.timeout_tail` by the flow of the packet before each tail, numbered as in `energy_by_cause_j.flow`.
    pub timeout_tail_by_flow_j: BTreeMap<u32, f64>,
    /// Energy without what idle listening costs.
    pub idealized_energy_j: f64,
    /// Energy over time covered.
    pub average_power_w: f64,
    /// Share of the time asleep, 0 to 1.
    pub sleep_share: f64,
    /// Time in each state.
    pub state_s: StateSeconds,
    /// What the radio's profile says of the energy: the same in other modes of the host, the share that rests on values of another
    /// chip, and the profile's error. `null` if it says nothing.
    pub profile: Option<ProfileAccount>,
    /// Delay beyond what the same packets take with the radio always awake: of all but TCP segments that have no data, for which
    /// nobody waits.
    pub added_delay_s: Option<DelayReport>,
    /// Wake-ups by reason.
    pub wakeups: BTreeMap<String, u64>,
    /// Packets replayed.
    pub packets: u64,
    /// Packets lost on the way.
    pub lost: u64,
}

/// An assumption that moves the energy by 2 % or more.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct AssumptionReport {
    /// `data rate`, `beacon rate`, `listen`, `wake-up charge` or `radio profile`.
    pub what: String,
    /// The assumed value.
    pub assumed: String,
    /// Other likely values.
    pub other: String,
    /// Energy at the lower end.
    pub energy_low_j: f64,
    /// Energy at the upper end.
    pub energy_high_j: f64,
    /// The difference of both, as a share of the energy.
    pub share: f64,
}
