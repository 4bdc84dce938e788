//! The frames that a MAC sends as one contender: one queue for each receiver, served in the order in which their first frames came.
//!
//! Each frame has a ticket, and the queue whose first frame has the least is served next. With one frame an attempt that is the
//! order of arrival over all receivers. A MAC with one receiver never looks at tickets.

use airwatt_base::Instant;
use airwatt_proto::powersave::ServiceFlags;

use super::tx_queue::TransmitQueue;
use crate::media::cell::access::contention::ContenderId;
use crate::media::cell::frame::{
    Body, CellFrameKind, DELIMITER_BYTES, FrameLimits, ModeId, Mpdu, MpduSet, OnAir, Ppdu, Receiver,
};
use crate::media::cell::phy::mode::{AggregateLimit, Link};
use crate::media::cell::phy::rates::LinkPlan;
use crate::packet::Packet;
use crate::route::Member;

/// The queues of one contender, with a limit in packets.
#[derive(Clone, Debug)]
pub(super) struct FrameQueue {
    pub(super) member: Member,
    pub(super) contender: ContenderId,
    /// The link to receivers that have none of their own.
    plan: LinkPlan,
    limits: FrameLimits,
    /// Largest number of packets.
    buffer: u32,
    /// The receiver of the first queue; those of the members that follow it come next.
    first: Member,
    queues: Vec<TransmitQueue>,
    /// The tickets of the first frames of the queues.
    heads: Vec<u64>,
    /// The last ticket.
    ticket: u64,
    frames: u32,
    packets: u32,
    /// The queue of the frames that are or were on the air last.
    serving: usize,
    /// Whether they are on the air, or their attempt is being concluded.
    in_flight: bool,
    /// Whether packets have a lifetime.
    expires: bool,
}

impl FrameQueue {
    /// Makes an empty queue whose frames are sent by `member` as `contender` to members from `first` on, over links like this.
    pub(super) const fn new(
        [member, first]: [Member; 2],
        contender: ContenderId,
        plan: LinkPlan,
        limits: FrameLimits,
        buffer: u32,
    ) -> Self {
        Self {
            member,
            contender,
            plan,
            limits,
            buffer,
            first,
            queues: Vec::new(),
            heads: Vec::new(),
            ticket: 0,
            frames: 0,
            packets: 0,
            serving: 0,
            in_flight: false,
            expires: false,
        }
    }

    /// Makes an empty queue of beacons and group-addressed frames, which nobody acknowledges and which are not repeated.
    pub(super) fn broadcast(member: Member, contender: ContenderId, limits: FrameLimits) -> Self {
        let limits = FrameLimits { retries: 0, rts_threshold: None, ..limits };
        let plan = LinkPlan::fixed(Link::single(ModeId::GROUP));
        let group = TransmitQueue::new(Receiver::Group, &plan);
        let mut queue = Self::new([member; 2], contender, plan, limits, u32::MAX);
        queue.add(group);
        queue
    }

    /// Adds the next receiver, over this link.
    pub(super) fn add_receiver(&mut self, plan: &LinkPlan) {
        let to = self.first + self.queues.len() as Member;
        self.add(TransmitQueue::new(Receiver::Member(to), plan));
    }

    fn add(&mut self, queue: TransmitQueue) {
        self.heads.push(queue.ticket());
        self.expires |= queue.link.lifetime.is_some();
        self.queues.push(queue);
    }

    /// Number of packets in the queue.
    pub(super) const fn packets(&self) -> u32 {
        self.packets
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.frames == 0
    }

    /// Number of frames in the queue.
    pub(super) const fn len(&self) -> u32 {
        self.frames
    }

    /// The frame that is next, or on the air.
    pub(super) fn front(&self) -> Option<&Mpdu> {
        self.queues.get(self.next_queue())?.frames.front()
    }

    /// The frame that is next, or on the air.
    pub(super) fn front_mut(&mut self) -> Option<&mut Mpdu> {
        let next = self.next_queue();
        self.queues.get_mut(next)?.frames.front_mut()
    }

