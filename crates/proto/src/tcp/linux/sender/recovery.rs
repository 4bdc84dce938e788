//! The states of congestion avoidance: when a loss is repaired, by how much the window falls, and when that is undone.

use super::{INFINITE, Push, Sender};
use crate::tcp::linux::config::Control;
use crate::tcp::linux::queue::Record;
use crate::tcp::linux::state::CaState;

/// Proportional rate reduction (RFC 6937, RFC 9937), and what is needed to undo it.
#[derive(Clone, Debug, Default)]
pub(in crate::tcp::linux) struct Reduction {
    /// Position at which it ends.
    pub(in crate::tcp::linux) until: u64,
    cwnd_before: u32,
    /// The threshold to which an undo returns; zero if there is none.
    threshold_before: u32,
    delivered: u32,
    /// Segments sent since.
    pub(in crate::tcp::linux) out: u32,
    /// Where the episode began, while it can be undone.
    pub(in crate::tcp::linux) undo_from: Option<u64>,
    /// Retransmissions not yet reported as duplicates; `None` if there were none.
    pub(in crate::tcp::linux) undo_left: Option<u32>,
    /// Whether a timeout is checked for being spurious by new data (F-RTO).
    pub(in crate::tcp::linux) frto: bool,
}

/// What is sent after an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tcp::linux) enum Repair {
    /// New data as the window permits.
    None,
    /// Lost segments first.
    Lost,
    /// New data first, to find whether the timeout was spurious.
    New,
}

/// What an acknowledgement brought.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::tcp::linux) struct News {
    /// Everything below more is acknowledged.
    pub(in crate::tcp::linux) advanced: bool,
    /// Data, or the SYN, was acknowledged cumulatively.
    pub(in crate::tcp::linux) acked: bool,
    /// Data was selectively acknowledged.
    pub(in crate::tcp::linux) sacked: bool,
    /// A duplicate was reported; and it is that of a tail loss probe.
    pub(in crate::tcp::linux) duplicate: bool,
    pub(in crate::tcp::linux) duplicate_of_probe: bool,
    /// The packet carries data.
    pub(in crate::tcp::linux) data: bool,
    /// The window was updated.
    pub(in crate::tcp::linux) window: bool,
    /// The peer echoes congestion.
    pub(in crate::tcp::linux) echo: bool,
    /// Retransmitted data was acknowledged.
    pub(in crate::tcp::linux) acked_resent: bool,
    /// Data that was sent once before the loss has arrived.
    pub(in crate::tcp::linux) original: bool,
    /// The timer of probes or timeouts is to be set.
    pub(in crate::tcp::linux) set_timer: bool,
    /// A retransmission was lost.
    pub(in crate::tcp::linux) lost_again: bool,
    /// The time stamp that the acknowledgement echoes.
    pub(in crate::tcp::linux) stamp: Option<u32>,
    /// The round trip of the newest segment, and whether it may contain the delay of an acknowledgement.
    pub(in crate::tcp::linux) rtt: Option<(u64, bool)>,
}

impl News {
    /// Whether the acknowledgement is something else than a duplicate.
    pub(in crate::tcp::linux) fn is_no_duplicate(&self) -> bool {
        self.data || self.window || self.acked
    }

    /// Whether the state has to be looked at.
    pub(in crate::tcp::linux) fn is_dubious(&self, state: CaState) -> bool {
        !self.is_no_duplicate() || self.sacked || self.echo || self.duplicate || state != CaState::Open
    }
}

