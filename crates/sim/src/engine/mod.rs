//! The engine: what is common to every run.
//!
//! A run is a set of machines that keep the contract of [`airwatt_base::machine`], an [`airwatt_base::Schedule`] of when each
//! wants to be woken, and wiring that carries one machine's outputs to the next one's inputs. There is no event object:
//! each source of wake-ups owns one slot, and a packet on its way is the state of the link that carries it. So nothing
//! is allocated for an event, and a timer is moved or cancelled in place.

mod fingerprint;

pub use fingerprint::{Fingerprint, Fingerprints};