    /// All frames, by receivers.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Mpdu> {
        self.queues.iter().flat_map(|queue| &queue.frames)
    }

    /// Appends a packet. Returns `false` if the queue is full.
    pub(super) fn push(&mut self, to: Member, packet: Packet, now: Instant) -> bool {
        if self.packets >= self.buffer {
            return false;
        }
        self.append(to, Body::Data(packet), now);
        true
    }

    /// Appends a packet, whatever the limit, and returns the estimate of its air time in microseconds, and the length of its subframe.
    pub(super) fn append_estimated(&mut self, to: Member, packet: Packet, now: Instant) -> (u16, u32) {
        self.append(to, Body::Data(packet), now);
        let place = self.place_of(to);
        let queue = &mut self.queues[place];
        let air_time = queue.link.estimate.micros(packet.bytes + self.limits.overhead);
        if let Some(mpdu) = queue.frames.back_mut() {
            mpdu.air_time = air_time;
        }
        (air_time, self.subframe_bytes(packet.bytes))
    }

    /// What an A-MPDU to a receiver may have.
    pub(super) fn limit_to(&mut self, to: Member) -> AggregateLimit {
        let place = self.place_of(to);
        self.queues[place].link.limit
    }

    /// The length of the subframe of a packet of so many bytes in an A-MPDU, with the padding to the next one.
    pub(super) const fn subframe_bytes(&self, packet: u32) -> u32 {
        DELIMITER_BYTES + (packet + self.limits.overhead).next_multiple_of(DELIMITER_BYTES)
    }

    /// What is left of the longest A-MPDU of the queue that is served next, besides the frames in it.
    pub(super) fn bytes_left(&self) -> u32 {
        let Some(queue) = self.queues.get(self.next_queue()) else { return 0 };
        let packets = queue.frames.iter().filter_map(|mpdu| match &mpdu.body {
            Body::Data(packet) => Some(self.subframe_bytes(packet.bytes)),
            _ => None,
        });
        queue.link.limit.bytes.saturating_sub(packets.sum())
    }

    /// Appends a frame, whatever the limit. The lifetime of a packet begins now.
    #[inline]
    pub(super) fn append(&mut self, to: Member, body: Body, now: Instant) {
        let place = self.place_of(to);
        self.ticket += 1;
        self.count(&body);
        let queue = &mut self.queues[place];
        if queue.frames.is_empty() {
            self.heads[place] = self.ticket;
            // While an attempt is being concluded, frames of it may come back.
            if !self.in_flight && queue.request_first(self.ticket) {
                self.count(&Body::BlockAckRequest);
            }
        }
        let queue = &mut self.queues[place];
        let mut mpdu = Mpdu::new(to, body, self.ticket);
        if let (Some(lifetime), Body::Data(_)) = (queue.link.lifetime, &body) {
            mpdu.expires = now + lifetime;
        }
        queue.frames.push_back(mpdu);
    }

    /// Whether packets have a lifetime.
    pub(super) const fn expires(&self) -> bool {
        self.expires
    }

    /// When [`FrameQueue::take_expired`] has something to do; [`Instant::FOREVER`] if nothing waits or has a lifetime.
    pub(super) fn expiry(&self) -> Instant {
        if !self.expires {
            return Instant::FOREVER;
        }
        self.queues.iter().map(TransmitQueue::expiry).min().unwrap_or(Instant::FOREVER)
    }

    /// Removes the next packet whose lifetime is over by now and that is not on the air.
    pub(super) fn take_expired(&mut self, now: Instant) -> Option<Mpdu> {
        let place = self.queues.iter().position(|queue| queue.expiry() <= now)?;
        let mpdu = self.queues[place].take_expired(now)?;
        self.heads[place] = self.queues[place].ticket();
        self.uncount(&mpdu.body);
        Some(mpdu)
    }

    /// Inserts a power-save frame or a beacon ahead of data, but not ahead of a frame that is on the air or of earlier power-save
    /// frames. Only for a MAC with one receiver.
    pub(super) fn push_first(&mut self, to: Member, body: Body) {
        let place = self.place_of(to);
        self.count(&body);
        // While an attempt is being concluded, that is behind the frame that is next.
        let on_air = self.queues[place].in_flight.max(usize::from(self.in_flight));
        let frames = &mut self.queues[place].frames;
        let on_air = on_air.min(frames.len());
        let is_control = |mpdu: &&Mpdu| matches!(mpdu.body, Body::Control(_));
        let earlier = frames.iter().skip(on_air).take_while(is_control).count();
        frames.insert(on_air + earlier, Mpdu::new(to, body, 0));
        self.heads[place] = 0;
    }

    /// The PPDU of the next frames with this power-management bit.
    #[inline]
    pub(super) fn next_ppdu(&self, pm: bool) -> Option<Ppdu> {
        let queue = self.queues.get(self.next_queue())?;
        let mpdu = queue.frames.front()?;
        let mut ppdu = self.limits.ppdu(mpdu, queue.to, queue.link.mode, self.member, self.contender, pm);
        if queue.link.limit.bytes > 0 && matches!(mpdu.body, Body::Data(_)) {
            ppdu.window = queue.link.limit.window;
            queue.extend(&mut ppdu, &self.limits);
            ppdu.rts = self.limits.wants_rts(ppdu.bytes);
        }
        if queue.link.limit.delimits_all && ppdu.count == 1 && ppdu.mode == queue.link.mode {
            ppdu.bytes += DELIMITER_BYTES;
        }
        ppdu.rts |= ppdu.kind == CellFrameKind::Data && queue.wants_rts(&ppdu);
        Some(ppdu)
    }

    /// Length of a frame that has no other packet, MAC header to FCS, in bytes.
    pub(super) const fn frame_bytes(&self, mpdu: &Mpdu) -> u32 {
        mpdu.body.frame_bytes(self.limits.overhead)
    }

    /// Whether packets may share frames in the next PPDU.
    pub(super) fn joins(&self) -> bool {
        self.queues.get(self.next_queue()).is_some_and(|queue| queue.link.limit.amsdu > 0)
    }

    /// Appends the lengths of the MPDUs on the air.
    pub(super) fn lengths(&self, lengths: &mut Vec<u32>) {
        let mut is_amsdu = false;
        for mpdu in self.on_air() {
            match (lengths.last_mut(), &mpdu.body) {
                (Some(last), Body::Data(packet)) if mpdu.joins => {
                    *last = self.limits.joined(*last, is_amsdu, packet.bytes);
                }
                _ => lengths.push(self.frame_bytes(mpdu)),
            }
            is_amsdu = mpdu.joins;
        }
    }

    /// How many frames the next PPDU may have, and how many of those wait.
    pub(super) fn room(&self) -> (usize, usize) {
        self.queues
            .get(self.next_queue())
            .map_or((0, 0), |queue| (usize::from(queue.link.limit.packets()), queue.frames.len()))
    }

    /// The frames on the air. None, if none is.
    #[inline]
    pub(super) fn on_air(&self) -> OnAir<'_> {
        let queue = &self.queues[self.serving];
        queue.frames.iter().take(queue.in_flight)
    }

    /// The bits of the BlockAck to the frames on the air, of which these arrive.
    pub(super) fn bitmap(&self, start: u16, received: &MpduSet) -> MpduSet {
        self.queues[self.serving].bitmap(start, received)
    }

    /// Notes which frames on the air have arrived although no response to them has.
    pub(super) fn note_arrivals(&mut self, received: &MpduSet) {
        let queue = &mut self.queues[self.serving];
        let mut count = 0;
        for mpdu in queue.frames.iter_mut().take(queue.in_flight) {
            count += u16::from(!mpdu.joins);
            mpdu.arrived |= received.contains(count - 1);
        }
    }

    /// Begins an attempt at the next frames. Each gets its number at its first attempt, and the header bits that `first_attempt` answers.
    /// `common` is the last number of the MAC's frames without a counter for their receiver. Panics if there is no frame.
    #[inline]
    pub(super) fn compose(
        &mut self,
        pm: bool,
        common: &mut u16,
        mut first_attempt: impl FnMut(&Mpdu) -> ServiceFlags,
    ) -> Ppdu {
        let mut ppdu = self.next_ppdu(pm).expect("a sender has a frame");
        self.serving = self.next_queue();
        self.in_flight = true;
        let is_qos = self.limits.has_qos_control();
        let queue = &mut self.queues[self.serving];
        queue.in_flight = usize::from(ppdu.msdus);
        if ppdu.msdus > ppdu.count {
            queue.join(ppdu.msdus, &self.limits);
        }
        for (place, mpdu) in queue.frames.iter_mut().take(queue.in_flight).enumerate() {
            if !mpdu.stamped {
                mpdu.stamped = true;
                mpdu.flags = first_attempt(mpdu);
                mpdu.sequence = if mpdu.joins {
                    queue.number
                } else {
                    next_number(mpdu.body.kind(), is_qos, &mut queue.number, common)
                };
            }
            if place == 0 {
                (ppdu.flags, ppdu.sequence) = (mpdu.flags, mpdu.sequence);
            }
        }
        ppdu
    }

    /// Removes the frames for a receiver whose first attempt has not been made.
    pub(super) fn take_unsent(&mut self, to: Member) -> Vec<Mpdu> {
        let place = self.place_of(to);
        let taken: Vec<Mpdu> = self.queues[place].take_unsent().collect();
        self.heads[place] = self.queues[place].ticket();
        taken.iter().for_each(|mpdu| self.uncount(&mpdu.body));
        taken
    }

    /// Notes what became of an attempt, and tells rate control, if there is one: `received` has the frames that were acknowledged; it is
    /// `None` if no response came.
    #[inline]
    pub(super) fn adapt(&mut self, ppdu: &Ppdu, received: Option<&MpduSet>, now: Instant) {
        let queue = &mut self.queues[self.serving];
        queue.silent = if received.is_some() { 0 } else { queue.silent.saturating_add(1) };
        if let Some(rates) = &mut queue.rates
            && ppdu.mode == queue.link.mode
        {
            rates.result(ppdu.count, received.map(MpduSet::len), now);
            queue.link = rates.link();
        }
    }

    /// Removes the next frame on the air that leaves, and says whether it was acknowledged: if not, this was its last attempt.
    /// `received` has those that were; it is `None` if no response came. Frames that will be sent again are put aside.
    #[inline]
    pub(super) fn next_concluded(
        &mut self,
        received: Option<&MpduSet>,
        now: Instant,
    ) -> Option<(Mpdu, bool)> {
        // The last call of an attempt costs nothing: each exchange has one.
        let queue = &mut self.queues[self.serving];
        if queue.in_flight == 0 {
            return None;
        }
        let had_request = queue.requests;
        let retries = queue.link.limit.retries.unwrap_or(self.limits.retries);
        let left = queue.next_concluded(received, retries, now);
        let has_request = queue.requests;
        if has_request && !had_request {
            self.count(&Body::BlockAckRequest);
        }
        if let Some((mpdu, _)) = &left {
            self.uncount(&mpdu.body);
        }
        left
    }

    /// Ends the attempt. What will be sent again is back at the head.
    pub(super) fn end_attempt(&mut self) {
        let queue = &mut self.queues[self.serving];
        queue.end_attempt();
        if (queue.silent > 0 || queue.rates.is_some())
            && queue.frames.front().is_none_or(|mpdu| !mpdu.stamped)
        {
            queue.silent = 0;
            if let Some(rates) = &mut queue.rates {
                rates.restart();
                queue.link = rates.link();
            }
        }
        self.in_flight = false;
        self.heads[self.serving] = self.queues[self.serving].ticket();
    }

    /// The queue of the frame that is on the air, or else of the one that is next.
    fn next_queue(&self) -> usize {
        if self.in_flight || self.queues.len() <= 1 {
            return self.serving;
        }
        let first = self.heads.iter().enumerate().min_by_key(|(_, ticket)| **ticket);
        first.map_or(0, |(place, _)| place)
    }

    /// The place of the queue of a receiver.
    fn place_of(&mut self, to: Member) -> usize {
        let place = usize::from(to - self.first);
        while self.queues.len() <= place {
            let to = self.first + self.queues.len() as Member;
            self.add(TransmitQueue::new(Receiver::Member(to), &self.plan));
        }
        place
    }

    fn count(&mut self, body: &Body) {
        self.frames += 1;
        self.packets += u32::from(keeps_awake(body));
    }

    fn uncount(&mut self, body: &Body) {
        self.frames -= 1;
        self.packets -= u32::from(keeps_awake(body));
    }
}

