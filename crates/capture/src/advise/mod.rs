//! Advice: which policy and which settings spend least within a delay budget.
//!
//! A *candidate* is a policy with its settings; its *delay* is what it adds to the 95th percentile of the time from host to host of
//! the flow that is delayed most, compared with a radio that never sleeps. If an application waits for answers, it is what the
//! candidate adds to that of the time of an answer. In a capture it is the 95th percentile of what the candidate adds to each packet.
//! The models are evaluated first ([`estimate`]), for the traffic of a scenario ([`setting`]) or of a capture, and choose what is
//! simulated or replayed: the best few by the same quantities, and those without a model. [`choice`] ranks what was run, and says where the
//! models disagree.
//!
//! Left out: policies of other stations, changes of the transport, tunnels in runs.

pub mod choice;
pub mod deep_sleep;
pub mod estimate;
pub mod measured;
pub mod setting;

#[cfg(test)]
mod tests;

use airwatt_base::Span;
use airwatt_energy::Radio;
use airwatt_proto::powersave::{Dozing, PowerSaveConfig, Trial};
use airwatt_sim::scenario::{Scenario, StationGroup};
use serde::Serialize;

use crate::report::{CellReport, PaceReport};
use estimate::{Traffic, estimate};
use setting::Setting;

/// Numbers of beacon intervals from one beacon that is received to the next, beside every beacon, that are candidates: DTIM beacons
/// that are skipped if the access point announces each beacon as one. 3 and 10 are the intervals of makers' data sheets.
const LISTEN_INTERVALS: [u32; 3] = [1, 3, 10];

/// Up to this round trip the timeouts that are tried anyway are close together.
const SHORT_TRIP: Span = Span::from_millis(100);
/// A timeout beyond a round trip is a tenth longer, in whole steps.
const STEP: Span = Span::from_millis(10);
/// A modelled delay that exceeds the budget by less than this is left to the simulation.
const UNDECIDED_S: f64 = 0.001;
/// Number of candidates beyond the budget that are simulated too, to find out what more delay would save.
const BEYOND: usize = 2;
/// Delay bounds at which a tunnel is evaluated, beside the budget.
const TUNNEL_BOUNDS_S: [f64; 8] = [0.0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1];

/// The setting of a policy that is a time without traffic.
const TIMEOUT: &str = "timeout";

/// How many of the models' best within the budget are simulated unless the caller says it, beside those that are in any case.
pub const CONFIRM: usize = 4;

/// A policy with its settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Name of the policy.
    pub policy: &'static str,
    /// How it dozes.
    pub dozing: Dozing,
    /// The setting that differs from the policy's defaults: its key and value.
    pub setting: Option<(&'static str, Span)>,
    /// The listen interval in beacons, if not every beacon is received.
    pub listen_interval: Option<u32>,
}

impl Candidate {
    /// Every policy that a station can have, with the settings that it wants tried.
    pub fn all() -> Vec<Self> {
        let policies =
            PowerSaveConfig::KINDS.iter().filter_map(|kind| PowerSaveConfig::named(kind.name).ok());
        let candidates = policies.flat_map(|policy| {
            let estimate = policy.estimate();
            let candidate = move |trial: &Trial, listen_interval| Self {
                policy: policy.name(),
                dozing: estimate.dozing,
                setting: trial.setting,
                listen_interval,
            };
            let skipping = estimate
                .trials
                .iter()
                .filter(|trial| trial.skips_beacons)
                .flat_map(move |trial| LISTEN_INTERVALS.map(|beacons| candidate(trial, Some(beacons))));
            estimate.trials.iter().map(move |trial| candidate(trial, None)).chain(skipping)
        });
        candidates.collect()
    }

    /// The timeout that outlasts a long round trip by little, and so an answer, with the listen intervals that are tried.
    fn beyond(rtt: Span) -> Vec<Self> {
        let timeout = STEP * (rtt + rtt / 10).as_nanos().div_ceil(STEP.as_nanos());
        let of_timeouts = Self::all()
            .into_iter()
            .filter(|candidate| candidate.setting.is_some_and(|(key, _)| key == TIMEOUT));
        let mut beyond: Vec<Self> = Vec::new();
        for one in of_timeouts.filter(|_| rtt > SHORT_TRIP) {
            let candidate = Self { setting: Some((TIMEOUT, timeout)), ..one };
            if !beyond.contains(&candidate) {
                beyond.push(candidate);
            }
        }
        beyond
    }

