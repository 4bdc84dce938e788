//! The send half: transmission and retransmission of data, and their timers.
//!
//! The skeleton is the same for every congestion control: sequence space, the retransmission timer (RFC 6298),
//! duplicate ACKs, go-back-N after a timeout, the persist timer. The congestion control sets the window, and its
//! [`Recovery`] selects what follows a fast retransmit; `repair.rs` contains the recovery with a scoreboard (RFC 6675).
//!
//! RFC 6582 leaves a choice: here a fast retransmit needs an acknowledgement of more than `recover` (section 3.2 step
//! 1), without the optional heuristics of section 4. Duplicate ACKs that are caused by retransmissions after a timeout
//! therefore do not halve the window. In exchange, the loss of the very first segment after a recovery waits for the
//! timer.

mod repair;
mod transmission;

use std::collections::VecDeque;

use airwatt_base::{Instant, Seq, Span};

use super::buffer::SendBuffer;
use super::config::{PartialAckTimer, RepeatedTimeout, SackRecovery, TcpConfig, WindowRules};
use super::rtt::RttEstimator;
use super::sack::Scoreboard;
use super::segment::{Flags, Segment};
use super::statistics::Statistics;
use super::timer::{TcpTimer, Timers};
use super::timestamps::clock;
use crate::cc::{AckLoss, Acknowledged, Advance, CongestionControl, Delivered, Recovery, TimestampEvidence};

/// Position of the first byte of data: the SYN is position 0.
const FIRST: u64 = 1;

/// A segment that was sent and is not yet acknowledged: the source of RTT samples.
#[derive(Clone, Copy, Debug)]
struct Record {
    /// Position after its last byte.
    end: u64,
    sent: Instant,
    /// Whether it was retransmitted: Karn's algorithm then takes no sample.
    retransmitted: bool,
}

/// State to restore if a recovery turns out to be spurious.
#[derive(Clone, Debug)]
struct UndoState {
    /// The congestion control before the recovery.
    before: CongestionControl,
    /// The range of positions that were in flight.
    from: u64,
    to: u64,
    /// Retransmitted segments that no D-SACK block has reported yet.
    unreported: u32,
}

/// A segment that the send half releases for transmission.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outgoing {
    pub(super) seq: Seq,
    pub(super) len: u16,
    /// SYN, FIN and PSH; the connection adds ACK.
    pub(super) flags: Flags,
}

/// The effect of an acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    /// Whether everything written became acknowledged.
    pub(super) all_acknowledged: bool,
    /// Whether the FIN is acknowledged.
    pub(super) fin_acknowledged: bool,
}

/// The send half of a connection.
#[derive(Clone, Debug)]
pub(super) struct Sender<S> {
    pub(super) buffer: S,
    pub(super) control: CongestionControl,
    /// The detector of ACK loss. It is boxed to keep senders without it small.
    pub(super) ackloss: Option<Box<AckLoss>>,
    pub(super) rtt: RttEstimator,
    iss: Seq,
    mss: u32,
    nagle: bool,
    threshold: u32,
    partial_ack_timer: PartialAckTimer,
    window_rules: WindowRules,
    repeated_timeout: RepeatedTimeout,
    sack_recovery: SackRecovery,
    /// Window in bytes after an idle period; `None` if idleness does not reduce the window.
    restart_window: Option<u32>,
    limits: [u32; 2],

    /// First position that is not acknowledged (`SND.UNA`).
    una: u64,
    /// Next position to send (`SND.NXT`); below `max` only after a timeout, while the window is retransmitted.
    nxt: u64,
    /// Position after the highest one that was ever sent.
    max: u64,
    /// Position after the last byte written.
    end: u64,
    /// Whether a FIN follows the last byte.
    closing: bool,
    /// Right edge of the peer's window.
    edge: u64,
    /// The window that the peer offered last, and the largest that it has offered.
    offered: u32,
    offered_max: u32,
    /// Position in the peer's stream, and acknowledgement number, of the last window update (WL1 and WL2 of RFC 9293).
    updated_by: (u64, u64),

