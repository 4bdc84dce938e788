//! Applications: what sends data over the sockets of a network, and what waits for it.
//!
//! * [`Transfer`]: the data of a [`Source`] over a connection.
//! * [`Dialogue`]: a client requests and a server replies, over one connection or several.
//! * [`Datagrams`]: the data of a source in datagrams.
//! * [`Saturation`]: a queue at the head of the air that never runs empty.
//! * [`Replay`]: packets at the times at which a capture has them.
//!
//! An application holds both sockets of each of its connections, and each end acts only on what its own sockets have delivered. It
//! is a machine: events and timers in, [`Call`]s out.

mod blocks;
mod bulk;
mod call;
mod call_packets;
mod cbr;
mod coap;
mod dash;
mod datagrams;
mod dialogue;
mod game;
mod game_packets;
mod interactive;
mod limits;
mod lwm2m;
mod matter;
mod mqtt;
mod page;
mod page_objects;
mod periodic;
mod player;
mod random;
mod replay;
mod request_response;
mod saturation;
mod source;
mod streaming;
mod transfer;
mod web;

use airwatt_base::settings::{NoSettings, Settings};
use airwatt_base::{Instant, Size, Span, kinds};

pub use blocks::StreamBlocks;
pub use bulk::BulkConfig;
pub use call::CallConfig;
pub use call_packets::CallTraffic;
pub use cbr::CbrConfig;
pub use coap::CoapConfig;
pub use dash::DashConfig;
pub use datagrams::{Answers, Datagrams};
pub use dialogue::{Dialogue, DialogueConfig, Pace, Party, Replies};
pub use game::GameConfig;
pub use game_packets::{GameEnd, GameModel, GameTraffic};
pub use interactive::InteractiveConfig;
pub use lwm2m::Lwm2mConfig;
pub use matter::MatterConfig;
pub use mqtt::MqttConfig;
pub use page::PageConfig;
pub use page_objects::{Device, HttpVersion};
pub use periodic::PeriodicConfig;
pub use player::{AdaptationRule, Ladder, PlayerConfig, Viewing};
pub use replay::{Arrival, Delay, Destination, Replay};
pub use request_response::RequestResponseConfig;
pub use saturation::Saturation;
pub use source::{Period, Source, SourceConfig};
pub use streaming::StreamingConfig;
pub use transfer::Transfer;
pub use web::WebConfig;

use super::transport::SocketEvent;
use crate::packet::FlowLabel;
use crate::stack::flow::FlowRecord;
use crate::stack::role::Role;

kinds! {
    /// What a flow's application does.
    #[derive(Eq)]
    pub enum ApplicationConfig by "kind", match by with_kind {
        "bulk" => Bulk(BulkConfig), "everything is available from the start";
        "interactive" => Interactive(InteractiveConfig), "packets at random times, as somebody types";
        "cbr" => Cbr(CbrConfig), "packets at a constant bit rate";
        "streaming" => Streaming(StreamingConfig),
            "media in blocks: the first seconds at once, then at the rate of the encoding";
        "dash" => Dash(DashConfig), "video in segments whose rate the player adapts to the path (DASH, HLS)";
        "web" => Web(WebConfig), "pages over persistent HTTP/1.1 connections: one, or several as browsers have";
        "page" => Page(PageConfig), "pages with the weights of 2025 over HTTP/1.1, HTTP/2 or, with QUIC, HTTP/3";
        "request-response" => RequestResponse(RequestResponseConfig),
            "small requests and responses, as keys typed into a remote shell";
        "call" => Call(CallConfig), "audio, video and reports of one end of a call, in datagrams";
        "game" => Game(GameConfig), "packets of one end of a game, in datagrams";
        "periodic" => Periodic(PeriodicConfig),
            "a message once in each interval, with a reply or without, as a sensor reports";
        "mqtt" => Mqtt(MqttConfig), "keep-alives of MQTT over TLS, and reports that its server acknowledges";
        "coap" => Coap(CoapConfig), "the keep-alives of CoAP over DTLS: an empty message and its reset";
        "lwm2m" => Lwm2m(Lwm2mConfig), "the updates of a registration by which LwM2M keeps it alive";
        "matter" => Matter(MatterConfig), "the empty reports by which Matter keeps a subscription alive";
        "saturated" => Saturated(NoSettings),
            "a transmission queue at the head of the air that never runs empty (UDP only)";
    }
}

/// What a scenario needs to know of a kind of application.
pub trait ApplicationKind: Settings {
    /// Whether the application comes to an end by itself; otherwise the key that would end it, empty if there is none.
    ///
    /// # Errors
    /// The key.
    fn end(&self) -> Result<(), &'static str>;

