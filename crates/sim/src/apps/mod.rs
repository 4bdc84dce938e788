//! What produces a flow's packets, and what counts their arrival.
//!
//! * [`Transfer`]: data over transport connections, one from end to end or two that meet at the base station.
//! * [`Datagrams`]: packets without any control.
//! * [`Saturation`]: a queue at the head of the air that never runs empty.
//! * [`Replay`]: packets at the times at which a capture has them.
//! * [`Foreign`]: packets that somebody else hands in and takes out.
//!
//! A [`Source`] says when an application has how much to send, a [`Dialogue`] who asks and who replies over a connection, a
//! [`Meter`] what arrived from a given time on, [`Blocks`] how long those of a stream took.

mod blocks;
mod datagrams;
mod delivery;
mod dialogue;
mod end;
mod foreign;
mod meter;
mod replay;
mod saturation;
mod source;
mod transfer;

pub use blocks::Blocks;
pub use datagrams::Datagrams;
pub use delivery::Deliveries;
pub use dialogue::{Dialogue, DialogueConfig, Replies, Speaker};
pub use end::{End, EndCounts, EndEvent, EndOutput, EndWindow, e2tcp_bytes};
pub use foreign::{Crossing, Foreign};
pub use meter::{BIN, Meter};
pub use replay::{Arrival, Delay, Replay};
pub use saturation::Saturation;
pub use source::{Source, SourceConfig};
pub use transfer::{Leg, Progress, Side, Transfer};
