//! The wired path: links with a rate, a delay and a drop-tail queue.

mod link;

pub use link::{Link, LinkConfig, LinkOutput, LinkStatistics};
