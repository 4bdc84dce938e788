//! The send half: what is written, what is sent when, and in which bursts.
//!
//! The window counts segments. Acknowledgements are in `ack.rs`, losses in `recovery.rs` and `rack.rs`, timers in `timers.rs`.

pub(super) mod ackloss;
pub(super) mod info;
mod pacing;
mod rack;
pub(super) mod recovery;
pub(super) mod timers;

use std::collections::VecDeque;

use self::ackloss::Watch;
use self::info::Chronograph;
use self::rack::Rack;
use self::recovery::Reduction;
use self::timers::Timer;
use super::bbr::Bbr;
use super::clock::Clock;
use super::config::{Control, LinuxConfig};
use super::cubic::Cubic;
use super::packet::bits;
use super::queue::{Queue, Record};
use super::rate::Rate;
use super::rtt::Rtt;
use super::state::CaState;

/// Position of the first byte of data: the SYN is position 0.
pub(super) const FIRST: u64 = 1;
/// A threshold that no window reaches (`TCP_INFINITE_SSTHRESH`).
pub(super) const INFINITE: u32 = 0x7fff_ffff;
/// Largest packet that leaves at once; the headers are taken off (`sk_gso_max_size`).
const HEADERS_MAX: u32 = 320;
/// Memory of a segment of 1500 bytes in a buffer of the kernel, for the size of the send buffer.
const SEGMENT_MEMORY: u64 = 2304;

/// Data that was written and not sent: up to `end`, as one buffer of the kernel.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    end: u64,
    push: bool,
    /// Whether nothing may be appended (`MSG_EOR`).
    closed: bool,
}

/// A packet that the send half releases.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outgoing {
    pub(super) start: u64,
    pub(super) len: u32,
    pub(super) flags: u8,
    pub(super) retransmission: bool,
}

/// How a burst is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Push {
    /// Everything that the windows permit; a partial segment by Nagle's rule.
    Nagle,
    /// Everything that the windows permit, partial segments too (Nagle's rule is off).
    Now,
    /// One segment of new data, whatever the window: a probe.
    Probe,
}

/// Limits of a round of transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    No,
    ForWindow,
    ForPeer,
    /// For more data, or for nothing that the counters know.
    Plain,
}

/// The send half.
#[derive(Clone, Debug, Default)]
pub(super) struct Sender {
    pub(super) config: LinuxConfig,
    pub(super) clock: Clock,
    pub(super) rtt: Rtt,
    pub(super) cubic: Cubic,
    /// BBR, if it is the congestion control, and the samples that it needs.
    pub(super) bbr: Option<Box<Bbr>>,
    /// The detector of lost acknowledgements, once the connection stands, if there is one.
    pub(super) ackloss: Option<Box<Watch>>,
    pub(super) rate: Rate,
    pub(super) queue: Queue,
    pub(super) rack: Rack,
    pub(super) reduction: Reduction,
    pub(super) timer: Option<Timer>,
    pub(super) chronograph: Chronograph,
    pub(super) out: VecDeque<Outgoing>,
    chunks: VecDeque<Chunk>,

    pub(super) una: u64,
    pub(super) nxt: u64,
    /// Position after everything written, FIN included.
    pub(super) end: u64,
    /// The position of the FIN, once it is written.
    pub(super) fin: Option<u64>,
    /// The peer's window, the largest that it has offered, and the sequence number of its last update.
    pub(super) window: u32,
    pub(super) window_max: u32,
    pub(super) updated_at: u64,
    /// Payload of a full-sized segment, options taken off.
    pub(super) mss: u32,
    pub(super) sack: bool,
    pub(super) ecn: bool,
    /// Whether the next new data carries CWR.
    pub(super) send_cwr: bool,
    /// Segments that the peer has reported as duplicates.
    pub(super) duplicates: u64,
    pub(super) pacing_timer: Option<u64>,

