//! The reordering buffer of a block-ack agreement (802.11-2020 10.25.6.6): frames arrive out of order and leave in order.
//!
//! A PPDU begins with the oldest frame that its sender has not seen acknowledged or given up, so its first number is where the sender's
//! window starts. What is older will not come any more, and a gap before it is skipped.
//!
//! Left out: the receiver knows the first number even if that frame is lost, where a real one waits for a block-ack request or for a
//! time-out (100 ms in Linux). If no PPDU follows a given-up frame, what is held stays held.

use std::collections::VecDeque;

use crate::media::cell::frame::Mpdu;

/// Numbers that differ by less than this are ahead; the others are behind.
const HALF: u16 = 2_048;
const NUMBERS: u16 = 4_096;

/// The frames of one sender and TID.
#[derive(Clone, Debug, Default)]
pub(super) struct ReorderBuffer {
    /// The number of the frame that leaves next.
    next: u16,
    /// The frames from that number on that have arrived. The first one is missing, and the last one is not.
    held: VecDeque<Option<Mpdu>>,
}

impl ReorderBuffer {
    /// The sender's window starts at this number. Frames that are older leave, and those that follow without a gap.
    pub(super) fn advance(&mut self, start: u16, mut release: impl FnMut(&Mpdu)) {
        let older = self.ahead(start);
        if older == 0 || older >= HALF {
            return;
        }
        let count = usize::from(older).min(self.held.len());
        self.held.drain(..count).flatten().for_each(|mpdu| release(&mpdu));
        self.next = start;
        self.release_run(release);
    }

    /// A frame has arrived. It leaves, with those behind it, or is held, or is dropped because it has arrived before.
    pub(super) fn receive(&mut self, mpdu: &Mpdu, mut release: impl FnMut(&Mpdu)) {
        let ahead = self.ahead(mpdu.sequence);
        if ahead >= HALF {
            return;
        }
        if ahead == 0 {
            self.held.pop_front();
            self.next = (self.next + 1) % NUMBERS;
            release(mpdu);
            return self.release_run(release);
        }
        let place = usize::from(ahead);
        if self.held.len() <= place {
            self.held.resize(place + 1, None);
        }
        self.held[place].get_or_insert(*mpdu);
    }

    /// How far a number is ahead of the next one.
    const fn ahead(&self, number: u16) -> u16 {
        (number + NUMBERS - self.next) % NUMBERS
    }

