//! Video in segments whose rate the player adapts to the path (DASH, HLS): settings of a [`Dialogue`](super::Dialogue) with a player.

use airwatt_base::settings::{SettingError, Settings, in_range};
use airwatt_base::{Rate, Size, Span, with_defaults};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::limits::{MAX_RATE, MAX_SPAN, MIN_RATE};
use super::player::{AdaptationRule, Ladder, MAX_RATES, PlayerConfig};
use super::{ApplicationKind, DialogueConfig, Pace, Pattern, Replies};
use crate::stack::role::Role;

/// What BOLA's buffer holds at least beside a segment: it takes the lowest rate up to 10 s.
const BOLA_BUFFER: Span = Span::from_secs(12);

with_defaults! {
    /// Video in segments whose rate the player adapts to the path.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    pub struct DashConfig {
        /// Length of the video. Without it the video lasts for the whole run.
        pub media: Option<Span> = None,
        /// Rates in which the video exists, from the lowest on, at most 16. Default: those that Apple's *HLS authoring specification* lists for
        /// H.264, from 145 kbit/s to 7.8 Mbit/s.
        pub rates: Vec<Rate> =
            [145, 365, 730, 1_100, 2_000, 3_000, 4_500, 6_000, 7_800].map(|rate| Rate::from_bps(rate * 1_000)).to_vec(),
        /// How the player chooses the next segment's rate: `throughput` takes at most 0.9 of what the last three segments had, `bola`
        /// goes by the time in its buffer (BOLA-BASIC).
        pub rule: AdaptationRule = AdaptationRule::Throughput,
        /// Length of a segment. Default: 6 s, as that specification has it.
        pub segment: Span = Span::from_secs(6),
        /// How much of the video the player's buffer holds. Default: 30 s, as in dash.js.
        pub buffer: Span = Span::from_secs(30),
        /// Data of a request. Default 400 bytes: one with its headers, assumed.
        pub request: Size = Size::from_bytes(400),
    }
}

impl Settings for DashConfig {
    fn check(&self) -> Result<(), SettingError> {
        in_range("segment", self.segment, Span::from_millis(500), Span::from_secs(60))?;
        let least = match self.rule {
            AdaptationRule::Throughput => self.segment,
            AdaptationRule::Bola => self.segment + BOLA_BUFFER,
        };
        in_range("buffer", self.buffer, least, Span::from_secs(3_600))?;
        in_range("request", self.request, Size::from_bytes(1), Size::from_bytes(65_000))?;
        if let Some(media) = self.media {
            in_range("media", media, Span::from_millis(1), MAX_SPAN)?;
        }
        if self.rates.is_empty() || self.rates.len() > MAX_RATES {
            let count = format!("{} of them", self.rates.len());
            return Err(SettingError::out_of_range("rates", count, format!("1 to {MAX_RATES} rates")));
        }
        for rate in &self.rates {
            // A segment has at most 2^32 bytes: 60 s at 500 Mbit/s.
            in_range("rates", *rate, MIN_RATE, MAX_RATE.min(Rate::from_bps(500_000_000)))?;
        }
        if let Some(pair) = self.rates.windows(2).find(|pair| pair[0] >= pair[1]) {
            return Err(SettingError::out_of_range("rates", pair[1], format!("above {}", pair[0])));
        }
        Ok(())
    }
}

impl ApplicationKind for DashConfig {
    fn end(&self) -> Result<(), &'static str> {
        self.media.map(|_| ()).ok_or("media")
    }

    fn pattern(&self) -> Pattern {
        let Self { rule, segment, buffer, .. } = *self;
        let player = PlayerConfig { ladder: Ladder::new(&self.rates), rule, segment, buffer };
        Pattern::Dialogue(DialogueConfig {
            replies: Replies::Segments(player),
            request: self.request.as_bytes() as u32,
            pace: Pace::Room,
            client: Role::Receiver,
            count: self.media.map(|media| u32::try_from(media.covering(segment)).unwrap_or(u32::MAX)),
            fresh: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_is_refused() {
        let error = |text: &str| toml::from_str::<DashConfig>(text).unwrap().check().unwrap_err().to_string();
        assert_eq!(error("rates = []"), "rates: expected 1 to 16 rates, got 0 of them");
        assert_eq!(error("rates = [\"2Mbps\", \"1Mbps\"]"), "rates: expected above 2Mbps, got 1Mbps");
        assert!(error("buffer = \"17s\"\nrule = \"bola\"").starts_with("buffer: expected 18s to "));
        assert!(error("segment = \"40s\"\nbuffer = \"30s\"").starts_with("buffer: expected 40s to "));
    }

    /// A video that is no whole number of segments has a last one of full length.
    #[test]
    fn the_video_has_a_whole_number_of_segments() {
        let config = DashConfig { media: Some(Span::from_secs(601)), ..DashConfig::default() };
        assert!(matches!(config.pattern(), Pattern::Dialogue(DialogueConfig { count: Some(101), .. })));
    }
}
