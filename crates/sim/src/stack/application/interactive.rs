//! Packets at random times, as somebody types.

use airwatt_base::settings::{SettingError, Settings};
use airwatt_base::{Size, Span, with_defaults};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::limits::{check_mean_gap, check_packet, check_size};
use super::{ApplicationKind, Pattern, SourceConfig};

with_defaults! {
    /// Packets at random times.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    pub struct InteractiveConfig {
        /// How much is sent. Without it the application runs for the whole run.
        pub size: Option<Size> = None,
        /// Mean time between packets; the times are exponentially distributed.
        pub mean_gap: Span = Span::from_millis(500),
        /// Data in a packet.
        pub packet: Size = Size::from_bytes(1_000),
    }
}

impl Settings for InteractiveConfig {
    fn check(&self) -> Result<(), SettingError> {
        check_size(self.size)?;
        check_mean_gap(self.mean_gap)?;
        check_packet(self.packet)
    }
}

impl ApplicationKind for InteractiveConfig {
    fn end(&self) -> Result<(), &'static str> {
        self.size.map(|_| ()).ok_or("size")
    }

    fn packet(&self) -> Option<Size> {
        Some(self.packet)
    }

    fn pattern(&self) -> Pattern {
        Pattern::Source(SourceConfig::Interactive {
            size: self.size.map(Size::as_bytes),
            mean_gap: self.mean_gap,
            packet: self.packet.as_bytes() as u32,
        })
    }
}
