//! Deep sleep: a device without an association, which connects again for each report.
//!
//! It takes the current of deep sleep between reports and, for each of them, the time awake that booting, scanning, associating and
//! getting an address take. That time depends on the network and on what the device remembers of it, and is no figure of a chip: it is
//! given by the user, or the answer is how long it may be. Left out: the power of transmissions during it, and everything that is sent to
//! the device in the meantime, which is lost.

use serde::Serialize;

/// Deep sleep beside a candidate that stays associated.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DeepSleep {
    /// The longest time awake for each report with which it spends less than the candidate; zero if there is none.
    pub break_even_s: f64,
    /// Mean power with the time that was given.
    pub power_w: Option<f64>,
}

impl DeepSleep {
    /// Compares a device that draws `deep_w` in deep sleep and `awake_w` awake, and reports once in `interval_s`, with one that stays
    /// associated with the mean power `associated_w`. `reconnection_s` is its time awake for each report.
    pub fn beside(
        associated_w: f64,
        (deep_w, awake_w): (f64, f64),
        interval_s: f64,
        reconnection_s: Option<f64>,
    ) -> Self {
        let above_w = awake_w - deep_w;
        let power_w = |awake_s: f64| deep_w + above_w * (awake_s / interval_s).min(1.0);
        Self {
            break_even_s: ((associated_w - deep_w) / above_w * interval_s).min(interval_s).max(0.0),
            power_w: reconnection_s.map(power_w),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_the_break_even_both_spend_the_same() {
        let (deep_w, awake_w) = (16.5e-6, 0.2772);
        let found = DeepSleep::beside(1.05e-3, (deep_w, awake_w), 600.0, None);
        assert_eq!(found.power_w, None);
        let again = DeepSleep::beside(1.05e-3, (deep_w, awake_w), 600.0, Some(found.break_even_s));
        assert!((again.power_w.unwrap() / 1.05e-3 - 1.0).abs() < 1e-12);
        // 2.24 s of 277 mW each ten minutes are 1.03 mW.
        assert!((found.break_even_s - 2.2372).abs() < 1e-3, "{}", found.break_even_s);
    }

    #[test]
    fn who_is_cheaper_than_deep_sleep_has_no_break_even() {
        let found = DeepSleep::beside(10e-6, (16.5e-6, 0.2772), 60.0, Some(100.0));
        assert_eq!((found.break_even_s, found.power_w), (0.0, Some(0.2772)));
    }
}
