//! Which beacons a station receives, as a scenario states it: a number of beacon intervals, or the DTIM beacons.

use std::fmt;

use airwatt_base::settings::{Value, refused_form};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What a file writes for the DTIM beacons.
const DTIM: &str = "dtim";

/// The beacons that a station in power save receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListenInterval {
    /// Every so many beacons one: 1 receives each (802.11-2020 9.4.1.6).
    Beacons(u32),
    /// The DTIM beacons and no others, as `ap.dtim_period` spaces them.
    Dtim,
}

impl ListenInterval {
    /// Number of beacon intervals from one beacon that is received to the next.
    pub fn beacons(self, dtim_period: u8) -> u32 {
        match self {
            Self::Beacons(count) => count,
            Self::Dtim => u32::from(dtim_period),
        }
    }
}

impl fmt::Display for ListenInterval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Beacons(count) => write!(f, "{count}"),
            Self::Dtim => write!(f, "{DTIM:?}"),
        }
    }
}

impl Serialize for ListenInterval {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Beacons(count) => serializer.serialize_u32(*count),
            Self::Dtim => serializer.serialize_str(DTIM),
        }
    }
}

impl<'de> Deserialize<'de> for ListenInterval {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let found = match &value {
            Value::Text(name) => (name == DTIM).then_some(Self::Dtim),
            Value::Integer(count) => u32::try_from(*count).ok().map(Self::Beacons),
            _ => None,
        };
        let expected = || format!("a number of beacons, or {DTIM:?} for the DTIM beacons only");
        found.ok_or_else(|| refused_form(&expected(), &value))
    }
}

impl JsonSchema for ListenInterval {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ListenInterval".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "Beacons from one that is received to the next (1 receives each), or \"dtim\" for the DTIM beacons only.",
            "anyOf": [{ "type": "integer", "minimum": 1, "maximum": 65_535 }, { "const": DTIM }],
        })
    }
}