/// Whether it counts as a packet, for which a station stays awake: so does the request that lets its earlier packets go on.
const fn keeps_awake(body: &Body) -> bool {
    matches!(body, Body::Data(_) | Body::BlockAckRequest)
}

/// The sequence number of the next frame of this kind (802.11-2020 10.3.2.14.2). QoS data counts for each receiver in `data` (all has
/// one TID), and frames without a QoS Control field in `common`. The number of a QoS Null frame may be any, and is 0; a PS-Poll has none.
fn next_number(kind: CellFrameKind, is_qos: bool, data: &mut u16, common: &mut u16) -> u16 {
    let last = match kind {
        CellFrameKind::QosNull | CellFrameKind::PsPoll => return 0,
        CellFrameKind::Data if is_qos => data,
        _ => common,
    };
    *last = (*last + 1) & 0xfff;
    *last
}

#[cfg(test)]
mod tests {
    use airwatt_proto::powersave::PowerSaveFrame::{PmNull, PsPoll, Trigger};

    use super::*;

    const ACCESS_POINT: Member = 0;

    fn queue() -> FrameQueue {
        let limits = FrameLimits { retries: 7, rts_threshold: None, overhead: 38 };
        FrameQueue::new([1, ACCESS_POINT], 0, LinkPlan::fixed(Link::single(ModeId::DATA)), limits, 10)
    }

