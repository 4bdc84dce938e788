//! The settings of BA-TA over target wake time.

use airwatt_base::settings::{SettingError, Settings, in_range};
use airwatt_base::{Span, with_defaults};

use crate::powersave::Ratio;
use crate::powersave::wake_agreement::WakeRequest;

with_defaults! {
    /// Settings of policy `ba-ta-twt`. Where no source is named, the value is ours.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    pub struct BaTaTwtConfig {
        /// Interval of the agreement of a station without traffic. Default 1 s, as that of `twt`.
        pub idle_interval: Span = Span::from_secs(1),
        /// Least duration of a service period. Default 16.384 ms, the least that access points with Linux's driver mt7915 accept.
        pub duration: Span = Span::from_micros(16_384),
        /// Time without traffic after which active mode ends. Default 100 ms, as under `timeout`.
        pub timeout: Span = Span::from_millis(100),
        /// Time for which traffic has to last in active mode before an agreement is asked for it. Default 1 s.
        pub probe: Span = Span::from_secs(1),
        /// Least time between two requests. Default 5 s: the firmware of ath11k removes an agreement in 5 s, and adds one a second.
        pub renegotiate_after: Span = Span::from_secs(5),
        /// Shortest interval between service periods. Default 20 ms, as between BA-TA's triggers.
        pub int_min: Span = Span::from_millis(20),
        /// Longest interval between service periods of traffic. Default 100 ms, as between BA-TA's triggers.
        pub int_max: Span = Span::from_millis(100),
        /// The share of the rate in active mode that an agreement aims at. Default 0.9, which in BA-TA is of the peak rate.
        pub ratio_min: Ratio = Ratio::from_permille(900),
        /// The time after which a station that has to stay awake for its traffic, or was refused, asks again. Default 30 s.
        pub retry_after: Span = Span::from_secs(30),
        /// The time without a packet after which the idle agreement is asked for again. Default 5 s.
        pub forget_after: Span = Span::from_secs(5),
    }
}

impl BaTaTwtConfig {
    /// What the station asks of the access point while it has no traffic.
    pub(in crate::powersave) fn idle_request(&self) -> WakeRequest {
        WakeRequest::nearest(self.idle_interval, self.duration, true)
    }
}

impl Settings for BaTaTwtConfig {
    fn check(&self) -> Result<(), SettingError> {
        let (ms, s) = (Span::from_millis, Span::from_secs);
        in_range("duration", self.duration, Span::from_micros(256), WakeRequest::MAX_DURATION)?;
        // A duration is rounded up to what the element carries.
        let duration = WakeRequest::nearest(s(1), self.duration, true).duration;
        in_range("int_min", self.int_min, duration.max(ms(1)), s(10))?;
        in_range("int_max", self.int_max, self.int_min, s(10))?;
        in_range("idle_interval", self.idle_interval, self.int_min, s(86_400))?;
        in_range("timeout", self.timeout, Span::ZERO, s(3_600))?;
        in_range("probe", self.probe, ms(100), s(3_600))?;
        in_range("renegotiate_after", self.renegotiate_after, ms(100), s(3_600))?;
        in_range("ratio_min", self.ratio_min, Ratio::from_permille(10), Ratio::ONE)?;
        in_range("retry_after", self.retry_after, ms(100), s(3_600))?;
        in_range("forget_after", self.forget_after, ms(100), s(3_600))
    }
}
