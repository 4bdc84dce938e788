//! The states of congestion avoidance: when a loss is repaired, by how much the window falls, and when that is undone.

use super::Sender;
use crate::tcp::linux::congestion::INFINITE;
use crate::tcp::linux::reduction::Reduction;
use crate::tcp::linux::state::CaState;
use crate::tcp::linux::timers::{Reason, TIMEOUT_MIN};

/// What is sent after an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repair {
    /// New data as the window permits.
    None,
    /// Lost segments first.
    Lost,
    /// New data first, to find whether the timeout was spurious.
    New,
}

/// What an acknowledgement brought.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct News {
    /// Everything below more is acknowledged.
    pub(super) advanced: bool,
    /// Data, or the SYN, was acknowledged cumulatively.
    pub(super) acked: bool,
    /// Data was selectively acknowledged.
    pub(super) sacked: bool,
    /// A duplicate was reported; and it is that of a tail loss probe.
    pub(super) duplicate: bool,
    pub(super) duplicate_of_probe: bool,
    /// The packet carries data.
    pub(super) data: bool,
    /// The window was updated.
    pub(super) window: bool,
    /// The peer echoes congestion.
    pub(super) echo: bool,
    /// Retransmitted data was acknowledged.
    pub(super) acked_resent: bool,
    /// Data that was sent once before the loss has arrived.
    pub(super) original: bool,
    /// The timer of probes or timeouts is to be set.
    pub(super) set_timer: bool,
    /// A retransmission was lost.
    pub(super) lost_again: bool,
    /// The time stamp that the acknowledgement echoes.
    pub(super) stamp: Option<u32>,
    /// The round trip of the newest segment, and whether it may contain the delay of an acknowledgement.
    pub(super) rtt: Option<(u64, bool)>,
}

impl News {
    /// Whether the acknowledgement is something else than a duplicate.
    pub(super) fn is_no_duplicate(&self) -> bool {
        self.data || self.window || self.acked
    }

    /// Whether the state has to be looked at.
    pub(super) fn is_dubious(&self, state: CaState) -> bool {
        !self.is_no_duplicate() || self.sacked || self.echo || self.duplicate || state != CaState::Open
    }
}

