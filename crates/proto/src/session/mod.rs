//! Authenticated and encrypted datagrams between peers that know each other's public keys.
//!
//! ```text
//!  payload -> Sessions ~~~ handshake (Noise IK), then encrypted datagrams over UDP ~~~ Sessions -> payload
//! ```
//! The protocol is WireGuard's (Donenfeld 2017) with other labels, so that neither is taken for the other: a handshake of one
//! round trip, keys that are replaced every two minutes **while payloads flow** and never otherwise, a window against
//! replayed datagrams, and cookies under load (`guard`). Everything else that is not from a listed peer gets no answer and
//! leaves no state. Formats are in [`wire`]; they add 32 bytes to a payload, beside UDP and IP.
//!
//! Three rules differ from WireGuard's, for radios that sleep and for peers that restart:
//!
//! * **Answers.** A payload may expect an answer. The receiver sends an empty datagram 500 ms after it, unless anything else
//!   was sent in between; what is sent then is the answer, and expects none itself. Traffic in both directions costs nothing by
//!   that, a request with its reply neither, and an idle pair neither.
//! * **Silence.** An end that expects an answer and has received nothing for 1.2 s begins a handshake, since the peer may have
//!   lost its keys in a restart. The old session is used until then. On paths with a longer round-trip time, this happens
//!   more often than needed.
//! * **Repetitions** of an initiation come after 0.5, 1, 2, 4, and then each 5 s, up to a quarter later, as long as payloads do.
//!
//! An authenticated datagram from another address moves the peer there. Timestamps of initiations count as long as this
//! process lives: after a restart, one recorded initiation gets one more answer, which is of no use without the private keys.
//!
//! Random numbers and the wall-clock time come in from outside. Left out: padding (lengths of payloads show), discovery of
//! path MTUs, and hiding of the peers' identities beyond Noise IK.

#[expect(unexpected_cfgs, reason = "the flag of fuzzers is not known to rustc")]
mod dh;
mod guard;
mod key;
mod mac;
mod noise;
mod peer;
mod random;
mod transport;
mod window;
pub mod wire;

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};

use airwatt_base::{Instant, Machine, Span, Timeout, TimerKind as _, timer_kinds};

pub use self::key::{KEY_BYTES, KeyError, PublicKey, SecretKey};

use self::guard::{Admission, Guard, Labels, append_macs, open_cookie};
use self::noise::{Keys, Party, Timestamp};
use self::peer::{Attempt, Peer, Place, Staged};
use self::random::Random;
use self::transport::{REKEY_DATAGRAMS, Refusal, Session};
use self::wire::{INITIATION, INITIATION_BYTES, Message, RESPONSE, RESPONSE_BYTES};

/// Age of a session at which its initiator begins the next one, when it sends.
pub const REKEY_AFTER: Span = Span::from_secs(120);
/// Age at which the initiator of a session begins the next one, when it receives.
const REKEY_AFTER_AT_RECEIVER: Span = Span::from_secs(165);
/// Age from which a session is neither used nor accepted.
pub const REJECT_AFTER: Span = Span::from_secs(180);
/// Age at which keys are dropped.
const ERASE_AFTER: Span = Span::from_secs(540);
/// Time from a payload that expects an answer to an empty datagram.
pub const ANSWER_AFTER: Span = Span::from_millis(500);
/// Time without an answer after which the peer may have lost its keys.
pub const SILENCE_AFTER: Span = Span::from_millis(1_200);
/// The first repetition of an initiation; each further one takes twice as long, up to the longest.
const RETRY_FIRST: Span = Span::from_millis(500);
const RETRY_LONGEST: Span = Span::from_secs(5);
/// Time without payloads after which a handshake is given up.
const GIVE_UP_AFTER: Span = Span::from_secs(20);

/// Initiations in a row without an answer after which it is said that there is none.
pub const UNANSWERED_AFTER: u32 = 3;

/// The place of a peer in the list of peers.
pub type PeerId = usize;

