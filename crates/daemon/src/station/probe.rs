//! What `measure` and `reflect` say to each other, and echo requests for hosts where no reflector runs.
//!
//! A probe and its answer have the same size, so that a reflector cannot be used to send a third party more than was sent to
//! it. Numbers are big-endian.
//!
//! ```text
//!   0        4        8                16       20       24
//!   +--------+--------+----------------+--------+--------+
//!   | "AWR1" | number | nonce          | kind   | waited |     kind: 0 probe, 1 answer; waited: microseconds
//!   +--------+--------+----------------+--------+--------+
//! ```

use airwatt_base::Span;

const MAGIC: [u8; 4] = *b"AWR1";
const PROBE: u32 = 0;
const ANSWER: u32 = 1;
/// Size of both.
pub(super) const BYTES: usize = 24;
/// Longest time that a reflector lets an answer wait.
pub(super) const WAIT_MAX: Span = Span::from_secs(1);

/// A probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Probe {
    /// Its number in the measurement.
    pub(super) number: u32,
    /// A random number of the measurement, so that answers of an earlier one are not taken for its own.
    pub(super) nonce: u64,
}

impl Probe {
    /// Its bytes.
    pub(super) fn to_bytes(self) -> [u8; BYTES] {
        self.encode(PROBE, 0)
    }

    /// The bytes of its answer, which has waited for so long.
    pub(super) fn answer(self, waited: Span) -> [u8; BYTES] {
        self.encode(ANSWER, u32::try_from(waited.as_nanos() / 1_000).unwrap_or(u32::MAX))
    }

    fn encode(self, kind: u32, waited_us: u32) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4..8].copy_from_slice(&self.number.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.nonce.to_be_bytes());
        bytes[16..20].copy_from_slice(&kind.to_be_bytes());
        bytes[20..].copy_from_slice(&waited_us.to_be_bytes());
        bytes
    }

    /// Reads a probe; `None` if it is none.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        decode(bytes).and_then(|(probe, kind, _)| (kind == PROBE).then_some(probe))
    }

    /// Reads an answer, with the time for which it has waited; `None` if it is none.
    pub(super) fn read_answer(bytes: &[u8]) -> Option<(Self, Span)> {
        decode(bytes).and_then(|(probe, kind, waited)| (kind == ANSWER).then_some((probe, waited)))
    }
}

fn decode(bytes: &[u8]) -> Option<(Probe, u32, Span)> {
    let bytes: &[u8; BYTES] = bytes.try_into().ok()?;
    let word = |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let nonce = u64::from(word(8)) << 32 | u64::from(word(12));
    let probe = Probe { number: word(4), nonce };
    (bytes[..4] == MAGIC).then(|| (probe, word(16), Span::from_micros(word(20).into())))
}

/// An echo request of ICMP (RFC 792) that carries `probe`.
pub(super) fn echo_request(probe: Probe) -> Vec<u8> {
    let mut packet = vec![8, 0, 0, 0];
    // Identifier and sequence number: what firewalls and humans look at. The payload decides.
    packet.extend_from_slice(&(probe.nonce as u16).to_be_bytes());
    packet.extend_from_slice(&(probe.number as u16).to_be_bytes());
    packet.extend_from_slice(&probe.to_bytes());
    let sum = checksum(&packet).to_be_bytes();
    packet[2..4].copy_from_slice(&sum);
    packet
}

/// The probe in an echo reply, which a raw socket delivers with its IPv4 header.
pub(super) fn read_echo_reply(packet: &[u8]) -> Option<Probe> {
    let header = usize::from(packet.first()? & 0xf) * 4;
    let message = packet.get(header..)?;
    (message.first() == Some(&0)).then(|| Probe::read(message.get(8..)?))?
}

/// The checksum of the Internet (RFC 1071).
fn checksum(bytes: &[u8]) -> u16 {
    let sum: u32 = bytes
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0)))
        .sum();
    !(((sum & 0xffff) + (sum >> 16)) as u16 + u16::from((sum & 0xffff) + (sum >> 16) > 0xffff))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Probe = Probe { number: 7, nonce: 0x0123_4567_89ab_cdef };

    #[test]
    fn probes_and_answers_survive_a_round_trip_and_are_not_confused() {
        assert_eq!(Probe::read(&ONE.to_bytes()), Some(ONE));
        let waited = Span::from_micros(999_999);
        assert_eq!(Probe::read_answer(&ONE.answer(waited)), Some((ONE, waited)));
        assert_eq!(Probe::read_answer(&ONE.to_bytes()), None);
        assert_eq!(Probe::read(&ONE.answer(waited)), None);
        for length in 0..BYTES {
            assert_eq!(Probe::read(&ONE.to_bytes()[..length]), None);
        }
    }

    #[test]
    fn echo_requests_have_the_checksum_that_makes_their_sum_zero() {
        let request = echo_request(ONE);
        assert_eq!(checksum(&request), 0);
        let mut reply = vec![0x45; 20];
        reply.extend_from_slice(&request);
        assert_eq!(read_echo_reply(&reply), None, "a request is no reply");
        reply[20] = 0;
        assert_eq!(read_echo_reply(&reply), Some(ONE));
        assert_eq!(read_echo_reply(&reply[..30]), None);
        assert_eq!(read_echo_reply(&[]), None);
    }

    #[test]
    fn the_checksum_is_that_of_the_rfc() {
        // The example of RFC 1071, section 3: the sum is ddf2.
        assert_eq!(checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
        assert_eq!(checksum(&[0xff; 8]), 0);
    }
}
