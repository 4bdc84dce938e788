//! Tests of what a base station does: relays, whole connections through a base station, translation, the Snoop agent.

mod alone;
mod crossing;
mod equal;
mod relayed;
mod snoop;
mod split_proxy;
mod translated;
