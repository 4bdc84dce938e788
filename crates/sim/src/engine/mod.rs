//! The engine: the parts that are common to all runs.
//!
//! A run is a set of machines that obey the contract of [`airwatt_base::machine`], an [`airwatt_base::Schedule`] of
//! their wake-ups, and wiring that passes the outputs of one machine to the inputs of another. There is no event
//! object: each source of wake-ups owns one slot, and a packet in flight is part of the state of the link that carries
//! it. Therefore no event is allocated, and a timer is moved or cancelled in place.

mod fingerprint;

pub use fingerprint::{Fingerprint, Fingerprints};
