//! The messages of the 4-way handshake and of the group key handshake, and the keys that follow from them (802.11-2020 12.7).

use aes::Aes128;
use aes_kw::Kek;
use airwatt_dot11::MacAddress;
use cmac::{Cmac, Mac};
use ring::hmac;

use super::cipher::{Cipher, TemporalKey};
use super::keys::MasterKey;

/// The Ethernet type of EAPOL.
pub(super) const TYPE_EAPOL: u16 = 0x888e;

/// Octets of an EAPOL-Key frame before its key data, and where its fields stand (802.11-2020 12.7.2 with a checksum of 16 octets).
const FIXED_BYTES: usize = 99;
const CHECKSUM_AT: usize = 81;
const CHECKSUM_BYTES: usize = 16;
/// The longest frame that is kept: an element with what belongs to it has 257 octets.
const LONGEST_BYTES: usize = 2_048;

/// Bits of the key information field (802.11-2020 figure 12-34).
const PAIRWISE: u16 = 1 << 3;
const ACK: u16 = 1 << 7;
const MIC: u16 = 1 << 8;
const ENCRYPTED: u16 = 1 << 12;

pub(super) type Nonce = [u8; 32];

/// Which message of which handshake an EAPOL-Key frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// The access point's nonce.
    First,
    /// The station's nonce, and its security element.
    Second,
    /// The access point's nonce again, and the group's key.
    Third,
    /// The group's key alone, of the group key handshake.
    Group,
    /// The last of either handshake.
    Last,
}

/// An EAPOL-Key frame.
#[derive(Clone)]
pub(super) struct KeyFrame {
    /// From the version to the end of the key data.
    bytes: Vec<u8>,
    information: u16,
    pub(super) replay: u64,
    pub(super) nonce: Nonce,
}

impl KeyFrame {
    /// Reads it from EAPOL's first octet on; `None` for other EAPOL frames, and for one that is not whole.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let word = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        if bytes.len() < FIXED_BYTES || bytes[1] != 3 || !matches!(bytes[4], 2 | 254) {
            return None;
        }
        let length = 4 + usize::from(word(2));
        if length > LONGEST_BYTES || length < FIXED_BYTES + usize::from(word(97)) {
            return None;
        }
        let bytes = bytes.get(..length)?.to_vec();
        let replay = u64::from_be_bytes(bytes[9..17].try_into().ok()?);
        let nonce = bytes[17..49].try_into().ok()?;
        let information = u16::from_be_bytes([bytes[5], bytes[6]]);
        Some(Self { bytes, information, replay, nonce })
    }

    /// Which one it is.
    pub(super) fn message(&self) -> Message {
        let has = |bits: u16| self.information & bits == bits;
        match (has(PAIRWISE), has(ACK), has(MIC)) {
            (true, true, false) => Message::First,
            (true, true, true) => Message::Third,
            // The fourth has no key data.
            (true, false, true) if !self.key_data().is_empty() => Message::Second,
            (false, true, true) => Message::Group,
            _ => Message::Last,
        }
    }

    fn key_data(&self) -> &[u8] {
        let length = usize::from(u16::from_be_bytes([self.bytes[97], self.bytes[98]]));
        &self.bytes[FIXED_BYTES..FIXED_BYTES + length]
    }

    /// The cipher suite that the sender of this message, the second one, asks for.
    ///
    /// # Errors
    /// The reason, in words, for which such frames cannot be decrypted.
    pub(super) fn suite(&self) -> Result<Suite, &'static str> {
        // The element of RSN, and that of WPA before it, which has an OUI and a type of its own before the same fields.
        const RSN: u8 = 48;
        const WPA: [u8; 4] = [0x00, 0x50, 0xf2, 1];
        let mut rest = self.key_data();
        while let [id, length, after @ ..] = rest {
            let Some(contents) = after.get(..usize::from(*length)) else { break };
            let fields = if *id == RSN { Some(contents) } else { contents.strip_prefix(&WPA) };
            if let Some(fields) = fields {
                return Suite::read(fields, self.information & 7);
            }
            rest = &after[contents.len()..];
        }
        Err("its handshake has no security element")
    }

    /// Whether its checksum fits a key.
    pub(super) fn is_genuine(&self, suite: Suite, keys: &PairwiseKeys) -> bool {
        let mut bytes = self.bytes.clone();
        bytes[CHECKSUM_AT..CHECKSUM_AT + CHECKSUM_BYTES].fill(0);
        let checksum = match suite.hash {
            Hash::Sha1 => {
                let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &keys.confirmation);
                hmac::sign(&key, &bytes).as_ref()[..CHECKSUM_BYTES].to_vec()
            }
            Hash::Sha256 => {
                let mut mac = <Cmac<Aes128> as Mac>::new(&keys.confirmation.into());
                mac.update(&bytes);
                mac.finalize().into_bytes().to_vec()
            }
        };
        checksum == self.bytes[CHECKSUM_AT..CHECKSUM_AT + CHECKSUM_BYTES]
    }

    /// The group's key in its key data, and the key's identifier; `None` without one, and if it cannot be unwrapped.
    pub(super) fn group_key(&self, suite: Suite, keys: &PairwiseKeys) -> Option<(u8, TemporalKey)> {
        const KEY_DATA: u8 = 0xdd;
        const GROUP_KEY: [u8; 4] = [0x00, 0x0f, 0xac, 1];
        let (cipher, wrapped) = (suite.group?, self.key_data());
        if self.information & ENCRYPTED == 0 {
            return None;
        }
        let mut unwrapped = vec![0; wrapped.len().checked_sub(8)?];
        Kek::<Aes128>::from(keys.encryption).unwrap(wrapped, &mut unwrapped).ok()?;
        let mut rest = unwrapped.as_slice();
        while let [id, length, after @ ..] = rest {
            let contents = after.get(..usize::from(*length))?;
            // Identifier and flags, a reserved octet, and the key.
            if *id == KEY_DATA
                && let Some([flags, _, key @ ..]) = contents.strip_prefix(&GROUP_KEY)
            {
                return Some((flags & 3, TemporalKey { cipher, octets: key.try_into().ok()? }));
            }
            rest = &after[contents.len()..];
        }
        None
    }
}

