//! ACK-loss detection: a sender that detects the loss of its acknowledgements halves its window, with any congestion
//! control.
//!
//! In a wireless cell the access point's queue drops both downlink data and the acknowledgements of uplink data. TCP
//! reacts to the former and not to the latter, because acknowledgements are cumulative: uploads keep their windows, and
//! downloads starve. The remedy (Hashimoto's thesis, section 2.3, Algorithm 1) changes the uploading station alone. A
//! lost acknowledgement shows as one that acknowledges more than b segments, the receiver's usual number. The detector
//! counts the missing acknowledgements. A round trip in which any was counted is followed by a round trip of grace, in
//! which reordering may explain the gap; then the window is halved. A round trip with a data loss changes nothing,
//! because the congestion control has already reacted.
//!
//! [`AckLoss`] is the detector beside a [`super::CongestionControl`]; it works on positions and counts and does not
//! know the window. All arithmetic is in integers, and no state is older than two round trips, so that a program in a
//! kernel can mirror it event by event: `tests/vectors/ackloss.csv` holds both implementations to the same decisions.
//!
//! # Interpretation of what the listing leaves open
//! * Duplicate acknowledgements are not an input, so that they do not pull the estimate of b to zero; b is at least 1.
//! * Each acknowledgement adds at least zero to the count. As listed, an acknowledgement of less than b segments would
//!   reduce the count by one: [`Counting::Listing`].
//! * The threshold is met when the count reaches it. A count below it is kept from round trip to round trip, as listed.
//! * A round trip ends when everything is acknowledged that had been sent when it began. A timeout begins a new one.
//! * "Packet disorder" is a duplicate acknowledgement whose gap then closes without a retransmission: the data that it
//!   reported arrived early, and would otherwise have been acknowledged. Each reduces the count by one. So does an
//!   acknowledgement that arrives after one for more data, because it was counted as lost. (On a path that keeps the
//!   order there are none; a host with one queue for each processor has them.)
//! * Acknowledgements of data that had been sent when a data loss was detected jump by the data that the receiver held
//!   beyond the loss. They neither count nor enter the estimate.
//!
//! # Known limits
//! * If a third of the acknowledgements of a receiver with b = 1 is lost, the estimate of b rounds to 2 and losses are
//!   hidden.
//! * If b is fixed too low, every delayed acknowledgement counts as a loss, and the window collapses.
//! * Receivers that stretch their acknowledgements, because of offloads or rules of their own, look like losses:
//!   `ackloss/stretch.rs` contains the extension for them, [`AckLossRule::Stretch`], the default.

mod stretch;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod vectors;

use airwatt_base::settings::{SettingError, Settings, Value, in_range, refused_form};
use airwatt_base::{named_values, with_defaults};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use stretch::Stretch;
pub use stretch::StretchConfig;

/// Fractions of a segment in the estimate of b: 2^16.
const SCALE_BITS: u32 = 16;

/// Initial estimate of b: every second segment is acknowledged (RFC 5681 section 4.2), in 2^-16 segments.
const SMOOTHED_FIRST: u64 = 2 << SCALE_BITS;

/// Largest number of segments for which one acknowledgement counts, so that the average fits 32 bits.
const JUMP_MAX: u64 = 1 << 15;

/// Largest value of the count, far beyond any threshold, so that it fits 16 bits.
const COUNT_MAX: u64 = 0xffff;

/// The source of b, the number of segments that one acknowledgement usually acknowledges: in files `estimated` or a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum SegmentsPerAck {
    /// The average number of segments for each acknowledgement.
    #[default]
    Estimated,
    /// A fixed number. The published experiments without estimation use 1.
    Fixed(u32),
}

impl Serialize for SegmentsPerAck {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Estimated => serializer.serialize_str("estimated"),
            Self::Fixed(b) => serializer.serialize_u32(*b),
        }
    }
}