    records: VecDeque<Record>,
    /// Acknowledgements from below this position cover data that may have been sent twice.
    sample_from: u64,
    /// The segment that a coarse clock times: the position after its last byte, and the time at which it was sent.
    timed: Option<(u64, Instant)>,
    last_sent: Option<Instant>,
    recovery: Recovery,
    scoreboard: Scoreboard,
    /// State to restore if D-SACK blocks show the current recovery to be spurious.
    undo: Option<UndoState>,
    /// Whether the last loss was detected by the timer.
    timed_out: bool,
    limited_transmit: bool,
    /// Bytes that Limited Transmit released since the last new acknowledgement.
    limited: u64,
    duplicates: u32,
    /// Whether the sender is in fast recovery, and whether a partial ACK has come in it.
    pub(super) recovering: bool,
    partial: bool,
    /// Position after the data that had been sent when the last loss was detected (`recover` of RFC 6582). It is 0
    /// before the first loss: RFC 6582 starts at the initial sequence number, which would forbid a fast retransmit of
    /// the very first byte.
    recover: u64,
    /// Whether the first unacknowledged segment is to be retransmitted.
    resend: bool,
    /// Whether new data waits for the next acknowledgement ([`WindowRules::Bsd`]).
    holding: bool,
    /// Whether a closed window is to be probed.
    probe: bool,
    /// Number of consecutive timeouts.
    attempts: u32,
    /// Number of consecutive probes.
    probes: u32,
    syn_lost: bool,
}

impl<S: SendBuffer> Sender<S> {
    pub(super) fn new(config: &TcpConfig) -> Self {
        Self {
            buffer: S::default(),
            control: config.congestion_control(),
            ackloss: config.ackloss.map(|ackloss| Box::new(AckLoss::new(ackloss, config.mss))),
            rtt: RttEstimator::new(config),
            iss: config.initial_sequence,
            mss: config.mss,
            nagle: config.nagle,
            threshold: config.dup_ack_threshold,
            partial_ack_timer: config.partial_ack_timer,
            window_rules: config.rules(),
            repeated_timeout: config.repeated_timeout,
            sack_recovery: config.sack_recovery,
            restart_window: config.slow_start_after_idle.then(|| config.initial_window.bytes(config.mss)),
            limits: [config.syn_give_up_after, config.give_up_after],
            una: 0,
            nxt: 0,
            max: 0,
            end: FIRST,
            closing: false,
            edge: 0,
            offered: 0,
            offered_max: 0,
            updated_by: (0, 0),
            records: VecDeque::new(),
            sample_from: 0,
            timed: None,
            last_sent: None,
            recovery: config.recovery(),
            scoreboard: Scoreboard::new(config.dup_ack_threshold, config.mss),
            undo: None,
            timed_out: false,
            limited_transmit: config.limited_transmit,
            limited: 0,
            duplicates: 0,
            recovering: false,
            partial: false,
            recover: 0,
            resend: false,
            holding: false,
            probe: false,
            attempts: 0,
            probes: 0,
            syn_lost: false,
        }
    }

    /// Initializes the sender as if the SYN had been sent and acknowledged and the peer had offered `window` bytes.
    pub(super) fn establish(&mut self, window: u32) {
        (self.una, self.nxt, self.max) = (FIRST, FIRST, FIRST);
        self.sample_from = FIRST;
        self.offer(0, FIRST, window);
    }

    // Getters.

    /// Bytes in flight, as the sender estimates them: after a timeout, the bytes sent since.
    pub(super) fn flight(&self) -> u32 {
        (self.nxt - self.una) as u32
    }

    pub(super) fn initial_sequence(&self) -> Seq {
        self.iss
    }

    pub(super) fn is_closing(&self) -> bool {
        self.closing
    }

    /// Bytes written and not yet acknowledged.
    pub(super) fn unacknowledged(&self) -> u64 {
        self.end - self.una.clamp(FIRST, self.end)
    }

    /// The position of an acknowledgement number, if it is acceptable: not above the data sent, nor more than a window
    /// below the acknowledged data (RFC 5961 section 5.2).
    pub(super) fn ack_position(&self, ack: Seq) -> AckPosition {
        let distance = i64::from(self.distance(ack));
        match self.una.checked_add_signed(distance) {
            Some(position) if position > self.max => AckPosition::Unsent,
            Some(position) if distance >= -i64::from(self.offered_max) => AckPosition::Valid(position),
            _ => AckPosition::TooOld,
        }
    }

