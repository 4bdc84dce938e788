//! Packets that are not simulated: somebody else makes them, hands them in, and takes them out where they arrive.
//!
//! In emulation they are those of real kernels. Their number leads to their bytes, which stay with whoever drives the
//! machines; here a packet is its length. What is left out: windows that a power-save policy grants (`psm-throttling`)
//! cannot be imposed on foreign ends.

use std::collections::BTreeMap;

use airwatt_base::{Instant, Span};
use airwatt_proto::powersave::StationId;

/// The way in and out of one station's packets.
#[derive(Clone, Debug, Default)]
pub struct Foreign {
    /// Packets on their way up that turn round at the base station, and whither.
    local: BTreeMap<u64, StationId>,
}

impl Foreign {
    /// The packet with this number is for another station of the cell.
    pub fn turns_at_base(&mut self, number: u64, to: StationId) {
        self.local.insert(number, to);
    }

    /// Where the packet with this number turns to, if it does. It is forgotten here.
    pub fn take_turn(&mut self, number: u64) -> Option<StationId> {
        self.local.remove(&number)
    }
}

/// A foreign packet has left the machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// Its number.
    pub number: u64,
    /// When.
    pub at: Instant,
    /// How long it was under way.
    pub took: Span,
    /// Whether it arrived; if not, it was dropped, damaged or given up.
    pub arrived: bool,
}
