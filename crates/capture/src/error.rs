//! What can be wrong with a capture: one line each, naming the file.

use std::fmt;

/// Why a capture could not be analysed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CaptureError {
    /// The file could not be opened or read; the text is the system's reason.
    Unreadable(String, String),
    /// The file has no bytes.
    Empty(String),
    /// The file is something else; the text says what it seems to be.
    NotACapture(String, String),
    /// No packet of the file is of a link type that can be read.
    LinkType(String, u32),
    /// The file is a capture and holds no packets.
    NoPackets(String),
    /// The station is not in the capture; with the ends that are.
    NoStation {
        /// The file.
        file: String,
        /// The address that was asked for.
        station: String,
        /// The busiest ends, in text.
        candidates: Vec<String>,
    },
    /// The text is not an address.
    StationText(String),
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(file, reason) => write!(f, "{file}: cannot be read: {reason}"),
            Self::Empty(file) => write!(f, "{file}: empty, not a capture"),
            Self::NotACapture(file, what) => write!(f, "{file}: not a pcap or pcapng capture: {what}"),
            Self::LinkType(file, number) => write!(
                f,
                "{file}: link type {number} is not supported; supported are {}",
                crate::LinkType::supported()
            ),
            Self::NoPackets(file) => write!(f, "{file}: a capture without packets"),
            Self::NoStation { file, station, candidates } => {
                write!(f, "{file}: station {station} is not in the capture")?;
                if candidates.is_empty() { Ok(()) } else { write!(f, "; it has {}", candidates.join(", ")) }
            }
            Self::StationText(text) => write!(
                f,
                "--station: {text:?} is not an address; allowed is an IP or a MAC address, for example 192.168.7.2 or \
                 00:1b:63:ab:cd:ef"
            ),
        }
    }
}

impl std::error::Error for CaptureError {}
