//! What a radio spends.
//!
//! * [`radio`]: radio profiles: the power of each state and of the transitions, read from TOML.
//! * [`ledger`]: the time line of a radio's states, kept as exact durations; joules are computed from it in one place.
//!
//! Left out: batteries, power per rate or per chain, and the energy of the host's processor.

pub mod ledger;
pub mod radio;

pub use ledger::{Ledger, State};
pub use radio::{Radio, RadioError, Transition};
