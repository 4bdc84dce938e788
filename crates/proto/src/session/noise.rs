//! The handshake: Noise `IKpsk2` over X25519, ChaCha20-Poly1305 and BLAKE2s, as WireGuard uses it.
//!
//! The initiator knows the responder's public key. Its first message contains its own, encrypted, and a timestamp; the response
//! completes the handshake. A key that both share beforehand may be mixed in; it is zero otherwise.

use snow::params::{CipherChoice, DHChoice, HashChoice, NoiseParams};
use snow::resolvers::{CryptoResolver, DefaultResolver};
use snow::types::{Cipher, Dh, Hash, Random};
use snow::{Builder, HandshakeState};

use super::dh;
use super::key::{PublicKey, SecretKey};
use super::wire::{NOISE_INITIATION_BYTES, NOISE_RESPONSE_BYTES};

const PATTERN: &str = "Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s";
/// The message that the shared key is mixed into.
const PSK_PLACE: u8 = 2;
/// Length of a timestamp: seconds and nanoseconds, big-endian, so that later ones compare as greater.
pub(super) const TIMESTAMP_BYTES: usize = 12;

/// A timestamp (TAI64N).
pub(super) type Timestamp = [u8; TIMESTAMP_BYTES];

/// Keys of a session, one for each direction.
pub(super) struct Keys {
    pub(super) send: [u8; 32],
    pub(super) receive: [u8; 32],
}

/// What one end brings into a handshake.
#[derive(Clone, Copy)]
pub(super) struct Party<'a> {
    pub(super) private: &'a SecretKey,
    /// Both ends have to use the same text.
    pub(super) prologue: &'a [u8],
    /// The private key of this handshake alone.
    pub(super) ephemeral: &'a [u8; 32],
}

/// The library's algorithms, with an ephemeral key that comes from outside.
struct Resolver([u8; 32]);

/// Returns the ephemeral key.
struct Drawn([u8; 32]);

impl Random for Drawn {
    fn try_fill_bytes(&mut self, target: &mut [u8]) -> Result<(), snow::Error> {
        let bytes = self.0.get(..target.len()).ok_or(snow::Error::Rng)?;
        target.copy_from_slice(bytes);
        Ok(())
    }
}

impl CryptoResolver for Resolver {
    fn resolve_rng(&self) -> Option<Box<dyn Random>> {
        Some(Box::new(Drawn(self.0)))
    }

    fn resolve_dh(&self, choice: &DHChoice) -> Option<Box<dyn Dh>> {
        (*choice == DHChoice::Curve25519).then(dh::pair)
    }

    fn resolve_hash(&self, choice: &HashChoice) -> Option<Box<dyn Hash>> {
        DefaultResolver.resolve_hash(choice)
    }

    fn resolve_cipher(&self, choice: &CipherChoice) -> Option<Box<dyn Cipher>> {
        DefaultResolver.resolve_cipher(choice)
    }
}

impl<'a> Party<'a> {
    fn builder(self) -> Result<Builder<'a>, snow::Error> {
        let pattern: NoiseParams = PATTERN.parse()?;
        Builder::with_resolver(pattern, Box::new(Resolver(*self.ephemeral)))
            .prologue(self.prologue)?
            .local_private_key(self.private.as_bytes())
    }

    fn initiator(
        self,
        remote: &PublicKey,
        shared: &SecretKey,
        timestamp: &Timestamp,
    ) -> Result<(HandshakeState, [u8; NOISE_INITIATION_BYTES]), snow::Error> {
        let builder = self.builder()?.remote_public_key(remote.as_bytes())?;
        let mut state = builder.psk(PSK_PLACE, shared.as_bytes())?.build_initiator()?;
        let mut message = [0; NOISE_INITIATION_BYTES];
        state.write_message(timestamp, &mut message)?;
        Ok((state, message))
    }

    /// The first message.
    pub(super) fn initiate(
        self,
        remote: &PublicKey,
        shared: &SecretKey,
        timestamp: &Timestamp,
    ) -> Option<[u8; NOISE_INITIATION_BYTES]> {
        self.initiator(remote, shared, timestamp).ok().map(|(_, message)| message)
    }

    /// Reads the response to the first message, which is computed again from what it was made of: the library's state can
    /// neither be cloned nor compared, and machines are values.
    pub(super) fn complete(
        self,
        remote: &PublicKey,
        shared: &SecretKey,
        timestamp: &Timestamp,
        response: &[u8; NOISE_RESPONSE_BYTES],
    ) -> Option<Keys> {
        let (mut state, _) = self.initiator(remote, shared, timestamp).ok()?;
        state.read_message(response, &mut [0; NOISE_RESPONSE_BYTES]).ok()?;
        let (send, receive) = state.dangerously_get_raw_split();
        Some(Keys { send, receive })
    }

    /// Reads a first message: whom it is from, and when it was sent.
    pub(super) fn read_initiation(self, message: &[u8; NOISE_INITIATION_BYTES]) -> Option<Initiation> {
        let mut state = self.builder().ok()?.build_responder().ok()?;
        let mut payload = [0; NOISE_INITIATION_BYTES];
        let length = state.read_message(message, &mut payload).ok()?;
        let timestamp = payload[..length].try_into().ok()?;
        let from = PublicKey::from_bytes(state.get_remote_static()?.try_into().ok()?);
        Some(Initiation { state, from, timestamp })
    }
}

/// A first message that was read.
pub(super) struct Initiation {
    state: HandshakeState,
    pub(super) from: PublicKey,
    pub(super) timestamp: Timestamp,
}

impl Initiation {
    /// The response, which completes the handshake.
    pub(super) fn respond(mut self, shared: &SecretKey) -> Option<([u8; NOISE_RESPONSE_BYTES], Keys)> {
        self.state.set_psk(usize::from(PSK_PLACE), shared.as_bytes()).ok()?;
        let mut message = [0; NOISE_RESPONSE_BYTES];
        self.state.write_message(&[], &mut message).ok()?;
        let (receive, send) = self.state.dangerously_get_raw_split();
        Some((message, Keys { send, receive }))
    }
}
