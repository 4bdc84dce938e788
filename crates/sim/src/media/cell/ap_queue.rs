//! The access point's transmission queue: one drop-tail queue, or FQ-CoDel behind the frame that is on its way.
//!
//! With FQ-CoDel one frame at a time is taken out of the flows' queues, as a driver does that keeps its hardware
//! queue short; what CoDel drops is decided then. Frames without a packet (answers to triggers and polls) pass the flows'
//! queues. The limit in packets is that of all flows' queues together.

use airwatt_base::Instant;
use airwatt_proto::powersave::{AccessPointInput, Downlink, ServiceFlags, StationId};

use super::fq_codel::{FqCodel, FqCodelConfig};
use super::frame::{Body, Mpdu};
use super::machine::{AP_DATA, Cell, CellOutput, LossPlace};
use crate::net::packet::Endpoints;

/// How the access point's transmission queue is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApQueueing {
    /// First come, first served.
    DropTail,
    /// Flows take turns.
    FqCodel(FqCodelConfig),
}

impl ApQueueing {
    pub(super) fn fair_queue(self) -> Option<FqCodel<Endpoints, Mpdu>> {
        match self {
            Self::DropTail => None,
            Self::FqCodel(config) => Some(FqCodel::new(config)),
        }
    }
}

impl Cell {
    /// Puts a frame into the access point's transmission queue.
    pub(super) fn enqueue_downlink(&mut self, station: StationId, body: Body, now: Instant) {
        let mpdu =
            Mpdu { station, body, flags: ServiceFlags::default(), stamped: false, retries: 0, sequence: 0 };
        match (body, &mut self.fair_queue) {
            (Body::Data(packet), Some(queue)) => {
                if let Some(dropped) = queue.enqueue(packet.endpoints(), mpdu, packet.bytes, now) {
                    self.drop_downlink(dropped);
                }
                self.refill(now);
            }
            (Body::Data(_), None) if self.ap_queue.len() >= self.config.ap_buffer as usize => {
                return self.drop_downlink(mpdu);
            }
            _ => self.put_first(mpdu),
        }
        self.note_ap_queue(now);
        if !self.ap_queue.is_empty() && !self.is_sending(AP_DATA) {
            self.contention.join(AP_DATA, now);
        }
    }

    /// Takes the next frame out of the flows' queues if none is on its way.
    pub(super) fn refill(&mut self, now: Instant) {
        if !self.ap_queue.is_empty() {
            return;
        }
        let Some(queue) = &mut self.fair_queue else { return };
        let mut dropped = Vec::new();
        let next = queue.dequeue(now, &mut dropped);
        for mpdu in dropped {
            self.drop_downlink(mpdu);
        }
        if let Some(mpdu) = next {
            self.put_first(mpdu);
        }
    }

    fn put_first(&mut self, mut mpdu: Mpdu) {
        self.ap_sequence = (self.ap_sequence + 1) & 0xfff;
        mpdu.sequence = self.ap_sequence;
        self.ap_queue.push_back(mpdu);
    }

    fn drop_downlink(&mut self, mpdu: Mpdu) {
        let Body::Data(packet) = mpdu.body else { return };
        self.statistics.ap_drops += 1;
        let (station, place) = (mpdu.station, LossPlace::AccessPointBuffer);
        self.outputs.push_back(CellOutput::Lost { station, packet, place });
        self.refused.push(station);
    }

    pub(super) fn note_ap_queue(&mut self, now: Instant) {
        if let Some(trace) = &mut self.trace {
            let behind = self.fair_queue.as_ref().map_or(0, FqCodel::len);
            trace.ap_queue.push((now, (self.ap_queue.len() + behind) as u32));
        }
    }

    /// Takes the frames of a station that fell asleep out of the transmission queue, but for one that has been on the air.
    pub(super) fn recall(&mut self, station: StationId, now: Instant) {
        let mut back = Vec::new();
        self.ap_queue.retain(|mpdu| {
            let goes = mpdu.station == station && !mpdu.stamped;
            if goes {
                back.push(mpdu.body);
            }
            !goes
        });
        if let Some(queue) = &mut self.fair_queue {
            back.extend(queue.take(|mpdu| mpdu.station == station).into_iter().map(|mpdu| mpdu.body));
        }
        self.refill(now);
        self.note_ap_queue(now);
        if self.ap_queue.is_empty() && !self.is_sending(AP_DATA) {
            self.contention.leave(AP_DATA);
        }
        for body in back {
            let frame = match body {
                Body::Data(packet) => Downlink::Packet(packet),
                _ => Downlink::NullData,
            };
            self.tell_access_point(AccessPointInput::Recalled { station, frame }, now);
        }
    }
}
