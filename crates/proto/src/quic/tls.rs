//! Cryptography that encrypts nothing and has the lengths of TLS 1.3 (RFC 8446, 9001).
//!
//! A message is its length, padded to what it typically has, and carries the transport parameters of its side. Lengths: a
//! ClientHello without post-quantum shares and a ServerHello with one X25519 share; the server's flight is dominated by its
//! certificates and has 2 to 4 kB, for which no measurement was found (unsure): 3000 bytes. Tags have 16 bytes, as those of every
//! suite of TLS 1.3.

use std::any::Any;
use std::sync::Arc;

use bytes::BytesMut;
use quinn_proto::crypto::{
    AeadKey, ClientConfig, CryptoError, ExportKeyingMaterialError, HandshakeTokenKey, HeaderKey, HmacKey,
    KeyPair, Keys, PacketKey, ServerConfig, Session, UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError, TransportErrorCode};

/// Least lengths of the messages in bytes.
const CLIENT_HELLO: usize = 300;
const SERVER_HELLO: usize = 122;
const SERVER_FLIGHT: usize = 3_000;
const CLIENT_FINISHED: usize = 36;
/// Bytes of a message's own length, with which it begins.
const LENGTH: usize = 4;
/// Bytes of a packet's authentication tag.
const TAG: usize = 16;
/// Bytes of which the mask of a header is made.
const SAMPLE: usize = 16;

/// The key of everything.
pub(super) struct Null;

fn pair<T: ?Sized>(make: impl Fn() -> Box<T>) -> KeyPair<Box<T>> {
    KeyPair { local: make(), remote: make() }
}

fn packet_keys() -> KeyPair<Box<dyn PacketKey>> {
    pair(|| Box::new(Null) as Box<dyn PacketKey>)
}

fn keys() -> Keys {
    Keys { header: pair(|| Box::new(Null) as Box<dyn HeaderKey>), packet: packet_keys() }
}

impl PacketKey for Null {
    fn encrypt(&self, _: u64, _: &mut [u8], _: usize) {}

    fn decrypt(&self, _: u64, _: &[u8], payload: &mut BytesMut) -> Result<(), CryptoError> {
        let bytes = payload.len().checked_sub(TAG).ok_or(CryptoError)?;
        payload.truncate(bytes);
        Ok(())
    }

    fn tag_len(&self) -> usize {
        TAG
    }

    fn confidentiality_limit(&self) -> u64 {
        u64::MAX
    }

    fn integrity_limit(&self) -> u64 {
        u64::MAX
    }
}

impl HeaderKey for Null {
    fn decrypt(&self, _: usize, _: &mut [u8]) {}

    fn encrypt(&self, _: usize, _: &mut [u8]) {}

    fn sample_size(&self) -> usize {
        SAMPLE
    }
}

/// Tokens of stateless resets are the identifiers that they are for.
impl HmacKey for Null {
    fn sign(&self, data: &[u8], signature: &mut [u8]) {
        signature.fill(0);
        let bytes = data.len().min(signature.len());
        signature[..bytes].copy_from_slice(&data[..bytes]);
    }

    fn signature_len(&self) -> usize {
        32
    }

    fn verify(&self, _: &[u8], _: &[u8]) -> Result<(), CryptoError> {
        Ok(())
    }
}

impl HandshakeTokenKey for Null {
    fn aead_from_hkdf(&self, _: &[u8]) -> Box<dyn AeadKey> {
        Box::new(Null)
    }
}

impl AeadKey for Null {
    fn seal(&self, data: &mut Vec<u8>, _: &[u8]) -> Result<(), CryptoError> {
        data.extend_from_slice(&[0; TAG]);
        Ok(())
    }

    fn open<'a>(&self, data: &'a mut [u8], _: &[u8]) -> Result<&'a mut [u8], CryptoError> {
        let bytes = data.len().checked_sub(TAG).ok_or(CryptoError)?;
        Ok(&mut data[..bytes])
    }
}

impl ClientConfig for Null {
    fn start_session(
        self: Arc<Self>,
        _: u32,
        _: &str,
        parameters: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        Ok(Box::new(NullSession::new(Side::Client, parameters)))
    }
}

impl ServerConfig for Null {
    fn initial_keys(&self, _: u32, _: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        Ok(keys())
    }

    fn retry_tag(&self, _: u32, _: &ConnectionId, _: &[u8]) -> [u8; 16] {
        [0; 16]
    }

    fn start_session(self: Arc<Self>, _: u32, parameters: &TransportParameters) -> Box<dyn Session> {
        Box::new(NullSession::new(Side::Server, parameters))
    }
}

/// Which message a side has to write or to read next. Client and server meet each in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    ClientHello,
    ServerHello,
    /// Encrypted extensions, certificates and the server's Finished.
    ServerFlight,
    ClientFinished,
    Done,
}