    fn begin(queue: &mut FrameQueue, common: &mut u16) {
        queue.compose(false, common, |_| ServiceFlags::default());
    }

    /// Ends an attempt with an acknowledgement.
    fn acknowledged(queue: &mut FrameQueue) -> Option<Mpdu> {
        let left = queue.next_concluded(Some(&MpduSet::first(1)), Instant::ZERO);
        queue.end_attempt();
        left.map(|(mpdu, _)| mpdu)
    }

    /// The bodies in the order of transmission, each after a failed first attempt: a retry keeps its place.
    fn sent(mut queue: FrameQueue) -> Vec<Body> {
        let mut bodies = Vec::new();
        while queue.front().is_some() {
            begin(&mut queue, &mut 0);
            assert!(
                queue.next_concluded(None, Instant::ZERO).is_none(),
                "a first attempt is not the last one"
            );
            queue.end_attempt();
            begin(&mut queue, &mut 0);
            bodies.extend(acknowledged(&mut queue).map(|mpdu| mpdu.body));
        }
        bodies
    }

    #[test]
    fn power_save_frames_go_ahead_of_data_in_the_order_of_arrival() {
        let frames = [PmNull { pm: true }, Trigger, PsPoll].map(Body::Control);
        let data = Body::NullData;
        for on_air in [false, true] {
            let mut queue = queue();
            queue.append(ACCESS_POINT, data, Instant::ZERO);
            if on_air {
                begin(&mut queue, &mut 0);
            }
            for frame in frames {
                queue.push_first(ACCESS_POINT, frame);
            }
            let [null, trigger, poll] = frames;
            let expected = if on_air { [data, null, trigger, poll] } else { [null, trigger, poll, data] };
            assert_eq!(sent(queue), expected, "on the air: {on_air}");
        }
    }