    /// Whether it takes an access point that agrees on wake times.
    fn needs_agreement(&self) -> bool {
        PowerSaveConfig::named(self.policy).is_ok_and(|policy| policy.wake_request().is_some())
    }

    fn value_s(&self) -> f64 {
        self.setting.map_or(0.0, |(_, value)| value.as_secs_f64())
    }
}

/// The figures that a model gives for a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Modelled {
    /// Energy of the station.
    pub energy_j: f64,
    /// Its mean power.
    pub power_w: f64,
    /// Mean delay that the candidate adds.
    pub delay_s: f64,
    /// The 95th percentile of that delay, by which candidates are judged.
    pub delay_p95_s: f64,
    /// Goodput of all flows, if the models give it.
    pub goodput_bps: Option<f64>,
}

impl Modelled {
    /// Whether it is within a budget, or so little beyond that a simulation has to say it.
    fn is_inside(&self, budget_s: f64) -> bool {
        self.delay_p95_s <= budget_s + UNDECIDED_S
    }
}

/// A candidate with its model.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// The candidate.
    pub candidate: Candidate,
    /// `None` if no model describes it.
    pub model: Option<Modelled>,
    /// Whether it is to be simulated or replayed.
    pub confirm: bool,
}

/// A tunnel whose burst is the largest within a delay bound, by the model `sctp-tunnel` alone.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TunnelAdvice {
    /// Packets in a burst.
    pub burst_packets: f64,
    /// Mean delay in its buffer.
    pub delay_s: f64,
    /// Power of a radio that never sleeps.
    pub cam_w: f64,
    /// Power of a radio that sleeps between bursts.
    pub ideal_w: f64,
    /// Share of the power that it saves; zero instead of a negative value.
    pub saving_floored: f64,
    /// Interval of triggers for packets towards the station.
    pub trigger_interval_s: f64,
}

/// What is asked of the models.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelQuestion {
    /// The delay that a candidate may add, at the 95th percentile.
    pub budget_s: f64,
    /// How many candidates within the budget are to be run, beside those that are in any case.
    pub confirm: usize,
    /// Whether listen intervals are candidates: not where the caller sets one.
    pub tries_listen_intervals: bool,
    /// Whether target wake times are candidates: only where the caller knows that both sides can have them.
    pub tries_wake_times: bool,
}

impl ModelQuestion {
    /// Whether a candidate is tried by a station that otherwise receives one beacon in `usual`: one with a longer listen interval, which saves
    /// energy, and the one that receives each beacon, which saves time.
    fn has(&self, candidate: &Candidate, usual: u32) -> bool {
        let differs = |beacons| self.tries_listen_intervals && (beacons > usual || beacons == 1 && usual > 1);
        candidate.listen_interval.is_none_or(differs)
            && (self.tries_wake_times || !candidate.needs_agreement())
    }
}

/// The plan that the models give before anything runs.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelPlan {
    /// All candidates.
    pub candidates: Vec<Asked>,
    /// A tunnel within the budget, if there is traffic for one.
    pub tunnel: Option<TunnelAdvice>,
    /// Power of a tunnel, or of a radio that never sleeps if that is less, by delay bound in seconds.
    pub tunnel_curve: Vec<(f64, f64)>,
}

impl ModelPlan {
    /// Evaluates the models for the traffic of a scenario.
    pub fn of_scenario(scenario: &Scenario, question: ModelQuestion) -> Self {
        let budget_s = question.budget_s;
        let usual = |station: &StationGroup| station.listening().beacons(scenario.ap.dtim_period);
        let setting = Setting::of(scenario);
        let model = |candidate: &Candidate| {
            let setting = setting.as_ref()?.listening(candidate.listen_interval)?;
            estimate(&setting.traffic(candidate.dozing)?, candidate)
        };
        let usual = scenario.station.first().map_or(1, usual);
        let rtt = scenario.wired.as_ref().map_or(Span::ZERO, |wired| wired.rtt);
        let candidates = asked(model, question, usual, Candidate::beyond(rtt));
        let Some(setting) = setting else {
            return Self { candidates, tunnel: None, tunnel_curve: Vec::new() };
        };
        let mut bounds = TUNNEL_BOUNDS_S.to_vec();
        if !bounds.contains(&budget_s) {
            bounds.push(budget_s);
        }
        bounds.sort_by(f64::total_cmp);
        let power =
            |bound_s| setting.tunnel(bound_s).map(|tunnel| (bound_s, tunnel.ideal_w.min(tunnel.cam_w)));
        Self {
            candidates,
            tunnel: setting.tunnel(budget_s),
            tunnel_curve: bounds.into_iter().filter_map(power).collect(),
        }
    }

