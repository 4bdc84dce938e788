//! Packets that a wireless link damages: which ones, by one of four models.
//!
//! * **uniform**: each packet for itself, with one probability.
//! * **two-state** (Donckers 2001, section 5.1): the link is good for a time, then bad for a time, each with its error rate. The
//!   state belongs to the link: both directions are in it together. A packet is met by the state at the start of its
//!   transmission. Lengths are fixed, or drawn between two limits from a symmetric triangle: near the middle most likely.
//! * **Gilbert-Elliott**: the same two states, changed by packets instead of by time, each direction for itself
//!   (Gilbert 1960, Elliott 1963).
//! * **listed**: the packets with these numbers, counted from 1 in each direction (the `ReceiveListErrorModel` of ns-3). For
//!   worked examples and tests.
//!
//! Left out: damage that grows with a packet's length; the sources give rates per packet.

use std::collections::VecDeque;

use airwatt_base::settings::{NoSettings, SettingError, Settings, in_range};
use airwatt_base::{Instant, RandomStream, Span, kinds, with_defaults};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

kinds! {
    /// How a link damages packets. Rates are probabilities per packet, 0 to 1.
    pub enum ErrorConfig by "model" {
        "none" => None(NoSettings), "no packet is damaged";
        "uniform" => Uniform(UniformErrors), "each packet with one probability";
        "two-state" => TwoState(TwoStateErrors), "good and bad times, which both directions share";
        "gilbert-elliott" => GilbertElliott(GilbertElliottErrors),
            "good and bad packets, each direction for itself";
        "listed" => Listed(ListedErrors), "the packets with these numbers";
    }
}

impl Default for ErrorConfig {
    fn default() -> Self {
        Self::None(NoSettings {})
    }
}

fn probabilities(rates: &[(&str, f64)]) -> Result<(), SettingError> {
    rates.iter().try_for_each(|(key, rate)| in_range(key, *rate, 0.0, 1.0))
}

with_defaults! {
    /// Each packet is damaged with one probability.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    pub struct UniformErrors {
        /// Error rate.
        pub error_rate: f64 = 0.01,
    }
}

impl Settings for UniformErrors {
    fn check(&self) -> Result<(), SettingError> {
        probabilities(&[("error_rate", self.error_rate)])
    }
}

with_defaults! {
    /// Good and bad times.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    pub struct TwoStateErrors {
        /// Length of a good time, or its least length.
        pub good: Span = Span::from_secs(10),
        /// Longest good time, if lengths are drawn. Default: all have the length `good`.
        pub good_max: Option<Span> = None,
        /// Length of a bad time, or its least length.
        pub bad: Span = Span::from_millis(100),
        /// Longest bad time, if lengths are drawn. Default: all have the length `bad`.
        pub bad_max: Option<Span> = None,
        /// Error rate in a good time.
        pub good_error_rate: f64 = 0.000_5,
        /// Error rate in a bad time.
        pub bad_error_rate: f64 = 0.8,
    }
}

impl Settings for TwoStateErrors {
    fn check(&self) -> Result<(), SettingError> {
        // A run of over a month is a mistake.
        let month = Span::from_secs(32 * 24 * 3_600);
        let lengths = [("good", "good_max", self.good()), ("bad", "bad_max", self.bad())];
        for (key, key_max, (least, most)) in lengths {
            in_range(key, least, Span::from_micros(1), month)?;
            in_range(key_max, most, least, month)?;
        }
        probabilities(&[("good_error_rate", self.good_error_rate), ("bad_error_rate", self.bad_error_rate)])
    }
}

impl TwoStateErrors {
    /// Shortest and longest good time.
    fn good(&self) -> (Span, Span) {
        (self.good, self.good_max.unwrap_or(self.good))
    }

    /// Shortest and longest bad time.
    fn bad(&self) -> (Span, Span) {
        (self.bad, self.bad_max.unwrap_or(self.bad))
    }
}

with_defaults! {
    /// Good and bad packets.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    pub struct GilbertElliottErrors {
        /// Probability that the packet after a good one is a bad one.
        pub to_bad: f64 = 0.001,
        /// Probability that the packet after a bad one is a good one.
        pub to_good: f64 = 0.1,
        /// Error rate of good packets.
        pub good_error_rate: f64 = 0.000_5,
        /// Error rate of bad packets.
        pub bad_error_rate: f64 = 0.8,
    }
}