impl Sender {
    /// The state machine. Returns what to send.
    pub(in crate::tcp::linux) fn alert(&mut self, news: &mut News, duplicate_ack: bool, now: u64) -> Repair {
        if self.queue.is_empty() && self.queue.sacked > 0 {
            self.queue.sacked = 0;
        }
        if news.echo {
            self.reduction.threshold_before = 0;
        }
        if self.state == CaState::Open {
            self.retransmit_stamp = None;
        } else if self.una >= self.reduction.until {
            match self.state {
                CaState::Cwr if self.una != self.reduction.until => {
                    self.end_reduction(now);
                    self.state = CaState::Open;
                }
                CaState::Recovery => {
                    if !self.sack {
                        self.queue.sacked = 0;
                    }
                    if self.try_undo_recovery(news, now) {
                        return Repair::None;
                    }
                    self.end_reduction(now);
                }
                _ => {}
            }
        }
        match self.state {
            CaState::Recovery => {
                if !news.advanced {
                    if !self.sack {
                        self.add_duplicate(duplicate_ack);
                    }
                } else if self.try_undo_partial(news, now) {
                    return Repair::Lost;
                }
                if self.try_undo_by_duplicates(now) {
                    self.try_open(news);
                }
                self.identify_losses(news, now);
                if self.state != CaState::Recovery {
                    if self.queue.lost == 0 {
                        return Repair::Lost;
                    }
                    self.enter_recovery(news.echo);
                }
            }
            CaState::Loss => {
                let repair = self.in_loss(news, duplicate_ack, now);
                self.identify_losses(news, now);
                if !(self.state == CaState::Open || news.lost_again) {
                    return repair;
                }
                return self.maybe_enter(news, duplicate_ack, now, repair);
            }
            _ => return self.maybe_enter(news, duplicate_ack, now, Repair::None),
        }
        Repair::Lost
    }

    /// Enters recovery if something is lost, and otherwise decides between Open and Disorder.
    fn maybe_enter(&mut self, news: &mut News, duplicate_ack: bool, now: u64, repair: Repair) -> Repair {
        if !self.sack {
            if news.advanced {
                self.queue.sacked = 0;
            }
            self.add_duplicate(duplicate_ack);
        }
        if self.state <= CaState::Disorder {
            self.try_undo_by_duplicates(now);
        }
        self.identify_losses(news, now);
        if self.queue.lost == 0 {
            self.try_open(news);
            return repair;
        }
        self.enter_recovery(news.echo);
        Repair::Lost
    }

    fn identify_losses(&mut self, news: &mut News, now: u64) {
        if self.queue.is_empty() {
            return;
        }
        let resent = self.queue.resent;
        if !self.sack {
            self.mark_by_duplicates(news.advanced);
        } else if self.rack_mark(now) {
            news.set_timer = false;
        }
        news.lost_again |= resent > self.queue.resent;
    }

    /// Without selective acknowledgements the head is lost after three duplicates, and after each partial one in recovery.
    fn mark_by_duplicates(&mut self, advanced: bool) {
        let by_count = self.state < CaState::Recovery && self.queue.sacked >= self.reordering;
        if (by_count || (self.state == CaState::Recovery && advanced))
            && self.queue.head().is_some_and(|head| !head.lost)
        {
            self.queue.mark_lost(0);
        }
    }

    /// A duplicate ACK stands for a segment that has arrived.
    pub(in crate::tcp::linux) fn add_duplicate(&mut self, duplicate_ack: bool) {
        if duplicate_ack {
            let before = self.queue.sacked;
            self.queue.sacked += 1;
            self.limit_duplicates(0);
            self.delivered += u64::from(self.queue.sacked.saturating_sub(before));
        }
    }

    /// Keeps room for the segment that is missing; more duplicates than that are reordering.
    pub(in crate::tcp::linux) fn limit_duplicates(&mut self, acked: u32) {
        let packets = self.queue.packets();
        let holes = self.queue.lost.max(1).min(packets);
        if self.queue.sacked + holes > packets {
            self.queue.sacked = packets - holes;
            self.reordering = (packets + acked).min(self.config.reordering_max);
            self.reorder_seen += 1;
        }
    }

    fn try_open(&mut self, news: &News) {
        if self.queue.resent == 0 {
            self.retransmit_stamp = None;
        }
        if news.echo {
            self.enter_cwr();
        }
        if self.state != CaState::Cwr {
            self.keep_open();
        }
    }

    pub(in crate::tcp::linux) fn keep_open(&mut self) {
        let left = self.queue.sacked + self.queue.lost + self.queue.resent;
        let state = if left > 0 { CaState::Disorder } else { CaState::Open };
        if self.state != state {
            self.state = state;
            self.reduction.until = self.nxt;
        }
    }

    // Reductions.

    pub(in crate::tcp::linux) fn loss_threshold(&mut self) -> u32 {
        match self.config.control {
            Control::Reno => (self.cwnd / 2).max(2),
            Control::Cubic => self.cubic.threshold(self.cwnd),
            Control::Bbr1 | Control::Bbr3 => {
                if let Some(bbr) = &mut self.bbr {
                    bbr.save(self.cwnd);
                }
                self.ssthresh
            }
        }
    }