    /// Frames are numbered when they are first sent: a retry keeps its number, what goes ahead takes none from those behind it, and
    /// QoS Null frames and PS-Polls have none.
    #[test]
    fn numbers_follow_the_order_on_the_air() {
        let packet = |number| Packet::datagram(number, 100, Instant::ZERO);
        let mut queue = queue();
        (0..2).for_each(|number| assert!(queue.push(ACCESS_POINT, packet(number), Instant::ZERO)));
        queue.append(ACCESS_POINT, Body::NullData, Instant::ZERO);
        [PmNull { pm: true }, PsPoll]
            .into_iter()
            .for_each(|frame| queue.push_first(ACCESS_POINT, Body::Control(frame)));
        let expected = [("null", 8), ("ps-poll", 0), ("data", 1), ("data", 2), ("qos-null", 0)];
        assert_eq!(numbers(queue), expected.map(|(kind, sequence)| (kind, ACCESS_POINT, sequence)));
    }

    /// The order over all receivers is that of arrival, and each receiver has a counter of its own.
    #[test]
    fn receivers_are_served_in_the_order_of_arrival() {
        let mut queue = queue();
        for (number, to) in [3, 2, 2, 5, 3, 2].into_iter().enumerate() {
            let packet = Packet::datagram(number as u32, 100, Instant::ZERO);
            assert!(queue.push(to, packet, Instant::ZERO));
        }
        let expected = [(3, 1), (2, 1), (2, 2), (5, 1), (3, 2), (2, 3)];
        assert_eq!(numbers(queue), expected.map(|(to, sequence)| ("data", to, sequence)));
    }

