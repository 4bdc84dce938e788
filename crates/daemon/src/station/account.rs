//! What the daemon keeps about the time before it acts and the time since: delays, time asleep, and energy.
//!
//! A driver does not say when its radio sleeps. The time asleep is estimated: with power save on the radio sleeps from a
//! while after each packet until the next one. How long that while is, its *tail*, differs from driver to driver, so that
//! each figure has a band: from the longest to the shortest of [`TAILS`], and 100 ms, mac80211's, as the likely one.
//!
//! Left out: time and energy of the frames themselves, which are the same under every setting as far as this host can see, and
//! the wake-ups for group-addressed frames.

use airwatt_base::{Instant, Span, percentile};
use airwatt_energy::Radio;
use serde::{Deserialize, Serialize};

use super::observer::{
    BUCKETS, Booked, Histogram, REQUESTS, Request, RequestTimes, TAILS, Totals, bucket_end_s,
};

/// Time for which a radio is awake to receive a beacon: the guard time of its clock and a beacon of 1 ms, without changing
/// state.
const BEACON_TIME: Span = Span::from_micros(1_500);
const LIKELY: usize = 1;

/// One period, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Period {
    pub(super) elapsed: u64,
    /// Time with power save on.
    saves: u64,
    /// Time within each tail after a packet, with power save on.
    awake: [u64; 3],
    /// The same with any setting.
    tails: [u64; 3],
    pub(super) packets: u64,
    delays: Vec<u64>,
    /// Waits of peers' packets, and the number of those packets, of which not all could be timed.
    #[serde(default = "no_delays")]
    waits: Vec<u64>,
    #[serde(default)]
    unasked: u64,
    /// Times of requests by [`Request`], with the radio awake and asleep.
    #[serde(default = "no_requests")]
    requests: Vec<[Vec<u64>; 2]>,
}

fn no_delays() -> Vec<u64> {
    vec![0; BUCKETS]
}

fn no_requests() -> Vec<[Vec<u64>; 2]> {
    vec![[no_delays(), no_delays()]; REQUESTS]
}

impl Default for Period {
    fn default() -> Self {
        Self {
            elapsed: 0,
            saves: 0,
            awake: [0; 3],
            tails: [0; 3],
            packets: 0,
            delays: no_delays(),
            waits: no_delays(),
            unasked: 0,
            requests: no_requests(),
        }
    }
}

/// A share or a power: its likely value and its band.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Band {
    pub(super) low: f64,
    pub(super) likely: f64,
    pub(super) high: f64,
}

impl Band {
    fn of(values: [f64; 3]) -> Self {
        let (low, high) = values
            .iter()
            .fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(*value), high.max(*value)));
        Self { low, likely: values[LIKELY], high }
    }
}

/// Percentiles of round trips; each is the upper end of its bucket, at most a quarter above the true value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Delays {
    pub(super) round_trips: u64,
    pub(super) p50_s: Option<f64>,
    pub(super) p95_s: Option<f64>,
    pub(super) p99_s: Option<f64>,
}

impl Delays {
    fn of(buckets: &[u64]) -> Self {
        let (round_trips, [p50_s, p95_s, p99_s]) = percentiles(buckets);
        Self { round_trips, p50_s, p95_s, p99_s }
    }
}

/// What peers waited for this host: percentiles as of [`Delays`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct PeerWaits {
    /// Their packets after a pause of 0.3 s that want something.
    pub(super) packets: u64,
    /// Those whose wait is known, by the time stamps of TCP and of ping.
    pub(super) timed: u64,
    pub(super) p50_s: Option<f64>,
    pub(super) p95_s: Option<f64>,
    /// The 95 % confidence interval of the 95th percentile, if the packets suffice for it.
    pub(super) p95_interval_s: Option<[f64; 2]>,
    pub(super) p99_s: Option<f64>,
}

/// Times of requests of one kind, by the radio when they were sent. Asleep means that power save was on and no packet had come for
/// mac80211's tail.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Requested {
    pub(super) awake: Delays,
    pub(super) asleep: Delays,
}

