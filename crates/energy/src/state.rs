//! The states of a radio.

/// The state of a radio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RadioState {
    /// The radio transmits.
    Transmit,
    /// The radio receives a frame with any receiver address.
    Receive,
    /// The radio is awake and neither transmits nor receives: carrier sense, backoff, waiting.
    Listen,
    /// The radio sleeps and receives nothing.
    Sleep,
    /// The radio is in transition from awake to sleep.
    ToSleep,
    /// The radio is in transition from sleep to awake.
    WakeUp,
}

impl RadioState {
    /// Every state, in the order of the results.
    pub const ALL: [Self; 6] =
        [Self::Transmit, Self::Receive, Self::Listen, Self::Sleep, Self::ToSleep, Self::WakeUp];

    /// The name in traces.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Transmit => "transmit",
            Self::Receive => "receive",
            Self::Listen => "listen",
            Self::Sleep => "sleep",
            Self::ToSleep => "to-sleep",
            Self::WakeUp => "wake-up",
        }
    }
}
