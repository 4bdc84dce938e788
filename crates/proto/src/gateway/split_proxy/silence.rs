//! A peer that says nothing while connections are relayed: it is asked, and given up if it does not answer.
//!
//! ```text
//!  heard of it ---- half of `silence` ---- asked, several times ---- the other half ---- given up
//! ```
//! * **Asked** means that it is told the number of this start, which it answers by its own: one that has restarted says so.
//! * **One end asks.** The other one asks only if no question has come within the time between two of them (`asks_first`), and gives up
//!   at the same time. A question is a sign of life as well as its answer.
//! * **Idle connections** are asked for less and less often, after half of the time for which they have been idle, up to a minute:
//!   a radio that sleeps is not woken up each few seconds. Data in either direction shorten the time again.
//! * **Given up** means that all connections of the peer are reset, and openings that wait for it go as plain TCP. A peer that was
//!   only out of reach still has its side of them. It learns of their end by this end's number, which is another one from then
//!   on, and which it is told as soon as it is heard of again, and before each opening until it has answered: what the new number ends is older.
//!   If both ends have given each other up, nothing older is left, and the other one's new number ends nothing.

use airwatt_base::{Instant, Span};

use super::super::ending::ConnectionEnding;
use super::super::message::GatewayMessage;
use super::super::note::Why;
use super::super::relay::Side;
use super::{ConnectionId, ProxyTimer, SplitProxy};

/// Longest time after which the peer of idle connections is asked.
const IDLE_LONGEST: Span = Span::from_secs(60);
/// Questions in half of the time of silence: bursts of losses take some.
const QUESTIONS: u64 = 4;

/// What is known of a peer's silence.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Silence {
    /// When it is looked at next; `None` without connections.
    due: Option<Instant>,
    /// When it was first asked since it was last heard of.
    asked: Option<Instant>,
    /// From when it is told again that its connections were given up; `None` if it knows.
    tells_from: Option<Instant>,
    /// It was given up, and has not said its number since: every connection with it is newer than what that number ends.
    has_none_older: bool,
}

impl SplitProxy {
    /// A connection with the peer has begun, or data have come for it or from it: it is expected to say something soon.
    pub(super) fn expect(&mut self, peer: usize, now: Instant) {
        let at = now + self.half_of_silence();
        let due = &mut self.peers[peer].silence.due;
        if due.is_none_or(|due| due > at) {
            *due = Some(at);
            self.book.timers.put(ProxyTimer::Silence(peer), Some(at));
        }
    }

    /// Anything came from the peer.
    pub(super) fn note_sign_of_life(&mut self, peer: usize, now: Instant) {
        let again = now + self.between_questions();
        let state = &mut self.peers[peer];
        state.heard = Some(now);
        state.silent_since = None;
        state.silence.asked = None;
        if state.silence.tells_from.is_some_and(|from| from <= now) {
            state.silence.tells_from = Some(again);
            self.tell_epoch(peer, false);
        }
    }

    /// An opening follows. A peer that hears of this end again by it must not take it for one of those that were given up.
    pub(super) fn before_opening(&mut self, peer: usize) {
        if self.peers[peer].silence.tells_from.is_some() {
            self.tell_epoch(peer, false);
        }
    }

    /// The peer has said its number. Returns whether no connection with it is older than that.
    pub(super) fn has_none_older(&mut self, peer: usize) -> bool {
        std::mem::take(&mut self.peers[peer].silence.has_none_older)
    }

    /// The peer knows the number of this start.
    pub(super) fn note_told(&mut self, peer: usize) {
        self.peers[peer].silence.tells_from = None;
    }

    /// Sends the number of this start, and asks for the peer's or answers it.
    pub(super) fn tell_epoch(&mut self, peer: usize, answers: bool) {
        let epoch = self.peers[peer].own_epoch;
        self.transmit(peer, &GatewayMessage::Started { epoch, answers }, !answers);
    }

    pub(super) fn on_silence(&mut self, peer: usize, now: Instant) {
        let half = self.half_of_silence();
        let of_peer = self.entries.values().filter(|entry| entry.peer == peer);
        let Some(active) = of_peer.map(|entry| entry.relay.idle_at(Span::ZERO)).max() else {
            self.peers[peer].silence.due = None;
            return;
        };
        let state = &self.peers[peer];
        let heard = state.heard.unwrap_or(Instant::ZERO);
        let idle = heard.saturating_since(active);
        let yields = if self.config.asks_first { Span::ZERO } else { self.between_questions() };
        let first = heard + Span::from_nanos(idle.as_nanos() / 2).min(IDLE_LONGEST).max(half) + yields;
        let asks_for = half.saturating_sub(yields);
        let next = match state.silence.asked {
            None if now < first => first,
            Some(asked) if now >= asked + asks_for => return self.give_up(peer, now),
            asked => {
                let asked = asked.unwrap_or(now);
                self.peers[peer].silence.asked = Some(asked);
                self.tell_epoch(peer, false);
                (now + self.between_questions()).min(asked + asks_for)
            }
        };
        self.peers[peer].silence.due = Some(next);
        self.book.timers.put(ProxyTimer::Silence(peer), Some(next));
    }

    fn half_of_silence(&self) -> Span {
        Span::from_nanos(self.config.silence.as_nanos() / 2)
    }

    fn between_questions(&self) -> Span {
        Span::from_nanos(self.config.silence.as_nanos() / 2 / QUESTIONS)
    }

    fn give_up(&mut self, peer: usize, now: Instant) {
        self.book.counters.silences += 1;
        let of_peer = self.entries.iter().filter(|(_, entry)| entry.peer == peer);
        let ids: Vec<ConnectionId> = of_peer.map(|(id, _)| *id).collect();
        for id in ids {
            let opens = self.entries.get(&id).and_then(|entry| entry.relay.opened_by()) == Some(Side::Wired);
            if opens {
                self.pass_unanswered(id, Why::PeerSilent, now);
            } else {
                self.abort(id, ConnectionEnding::Lost, Why::PeerSilent, now);
            }
        }
        let state = &mut self.peers[peer];
        state.silent_since = Some(now);
        state.own_epoch = state.own_epoch.wrapping_add(1);
        state.silence = Silence { tells_from: Some(now), has_none_older: true, ..Silence::default() };
    }
}
