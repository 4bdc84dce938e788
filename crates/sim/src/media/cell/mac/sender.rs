//! What the MACs of stations share, of an infrastructure or an ad-hoc network: queues, reordering and what was lost.

use std::ops::Range;

use airwatt_base::{Instant, Slot};
use airwatt_proto::powersave::ServiceFlags;

use super::categories::Categories;
use super::frame_queue::FrameQueue;
use super::reception::Receptions;
use crate::media::cell::access::category::Category;
use crate::media::cell::access::contention::ContenderId;
use crate::media::cell::air::effects::Effects;
use crate::media::cell::config::CellConfig;
use crate::media::cell::frame::{Mpdu, MpduSet, Ppdu};
use crate::media::cell::interface::CellOutput;
use crate::media::cell::radio::RadioId;
use crate::packet::Packet;
use crate::route::Member;

/// The sending half of a station, and the order of what it receives.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    pub(super) radio: RadioId,
    pub(super) member: Member,
    /// The slot of its timer.
    pub(super) slot: Slot,
    pub(super) queues: Categories<FrameQueue>,
    pub(super) receptions: Receptions,
    /// The last sequence number of frames without a counter for their receiver.
    number: u16,
    /// Packets that were given up at the retry limit.
    pub(crate) given_up: u64,
    /// Packets whose lifetime was over before they were acknowledged.
    pub(crate) expired: u64,
}

impl Sender {
    /// Makes a sender with empty queues. `first`: the contender of the first sender that it receives from.
    pub(super) fn new(
        config: &CellConfig,
        (radio, member, slot): (RadioId, Member, Slot),
        queues: Categories<FrameQueue>,
        first: ContenderId,
    ) -> Self {
        let receptions = Receptions::new(first, config.aggregation.mpdus != Some(1));
        Self { radio, member, slot, queues, receptions, number: 0, given_up: 0, expired: 0 }
    }

    pub(super) const fn contenders(&self) -> Range<ContenderId> {
        self.queues.contenders()
    }

    #[inline]
    pub(super) fn queue(&self, category: Category) -> &FrameQueue {
        self.queues.of(category)
    }

    pub(super) fn compose(&mut self, category: Category, pm: bool) -> Ppdu {
        self.queues.of_mut(category).compose(pm, &mut self.number, |_| ServiceFlags::default())
    }

    pub(super) fn note_arrivals(&mut self, ppdu: &Ppdu, received: &MpduSet) {
        self.queues.of_contender_mut(ppdu.contender).note_arrivals(received);
    }

    /// The time of the next gap before held frames that is skipped, or of the end of a packet's lifetime.
    pub(super) fn due(&self) -> Instant {
        self.receptions.due().min(self.expiry())
    }

    /// When the next packet's lifetime ends.
    pub(super) fn expiry(&self) -> Instant {
        self.queues.iter().map(FrameQueue::expiry).min().unwrap_or(Instant::FOREVER)
    }

    /// Whether packets have a lifetime.
    pub(super) fn expires(&self) -> bool {
        self.queues.iter().any(FrameQueue::expires)
    }

    /// A packet has left its queue without an acknowledgement.
    pub(super) fn lose(&mut self, mpdu: &Mpdu, packet: Packet, now: Instant, out: &mut Effects<'_>) {
        let count = if mpdu.expires <= now { &mut self.expired } else { &mut self.given_up };
        *count += 1;
        if !mpdu.arrived {
            out.emit(CellOutput::Lost(packet));
        }
    }

    /// A frame has left its queue at the end of its lifetime: an empty queue no longer contends.
    pub(super) fn stop_if_empty(&self, contender: ContenderId, now: Instant, out: &mut Effects<'_>) {
        if self.queues.of_contender(contender).is_empty() {
            out.leave(contender);
            out.sent_all(contender, Some(self.radio), now);
        }
    }
}
