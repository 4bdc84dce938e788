//! What a connection reports to its application, whatever its transport.

/// Notifications for the application. Positions in the stream count from its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The connection is established.
    Connected,
    /// More bytes are in order. There is one event for each segment or packet that brings any.
    Delivered {
        /// Number of bytes.
        bytes: u64,
    },
    /// Bytes are missing that the settings (`reliability`) permit to skip; the stream continues after them. A buffer that stores bytes
    /// reads them as zeros.
    Gap {
        /// The first missing byte.
        at: u64,
        /// Number of bytes.
        bytes: u64,
    },
    /// Bytes that an earlier [`Event::Gap`] reported as skipped have arrived.
    Late {
        /// The first of them.
        at: u64,
        /// Number of bytes.
        bytes: u64,
    },
    /// The peer has marked data as urgent. Of E2TCP; this TCP has no urgent data.
    Urgent {
        /// Position after the last urgent byte.
        until: u64,
    },
    /// The peer has closed its direction, and all its data is delivered.
    PeerClosed,
    /// The peer has acknowledged everything that was written so far, skipped gaps included.
    AllAcknowledged,
    /// The peer refused the connection. Of E2TCP; in TCP a refusal is a reset.
    Refused,
    /// The peer reset the connection.
    Reset,
    /// The peer did not answer, and the connection was aborted.
    TimedOut,
    /// Both directions are closed, and the connection no longer exists.
    Closed,
}
