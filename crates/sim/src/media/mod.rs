//! Media: what joins the hosts of a network.
//!
//! * [`Pipe`]: one direction of a wire, with a rate, a delay and a drop-tail queue.
//! * [`PointToPoint`]: both directions of a point-to-point wireless hop, and the states of its station's radio.
//! * [`cell`]: an 802.11 cell.
//! * [`errors`]: packets that a wireless hop damages.

pub mod cell;
pub mod errors;
mod pipe;
mod point_to_point;

pub use pipe::{CrossTraffic, Pipe, PipeConfig, PipeOutput, PipeStatistics, PipeTimer};
pub use point_to_point::{PointToPoint, PointToPointConfig, PointToPointInput, PointToPointOutput};
