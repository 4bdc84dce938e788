//! The path of packets outside an 802.11 cell: links with a rate, a delay and a drop-tail queue, wired or wireless.
//!
//! * [`Link`]: one direction.
//! * [`Duplex`]: both directions of a point-to-point wireless link, and what its station's radio does meanwhile.
//! * [`errors`]: packets that a wireless link damages.

mod duplex;
pub mod errors;
mod link;

pub use duplex::{Duplex, DuplexConfig, DuplexInput, DuplexOutput};
pub use link::{CrossTraffic, Link, LinkConfig, LinkOutput, LinkStatistics, LinkTimer};
