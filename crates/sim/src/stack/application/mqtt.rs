//! Keep-alives of MQTT: a PINGREQ and its PINGRESP, 2 bytes each (MQTT 3.1.1 and 5, sections 3.12 and 3.13), over TLS.
//!
//! The client begins: it is the end that sends the flow's data, a station with `direction = "up"`. A server drops a client that it
//! has not heard for one and a half times the keep-alive (section 3.1.2.10). Left out: messages that take the place of a ping;
//! an interval with a PUBLISH needs no ping, and is a `periodic` application.

use airwatt_base::{Size, Span, with_defaults};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::periodic::keep_alive_kind;

/// Bytes of a PINGREQ and of a PINGRESP.
const MESSAGES: (u64, u64) = (2, 2);

with_defaults! {
    /// Keep-alives of an MQTT client.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    pub struct MqttConfig {
        /// Keep-alive of the CONNECT packet, after which the client sends a ping. 60 s is the default of common client libraries.
        pub keep_alive: Span = Span::from_secs(60),
        /// What TLS adds to each message: 22 B with TLS 1.3 (RFC 8446 5.2: header 5, content type 1, tag 16), 29 B with TLS 1.2 and
        /// AES-GCM (RFC 5288: header 5, nonce 8, tag 16), 0 B without TLS.
        pub record: Size = Size::from_bytes(22),
    }
}

keep_alive_kind!(MqttConfig, keep_alive, MESSAGES);