    /// Evaluates the models for the traffic of a capture.
    pub fn of_capture(captured: &CapturedTraffic, question: ModelQuestion) -> Self {
        let radio = Radio::find(&captured.radio).ok();
        let traffic = radio.and_then(|radio| Traffic::of_capture(captured, &radio));
        let model = |candidate: &Candidate| {
            estimate(&traffic.as_ref()?.listening(candidate.listen_interval), candidate)
        };
        let candidates = asked(model, question, captured.cell.listen_interval, Vec::new());
        Self { candidates, tunnel: None, tunnel_curve: Vec::new() }
    }
}

/// The figures of a station's packets that an analysis gives.
#[derive(Clone, Debug, PartialEq)]
pub struct CapturedTraffic {
    /// Name of the radio profile, or its file.
    pub radio: String,
    /// The packets' pace.
    pub pace: PaceReport,
    /// The cell of the replays.
    pub cell: CellReport,
    /// Time in which the radio transmits in a replay of policy `active`.
    pub transmit_s: f64,
    /// Time in which it receives there.
    pub receive_s: f64,
}

fn asked(
    model: impl Fn(&Candidate) -> Option<Modelled>,
    question: ModelQuestion,
    usual: u32,
    beside: Vec<Candidate>,
) -> Vec<Asked> {
    let ModelQuestion { budget_s, confirm, .. } = question;
    let with_model = |candidate: Candidate| Asked { model: model(&candidate), candidate, confirm: false };
    let all = Candidate::all();
    let beside = beside.into_iter().filter(|candidate| !all.contains(candidate));
    let tried = all.iter().cloned().chain(beside).filter(|candidate| question.has(candidate, usual));
    let mut candidates: Vec<_> = tried.map(with_model).collect();
    for index in to_confirm(&candidates, budget_s, confirm) {
        candidates[index].confirm = true;
    }
    candidates
}

/// The candidates without a model, the best of each policy and listen interval, of all within the budget, and of those beyond it. A model that
/// is wrong about a policy is wrong about all of its settings, so no policy is left out because of its model. Within the budget are those
/// whose percentile is, and those whose mean is: a model's mean is the better known of both.
fn to_confirm(candidates: &[Asked], budget_s: f64, confirm: usize) -> Vec<usize> {
    let mut chosen: Vec<usize> =
        (0..candidates.len()).filter(|&index| candidates[index].model.is_none()).collect();
    let mut modelled: Vec<(usize, Modelled)> = candidates
        .iter()
        .enumerate()
        .filter_map(|(index, asked)| asked.model.map(|model| (index, model)))
        .collect();
    modelled.sort_by(|(_, one), (_, other)| one.energy_j.total_cmp(&other.energy_j));
    let mut kinds = Vec::new();
    for &(index, _) in &modelled {
        let Candidate { policy, listen_interval, .. } = candidates[index].candidate;
        if !kinds.contains(&(policy, listen_interval)) {
            kinds.push((policy, listen_interval));
            chosen.push(index);
        }
    }
    let best = |is_wanted: &dyn Fn(&Modelled) -> bool, count| {
        let wanted = modelled.iter().filter(|(_, model)| is_wanted(model));
        wanted.take(count).map(|&(index, _)| index).collect::<Vec<_>>()
    };
    let has_mean_inside = |model: &Modelled| model.delay_s <= budget_s + UNDECIDED_S;
    chosen.extend(best(&|model| model.is_inside(budget_s), confirm));
    chosen.extend(best(&has_mean_inside, confirm));
    chosen.extend(best(&|model| !has_mean_inside(model), BEYOND));
    chosen
}

/// A radio profile as parameters of the models.
fn model_radio(radio: &Radio) -> airwatt_models::radio::RadioPowers {
    let transition = |change: airwatt_energy::Transition| {
        let time_s = change.time.as_secs_f64();
        // A transition that takes no time costs nothing, at any power.
        (time_s, if time_s > 0.0 { change.energy().as_joules() / time_s } else { 0.0 })
    };
    let (to_sleep_s, to_sleep_w) = transition(radio.to_sleep);
    let (wake_up_s, wake_up_w) = transition(radio.wake_up);
    airwatt_models::radio::RadioPowers {
        transmit_w: radio.transmit.as_watts(),
        receive_w: radio.receive.as_watts(),
        listen_w: radio.listen.as_watts(),
        sleep_w: radio.sleep.as_watts(),
        to_sleep_w,
        wake_up_w,
        to_sleep_s,
        wake_up_s,
    }
}