    pub(super) state: CaState,
    pub(super) cwnd: u32,
    pub(super) cwnd_count: u32,
    pub(super) ssthresh: u32,
    cwnd_used: u32,
    pub(super) cwnd_stamp: u64,
    is_cwnd_limited: bool,
    packets_out_max: u32,
    usage_until: u64,
    pub(super) reordering: u32,
    pub(super) reorder_seen: u32,
    pub(super) delivered: u64,
    pub(super) last_sent: Option<u64>,
    /// When the last packet left, for the deferral of bursts.
    departed: Option<u64>,
    /// Bytes a second; zero before it is known.
    pub(super) pacing_rate: u64,
    /// When the next packet may leave.
    pub(super) next_departure: u64,
    /// Position after the last short segment sent (Minshall).
    short_until: u64,
    pushed: u64,
    pub(super) backoff: u32,
    /// Timeouts in a row, and when the first retransmission of them was sent.
    pub(super) retransmits: u32,
    pub(super) retransmit_stamp: Option<u64>,
    pub(super) total_retransmits: u64,
    /// Retransmission timeouts.
    pub(super) timeouts: u64,
    pub(super) probes: u32,
    /// When the last acknowledgement came, and since when probes are unanswered.
    pub(super) probing_since: Option<u64>,
    /// The position at which a tail loss probe ends, and whether it was a retransmission.
    pub(super) probe_until: Option<u64>,
    pub(super) probe_resent: bool,
    pub(super) established: bool,
    pub(super) no_delay: bool,
    pub(super) cork: bool,
    /// The device refuses packets: a queueing discipline without room.
    pub(super) blocked: bool,
    send_buffer: u64,
    send_buffer_fixed: bool,
    /// Whether the application waits for room in the send buffer.
    pub(super) no_space: bool,
}

impl Sender {
    pub(super) fn new(config: &LinuxConfig) -> Self {
        Self {
            clock: Clock::new(config),
            rtt: Rtt::new(config.rto_min.as_nanos() / 1000, config.rto_max.as_nanos() / 1000),
            bbr: Bbr::new(config.control, config.seed),
            end: FIRST,
            mss: 536,
            cwnd: config.initial_window,
            ssthresh: INFINITE,
            reordering: config.reordering,
            pushed: FIRST,
            no_delay: config.no_delay,
            send_buffer: config.send_buffer.0,
            config: config.clone(),
            ..Self::default()
        }
    }

    // What the rest asks.

    /// Payload of a segment now: a window below two segments makes it smaller.
    pub(super) fn current_mss(&self) -> u32 {
        let half = if self.window_max > 536 { self.window_max / 2 } else { self.window_max };
        if half > 0 { self.mss.min(half.max(48)) } else { self.mss }
    }

    /// The right edge of the peer's window.
    pub(super) fn edge(&self) -> u64 {
        self.una + u64::from(self.window)
    }

    /// Whether data waits to be sent.
    pub(super) fn has_unsent(&self) -> bool {
        self.end > self.nxt
    }

    /// Whether the window is in slow start.
    pub(super) fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// The threshold that an undo may restore: at least three quarters of the window, unless it is being reduced.
    pub(super) fn current_threshold(&self) -> u32 {
        if self.state.reduces() { self.ssthresh } else { self.ssthresh.max(self.cwnd / 2 + self.cwnd / 4) }
    }

    /// Bytes written and neither acknowledged nor read by the device.
    pub(super) fn written(&self) -> u64 {
        self.end.saturating_sub(self.una.max(FIRST))
    }

    /// The room for writes in bytes. Buffers of full segments are assumed to cost 2304 bytes each; while the buffer is
    /// not set by the user, it grows with the window.
    pub(super) fn room(&self) -> u64 {
        let mut memory = self.send_buffer;
        if !self.send_buffer_fixed {
            let segments = self.cwnd.max(self.config.initial_window).max(self.reordering + 1);
            memory = memory.max((2 * u64::from(segments) * SEGMENT_MEMORY).min(self.config.send_buffer.1));
        }
        // A buffer that is begun may be filled.
        memory.saturating_sub(self.written()).div_ceil(self.size_goal()) * self.size_goal()
    }

    /// Sets the send buffer, which then does not grow. The kernel doubles what a user asks for.
    pub(super) fn set_send_buffer(&mut self, bytes: u64) {
        (self.send_buffer, self.send_buffer_fixed) = ((2 * bytes).max(4608), true);
    }

    // Writing.

