//! Real captures: what a station's radio did or would have had to do.
//!
//! A capture goes through these rooms: [`Capture::open`] reads a file into small records ([`Packet`], and [`AirFrame`]
//! where the capture is of 802.11) and mends its clock ([`clock`]); [`stations`] finds whose radio is meant; [`flows`]
//! sums up conversations and finds the exchanges that woke the radio alone; [`power_save`] reads off an
//! 802.11 capture what stations and access points did; [`replay`] makes the list of arrivals that the simulator
//! plays through its own access point; [`analyze`] does all of this, and [`report`] is the document that comes out.
//!
//! Two bases are kept apart everywhere: *measured* is air time that follows from the frames' rates in a radiotap
//! header; *inferred* is everything from Ethernet and IP captures, whose packets get a rate that is assumed.
//!
//! Left out: decryption (encrypted frames count by size, with their cipher's overhead taken off), reassembly of IP and
//! 802.11 fragments, and payload of any kind: nothing of it is kept.

mod analyze;
pub mod clock;
mod decode;
mod error;
mod file;
pub mod flows;
mod packet;
pub mod power_save;
pub mod replay;
pub mod report;
pub mod stations;

pub use analyze::{
    ASSUMED, ASSUMED_FAST, ASSUMED_SLOW, AnalyzeError, DEFAULT_RADIO, Question, TAIL, analyze,
};
pub use error::CaptureError;
pub use file::{Capture, Format, LinkType, Notes};
pub use packet::{AirFrame, Beacon, Ip, Network, Packet, TcpFields, Transport};

#[cfg(test)]
mod tests;
