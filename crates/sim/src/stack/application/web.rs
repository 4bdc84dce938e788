//! Pages over persistent HTTP/1.1 connections: settings of a [`Dialogue`](super::Dialogue).

use airwatt_base::settings::{SettingError, Settings, in_range};
use airwatt_base::{Size, Span, with_defaults};
use airwatt_proto::powersave::Ratio;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::limits::{check_count, check_mean_gap, check_message};
use super::page_objects::SPREAD;
use super::{ApplicationKind, Connection, DialogueConfig, Pace, Pattern, Replies};
use crate::stack::role::Role;

/// More than any browser has to a server.
const MAX_CONNECTIONS: Connection = 16;

with_defaults! {
    /// Pages over persistent connections.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    pub struct WebConfig {
        /// Number of pages. Without it as many as the run has time for.
        pub count: Option<u32> = None,
        /// Number of connections over which the objects of a page are requested. Default 1: one object after another. Browsers have 6 to a
        /// server: the document is requested alone, then each connection requests the next object when it has received one.
        pub connections: Connection = 1,
        /// Mean time to read a page before the next request.
        pub mean_gap: Span = Span::from_millis(500),
        /// Data of a request. Default 400 bytes: one for an object of a page, with the headers that browsers sent about 2010.
        pub request: Size = Size::from_bytes(400),
        /// Standard deviation of the logarithm of an object's size. Default 1.318, that of Barford and Crovella; 0 makes the
        /// objects of a page equal.
        pub object_spread: Ratio = SPREAD,
    }
}

impl Settings for WebConfig {
    fn check(&self) -> Result<(), SettingError> {
        check_count(self.count)?;
        in_range("connections", self.connections, 1, MAX_CONNECTIONS)?;
        check_mean_gap(self.mean_gap)?;
        in_range("object_spread", self.object_spread, Ratio::ZERO, Ratio::from_permille(3_000))?;
        check_message("request", self.request)
    }
}

impl ApplicationKind for WebConfig {
    fn end(&self) -> Result<(), &'static str> {
        self.count.map(|_| ()).ok_or("count")
    }

    fn pattern(&self) -> Pattern {
        Pattern::Dialogue(DialogueConfig {
            replies: Replies::Pages { spread: self.object_spread, connections: self.connections },
            request: self.request.as_bytes() as u32,
            pace: Pace::Think(self.mean_gap),
            client: Role::Receiver,
            count: self.count,
            fresh: None,
        })
    }
}
