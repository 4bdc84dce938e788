//! The frames of a MAC for one receiver.

use std::collections::VecDeque;

use crate::media::cell::frame::{ModeId, Mpdu, Receiver};

/// The frames for one receiver in the order of transmission. From the head they are outstanding (tried at least once, and
/// numbered) and then those that may be sent. An attempt is one at the first frame.
#[derive(Clone, Debug)]
pub(super) struct TransmitQueue {
    pub(super) to: Receiver,
    /// The mode of data on this link.
    pub(super) mode: ModeId,
    pub(super) frames: VecDeque<Mpdu>,
    /// The last sequence number of QoS data.
    pub(super) number: u16,
}

impl TransmitQueue {
    /// Makes an empty queue.
    pub(super) const fn new(to: Receiver, mode: ModeId) -> Self {
        Self { to, mode, frames: VecDeque::new(), number: 0 }
    }

    /// The ticket of the first frame; that of an empty queue is behind all others.
    pub(super) fn ticket(&self) -> u64 {
        self.frames.front().map_or(u64::MAX, |mpdu| mpdu.ticket)
    }

    /// Removes what was not sent yet.
    pub(super) fn take_unsent(&mut self) -> impl Iterator<Item = Mpdu> + '_ {
        let outstanding = self.frames.iter().take_while(|mpdu| mpdu.stamped).count();
        self.frames.drain(outstanding..)
    }
}
