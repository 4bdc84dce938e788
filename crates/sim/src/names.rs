//! Names of nodes in settings: one, a group, a range, or a list of them.

use std::fmt;

use airwatt_base::settings::{Value, into_serde_error, read, refused_form};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Names of nodes: text for one, otherwise a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names(pub Vec<String>);

impl Names {
    /// One name.
    pub fn one(name: impl Into<String>) -> Self {
        Self(vec![name.into()])
    }
}

impl fmt::Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [one] => write!(f, "{one:?}"),
            names => write!(f, "{names:?}"),
        }
    }
}

impl Serialize for Names {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [one] => serializer.serialize_str(one),
            names => names.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Text(name) => Ok(Self::one(name)),
            list @ Value::List(_) => read(list).map(Self).map_err(into_serde_error),
            other => Err(refused_form("the name of a node or a list of names", &other)),
        }
    }
}

impl JsonSchema for Names {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Names".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "Names of nodes: one, a group, a range such as `station1..station3`, or a list of them.",
            "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }],
        })
    }
}
