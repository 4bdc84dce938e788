//! The timers of a connection.

use airwatt_base::{TimerTable, timer_kinds};

timer_kinds! {
    /// The timers of a connection.
    pub enum E2tcpTimer {
        /// When to give up waiting for packets that were sent once.
        Transmission = "transmission",
        /// When to give up waiting for packets that were sent again.
        Retransmission = "retransmission",
        /// When to give up waiting for packets that were retransmitted.
        Probe = "probe",
        /// When a burst of errors is predicted to end.
        BurstEnd = "burst-end",
        /// When to remove a closed connection.
        Linger = "linger",
        /// When to acknowledge packets whose acknowledgement waits for more of them.
        Acknowledgement = "acknowledgement",
    }
}

pub(super) type Timers = TimerTable<E2tcpTimer, 6>;
