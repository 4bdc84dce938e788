//! The frames of a MAC for one receiver.
//!
//! Under a block-ack agreement the receiver waits for what is missing, so it has to learn what was given up: a BlockAckReq at the head
//! tells it where the sender's window starts (802.11-2020 10.25.6.3). It waits until the receiver answers again, as in Linux's mac80211,
//! or goes ahead of the next frame to it if none is left: the receiver may be asleep. By setting, another asks what has arrived of an aggregate without an answer.

use std::collections::VecDeque;

use airwatt_base::Instant;

use crate::media::cell::frame::{
    Body, DELIMITER_BYTES, FrameLimits, MAX_MPDUS, Mpdu, MpduSet, Ppdu, Receiver, placed,
};
use crate::media::cell::phy::aggregation::MissedBlockAck;
use crate::media::cell::phy::mode::{AggregateLimit, Link};
use crate::media::cell::phy::rates::{LinkPlan, LinkRates};

/// The frames for one receiver in the order of transmission. From the head they are outstanding (tried at least once, and
/// numbered) and then those that may be sent. An attempt is one at the first frames, so numbers at the head ascend, with gaps where
/// a frame has left.
#[derive(Clone, Debug)]
pub(super) struct TransmitQueue {
    pub(super) to: Receiver,
    /// That of the next attempt.
    pub(super) link: Link,
    /// Rate control, which changes it.
    pub(super) rates: Option<Box<LinkRates>>,
    pub(super) frames: VecDeque<Mpdu>,
    /// The last sequence number of QoS data.
    pub(super) number: u16,
    /// How many frames at the head are on the air.
    pub(super) in_flight: usize,
    /// While an attempt is being concluded: how many of its MPDUs have left or been put aside.
    concluded: u16,
    /// Those that have been put aside.
    again: Vec<Mpdu>,
    /// Whether the receiver has to learn of frames that were given up.
    owes: bool,
    /// Whether a request is among the frames.
    pub(super) requests: bool,
    /// Whether the attempt that is being concluded is a request that was answered: the frames behind it are looked at.
    answered: bool,
    /// Attempts in a row at the frames at the head that had no response.
    pub(super) silent: u16,
}

impl TransmitQueue {
    /// Makes an empty queue.
    pub(super) fn new(to: Receiver, plan: &LinkPlan) -> Self {
        let (frames, again) = (VecDeque::new(), Vec::new());
        let rates = plan.rates.clone();
        Self {
            to,
            link: rates.as_ref().map_or(plan.link, |rates| rates.link()),
            rates,
            frames,
            number: 0,
            in_flight: 0,
            concluded: 0,
            again,
            owes: false,
            requests: false,
            answered: false,
            silent: 0,
        }
    }

    /// Whether an RTS precedes this PPDU of data by what the link says.
    pub(super) fn wants_rts(&self, ppdu: &Ppdu) -> bool {
        let Link { rts, rts_above, rts_after, .. } = &self.link;
        *rts || self.silent >= *rts_after || ppdu.bytes > rts_above[usize::from(ppdu.count > 1)]
    }

    /// The place of the first packet that is not on the air. While a request is, its answer is waited for.
    fn first_waiting(&self) -> Option<usize> {
        if self.requests && self.in_flight > 0 {
            return None;
        }
        let mut waiting = self.frames.iter().enumerate().skip(self.in_flight);
        waiting.find(|(_, mpdu)| matches!(mpdu.body, Body::Data(_))).map(|(place, _)| place)
    }

    /// When [`TransmitQueue::take_expired`] has something to do. Packets have equal lifetimes, so the first one ends first.
    pub(super) fn expiry(&self) -> Instant {
        self.first_waiting().map_or(Instant::FOREVER, |place| self.frames[place].expires)
    }

    /// Removes the next packet whose lifetime is over by now, unless it is on the air.
    pub(super) fn take_expired(&mut self, now: Instant) -> Option<Mpdu> {
        let place = self.first_waiting().filter(|place| self.frames[*place].expires <= now)?;
        let mpdu = self.frames.remove(place)?;
        if self.link.limit.window > 0 && mpdu.is_numbered() {
            self.owes = true;
            self.aim_request();
        }
        Some(mpdu)
    }

