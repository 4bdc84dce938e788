//! For how long the send half was busy, and for how long the peer's window or the send buffer limited it (`tcp_chrono`).

/// What the send half waited for, in microseconds: the application does not count.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Chronograph {
    kind: Kind,
    since: u64,
    totals: [u64; 3],
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    Idle,
    Busy,
    Peer,
    Buffer,
}

impl Chronograph {
    fn enter(&mut self, kind: Kind, now: u64) {
        if self.kind != Kind::Idle {
            self.totals[self.kind as usize - 1] += now - self.since;
        }
        (self.kind, self.since) = (kind, now);
    }

    /// Data was written while there was none.
    pub(super) fn busy(&mut self, now: u64) {
        if self.kind == Kind::Idle {
            self.enter(Kind::Busy, now);
        }
    }

    /// Everything is acknowledged.
    pub(super) fn idle(&mut self, now: u64) {
        self.enter(Kind::Idle, now);
    }

    /// Whether the peer's window is what limits now.
    pub(super) fn peer_limited(&mut self, limited: bool, now: u64) {
        match (limited, self.kind) {
            (true, Kind::Busy | Kind::Buffer) => self.enter(Kind::Peer, now),
            (false, Kind::Peer) => self.enter(Kind::Busy, now),
            _ => {}
        }
    }

    /// The send buffer is what limits.
    pub(super) fn buffer_limited(&mut self, now: u64) {
        if self.kind == Kind::Busy {
            self.enter(Kind::Buffer, now);
        }
    }

    /// Times in all, limited by the peer's window, and by the send buffer.
    pub(super) fn times(&self, now: u64) -> (u64, u64, u64) {
        let mut copy = *self;
        copy.enter(Kind::Idle, now);
        (copy.totals.iter().sum(), copy.totals[1], copy.totals[2])
    }
}