    fn begin_reduction(&mut self) {
        self.probe_until = None;
        self.reduction.until = self.nxt;
        self.cwnd_count = 0;
        self.reduction.cwnd_before = self.cwnd;
        (self.reduction.delivered, self.reduction.out) = (0, 0);
        self.ssthresh = self.loss_threshold();
        self.send_cwr = self.ecn;
    }

    fn remember_for_undo(&mut self) {
        self.reduction.undo_from = Some(self.una);
        let probe = u32::from(self.probe_until.is_some() && self.probe_resent);
        self.reduction.undo_left = Some(self.queue.resent + probe).filter(|left| *left > 0);
    }

    pub(in crate::tcp::linux) fn enter_recovery(&mut self, echo: bool) {
        self.reduction.threshold_before = 0;
        self.remember_for_undo();
        if !self.state.reduces() {
            if !echo {
                self.reduction.threshold_before = self.current_threshold();
            }
            self.begin_reduction();
        }
        self.state = CaState::Recovery;
        self.tell_of_loss();
    }

    /// The detector of lost acknowledgements learns that the window is reduced for something else.
    fn tell_of_loss(&mut self) {
        if let Some(watch) = &mut self.ackloss {
            watch.data_loss(self.nxt);
        }
    }

    /// Reduces the window without a loss.
    pub(in crate::tcp::linux) fn enter_cwr(&mut self) {
        self.reduction.threshold_before = 0;
        if self.state < CaState::Cwr {
            self.reduction.undo_from = None;
            self.begin_reduction();
            self.state = CaState::Cwr;
            self.tell_of_loss();
        }
    }

    /// A tail loss probe has repaired a loss: the window is reduced at once.
    pub(in crate::tcp::linux) fn reduce_for_probe(&mut self, now: u64) {
        self.begin_reduction();
        if let Some(bbr) = &mut self.bbr {
            bbr.repaired_tail();
        }
        self.state = CaState::Cwr;
        self.tell_of_loss();
        self.end_reduction(now);
        self.keep_open();
    }

    fn end_reduction(&mut self, now: u64) {
        if self.bbr.is_none()
            && self.ssthresh < INFINITE
            && (self.reduction.undo_from.is_some() || self.state == CaState::Cwr)
        {
            self.cwnd = self.ssthresh;
            self.cwnd_stamp = now;
        }
    }

    /// The window while it is reduced, after `delivered` segments arrived.
    pub(in crate::tcp::linux) fn reduce(&mut self, delivered: u32, newly_lost: bool, advanced: bool) {
        if delivered == 0 || self.reduction.cwnd_before == 0 || self.bbr.is_some() {
            return;
        }
        self.reduction.delivered += delivered;
        let flight = self.queue.in_flight();
        let reduction = &self.reduction;
        let (arrived, out) = (i64::from(reduction.delivered), i64::from(reduction.out));
        let room = i64::from(self.ssthresh) - i64::from(flight);
        let mut send = if room < 0 {
            let before = i64::from(reduction.cwnd_before);
            (i64::from(self.ssthresh) * arrived + before - 1) / before - out
        } else {
            let fair = (arrived - out).max(i64::from(delivered)) + i64::from(advanced && !newly_lost);
            room.min(fair)
        };
        // Entering recovery sends something.
        send = send.max(i64::from(out == 0));
        self.cwnd = (i64::from(flight) + send).max(0) as u32;
    }

    // Undo.

    /// Whether the time stamp that came back is older than the first retransmission, or there was none.
    fn original_arrived(&self, news: &News) -> bool {
        match (self.retransmit_stamp, news.stamp) {
            // Without selective acknowledgements the stamp is also forgotten while the state is held.
            (None, _) => self.sack || self.una < self.reduction.until,
            (Some(first), Some(echo)) => (echo.wrapping_sub((first / 1000) as u32) as i32) < 0,
            (Some(_), None) => false,
        }
    }

    fn may_undo(&self, news: &News) -> bool {
        self.reduction.undo_from.is_some()
            && (self.reduction.undo_left == Some(0) || self.original_arrived(news))
    }

