//! What is sent when, and in which bursts: new data as the windows permit, and lost segments again.

use super::recovery::Repair;
use super::{Outgoing, Push, Sender};
use crate::tcp::linux::packet::bits;
use crate::tcp::linux::queue::Record;
use crate::tcp::linux::state::CaState;
use crate::tcp::linux::timers::{Reason, TIMEOUT_MIN};

/// Why a round of transmission ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    No,
    ForWindow,
    ForPeer,
    /// For more data, or for nothing that the counters know.
    Plain,
}

impl Sender {
    // Writing.

    /// Appends `bytes` in one write and sends what may be sent. `more` holds back a short segment; `last` closes the record.
    pub(in crate::tcp::linux) fn write(&mut self, bytes: u64, more: bool, last: bool, now: u64) {
        if bytes == 0 {
            return;
        }
        if !self.has_unsent() && self.queue.is_empty() {
            self.chronograph.busy(now);
        }
        self.check_limited();
        self.slow_start_after_idle(now);
        self.writes.append(bytes, self.size_goal(), &self.space);
        if !more {
            self.writes.mark_push();
        }
        if last {
            self.writes.close_record();
        }
        let corked = self.writes.cork;
        self.writes.cork |= more;
        self.push_pending(Push::Nagle, now);
        self.writes.cork = corked;
    }

    /// Appends the FIN and sends what may be sent.
    pub(in crate::tcp::linux) fn write_fin(&mut self, now: u64) {
        self.writes.append_fin();
        self.push_pending(Push::Now, now);
    }

    // New data.

    /// Sends what may be sent. If nothing is outstanding then and data waits for the peer's window, probes begin.
    pub(in crate::tcp::linux) fn push_pending(&mut self, how: Push, now: u64) {
        if !self.established || !self.has_unsent() {
            return;
        }
        self.transmit(how, now);
        if self.queue.is_empty() && self.has_unsent() && self.timers.timer.is_none() {
            self.set_window_probe(now);
        }
    }

    /// Releases bursts of new data.
    pub(super) fn transmit(&mut self, how: Push, now: u64) {
        let mss = self.space.current_mss();
        let burst_max = self.burst_segments(mss);
        let mut limit = Wait::No;
        let mut sent = 0;
        while let Some((chunk, is_last)) = self.writes.first() {
            if how != Push::Probe && self.must_pace(now) {
                limit = Wait::Plain;
                break;
            }
            let mut quota = self.congestion.quota(self.queue.in_flight());
            if quota == 0 {
                if how != Push::Probe {
                    limit = Wait::ForWindow;
                    break;
                }
                quota = 1;
            }
            let quota = quota.min(burst_max);
            let room = self.space.nxt + u64::from(quota) * u64::from(mss);
            let len = (self.writes.grown(chunk, room) - self.space.nxt) as u32;
            if self.space.nxt + u64::from(len.min(mss)) > self.space.edge() {
                limit = Wait::ForPeer;
                break;
            }
            if len <= mss {
                if how == Push::Nagle && is_last && self.must_wait(len, mss) {
                    limit = Wait::Plain;
                    break;
                }
            } else if how != Push::Probe {
                limit = self.defers(len, is_last, burst_max, mss, now);
                if limit != Wait::No {
                    break;
                }
            }
            let len = if len > mss { self.split(len, is_last, quota, how, mss) } else { len };
            if self.blocked {
                self.local_loss(now);
                break;
            }
            let len = if how == Push::Probe { len.min(mss) } else { len };
            sent += self.release(len, mss, now);
            if how == Push::Probe {
                break;
            }
        }
        self.chronograph.peer_limited(limit == Wait::ForPeer, now);
        let limited = limit == Wait::ForWindow || self.queue.in_flight() >= self.congestion.cwnd;
        if sent > 0 || limited {
            self.validate(limited, now);
        }
        if sent > 0 {
            if self.congestion.state.reduces() {
                self.reduction.out += sent;
            }
            if how != Push::Probe {
                self.schedule_probe(false, now);
            }
        }
    }

    fn must_wait(&self, len: u32, mss: u32) -> bool {
        self.writes.must_wait(len, mss, &self.space, !self.queue.is_empty())
    }

