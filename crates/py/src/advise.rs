//! Advice: candidates with their models, and the decision between those that were run.

use airwatt_capture::advise::choice::{Decision, Figures, Row};
use airwatt_capture::advise::deep_sleep::DeepSleep;
use airwatt_capture::advise::measured::{self, SettingChange};
use airwatt_capture::advise::{
    Asked, Candidate, CapturedTraffic, ModelPlan, ModelQuestion, Modelled, TunnelAdvice,
};
use airwatt_capture::report::{CellReport, GapReport, PaceReport};
use airwatt_proto::powersave::PowerSaveConfig;
use pyo3::prelude::*;
use serde::Serialize;
use serde_json::{Value, json};

use crate::errors::{AirwattError, InputError};
use crate::scenario::Scenario;

/// All candidates, as a JSON list of `{policy, parameters}`.
#[pyfunction]
pub(crate) fn advise_candidates() -> String {
    Value::Array(Candidate::all().iter().map(candidate).collect()).to_string()
}

/// What decides how a device is set to a policy, as a JSON object by the policy's name: `{dozing, uapsd, needs_agreement,
/// runs_on_drivers}`.
#[pyfunction]
pub(crate) fn advise_policies() -> String {
    let policies = PowerSaveConfig::KINDS.iter().filter_map(|kind| PowerSaveConfig::named(kind.name).ok());
    let entry = |policy: PowerSaveConfig| {
        let value = json!({
            "dozing": policy.estimate().dozing.name(),
            "uapsd": policy.needs_uapsd(),
            "needs_agreement": policy.wake_request().is_some(),
            "runs_on_drivers": policy.runs_on_drivers(),
        });
        (policy.name().to_owned(), value)
    };
    Value::Object(policies.map(entry).collect()).to_string()
}

fn candidate(candidate: &Candidate) -> Value {
    let parameters =
        candidate.setting.iter().map(|(key, value)| ((*key).to_owned(), json!(value.to_string())));
    json!({
        "policy": candidate.policy,
        "parameters": Value::Object(parameters.collect()),
        "listen_interval": candidate.listen_interval,
    })
}

/// What the models give for a scenario, as JSON: candidates, which of them to simulate, and tunnels.
#[pyfunction]
pub(crate) fn advise_scenario(
    scenario: &Scenario,
    budget_s: f64,
    confirm: usize,
    tries_listen_intervals: bool,
    tries_wake_times: bool,
) -> PyResult<String> {
    let question = ModelQuestion { budget_s, confirm, tries_listen_intervals, tries_wake_times };
    document(&ModelPlan::of_scenario(&scenario.checked, question))
}

/// The traffic of an analysis, by the keys of its document.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct PyAnalysis {
    radio: String,
    cell: CellOfPython,
    pace: PaceOfPython,
    policies: Vec<ReplayOfPython>,
}

#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct CellOfPython {
    beacon_interval_s: f64,
    beacon_rate_bps: f64,
    beacon_bytes: u32,
    data_rate_bps: f64,
    listen_interval: u32,
    dtim_period: u8,
}

#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct PaceOfPython {
    elapsed_s: f64,
    packets_down: u64,
    packets_up: u64,
    gaps: Vec<GapOfPython>,
    gaps_up: Vec<GapOfPython>,
}

#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct GapOfPython {
    longer_than_s: f64,
    count: u64,
    time_s: f64,
    before_down: u64,
}

#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct ReplayOfPython {
    policy: String,
    state_s: StatesOfPython,
}

#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct StatesOfPython {
    transmit: f64,
    receive: f64,
}

/// What the models give for a station's captured packets, as JSON, from the document of an analysis with a replay of policy
/// `active`. Raises `InputError` if it has none.
#[pyfunction]
pub(crate) fn advise_analysis(
    analysis: PyAnalysis,
    budget_s: f64,
    confirm: usize,
    tries_listen_intervals: bool,
) -> PyResult<String> {
    // Which agreement its access point would have made, no capture says.
    let tries_wake_times = false;
    let question = ModelQuestion { budget_s, confirm, tries_listen_intervals, tries_wake_times };
    let gaps = |gaps: &[GapOfPython]| -> Vec<GapReport> {
        let report = |gap: &GapOfPython| GapReport {
            longer_than_s: gap.longer_than_s,
            count: gap.count,
            time_s: gap.time_s,
            before_down: gap.before_down,
        };
        gaps.iter().map(report).collect()
    };
    let PyAnalysis { radio, cell, pace, policies } = analysis;
    let active = policies.iter().find(|replay| replay.policy == "active");
    let active = active.ok_or_else(|| InputError::new_err("analysis: expected a replay of policy active"))?;
    document(&ModelPlan::of_capture(
        &CapturedTraffic {
            radio,
            cell: CellReport {
                beacon_interval_s: cell.beacon_interval_s,
                beacon_rate_bps: cell.beacon_rate_bps,
                beacon_bytes: cell.beacon_bytes,
                data_rate_bps: cell.data_rate_bps,
                listen_interval: cell.listen_interval,
                dtim_period: cell.dtim_period,
            },
            pace: PaceReport {
                elapsed_s: pace.elapsed_s,
                packets_down: pace.packets_down,
                packets_up: pace.packets_up,
                gaps: gaps(&pace.gaps),
                gaps_up: gaps(&pace.gaps_up),
            },
            transmit_s: active.state_s.transmit,
            receive_s: active.state_s.receive,
        },
        question,
    ))
}

