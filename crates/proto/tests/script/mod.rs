//! The language of packet scripts, in the spirit of packetdrill, and what runs it.
//!
//! A script tests one end of a connection. It has one statement a line; `#` begins a comment.
//!
//! ```text
//! set transport=sack mss=1000 initial_window=10     settings, before the first event
//! +0     write 20000                                the application writes
//! +0     > data 1-10                                ten full-sized segments leave, now
//! +20ms  < through 2 sack 4-10                      20 ms later an acknowledgement arrives
//! +0     > data 3
//! +0     assert cwnd=5 state=recovery
//! ```
//! Times are relative to the line before. A segment must leave at its time exactly, and none may leave that is not expected.
//!
//! A segment is written as flags (`S`, `F`, `R`, `P`, `.` for ACK; without them a plain acknowledgement, PSH or not), a range
//! in bytes `1001:2001(1000)` or in full-sized segments counted from one `data 2` or `data 2-5`, `ack 2001` in bytes or
//! `through 2` in segments, `win 3000`, and `sack` with blocks in bytes `3001:4001` or in segments `4` or `4-6`. What a line
//! that expects does not mention may be anything, but for the SACK blocks: those it has to mention.
//!
//! Commands: `write N`, `read N`, `open`, `listen`, `close`, `abort`; `event NAME` for what the application is told, with the
//! block that is meant for `event gap` and `event late`; `assert KEY=VALUE...`, where windows are in segments or, with `B`, in
//! bytes.

mod parse;
mod run;

use airwatt_base::Span;
use airwatt_proto::tcp::{Flags, TcpConfig};

pub(crate) use run::run;

/// What is wrong with a line.
pub(crate) type Wrong = String;

/// A script.
#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) config: TcpConfig,
    /// Whether the connection stands from the start.
    pub(crate) established: bool,
    pub(crate) steps: Vec<Step>,
}

/// One event, with the line that it stands on and its distance to the one before.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) line: usize,
    pub(crate) after: Span,
    pub(crate) action: Action,
}

/// What happens, or has to have happened.
#[derive(Debug)]
pub(crate) enum Action {
    Inject(Vec<Pattern>),
    Expect(Vec<Pattern>),
    Write(u64),
    Read(u64),
    Open,
    Listen,
    Close,
    Abort,
    Event(String),
    /// Skipped or late data: which, and from where to where as sequence numbers.
    Told(&'static str, (u32, u32)),
    Assert(Vec<(String, String)>),
}

/// A segment as a script has it: what it leaves open is `None`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pattern {
    pub(crate) flags: Option<Flags>,
    /// First sequence number and length.
    pub(crate) range: Option<(u32, u16)>,
    pub(crate) ack: Option<u32>,
    pub(crate) window: Option<u32>,
    pub(crate) sack: Vec<(u32, u32)>,
}

impl std::fmt::Display for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut words = Vec::new();
        words.extend(self.flags.map(|flags| format!("{flags:?}")));
        words.extend(self.range.map(|(seq, len)| format!("{seq}:{}({len})", seq + u32::from(len))));
        words.extend(self.ack.map(|ack| format!("ack {ack}")));
        words.extend(self.window.map(|window| format!("win {window}")));
        if !self.sack.is_empty() {
            let blocks: Vec<String> = self.sack.iter().map(|(start, end)| format!("{start}:{end}")).collect();
            words.push(format!("sack <{}>", blocks.join(" ")));
        }
        f.write_str(&words.join(" "))
    }
}