/// What is configured of a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerConfig {
    /// Its public key.
    pub public_key: PublicKey,
    /// A key that both share beforehand, mixed into the handshake.
    pub preshared_key: Option<SecretKey>,
    /// Its address; `None` if it is found by its first handshake.
    pub endpoint: Option<SocketAddr>,
}

/// What was counted of a peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeerCounts {
    /// Datagrams with payloads, and without, that were sent.
    pub sent: u64,
    /// Authenticated datagrams received.
    pub received: u64,
    /// Handshakes completed.
    pub handshakes: u64,
    /// Initiations and responses received that had an effect.
    pub handshake_messages: u64,
    /// Datagrams that had been received before.
    pub replayed: u64,
    /// Payloads with at least one byte that were not sent, because there was no address, no answer, or no room.
    pub dropped: u64,
    /// Changes of address.
    pub moves: u64,
}

/// What was counted of strangers: datagrams without an effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StrangerCounts {
    /// Datagrams that are no message, are for no session, are forged, or are from a key that is not listed; and initiations that were
    /// received before, which anybody can repeat. Repetitions of a peer's other datagrams count as [`PeerCounts::replayed`].
    pub silent: u64,
    /// Cookie replies sent under load.
    pub cookies: u64,
}

/// The state of a peer, for people.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeerStatus {
    /// Its address.
    pub endpoint: Option<SocketAddr>,
    /// When a session last came into use, whether its keys are still there or not.
    pub handshake_at: Option<Instant>,
    /// Initiations sent since the peer was heard last.
    pub unanswered: u32,
    /// Payloads with at least one byte that wait for a session.
    pub waiting: usize,
    /// What was counted.
    pub counts: PeerCounts,
}

/// An input of sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A datagram from the network.
    Datagram {
        /// Its sender.
        from: SocketAddr,
        /// The address of this host to which it was sent, if that is known.
        asked: Option<IpAddr>,
        /// Its payload.
        bytes: Vec<u8>,
    },
    /// A payload for a peer.
    Send {
        /// The peer.
        peer: PeerId,
        /// The payload. An empty one is not delivered at the other end.
        payload: Vec<u8>,
        /// Whether the peer is expected to send something soon.
        expects_answer: bool,
    },
    /// The host was suspended for this time, which the clock of `now` did not count.
    Resumed(Span),
}

/// An output of sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// A datagram for the network.
    Transmit {
        /// The peer that it is for; `None` for a cookie reply.
        peer: Option<PeerId>,
        /// Its destination.
        to: SocketAddr,
        /// The address of this host from which it leaves: that which a peer without a configured address has asked, since a translator (NAT)
        /// or a firewall before the peer expects the answer from there. `None` leaves it to the kernel.
        source: Option<IpAddr>,
        /// Its payload.
        bytes: Vec<u8>,
    },
    /// A payload of a peer, authenticated.
    Deliver {
        /// The peer.
        peer: PeerId,
        /// The payload.
        payload: Vec<u8>,
    },
    /// A handshake was completed.
    Connected(PeerId),
    /// The peer has answered none of this many initiations in a row: [`UNANSWERED_AFTER`], and each multiple of it.
    Unanswered(PeerId, u32),
    /// The peer has another address.
    Moved(PeerId, SocketAddr),
}

timer_kinds! {
    /// Why sessions wake up.
    pub enum Reason {
        /// When to repeat an initiation.
        Retry = "handshake",
        /// When to begin a handshake because an answer has not come.
        Silence = "silence",
        /// When to send the answer that the peer expects.
        Answer = "session-answer",
        /// When to drop keys that are no longer used.
        Erase = "erase-keys",
    }
}

/// The sessions of one socket with all of its peers.
#[derive(Clone, Debug)]
pub struct Sessions {
    private: SecretKey,
    public: PublicKey,
    labels: Labels,
    guard: Guard,
    random: Random,
    /// The wall-clock time at `Instant::ZERO`, since 1970.
    epoch: Span,
    /// The timestamp of the last initiation sent.
    last_timestamp: Timestamp,
    peers: Vec<Peer>,
    /// Indices that this end has given out, and the peers that they are for.
    indices: BTreeMap<u32, PeerId>,
    strangers: StrangerCounts,
    /// The address of this host to which the datagram was sent that is being handled.
    asked: Option<IpAddr>,
    outputs: VecDeque<Output>,
}

