//! What stations and access points did about power save, as an 802.11 capture shows it.
//!
//! The analysis follows each station's PM bit, PS-Polls, triggers and TIM bits through the frames (`station`) and the beacons
//! and group-addressed frames of each cell (`cell`), and reports what the rules of 802.11-2020 11.1 and 11.2.3 do not
//! allow or what wastes energy (`finding`). A monitor misses frames, and it does not see when a packet
//! reaches the access point. So each occurrence has a [`Verdict`] with the packets that decide it: a rule is violated or kept only
//! if that follows from frames that were captured, and undecidable otherwise. That a frame was not sent follows from sequence
//! numbers alone (`sequence`), that one did not arrive earlier from what it answers (`requests`), and
//! that one had arrived from the frame of another station that brought it (`relays`). `docs/findings.md` has a ladder for each kind.
//!
//! Where a station has agreed on other times at which it is awake (`agreements`), rules that depend on its sleep are undecidable; of
//! individual target wake times those about their service periods (`station/wake_times`) take their place.
//!
//! Left out: S-APSD, who joins a broadcast TWT (its schedules are listed), and stations of ad hoc networks.

mod agreements;
mod cell;
mod finding;
mod observer;
mod pauses;
mod record;
mod relays;
mod requests;
mod sequence;
mod station;
mod targets;
mod times;
mod wait;

use airwatt_dot11::FrameKind;

pub use self::agreements::{HeldAgreement, SleepAgreement};
pub use self::finding::{Excess, Finding, FindingKind, Needs, Occurrence, Verdict};
pub use self::record::{ModeSpan, Observations, ObservedCounts, StationRecord, Stay, Stays};
use crate::capture::Capture;
use crate::packet::AirFrame;
pub(crate) use cell::GCR_CONCEALMENT;
use observer::Observer;
pub(crate) use observer::is_acknowledged;
pub(crate) use times::NEVER;
use times::{
    CLOCK_MARGIN, ENOUGH_BEACONS, FLAP_CHANGES, FLAP_INTERVAL, IN_FLIGHT, Mark, PROMPT, WAS_WAITING,
};

/// Follows the power save of all stations of a capture; empty for captures that are not of 802.11.
///
/// The work is linear in the packets, up to a logarithm: a beacon is entered in its cell's log, and a station reads the
/// totals of the beacons since its last frame when it has the next one.
pub fn observe(capture: &Capture) -> Observations {
    let is_ack = |frame: &AirFrame| frame.control.kind == FrameKind::Ack;
    let mut observer = Observer::new(capture, capture.frames.iter().any(is_ack));
    for segment in &capture.segments {
        observer.segment(capture, segment);
    }
    observer.finish()
}
