//! One 802.11 cell: an access point, its stations and the medium that they share.
//!
//! * [`phy`]: slot, SIFS and frame times of 802.11b/a/g/n.
//! * [`contention`]: DCF and EDCA, event by event.
//! * [`frame`]: MAC frames and what is recorded of them.
//! * `radio`: each station's radio and its energy ledger.
//! * `cell`: the machine that joins them with the power-save machines of `airwatt-proto`; `exchange` is its part that
//!   sends frames over the `medium`, and `sniffer` the part that writes down what went over it.
//!
//! Modelled: AIFS, contention windows, freezing, post-backoff, collisions, EIFS, ACK and ACK time-out, RTS/CTS, retry
//! limit, TXOP bursts, propagation delay, a frame error probability per attempt, beacons that contend, sleeping
//! receivers. Left out: hidden stations, capture, frame aggregation and block acknowledgement, rate adaptation, several
//! access categories in one station, lost acknowledgements (an attempt fails as a whole), errors in beacons and control
//! frames. All stations hear each other.

mod cell;
pub mod contention;
mod exchange;
pub mod frame;
mod medium;
pub mod phy;
mod radio;
mod sniffer;

pub use cell::{Cell, CellConfig, CellInput, CellOutput, CellStatistics, CellTimer, StationConfig};
pub use radio::RadioEvent;

#[cfg(test)]
mod tests;
