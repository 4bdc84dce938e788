//! The reordering buffer of a block-ack agreement (802.11-2020 10.25.6.6): frames arrive out of order and leave in order.
//!
//! A gap is closed by the missing frame, by a block-ack request, by a frame so far ahead that the window moves, or by the time-out of
//! Linux ([`TIMEOUT`]). Nothing else tells the receiver that a frame will not come any more.

use std::collections::VecDeque;

use airwatt_base::{Instant, Span};

use crate::media::cell::frame::Mpdu;

/// Numbers that differ by less than this are ahead; the others are behind.
const HALF: u16 = 2_048;
const NUMBERS: u16 = 4_096;
/// How long a frame waits for those before it (`HT_RX_REORDER_BUF_TIMEOUT` of Linux's mac80211).
pub(super) const TIMEOUT: Span = Span::from_millis(100);

/// The frames of one sender and TID.
#[derive(Clone, Debug)]
pub(super) struct ReorderBuffer {
    /// The number of the frame that leaves next.
    next: u16,
    /// The frames from that number on that have arrived, and when. The first one is missing, and the last one is not.
    held: VecDeque<Option<(Mpdu, Instant)>>,
    /// The other packets of those that are A-MSDUs, in order of arrival.
    joined: Vec<Mpdu>,
    /// What became of the frame that has come last, and becomes of the packets that share it.
    last: Standing,
}

/// What becomes of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// It has left.
    Released,
    /// It waits.
    Held,
    /// It waited already.
    Here,
    /// The window is past it.
    Past,
}

impl Default for ReorderBuffer {
    /// The first frame of a sender has number 1.
    fn default() -> Self {
        Self { next: 1, held: VecDeque::new(), joined: Vec::new(), last: Standing::Past }
    }
}

impl ReorderBuffer {
    /// The sender's window starts at this number. Frames that are older leave, and those that follow without a gap.
    pub(super) fn advance(&mut self, start: u16, mut release: impl FnMut(&Mpdu)) {
        let older = self.ahead(start);
        if older == 0 || older >= HALF {
            return;
        }
        let count = usize::from(older).min(self.held.len());
        let Self { held, joined, .. } = self;
        held.drain(..count).flatten().for_each(|(mpdu, _)| release_all(&mpdu, joined, &mut release));
        self.next = start;
        self.release_run(release);
    }

    /// A frame has arrived, or a further packet of it. It leaves, or is held, or is dropped because it has arrived before. One that is ahead
    /// of the window becomes its last. What is behind it leaves with the next frame or by [`ReorderBuffer::release_run`]. Returns `false` if
    /// the window is past it.
    pub(super) fn receive(
        &mut self,
        mpdu: &Mpdu,
        window: u16,
        now: Instant,
        mut release: impl FnMut(&Mpdu),
    ) -> bool {
        if mpdu.joins {
            match self.last {
                Standing::Released => release(mpdu),
                Standing::Held => self.joined.push(*mpdu),
                Standing::Here | Standing::Past => {}
            }
            return self.last != Standing::Past;
        }
        self.release_run(&mut release);
        let ahead = self.ahead(mpdu.sequence);
        if ahead >= HALF {
            self.last = Standing::Past;
            return false;
        }
        if ahead >= window {
            self.advance((mpdu.sequence + NUMBERS + 1 - window) % NUMBERS, &mut release);
        }
        let ahead = self.ahead(mpdu.sequence);
        if ahead == 0 {
            self.held.pop_front();
            self.next = (self.next + 1) % NUMBERS;
            release(mpdu);
            self.last = Standing::Released;
            return true;
        }
        let place = usize::from(ahead);
        if self.held.len() <= place {
            self.held.resize(place + 1, None);
        }
        self.last = if self.held[place].is_some() { Standing::Here } else { Standing::Held };
        self.held[place].get_or_insert((*mpdu, now));
        true
    }

    /// When the frame behind the first gap has waited for [`TIMEOUT`]; [`Instant::FOREVER`] if nothing is held.
    pub(super) fn due(&self) -> Instant {
        self.held.iter().flatten().next().map_or(Instant::FOREVER, |(_, arrival)| *arrival + TIMEOUT)
    }

    /// Skips the gaps before frames that have waited long enough.
    pub(super) fn expire(&mut self, now: Instant, mut release: impl FnMut(&Mpdu)) {
        while let Some((mpdu, arrival)) = self.held.iter().flatten().next()
            && *arrival + TIMEOUT <= now
        {
            self.advance(mpdu.sequence, &mut release);
        }
    }

