//! The life of a connection, of TCP and of E2TCP: its states, and what the calls of its user and the FINs of both ends change.
//!
//! The states are those of RFC 9293 section 3.3.2. How a connection is set up is up to its transport.

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// There is no connection.
    Closed,
    /// Waits for a SYN.
    Listen,
    /// Has sent a SYN.
    SynSent,
    /// Has received and sent a SYN.
    SynReceived,
    /// Data can be transferred in both directions.
    Established,
    /// This end has closed its direction.
    FinWait1,
    /// This end has closed its direction, and the peer has acknowledged that.
    FinWait2,
    /// The peer has closed its direction.
    CloseWait,
    /// Both ends have closed at the same time.
    Closing,
    /// The peer closed first, and this end has closed as well.
    LastAck,
    /// Both directions are closed; the peer's last packets are answered until old ones have left the network.
    TimeWait,
}

impl State {
    /// Whether a user's data is taken, by an end that had no connection before if `is_new`.
    pub(crate) const fn takes_data(self, is_new: bool) -> bool {
        match self {
            Self::Listen | Self::SynSent | Self::SynReceived | Self::Established | Self::CloseWait => true,
            _ => matches!(self, Self::Closed) && is_new,
        }
    }

    /// The state after a close by the user. During the set-up it takes effect behind the data written before it; without any, at
    /// once.
    pub(crate) const fn after_close(self, has_written: bool) -> Self {
        match self {
            Self::Listen => Self::Closed,
            Self::SynSent if !has_written => Self::Closed,
            Self::Established => Self::FinWait1,
            Self::CloseWait => Self::LastAck,
            _ => self,
        }
    }

    /// The state after the peer's FIN has arrived (`theirs`), and after this end's was acknowledged (`ours`).
    pub(crate) const fn after_fins(self, theirs: bool, ours: bool) -> Self {
        match self {
            Self::Established if theirs => Self::CloseWait,
            Self::FinWait1 if theirs && ours => Self::TimeWait,
            Self::FinWait1 if theirs => Self::Closing,
            Self::FinWait1 if ours => Self::FinWait2,
            Self::FinWait2 if theirs => Self::TimeWait,
            Self::Closing if ours => Self::TimeWait,
            Self::LastAck if ours => Self::Closed,
            _ => self,
        }
    }
}
