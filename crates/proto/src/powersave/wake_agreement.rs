//! Target wake time (TWT): the service periods that a station and its access point agree on (802.11ax-2021 26.8.2).
//!
//! Agreements are individual and implicit: a period begins a wake interval after the one before it, and no frame says so. In an *announced*
//! agreement the access point sends nothing before a frame of the station has shown that it is awake; otherwise it sends from the start of
//! the period. In a *trigger-enabled* agreement the access point sends a Trigger frame at the start, and the station sends a PPDU a SIFS after
//! each Trigger frame and never contends; otherwise it contends for its own frames.
//!
//! The station asks by a set-up frame, and the access point's answer makes the agreement, or names the parameters that it would accept. A
//! station has at most one; to change it, it tears it down and asks again, since access points with Linux's driver mt7915 give a request
//! an agreement of its own.
//!
//! A station may suspend its agreement by an information frame, and name the period with which it goes on by another one, if the access point takes
//! such frames. Its times remain taken meanwhile.
//!
//! A station may join the *schedule* of its access point in its place (broadcast TWT, 26.8.3): the same service periods for all who have joined,
//! which beacons announce. Their times are the access point's, they count as nobody's agreement, and no information frame suspends them.
//!
//! Left out: explicit agreements, protection, information frames of the access point, and schedules that end or change.

use airwatt_base::{Instant, Span};

/// What a station asks for, in units that the TWT element can carry (802.11ax-2021 9.4.2.199).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WakeRequest {
    /// Time from the start of one service period to that of the next.
    pub interval: Span,
    /// Least time for which the station is awake in a period that nobody ends early.
    pub duration: Span,
    /// Whether the station announces that it is awake.
    pub announced: bool,
    /// Whether the station sends only in answer to Trigger frames of the access point.
    pub trigger_enabled: bool,
    /// Whether these are the periods of the access point's schedule. A station that asks for it asks to join, whatever the rest says.
    pub broadcast: bool,
}

/// The wake interval is a mantissa of 16 bits, in microseconds, shifted by an exponent.
const MANTISSA_MAX: u64 = 0xffff;
/// Units of the wake duration, which has eight bits.
const DURATION_UNITS: [Span; 2] = [Span::from_micros(256), Span::from_micros(1_024)];
const UNITS_MAX: u64 = 0xff;

impl WakeRequest {
    /// The longest wake duration that the element can carry.
    pub const MAX_DURATION: Span = Span::from_nanos(DURATION_UNITS[1].as_nanos() * UNITS_MAX);

    /// The request nearest to these times: an interval at most as long, and a duration at least as long, as asked for. A duration
    /// above [`WakeRequest::MAX_DURATION`] is cut to it. It is not trigger-enabled, and no schedule.
    pub fn nearest(interval: Span, duration: Span, announced: bool) -> Self {
        let micros = interval.as_nanos() / 1_000;
        let exponent = (u64::BITS - micros.leading_zeros()).saturating_sub(MANTISSA_MAX.count_ones());
        let units = DURATION_UNITS.map(|unit| (unit, duration.as_nanos().div_ceil(unit.as_nanos())));
        let fitting = units.into_iter().find(|(_, count)| *count <= UNITS_MAX);
        let duration = fitting.map_or(Self::MAX_DURATION, |(unit, count)| unit * count);
        let interval = Span::from_micros(micros >> exponent << exponent);
        Self { interval, duration, announced, trigger_enabled: false, broadcast: false }
    }

    /// Whether the access point learns in each period that the station is awake: by its announcement, or by its answer to a Trigger frame.
    pub const fn hears_station(&self) -> bool {
        self.announced || self.trigger_enabled
    }
}

/// An agreement: a request, and the time that the access point chose for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WakeAgreement {
    /// What was asked for.
    pub request: WakeRequest,
    /// Start of the first service period.
    pub first: Instant,
}

impl WakeAgreement {
    /// The agreement with the times that follow a service period which begins at `next`, or a number of intervals later if that is
    /// before `soonest`.
    #[must_use]
    pub fn going_on_at(&self, next: Instant, soonest: Instant) -> Self {
        let passed = soonest.saturating_since(next).as_nanos().div_ceil(self.request.interval.as_nanos());
        Self { first: next + self.request.interval * passed, ..*self }
    }

    /// The start of the first service period that begins later than `after`.
    pub fn start_after(&self, after: Instant) -> Instant {
        if after < self.first {
            return self.first;
        }
        let passed = after.saturating_since(self.first).whole(self.request.interval);
        self.first + self.request.interval * (passed + 1)
    }

    /// How much later this agreement has to begin so that none of its periods ever meets one of the other; `None` if none does already. Where
    /// every beginning fails, it is the interval.
    ///
    /// What counts is the distance of the beginnings modulo the greatest common divisor of the intervals: each distance that is equal
    /// by it occurs between two of the periods.
    pub fn until_clear_of(&self, other: &Self) -> Option<Span> {
        let (own, taken) = (self.request, other.request);
        let turn = greatest_common_divisor(own.interval.as_nanos(), taken.interval.as_nanos());
        let since = i128::from(self.first.as_nanos()) - i128::from(other.first.as_nanos());
        let behind = Span::from_nanos(since.rem_euclid(i128::from(turn)) as u64);
        let turn = Span::from_nanos(turn);
        if own.duration + taken.duration > turn {
            return Some(own.interval);
        }
        if behind < taken.duration {
            return Some(taken.duration - behind);
        }
        (behind + own.duration > turn).then(|| turn - behind + taken.duration)
    }
}

const fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// What a station proposes to its access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WakeProposal {
    /// The parameters.
    pub request: WakeRequest,
    /// A time at which a service period would begin, which the access point has to keep to (Demand TWT). `None` leaves the times to it
    /// (Suggest TWT).
    pub start: Option<Instant>,
}

/// What an access point answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WakeAnswer {
    /// There is an agreement.
    Accept(WakeAgreement),
    /// There is none; a request for this would be accepted.
    Alternate(WakeRequest),
    /// There is none; only a request for this would be accepted.
    Dictate(WakeRequest),
    /// There is none. The request is repeated.
    Reject(WakeRequest),
}

/// An action frame about a target wake time agreement (802.11ax-2021 9.6.24).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WakeFrame {
    /// The station asks for an agreement.
    Request {
        /// Ties the answer to it.
        token: u8,
        /// What it asks for.
        proposal: WakeProposal,
    },
    /// The access point answers.
    Answer {
        /// That of the request.
        token: u8,
        /// Whether the access point takes information frames.
        information: bool,
        /// What it answers.
        answer: WakeAnswer,
    },
    /// The station ends its agreement.
    Teardown {
        /// Whether it leaves the access point's schedule.
        broadcast: bool,
    },
    /// The station suspends its agreement, or goes on with it.
    Information {
        /// Start of the next service period; `None` suspends the agreement.
        next: Option<Instant>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Worked out by hand: 2.097152 s = 512 x 2^12 us; five minutes need a mantissa of 36,621 x 2^13 us = 299.999232 s; 64 units of
    /// 256 us are 16.384 ms, 255 of them 65.28 ms, and 66 ms are 65 units of 1,024 us, that is 66.56 ms.
    #[test]
    fn requests_are_what_the_element_carries() {
        let nearest = |interval: Span, duration| WakeRequest::nearest(interval, duration, true);
        let ms = Span::from_millis;
        assert_eq!(nearest(Span::from_micros(2_097_152), ms(16)).interval, Span::from_micros(2_097_152));
        assert_eq!(nearest(Span::from_secs(300), ms(16)).interval, Span::from_micros(299_999_232));
        assert_eq!(nearest(Span::from_secs(1), ms(16)).interval, Span::from_secs(1));
        assert_eq!(nearest(Span::from_micros(65_535), ms(1)).interval, Span::from_micros(65_535));
        assert_eq!(nearest(Span::from_micros(65_537), ms(1)).interval, Span::from_micros(65_536));
        assert_eq!(nearest(ms(500), ms(16)).duration, Span::from_micros(16_128));
        assert_eq!(nearest(ms(500), Span::from_micros(16_384)).duration, Span::from_micros(16_384));
        assert_eq!(nearest(ms(500), ms(66)).duration, Span::from_micros(66_560));
        assert_eq!(nearest(ms(500), Span::from_secs(1)).duration, Span::from_micros(261_120));
    }

    /// Periods of 16.384 ms every 100 ms and every 250 ms, whose distances repeat every 50 ms. From 10 ms on they meet those from 0 on, and
    /// from 16.384 ms on they do not; from 40 ms on they meet those from 50 ms on, and would have to begin behind them, at 66.384 ms. Every
    /// 20 ms there is no room for two.
    #[test]
    fn periods_of_different_intervals_meet_or_never_do() {
        let agreement = |interval, first_us| {
            let request = WakeRequest::nearest(Span::from_millis(interval), Span::from_micros(16_384), true);
            WakeAgreement { request, first: Instant::from_micros(first_us) }
        };
        let (short, us) = (agreement(100, 1_000_000), Span::from_micros);
        let wait = |first_us| agreement(250, first_us).until_clear_of(&short);
        assert_eq!(wait(1_010_000), Some(us(6_384)));
        assert_eq!(wait(16_384), None);
        assert_eq!(wait(33_616), None);
        assert_eq!(wait(40_000), Some(us(26_384)));
        assert_eq!(agreement(20, 0).until_clear_of(&short), Some(us(20_000)));
    }

    #[test]
    fn periods_follow_each_other_at_the_interval() {
        let request = WakeRequest::nearest(Span::from_secs(1), Span::from_millis(16), false);
        let agreement = WakeAgreement { request, first: Instant::from_millis(50) };
        assert_eq!(agreement.start_after(Instant::ZERO), Instant::from_millis(50));
        assert_eq!(agreement.start_after(Instant::from_millis(50)), Instant::from_millis(1_050));
        assert_eq!(agreement.start_after(Instant::from_millis(2_049)), Instant::from_millis(2_050));
        let goes_on =
            |next, now| agreement.going_on_at(Instant::from_millis(next), Instant::from_millis(now)).first;
        assert_eq!(goes_on(7_300, 7_200), Instant::from_millis(7_300));
        assert_eq!(goes_on(7_300, 7_300), Instant::from_millis(7_300));
        assert_eq!(goes_on(7_300, 9_301), Instant::from_millis(10_300));
    }
}
