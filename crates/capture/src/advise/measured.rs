//! What runs say of a candidate: the delay that it adds, and whether what can be set beside it is worth it.

use super::choice::Figures;

/// A setting beside a candidate that saves a smaller share of its energy is not advised.
const LEAST_SAVED: f64 = 0.02;

/// The delay that a candidate adds in each run, of the flow that suffers most; `None` if no flow has delays.
///
/// `with` and `awake` have, run by run with equal seeds, a delay of each flow under the candidate and with a radio that never sleeps:
/// the mean time of an answer or of a packet, or a percentile of it, and `None` if it had none. Differences are taken seed by seed, so
/// that what both have in common drops out.
pub fn added_delays(with: &[Vec<Option<f64>>], awake: &[Vec<Option<f64>>]) -> Option<Vec<f64>> {
    let flows = with.first().map_or(0, Vec::len);
    let of_flow = |flow: usize| -> Vec<f64> {
        let delay = |run: &Vec<Option<f64>>| run.get(flow).copied().flatten();
        with.iter().zip(awake).filter_map(|(with, awake)| Some(delay(with)? - delay(awake)?)).collect()
    };
    let mean = |added: &Vec<f64>| added.iter().sum::<f64>() / added.len() as f64;
    let known = (0..flows).map(of_flow).filter(|added| !added.is_empty());
    // Of equal means the first flow's is taken.
    known.reduce(|most, other| if mean(&other) > mean(&most) { other } else { most })
}

/// What a setting beside a candidate changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SettingChange {
    /// The change of energy as a share of that of the candidate alone; negative if it saves.
    pub share: f64,
    /// Whether the runs differ at all from those of the candidate alone: the scenario may have the setting already.
    pub has_effect: bool,
    /// Whether it is within the budget and saves more than chance explains.
    pub is_advised: bool,
}

impl SettingChange {
    /// Compares the runs `with` a setting with those of the candidate `alone`.
    pub fn between(alone: &Figures, with: &Figures, budget_s: f64) -> Self {
        let share = if alone.energy_j == 0.0 { 0.0 } else { with.energy_j / alone.energy_j - 1.0 };
        let chance_j = with.energy_ci95_j.unwrap_or_default() + alone.energy_ci95_j.unwrap_or_default();
        let is_large = share <= -LEAST_SAVED && alone.energy_j - with.energy_j > chance_j;
        Self {
            share,
            has_effect: (with.energy_j, with.delay_s) != (alone.energy_j, alone.delay_s),
            is_advised: with.judged_s() <= budget_s && is_large,
        }
    }
}
