//! The frames of a MAC that wait for transmission or are on the air.

use std::collections::VecDeque;

use airwatt_proto::powersave::ServiceFlags;

use crate::media::cell::contention::ContenderId;
use crate::media::cell::frame::{Body, CellFrameKind, FrameLimits, ModeId, Mpdu, Ppdu};
use crate::net::packet::Packet;
use crate::net::route::Member;

/// A first-come, first-served queue with a limit in packets.
#[derive(Clone, Debug)]
pub(super) struct FrameQueue {
    member: Member,
    contender: ContenderId,
    /// The mode of data.
    mode: ModeId,
    limits: FrameLimits,
    /// Largest number of packets.
    buffer: u32,
    frames: VecDeque<Mpdu>,
    packets: u32,
    numbers: SequenceNumbers,
    /// Whether the first frame is on the air, or its attempt is being concluded.
    in_flight: bool,
}

impl FrameQueue {
    /// Makes an empty queue whose frames are sent by `member` as `contender`, data in this mode.
    pub(super) const fn new(
        member: Member,
        contender: ContenderId,
        mode: ModeId,
        limits: FrameLimits,
        buffer: u32,
    ) -> Self {
        let numbers = SequenceNumbers::new();
        let frames = VecDeque::new();
        Self { member, contender, mode, limits, buffer, frames, packets: 0, numbers, in_flight: false }
    }

    pub(super) const fn member(&self) -> Member {
        self.member
    }

    pub(super) const fn contender(&self) -> ContenderId {
        self.contender
    }

    /// Number of packets in the queue.
    pub(super) const fn packets(&self) -> u32 {
        self.packets
    }

    pub(super) const fn limits(&self) -> &FrameLimits {
        &self.limits
    }

    pub(super) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.frames.len()
    }

    pub(super) fn front(&self) -> Option<&Mpdu> {
        self.frames.front()
    }

    /// Appends a packet. Returns `false` if the queue is full.
    pub(super) fn push(&mut self, to: Member, packet: Packet) -> bool {
        if self.packets >= self.buffer {
            return false;
        }
        self.append(to, Body::Data(packet));
        true
    }

    /// Appends a frame, whatever the limit.
    pub(super) fn append(&mut self, to: Member, body: Body) {
        self.packets += u32::from(matches!(body, Body::Data(_)));
        self.frames.push_back(Mpdu::new(to, body));
    }

    /// Inserts a power-save frame ahead of data, but not ahead of a frame that is on the air or of earlier power-save frames.
    pub(super) fn push_first(&mut self, to: Member, body: Body) {
        let on_air = usize::from(self.in_flight).min(self.frames.len());
        let is_control = |mpdu: &&Mpdu| matches!(mpdu.body, Body::Control(_));
        let earlier = self.frames.iter().skip(on_air).take_while(is_control).count();
        self.frames.insert(on_air + earlier, Mpdu::new(to, body));
    }

    /// The PPDU of the first frame with this power-management bit.
    pub(super) fn next_ppdu(&self, pm: bool) -> Option<Ppdu> {
        let mpdu = self.frames.front()?;
        Some(self.limits.ppdu(mpdu, self.mode, self.member, self.contender, pm))
    }

    /// Length of the IP packet in a data frame of this cell.
    pub(super) const fn packet_bytes(&self, ppdu: &Ppdu) -> u32 {
        ppdu.bytes - self.limits.overhead
    }

    /// Begins an attempt at the first frame, which gets its sequence number at the first one. Panics if there is none.
    pub(super) fn begin_attempt(&mut self) {
        let is_qos = self.limits.has_qos_control();
        let head = self.frames.front_mut().expect("the frame stays in the queue");
        if !head.stamped {
            head.stamped = true;
            head.sequence = self.numbers.next(head.body.kind(), head.to, is_qos);
        }
        self.in_flight = true;
    }

    /// The sequence number of the next beacon or group-addressed frame.
    pub(super) fn number_broadcast(&mut self) -> u16 {
        self.numbers.next_common()
    }

    /// Begins the first attempt at the first frame, whose header gets these bits. Panics if there is none.
    pub(super) fn begin_first_attempt(&mut self, flags: ServiceFlags) {
        self.head().flags = flags;
        self.begin_attempt();
    }

    /// Removes what the frames for a receiver carry whose first attempt has not been made.
    pub(super) fn take_unsent(&mut self, to: Member) -> Vec<Body> {
        let mut taken = Vec::new();
        self.frames.retain(|mpdu| {
            let goes = mpdu.to == to && !mpdu.stamped;
            if goes {
                taken.push(mpdu.body);
            }
            !goes
        });
        self.packets -= taken.iter().filter(|body| matches!(body, Body::Data(_))).count() as u32;
        taken
    }

    /// Removes the first frame if it was acknowledged, or if this was its last attempt.
    pub(super) fn take_concluded(&mut self, acknowledged: bool) -> Option<Mpdu> {
        if !acknowledged {
            let limit = self.limits.retries;
            let head = self.head();
            head.retries += 1;
            if head.retries <= limit {
                return None;
            }
        }
        let mpdu = self.frames.pop_front()?;
        if matches!(mpdu.body, Body::Data(_)) {
            self.packets -= 1;
        }
        Some(mpdu)
    }

    /// Ends the attempt.
    pub(super) const fn end_attempt(&mut self) {
        self.in_flight = false;
    }

    fn head(&mut self) -> &mut Mpdu {
        self.frames.front_mut().expect("the frame stays in the queue")
    }
}

