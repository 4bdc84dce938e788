//! How long data take over a wireless link, from the first bit of their first sending to their arrival: the latency of
//! the E2TCP thesis, in which loss shows as the time of the sendings that failed.
//!
//! Each packet is known by the place of its data in the stream and is counted once, when it first arrives. Queueing before the
//! first sending does not count: it says how large the sender's window is, not what the link does.

use std::collections::VecDeque;

use airwatt_base::{Instant, Seq, Span};

/// Packets remembered at most; what is older has been given up by a receiver that can do without.
const REMEMBERED: usize = 1 << 14;

#[derive(Clone, Copy, Debug)]
struct Sending {
    /// Place of the packet's last byte in the stream.
    last: u64,
    first_began: Instant,
    arrived: bool,
}

/// Latencies of one flow's data packets over its link.
#[derive(Clone, Debug, Default)]
pub struct Deliveries {
    /// Packets that were sent and may come again, in order of their places.
    sendings: VecDeque<Sending>,
    /// Places up to this one are settled.
    settled: u64,
    highest: u64,
    arrived: u64,
    sum: Span,
    own: Span,
}

impl Deliveries {
    /// A data packet whose last byte is `last` has come to the end of the link at `now`, sound or damaged, after its
    /// transmission began at `began`. `own` is the time that its transmission took.
    pub fn note(
        &mut self,
        last: Seq,
        began: Instant,
        own: Span,
        sound: bool,
        now: Instant,
        cut_through: bool,
    ) {
        let place = self.place(last);
        if place <= self.settled {
            return;
        }
        let index = self.sendings.partition_point(|sending| sending.last < place);
        if self.sendings.get(index).is_none_or(|sending| sending.last != place) {
            self.sendings.insert(index, Sending { last: place, first_began: began, arrived: false });
        }
        let sending = &mut self.sendings[index];
        if sound && !sending.arrived {
            sending.arrived = true;
            let since = now - sending.first_began;
            self.arrived += 1;
            self.sum += if cut_through { since } else { since.saturating_sub(own) };
            self.own += own;
        }
        while self.sendings.front().is_some_and(|first| first.arrived) || self.sendings.len() > REMEMBERED {
            if let Some(first) = self.sendings.pop_front() {
                self.settled = first.last;
            }
        }
    }

    /// Mean latency without the time of the packet's own transmission, in seconds.
    pub fn mean_s(&self) -> Option<f64> {
        (self.arrived > 0).then(|| self.sum.as_secs_f64() / self.arrived as f64)
    }

    /// Mean latency from first bit to last, in seconds.
    pub(crate) fn full_mean_s(&self) -> Option<f64> {
        (self.arrived > 0).then(|| (self.sum + self.own).as_secs_f64() / self.arrived as f64)
    }

    /// The place of a sequence number: of all that it may mean, the one nearest to the highest so far.
    fn place(&mut self, last: Seq) -> u64 {
        let highest = Seq::new(self.highest as u32);
        let place = self.highest as i64 + i64::from(highest.distance_to(last) as i32);
        let place = place.max(0) as u64;
        self.highest = self.highest.max(place);
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(at: u64) -> Instant {
        Instant::from_millis(at)
    }

    const OWN: Span = Span::from_millis(8);

    /// Packet 1000 arrives at once, 2000 at the third attempt, and a copy of 1000 comes again.
    #[test]
    fn from_the_first_sending_to_the_first_arrival() {
        let mut deliveries = Deliveries::default();
        let mut note = |last, began, sound, now| {
            deliveries.note(Seq::new(last), ms(began), OWN, sound, ms(now), false);
        };
        note(1000, 0, true, 58);
        note(2000, 8, false, 66);
        note(3000, 16, true, 74);
        note(2000, 100, false, 158);
        note(1000, 108, true, 166);
        note(2000, 200, true, 258);
        // Without their own 8 ms: 50, 50 and 242.
        assert!((deliveries.mean_s().unwrap() - 0.114).abs() < 1e-12);
        assert!((deliveries.full_mean_s().unwrap() - 0.122).abs() < 1e-12);
        assert!(deliveries.sendings.is_empty());
    }

    #[test]
    fn sequence_numbers_may_wrap() {
        let mut deliveries = Deliveries::default();
        let mut last = Seq::new(0);
        for step in 0..10_000_u64 {
            last += 1_000_000;
            deliveries.note(last, ms(step), Span::ZERO, true, ms(step + 5), true);
        }
        assert_eq!(deliveries.arrived, 10_000);
        assert!((deliveries.mean_s().unwrap() - 0.005).abs() < 1e-12);
    }

    #[test]
    fn nothing_arrived_has_no_mean() {
        let mut deliveries = Deliveries::default();
        deliveries.note(Seq::new(1), ms(0), OWN, false, ms(58), false);
        assert_eq!((deliveries.mean_s(), deliveries.full_mean_s()), (None, None));
    }
}
