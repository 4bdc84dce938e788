//! Media in blocks: the first seconds at once, then at the rate of the encoding (block sending).

use airwatt_base::settings::{SettingError, Settings, in_range};
use airwatt_base::{Rate, Size, Span, with_defaults};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::limits::{MAX_RATE, MAX_SPAN, MIN_RATE, check_message, check_size};
use super::{ApplicationKind, Pattern, SourceConfig};

/// The shortest time between two blocks of a stream. Each block costs events, and its time is kept for the result.
const MIN_BLOCK_TIME: Span = Span::from_millis(1);

with_defaults! {
    /// Media in blocks.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    pub struct StreamingConfig {
        /// How much is sent, instead of `media`. Without either the stream lasts for the whole run.
        pub size: Option<Size> = None,
        /// Length of the media.
        pub media: Option<Span> = None,
        /// Rate of the encoding.
        pub rate: Rate = Rate::from_bps(250_000),
        /// The part of the media that is sent at once, to fill the player's buffer.
        pub startup: Span = Span::from_secs(10),
        /// Size of the blocks in which the rest is sent.
        pub block: Size = Size::from_bytes(64_000),
    }
}

impl Settings for StreamingConfig {
    fn check(&self) -> Result<(), SettingError> {
        check_size(self.size)?;
        if let Some(media) = self.media {
            in_range("media", media, Span::ZERO, MAX_SPAN)?;
            if self.size.is_some() {
                return Err(SettingError::conflict("media", "size", "either says how much is sent"));
            }
        }
        in_range("rate", self.rate, MIN_RATE, MAX_RATE)?;
        in_range("startup", self.startup, Span::ZERO, MAX_SPAN)?;
        check_message("block", self.block)?;
        let lasts = self.rate.time_for(self.block);
        if lasts < MIN_BLOCK_TIME {
            let allowed = format!("at least {MIN_BLOCK_TIME} of the flow's rate");
            return Err(SettingError::out_of_range("block", format!("{} ({lasts})", self.block), allowed));
        }
        Ok(())
    }
}

impl ApplicationKind for StreamingConfig {
    fn end(&self) -> Result<(), &'static str> {
        if self.size.is_some() || self.media.is_some() { Ok(()) } else { Err("media") }
    }

    fn pattern(&self) -> Pattern {
        let bytes_of = |time: Span| {
            let bits = u128::from(self.rate.as_bps()) * u128::from(time.as_nanos()) / 1_000_000_000;
            u64::try_from(bits / 8).unwrap_or(u64::MAX)
        };
        Pattern::Source(SourceConfig::Stream {
            size: self.size.map(Size::as_bytes).or_else(|| self.media.map(bytes_of)),
            rate: self.rate,
            startup: bytes_of(self.startup),
            block: self.block.as_bytes() as u32,
        })
    }
}
