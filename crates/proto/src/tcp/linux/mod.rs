//! TCP as Linux does it: the sender and the receiver of a kernel of 2024, as a machine.
//!
//! It is a machine of its own beside [`crate::tcp::Connection`], which follows the RFCs: Linux counts its window in segments, keeps the
//! time of each transmission, and decides by time what is lost (RACK, tail loss probes), reduces its window in proportion (PRR),
//! and takes a reduction back that was a mistake. Nearly each rule differs from the one of the RFC with the same name. The
//! facts were read in the kernel's source of version 6.12 and its documentation; the code is ours. Scripts in packetdrill's
//! language hold the machine to the rules, and the same scripts run against a kernel (`crates/packetdrill`).
//!
//! A connection has one timer for its send half, with a reason, as in the kernel; all times are whole microseconds.
//!
//! # Left out
//! * Fast Open, urgent data and MTU probing.
//! * The memory of buffers: a segment is taken to cost 2304 bytes, and received data twice its length.

mod accurate;
mod ackloss;
mod bbr;
mod chronograph;
mod clock;
mod config;
mod congestion;
mod connection;
mod cubic;
mod end;
mod keep_alive;
mod pacing;
mod packet;
mod queue;
mod rack;
mod rate;
mod receiver;
mod reduction;
mod rtt;
mod sender;
mod space;
mod state;
#[cfg(test)]
mod tests;
mod timers;
mod write_queue;

pub use config::{Control, KeepAlive, LinuxConfig, TimerRule};
pub use connection::{Connection, Input, LinuxTimer, Output};
pub use end::LinuxEnd;
pub use packet::{BLOCKS_MAX, Blocks, Options, Packet, Stamps, bits};
