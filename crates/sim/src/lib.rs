//! The simulator: from a scenario to joules.
//!
//! * [`scenario`]: what is simulated, read and checked.
//! * [`engine`]: which machine is woken next.
//! * [`media`], [`apps`]: wires, point-to-point hops and the 802.11 cell; and what produces traffic.
//! * [`world`]: the wiring between them, and the run.
//! * [`replay`]: the packets of a capture through such a cell.
//! * [`live`]: the same machines under somebody else's clock, with packets of somebody else.
//! * [`record`]: the result document, traces and captures of a run.

pub mod apps;
pub mod engine;
pub mod live;
pub mod media;
pub mod packet;

pub mod record;
pub mod replay;
mod run;
pub mod scenario;
pub mod world;

pub use run::{Run, RunError, RunOptions, StreamError, run, run_to_pcapng};
