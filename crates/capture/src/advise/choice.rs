//! The decision between candidates that were simulated or replayed, and where the models disagree with the runs.

use serde::Serialize;

use super::Modelled;

/// From this share on, a model whose energy differs from the simulation's is said to disagree.
const DISAGREE: f64 = 0.25;
/// A modelled delay that is off by less than this does not disagree.
const LATE_S: f64 = 0.005;
/// A delay below this is none: a frame and its acknowledgement take longer.
pub const NO_DELAY_S: f64 = 0.000_1;

/// The figures of a candidate that was run. Intervals are half widths at 95 %; `None` for a single run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// Energy of all stations.
    pub energy_j: f64,
    /// Its interval.
    pub energy_ci95_j: Option<f64>,
    /// Mean power of all stations.
    pub power_w: f64,
    /// Mean delay that the candidate adds.
    pub delay_s: f64,
    /// Goodput of all flows.
    pub goodput_bps: Option<f64>,
    /// What it adds to the 95th percentile of the delay, by which it is judged.
    pub delay_p95_s: Option<f64>,
}

impl Figures {
    /// The delay that is held against the budget. Who waits for answers notices the slow ones: where most are not delayed at all, as
    /// under a timeout that some pauses exceed, a mean is small and says nothing of them. Without packets there is the mean alone, of none.
    pub fn judged_s(&self) -> f64 {
        self.delay_p95_s.unwrap_or(self.delay_s)
    }
}

/// Why a candidate that was run is the advice or is not.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum AdviceVerdict {
    /// It is the advice, or did exactly the same.
    Taken,
    /// Its delay is beyond the budget by so much.
    Late {
        /// In seconds.
        over_s: f64,
    },
    /// It is within the budget, and no setting gives it.
    OutOfReach,
    /// It is within the budget, and spends more than the advice.
    SpendsMore {
        /// In joules.
        more_j: f64,
        /// As a share of the energy of the advice; `None` if that is nothing.
        share: Option<f64>,
    },
}

/// A candidate with what the models and what the runs gave.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Row {
    /// By the models.
    pub model: Option<Modelled>,
    /// By simulation or replay.
    pub simulation: Option<Figures>,
    /// Whether no setting of the platform of the radio's chip, or of any platform, selects the candidate. It is then not advised, however little
    /// energy it takes.
    pub is_out_of_reach: bool,
}

/// The decision, by indices of rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Decision {
    /// The confirmed candidates within the budget, those out of reach last, and of both the least energy first. The first is the advice.
    pub ranked: Vec<usize>,
    /// Those that did exactly the same as the first.
    pub alike: Vec<usize>,
    /// The best that did something else.
    pub runner_up: Option<usize>,
    /// Whether the intervals of the first and of the runner-up leave open which is better.
    pub within_chance: bool,
    /// The effect of more delay: delays in seconds, as they are judged, at which a confirmed candidate spends less than all with less delay.
    pub curve: Vec<(f64, usize)>,
    /// The choice of the models alone, of what can be set.
    pub models_choice: Option<usize>,
    /// By how much the modelled energy differs from the simulated one, as a share of it, for each row.
    pub model_errors: Vec<Option<f64>>,
    /// Rows whose model disagrees on the energy.
    pub disagreements: Vec<usize>,
    /// Rows whose model disagrees on the delay.
    pub late: Vec<usize>,
    /// For each row that was run, why it is the advice or is not.
    pub verdicts: Vec<Option<AdviceVerdict>>,
}

