//! The Basic Trigger frame, by which an access point lets one station send (802.11ax-2021 9.3.1.22).
//!
//! Left out: the other types, several stations in one frame, random access, and padding.

use super::error::{MalformedFrame, le16, take};
use super::frame::{Frame, FrameKind};

/// Length of the common information, of the information for one station and of what a Basic Trigger adds to it.
const COMMON: usize = 8;
const USER: usize = 5;
const BASIC: usize = 1;
/// The Trigger Type of the common information.
const TYPE_BASIC: u8 = 0;
/// UL Length: the L-SIG length of the longest PPDU that may answer, 5.484 ms. That is 1,366 symbols of 4 us behind 20 us of preamble, three bytes
/// each, less 3 and less 2 as in each HE TB PPDU (27.3.11.5.2).
const UL_LENGTH: u64 = 1_366 * 3 - 3 - 2;
/// GI And HE-LTF Type: twice the LTF, 1.6 us.
const DOUBLE_LTF: u64 = 1;
/// AP Tx Power: 20 dBm, from -20 dBm on.
const AP_TX_POWER: u64 = 40;
/// RU Allocation: the only one of 242 tones of a 20 MHz channel.
const RU_242: u64 = 61 << 1;
/// UL Target Receive Power: the station sends with its highest power.
const HIGHEST_POWER: u64 = 127;
/// Preferred AC: voice, the highest, so that all are served.
const ALL_CATEGORIES: u8 = 3 << 6;
/// The AID12 field.
const AID_BITS: u16 = 0xfff;

/// A Basic Trigger to one station, on 20 MHz with one stream and MCS 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BasicTrigger {
    /// The station's association identifier.
    pub aid: u16,
}

impl BasicTrigger {
    /// Reads the first station of a Trigger frame; `None` for other frames and for other types of Trigger frames.
    pub fn decode(frame: &Frame<'_>) -> Result<Option<Self>, MalformedFrame> {
        if frame.header().control.kind != FrameKind::TRIGGER {
            return Ok(None);
        }
        let body = take(frame.body(), COMMON + USER)?;
        Ok((body[0] & 15 == TYPE_BASIC).then(|| Self { aid: le16(body, COMMON) & AID_BITS }))
    }

    /// Appends the body of the frame.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let common = u64::from(TYPE_BASIC) | UL_LENGTH << 4 | DOUBLE_LTF << 20 | AP_TX_POWER << 28;
        let user = u64::from(self.aid & AID_BITS) | RU_242 << 12 | HIGHEST_POWER << 32;
        out.extend_from_slice(&common.to_le_bytes()[..COMMON]);
        out.extend_from_slice(&user.to_le_bytes()[..USER]);
        out.extend_from_slice(&[ALL_CATEGORIES; BASIC]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(aid: u16) -> Vec<u8> {
        let mut bytes = vec![0x24, 0, 100, 0, 2, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 1];
        BasicTrigger { aid }.encode(&mut bytes);
        bytes
    }

    /// 34 bytes with the FCS. UL Length 4,093 = 0xffd from bit 4 on; RU 61 from bit 13 of the user information on.
    #[test]
    fn a_trigger_is_what_it_says() {
        let bytes = frame(0x123);
        assert_eq!(bytes.len() + 4, 34);
        assert_eq!(bytes[16..24], [0xd0, 0xff, 0x10, 0x80, 2, 0, 0, 0]);
        assert_eq!(bytes[24..30], [0x23, 0xa1, 7, 0, 0x7f, 0xc0]);
        let decode = |bytes: &[u8]| BasicTrigger::decode(&Frame::decode(bytes).unwrap());
        assert_eq!(decode(&bytes), Ok(Some(BasicTrigger { aid: 0x123 })));
        assert!(decode(&bytes[..28]).is_err());
        let mut other = bytes.clone();
        other[16] |= 4;
        assert_eq!(decode(&other), Ok(None));
        other[0] = 0xd4;
        assert_eq!(decode(&other[..10]), Ok(None));
    }
}
