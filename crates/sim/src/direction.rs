//! The direction of data: of a flow, of a packet, of one half of a link.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Down or up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From the server to the station; of a link, from member 0 to member 1.
    Down,
    /// From the station to the server; of a link, from member 1 to member 0.
    Up,
}
