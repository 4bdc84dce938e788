//! What a stranger has to show before a handshake message costs this end anything.
//!
//! * The **first code** (`mac1`) shows that the sender knows this end's public key. Without it there is no answer at all.
//! * **Under load**, when more handshake messages come than this end computes Diffie-Hellman exchanges for, the second code
//!   (`mac2`) has to show that the sender receives at its address: it is computed with a cookie, which is sent to that address
//!   encrypted and costs one hash. Each address then has a rate of its own.
//!
//! The cookie is a code over the address with a secret that changes every two minutes: nothing is stored for a sender.

use std::net::{IpAddr, SocketAddr};

use airwatt_base::{Instant, Span};
use chacha20poly1305::aead::{Aead as _, KeyInit as _, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};

use super::key::PublicKey;
use super::mac::{MAC_BYTES, hash, is_equal, mac};
use super::random::Random;
use super::wire::{COOKIE_REPLY, COOKIE_REPLY_BYTES, MACS_BYTES};
use crate::keyed::keyed;

/// Handshake messages per second that are processed without a cookie, and how many may come at once.
const HANDSHAKES: Rate = Rate { interval: Span::from_millis(20), burst: 50 };
/// The same for one address that has shown a cookie. An IPv6 address is its first 64 bits.
const HANDSHAKES_OF_ADDRESS: Rate = Rate { interval: Span::from_millis(100), burst: 5 };
/// For how long cookies are demanded after there were too many.
const LOAD_LASTS: Span = Span::from_secs(1);
/// For how long a cookie is valid.
pub(super) const COOKIE_LASTS: Span = Span::from_secs(120);
/// Meters of addresses. Addresses share them by a hash with a secret.
const METERS: usize = 256;

/// A cookie.
pub(super) type Cookie = [u8; MAC_BYTES];

/// Texts that make codes and keys of this protocol differ from those of others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Labels {
    pub(super) prologue: &'static [u8],
    pub(super) mac1: &'static [u8],
    pub(super) cookie: &'static [u8],
}

impl Labels {
    pub(super) const AIRWATT: Self =
        Self { prologue: b"airwatt session 1", mac1: b"airwatt mac1", cookie: b"airwatt cookie" };

    /// The key of the first code of messages to this peer.
    pub(super) fn mac1_key(&self, receiver: &PublicKey) -> [u8; 32] {
        hash(&[self.mac1, receiver.as_bytes()])
    }

    /// The key that encrypts cookies of this peer.
    pub(super) fn cookie_key(&self, sender: &PublicKey) -> [u8; 32] {
        hash(&[self.cookie, sender.as_bytes()])
    }
}

/// A rate with a burst.
#[derive(Clone, Copy, Debug)]
struct Rate {
    interval: Span,
    burst: u64,
}

/// Measures arrivals against a rate.
#[derive(Clone, Copy, Debug)]
struct Meter(Instant);

impl Meter {
    /// Whether another arrival is within the rate, and counts it if it is.
    fn admits(&mut self, rate: Rate, now: Instant) -> bool {
        let begin = self.0.max(now);
        if begin > now + rate.interval.saturating_mul(rate.burst - 1) {
            return false;
        }
        self.0 = begin + rate.interval;
        true
    }
}

/// What becomes of a handshake message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    Process,
    /// It is worth a cookie reply, nothing else.
    Cookie,
    Silence,
}

/// The guard.
#[derive(Clone, Debug)]
pub(super) struct Guard {
    mac1_key: [u8; 32],
    cookie_key: [u8; 32],
    secret: Secret,
    all: Meter,
    loaded_until: Instant,
    addresses: Vec<Meter>,
}

#[derive(Clone)]
struct Secret {
    key: [u8; 32],
    drawn: Option<Instant>,
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("(secret)")
    }
}