/// The last sequence numbers that a MAC has given, in their spaces (802.11-2020 10.3.2.14.2). They are given at the first attempt.
#[derive(Clone, Debug)]
struct SequenceNumbers {
    /// Of beacons, group-addressed frames and frames without a QoS Control field.
    common: u16,
    /// Of QoS data frames, by receiver. All have one TID.
    data: Vec<u16>,
}

impl SequenceNumbers {
    const fn new() -> Self {
        Self { common: 0, data: Vec::new() }
    }

    /// The number of the next frame of this kind. That of a QoS Null frame may be any, and is 0; a PS-Poll has none. `is_qos`: data
    /// frames have a QoS Control field.
    fn next(&mut self, kind: CellFrameKind, to: Member, is_qos: bool) -> u16 {
        match kind {
            CellFrameKind::QosNull | CellFrameKind::PsPoll => 0,
            CellFrameKind::Data if is_qos => {
                let place = usize::from(to);
                if self.data.len() <= place {
                    self.data.resize(place + 1, 0);
                }
                Self::count(&mut self.data[place])
            }
            _ => self.next_common(),
        }
    }

    fn next_common(&mut self) -> u16 {
        Self::count(&mut self.common)
    }

    fn count(number: &mut u16) -> u16 {
        *number = (*number + 1) & 0xfff;
        *number
    }
}

#[cfg(test)]
mod tests {
    use airwatt_base::Instant;
    use airwatt_proto::powersave::PowerSaveFrame::{PmNull, PsPoll, Trigger};

    use super::*;

    const ACCESS_POINT: Member = 0;

    fn queue() -> FrameQueue {
        let limits = FrameLimits { retries: 7, rts_threshold: None, overhead: 38 };
        FrameQueue::new(1, 0, ModeId::DATA, limits, 10)
    }

    /// The bodies in the order of transmission, each after a failed first attempt: a retry keeps its place.
    fn sent(mut queue: FrameQueue) -> Vec<Body> {
        let mut bodies = Vec::new();
        while queue.front().is_some() {
            queue.begin_attempt();
            assert!(queue.take_concluded(false).is_none(), "a first attempt is not the last one");
            bodies.extend(queue.take_concluded(true).map(|mpdu| mpdu.body));
            queue.end_attempt();
        }
        bodies
    }

    #[test]
    fn power_save_frames_go_ahead_of_data_in_the_order_of_arrival() {
        let frames = [PmNull { pm: true }, Trigger, PsPoll].map(Body::Control);
        let data = Body::NullData;
        for on_air in [false, true] {
            let mut queue = queue();
            queue.append(ACCESS_POINT, data);
            if on_air {
                queue.begin_attempt();
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
    /// each receiver has a space of its own, QoS Null frames none.
    #[test]
    fn numbers_follow_the_order_on_the_air() {
        let packet = |number| Packet::datagram(number, 100, Instant::ZERO);
        let mut queue = queue();
        for (to, number) in [(2, 0), (3, 1), (2, 2)] {
            assert!(queue.push(to, packet(number)));
        }
        queue.append(2, Body::NullData);
        queue.push_first(2, Body::Control(PmNull { pm: true }));
        queue.push_first(2, Body::Control(PsPoll));
        let mut numbers = Vec::new();
        while queue.front().is_some() {
            queue.begin_attempt();
            assert!(queue.take_concluded(false).is_none());
            queue.begin_attempt();
            let left = queue.take_concluded(true).expect("an acknowledged frame leaves");
            numbers.push((left.body.kind().name(), left.to, left.sequence));
        }
        let expected = [("null", 2, 1), ("ps-poll", 2, 0), ("data", 2, 1), ("data", 3, 1), ("data", 2, 2)];
        assert_eq!(numbers[..5], expected);
        assert_eq!(numbers[5], ("qos-null", 2, 0));
    }

    /// A power-save frame that comes between two attempts at an earlier one does not overtake it.
    #[test]
    fn a_power_save_frame_that_is_sent_again_stays_ahead_of_later_ones() {
        let (null, trigger) = (Body::Control(PmNull { pm: true }), Body::Control(Trigger));
        let mut queue = queue();
        queue.push_first(ACCESS_POINT, null);
        queue.begin_attempt();
        assert!(queue.take_concluded(false).is_none());
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
            assert!(queue.push(to, packet(number)));
        }
        queue.append(sleeper, Body::NullData);
        queue.begin_attempt();
        let taken = queue.take_unsent(sleeper);
        assert_eq!(taken, [Body::Data(packet(1)), Body::Data(packet(3)), Body::NullData]);
        assert_eq!((queue.len(), queue.packets()), (2, 2));
        assert_eq!(sent(queue), [Body::Data(packet(0)), Body::Data(packet(2))]);
    }
}