    /// How far a number is ahead of the next one.
    const fn ahead(&self, number: u16) -> u16 {
        (number + NUMBERS - self.next) % NUMBERS
    }

    /// The frames without a gap before them leave.
    pub(super) fn release_run(&mut self, mut release: impl FnMut(&Mpdu)) {
        while let Some(Some((mpdu, _))) = self.held.front() {
            release_all(mpdu, &mut self.joined, &mut release);
            self.held.pop_front();
            self.next = (self.next + 1) % NUMBERS;
        }
    }
}

/// A frame that was held leaves with all its packets.
fn release_all(mpdu: &Mpdu, joined: &mut Vec<Mpdu>, mut release: impl FnMut(&Mpdu)) {
    release(mpdu);
    if !joined.is_empty() {
        joined.iter().filter(|other| other.sequence == mpdu.sequence).for_each(&mut release);
        joined.retain(|other| other.sequence != mpdu.sequence);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use airwatt_base::{Instant, Span};
    use airwatt_proto::powersave::ServiceFlags;
    use proptest::prelude::*;

    use super::TIMEOUT;
    use crate::media::cell::frame::MAX_MPDUS;
    use crate::media::cell::frame::{Body, CellFrameKind, FrameLimits, ModeId, Mpdu, MpduSet, placed};
    use crate::media::cell::mac::frame_queue::FrameQueue;
    use crate::media::cell::mac::reception::Receptions;
    use crate::media::cell::phy::aggregation::MissedBlockAck;
    use crate::media::cell::phy::mode::{AggregateLimit, Link};
    use crate::media::cell::phy::rates::LinkPlan;
    use crate::packet::{Packet, Payload};

    /// A sender and its receiver, beside a model that knows which packets have arrived in any attempt.
    struct Pair {
        sender: FrameQueue,
        receiver: Receptions,
        window: u16,
        pushed: u32,
        /// The packets that have arrived, which have to be those that are delivered, in order.
        arrived: BTreeSet<u32>,
        delivered: Vec<u32>,
        /// Those that the receiver has dropped because it did not wait any longer.
        late: Vec<u32>,
        /// The packets that have left the sender, and those of them that were given up.
        left: BTreeSet<u32>,
        given_up: u32,
        common: u16,
        now: Instant,
    }

    const fn number(packet: &Packet) -> u32 {
        match packet.payload {
            Payload::Datagram(number) => number,
            _ => unreachable!(),
        }
    }

    impl Pair {
        fn new(
            (mpdus, bytes, amsdu): (u16, u32, u32),
            missed: MissedBlockAck,
            lifetime: Option<Span>,
        ) -> Self {
            let limits = FrameLimits { retries: 3, rts_threshold: None, overhead: 38 };
            let window = if mpdus > 64 { MAX_MPDUS } else { 64 };
            let lengths = AggregateLimit { bytes, amsdu, mpdu: 4_095, ..AggregateLimit::SINGLE };
            let limit = AggregateLimit { mpdus, window, missed, ..lengths };
            let link = Link { limit, lifetime, ..Link::single(ModeId::DATA) };
            let sender = FrameQueue::new([1, 0], 0, LinkPlan::fixed(link), limits, u32::MAX);
            let (arrived, left) = (BTreeSet::new(), BTreeSet::new());
            let receiver = Receptions::new(0, true);
            Self {
                sender,
                receiver,
                window,
                pushed: 0,
                arrived,
                delivered: Vec::new(),
                late: Vec::new(),
                left,
                given_up: 0,
                common: 0,
                now: Instant::ZERO,
            }
        }

        fn push(&mut self) {
            self.pushed += 1;
            let packet = Packet::datagram(self.pushed, 100 + self.pushed % 7, Instant::ZERO);
            assert!(self.sender.push(0, packet, self.now));
        }

        fn expire(&mut self) {
            while let Some(mpdu) = self.sender.take_expired(self.now) {
                let Body::Data(packet) = &mpdu.body else { unreachable!("only packets have lifetimes") };
                assert!(self.left.insert(number(packet)), "a packet leaves once");
                self.given_up += 1;
            }
            let delivered = &mut self.delivered;
            self.receiver.expire(self.now, |_, packet| delivered.extend(packet.map(number)));
        }

        /// An exchange in which the frames at the places of `lost` fail, and the response if `silent`.
        fn exchange(&mut self, lost: u64, silent: bool) {
            let ppdu = self.sender.compose(false, &mut self.common, |_| ServiceFlags::default());
            let heads = self.sender.on_air().filter(|mpdu| !mpdu.joins);
            let numbers: Vec<u16> = heads.map(|mpdu| mpdu.sequence).collect();
            assert_eq!(usize::from(ppdu.msdus), self.sender.on_air().len());
            assert_eq!(usize::from(ppdu.count), numbers.len());
            assert!(numbers.is_sorted_by_key(|number| number.wrapping_sub(ppdu.sequence) & 0xfff));
            assert!(numbers.iter().all(|number| (number.wrapping_sub(ppdu.sequence) & 0xfff) < self.window));
            let mut received = MpduSet::default();
            (0..ppdu.count)
                .filter(|place| lost >> (place % 64) & 1 == 0)
                .for_each(|place| received.insert(place));
            for (place, mpdu) in placed(self.sender.on_air()) {
                if let (Body::Data(packet), true) = (&mpdu.body, received.contains(place)) {
                    self.arrived.insert(number(packet));
                }
            }
            let delivered = &mut self.delivered;
            let on_air = self.sender.on_air();
            let each = |_: &Mpdu, packet: Option<&Packet>| delivered.extend(packet.map(number));
            // What arrives without any frame is nothing.
            if !received.is_empty() {
                self.receiver.receive(&ppdu, on_air, &received, self.now, each);
            }
            self.late.extend(self.receiver.late().map(|packet| number(&packet)));
            if silent {
                self.sender.note_arrivals(&received);
            }
            let response = (!silent && !received.is_empty()).then_some(&received);
            while let Some((mpdu, acknowledged)) = self.sender.next_concluded(response, self.now) {
                let Body::Data(packet) = &mpdu.body else { continue };
                assert!(self.left.insert(number(packet)), "a packet leaves once");
                self.given_up += u32::from(!acknowledged);
                assert!(!acknowledged || self.arrived.contains(&number(packet)));
            }
            self.sender.end_attempt();
        }
    }

    /// What a test does: packets that come, the places of frames that fail, whether the response does, and the time that passes then.
    type Act = (u8, u64, u64, bool, u64);

    fn acts() -> impl Strategy<Value = Vec<Act>> {
        let act = (0_u8..90, any::<u64>(), any::<u64>(), prop::bool::weighted(0.2), 0_u64..60);
        prop::collection::vec(act, 1..150)
    }

    fn missed() -> impl Strategy<Value = MissedBlockAck> {
        prop_oneof![Just(MissedBlockAck::Resend), Just(MissedBlockAck::Request)]
    }

    fn limits() -> impl Strategy<Value = (u16, u32, u32)> {
        let bytes = prop_oneof![200_u32..2_000, Just(65_535), Just(6_500_631)];
        let amsdu = prop_oneof![Just(0_u32), 200_u32..1_500];
        (prop_oneof![2_u16..=64, 65..=MAX_MPDUS], bytes, amsdu)
    }

    /// A pair after these exchanges, with gaps that end by the time-out if `time_passes`, and after others without a loss.
    fn exchanged(
        acts: Vec<Act>,
        limits: (u16, u32, u32),
        missed: MissedBlockAck,
        time_passes: bool,
        lifetime: Option<Span>,
    ) -> Pair {
        let mut pair = Pair::new(limits, missed, lifetime);
        for (new, one, other, silent, millis) in acts {
            (0..new).for_each(|_| pair.push());
            if !pair.sender.is_empty() {
                // A frame fails with a probability of a quarter.
                pair.exchange(one & other, silent);
            }
            if time_passes {
                pair.now += Span::from_millis(millis);
                pair.expire();
            }
        }
        while !pair.sender.is_empty() {
            pair.exchange(0, false);
        }
        pair
    }

    proptest! {
        /// Whatever frames, requests and responses are lost, each packet leaves its sender once, and those that have arrived are
        /// delivered once and in order. A last packet without a loss, and the request that follows it if there is something to tell,
        /// move the window over what was given up.
        #[test]
        fn each_packet_that_arrives_is_delivered_once_and_in_order(
            acts in acts(), limits in limits(), missed in missed(),
        ) {
            let mut pair = exchanged(acts, limits, missed, false, None);
            pair.push();
            while !pair.sender.is_empty() {
                pair.exchange(0, false);
            }
            prop_assert_eq!(pair.left.len(), pair.pushed as usize);
            prop_assert!(pair.delivered.iter().eq(&pair.arrived), "{:?} {:?}", pair.delivered, pair.arrived);
            prop_assert!(pair.pushed - pair.arrived.len() as u32 <= pair.given_up);
            prop_assert_eq!(pair.receiver.due(), Instant::FOREVER);
        }

        /// If the receiver waits for 100 ms only, what arrives later is told to be lost; everything else is delivered once and in order,
        /// also if packets leave their sender when they have waited too long.
        #[test]
        fn what_arrives_after_the_time_out_is_lost(
            acts in acts(), limits in limits(), missed in missed(), lifetime in prop::option::of(1_u64..200),
        ) {
            let mut pair = exchanged(acts, limits, missed, true, lifetime.map(Span::from_millis));
            pair.now += TIMEOUT;
            pair.expire();
            prop_assert_eq!(pair.left.len(), pair.pushed as usize);
            prop_assert!(pair.delivered.is_sorted(), "{:?}", pair.delivered);
            let late: BTreeSet<u32> = pair.late.iter().copied().collect();
            prop_assert_eq!(pair.late.len(), late.len());
            let expected: Vec<u32> = pair.arrived.difference(&late).copied().collect();
            prop_assert_eq!(&pair.delivered, &expected);
        }
    }

    /// Of three packets that share a frame and two alone behind them the shared frame fails: all three come again, and all of them leave
    /// ahead of the others.
    #[test]
    fn the_packets_of_a_frame_share_its_fate() {
        // 100 + 7 bytes at most: 22 more and padding for each, so that three of them have 352 to 384 bytes.
        let mut pair = Pair::new((64, 65_535, 390), MissedBlockAck::Resend, None);
        (0..6).for_each(|_| pair.push());
        let ppdu = pair.sender.next_ppdu(false).expect("frames wait");
        assert_eq!((ppdu.count, ppdu.msdus), (2, 6));
        pair.exchange(1, false);
        assert_eq!((pair.delivered.len(), pair.sender.len()), (0, 3));
        let again = pair.sender.next_ppdu(false).expect("the first frame comes again");
        assert_eq!((again.count, again.msdus, again.response()), (1, 3, CellFrameKind::Ack));
        // 30 bytes of headers; subframes of 22 + 101, + 102 and + 103 bytes, the first two of which are padded.
        assert_eq!(again.bytes, 30 + 124 + 124 + 125);
        pair.exchange(0, false);
        assert_eq!(pair.delivered, [1, 2, 3, 4, 5, 6]);
    }

    /// Of frames 1 to 3 the first one fails until it is given up. A request goes ahead of frame 4, and 2 and 3 leave. If requests fail as well,
    /// they leave when they have waited for 100 ms.
    #[test]
    fn a_given_up_frame_is_told_or_timed_out() {
        for requests_fail in [false, true] {
            let mut pair = Pair::new((64, 65_535, 0), MissedBlockAck::Resend, None);
            (0..3).for_each(|_| pair.push());
            while !pair.sender.is_empty() {
                pair.exchange(1, false);
            }
            assert_eq!((pair.given_up, pair.delivered.len()), (1, 0));
            pair.push();
            assert_eq!(pair.sender.len(), 2);
            while !pair.sender.is_empty() {
                let asks = pair.sender.front().is_some_and(|mpdu| mpdu.body == Body::BlockAckRequest);
                pair.exchange(u64::from(asks && requests_fail), false);
            }
            assert_eq!(pair.delivered.is_empty(), requests_fail);
            pair.now = Instant::from_millis(99);
            pair.expire();
            assert_eq!(pair.delivered.is_empty(), requests_fail);
            pair.now = Instant::from_millis(100);
            pair.expire();
            assert_eq!(pair.delivered, [2, 3, 4]);
        }
    }

    /// All of 1 to 4 arrive and the response is lost. Who asks sends nothing again; who does not sends all of them.
    #[test]
    fn a_request_saves_frames_that_have_arrived() {
        for (missed, again) in [(MissedBlockAck::Resend, 4), (MissedBlockAck::Request, 1)] {
            let mut pair = Pair::new((64, 65_535, 0), missed, None);
            (0..4).for_each(|_| pair.push());
            pair.exchange(0, true);
            let next = pair.sender.next_ppdu(false).expect("frames wait");
            assert_eq!((next.count, next.sequence), (again, 1));
            assert_eq!(next.response(), CellFrameKind::BlockAck);
            pair.exchange(0, false);
            assert!(pair.sender.is_empty());
            assert_eq!(pair.delivered, [1, 2, 3, 4]);
        }
    }
}
