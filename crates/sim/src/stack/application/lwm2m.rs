//! Updates of an LwM2M registration: a CoAP POST without payload and its answer "2.04 Changed", over DTLS with transport `udp`.
//!
//! The client begins: it is the end that sends the flow's data. Sizes by RFC 7252 section 3: header 4, a token of 4, the path
//! `rd` 3 and a registration's identifier of 8 characters 9 bytes; the lengths of token and identifier are assumed.

use airwatt_base::{Size, Span, with_defaults};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::periodic::keep_alive_kind;

/// Bytes of an update and of its answer.
const MESSAGES: (u64, u64) = (20, 8);

with_defaults! {
    /// Updates of the registration of an LwM2M client.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    pub struct Lwm2mConfig {
        /// Time between two updates, less than the registration's lifetime. The default is the lifetime of 86,400 s that LwM2M is
        /// said to have by default (not verified), less the 247 s that an exchange of CoAP may take (RFC 7252 4.8.2).
        pub interval: Span = Span::from_secs(86_400 - 247),
        /// What DTLS adds to each message: 29 B with DTLS 1.2 and AES-CCM-8 (RFC 6347 4.1, RFC 6655), 0 B without DTLS.
        pub record: Size = Size::from_bytes(29),
    }
}

keep_alive_kind!(Lwm2mConfig, interval, MESSAGES);
