//! Real captures: what a station's radio did or would have had to do.
//!
//! [`Capture::open`] reads a file into small records ([`CapturedPacket`], and [`AirFrame`] for 802.11) and divides it where its
//! clock jumps ([`clock`]); [`stations`] finds the station in question; [`flows`] sums up connections and finds the
//! exchanges that woke the radio alone; [`power_save`] follows the power save of 802.11 stations and access points;
//! [`replay`] lists the arrivals that the simulator replays through its own access point; [`timeline`] is who slept when; `group` prices
//! group-addressed packets; [`current`] lays a measured current beside a prediction; [`analyze`] does all of this, and
//! [`report`] is the resulting document. [`advise`] decides which policy to take, for a capture or a scenario. [`Limits`] bound what all of it may cost.
//!
//! Three bases are kept apart everywhere: *measured* is air time that follows from the frames' rates in a radiotap
//! header; *simulated* is a replay at rates that were captured; *inferred* is a replay of packets for which a rate is
//! assumed.
//!
//! Encrypted frames are opened with the passphrase of their network ([`NetworkKey`]); without it they count by size, with their
//! cipher's overhead taken off. Left out: reassembly of IP and
//! 802.11 fragments, and payload of any kind, of which nothing is kept.

mod absence;
pub mod advise;
mod analyze;
mod annotate;
mod anonymize;
mod buffered;
mod capture;
mod captured_radio;
pub mod clock;
mod copy;
pub mod current;
mod decode;
mod decrypt;
mod doubles;
mod error;
mod file;
pub mod flows;
mod group;
pub mod limits;
mod packet;
mod phy;
pub mod power_save;
pub mod replay;
pub mod report;
pub mod stations;
pub mod timeline;
mod what_if;

pub use absence::Absences;
pub use analyze::{
    AnalysisProgress, Current, DEFAULT_RADIO, Question, Watch, analyze, analyze_capture, analyze_stations,
    analyze_then,
};
pub use annotate::{Remark, annotate};
pub use anonymize::anonymize;
pub use capture::{Capture, CaptureFile, FileFormat, LinkType, Notes, Oversized, SteadyPart};
pub use decrypt::{DecryptionReport, NetworkKey, ParseKeyError, UndecryptedReport};
pub use error::{AnalyzeError, CaptureError};
pub use file::{OnReading, Reading};
pub use limits::Limits;
pub use packet::{
    AirFrame, Beacon, BlockAck, CapturedPacket, GroupProtocol, Ip, ObservedCell, TcpFields, TransportHeader,
};
pub use phy::{ASSUMED, ASSUMED_FAST, ASSUMED_SLOW};
pub use replay::TAIL;
pub use what_if::is_replayed_by_default;

#[cfg(test)]
mod tests;
