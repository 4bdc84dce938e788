//! The extension for receivers that stretch their acknowledgements.
//!
//! Algorithm 1 takes every acknowledgement for more than b segments as the sign of a lost one. Today's receivers send such
//! acknowledgements with nothing lost: segments are merged before TCP sees them, and a system waits while its window would
//! not grow, so until a busy program reads. Acknowledgements of 7 to 38 segments, one in some hundreds, were seen on a path
//! without any loss; each halves the window. Four rules keep Algorithm 1 where acknowledgements are lost, and silence it where
//! they are not:
//!
//! 1. **A timestamp decides where it can** ([`TimestampEvidence`]). A receiver with timestamps (RFC 7323 section 4.3) echoes that of the
//!    first segment after its *own* last acknowledgement. If that is a later one than the first segment newly acknowledged, an
//!    acknowledgement between them was sent and did not arrive: one is lost, whatever b is. If it is that first segment's, and
//!    later ones have another, the receiver waited: nothing is lost. Segments of one tick of the clock tell neither; what
//!    follows counts for them only while, of the last eight gaps or so that are told, more were losses than not.
//! 2. **b from regular acknowledgements.** RFC 5681 section 4.2 has every second segment acknowledged, so that a receiver that
//!    keeps to it acknowledges one or two at a time. Only such acknowledgements enter the average: neither one long stretch nor
//!    many losses move b. b is 1 with an average below one and a quarter, else 2: a receiver that acknowledges each segment for
//!    some round trips, as systems do when a connection is young, and then every second, is not taken for a lossy one.
//! 3. **A receiver must be regular**, for what no timestamp tells. The share of acknowledgements for at most two segments is
//!    averaged like b; below the least share (five in eight by default) nothing counts. Losses of a third leave that share
//!    above it, whereas a receiver that merges all the time has hardly any such acknowledgement.
//! 4. **A gap is one acknowledgement**, for what no timestamp tells. Only gaps of one missing acknowledgement count. Longer
//!    ones are what a stretch looks like, and what losses seldom do: with a loss rate p only the share p of gaps is long. The
//!    share of single gaps among all is averaged over about eight; below the least share (a quarter by default) nothing
//!    counts, so that a receiver that merges as many segments as chance has it is not taken by those of its gaps that look
//!    single. And the acknowledgement behind the gap must be for b segments at most: habits change for longer than one, and
//!    two losses are seldom neighbours.
//!
//! Losses in runs are thus found by those that come alone; and as a single gap is enough for the default threshold, little is
//! missed. What remains: without timestamps, a receiver that is regular but for merging now and then exactly two
//! acknowledgements is told from one whose acknowledgements are lost by nothing. And something on the way that thins
//! acknowledgements out on purpose (some cable modems, some queues) loses them as far as anyone can see.

use super::{AckLoss, SCALE_BITS, SegmentsPerAck, TimestampEvidence};

/// One: a share of everything. Shares then fit 16 bits.
const WHOLE: u64 = 1 << SHARE_BITS;
const SHARE_BITS: u32 = 15;

/// Below this average each segment is acknowledged by itself: one and a quarter, in 2^-16.
const SMOOTHED_ONE: u64 = 5 << (SCALE_BITS - 2);

/// What the shares of gaps begin with: single ones as many as are just enough by default, proofs for both sides.
const SINGLE_FIRST: u64 = WHOLE / 4;
const PROVEN_FIRST: u64 = WHOLE / 2;

/// Weight of a gap in the shares of gaps: 2^-3.
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

/// What the extension keeps: shares in 2^-15.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    /// Of regular acknowledgements.
    pub(super) regular: u64,
    /// Of single gaps among those of which no timestamp tells.
    pub(super) single: u64,
    /// Of losses among gaps of which a timestamp tells.
    pub(super) proven: u64,
    /// The last acknowledgement had a gap that counts if this one has none.
    pub(super) pending: bool,
}

impl Default for Stretch {
    /// A receiver counts as regular until it shows otherwise. Of its gaps nothing is known: the first decides.
    fn default() -> Self {
        Self { regular: WHOLE, single: SINGLE_FIRST, proven: PROVEN_FIRST, pending: false }
    }
}

/// Moves an average of a share.
fn average(share: &mut u64, yes: bool, shift: u8) {
    *share = *share - (*share >> shift) + (if yes { WHOLE } else { 0 } >> shift);
}

impl AckLoss {
    /// Books an acknowledgement for `jump` bytes, after `duplicates` that a gap which closed had caused.
    pub(super) fn count_gap(
        &mut self,
        config: &StretchConfig,
        jump: u64,
        duplicates: u64,
        evidence: TimestampEvidence,
    ) {
        let regular = jump <= 2 * self.mss;
        average(&mut self.stretch.regular, regular, self.config.beta_shift);
        let usual = jump <= self.b * self.mss;
        if regular {
            self.smooth(jump);
            if self.config.segments_per_ack == SegmentsPerAck::Estimated {
                self.b = if self.smoothed < SMOOTHED_ONE { 1 } else { 2 };
            }
        }
        let missing = (jump / (self.b * self.mss)).saturating_sub(1);
        let gap = missing.saturating_sub(duplicates);
        self.gaps += u64::from(gap > 0 || evidence == TimestampEvidence::Lost);
        self.count += u64::from(
            std::mem::take(&mut self.stretch.pending) && usual && evidence != TimestampEvidence::Lost,
        );
        match evidence {
            TimestampEvidence::Lost => {
                average(&mut self.stretch.proven, true, GAP_SHIFT);
                self.count += 1;
            }
            TimestampEvidence::Stretched if gap > 0 => average(&mut self.stretch.proven, false, GAP_SHIFT),
            TimestampEvidence::Absent | TimestampEvidence::Undecided if gap > 0 => {
                average(&mut self.stretch.single, gap == 1, GAP_SHIFT);
                let proven = evidence == TimestampEvidence::Absent || self.stretch.proven > PROVEN_FIRST;
                self.stretch.pending = gap == 1 && proven && self.is_credible(config);
            }
            TimestampEvidence::Stretched | TimestampEvidence::Absent | TimestampEvidence::Undecided => {}
        }
        self.count = self.count.saturating_sub(duplicates.saturating_sub(missing));
    }

    fn is_credible(&self, config: &StretchConfig) -> bool {
        let least = |sixteenths: u8| u64::from(sixteenths) << (SHARE_BITS - 4);
        self.stretch.regular >= least(config.regular_sixteenths)
            && self.stretch.single >= least(config.single_sixteenths)
    }
}