impl Settings for GilbertElliottErrors {
    fn check(&self) -> Result<(), SettingError> {
        probabilities(&[
            ("to_bad", self.to_bad),
            ("to_good", self.to_good),
            ("good_error_rate", self.good_error_rate),
            ("bad_error_rate", self.bad_error_rate),
        ])
    }
}

/// The packets with these numbers, counted from 1 in each direction and ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ListedErrors {
    /// Damaged packets towards the station.
    pub listed_down: Vec<u64>,
    /// Damaged packets from the station.
    pub listed_up: Vec<u64>,
}

impl Settings for ListedErrors {
    fn check(&self) -> Result<(), SettingError> {
        for (key, numbers) in [("listed_down", &self.listed_down), ("listed_up", &self.listed_up)] {
            if numbers.first() == Some(&0) || !numbers.is_sorted_by(|a, b| a < b) {
                let allowed = "ascending numbers of packets from 1";
                return Err(SettingError::out_of_range(key, format!("{numbers:?}"), allowed));
            }
        }
        Ok(())
    }
}

/// The errors of one direction of a link.
///
/// Two directions of one link are two of these with the same `link` and seed: the two-state model's times are a function of
/// the seed, so that each direction finds the same state at the same time without asking the other.
#[derive(Clone, Debug)]
pub struct ErrorProcess {
    config: ErrorConfig,
    states: RandomStream,
    packets: RandomStream,
    bad: bool,
    /// When the present state of the two-state model ends.
    until: Instant,
    /// Packets so far.
    count: u64,
    /// Numbers of the packets to come that the list names, the next one first.
    listed: VecDeque<u64>,
}

impl ErrorProcess {
    /// The errors of direction `direction` of link `link`, from a good state on. The two-state model's first good time has a
    /// random share of its length behind it: runs do not begin in step.
    pub fn new(config: ErrorConfig, seed: u64, link: &str, direction: &str) -> Self {
        let mut states = RandomStream::new(seed, &format!("{link}/error-states"));
        let packets = RandomStream::new(seed, &format!("{link}/{direction}/errors"));
        let until = match &config {
            ErrorConfig::TwoState(times) => {
                let whole = draw(&mut states, times.good());
                Instant::ZERO + Span::from_secs_f64(whole.as_secs_f64() * states.unit())
            }
            _ => Instant::FOREVER,
        };
        let listed = match &config {
            ErrorConfig::Listed(packets) => {
                let numbers = if direction == "down" { &packets.listed_down } else { &packets.listed_up };
                numbers.iter().copied().collect()
            }
            _ => VecDeque::new(),
        };
        Self { config, states, packets, bad: false, until, count: 0, listed }
    }

    /// Whether the packet whose transmission begins at `at` is damaged. Times must not go back.
    pub(crate) fn corrupts(&mut self, at: Instant) -> bool {
        let rate = match &self.config {
            ErrorConfig::None(_) => return false,
            ErrorConfig::Listed(_) => {
                self.count += 1;
                let named = self.listed.front() == Some(&self.count);
                if named {
                    self.listed.pop_front();
                }
                return named;
            }
            ErrorConfig::Uniform(uniform) => uniform.error_rate,
            ErrorConfig::TwoState(times) => {
                while self.until <= at {
                    self.bad = !self.bad;
                    let length = if self.bad { times.bad() } else { times.good() };
                    self.until += draw(&mut self.states, length);
                }
                if self.bad { times.bad_error_rate } else { times.good_error_rate }
            }
            ErrorConfig::GilbertElliott(packets) => {
                let changes = self.packets.chance(if self.bad { packets.to_good } else { packets.to_bad });
                self.bad ^= changes;
                if self.bad { packets.bad_error_rate } else { packets.good_error_rate }
            }
        };
        self.packets.chance(rate)
    }
}

