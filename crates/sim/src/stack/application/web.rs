//! Pages over a persistent HTTP/1.1 connection, objects one after another: settings of a [`Dialogue`](super::Dialogue).

use airwatt_base::settings::{SettingError, Settings};
use airwatt_base::{Size, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::limits::{check_count, check_mean_gap, check_message};
use super::{ApplicationKind, DialogueConfig, Pattern, Replies};

/// Pages over a persistent connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WebConfig {
    /// Number of pages. Without it as many as the run has time for.
    pub count: Option<u32>,
    /// Mean time to read a page before the next request.
    pub mean_gap: Span,
    /// Data of a request. Default 400 bytes: one for an object of a page, with the headers that browsers sent about 2010.
    pub request: Size,
}

impl Default for WebConfig {
    fn default() -> Self {
        Self { count: None, mean_gap: Span::from_millis(500), request: Size::from_bytes(400) }
    }
}

impl Settings for WebConfig {
    fn check(&self) -> Result<(), SettingError> {
        check_count(self.count)?;
        check_mean_gap(self.mean_gap)?;
        check_message("request", self.request)
    }
}

impl ApplicationKind for WebConfig {
    fn end(&self) -> Result<(), &'static str> {
        self.count.map(|_| ()).ok_or("count")
    }

    fn pattern(&self) -> Pattern {
        Pattern::Dialogue(DialogueConfig {
            replies: Replies::Pages,
            request: self.request.as_bytes() as u32,
            think: self.mean_gap,
            count: self.count,
        })
    }
}
