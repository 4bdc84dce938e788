//! Energy of a radio and of its host, and fairness at a channel.
//!
//! * [`radio`]: radio profiles: the power of each state and of the transitions, read from TOML.
//! * `ledger`: the time line of a radio's states, kept as exact durations; joules are computed from it in one place.
//! * `host`: the host beside the radio: power when idle and busy, and the processor time that packets cost.
//! * `account`: what a profile says of an energy: host modes, borrowed values, error.
//! * `causes`: the same time by what it was spent on.
//! * `lower_bound`: the least energy for the same frames at the same times, with perfect knowledge of the own traffic.
//! * [`overhead`]: bytes and time beyond what a transfer needs, and the energy overhead computed from both.
//! * [`fairness`]: Jain's index and the two indices that also count the use of the capacity.
//!
//! Left out: batteries and power per chain.

mod account;
mod causes;
pub mod fairness;
mod host;
mod ledger;
mod lower_bound;
pub mod overhead;
pub mod radio;
mod state;

pub use account::{
    LISTEN_SHARE, MOST_BORROWED, ModeAccount, ProfileAccount, WIDE_BAND, largest_profile_error,
};
pub use causes::{Cause, Causes};
pub use host::{Activity, Host, HostEnergyConfig, HostLedger, HostPacket, HostSeconds};
pub use ledger::{Ledger, StateSeconds};
pub use lower_bound::{LowerBound, Nap};
pub use radio::{Average, BeaconReception, HostMode, Radio, RadioError, Transition};
pub use state::RadioState;
