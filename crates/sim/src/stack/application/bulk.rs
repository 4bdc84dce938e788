//! Bulk transfers: everything is available from the start.

use airwatt_base::Size;
use airwatt_base::settings::{SettingError, Settings};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::limits::check_size;
use super::{ApplicationKind, Pattern, SourceConfig};

/// A bulk transfer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BulkConfig {
    /// How much is sent. Without it the transfer lasts for the whole run.
    pub size: Option<Size>,
}

impl Settings for BulkConfig {
    fn check(&self) -> Result<(), SettingError> {
        check_size(self.size)
    }
}

impl ApplicationKind for BulkConfig {
    fn end(&self) -> Result<(), &'static str> {
        self.size.map(|_| ()).ok_or("size")
    }

    fn pattern(&self) -> Pattern {
        Pattern::Source(SourceConfig::Bulk { size: self.size.map(Size::as_bytes) })
    }
}
