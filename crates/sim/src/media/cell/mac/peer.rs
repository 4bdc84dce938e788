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
use crate::media::cell::frame::{Body, Mpdu, MpduSet, OnAir, Ppdu};
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
    expired: u64,
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
            expired: 0,
        }
    }

    /// Packets that were given up at the retry limit.
    pub(crate) const fn given_up(&self) -> u64 {
        self.given_up
    }

    /// Packets whose lifetime was over before they were acknowledged.
    pub(crate) const fn expired(&self) -> u64 {
        self.expired
    }

    /// Takes a packet for the station that is member `to`.
    pub(crate) fn enqueue(&mut self, to: Member, packet: Packet, now: Instant, out: &mut Effects<'_>) {
        let queue = self.queues.of_mut(category_of(&Body::Data(packet)));
        if queue.push(to, packet, now) {
            out.join(queue.contender(), Some(self.radio), now);
            self.watch_lifetimes(out);
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
            out.set_timer(self.slot, self.due());
        }
    }

    /// The time of the next gap before held frames that is skipped, or of the end of a packet's lifetime.
    fn due(&self) -> Instant {
        let expiry = self.queues.iter().map(FrameQueue::expiry).min().unwrap_or(Instant::FOREVER);
        self.receptions.due().min(expiry)
    }

    fn watch_lifetimes(&self, out: &mut Effects<'_>) {
        if self.queues.iter().any(FrameQueue::expires) {
            out.set_timer(self.slot, self.due());
        }
    }

    pub(super) fn handle_timeout(&mut self, now: Instant, out: &mut Effects<'_>) {
        let at = self.member;
        self.receptions.expire(now, |_, packet| out.arrived(at, packet));
        for contender in self.contenders() {
            while let Some(mpdu) = self.queues.of_contender_mut(contender).take_expired(now) {
                self.lose(&mpdu, now, out);
                if self.queues.of_contender(contender).is_empty() {
                    out.leave(contender);
                    out.sent_all(contender, Some(self.radio), now);
                }
            }
        }
        out.set_timer(self.slot, self.due());
    }

    /// A frame has left the queue without an acknowledgement.
    fn lose(&mut self, mpdu: &Mpdu, now: Instant, out: &mut Effects<'_>) {
        let Body::Data(packet) = mpdu.body else { return };
        let count = if mpdu.expires <= now { &mut self.expired } else { &mut self.given_up };
        *count += 1;
        if !mpdu.arrived {
            out.emit(CellOutput::Lost(packet));
        }
    }

    pub(super) fn conclude(
        &mut self,
        ppdu: &Ppdu,
        received: Option<&MpduSet>,
        now: Instant,
        out: &mut Effects<'_>,
    ) -> bool {
        let mut left = false;
        let contender = ppdu.contender;
        self.queues.of_contender_mut(contender).adapt(ppdu, received, now);
        while let Some((mpdu, delivered)) =
            self.queues.of_contender_mut(contender).next_concluded(received, now)
        {
            left = true;
            if self.queues.of_contender(contender).is_empty() {
                out.sent_all(contender, Some(self.radio), now);
            }
            if !delivered {
                self.lose(&mpdu, now, out);
            }
        }
        self.queues.of_contender_mut(contender).end_attempt();
        self.watch_lifetimes(out);
        left
    }
}
