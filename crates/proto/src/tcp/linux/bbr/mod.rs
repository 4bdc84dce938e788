//! BBR: the sender estimates the bandwidth and the least round trip of its path and sends by them instead of by losses.
//!
//! Both versions send at a pacing rate, which is a gain times the bandwidth, and bound what is in flight by a gain times the product of
//! bandwidth and least round trip. The gains change in cycles, which probe for more bandwidth and for a shorter round trip.
//! Version 1 ([`v1`]) takes losses as no signal; version 3 ([`v3`]) bounds itself by them. What both have is here.
//!
//! The facts are those of the kernel's version 1, of the branch `v3` of github.com/google/bbr, and of draft-ietf-ccwg-bbr; the code is ours.
//! Gains are in 256ths, times in microseconds, and a bandwidth is in 2^-24 segments a microsecond. Left out: the response of
//! version 3 to marks of ECN, which is off unless a route asks for it.

#[cfg(test)]
mod tests;
mod v1;
mod v3;

use std::collections::VecDeque;

use self::v1::Bbr1;
use self::v3::Bbr3;
use super::rate::RateSample;
use super::state::{CaState, Excess};

/// Bits of the fraction of a bandwidth.
const BANDWIDTH_BITS: u32 = 24;
/// A gain of one.
pub(super) const UNIT: u64 = 256;
/// The least window that keeps acknowledgements coming, in segments.
const WINDOW_MIN: u32 = 4;
/// The share of the bandwidth at which is sent, so that queues drain, in per cent.
const MARGIN: u64 = 99;
/// How long a least round trip counts: 10 s.
const MINIMUM_COUNTS: u64 = 10_000_000;
/// The least time with a small window while the round trip is measured.
const MEASURES: u64 = 200_000;
/// Rounds without growth after which the pipe counts as full, and the growth, by a quarter.
const FULL_ROUNDS: u32 = 3;
const FULL_GROWTH: u64 = UNIT * 5 / 4;
/// Acknowledgements that come in bursts count for at most so long.
const BURST: u64 = 100_000;
/// Rounds in each half of the window of the largest burst.
const BURST_ROUNDS: u32 = 5;
/// A burst of acknowledgements ends after so many segments at the latest.
const BURST_MAX: u64 = 0xf_ffff;

/// What an acknowledgement tells.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ack {
    pub(super) now: u64,
    pub(super) sample: Option<RateSample>,
    /// Segments delivered by it, and since the beginning.
    pub(super) acked: u32,
    pub(super) delivered: u64,
    /// Segments newly taken for lost, and since the beginning.
    pub(super) lost: u32,
    pub(super) lost_ever: u64,
    /// The losses that exceeded what a path may lose, the first one.
    pub(super) excess: Option<Excess>,
    /// The round trip of the newest segment, and whether it may contain the delay of an acknowledgement.
    pub(super) rtt: Option<u64>,
    pub(super) delayed: bool,
    pub(super) srtt: Option<u64>,
    /// Segments in flight now.
    pub(super) flight: u32,
    pub(super) state: CaState,
    pub(super) is_cwnd_limited: bool,
    /// The first window.
    pub(super) initial_window: u32,
    pub(super) mss: u32,
    /// Segments of a burst.
    pub(super) burst: u32,
}

/// What a version determines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decided {
    /// The window in segments.
    pub(super) cwnd: u32,
    /// Bytes a second.
    pub(super) rate: u64,
    /// Whether the window itself keeps the sender from using the path, so that samples must not count as the bandwidth.
    pub(super) limits: bool,
}

/// One of the versions.
#[derive(Clone, Debug)]
pub(super) enum Bbr {
    V1(Bbr1),
    V3(Bbr3),
}

macro_rules! each {
    ($bbr:expr, $version:ident => $call:expr) => {
        match $bbr {
            Bbr::V1($version) => $call,
            Bbr::V3($version) => $call,
        }
    };
}

impl Bbr {
    /// Version 1.
    pub(super) fn v1(seed: u64) -> Self {
        Self::V1(Bbr1::new(seed))
    }

    /// Version 3.
    pub(super) fn v3(seed: u64) -> Self {
        Self::V3(Bbr3::new(seed))
    }

