//! The settings of target wake time.

use airwatt_base::settings::{SettingError, Settings, in_range};
use airwatt_base::{Span, with_defaults};

use super::WakeDevice;
use crate::powersave::wake_agreement::WakeRequest;
use crate::powersave::wake_habits::{OutsidePeriods, WakeHabits};

/// Packets of a service period that suspend the agreement, unless it is set. One may be all there is; a second one says that there is traffic.
pub(super) const SUSPEND_AT: u32 = 2;

with_defaults! {
    /// Settings of policy `twt`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    pub struct TwtConfig {
        /// Time from the start of one service period to that of the next, rounded down to what the TWT element can carry. Default 1 s.
        pub interval: Span = Span::from_secs(1),
        /// Least time awake in a service period that is not ended early, rounded up to what the element can carry. Default 16.384 ms, the
        /// least that access points with Linux's driver mt7915 accept.
        pub duration: Span = Span::from_micros(16_384),
        /// Whether the access point waits for a frame of the station before it sends. Default: it does.
        pub announced: bool = true,
        /// Whether the station sends only in answer to Trigger frames, of which the access point sends one at the start of each service period.
        /// Frames of the user wait for it. Default: the station contends.
        pub trigger_enabled: bool = false,
        /// Whether the station joins the schedule that its access point announces (`ap.twt_schedule`), which says all of the above. Default: it asks
        /// for an agreement of its own.
        pub broadcast: bool = false,
        /// The device whose behaviour the station has, where its maker documents one: what the keys below say unless they are set, and the
        /// limits of interval and duration. Default: none.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub device: Option<WakeDevice> = None,
        /// Whether the station sleeps as soon as the access point ends the service period (EOSP). Default: it does, unless its device
        /// stays awake for the whole duration.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub early_end: Option<bool> = None,
        /// What becomes of frames of the user outside service periods: they are `sent` at once, `held` for the next period, or held and
        /// `discarded` if they are left at its end. Default `sent`, unless the device says otherwise. In a trigger-enabled agreement all of them wait.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub outside: Option<OutsidePeriods> = None,
        /// Beacons received after each service period, from 0 to 10. Default 0, unless the device says otherwise: a beacon is received after a
        /// period without a frame, for the time.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub beacons_after: Option<u32> = None,
        /// Time for which the device is awake before each service period, beside the guard time and the time that its radio takes to wake up; at
        /// most 1 s. Default 0, unless the device says otherwise.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub overhead: Option<Span> = None,
        /// Time without a packet after which an agreement that was suspended for traffic holds again. Default: none, traffic does not suspend
        /// it.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub resume_after: Option<Span> = None,
        /// Packets received in one service period that suspend the agreement; a frame of the user always does. Only with `resume_after`;
        /// default 2.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub suspend_at: Option<u32> = None,
    }
}

impl TwtConfig {
    /// What the station asks of the access point.
    pub(in crate::powersave) fn request(&self) -> WakeRequest {
        let request = WakeRequest::nearest(self.interval, self.duration, self.announced);
        WakeRequest { trigger_enabled: self.trigger_enabled, broadcast: self.broadcast, ..request }
    }

    /// Whether the station sleeps at EOSP.
    pub(super) fn ends_early(&self) -> bool {
        self.early_end.unwrap_or_else(|| self.device.is_none_or(|device| device.behaviour().early_end))
    }

    /// The habits of the device, but for those that are set.
    pub(super) fn habits(&self) -> WakeHabits {
        let device = self.device.map_or_else(WakeHabits::default, |device| device.behaviour().habits);
        WakeHabits {
            outside: self.outside.unwrap_or(device.outside),
            beacons_after: self.beacons_after.unwrap_or(device.beacons_after),
            overhead: self.overhead.unwrap_or(device.overhead),
        }
    }
}

impl Settings for TwtConfig {
    fn check(&self) -> Result<(), SettingError> {
        in_range("duration", self.duration, Span::from_micros(256), WakeRequest::MAX_DURATION)?;
        let least = self.duration.max(Span::from_millis(1));
        in_range("interval", self.interval, least, Span::from_secs(86_400))?;
        // Rounding may turn an interval of hardly more than the duration into less.
        let WakeRequest { interval, duration, .. } = self.request();
        in_range("interval", interval, duration, Span::from_secs(86_400))?;
        if let Some(resume_after) = self.resume_after {
            in_range("resume_after", resume_after, Span::from_millis(1), Span::from_secs(3_600))?;
        } else if self.suspend_at.is_some() {
            return Err(SettingError::no_effect(
                "suspend_at",
                "an agreement that traffic does not suspend",
                "resume_after",
            ));
        }
        in_range("suspend_at", self.suspend_at.unwrap_or(SUSPEND_AT), 1, 1_000_000)?;
        in_range("beacons_after", self.beacons_after.unwrap_or_default(), 0, 10)?;
        in_range("overhead", self.overhead.unwrap_or_default(), Span::ZERO, Span::from_secs(1))?;
        if self.trigger_enabled && self.outside.is_some_and(|outside| outside != OutsidePeriods::Discarded) {
            let why = "frames of the user wait for Trigger frames";
            return Err(SettingError::conflict("outside", "trigger_enabled", why));
        }
        self.device.map_or(Ok(()), |device| device.check(self.interval, self.duration, self.announced))
    }
}
