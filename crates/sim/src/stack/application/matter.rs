//! Keep-alives of a Matter subscription: an empty report and the status that answers it, over UDP.
//!
//! The device begins: it is the end that sends the flow's data. Each message has a header of 8 bytes, a protocol header of 6, and
//! an integrity check of 16 (Matter core specification, section 4.4); contents of 12 bytes each are assumed. Left out: the
//! acknowledgement that closes the exchange, and repetitions (MRP).

use airwatt_base::{Size, Span, with_defaults};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::periodic::keep_alive_kind;

/// Bytes of an empty report and of its answer, without the integrity check: headers of 14 and contents of 12.
const MESSAGES: (u64, u64) = (26, 26);

with_defaults! {
    /// Keep-alives of the subscription to a Matter device.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    pub struct MatterConfig {
        /// Longest interval of the subscription, after which an empty report is due. Up to 60 min (not verified).
        pub interval: Span = Span::from_secs(3_600),
        /// The integrity check of each message, 16 B.
        pub record: Size = Size::from_bytes(16),
    }
}

keep_alive_kind!(MatterConfig, interval, MESSAGES);