impl Guard {
    pub(super) fn new(labels: &Labels, own: &PublicKey) -> Self {
        Self {
            mac1_key: labels.mac1_key(own),
            cookie_key: labels.cookie_key(own),
            secret: Secret { key: [0; 32], drawn: None },
            all: Meter(Instant::ZERO),
            loaded_until: Instant::ZERO,
            addresses: vec![Meter(Instant::ZERO); METERS],
        }
    }

    /// Decides about a handshake message, whose codes are its last 32 bytes.
    pub(super) fn admit(
        &mut self,
        message: &[u8],
        from: SocketAddr,
        now: Instant,
        random: &mut Random,
    ) -> Admission {
        let Some((body, mac1, mac2)) = split(message) else { return Admission::Silence };
        if !is_equal(mac1, &mac(&self.mac1_key, &[body])) {
            return Admission::Silence;
        }
        let is_within = self.all.admits(HANDSHAKES, now);
        if !is_within {
            self.loaded_until = now + LOAD_LASTS;
        }
        if now >= self.loaded_until {
            return Admission::Process;
        }
        let cookie = self.cookie(from, now, random);
        if !is_equal(mac2, &mac(&cookie, &[body, mac1])) {
            return Admission::Cookie;
        }
        let place = keyed(&self.secret.key, &[&prefix(from.ip())]);
        let meter = &mut self.addresses[usize::from(place[0]) % METERS];
        if meter.admits(HANDSHAKES_OF_ADDRESS, now) { Admission::Process } else { Admission::Silence }
    }

    /// The cookie of an address.
    fn cookie(&mut self, from: SocketAddr, now: Instant, random: &mut Random) -> Cookie {
        if self.secret.drawn.is_none_or(|drawn| now.saturating_since(drawn) >= COOKIE_LASTS) {
            self.secret = Secret { key: random.draw(), drawn: Some(now) };
        }
        let port = from.port().to_be_bytes();
        match from.ip() {
            IpAddr::V4(address) => mac(&self.secret.key, &[&address.octets(), &port]),
            IpAddr::V6(address) => mac(&self.secret.key, &[&address.octets(), &port]),
        }
    }

    /// A cookie reply to a message whose sender calls itself `sender`.
    pub(super) fn reply(
        &mut self,
        message: &[u8],
        sender: u32,
        from: SocketAddr,
        now: Instant,
        random: &mut Random,
    ) -> Option<Vec<u8>> {
        let (_, mac1, _) = split(message)?;
        let (cookie, nonce) = (self.cookie(from, now, random), random.draw_bytes::<24>());
        let payload = Payload { msg: &cookie, aad: mac1 };
        let sealed =
            XChaCha20Poly1305::new((&self.cookie_key).into()).encrypt(XNonce::from_slice(&nonce), payload);
        let mut bytes = Vec::with_capacity(COOKIE_REPLY_BYTES);
        bytes.extend([COOKIE_REPLY, 0, 0, 0]);
        bytes.extend(sender.to_le_bytes());
        bytes.extend(nonce);
        bytes.extend(sealed.ok()?);
        Some(bytes)
    }
}

/// Decrypts the cookie of a reply to the message whose first code was `mac1`.
pub(super) fn open_cookie(
    cookie_key: &[u8; 32],
    mac1: &[u8; MAC_BYTES],
    nonce: &[u8; 24],
    sealed: &[u8; 32],
) -> Option<Cookie> {
    let payload = Payload { msg: sealed, aad: mac1 };
    let opened = XChaCha20Poly1305::new(cookie_key.into()).decrypt(XNonce::from_slice(nonce), payload);
    opened.ok()?.try_into().ok()
}

/// Appends both codes to a handshake message. Returns the first.
pub(super) fn append_macs(
    bytes: &mut Vec<u8>,
    mac1_key: &[u8; 32],
    cookie: Option<&Cookie>,
) -> [u8; MAC_BYTES] {
    let mac1 = mac(mac1_key, &[bytes]);
    bytes.extend(mac1);
    let mac2 = cookie.map_or([0; MAC_BYTES], |cookie| mac(cookie, &[bytes]));
    bytes.extend(mac2);
    mac1
}