impl Sessions {
    /// Sessions of the owner of `private`. `seed` has to be random, and used once; `epoch` is the wall-clock time since 1970 at
    /// which the clock of this machine shows zero.
    pub fn new(private: SecretKey, seed: [u8; 32], epoch: Span) -> Self {
        Self::with_labels(private, seed, epoch, Labels::AIRWATT)
    }

    fn with_labels(private: SecretKey, seed: [u8; 32], epoch: Span, labels: Labels) -> Self {
        let public = private.public();
        Self {
            guard: Guard::new(&labels, &public),
            private,
            public,
            labels,
            random: Random::new(seed),
            epoch,
            last_timestamp: Timestamp::default(),
            peers: Vec::new(),
            indices: BTreeMap::new(),
            strangers: StrangerCounts::default(),
            asked: None,
            outputs: VecDeque::new(),
        }
    }

    /// Replaces the list of peers. Those whose configuration has not changed keep their sessions.
    pub fn set_peers(&mut self, configs: Vec<PeerConfig>) {
        let mut before = std::mem::take(&mut self.peers);
        for config in configs {
            let kept = before.iter().position(|peer| peer.config == config).map(|at| before.swap_remove(at));
            self.peers.push(kept.unwrap_or_else(|| {
                let key = config.public_key;
                Peer::new(config, self.labels.mac1_key(&key), self.labels.cookie_key(&key))
            }));
        }
        self.indices.clear();
        for (id, peer) in self.peers.iter().enumerate() {
            self.indices.extend(peer.indices().map(|index| (index, id)));
        }
    }

    /// Corrects the wall-clock time: `epoch` is the time since 1970 at which the clock of this machine showed zero.
    pub const fn set_epoch(&mut self, epoch: Span) {
        self.epoch = epoch;
    }

    /// The public key of this end.
    pub const fn public_key(&self) -> PublicKey {
        self.public
    }

    /// The state of a peer.
    pub fn peer(&self, id: PeerId) -> PeerStatus {
        let peer = &self.peers[id];
        PeerStatus {
            endpoint: peer.endpoint,
            handshake_at: peer.connected_at,
            unanswered: peer.unanswered,
            waiting: peer.staged.iter().filter(|staged| staged.counts()).count(),
            counts: peer.counts,
        }
    }

    /// Gives a peer another address: its name has been resolved again, or it was last there, where none was configured.
    pub fn set_endpoint(&mut self, id: PeerId, endpoint: SocketAddr) {
        let peer = &mut self.peers[id];
        // Without a configured one, [`Self::set_peers`] has to find it as it was configured.
        peer.config.endpoint = peer.config.endpoint.and(Some(endpoint));
        peer.endpoint = Some(endpoint);
        peer.source = None;
    }

    /// What was counted of strangers.
    pub const fn strangers(&self) -> StrangerCounts {
        self.strangers
    }

    // Payloads.

    fn send(&mut self, id: PeerId, staged: Staged, now: Instant) {
        let peer = &mut self.peers[id];
        peer.last_payload = now;
        let usable =
            peer.current.as_ref().filter(|session| now.saturating_since(session.born) < REJECT_AFTER);
        let Some(session) = usable else {
            peer.stage(staged);
            return self.begin(id, now);
        };
        let age = now.saturating_since(session.born);
        let is_old = session.is_initiator && age >= REKEY_AFTER || session.sent() >= REKEY_DATAGRAMS;
        let begins = is_old || peer.is_suspect;
        self.transmit(id, &staged.payload, staged.expects_answer, now);
        if begins {
            self.begin(id, now);
        }
    }

