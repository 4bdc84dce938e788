//! TCP as a sans-IO machine: RFC 9293 with the loss recovery of RFC 5681 and 6298, and of RFC 6582 or of RFC 2018, 2883
//! and 6675, depending on the congestion control.
//!
//! A [`Connection`] is one end. It consists of a send half (sequence space, retransmission, the window that a
//! [`crate::cc::CongestionControl`] sets) and a receive half (reassembly, the offered window, acknowledgements), and
//! obeys the contract of [`airwatt_base::Machine`]. Both directions carry data. The same object runs with lengths in
//! the simulator ([`Lengths`]) and with real bytes on a device ([`SendBytes`], [`ReceiveBytes`]).
//!
//! Positions in the stream are 64-bit offsets from the initial sequence number; only [`Segment`]s hold 32-bit sequence
//! numbers. Conversion at the interface handles the wrap, and everything inside compares plain integers.
//!
//! A receiver may do without some of the data ([`TcpConfig::reliability`]): `partial.rs` implements PRTP, which is
//! transparent to the sender.
//!
//! # Left out, and why
//! * **Most options of the SYN.** Both ends are configured with the segment size and with windows in bytes. Only the
//!   timestamps option is negotiated; the RTT is measured from a record of each segment sent, not from timestamps.
//! * **Urgent data, and data on a SYN.** No traffic that we study uses either.
//! * **Early retransmit, tail-loss probes, RACK.** The published experiments did not use them; with short windows,
//!   losses therefore wait for the retransmission timer. Limited Transmit (RFC 3042) is an option for the same reason.
//! * **SACK blocks on data.** Only pure acknowledgements carry blocks, so that segments keep their size; an end that
//!   sends data while it has blocks to report sends such an acknowledgement first. SACK is not negotiated: an end sends
//!   blocks if its own congestion control reads them.
//! * **Keep-alives and user timeouts.** They belong to the application or the driver.
//! * **The choice of initial sequence numbers** (RFC 6528): machines have no randomness, so it is configured.

mod arrival;
mod buffer;
mod config;
mod connection;
mod end;
pub mod linux;
pub(crate) mod reassembly;
mod receiver;
mod rtt;
mod sack;
mod segment;
mod sender;
mod settings;
mod statistics;
#[cfg(test)]
mod tests;
mod timer;
mod timestamps;

pub use crate::lifecycle::State;
pub use buffer::{Lengths, ReceiveBuffer, ReceiveBytes, SendBuffer, SendBytes};
pub use config::{
    DelayedAck, InitialWindow, MinRtoOf, PartialAckTimer, RepeatedTimeout, RtoClock, SackRecovery, TcpConfig,
    WindowRules,
};
pub use connection::{Connection, Input, Output};
pub use rtt::RttEstimator;
pub use sack::SackBlocks;
pub use segment::{Ecn, Flags, Segment};
pub use settings::{KeepAliveEnds, TcpProfile, TcpSettings};
pub use statistics::Statistics;
pub use timer::TcpTimer;
pub use timestamps::Timestamps;

pub use crate::event::Event;
