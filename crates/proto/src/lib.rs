//! The mechanisms, written once as sans-IO machines and run in the simulator, the emulator and on a device.
//!
//! * [`cc`]: congestion control, one file an algorithm.
//! * [`tcp`]: the TCP sender and receiver that the congestion controls steer.
//! * [`e2tcp`]: a transport for one wireless hop with small headers and partial reliability.
//! * [`quic`]: QUIC by a library, with our congestion controls.
//! * [`end`]: one end of a connection, whatever its transport; [`any_end`]: an end of any of them.
//! * [`gateway`]: what a base station does for the connections of its mobiles: relays, local retransmission.
//! * [`tunnel`]: all flows of a client in one tunnel, which sends them in bursts.
//! * [`session`]: datagrams that are authenticated and encrypted between peers that know each other's keys.
//! * [`powersave`]: 802.11 power save: the access point's side and the station's, one file a policy.
//!
//! The features `session`, `tunnel` and `quic` are on by default; without them neither cryptography nor SCTP nor QUIC is linked.
//!
//! A congestion control by itself, here CUBIC in slow start: ten segments are sent, and ten acknowledgements come back.
//!
//! ```
//! use airwatt_base::{Instant, Span};
//! use airwatt_proto::cc::{Acknowledged, Algorithm, CongestionConfig, CongestionControl, Growth, UNLIMITED};
//!
//! let mut control = CongestionControl::new(&CongestionConfig {
//!     algorithm: Algorithm::Cubic,
//!     mss: 1460,
//!     initial_window: 14_600,
//!     initial_ssthresh: UNLIMITED,
//!     growth: Growth::Bytes,
//!     slow_start_at_threshold: false,
//! });
//! for acknowledged in 0..10 {
//!     let now = Instant::from_millis(20);
//!     // Each acknowledgement lets two more segments go, so that the window stays in use.
//!     let flight = 14_600 + acknowledged * 1460;
//!     control.on_ack(Acknowledged { bytes: 1460, flight, now, srtt: Span::from_millis(20) });
//! }
//! assert_eq!(control.cwnd(), 29_200);
//! ```

pub mod any_end;
#[cfg(test)]
mod bad_path;
pub mod cc;
pub mod e2tcp;
pub mod end;
mod event;
pub mod gateway;
mod keyed;
mod lifecycle;
pub mod powersave;
#[cfg(feature = "quic")]
pub mod quic;
mod reliability;
#[cfg(feature = "session")]
pub mod session;
pub mod tcp;
#[cfg(feature = "tunnel")]
pub mod tunnel;