    /// Encrypts and sends a payload, or an empty datagram.
    fn transmit(&mut self, id: PeerId, payload: &[u8], expects_answer: bool, now: Instant) {
        let peer = &mut self.peers[id];
        // A payload that answers the peer needs no answer, or each exchange would end with an empty datagram: the peer was there within
        // the last half second.
        let expects_answer = expects_answer && !peer.timers.is_running(Reason::Answer);
        let (Some(session), Some(to)) = (&mut peer.current, peer.endpoint) else { return };
        let Some(bytes) = session.seal(payload, expects_answer) else {
            peer.counts.dropped += u64::from(!payload.is_empty());
            return;
        };
        peer.counts.sent += 1;
        peer.timers.stop(Reason::Answer);
        if expects_answer && !peer.timers.is_running(Reason::Silence) {
            peer.timers.set(Reason::Silence, now + SILENCE_AFTER);
        }
        self.outputs.push_back(Output::Transmit { peer: Some(id), to, source: peer.source, bytes });
    }

    // Handshakes.

    /// Begins a handshake, unless one is under way.
    fn begin(&mut self, id: PeerId, now: Instant) {
        let peer = &mut self.peers[id];
        if peer.attempt.is_some() {
            return;
        }
        if peer.endpoint.is_none() {
            return peer.unstage();
        }
        self.initiate(id, 0, now);
    }

    /// Sends an initiation.
    fn initiate(&mut self, id: PeerId, tries: u32, now: Instant) {
        self.end_attempt(id);
        let index = self.draw_index(id);
        let ephemeral = self.random.draw();
        let timestamp = self.next_timestamp(now);
        let peer = &mut self.peers[id];
        let Some(to) = peer.endpoint else { return };
        let shared = peer.config.preshared_key.clone().unwrap_or(NO_KEY);
        let party = Party { private: &self.private, prologue: self.labels.prologue, ephemeral: &ephemeral };
        // A public key of low order leads to a shared secret of zeros, which the library accepts; nobody lists such a key.
        let Some(noise) = party.initiate(&peer.config.public_key, &shared, &timestamp) else { return };
        let mut bytes = Vec::with_capacity(INITIATION_BYTES);
        bytes.extend([INITIATION, 0, 0, 0]);
        bytes.extend(index.to_le_bytes());
        bytes.extend(noise);
        let cookie = peer.valid_cookie(now).copied();
        let mac1 = append_macs(&mut bytes, &peer.mac1_key, cookie.as_ref());
        peer.last_mac1 = Some((index, mac1));
        peer.attempt = Some(Attempt { index, ephemeral, timestamp, tries });
        peer.unanswered += 1;
        let wait = (0..tries).fold(RETRY_FIRST, |wait, _| wait.saturating_mul(2).min(RETRY_LONGEST));
        let jitter = (u64::from(self.random.draw_u32()) * (wait.as_nanos() / 4)) >> 32;
        peer.timers.set(Reason::Retry, now + wait + Span::from_nanos(jitter));
        self.outputs.push_back(Output::Transmit { peer: Some(id), to, source: peer.source, bytes });
    }

    /// Forgets the handshake that this end has begun.
    fn end_attempt(&mut self, id: PeerId) {
        let peer = &mut self.peers[id];
        peer.timers.stop(Reason::Retry);
        if let Some(attempt) = peer.attempt.take() {
            self.indices.remove(&attempt.index);
        }
    }

    fn draw_index(&mut self, id: PeerId) -> u32 {
        loop {
            let index = self.random.draw_u32();
            if let std::collections::btree_map::Entry::Vacant(entry) = self.indices.entry(index) {
                entry.insert(id);
                return index;
            }
        }
    }

    /// The wall-clock time, at least one nanosecond after the last timestamp.
    fn next_timestamp(&mut self, now: Instant) -> Timestamp {
        let since_1970 = self.epoch.as_nanos().saturating_add(now.as_nanos());
        // TAI64N labels of 1970 begin at 2^62, 10 s ahead.
        let label = |nanos: u64| {
            let mut label = [0; 12];
            label[..8].copy_from_slice(&((1 << 62) + 10 + nanos / 1_000_000_000).to_be_bytes());
            label[8..].copy_from_slice(&((nanos % 1_000_000_000) as u32).to_be_bytes());
            label
        };
        let wall = label(since_1970);
        let mut after = self.last_timestamp;
        for byte in after.iter_mut().rev() {
            *byte = byte.wrapping_add(1);
            if *byte != 0 {
                break;
            }
        }
        self.last_timestamp = wall.max(after);
        self.last_timestamp
    }

