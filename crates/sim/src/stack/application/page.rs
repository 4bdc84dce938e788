//! Pages of 2025 over HTTP/1.1, HTTP/2 or HTTP/3: settings of a [`Dialogue`](super::Dialogue).

use airwatt_base::settings::{SettingError, Settings, in_range};
use airwatt_base::{Size, Span, with_defaults};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::limits::{check_count, check_mean_gap};
use super::page_objects::{Device, HttpVersion};
use super::{ApplicationKind, Connection, DialogueConfig, Pace, Pattern, Replies};
use crate::stack::role::Role;

/// More than most pages have.
const MAX_ORIGINS: Connection = 16;

with_defaults! {
    /// Pages with the weights of 2025.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    pub struct PageConfig {
        /// Number of pages. Without it as many as the run has time for.
        pub count: Option<u32> = None,
        /// Mean time to read a page before the next request. Default: 30 s, the reading time of 3GPP2's traffic model (C.R1002-0).
        pub mean_gap: Span = Span::from_secs(30),
        /// The browser: `desktop` or `mobile`, whose pages are lighter.
        pub device: Device = Device::Desktop,
        /// Number of origins among which the objects of a page are divided, each with connections of its own. Default 1; a page of 2025 has 10 to 15
        /// (unsure).
        pub origins: Connection = 1,
        /// The version of HTTP over TCP, by the name that TLS has for it: `h2`, the default, or `http/1.1`. Over QUIC it is HTTP/3.
        pub http: HttpVersion = HttpVersion::Two,
        /// Data of a request. Default 100 bytes: headers that are compressed by their difference from the last ones (RFC 7541), assumed.
        pub request: Size = Size::from_bytes(100),
    }
}

impl Settings for PageConfig {
    fn check(&self) -> Result<(), SettingError> {
        check_count(self.count)?;
        check_mean_gap(self.mean_gap)?;
        in_range("origins", self.origins, 1, MAX_ORIGINS)?;
        in_range("request", self.request, Size::from_bytes(1), Size::from_bytes(65_000))
    }
}

impl ApplicationKind for PageConfig {
    fn end(&self) -> Result<(), &'static str> {
        self.count.map(|_| ()).ok_or("count")
    }

    fn pattern(&self) -> Pattern {
        Pattern::Dialogue(DialogueConfig {
            replies: Replies::PagesOf2025 { device: self.device, origins: self.origins, http: self.http },
            request: self.request.as_bytes() as u32,
            pace: Pace::Think(self.mean_gap),
            client: Role::Receiver,
            count: self.count,
            fresh: None,
        })
    }
}
