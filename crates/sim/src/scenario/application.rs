//! The applications of a scenario: what each kind sends, and its settings.

use airwatt_base::settings::{NoSettings, SettingError, Settings, in_range};
use airwatt_base::{Rate, Size, Span, kinds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::check::{MAX_RATE, MAX_SPAN, MIN_RATE};

kinds! {
    /// What a flow's application does.
    #[derive(Eq)]
    pub enum ApplicationConfig by "kind" {
        "bulk" => Bulk(BulkConfig), "everything is available from the start";
        "interactive" => Interactive(InteractiveConfig), "packets at random times, as somebody types";
        "cbr" => Cbr(CbrConfig), "packets at a constant bit rate";
        "streaming" => Streaming(StreamingConfig),
            "media in blocks: the first seconds at once, then at the rate of the encoding";
        "web" => Web(WebConfig), "pages over a persistent HTTP/1.1 connection, objects one after another";
        "request-response" => RequestResponse(RequestResponseConfig),
            "small requests and responses, as keys typed into a remote shell";
        "saturated" => Saturated(NoSettings),
            "a transmission queue at the head of the air that never runs empty (UDP only)";
    }
}

impl Default for ApplicationConfig {
    fn default() -> Self {
        Self::Bulk(BulkConfig::default())
    }
}

impl ApplicationConfig {
    /// Whether the application comes to an end by itself, or else the key that would end it.
    pub(super) const fn end(&self) -> Result<(), &'static str> {
        let (key, ends) = match self {
            Self::Bulk(bulk) => ("size", bulk.size.is_some()),
            Self::Interactive(interactive) => ("size", interactive.size.is_some()),
            Self::Cbr(cbr) => ("size", cbr.size.is_some()),
            Self::Streaming(streaming) => ("media", streaming.size.is_some() || streaming.media.is_some()),
            Self::Web(web) => ("count", web.count.is_some()),
            Self::RequestResponse(exchange) => ("count", exchange.count.is_some()),
            Self::Saturated(_) => ("", false),
        };
        if ends { Ok(()) } else { Err(key) }
    }

    /// Payload of a packet, if the application decides on it.
    pub(super) const fn packet(&self) -> Option<Size> {
        match self {
            Self::Interactive(interactive) => Some(interactive.packet),
            Self::Cbr(cbr) => Some(cbr.packet),
            _ => None,
        }
    }
}

type Checked = Result<(), SettingError>;

fn size(size: Option<Size>) -> Checked {
    size.map_or(Ok(()), |size| {
        in_range("size", size, Size::from_bytes(1), Size::from_bytes(1_000_000_000_000))
    })
}

fn packet(packet: Size) -> Checked {
    in_range("packet", packet, Size::from_bytes(1), Size::from_bytes(65_000))
}

fn mean_gap(gap: Span) -> Checked {
    in_range("mean_gap", gap, Span::from_micros(1), MAX_SPAN)
}

fn message(key: &str, size: Size) -> Checked {
    in_range(key, size, Size::from_bytes(1), Size::from_bytes(1_000_000_000))
}

fn count(count: Option<u32>) -> Checked {
    count.map_or(Ok(()), |count| in_range("count", count, 1, 10_000_000))
}

/// A bulk transfer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BulkConfig {
    /// How much is sent. Without it the transfer lasts for the whole run.
    pub size: Option<Size>,
}

impl Settings for BulkConfig {
    fn check(&self) -> Checked {
        size(self.size)
    }
}

/// Packets at random times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct InteractiveConfig {
    /// How much is sent. Without it the application runs for the whole run.
    pub size: Option<Size>,
    /// Mean time between packets; the times are exponentially distributed.
    pub mean_gap: Span,
    /// Data in a packet.
    pub packet: Size,
}

impl Default for InteractiveConfig {
    fn default() -> Self {
        Self { size: None, mean_gap: Span::from_millis(500), packet: Size::from_bytes(1_000) }
    }
}

impl Settings for InteractiveConfig {
    fn check(&self) -> Checked {
        size(self.size)?;
        mean_gap(self.mean_gap)?;
        packet(self.packet)
    }
}

/// Packets at a constant bit rate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CbrConfig {
    /// How much is sent. Without it the application runs for the whole run.
    pub size: Option<Size>,
    /// Rate of the data.
    pub rate: Rate,
    /// Data in a packet.
    pub packet: Size,
}

impl Default for CbrConfig {
    fn default() -> Self {
        Self { size: None, rate: Rate::from_bps(250_000), packet: Size::from_bytes(1_000) }
    }
}

impl Settings for CbrConfig {
    fn check(&self) -> Checked {
        size(self.size)?;
        in_range("rate", self.rate, MIN_RATE, MAX_RATE)?;
        packet(self.packet)
    }
}

/// The shortest time between two blocks of a stream. Each block costs events, and its time is kept for the result.
const MIN_BLOCK_TIME: Span = Span::from_millis(1);

/// Media in blocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StreamingConfig {
    /// How much is sent, instead of `media`. Without either the stream lasts for the whole run.
    pub size: Option<Size>,
    /// Length of the media.
    pub media: Option<Span>,
    /// Rate of the encoding.
    pub rate: Rate,
    /// The part of the media that is sent at once, to fill the player's buffer.
    pub startup: Span,
    /// Size of the blocks in which the rest is sent.
    pub block: Size,
}

impl Default for StreamingConfig {
    fn default() -> Self {
        Self {
            size: None,
            media: None,
            rate: Rate::from_bps(250_000),
            startup: Span::from_secs(10),
            block: Size::from_bytes(64_000),
        }
    }
}

impl Settings for StreamingConfig {
    fn check(&self) -> Checked {
        size(self.size)?;
        if let Some(media) = self.media {
            in_range("media", media, Span::ZERO, MAX_SPAN)?;
            if self.size.is_some() {
                return Err(SettingError::conflict("media", "size", "either says how much is sent"));
            }
        }
        in_range("rate", self.rate, MIN_RATE, MAX_RATE)?;
        in_range("startup", self.startup, Span::ZERO, MAX_SPAN)?;
        message("block", self.block)?;
        let lasts = self.rate.time_for(self.block);
        if lasts < MIN_BLOCK_TIME {
            let allowed = format!("at least {MIN_BLOCK_TIME} of the flow's rate");
            return Err(SettingError::out_of_range("block", format!("{} ({lasts})", self.block), allowed));
        }
        Ok(())
    }
}

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
    fn check(&self) -> Checked {
        count(self.count)?;
        mean_gap(self.mean_gap)?;
        message("request", self.request)
    }
}

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
}

impl Default for RequestResponseConfig {
    fn default() -> Self {
        let key = Size::from_bytes(48);
        Self { count: None, mean_gap: Span::from_millis(500), request: key, response: key }
    }
}

impl Settings for RequestResponseConfig {
    fn check(&self) -> Checked {
        count(self.count)?;
        mean_gap(self.mean_gap)?;
        message("request", self.request)?;
        message("response", self.response)
    }
}