    fn undo(&mut self, clear_losses: bool, now: u64) {
        if clear_losses {
            self.queue.clear_lost();
        }
        if self.reduction.threshold_before > 0 {
            self.cwnd = match &mut self.bbr {
                Some(bbr) => bbr.undo(self.cwnd, self.delivered, self.queue.lost_ever, now),
                None => self.cwnd.max(self.reduction.cwnd_before),
            };
            if self.reduction.threshold_before > self.ssthresh {
                self.ssthresh = self.reduction.threshold_before;
                self.send_cwr = false;
            }
        }
        self.cwnd_stamp = now;
        self.reduction.undo_from = None;
        // Losses are looked for anew.
        self.rack.advanced = true;
    }

    /// Without selective acknowledgements, duplicates of the old episode must not begin a new one.
    fn holds_state(&self) -> bool {
        !self.sack && self.una == self.reduction.until
    }

    /// Ends recovery, or undoes it. Returns whether the state is held until more is acknowledged.
    fn try_undo_recovery(&mut self, news: &News, now: u64) -> bool {
        if self.may_undo(news) {
            self.undo(false, now);
        } else {
            self.rack_recovered();
        }
        if self.holds_state() {
            if self.queue.resent == 0 {
                self.retransmit_stamp = None;
            }
            return true;
        }
        self.state = CaState::Open;
        false
    }

    /// A partial acknowledgement of the original: the hole was filled by what was only late.
    fn try_undo_partial(&mut self, news: &News, now: u64) -> bool {
        if self.reduction.undo_from.is_none() || !self.original_arrived(news) {
            return false;
        }
        if self.queue.resent > 0 {
            return true;
        }
        self.retransmit_stamp = None;
        self.undo(true, now);
        self.keep_open();
        false
    }

    /// All retransmissions were reported as duplicates.
    fn try_undo_by_duplicates(&mut self, now: u64) -> bool {
        let repaid = self.reduction.undo_from.is_some() && self.reduction.undo_left == Some(0);
        if repaid {
            self.undo(false, now);
        }
        repaid
    }

    fn try_undo_loss(&mut self, news: &News, spurious: bool, now: u64) -> bool {
        if !spurious && !self.may_undo(news) {
            return false;
        }
        self.undo(true, now);
        self.retransmits = 0;
        if self.holds_state() {
            return true;
        }
        if spurious || self.sack {
            self.state = CaState::Open;
        }
        true
    }

    // After a timeout.

    fn in_loss(&mut self, news: &News, duplicate_ack: bool, now: u64) -> Repair {
        let recovered = self.una >= self.reduction.until;
        if news.advanced && self.try_undo_loss(news, false, now) {
            return Repair::None;
        }
        if self.reduction.frto {
            if news.original && self.try_undo_loss(news, true, now) {
                return Repair::None;
            }
            if self.nxt > self.reduction.until {
                if news.sacked || duplicate_ack {
                    self.reduction.frto = false;
                }
            } else if news.advanced && !recovered {
                self.reduction.until = self.nxt;
                if self.has_unsent() && self.edge() > self.nxt {
                    return Repair::New;
                }
                self.reduction.frto = false;
            }
        }
        if recovered {
            if !self.try_undo_recovery(news, now) {
                self.state = CaState::Open;
            }
            return Repair::None;
        }
        if !self.sack {
            if self.nxt > self.reduction.until && duplicate_ack {
                self.add_duplicate(true);
            } else if news.advanced {
                self.queue.sacked = 0;
            }
        }
        Repair::Lost
    }