    /// The distance from the first unacknowledged position to `seq`; negative if `seq` lies below it.
    pub(super) fn distance(&self, seq: Seq) -> i32 {
        self.sequence(self.una).distance_to(seq) as i32
    }

    /// The offset of `seq` from the first unacknowledged byte of data, for copying its payload.
    pub(super) fn offset(&self, seq: Seq) -> usize {
        self.sequence(self.una.max(FIRST)).distance_to(seq) as usize
    }

    /// The sequence number of a segment without data: the next new one, or, if a probe has gone beyond the peer's
    /// window, the last that the window permits, so that the peer accepts the segment.
    pub(super) fn ack_sequence(&self) -> Seq {
        self.sequence(self.max.min(self.edge.max(self.una)))
    }

    /// The next new sequence number, for a reset.
    pub(super) fn next_sequence(&self) -> Seq {
        self.sequence(self.max)
    }

    fn sequence(&self, position: u64) -> Seq {
        self.iss + position as u32
    }

    /// The position after the last one to send, FIN included.
    fn last(&self) -> u64 {
        self.end + u64::from(self.closing)
    }

    // What may be sent.

    fn is_last(&self, position: u64) -> bool {
        self.closing && position == self.end
    }

    /// Returns how many bytes of new data may be sent now, and whether the FIN is included; `None` if nothing may be
    /// sent. Implements sender-side avoidance of the silly window syndrome (RFC 9293 section 3.8.6.2.1) and Nagle's
    /// algorithm. The congestion window has room for `congestion` bytes.
    #[inline]
    fn permitted(&self, congestion: u64) -> Option<(u64, bool)> {
        if self.nxt >= self.last() {
            return None;
        }
        let data = self.end - self.nxt.min(self.end);
        let room = self.edge.saturating_sub(self.nxt);
        if data == 0 {
            return (room > 0).then_some((0, true));
        }
        // After a timeout, data that the peer has reported as received is not retransmitted.
        let hole = if self.skips_reported_data() { self.scoreboard.next_start(self.nxt) } else { None };
        let whole = hole.map_or(data, |start| data.min(start - self.nxt)).min(u64::from(self.mss));
        let len = whole.min(room).min(congestion);
        if len == 0 {
            return None;
        }
        let idle = self.nxt == self.una;
        let full = len == u64::from(self.mss) || (hole.is_some() && len == whole);
        let all = len == data && (!self.nagle || idle || self.closing);
        let much = len == room && 2 * room >= u64::from(self.offered_max) && (!self.nagle || idle);
        // The FIN needs a position of its own in the peer's window.
        (full || all || much).then(|| (len, self.is_last(self.nxt + len) && room > len))
    }

    /// Whether the data to send next follows a timeout, and what the peer has reported since is skipped. The rule of the pipe
    /// uses the scoreboard in fast recovery alone and sends everything again.
    fn skips_reported_data(&self) -> bool {
        self.nxt < self.max && !self.scoreboard.is_empty() && self.sack_recovery != SackRecovery::Pipe
    }

    // Inputs.

    /// Requests transmission, or retransmission, of the SYN.
    pub(super) fn synchronize(&mut self) {
        self.resend = true;
    }

    /// Resets the sender after a failed handshake. Written data is kept.
    pub(super) fn forget_syn(&mut self, config: &TcpConfig) {
        let written = (std::mem::take(&mut self.buffer), self.end, self.closing);
        *self = Self::new(config);
        (self.buffer, self.end, self.closing) = written;
    }

    pub(super) fn write(&mut self, data: S::Data) {
        self.end += self.buffer.append(data);
    }

    pub(super) fn close(&mut self) {
        self.closing = true;
    }

    /// The handshake is over. After the loss of a SYN, the timeout is 3 s and the window is one segment (RFC 6298
    /// section 5.7, RFC 5681 section 3.1).
    pub(super) fn established(&mut self) {
        if self.syn_lost {
            self.rtt.restart_after_lost_syn();
            self.control.on_lost_syn();
        }
    }

