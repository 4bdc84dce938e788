//! ACK-loss detection: a sender that sees its acknowledgements lost halves its window, whatever the congestion control.
//!
//! In a wireless cell the access point's queue drops data on its way down and acknowledgements of data on its way up alike.
//! TCP reacts to the first and is blind to the second, as acknowledgements are cumulative: uploads keep their windows, and
//! downloads starve. The remedy (Hashimoto's thesis, section 2.3, Algorithm 1) sits at the uploading station alone.
//! A lost acknowledgement shows as one that acknowledges more than the receiver's usual number of segments, b. What is
//! missing is counted; a round trip with something counted is followed by one of grace, in which reordering may explain
//! it; then the window is halved. A round trip with a data loss changes nothing: the congestion control has reacted.
//!
//! [`AckLoss`] is the detector beside a [`super::CongestionControl`]; it knows positions and counts and no window. All
//! arithmetic is in integers, and no state is older than two round trips, so that a program in a kernel can mirror it event
//! by event: `tests/vectors/ackloss.csv` holds both to the same decisions.
//!
//! # Readings of what the listing leaves open
//! * Duplicate acknowledgements are no input, so that they do not drag the estimate of b to zero; b is at least 1.
//! * Each acknowledgement counts for zero at least. As listed, one for less than b segments would take one off the count:
//!   [`Counting::Listing`].
//! * A threshold is met when the count reaches it. A count below it stays, from round trip to round trip, as listed.
//! * A round trip ends when everything is acknowledged that had been sent when it began. A timeout begins a new one.
//! * "Packet disorder" is a duplicate acknowledgement whose gap then closes without a retransmission: what it reported
//!   arrived early, and would else have been acknowledged. Each takes one off the count. So does an acknowledgement that comes
//!   late, behind one for more: it was taken for lost. (Here on a path that keeps order there are none; a host with a queue
//!   for each of its processors has them.)
//! * Acknowledgements of what had been sent when a data loss was noticed jump by what the receiver held behind the loss. They
//!   neither count nor enter the estimate.
//!
//! # Known limits
//! * b rounds to 2 when a third of the acknowledgements of a receiver with b = 1 is lost: then losses are hidden.
//! * With b fixed too low every delayed acknowledgement counts as a loss, and the window collapses.
//! * Receivers that stretch their acknowledgements, by offloads or by rules of their own, look like losses:
//!   `ackloss/stretch.rs` has the extension for them, [`AckLossRule::Stretch`].

mod stretch;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod vectors;

use stretch::Stretch;
pub use stretch::StretchConfig;

/// Fractions of a segment in the estimate of b: 2^16.
const SCALE_BITS: u32 = 16;

/// What the estimate of b starts from: every second segment acknowledged (RFC 5681 section 4.2), in 2^-16 segments.
const SMOOTHED_FIRST: u64 = 2 << SCALE_BITS;

/// No acknowledgement counts for more segments than this, so that the average fits 32 bits.
const JUMP_MAX: u64 = 1 << 15;

/// The count goes no further, which is far beyond any threshold, so that it fits 16 bits.
const COUNT_MAX: u64 = 0xffff;

/// How b, the segments that one acknowledgement usually acknowledges, is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum SegmentsPerAck {
    /// By an average of what acknowledgements acknowledge.
    #[default]
    Estimated,
    /// It is so many. The published experiments without estimation have 1.
    Fixed(u32),
}

/// What an acknowledgement for less than b segments does to the count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Counting {
    /// Nothing: the equation in the text, which takes each acknowledgement for itself.
    #[default]
    PerAck,
    /// It takes one off: the listing to the letter.
    Listing,
}

/// What counts as a lost acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum AckLossRule {
    /// Every b segments beyond the first that one acknowledgement acknowledges, as published.
    #[default]
    Published,
    /// The same, as long as the receiver is one that acknowledges regularly and gaps look like losses.
    Stretch(StretchConfig),
}

/// The detector's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckLossConfig {
    /// Lost acknowledgements that halve the window. Default 1, the value that the thesis calls best.
    pub threshold: u32,
    /// Weight of a sample in the estimate of b: 2^-beta_shift, 1 to 10. Default 5: beta = 1/32.
    pub beta_shift: u8,
    /// How b is known. Default by an estimate.
    pub segments_per_ack: SegmentsPerAck,
    /// What small acknowledgements do, by the published rule. Default nothing.
    pub counting: Counting,
    /// What counts as a loss. Default as published.
    pub rule: AckLossRule,
}

