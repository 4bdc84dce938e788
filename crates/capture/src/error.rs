//! Errors of reading and analysing a capture; each prints as one line, and one of reading names the file.

use std::fmt;

use airwatt_base::{Printable, Size, Span};

use crate::capture::{LinkType, Oversized};
use crate::limits::EXPANSION_LIMIT;

/// The reasons for which a capture cannot be analysed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CaptureError {
    /// The file could not be opened or read; the text is the system's reason.
    Unreadable(String, String),
    /// The file has no bytes.
    Empty(String),
    /// The file is something else; the text says why.
    NotACapture(String, String),
    /// No packet of the file is of a supported link type; the number is that of the first.
    LinkType(String, u32),
    /// A folder without capture files, or with too many.
    Folder {
        /// Its name.
        folder: String,
        /// Capture files in it.
        files: usize,
        /// The most that are read.
        most: usize,
    },
    /// Two files of a folder overlap in time: frames that two monitors captured are no sequence of one.
    Overlap {
        /// The folder.
        folder: String,
        /// The file that begins first.
        first: String,
        /// The other one.
        second: String,
        /// Time from the begin of the second to the end of the first.
        by: Span,
    },
    /// The file is a capture and holds no packets that can be analysed.
    NoPackets {
        /// The file.
        file: String,
        /// Packets that were left out because their stated length is impossible.
        oversized: Option<Oversized>,
        /// Whether it ends within its first packet.
        is_cut: bool,
    },
    /// The compressed file expands to more than 200 times its size.
    Expanded(String),
    /// The checksum of the compressed data does not match: any packet may be wrong.
    Checksum(String),
    /// The records of the capture exceed the limit of memory.
    Memory {
        /// The file.
        file: String,
        /// Packets up to there.
        packets: u32,
        /// Memory that their records take, in bytes.
        memory_bytes: u64,
        /// The limit in bytes.
        limit_bytes: u64,
    },
    /// The station is not in the capture.
    NoStation {
        /// The file.
        file: String,
        /// The address that the user named.
        station: String,
        /// The endpoints with most traffic, in text.
        candidates: Vec<String>,
        /// Why nothing was decrypted, if a key was given: the addresses in protected frames are not known.
        locked: Option<String>,
    },
    /// The text is not an address.
    StationText(String),
    /// The caller asked to stop.
    Interrupted,
}

impl CaptureError {
    /// Whether the file or an option is wrong (exit status 2). Otherwise the capture is in order, and the analysis failed:
    /// it exceeds a limit, or holds nothing to analyse (exit status 1).
    pub const fn is_wrong_input(&self) -> bool {
        !matches!(self, Self::NoPackets { .. } | Self::Memory { .. } | Self::Interrupted)
    }

    /// Whether one file is at fault, so that the others of a folder can be analysed.
    pub(crate) const fn is_of_one_file(&self) -> bool {
        matches!(
            self,
            Self::Unreadable(..)
                | Self::Empty(_)
                | Self::NotACapture(..)
                | Self::LinkType(..)
                | Self::Expanded(_)
                | Self::Checksum(_)
        )
    }

    fn text(&self) -> String {
        match self {
            Self::Unreadable(file, reason) => format!("{file}: cannot be read: {reason}"),
            Self::Empty(file) => format!("{file}: expected a pcap or pcapng capture, got an empty file"),
            Self::NotACapture(file, why) => format!("{file}: not a pcap or pcapng capture: {why}"),
            Self::LinkType(file, number) => format!(
                "{file}: link type {number} is not supported; supported are {}",
                LinkType::supported()
            ),
            Self::Folder { folder, files, most } => format!(
                "{folder}: expected a folder with 1 to {most} files that are named as captures (.pcap, .pcapng, .cap, also .gz \
                 and .zst), got {files}"
            ),
            Self::Overlap { folder, first, second, by } => format!(
                "{folder}: expected files that follow each other in time, got {second}, which begins {by} before {first} ends; hint: \
                 analyse each file, or a folder for each monitor"
            ),
            Self::NoPackets { file, oversized: None, is_cut } => {
                let why = if *is_cut { "; its first one is cut short" } else { "" };
                format!("{file}: a capture without packets{why}")
            }
            Self::NoPackets { file, oversized: Some(oversized), .. } => {
                format!("{file}: a capture without packets that can be analysed: {oversized}")
            }
            Self::Checksum(file) => format!(
                "{file}: the checksum of the compressed data does not match, so that any of its packets may be wrong; hint: another copy of it"
            ),
            Self::Expanded(file) => format!(
                "{file}: the compressed file expands to more than {EXPANSION_LIMIT} times its size; hint: decompress it \
                 first if it is trustworthy"
            ),
            Self::Memory { file, packets, memory_bytes, limit_bytes } => format!(
                "{file}: the records of its first {packets} packets take {}, and the limit is {}; hint: raise --limit \
                 memory=SIZE, or cut the capture",
                Size::from_bytes(*memory_bytes),
                Size::from_bytes(*limit_bytes)
            ),
            Self::NoStation { file, station, candidates, locked } => {
                let known =
                    if candidates.is_empty() { "" } else { &format!("; it has {}", candidates.join(", ")) };
                let why =
                    locked.as_ref().map_or_else(String::new, |why| format!("; nothing was decrypted: {why}"));
                format!("{file}: station {station} is not in the capture{known}{why}")
            }
            Self::StationText(text) => format!(
                "--station: expected an IP or MAC address, for example 192.168.7.2 or 00:1b:63:ab:cd:ef, got {text:?}"
            ),
            Self::Interrupted => "interrupted".to_owned(),
        }
    }
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A file's name may have any character, and this is one line.
        Printable(&self.text()).fmt(f)
    }
}

impl fmt::Display for Oversized {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, bytes, limit_bytes, count } = self;
        let packets = if *count == 1 { "1 packet states" } else { &format!("{count} packets state") };
        write!(
            f,
            "{packets} a length that is impossible on the link (the first is packet {first}, with {bytes} bytes of at most \
             {limit_bytes})"
        )
    }
}

impl std::error::Error for CaptureError {}

/// The reasons for which there is no analysis. Each prints as one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnalyzeError {
    /// The capture.
    Capture(CaptureError),
    /// An option; the text names it.
    Option(String),
    /// The capture holds no packet of any station; the text says what is missing.
    Nothing(String),
    /// A limit is exceeded; the text says by what.
    Limit(String),
    /// The output failed; the text says why.
    Output(String),
    /// The caller asked to stop.
    Interrupted,
}

impl AnalyzeError {
    /// Whether the file or an option is wrong (exit status 2) rather than the analysis failed (exit status 1).
    pub const fn is_wrong_input(&self) -> bool {
        match self {
            Self::Capture(error) => error.is_wrong_input(),
            Self::Option(_) => true,
            Self::Nothing(_) | Self::Limit(_) | Self::Output(_) | Self::Interrupted => false,
        }
    }
}

impl fmt::Display for AnalyzeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Capture(error) => error.fmt(f),
            Self::Option(text) | Self::Nothing(text) | Self::Limit(text) | Self::Output(text) => {
                f.write_str(text)
            }
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for AnalyzeError {}

impl From<CaptureError> for AnalyzeError {
    fn from(error: CaptureError) -> Self {
        match error {
            CaptureError::Interrupted => Self::Interrupted,
            error => Self::Capture(error),
        }
    }
}
