//! The settings of the detector: on the command line, and as the bytes of `struct ackloss_config` (`bpf/ackloss.h`).
//!
//! Ranges and defaults are those of the detector's own settings ([`AckLossConfig`]), as in the simulator.

use airwatt_base::settings::{self, SettingError, Settings, Value};
use airwatt_proto::cc::{AckLossConfig, AckLossRule, Counting, SegmentsPerAck, StretchConfig};
use clap::Args;
use clap::builder::PossibleValuesParser;
use serde::Serialize;

use crate::failure::Failure;

/// Size of `struct ackloss_config`.
const SIZE: usize = 24;

#[derive(Args)]
pub(super) struct Arguments {
    /// Lost acknowledgements that halve the window
    #[arg(long, value_name = "N", default_value_t = AckLossConfig::default().threshold)]
    threshold: u32,
    /// Weight of a sample in the estimate of b, as a power of two: 5 is the published 1/32
    #[arg(long, value_name = "N", default_value_t = AckLossConfig::default().beta_shift)]
    beta_shift: u8,
    /// Segments that one acknowledgement usually acknowledges: `estimated`, or a number
    #[arg(long = "segments-per-ack", value_name = "N", default_value = "estimated")]
    segments_per_ack: String,
    /// What counts as a loss: every jump beyond the usual, as published, or those of them that timestamps or the
    /// receiver's habits distinguish from stretched acknowledgements
    #[arg(
        long,
        value_parser = PossibleValuesParser::new(AckLossRule::NAMES),
        default_value = AckLossConfig::default().rule.name()
    )]
    rule: String,
}

impl Arguments {
    pub(super) fn config(&self) -> Result<AckLossConfig, Failure> {
        let segments_per_ack = settings::read(Value::from_text(&self.segments_per_ack))
            .map_err(|error| refused(&error.at("segments_per_ack")))?;
        let default = AckLossConfig::default();
        let config = AckLossConfig {
            threshold: self.threshold,
            beta_shift: self.beta_shift,
            segments_per_ack,
            rule: AckLossRule::named(&self.rule).unwrap_or(default.rule),
            ..default
        };
        config.check().map_err(|error| refused(&error))?;
        Ok(config)
    }
}

/// The detector names keys; here they are flags.
fn refused(error: &SettingError) -> Failure {
    Failure::Input(format!("--{}: {}", error.key().replace('_', "-"), error.message()))
}

/// The settings as the programs have them, with a hash of what they were built from.
pub(super) fn to_bytes(config: &AckLossConfig, build: u64) -> [u8; SIZE] {
    let fixed = match config.segments_per_ack {
        SegmentsPerAck::Estimated => 0,
        SegmentsPerAck::Fixed(b) => b,
    };
    let (stretch, shares) = match config.rule {
        AckLossRule::Published => (0, StretchConfig::default()),
        AckLossRule::Stretch(shares) => (1, shares),
    };
    let mut bytes = [0; SIZE];
    bytes[0..4].copy_from_slice(&config.threshold.to_ne_bytes());
    bytes[4..8].copy_from_slice(&fixed.to_ne_bytes());
    bytes[8] = config.beta_shift;
    bytes[9] = u8::from(config.counting == Counting::Listing);
    bytes[10] = stretch;
    bytes[11] = shares.regular_sixteenths;
    bytes[12] = shares.single_sixteenths;
    bytes[16..24].copy_from_slice(&build.to_ne_bytes());
    bytes
}

/// The settings of a program that is loaded, for reading.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct ActiveSettings {
    /// Lost acknowledgements that halve the window.
    pub(super) threshold: u32,
    /// Weight of a sample in the estimate of b.
    pub(super) beta: f64,
    /// b, if it is not estimated.
    pub(super) segments_per_ack: Option<u32>,
    /// What counts as a loss.
    pub(super) rule: AckLossRule,
}

impl ActiveSettings {
    /// b, from the average of what an acknowledgement acknowledges (`ackloss_b`).
    pub(super) fn b(&self, mean: f64) -> u32 {
        match (self.segments_per_ack, self.rule) {
            (Some(b), _) => b,
            (None, AckLossRule::Stretch(_)) => 1 + u32::from(mean >= 1.25),
            (None, AckLossRule::Published) => (mean.round() as u32).max(1),
        }
    }
}

/// Reads the settings of a program; `None` if the bytes are too short for them.
pub(super) fn from_bytes(bytes: &[u8]) -> Option<ActiveSettings> {
    let word = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let fixed = word(4)?;
    Some(ActiveSettings {
        threshold: word(0)?,
        beta: 1.0 / f64::from(1_u32.checked_shl(u32::from(*bytes.get(8)?))?),
        segments_per_ack: (fixed != 0).then_some(fixed),
        rule: match *bytes.get(10)? {
            0 => AckLossRule::Published,
            _ => AckLossRule::Stretch(StretchConfig {
                regular_sixteenths: *bytes.get(11)?,
                single_sixteenths: *bytes.get(12)?,
            }),
        },
    })
}