/// Times of requests of this host that are one packet each.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Requests {
    pub(super) udp: Requested,
    pub(super) ping: Requested,
    pub(super) handshake: Requested,
}

/// A period as documents have it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct PeriodRow {
    pub(super) elapsed_s: f64,
    pub(super) packets: u64,
    pub(super) power_save_share: f64,
    pub(super) asleep_share: Option<Band>,
    pub(super) power_w: Option<Band>,
    pub(super) delay: Delays,
    pub(super) peers: PeerWaits,
    pub(super) requests: Requests,
}

/// Fewer delays say nothing about the slowest in a hundred.
const P99_DELAYS: u64 = 300;

/// Number of delays, and their 50th, 95th and 99th percentile.
fn percentiles(buckets: &[u64]) -> (u64, [Option<f64>; 3]) {
    let count: u64 = buckets.iter().sum();
    let of = |percent| percentile::of_buckets(buckets, percent).map(bucket_end_s);
    (count, [of(50), of(95), (count >= P99_DELAYS).then(|| of(99)).flatten()])
}

/// The 95 % confidence interval of the 95th percentile, by the ranks of [`percentile::interval_ranks`].
fn interval_s(buckets: &[u64]) -> Option<[f64; 2]> {
    let [low, high] = percentile::interval_ranks(buckets.iter().sum(), 95);
    let bucket = |rank| percentile::bucket_of_rank(buckets, rank).map(bucket_end_s);
    Some([bucket(low)?, bucket(high)?])
}

impl Period {
    /// Adds delays of this host's round trips, and of peers' packets, of which there were `unasked`.
    pub(super) fn add_delays(&mut self, delays: &Histogram, waits: &Histogram, unasked: u64) {
        for (own, more) in [(&mut self.delays, delays), (&mut self.waits, waits)] {
            own.iter_mut().zip(more).for_each(|(count, more)| *count += more);
        }
        self.unasked += unasked;
    }

    /// Adds times of requests.
    pub(super) fn add_requests(&mut self, times: &RequestTimes) {
        for (own, more) in self.requests.iter_mut().flatten().zip(times.iter().flatten()) {
            own.iter_mut().zip(more).for_each(|(count, more)| *count += more);
        }
    }

    fn requests(&self) -> Requests {
        let of = |kind: Request| {
            let [awake, asleep] = &self.requests[kind as usize];
            Requested { awake: Delays::of(awake), asleep: Delays::of(asleep) }
        };
        let [udp, ping, handshake] = Request::ALL.map(of);
        Requests { udp, ping, handshake }
    }

    fn peers(&self) -> PeerWaits {
        let (timed, [p50_s, p95_s, p99_s]) = percentiles(&self.waits);
        PeerWaits {
            packets: self.unasked,
            timed,
            p50_s,
            p95_s,
            p95_interval_s: interval_s(&self.waits),
            p99_s,
        }
    }

    /// The share of the time asleep, by tail.
    fn asleep(&self) -> [f64; 3] {
        self.awake.map(|awake| self.saves.saturating_sub(awake) as f64 / self.elapsed.max(1) as f64)
    }

    /// The same if power save had been `on` all the time.
    fn asleep_if(&self, on: bool) -> [f64; 3] {
        let share = |tail: u64| self.elapsed.saturating_sub(tail) as f64 / self.elapsed.max(1) as f64;
        if on { self.tails.map(share) } else { [0.0; 3] }
    }

    /// The share of the time with power save on; `None` before any time has passed.
    pub(super) fn power_save_share(&self) -> Option<f64> {
        (self.elapsed > 0).then(|| self.saves as f64 / self.elapsed as f64)
    }

    pub(super) fn row(&self, radio: Option<&Radio>, beacons: Span, stays_awake: bool) -> PeriodRow {
        let asleep = if stays_awake { [0.0; 3] } else { self.asleep() };
        let saves = self.power_save_share().unwrap_or(0.0);
        let known = self.elapsed > 0;
        PeriodRow {
            elapsed_s: self.elapsed as f64 * 1e-9,
            packets: self.packets,
            power_save_share: saves,
            asleep_share: known.then(|| Band::of(asleep)),
            power_w: radio.filter(|_| known).map(|radio| power(radio, asleep, saves, beacons)),
            delay: Delays::of(&self.delays),
            peers: self.peers(),
            requests: self.requests(),
        }
    }

