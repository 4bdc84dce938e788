//! A script as data: options, and a list of events with times.

use std::collections::BTreeMap;

use airwatt_base::Span;

/// A script.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// The options at the top, `--name=value`.
    pub options: BTreeMap<String, String>,
    /// What happens, in the order of the file.
    pub events: Vec<Event>,
}

/// One event of a script.
#[derive(Clone, Debug)]
pub struct Event {
    /// The line on which it begins, from 1.
    pub line: usize,
    /// When it happens.
    pub time: When,
    /// What happens.
    pub action: Action,
}

/// The time of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Any time from the previous event on.
    Any,
    /// Between two times, which are equal for a single time.
    Between {
        /// The earliest.
        from: Span,
        /// The latest.
        to: Span,
        /// Whether both count from the previous event rather than from the beginning of the script.
        relative: bool,
    },
    /// A call that blocks: it begins at a time and returns at a later one, which always counts from the beginning.
    Blocking {
        /// When the call begins.
        from: Span,
        /// When it returns.
        to: Span,
        /// Whether `from` counts from the previous event.
        relative: bool,
    },
}

/// What happens in an event.
#[derive(Clone, Debug)]
pub enum Action {
    /// A packet of the peer arrives.
    Inject(PacketPattern),
    /// The stack has to send this packet.
    Expect(PacketPattern),
    /// The application makes a system call.
    Call(SystemCall),
    /// A shell command, of which a few words are understood.
    Command(String),
    /// Statements over the values of `TCP_INFO`.
    Code(String),
}

/// The ECN field of the IP header, or what is allowed there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnField {
    /// This codepoint: 0 not ECN-capable, 1 ECT(1), 2 ECT(0), 3 congestion experienced.
    Is(u8),
    /// ECT(0) or ECT(1).
    Capable,
}

/// A packet as a script writes it: what is not given is not compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PacketPattern {
    /// The ECN field of the IP header.
    pub ecn: Option<EcnField>,
    /// The bits of the TCP header, [`airwatt_proto::tcp::linux::bits`].
    pub flags: u16,
    /// First sequence number, counted from the initial one.
    pub start: u32,
    /// Bytes of payload.
    pub len: u32,
    /// The acknowledgement number, counted from the initial one.
    pub ack: Option<u32>,
    /// The window field, unscaled.
    pub window: Option<u16>,
    /// The urgent pointer.
    pub urgent: Option<u16>,
    /// Whether options are compared; inbound, whether there are any.
    pub options: Option<Vec<TcpOption>>,
}

/// A TCP option of a packet. Padding is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TcpOption {
    /// Largest segment size.
    Mss(u16),
    /// Window scale.
    Wscale(u8),
    /// Selective acknowledgements are permitted.
    SackOk,
    /// Blocks that have arrived, as counted from the initial sequence number.
    Sack(Vec<(u32, u32)>),
    /// Literal and echo of a time stamp.
    Timestamp(u32, u32),
}

/// A system call.
#[derive(Clone, Debug)]
pub struct SystemCall {
    /// The name.
    pub name: String,
    /// The arguments.
    pub arguments: Vec<Literal>,
    /// The expected result, [`Literal::Any`] if none is given.
    pub result: Literal,
    /// The name of the expected error.
    pub error: Option<String>,
}

/// An argument or a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Literal {
    /// `...`: not given.
    Any,
    /// A number.
    Number(i64),
    /// A text.
    Text(String),
    /// A symbol, or several with `|` between them.
    Symbols(Vec<String>),
    /// Values in brackets.
    List(Vec<Literal>),
    /// Fields in braces. A field without a name has an empty one.
    Fields(Vec<(String, Literal)>),
}

impl Literal {
    /// The number, if it is one.
    pub fn number(&self) -> Option<i64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::List(values) if values.len() == 1 => values[0].number(),
            _ => None,
        }
    }

    /// Whether the symbol is among those given.
    pub fn has(&self, symbol: &str) -> bool {
        matches!(self, Self::Symbols(symbols) if symbols.iter().any(|each| each == symbol))
    }

    /// The single symbol or text.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Symbols(symbols) => symbols.first().map(String::as_str),
            Self::Text(text) => Some(text),
            Self::List(values) if values.len() == 1 => values[0].name(),
            _ => None,
        }
    }

    /// The field of this name.
    pub fn field(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Fields(fields) => fields.iter().find(|(each, _)| each == name).map(|(_, value)| value),
            _ => None,
        }
    }
}
