//! From a table to a typed scenario.

use airwatt_base::settings::{self, SettingError, SettingProblem};
use serde::Deserialize;
use toml::Table;

use super::choice::list_class;
use super::{Scenario, keys, lower_bound};

/// The scenario of a table, or the error with the key at which it went wrong.
pub(super) fn typed(table: Table) -> Result<Scenario, SettingError> {
    let value = settings::Value::deserialize(table)
        .map_err(|error: toml::de::Error| SettingError::refused("", error.message()))?;
    settings::read(value).map_err(|error| list_class(lower_bound::list_ideal(error))).map_err(|error| {
        let SettingError { key, problem } = &error;
        match problem {
            SettingProblem::Unknown { .. } => keys::renamed(key).unwrap_or(error),
            // A rate alone is what many write for a direction of the line.
            SettingProblem::Syntax { expected, got } if expected == "a table" && got.ends_with("bps\"") => {
                let expected = format!("a table such as {{ rate = {got} }}, or the key {key}.rate");
                SettingError::syntax(key, expected, got)
            }
            _ => error,
        }
    })
}
