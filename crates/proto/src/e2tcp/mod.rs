//! E2TCP as a sans-IO machine: the transport of a thesis on energy-efficient TCP, for one wireless hop.
//!
//! It replaces TCP and IP between a mobile device and its base station. It saves energy in four ways: a header of 8
//! bytes instead of 40 ([`Header`]), acknowledgements that report exactly what is missing so that losses are inferred
//! at once, a window that reacts differently to noise and to bursts ([`E2tcpConfig`]), and bytes that are not
//! retransmitted if the application can do without them ([`E2tcpConfig::reliability`]).
//!
//! A [`Connection`] is one end, and obeys the contract of [`airwatt_base::Machine`]. A [`ConnectionTable`] holds the up to 256
//! connections between two hosts, negotiates their identifiers and rejects packets that belong to none. Both directions
//! carry data. The same objects run with lengths in the simulator ([`crate::tcp::Lengths`]) and with real bytes on a
//! device ([`crate::tcp::SendBytes`], [`crate::tcp::ReceiveBytes`]); `docs/e2tcp.md` has the format and the rules in
//! prose.
//!
//! Windows count packets, as in the thesis; sequence numbers count bytes. Positions in the stream are 64-bit offsets
//! from the initial sequence number, so that conversion at the interface handles the wrap at 2^32.
//!
//! # Left out, and why
//! * **Congestion control.** There is one hop, and losses on it are due to noise.
//! * **Reordering.** One hop keeps the order. Packets that are reordered all the same count as lost and are sent twice;
//!   no byte is delivered wrongly.
//! * **Data with SYN or FIN.** A packet of its own for each keeps their sequence numbers apart from the data's.
//! * **Authentication.** As in TCP, anyone who can inject packets on the link can end a connection.
//! * **The choice of initial sequence numbers**: machines have no randomness, so the driver gives them a base.

mod arrival;
mod config;
mod connection;
mod end;
mod hop;
mod receiver;
mod rtt;
mod sender;
mod statistics;
mod table;
#[cfg(test)]
mod tests;
mod timer;
mod window;
mod wire;

pub use crate::lifecycle::State;
pub use config::{
    BurstReaction, Counted, DetectorConfig, DuplicateAck, E2tcpConfig, HeaderForm, Increase, WindowField,
};
pub use connection::{Connection, Input, Output, first_sequence};
pub use rtt::RttEstimator;
pub use statistics::Statistics;
pub use table::{ConnectionKey, ConnectionTable, IDENTIFIERS, Refusal, TableConfig, TableInput, TableOutput};
pub use timer::E2tcpTimer;
pub use window::BurstState;
pub use wire::{
    Acknowledgement, Addresses, Block, ControlFlags, E2tcpPacket, Endpoint, Header, HeaderError, IpVersion,
    Level,
};

pub use crate::event::Event;
