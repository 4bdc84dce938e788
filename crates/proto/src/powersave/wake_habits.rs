//! A station has habits in keeping a target wake time agreement, where the standard leaves it the choice.
//!
//! Left out: what a device does beside its agreement, such as probing for the access point's time.

use airwatt_base::{Span, named_values};

/// Frames of the user for which no service period is open are sent, or wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OutsidePeriods {
    /// They are sent at once.
    #[default]
    Sent,
    /// They wait for the next period.
    Held,
    /// They wait for the next period, and those that are left at its end are discarded.
    Discarded,
}

named_values! {
    OutsidePeriods {
        "sent" => Self::Sent = Self::Sent;
        "held" => Self::Held = Self::Held;
        "discarded" => Self::Discarded = Self::Discarded;
    }
}

/// The habits of a station that has an agreement. The default is a station that is awake for no longer than it needs to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct WakeHabits {
    /// The fate of frames of the user outside service periods.
    pub outside: OutsidePeriods,
    /// Beacons that are received after each period. With 0 one is received after a period without a frame, for the time.
    pub beacons_after: u32,
    /// Time for which the device is awake before each period, beside the guard time and the time that its radio takes to wake up.
    pub overhead: Span,
}
