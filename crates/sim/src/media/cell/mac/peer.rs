//! The MAC of a station in an ad-hoc network (independent BSS): it sends to each other station directly.
//!
//! Left out: the beacons of the independent BSS, of which each station sends its share, and power save in it (ATIM windows).

use std::ops::Range;

use airwatt_base::{Instant, Slot};
use airwatt_proto::powersave::ServiceFlags;

use super::categories::{Categories, category_of};
use super::frame_queue::FrameQueue;
use super::reception::Receptions;
use crate::media::cell::category::Category;
use crate::media::cell::config::CellConfig;
use crate::media::cell::contention::ContenderId;
use crate::media::cell::effects::Effects;
use crate::media::cell::frame::{Body, MpduSet, OnAir, Ppdu};
use crate::media::cell::interface::CellOutput;
use crate::media::cell::radio::RadioId;
use crate::media::cell::rates::LinkPlan;
use crate::packet::Packet;
use crate::route::Member;

/// The MAC of an ad-hoc station, which never sleeps.
#[derive(Clone, Debug)]
pub(crate) struct PeerMac {
    radio: RadioId,
    queues: Categories<FrameQueue>,
    member: Member,
    /// The last sequence number of frames without a counter for their receiver.
    number: u16,
    receptions: Receptions,
    /// The slot of the time-out of held frames.
    slot: Slot,
    given_up: u64,
}

impl PeerMac {
    /// Makes a station with an empty queue.
    pub(crate) fn new(
        config: &CellConfig,
        buffer: u32,
        radio: RadioId,
        member: Member,
        contenders: Range<ContenderId>,
        links: &[LinkPlan],
        slot: Slot,
    ) -> Self {
        let limits = config.station_limits();
        let queue = |(contender, link): (ContenderId, &LinkPlan)| {
            FrameQueue::new([member, 0], contender, link.clone(), limits, buffer)
        };
        Self {
            radio,
            queues: Categories::new(contenders, links, queue),
            member,
            number: 0,
            receptions: Receptions::new(0, config.aggregation.mpdus != Some(1)),
            slot,
            given_up: 0,
        }
    }

    /// Packets that were given up at the retry limit.
    pub(crate) const fn given_up(&self) -> u64 {
        self.given_up
    }

    /// Takes a packet for the station that is member `to`.
    pub(crate) fn enqueue(&mut self, to: Member, packet: Packet, now: Instant, out: &mut Effects<'_>) {
        let queue = self.queues.of_mut(category_of(&Body::Data(packet)));
        if queue.push(to, packet) {
            out.join(queue.contender(), Some(self.radio), now);
        } else {
            out.emit(CellOutput::Lost(packet));
        }
    }

    pub(super) const fn radio(&self) -> RadioId {
        self.radio
    }

    pub(super) const fn contenders(&self) -> Range<ContenderId> {
        self.queues.contenders()
    }

    pub(super) fn queue(&self, category: Category) -> &FrameQueue {
        self.queues.of(category)
    }

    pub(super) fn compose(&mut self, category: Category) -> Ppdu {
        self.queues.of_mut(category).compose(false, &mut self.number, |_| ServiceFlags::default())
    }

    pub(super) fn note_arrivals(&mut self, ppdu: &Ppdu, received: &MpduSet) {
        self.queues.of_contender_mut(ppdu.contender).note_arrivals(received);
    }

    pub(super) fn receive(&mut self, ppdu: &Ppdu, mpdus: OnAir<'_>, now: Instant, out: &mut Effects<'_>) {
        let at = self.member;
        let changes =
            self.receptions.receive(ppdu, mpdus, out.received(), now, |_, packet| out.arrived(at, packet));
        if changes {
            out.lose(self.receptions.late());
            out.set_timer(self.slot, self.receptions.due());
        }
    }

    pub(super) fn handle_timeout(&mut self, now: Instant, out: &mut Effects<'_>) {
        let at = self.member;
        self.receptions.expire(now, |_, packet| out.arrived(at, packet));
        out.set_timer(self.slot, self.receptions.due());
    }

    pub(super) fn conclude(
        &mut self,
        ppdu: &Ppdu,
        received: Option<&MpduSet>,
        now: Instant,
        out: &mut Effects<'_>,
    ) -> bool {
        let mut left = false;
        let queue = self.queues.of_contender_mut(ppdu.contender);
        queue.adapt(ppdu, received, now);
        while let Some((mpdu, delivered)) = queue.next_concluded(received) {
            left = true;
            if queue.is_empty() {
                out.sent_all(ppdu.contender, Some(self.radio), now);
            }
            if let (Body::Data(packet), false) = (mpdu.body, delivered) {
                self.given_up += 1;
                if !mpdu.arrived {
                    out.emit(CellOutput::Lost(packet));
                }
            }
        }
        queue.end_attempt();
        left
    }
}
