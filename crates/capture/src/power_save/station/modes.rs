//! The power-management modes of a station over time, as the PM bits of its frames show them.

use airwatt_base::Instant;

use crate::power_save::Mark;
use crate::power_save::record::ModeSpan;

/// The present mode, and the times of those before.
#[derive(Clone, Debug, Default)]
pub(in crate::power_save) struct Modes {
    /// Whether the station is in power save, and the frame that said so first. `None` if no frame shows its mode.
    now: Option<(bool, Mark)>,
    /// Up to when the modes are listed.
    listed: Instant,
    /// The modes so far, in order of time.
    pub(in crate::power_save) spans: Vec<ModeSpan>,
}

impl Modes {
    /// Whether the station is in power save, as far as its mode is known.
    pub(super) fn is_asleep(&self) -> Option<bool> {
        self.now.map(|(asleep, _)| asleep)
    }

    /// The frame with which it entered its mode, if it is in that one.
    pub(super) fn since(&self, asleep: bool) -> Option<Mark> {
        self.now.filter(|(now, _)| *now == asleep).map(|(_, mark)| mark)
    }

    /// A frame shows that the station has entered a mode.
    pub(super) fn enter(&mut self, asleep: bool, mark: Mark) {
        self.list(mark.0, true);
        self.now = Some((asleep, mark));
    }

    /// The mode is known no longer: `shown` is the last frame that may show it, and up to `at` it went on by assumption.
    pub(super) fn forget(&mut self, shown: Option<Instant>, at: Instant) {
        let last = shown.map_or(self.listed, |shown| shown.max(self.listed));
        self.list(last.min(at), true);
        self.list(at, false);
        *self = Self { spans: std::mem::take(&mut self.spans), ..Self::default() };
    }

    /// Lists the present mode up to a time. `is_known` says whether a frame of the station follows.
    fn list(&mut self, until: Instant, is_known: bool) {
        let from = std::mem::replace(&mut self.listed, until);
        let Some((in_power_save, _)) = self.now else { return };
        match self.spans.last_mut() {
            _ if until <= from => {}
            Some(last)
                if (last.until, last.in_power_save, last.is_known) == (from, in_power_save, is_known) =>
            {
                last.until = until;
            }
            _ => self.spans.push(ModeSpan { from, until, in_power_save, is_known }),
        }
    }
}
