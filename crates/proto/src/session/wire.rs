//! The format of the four messages: those of WireGuard, with a flag in datagrams that carry data.
//!
//! ```text
//! initiation, 148 bytes   1 0 0 0 | sender | Noise message of 108 bytes | mac1 | mac2
//! response,    92 bytes   2 0 0 0 | sender | receiver | Noise message of 48 bytes | mac1 | mac2
//! cookie,      64 bytes   3 0 0 0 | receiver | nonce of 24 bytes | cookie and its tag, 32 bytes
//! data,        32 + n     4 f 0 0 | receiver | counter of 8 bytes | n encrypted bytes | tag of 16 bytes
//! ```
//! Numbers are little-endian. `sender` and `receiver` are the indices by which either end finds a session; `mac1` and `mac2` have
//! 16 bytes. f is 1 if the sender expects an answer, otherwise 0. The 16 bytes before the encrypted ones are authenticated.

use super::mac::MAC_BYTES;

/// Bytes before the encrypted ones of a data message.
pub const HEADER_BYTES: usize = 16;
/// Bytes of the tag after them.
pub const TAG_BYTES: usize = 16;
/// Length of an initiation.
pub const INITIATION_BYTES: usize = 148;
/// Length of a response.
pub const RESPONSE_BYTES: usize = 92;
/// Length of a cookie reply.
pub const COOKIE_REPLY_BYTES: usize = 64;
/// Length of the Noise message of an initiation.
pub(super) const NOISE_INITIATION_BYTES: usize = 108;
/// Length of the Noise message of a response.
pub(super) const NOISE_RESPONSE_BYTES: usize = 48;
/// Bytes of both codes at the end of handshake messages.
pub(super) const MACS_BYTES: usize = 2 * MAC_BYTES;

/// The first byte of each message.
pub(super) const INITIATION: u8 = 1;
pub(super) const RESPONSE: u8 = 2;
pub(super) const COOKIE_REPLY: u8 = 3;
pub(super) const DATA: u8 = 4;

/// A message, as far as it is read before anything is decrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Message<'a> {
    Initiation { sender: u32, noise: &'a [u8; NOISE_INITIATION_BYTES] },
    Response { sender: u32, receiver: u32, noise: &'a [u8; NOISE_RESPONSE_BYTES] },
    CookieReply { receiver: u32, nonce: &'a [u8; 24], sealed: &'a [u8; 32] },
    Data { receiver: u32, counter: u64, expects_answer: bool },
}

/// Reads a message; `None` if the bytes are none.
pub(super) fn parse(bytes: &[u8]) -> Option<Message<'_>> {
    let number = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let (&[kind, flags, 0, 0], _) = bytes.split_first_chunk()? else { return None };
    match (kind, flags) {
        (INITIATION, 0) if bytes.len() == INITIATION_BYTES => {
            let noise = bytes[8..8 + NOISE_INITIATION_BYTES].try_into().ok()?;
            Some(Message::Initiation { sender: number(4)?, noise })
        }
        (RESPONSE, 0) if bytes.len() == RESPONSE_BYTES => {
            let noise = bytes[12..12 + NOISE_RESPONSE_BYTES].try_into().ok()?;
            Some(Message::Response { sender: number(4)?, receiver: number(8)?, noise })
        }
        (COOKIE_REPLY, 0) if bytes.len() == COOKIE_REPLY_BYTES => {
            let (nonce, sealed) = (bytes[8..32].try_into().ok()?, bytes[32..].try_into().ok()?);
            Some(Message::CookieReply { receiver: number(4)?, nonce, sealed })
        }
        (DATA, 0 | 1) if bytes.len() >= HEADER_BYTES + TAG_BYTES => {
            let counter = u64::from_le_bytes(bytes[8..HEADER_BYTES].try_into().ok()?);
            Some(Message::Data { receiver: number(4)?, counter, expects_answer: flags == 1 })
        }
        _ => None,
    }
}

/// The header of a data message.
pub(super) fn data_header(receiver: u32, counter: u64, expects_answer: bool) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..2].copy_from_slice(&[DATA, u8::from(expects_answer)]);
    header[4..8].copy_from_slice(&receiver.to_le_bytes());
    header[8..].copy_from_slice(&counter.to_le_bytes());
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_messages_are_messages() {
        for (kind, length) in [(INITIATION, INITIATION_BYTES), (RESPONSE, RESPONSE_BYTES), (COOKIE_REPLY, 64)]
        {
            let mut bytes = vec![0; length];
            bytes[0] = kind;
            assert!(parse(&bytes).is_some());
            assert!(parse(&bytes[..length - 1]).is_none() && parse(&[&bytes[..], &[0]].concat()).is_none());
            for reserved in 1..4 {
                let mut other = bytes.clone();
                other[reserved] = 1;
                assert!(parse(&other).is_none(), "byte {reserved} of {kind}");
            }
        }
        assert!(parse(&[]).is_none() && parse(&[DATA, 0, 0, 0]).is_none() && parse(&[5; 200]).is_none());
    }

    #[test]
    fn a_data_header_is_read_as_it_was_written() {
        let mut bytes = data_header(0x0102_0304, 5, true).to_vec();
        assert_eq!(bytes, [4, 1, 0, 0, 4, 3, 2, 1, 5, 0, 0, 0, 0, 0, 0, 0]);
        assert!(parse(&[&bytes[..], &[0; 15]].concat()).is_none(), "no tag");
        bytes.extend([0; TAG_BYTES]);
        assert_eq!(
            parse(&bytes),
            Some(Message::Data { receiver: 0x0102_0304, counter: 5, expects_answer: true })
        );
    }
}