impl<'de> Deserialize<'de> for SegmentsPerAck {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let found = match &value {
            Value::Text(text) => (text == "estimated").then_some(Self::Estimated),
            Value::Integer(number) => u32::try_from(*number).ok().map(Self::Fixed),
            _ => None,
        };
        found.ok_or_else(|| refused_form("\"estimated\" or a number from 1 to 1000", &value))
    }
}

impl schemars::JsonSchema for SegmentsPerAck {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "SegmentsPerAck".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "anyOf": [{ "const": "estimated" }, { "type": "integer", "minimum": 1, "maximum": 1000 }],
        })
    }
}

/// The effect on the count of an acknowledgement of less than b segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Counting {
    /// It has no effect: the equation in the text, which considers each acknowledgement by itself.
    #[default]
    PerAck,
    /// It reduces the count by one: the listing to the letter.
    Listing,
}

/// The rule that decides which acknowledgements count as lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckLossRule {
    /// Each b segments beyond the first b that one acknowledgement covers count as one lost acknowledgement, as
    /// published.
    Published,
    /// The same, but only while the receiver acknowledges regularly and gaps look like losses.
    Stretch(StretchConfig),
}

named_values! {
    AckLossRule {
        "published" => Self::Published = Self::Published;
        "stretch" => Self::Stretch(_) = Self::Stretch(StretchConfig::default());
    }
}

with_defaults! {
    /// The detector's settings.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    pub struct AckLossConfig {
        /// Lost acknowledgements that halve the window. Default 1, the value that the thesis calls best.
        pub threshold: u32 = 1,
        /// Weight of a sample in the estimate of b: 2^-beta_shift, 1 to 10. Default 5: beta = 1/32.
        pub beta_shift: u8 = 5,
        /// The source of b. Default: an estimate.
        pub segments_per_ack: SegmentsPerAck = SegmentsPerAck::default(),
        /// The effect of small acknowledgements in the published rule. Default: none.
        #[serde(skip)]
        pub counting: Counting = Counting::default(),
        /// The rule that decides what counts as a loss. Default: `stretch`, since today's receivers stretch their
        /// acknowledgements without any loss.
        pub rule: AckLossRule = AckLossRule::Stretch(StretchConfig::default()),
    }
}

impl Settings for AckLossConfig {
    fn check(&self) -> Result<(), SettingError> {
        in_range("threshold", self.threshold, 1, 1_000)?;
        in_range("beta_shift", self.beta_shift, 1, 10)?;
        if let SegmentsPerAck::Fixed(b) = self.segments_per_ack {
            in_range("segments_per_ack", b, 1, 1_000)?;
        }
        match self.rule {
            AckLossRule::Published => Ok(()),
            AckLossRule::Stretch(stretch) => stretch.check().map_err(|error| error.under("rule")),
        }
    }
}

/// Evidence of a lost acknowledgement in the timestamp that the next acknowledgement echoes (RFC 7323 section 4.3). A
/// receiver echoes the timestamp of the first segment after its last acknowledgement, whether that arrived or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum TimestampEvidence {
    /// There are no timestamps.
    #[default]
    Absent,
    /// The receiver had sent an acknowledgement since the last one that arrived: one was lost.
    Lost,
    /// The receiver had not sent one, although a later segment has another timestamp: it delayed its acknowledgement.
    Stretched,
    /// The evidence is ambiguous: all data acknowledged was sent within one tick of the timestamp clock.
    Undecided,
}

impl TimestampEvidence {
    /// Derives the evidence from ticks of the timestamp clock, which wraps: the timestamps of the `first` and the
    /// `last` segment that are newly acknowledged, and the `echo`.
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

/// An acknowledgement of new data, in positions of the stream (bytes from any origin).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advance {
    /// First position that was not acknowledged before.
    pub from: u64,
    /// First position that is not acknowledged now.
    pub to: u64,
    /// Position after the highest one that was ever sent.
    pub sent: u64,
    /// Acknowledgements since the previous one that acknowledged nothing new: duplicates and overtaken ones.
    pub duplicates: u32,
    /// Timestamp evidence, for the extension.
    pub evidence: TimestampEvidence,
}

