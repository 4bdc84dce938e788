//! The MAC of a station in an ad-hoc network (independent BSS): it sends to each other station directly.
//!
//! Left out: the beacons of the independent BSS, of which each station sends its share, and power save in it (ATIM windows).

use std::ops::Range;

use airwatt_base::{Instant, Slot};

use super::categories::{Categories, category_of};
use super::frame_queue::FrameQueue;
use super::sender::Sender;
use crate::media::cell::access::contention::ContenderId;
use crate::media::cell::air::effects::Effects;
use crate::media::cell::config::CellConfig;
use crate::media::cell::frame::{Body, Mpdu, MpduSet, OnAir, Ppdu};
use crate::media::cell::interface::CellOutput;
use crate::media::cell::phy::rates::LinkPlan;
use crate::media::cell::radio::RadioId;
use crate::packet::Packet;
use crate::route::Member;

/// The MAC of an ad-hoc station, which never sleeps.
#[derive(Clone, Debug)]
pub(crate) struct PeerMac {
    pub(crate) sender: Sender,
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
        let queues = Categories::new(contenders, links, queue);
        Self { sender: Sender::new(config, (radio, member, slot), queues, 0) }
    }

    /// Takes a packet for the station that is member `to`.
    pub(crate) fn enqueue(&mut self, to: Member, packet: Packet, now: Instant, out: &mut Effects<'_>) {
        let queue = self.sender.queues.of_mut(category_of(&Body::Data(packet)));
        if queue.push(to, packet, now) {
            out.join(queue.contender, Some(self.sender.radio), now);
            self.watch_lifetimes(out);
        } else {
            out.emit(CellOutput::Lost(packet));
        }
    }

    pub(super) fn receive(&mut self, ppdu: &Ppdu, mpdus: OnAir<'_>, now: Instant, out: &mut Effects<'_>) {
        let Sender { member, slot, ref mut receptions, .. } = self.sender;
        if receptions.receive(ppdu, mpdus, out.received(), now, |_, packet| out.arrived(member, packet)) {
            out.lose(receptions.late());
            out.set_timer(slot, self.sender.due());
        }
    }

    fn watch_lifetimes(&self, out: &mut Effects<'_>) {
        if self.sender.expires() {
            out.set_timer(self.sender.slot, self.sender.due());
        }
    }

    pub(super) fn handle_timeout(&mut self, now: Instant, out: &mut Effects<'_>) {
        let at = self.sender.member;
        self.sender.receptions.expire(now, |_, packet| out.arrived(at, packet));
        for contender in self.sender.contenders() {
            while let Some(mpdu) = self.sender.queues.of_contender_mut(contender).take_expired(now) {
                self.lose(&mpdu, now, out);
                self.sender.stop_if_empty(contender, now, out);
            }
        }
        out.set_timer(self.sender.slot, self.sender.due());
    }

    /// A frame has left the queue without an acknowledgement.
    fn lose(&mut self, mpdu: &Mpdu, now: Instant, out: &mut Effects<'_>) {
        if let Body::Data(packet) = mpdu.body {
            self.sender.lose(mpdu, packet, now, out);
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
        self.sender.queues.of_contender_mut(contender).adapt(ppdu, received, now);
        while let Some((mpdu, delivered)) =
            self.sender.queues.of_contender_mut(contender).next_concluded(received, now)
        {
            left = true;
            if self.sender.queues.of_contender(contender).is_empty() {
                out.sent_all(contender, Some(self.sender.radio), now);
            }
            if !delivered {
                self.lose(&mpdu, now, out);
            }
        }
        self.sender.queues.of_contender_mut(contender).end_attempt();
        self.watch_lifetimes(out);
        left
    }
}
