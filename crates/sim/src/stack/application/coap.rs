//! Keep-alives of CoAP: an empty Confirmable message and the Reset that answers it, 4 bytes each ("CoAP ping", RFC 7252 4.3
//! and 3), over DTLS with transport `udp`.
//!
//! The end that sends the flow's data begins. Left out: repetitions after 2 s and more of a message that is lost (RFC 7252 4.2).

use airwatt_base::{Size, Span, with_defaults};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::periodic::keep_alive_kind;

/// Bytes of an empty message and of a Reset.
const MESSAGES: (u64, u64) = (4, 4);

with_defaults! {
    /// Keep-alives of a CoAP endpoint.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    pub struct CoapConfig {
        /// Time between two messages. CoAP has no keep-alive of its own; 2 min is the least time for which a NAT must keep a UDP
        /// binding (RFC 4787 REQ-5); many keep it for 30 s only.
        pub interval: Span = Span::from_secs(120),
        /// What DTLS adds to each message: 29 B with DTLS 1.2 and AES-CCM-8, CoAP's mandatory suite (RFC 7252 9.1.3; RFC 6347 4.1:
        /// header 13; RFC 6655: nonce 8, tag 8), 0 B without DTLS.
        pub record: Size = Size::from_bytes(29),
    }
}

keep_alive_kind!(CoapConfig, interval, MESSAGES);
