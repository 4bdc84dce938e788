//! What the send half sends next, and when it has to ask about a closed window.

use airwatt_base::Instant;

use super::{FIRST, Outgoing, Record, Sender};
use crate::cc::Recovery;
use crate::tcp::buffer::SendBuffer;
use crate::tcp::config::SackRecovery;
use crate::tcp::segment::Flags;
use crate::tcp::statistics::Statistics;
use crate::tcp::timer::{TcpTimer, Timers};

/// Largest number of new segments that duplicate ACKs may release beyond the window (RFC 3042 section 2).
const LIMITED_TRANSMITS: u32 = 2;

impl<S: SendBuffer> Sender<S> {
    /// Returns the next segment to send at `now`, if there is one. Before the connection is established (`open` is
    /// false) only the SYN is sent.
    #[inline]
    pub(in crate::tcp) fn next(
        &mut self,
        open: bool,
        now: Instant,
        timers: &mut Timers,
        statistics: &mut Statistics,
    ) -> Option<Outgoing> {
        let (at, len, fin) = if std::mem::take(&mut self.resend) {
            // The segment is retransmitted as a whole even if the peer has shrunk its window, as RFC 9293 section 3.8.6
            // permits.
            let behind = self.max.max(FIRST).min(self.end) - self.una.clamp(FIRST, self.end);
            let hole = self.scoreboard.next_start(self.una).map_or(behind, |start| start - self.una);
            let len = if self.una == 0 { 0 } else { behind.min(u64::from(self.mss)).min(hole) };
            if self.recovering && self.recovery == Recovery::Scoreboard {
                self.note_retransmission(self.una, len);
            }
            (self.una, len, self.is_last(self.una + len))
        } else if !open || self.holding {
            return None;
        } else if std::mem::take(&mut self.probe) {
            return self.next_probe(now, timers, statistics);
        } else if self.recovering && self.recovery == Recovery::Scoreboard {
            self.next_seg()?
        } else {
            self.skip_sacked();
            let (len, fin) = self.permitted(self.budget())?;
            self.restart_if_idle(now);
            if self.limited_transmit && self.nxt + len > self.una + u64::from(self.control.cwnd()) {
                self.limited += len;
                statistics.limited_transmits += 1;
            }
            (self.nxt, len, fin)
        };
        Some(self.record_transmission(at, len, fin, now, timers, statistics))
    }

    /// Number of bytes that the congestion window still permits.
    fn budget(&self) -> u64 {
        let mut edge = self.una + u64::from(self.control.cwnd());
        if self.skips_reported_data() && self.sack_recovery == SackRecovery::Rfc6675 {
            edge += self.scoreboard.sacked_bytes_below(self.nxt);
        } else if self.nxt >= self.max && self.limited_transmit && !self.recovering {
            edge += u64::from(self.duplicates.min(LIMITED_TRANSMITS) * self.mss);
        }
        edge.saturating_sub(self.nxt)
    }

    fn restart_if_idle(&mut self, now: Instant) {
        let Some(window) = self.restart_window.filter(|_| self.nxt == self.una) else { return };
        if self.last_sent.is_some_and(|last| now.saturating_since(last) > self.rtt.rto()) {
            self.control.on_idle(window);
        }
    }

    /// Returns a segment with the data that the peer's window has room for, or, if the window is closed, with one byte
    /// or the FIN beyond it.
    fn next_probe(
        &mut self,
        now: Instant,
        timers: &mut Timers,
        statistics: &mut Statistics,
    ) -> Option<Outgoing> {
        if self.nxt != self.una || self.nxt >= self.last() {
            return None;
        }
        let data = self.end - self.una.min(self.end);
        let room = self.edge.saturating_sub(self.una);
        if room > 0 {
            let len = data.min(room).min(u64::from(self.mss));
            let fin = self.is_last(self.una + len) && room > len;
            return Some(self.record_transmission(self.una, len, fin, now, timers, statistics));
        }
        statistics.probes_sent += 1;
        let (len, fin) = (data.min(1), data == 0);
        self.count(self.una, len, statistics);
        self.max = self.max.max(self.una + 1);
        self.sample_from = self.sample_from.max(self.max);
        Some(self.outgoing(self.una, len, fin))
    }

    /// Records a segment as sent: updates positions, RTT records and timers.
    fn record_transmission(
        &mut self,
        at: u64,
        len: u64,
        fin: bool,
        now: Instant,
        timers: &mut Timers,
        statistics: &mut Statistics,
    ) -> Outgoing {
        let end = at + len + u64::from(fin) + u64::from(at == 0);
        self.count(at, len, statistics);
        if at < self.max {
            self.mark_retransmitted(at, end);
        } else if self.rtt.times_one_segment() {
            self.timed.get_or_insert((end, now));
        } else {
            self.records.push_back(Record { end, sent: now, retransmitted: false });
        }
        self.nxt = self.nxt.max(end);
        self.max = self.max.max(end);
        self.last_sent = Some(now);
        timers.stop(TcpTimer::Persist);
        if !timers.is_running(TcpTimer::Retransmission) {
            timers.set(TcpTimer::Retransmission, now.saturating_add(self.rtt.rto()));
        }
        self.outgoing(at, len, fin)
    }

    /// Marks the data from `at` to `end` as retransmitted, so that it gives no RTT sample.
    fn mark_retransmitted(&mut self, at: u64, end: u64) {
        if self.recovery == Recovery::Scoreboard {
            let first = self.records.partition_point(|record| record.end <= at);
            let behind = self.records.partition_point(|record| record.end < end);
            for record in self.records.range_mut(first..(behind + 1).min(self.records.len()).max(first)) {
                record.retransmitted = true;
            }
        } else if let Some(record) = self.records.front_mut().filter(|_| at == self.una) {
            record.retransmitted = true;
        }
        if self.timed.is_some_and(|(timed, _)| at < timed && timed <= end) {
            self.timed = None;
        }
    }

    fn count(&self, at: u64, len: u64, statistics: &mut Statistics) {
        if len == 0 {
            return;
        }
        statistics.segments_sent += 1;
        statistics.bytes_sent += len;
        if at < self.max {
            statistics.segments_retransmitted += 1;
        }
    }

    fn outgoing(&self, at: u64, len: u64, fin: bool) -> Outgoing {
        let mut flags = Flags::NONE;
        if at == 0 {
            flags = flags | Flags::SYN;
        }
        if len > 0 && at + len == self.end {
            flags = flags | Flags::PSH;
        }
        if fin {
            flags = flags | Flags::FIN;
        }
        Outgoing { seq: self.sequence(at), len: len as u16, flags }
    }

    /// Runs the persist timer exactly while the peer's window alone blocks transmission.
    pub(in crate::tcp) fn arrange_persist(&self, now: Instant, timers: &mut Timers) {
        let blocked = self.nxt == self.una && self.nxt < self.last();
        if !blocked {
            timers.stop(TcpTimer::Persist);
        } else if !timers.is_running(TcpTimer::Persist) {
            timers.set(TcpTimer::Persist, now.saturating_add(self.rtt.backed_off(self.probes)));
        }
    }
}