    /// Reads an initiation and answers it. Whether it had an effect.
    fn answer_initiation(&mut self, sender: u32, noise: &[u8; 108], from: SocketAddr, now: Instant) -> bool {
        // Numbers that were drawn for a stranger are drawn again for the next one.
        let mut random = self.random.clone();
        let ephemeral = random.draw();
        let party = Party { private: &self.private, prologue: self.labels.prologue, ephemeral: &ephemeral };
        let Some(initiation) = party.read_initiation(noise) else { return false };
        let Some(id) = self.peers.iter().position(|peer| peer.config.public_key == initiation.from) else {
            return false;
        };
        let peer = &mut self.peers[id];
        if initiation.timestamp <= peer.timestamp {
            return false;
        }
        let timestamp = initiation.timestamp;
        let shared = peer.config.preshared_key.clone().unwrap_or(NO_KEY);
        let Some((message, keys)) = initiation.respond(&shared) else { return false };
        peer.timestamp = timestamp;
        peer.counts.handshake_messages += 1;
        self.random = random;
        let index = self.draw_index(id);
        self.replace(id, Place::Next, Some(Session::new(&keys, index, sender, false, now)));
        self.replace(id, Place::Previous, None);
        // After a restart of this end it may be a repetition from anywhere: where the peer is, its first datagram of the session says.
        let peer = &mut self.peers[id];
        let mut bytes = Vec::with_capacity(RESPONSE_BYTES);
        bytes.extend([RESPONSE, 0, 0, 0]);
        bytes.extend(index.to_le_bytes());
        bytes.extend(sender.to_le_bytes());
        bytes.extend(message);
        let cookie = peer.valid_cookie(now).copied();
        let mac1 = append_macs(&mut bytes, &peer.mac1_key, cookie.as_ref());
        peer.last_mac1 = Some((index, mac1));
        // Keys that are never confirmed do not stay either.
        if !peer.timers.is_running(Reason::Erase) {
            peer.timers.set(Reason::Erase, now + ERASE_AFTER);
        }
        self.outputs.push_back(Output::Transmit { peer: Some(id), to: from, source: self.asked, bytes });
        true
    }

    /// Reads the response to this end's initiation. Whether it had an effect.
    fn complete(
        &mut self,
        sender: u32,
        receiver: u32,
        noise: &[u8; 48],
        from: SocketAddr,
        now: Instant,
    ) -> bool {
        let Some((id, keys)) = self.keys_of_response(receiver, noise) else { return false };
        // The index of the attempt becomes that of the session.
        self.peers[id].attempt = None;
        self.peers[id].counts.handshake_messages += 1;
        self.peers[id].timers.stop(Reason::Retry);
        let session = Session::new(&keys, receiver, sender, true, now);
        let next = self.peers[id].next.take();
        let before = if next.is_some() { next } else { self.peers[id].current.take() };
        self.replace(id, Place::Previous, before);
        self.replace(id, Place::Current, Some(session));
        self.note_authenticated(id, from);
        self.connected(id, now);
        // The peer uses the session from the first datagram on that it receives.
        if self.peers[id].staged.is_empty() {
            self.transmit(id, &[], false, now);
        }
        self.send_staged(id, now);
        true
    }

    fn keys_of_response(&self, receiver: u32, noise: &[u8; 48]) -> Option<(PeerId, Keys)> {
        let id = *self.indices.get(&receiver)?;
        let peer = &self.peers[id];
        let attempt = peer.attempt.as_ref().filter(|attempt| attempt.index == receiver)?;
        let party =
            Party { private: &self.private, prologue: self.labels.prologue, ephemeral: &attempt.ephemeral };
        let shared = peer.config.preshared_key.clone().unwrap_or(NO_KEY);
        Some((id, party.complete(&peer.config.public_key, &shared, &attempt.timestamp, noise)?))
    }

