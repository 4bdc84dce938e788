//! When packets may leave: the pacing rate, and the departure of the next packet.

#[derive(Clone, Debug, Default)]
pub(super) struct Pacing {
    /// Bytes a second; zero before it is known.
    pub(super) rate: u64,
    /// When the next packet may leave.
    next: u64,
    /// The next departure, if a packet waits for it.
    pub(super) timer: Option<u64>,
}

impl Pacing {
    /// Whether the next packet has to wait; the timer is set to its departure then.
    pub(super) fn must_wait(&mut self, now: u64) -> bool {
        let waits = self.next > now;
        if waits {
            self.timer = Some(self.next);
        }
        waits
    }

    /// A packet with this many bytes of payload leaves.
    pub(super) fn advance(&mut self, bytes: u32, now: u64) {
        if let Some(span) = (u64::from(bytes) * 1_000_000).checked_div(self.rate) {
            let credit = now.saturating_sub(self.next).min(span / 2);
            self.next = now + span - credit;
        }
    }

    /// Sets the rate to `percent` of `window` bytes a round trip; without a sample of it, of a microsecond.
    pub(super) fn follow_window(&mut self, window: u64, percent: u64, srtt: Option<u64>) {
        self.rate = window * percent * 10_000 / srtt.unwrap_or(1).max(1);
    }
}