    /// The numbers from `start` on that have arrived, if the frames of `received` do so now. A request asks for those behind it.
    pub(super) fn bitmap(&self, start: u16, received: &MpduSet) -> MpduSet {
        let mut bits = MpduSet::default();
        let asks = self.frames.front().is_some_and(|mpdu| mpdu.body == Body::BlockAckRequest);
        let count = if asks { self.frames.len() } else { self.in_flight };
        for (place, mpdu) in placed(self.frames.iter().take(count)).filter(|(_, mpdu)| mpdu.is_numbered()) {
            if mpdu.arrived || (!asks && received.contains(place)) {
                bits.insert(mpdu.sequence.wrapping_sub(start) % MAX_MPDUS);
            }
        }
        bits
    }

    /// The ticket of the first frame; that of an empty queue is behind all others.
    pub(super) fn ticket(&self) -> u64 {
        self.frames.front().map_or(u64::MAX, |mpdu| mpdu.ticket)
    }

    /// Adds to a PPDU of the first frame those behind it that may be sent with it: data in the window, up to the limits of the link.
    pub(super) fn extend(&self, ppdu: &mut Ppdu, limits: &FrameLimits) {
        let limit = self.link.limit;
        let mut unsent = self.number + 1;
        let start = self.frames.front().filter(|mpdu| mpdu.stamped).map_or(unsent, |mpdu| mpdu.sequence);
        let (mut count, mut place, mut bytes, mut next_start) = (0, 0, 0_u32, 0_u32);
        while count < limit.mpdus
            && let Some((msdus, mpdu_bytes)) = self.mpdu_at(place, limits)
        {
            let mpdu = &self.frames[place];
            let number = if mpdu.stamped { mpdu.sequence } else { unsent };
            unsent += u16::from(!mpdu.stamped);
            // Empty delimiters fill what a short frame leaves of the time between two starts.
            let begins = bytes.next_multiple_of(DELIMITER_BYTES).max(next_start);
            let longer = begins + DELIMITER_BYTES + mpdu_bytes;
            if count == 0 {
                // It goes out in any case.
                (ppdu.msdus, ppdu.bytes) = (msdus as u16, mpdu_bytes);
            }
            if number.wrapping_sub(start) & 0xfff >= limit.window || longer > limit.bytes {
                break;
            }
            (count, place, bytes, next_start) = (count + 1, place + msdus, longer, begins + limit.spacing);
        }
        if count > 1 {
            (ppdu.count, ppdu.msdus, ppdu.bytes) = (count, place as u16, bytes);
        }
    }

    /// How many packets from a place on share an MPDU, and its length: those that have been sent together, or as many as the limits of
    /// the link allow. `None` if there is no packet.
    fn mpdu_at(&self, place: usize, limits: &FrameLimits) -> Option<(usize, u32)> {
        let first = self.frames.get(place)?;
        let Body::Data(packet) = &first.body else { return None };
        let alone = packet.bytes + limits.overhead;
        let AggregateLimit { amsdu, mpdu: longest, .. } = self.link.limit;
        if amsdu == 0 && !first.stamped {
            return Some((1, alone));
        }
        let (mut count, mut bytes) = (1, alone);
        for other in self.frames.range(place + 1..) {
            let Body::Data(packet) = &other.body else { break };
            let longer = limits.joined(bytes, count > 1, packet.bytes);
            let joins = if first.stamped {
                other.joins
            } else {
                limits.is_within(longer, amsdu) && longer <= longest
            };
            if !joins {
                break;
            }
            (count, bytes) = (count + 1, longer);
        }
        Some((count, bytes))
    }

    /// Lets packets that are sent for the first time, among the first `msdus`, share MPDUs as [`TransmitQueue::extend`] has counted them. What is
    /// sent together lives as long as the last of it.
    pub(super) fn join(&mut self, msdus: u16, limits: &FrameLimits) {
        let mut place = 0;
        while place < usize::from(msdus)
            && let Some((count, _)) = self.mpdu_at(place, limits)
        {
            let expires = self.frames[place + count - 1].expires;
            for mpdu in self.frames.range_mut(place..place + count) {
                mpdu.expires = expires;
            }
            for mpdu in self.frames.range_mut(place + 1..place + count) {
                mpdu.joins = true;
            }
            place += count;
        }
    }

