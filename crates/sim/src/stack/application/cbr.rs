//! Packets at a constant bit rate.

use airwatt_base::settings::{SettingError, Settings, in_range};
use airwatt_base::{Rate, Size, with_defaults};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::limits::{MAX_RATE, check_packet, check_size};
use super::{ApplicationKind, Pattern, SourceConfig};

with_defaults! {
    /// Packets at a constant bit rate.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    pub struct CbrConfig {
        /// How much is sent. Without it the application runs for the whole run.
        pub size: Option<Size> = None,
        /// Rate of the data.
        pub rate: Rate = Rate::from_bps(250_000),
        /// Data in a packet.
        pub packet: Size = Size::from_bytes(1_000),
    }
}

impl Settings for CbrConfig {
    fn check(&self) -> Result<(), SettingError> {
        check_size(self.size)?;
        // A thing may send a packet an hour.
        in_range("rate", self.rate, Rate::from_bps(1), MAX_RATE)?;
        check_packet(self.packet)
    }
}

impl ApplicationKind for CbrConfig {
    fn end(&self) -> Result<(), &'static str> {
        self.size.map(|_| ()).ok_or("size")
    }

    fn packet(&self) -> Option<Size> {
        Some(self.packet)
    }

    fn pattern(&self) -> Pattern {
        Pattern::Source(SourceConfig::ConstantRate {
            size: self.size.map(Size::as_bytes),
            rate: self.rate,
            packet: self.packet.as_bytes() as u32,
        })
    }
}
