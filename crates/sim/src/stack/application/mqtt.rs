//! MQTT over TLS: keep-alives, and reports that the server acknowledges.
//!
//! A keep-alive is a PINGREQ and its PINGRESP, 2 bytes each (MQTT 3.1.1 and 5, sections 3.12 and 3.13). A report is a PUBLISH at
//! QoS 1 and its PUBACK of 4 bytes (sections 3.3 and 3.4), over a connection that is open; TCP acknowledges both. A client pings
//! only if it has sent nothing else for the keep-alive, and a server drops one that it has not heard for one and a half times that
//! (section 3.1.2.10): reports no further apart need no ping.
//!
//! The client begins: it is the end that sends the flow's data, a station with `direction = "up"`. Left out: the properties of MQTT
//! 5, of which none takes a byte, QoS 0, which is a `periodic` application without a reply, QoS 2, and the CONNECT. Pings between
//! two reports divide the time between these evenly, where a client sends the first a whole keep-alive after the report: it is
//! their number that costs.

use airwatt_base::settings::{SettingError, Settings, in_range};
use airwatt_base::{Size, Span, with_defaults};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::periodic::check_interval;
use super::{ApplicationKind, DialogueConfig, Pace, Pattern, Period, Replies};
use crate::stack::role::Role;

/// Bytes of a PINGREQ, and of a PINGRESP.
const PING: u32 = 2;
/// Bytes of a PUBACK.
const PUBACK: u32 = 4;
/// The longest report: its PUBLISH has a remaining length of two bytes.
const MOST: u64 = 16_000;

with_defaults! {
    /// Keep-alives of an MQTT client, and its reports.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    pub struct MqttConfig {
        /// Keep-alive of the CONNECT packet, after which a client that has sent nothing else sends a ping. 60 s is the default of
        /// common client libraries.
        pub keep_alive: Span = Span::from_secs(60),
        /// Topic and payload of a report, which the client publishes at QoS 1 once in each `interval`. Without it there are
        /// keep-alives alone.
        pub report: Option<Size> = None,
        /// Time from one report to the next, which goes with `report`.
        pub interval: Option<Span> = None,
        /// What TLS adds to each message: 22 B with TLS 1.3 (RFC 8446 5.2: header 5, content type 1, tag 16), 29 B with TLS 1.2 and
        /// AES-GCM (RFC 5288: header 5, nonce 8, tag 16), 0 B without TLS.
        pub record: Size = Size::from_bytes(22),
    }
}

impl MqttConfig {
    fn sealed(&self, bytes: u32) -> u32 {
        bytes + self.record.as_bytes() as u32
    }

    /// Bytes of a PUBLISH with its record: the fixed header, whose remaining length has a second byte from 128 on, the length of the
    /// topic and the packet identifier (sections 2.2 and 3.3).
    fn publish(&self, report: Size) -> u32 {
        let remaining = 4 + report.as_bytes() as u32;
        self.sealed(remaining + if remaining < 128 { 2 } else { 3 })
    }
}

impl Settings for MqttConfig {
    fn check(&self) -> Result<(), SettingError> {
        check_interval("keep_alive", self.keep_alive)?;
        in_range("record", self.record, Size::ZERO, Size::from_bytes(100))?;
        match (self.report, self.interval) {
            (Some(report), Some(interval)) => {
                check_interval("interval", interval)?;
                in_range("report", report, Size::from_bytes(1), Size::from_bytes(MOST))
            }
            (None, Some(_)) => Err(SettingError::missing("report", "a size: interval is that of reports")),
            (Some(_), None) => Err(SettingError::missing("interval", "the time between two reports")),
            (None, None) => Ok(()),
        }
    }
}

impl ApplicationKind for MqttConfig {
    fn end(&self) -> Result<(), &'static str> {
        Err("")
    }

    fn packet(&self) -> Option<Size> {
        let message = self.report.map_or_else(|| self.sealed(PING), |report| self.publish(report));
        Some(Size::from_bytes(u64::from(message)))
    }

    fn pattern(&self) -> Pattern {
        let ping = self.sealed(PING);
        let (request, replies, interval) = match self.report.zip(self.interval) {
            None => (ping, Replies::Fixed(ping), self.keep_alive),
            Some((report, interval)) => {
                let messages = interval.as_nanos().div_ceil(self.keep_alive.as_nanos());
                let replies = match messages {
                    1 => Replies::Fixed(self.sealed(PUBACK)),
                    _ => Replies::Reports { reply: self.sealed(PUBACK), ping, messages },
                };
                (self.publish(report), replies, interval / messages)
            }
        };
        Pattern::Dialogue(DialogueConfig {
            replies,
            request,
            pace: Pace::Each(Period { interval, jitter: Span::ZERO, phase: Span::ZERO }),
            client: Role::Sender,
            count: None,
            fresh: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dialogue(config: &MqttConfig) -> DialogueConfig {
        let Pattern::Dialogue(dialogue) = config.pattern() else { panic!("a client waits for answers") };
        dialogue
    }

    fn reports(report: u64, interval_s: u64) -> MqttConfig {
        let (report, interval) = (Some(Size::from_bytes(report)), Some(Span::from_secs(interval_s)));
        MqttConfig { report, interval, ..MqttConfig::default() }
    }

    /// 60 bytes: 2 of the fixed header, 2 and 2 of the topic's length and the identifier, 22 of TLS 1.3. 123 bytes and more make the
    /// remaining length 128 and thus a byte longer.
    #[test]
    fn a_report_has_the_size_of_a_publish() {
        let sizes = [60, 123, 124].map(|bytes| dialogue(&reports(bytes, 30)).request);
        assert_eq!(sizes, [60 + 6 + 22, 123 + 6 + 22, 124 + 7 + 22]);
        assert_eq!(dialogue(&reports(60, 30)).replies, Replies::Fixed(4 + 22));
    }

    /// A report within each keep-alive takes the place of the ping.
    #[test]
    fn a_client_pings_between_reports_that_are_further_apart() {
        let of = |interval_s| {
            let DialogueConfig { replies, pace: Pace::Each(period), .. } = dialogue(&reports(60, interval_s))
            else {
                panic!("messages keep an interval")
            };
            let messages = if let Replies::Reports { messages, .. } = replies { messages } else { 1 };
            (messages, period.interval)
        };
        assert_eq!(of(60), (1, Span::from_secs(60)));
        assert_eq!(of(90), (2, Span::from_secs(45)));
        assert_eq!(of(600), (10, Span::from_secs(60)));
    }

    #[test]
    fn a_report_and_its_interval_go_together() {
        let error = |config: MqttConfig| config.check().unwrap_err().to_string();
        let without = error(MqttConfig { report: None, ..reports(60, 30) });
        assert!(without.starts_with("report: expected a size: interval is that of reports"), "{without}");
        let never = error(MqttConfig { interval: None, ..reports(60, 30) });
        assert!(never.starts_with("interval: expected the time between two reports"), "{never}");
    }
}
