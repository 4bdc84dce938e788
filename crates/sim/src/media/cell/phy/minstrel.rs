//! Minstrel-HT, the rate control of Linux's mac80211, after version 6.12 (`rc80211_minstrel_ht.c`).
//!
//! Every 50 ms the share of frames that arrived at each rate goes through a low-pass filter, and the rates are ranked by the throughput
//! that they promise. An aggregate is tried at the best three rates and at the most robust one, each a few times, all but the first
//! behind an RTS. At most each 20 ms a single frame probes another rate.
//!
//! The rates are groups of equal streams, guard interval and width, slowest first, in the order of Linux's tables. Times are those
//! of Linux: a frame is a sixteenth of an aggregate of 16 frames with 1,200 bytes. Left out: rates of 802.11a and b, the limit on
//! A-MSDUs, and the clock ticks to which Linux rounds its intervals.

use airwatt_base::{Instant, RandomStream, Span};

/// Between two rankings (`update_interval`).
const WINDOW: Span = Span::from_millis(50);
/// Between two probes (`MINSTREL_SAMPLE_INTERVAL`).
const PROBE_INTERVAL: Span = Span::from_millis(20);
/// Probabilities are multiples of 1/4096 (`MINSTREL_SCALE`).
const ONE: i32 = 1 << 12;
/// Coefficients of the filter's last output and of the one before (`MINSTREL_AVG_COEFF2` and `3`); that of the input makes them one.
const FILTER: [i32; 2] = [0x1499, -0x92e];
/// What an exchange takes beside its data, in microseconds: as Linux computes it, an empty frame and an acknowledgement of 10 bytes at
/// 6 Mbit/s, and twice the latter for RTS and CTS.
const OVERHEAD_US: u32 = 48 + 60;
const OVERHEAD_RTS_US: u32 = OVERHEAD_US + 2 * 60;
/// How long all tries of a rate may take (`segment_size`), how many there may be, and the contention window as Linux assumes it.
const SEGMENT_US: u32 = 6_000;
const MOST_TRIES: u8 = 7;
const CW: [u32; 2] = [15, 1_023];
const SLOT_US: u32 = 9;
/// Rates that are kept by throughput, and candidates of a kind of probe.
const BEST: usize = 4;
const CANDIDATES: usize = 5;
/// Columns of the table of random orders.
const COLUMNS: usize = 10;

/// What a probe is for: a step up, a leap up, or news of a slower rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Probe {
    Step,
    Leap,
    Slow,
}

/// The order of probes (`minstrel_sample_seq`).
const PROBES: [Probe; 6] = [Probe::Step, Probe::Leap, Probe::Step, Probe::Leap, Probe::Step, Probe::Slow];

const fn share(numerator: i32, denominator: i32) -> i32 {
    numerator * ONE / denominator
}

/// Rates with equal streams, guard interval and width.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RateGroup {
    /// Number of streams.
    pub(super) streams: u8,
    /// The time of a frame at each rate, the slowest first.
    pub(super) durations: Vec<Span>,
}

#[derive(Clone, Debug)]
struct Group {
    streams: u8,
    first: usize,
    end: usize,
    best: [usize; BEST],
    robust: usize,
    /// Where the next rate of a leap is found in the table of random orders.
    cursor: (usize, usize),
}

#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    duration_ns: u32,
    attempts: u32,
    successes: u32,
    /// Whether it has been tried in an earlier window.
    is_known: bool,
    probability: i32,
    /// The filter's output before the last one.
    before: i32,
}

/// One stage of the chain of tries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Stage {
    rate: usize,
    tries: u8,
}

