//! The MAC of a station in an ad-hoc network (independent BSS): it sends to each other station directly.
//!
//! Left out: the beacons of the independent BSS, of which each station sends its share, and power save in it (ATIM windows).

use airwatt_base::Instant;
use airwatt_proto::powersave::StationId;

use super::FrameLimits;
use super::queue::FrameQueue;
use crate::media::cell::config::CellConfig;
use crate::media::cell::contention::ContenderId;
use crate::media::cell::effects::Effects;
use crate::media::cell::frame::{Body, ModeId, Ppdu};
use crate::media::cell::radio::RadioId;
use crate::media::cell::{CellOutput, LossPlace};
use crate::net::packet::Packet;
use crate::net::route::Member;

/// The MAC of an ad-hoc station, which never sleeps.
#[derive(Clone, Debug)]
pub(crate) struct PeerMac {
    /// The number of the station in the cell, which is that of its radio too.
    id: StationId,
    queue: FrameQueue,
    given_up: u64,
}

impl PeerMac {
    /// Makes a station with an empty queue.
    pub(crate) const fn new(
        config: &CellConfig,
        id: StationId,
        member: Member,
        contender: ContenderId,
        mode: ModeId,
    ) -> Self {
        let limits = FrameLimits::of_station(config);
        let queue = FrameQueue::new(member, contender, mode, limits, config.station_buffer);
        Self { id, queue, given_up: 0 }
    }

    /// Packets that were given up at the retry limit.
    pub(crate) const fn given_up(&self) -> u64 {
        self.given_up
    }

    /// Takes a packet for the station that is member `to`.
    pub(crate) fn enqueue(&mut self, to: Member, packet: Packet, now: Instant, out: &mut Effects<'_>) {
        if self.queue.push(to, packet) {
            out.join(self.queue.contender(), Some(self.radio()), now);
        } else {
            out.emit(CellOutput::Lost { station: self.id, packet, place: LossPlace::StationBuffer });
        }
    }

    pub(super) const fn radio(&self) -> RadioId {
        self.id
    }

    pub(super) const fn queue(&self) -> &FrameQueue {
        &self.queue
    }

    pub(super) fn next_ppdu(&self) -> Option<Ppdu> {
        self.queue.next_ppdu(false)
    }

    pub(super) fn compose(&mut self) -> Ppdu {
        self.queue.begin_attempt();
        self.next_ppdu().expect("a sender has a frame")
    }

    pub(super) fn receive(&self, packet: Option<&Packet>, out: &mut Effects<'_>) {
        if let Some(packet) = packet {
            out.emit(CellOutput::ToStation { station: self.id, packet: *packet });
        }
    }

    pub(super) fn conclude(&mut self, acknowledged: bool, now: Instant, out: &mut Effects<'_>) -> bool {
        let left = self.queue.take_concluded(acknowledged);
        self.queue.end_attempt();
        if self.queue.is_empty() {
            out.sent_all(self.queue.contender(), Some(self.radio()), now);
        }
        if let (Some(mpdu), false) = (left, acknowledged)
            && let Body::Data(packet) = mpdu.body
        {
            self.given_up += 1;
            out.emit(CellOutput::Lost { station: self.id, packet, place: LossPlace::RetryLimit });
        }
        left.is_some()
    }
}
