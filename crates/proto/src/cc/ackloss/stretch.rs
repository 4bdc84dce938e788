//! The extension for receivers that stretch their acknowledgements.
//!
//! Algorithm 1 interprets every acknowledgement of more than b segments as the sign of a lost one. Today's receivers
//! send such acknowledgements without any loss: offloads merge segments before TCP sees them, and a system delays its
//! acknowledgement while the window would not grow, until a busy program reads. Acknowledgements of 7 to 38 segments,
//! one in some hundreds, were observed on a path without any loss; each halves the window. Four rules keep Algorithm 1
//! active if acknowledgements are lost, and disable it otherwise:
//!
//! 1. **A timestamp decides where it can** ([`TimestampEvidence`]). A receiver with timestamps (RFC 7323 section 4.3)
//!    echoes that of the first segment after its *own* last acknowledgement. If that segment is later than the first
//!    one newly acknowledged, an acknowledgement between them was sent and did not arrive: one is lost, whatever b is.
//!    If it is the first one, and later segments have another timestamp, the receiver delayed its acknowledgement:
//!    nothing is lost. Segments within one tick of the clock are ambiguous. The following rules apply to them only
//!    while most of the last eight or so gaps with evidence were losses.
//! 2. **b from regular acknowledgements.** RFC 5681 section 4.2 has every second segment acknowledged, so that a
//!    receiver that keeps to it acknowledges one or two at a time. Only such acknowledgements enter the average:
//!    neither one long stretch nor many losses move b. b is 1 with an average below one and a quarter, and otherwise 2:
//!    a receiver that acknowledges each segment for some round trips, as systems do at the beginning of a connection,
//!    and then every second, is not mistaken for a lossy path.
//! 3. **A receiver must be regular**, for gaps without evidence. The share of acknowledgements of at most two segments
//!    is averaged like b; below the least share (five in eight by default) no gap counts. With a third of the
//!    acknowledgements lost the share stays above it, whereas a receiver that always merges sends hardly any such
//!    acknowledgement.
//! 4. **A gap is one acknowledgement**, for gaps without evidence. Only gaps of one missing acknowledgement count.
//!    Longer gaps are typical of stretched acknowledgements and rare with losses: with a loss rate p only the share p
//!    of gaps is long. The share of single gaps is averaged over about eight gaps; below the least share (a quarter by
//!    default) no gap counts, so that the gaps that look single do not trigger the rule for a receiver that merges a
//!    random number of segments. In addition, the acknowledgement after the gap must cover at most b segments: a change
//!    of the receiver's behaviour lasts for longer than one acknowledgement, and two losses are seldom adjacent.
//!
//! Losses in runs are thus detected by the single losses among them; and as one gap is enough for the default
//! threshold, few are missed. Two limits remain. Without timestamps, a receiver that occasionally merges two
//! acknowledgements cannot be distinguished from ACK loss. A device on the path that thins acknowledgements on purpose
//! (some cable modems, some queues) does lose them, and counts as such.

use airwatt_base::settings::{SettingError, Settings, in_range};
use airwatt_base::with_defaults;

use super::{AckLoss, SCALE_BITS, SegmentsPerAck, TimestampEvidence};

/// The share of everything: 1. Shares then fit 16 bits.
const WHOLE: u64 = 1 << SHARE_BITS;
const SHARE_BITS: u32 = 15;

/// Below this average each segment is acknowledged by itself: one and a quarter, in units of 2^-16.
const SMOOTHED_ONE: u64 = 5 << (SCALE_BITS - 2);

/// Initial shares: single gaps are just frequent enough by default, and losses are as frequent as stretches.
const SINGLE_FIRST: u64 = WHOLE / 4;
const PROVEN_FIRST: u64 = WHOLE / 2;

/// Weight of a gap in the shares of gaps: 2^-3.
const GAP_SHIFT: u8 = 3;

with_defaults! {
    /// The settings of the extension.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct StretchConfig {
        /// Least share of regular acknowledgements for anything to count, in sixteenths, 0 to 16. Default 10.
        pub regular_sixteenths: u8 = 10,
        /// Least share of single gaps among all for anything to count, in sixteenths, 0 to 16. Default 4.
        pub single_sixteenths: u8 = 4,
    }
}

impl Settings for StretchConfig {
    fn check(&self) -> Result<(), SettingError> {
        in_range("regular_sixteenths", self.regular_sixteenths, 0, 16)?;
        in_range("single_sixteenths", self.single_sixteenths, 0, 16)
    }
}

/// State of the extension: shares in units of 2^-15.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    /// Share of regular acknowledgements.
    pub(super) regular: u64,
    /// Share of single gaps among gaps without timestamp evidence.
    pub(super) single: u64,
    /// Share of losses among gaps with timestamp evidence.
    pub(super) proven: u64,
    /// Whether the last acknowledgement had a gap that counts if this one has none.
    pub(super) pending: bool,
}

impl Default for Stretch {
    /// A receiver counts as regular until it proves otherwise. Nothing is known of its gaps: the first one decides.
    fn default() -> Self {
        Self { regular: WHOLE, single: SINGLE_FIRST, proven: PROVEN_FIRST, pending: false }
    }
}

/// Updates an exponentially weighted average of a share.
fn average(share: &mut u64, yes: bool, shift: u8) {
    *share = *share - (*share >> shift) + (if yes { WHOLE } else { 0 } >> shift);
}

impl AckLoss {
    /// Processes an acknowledgement of `jump` bytes, after `duplicates` that a gap which has closed had caused.
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