    /// Payload of a packet, if the application decides on it. Only such an application can use datagrams.
    fn packet(&self) -> Option<Size> {
        None
    }

    /// The machine that runs it, with its settings.
    fn pattern(&self) -> Pattern;
}

/// How an application sends: which machine runs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Data that a source writes, over a connection ([`Transfer`]) or in datagrams ([`Datagrams`]).
    Source(SourceConfig),
    /// Requests and replies ([`Dialogue`]).
    Dialogue(DialogueConfig),
    /// As much as the air carries ([`Saturation`]).
    Saturation,
}

/// What an application sends over connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// The data of a source.
    Source(SourceConfig),
    /// The requests and replies of a dialogue.
    Dialogue(DialogueConfig),
}

impl Default for ApplicationConfig {
    fn default() -> Self {
        Self::Bulk(BulkConfig::default())
    }
}

impl ApplicationConfig {
    /// See [`ApplicationKind::end`].
    pub(crate) fn end(&self) -> Result<(), &'static str> {
        with_kind!(self, kind => kind.end())
    }

    /// See [`ApplicationKind::packet`].
    pub(crate) fn packet(&self) -> Option<Size> {
        with_kind!(self, kind => kind.packet())
    }

    /// See [`ApplicationKind::pattern`].
    pub(crate) fn pattern(&self) -> Pattern {
        with_kind!(self, kind => kind.pattern())
    }

    /// Whether the transmission queue never runs empty.
    pub(crate) fn is_saturated(&self) -> bool {
        self.pattern() == Pattern::Saturation
    }
}

/// Index of an application in its network.
pub(crate) type ApplicationId = u32;
/// Number of a connection of an application.
pub type Connection = u16;

/// A call of an application to one of its sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The connection.
    pub connection: Connection,
    /// The end of it that calls.
    pub role: Role,
    /// What it asks for.
    pub request: SocketRequest,
}

/// What an application asks of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketRequest {
    /// The connection: its other end listens, and this one opens it. The first one is opened when the application begins, if it
    /// `opens_at_once`.
    Open,
    /// Bytes to send over the connection.
    Write(u64),
    /// Bytes to send over the connection as a stream of QUIC.
    WriteStream {
        /// Their number.
        bytes: u64,
        /// The urgency of RFC 9218: streams of a lower one are sent first.
        urgency: u8,
        /// Whether another such call follows at once, before which nothing is sent.
        more: bool,
    },
    /// A datagram to send.
    Send {
        /// Its number in the flow.
        number: u32,
        /// Its length in bytes, without the headers that the socket adds.
        bytes: u32,
        /// The time from which its latency counts.
        since: Instant,
        /// The flow to which its frames are charged; `None` for that of the socket.
        flow: Option<FlowLabel>,
    },
    /// A packet to send from the socket's node to all stations of its cell.
    SendToGroup {
        /// Its length in bytes.
        bytes: u32,
        /// The time at which it came.
        since: Instant,
    },
}

/// What became of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatagramFate {
    /// It arrived at this end, this long after it was sent.
    Arrived(Role, Span),
    /// It was lost.
    Lost,
}

/// One application.
#[derive(Clone, Debug)]
pub enum Application {
    /// Data over a connection.
    Transfer(Box<Transfer>),
    /// Requests and replies over a connection.
    Dialogue(Box<Dialogue>),
    /// Data in datagrams.
    Datagrams(Box<Datagrams>),
    /// As many datagrams as the air carries.
    Saturation(Saturation),
    /// The packets of a capture.
    Replay(Box<Replay>),
}

impl Application {
    /// The time at which it begins, if its flow starts at `start`.
    pub fn begins(&self, start: Instant) -> Option<Instant> {
        match self {
            Self::Replay(replay) => replay.due(),
            _ => Some(start),
        }
    }

    /// Begins at `now`.
    pub fn begin(&mut self, now: Instant) {
        match self {
            Self::Transfer(transfer) => transfer.source.begin(now),
            Self::Dialogue(dialogue) => dialogue.begin(now),
            Self::Datagrams(datagrams) => datagrams.source.begin(now),
            Self::Saturation(saturation) => saturation.begin(),
            Self::Replay(_) => {}
        }
    }

    /// Serves its timer.
    pub fn handle_timeout(&mut self, now: Instant) {
        match self {
            Self::Transfer(transfer) => transfer.handle_timeout(now),
            Self::Dialogue(dialogue) => dialogue.handle_timeout(now),
            Self::Datagrams(datagrams) => datagrams.handle_timeout(now),
            Self::Saturation(saturation) => saturation.handle_timeout(now),
            Self::Replay(replay) => replay.handle_timeout(),
        }
    }