impl Step {
    const fn writer(self) -> Option<Side> {
        match self {
            Self::ClientHello | Self::ClientFinished => Some(Side::Client),
            Self::ServerHello | Self::ServerFlight => Some(Side::Server),
            Self::Done => None,
        }
    }

    const fn next(self) -> Self {
        match self {
            Self::ClientHello => Self::ServerHello,
            Self::ServerHello => Self::ServerFlight,
            Self::ServerFlight => Self::ClientFinished,
            Self::ClientFinished | Self::Done => Self::Done,
        }
    }

    const fn least_bytes(self) -> usize {
        match self {
            Self::ClientHello => CLIENT_HELLO,
            Self::ServerHello => SERVER_HELLO,
            Self::ServerFlight => SERVER_FLIGHT,
            Self::ClientFinished | Self::Done => CLIENT_FINISHED,
        }
    }

    /// Whether the message carries its side's transport parameters.
    const fn has_parameters(self) -> bool {
        matches!(self, Self::ClientHello | Self::ServerFlight)
    }
}

/// One side of a handshake.
struct NullSession {
    side: Side,
    step: Step,
    own: Vec<u8>,
    peer: Option<TransportParameters>,
    /// Of the message that is being read, what has arrived.
    arrived: Vec<u8>,
    /// Levels of keys that are ready and not handed out yet: of the handshake, of the data.
    keys_due: u32,
}

impl NullSession {
    fn new(side: Side, parameters: &TransportParameters) -> Self {
        let mut own = Vec::new();
        parameters.write(&mut own);
        Self { side, step: Step::ClientHello, own, peer: None, arrived: Vec::new(), keys_due: 0 }
    }

    /// The message of a step was written or read. The ServerHello makes the keys of the handshake; the server's flight makes those
    /// of the data, for the server at once and for the client with its Finished.
    fn advance(&mut self) {
        let done = self.step;
        self.step = done.next();
        let makes_keys = match done {
            Step::ServerHello => true,
            Step::ServerFlight => self.side == Side::Server,
            Step::ClientFinished => self.side == Side::Client,
            Step::ClientHello | Step::Done => false,
        };
        self.keys_due += u32::from(makes_keys);
    }

    fn message(&self) -> Vec<u8> {
        let mut message = vec![0; LENGTH];
        if self.step.has_parameters() {
            message.extend_from_slice(&(self.own.len() as u32).to_be_bytes());
            message.extend_from_slice(&self.own);
        }
        message.resize(message.len().max(self.step.least_bytes()), 0);
        let bytes = message.len() as u32;
        message[..LENGTH].copy_from_slice(&bytes.to_be_bytes());
        message
    }

    /// The whole message at the front of what arrived.
    fn take_message(&mut self) -> Option<Vec<u8>> {
        let bytes = u32::from_be_bytes(*self.arrived.first_chunk()?) as usize;
        (bytes >= LENGTH && self.arrived.len() >= bytes).then(|| self.arrived.drain(..bytes).collect())
    }

    fn read_parameters(&mut self, message: &[u8]) -> Option<()> {
        let rest = message.get(LENGTH..)?;
        let bytes = u32::from_be_bytes(*rest.first_chunk()?) as usize;
        let mut own = rest.get(LENGTH..LENGTH + bytes)?;
        self.peer = Some(TransportParameters::read(self.side, &mut own).ok()?);
        Some(())
    }
}

impl Session for NullSession {
    fn initial_keys(&self, _: &ConnectionId, _: Side) -> Keys {
        keys()
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        None
    }

    fn early_data_accepted(&self) -> Option<bool> {
        None
    }

    fn is_handshaking(&self) -> bool {
        self.step < Step::Done
    }

    fn read_handshake(&mut self, bytes: &[u8]) -> Result<bool, TransportError> {
        self.arrived.extend_from_slice(bytes);
        let mut is_ready = false;
        while self.step.writer().is_some_and(|writer| writer != self.side)
            && let Some(message) = self.take_message()
        {
            if self.step.has_parameters() {
                self.read_parameters(&message).ok_or_else(|| TransportError {
                    code: TransportErrorCode::TRANSPORT_PARAMETER_ERROR,
                    frame: None,
                    reason: "transport parameters cannot be read".into(),
                })?;
                is_ready = true;
            }
            self.advance();
        }
        Ok(is_ready)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        Ok(self.peer)
    }

    fn write_handshake(&mut self, out: &mut Vec<u8>) -> Option<Keys> {
        if self.keys_due == 0 && self.step.writer() == Some(self.side) {
            out.extend_from_slice(&self.message());
            self.advance();
        }
        self.keys_due = self.keys_due.checked_sub(1)?;
        Some(keys())
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        Some(packet_keys())
    }

    fn is_valid_retry(&self, _: &ConnectionId, _: &[u8], _: &[u8]) -> bool {
        false
    }

    fn export_keying_material(
        &self,
        _: &mut [u8],
        _: &[u8],
        _: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        Err(ExportKeyingMaterialError)
    }
}
