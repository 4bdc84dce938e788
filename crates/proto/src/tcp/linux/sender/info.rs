//! What `TCP_INFO` shows, and the chronographs under it.

use super::Sender;

/// What the send half waited for, in microseconds: the application does not count.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::tcp::linux) struct Chronograph {
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
    pub(in crate::tcp::linux) fn busy(&mut self, now: u64) {
        if self.kind == Kind::Idle {
            self.enter(Kind::Busy, now);
        }
    }

    /// Everything is acknowledged.
    pub(in crate::tcp::linux) fn idle(&mut self, now: u64) {
        self.enter(Kind::Idle, now);
    }

    /// Whether the peer's window is what limits now.
    pub(in crate::tcp::linux) fn peer_limited(&mut self, limited: bool, now: u64) {
        match (limited, self.kind) {
            (true, Kind::Busy | Kind::Buffer) => self.enter(Kind::Peer, now),
            (false, Kind::Peer) => self.enter(Kind::Busy, now),
            _ => {}
        }
    }

    /// The send buffer is what limits.
    pub(in crate::tcp::linux) fn buffer_limited(&mut self, now: u64) {
        if self.kind == Kind::Busy {
            self.enter(Kind::Buffer, now);
        }
    }

    /// Times in all, limited by the peer's window, and by the send buffer.
    fn times(&self, now: u64) -> (u64, u64, u64) {
        let mut copy = *self;
        copy.enter(Kind::Idle, now);
        (copy.totals.iter().sum(), copy.totals[1], copy.totals[2])
    }
}

/// Values of `TCP_INFO` with their names, times in microseconds.
pub(in crate::tcp::linux) fn of(sender: &Sender, now: u64) -> Vec<(&'static str, u64)> {
    let (busy, peer, buffer) = sender.chronograph.times(now);
    let least = sender.rtt.minimum();
    let queue = &sender.queue;
    vec![
        ("tcpi_ca_state", sender.state as u64),
        ("tcpi_retransmits", u64::from(sender.retransmits)),
        ("tcpi_probes", u64::from(sender.probes)),
        ("tcpi_backoff", u64::from(sender.backoff)),
        ("tcpi_rto", sender.clock.span(sender.clock.covering(sender.rtt.rto()))),
        ("tcpi_snd_mss", u64::from(sender.current_mss())),
        ("tcpi_unacked", u64::from(queue.packets())),
        ("tcpi_sacked", u64::from(queue.sacked)),
        ("tcpi_lost", u64::from(queue.lost)),
        ("tcpi_retrans", u64::from(queue.resent)),
        ("tcpi_rtt", sender.rtt.srtt().unwrap_or(0)),
        ("tcpi_rttvar", sender.rtt.mdev()),
        ("tcpi_min_rtt", if least == u64::MAX { u64::from(u32::MAX) } else { least }),
        ("tcpi_snd_ssthresh", u64::from(sender.ssthresh)),
        ("tcpi_snd_cwnd", u64::from(sender.cwnd)),
        ("tcpi_reordering", u64::from(sender.reordering)),
        ("tcpi_reord_seen", u64::from(sender.reorder_seen)),
        ("tcpi_total_retrans", sender.total_retransmits),
        ("tcpi_busy_time", busy),
        ("tcpi_rwnd_limited", peer),
        ("tcpi_sndbuf_limited", buffer),
        ("tcpi_delivered", sender.delivered),
        ("tcpi_pacing_rate", sender.pacing_rate),
    ]
}