    /// Appends `bytes` in one write and sends what may be sent. `more` holds back a short segment; `last` closes the record.
    pub(super) fn write(&mut self, bytes: u64, more: bool, close_record: bool, now: u64) {
        if bytes == 0 {
            return;
        }
        self.note_busy(now);
        self.check_limited();
        self.slow_start_after_idle(now);
        let goal = self.size_goal();
        let mut left = bytes;
        let from = self.nxt.max(FIRST);
        while left > 0 {
            let start = self.chunks.iter().rev().nth(1).map_or(from, |chunk| chunk.end.max(from));
            match self.chunks.back_mut().filter(|tail| !tail.closed && tail.end - start < goal) {
                Some(tail) => {
                    let part = left.min(goal - (tail.end - start));
                    tail.end += part;
                    tail.push = false;
                    self.end += part;
                    left -= part;
                }
                None => {
                    let part = left.min(goal);
                    self.end += part;
                    left -= part;
                    self.chunks.push_back(Chunk { end: self.end, push: false, closed: false });
                }
            }
            if self.end > self.pushed + u64::from(self.window_max / 2) && left > 0 {
                self.mark_push();
            }
        }
        if !more {
            self.mark_push();
        }
        if let Some(tail) = self.chunks.back_mut().filter(|_| close_record) {
            tail.closed = true;
        }
        let corked = self.cork;
        self.cork |= more;
        self.push_pending(Push::Nagle, now);
        self.cork = corked;
    }

    fn mark_push(&mut self) {
        if let Some(tail) = self.chunks.back_mut() {
            tail.push = true;
        }
        self.pushed = self.end;
    }

    /// Appends the FIN, to the last data that was not sent if there is some.
    pub(super) fn write_fin(&mut self, now: u64) {
        self.fin = Some(self.end);
        self.end += 1;
        match self.chunks.back_mut() {
            Some(tail) => tail.end = self.end,
            None => self.chunks.push_back(Chunk { end: self.end, push: false, closed: true }),
        }
        self.push_pending(Push::Now, now);
    }

    /// Bytes of a buffer: half of the peer's largest window, at most what the device takes, in whole segments.
    fn size_goal(&self) -> u64 {
        let mss = self.current_mss();
        let device = self.config.gso_max_size.saturating_sub(HEADERS_MAX);
        let half = if self.window_max > 536 { self.window_max / 2 } else { self.window_max };
        u64::from(device.min(half.max(mss)) / mss * mss).max(u64::from(mss))
    }

    // Sending.

    /// Sends what may be sent. If nothing is outstanding then and data waits for the peer's window, probes begin.
    pub(super) fn push_pending(&mut self, how: Push, now: u64) {
        if !self.established || !self.has_unsent() {
            return;
        }
        self.transmit(how, now);
        if self.queue.is_empty() && self.has_unsent() && self.timer.is_none() {
            self.start_probing(now);
        }
    }

