//! Frame formats: 802.11 MAC frames and radiotap headers, to bytes and back.
//!
//! Two levels, as bytes and as meaning. A *view* ([`Frame`], [`ManagementBody`], [`Elements`], [`Tim`]) borrows bytes
//! and reads fields where they lie; a *representation* ([`Header`], [`BeaconFields`], [`Radiotap`]) holds what the
//! fields mean and writes them. Bytes come from the network and are hostile: every decoder returns [`WireError`] on
//! what it cannot read, and none panics, loops or allocates in proportion to a claimed length.
//!
//! What is here is what power save, contention and the ledger of air time need: frame control, addresses, sequence
//! and QoS control, beacons with their TIM, association, PS-Poll, the control frames, and the radiotap fields from
//! which a data rate follows. Left out: security (protected bodies stay opaque), action frames' contents, EHT and
//! radiotap's TLV fields, which end the decoding of a radiotap header without harm to what was read before.

mod address;
mod dot11;
mod elements;
mod error;
mod fcs;
mod management;
mod payload;
mod radiotap;
mod rates;

pub use address::{MacAddress, ParseMacError};
pub use dot11::{AckPolicy, Frame, FrameControl, FrameKind, Header, QosControl};
pub use elements::{Elements, Tim, TimFields, WmmInfo};
pub use error::WireError;
pub use fcs::{append_fcs, check_fcs, fcs};
pub use management::{AssociationResponse, BeaconFields, Capability, ManagementBody};
pub use payload::{AmsduSubframe, amsdu_subframes, encapsulate, snap_payload};
pub use radiotap::{AmpduStatus, Channel, McsField, Radiotap, RadiotapFlags, TxFlags};
pub use rates::{Bandwidth, GuardInterval, Preamble, he_rate, ht_rate, vht_rate};

#[cfg(test)]
mod tests;