/// The hash that keys are derived with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hash {
    Sha1,
    Sha256,
}

/// How a station's frames are protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Suite {
    hash: Hash,
    pairwise: Cipher,
    /// The cipher of group-addressed frames; `None` if they cannot be decrypted.
    group: Option<Cipher>,
}

impl Suite {
    /// From the fields of a security element (802.11-2020 9.4.2.24) and the version of the key descriptor.
    fn read(fields: &[u8], version: u16) -> Result<Self, &'static str> {
        // Version, group cipher, count and list of pairwise ciphers, count and list of AKMs. The station names one of each.
        let [_, _, _, _, _, group, 1, 0, _, _, _, pairwise, 1, 0, _, _, _, akm, ..] = fields else {
            return Err("its security element is not that of a station");
        };
        let cipher = |number: u8| match number {
            4 => Ok(Cipher::Ccmp),
            8 => Ok(Cipher::Gcmp),
            2 => Err("its cipher is TKIP, which is not decrypted"),
            _ => Err("its cipher is neither CCMP nor GCMP with 128 bits, and others are not decrypted"),
        };
        let hash = match (*akm, version) {
            (2, 2) => Hash::Sha1,
            (6, 3) => Hash::Sha256,
            (8 | 9 | 24 | 25, _) => {
                return Err("it uses SAE (WPA3-Personal), from whose handshake no key follows");
            }
            (3 | 4, _) => return Err("it uses fast transition (802.11r), which is not decrypted"),
            (1 | 5 | 11..=13, _) => {
                return Err("it uses 802.1X (WPA-Enterprise), where a passphrase opens nothing");
            }
            (2 | 6, 1) => return Err("its cipher is TKIP, which is not decrypted"),
            _ => return Err("its key management is not that of WPA2-Personal"),
        };
        Ok(Self { hash, pairwise: cipher(*pairwise)?, group: cipher(*group).ok() })
    }
}

/// The keys of an access point and a station.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct PairwiseKeys {
    confirmation: [u8; 16],
    encryption: [u8; 16],
    pub(super) temporal: TemporalKey,
}

impl PairwiseKeys {
    /// From the master key, both addresses and both nonces (802.11-2020 12.7.1.3), the access point's first.
    pub(super) fn derive(
        master: &MasterKey,
        suite: Suite,
        addresses: (MacAddress, MacAddress),
        nonces: (&Nonce, &Nonce),
    ) -> Self {
        const LABEL: &[u8] = b"Pairwise key expansion";
        let (ap, station) = (addresses.0.0, addresses.1.0);
        let context =
            [&ap.min(station)[..], &ap.max(station), nonces.0.min(nonces.1), nonces.0.max(nonces.1)].concat();
        let octets = suite.hash.expand(master, LABEL, &context);
        let part = |at: usize| std::array::from_fn(|index| octets[at + index]);
        Self {
            confirmation: part(0),
            encryption: part(16),
            temporal: TemporalKey { cipher: suite.pairwise, octets: part(32) },
        }
    }
}

/// Octets of the three keys together.
const KEYS_BYTES: usize = 48;

impl Hash {
    /// The pseudorandom function of its generation: 802.11-2020 12.7.1.2 with SHA-1, 12.7.1.6.2 with SHA-256.
    fn expand(self, key: &[u8], label: &[u8], context: &[u8]) -> Vec<u8> {
        let algorithm = match self {
            Self::Sha1 => hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
            Self::Sha256 => hmac::HMAC_SHA256,
        };
        let key = hmac::Key::new(algorithm, key);
        let mut octets = Vec::new();
        for round in 0u8.. {
            if octets.len() >= KEYS_BYTES {
                break;
            }
            let block = match self {
                Self::Sha1 => [label, &[0], context, &[round]].concat(),
                Self::Sha256 => {
                    let bits = (8 * KEYS_BYTES as u16).to_le_bytes();
                    [&[round + 1, 0][..], label, context, &bits].concat()
                }
            };
            octets.extend_from_slice(hmac::sign(&key, &block).as_ref());
        }
        octets
    }
}
