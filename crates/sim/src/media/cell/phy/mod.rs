//! How frames are sent, and which of them are received.
//!
//! * `mode`: the modes of a channel and of its links; `rates` and `minstrel` choose among them.
//! * `aggregation`: how much is sent in one PPDU; `air_estimate`: how long that takes, as mac80211 estimates it.
//! * [`propagation`]: signals over distances; `snr`: errors by signals.

pub(super) mod aggregation;
mod air_estimate;
mod minstrel;
pub(super) mod mode;
pub mod propagation;
pub(super) mod rates;
pub(super) mod snr;
