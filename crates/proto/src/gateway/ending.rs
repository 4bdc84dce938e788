//! How a relayed connection ends, and the bounds of those that devices relay.

use airwatt_base::Span;

/// Data that a connection holds in each direction by default, in bytes.
pub(super) const BUFFER: u32 = 262_144;
/// Connections that have not been set up on both legs, at most by default.
pub(super) const HALF_OPEN: usize = 4_096;
/// Time without a packet from either side that ends a connection by default: 2 hours and 4 minutes, the shortest that RFC 5382
/// (REQ-5) permits to those between the ends.
pub(super) const IDLE: Span = Span::from_secs(7_440);

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionEnding {
    /// Both hosts closed it.
    Closed,
    /// The host beyond refused it.
    Refused,
    /// The host beyond did not answer.
    Unanswered,
    /// The host beyond cannot be reached.
    Unreachable,
    /// It was one more than this end opens, or has numbers for.
    BeyondLimit,
    /// One leg was lost, and the other reset. So many bytes had been acknowledged and were not delivered.
    Lost(u64),
    /// Both legs were reset after too long a silence; bytes as above.
    Idle(u64),
}
