//! The transmission queue of an access point: one drop-tail queue, two of them or FQ-CoDel ahead of a hardware queue of one frame, or
//! mac80211's queues of stations.
//!
//! Two queues are those of J. Ha and C.-H. Choi, *TCP fairness for uplink and downlink flows in WLANs* (GLOBECOM 2006): one for what uploads
//! have back, TCP's acknowledgements without data, and one for all else, so that neither finds the buffer full of the other. Each has half of
//! it. Here they take turns frame by frame, where the publication draws which is next with probabilities that follow from the numbers of flows:
//! turns are its halves, for as many uploads as downloads.
//!
//! With FQ-CoDel one frame at a time leaves the queues of the flows, as in a driver that keeps the hardware queue short,
//! and CoDel decides about drops at that moment. An aggregate is filled at its access from the flows of the same station. Frames without a
//! packet (answers to triggers and polls) bypass the queues of flows and of stations. The limit in packets applies to all queues of flows
//! together.

use airwatt_base::{Instant, Span};

use super::frame_queue::FrameQueue;
use super::station_queues::{Addressed, HardwareLimit, StationQueues};
use crate::media::cell::config::{CodelChoice, QueueDiscipline};
use crate::media::cell::frame::{Body, Mpdu};
use crate::media::cell::phy::rates::LinkPlan;
use crate::media::fq_codel::{FqCodel, FqCodelConfig};
use crate::packet::Endpoints;
use crate::route::Member;

/// The transmission queue.
#[derive(Clone, Debug)]
pub(super) struct DownlinkQueue {
    /// Frames in the order of transmission.
    frames: FrameQueue,
    source: Source,
    /// Largest number of frames, or of packets in the queues of flows.
    limit: u32,
}

/// Packets that are no frames yet.
#[derive(Clone, Debug)]
enum Source {
    /// There are none.
    Frames,
    /// By whether they are acknowledgements. The turns of both count packets.
    Kinds(FqCodel<bool, Addressed>),
    Flows(FqCodel<Endpoints, Addressed>),
    Stations(Box<StationQueues>),
}

impl Source {
    /// The queues that follow each frame to its end, if these are such.
    fn stations(&mut self) -> Option<&mut StationQueues> {
        match self {
            Self::Stations(stations) => Some(stations),
            Self::Frames | Self::Kinds(_) | Self::Flows(_) => None,
        }
    }
}

impl DownlinkQueue {
    /// Makes a queue of at most `limit` frames, which wait in `frames`. `first` is the first station.
    pub(super) fn new(
        discipline: QueueDiscipline,
        codel: CodelChoice,
        limit: u32,
        frames: FrameQueue,
        first: Member,
    ) -> Self {
        let of_stations =
            |hardware| Source::Stations(Box::new(StationQueues::new(first, limit, hardware, codel)));
        let source = match discipline {
            QueueDiscipline::DropTail => Source::Frames,
            QueueDiscipline::TwoQueues => Source::Kinds(FqCodel::new(FqCodelConfig {
                quantum: 1,
                first_quantum: 1,
                flow_limit: (limit / 2).max(1),
                // No packet waits that long.
                target: Instant::FOREVER - Instant::ZERO,
                ..FqCodelConfig::default()
            })),
            QueueDiscipline::FqCodel => {
                let settings = FqCodelConfig { limit, ..FqCodelConfig::default() };
                Source::Flows(FqCodel::new(codel.of(settings)).with_marks(|(_, packet)| packet.mark()))
            }
            QueueDiscipline::Mac80211 => of_stations(HardwareLimit::AirTime),
            QueueDiscipline::Ath9k => of_stations(HardwareLimit::Aggregates),
        };
        Self { frames, source, limit }
    }

    /// Adds the next station, to which frames go over this link.
    pub(super) fn add_station(&mut self, link: &LinkPlan) {
        self.frames.add_receiver(link);
        if let Some(stations) = self.source.stations() {
            stations.add();
        }
    }

    /// Appends a frame, whose packet waits since then. Packets that the queue discards are appended to `dropped`. Returns whether the queue accepted the frame.
    pub(super) fn push(
        &mut self,
        to: Member,
        body: Body,
        (since, now): (Instant, Instant),
        dropped: &mut Vec<Addressed>,
    ) -> bool {
        let Body::Data(packet) = body else {
            self.frames.append(to, body, now);
            return true;
        };
        match &mut self.source {
            Source::Kinds(kinds) => {
                dropped.extend(kinds.enqueue(packet.payload.is_pure_ack(), (to, packet), 1, since));
                self.refill(now, dropped);
            }
            Source::Flows(flows) => {
                dropped.extend(flows.enqueue(packet.endpoints(), (to, packet), packet.bytes, since));
                self.refill(now, dropped);
            }
            Source::Stations(stations) => {
                dropped.extend(stations.enqueue((to, packet), since));
                stations.pull(now, &mut self.frames, dropped);
            }
            Source::Frames if self.frames.len() >= self.limit => {
                dropped.push((to, packet));
                return false;
            }
            Source::Frames => self.frames.append(to, body, now),
        }
        true
    }