    /// Updates the send window from a segment that lies at `from` in the peer's stream and acknowledges up to `ack`
    /// (RFC 9293 section 3.10.7.4, fifth step: only segments newer than the last update count).
    pub(super) fn offer(&mut self, from: u64, ack: u64, window: u32) {
        let (wl1, wl2) = self.updated_by;
        if from > wl1 || (from == wl1 && ack >= wl2) {
            self.updated_by = (from, ack);
            self.edge = ack + u64::from(window);
            self.offered = window;
            self.offered_max = self.offered_max.max(window);
        }
    }

    /// Processes an acceptable acknowledgement up to `ack`, in `segment`, which lies at `from` in the peer's stream.
    #[inline]
    pub(super) fn acknowledge(
        &mut self,
        ack: u64,
        segment: &Segment,
        from: u64,
        now: Instant,
        timers: &mut Timers,
        statistics: &mut Statistics,
    ) -> Progress {
        let before = self.una;
        self.holding = false;
        if self.recovery == Recovery::Scoreboard {
            self.acknowledge_selectively(ack, segment, now, timers, statistics);
        } else if ack > self.una {
            self.acknowledge_new(ack, segment, now, timers, statistics);
        } else if ack == self.una && self.is_duplicate(segment) {
            statistics.duplicate_acks += 1;
            self.count_duplicate(now, timers, statistics);
        }
        self.offer(from, ack, segment.window);
        if self.edge > self.una {
            self.probes = 0;
        }
        Progress {
            all_acknowledged: before < self.end && self.una >= self.end && self.end > FIRST,
            fin_acknowledged: self.closing && self.una > self.end,
        }
    }

    /// Whether a segment is a duplicate ACK (RFC 5681 section 2). The caller has checked the acknowledgement number,
    /// which is one of the five conditions.
    fn is_duplicate(&self, segment: &Segment) -> bool {
        self.nxt > self.una && segment.sequence_length() == 0 && segment.window == self.offered
    }

    fn count_duplicate(&mut self, now: Instant, timers: &mut Timers, statistics: &mut Statistics) {
        self.duplicates += 1;
        if self.recovering {
            self.control.on_duplicate_ack();
        } else if self.duplicates == self.threshold && self.indicates_loss() {
            self.retransmit_fast(statistics);
            match self.recovery {
                Recovery::PartialAcks | Recovery::Scoreboard if self.window_rules == WindowRules::Rfc5681 => {
                    return;
                }
                Recovery::PartialAcks | Recovery::Scoreboard | Recovery::FirstAck => {}
                Recovery::GoBack => {
                    self.recovering = false;
                    self.go_back();
                }
            }
            // 4.3BSD stops the timer here, and the transmission starts it.
            timers.set(TcpTimer::Retransmission, now.saturating_add(self.rtt.rto()));
        } else if self.duplicates == self.threshold {
            self.ignore_duplicates();
        }
    }

    /// Duplicate ACKs have an earlier loss for their cause. 4.4BSD lets a segment out, and counts from the beginning.
    fn ignore_duplicates(&mut self) {
        if self.window_rules == WindowRules::Bsd {
            self.control.add_segment();
            self.duplicates = 0;
        }
    }

    /// Whether duplicate ACKs now indicate a new loss, rather than the retransmissions of an earlier one.
    fn indicates_loss(&self) -> bool {
        let bsd = self.window_rules == WindowRules::Bsd;
        match self.recovery {
            Recovery::PartialAcks if bsd => self.una >= self.recover,
            Recovery::GoBack | Recovery::PartialAcks => self.una > self.recover,
            // RFC 5681 has no such condition. Without it, a timeout that retransmits data which has arrived would halve
            // the window once more, as it does in 4.4BSD.
            Recovery::FirstAck => self.una > self.recover || !self.timed_out || bsd,
            // RFC 6675 section 5: up to and including RecoveryPoint.
            Recovery::Scoreboard => self.una >= self.recover,
        }
    }

    /// Starts a fast retransmit of the first unacknowledged segment.
    fn retransmit_fast(&mut self, statistics: &mut Statistics) {
        // RFC 5681 section 3.2 step 2: the data released by Limited Transmit does not count.
        let flight = self.lost_window(self.flight().saturating_sub(self.limited as u32));
        self.control.enter_recovery(flight, self.duplicates);
        self.recovering = true;
        self.partial = false;
        self.timed_out = false;
        self.timed = None;
        self.recover = self.max;
        self.resend = true;
        self.holding = self.window_rules == WindowRules::Bsd;
        if let Some(ackloss) = &mut self.ackloss {
            ackloss.on_data_loss(self.max);
        }
        statistics.fast_retransmits += 1;
    }