    /// The power for the same packets if power save had been `on` all the time, and the daemon idle.
    pub(super) fn power_if(&self, radio: &Radio, on: bool, beacons: Span) -> Option<Band> {
        (self.elapsed > 0).then(|| power(radio, self.asleep_if(on), f64::from(u8::from(on)), beacons))
    }

    /// The share of the time for which the kernel's default, power save on without the daemon, keeps the radio awake for the same packets.
    pub(super) fn awake_by_default(&self) -> Option<Band> {
        (self.elapsed > 0).then(|| Band::of(self.asleep_if(true).map(|asleep| 1.0 - asleep)))
    }
}

/// Mean power of a radio that neither sends nor receives packets, by tail.
fn power(radio: &Radio, asleep: [f64; 3], saves: f64, beacons: Span) -> Band {
    let (sleep, listen) = (radio.sleep.as_watts(), radio.listen.as_watts());
    let change = radio.wake_up.energy() + radio.to_sleep.energy();
    let beacon_j = change.as_joules() + (listen - sleep) * BEACON_TIME.as_secs_f64();
    let per_second = saves / beacons.as_secs_f64().max(1e-3);
    Band::of(asleep.map(|asleep| {
        // A radio that is awake anyway pays nothing for a beacon.
        let beacons_w = beacon_j * per_second * if saves > 0.0 { (asleep / saves).min(1.0) } else { 0.0 };
        asleep * sleep + (1.0 - asleep) * listen + beacons_w
    }))
}

/// The account of one interface.
#[derive(Clone, Debug)]
pub(super) struct Account {
    /// Before the daemon acts, and with it.
    pub(super) periods: [Period; 2],
    since: Instant,
    totals: Totals,
    saves: bool,
    booked: Booked,
}

impl Account {
    /// An account that begins with periods of earlier runs.
    pub(super) fn new(periods: [Period; 2], now: Instant, saves: bool) -> Self {
        Self { periods, since: now, totals: Totals::default(), saves, booked: Booked::Before }
    }

    /// Books the time until now, under the setting that was in force.
    pub(super) fn advance(&mut self, totals: Totals, now: Instant) {
        let elapsed = now.saturating_since(self.since).as_nanos();
        let (since, before) = (self.since, std::mem::replace(&mut self.totals, totals));
        self.since = now;
        let Some(period) = self.periods.get_mut(self.booked as usize) else { return };
        period.elapsed += elapsed;
        period.packets += totals.packets.saturating_sub(before.packets);
        if self.saves {
            period.saves += elapsed;
        }
        let (from, until) = (tails_until(&before, since), tails_until(&totals, now));
        for index in 0..TAILS.len() {
            let tail = until[index].saturating_sub(from[index]).as_nanos().min(elapsed);
            period.tails[index] += tail;
            if self.saves {
                period.awake[index] += tail;
            }
        }
    }

    /// Notes the setting and what the time counts for from now on. Call [`Account::advance`] first.
    pub(super) fn set(&mut self, saves: bool, booked: Booked) {
        (self.saves, self.booked) = (saves, booked);
    }
}

/// Time within each tail after a packet, up to `now`.
fn tails_until(totals: &Totals, now: Instant) -> [Span; 3] {
    let since = totals.last.map_or(Span::ZERO, |last| now.saturating_since(last));
    std::array::from_fn(|index| totals.awake[index] + since.min(TAILS[index]))
}

#[cfg(test)]
mod tests {
    use super::super::observer::PERIODS;
    use super::*;

    fn totals(last_ms: u64, packets: u64, awake_ms: [u64; 3]) -> Totals {
        let awake = awake_ms.map(Span::from_millis);
        Totals { packets, last: Some(Instant::from_millis(last_ms)), awake, unasked: [0; PERIODS] }
    }

