//! TCP as a sans-IO machine: RFC 9293 with the loss recovery of RFC 5681 and 6298, and of RFC 6582 or RFC 2018, 2883 and
//! 6675 as the congestion control wants it.
//!
//! A [`Connection`] is one end. It composes a send half (sequence space, retransmission, the window that a
//! [`crate::cc::CongestionControl`] sets) and a receive half (reassembly, the offered window, when to acknowledge), and
//! keeps the contract of [`airwatt_base::Machine`]. Both directions carry data. The same object runs with lengths in the
//! simulator ([`Lengths`]) and with real bytes on a device ([`SendBytes`], [`ReceiveBytes`]).
//!
//! Positions in the stream are 64-bit offsets from the initial sequence number; only [`Segment`]s hold the 32 bits of the
//! wire. The wrap is thus one conversion at the door, and everything inside compares plain integers.
//!
//! A receiver may do without some of the data ([`TcpConfig::reliability`]): `partial.rs` has PRTP, which no sender notices.
//!
//! # Left out, and why
//! * **Options on the wire.** Both ends are configured with the segment size and with windows in bytes, so no option is
//!   negotiated; [`TcpConfig::header_bytes`] pays for the space that options take in every segment. Nothing here reads
//!   timestamps: the RTT is measured from a record of each segment sent.
//! * **Urgent data, and data on a SYN.** No traffic that we study uses either.
//! * **Early retransmit, tail-loss probes, RACK.** The published experiments ran without; short windows therefore wait for
//!   the retransmission timer. Limited Transmit (RFC 3042) is an option for the same reason.
//! * **SACK blocks on data.** Blocks ride on pure acknowledgements only, so that segments keep their size; an end that sends
//!   data while it has blocks to tell sends such an acknowledgement first. SACK is not negotiated: an end tells blocks
//!   where its own congestion control would read them.
//! * **Keep-alives and user timeouts.** They belong to the application or the driver.
//! * **The choice of initial sequence numbers** (RFC 6528): machines have no randomness, so it is configured.

mod arrival;
mod buffer;
mod config;
mod connection;
mod partial;
mod receiver;
mod repair;
mod rtt;
mod sack;
mod segment;
mod sender;
mod statistics;
#[cfg(test)]
mod tests;

pub use buffer::{Lengths, ReceiveBuffer, ReceiveBytes, SendBuffer, SendBytes};
pub use config::{DelayedAck, InitialWindow, MinRtoOf, PartialAckTimer, RtoClock, TcpConfig};
pub use connection::{Connection, Event, Input, Output, State, TcpTimer};
pub use rtt::RttEstimator;
pub use sack::SackBlocks;
pub use segment::{Flags, Segment};
pub use statistics::Statistics;