/// Rate control for one receiver.
#[derive(Clone, Debug)]
pub(super) struct Minstrel {
    groups: Vec<Group>,
    rates: Vec<Sample>,
    /// Random orders of the rates of a group.
    orders: Vec<Vec<usize>>,
    /// The best rates by throughput, and the most robust one.
    best: [usize; BEST],
    robust: usize,
    /// Aggregates and frames in them since the last ranking, and the mean length, in multiples of 1/4096.
    aggregates: u32,
    frames: u32,
    mean_frames: i32,
    ranked: Instant,
    probe_from: Instant,
    /// The next one in [`PROBES`].
    probe: usize,
    /// Candidates by kind of probe, and the group after which the next one is sought.
    candidates: [[Option<usize>; CANDIDATES]; 3],
    searched: [usize; 3],
    chain: [Stage; 4],
    /// The stage of the present attempt, and the tries that are left to it.
    stage: usize,
    tries: u8,
    /// The rate of the present attempt if it is a probe.
    probed: Option<usize>,
    /// Whether nothing of the chain has been tried.
    is_fresh: bool,
}

impl Minstrel {
    /// Begins with the slowest rate of the first group. `random` orders the rates of leaps.
    pub(super) fn new(groups: &[RateGroup], random: &mut RandomStream) -> Self {
        let most = groups.iter().map(|group| group.durations.len()).max().unwrap_or(0);
        let mut minstrel = Self {
            groups: Vec::new(),
            rates: Vec::new(),
            orders: (0..COLUMNS).map(|_| order(most, random)).collect(),
            best: [0; BEST],
            robust: 0,
            aggregates: 0,
            frames: 0,
            mean_frames: ONE,
            ranked: Instant::ZERO,
            probe_from: Instant::ZERO,
            probe: 0,
            candidates: [[None; CANDIDATES]; 3],
            searched: [0; 3],
            chain: [Stage::default(); 4],
            stage: 0,
            tries: 1,
            probed: None,
            is_fresh: true,
        };
        for RateGroup { streams, durations } in groups {
            let first = minstrel.rates.len();
            let sample = |time: &Span| Sample { duration_ns: time.as_nanos() as u32, ..Sample::default() };
            minstrel.rates.extend(durations.iter().map(sample));
            let end = minstrel.rates.len();
            let (streams, best, robust, cursor) = (*streams, [first; BEST], first, (0, 0));
            minstrel.groups.push(Group { streams, first, end, best, robust, cursor });
        }
        minstrel.rank(Instant::ZERO);
        minstrel.set_chain();
        minstrel.begin_chain(Instant::ZERO);
        minstrel
    }

    /// The rate of the next attempt, counted over all groups.
    pub(super) fn rate(&self) -> usize {
        self.probed.unwrap_or(self.chain[self.stage].rate)
    }

    /// Whether the next attempt is a probe. Drivers send it as a single frame.
    pub(super) const fn is_probe(&self) -> bool {
        self.probed.is_some()
    }

    /// Whether an RTS goes ahead of the next attempt.
    pub(super) const fn wants_rts(&self) -> bool {
        self.probed.is_none() && self.stage > 0
    }

    /// Learns how many of the frames of an attempt arrived; `None` if no response came. The next attempt is at what is left of the chain, or
    /// at a new one.
    pub(super) fn result(&mut self, sent: u32, received: Option<u32>, now: Instant) {
        let rate = self.rate();
        self.rates[rate].attempts += sent;
        self.rates[rate].successes += received.unwrap_or(0);
        if received.is_none() && self.has_more_tries() {
            return;
        }
        self.aggregates += 1;
        self.frames += sent;
        let is_downgraded = self.downgrade();
        let is_due = now.saturating_since(self.ranked) > WINDOW;
        if is_due {
            self.rank(now);
        }
        if is_downgraded || is_due {
            self.set_chain();
        }
        self.begin_chain(now);
    }

    /// Begins a new chain if what was tried has been given up on the way.
    pub(super) fn restart(&mut self) {
        if !self.is_fresh {
            self.reset();
        }
    }

    fn reset(&mut self) {
        self.is_fresh = true;
        self.probed = None;
        (self.stage, self.tries) = (0, self.chain[0].tries);
    }

    /// Goes on to the next try, if the chain has one.
    fn has_more_tries(&mut self) -> bool {
        self.tries -= 1;
        self.is_fresh = false;
        if self.tries == 0 {
            // A probe takes the place of the first stage.
            self.probed = None;
            self.stage += 1;
            if self.stage == self.chain.len() {
                return false;
            }
            self.tries = self.chain[self.stage].tries;
        }
        true
    }

