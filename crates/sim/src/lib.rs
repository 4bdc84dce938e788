//! The simulator: from a scenario to joules.
//!
//! * [`scenario`]: what is simulated, read and checked.
//! * [`engine`]: what all runs have in common, and their fingerprints.
//! * [`packet`], [`route`]: what is carried, and where to.
//! * [`net`]: nodes, media between them, and the loop of a run.
//! * [`media`]: wires, point-to-point hops and the 802.11 cell.
//! * [`stack`]: sockets, applications and programs of nodes.
//! * [`replay`]: the packets of a capture through such a network.
//! * [`live`]: the same network under the clock of the caller, with packets of external hosts.
//! * [`record`]: the result document, traces and captures of a run.

mod direction;
pub mod engine;
mod limits;
pub mod live;
pub mod media;
mod names;
pub mod net;
pub mod packet;
mod pending;
pub mod perfetto;
pub mod record;
pub mod replay;
pub mod route;
mod run;
pub mod scenario;
pub mod stack;

pub use direction::Direction;
pub use record::Run;
pub use run::{RunError, RunOptions, StreamError, run, run_to_pcapng};
