//! Whether averages that somebody measured can be those of a device that sleeps between beacons.

use airwatt_base::Power;

use super::average::{Average, Fit};
use super::{HostMode, Radio};

/// A host whose mode takes more than this many times the current of sleep is awake.
const AWAKE: f64 = 3.0;
/// An average from this share of such a mode's current on is that of a host which is awake.
const BELOW_MODE: f64 = 0.85;
/// From this share of the power of listening on, the radio is awake.
const LISTENS: f64 = 0.6;

impl Radio {
    /// Whether averages can be those of a device that sleeps between beacons, and what a fit on them found be its wake-up.
    ///
    /// # Errors
    /// A sentence that says what does not sleep, or what is impossible.
    pub fn check_fit(&self, averages: &[Average], fit: Fit) -> Result<(), String> {
        let volts = self.voltage.map_or(1.0, airwatt_base::Voltage::as_volts);
        let current = |watts: f64| format!("{:.2} mA", 1e3 * watts / volts);
        for average in averages {
            self.check_asleep(average.power)
                .map_err(|text| format!("dtim{}: {text}", average.dtim_period))?;
        }
        let time_s = if self.wake_up.time.is_zero() { 1e-3 } else { self.wake_up.time.as_secs_f64() };
        let rates = self.transmit_by_rate.iter().map(|(_, power)| *power);
        let most_w = rates.fold(self.transmit, Power::max).as_watts();
        if fit.wake_up_j > most_w * time_s {
            return Err(format!(
                "expected averages that leave a wake-up of {:.2} ms at most {}, which sending takes, got {}: the host stays awake \
                 longer than for a beacon, or the board has a load, which averages of two DTIM periods tell apart",
                1e3 * time_s,
                current(most_w),
                current(fit.wake_up_j / time_s)
            ));
        }
        Ok(())
    }

    /// Whether a power between beacons, or the mean with them, can be that of a radio and a host which sleep.
    ///
    /// # Errors
    /// A sentence that says what does not sleep.
    pub fn check_asleep(&self, power: Power) -> Result<(), String> {
        let volts = self.voltage.map_or(1.0, airwatt_base::Voltage::as_volts);
        let current = |watts: f64| format!("{:.2} mA", 1e3 * watts / volts);
        let (sleep_w, listen_w) = (self.sleep.as_watts(), self.listen.as_watts());
        let awake_modes = || self.modes.iter().filter(|mode| mode.sleep.as_watts() > AWAKE * sleep_w);
        let by_power = |mode: &&HostMode| mode.sleep;
        let least_w = awake_modes().min_by_key(by_power).map(|mode| BELOW_MODE * mode.sleep.as_watts());
        let limit_w = least_w.unwrap_or(f64::MAX).min(LISTENS * listen_w);
        let watts = power.as_watts();
        if watts < limit_w {
            return Ok(());
        }
        let like = awake_modes().filter(|mode| BELOW_MODE * mode.sleep.as_watts() <= watts);
        let who = match like.max_by_key(by_power) {
            Some(mode) if watts < LISTENS * listen_w => {
                let takes = current(mode.sleep.as_watts());
                format!(
                    "the host does not sleep, which takes {takes} in {}, or the board has a load",
                    mode.name
                )
            }
            Some(mode) => format!(
                "the radio is awake, or the board has a load, since no mode of the host takes more than {}",
                current(mode.sleep.as_watts())
            ),
            None => format!("the radio does not sleep; it takes {} to listen", current(listen_w)),
        };
        Err(format!(
            "expected a current of radio and host asleep between beacons, below {}, got {}: {who} (docs/same-current.md)",
            current(limit_w),
            current(watts)
        ))
    }
}
