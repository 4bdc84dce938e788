//! The MAC of a node outside the simulator, as that of a kernel: it contends and repeats frames here, and everything else about
//! them is decided outside.
//!
//! Frames come with their kind, their length and a number, and their fate is reported by that number. Broadcasts (beacons and
//! group-addressed frames) have a queue of their own and precede the others, as they do at an access point. When the radio
//! sleeps is decided outside as well; a frame that is to be sent wakes it.
//!
//! Left out: access categories, aggregates.

use std::ops::Range;

use airwatt_base::{Instant, Slot};
use airwatt_proto::powersave::ServiceFlags;

use super::frame_queue::FrameQueue;
use crate::media::cell::access::category::Category;
use crate::media::cell::access::contention::ContenderId;
use crate::media::cell::air::effects::Effects;
use crate::media::cell::config::CellConfig;
use crate::media::cell::frame::{Body, ExternalFrame, ModeId, Mpdu, MpduSet, Ppdu, Receiver};
use crate::media::cell::interface::CellOutput;
use crate::media::cell::phy::mode::Link;
use crate::media::cell::phy::rates::LinkPlan;
use crate::media::cell::radio::RadioId;
use crate::route::Member;

/// What the radio does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RadioMode {
    Awake,
    Dozing,
    Waking,
}

/// The MAC of a node outside.
#[derive(Clone, Debug)]
pub(crate) struct ExternalMac {
    pub(super) radio: RadioId,
    queue: FrameQueue,
    broadcasts: FrameQueue,
    /// The last sequence number of frames without a counter for their receiver.
    number: u16,
    /// The slot of the radio's wake-ups.
    slot: Slot,
    mode: RadioMode,
    /// Frames that were given up at the retry limit.
    pub(crate) given_up: u64,
}

impl ExternalMac {
    /// Makes a node with empty queues and a radio that is awake. `contenders`: for data, and for broadcasts.
    pub(crate) fn new(
        config: &CellConfig,
        radio: RadioId,
        member: Member,
        contenders: [ContenderId; 2],
        mode: ModeId,
        slot: Slot,
    ) -> Self {
        let [data, beacon] = contenders;
        // The queues are limited outside.
        let limits = config.station_limits();
        let queue = FrameQueue::new([member, 0], data, LinkPlan::fixed(Link::single(mode)), limits, u32::MAX);
        let broadcasts = FrameQueue::broadcast(member, beacon, limits);
        Self { radio, queue, broadcasts, number: 0, slot, mode: RadioMode::Awake, given_up: 0 }
    }

    /// Takes a frame for the station that is member `to`; `None` is the group address.
    pub(crate) fn enqueue(
        &mut self,
        to: Option<Member>,
        frame: ExternalFrame,
        now: Instant,
        out: &mut Effects<'_>,
    ) {
        match to {
            Some(to) => self.queue.append(to, Body::External(frame), now),
            None => self.broadcasts.append(self.broadcasts.member, Body::External(frame), now),
        }
        self.wake(now, out);
        self.join(now, out);
    }

    /// Wakes the radio up unless it is awake.
    pub(crate) fn wake(&mut self, now: Instant, out: &mut Effects<'_>) {
        if self.mode == RadioMode::Dozing {
            self.mode = RadioMode::Waking;
            out.wake(self.radio, self.slot, now);
        }
    }

    /// Puts the radio to sleep unless a frame waits.
    pub(crate) fn doze(&mut self, now: Instant, out: &mut Effects<'_>) {
        if self.mode == RadioMode::Awake && self.queue.is_empty() && self.broadcasts.is_empty() {
            self.mode = RadioMode::Dozing;
            out.doze(self.radio, self.contenders(), self.slot, now);
        }
    }

    /// Handles the end of the radio's wake-up.
    pub(crate) fn awake(&mut self, now: Instant, out: &mut Effects<'_>) {
        self.mode = RadioMode::Awake;
        out.awake(self.radio, self.slot, now);
        self.join(now, out);
    }

    /// Reports that the frame on the air has arrived at a station, unless it had arrived before.
    pub(crate) fn arrived(&self, ppdu: &Ppdu, at: Member, out: &mut Effects<'_>) {
        let queue = if ppdu.to == Receiver::Group { &self.broadcasts } else { &self.queue };
        if let Some(number) = queue.front().filter(|mpdu| !mpdu.arrived).and_then(number) {
            out.emit(CellOutput::FrameArrived { number, at });
        }
    }

    pub(super) const fn contenders(&self) -> Range<ContenderId> {
        let first = self.queue.contender;
        first..first + 1
    }

    pub(super) const fn queue(&self, category: Category) -> &FrameQueue {
        match category {
            Category::Beacon => &self.broadcasts,
            _ => &self.queue,
        }
    }

    pub(super) fn note_arrivals(&mut self, received: &MpduSet) {
        self.queue.note_arrivals(received);
    }

    pub(super) fn compose(&mut self, category: Category) -> Ppdu {
        let queue = match category {
            Category::Beacon => &mut self.broadcasts,
            _ => &mut self.queue,
        };
        queue.compose(false, &mut self.number, |_| ServiceFlags::default())
    }

    pub(super) fn conclude(
        &mut self,
        ppdu: &Ppdu,
        received: Option<&MpduSet>,
        now: Instant,
        out: &mut Effects<'_>,
    ) -> bool {
        let is_broadcast = ppdu.to == Receiver::Group;
        let queue = if is_broadcast { &mut self.broadcasts } else { &mut self.queue };
        let mut left = false;
        while let Some((mpdu, acknowledged)) = queue.next_concluded(received, now) {
            left = true;
            if let Some(number) = number(&mpdu) {
                self.given_up += u64::from(!acknowledged && !is_broadcast);
                let attempts = u32::from(mpdu.retries) + u32::from(acknowledged);
                out.emit(CellOutput::FrameEnded { number, acknowledged, attempts });
            }
        }
        queue.end_attempt();
        if queue.is_empty() {
            out.sent_all(queue.contender, Some(self.radio), now);
        }
        left
    }

    /// Both queues contend if they have a frame.
    fn join(&self, now: Instant, out: &mut Effects<'_>) {
        for queue in [&self.queue, &self.broadcasts] {
            if !queue.is_empty() {
                out.join(queue.contender, Some(self.radio), now);
            }
        }
    }
}

fn number(mpdu: &Mpdu) -> Option<u32> {
    match &mpdu.body {
        Body::External(frame) => Some(frame.number),
        _ => None,
    }
}