/// A handshake message without its codes, and the codes.
fn split(message: &[u8]) -> Option<(&[u8], &[u8; MAC_BYTES], &[u8; MAC_BYTES])> {
    let (body, macs) = message.split_last_chunk::<MACS_BYTES>()?;
    let (mac1, mac2) = macs.split_first_chunk()?;
    Some((body, mac1, mac2.try_into().ok()?))
}

/// The part of an address whose owner is taken for one.
fn prefix(address: IpAddr) -> [u8; 8] {
    match address {
        IpAddr::V4(address) => {
            let [a, b, c, d] = address.octets();
            [0, 0, 0, 0, a, b, c, d]
        }
        IpAddr::V6(address) => {
            let octets = address.octets();
            std::array::from_fn(|index| octets[index])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::SecretKey;

    fn from(last: u8) -> SocketAddr {
        ([192, 0, 2, last], 4_000).into()
    }

    fn message(guard: &Guard, body: u8, cookie: Option<&Cookie>) -> Vec<u8> {
        let mut bytes = vec![body; 100];
        append_macs(&mut bytes, &guard.mac1_key, cookie);
        bytes
    }

    #[test]
    fn without_the_first_code_there_is_silence_under_any_load() {
        let own = SecretKey::from_bytes([1; 32]).public();
        let (mut guard, mut random) = (Guard::new(&Labels::AIRWATT, &own), Random::new([2; 32]));
        let mut forged = message(&guard, 7, None);
        forged[3] ^= 1;
        let before = format!("{guard:?}");
        for _ in 0..1_000 {
            assert_eq!(guard.admit(&forged, from(1), Instant::ZERO, &mut random), Admission::Silence);
        }
        assert_eq!(guard.admit(&[7; 31], from(1), Instant::ZERO, &mut random), Admission::Silence);
        assert_eq!(format!("{guard:?}"), before, "and no state");
    }

    #[test]
    fn under_load_an_address_has_to_be_shown_and_has_its_own_rate() {
        let own = SecretKey::from_bytes([1; 32]).public();
        let (mut guard, mut random) = (Guard::new(&Labels::AIRWATT, &own), Random::new([2; 32]));
        let now = Instant::from_secs(9);
        let plain = message(&guard, 7, None);
        let admitted = (0..1_000)
            .filter(|_| guard.admit(&plain, from(1), now, &mut random) == Admission::Process)
            .count();
        assert_eq!(admitted, 50);
        assert_eq!(guard.admit(&plain, from(2), now, &mut random), Admission::Cookie, "for everyone");
        // The cookie that the reply contains opens the way, from its address and port only.
        let reply = guard.reply(&plain, 77, from(2), now, &mut random).unwrap();
        assert_eq!((reply.len(), &reply[..8]), (64, &[3, 0, 0, 0, 77, 0, 0, 0][..]));
        let (nonce, sealed) = (reply[8..32].try_into().unwrap(), reply[32..].try_into().unwrap());
        let mac1 = split(&plain).unwrap().1;
        let cookie = open_cookie(&guard.cookie_key, mac1, nonce, sealed).unwrap();
        assert_eq!(open_cookie(&guard.cookie_key, &[0; 16], nonce, sealed), None, "to another message");
        let shown = message(&guard, 8, Some(&cookie));
        let mut admit = |from, now| guard.admit(&shown, from, now, &mut random);
        assert_eq!(admit(from(3), now), Admission::Cookie);
        assert_eq!(admit(([192, 0, 2, 2], 4_001).into(), now), Admission::Cookie);
        let mine: Vec<Admission> = (0..7).map(|_| admit(from(2), now)).collect();
        assert_eq!(mine, [[Admission::Process; 5].as_slice(), &[Admission::Silence; 2]].concat());
        // The load ends with the demand, and a cookie after two minutes.
        assert_eq!(admit(from(9), now + Span::from_secs(3)), Admission::Process);
    }
}
