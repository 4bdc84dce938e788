//! The MAC of a node outside the simulator, as that of a kernel: it contends and repeats frames here, and everything else about
//! them is decided outside.
//!
//! Frames come with their kind, their length and a number, and their fate is reported by that number. Broadcasts (beacons and
//! group-addressed frames) have a queue of their own and precede the others, as they do at an access point. When the radio
//! sleeps is decided outside as well; a frame that is to be sent wakes it.
//!
//! Left out: access categories.

use std::collections::VecDeque;

use airwatt_base::{Instant, Slot};

use super::Category;
use super::queue::FrameQueue;
use crate::media::cell::CellOutput;
use crate::media::cell::config::CellConfig;
use crate::media::cell::contention::ContenderId;
use crate::media::cell::effects::Effects;
use crate::media::cell::frame::{Body, ExternalFrame, ModeId, Mpdu, Ppdu, Receiver};
use crate::media::cell::radio::RadioId;
use crate::net::route::Member;

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
    radio: RadioId,
    queue: FrameQueue,
    broadcasts: VecDeque<ExternalFrame>,
    /// The contender of the broadcasts.
    beacon: ContenderId,
    /// The slot of the radio's wake-ups.
    slot: Slot,
    mode: RadioMode,
    given_up: u64,
}

impl ExternalMac {
    /// Makes a node with empty queues and a radio that is awake. `contenders`: for data, and for broadcasts.
    pub(crate) const fn new(
        config: &CellConfig,
        radio: RadioId,
        member: Member,
        contenders: [ContenderId; 2],
        mode: ModeId,
        slot: Slot,
    ) -> Self {
        let [data, beacon] = contenders;
        // The queues are limited outside.
        let queue = FrameQueue::new(member, data, mode, config.station_limits(), u32::MAX);
        let broadcasts = VecDeque::new();
        Self { radio, queue, broadcasts, beacon, slot, mode: RadioMode::Awake, given_up: 0 }
    }

    /// Frames that were given up at the retry limit.
    pub(crate) const fn given_up(&self) -> u64 {
        self.given_up
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
            Some(to) => self.queue.append(to, Body::External(frame)),
            None => self.broadcasts.push_back(frame),
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
            out.doze(self.radio, self.queue.contender(), self.slot, now);
        }
    }

    /// Handles the end of the radio's wake-up.
    pub(crate) fn awake(&mut self, now: Instant, out: &mut Effects<'_>) {
        self.mode = RadioMode::Awake;
        out.awake(self.radio, self.slot, now);
        self.join(now, out);
    }

    /// Reports that the frame on the air has arrived at a station.
    pub(crate) fn arrived(&self, ppdu: &Ppdu, at: Member, out: &mut Effects<'_>) {
        let number = match ppdu.to {
            Receiver::Group => self.broadcasts.front().map(|frame| frame.number),
            Receiver::Member(_) => self.queue.front().and_then(number),
        };
        if let Some(number) = number {
            out.emit(CellOutput::FrameArrived { number, at });
        }
    }

    pub(super) const fn radio(&self) -> RadioId {
        self.radio
    }

    pub(super) const fn queue(&self) -> &FrameQueue {
        &self.queue
    }

    pub(super) fn has_broadcast(&self) -> bool {
        !self.broadcasts.is_empty()
    }

    pub(super) fn next_broadcast(&self) -> Option<Body> {
        self.broadcasts.front().map(|frame| Body::External(*frame))
    }

    pub(super) fn next_ppdu(&self, category: Category) -> Option<Ppdu> {
        match category {
            Category::Data => self.queue.next_ppdu(false),
            Category::Beacon => {
                let mpdu = Mpdu::new(self.queue.member(), self.next_broadcast()?);
                let ppdu = self.queue.limits().ppdu(&mpdu, ModeId::GROUP, mpdu.to, self.beacon, false);
                Some(Ppdu { to: Receiver::Group, rts: false, ..ppdu })
            }
        }
    }

    pub(super) fn compose(&mut self, category: Category) -> Ppdu {
        if category == Category::Data {
            self.queue.begin_attempt();
        }
        self.next_ppdu(category).expect("a sender has a frame")
    }

    pub(super) fn conclude(
        &mut self,
        ppdu: &Ppdu,
        acknowledged: bool,
        now: Instant,
        out: &mut Effects<'_>,
    ) -> bool {
        if ppdu.to == Receiver::Group {
            return self.broadcast_ended(acknowledged, now, out);
        }
        let left = self.queue.take_concluded(acknowledged);
        self.queue.end_attempt();
        if let Some(mpdu) = &left
            && let Some(number) = number(mpdu)
        {
            self.given_up += u64::from(!acknowledged);
            let attempts = mpdu.retries + u32::from(acknowledged);
            out.emit(CellOutput::FrameEnded { number, acknowledged, attempts });
        }
        if self.queue.is_empty() {
            out.sent_all(self.queue.contender(), Some(self.radio), now);
        }
        left.is_some()
    }

    /// A broadcast was sent, or collided, and is not repeated.
    fn broadcast_ended(&mut self, acknowledged: bool, now: Instant, out: &mut Effects<'_>) -> bool {
        if let Some(frame) = self.broadcasts.pop_front() {
            out.emit(CellOutput::FrameEnded { number: frame.number, acknowledged, attempts: 1 });
        }
        if self.broadcasts.is_empty() {
            out.sent_all(self.beacon, Some(self.radio), now);
        }
        true
    }

    /// Both queues contend if they have a frame.
    fn join(&self, now: Instant, out: &mut Effects<'_>) {
        for (contender, is_empty) in
            [(self.queue.contender(), self.queue.is_empty()), (self.beacon, self.broadcasts.is_empty())]
        {
            if !is_empty {
                out.join(contender, Some(self.radio), now);
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
