//! Energy of a radio, and fairness at a channel.
//!
//! * [`radio`]: radio profiles: the power of each state and of the transitions, read from TOML.
//! * [`ledger`]: the time line of a radio's states, kept as exact durations; joules are computed from it in one place.
//! * [`causes`]: the same time by what it was spent on.
//! * [`lower_bound`]: the least energy for the same frames at the same times, with perfect knowledge of the own traffic.
//! * [`overhead`]: bytes and time beyond what a transfer needs, and the energy overhead computed from both.
//! * [`fairness`]: Jain's index and the two indices that also count the use of the capacity.
//!
//! Left out: batteries, power per chain, and the energy of the host's processor.

pub mod causes;
pub mod fairness;
pub mod ledger;
pub mod lower_bound;
pub mod overhead;
pub mod radio;

pub use causes::{Cause, Causes};
pub use ledger::{Ledger, State, StateSeconds};
pub use lower_bound::{LowerBound, Nap};
pub use radio::{BeaconReception, Radio, RadioError, Transition};
