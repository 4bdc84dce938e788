//! The makers of some devices document how a station of theirs keeps an agreement on target wake time, and which agreements it can have.
//!
//! Left out: what no key of a scenario can say, such as the probe by which an ESP32-C6 learns the access point's time. Where a maker does not say
//! whether a device sleeps at EOSP, it does.

use airwatt_base::settings::SettingError;
use airwatt_base::{Span, named_values};

use crate::powersave::wake_agreement::WakeRequest;
use crate::powersave::wake_habits::{OutsidePeriods, WakeHabits};

/// A device whose behaviour is documented.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WakeDevice {
    /// Nordic's documentation of the driver for the nRF70: the device is awake for the whole duration, does not receive DTIM beacons, sends nothing
    /// outside service periods and discards what is left at their end. Durations of 1 to 256 ms, intervals from 1 ms.
    Nrf70,
    /// Silicon Labs, WiSeConnect: two beacons after each period, durations from 8 ms, intervals from 1,024 ms. Whether frames are
    /// sent outside periods is a setting there (`outside`).
    Siwx917,
    /// ST's wiki: unannounced agreements alone. It is awake for the duration and some 16 ms more: 12 ms of its start, 2 ms for the drift of the
    /// clock, and 2.25 ms.
    St67w611,
}

named_values! {
    WakeDevice {
        "nrf70" => Self::Nrf70 = Self::Nrf70;
        "siwx917" => Self::Siwx917 = Self::Siwx917;
        "st67w611" => Self::St67w611 = Self::St67w611;
    }
}

/// The habits and the limits of a device.
pub(super) struct Behaviour {
    pub(super) habits: WakeHabits,
    /// Whether it sleeps at EOSP.
    pub(super) early_end: bool,
    /// The shortest and the longest duration.
    durations: (Span, Span),
    /// The shortest interval.
    interval: Span,
    /// Whether it has announced agreements.
    announces: bool,
}

impl WakeDevice {
    pub(super) const fn behaviour(self) -> Behaviour {
        let any = Behaviour {
            habits: WakeHabits { outside: OutsidePeriods::Sent, beacons_after: 0, overhead: Span::ZERO },
            early_end: true,
            durations: (Span::from_micros(256), WakeRequest::MAX_DURATION),
            interval: Span::from_millis(1),
            announces: true,
        };
        match self {
            Self::Nrf70 => Behaviour {
                habits: WakeHabits { outside: OutsidePeriods::Discarded, ..any.habits },
                early_end: false,
                durations: (Span::from_millis(1), Span::from_millis(256)),
                ..any
            },
            Self::Siwx917 => Behaviour {
                habits: WakeHabits { beacons_after: 2, ..any.habits },
                durations: (Span::from_millis(8), any.durations.1),
                interval: Span::from_millis(1_024),
                ..any
            },
            Self::St67w611 => Behaviour {
                habits: WakeHabits { overhead: Span::from_micros(16_250), ..any.habits },
                early_end: false,
                announces: false,
                ..any
            },
        }
    }

    /// Checks the settings `interval`, `duration` and `announced` against what the device can have.
    pub(super) fn check(self, asked: Span, duration: Span, announced: bool) -> Result<(), SettingError> {
        let Behaviour { durations: (least, most), interval, announces, .. } = self.behaviour();
        let of_device = |expected: String| format!("{expected} (device {})", self.name());
        if duration < least || duration > most {
            let expected = of_device(format!("{least} to {most}"));
            return Err(SettingError::out_of_range("duration", duration, expected));
        }
        if asked < interval {
            let expected = of_device(format!("at least {interval}"));
            return Err(SettingError::out_of_range("interval", asked, expected));
        }
        if announced && !announces {
            return Err(SettingError::out_of_range("announced", true, of_device("false".to_owned())));
        }
        Ok(())
    }
}