    /// Kind, receiver and number of each frame, which needs two attempts. The last common number is 7.
    fn numbers(mut queue: FrameQueue) -> Vec<(&'static str, Member, u16)> {
        let (mut numbers, mut common) = (Vec::new(), 7);
        while queue.front().is_some() {
            begin(&mut queue, &mut common);
            assert!(queue.next_concluded(None, Instant::ZERO).is_none());
            queue.end_attempt();
            begin(&mut queue, &mut common);
            let left = acknowledged(&mut queue).expect("an acknowledged frame leaves");
            numbers.push((left.body.kind().name(), left.to, left.sequence));
        }
        numbers
    }

    /// A power-save frame that comes between two attempts at an earlier one does not overtake it.
    #[test]
    fn a_power_save_frame_that_is_sent_again_stays_ahead_of_later_ones() {
        let (null, trigger) = (Body::Control(PmNull { pm: true }), Body::Control(Trigger));
        let mut queue = queue();
        queue.push_first(ACCESS_POINT, null);
        begin(&mut queue, &mut 0);
        assert!(queue.next_concluded(None, Instant::ZERO).is_none());
        queue.end_attempt();
        queue.push_first(ACCESS_POINT, trigger);
        assert_eq!(sent(queue), [null, trigger]);
    }

    /// What was not sent yet goes back for one receiver; the frame on the air and those for others stay, and packets are counted.
    #[test]
    fn frames_without_an_attempt_are_taken_back() {
        let packet = |number| Packet::datagram(number, 100, Instant::ZERO);
        let [sleeper, other] = [2, 3];
        let mut queue = queue();
        for (to, number) in [(sleeper, 0), (sleeper, 1), (other, 2), (sleeper, 3)] {
            assert!(queue.push(to, packet(number), Instant::ZERO));
        }
        queue.append(sleeper, Body::NullData, Instant::ZERO);
        begin(&mut queue, &mut 0);
        let taken: Vec<Body> = queue.take_unsent(sleeper).iter().map(|mpdu| mpdu.body).collect();
        assert_eq!(taken, [Body::Data(packet(1)), Body::Data(packet(3)), Body::NullData]);
        assert_eq!((queue.len(), queue.packets()), (2, 2));
        assert!(acknowledged(&mut queue).is_some());
        assert_eq!((queue.len(), queue.packets()), (1, 1));
        assert_eq!(sent(queue), [Body::Data(packet(2))]);
    }
}
