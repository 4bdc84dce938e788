//! What a user knows of a network: its passphrase, or the key that follows from it.

use std::fmt;
use std::num::NonZeroU32;

use ring::pbkdf2;

/// A pairwise master key.
pub(super) type MasterKey = [u8; 32];

/// Rounds of PBKDF2 from a passphrase to a key (802.11-2020 J.4.1).
const ROUNDS: NonZeroU32 = NonZeroU32::new(4096).unwrap();
/// A passphrase has 8 to 63 characters, an SSID at most 32 octets (802.11-2020 J.4.1, 9.4.2.2).
const PASSPHRASE_CHARACTERS: std::ops::RangeInclusive<usize> = 8..=63;
const SSID_BYTES: usize = 32;

/// The passphrase or the key of a network with WPA2-Personal.
#[derive(Clone, PartialEq, Eq)]
pub struct NetworkKey {
    secret: Secret,
    /// The only network that it is tried in.
    ssid: Option<Vec<u8>>,
}

#[derive(Clone, PartialEq, Eq)]
enum Secret {
    Passphrase(Vec<u8>),
    Key(MasterKey),
}

/// The reason for which a text is no key. It does not repeat the text, which is a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseKeyError(String);

impl NetworkKey {
    /// Reads `PASSPHRASE` or `PASSPHRASE:SSID`. In both parts `%3a` stands for a colon and `%25` for a per cent sign, and `%` with two
    /// other hexadecimal digits for that octet.
    ///
    /// # Errors
    /// [`ParseKeyError`]: the lengths are not those of a passphrase and an SSID.
    pub fn passphrase(text: &str) -> Result<Self, ParseKeyError> {
        let (passphrase, ssid) =
            text.split_once(':').map_or((text, None), |(first, rest)| (first, Some(rest)));
        let passphrase = unescaped(passphrase);
        let is_printable = passphrase.iter().all(|octet| (32..=126).contains(octet));
        if !PASSPHRASE_CHARACTERS.contains(&passphrase.len()) || !is_printable {
            return Err(ParseKeyError(format!(
                "expected PASSPHRASE or PASSPHRASE:SSID with a passphrase of 8 to 63 printable ASCII characters (%3a is a colon, %25 a \
                 per cent sign), got one of {}",
                if is_printable { passphrase.len().to_string() } else { "others".to_owned() }
            )));
        }
        let ssid = ssid.map(unescaped);
        if let Some(length) = ssid.as_ref().map(Vec::len).filter(|length| !(1..=SSID_BYTES).contains(length))
        {
            return Err(ParseKeyError(format!(
                "expected an SSID of 1 to {SSID_BYTES} bytes after the colon, got {length}"
            )));
        }
        Ok(Self { secret: Secret::Passphrase(passphrase), ssid })
    }

    /// Reads a pairwise master key: 64 hexadecimal digits.
    ///
    /// # Errors
    /// [`ParseKeyError`]: the text is something else.
    pub fn psk(text: &str) -> Result<Self, ParseKeyError> {
        let mut key = [0; 32];
        let is_key = text.len() == 64
            && text.bytes().zip(0..).all(|(digit, at)| {
                let value = char::from(digit).to_digit(16);
                key[at / 2] = key[at / 2] << 4 | value.unwrap_or_default() as u8;
                value.is_some()
            });
        if is_key {
            return Ok(Self { secret: Secret::Key(key), ssid: None });
        }
        Err(ParseKeyError(format!(
            "expected a key of 64 hexadecimal digits, got {} characters",
            text.chars().count()
        )))
    }

    /// Whether it may be that of the network with this name.
    pub(super) fn is_for(&self, ssid: Option<&[u8]>) -> bool {
        match (&self.ssid, ssid) {
            (Some(own), Some(ssid)) => own == ssid,
            _ => true,
        }
    }

    /// Whether its master key follows without the name of the network in the capture.
    pub(super) const fn needs_no_name(&self) -> bool {
        matches!(self.secret, Secret::Key(_)) || self.ssid.is_some()
    }

    /// Its master key in the network with this name; `None` if the name is needed and not known (802.11-2020 J.4.1).
    pub(super) fn master_key(&self, ssid: Option<&[u8]>) -> Option<MasterKey> {
        match &self.secret {
            Secret::Key(key) => Some(*key),
            Secret::Passphrase(passphrase) => {
                let mut key = MasterKey::default();
                let salt = self.ssid.as_deref().or(ssid)?;
                pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA1, ROUNDS, salt, passphrase, &mut key);
                Some(key)
            }
        }
    }
}

impl fmt::Debug for NetworkKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NetworkKey(..)")
    }
}

impl fmt::Display for ParseKeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ParseKeyError {}

/// The octets of a text in which `%` and two hexadecimal digits stand for one.
fn unescaped(text: &str) -> Vec<u8> {
    let mut octets = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let escaped = after.first_chunk::<2>().filter(|_| *first == b'%').and_then(|digits| {
            let [high, low] = digits.map(|digit| char::from(digit).to_digit(16));
            Some((high? << 4 | low?) as u8)
        });
        octets.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &after[2..] } else { after };
    }
    octets
}
