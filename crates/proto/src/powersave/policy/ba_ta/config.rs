//! The settings of BA-TA and of its addition for streams.

use airwatt_base::settings::{self, SettingError, Settings, Value, fields_of, in_range};
use airwatt_base::{Span, with_defaults};
use serde::{Deserialize, Deserializer};

use crate::powersave::Ratio;

with_defaults! {
    /// Settings of BA-TA, by the paper's names; each default is the paper's unless its line says otherwise.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    pub struct BaTaConfig {
        /// Time between two runs of the controller.
        pub t_update: Span = Span::from_millis(100),
        /// Whether the controller runs at beacons: at the first one that comes `t_update` after its last run, or up to half a beacon
        /// interval before that. Otherwise a timer runs it, from the first packet on. The paper says that `t_update` allows for
        /// either.
        pub update_on_beacons: bool = false,
        /// The share of the path's peak rate that the controller aims at.
        pub ratio_min: Ratio = Ratio::from_permille(900),
        /// Shortest time between two triggers.
        pub int_min: Span = Span::from_millis(20),
        /// Longest time between two triggers.
        pub int_max: Span = Span::from_millis(100),
        /// Updates between two changes of the interval.
        pub count_max: u32 = 10,
        /// Number of opportunities for active mode of which one is used although recent attempts brought nothing.
        pub n_max: u32 = 3,
        /// Whether the first opportunity for active mode is used. Otherwise the `n_max`-th is, since nothing is known of active
        /// mode before. The paper gives no initial value of its counter.
        pub attempt_at_once: bool = false,
        /// Whether the smoothed throughput starts from its first sample instead of zero. The paper gives no initial value.
        pub first_sample: bool = false,
        /// How strongly the interval responds to the ratio: the paper's G.
        pub gain: Ratio = Ratio::from_permille(900),
        /// Share of the past in smoothed values.
        pub alpha: Ratio = Ratio::from_permille(900),
        /// The rise of the ratio that active mode has to bring; a fall by twice as much is acted on at once.
        pub gamma: Ratio = Ratio::from_permille(100),
        /// The change of the ratio below which active mode is left. Default `gamma`, as line 40 of the listing has it: active mode
        /// has to go on bringing more.
        pub leave_below: Option<Ratio> = None,
        /// Triggers within one update time that may find nothing before the interval grows.
        pub n_trig_max: u32 = 4,
        /// The growth of the interval in that case.
        pub step_min: Span = Span::from_millis(10),
        /// The share of the air time up to which active mode counts as wasted on a path that is slower than the air. The
        /// paper gives none; 0.9.
        pub util_min: Ratio = Ratio::from_permille(900),
        /// The time without data after which the estimates for a connection are dropped. The paper gives none; 10 s.
        pub forget_after: Span = Span::from_secs(10),
    }
}

impl Settings for BaTaConfig {
    fn check(&self) -> Result<(), SettingError> {
        let (ms, s) = (Span::from_millis, Span::from_secs);
        let (zero, one) = (Ratio::ZERO, Ratio::ONE);
        in_range("t_update", self.t_update, ms(1), s(10))?;
        in_range("ratio_min", self.ratio_min, Ratio::from_permille(10), one)?;
        in_range("int_min", self.int_min, ms(1), s(10))?;
        in_range("int_max", self.int_max, self.int_min, s(10))?;
        in_range("count_max", self.count_max, 1, 1_000)?;
        in_range("n_max", self.n_max, 1, 1_000)?;
        in_range("gain", self.gain, zero, Ratio::from_permille(10_000))?;
        in_range("alpha", self.alpha, zero, Ratio::from_permille(999))?;
        in_range("gamma", self.gamma, zero, one)?;
        if let Some(least) = self.leave_below {
            in_range("leave_below", least, -one, one)?;
        }
        in_range("n_trig_max", self.n_trig_max, 1, 1_000)?;
        in_range("step_min", self.step_min, Span::from_micros(100), s(10))?;
        in_range("util_min", self.util_min, zero, one)?;
        in_range("forget_after", self.forget_after, self.t_update, s(3_600))
    }
}

with_defaults! {
    /// Settings of the addition for streams. The 5 s are the paper's, the rest is ours, since it gives none.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    pub struct StreamConfig {
        /// How long the throughput has to stay stable.
        pub history: Span = Span::from_secs(5),
        /// The time over which each of the compared means is taken.
        pub part: Span = Span::from_secs(1),
        /// The largest spread of these means, as a share of their mean.
        pub tolerance: Ratio = Ratio::from_permille(100),
        /// The multiple of the application's estimated rate at which the estimate is dropped, because it was too low.
        pub surplus: Ratio = Ratio::from_permille(1_200),
    }
}

impl Settings for StreamConfig {
    fn check(&self) -> Result<(), SettingError> {
        in_range("part", self.part, Span::from_millis(10), Span::from_secs(60))?;
        in_range("history", self.history, self.part, Span::from_secs(60))?;
        in_range("tolerance", self.tolerance, Ratio::ZERO, Ratio::ONE)?;
        in_range("surplus", self.surplus, Ratio::ONE, Ratio::from_permille(10_000))
    }
}

/// Settings of BA-TA+Str: those of BA-TA and those for streams, in one table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct BaTaStrConfig {
    /// Those of BA-TA.
    #[serde(flatten)]
    pub ba_ta: BaTaConfig,
    /// Those for streams.
    #[serde(flatten)]
    pub streams: StreamConfig,
}

/// By hand, because serde's `flatten` accepts unknown keys.
impl<'de> Deserialize<'de> for BaTaStrConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (streams, ba_ta) = Value::deserialize(deserializer)?.split(fields_of::<StreamConfig>());
        let both = || -> Result<Self, SettingError> {
            Ok(Self { ba_ta: settings::read(ba_ta)?, streams: settings::read(streams)? })
        };
        both().map_err(settings::into_serde_error)
    }
}

impl Settings for BaTaStrConfig {
    fn check(&self) -> Result<(), SettingError> {
        self.ba_ta.check().and_then(|()| self.streams.check())
    }
}

impl From<BaTaConfig> for (BaTaConfig, Option<StreamConfig>) {
    fn from(config: BaTaConfig) -> Self {
        (config, None)
    }
}

impl From<BaTaStrConfig> for (BaTaConfig, Option<StreamConfig>) {
    fn from(config: BaTaStrConfig) -> Self {
        (config.ba_ta, Some(config.streams))
    }
}