    /// A session has come into use.
    fn connected(&mut self, id: PeerId, now: Instant) {
        let peer = &mut self.peers[id];
        peer.is_suspect = false;
        peer.connected_at = Some(now);
        peer.counts.handshakes += 1;
        peer.timers.set(Reason::Erase, now + ERASE_AFTER);
        self.outputs.push_back(Output::Connected(id));
    }

    fn send_staged(&mut self, id: PeerId, now: Instant) {
        while let Some(staged) = self.peers[id].staged.pop_front() {
            self.transmit(id, &staged.payload, staged.expects_answer, now);
        }
    }

    /// Puts a session in a place; the one before it ends.
    fn replace(&mut self, id: PeerId, place: Place, session: Option<Session>) {
        let peer = &mut self.peers[id];
        let place = match place {
            Place::Current => &mut peer.current,
            Place::Previous => &mut peer.previous,
            Place::Next => &mut peer.next,
        };
        if let Some(ended) = std::mem::replace(place, session) {
            self.indices.remove(&ended.index);
        }
    }

    /// A message of the peer was authenticated: the peer is alive, and where the message came from.
    fn note_authenticated(&mut self, id: PeerId, from: SocketAddr) {
        let peer = &mut self.peers[id];
        peer.timers.stop(Reason::Silence);
        peer.unanswered = 0;
        // Where this host has called the peer, its own address is that of the route, which may change.
        peer.source = self.asked.filter(|_| peer.config.endpoint.is_none());
        if peer.endpoint != Some(from) {
            peer.counts.moves += u64::from(peer.endpoint.is_some());
            peer.endpoint = Some(from);
            self.outputs.push_back(Output::Moved(id, from));
        }
    }

    // Datagrams.

    fn receive(&mut self, from: SocketAddr, mut bytes: Vec<u8>, now: Instant) {
        let had_effect = match wire::parse(&bytes) {
            None => false,
            Some(Message::Data { receiver, counter, expects_answer }) => {
                self.receive_data(receiver, counter, expects_answer, from, &mut bytes, now)
            }
            Some(Message::CookieReply { receiver, nonce, sealed }) => {
                self.receive_cookie(receiver, nonce, sealed, now)
            }
            Some(Message::Initiation { sender, noise }) => match self.admit(&bytes, sender, from, now) {
                Admission::Process => self.answer_initiation(sender, noise, from, now),
                Admission::Cookie => true,
                Admission::Silence => false,
            },
            Some(Message::Response { sender, receiver, noise }) => {
                match self.admit(&bytes, sender, from, now) {
                    Admission::Process => self.complete(sender, receiver, noise, from, now),
                    Admission::Cookie => true,
                    Admission::Silence => false,
                }
            }
        };
        self.strangers.silent += u64::from(!had_effect);
    }

    /// Whether a handshake message is processed; sends a cookie if that is what it is worth.
    fn admit(&mut self, bytes: &[u8], sender: u32, from: SocketAddr, now: Instant) -> Admission {
        let admission = self.guard.admit(bytes, from, now, &mut self.random);
        if admission == Admission::Cookie
            && let Some(bytes) = self.guard.reply(bytes, sender, from, now, &mut self.random)
        {
            self.strangers.cookies += 1;
            self.outputs.push_back(Output::Transmit { peer: None, to: from, source: self.asked, bytes });
        }
        admission
    }

    fn receive_cookie(&mut self, receiver: u32, nonce: &[u8; 24], sealed: &[u8; 32], now: Instant) -> bool {
        let Some(peer) = self.indices.get(&receiver).map(|id| &mut self.peers[*id]) else { return false };
        let Some((_, mac1)) = peer.last_mac1.filter(|(index, _)| *index == receiver) else { return false };
        let cookie = open_cookie(&peer.cookie_key, &mac1, nonce, sealed);
        peer.cookie = cookie.map(|cookie| (cookie, now)).or(peer.cookie);
        cookie.is_some()
    }

