//! Small requests and responses, as keys typed into a remote shell: settings of a [`Dialogue`](super::Dialogue).

use airwatt_base::settings::{SettingError, Settings};
use airwatt_base::{Size, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::limits::{check_count, check_fresh, check_mean_gap, check_message};
use super::{ApplicationKind, DialogueConfig, Pace, Pattern, Replies};
use crate::stack::role::Role;

/// Small requests and responses. The default sizes are those of a key typed into a remote shell: 36 to 52 bytes with the
/// cipher's block and its check (RFC 4253 section 6).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RequestResponseConfig {
    /// Number of requests. Without it as many as the run has time for.
    pub count: Option<u32>,
    /// Mean time before the next request.
    pub mean_gap: Span,
    /// Data of a request.
    pub request: Size,
    /// Data of a response.
    pub response: Size,
    /// The end that begins, which sends the requests: `receiver` if the flow's data, whose direction `direction` is, are the
    /// responses, `sender` if they are the requests.
    pub begins: Role,
    /// Whether the end that begins opens a connection for each request, from a port of its own, as `curl` in a loop does; `count` says
    /// how many.
    pub fresh: bool,
}

impl Default for RequestResponseConfig {
    fn default() -> Self {
        let key = Size::from_bytes(48);
        let mean_gap = Span::from_millis(500);
        Self { count: None, mean_gap, request: key, response: key, begins: Role::Receiver, fresh: false }
    }
}

impl Settings for RequestResponseConfig {
    fn check(&self) -> Result<(), SettingError> {
        check_count(self.count)?;
        check_fresh(self.fresh, self.count)?;
        check_mean_gap(self.mean_gap)?;
        check_message("request", self.request)?;
        check_message("response", self.response)
    }
}

impl ApplicationKind for RequestResponseConfig {
    fn end(&self) -> Result<(), &'static str> {
        self.count.map(|_| ()).ok_or("count")
    }

    fn pattern(&self) -> Pattern {
        Pattern::Dialogue(DialogueConfig {
            replies: Replies::Fixed(self.response.as_bytes() as u32),
            request: self.request.as_bytes() as u32,
            pace: Pace::Think(self.mean_gap),
            client: self.begins,
            count: self.count,
            fresh: self.fresh,
        })
    }
}