    /// The rate before there is a sample: the first window in the first round trip, times the gain of the start.
    pub(super) fn first_rate(&self, window: u32, srtt: Option<u64>, mss: u32) -> u64 {
        let gain = match self {
            Self::V1(_) => v1::HIGH_GAIN,
            Self::V3(_) => v3::STARTUP_PACING,
        };
        let bandwidth = (u64::from(window) << BANDWIDTH_BITS) / srtt.unwrap_or(1000).max(1);
        bytes_a_second(bandwidth, gain, mss)
    }

    /// Takes an acknowledgement.
    pub(super) fn acknowledge(&mut self, ack: &Ack, decided: &mut Decided) {
        each!(self, version => version.acknowledge(ack, decided));
    }

    /// The window is about to fall for a loss, a timeout or a mark.
    pub(super) fn save(&mut self, window: u32) {
        each!(self, version => version.save(window));
    }

    /// The timer has expired with everything lost.
    pub(super) fn time_out(&mut self, delivered: u64, lost: u64, now: u64) {
        match self {
            Self::V1(version) => version.time_out(delivered, lost, now),
            Self::V3(version) => version.time_out(),
        }
    }

    /// A reduction was a mistake. Returns the window.
    pub(super) fn undo(&mut self, window: u32, delivered: u64, lost: u64, now: u64) -> u32 {
        match self {
            Self::V1(version) => version.undo(window, delivered, lost, now),
            Self::V3(version) => version.undo(window),
        }
    }

    /// A probe of the tail has repaired a loss.
    pub(super) fn repaired_tail(&mut self) {
        match self {
            Self::V1(_) => {}
            Self::V3(version) => version.note_losses(),
        }
    }

    /// The first segment after an idle time is sent, by an application that has little to send.
    pub(super) fn restart(&mut self, now: u64, mss: u32, decided: &mut Decided) {
        each!(self, version => version.restart(now, mss, decided));
    }

    /// The least size of a burst in segments at this rate.
    pub(super) fn burst_min(&self, rate: u64, least: u32) -> u32 {
        match self {
            Self::V1(_) => v1::burst_min(rate),
            Self::V3(_) => least,
        }
    }
}

/// A pacing rate in bytes a second: a gain times a bandwidth, less the margin.
fn bytes_a_second(bandwidth: u64, gain: u64, mss: u32) -> u64 {
    let rate = u128::from(bandwidth) * u128::from(mss) * u128::from(gain) * u128::from(MARGIN * 1_000_000);
    ((rate / u128::from(100 * UNIT)) >> BANDWIDTH_BITS) as u64
}

/// Segments that `bandwidth` delivers in `span`, times a gain, rounded up.
fn product(bandwidth: u64, span: u64, gain: u64) -> u32 {
    let product = u128::from(bandwidth) * u128::from(span) * u128::from(gain);
    let segments = product.div_ceil(u128::from(UNIT << BANDWIDTH_BITS));
    segments.min(u128::from(u32::MAX >> 4)) as u32
}

/// The bandwidth of a sample.
fn bandwidth_of(sample: &RateSample) -> u64 {
    (sample.delivered << BANDWIDTH_BITS) / sample.interval
}

/// Rounds counted by packets: one ends when a segment has arrived that was sent after it began.
#[derive(Clone, Copy, Debug, Default)]
struct Rounds {
    until: u64,
    count: u64,
    /// Whether the acknowledgement in hand began one.
    began: bool,
}

impl Rounds {
    fn acknowledge(&mut self, sample: &RateSample, delivered: u64) {
        self.began = sample.prior_delivered >= self.until;
        if self.began {
            self.restart(delivered);
            self.count += 1;
        }
    }

    fn restart(&mut self, delivered: u64) {
        self.until = delivered;
    }
}

/// The largest sample of the last rounds.
#[derive(Clone, Debug)]
struct Largest {
    /// Rounds and samples, the largest first.
    samples: VecDeque<(u64, u64)>,
    rounds: u64,
}

impl Largest {
    fn of(rounds: u64) -> Self {
        Self { samples: VecDeque::new(), rounds }
    }

    fn push(&mut self, sample: u64, round: u64) {
        while self.samples.back().is_some_and(|(_, other)| *other <= sample) {
            self.samples.pop_back();
        }
        self.samples.push_back((round, sample));
        self.expire(round);
    }

