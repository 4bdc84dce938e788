//! When Chrome's receiver acknowledges, told to the library.
//!
//! Chrome acknowledges each second of the first hundred packets. Then it acknowledges each tenth, or after a quarter of the least round-trip time
//! (25 ms at most), whichever is first. A gap it acknowledges at once. The numbers are those of its `QuicReceivedPacketManager`
//! (`kMinReceivedBeforeAckDecimation`, `kMaxRetransmittablePacketsBeforeAck`, `kAckDecimationDelay`), as publications on acknowledgements of QUIC
//! cite them; the source itself was not at hand.
//!
//! The library's receiver has one rule, which an ACK_FREQUENCY frame changes (draft-ietf-quic-ack-frequency). Such a frame is put before
//! the others of a packet that has arrived, as nothing is encrypted.

use std::time::Duration;

use bytes::BytesMut;

use super::config::ACK_DELAY;

/// Packets before acknowledgements are thinned.
const FIRST_PACKETS: u64 = 100;
/// Packets that may come after one without an acknowledgement: the tenth has one.
const THRESHOLD: u32 = 9;
/// Parts of the least round-trip time for which an acknowledgement waits.
const PARTS: u32 = 4;
/// A gap is acknowledged at once.
const REORDERING: u32 = 1;
/// The least delay that the library takes, its timer's granularity.
const LEAST_DELAY: Duration = Duration::from_millis(1);
/// The frame's type, in two bytes (RFC 9000 section 16).
const ACK_FREQUENCY: [u8; 2] = [0x40, 0xaf];
/// Types of frames that acknowledge.
const ACK_FRAMES: [u8; 2] = [0x02, 0x03];

/// The rule's progress.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Thinning {
    received: u64,
    frames: u32,
    delay: Option<Duration>,
}

impl Thinning {
    /// Puts a frame into the packet of a datagram that has arrived, if the rule changes by it. Identifiers of connections have so many bytes.
    pub(super) fn tell(&mut self, datagram: &[u8], identifier_bytes: usize, least_rtt: Duration) -> BytesMut {
        let mut told = BytesMut::from(datagram);
        // Packets of the handshake have a long header (RFC 9000 section 17.2).
        let Some(first) = datagram.first().filter(|first| *first & 0x80 == 0) else { return told };
        self.received += 1;
        let ceiling = Duration::from_nanos(ACK_DELAY.as_nanos());
        let delay = (least_rtt / PARTS).clamp(LEAST_DELAY, ceiling);
        let header = 1 + identifier_bytes + usize::from(first & 0x03) + 1;
        let Some(frame) = datagram.get(header) else { return told };
        // A packet that only acknowledges would be made one that elicits an acknowledgement.
        if self.received <= FIRST_PACKETS || self.delay == Some(delay) || ACK_FRAMES.contains(frame) {
            return told;
        }
        self.delay = Some(delay);
        let frames = told.split_off(header);
        told.extend_from_slice(&ACK_FREQUENCY);
        let micros = u32::try_from(delay.as_micros()).expect("25 ms at most");
        for number in [self.frames, THRESHOLD, micros, REORDERING] {
            // A number of four bytes (RFC 9000 section 16).
            told.extend_from_slice(&(number | 0x8000_0000).to_be_bytes());
        }
        self.frames += 1;
        told.unsplit(frames);
        told
    }
}