    fn begin_chain(&mut self, now: Instant) {
        self.reset();
        if now < self.probe_from {
            return;
        }
        self.probe_from = now + PROBE_INTERVAL;
        let kind = PROBES[self.probe];
        self.probe = (self.probe + 1) % PROBES.len();
        let candidate = self.candidates[kind as usize].iter_mut().find(|rate| rate.is_some());
        self.probed = candidate.and_then(Option::take);
        if self.probed.is_some() {
            self.tries = 1;
        }
    }

    /// Leaves a rate of many streams that fails suddenly for one of a lower group.
    fn downgrade(&mut self) -> bool {
        let mut is_downgraded = false;
        for place in 0..2 {
            let Sample { attempts, successes, .. } = self.rates[self.best[place]];
            if attempts <= 30 || successes >= attempts / 4 {
                continue;
            }
            let from = self.group_of(self.best[place]);
            let streams = self.groups[from].streams;
            if let Some(lower) = self.groups[..from].iter().rev().find(|group| group.streams <= streams) {
                self.best[place] = lower.best[place];
            }
            is_downgraded = true;
        }
        is_downgraded
    }

    fn group_of(&self, rate: usize) -> usize {
        self.groups.partition_point(|group| group.end <= rate)
    }

    /// Frames in an aggregate, in the mean.
    const fn mean_frames(&self) -> u32 {
        (self.mean_frames >> 12) as u32
    }

    /// The throughput that a rate promises at this probability; below a tenth it is none. Probabilities count up to nine tenths, since
    /// collisions make them vary.
    fn throughput_at(&self, rate: usize, probability: i32) -> u64 {
        if probability < share(10, 100) {
            return 0;
        }
        let nanos = 1_000 * OVERHEAD_US / self.mean_frames().max(1) + self.rates[rate].duration_ns;
        let probability = probability.min(share(90, 100)) as u64;
        (100 * (probability * 1_000_000 / u64::from(nanos))) >> 12
    }

    fn throughput(&self, rate: usize) -> u64 {
        self.throughput_at(rate, self.rates[rate].probability)
    }

    /// Puts a rate into a list that falls by throughput and then by probability.
    fn insert(&self, rate: usize, list: &mut [usize; BEST]) {
        let value = |rate: usize| (self.throughput(rate), self.rates[rate].probability);
        let place = list.iter().rposition(|other| value(*other) >= value(rate)).map_or(0, |place| place + 1);
        if place < BEST {
            list[place..].rotate_right(1);
            list[place] = rate;
        }
    }

    /// Ends a window.
    fn rank(&mut self, now: Instant) {
        if let Some(mean) = (self.frames << 12).checked_div(self.aggregates) {
            self.mean_frames += (mean as i32 - self.mean_frames) * 32 / 128;
            (self.aggregates, self.frames) = (0, 0);
        }
        let mut best = [0; BEST];
        for group in 0..self.groups.len() {
            let Group { first, end, .. } = self.groups[group];
            let (mut own, mut faster) = ([first; BEST], 0);
            for rate in (first..end).rev() {
                self.rates[rate].end_window(&mut faster);
                if self.throughput(rate) > 0 {
                    self.insert(rate, &mut best);
                    self.insert(rate, &mut own);
                }
            }
            self.groups[group].best = own;
        }
        self.best = best;
        self.robust = 0;
        for group in 0..self.groups.len() {
            let Group { first, end, .. } = self.groups[group];
            self.groups[group].robust = first;
            (first..end).for_each(|rate| self.consider_as_robust(rate, group));
        }
        self.reduce_streams();
        self.find_candidates();
        (self.ranked, self.probe_from) = (now, now);
    }

