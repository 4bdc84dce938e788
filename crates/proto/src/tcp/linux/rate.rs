//! Samples of the delivery rate, from which BBR learns what the path carries.
//!
//! Each segment remembers how much had been delivered when it was sent. When it arrives, what was delivered since, divided by
//! the time since, is a sample. The time is the longer of the one in which the segments were sent and the one in which they
//! were acknowledged, so that neither a burst of acknowledgements nor one of segments raises the estimate.

/// What a segment remembers of the moment of its last transmission.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Snapshot {
    /// Segments delivered until then, and when the last of them was.
    delivered: u64,
    delivered_at: u64,
    /// When the segment was sent whose delivery was the last one known then.
    window_sent: u64,
    /// Segments ever taken for lost until then.
    pub(super) lost: u64,
    /// Segments in flight, with this one.
    pub(super) flight: u32,
    /// Whether the application had too little to send.
    pub(super) limited: bool,
}

/// The newest segment among those that an acknowledgement delivers.
#[derive(Clone, Copy, Debug)]
struct Newest {
    sent: u64,
    end: u64,
    snapshot: Snapshot,
}

/// A sample of the delivery rate.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RateSample {
    /// Segments delivered, and the time for that in microseconds, which is never zero.
    pub(super) delivered: u64,
    pub(super) interval: u64,
    /// Segments delivered before the segment of the sample was sent.
    pub(super) prior_delivered: u64,
    /// Segments taken for lost since it was sent.
    pub(super) lost: u64,
    /// Segments in flight when it was sent.
    pub(super) flight: u32,
    /// Whether the application had too little to send.
    pub(super) limited: bool,
}

/// The state of the samples of a connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Rate {
    delivered_at: u64,
    window_sent: u64,
    /// The mark of an application with too little to send, until more than this was delivered.
    limited_until: Option<u64>,
    newest: Option<Newest>,
}

impl Rate {
    /// The first segment is sent while nothing is outstanding: the time before it does not count.
    pub(super) fn restart(&mut self, now: u64) {
        (self.window_sent, self.delivered_at) = (now, now);
    }

    /// What a segment that is sent now remembers.
    pub(super) fn snapshot(&self, delivered: u64, lost: u64, flight: u32) -> Snapshot {
        Snapshot {
            delivered,
            delivered_at: self.delivered_at,
            window_sent: self.window_sent,
            lost,
            flight,
            limited: self.is_limited(),
        }
    }

    /// The application has too little to send, with everything below `until` delivered or in flight.
    pub(super) fn limit(&mut self, until: u64) {
        self.limited_until = Some(until.max(1));
    }

    /// Whether segments that are sent now are marked.
    pub(super) fn is_limited(&self) -> bool {
        self.limited_until.is_some()
    }

    /// A segment has arrived.
    pub(super) fn deliver(&mut self, sent: u64, end: u64, snapshot: Snapshot) {
        if self.newest.is_none_or(|newest| (sent, end) > (newest.sent, newest.end)) {
            self.newest = Some(Newest { sent, end, snapshot });
        }
    }

    /// The sample of an acknowledgement, with so many segments delivered and taken for lost since the beginning. There is none if
    /// it delivered nothing, or if the time is shorter than the least round trip: nothing can be learned from that.
    pub(super) fn sample(&mut self, delivered: u64, lost: u64, least: u64, now: u64) -> Option<RateSample> {
        if self.limited_until.is_some_and(|until| delivered > until) {
            self.limited_until = None;
        }
        let Newest { sent, snapshot, .. } = self.newest.take()?;
        self.window_sent = sent;
        self.delivered_at = now;
        let interval =
            sent.saturating_sub(snapshot.window_sent).max(now.saturating_sub(snapshot.delivered_at));
        (interval > 0 && (least == u64::MAX || interval >= least)).then(|| RateSample {
            delivered: delivered - snapshot.delivered,
            interval,
            prior_delivered: snapshot.delivered,
            lost: lost - snapshot.lost,
            flight: snapshot.flight,
            limited: snapshot.limited,
        })
    }
}