    /// Moves the next packet out of the flows' queues, or those that may go out of the stations', if no frame waits for transmission.
    pub(super) fn refill(&mut self, now: Instant, dropped: &mut Vec<Addressed>) {
        if !self.frames.is_empty() {
            return;
        }
        let next = match &mut self.source {
            Source::Frames => None,
            Source::Kinds(kinds) => kinds.dequeue(now, dropped),
            Source::Flows(flows) => flows.dequeue(now, dropped),
            Source::Stations(stations) => return stations.pull(now, &mut self.frames, dropped),
        };
        if let Some((to, packet)) = next {
            self.frames.append(to, Body::Data(packet), now);
        }
    }

    /// A frame has left the queue of frames.
    pub(super) fn left(&mut self, mpdu: &Mpdu) {
        if let Some(stations) = self.source.stations() {
            stations.left(mpdu.to, mpdu.air_time);
        }
    }

    /// Ends an attempt at frames to a station that were on the air for this time.
    pub(super) fn end_attempt(
        &mut self,
        station: Member,
        time: Span,
        now: Instant,
        dropped: &mut Vec<Addressed>,
    ) {
        self.frames.end_attempt();
        if let Some(stations) = self.source.stations() {
            stations.charge(station, time);
            stations.pull(now, &mut self.frames, dropped);
        }
    }

    /// Frames from a station were on the air for this time.
    pub(super) fn charge(&mut self, station: Member, time: Span) {
        if let Some(stations) = self.source.stations() {
            stations.charge(station, time);
        }
    }

    /// Moves packets for the station that is served next out of the flows' queues until the next PPDU is full.
    pub(super) fn fill(&mut self, now: Instant, dropped: &mut Vec<Addressed>) {
        match &mut self.source {
            Source::Kinds(kinds) => fill(&mut self.frames, kinds, now, dropped),
            Source::Flows(flows) => fill(&mut self.frames, flows, now, dropped),
            Source::Frames | Source::Stations(_) => {}
        }
    }

    /// Removes the frames for a station that fell asleep, except one whose first attempt has been made, each with when it began to wait: those that
    /// had left the queues of packets begin anew.
    pub(super) fn recall(&mut self, station: Member, now: Instant) -> Vec<(Body, Instant)> {
        let unsent = self.frames.take_unsent(station);
        unsent.iter().for_each(|mpdu| self.left(mpdu));
        let waiting = match &mut self.source {
            Source::Frames => Vec::new(),
            Source::Kinds(kinds) => kinds.take(|(to, _)| *to == station),
            Source::Flows(flows) => flows.take(|(to, _)| *to == station),
            Source::Stations(stations) => stations.take(station),
        };
        let unsent = unsent.into_iter().map(|mpdu| (mpdu.body, now));
        unsent.chain(waiting.into_iter().map(|((_, packet), since)| (Body::Data(packet), since))).collect()
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
        self.frames.len()
            + match &self.source {
                Source::Frames => 0,
                Source::Kinds(kinds) => kinds.len() as u32,
                Source::Flows(flows) => flows.len() as u32,
                Source::Stations(stations) => stations.len(),
            }
    }
}

/// Moves packets for the station that is served next to the frames until the next PPDU is full.
fn fill<K: Copy + Ord>(
    frames: &mut FrameQueue,
    queues: &mut FqCodel<K, Addressed>,
    now: Instant,
    dropped: &mut Vec<Addressed>,
) {
    let (most, waiting) = frames.room();
    let Some(to) = frames.front().map(|mpdu| mpdu.to).filter(|_| waiting < most) else { return };
    // Frames that the PPDU leaves behind would keep other stations waiting, whose frames come when none is left.
    let has_others = queues.any_next(|(other, _)| *other != to);
    // So would more packets than fit, where the number of frames does not limit them.
    let is_limited = has_others || frames.joins();
    let mut room = if is_limited { frames.bytes_left() } else { u32::MAX };
    for _ in waiting..most {
        let fits = |bytes: u32| !is_limited || frames.subframe_bytes(bytes) <= room;
        let next = |(other, packet): &Addressed| *other == to && fits(packet.bytes);
        let Some((to, packet)) = queues.dequeue_like(now, dropped, next) else { return };
        room = room.saturating_sub(frames.subframe_bytes(packet.bytes));
        frames.append(to, Body::Data(packet), now);
    }
}
