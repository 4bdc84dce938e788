//! WNM sleep mode: the answer with which an access point lets a station sleep through beacons, or ends that (802.11-2020 11.2.3.16).

use super::elements::Elements;
use super::error::{MalformedFrame, le16, take};
use super::frame::Frame;

/// Category and action of a WNM Sleep Mode Response (802.11-2020 9.6.13.20).
const CATEGORY: u8 = 10;
const ACTION_RESPONSE: u8 = 17;
/// Identifier of the WNM Sleep Mode element (802.11-2020 9.4.2.81).
const ID_SLEEP_MODE: u8 = 93;
/// Status of that element: accepted, and left with new group keys. Others deny.
const ACCEPTED: [u8; 2] = [0, 1];

/// What an access point agreed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WnmSleep {
    /// The station sleeps, and wakes up at the DTIM beacons of its sleep interval at most.
    Entered,
    /// It does not any more.
    Left,
}

impl WnmSleep {
    /// Reads the body of an action frame; `None` for other frames, encrypted bodies, and answers that deny.
    pub fn decode(frame: &Frame<'_>) -> Result<Option<Self>, MalformedFrame> {
        let Some((CATEGORY, ACTION_RESPONSE, body)) = frame.action() else { return Ok(None) };
        // A dialog token, and group keys with their length.
        let keys = usize::from(le16(take(body, 3)?, 1));
        let elements = Elements(&body[take(body, 3 + keys)?.len()..]);
        Ok(match elements.find(ID_SLEEP_MODE) {
            Some([0, status, ..]) if ACCEPTED.contains(status) => Some(Self::Entered),
            Some([1, status, ..]) if ACCEPTED.contains(status) => Some(Self::Left),
            _ => None,
        })
    }
}