    /// Whether a burst of several segments waits until it can be larger.
    fn defers(&self, len: u32, is_last: bool, burst_max: u32, mss: u32, now: u64) -> Wait {
        if self.congestion.state >= CaState::Recovery || self.last_sent.is_none_or(|at| now - at > 1000) {
            return Wait::No;
        }
        let peer = self.space.edge() - self.space.nxt;
        let cwnd = self.congestion.cwnd;
        let own = u64::from(cwnd - self.queue.in_flight()) * u64::from(mss);
        let room = peer.min(own);
        if room >= u64::from(burst_max) * u64::from(mss) || (!is_last && room >= u64::from(len)) {
            return Wait::No;
        }
        let divisor = self.config.tso_win_divisor;
        if divisor > 0 {
            let window = u64::from(self.space.window).min(u64::from(cwnd) * u64::from(mss));
            if room >= window / u64::from(divisor) {
                return Wait::No;
            }
        } else if room > 3 * u64::from(mss) {
            return Wait::No;
        }
        let Some(head) = self.queue.head() else { return Wait::No };
        let srtt = self.rtt.srtt().unwrap_or(0);
        if head.sent + srtt > now + (srtt / 2).min(1000) {
            return Wait::No;
        }
        if own < peer && own <= u64::from(len) {
            return Wait::ForWindow;
        }
        if own >= peer && peer <= u64::from(len) {
            return Wait::ForPeer;
        }
        if self.writes.fin.is_some() || self.writes.first().is_some_and(|(chunk, _)| chunk.closed) {
            return Wait::No;
        }
        Wait::Plain
    }

    /// How much of a burst goes: whole segments as far as quota and window permit, and a short end if Nagle's rule does.
    fn split(&self, len: u32, is_last: bool, quota: u32, how: Push, mss: u32) -> u32 {
        let window = (self.space.edge() - self.space.nxt).min(u64::from(u32::MAX)) as u32;
        let most = mss.saturating_mul(quota);
        let needed = len.min(window);
        if most <= needed || (most <= window && !is_last) {
            return most.min(len);
        }
        let partial = needed % mss;
        let whole = needed - partial;
        if partial > 0 && whole > 0 && how == Push::Nagle && is_last && self.must_wait(partial, mss) {
            return whole;
        }
        if partial > 0 && whole > 0 && needed < len { whole } else { needed }
    }

    /// Sends `len` positions of new data as one packet. Returns the number of segments.
    fn release(&mut self, len: u32, mss: u32, now: u64) -> u32 {
        let (start, end) = (self.space.nxt, self.space.nxt + u64::from(len));
        let was_empty = self.queue.is_empty();
        self.note_departure(now);
        let carries_fin = self.writes.fin.is_some_and(|fin| fin < end);
        let push = self.writes.take(end);
        let payload = len - u32::from(carries_fin);
        if was_empty {
            self.rate.restart(now);
        }
        let flight = self.queue.in_flight() + len.div_ceil(mss);
        let snapshot = self.rate.snapshot(self.queue.delivered, self.queue.lost_ever, flight);
        let mut at = start;
        let mut segments = 0;
        while at < end {
            let next = (at + u64::from(mss)).min(start + u64::from(payload));
            let next = if start + u64::from(payload) == next { end } else { next };
            let last = next == end;
            self.queue.push(Record {
                push: push && last,
                joined: at > start,
                snapshot,
                ..Record::new(at, next, now)
            });
            at = next;
            segments += 1;
        }
        let mut flags = bits::ACK;
        // A packet of several segments always has PSH, so that the receiver does not wait for more of it.
        flags |= if push || segments > 1 { bits::PSH } else { 0 } | if carries_fin { bits::FIN } else { 0 };
        if payload < segments * mss {
            self.writes.short_until = end;
        }
        self.space.nxt = end;
        self.out.push_back(Outgoing { start, len: payload, flags, retransmission: false });
        self.advance_pacing(payload, now);
        if was_empty || self.timers.runs_for(Reason::TailProbe) {
            self.rearm(now);
        }
        segments
    }

    /// A packet that the device refuses: the window is reduced as by an ECN mark, and the packet tried again.
    fn local_loss(&mut self, now: u64) {
        self.enter_cwr();
        if self.timers.timer.is_none() && !self.queue.is_empty() {
            self.rearm(now);
        }
    }

    /// Notes whether the window limits, and lowers one that is not used.
    fn validate(&mut self, limited: bool, now: u64) {
        if self.congestion.note_use(limited, self.queue.packets(), &self.space, now) {
            return;
        }
        let no_space = self.writes.no_space;
        if self.config.slow_start_after_idle && !self.congestion.is_bbr() {
            self.congestion.fall_unused(self.rtt.rto(), self.config.initial_window, no_space, now);
        }
        if !self.has_unsent() && no_space {
            self.chronograph.buffer_limited(now);
        }
    }

    // Probes.

    /// Schedules a tail loss probe if the state allows one.
    pub(super) fn schedule_probe(&mut self, after_ack: bool, now: u64) -> bool {
        let allowed = self.config.tail_loss_probe
            && !self.queue.is_empty()
            && self.queue.sack
            && matches!(self.congestion.state, CaState::Open | CaState::Cwr);
        if !allowed {
            return false;
        }
        let mut span = match self.rtt.srtt() {
            Some(srtt) => {
                let delayed = if self.queue.packets() == 1 { self.rtt.least } else { TIMEOUT_MIN };
                2 * srtt + delayed
            }
            None => 1_000_000,
        };
        let left =
            if after_ack { self.rtt.rto() } else { self.timers.timeout_left(&self.queue, &self.rtt, now) };
        if left > 0 {
            span = span.min(left);
        }
        self.timers.set(Reason::TailProbe, span, now);
        true
    }