    /// Above three quarters the fastest rate is the most robust one, otherwise the most probable one.
    fn consider_as_robust(&mut self, rate: usize, group: usize) {
        let (own, best) = (self.rates[rate], self.rates[self.best[0]]);
        if own.duration_ns < best.duration_ns && own.probability < best.probability {
            return;
        }
        let of_group = self.groups[group].robust;
        let exceeds = |other: usize| {
            if own.probability > share(75, 100) {
                self.throughput(rate) > self.throughput(other)
            } else {
                own.probability > self.rates[other].probability
            }
        };
        let (of_all, of_group) = (exceeds(self.robust), exceeds(of_group));
        if of_all {
            self.robust = rate;
        }
        if of_group {
            self.groups[group].robust = rate;
        }
    }

    /// Takes the most robust rate from a group of fewer streams than the best rate has.
    fn reduce_streams(&mut self) {
        let streams = self.groups[self.group_of(self.best[0])].streams;
        let mut most = 0;
        for group in &self.groups {
            let throughput = self.throughput(group.robust);
            if throughput > most && group.streams < streams {
                (self.robust, most) = (group.robust, throughput);
            }
        }
    }

    /// Fills up the candidates for probes by the fastest and the slowest of the rates in use.
    fn find_candidates(&mut self) {
        let used = [self.best[0], self.best[1], self.robust].map(|rate| self.rates[rate].duration_ns);
        let [fast, slow] = [used.iter().min(), used.iter().max()].map(|time| *time.expect("three times"));
        let step = self.rates[self.best[0]].duration_ns;
        let mut count = self.keep_candidates(Probe::Step, fast, slow);
        while count < CANDIDATES {
            let rate = self.next_step(step);
            self.candidates[Probe::Step as usize][count] = rate;
            if rate.is_none() {
                break;
            }
            count += 1;
        }
        count = self.keep_candidates(Probe::Leap, fast, slow);
        let mut slower = self.keep_candidates(Probe::Slow, fast, slow);
        while count < CANDIDATES {
            let rate = self.next_leap(fast, slow, &mut slower);
            self.candidates[Probe::Leap as usize][count] = rate;
            if rate.is_none() {
                break;
            }
            count += 1;
        }
    }

    /// Keeps the candidates that are still faster than all rates in use, or between them, and returns how many Linux counts: one that stays
    /// at its place is not counted, so that another follows in its place.
    fn keep_candidates(&mut self, kind: Probe, fast: u32, slow: u32) -> usize {
        let mut count = 0;
        for place in 0..CANDIDATES {
            let Some(rate) = self.candidates[kind as usize][place] else { continue };
            let time = self.rates[rate].duration_ns;
            let is_valid = if kind == Probe::Slow { time > fast && time < slow } else { time < fast };
            if is_valid && place == count {
                continue;
            }
            self.candidates[kind as usize][place] = None;
            if is_valid {
                self.candidates[kind as usize][count] = Some(rate);
                count += 1;
            }
        }
        count
    }

    /// Whether a rate is among the candidates of a kind. The list ends at the first empty place.
    fn is_candidate(&self, kind: Probe, rate: usize) -> bool {
        self.candidates[kind as usize].iter().map_while(|rate| *rate).any(|other| other == rate)
    }

    /// The slowest rate of a group that is faster than this.
    fn slowest_below(&self, group: usize, time: u32) -> Option<usize> {
        let Group { first, end, .. } = self.groups[group];
        (first..end).find(|rate| self.rates[*rate].duration_ns < time)
    }

    fn next_group(&mut self, kind: Probe) -> usize {
        let searched = &mut self.searched[kind as usize];
        *searched = (*searched + 1) % self.groups.len();
        *searched
    }

    /// The slowest rate of the next group that is faster than the best one.
    fn next_step(&mut self, time: u32) -> Option<usize> {
        for _ in 0..self.groups.len() {
            let group = self.next_group(Probe::Step);
            let rate = self.slowest_below(group, time);
            if let Some(rate) = rate.filter(|rate| !self.is_candidate(Probe::Step, *rate)) {
                return Some(rate);
            }
        }
        None
    }

