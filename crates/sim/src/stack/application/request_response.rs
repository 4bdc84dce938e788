//! Small requests and responses, as keys typed into a remote shell: settings of a [`Dialogue`](super::Dialogue).

use airwatt_base::settings::{SettingError, Settings, in_range};
use airwatt_base::{Size, Span, with_defaults};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::limits::{MAX_SPAN, check_count, check_fresh, check_mean_gap, check_message, fresh_connections};
use super::{ApplicationKind, DialogueConfig, Pace, Pattern, Replies};
use crate::stack::role::Role;

with_defaults! {
    /// Small requests and responses. The default sizes are those of a key typed into a remote shell: 36 to 52 bytes with the
    /// cipher's block and its check (RFC 4253 section 6).
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    pub struct RequestResponseConfig {
        /// Number of requests. Without it as many as the run has time for.
        pub count: Option<u32> = None,
        /// Mean time before the next request.
        pub mean_gap: Span = Span::from_millis(500),
        /// Number of requests before each pause, as the keys of a command before its output is read. Without it there are no pauses.
        pub burst: Option<u32> = None,
        /// Mean time of a pause.
        pub pause: Span = PAUSE,
        /// Data of a request.
        pub request: Size = Size::from_bytes(48),
        /// Data of a response.
        pub response: Size = Size::from_bytes(48),
        /// The end that begins, which sends the requests: `receiver` if the flow's data, whose direction `direction` is, are the
        /// responses, `sender` if they are the requests.
        pub begins: Role = Role::Receiver,
        /// Whether the end that begins opens a connection for each request, from a port of its own, as `curl` in a loop does; `count` says
        /// how many.
        pub fresh: bool = false,
    }
}

const PAUSE: Span = Span::from_secs(10);

impl Settings for RequestResponseConfig {
    fn check(&self) -> Result<(), SettingError> {
        check_count(self.count)?;
        check_fresh(self.fresh, self.count)?;
        check_mean_gap(self.mean_gap)?;
        match self.burst {
            Some(burst) => in_range("burst", burst, 1, 10_000_000)?,
            None if self.pause != PAUSE => {
                return Err(SettingError::no_effect("pause", "requests without a burst", "burst"));
            }
            None => {}
        }
        in_range("pause", self.pause, Span::from_micros(1), MAX_SPAN)?;
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
            pace: self.burst.map_or(Pace::Think(self.mean_gap), |requests| Pace::Bursts {
                mean_gap: self.mean_gap,
                requests,
                pause: self.pause,
            }),
            client: self.begins,
            count: self.count,
            fresh: fresh_connections(self.fresh, self.count),
        })
    }
}
