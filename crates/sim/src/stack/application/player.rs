//! A video player that adapts the rate to the path, as with DASH and HLS: it asks for one segment after another, each in the
//! rate that a rule chooses, as long as its buffer has room.
//!
//! * `throughput`: the largest rate that is at most 0.9 of the throughput of the last three segments (harmonic mean, from the request to
//!   the last byte), the lowest one for the first segment. The figures are those of dash.js (`ThroughputRule`, `BolaRule`).
//! * `bola`: BOLA-BASIC (Spiteri, Urgaonkar, Sitaraman, INFOCOM 2016). It chooses the rate r with the largest (V (ln(r / r0) + g) - b) / r
//!   from the time b in the buffer alone. V and g are such that it prefers the lowest rate r0 at 10 s, as in dash.js, and the largest one
//!   at the fullest buffer at which it asks. The throughput has no part, not even at the beginning.
//!
//! Playing begins with the first segment, and again with the next one after the buffer has run empty.
//!
//! Left out: segments that differ from their mean rate, segments that are given up and asked for again, audio of its own, players that
//! keep a rate until a better one is certain, and the playlist.

use std::collections::VecDeque;

use airwatt_base::{Instant, Rate, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most rates of a video.
pub(super) const MAX_RATES: usize = 16;
/// The share of the throughput that a player uses.
const SAFETY: f64 = 0.9;
/// Number of segments whose throughput counts.
const SAMPLES: usize = 3;
/// The time in the buffer at which BOLA prefers the lowest rate, in seconds. (dash.js: `MINIMUM_BUFFER_S`)
const LEAST_BUFFER_S: f64 = 10.0;

/// How a player chooses the rate of the next segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AdaptationRule {
    /// By the throughput of the last segments.
    #[default]
    Throughput,
    /// By the time in the buffer.
    Bola,
}

/// The rates of a video, from the lowest on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ladder {
    rates: [Rate; MAX_RATES],
    count: usize,
}

impl Ladder {
    /// These rates, as far as there is room.
    pub(super) fn new(given: &[Rate]) -> Self {
        let mut rates = [Rate::from_bps(0); MAX_RATES];
        let count = given.len().min(MAX_RATES);
        rates[..count].copy_from_slice(&given[..count]);
        Self { rates, count }
    }

    fn rates(&self) -> &[Rate] {
        &self.rates[..self.count]
    }
}

/// What a player plays, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlayerConfig {
    /// The rates of the video.
    pub ladder: Ladder,
    /// How it chooses among them.
    pub rule: AdaptationRule,
    /// Length of a segment.
    pub segment: Span,
    /// What the buffer holds.
    pub buffer: Span,
}

/// What a viewer has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Viewing {
    /// Number of segments that have arrived.
    pub segments: u64,
    /// From the first request until playing began.
    pub startup: Option<Span>,
    /// How often the buffer ran empty.
    pub stalls: u64,
    /// For how long it was empty in all.
    pub stalled: Span,
    /// The time that they play.
    pub media: Span,
    /// Their bits.
    pub bits: u64,
    /// How often the rate changed.
    pub switches: u64,
}

/// A player.
#[derive(Clone, Debug)]
pub(super) struct Player {
    config: PlayerConfig,
    /// The time in the buffer at `since`; it falls while the video plays.
    buffered: Span,
    since: Instant,
    /// The rate of the segment that is asked for or has come last.
    rate: Option<usize>,
    /// Seconds that a bit took, of the last segments.
    costs: VecDeque<f64>,
    began: Instant,
    viewing: Viewing,
}

impl Player {
    pub(super) fn new(config: PlayerConfig) -> Self {
        let (since, began) = (Instant::ZERO, Instant::ZERO);
        let (costs, viewing) = (VecDeque::new(), Viewing::default());
        Self { config, buffered: Span::ZERO, since, rate: None, costs, began, viewing }
    }

    /// What the viewer has seen until `now`.
    pub(super) fn viewing(&self, now: Instant) -> Viewing {
        let mut player = self.clone();
        player.play(now);
        player.viewing
    }