/// A length between two limits: the middle of two uniform draws. Equal limits take no draw.
fn draw(stream: &mut RandomStream, (least, most): (Span, Span)) -> Span {
    if least == most {
        return least;
    }
    let share = (stream.unit() + stream.unit()) / 2.0;
    least + Span::from_secs_f64((most - least).as_secs_f64() * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Span = Span::from_millis(1);

    fn two_state(good: (Span, Span), bad: (Span, Span)) -> ErrorConfig {
        ErrorConfig::TwoState(TwoStateErrors {
            good: good.0,
            good_max: Some(good.1),
            bad: bad.0,
            bad_max: Some(bad.1),
            good_error_rate: 0.0,
            bad_error_rate: 1.0,
        })
    }

    /// The share of packets, one a millisecond, that are damaged.
    fn share(config: ErrorConfig, packets: u64) -> f64 {
        let mut model = ErrorProcess::new(config, 1, "link", "down");
        let damaged = (0..packets).filter(|number| model.corrupts(Instant::ZERO + MS * *number)).count();
        damaged as f64 / packets as f64
    }

    /// Each direction counts its own packets.
    #[test]
    fn listed_packets_are_damaged_and_no_others() {
        let config = ErrorConfig::Listed(ListedErrors { listed_down: vec![2, 5], listed_up: vec![1] });
        for (direction, expected) in [("down", vec![2, 5]), ("up", vec![1])] {
            let mut model = ErrorProcess::new(config.clone(), 1, "link", direction);
            let damaged: Vec<u64> = (1..=9).filter(|_| model.corrupts(Instant::ZERO)).collect();
            assert_eq!(damaged, expected);
        }
    }

    #[test]
    fn no_errors_unless_asked_for() {
        assert_eq!(share(ErrorConfig::default(), 10_000).to_bits(), 0);
    }

    /// 200,000 packets: the standard error of a share of 0.1 is below 0.001.
    #[test]
    fn shares_are_those_of_the_models() {
        assert!(
            (share(ErrorConfig::Uniform(UniformErrors { error_rate: 0.1 }), 200_000) - 0.1).abs() < 0.004
        );
        let fixed = two_state((MS * 90, MS * 90), (MS * 10, MS * 10));
        assert!((share(fixed, 200_000) - 0.1).abs() < 0.001);
        let drawn = two_state((MS * 60, MS * 120), (MS * 5, MS * 15));
        assert!((share(drawn, 200_000) - 0.1).abs() < 0.005);
        let gilbert = ErrorConfig::GilbertElliott(GilbertElliottErrors {
            to_bad: 0.01,
            to_good: 0.09,
            good_error_rate: 0.0,
            bad_error_rate: 1.0,
        });
        assert!((share(gilbert, 200_000) - 0.1).abs() < 0.02);
    }

    /// Fixed lengths: after the first good time states alternate to the nanosecond.
    #[test]
    fn fixed_lengths_are_fixed() {
        let mut model =
            ErrorProcess::new(two_state((MS * 70, MS * 70), (MS * 30, MS * 30)), 7, "link", "down");
        let states: Vec<bool> =
            (0..1_000_000_u64).map(|step| model.corrupts(Instant::ZERO + Span::from_micros(step))).collect();
        let runs: Vec<usize> = states.chunk_by(|a, b| a == b).map(<[bool]>::len).collect();
        assert!(!states[0], "a run begins in a good state");
        assert!(runs[0] <= 70_000 && runs.len() > 15);
        for (index, length) in runs[1..runs.len() - 1].iter().enumerate() {
            assert_eq!(*length, if index % 2 == 0 { 30_000 } else { 70_000 });
        }
    }

    /// Both directions are in the same state, however often each asks.
    #[test]
    fn directions_share_the_state() {
        let config = two_state((MS * 20, MS * 60), (MS * 10, MS * 20));
        let mut down = ErrorProcess::new(config.clone(), 3, "link", "down");
        let mut up = ErrorProcess::new(config, 3, "link", "up");
        for step in 0..20_000_u64 {
            let at = Instant::ZERO + MS * step;
            let state = down.corrupts(at);
            if step % 7 == 0 {
                assert_eq!(up.corrupts(at), state);
            }
        }
    }

    /// A symmetric triangle over [0, 1]: a share of 1 - (1 - 2 d)^2 lies within d of the middle.
    #[test]
    fn lengths_are_most_often_near_the_middle() {
        let mut stream = RandomStream::new(1, "draw");
        let draws: Vec<f64> =
            (0..40_000).map(|_| draw(&mut stream, (Span::ZERO, Span::from_secs(1))).as_secs_f64()).collect();
        let within = |distance: f64| {
            draws.iter().filter(|x| (*x - 0.5).abs() < distance).count() as f64 / draws.len() as f64
        };
        assert!((within(0.1) - 0.36).abs() < 0.01);
        assert!((within(0.25) - 0.75).abs() < 0.01);
        assert!(draws.iter().all(|x| (0.0..=1.0).contains(x)));
    }
}