/// The whole state of a detector, for other implementations that are compared with this one
/// (`tests/vectors/ackloss.csv` has these columns).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckLossState {
    /// Average number of segments for each acknowledgement, in 2^-16 segments.
    pub smoothed: u64,
    /// b in segments.
    pub b: u64,
    /// Lost acknowledgements counted since the last round trip of grace.
    pub count: u64,
    /// Whether a data loss was detected in this round trip or, in a round trip of grace, in the one before.
    pub data_loss: bool,
    /// Whether this is a round trip of grace.
    pub waiting: bool,
    /// The round trip ends when this position is acknowledged.
    pub round_end: u64,
    /// Acknowledgements from below this position concern a data loss.
    pub recover: u64,
    /// Share of regular acknowledgements in units of 2^-15.
    pub regular: u64,
    /// Share of single gaps among gaps without timestamp evidence, in units of 2^-15.
    pub single: u64,
    /// Share of losses among gaps with timestamp evidence, in units of 2^-15.
    pub proven: u64,
    /// Whether the last acknowledgement had a gap that counts if the next one has none.
    pub pending: bool,
    /// Lost acknowledgements counted so far.
    pub losses: u64,
    /// Acknowledgements with a gap before them so far.
    pub gaps: u64,
    /// Window halvings so far.
    pub halvings: u64,
}

/// The detector of one connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AckLoss {
    config: AckLossConfig,
    mss: u64,
    /// Average number of segments for each acknowledgement, in 2^-16 segments.
    smoothed: u64,
    /// b in segments.
    b: u64,
    /// Lost acknowledgements counted in this round trip and, in a round trip of grace, in the one before.
    count: u64,
    data_loss: bool,
    /// Whether this is a round trip of grace.
    waiting: bool,
    /// The round trip ends when this position is acknowledged.
    round_end: u64,
    /// Acknowledgements from below this position concern a data loss.
    recover: u64,
    stretch: Stretch,
    losses: u64,
    gaps: u64,
    halvings: u64,
}

impl AckLoss {
    /// Creates a detector for a new connection with segments of `mss` bytes.
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

    /// The current value of b: the number of segments that one acknowledgement is assumed to acknowledge.
    pub fn segments_per_ack(&self) -> u32 {
        self.b as u32
    }

    /// Lost acknowledgements counted so far, less those explained by reordering.
    pub fn losses(&self) -> u64 {
        self.losses
    }

    /// Acknowledgements with a gap before them, whether it counted as a loss or not.
    pub fn gaps(&self) -> u64 {
        self.gaps
    }

    /// Number of window halvings so far.
    pub fn halvings(&self) -> u64 {
        self.halvings
    }

    /// A copy of the whole state.
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

    /// Processes an acknowledgement of new data. Returns true if the window is to be halved now.
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

    /// Duplicate acknowledgements indicated a data loss, with everything below `sent` sent.
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
        // The count may grow or shrink, so that the sum is that of the counts.
        self.losses = (self.losses + self.count).saturating_sub(before);
    }

    /// Updates the average of Algorithm 1, s = (1 - beta) s + beta jump, and b, which is s rounded. Fractions are
    /// truncated, so that with a constant jump s stays above it by less than 2^(beta_shift - 16) segments.
    fn smooth(&mut self, jump: u64) {
        if self.config.segments_per_ack == SegmentsPerAck::Estimated {
            let shift = self.config.beta_shift;
            let sample = (jump << SCALE_BITS) / self.mss;
            self.smoothed = self.smoothed - (self.smoothed >> shift) + (sample >> shift);
            self.b = ((self.smoothed + (1 << (SCALE_BITS - 1))) >> SCALE_BITS).max(1);
        }
    }

    /// The steps that Algorithm 1 takes "once per RTT".
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