    fn release_run(&mut self, mut release: impl FnMut(&Mpdu)) {
        while let Some(Some(mpdu)) = self.held.front() {
            release(mpdu);
            self.held.pop_front();
            self.next = (self.next + 1) % NUMBERS;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use airwatt_base::Instant;
    use airwatt_proto::powersave::ServiceFlags;
    use proptest::prelude::*;

    use crate::media::cell::frame::MAX_MPDUS;
    use crate::media::cell::frame::{Body, FrameLimits, ModeId, MpduSet};
    use crate::media::cell::mac::frame_queue::FrameQueue;
    use crate::media::cell::mac::reception::Receptions;
    use crate::media::cell::mode::{AggregateLimit, Link};
    use crate::net::packet::{Packet, Payload};

    /// A sender and its receiver, beside a model that knows which packets have arrived in any attempt.
    struct Pair {
        sender: FrameQueue,
        receiver: Receptions,
        window: u16,
        pushed: u32,
        /// The packets that have arrived, which have to be those that are delivered, in order.
        arrived: BTreeSet<u32>,
        delivered: Vec<u32>,
        /// The packets that have left the sender, and those of them that were given up.
        left: BTreeSet<u32>,
        given_up: u32,
        common: u16,
    }

    const fn number(packet: &Packet) -> u32 {
        match packet.payload {
            Payload::Datagram(number) => number,
            _ => unreachable!(),
        }
    }

    impl Pair {
        fn new(mpdus: u16, bytes: u32) -> Self {
            let limits = FrameLimits { retries: 3, rts_threshold: None, overhead: 38 };
            let window = if mpdus > 64 { MAX_MPDUS } else { 64 };
            let limit = AggregateLimit { mpdus, bytes, window, delimits_all: false };
            let link = Link { mode: ModeId::DATA, limit };
            let sender = FrameQueue::new([1, 0], 0, link, limits, u32::MAX);
            let (arrived, left) = (BTreeSet::new(), BTreeSet::new());
            let receiver = Receptions::new(0, true);
            Self {
                sender,
                receiver,
                window,
                pushed: 0,
                arrived,
                delivered: Vec::new(),
                left,
                given_up: 0,
                common: 0,
            }
        }

        fn push(&mut self) {
            self.pushed += 1;
            assert!(self.sender.push(0, Packet::datagram(self.pushed, 100 + self.pushed % 7, Instant::ZERO)));
        }

        /// An exchange in which the frames at the places of `lost` fail, and the response if `silent`.
        fn exchange(&mut self, lost: u64, silent: bool) {
            let ppdu = self.sender.compose(false, &mut self.common, |_| ServiceFlags::default());
            let numbers: Vec<u16> = self.sender.on_air().map(|mpdu| mpdu.sequence).collect();
            assert_eq!(usize::from(ppdu.count), numbers.len());
            assert!(numbers.is_sorted_by_key(|number| number.wrapping_sub(ppdu.sequence) & 0xfff));
            assert!(numbers.iter().all(|number| (number.wrapping_sub(ppdu.sequence) & 0xfff) < self.window));
            let mut received = MpduSet::default();
            (0..ppdu.count)
                .filter(|place| lost >> (place % 64) & 1 == 0)
                .for_each(|place| received.insert(place));
            for (place, mpdu) in (0..).zip(self.sender.on_air()) {
                if let (Body::Data(packet), true) = (&mpdu.body, received.contains(place)) {
                    self.arrived.insert(number(packet));
                }
            }
            let delivered = &mut self.delivered;
            let on_air = self.sender.on_air();
            self.receiver.receive(&ppdu, on_air, &received, |_, packet| delivered.extend(packet.map(number)));
            let response = (!silent && !received.is_empty()).then_some(&received);
            while let Some((mpdu, acknowledged)) = self.sender.next_concluded(response) {
                let Body::Data(packet) = &mpdu.body else { unreachable!("all frames are data") };
                assert!(self.left.insert(number(packet)), "a packet leaves once");
                self.given_up += u32::from(!acknowledged);
                assert!(!acknowledged || self.arrived.contains(&number(packet)));
            }
            self.sender.end_attempt();
        }
    }

    proptest! {
        /// Whatever frames and responses are lost, each packet leaves its sender once, and those that have arrived are delivered once
        /// and in order. A last packet without a loss moves the window over what was given up.
        #[test]
        fn each_packet_that_arrives_is_delivered_once_and_in_order(
            steps in prop::collection::vec((0_u8..90, any::<u64>(), any::<u64>(), prop::bool::weighted(0.2)), 1..150),
            mpdus in prop_oneof![1_u16..=64, 65..=MAX_MPDUS],
            bytes in prop_oneof![200_u32..2_000, Just(65_535), Just(6_500_631)],
        ) {
            let mut pair = Pair::new(mpdus, bytes);
            for (new, one, other, silent) in steps {
                (0..new).for_each(|_| pair.push());
                if !pair.sender.is_empty() {
                    // A frame fails with a probability of a quarter.
                    pair.exchange(one & other, silent);
                }
            }
            while !pair.sender.is_empty() {
                pair.exchange(0, false);
            }
            pair.push();
            pair.exchange(0, false);
            prop_assert_eq!(pair.left.len(), pair.pushed as usize);
            prop_assert!(pair.delivered.iter().eq(&pair.arrived), "{:?} {:?}", pair.delivered, pair.arrived);
            prop_assert!(pair.pushed - pair.arrived.len() as u32 <= pair.given_up);
        }
    }
}
