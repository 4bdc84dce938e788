//! What commands and flows report of their end to the bridge.

use std::sync::mpsc::Sender;

use airwatt_linux::event_loop::Waker;

/// The end of a command or flow.
pub(crate) enum Report {
    /// A command has ended; `awaited` if the emulation waits for it.
    Exited { awaited: bool },
    /// A flow has delivered all its data.
    FlowDone,
    /// A flow has failed.
    FlowFailed(String),
}

/// The destination of reports: a queue, and an event counter that wakes the bridge.
#[derive(Clone, Debug)]
pub(crate) struct Reports {
    pub(crate) queue: Sender<Report>,
    pub(crate) waker: Waker,
}

impl Reports {
    pub(crate) fn send(&self, report: Report) {
        // After the end of the emulation no reader is left.
        let _ = self.queue.send(report);
        self.waker.wake();
    }
}
