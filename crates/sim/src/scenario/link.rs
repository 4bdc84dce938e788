//! The key `link` of a scenario: the point-to-point wireless link of the short form, or the links of the general form.

use airwatt_base::settings::{Value, into_serde_error, read, refused_form};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::topology::Link;
use crate::media::PointToPointConfig;

/// What `link` holds: the table of the short form, or the list of the general form.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Links {
    /// `[link]`: the point-to-point link to the one station.
    PointToPoint(PointToPointConfig),
    /// `[[link]]`: links between nodes.
    List(Vec<Link>),
}

impl<'de> Deserialize<'de> for Links {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Errors keep their keys, since it is known from the value's form which of the two is meant.
        match Value::deserialize(deserializer)? {
            table @ Value::Table(_) => read(table).map(Self::PointToPoint).map_err(into_serde_error),
            list @ Value::List(_) => read(list).map(Self::List).map_err(into_serde_error),
            other => Err(refused_form("a [link] table or [[link]] tables", &other)),
        }
    }
}