/// A plan as Python reads it.
#[derive(Serialize)]
struct PlanDocument<'a> {
    candidates: Vec<Value>,
    tunnel: Option<TunnelAdvice>,
    tunnel_curve: &'a [(f64, f64)],
}

fn document(plan: &ModelPlan) -> PyResult<String> {
    let asked = |asked: &Asked| {
        let mut entry = candidate(&asked.candidate);
        entry["model"] = json!(asked.model);
        entry["confirm"] = json!(asked.confirm);
        entry
    };
    let candidates = plan.candidates.iter().map(asked).collect();
    text(&PlanDocument { candidates, tunnel: plan.tunnel, tunnel_curve: &plan.tunnel_curve })
}

fn text(document: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(document).map_err(|error| AirwattError::new_err(format!("advice: {error}")))
}

/// The figures of a candidate, by the names of the attributes.
#[derive(FromPyObject)]
pub(crate) struct FiguresOfPython {
    energy_j: f64,
    energy_ci95_j: Option<f64>,
    power_w: f64,
    delay_s: f64,
    goodput_bps: Option<f64>,
    delay_p95_s: Option<f64>,
}

impl FiguresOfPython {
    const fn figures(&self) -> Figures {
        Figures {
            energy_j: self.energy_j,
            energy_ci95_j: self.energy_ci95_j,
            power_w: self.power_w,
            delay_s: self.delay_s,
            goodput_bps: self.goodput_bps,
            delay_p95_s: self.delay_p95_s,
        }
    }

    fn modelled(&self) -> Modelled {
        Modelled {
            energy_j: self.energy_j,
            power_w: self.power_w,
            delay_s: self.delay_s,
            delay_p95_s: self.delay_p95_s.unwrap_or(self.delay_s),
            goodput_bps: self.goodput_bps,
        }
    }
}

/// The delay that a candidate adds in each run, of the flow that suffers most; None if no flow has delays. Both have a delay of each
/// flow, run by run with equal seeds.
#[pyfunction]
pub(crate) fn advise_added_delays(
    with_policy: Vec<Vec<Option<f64>>>,
    awake: Vec<Vec<Option<f64>>>,
) -> Option<Vec<f64>> {
    measured::added_delays(&with_policy, &awake)
}

/// What a setting beside a candidate changes: the change of energy as a share, whether it has an effect, and whether it is advised.
#[pyfunction]
pub(crate) fn advise_change(
    alone: FiguresOfPython,
    beside: FiguresOfPython,
    budget_s: f64,
) -> (f64, bool, bool) {
    let SettingChange { share, has_effect, is_advised } =
        SettingChange::between(&alone.figures(), &beside.figures(), budget_s);
    (share, has_effect, is_advised)
}

/// A candidate with the figures of models and runs.
#[derive(FromPyObject)]
pub(crate) struct RowOfPython {
    model: Option<FiguresOfPython>,
    simulation: Option<FiguresOfPython>,
    is_out_of_reach: bool,
}

/// Decides between candidates for a delay budget; returns indices of rows, as JSON.
#[pyfunction]
pub(crate) fn advise_choose(rows: Vec<RowOfPython>, budget_s: f64) -> PyResult<String> {
    let row = |row: &RowOfPython| Row {
        model: row.model.as_ref().map(FiguresOfPython::modelled),
        simulation: row.simulation.as_ref().map(FiguresOfPython::figures),
        is_out_of_reach: row.is_out_of_reach,
    };
    let rows: Vec<Row> = rows.iter().map(row).collect();
    text(&Decision::between(&rows, budget_s))
}

/// Deep sleep with a reconnection for each report, beside a candidate that stays associated, as JSON.
#[pyfunction]
#[pyo3(signature = (associated_w, deep_w, awake_w, interval_s, reconnection_s=None))]
pub(crate) fn advise_deep_sleep(
    associated_w: f64,
    deep_w: f64,
    awake_w: f64,
    interval_s: f64,
    reconnection_s: Option<f64>,
) -> PyResult<String> {
    text(&DeepSleep::beside(associated_w, (deep_w, awake_w), interval_s, reconnection_s))
}

/// What a station asks for with policy `twt` of this interval, as the element carries it: mantissa and exponent of the interval in
/// microseconds, and the duration in units of 256 us. Raises `InputError`.
#[pyfunction]
pub(crate) fn wake_request(interval: &str) -> PyResult<(u64, u32, u64)> {
    let refused = |error: String| InputError::new_err(format!("interval: {error}"));
    let policy: PowerSaveConfig =
        format!("twt:interval={interval}").parse().map_err(|error| refused(format!("{error}")))?;
    let request = policy.wake_request().ok_or_else(|| refused("no agreement".to_owned()))?;
    let micros = request.interval.as_nanos() / 1_000;
    let exponent = micros.trailing_zeros().min((u64::BITS - micros.leading_zeros()).saturating_sub(16));
    Ok((micros >> exponent, exponent, request.duration.as_nanos() / 256_000))
}
