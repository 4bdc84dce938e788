//! The policies under which packets are replayed, by their names.

use airwatt_base::settings::{NoSettings, SettingError};
use airwatt_proto::powersave::PowerSaveConfig;
use airwatt_sim::scenario::{IDEAL, list_ideal, policy_kinds};

/// A policy, or the lower bound of one, and the text that named it.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub(super) name: String,
    pub(super) policy: PowerSaveConfig,
    pub(super) lower_bound: bool,
}

/// The policy of chips: what is reported first if none is seen on the air.
pub(crate) const USUAL_POLICY: &str = "timeout";

pub(super) const ACTIVE: PowerSaveConfig = PowerSaveConfig::Active(NoSettings {});

impl Choice {
    /// The policy of a radio that never sleeps.
    pub(super) fn active() -> Self {
        Self { name: "active".to_owned(), policy: ACTIVE, lower_bound: false }
    }

    /// Whether it is that policy.
    pub(super) fn is_active(&self) -> bool {
        self.policy == ACTIVE && !self.lower_bound
    }

    /// Reads `psm`, `uapsd:interval=40ms` or `ideal`.
    pub(crate) fn parse(text: &str) -> Result<Self, SettingError> {
        let lower_bound = text == IDEAL.name;
        let policy = if lower_bound { ACTIVE } else { text.parse().map_err(list_ideal)? };
        Ok(Self { name: text.to_owned(), policy, lower_bound })
    }
}

/// Whether a policy or the lower bound is replayed if no policy is named. Not replayed are those that need a target wake time agreement:
/// no capture says which agreement its access point would have made.
pub fn is_replayed_by_default(name: &str) -> bool {
    Choice::parse(name).is_ok_and(|choice| choice.policy.wake_request().is_none())
}

/// Reads the names of policies. If there are none, they are those that are replayed by default.
pub(crate) fn choices(names: &[String]) -> Result<Vec<Choice>, SettingError> {
    if names.is_empty() {
        let usual = policy_kinds().map(|kind| kind.name).filter(|name| is_replayed_by_default(name));
        return usual.map(Choice::parse).collect();
    }
    names.iter().map(|name| Choice::parse(name)).collect()
}

#[cfg(test)]
mod tests {
    use airwatt_base::Span;
    use airwatt_proto::powersave::UapsdConfig;

    use super::*;

    #[test]
    fn policies_come_with_their_settings() {
        let parsed = |text: &str| Choice::parse(text).map(|choice| choice.policy);
        assert_eq!(parsed("psm"), Ok(PowerSaveConfig::Psm(NoSettings {})));
        let interval = Span::from_millis(40);
        assert_eq!(parsed("uapsd:interval=40ms"), Ok(PowerSaveConfig::Uapsd(UapsdConfig { interval })));
        for (text, problem) in [
            ("psm:interval=3ms", "no effect with policy \"psm\""),
            ("uapsd:40ms", "for example uapsd:interval=40ms"),
            ("uapsd:interval=5", "unit"),
            ("uapsd:interval=0ms", "expected 1ms to 10s"),
            ("frob:timeout=3ms", "expected active, timeout"),
            ("frob", "psm-throttling or ideal, got"),
        ] {
            let error = parsed(text).unwrap_err().to_string();
            assert!(error.contains(problem), "{text}: {error}");
        }
    }
}