    /// A random rate of the next group that is faster than all in use. Those between them that fail now and then become candidates of
    /// their own kind, of which there are `slower` so far.
    fn next_leap(&mut self, fast: u32, slow: u32, slower: &mut usize) -> Option<usize> {
        for _ in 0..self.groups.len() {
            let group = self.next_group(Probe::Leap);
            let limit = if *slower < CANDIDATES { slow } else { fast };
            let Some(rate) = self.slowest_below(group, limit).and_then(|from| self.random_from(group, from))
            else {
                continue;
            };
            let Sample { duration_ns, probability, .. } = self.rates[rate];
            let kind = if duration_ns < fast { Probe::Leap } else { Probe::Slow };
            if self.is_candidate(kind, rate) {
                continue;
            }
            if kind == Probe::Leap {
                return Some(rate);
            }
            if *slower < CANDIDATES && duration_ns < slow && probability <= share(95, 100) {
                self.candidates[Probe::Slow as usize][*slower] = Some(rate);
                *slower += 1;
            }
        }
        None
    }

    /// The next rate of a group in its random order that is not slower than `from`.
    fn random_from(&mut self, group: usize, from: usize) -> Option<usize> {
        let Group { first, end, ref mut cursor, .. } = self.groups[group];
        for _ in 0..self.orders[0].len() {
            let rate = first + self.orders[cursor.0][cursor.1];
            cursor.1 += 1;
            if cursor.1 == self.orders[0].len() {
                *cursor = ((cursor.0 + 1) % COLUMNS, 0);
            }
            if (from..end).contains(&rate) {
                return Some(rate);
            }
        }
        None
    }

    /// Writes the chain of tries: the best three rates and the most robust one.
    fn set_chain(&mut self) {
        let [first, second, third, _] = self.best;
        let stage = |(place, rate): (usize, usize)| Stage { rate, tries: self.tries_of(rate, place > 0) };
        let rates = [(0, first), (1, second), (2, third), (3, self.robust)];
        self.chain = rates.map(stage);
    }

    /// How many tries at a rate fit a segment.
    fn tries_of(&self, rate: usize, is_protected: bool) -> u8 {
        let Sample { probability, duration_ns, .. } = self.rates[rate];
        if probability < share(20, 100) {
            return 2;
        }
        let overhead = if is_protected { OVERHEAD_RTS_US } else { OVERHEAD_US };
        let try_us = overhead + duration_ns * self.mean_frames() / 1_000;
        let [mut cw, most] = CW;
        let mut tries = 0;
        let mut time = 0;
        loop {
            time += try_us + SLOT_US * cw / 2;
            cw = (2 * cw + 1).min(most);
            // The first two are free.
            if tries >= 2 && time >= SEGMENT_US {
                return tries;
            }
            tries += 1;
            if tries == MOST_TRIES {
                return tries;
            }
        }
    }
}

impl Sample {
    /// Takes the share of the window into account. A rate that was never tried is as good as the best `faster` one of its group.
    fn end_window(&mut self, faster: &mut i32) {
        if self.attempts > 0 {
            let share = (u64::from(self.successes) * ONE as u64 / u64::from(self.attempts)) as i32;
            (self.probability, self.before) = filter(self.probability, self.before, share);
            self.is_known = true;
        }
        if self.is_known {
            *faster = (*faster).max(self.probability);
        } else {
            self.probability = self.probability.max(*faster);
        }
        (self.attempts, self.successes) = (0, 0);
    }
}

/// The filter's next output and the last one. The first input is taken as it is.
fn filter(last: i32, before: i32, input: i32) -> (i32, i32) {
    let input = input.max(1);
    if last == 0 {
        return (input, input);
    }
    let sum = (ONE - FILTER[0] - FILTER[1]) * input + FILTER[0] * last + FILTER[1] * before;
    let output = match sum >> 12 {
        ..0 => 1,
        output => output.min(ONE),
    };
    (output, last)
}

/// A random order of the rates of a group, filled as Linux fills it.
fn order(count: usize, random: &mut RandomStream) -> Vec<usize> {
    let mut order = vec![None; count];
    for rate in 0..count {
        let mut place = (rate + random.below(256) as usize) % count;
        while order[place].is_some() {
            place = (place + 1) % count;
        }
        order[place] = Some(rate);
    }
    order.into_iter().flatten().collect()
}

#[cfg(test)]
#[path = "minstrel/tests.rs"]
mod tests;
