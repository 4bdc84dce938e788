//! Whether a scenario can run: the ranges of its tables, then its names and paths.

use airwatt_base::Span;
use airwatt_base::settings::{SettingError, Settings, in_range};

use super::names::check_scenario_name;
use super::resolve::Resolved;
use super::{Scenario, check, general};
use crate::limits::MAX_SPAN;

type Checked = Result<(), SettingError>;

/// Whether the scenario can run.
pub(super) fn check(scenario: &Scenario) -> Checked {
    check_scenario_name(&scenario.name)?;
    if let Some(duration) = scenario.duration {
        in_range("duration", duration, Span::from_millis(1), MAX_SPAN)?;
    }
    in_range("time_limit", scenario.time_limit, Span::from_millis(1), MAX_SPAN)?;
    check::measurement(scenario)?;
    if scenario.flow.is_empty() && scenario.duration.is_none() {
        let expected = "at least one [[flow]] table, or a duration of an idle network";
        return Err(SettingError::missing("flow", expected));
    }
    scenario.tcp.check().map_err(|error| error.under("tcp"))?;
    scenario.ackloss.check().map_err(|error| error.under("ackloss"))?;
    let e2tcp = scenario.e2tcp.derived(u16::try_from(scenario.tcp.mss()).unwrap_or(u16::MAX), 100);
    e2tcp.check().map_err(|error| error.under("e2tcp"))?;
    scenario.quic.check().map_err(|error| error.under("quic"))?;
    check::short_form(scenario)?;
    general::check(scenario)?;
    flows(scenario)?;
    Resolved::new(scenario, &scenario.topology()).map(|_| ())
}

fn flows(scenario: &Scenario) -> Checked {
    let stations = scenario.stations().count() as u32;
    for (index, group) in scenario.flow.iter().enumerate() {
        let ends = if group.is_general() {
            general::flow(group)
        } else {
            check::short_flow(scenario, group, stations)
        };
        ends.and_then(|()| check::flow(scenario, group)).map_err(|error| error.under(index).under("flow"))?;
    }
    Ok(())
}
