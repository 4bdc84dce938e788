//! A message once in each interval, with a reply or without, as a sensor reports.
//!
//! Without a reply it is a [`Source`](super::Source), with one a [`Dialogue`](super::Dialogue) over a connection or
//! answered [`Datagrams`](super::Datagrams). MQTT, CoAP, LwM2M and Matter are the same with the sizes of their keep-alives.

use airwatt_base::settings::{SettingError, Settings, in_range};
use airwatt_base::{Size, Span, with_defaults};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::limits::{MAX_SPAN, check_count, check_fresh, check_packet, fresh_connections};
use super::{ApplicationKind, DialogueConfig, Pace, Pattern, Period, Replies, SourceConfig};
use crate::stack::role::Role;

with_defaults! {
    /// A message once in each interval.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    pub struct PeriodicConfig {
        /// Number of messages. Without it as many as the run has time for.
        pub count: Option<u32> = None,
        /// Time from one message to the next.
        pub interval: Span = Span::from_secs(30),
        /// Data in a message.
        pub packet: Size = Size::from_bytes(60),
        /// Data in the other end's reply. Without it there is none.
        pub reply: Option<Size> = None,
        /// Each message is late by a random time, uniform up to this, which is shorter than the interval.
        pub jitter: Span = Span::ZERO,
        /// When the first message comes, after the flow's start. A flow's `start_spread` draws it for each station.
        pub phase: Span = Span::ZERO,
        /// The end that begins, which sends the messages: `sender` if the flow's data, whose direction `direction` is, are the
        /// messages, `receiver` if they are the replies.
        pub begins: Role = Role::Sender,
        /// Whether the end that begins opens a connection for each message, from a port of its own, as a monitor does; `count` says how many.
        /// It needs a `reply`.
        pub fresh: bool = false,
    }
}

impl Settings for PeriodicConfig {
    fn check(&self) -> Result<(), SettingError> {
        check_count(self.count)?;
        check_fresh(self.fresh, self.count)?;
        check_interval("interval", self.interval)?;
        check_packet(self.packet)?;
        in_range("phase", self.phase, Span::ZERO, MAX_SPAN)?;
        if self.jitter >= self.interval {
            let allowed = format!("less than interval, {}", self.interval);
            return Err(SettingError::out_of_range("jitter", self.jitter, allowed));
        }
        match self.reply {
            Some(reply) => in_range("reply", reply, Size::from_bytes(1), Size::from_bytes(65_000)),
            None if self.fresh => {
                Err(SettingError::missing("reply", "a size: a fresh connection ends with its reply"))
            }
            None if self.begins == Role::Receiver => Err(SettingError::missing(
                "reply",
                "a size: with begins \"receiver\" the flow's data are replies",
            )),
            None => Ok(()),
        }
    }
}

impl ApplicationKind for PeriodicConfig {
    fn end(&self) -> Result<(), &'static str> {
        self.count.map(|_| ()).ok_or("count")
    }

    fn packet(&self) -> Option<Size> {
        Some(self.packet.max(self.reply.unwrap_or_default()))
    }

    fn pattern(&self) -> Pattern {
        let period = Period { interval: self.interval, jitter: self.jitter, phase: self.phase };
        let packet = self.packet.as_bytes() as u32;
        match self.reply {
            None => Pattern::Source(SourceConfig::Periodic {
                size: self.count.map(|count| u64::from(count) * u64::from(packet)),
                period,
                packet,
            }),
            Some(reply) => Pattern::Dialogue(DialogueConfig {
                replies: Replies::Fixed(reply.as_bytes() as u32),
                request: packet,
                pace: Pace::Each(period),
                client: self.begins,
                count: self.count,
                fresh: fresh_connections(self.fresh, self.count),
            }),
        }
    }
}

/// Makes an application of settings with a `record`, by which encryption makes each message longer: keep-alives of the given bytes,
/// and of the answer to them, once in each interval without an end.
macro_rules! keep_alive_kind {
    ($config:ty, $interval:ident, $messages:expr) => {
        impl airwatt_base::settings::Settings for $config {
            fn check(&self) -> Result<(), airwatt_base::settings::SettingError> {
                $crate::stack::application::periodic::check_interval(stringify!($interval), self.$interval)?;
                airwatt_base::settings::in_range("record", self.record, Size::ZERO, Size::from_bytes(100))
            }
        }

        impl From<&$config> for $crate::stack::application::PeriodicConfig {
            fn from(config: &$config) -> Self {
                let (message, reply) = $messages;
                let sealed = |bytes: u64| Size::from_bytes(bytes + config.record.as_bytes());
                let (packet, reply) = (sealed(message), Some(sealed(reply)));
                Self { interval: config.$interval, packet, reply, ..Self::default() }
            }
        }

        impl $crate::stack::application::ApplicationKind for $config {
            fn end(&self) -> Result<(), &'static str> {
                Err("")
            }

            fn packet(&self) -> Option<Size> {
                $crate::stack::application::PeriodicConfig::from(self).packet()
            }

            fn pattern(&self) -> $crate::stack::application::Pattern {
                $crate::stack::application::PeriodicConfig::from(self).pattern()
            }
        }
    };
}
pub(super) use keep_alive_kind;

pub(super) fn check_interval(key: &str, interval: Span) -> Result<(), SettingError> {
    in_range(key, interval, Span::from_millis(1), MAX_SPAN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::application::ApplicationConfig;

    /// Sizes as the sources of each protocol add up.
    #[test]
    fn keep_alives_have_the_sizes_of_their_protocols() {
        let sizes = |kind: &str| {
            let config: ApplicationConfig = toml::from_str(&format!("kind = {kind:?}")).unwrap();
            match config.pattern() {
                Pattern::Dialogue(DialogueConfig {
                    request, replies: Replies::Fixed(reply), pace, ..
                }) => {
                    let Pace::Each(period) = pace else { panic!("{kind} keeps no interval") };
                    (request, reply, period.interval.as_nanos() / 1_000_000_000)
                }
                other => panic!("{kind}: {other:?}"),
            }
        };
        assert_eq!(sizes("mqtt"), (24, 24, 60));
        assert_eq!(sizes("coap"), (33, 33, 120));
        assert_eq!(sizes("lwm2m"), (49, 37, 86_153));
        assert_eq!(sizes("matter"), (42, 42, 3_600));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let error = |config: PeriodicConfig| config.check().unwrap_err().to_string();
        let late = PeriodicConfig { jitter: Span::from_secs(30), ..PeriodicConfig::default() };
        assert_eq!(error(late), "jitter: expected less than interval, 30s, got 30s");
        let polled = PeriodicConfig { begins: Role::Receiver, ..PeriodicConfig::default() };
        assert!(error(polled).starts_with("reply: expected a size: with begins"));
    }
}