    /// Processes an event of the socket at the `role` end of a connection.
    pub fn handle_event(
        &mut self,
        (connection, role): (Connection, Role),
        event: SocketEvent,
        record: &mut FlowRecord,
        now: Instant,
    ) {
        record.note(role, event);
        match self {
            Self::Transfer(transfer) => transfer.handle_event(role, event, record, now),
            Self::Dialogue(dialogue) => {
                let party = if role == dialogue.client() { Party::Client } else { Party::Server };
                match event {
                    SocketEvent::Delivered(bytes) => dialogue.received(connection, party, bytes, now),
                    SocketEvent::StreamEnded(number) => dialogue.stream_ended(connection, party, number, now),
                    _ => return,
                }
                if dialogue.is_over() {
                    record.completed.get_or_insert(now);
                    record.acknowledged.get_or_insert(now);
                }
            }
            Self::Datagrams(_) | Self::Saturation(_) | Self::Replay(_) => {}
        }
    }

    /// Learns what became of datagram `number`. A real sender would not; a simulation knows when a flow is over.
    pub fn settle(&mut self, number: u32, fate: DatagramFate, record: &mut FlowRecord, now: Instant) {
        match self {
            Self::Datagrams(datagrams) => {
                datagrams.settle(number, fate, now);
                if datagrams.is_over() {
                    record.completed = Some(now);
                }
            }
            Self::Saturation(saturation) => saturation.settle(number, fate, now),
            Self::Replay(replay) => replay.settle(number, fate),
            Self::Transfer(_) | Self::Dialogue(_) => {}
        }
    }

    /// The next call.
    pub fn poll_call(&mut self, now: Instant) -> Option<Call> {
        match self {
            Self::Transfer(transfer) => transfer.poll_call(),
            Self::Dialogue(dialogue) => dialogue.poll_call(),
            Self::Datagrams(datagrams) => datagrams.poll_call(now),
            Self::Saturation(saturation) => saturation.poll_call(now),
            Self::Replay(replay) => replay.poll_call(),
        }
    }

    /// The time of its timer.
    pub fn due(&self) -> Option<Instant> {
        match self {
            Self::Transfer(transfer) => transfer.source.due(),
            Self::Dialogue(dialogue) => dialogue.due(),
            Self::Datagrams(datagrams) => datagrams.source.due(),
            Self::Saturation(saturation) => saturation.due(),
            Self::Replay(replay) => replay.due(),
        }
    }

    /// Whether it may have a call after an event of its socket.
    pub const fn answers(&self) -> bool {
        matches!(self, Self::Dialogue(_))
    }

    /// Whether its first connection is opened when it begins, and not when it first asks for something.
    pub(crate) const fn opens_at_once(&self) -> bool {
        match self {
            Self::Dialogue(dialogue) => dialogue.opens_at_once(),
            _ => true,
        }
    }

    /// Whether it ends by itself.
    pub const fn is_finite(&self) -> bool {
        match self {
            Self::Transfer(transfer) => transfer.source.size().is_some(),
            Self::Dialogue(dialogue) => dialogue.count().is_some(),
            Self::Datagrams(datagrams) => datagrams.source.size().is_some(),
            Self::Saturation(_) => false,
            Self::Replay(_) => true,
        }
    }

    /// Whether a finite application is done, whether it was successful or not.
    pub fn is_over(&self, record: &FlowRecord) -> bool {
        match self {
            Self::Transfer(_) | Self::Dialogue(_) => record.is_over(),
            Self::Datagrams(datagrams) => datagrams.is_over(),
            Self::Saturation(_) => false,
            Self::Replay(replay) => replay.is_over(),
        }
    }

    /// How much of a finite application is done, and how much there is to do, in a unit of its own.
    pub fn progress(&self, record: &FlowRecord) -> Option<(u64, u64)> {
        match self {
            Self::Transfer(transfer) => {
                transfer.source.size().map(|size| (record.received + record.given_up_by_receiver, size))
            }
            Self::Dialogue(dialogue) => {
                let units = dialogue.durations.len() as u64;
                dialogue.count().map(|count| (units, u64::from(count)))
            }
            Self::Datagrams(_) | Self::Saturation(_) | Self::Replay(_) => None,
        }
    }

    /// The time from the beginning until the last data was written.
    pub fn lasted(&self) -> Span {
        match self {
            Self::Transfer(transfer) => transfer.source.lasted(),
            Self::Datagrams(datagrams) => datagrams.source.lasted(),
            Self::Dialogue(_) | Self::Saturation(_) | Self::Replay(_) => Span::ZERO,
        }
    }
}
