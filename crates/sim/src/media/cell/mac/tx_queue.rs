//! The frames of a MAC for one receiver.

use std::collections::VecDeque;

use crate::media::cell::frame::{Body, DELIMITER_BYTES, Mpdu, MpduSet, Ppdu, Receiver};
use crate::media::cell::mode::Link;

/// The frames for one receiver in the order of transmission. From the head they are outstanding (tried at least once, and
/// numbered) and then those that may be sent. An attempt is one at the first frames, so numbers at the head ascend, with gaps where
/// a frame has left.
#[derive(Clone, Debug)]
pub(super) struct TransmitQueue {
    pub(super) to: Receiver,
    pub(super) link: Link,
    pub(super) frames: VecDeque<Mpdu>,
    /// The last sequence number of QoS data.
    pub(super) number: u16,
    /// How many frames at the head are on the air.
    pub(super) in_flight: usize,
    /// While an attempt is being concluded: how many of its frames have left or been put aside.
    concluded: u16,
    /// Those that have been put aside.
    again: Vec<Mpdu>,
}

impl TransmitQueue {
    /// Makes an empty queue.
    pub(super) fn new(to: Receiver, link: Link) -> Self {
        let (frames, again) = (VecDeque::new(), Vec::new());
        Self { to, link, frames, number: 0, in_flight: 0, concluded: 0, again }
    }

    /// The ticket of the first frame; that of an empty queue is behind all others.
    pub(super) fn ticket(&self) -> u64 {
        self.frames.front().map_or(u64::MAX, |mpdu| mpdu.ticket)
    }

    /// Adds to a PPDU of the first frame those behind it that may be sent with it: data in the window, up to the limits of the link.
    /// `overhead`: what a frame adds to its packet.
    pub(super) fn extend(&self, ppdu: &mut Ppdu, overhead: u32) {
        let limit = self.link.limit;
        let mut unsent = self.number + 1;
        let start = self.frames.front().filter(|mpdu| mpdu.stamped).map_or(unsent, |mpdu| mpdu.sequence);
        let (mut count, mut bytes) = (0, 0_u32);
        for mpdu in self.frames.iter().take(usize::from(limit.mpdus)) {
            let Body::Data(packet) = &mpdu.body else { break };
            let number = if mpdu.stamped { mpdu.sequence } else { unsent };
            unsent += u16::from(!mpdu.stamped);
            let longer = bytes.next_multiple_of(DELIMITER_BYTES) + DELIMITER_BYTES + packet.bytes + overhead;
            if number.wrapping_sub(start) & 0xfff >= limit.window || longer > limit.bytes {
                break;
            }
            (count, bytes) = (count + 1, longer);
        }
        if count > 1 {
            (ppdu.count, ppdu.bytes) = (count, bytes);
        }
    }

    /// Removes the next frame on the air that leaves, and says whether it is in `received`; the others that leave have failed more
    /// often than `retries` times.
    #[inline]
    pub(super) fn next_concluded(
        &mut self,
        received: Option<&MpduSet>,
        retries: u32,
    ) -> Option<(Mpdu, bool)> {
        while self.in_flight > 0 {
            let place = self.concluded;
            self.concluded += 1;
            self.in_flight -= 1;
            if received.is_some_and(|set| set.contains(place)) {
                return self.frames.pop_front().map(|mpdu| (mpdu, true));
            }
            let mut mpdu = self.frames.pop_front()?;
            mpdu.retries += 1;
            if u32::from(mpdu.retries) > retries {
                return Some((mpdu, false));
            }
            self.again.push(mpdu);
        }
        None
    }

    /// Ends the attempt.
    pub(super) fn end_attempt(&mut self) {
        debug_assert_eq!(self.in_flight, 0, "all frames of the attempt are concluded");
        self.concluded = 0;
        while let Some(mpdu) = self.again.pop() {
            self.frames.push_front(mpdu);
        }
    }

    /// Removes what was not sent yet.
    pub(super) fn take_unsent(&mut self) -> impl Iterator<Item = Mpdu> + '_ {
        let outstanding = self.frames.iter().take_while(|mpdu| mpdu.stamped).count();
        self.frames.drain(outstanding..)
    }
}
