//! The key `link` of a scenario: the point-to-point wireless link of the short form, or the links of the general form.

use std::fmt;

use airwatt_base::{QueueLimit, Rate, Span};
use schemars::JsonSchema;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::topology::Link;
use crate::media::errors::ErrorConfig;

/// A full-duplex wireless link between the base station and one station.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PointToPoint {
    /// Rate of each direction, counted over whole packets.
    pub rate: Rate,
    /// Propagation, one way.
    pub delay: Span,
    /// Drop-tail queue before either transmitter; the packet in transmission is not counted.
    #[serde(default = "super::large_queue")]
    pub queue: QueueLimit,
    /// Whether a packet arrives `delay` after its first bit was sent instead of after its last.
    #[serde(default)]
    pub cut_through: bool,
    /// Which packets are damaged: `model`, and the settings of that model.
    #[serde(default)]
    pub errors: ErrorConfig,
}

/// What `link` holds: the table of the short form, or the list of the general form.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Links {
    /// `[link]`: the point-to-point link to the one station.
    PointToPoint(PointToPoint),
    /// `[[link]]`: links between nodes.
    List(Vec<Link>),
}

impl<'de> Deserialize<'de> for Links {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// Errors keep their keys, since it is known from the value's form which of the two is meant.
        struct EitherForm;
        impl<'de> Visitor<'de> for EitherForm {
            type Value = Links;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a [link] table or [[link]] tables")
            }
            fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<Links, A::Error> {
                PointToPoint::deserialize(MapAccessDeserializer::new(entries)).map(Links::PointToPoint)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Links, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(items)).map(Links::List)
            }
        }
        deserializer.deserialize_any(EitherForm)
    }
}
