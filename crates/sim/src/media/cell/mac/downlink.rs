//! The transmission queue of an access point: one drop-tail queue, or FQ-CoDel ahead of a hardware queue of one frame.
//!
//! With FQ-CoDel one frame at a time leaves the queues of the flows, as in a driver that keeps the hardware queue short,
//! and CoDel decides about drops at that moment. Frames without a packet (answers to triggers and polls) bypass the queues
//! of the flows. The limit in packets applies to all queues of flows together.

use std::collections::VecDeque;

use airwatt_base::Instant;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::media::cell::fq_codel::{FqCodel, FqCodelConfig};
use crate::media::cell::frame::{Body, Mpdu};
use crate::net::packet::Endpoints;
use crate::net::route::Member;

/// How a transmission queue is served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QueueDiscipline {
    /// First come, first served; what finds it full is dropped.
    #[default]
    DropTail,
    /// Flows take turns, and queues that stand are dropped from (RFC 8290).
    FqCodel,
}

/// The transmission queue.
#[derive(Clone, Debug)]
pub(super) struct DownlinkQueue {
    /// Frames with a sequence number, in the order of transmission.
    frames: VecDeque<Mpdu>,
    /// Packets that have no sequence number yet, with FQ-CoDel.
    flows: Option<FqCodel<Endpoints, Mpdu>>,
    /// Largest number of frames with drop-tail queueing.
    limit: usize,
    /// The last sequence number.
    sequence: u16,
}

impl DownlinkQueue {
    /// Makes an empty queue of at most `limit` frames.
    pub(super) fn new(discipline: QueueDiscipline, limit: u32) -> Self {
        let flows = match discipline {
            QueueDiscipline::DropTail => None,
            QueueDiscipline::FqCodel => {
                Some(FqCodel::new(FqCodelConfig { limit, ..FqCodelConfig::default() }))
            }
        };
        Self { frames: VecDeque::new(), flows, limit: limit as usize, sequence: 0 }
    }

    /// Appends a frame. Packets that the queue discards are appended to `dropped`. Returns whether the queue accepted the frame.
    pub(super) fn push(&mut self, mpdu: Mpdu, now: Instant, dropped: &mut Vec<Mpdu>) -> bool {
        match (mpdu.body, &mut self.flows) {
            (Body::Data(packet), Some(flows)) => {
                dropped.extend(flows.enqueue(packet.endpoints(), mpdu, packet.bytes, now));
                self.refill(now, dropped);
            }
            (Body::Data(_), None) if self.frames.len() >= self.limit => {
                dropped.push(mpdu);
                return false;
            }
            _ => self.number(mpdu),
        }
        true
    }

    /// Moves the next packet out of the flows' queues if no frame waits for transmission.
    pub(super) fn refill(&mut self, now: Instant, dropped: &mut Vec<Mpdu>) {
        if !self.frames.is_empty() {
            return;
        }
        let Some(flows) = &mut self.flows else { return };
        if let Some(mpdu) = flows.dequeue(now, dropped) {
            self.number(mpdu);
        }
    }

    /// Removes the frames for a station that fell asleep, except one whose first attempt has been made.
    pub(super) fn recall(&mut self, station: Member) -> Vec<Mpdu> {
        let mut back = Vec::new();
        self.frames.retain(|mpdu| {
            let goes = mpdu.to == station && !mpdu.stamped;
            if goes {
                back.push(*mpdu);
            }
            !goes
        });
        if let Some(flows) = &mut self.flows {
            back.extend(flows.take(|mpdu| mpdu.to == station));
        }
        back
    }

    /// The next frame.
    pub(super) fn front(&self) -> Option<&Mpdu> {
        self.frames.front()
    }

    /// The next frame.
    pub(super) fn front_mut(&mut self) -> Option<&mut Mpdu> {
        self.frames.front_mut()
    }

    /// Removes the next frame.
    pub(super) fn pop(&mut self) -> Option<Mpdu> {
        self.frames.pop_front()
    }

    /// Number of frames and packets that wait.
    pub(super) fn len(&self) -> usize {
        self.frames.len() + self.flows.as_ref().map_or(0, FqCodel::len)
    }

    fn number(&mut self, mut mpdu: Mpdu) {
        self.sequence = (self.sequence + 1) & 0xfff;
        mpdu.sequence = self.sequence;
        self.frames.push_back(mpdu);
    }
}
