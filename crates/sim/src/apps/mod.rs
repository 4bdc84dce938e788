//! What produces a flow's packets, and what counts their arrival.
//!
//! * [`TcpFlow`]: one transfer over a TCP connection.
//! * [`Saturation`]: a queue at the head of the air that never runs empty.
//! * [`Replay`]: packets at the times at which a capture has them.

mod replay;
mod saturation;
mod transfer;

pub use replay::{Arrival, Delay, Replay};
pub use saturation::Saturation;
pub use transfer::{Progress, TcpFlow};
