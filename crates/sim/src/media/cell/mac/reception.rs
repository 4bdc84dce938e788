//! What a MAC has received from each other member: with a block-ack agreement packets leave in order, and what comes again because the
//! response to it was lost is dropped (802.11-2020 10.3.2.14.3, 10.25.6).
//!
//! Only packets are looked at. Null frames and PS-Polls may come again and change nothing.

use super::reorder::ReorderBuffer;
use crate::media::cell::contention::ContenderId;
use crate::media::cell::frame::{Body, Mpdu, MpduSet, OnAir, Ppdu};
use crate::net::packet::Packet;

/// More than any sequence number.
const NONE: u16 = u16::MAX;

/// The receptions of one MAC, by the contenders that send to it: each is a category of one sender.
#[derive(Clone, Debug)]
pub(super) struct Receptions {
    /// The first of these contenders.
    first: ContenderId,
    /// Whether they have agreements.
    agreements: bool,
    /// The sequence number of the last packet of each, without an agreement.
    last: Vec<u16>,
    /// The packets of each, with one.
    buffers: Vec<ReorderBuffer>,
}

impl Receptions {
    /// Nothing has been received from contenders from `first` on.
    pub(super) const fn new(first: ContenderId, agreements: bool) -> Self {
        Self { first, agreements, last: Vec::new(), buffers: Vec::new() }
    }

    /// Calls `each` for the frames that a PPDU brings on their way, with the packets in them.
    pub(super) fn receive(
        &mut self,
        ppdu: &Ppdu,
        mpdus: OnAir<'_>,
        received: &MpduSet,
        mut each: impl FnMut(&Mpdu, Option<&Packet>),
    ) {
        let sender = (ppdu.contender - self.first) as usize;
        for (place, mpdu) in (0..).zip(mpdus) {
            if !received.contains(place) {
                continue;
            }
            let Body::Data(packet) = &mpdu.body else {
                each(mpdu, None);
                continue;
            };
            if self.agreements {
                let mut release = |mpdu: &Mpdu| {
                    if let Body::Data(packet) = &mpdu.body {
                        each(mpdu, Some(packet));
                    }
                };
                let buffer = of(&mut self.buffers, sender, ReorderBuffer::default());
                buffer.advance(ppdu.sequence, &mut release);
                buffer.receive(mpdu, release);
                continue;
            }
            let last = of(&mut self.last, sender, NONE);
            if mpdu.retries == 0 || *last != mpdu.sequence {
                *last = mpdu.sequence;
                each(mpdu, Some(packet));
            }
        }
    }
}

/// What there is of a sender.
fn of<T: Clone>(all: &mut Vec<T>, sender: usize, new: T) -> &mut T {
    if all.len() <= sender {
        all.resize(sender + 1, new);
    }
    &mut all[sender]
}