    /// The timer has expired: everything is lost but what was sent too recently to be missed.
    pub(in crate::tcp::linux) fn enter_loss(&mut self, now: u64) {
        let new = self.state < CaState::Recovery;
        let arrived = self.queue.sacked;
        self.mark_after_timeout(now);
        let passed = self.reduction.until <= self.una;
        if self.state <= CaState::Disorder || passed || (self.state == CaState::Loss && self.retransmits == 0)
        {
            self.reduction.threshold_before = self.current_threshold();
            self.reduction.cwnd_before = self.cwnd;
            self.ssthresh = self.loss_threshold();
            self.remember_for_undo();
        }
        self.cwnd = self.queue.in_flight() + 1;
        self.cwnd_count = 0;
        self.cwnd_stamp = now;
        if self.state <= CaState::Disorder && arrived >= self.config.reordering {
            self.reordering = self.reordering.min(self.config.reordering);
        }
        self.state = CaState::Loss;
        if let Some(watch) = &mut self.ackloss {
            watch.timeout(self.nxt);
        }
        self.cubic.reset();
        if let Some(bbr) = &mut self.bbr {
            bbr.time_out(self.delivered, self.queue.lost_ever, now);
        }
        self.reduction.until = self.nxt;
        self.probe_until = None;
        self.send_cwr = self.ecn;
        self.reduction.frto = self.config.frto && (new || self.retransmits > 0);
    }

    fn mark_after_timeout(&mut self, now: u64) {
        if self.queue.head().is_some_and(|head| head.sacked) {
            self.queue.forget_sacked();
        } else if !self.sack {
            self.queue.sacked = 0;
        }
        for index in 0..self.queue.len() {
            let Some(record) = self.queue.get(index) else { break };
            if index > 0 && self.sack && self.rack_remaining(record.sent, 0, now) > 0 {
                continue;
            }
            self.queue.mark_lost(index);
        }
    }

    // Repair.

    /// Sends what an acknowledgement permits.
    pub(in crate::tcp::linux) fn repair(&mut self, repair: Repair, now: u64) {
        match repair {
            Repair::None => return,
            Repair::New => {
                self.push_pending(Push::Now, now);
                if self.nxt > self.reduction.until {
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
    pub(in crate::tcp::linux) fn retransmit_lost(&mut self, now: u64) {
        let mut head_resent = false;
        let mut index = 0;
        while index < self.queue.len() {
            let in_flight = self.queue.in_flight();
            if in_flight >= self.cwnd || self.queue.resent >= self.queue.lost {
                break;
            }
            if self.must_pace(now) {
                break;
            }
            let most = (self.cwnd - in_flight).min(self.burst_segments(self.mss)) as usize;
            let count = self.lost_together(index, most);
            if count == 0 {
                index += 1;
                continue;
            }
            if self.blocked || !self.resend(index, count, false, now) {
                break;
            }
            if self.state.reduces() {
                self.reduction.out += count as u32;
            }
            head_resent |= index == 0;
            index += count;
        }
        if head_resent && !self.timer.is_some_and(|timer| timer.is_reorder()) {
            self.set_timeout(now);
        }
    }

    /// Segments from `index` on, `most` at most, that left in one packet and are lost and not retransmitted.
    fn lost_together(&self, index: usize, most: usize) -> usize {
        let records = (index..self.queue.len()).map_while(|at| self.queue.get(at));
        let is_lost = |record: &Record| record.lost && !record.sacked && !record.resent;
        let lost =
            records.enumerate().take_while(|(at, record)| is_lost(record) && (*at == 0 || record.joined));
        lost.take(most).count()
    }

    /// Retransmits `count` segments in one packet. Returns whether it was sent.
    pub(in crate::tcp::linux) fn resend(
        &mut self,
        index: usize,
        count: usize,
        probe: bool,
        now: u64,
    ) -> bool {
        let Some((first, last)) = self.queue.get(index).zip(self.queue.get(index + count - 1)) else {
            return false;
        };
        // Beyond a window that has shrunk only the head is sent.
        if last.end > self.edge() && index > 0 {
            return false;
        }
        self.note_departure(now);
        self.queue.split(index);
        self.queue.split(index + count);
        let flight = self.queue.in_flight() + count as u32;
        let snapshot = self.rate.snapshot(self.delivered, self.queue.lost_ever, flight);
        for at in index..index + count {
            self.queue.resend(at, now, probe, snapshot);
        }
        self.total_retransmits += count as u64;
        if !probe {
            self.retransmit_stamp = self.retransmit_stamp.or(Some(now));
            self.reduction.undo_left = Some(self.reduction.undo_left.unwrap_or(0) + count as u32);
        }
        let whole = Record { end: last.end, push: last.push || count > 1, ..first };
        let packet = self.packet_of(&whole);
        self.advance_pacing(packet.len, now);
        self.out.push_back(packet);
        true
    }
}
