//! What a MAC has received from each other member: with a block-ack agreement packets leave in order, and what comes again because the
//! response to it was lost is dropped (802.11-2020 10.3.2.14.3, 10.25.6).
//!
//! Only packets are looked at. Null frames and PS-Polls may come again and change nothing.

use airwatt_base::Instant;

use super::reorder::ReorderBuffer;
use crate::media::cell::access::contention::ContenderId;
use crate::media::cell::frame::{Body, CellFrameKind, Mpdu, MpduSet, OnAir, Ppdu, placed};
use crate::packet::Packet;

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
    /// When the first gap in these is skipped.
    due: Instant,
    /// Packets that came for the first time when their gaps had been skipped.
    late: Vec<Packet>,
}

impl Receptions {
    /// Nothing has been received from contenders from `first` on.
    pub(super) const fn new(first: ContenderId, agreements: bool) -> Self {
        Self {
            first,
            agreements,
            last: Vec::new(),
            buffers: Vec::new(),
            due: Instant::FOREVER,
            late: Vec::new(),
        }
    }

    /// When [`Receptions::expire`] has something to do; [`Instant::FOREVER`] if nothing is held.
    pub(super) const fn due(&self) -> Instant {
        self.due
    }

    /// Takes the packets that came when their gaps had been skipped: they are lost, although their sender has seen them acknowledged.
    pub(super) fn late(&mut self) -> impl Iterator<Item = Packet> + '_ {
        self.late.drain(..)
    }

    /// Calls `each` for the frames that a PPDU brings on their way, with the packets in them. Returns whether [`Receptions::due`] and
    /// [`Receptions::late`] have news.
    pub(super) fn receive(
        &mut self,
        ppdu: &Ppdu,
        mpdus: OnAir<'_>,
        received: &MpduSet,
        now: Instant,
        mut each: impl FnMut(&Mpdu, Option<&Packet>),
    ) -> bool {
        let sender = (ppdu.contender - self.first) as usize;
        let is_ordered =
            self.agreements && matches!(ppdu.kind, CellFrameKind::Data | CellFrameKind::BlockAckRequest);
        if is_ordered {
            return self.receive_in_order(ppdu, mpdus, received, now, each);
        }
        let mut is_new = false;
        for (place, mpdu) in placed(mpdus) {
            if !received.contains(place) {
                continue;
            }
            let Body::Data(packet) = &mpdu.body else {
                each(mpdu, None);
                continue;
            };
            let last = of(&mut self.last, sender, NONE);
            if !mpdu.joins {
                is_new = mpdu.retries == 0 || *last != mpdu.sequence;
                *last = mpdu.sequence;
            }
            if is_new {
                each(mpdu, Some(packet));
            }
        }
        false
    }

    /// Data or a request of a sender to which there may be an agreement.
    fn receive_in_order(
        &mut self,
        ppdu: &Ppdu,
        mpdus: OnAir<'_>,
        received: &MpduSet,
        now: Instant,
        mut each: impl FnMut(&Mpdu, Option<&Packet>),
    ) -> bool {
        let mut release = with_packet(&mut each);
        let sender = (ppdu.contender - self.first) as usize;
        let buffer = of(&mut self.buffers, sender, ReorderBuffer::default());
        let before = buffer.due();
        // On a link without an agreement each frame is the oldest one; it comes again until it has arrived or is given up.
        if ppdu.window == 0 {
            buffer.advance(ppdu.sequence, &mut release);
        }
        for (_, mpdu) in placed(mpdus).filter(|(place, _)| received.contains(*place)) {
            let Body::Data(packet) = &mpdu.body else { continue };
            let is_new = buffer.receive(mpdu, ppdu.window.max(1), now, &mut release);
            // What had arrived before comes again because the response was lost.
            if !is_new && !mpdu.arrived {
                self.late.push(*packet);
            }
        }
        buffer.release_run(&mut release);
        if buffer.due() != before {
            self.find_due();
            return true;
        }
        !self.late.is_empty()
    }

    /// Calls `each` for the packets behind gaps that are skipped by now.
    pub(super) fn expire(&mut self, now: Instant, mut each: impl FnMut(&Mpdu, Option<&Packet>)) {
        for buffer in &mut self.buffers {
            buffer.expire(now, with_packet(&mut each));
        }
        self.find_due();
    }

    fn find_due(&mut self) {
        self.due = self.buffers.iter().map(ReorderBuffer::due).min().unwrap_or(Instant::FOREVER);
    }
}

/// Calls `each` with the packet of a frame of data.
fn with_packet(mut each: impl FnMut(&Mpdu, Option<&Packet>)) -> impl FnMut(&Mpdu) {
    move |mpdu| {
        if let Body::Data(packet) = &mpdu.body {
            each(mpdu, Some(packet));
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
