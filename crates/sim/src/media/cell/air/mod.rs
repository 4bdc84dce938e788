//! The air of a cell: the exchange that occupies it, who hears that, and what follows from it.
//!
//! * `channel`: the exchange on the air and its outcome.
//! * `hidden`: what each member hears, where some stations do not hear each other.
//! * `effects`: what a MAC does to the channel, the radios and the other parts.
//! * `sniffer` records what goes over the channel.

pub(super) mod channel;
pub(super) mod effects;
pub(super) mod hidden;
pub(super) mod sniffer;
