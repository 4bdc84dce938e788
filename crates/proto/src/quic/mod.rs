//! QUIC (RFC 9000, 9002): the library `quinn-proto` as an end of a connection, with our congestion controls.
//!
//! The library keeps packet numbers, streams, loss detection, probes, pacing and path MTU discovery; its driver is here. A
//! [`QuicEnd`] is what a socket is: data are written and arrive, datagrams and events come out.
//!
//! * **Cryptography is null**: nothing is encrypted, and everything has the length that it has with TLS 1.3. A
//!   handshake takes its round trip and its flights.
//! * **A write is a stream** of its own, as a request or a response of HTTP/3 is: what one has lost holds up no other. Streams
//!   that are under way at the same time are sent by their urgency (RFC 9218), and take turns within one. The other side counts bytes,
//!   whichever stream brings them, and learns which streams have ended.
//! * **Chrome's receiver** changes its rule for acknowledgements by itself. The library changes its own when the peer asks for it, so that an end
//!   with this rule puts the frame that asks (ACK_FREQUENCY) into a packet that has arrived. It is on no air.
//! * **Deterministic**: the generator of a connection is seeded, connection identifiers are counted, and time is a span since a fixed
//!   instant, of which the library sees only differences.
//!
//! The library's state can be moved but not copied: like a tunnel over SCTP, an end is a machine that is not `Clone`, and a clone
//! panics.
//!
//! # Left out
//! * 0-RTT, migration, retry, key updates, datagrams (RFC 9221) and QPACK. No idle time-out: a connection lasts as long as its run.
//! * ECN: the network does not carry the field to the library, so that its validation fails and it is not used.
//! * BBR: the library paces by the window alone (1.25 windows a round trip), which BBR's rates are not.

mod chrome;
mod clock;
mod config;
mod control;
mod end;
#[cfg(test)]
mod tests;
mod tls;

pub use config::{QuicAckRule, QuicConfig, QuicCongestion};
pub use end::{QuicContent, QuicEnd, QuicOutput};
