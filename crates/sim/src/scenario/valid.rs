//! Whether a scenario can run: the ranges of its tables, then its names and paths. A scenario that can carries what this found out, from
//! which its network is planned.

use std::ops::Deref;

use airwatt_base::Span;
use airwatt_base::settings::{SettingError, Settings, in_range};

use super::check::Outcome;
use super::names::check_scenario_name;
use super::resolve::Resolved;
use super::{Scenario, Topology, check, general};
use crate::limits::MAX_SPAN;

/// A scenario that can run, in the general form and in numbers.
#[derive(Clone, Debug)]
pub struct Checked {
    pub(super) scenario: Scenario,
    pub(crate) topology: Topology,
    pub(crate) resolved: Resolved,
}

impl Checked {
    /// Checks a scenario.
    ///
    /// # Errors
    /// The first key whose value is out of range, or whose name does not exist.
    pub fn new(scenario: Scenario) -> Result<Self, SettingError> {
        check(&scenario)?;
        let topology = scenario.topology();
        let resolved = Resolved::new(&scenario, &topology)?;
        Ok(Self { scenario, topology, resolved })
    }
}

/// It reads like any scenario. Whoever changes a copy has it checked again.
impl Deref for Checked {
    type Target = Scenario;

    fn deref(&self) -> &Scenario {
        &self.scenario
    }
}

/// Checks the ranges of all tables.
fn check(scenario: &Scenario) -> Outcome {
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
    flows(scenario)
}

fn flows(scenario: &Scenario) -> Outcome {
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