    /// Chooses the rate of the next segment, and returns its bytes.
    pub(super) fn ask(&mut self, now: Instant) -> u32 {
        if self.rate.is_none() {
            (self.began, self.since) = (now, now);
        }
        self.play(now);
        let rates = self.config.ladder.rates();
        let chosen = match self.config.rule {
            AdaptationRule::Throughput => self.by_throughput(rates),
            AdaptationRule::Bola => self.by_buffer(rates),
        };
        self.viewing.switches += u64::from(self.rate.is_some_and(|last| last != chosen));
        self.rate = Some(chosen);
        (bits_of(rates[chosen], self.config.segment) / 8).max(1) as u32
    }

    /// The segment that was asked for at `asked` is there.
    pub(super) fn arrive(&mut self, asked: Instant, now: Instant) {
        self.play(now);
        let rate = self.config.ladder.rates()[self.rate.unwrap_or_default()];
        let bits = bits_of(rate, self.config.segment);
        self.buffered += self.config.segment;
        self.viewing.segments += 1;
        self.viewing.media += self.config.segment;
        self.viewing.bits += bits;
        self.viewing.startup.get_or_insert(now - self.began);
        self.costs.push_back((now - asked).as_secs_f64() / bits.max(1) as f64);
        if self.costs.len() > SAMPLES {
            self.costs.pop_front();
        }
    }

    /// When the buffer has room for another segment.
    pub(super) fn has_room(&self, now: Instant) -> Instant {
        let room = self.config.buffer.saturating_sub(self.config.segment);
        now + self.buffered.saturating_sub(room)
    }

    /// Plays until `now`.
    fn play(&mut self, now: Instant) {
        let passed = now - self.since;
        self.since = now;
        if self.viewing.startup.is_none() {
            return;
        }
        let empty = passed.saturating_sub(self.buffered);
        self.viewing.stalls += u64::from(!empty.is_zero() && !self.buffered.is_zero());
        self.viewing.stalled += empty;
        self.buffered = self.buffered.saturating_sub(passed);
    }

    fn by_throughput(&self, rates: &[Rate]) -> usize {
        if self.costs.is_empty() {
            return 0;
        }
        let throughput = self.costs.len() as f64 / self.costs.iter().sum::<f64>();
        let fits = |rate: &Rate| rate.as_bps() as f64 <= SAFETY * throughput;
        rates.iter().rposition(fits).unwrap_or(0)
    }

    fn by_buffer(&self, rates: &[Rate]) -> usize {
        let utility = |rate: &Rate| (rate.as_bps() as f64 / rates[0].as_bps() as f64).ln();
        let most = rates.last().map_or(0.0, utility);
        let target = self.config.buffer.saturating_sub(self.config.segment).as_secs_f64();
        // The score of the lowest rate has its largest value at the least buffer, and that of the largest rate at the target.
        let g = 1.0 + most / (target / LEAST_BUFFER_S - 1.0);
        let v = LEAST_BUFFER_S / (g - 1.0);
        let score =
            |rate: &Rate| (v * (utility(rate) + g) - self.buffered.as_secs_f64()) / rate.as_bps() as f64;
        let mut best = 0;
        for (index, rate) in rates.iter().enumerate().skip(1) {
            if score(rate) >= score(&rates[best]) {
                best = index;
            }
        }
        best
    }
}

