//! The name `ideal`, under which the lower bound of a station is reported.
//!
//! It is no policy: a radio cannot know its future traffic. Every result has the `lower_bound_j` of its stations; a station with
//! `lower_bound = true` runs under `active`, and its result reports the bound instead of what the radio spent. Where a scenario, a
//! flag or a comparison names a policy, `ideal` stands for these two keys.

use airwatt_base::settings::{KindInfo, SettingError, SettingProblem, one_of};
use airwatt_proto::powersave::PowerSaveConfig;
use toml::{Table, Value};

use super::StationGroup;

/// The lower bound as an entry beside the policies.
pub const IDEAL: KindInfo = KindInfo {
    name: "ideal",
    description: "a lower bound: timing of active, energy of a radio that sleeps whenever it has nothing to send or receive",
};

/// The policy whose run is bounded.
const RUNS_AS: &str = "active";

/// Everything that may be named as a station's policy: the policies and [`IDEAL`].
pub fn policy_kinds() -> impl Iterator<Item = KindInfo> {
    PowerSaveConfig::KINDS.iter().copied().chain([IDEAL])
}

/// Adds [`IDEAL`] to the policies that the error of an unknown one lists.
pub fn list_ideal(mut error: SettingError) -> SettingError {
    let list =
        |kinds: &mut dyn Iterator<Item = KindInfo>| one_of(&kinds.map(|kind| kind.name).collect::<Vec<_>>());
    if let SettingProblem::Syntax { expected, .. } = &mut error.problem
        && *expected == list(&mut PowerSaveConfig::KINDS.iter().copied())
    {
        *expected = list(&mut policy_kinds());
    }
    error
}

impl StationGroup {
    /// The name of the policy in results and errors.
    pub(crate) fn policy_name(&self) -> &str {
        if self.lower_bound { IDEAL.name } else { self.power_save.name() }
    }
}

/// Replaces policy `ideal` of every group of stations by the two keys for which it stands.
pub(super) fn expand(table: &mut Table) {
    let cells = table.get_mut("cell").and_then(Value::as_array_mut).into_iter().flatten();
    cells.filter_map(Value::as_table_mut).for_each(expand_stations);
    expand_stations(table);
}

fn expand_stations(parent: &mut Table) {
    let stations = parent.get_mut("station").and_then(Value::as_array_mut).into_iter().flatten();
    for station in stations.filter_map(Value::as_table_mut) {
        let power_save = station.get_mut("power_save").and_then(Value::as_table_mut);
        let policy = power_save.and_then(|power_save| power_save.get_mut("policy"));
        let Some(policy) = policy.filter(|policy| policy.as_str() == Some(IDEAL.name)) else { continue };
        *policy = Value::String(RUNS_AS.to_owned());
        station.insert("lower_bound".to_owned(), Value::Boolean(true));
    }
}