    /// Forgets what is too old in this round. The last sample stays.
    fn expire(&mut self, round: u64) {
        while self.samples.len() > 1 && self.samples.front().is_some_and(|(at, _)| at + self.rounds <= round)
        {
            self.samples.pop_front();
        }
    }

    fn get(&self) -> u64 {
        self.samples.front().map_or(0, |(_, sample)| *sample)
    }
}

/// Whether the start has found the bandwidth: it has not grown by a quarter for three rounds.
#[derive(Clone, Copy, Debug, Default)]
struct Full {
    bandwidth: u64,
    rounds: u32,
    reached: bool,
}

impl Full {
    /// Takes the bandwidth of a round that the application did not limit.
    fn round(&mut self, bandwidth: u64) {
        if bandwidth >= self.bandwidth * FULL_GROWTH / UNIT {
            (self.bandwidth, self.rounds) = (bandwidth, 0);
        } else {
            self.rounds += 1;
            self.reached |= self.rounds >= FULL_ROUNDS;
        }
    }

    /// Looks for growth anew, from this bandwidth on.
    fn restart(&mut self, bandwidth: u64) {
        (self.bandwidth, self.rounds) = (bandwidth, 0);
    }
}

/// Acknowledgements that come in bursts: by how much they are ahead of the bandwidth. Aggregates of 802.11 and sleeping stations
/// make them, and the window needs room for them.
#[derive(Clone, Copy, Debug, Default)]
struct Bursts {
    since: u64,
    acked: u64,
    /// The largest of two halves of the window of time.
    extra: [u32; 2],
    half: usize,
    rounds: u32,
}

impl Bursts {
    fn restart(&mut self, now: u64) {
        (self.since, self.acked) = (now, 0);
    }

    /// Takes an acknowledgement; a half of the window lasts `rounds` rounds.
    fn acknowledge(&mut self, ack: &Ack, began: bool, rounds: u32, bandwidth: u64, window: u32) {
        if ack.sample.is_none() || ack.acked == 0 {
            return;
        }
        if began {
            self.rounds += 1;
            if self.rounds >= rounds {
                (self.rounds, self.half) = (0, 1 - self.half);
                self.extra[self.half] = 0;
            }
        }
        let span = ack.now - self.since;
        let mut expected = ((u128::from(bandwidth) * u128::from(span)) >> BANDWIDTH_BITS) as u64;
        if self.acked <= expected || self.acked + u64::from(ack.acked) >= BURST_MAX {
            self.restart(ack.now);
            expected = 0;
        }
        self.acked += u64::from(ack.acked);
        let extra = self.acked.saturating_sub(expected).min(u64::from(window)) as u32;
        self.extra[self.half] = self.extra[self.half].max(extra);
    }

    /// Segments by which the window is larger for it.
    fn room(&self, bandwidth: u64) -> u32 {
        self.extra[0].max(self.extra[1]).min(product(bandwidth, BURST, UNIT))
    }
}

/// A least round trip, which is measured anew after a time.
#[derive(Clone, Copy, Debug, Default)]
struct Least {
    /// Microseconds; `None` before a sample.
    rtt: Option<u64>,
    at: u64,
}

impl Least {
    fn has_expired(&self, after: u64, now: u64) -> bool {
        self.rtt.is_some() && now > self.at + after
    }

    /// Takes a sample: a shorter one, or any after the time.
    fn take(&mut self, rtt: u64, expired: bool, now: u64) {
        if self.rtt.is_none_or(|least| rtt < least) || expired {
            *self = Self { rtt: Some(rtt), at: now };
        }
    }
}

/// The phase in which the round trip is measured with a small window: until when, and whether a round has passed.
#[derive(Clone, Copy, Debug, Default)]
struct Measuring {
    until: Option<u64>,
    round_passed: bool,
}

impl Measuring {
    /// Takes an acknowledgement. The time of the phase begins when the flight has fallen to `small` packets. Returns whether the phase is over.
    fn acknowledge(&mut self, ack: &Ack, small: u32, rounds: &mut Rounds) -> bool {
        match self.until {
            None if ack.flight <= small => {
                *self = Self { until: Some(ack.now + MEASURES), round_passed: false };
                rounds.restart(ack.delivered);
                false
            }
            None => false,
            Some(until) => {
                self.round_passed |= rounds.began;
                self.round_passed && ack.now > until
            }
        }
    }
}