impl Decision {
    /// Decides between `rows` for a delay budget.
    pub fn between(rows: &[Row], budget_s: f64) -> Self {
        let all = || 0..rows.len();
        let simulated = |index: &usize| rows[*index].simulation;
        let limit_s = budget_s.max(NO_DELAY_S);
        let mut ranked: Vec<usize> =
            all().filter(|index| simulated(index).is_some_and(|found| found.judged_s() <= limit_s)).collect();
        ranked.sort_by(|one, other| {
            let (one, other) = (&rows[*one], &rows[*other]);
            one.is_out_of_reach
                .cmp(&other.is_out_of_reach)
                .then_with(|| energy(one).total_cmp(&energy(other)))
        });
        let (alike, others): (Vec<usize>, Vec<usize>) =
            ranked.iter().skip(1).partition(|index| simulated(index) == ranked.first().and_then(simulated));
        let runner_up = others.first().copied().filter(|index| {
            let is_advice_out_of_reach = ranked.first().is_some_and(|first| rows[*first].is_out_of_reach);
            is_advice_out_of_reach || !rows[*index].is_out_of_reach
        });
        let taken = ranked.first().map(|&best| (best, energy(&rows[best])));
        let verdict = |(index, row): (usize, &Row)| {
            let found = row.simulation?;
            let over_s = found.judged_s() - limit_s;
            Some(match taken {
                _ if over_s > 0.0 => AdviceVerdict::Late { over_s },
                Some((best, _)) if index == best || alike.contains(&index) => AdviceVerdict::Taken,
                _ if row.is_out_of_reach => AdviceVerdict::OutOfReach,
                // Whatever is within the budget is behind the best of it.
                _ => {
                    let best_j = taken.map_or(0.0, |(_, best_j)| best_j);
                    let more_j = found.energy_j - best_j;
                    AdviceVerdict::SpendsMore { more_j, share: (best_j != 0.0).then(|| more_j / best_j) }
                }
            })
        };
        let verdicts = rows.iter().enumerate().map(verdict).collect();
        let model_errors: Vec<Option<f64>> = rows.iter().map(model_error).collect();
        let is_undecided = |index: &usize| rows[*index].model.is_some_and(|model| model.is_inside(budget_s));
        let modelled_j = |index: &usize| rows[*index].model.map_or(f64::INFINITY, |model| model.energy_j);
        Self {
            within_chance: ranked
                .first()
                .zip(runner_up)
                .is_some_and(|(&best, next)| overlap(&rows[best], &rows[next])),
            curve: curve(rows),
            models_choice: all()
                .filter(|index| is_undecided(index) && !rows[*index].is_out_of_reach)
                .min_by(|one, other| modelled_j(one).total_cmp(&modelled_j(other))),
            disagreements: all()
                .filter(|&index| model_errors[index].is_some_and(|error| error.abs() > DISAGREE))
                .collect(),
            late: all().filter(|&index| is_late(&rows[index])).collect(),
            model_errors,
            ranked,
            alike,
            runner_up,
            verdicts,
        }
    }
}

fn energy(row: &Row) -> f64 {
    row.simulation.map_or(f64::INFINITY, |found| found.energy_j)
}

fn curve(rows: &[Row]) -> Vec<(f64, usize)> {
    let mut confirmed: Vec<(f64, f64, usize)> = rows
        .iter()
        .enumerate()
        .filter_map(|(index, row)| row.simulation.map(|found| (found.judged_s(), found.energy_j, index)))
        .collect();
    confirmed.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.total_cmp(&other.1)));
    let mut steps: Vec<(f64, usize)> = Vec::new();
    for (delay_s, energy_j, index) in confirmed {
        if steps.last().is_none_or(|&(_, last)| energy_j < energy(&rows[last])) {
            steps.push((delay_s.max(0.0), index));
        }
    }
    steps
}

fn model_error(row: &Row) -> Option<f64> {
    let (model, found) = row.model.zip(row.simulation)?;
    (found.energy_j != 0.0).then(|| model.energy_j / found.energy_j - 1.0)
}

/// Whether the modelled mean delay is off by more than [`LATE_S`] and more than half of the simulated one.
fn is_late(row: &Row) -> bool {
    row.model.zip(row.simulation).is_some_and(|(model, found)| {
        let off_s = (model.delay_s - found.delay_s).abs();
        off_s > LATE_S && off_s > 0.5 * found.delay_s.abs()
    })
}

fn overlap(one: &Row, other: &Row) -> bool {
    let interval = |row: &Row| row.simulation.and_then(|found| Some((found.energy_j, found.energy_ci95_j?)));
    interval(one)
        .zip(interval(other))
        .is_some_and(|((a, a_ci95), (b, b_ci95))| (a - b).abs() <= a_ci95 + b_ci95)
}
