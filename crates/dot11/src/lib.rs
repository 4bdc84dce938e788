//! IEEE 802.11 as facts and bytes: how long frames are on the air, and MAC frames and radiotap headers to bytes and back.
//!
//! A [`TxVector`] is what a transmitter decides about a PPDU, and a [`Layout`] how long that takes on the air; [`Standard`] has the
//! timing and the rates of the PHYs that scenarios name.
//! Everything else is frame formats, at two levels, as bytes and as meaning. A *view* ([`Frame`], [`ManagementBody`],
//! [`Elements`], [`Tim`]) borrows bytes and reads fields where they lie; a *representation* ([`MacHeader`], [`BeaconFields`], [`Radiotap`]) holds what the
//! fields mean and writes them. Bytes come from the network and are hostile: every decoder returns [`MalformedFrame`] on
//! what it cannot read, and none panics, loops or allocates in proportion to a claimed length.
//!
//! What is here is what power save, contention and the ledger of air time need: frame control, addresses, sequence
//! and QoS control, beacons with their TIM, association, PS-Poll, the control frames, Basic Trigger frames, the action frames of individual
//! target wake time, the answers of WNM sleep mode, and the radiotap fields from which a data rate follows. Left out: security (protected bodies stay
//! opaque here; the crate `capture` opens them), other action frames' contents, EHT and radiotap's TLV fields, which end
//! the decoding of a radiotap header without harm to what was read before.

mod address;
mod elements;
mod error;
mod fcs;
mod frame;
mod layout;
mod management;
pub mod mode_name;
mod payload;
mod quiet;
mod radiotap;
mod timing;
mod trigger;
mod twt;
mod tx_vector;
mod wnm;

pub use address::{MacAddress, ParseMacError};
pub use elements::{AccessParameters, Elements, Tim, TimFields, WmmInfo};
pub use error::MalformedFrame;
pub use fcs::{append_fcs, check_fcs, fcs};
pub use frame::{Frame, FrameControl, FrameKind, MacHeader, QosControl};
pub use layout::Layout;
pub use management::{AssociationResponse, BeaconFields, Capability, ManagementBody, TIME_UNIT};
pub use payload::{AmsduSubframe, amsdu_subframes, encapsulate, snap_payload};
pub use quiet::QuietInterval;
pub use radiotap::{AmpduStatus, Channel, McsField, Radiotap, RadiotapFlags, TxFlags};
pub use timing::{Standard, Timing};
pub use trigger::BasicTrigger;
pub use twt::{NextTwtBytes, TwtAction, TwtCommand, TwtSchedule, TwtSetup, WakeDuration, WakeInterval};
pub use tx_vector::{Band, Coding, Format, Guard, HeFields, HeForm, Ltf, TxVector, Width};
pub use wnm::WnmSleep;

#[cfg(test)]
mod tests;