impl Sender {
    /// The state machine. Returns what to send.
    pub(super) fn alert(&mut self, news: &mut News, duplicate_ack: bool, now: u64) -> Repair {
        if self.queue.is_empty() && self.queue.sacked > 0 {
            self.queue.sacked = 0;
        }
        if news.echo {
            self.reduction.threshold_before = 0;
        }
        if self.congestion.state == CaState::Open {
            self.reduction.resent_at = None;
        } else if self.space.una >= self.reduction.until {
            match self.congestion.state {
                CaState::Cwr if self.space.una != self.reduction.until => {
                    self.end_reduction(now);
                    self.congestion.state = CaState::Open;
                }
                CaState::Recovery => {
                    self.queue.forget_duplicates();
                    if self.try_undo_recovery(news, now) {
                        return Repair::None;
                    }
                    self.end_reduction(now);
                }
                _ => {}
            }
        }
        match self.congestion.state {
            CaState::Recovery => {
                if !news.advanced {
                    self.add_duplicate(duplicate_ack);
                } else if self.try_undo_partial(news, now) {
                    return Repair::Lost;
                }
                if self.try_undo_by_duplicates(now) {
                    self.try_open(news);
                }
                self.identify_losses(news, now);
                if self.congestion.state != CaState::Recovery {
                    if self.queue.lost == 0 {
                        return Repair::Lost;
                    }
                    self.enter_recovery(news.echo);
                }
            }
            CaState::Loss => {
                let repair = self.in_loss(news, duplicate_ack, now);
                self.identify_losses(news, now);
                if !(self.congestion.state == CaState::Open || news.lost_again) {
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
        if news.advanced {
            self.queue.forget_duplicates();
        }
        self.add_duplicate(duplicate_ack);
        if self.congestion.state <= CaState::Disorder {
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
        if !self.queue.sack {
            self.mark_by_duplicates(news.advanced);
        } else if std::mem::take(&mut self.rack.advanced) {
            let wait = self.detect_late(now);
            if wait > 0 {
                self.timers.set(Reason::Reorder, wait + TIMEOUT_MIN, now);
                news.set_timer = false;
            }
        }
        news.lost_again |= resent > self.queue.resent;
    }

    /// Marks what RACK takes for lost. Returns how long until what may yet be late would be.
    pub(super) fn detect_late(&mut self, now: u64) -> u64 {
        self.rack.detect(&mut self.queue, &self.rtt, self.congestion.state, now)
    }

    /// Without selective acknowledgements the head is lost after three duplicates, and after each partial one in recovery.
    fn mark_by_duplicates(&mut self, advanced: bool) {
        let by_count = self.congestion.state < CaState::Recovery && self.queue.sacked >= self.rack.reordering;
        if (by_count || (self.congestion.state == CaState::Recovery && advanced))
            && self.queue.head().is_some_and(|head| !head.lost)
        {
            self.queue.mark_lost(0);
        }
    }

    /// Without selective acknowledgements a duplicate ACK stands for a segment that has arrived.
    fn add_duplicate(&mut self, duplicate_ack: bool) {
        if duplicate_ack && !self.queue.sack {
            let before = self.queue.sacked;
            self.queue.sacked += 1;
            self.limit_duplicates(0);
            self.queue.delivered += u64::from(self.queue.sacked.saturating_sub(before));
        }
    }

    /// More duplicate ACKs than there are segments that can have arrived are reordering.
    pub(super) fn limit_duplicates(&mut self, acked: u32) {
        if self.queue.limit_duplicates() {
            self.rack.reordering = (self.queue.packets() + acked).min(self.config.reordering_max);
            self.rack.reorder_seen += 1;
        }
    }

    fn try_open(&mut self, news: &News) {
        if self.queue.resent == 0 {
            self.reduction.resent_at = None;
        }
        if news.echo {
            self.enter_cwr();
        }
        if self.congestion.state != CaState::Cwr {
            self.keep_open();
        }
    }

    pub(super) fn keep_open(&mut self) {
        let left = self.queue.sacked + self.queue.lost + self.queue.resent;
        let state = if left > 0 { CaState::Disorder } else { CaState::Open };
        if self.congestion.state != state {
            self.congestion.state = state;
            self.reduction.until = self.space.nxt;
        }
    }

    // Reductions.

    fn begin_reduction(&mut self) {
        self.timers.tail_probe = None;
        self.reduction.begin(self.congestion.cwnd, self.space.nxt);
        self.congestion.begin_reduction();
    }

    fn remember_for_undo(&mut self) {
        let probe = u32::from(self.timers.tail_probe.is_some_and(|probe| probe.resent));
        self.reduction.remember(self.space.una, self.queue.resent + probe);
    }

    pub(super) fn enter_recovery(&mut self, echo: bool) {
        self.reduction.threshold_before = 0;
        self.remember_for_undo();
        if !self.congestion.state.reduces() {
            if !echo {
                self.reduction.threshold_before = self.congestion.current_threshold();
            }
            self.begin_reduction();
        }
        self.congestion.state = CaState::Recovery;
        self.note_data_loss();
    }

    /// The detector of lost acknowledgements learns that the window is reduced for something else.
    fn note_data_loss(&mut self) {
        if let Some(watch) = &mut self.ackloss {
            watch.data_loss(self.space.nxt);
        }
    }

    /// Reduces the window without a loss.
    pub(super) fn enter_cwr(&mut self) {
        self.reduction.threshold_before = 0;
        if self.congestion.state < CaState::Cwr {
            self.reduction.undo_from = None;
            self.begin_reduction();
            self.congestion.state = CaState::Cwr;
            self.note_data_loss();
        }
    }

    /// A tail loss probe has repaired a loss: the window is reduced at once.
    pub(super) fn reduce_for_probe(&mut self, now: u64) {
        self.begin_reduction();
        if let Some(bbr) = self.congestion.bbr() {
            bbr.repaired_tail();
        }
        self.congestion.state = CaState::Cwr;
        self.note_data_loss();
        self.end_reduction(now);
        self.keep_open();
    }

    fn end_reduction(&mut self, now: u64) {
        if !self.congestion.is_bbr()
            && self.congestion.ssthresh < INFINITE
            && (self.reduction.undo_from.is_some() || self.congestion.state == CaState::Cwr)
        {
            self.congestion.set(self.congestion.ssthresh, now);
        }
    }

    /// The window while it is reduced, after `delivered` segments arrived.
    pub(super) fn reduce(&mut self, delivered: u32, newly_lost: bool, advanced: bool) {
        let (flight, threshold) = (self.queue.in_flight(), self.congestion.ssthresh);
        if !self.congestion.is_bbr()
            && let Some(cwnd) = self.reduction.window(threshold, flight, delivered, advanced && !newly_lost)
        {
            self.congestion.cwnd = cwnd;
        }
    }

    // Undo.

    fn original_arrived(&self, news: &News) -> bool {
        self.reduction.undo_from.is_some()
            && self.reduction.original_arrived(news.stamp, self.queue.sack, self.space.una)
    }

    fn may_undo(&self, news: &News) -> bool {
        self.reduction.is_repaid() || self.original_arrived(news)
    }

    fn undo(&mut self, clear_losses: bool, now: u64) {
        if clear_losses {
            self.queue.clear_lost();
        }
        let Reduction { cwnd_before, threshold_before, .. } = self.reduction;
        if threshold_before > 0 {
            let (delivered, lost) = (self.queue.delivered, self.queue.lost_ever);
            self.congestion.restore(cwnd_before, threshold_before, delivered, lost, now);
        }
        self.congestion.set(self.congestion.cwnd, now);
        self.reduction.undo_from = None;
        // Losses are looked for anew.
        self.rack.advanced = true;
    }

    /// Without selective acknowledgements, duplicates of the old episode must not begin a new one.
    fn holds_state(&self) -> bool {
        !self.queue.sack && self.space.una == self.reduction.until
    }

    /// Ends recovery, or undoes it. Returns whether the state is held until more is acknowledged.
    fn try_undo_recovery(&mut self, news: &News, now: u64) -> bool {
        if self.may_undo(news) {
            self.undo(false, now);
        } else {
            self.rack.recovered();
        }
        if self.holds_state() {
            if self.queue.resent == 0 {
                self.reduction.resent_at = None;
            }
            return true;
        }
        self.congestion.state = CaState::Open;
        false
    }

    /// A partial acknowledgement of the original: the hole was filled by what was only late.
    fn try_undo_partial(&mut self, news: &News, now: u64) -> bool {
        if !self.original_arrived(news) {
            return false;
        }
        if self.queue.resent > 0 {
            return true;
        }
        self.reduction.resent_at = None;
        self.undo(true, now);
        self.keep_open();
        false
    }

    /// All retransmissions were reported as duplicates.
    fn try_undo_by_duplicates(&mut self, now: u64) -> bool {
        let repaid = self.reduction.is_repaid();
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
        self.timers.retransmits = 0;
        if self.holds_state() {
            return true;
        }
        if spurious || self.queue.sack {
            self.congestion.state = CaState::Open;
        }
        true
    }

    // After a timeout.

    fn in_loss(&mut self, news: &News, duplicate_ack: bool, now: u64) -> Repair {
        let recovered = self.space.una >= self.reduction.until;
        if news.advanced && self.try_undo_loss(news, false, now) {
            return Repair::None;
        }
        if self.reduction.frto {
            if news.original && self.try_undo_loss(news, true, now) {
                return Repair::None;
            }
            if self.space.nxt > self.reduction.until {
                if news.sacked || duplicate_ack {
                    self.reduction.frto = false;
                }
            } else if news.advanced && !recovered {
                self.reduction.until = self.space.nxt;
                if self.has_unsent() && self.space.edge() > self.space.nxt {
                    return Repair::New;
                }
                self.reduction.frto = false;
            }
        }
        if recovered {
            self.try_undo_recovery(news, now);
            return Repair::None;
        }
        if self.space.nxt > self.reduction.until && duplicate_ack {
            self.add_duplicate(true);
        } else if news.advanced {
            self.queue.forget_duplicates();
        }
        Repair::Lost
    }

    /// The timer has expired: everything is lost but what was sent too recently to be missed.
    pub(super) fn enter_loss(&mut self, now: u64) {
        let state = self.congestion.state;
        let arrived = self.queue.sacked;
        self.mark_after_timeout(now);
        let passed = self.reduction.until <= self.space.una;
        let again = state == CaState::Loss && self.timers.retransmits == 0;
        if state <= CaState::Disorder || passed || again {
            self.reduction.threshold_before = self.congestion.current_threshold();
            self.reduction.cwnd_before = self.congestion.cwnd;
            self.congestion.lower_threshold();
            self.remember_for_undo();
        }
        if state <= CaState::Disorder && arrived >= self.config.reordering {
            self.rack.reordering = self.rack.reordering.min(self.config.reordering);
        }
        let (flight, delivered) = (self.queue.in_flight(), self.queue.delivered);
        self.congestion.begin_loss(flight, delivered, self.queue.lost_ever, now);
        if let Some(watch) = &mut self.ackloss {
            watch.timeout(self.space.nxt);
        }
        self.reduction.until = self.space.nxt;
        self.timers.tail_probe = None;
        self.reduction.frto = self.config.frto && (state < CaState::Recovery || self.timers.retransmits > 0);
    }

    fn mark_after_timeout(&mut self, now: u64) {
        if self.queue.head().is_some_and(|head| head.sacked) {
            self.queue.forget_sacked();
        } else {
            self.queue.forget_duplicates();
        }
        for index in 0..self.queue.len() {
            let Some(record) = self.queue.get(index) else { break };
            if index > 0 && self.queue.sack && self.rack.remaining(record.sent, 0, now) > 0 {
                continue;
            }
            self.queue.mark_lost(index);
        }
    }
}