    #[test]
    fn a_packet_keeps_a_radio_in_power_save_awake_for_its_tail() {
        let mut account = Account::new(Default::default(), Instant::ZERO, true);
        account.set(true, Booked::With);
        // One packet at 1 s.
        account.advance(totals(1_000, 1, [0; 3]), Instant::from_secs(10));
        let row = account.periods[1].row(None, Span::from_millis(100), false);
        let asleep = row.asleep_share.unwrap();
        assert!((asleep.high - 0.998).abs() < 1e-9 && (asleep.likely - 0.99).abs() < 1e-9);
        assert!((asleep.low - 0.975).abs() < 1e-9);
        // Nothing more: asleep all the time.
        account.advance(totals(1_000, 1, [0; 3]), Instant::from_secs(20));
        assert_eq!(account.periods[1].awake[1], 100_000_000);
    }

    /// Another program has the setting from 10 s to 20 s.
    #[test]
    fn the_time_aside_counts_for_nothing() {
        let mut account = Account::new(Default::default(), Instant::ZERO, true);
        account.set(true, Booked::With);
        account.advance(totals(1_000, 1, [0; 3]), Instant::from_secs(10));
        let before = account.periods.clone();
        account.set(false, Booked::Aside);
        account.advance(totals(15_000, 9, [100; 3]), Instant::from_secs(20));
        assert_eq!(account.periods, before);
        account.set(true, Booked::With);
        account.advance(totals(15_000, 9, [100; 3]), Instant::from_secs(30));
        assert_eq!((account.periods[1].elapsed, account.periods[1].packets), (20_000_000_000, 1));
    }

    #[test]
    fn a_radio_in_active_mode_is_awake_and_one_that_only_claims_to_sleep_too() {
        let mut account = Account::new(Default::default(), Instant::ZERO, false);
        account.advance(totals(0, 0, [0; 3]), Instant::from_secs(10));
        let radio = Radio::find("ar5004").unwrap();
        let row = account.periods[0].row(Some(&radio), Span::from_millis(100), false);
        assert_eq!(row.asleep_share, Some(Band { low: 0.0, likely: 0.0, high: 0.0 }));
        assert!((row.power_w.unwrap().likely - radio.listen.as_watts()).abs() < 1e-9);
        account.set(true, Booked::With);
        account.advance(totals(0, 0, [0; 3]), Instant::from_secs(20));
        let period = &account.periods[1];
        assert!(
            period.row(Some(&radio), Span::from_millis(100), true).power_w.unwrap().likely
                > 0.99 * radio.listen.as_watts()
        );
        let sleeping = period.row(Some(&radio), Span::from_millis(100), false).power_w.unwrap();
        let found = period.power_if(&radio, false, Span::from_millis(100)).unwrap();
        assert!(sleeping.high < 0.5 * found.low);
    }

    #[test]
    fn percentiles_need_enough_round_trips() {
        let mut period = Period::default();
        let (mut delays, mut waits) = ([0; BUCKETS], [0; BUCKETS]);
        delays[20] = 99;
        waits[44] = 7;
        period.add_delays(&delays, &waits, 9);
        assert_eq!(Delays::of(&period.delays).p50_s, Some(bucket_end_s(20)));
        assert_eq!(Delays::of(&period.delays).p99_s, None);
        let peers = period.peers();
        assert_eq!((peers.packets, peers.timed, peers.p95_s), (9, 7, Some(bucket_end_s(44))));
        delays[40] = 201;
        period.add_delays(&delays, &[0; BUCKETS], 0);
        assert_eq!(Delays::of(&period.delays).p99_s, Some(bucket_end_s(40)));
    }

    /// One of a daemon that did not time peers yet.
    #[test]
    fn an_older_account_is_read() {
        let mut stored = serde_json::to_value(Period::default()).unwrap();
        let fields = stored.as_object_mut().unwrap();
        assert!(["waits", "unasked", "requests"].iter().all(|name| fields.remove(*name).is_some()));
        assert_eq!(serde_json::from_value::<Period>(stored).unwrap(), Period::default());
    }
}
