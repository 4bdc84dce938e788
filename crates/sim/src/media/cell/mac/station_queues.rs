//! The queues of Linux's mac80211: one FQ-CoDel for each station, turns of the stations by air time, and a limit on what is handed to the
//! hardware.
//!
//! What is handed on waits in the order in which it was handed on, and aggregates are built of it. There are two limits. With AQL, which
//! mt76 and ath10k have, a station may have 5 ms there, or 12 ms while all stations together have less than 24 ms, by mac80211's own
//! estimate. With ath9k two PPDUs may be there.
//!
//! Which station is next is decided as in `ieee80211_next_txq` of Linux 6.12: one with a negative deficit, less what it has in the
//! hardware by AQL's estimate, gets 256 us and goes behind the others. The air time of frames to a station and from it is subtracted when
//! their exchange is over.
//!
//! Left out: weights of stations, marking instead of dropping, the limits in memory, and that the 24 ms count all categories of a
//! device. The rule that gave slow stations other CoDel parameters is gone since Linux 6.2.

use std::collections::VecDeque;

use airwatt_base::{Instant, Span};

use super::frame_queue::FrameQueue;
use crate::media::cell::config::CodelChoice;
use crate::media::fq_codel::{FqCodel, FqCodelConfig};
use crate::packet::{Endpoints, Packet};
use crate::route::Member;

/// Air time that a station may have in the hardware in any case (`IEEE80211_DEFAULT_AQL_TXQ_LIMIT_L`), in microseconds.
const LEAST_US: u32 = 5_000;
/// What it may have there (`IEEE80211_DEFAULT_AQL_TXQ_LIMIT_H`) while all stations have less than [`THRESHOLD_US`].
const MOST_US: u32 = 12_000;
/// `IEEE80211_AQL_THRESHOLD`.
const THRESHOLD_US: u32 = 24_000;
/// PPDUs that ath9k has in the hardware (`ATH_AGGR_MIN_QDEPTH`).
const AGGREGATES: usize = 2;
/// What a station gets in a round (`IEEE80211_DEFAULT_AIRTIME_WEIGHT`), in microseconds.
const WEIGHT_US: i64 = 256;

/// CoDel as mac80211 sets it: packets may wait 20 ms, and flows of a station take turns of 300 bytes.
const CODEL: FqCodelConfig = FqCodelConfig {
    queues: 4_096,
    quantum: 300,
    first_quantum: 300,
    flow_limit: u32::MAX,
    target: Span::from_millis(20),
    interval: Span::from_millis(100),
    limit: u32::MAX,
    longest_packet: 1_514,
};

/// A packet with its receiver.
pub(super) type Addressed = (Member, Packet);

/// What limits the frames in the hardware.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HardwareLimit {
    /// Their air time (AQL).
    AirTime,
    /// The number of PPDUs.
    Aggregates,
}

/// The queues of one category.
#[derive(Clone, Debug)]
pub(super) struct StationQueues {
    hardware: HardwareLimit,
    /// The first station; its queue and those of the members that follow come in this order.
    first: Member,
    queues: Vec<StationQueue>,
    /// The stations that have packets and wait for their turn.
    turns: VecDeque<usize>,
    /// The number of the present round, in which each station has one turn.
    round: u64,
    /// Estimated air time in the hardware, in microseconds.
    pending_us: u32,
    /// PPDUs in the hardware.
    aggregates: usize,
    packets: u32,
    /// Most packets in all queues.
    limit: u32,
    codel: FqCodelConfig,
}

/// The queue of one station.
#[derive(Clone, Debug)]
struct StationQueue {
    flows: FqCodel<Endpoints, Addressed>,
    deficit_us: i64,
    /// Its part of the air time in the hardware.
    pending_us: u32,
    /// The frames of each of its PPDUs in the hardware.
    aggregates: VecDeque<u32>,
    /// The last round in which it had a turn.
    round: u64,
    /// Whether it is among the turns.
    waits: bool,
}

impl StationQueues {
    /// No queues, which may have `limit` packets.
    pub(super) fn new(first: Member, limit: u32, hardware: HardwareLimit, codel: CodelChoice) -> Self {
        Self {
            hardware,
            first,
            queues: Vec::new(),
            turns: VecDeque::new(),
            round: 0,
            pending_us: 0,
            aggregates: 0,
            packets: 0,
            limit,
            codel: codel.of(CODEL),
        }
    }

    /// Adds the queue of the next station.
    pub(super) fn add(&mut self) {
        self.queues.push(StationQueue {
            flows: FqCodel::new(self.codel).with_marks(|(_, packet)| packet.mark()),
            deficit_us: WEIGHT_US,
            pending_us: 0,
            aggregates: VecDeque::new(),
            round: 0,
            waits: false,
        });
    }

    /// Number of packets.
    pub(super) const fn len(&self) -> u32 {
        self.packets
    }

    /// Takes a packet that waits since then. Over the limit the longest flow of all stations loses its first one, which is returned.
    pub(super) fn enqueue(&mut self, (to, packet): Addressed, since: Instant) -> Option<Addressed> {
        let place = self.place(to);
        self.queues[place].flows.enqueue(packet.endpoints(), (to, packet), packet.bytes, since);
        self.packets += 1;
        self.wait(place);
        if self.packets <= self.limit {
            return None;
        }
        let longest = self.queues.iter_mut().max_by_key(|queue| queue.flows.longest())?;
        let dropped = longest.flows.drop_longest();
        self.packets -= u32::from(dropped.is_some());
        dropped
    }