impl Default for AckLossConfig {
    fn default() -> Self {
        Self {
            threshold: 1,
            beta_shift: 5,
            segments_per_ack: SegmentsPerAck::default(),
            counting: Counting::default(),
            rule: AckLossRule::default(),
        }
    }
}

impl AckLossConfig {
    /// What is wrong with the settings, as "key = value: what is allowed".
    pub fn check(&self) -> Result<(), String> {
        if !(1..=1000).contains(&self.threshold) {
            return Err(format!("ackloss.threshold = {}: allowed are 1 to 1000", self.threshold));
        }
        if !(1..=10).contains(&self.beta_shift) {
            return Err(format!("ackloss.beta_shift = {}: allowed are 1 to 10", self.beta_shift));
        }
        if let SegmentsPerAck::Fixed(b) = self.segments_per_ack
            && !(1..=1000).contains(&b)
        {
            return Err(format!("ackloss.segments_per_ack = {b}: allowed are 1 to 1000"));
        }
        match self.rule {
            AckLossRule::Published => Ok(()),
            AckLossRule::Stretch(stretch) => stretch.check(),
        }
    }
}

/// What the timestamp that an acknowledgement echoes tells of the one before it (RFC 7323 section 4.3): a receiver echoes the
/// timestamp of the first segment behind its last acknowledgement, whether that arrived or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum TimestampEvidence {
    /// Nothing: there are no timestamps.
    #[default]
    Absent,
    /// The receiver had acknowledged since the last acknowledgement that arrived: one was lost.
    Lost,
    /// It had not, though a later segment has another timestamp: it waited.
    Stretched,
    /// One or the other: all that is acknowledged was sent within one tick of the timestamps' clock.
    Undecided,
}

impl TimestampEvidence {
    /// Reads it from ticks of the timestamps' clock, which wraps: what `first` was sent at, the first segment that is newly
    /// acknowledged, and the `last` one, and the `echo`.
    pub fn from_ticks(first: u32, last: u32, echo: u32) -> Self {
        let later = |than: u32, tick: u32| tick.wrapping_sub(than) as i32 > 0;
        if later(first, echo) {
            Self::Lost
        } else if echo == first && later(first, last) {
            Self::Stretched
        } else {
            Self::Undecided
        }
    }
}

/// An acknowledgement of new data, by positions in the stream: bytes, in whatever origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advance {
    /// First position that was not acknowledged before.
    pub from: u64,
    /// First position that is not acknowledged now.
    pub to: u64,
    /// Behind the highest position that was ever sent.
    pub sent: u64,
    /// Acknowledgements since the one before that moved nothing: duplicates, and those that it had overtaken.
    pub duplicates: u32,
    /// What its timestamp tells, for the extension.
    pub evidence: TimestampEvidence,
}

/// All that a detector keeps, for forms of it that are held to this one (`tests/vectors/ackloss.csv` has these columns).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckLossState {
    /// The average of what an acknowledgement acknowledges, in 2^-16 segments.
    pub smoothed: u64,
    /// b in segments.
    pub b: u64,
    /// Lost acknowledgements counted since the last round trip of grace.
    pub count: u64,
    /// A data loss was noticed in this round trip or, if it is one of grace, the one before.
    pub data_loss: bool,
    /// This is a round trip of grace.
    pub waiting: bool,
    /// The round trip ends when this position is acknowledged.
    pub round_end: u64,
    /// Acknowledgements from below here are about a data loss.
    pub recover: u64,
    /// Share of regular acknowledgements in 2^-15.
    pub regular: u64,
    /// Share of single gaps among those of which no timestamp tells, in 2^-15.
    pub single: u64,
    /// Share of losses among gaps of which a timestamp tells, in 2^-15.
    pub proven: u64,
    /// The last acknowledgement had a gap that counts if the next one has none.
    pub pending: bool,
    /// Lost acknowledgements counted so far.
    pub losses: u64,
    /// Acknowledgements with something missing before them so far.
    pub gaps: u64,
    /// Halvings so far.
    pub halvings: u64,
}

/// The detector of one connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AckLoss {
    config: AckLossConfig,
    mss: u64,
    /// The average of what an acknowledgement acknowledges, in 2^-16 segments.
    smoothed: u64,
    /// b.
    b: u64,
    /// Lost acknowledgements counted in this round trip, and in the one before if this is one of grace.
    count: u64,
    data_loss: bool,
    /// This is a round trip of grace.
    waiting: bool,
    /// The round trip ends when this position is acknowledged.
    round_end: u64,
    /// Acknowledgements from below here are about a data loss.
    recover: u64,
    stretch: Stretch,
    losses: u64,
    gaps: u64,
    halvings: u64,
}