    /// Removes the next frame on the air that leaves, and says whether it is in `received`; the others that leave have failed more
    /// often than `retries` times, or their lifetime is over. Behind a request that was answered, those leave that have arrived.
    #[inline]
    pub(super) fn next_concluded(
        &mut self,
        received: Option<&MpduSet>,
        retries: u32,
        now: Instant,
    ) -> Option<(Mpdu, bool)> {
        if self.concluded == 0 && self.link.limit.window > 0 {
            self.request_if_silent(received);
        }
        while self.in_flight > 0 {
            self.in_flight -= 1;
            let mut mpdu = self.frames.pop_front()?;
            self.concluded += u16::from(!mpdu.joins);
            let place = self.concluded.saturating_sub(1);
            if self.answered {
                if mpdu.arrived {
                    return Some((mpdu, true));
                }
            } else if received.is_some_and(|set| set.contains(place)) {
                if mpdu.body == Body::BlockAckRequest {
                    self.request_is_answered();
                }
                return Some((mpdu, true));
            } else {
                mpdu.retries += 1;
                if u32::from(mpdu.retries) > retries || mpdu.expires <= now {
                    self.give_up(&mpdu, received.is_some());
                    return Some((mpdu, false));
                }
            }
            self.again.push(mpdu);
        }
        None
    }

    /// Begins to conclude an attempt under an agreement.
    fn request_if_silent(&mut self, received: Option<&MpduSet>) {
        let asks = match received {
            None => {
                let on_air = self.frames.iter().take(self.in_flight);
                self.link.limit.missed == MissedBlockAck::Request
                    && on_air.filter(|mpdu| !mpdu.joins).nth(1).is_some()
            }
            Some(_) => self.owes,
        };
        if asks && let Some(ticket) = self.frames.front().map(|mpdu| mpdu.ticket) {
            self.request(ticket);
        }
    }

    /// Puts a request ahead of what comes again, unless there is one.
    fn request(&mut self, ticket: u64) {
        if let (false, Receiver::Member(to)) = (self.requests, self.to) {
            self.requests = true;
            self.again.insert(0, Mpdu::request(to, ticket));
        }
    }

    fn request_is_answered(&mut self) {
        (self.requests, self.owes, self.answered) = (false, false, true);
        self.in_flight = self.frames.iter().take_while(|mpdu| mpdu.stamped).count();
    }

    #[cold]
    fn give_up(&mut self, mpdu: &Mpdu, is_heard: bool) {
        if mpdu.body == Body::BlockAckRequest {
            self.requests = false;
        } else if self.link.limit.window > 0 && mpdu.is_numbered() {
            self.owes = true;
            if is_heard {
                self.request(mpdu.ticket);
            }
        }
    }

    /// Puts a request into the empty queue, ahead of a frame with this ticket, if the receiver has to learn of frames that were given up.
    /// Returns whether there is one now.
    pub(super) fn request_first(&mut self, ticket: u64) -> bool {
        let Receiver::Member(to) = self.to else { return false };
        if self.owes {
            self.requests = true;
            let sequence = (self.number + 1) & 0xfff;
            self.frames.push_back(Mpdu { sequence, ..Mpdu::request(to, ticket) });
        }
        self.owes
    }

    /// Ends the attempt.
    pub(super) fn end_attempt(&mut self) {
        debug_assert_eq!(self.in_flight, 0, "all frames of the attempt are concluded");
        self.concluded = 0;
        self.answered = false;
        while let Some(mpdu) = self.again.pop() {
            self.frames.push_front(mpdu);
        }
        self.aim_request();
    }

    /// A request at the head says where the window starts by now.
    fn aim_request(&mut self) {
        if self.requests {
            let first = self.frames.iter().find(|mpdu| mpdu.is_numbered()).map(|mpdu| mpdu.sequence);
            let start = first.unwrap_or((self.number + 1) & 0xfff);
            if let Some(request) = self.frames.front_mut() {
                request.sequence = start;
            }
        }
    }

    /// Removes what was not sent yet.
    pub(super) fn take_unsent(&mut self) -> impl Iterator<Item = Mpdu> + '_ {
        let outstanding = self.frames.iter().take_while(|mpdu| mpdu.stamped).count();
        self.frames.drain(outstanding..)
    }
}