    /// The bytes of which a loss leaves half, if `flight` bytes are in flight ([`WindowRules`]). A window counts in pairs of
    /// segments, so that its half has whole ones.
    fn lost_window(&self, flight: u32) -> u32 {
        let window = self.control.window();
        let cwnd = match self.window_rules {
            WindowRules::Rfc5681 => return flight,
            WindowRules::WholeSegments if self.recovering => window.cwnd.min(window.ssthresh),
            WindowRules::WholeSegments | WindowRules::Bsd => window.cwnd,
        };
        let pair = 2 * self.mss;
        cwnd.min(self.offered) / pair * pair
    }

    fn acknowledge_new(
        &mut self,
        ack: u64,
        segment: &Segment,
        now: Instant,
        timers: &mut Timers,
        statistics: &mut Statistics,
    ) {
        let flight = self.flight();
        let data = ack.clamp(FIRST, self.end) - self.una.clamp(FIRST, self.end);
        let evidence = match (&self.ackloss, segment.timestamps) {
            (Some(_), Some(timestamps)) => self.timestamp_evidence(ack, timestamps.echo),
            _ => TimestampEvidence::Absent,
        };
        let rtt = self.sample(ack, now);
        if let Some(rtt) = rtt {
            self.rtt.sample(rtt, now);
            statistics.count_rtt(rtt);
        }
        self.deliver(data.saturating_sub(self.scoreboard.sacked_bytes_below(ack)), rtt, now);
        let (before, duplicates) = (self.una.max(FIRST), self.duplicates);
        self.una = ack;
        self.nxt = self.nxt.max(ack);
        self.duplicates = 0;
        self.limited = 0;
        self.attempts = 0;
        self.probes = 0;
        self.resend = false;
        self.buffer.release(data);

        let mut restart = true;
        if data > 0 {
            let srtt = self.rtt.srtt().unwrap_or(Span::ZERO);
            restart = self.update_congestion_control(
                Acknowledged { bytes: data as u32, flight, now, srtt },
                statistics,
            );
            if self.ackloss.is_some() {
                self.detect_ack_loss(
                    Advance { from: before, to: ack, sent: self.max, duplicates, evidence },
                    statistics,
                );
            }
        }
        if self.nxt == self.una {
            timers.stop(TcpTimer::Retransmission);
        } else if restart {
            timers.set(TcpTimer::Retransmission, now.saturating_add(self.rtt.rto()));
        }
    }

    /// The evidence in the timestamp that an acknowledgement up to `ack` echoes. Call it before the records of the
    /// segments are dropped. Retransmitted segments have several timestamps and so give no evidence, and with a coarse
    /// clock there are no records.
    #[inline(never)]
    fn timestamp_evidence(&self, ack: u64, echo: u32) -> TimestampEvidence {
        let mut newly = self.records.iter().take_while(|record| record.end <= ack);
        let Some(first) = newly.next().filter(|_| self.una >= self.sample_from) else {
            return TimestampEvidence::Undecided;
        };
        let mut last = first;
        for record in std::iter::once(first).chain(newly) {
            if record.retransmitted {
                return TimestampEvidence::Undecided;
            }
            last = record;
        }
        TimestampEvidence::from_ticks(clock(first.sent).get(), clock(last.sent).get(), echo)
    }

    /// Reports to the congestion control that `bytes` have arrived, which an acknowledgement reports for the first time.
    pub(super) fn deliver(&mut self, bytes: u64, rtt: Option<Span>, now: Instant) {
        if bytes > 0 {
            let srtt = self.rtt.srtt().unwrap_or(Span::ZERO);
            self.control.on_delivered(Delivered { bytes: bytes as u32, rtt, srtt, now });
        }
    }

