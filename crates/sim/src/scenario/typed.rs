//! From a table to a typed scenario.

use airwatt_base::settings::{self, SettingError};
use serde::Deserialize;
use toml::Table;

use super::choice::list_class;
use super::{Scenario, keys, lower_bound};

/// The scenario of a table, or the error with the key at which it went wrong.
pub(super) fn typed(table: Table) -> Result<Scenario, SettingError> {
    let value = settings::Value::deserialize(table)
        .map_err(|error: toml::de::Error| refused("", error.message().to_owned()))?;
    settings::read(value).map_err(|error| list_class(lower_bound::list_ideal(error))).map_err(|error| {
        match &error {
            SettingError::Unknown { key, .. } => keys::renamed(key).unwrap_or(error),
            // A rate alone is what many write for a direction of the line.
            SettingError::Syntax { key, expected, got }
                if expected == "a table" && got.ends_with("bps\"") =>
            {
                let expected = format!("a table such as {{ rate = {got} }}, or the key {key}.rate");
                SettingError::Syntax { key: key.clone(), expected, got: got.clone() }
            }
            _ => error,
        }
    })
}

pub(super) fn refused(key: &str, why: String) -> SettingError {
    SettingError::Refused { key: key.to_owned(), why }
}
