//! The ends of a conversation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The end of a conversation, by the direction of the flow that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The end that sends the flow's data.
    Sender,
    /// The end that receives it.
    Receiver,
}
