//! One session: keys for both directions, the counter of datagrams sent, and the window of those received.

use std::fmt;

use airwatt_base::Instant;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};

use super::noise::Keys;
use super::window::ReplayWindow;
use super::wire::{HEADER_BYTES, TAG_BYTES, data_header};

/// Datagrams that one key may encrypt.
const DATAGRAMS_MAX: u64 = u64::MAX - (1 << 13);
/// Datagrams after which a new key is due.
pub(super) const REKEY_DATAGRAMS: u64 = 1 << 60;

/// A session.
#[derive(Clone)]
pub(super) struct Session {
    /// The index by which the peer names this session.
    pub(super) index: u32,
    /// The index by which this end names it.
    remote_index: u32,
    send: LessSafeKey,
    receive: LessSafeKey,
    /// The counter of the next datagram.
    counter: u64,
    window: ReplayWindow,
    /// When its handshake was completed.
    pub(super) born: Instant,
    pub(super) is_initiator: bool,
}

/// A cipher of these 32 bytes.
fn cipher(key: &[u8; 32]) -> LessSafeKey {
    LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, key).expect("a key of 32 bytes"))
}

fn nonce(counter: u64) -> Nonce {
    let mut bytes = [0; 12];
    bytes[4..].copy_from_slice(&counter.to_le_bytes());
    Nonce::assume_unique_for_key(bytes)
}

impl Session {
    pub(super) fn new(keys: &Keys, index: u32, remote_index: u32, is_initiator: bool, born: Instant) -> Self {
        Self {
            index,
            remote_index,
            send: cipher(&keys.send),
            receive: cipher(&keys.receive),
            counter: 0,
            window: ReplayWindow::new(),
            born,
            is_initiator,
        }
    }

    /// The number of datagrams sent.
    pub(super) const fn sent(&self) -> u64 {
        self.counter
    }

    /// Encrypts a payload; `None` once the key has encrypted as many as it may.
    pub(super) fn seal(&mut self, payload: &[u8], expects_answer: bool) -> Option<Vec<u8>> {
        if self.counter >= DATAGRAMS_MAX {
            return None;
        }
        let header = data_header(self.remote_index, self.counter, expects_answer);
        let nonce = nonce(self.counter);
        self.counter += 1;
        let mut bytes = Vec::with_capacity(HEADER_BYTES + payload.len() + TAG_BYTES);
        bytes.extend_from_slice(&header);
        bytes.extend_from_slice(payload);
        let sealed =
            self.send.seal_in_place_separate_tag(nonce, Aad::from(header), &mut bytes[HEADER_BYTES..]);
        bytes.extend_from_slice(sealed.ok()?.as_ref());
        Some(bytes)
    }

    /// Decrypts a data message in place and cuts off what is not payload. Nothing has changed if it is forged or was received
    /// before.
    pub(super) fn open(&mut self, counter: u64, bytes: &mut Vec<u8>) -> Result<(), Refusal> {
        let header: [u8; HEADER_BYTES] =
            bytes.get(..HEADER_BYTES).and_then(|header| header.try_into().ok()).ok_or(Refusal::Forged)?;
        if !self.window.is_new(counter) {
            return Err(Refusal::Replayed);
        }
        let opened = self.receive.open_within(nonce(counter), Aad::from(header), bytes, HEADER_BYTES..);
        let length = opened.map_err(|_| Refusal::Forged)?.len();
        bytes.truncate(length);
        self.window.accept(counter);
        Ok(())
    }
}

/// Why a datagram was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    Forged,
    Replayed,
}

impl fmt::Debug for Session {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = formatter.debug_struct("Session");
        fields
            .field("index", &self.index)
            .field("remote_index", &self.remote_index)
            .field("born", &self.born);
        fields.field("is_initiator", &self.is_initiator).field("counter", &self.counter);
        fields.field("window", &self.window).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The two ends of one session.
    fn pair() -> (Session, Session) {
        let keys = |send, receive| Keys { send: [send; 32], receive: [receive; 32] };
        let session = |keys, index, remote| Session::new(&keys, index, remote, false, Instant::ZERO);
        (session(keys(1, 2), 10, 20), session(keys(2, 1), 20, 10))
    }

    #[test]
    fn a_payload_arrives_once() {
        let (mut here, mut there) = pair();
        for (counter, payload) in [&b"first"[..], b"", b"third"].into_iter().enumerate() {
            let sealed = here.seal(payload, true).unwrap();
            assert_eq!(sealed.len(), payload.len() + 32);
            let mut bytes = sealed.clone();
            assert_eq!(there.open(counter as u64, &mut bytes), Ok(()));
            assert_eq!(bytes, payload);
            assert_eq!(there.open(counter as u64, &mut sealed.clone()), Err(Refusal::Replayed));
        }
    }

    /// Any byte that is changed, header included, makes a datagram a forgery, which leaves the window as it was.
    #[test]
    fn each_byte_is_authenticated() {
        let (mut here, mut there) = pair();
        let sealed = here.seal(b"payload", false).unwrap();
        let before = there.window.clone();
        for at in 0..sealed.len() {
            let mut forged = sealed.clone();
            forged[at] ^= 1;
            assert_eq!(there.open(0, &mut forged), Err(Refusal::Forged), "byte {at}");
        }
        for length in 0..sealed.len() {
            assert_eq!(there.open(0, &mut sealed[..length].to_vec()), Err(Refusal::Forged), "{length} bytes");
        }
        assert_eq!(there.open(1, &mut sealed.clone()), Err(Refusal::Forged), "another counter");
        assert_eq!(there.window, before);
        assert_eq!(there.open(0, &mut sealed.clone()), Ok(()));
    }
}