    /// Releases bursts of new data.
    pub(super) fn transmit(&mut self, how: Push, now: u64) {
        let mss = self.current_mss();
        let burst_max = self.burst_segments(mss);
        let mut limit = Wait::No;
        let mut sent = 0;
        while let Some(chunk) = self.chunks.front().copied() {
            if how != Push::Probe && self.must_pace(now) {
                limit = Wait::Plain;
                break;
            }
            let mut quota = self.quota();
            if quota == 0 {
                if how != Push::Probe {
                    limit = Wait::ForWindow;
                    break;
                }
                quota = 1;
            }
            let quota = quota.min(burst_max);
            let end = self.grown(chunk, quota, mss);
            let len = (end - self.nxt) as u32;
            if self.nxt + u64::from(len.min(mss)) > self.edge() {
                limit = Wait::ForPeer;
                break;
            }
            let is_last = self.chunks.len() == 1;
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
        let limited = limit == Wait::ForWindow || self.queue.in_flight() >= self.cwnd;
        if sent > 0 || limited {
            self.validate(limited, now);
        }
        if sent > 0 {
            if self.state.reduces() {
                self.reduction.out += sent;
            }
            if how != Push::Probe {
                self.schedule_probe(false, now);
            }
        }
    }

    /// The end of the first buffer, with what follows in the next ones if the burst has room for it.
    fn grown(&self, chunk: Chunk, quota: u32, mss: u32) -> u64 {
        let room = self.nxt + u64::from(quota) * u64::from(mss);
        let mut end = chunk.end;
        let mut closed = chunk.closed;
        for next in self.chunks.iter().skip(1) {
            if closed || end >= room {
                break;
            }
            // Only whole segments of the next buffer are moved.
            end = next.end.min(room);
            closed = next.closed;
        }
        end
    }

    /// Segments that may go now: at most half of the window in one burst.
    fn quota(&self) -> u32 {
        let flight = self.queue.in_flight();
        if flight >= self.cwnd { 0 } else { (self.cwnd / 2).max(1).min(self.cwnd - flight) }
    }

    /// The size of a burst: what the pacing rate sends in a millisecond, more on short paths.
    pub(super) fn burst_segments(&self, mss: u32) -> u32 {
        if self.config.gso_max_size == 0 {
            return 1;
        }
        let most = u64::from(self.config.gso_max_size - HEADERS_MAX);
        let mut bytes = if self.pacing_rate == 0 { most } else { self.pacing_rate >> 10 };
        let halvings = self.rtt.minimum() >> 9;
        if halvings < 32 {
            bytes += most >> halvings;
        }
        let least = self.config.min_tso_segs;
        let least = self.bbr.as_ref().map_or(least, |bbr| bbr.burst_min(self.pacing_rate, least));
        ((bytes.min(most) / u64::from(mss)) as u32).max(least)
    }

    /// Nagle's rule in Minshall's form: a short segment waits while another short one is outstanding.
    fn must_wait(&self, len: u32, mss: u32) -> bool {
        if len >= mss || self.fin.is_some() {
            return false;
        }
        let short_outstanding = self.short_until > self.una && self.short_until <= self.nxt;
        self.cork || (!self.no_delay && !self.queue.is_empty() && short_outstanding)
    }

    /// Whether a burst of several segments waits until it can be larger.
    fn defers(&self, len: u32, is_last: bool, burst_max: u32, mss: u32, now: u64) -> Wait {
        if self.state >= CaState::Recovery || self.departed.is_none_or(|at| now - at > 1000) {
            return Wait::No;
        }
        let peer = self.edge() - self.nxt;
        let own = u64::from(self.cwnd - self.queue.in_flight()) * u64::from(mss);
        let room = peer.min(own);
        if room >= u64::from(burst_max) * u64::from(mss) || (!is_last && room >= u64::from(len)) {
            return Wait::No;
        }
        let divisor = self.config.tso_win_divisor;
        if divisor > 0 {
            let window = u64::from(self.window).min(u64::from(self.cwnd) * u64::from(mss));
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
        if self.fin.is_some() || self.chunks.front().is_some_and(|chunk| chunk.closed) {
            return Wait::No;
        }
        Wait::Plain
    }

    /// How much of a burst goes: whole segments as far as quota and window permit, and a short end if Nagle's rule does.
    fn split(&self, len: u32, is_last: bool, quota: u32, how: Push, mss: u32) -> u32 {
        let window = (self.edge() - self.nxt).min(u64::from(u32::MAX)) as u32;
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
        let (start, end) = (self.nxt, self.nxt + u64::from(len));
        let was_empty = self.queue.is_empty();
        self.note_departure(now);
        let carries_fin = self.fin.is_some_and(|fin| fin < end);
        let chunk_ends = self.chunks.iter().find(|chunk| chunk.end == end).copied();
        let push = chunk_ends.is_some_and(|chunk| chunk.push);
        while self.chunks.front().is_some_and(|chunk| chunk.end <= end) {
            self.chunks.pop_front();
        }
        let payload = len - u32::from(carries_fin);
        if was_empty {
            self.rate.restart(now);
        }
        let flight = self.queue.in_flight() + len.div_ceil(mss);
        let snapshot = self.rate.snapshot(self.delivered, self.queue.lost_ever, flight);
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
            self.short_until = end;
        }
        self.nxt = end;
        self.out.push_back(Outgoing { start, len: payload, flags, retransmission: false });
        self.advance_pacing(payload, now);
        if was_empty || self.timer.is_some_and(|timer| timer.is_probe()) {
            self.rearm(now);
        }
        segments
    }

    /// Notes that a packet with data leaves: after an idle time CUBIC is told.
    pub(super) fn note_departure(&mut self, at: u64) {
        if self.queue.in_flight() == 0
            && let Some(last) = self.last_sent
        {
            let (now, last) = (self.clock.jiffy(at), self.clock.jiffy(last));
            self.cubic.restart(now, now - last);
            self.restart_bbr(at);
        }
        self.last_sent = Some(at);
        self.departed = Some(at);
    }

    /// A packet that the device refuses: the window is reduced as by an ECN mark, and the packet tried again.
    fn local_loss(&mut self, now: u64) {
        self.enter_cwr();
        if self.timer.is_none() && !self.queue.is_empty() {
            self.rearm(now);
        }
    }

    // The use of the window.

    /// Notes whether the window limits (RFC 7661 in spirit): only a window that was used grows.
    fn validate(&mut self, limited: bool, now: u64) {
        let packets = self.queue.packets();
        if self.una >= self.usage_until
            || limited
            || (!self.is_cwnd_limited && packets > self.packets_out_max)
        {
            self.is_cwnd_limited = limited;
            self.packets_out_max = packets;
            self.usage_until = self.nxt;
        }
        if self.uses_window() {
            self.cwnd_used = 0;
            self.cwnd_stamp = now;
            return;
        }
        self.cwnd_used = self.cwnd_used.max(packets);
        let falls = self.config.slow_start_after_idle && self.bbr.is_none();
        if falls && now.saturating_sub(self.cwnd_stamp) >= self.rtt.rto() {
            if self.state == CaState::Open && !self.no_space {
                let used = self.cwnd_used.max(self.config.initial_window);
                if used < self.cwnd {
                    self.ssthresh = self.current_threshold();
                    self.cwnd = (self.cwnd + used) / 2;
                }
                self.cwnd_used = 0;
            }
            self.cwnd_stamp = now;
        }
        if !self.has_unsent() && self.no_space {
            self.chronograph.buffer_limited(now);
        }
    }

    /// Whether the window is used: it limits, or more than half of it was out in slow start.
    pub(super) fn uses_window(&self) -> bool {
        self.is_cwnd_limited || (self.in_slow_start() && self.cwnd < 2 * self.packets_out_max)
    }

    /// After an idle time the window is halved for each timeout of it, not below the initial one.
    pub(super) fn slow_start_after_idle(&mut self, now: u64) {
        let Some(last) = self.last_sent else { return };
        if !self.config.slow_start_after_idle || !self.queue.is_empty() || self.bbr.is_some() {
            return;
        }
        let rto = self.clock.covering(self.rtt.rto());
        let mut idle = self.clock.jiffy(now) - self.clock.jiffy(last);
        if idle <= rto {
            return;
        }
        self.ssthresh = self.current_threshold();
        let least = self.config.initial_window.min(self.cwnd);
        while idle > rto && self.cwnd > least {
            idle -= rto;
            self.cwnd /= 2;
        }
        self.cwnd = self.cwnd.max(least);
        self.cwnd_stamp = now;
        self.cwnd_used = 0;
    }

    /// Grows the window after `acked` segments arrived.
    pub(super) fn grow(&mut self, acked: u32, now: u64) {
        if !self.uses_window() {
            return;
        }
        let mut acked = acked;
        if self.in_slow_start() {
            let grown = (self.cwnd + acked).min(self.ssthresh);
            acked -= grown - self.cwnd;
            self.cwnd = grown;
            if acked == 0 {
                return;
            }
        }
        let each = match self.config.control {
            Control::Reno => self.cwnd,
            Control::Cubic => self.cubic.growth(self.cwnd, acked, self.clock.jiffy(now), self.clock),
            Control::Bbr1 | Control::Bbr3 => return,
        };
        if self.cwnd_count >= each {
            self.cwnd_count = 0;
            self.cwnd += 1;
        }
        self.cwnd_count += acked;
        if self.cwnd_count >= each {
            self.cwnd += self.cwnd_count / each;
            self.cwnd_count %= each;
        }
    }

    /// Sends an acknowledgement of what the peer has acknowledged already, to which it has to answer with its window.
    pub(super) fn send_window_probe(&mut self) {
        let start = self.una - 1;
        self.out.push_back(Outgoing { start, len: 0, flags: bits::ACK, retransmission: true });
    }

    /// Sends what fits into a window that is smaller than a segment.
    pub(super) fn send_into_window(&mut self, now: u64) {
        let mss = self.current_mss();
        let len = (self.edge() - self.nxt).min(self.end - self.nxt).min(u64::from(mss)) as u32;
        self.release(len, mss, now);
    }

    fn note_busy(&mut self, now: u64) {
        if !self.has_unsent() && self.queue.is_empty() {
            self.chronograph.busy(now);
        }
    }
}