    /// Passes an acknowledgement to the detector of ACK loss. It is not inlined, to keep senders without the detector
    /// fast.
    #[inline(never)]
    fn detect_ack_loss(&mut self, ack: Advance, statistics: &mut Statistics) {
        let Some(ackloss) = &mut self.ackloss else { return };
        if ackloss.on_ack(ack) {
            self.control.on_ack_loss();
            // The window that a spurious recovery would restore is outdated.
            self.undo = None;
        }
        statistics.ack_losses = ackloss.losses();
        statistics.ack_loss_halvings = ackloss.halvings();
    }

    /// Reports newly acknowledged data to the congestion control. Returns whether the retransmission timer restarts.
    fn update_congestion_control(&mut self, ack: Acknowledged, statistics: &mut Statistics) -> bool {
        if !self.recovering {
            self.control.on_ack(ack);
            return true;
        }
        if self.una >= self.recover || self.recovery == Recovery::FirstAck {
            self.leave_recovery(ack);
            return true;
        }
        statistics.partial_acks += 1;
        self.control.on_partial_ack(ack);
        if self.recovery == Recovery::Scoreboard {
            return true;
        }
        self.resend = true;
        let first = !self.partial;
        self.partial = true;
        first || self.partial_ack_timer == PartialAckTimer::SlowButSteady
    }

    /// `ack` ends a fast recovery.
    fn leave_recovery(&mut self, ack: Acknowledged) {
        self.recovering = false;
        self.control.leave_recovery();
        if self.window_rules == WindowRules::Bsd && self.recovery != Recovery::FirstAck {
            self.control.limit((self.max - self.una) as u32 + self.mss);
        }
        if self.window_rules != WindowRules::Rfc5681 {
            self.control.on_ack(ack);
        }
    }

    /// Returns the round-trip time that an acknowledgement up to `ack` shows, and drops the records that it covers.
    ///
    /// The oldest segment covered gives the sample: the delay of a receiver that delays its ACKs then enters the
    /// timeout, which also waits for the oldest.
    fn sample(&mut self, ack: u64, now: Instant) -> Option<Span> {
        if self.rtt.times_one_segment() {
            return self.timed.take_if(|(end, _)| *end <= ack).map(|(_, sent)| now.saturating_since(sent));
        }
        let mut oldest = None;
        let mut retransmitted = self.una < self.sample_from;
        while let Some(record) = self.records.front().filter(|record| record.end <= ack) {
            oldest = oldest.or(Some(record.sent));
            retransmitted |= record.retransmitted;
            self.records.pop_front();
        }
        oldest.filter(|_| !retransmitted).map(|sent| now.saturating_since(sent))
    }

    /// The retransmission timer expired (RFC 6298 sections 5.4 to 5.6). Returns true if the connection is to be
    /// aborted.
    pub(super) fn on_retransmission_timeout(&mut self, statistics: &mut Statistics) -> bool {
        if self.una == self.max {
            return false;
        }
        self.attempts += 1;
        if self.attempts > self.limits[usize::from(self.una > 0)] {
            return true;
        }
        statistics.timeouts += 1;
        if self.una == 0 {
            self.syn_lost = true;
        } else {
            let reduces = self.attempts == 1 || self.repeated_timeout == RepeatedTimeout::Reduce;
            let by_flight = self.window_rules == WindowRules::Rfc5681;
            self.control.on_timeout(self.lost_window(self.flight()), reduces, self.recovering && by_flight);
            if let Some(ackloss) = &mut self.ackloss {
                ackloss.on_timeout(self.max);
            }
        }
        self.rtt.back_off();
        self.recover = self.max;
        self.recovering = false;
        self.holding = false;
        self.timed_out = true;
        self.duplicates = 0;
        self.limited = 0;
        self.scoreboard.clear();
        self.undo = None;
        self.go_back();
        false
    }

    /// Marks everything in flight as lost: it is retransmitted from the first unacknowledged byte on.
    fn go_back(&mut self) {
        self.nxt = self.una;
        self.resend = true;
        self.records.clear();
        self.timed = None;
        self.sample_from = self.max;
    }

    /// The persist timer expired (RFC 9293 section 3.8.6.1).
    pub(super) fn on_persist_timeout(&mut self) {
        self.probe = true;
        self.probes += 1;
    }
}

/// The location of an acknowledgement number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AckPosition {
    /// At this position of the stream.
    Valid(u64),
    /// Above the data sent.
    Unsent,
    /// More than a window below the acknowledged data.
    TooOld,
}
