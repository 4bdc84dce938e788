//! The extension for receivers that stretch their acknowledgements.
//!
//! Algorithm 1 takes every acknowledgement for more than b segments as the sign of a lost one. Today's receivers send such
//! acknowledgements with nothing lost: segments are merged before TCP sees them, and a system may wait while its window would
//! not grow. Acknowledgements of 7 to 38 segments, one in some hundreds, were seen on a path without any loss; each halves the
//! window. Three rules keep Algorithm 1 where acknowledgements are lost, and silence it where they are not:
//!
//! 1. **b from regular acknowledgements.** RFC 5681 section 4.2 has every second segment acknowledged, so that a receiver that
//!    keeps to it acknowledges one or two at a time. Only such acknowledgements enter the average: neither one long stretch nor
//!    many losses move b.
//! 2. **A receiver must be regular.** The share of acknowledgements for at most two segments is averaged like b; below the
//!    least share (five in eight by default) nothing counts. Losses of a third leave that share above it, whereas a receiver
//!    that merges all the time has hardly any such acknowledgement.
//! 3. **A gap is one acknowledgement.** Only gaps of one missing acknowledgement count. Longer ones are what a stretch looks
//!    like, and what losses seldom do: with a loss rate p only the share p of gaps is long. The share of single gaps among all
//!    is averaged over about eight; below the least share (a quarter by default) nothing counts, so that a receiver that merges
//!    as many segments as chance has it is not taken by those of its gaps that look single.
//!
//! Losses in runs are thus found by those that come alone; and as a single gap is enough for the default threshold, little is
//! missed. What remains: a receiver that is regular but for merging now and then exactly two acknowledgements is told from
//! one whose acknowledgements are lost by nothing that the sender sees here. The timestamp that a receiver echoes would tell
//! (RFC 7323 section 4.3: it is that of the first segment after its last acknowledgement), where its clock is fine enough to
//! tell segments apart.

use super::{AckLoss, SCALE_BITS};

/// One: a share of everything.
const WHOLE: u64 = 1 << SCALE_BITS;

/// Weight of a gap in the share of single ones: 2^-3.
const GAP_SHIFT: u8 = 3;

/// The settings of the extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StretchConfig {
    /// Least share of regular acknowledgements for anything to count, in sixteenths, 0 to 16. Default 10.
    pub regular_sixteenths: u8,
    /// Least share of single gaps among all for anything to count, in sixteenths, 0 to 16. Default 4.
    pub single_sixteenths: u8,
}

impl Default for StretchConfig {
    fn default() -> Self {
        Self { regular_sixteenths: 10, single_sixteenths: 4 }
    }
}

impl StretchConfig {
    pub(super) fn check(&self) -> Result<(), String> {
        for (key, value) in [("regular", self.regular_sixteenths), ("single", self.single_sixteenths)] {
            if value > 16 {
                return Err(format!("ackloss.{key}_sixteenths = {value}: allowed are 0 to 16"));
            }
        }
        Ok(())
    }
}

/// What the extension keeps: shares in 2^-16.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    /// Of regular acknowledgements.
    pub(super) regular: u64,
    /// Of single gaps among all.
    pub(super) single: u64,
}

impl Default for Stretch {
    /// A receiver counts as regular until it shows otherwise.
    fn default() -> Self {
        Self { regular: WHOLE, single: WHOLE }
    }
}

/// Moves an average of a share.
fn average(share: &mut u64, yes: bool, shift: u8) {
    *share = *share - (*share >> shift) + (if yes { WHOLE } else { 0 } >> shift);
}

impl AckLoss {
    /// Books an acknowledgement for `jump` bytes, after `duplicates` that a gap which closed had caused.
    pub(super) fn count_gap(&mut self, config: &StretchConfig, jump: u64, duplicates: u64) {
        let regular = jump <= 2 * self.mss;
        average(&mut self.stretch.regular, regular, self.config.beta_shift);
        if regular {
            self.smooth(jump);
        }
        let missing = (jump / (self.b * self.mss)).saturating_sub(1);
        let gap = missing.saturating_sub(duplicates);
        if gap > 0 {
            average(&mut self.stretch.single, gap == 1, GAP_SHIFT);
        }
        if gap == 1 && self.is_credible(config) {
            self.count += 1;
        }
        self.count = self.count.saturating_sub(duplicates.saturating_sub(missing));
    }

    fn is_credible(&self, config: &StretchConfig) -> bool {
        let least = |sixteenths: u8| u64::from(sixteenths) << (SCALE_BITS - 4);
        self.stretch.regular >= least(config.regular_sixteenths)
            && self.stretch.single >= least(config.single_sixteenths)
    }
}