    /// Hands packets to the hardware, as many as may be there. Those that CoDel drops are appended to `dropped`.
    pub(super) fn pull(&mut self, now: Instant, hardware: &mut FrameQueue, dropped: &mut Vec<Addressed>) {
        debug_assert!(!hardware.is_empty() || (self.pending_us, self.aggregates) == (0, 0), "all has left");
        self.round += 1;
        // A driver without AQL asks for a station only if it can take a PPDU.
        while self.aggregates < AGGREGATES
            && let Some(place) = self.next()
        {
            match self.hardware {
                HardwareLimit::AirTime => {
                    while self.has_room(place) && self.pull_one(place, now, hardware, dropped).is_some() {}
                }
                HardwareLimit::Aggregates => self.pull_aggregate(place, now, hardware, dropped),
            }
            self.wait(place);
        }
    }

    /// Hands on what a PPDU to a station holds, if all its packets are as long as the last one.
    fn pull_aggregate(
        &mut self,
        place: usize,
        now: Instant,
        hardware: &mut FrameQueue,
        dropped: &mut Vec<Addressed>,
    ) {
        let limit = hardware.limit_to(self.first + place as Member);
        let (mut frames, mut bytes) = (0, 0);
        while frames < u32::from(limit.packets())
            && let Some(longer) = self.pull_one(place, now, hardware, dropped)
        {
            frames += 1;
            bytes += longer;
            if bytes + longer > limit.bytes {
                break;
            }
        }
        if frames > 0 {
            self.queues[place].aggregates.push_back(frames);
            self.aggregates += 1;
        }
    }

    /// Hands on the next packet for a station. Returns the length of its subframe.
    fn pull_one(
        &mut self,
        place: usize,
        now: Instant,
        hardware: &mut FrameQueue,
        dropped: &mut Vec<Addressed>,
    ) -> Option<u32> {
        let before = dropped.len();
        let taken = self.queues[place].flows.dequeue(now, dropped);
        self.packets -= (dropped.len() - before) as u32 + u32::from(taken.is_some());
        let (to, packet) = taken?;
        let (air_time, bytes) = hardware.append_estimated(to, packet, now);
        if self.hardware == HardwareLimit::AirTime {
            self.queues[place].pending_us += u32::from(air_time);
            self.pending_us += u32::from(air_time);
        }
        Some(bytes)
    }

    /// A frame of a station has left the hardware; `air_time` is the estimate.
    pub(super) fn left(&mut self, to: Member, air_time: u16) {
        let place = self.place(to);
        let queue = &mut self.queues[place];
        match self.hardware {
            HardwareLimit::AirTime => {
                queue.pending_us -= u32::from(air_time);
                self.pending_us -= u32::from(air_time);
            }
            // Frames without a packet have not been counted.
            HardwareLimit::Aggregates if air_time == 0 => {}
            HardwareLimit::Aggregates => {
                if let Some(frames) = queue.aggregates.front_mut() {
                    *frames -= 1;
                    if *frames == 0 {
                        queue.aggregates.pop_front();
                        self.aggregates -= 1;
                    }
                }
            }
        }
    }

    /// Frames to a station or from it were on the air.
    pub(super) fn charge(&mut self, station: Member, time: Span) {
        let place = self.place(station);
        self.queues[place].deficit_us -= (time.as_nanos() / 1_000) as i64;
    }

    /// Removes all packets for a station.
    pub(super) fn take(&mut self, station: Member) -> Vec<(Addressed, Instant)> {
        let place = self.place(station);
        let taken = self.queues[place].flows.take(|_| true);
        self.packets -= taken.len() as u32;
        taken
    }

    /// The station whose turn it is, if there is one that may hand packets on.
    fn next(&mut self) -> Option<usize> {
        let mut first = None;
        let mut has_eligible = false;
        loop {
            let place = *self.turns.front()?;
            if first == Some(place) {
                if !has_eligible {
                    return None;
                }
                has_eligible = false;
            }
            first = first.or(Some(place));
            let has_room = self.has_room(place);
            has_eligible |= has_room;
            let queue = &mut self.queues[place];
            let owes = queue.deficit_us < i64::from(queue.pending_us);
            if owes {
                queue.deficit_us += WEIGHT_US;
            }
            if owes || !has_room {
                self.turns.rotate_left(1);
                continue;
            }
            if queue.round == self.round {
                return None;
            }
            queue.round = self.round;
            queue.waits = false;
            return self.turns.pop_front();
        }
    }

    /// Whether AQL lets a station have another frame in the hardware.
    fn has_room(&self, place: usize) -> bool {
        // Without AQL none is pending.
        let pending_us = self.queues[place].pending_us;
        pending_us < LEAST_US || (self.pending_us < THRESHOLD_US && pending_us < MOST_US)
    }

    /// Lets a station with packets wait for its turn: the next one, unless its deficit sends it behind the others.
    fn wait(&mut self, place: usize) {
        let queue = &mut self.queues[place];
        if queue.waits || queue.flows.is_empty() {
            return;
        }
        queue.waits = true;
        self.turns.push_front(place);
    }

    fn place(&self, station: Member) -> usize {
        usize::from(station - self.first)
    }
}
