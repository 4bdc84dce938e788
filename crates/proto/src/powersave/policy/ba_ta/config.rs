//! The parameters of BA-TA and of its addition for streams.

use airwatt_base::Span;

use crate::powersave::{BadOption, Ratio, policy::within};

/// Parameters of BA-TA, by the paper's names; the defaults are the paper's but where they say otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields, default))]
pub struct BaTa {
    /// Time between two runs of the controller.
    pub t_update: Span,
    /// The share of the path's peak rate that is aimed at.
    pub ratio_min: Ratio,
    /// Shortest time between two triggers.
    pub int_min: Span,
    /// Longest time between two triggers.
    pub int_max: Span,
    /// Updates between two changes of the interval.
    pub count_max: u32,
    /// Every how many attempts at active mode one is made although it brought nothing of late.
    pub n_max: u32,
    /// How strongly the interval answers to the ratio: the paper's G.
    pub gain: Ratio,
    /// Share of the past in smoothed values.
    pub alpha: Ratio,
    /// The rise of the ratio that active mode has to bring; a fall by twice as much is acted on at once.
    pub gamma: Ratio,
    /// Triggers of one update time that may find nothing before the interval grows.
    pub n_trig_max: u32,
    /// By how much it grows then.
    pub step_min: Span,
    /// The share of the air time up to which active mode counts as wasted on a path that is slower than the air. The
    /// paper gives none; 0.9.
    pub util_min: Ratio,
    /// The time without data after which what was learnt of a connection is forgotten. The paper gives none; 10 s.
    pub forget_after: Span,
}

impl Default for BaTa {
    fn default() -> Self {
        Self {
            t_update: Span::from_millis(100),
            ratio_min: Ratio::from_permille(900),
            int_min: Span::from_millis(20),
            int_max: Span::from_millis(100),
            count_max: 10,
            n_max: 3,
            gain: Ratio::from_permille(900),
            alpha: Ratio::from_permille(900),
            gamma: Ratio::from_permille(100),
            n_trig_max: 4,
            step_min: Span::from_millis(10),
            util_min: Ratio::from_permille(900),
            forget_after: Span::from_secs(10),
        }
    }
}

impl BaTa {
    /// Checks every value against its range.
    ///
    /// # Errors
    /// The first option whose value is not allowed.
    pub fn check(&self) -> Result<(), BadOption> {
        let (ms, s) = (Span::from_millis, Span::from_secs);
        let (zero, one) = (Ratio::ZERO, Ratio::ONE);
        within("t_update", self.t_update, ms(1), s(10))?;
        within("ratio_min", self.ratio_min, Ratio::from_permille(10), one)?;
        within("int_min", self.int_min, ms(1), s(10))?;
        within("int_max", self.int_max, self.int_min, s(10))?;
        within("count_max", self.count_max, 1, 1_000)?;
        within("n_max", self.n_max, 1, 1_000)?;
        within("gain", self.gain, zero, Ratio::from_permille(10_000))?;
        within("alpha", self.alpha, zero, Ratio::from_permille(999))?;
        within("gamma", self.gamma, zero, one)?;
        within("n_trig_max", self.n_trig_max, 1, 1_000)?;
        within("step_min", self.step_min, Span::from_micros(100), s(10))?;
        within("util_min", self.util_min, zero, one)?;
        within("forget_after", self.forget_after, self.t_update, s(3_600))
    }
}

/// Parameters of the addition for streams. The 5 s are the paper's, the rest is ours, since it gives none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields, default))]
pub struct Streaming {
    /// How long the throughput has to stay as it is.
    pub history: Span,
    /// The time over which each of the means is taken that are compared.
    pub part: Span,
    /// How far they may lie apart, as a share of their mean.
    pub tolerance: Ratio,
    /// At this multiple of the application's rate it wants more than was thought.
    pub surplus: Ratio,
}

impl Default for Streaming {
    fn default() -> Self {
        Self {
            history: Span::from_secs(5),
            part: Span::from_secs(1),
            tolerance: Ratio::from_permille(100),
            surplus: Ratio::from_permille(1_200),
        }
    }
}

impl Streaming {
    /// Checks every value against its range.
    ///
    /// # Errors
    /// The first option whose value is not allowed.
    pub fn check(&self) -> Result<(), BadOption> {
        within("part", self.part, Span::from_millis(10), Span::from_secs(60))?;
        within("history", self.history, self.part, Span::from_secs(60))?;
        within("tolerance", self.tolerance, Ratio::ZERO, Ratio::ONE)?;
        within("surplus", self.surplus, Ratio::ONE, Ratio::from_permille(10_000))
    }
}
