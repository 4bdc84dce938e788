//! The timers of a connection.

use airwatt_base::{TimerTable, timer_kinds};

timer_kinds! {
    /// The timers of a connection.
    pub enum TcpTimer {
        /// When to give up waiting for an acknowledgement and send again.
        Retransmission = "retransmission",
        /// When to probe a closed window.
        Persist = "persist",
        /// When to send a delayed acknowledgement.
        DelayedAck = "delayed-ack",
        /// When to remove a closed connection.
        TimeWait = "time-wait",
    }
}

pub(super) type Timers = TimerTable<TcpTimer, 4>;
