//! What a proxy reports of connections that it does not relay to their end, for the log of its host.

use crate::e2tcp::Addresses;

/// What has become of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionFate {
    /// It goes on as plain TCP.
    Passed,
    /// The peer's opening is not relayed from here; the peer lets it go on as plain TCP.
    Declined,
    /// Its opening was answered by a reset, or by an ICMP message.
    Refused,
    /// Its opening gets no answer.
    Unanswered,
    /// It was reset on both sides.
    Reset,
}

impl ConnectionFate {
    /// In words, after "connection".
    pub const fn text(self) -> &'static str {
        match self {
            Self::Passed => "goes on as plain TCP",
            Self::Declined => "is not relayed",
            Self::Refused => "was refused",
            Self::Unanswered => "gets no answer",
            Self::Reset => "was reset",
        }
    }
}

/// Why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// This end is being stopped.
    Draining,
    /// As many connections as permitted are being opened.
    HalfOpen,
    /// As many connections as the host has descriptors for.
    NoDescriptor,
    /// No number of a connection is free at both ends.
    NoNumber,
    /// Nothing has been heard of the peer, whose address is not known.
    PeerUnknown,
    /// The peer has been silent for too long.
    PeerSilent,
    /// The peer did not answer the opening in time.
    PeerUnanswering,
    /// The peer has started again and has forgotten the connection.
    PeerRestarted,
    /// The peer does not relay it.
    PeerDeclined,
    /// The peer reset it.
    PeerReset,
    /// The peer has acknowledged nothing for too long.
    PeerTimedOut,
    /// This end does not relay connections to there.
    NotPermitted,
    /// The host beyond refused it.
    HostRefused,
    /// The host beyond did not answer.
    HostUnanswering,
    /// No route leads to the host beyond.
    Unreachable,
    /// The kernel's only socket of the connection was reset.
    SocketReset,
    /// The kernel gave that socket up.
    SocketTimedOut,
    /// The kernel's socket to the host that opened it was reset.
    OpenerReset,
    /// The kernel gave that socket up.
    OpenerTimedOut,
    /// The kernel's socket to the host beyond was reset.
    FarReset,
    /// The kernel gave that socket up.
    FarTimedOut,
    /// The host that opened it did not finish its handshake.
    Unfinished,
    /// The mobile has opened it as plain TCP.
    Plain,
    /// The host that opened it has opened it anew.
    Anew,
    /// Neither side has sent anything for too long.
    Idle,
}

impl Why {
    /// Whether it is a bound of this program, and neither a fault nor anybody's wish.
    pub const fn is_limit(self) -> bool {
        matches!(self, Self::HalfOpen | Self::NoNumber | Self::NoDescriptor)
    }

    /// In words.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Draining => "this gateway is being stopped",
            Self::HalfOpen => "half_open connections are being opened",
            Self::NoDescriptor => {
                "no more files may be open in this process; hint: `LimitNOFILE` of its unit, or ulimit -n"
            }
            Self::NoNumber => "none of the 256 numbers is free at both ends",
            Self::PeerUnknown => "the peer has not been heard yet, and its address is not known",
            Self::PeerSilent => "the peer is silent",
            Self::PeerUnanswering => "the peer did not answer within `fallback`",
            Self::PeerRestarted => "the peer has started again",
            Self::PeerDeclined => "the peer does not relay it",
            Self::PeerReset => "the peer reset it",
            Self::PeerTimedOut => "the peer acknowledges nothing",
            Self::NotPermitted => "this gateway does not relay connections to there",
            Self::HostRefused => "the host beyond refused it",
            Self::HostUnanswering => "the host beyond did not answer",
            Self::Unreachable => "the host beyond is unreachable",
            Self::SocketReset => "the host on this side reset it",
            Self::SocketTimedOut => "the host on this side acknowledges nothing",
            Self::OpenerReset => "the host that opened it reset it",
            Self::OpenerTimedOut => "the host that opened it acknowledges nothing",
            Self::FarReset => "the host beyond reset it",
            Self::FarTimedOut => "the host beyond acknowledges nothing",
            Self::Unfinished => "the host that opened it did not finish its handshake",
            Self::Plain => "the mobile has opened it as plain TCP",
            Self::Anew => "the host that opened it has opened it anew",
            Self::Idle => "no data for the time of `idle`",
        }
    }
}

/// One such connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note {
    /// From the host that opened it to the other.
    pub addresses: Addresses,
    /// What has become of it.
    pub fate: ConnectionFate,
    /// Why.
    pub why: Why,
}
