//! The transmission queue of an access point: one drop-tail queue, or FQ-CoDel ahead of a hardware queue of one frame.
//!
//! With FQ-CoDel one frame at a time leaves the queues of the flows, as in a driver that keeps the hardware queue short,
//! and CoDel decides about drops at that moment. An aggregate is filled at its access from the flows of the same station. Frames without a packet (answers to triggers and polls) bypass the queues
//! of the flows. The limit in packets applies to all queues of flows together.

use airwatt_base::Instant;

use super::frame_queue::FrameQueue;
use crate::media::cell::config::QueueDiscipline;
use crate::media::cell::fq_codel::{FqCodel, FqCodelConfig};
use crate::media::cell::frame::Body;
use crate::net::packet::{Endpoints, Packet};
use crate::net::route::Member;

/// A packet with its receiver.
pub(super) type Addressed = (Member, Packet);

/// The transmission queue.
#[derive(Clone, Debug)]
pub(super) struct DownlinkQueue {
    /// Frames in the order of transmission.
    frames: FrameQueue,
    /// Packets that are no frames yet, with FQ-CoDel.
    flows: Option<FqCodel<Endpoints, Addressed>>,
    /// Largest number of frames, or of packets in the queues of flows.
    limit: u32,
}

impl DownlinkQueue {
    /// Makes a queue of at most `limit` frames, which wait in `frames`.
    pub(super) fn new(discipline: QueueDiscipline, limit: u32, frames: FrameQueue) -> Self {
        let flows = match discipline {
            QueueDiscipline::DropTail => None,
            QueueDiscipline::FqCodel => {
                Some(FqCodel::new(FqCodelConfig { limit, ..FqCodelConfig::default() }))
            }
        };
        Self { frames, flows, limit }
    }

    /// Appends a frame. Packets that the queue discards are appended to `dropped`. Returns whether the queue accepted the frame.
    pub(super) fn push(
        &mut self,
        to: Member,
        body: Body,
        now: Instant,
        dropped: &mut Vec<Addressed>,
    ) -> bool {
        match (body, &mut self.flows) {
            (Body::Data(packet), Some(flows)) => {
                dropped.extend(flows.enqueue(packet.endpoints(), (to, packet), packet.bytes, now));
                self.refill(now, dropped);
            }
            (Body::Data(packet), None) if self.frames.len() >= self.limit => {
                dropped.push((to, packet));
                return false;
            }
            _ => self.frames.append(to, body),
        }
        true
    }

    /// Moves the next packet out of the flows' queues if no frame waits for transmission.
    pub(super) fn refill(&mut self, now: Instant, dropped: &mut Vec<Addressed>) {
        if !self.frames.is_empty() {
            return;
        }
        let Some(flows) = &mut self.flows else { return };
        if let Some((to, packet)) = flows.dequeue(now, dropped) {
            self.frames.append(to, Body::Data(packet));
        }
    }

    /// Moves packets for the station that is served next out of the flows' queues until the next PPDU is full.
    pub(super) fn fill(&mut self, now: Instant, dropped: &mut Vec<Addressed>) {
        let Some(flows) = &mut self.flows else { return };
        let (most, waiting) = self.frames.room();
        let Some(to) = self.frames.front().map(|mpdu| mpdu.to).filter(|_| waiting < most) else { return };
        for _ in waiting..most {
            let Some((to, packet)) = flows.dequeue_like(now, dropped, |(other, _)| *other == to) else {
                return;
            };
            self.frames.append(to, Body::Data(packet));
        }
    }

    /// Removes the frames for a station that fell asleep, except one whose first attempt has been made.
    pub(super) fn recall(&mut self, station: Member) -> Vec<Body> {
        let mut back = self.frames.take_unsent(station);
        if let Some(flows) = &mut self.flows {
            back.extend(
                flows.take(|(to, _)| *to == station).into_iter().map(|(_, packet)| Body::Data(packet)),
            );
        }
        back
    }

    /// The frames in the order of transmission.
    pub(super) const fn frames(&self) -> &FrameQueue {
        &self.frames
    }

    /// The frames in the order of transmission.
    pub(super) const fn frames_mut(&mut self) -> &mut FrameQueue {
        &mut self.frames
    }

    /// Number of frames that fit in.
    pub(super) fn room(&self) -> u32 {
        self.limit.saturating_sub(self.len())
    }

    /// Number of frames and packets that wait.
    pub(super) fn len(&self) -> u32 {
        self.frames.len() + self.flows.as_ref().map_or(0, |flows| flows.len() as u32)
    }
}