impl AckLoss {
    /// A detector at the beginning of a connection with segments of `mss` bytes.
    pub fn new(config: AckLossConfig, mss: u32) -> Self {
        let b = match config.segments_per_ack {
            SegmentsPerAck::Estimated => SMOOTHED_FIRST >> SCALE_BITS,
            SegmentsPerAck::Fixed(b) => u64::from(b),
        };
        Self {
            config,
            mss: u64::from(mss),
            smoothed: SMOOTHED_FIRST,
            b,
            count: 0,
            data_loss: false,
            waiting: false,
            round_end: 0,
            recover: 0,
            stretch: Stretch::default(),
            losses: 0,
            gaps: 0,
            halvings: 0,
        }
    }

    /// b as it stands: the segments that one acknowledgement is taken to acknowledge.
    pub fn segments_per_ack(&self) -> u32 {
        self.b as u32
    }

    /// Lost acknowledgements counted so far, those excused by disorder taken off.
    pub fn losses(&self) -> u64 {
        self.losses
    }

    /// Acknowledgements with something missing before them, whether it was taken for lost or not.
    pub fn gaps(&self) -> u64 {
        self.gaps
    }

    /// Times the window was to be halved.
    pub fn halvings(&self) -> u64 {
        self.halvings
    }

    /// All that it keeps.
    pub fn state(&self) -> AckLossState {
        let Self { smoothed, b, count, data_loss, waiting, round_end, recover, .. } = *self;
        let Self { losses, gaps, halvings, stretch: Stretch { regular, single, proven, pending }, .. } =
            *self;
        AckLossState {
            smoothed,
            b,
            count,
            data_loss,
            waiting,
            round_end,
            recover,
            regular,
            single,
            proven,
            pending,
            losses,
            gaps,
            halvings,
        }
    }

    /// New data was acknowledged. True if the window is to be halved now.
    pub fn on_ack(&mut self, ack: Advance) -> bool {
        if ack.from >= self.recover {
            self.count_losses(ack);
        }
        if ack.to < self.round_end {
            return false;
        }
        self.round_end = ack.sent;
        self.end_round_trip()
    }

    /// Duplicate acknowledgements told of a data loss, with everything below `sent` sent.
    pub fn on_data_loss(&mut self, sent: u64) {
        self.data_loss = true;
        self.recover = sent;
    }

    /// The retransmission timer expired, with everything below `sent` sent.
    pub fn on_timeout(&mut self, sent: u64) {
        self.on_data_loss(sent);
        self.round_end = sent;
    }

    fn count_losses(&mut self, ack: Advance) {
        let jump = (ack.to - ack.from).min(JUMP_MAX * self.mss);
        let duplicates = u64::from(ack.duplicates);
        let before = self.count;
        match self.config.rule {
            AckLossRule::Published => {
                self.smooth(jump);
                let acks = jump / (self.b * self.mss);
                self.gaps += u64::from(acks.saturating_sub(1) > duplicates);
                self.count = match self.config.counting {
                    Counting::PerAck => self.count + acks.saturating_sub(1),
                    Counting::Listing => (self.count + acks).saturating_sub(1),
                };
                self.count = self.count.saturating_sub(duplicates);
            }
            AckLossRule::Stretch(config) => self.count_gap(&config, jump, duplicates, ack.evidence),
        }
        self.count = self.count.min(COUNT_MAX);
        // Both ways, so that the sum is that of the counts.
        self.losses = (self.losses + self.count).saturating_sub(before);
    }

    /// Algorithm 1's average, s = (1 - beta) s + beta jump, and b, which is s rounded. The fractions are cut off below, so
    /// that a constant jump leaves s above it by less than 2^(beta_shift - 16) segments.
    fn smooth(&mut self, jump: u64) {
        if self.config.segments_per_ack == SegmentsPerAck::Estimated {
            let shift = self.config.beta_shift;
            let sample = (jump << SCALE_BITS) / self.mss;
            self.smoothed = self.smoothed - (self.smoothed >> shift) + (sample >> shift);
            self.b = ((self.smoothed + (1 << (SCALE_BITS - 1))) >> SCALE_BITS).max(1);
        }
    }

    /// Algorithm 1's "once per RTT".
    fn end_round_trip(&mut self) -> bool {
        let seen = self.count >= u64::from(self.config.threshold);
        if !self.waiting {
            self.waiting = seen || self.data_loss;
            return false;
        }
        let halve = seen && !self.data_loss;
        self.halvings += u64::from(halve);
        self.data_loss = false;
        self.count = 0;
        self.waiting = false;
        halve
    }
}
