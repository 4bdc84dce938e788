//! The schedule of service periods that an access point announces to all of its stations: broadcast target wake time (802.11ax-2021 26.8.3).
//!
//! All of its times are whole time units, which is what beacons can say of them.

use airwatt_base::settings::{SettingError, Settings, in_range};
use airwatt_base::{Span, with_defaults};
use airwatt_dot11::TIME_UNIT;
use airwatt_proto::powersave::WakeRequest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

with_defaults! {
    /// Service periods for all stations that have joined (`broadcast = true` of policy `twt`).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    pub struct WakeSchedule {
        /// Time from the start of one service period to that of the next, rounded down to time units of 1.024 ms. Default ten beacon intervals.
        pub interval: Span = Span::from_micros(1_024_000),
        /// Least time awake in a service period that is not ended early. Default 16.384 ms.
        pub duration: Span = Span::from_micros(16_384),
        /// Whether the access point waits for a frame of a station before it sends to it. Default: it does.
        pub announced: bool = true,
        /// Whether stations send only in answer to Trigger frames, of which the access point sends one to each at the start of a period.
        /// Default: they contend.
        pub trigger_enabled: bool = false,
    }
}

impl WakeSchedule {
    /// What the access point announces.
    pub(crate) fn request(&self) -> WakeRequest {
        let interval = TIME_UNIT * self.interval.whole(TIME_UNIT);
        let request = WakeRequest::nearest(interval, self.duration, self.announced);
        WakeRequest { trigger_enabled: self.trigger_enabled, broadcast: true, ..request }
    }
}

impl Settings for WakeSchedule {
    fn check(&self) -> Result<(), SettingError> {
        in_range("duration", self.duration, Span::from_micros(256), WakeRequest::MAX_DURATION)?;
        let least = self.duration.max(Span::from_millis(10));
        // An interval of more than 2^16 time units is no whole number of them in the element.
        in_range("interval", self.interval, least, TIME_UNIT * u64::from(u16::MAX))?;
        let WakeRequest { interval, duration, .. } = self.request();
        in_range("interval", interval, duration, TIME_UNIT * u64::from(u16::MAX))
    }
}