    pub(super) fn rearm(&mut self, now: u64) {
        self.timers.rearm(&self.queue, &self.rtt, now);
    }

    pub(super) fn set_window_probe(&mut self, now: u64) {
        self.timers.set_window_probe(&self.rtt, self.config.rto_max.as_nanos() / 1000, now);
    }

    /// Probes a closed window: with what fits into it, or with an acknowledgement of what the peer has acknowledged already, to
    /// which it has to answer with its window.
    pub(super) fn send_window_probe(&mut self, now: u64) {
        let (start, edge) = (self.space.nxt, self.space.edge());
        if start < edge {
            let mss = self.space.current_mss();
            let len = (edge - start).min(self.writes.end - start).min(u64::from(mss)) as u32;
            self.release(len, mss, now);
        } else {
            self.ask();
        }
    }

    /// Sends an acknowledgement of what the peer has acknowledged already, which it has to answer.
    pub(super) fn ask(&mut self) {
        let start = self.space.una - 1;
        self.out.push_back(Outgoing { start, len: 0, flags: bits::ACK, retransmission: true });
    }

    // Lost segments.

    /// Sends what an acknowledgement permits.
    pub(super) fn repair(&mut self, repair: Repair, now: u64) {
        match repair {
            Repair::None => return,
            Repair::New => {
                self.push_pending(Push::Now, now);
                if self.space.nxt > self.reduction.until {
                    return;
                }
                self.reduction.frto = false;
            }
            Repair::Lost => {}
        }
        self.retransmit_lost(now);
    }

    /// Retransmits lost segments, the oldest first, as the window permits. Segments that left in one packet and are lost together
    /// leave in one packet again.
    pub(super) fn retransmit_lost(&mut self, now: u64) {
        let mut head_resent = false;
        let mut index = 0;
        while index < self.queue.len() {
            let in_flight = self.queue.in_flight();
            if in_flight >= self.congestion.cwnd || self.queue.resent >= self.queue.lost {
                break;
            }
            if self.must_pace(now) {
                break;
            }
            let most = (self.congestion.cwnd - in_flight).min(self.burst_segments(self.space.mss)) as usize;
            let count = self.queue.lost_together(index, most);
            if count == 0 {
                index += 1;
                continue;
            }
            if self.blocked || !self.resend(index, count, false, now) {
                break;
            }
            if self.congestion.state.reduces() {
                self.reduction.out += count as u32;
            }
            head_resent |= index == 0;
            index += count;
        }
        if head_resent && !self.timers.runs_for(Reason::Reorder) {
            self.set_timeout(now);
        }
    }

    /// Sets the retransmission timer to a whole timeout.
    pub(in crate::tcp::linux) fn set_timeout(&mut self, now: u64) {
        self.timers.set(Reason::Timeout, self.rtt.rto(), now);
    }

    /// Retransmits `count` segments in one packet. Returns whether it was sent.
    pub(super) fn resend(&mut self, index: usize, count: usize, probe: bool, now: u64) -> bool {
        let Some((first, last)) = self.queue.get(index).zip(self.queue.get(index + count - 1)) else {
            return false;
        };
        // Beyond a window that has shrunk only the head is sent.
        if last.end > self.space.edge() && index > 0 {
            return false;
        }
        self.note_departure(now);
        self.queue.split(index);
        self.queue.split(index + count);
        let flight = self.queue.in_flight() + count as u32;
        let snapshot = self.rate.snapshot(self.queue.delivered, self.queue.lost_ever, flight);
        for at in index..index + count {
            self.queue.resend(at, now, probe, snapshot);
        }
        if !probe {
            self.reduction.note_resent(count as u32, now);
        }
        let packet = self.packet_of(&Record { end: last.end, push: last.push || count > 1, ..first });
        self.advance_pacing(packet.len, now);
        self.out.push_back(packet);
        true
    }

    /// The packet that carries a segment again.
    fn packet_of(&self, record: &Record) -> Outgoing {
        let fin = self.writes.fin.is_some_and(|fin| fin < record.end);
        let syn = record.start == 0;
        let mut flags = if syn { bits::SYN } else { bits::ACK };
        flags |= if fin { bits::FIN } else { 0 } | if record.push { bits::PSH } else { 0 };
        let len = (record.end - record.start) as u32 - u32::from(fin) - u32::from(syn);
        Outgoing { start: record.start, len, flags, retransmission: true }
    }
}