fn bits_of(rate: Rate, time: Span) -> u64 {
    (u128::from(rate.as_bps()) * u128::from(time.as_nanos()) / 1_000_000_000) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEGABIT: u64 = 1_000_000;

    fn config(rule: AdaptationRule) -> PlayerConfig {
        let ladder = Ladder::new(&[1, 2, 4, 8].map(|megabits| Rate::from_bps(megabits * MEGABIT)));
        PlayerConfig { ladder, rule, segment: Span::from_secs(4), buffer: Span::from_secs(30) }
    }

    /// Plays for this time over a path whose rate is a function of time. Returns what was seen, and times and bytes of the requests.
    fn watch(config: PlayerConfig, seconds: u64, path: impl Fn(f64) -> f64) -> (Viewing, Vec<(f64, u32)>) {
        let (mut player, mut now, end) = (Player::new(config), Instant::ZERO, Instant::from_secs(seconds));
        let mut requests = Vec::new();
        while now < end {
            let bytes = player.ask(now);
            requests.push((now.as_secs_f64(), bytes));
            let took = f64::from(bytes) * 8.0 / path(now.as_secs_f64());
            let asked = now;
            now += Span::from_secs_f64(took);
            player.arrive(asked, now);
            now = player.has_room(now);
        }
        (player.viewing(end.max(player.since)), requests)
    }

    /// 5 Mbit/s allow for 4 Mbit/s, the largest rate that is at most 4.5: a first segment of 1 Mbit/s, one switch, and no stall.
    #[test]
    fn the_throughput_chooses_the_largest_rate_that_fits() {
        let (seen, requests) = watch(config(AdaptationRule::Throughput), 600, |_| 5e6);
        assert_eq!((seen.switches, seen.stalls), (1, 0));
        assert_eq!((requests[0].1, requests[1].1), (500_000, 2_000_000));
        // 500 kB at 5 Mbit/s.
        assert_eq!(seen.startup, Some(Span::from_millis(800)));
        // 4.4 Mbit/s do not carry it.
        assert_eq!(watch(config(AdaptationRule::Throughput), 600, |_| 4.4e6).1[5].1, 1_000_000);
    }

    /// Once the buffer is full, one segment of 4 s each 4 s: bytes are rate times duration.
    #[test]
    fn a_full_buffer_asks_once_a_segment() {
        let (seen, requests) = watch(config(AdaptationRule::Throughput), 600, |_| 40e6);
        let late: Vec<f64> = requests.iter().map(|(at, _)| *at).filter(|at| *at > 60.0).collect();
        assert!(late.windows(2).all(|pair| (pair[1] - pair[0] - 4.0).abs() < 1e-6));
        // What was played and what is in the buffer, all but the first at 8 Mbit/s.
        let mean = seen.bits as f64 / seen.media.as_secs_f64();
        assert!(seen.segments > 150 && (mean / 8e6 - 1.0).abs() < 0.01, "{mean}");
    }

    /// The path falls to a tenth for 100 s: the player stalls while a segment that was asked for before comes, and asks for less.
    #[test]
    fn a_buffer_that_runs_empty_is_a_stall() {
        let dip = |at: f64| if (60.0..160.0).contains(&at) { 0.9e6 } else { 9e6 };
        let (seen, requests) = watch(config(AdaptationRule::Throughput), 300, dip);
        assert!(seen.stalls >= 1 && seen.stalled > Span::from_secs(1), "{seen:?}");
        assert!(requests.iter().any(|(at, bytes)| *at > 60.0 && *bytes == 500_000));
        // What has arrived is what was played, nearly 300 s less the startup and the stalls, and what is left.
        let played = Span::from_secs(295) - seen.startup.unwrap() - seen.stalled;
        let left = seen.media - played;
        assert!(left <= Span::from_secs(40), "{left}");
    }

    /// BOLA's choice depends on the buffer alone: the lowest rate up to 10 s, the largest one at 26 s, when there is room for one more
    /// segment, and never a lower one for more in the buffer.
    #[test]
    fn bola_follows_the_buffer() {
        let mut player = Player::new(config(AdaptationRule::Bola));
        let rates = config(AdaptationRule::Bola).ladder;
        let mut choice = |seconds: f64| {
            player.buffered = Span::from_secs_f64(seconds);
            player.by_buffer(rates.rates())
        };
        let chosen: Vec<usize> = (0..=30).map(|seconds| choice(f64::from(seconds))).collect();
        assert!(chosen.windows(2).all(|pair| pair[0] <= pair[1]), "{chosen:?}");
        assert_eq!((chosen[10], chosen[26]), (0, 3), "{chosen:?}");
        assert!(chosen.contains(&1) && chosen.contains(&2), "{chosen:?}");
    }

    /// Between two rates BOLA alternates and uses the path: at 3 Mbit/s its mean is near 3 Mbit/s, where the other rule stays at 2.
    #[test]
    fn bola_uses_a_path_between_two_rates() {
        let (seen, _) = watch(config(AdaptationRule::Bola), 1_800, |_| 3e6);
        let mean = seen.bits as f64 / seen.media.as_secs_f64();
        assert!(seen.stalls == 0 && (mean / 3e6 - 1.0).abs() < 0.05, "{mean}");
        let (other, _) = watch(config(AdaptationRule::Throughput), 1_800, |_| 3e6);
        let mean = other.bits as f64 / other.media.as_secs_f64();
        assert!((mean / 2e6 - 1.0).abs() < 0.01 && other.switches == 1 && seen.switches > 20, "{mean}");
    }
}
