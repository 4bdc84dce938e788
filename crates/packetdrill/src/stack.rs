//! What a script can be run against.

use airwatt_base::{Instant, Span};
use airwatt_proto::tcp::linux::Packet;

use crate::expression::Symbols;
use crate::script::SystemCall;
use crate::settings::KernelSetting;

/// A packet that a stack has sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// When it was sent, in script time.
    pub at: Instant,
    /// The packet.
    pub packet: Packet,
}

/// Why a call did not return a number of zero or more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It returned -1 with this error.
    Error(String),
    /// It has not returned yet.
    Blocked,
    /// The stack does not have it.
    Unsupported(String),
}

impl Refused {
    /// The error of this name.
    pub(crate) fn error(name: &str) -> Self {
        Self::Error(name.to_owned())
    }
}

/// A TCP with its sockets.
pub trait Stack {
    /// Changes a setting of the host.
    ///
    /// # Errors
    /// What is not supported.
    fn set(&mut self, setting: &KernelSetting) -> Result<(), String>;

    /// Lets time pass until `until`, or until the stack has sent a packet that was not taken yet. Returns the time.
    fn advance(&mut self, until: Instant) -> Instant;

    /// Lets time pass until `until` whatever happens.
    fn wait(&mut self, until: Instant);

    /// A packet of the peer arrives now.
    fn inject(&mut self, packet: Packet);

    /// Takes the next packet that the stack has sent.
    fn sent(&mut self) -> Option<Sent>;

    /// Makes a call now. A socket has the number that the script expects of the call which makes it.
    ///
    /// # Errors
    /// If it fails, blocks or is not supported.
    fn call(&mut self, call: &SystemCall) -> Result<i64, Refused>;

    /// The values of `TCP_INFO` of the connection, with their names in scripts.
    fn info(&mut self) -> Symbols;

    /// Whether events happen at exactly their times. If not, more is tolerated.
    fn slack(&self) -> Span;
}
