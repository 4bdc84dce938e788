//! The power of a radio's states and the cost of its transitions, as parameters of the models of Hashimoto 2013.
//!
//! Hashimoto 2013, tables 3.3 and 4.2. Every state has one power, every transition one power and one time. The default
//! is the AR5004 of the thesis. Profiles of other radios are in `radios/` and belong to `airwatt_energy`; here they are
//! plain numbers, because sweeps over a radio's properties are one purpose of the models.
//!
//! Left out: power that depends on the rate or on the transmit power, and states between sleep and listen.

use crate::fields::parameters;
use crate::{ModelError, not_negative, positive};

parameters! {
    /// The powers of a radio.
    pub struct RadioPowers {
        /// P^t, power while sending.
        pub transmit_w: f64 = 1.4,
        /// P^r, power while receiving.
        pub receive_w: f64 = 0.9,
        /// P^l, power while awake and listening.
        pub listen_w: f64 = 0.8,
        /// P^s, power while asleep.
        pub sleep_w: f64 = 0.016,
        /// P^as, power during the transition to sleep.
        pub to_sleep_w: f64 = 0.8,
        /// P^sa, power during the wake-up.
        pub wake_up_w: f64 = 1.4,
        /// T^as, duration of the transition to sleep.
        pub to_sleep_s: f64 = 1e-6,
        /// T^sa, duration of the wake-up.
        pub wake_up_s: f64 = 1e-3,
    }
}

impl RadioPowers {
    /// t^st, duration of both transitions, in seconds.
    pub fn transition_s(&self) -> f64 {
        self.to_sleep_s + self.wake_up_s
    }

    /// The energy of both transitions, in joules.
    pub fn transition_j(&self) -> f64 {
        self.to_sleep_w * self.to_sleep_s + self.wake_up_w * self.wake_up_s
    }

    /// Rejects powers and times that are not finite and zero or more.
    pub(crate) fn check(&self) -> Result<(), ModelError> {
        not_negative("transmit_w", self.transmit_w)?;
        not_negative("receive_w", self.receive_w)?;
        positive("listen_w", self.listen_w)?;
        not_negative("sleep_w", self.sleep_w)?;
        not_negative("to_sleep_w", self.to_sleep_w)?;
        not_negative("wake_up_w", self.wake_up_w)?;
        not_negative("to_sleep_s", self.to_sleep_s)?;
        not_negative("wake_up_s", self.wake_up_s)
    }
}
