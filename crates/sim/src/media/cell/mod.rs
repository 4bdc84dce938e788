//! One 802.11 cell: an access point, its stations and the medium that they share.
//!
//! * [`contention`]: DCF and EDCA, event by event.
//! * [`fq_codel`]: the alternative to one drop-tail queue at the access point; `ap_queue` has both.
//! * [`propagation`]: signals over distances, frame errors and capture, if a scenario has them.
//! * [`frame`]: MAC frames and what is recorded of them.
//! * `radio`: each station's radio and its energy ledger.
//! * `machine`: the machine that joins them with the power-save machines of `airwatt-proto`; `exchange` is its part that
//!   sends frames over the `medium`, and `sniffer` the part that writes down what went over it.
//!
//! Modelled: AIFS, contention windows, freezing, post-backoff, collisions, EIFS, ACK and ACK time-out, RTS/CTS, retry
//! limit, TXOP bursts, propagation delay, a frame error probability per attempt, beacons that contend, sleeping
//! receivers, path loss with capture at the access point. Left out: hidden stations, frame aggregation and block acknowledgement, rate adaptation, several
//! access categories in one station, lost acknowledgements (an attempt fails as a whole), errors in beacons and control
//! frames. All stations hear each other.

mod ap_queue;
pub mod contention;
mod exchange;
pub mod fq_codel;
pub mod frame;
mod machine;
mod medium;
pub mod propagation;
mod radio;
mod sniffer;

pub use ap_queue::ApQueueing;
pub use machine::{
    Cell, CellConfig, CellInput, CellOutput, CellStatistics, CellTimer, CellTrace, StationConfig,
};
pub use radio::RadioEvent;

#[cfg(test)]
mod tests;
