//! The states of congestion avoidance, and what a path may lose: what the send half and the congestion controls have in common.

/// The state of congestion avoidance, in the order of its severity, with the numbers of `TCP_INFO`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CaState {
    /// Nothing is missing.
    #[default]
    Open,
    /// Something may be.
    Disorder,
    /// The window is being reduced for a mark of ECN, a repaired tail or a full device.
    Cwr,
    /// The window is being reduced for a loss, which is repaired.
    Recovery,
    /// The timer expired.
    Loss,
}

impl CaState {
    /// Whether the window is being reduced proportionally.
    pub(super) fn reduces(self) -> bool {
        matches!(self, Self::Cwr | Self::Recovery)
    }
}

/// A segment with whose loss more was lost than a path may lose: what was in flight then, and whether the application limited it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Excess {
    pub(super) flight: u32,
    pub(super) limited: bool,
}

/// Whether so many losses are more than a path may have: 2 %.
pub(super) fn is_excess(lost: u64, flight: u32) -> bool {
    lost * 50 > u64::from(flight)
}
