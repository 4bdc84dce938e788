//! The point-to-point wireless link of a scenario.

use airwatt_base::{QueueLimit, Rate, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
