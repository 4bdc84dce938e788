//! A call: settings of the audio, the video and the reports that one of its ends sends.

use airwatt_base::settings::{SettingError, Settings, in_range};
use airwatt_base::{Rate, Size, Span, with_defaults};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::call_packets::{CallTraffic, MAX_PACKET};
use super::{ApplicationKind, Pattern, SourceConfig};

with_defaults! {
    /// The audio, the video and the reports that one end of a call sends.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    pub struct CallConfig {
        /// Rate of the audio, without headers; `0bps` for none. Default: 32 kbit/s, a rate of Opus for speech (RFC 7587 3.1.1).
        pub audio: Rate = Rate::from_bps(32_000),
        /// Whether a silent speaker sends a packet each 400 ms only (DTX). Default: no, as RFC 7587 has it (`usedtx`).
        pub dtx: bool = false,
        /// Rate of the video, without headers; `0bps` for none. Default: 1 Mbit/s; on a free link Zoom, Meet and Teams took 0.8 to
        /// 1.9 Mbit/s (MacMillan et al., IMC 2021).
        pub video: Rate = Rate::from_bps(1_000_000),
        /// Frames of video a second. Default: 30.
        pub frame_rate: u32 = 30,
        /// Time between two reports on what is received (RTCP); `0ms` for none. Default: 100 ms, assumed.
        pub reports: Span = Span::from_millis(100),
    }
}

impl Settings for CallConfig {
    fn check(&self) -> Result<(), SettingError> {
        in_range("audio", self.audio, Rate::from_bps(0), Rate::from_bps(512_000))?;
        in_range("video", self.video, Rate::from_bps(0), Rate::from_bps(100_000_000))?;
        // 400 bit/s are a byte in a frame of audio, and 10 kbit/s one in a frame of video.
        if (1..400).contains(&self.audio.as_bps()) {
            return Err(SettingError::out_of_range("audio", self.audio, "0bps, or from 400bps"));
        }
        if (1..10_000).contains(&self.video.as_bps()) {
            return Err(SettingError::out_of_range("video", self.video, "0bps, or from 10kbps"));
        }
        in_range("frame_rate", self.frame_rate, 1, 240)?;
        if !self.reports.is_zero() {
            in_range("reports", self.reports, Span::from_millis(1), Span::from_secs(60))?;
        }
        if self.audio.as_bps() + self.video.as_bps() == 0 {
            return Err(SettingError::out_of_range(
                "video",
                self.video,
                "a rate: the call has no audio either",
            ));
        }
        if self.dtx && self.audio.as_bps() == 0 {
            return Err(SettingError::no_effect("dtx", "audio 0bps", "audio"));
        }
        Ok(())
    }
}

impl ApplicationKind for CallConfig {
    fn end(&self) -> Result<(), &'static str> {
        Err("")
    }

    fn packet(&self) -> Option<Size> {
        let audio = self.audio.as_bps() / 400;
        Some(Size::from_bytes(u64::from(MAX_PACKET).max(audio + 22)))
    }

    fn pattern(&self) -> Pattern {
        let Self { audio, dtx, video, frame_rate, reports } = *self;
        Pattern::Source(SourceConfig::Call(CallTraffic { audio, dtx, video, frame_rate, reports }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_is_refused() {
        let error = |text: &str| toml::from_str::<CallConfig>(text).unwrap().check().unwrap_err().to_string();
        assert!(error("audio = \"0bps\"\nvideo = \"0bps\"").starts_with("video: expected a rate"));
        assert!(error("audio = \"0bps\"\ndtx = true").starts_with("dtx: "));
        assert!(error("video = \"9kbps\"").contains("from 10kbps"));
        assert!(error("frame_rate = 0").starts_with("frame_rate: "));
    }
}
