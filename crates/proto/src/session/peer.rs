//! What is known of one peer: its sessions, the handshake under way, payloads that wait for it, and its timers.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

use airwatt_base::{Instant, TimerTable};

use super::guard::{COOKIE_LASTS, Cookie};
use super::mac::MAC_BYTES;
use super::noise::Timestamp;
use super::transport::Session;
use super::{PeerConfig, PeerCounts, Reason};

/// Payloads that wait for a handshake. Beyond it the oldest is dropped.
const STAGED_MAX: usize = 64;

/// A payload that waits.
#[derive(Clone, Debug)]
pub(super) struct Staged {
    pub(super) payload: Vec<u8>,
    pub(super) expects_answer: bool,
}

impl Staged {
    /// Whether it counts as dropped or waiting: an empty one brings the peer nothing.
    pub(super) const fn counts(&self) -> bool {
        !self.payload.is_empty()
    }
}

/// A handshake that this end has begun.
#[derive(Clone)]
pub(super) struct Attempt {
    pub(super) index: u32,
    pub(super) ephemeral: [u8; 32],
    pub(super) timestamp: Timestamp,
    /// Initiations sent before this one.
    pub(super) tries: u32,
}

impl std::fmt::Debug for Attempt {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Attempt")
            .field("index", &self.index)
            .field("tries", &self.tries)
            .finish_non_exhaustive()
    }
}

/// Which session a datagram is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The one that is used.
    Current,
    /// The one before it: datagrams that were on the way.
    Previous,
    /// One whose handshake this end has answered, before the first datagram that shows that the peer received the answer.
    Next,
}

/// A peer.
#[derive(Clone, Debug)]
pub(super) struct Peer {
    pub(super) config: PeerConfig,
    pub(super) mac1_key: [u8; 32],
    pub(super) cookie_key: [u8; 32],
    /// Where its last authenticated datagram came from, or what was configured.
    pub(super) endpoint: Option<SocketAddr>,
    /// The address of this host to which that datagram was sent, if no address of the peer is configured.
    pub(super) source: Option<IpAddr>,
    pub(super) current: Option<Session>,
    pub(super) previous: Option<Session>,
    pub(super) next: Option<Session>,
    /// When a session last came into use.
    pub(super) connected_at: Option<Instant>,
    pub(super) attempt: Option<Attempt>,
    /// The timestamp of its last initiation. Earlier ones are repetitions.
    pub(super) timestamp: Timestamp,
    /// A cookie that it sent, and when.
    pub(super) cookie: Option<(Cookie, Instant)>,
    /// The first code of the last handshake message to it, and the index of this end in that message.
    pub(super) last_mac1: Option<(u32, [u8; MAC_BYTES])>,
    pub(super) staged: VecDeque<Staged>,
    /// When the last payload for it came.
    pub(super) last_payload: Instant,
    /// A new session is due for a reason other than age.
    pub(super) is_suspect: bool,
    pub(super) timers: TimerTable<Reason, 4>,
    /// Initiations sent since it was heard last.
    pub(super) unanswered: u32,
    pub(super) counts: PeerCounts,
}

impl Peer {
    pub(super) fn new(config: PeerConfig, mac1_key: [u8; 32], cookie_key: [u8; 32]) -> Self {
        Self {
            mac1_key,
            cookie_key,
            endpoint: config.endpoint,
            source: None,
            config,
            current: None,
            previous: None,
            next: None,
            connected_at: None,
            attempt: None,
            timestamp: Timestamp::default(),
            cookie: None,
            last_mac1: None,
            staged: VecDeque::new(),
            last_payload: Instant::ZERO,
            is_suspect: false,
            timers: TimerTable::new(),
            unanswered: 0,
            counts: PeerCounts::default(),
        }
    }

    /// The indices of its sessions and of its handshake.
    pub(super) fn indices(&self) -> impl Iterator<Item = u32> + '_ {
        let sessions = [&self.current, &self.previous, &self.next];
        sessions
            .into_iter()
            .flatten()
            .map(|session| session.index)
            .chain(self.attempt.iter().map(|attempt| attempt.index))
    }

    /// The session of this index.
    pub(super) fn session(&mut self, index: u32) -> Option<(Place, &mut Session)> {
        let places = [
            (Place::Current, &mut self.current),
            (Place::Previous, &mut self.previous),
            (Place::Next, &mut self.next),
        ];
        places
            .into_iter()
            .filter_map(|(place, session)| Some((place, session.as_mut()?)))
            .find(|(_, session)| session.index == index)
    }

    /// The cookie to show, if it still counts.
    pub(super) fn valid_cookie(&self, now: Instant) -> Option<&Cookie> {
        let (cookie, since) = self.cookie.as_ref()?;
        (now.saturating_since(*since) < COOKIE_LASTS).then_some(cookie)
    }

    /// Keeps a payload until there is a session.
    pub(super) fn stage(&mut self, staged: Staged) {
        if self.staged.len() == STAGED_MAX {
            let dropped = self.staged.pop_front();
            self.counts.dropped += u64::from(dropped.is_some_and(|staged| staged.counts()));
        }
        self.staged.push_back(staged);
    }

    /// Drops what waits.
    pub(super) fn unstage(&mut self) {
        self.counts.dropped += self.staged.drain(..).filter(Staged::counts).count() as u64;
    }
}