    fn receive_data(
        &mut self,
        receiver: u32,
        counter: u64,
        expects_answer: bool,
        from: SocketAddr,
        bytes: &mut Vec<u8>,
        now: Instant,
    ) -> bool {
        let Some(id) = self.indices.get(&receiver).copied() else { return false };
        let peer = &mut self.peers[id];
        let Some((place, session)) = peer.session(receiver) else { return false };
        let age = now.saturating_since(session.born);
        if age >= REJECT_AFTER {
            return false;
        }
        let is_old = session.is_initiator && age >= REKEY_AFTER_AT_RECEIVER;
        match session.open(counter, bytes) {
            Ok(()) => peer.counts.received += 1,
            Err(refusal) => {
                // A repetition is the peer's own datagram, whoever has repeated it.
                let is_replayed = refusal == Refusal::Replayed;
                peer.counts.replayed += u64::from(is_replayed);
                return is_replayed;
            }
        }
        self.note_authenticated(id, from);
        if place == Place::Next {
            let session = self.peers[id].next.take();
            let before = self.peers[id].current.take();
            self.replace(id, Place::Previous, before);
            self.replace(id, Place::Current, session);
            self.end_attempt(id);
            self.connected(id, now);
            self.send_staged(id, now);
        }
        let peer = &mut self.peers[id];
        if expects_answer && !peer.timers.is_running(Reason::Answer) {
            peer.timers.set(Reason::Answer, now + ANSWER_AFTER);
        }
        if !bytes.is_empty() {
            self.outputs.push_back(Output::Deliver { peer: id, payload: std::mem::take(bytes) });
        }
        if is_old {
            self.begin(id, now);
        }
        true
    }

    // Time.

    fn serve(&mut self, id: PeerId, reason: Reason, now: Instant) {
        let peer = &mut self.peers[id];
        match reason {
            Reason::Answer => self.transmit(id, &[], false, now),
            Reason::Silence => self.begin(id, now),
            Reason::Retry => {
                let tries = peer.attempt.as_ref().map_or(0, |attempt| attempt.tries);
                if peer.unanswered.is_multiple_of(UNANSWERED_AFTER) {
                    self.outputs.push_back(Output::Unanswered(id, peer.unanswered));
                }
                if now.saturating_since(peer.last_payload) < GIVE_UP_AFTER {
                    return self.initiate(id, tries + 1, now);
                }
                peer.unstage();
                self.end_attempt(id);
            }
            Reason::Erase => [Place::Current, Place::Previous, Place::Next]
                .into_iter()
                .for_each(|place| self.replace(id, place, None)),
        }
    }

    fn resume(&mut self, suspended: Span) {
        for id in 0..self.peers.len() {
            self.peers[id].is_suspect = true;
            if suspended >= REJECT_AFTER {
                let places = [Place::Current, Place::Previous, Place::Next];
                places.into_iter().for_each(|place| self.replace(id, place, None));
            }
        }
    }
}

/// The key of peers that share none beforehand.
const NO_KEY: SecretKey = SecretKey::from_bytes([0; KEY_BYTES]);

impl Machine for Sessions {
    type Input = Input;
    type Output = Output;
    type Reason = Reason;

    fn handle_input(&mut self, input: Input, now: Instant) {
        match input {
            Input::Datagram { from, asked, bytes } => {
                self.asked = asked;
                self.receive(from, bytes, now);
                self.asked = None;
            }
            Input::Send { peer, payload, expects_answer } => {
                self.send(peer, Staged { payload, expects_answer }, now);
            }
            Input::Resumed(suspended) => self.resume(suspended),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        for id in 0..self.peers.len() {
            while let Some(reason) = self.peers[id].timers.expire(now) {
                self.serve(id, reason, now);
            }
        }
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    fn poll_timeout(&self) -> Option<Timeout<Reason>> {
        let timeouts = self.peers.iter().filter_map(|peer| peer.timers.next());
        timeouts.min_by_key(|timeout| (timeout.at, timeout.reason.index()))
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod vectors;
