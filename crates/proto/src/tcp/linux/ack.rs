//! What an acknowledgement does, in the order in which Linux does it.

use super::config::Control;
use super::cubic::Sample;
use super::packet::{Packet, bits};
use super::queue::Record;
use super::sender::recovery::{News, Repair};
use super::sender::{Outgoing, Push, Sender};

/// Round-trip times that an acknowledgement gives.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    /// When the oldest and the newest segment newly acknowledged cumulatively were sent, if they were sent once.
    first: Option<u64>,
    last: Option<u64>,
    /// The same for selective acknowledgements.
    first_sacked: Option<u64>,
    last_sacked: Option<u64>,
    acked: u32,
    /// The length of the segment acknowledged last.
    last_len: u64,
}

impl Sender {
    /// Processes the acknowledgement of everything below `ack`. `blocks` are its selective ones as positions, and `stamp` the
    /// time stamp that it echoes.
    pub(super) fn acknowledge(
        &mut self,
        ack: u64,
        packet: &Packet,
        window: u32,
        from: u64,
        blocks: &[(u64, u64)],
        stamp: Option<u32>,
        now: u64,
    ) {
        let before = (self.una, self.delivered, self.queue.lost_ever);
        let flight = self.queue.packets();
        let mut news = News { data: packet.len > 0, stamp, ..News::default() };
        let mut times = Times::default();
        let mut oldest_new = u64::MAX;
        if ack < self.una {
            if let Some(watch) = &mut self.ackloss {
                watch.overtaken();
            }
            if !blocks.is_empty() {
                self.tag(blocks, ack, &mut news, &mut times, now);
                let repair = self.alert(&mut news, false, now);
                self.deliver(&news, before, now);
                self.repair(repair, now);
            }
            return;
        }
        news.advanced = ack > self.una;
        if news.advanced {
            self.retransmits = 0;
        }
        self.update_window(ack, window, from, &mut news, now);
        let highest = if self.queue.sacked > 0 { self.queue.highest } else { self.una };
        self.una = ack;
        self.probes = 0;
        self.probing_since = None;
        if !blocks.is_empty() && self.sack {
            self.tag(blocks, ack, &mut news, &mut times, now);
        }
        news.echo = self.ecn && packet.has(bits::ECE) && !packet.has(bits::SYN);
        if flight == 0 {
            if news.duplicate {
                let repair = self.alert(&mut news, false, now);
                self.deliver(&news, before, now);
                self.repair(repair, now);
            }
            self.check_probing(now);
            self.end_probe(ack, &news, now);
            return;
        }
        self.remove_acknowledged(&mut news, &mut times, &mut oldest_new, now);
        self.take_times(&mut news, times, flight, now);
        self.watch_acknowledgement(&news, now);
        if self.sack && news.acked && oldest_new < highest {
            self.note_reordering(oldest_new, highest);
        }
        self.rack_update_window(before.0);
        self.end_probe(ack, &news, now);
        let mut repair = Repair::None;
        if news.is_dubious(self.state) {
            let duplicate = !(news.advanced || news.is_no_duplicate() || news.duplicate);
            repair = self.alert(&mut news, duplicate, now);
        }
        if news.set_timer {
            self.set_ack_timer(now);
        }
        self.deliver(&news, before, now);
        self.repair(repair, now);
    }

    /// Sets the window from what was delivered.
    fn deliver(&mut self, news: &News, before: (u64, u64, u64), now: u64) {
        let delivered = (self.delivered - before.1) as u32;
        let newly_lost = self.queue.lost_ever > before.2;
        if self.bbr.is_some() {
            let lost = (self.queue.lost_ever - before.2) as u32;
            return self.follow_bbr(news, delivered, lost, now);
        }
        if self.state.reduces() {
            self.reduce(delivered, newly_lost, news.advanced);
        } else if news.acked || (self.reordering > self.config.reordering && news.sacked) {
            self.grow(delivered, now);
        }
        self.update_pacing_rate();
    }

    /// The window of a packet counts if it is newer than the last, or larger.
    fn update_window(&mut self, ack: u64, window: u32, from: u64, news: &mut News, now: u64) {
        let newer = ack > self.una || from > self.updated_at;
        if !newer && !(from == self.updated_at && (window > self.window || window == 0)) {
            return;
        }
        news.window = true;
        self.updated_at = from;
        if self.window != window {
            self.window = window;
            if self.has_unsent() {
                self.slow_start_after_idle(now);
            }
            self.window_max = self.window_max.max(window);
        }
    }

    /// Removes what is acknowledged.
    fn remove_acknowledged(&mut self, news: &mut News, times: &mut Times, oldest_new: &mut u64, now: u64) {
        let mut arrived = Vec::new();
        while let Some(record) = self.queue.take_acknowledged(self.una) {
            news.acked = true;
            news.set_timer = true;
            times.acked += 1;
            times.last_len = record.end - record.start;
            if record.ever {
                news.acked_resent = true;
            } else if !record.sacked {
                times.first = times.first.or(Some(record.sent));
                times.last = Some(record.sent);
                *oldest_new = (*oldest_new).min(record.start);
                news.original |= record.end <= self.reduction.until;
            }
            if record.sacked && self.sack {
                self.queue.sacked = self.queue.sacked.saturating_sub(1);
            } else if self.sack {
                self.delivered += 1;
                arrived.push((record, news.stamp));
                self.rate.deliver(record.sent, record.end, record.snapshot);
            }
        }
        for (record, stamp) in arrived {
            if !self.echo_precedes(&record, stamp) {
                self.rack_advance(record.end, record.sent, record.ever, now);
            }
        }
        if self.queue.is_empty() && !self.has_unsent() {
            self.chronograph.idle(now);
        }
        if times.acked > 0 && !self.sack {
            // One ACK acknowledged the hole, the others were duplicates.
            self.delivered += u64::from(times.acked.saturating_sub(self.queue.sacked).max(1));
            self.queue.sacked = self.queue.sacked.saturating_sub(times.acked - 1);
            self.limit_duplicates(times.acked);
            news.original &= !news.acked_resent;
        }
    }

    /// Whether the time stamp shows that an earlier transmission of a retransmitted segment has arrived.
    fn echo_precedes(&self, record: &Record, stamp: Option<u32>) -> bool {
        record.ever && stamp.is_some_and(|echo| (echo.wrapping_sub((record.sent / 1000) as u32) as i32) < 0)
    }

    /// Takes samples of the round-trip time.
    fn take_times(&mut self, news: &mut News, times: Times, flight: u32, now: u64) {
        let since = |at: Option<u64>| at.map(|at| now - at);
        let clean = if news.acked_resent { None } else { since(times.first) };
        let sacked = since(times.first_sacked);
        let newest =
            sacked.and(since(times.last_sacked)).or(if news.acked_resent { None } else { since(times.last) });
        let stamped = news
            .stamp
            .filter(|stamp| news.acked && *stamp != 0)
            .map(|stamp| u64::from(((now / 1000) as u32).wrapping_sub(stamp)).max(1) * 1000);
        let sample = clean.or(sacked).or(stamped.filter(|rtt| *rtt < 1 << 40));
        if let Some(rtt) = newest {
            let lone = times.acked == 1 && flight == 1 && times.last_len < u64::from(self.mss);
            news.rtt = Some((rtt, lone && sacked.is_none()));
            self.rtt.sample_minimum(rtt, now, lone && sacked.is_none());
        }
        if let Some(rtt) = sample {
            self.rtt.sample(rtt, self.una, self.nxt);
            self.backoff = 0;
            if !news.acked
                && let Some((sacked, head)) = sacked.zip(self.queue.head())
                && sacked > now - head.sent
            {
                news.set_timer = true;
            }
        }
        if let Some(rtt) = newest
            && self.config.control == Control::Cubic
        {
            let sample = Sample {
                now,
                rtt,
                una: self.una,
                nxt: self.nxt,
                window: self.cwnd,
                slow_start: self.in_slow_start(),
                rate: self.pacing_rate,
                paced: self.config.paced,
                detect: self.config.hystart,
            };
            if self.cubic.sample(&sample, self.clock) {
                self.ssthresh = self.cwnd;
            }
        }
    }

    /// Marks what `blocks` report. The first may be a duplicate.
    fn tag(&mut self, blocks: &[(u64, u64)], ack: u64, news: &mut News, times: &mut Times, now: u64) {
        let first = blocks[0];
        let inside = |block: (u64, u64)| block.0 <= first.0 && first.1 <= block.1;
        let duplicate = first.0 < ack || blocks.get(1).is_some_and(|second| inside(*second));
        if duplicate {
            self.note_duplicate(first, ack, news);
        }
        let highest = self.queue.highest.max(self.una);
        let mut oldest = u64::MAX;
        let mut sorted: Vec<(u64, u64)> = blocks.iter().copied().skip(usize::from(duplicate)).collect();
        sorted.sort_unstable();
        for (start, end) in sorted {
            let valid = start < end && end <= self.nxt && start >= self.una.max(1);
            if !valid {
                continue;
            }
            for index in self.queue.from(start)..self.queue.len() {
                let Some(record) = self.queue.get(index).filter(|record| record.end <= end) else { break };
                if record.sacked {
                    continue;
                }
                self.tag_one(index, &record, highest, &mut oldest, news, times, now);
            }
        }
        if oldest < self.queue.highest {
            self.note_reordering(oldest, self.queue.highest);
        }
    }

    #[allow(clippy::too_many_arguments, reason = "the state of one pass over the blocks")]
    fn tag_one(
        &mut self,
        index: usize,
        record: &Record,
        highest: u64,
        oldest: &mut u64,
        news: &mut News,
        times: &mut Times,
        now: u64,
    ) {
        if !self.echo_precedes(record, news.stamp) {
            self.rack_advance(record.end, record.sent, record.ever, now);
        }
        if !record.ever {
            if record.start < highest && highest > self.una {
                *oldest = (*oldest).min(record.start);
            }
            news.original |= record.end <= self.reduction.until;
            times.first_sacked = times.first_sacked.or(Some(record.sent));
            times.last_sacked = Some(record.sent);
        }
        self.queue.mark_sacked(index);
        self.rate.deliver(record.sent, record.end, record.snapshot);
        self.delivered += 1;
        news.sacked = true;
    }

    /// The peer has received data twice.
    fn note_duplicate(&mut self, block: (u64, u64), ack: u64, news: &mut News) {
        let length = block.1.saturating_sub(block.0);
        if length == 0 || length > u64::from(self.window_max) {
            return;
        }
        let segments = length.div_ceil(u64::from(self.mss)).max(1);
        if segments == 1 && self.probe_until == Some(block.1) {
            news.duplicate_of_probe = true;
        }
        if self.duplicates + segments > self.total_retransmits {
            return;
        }
        self.duplicates += segments;
        if self.reorder_seen > 0 && !news.duplicate_of_probe {
            self.rack.duplicate = true;
        }
        news.duplicate = true;
        self.delivered += segments;
        let from = self.reduction.undo_from;
        if from.is_some_and(|from| block.1 > from)
            && let Some(left) = &mut self.reduction.undo_left
        {
            *left = left.saturating_sub(segments as u32);
        }
        if block.1 > ack {
            for index in self.queue.from(block.0)..self.queue.len() {
                let Some(record) = self.queue.get(index).filter(|record| record.end <= block.1) else {
                    break;
                };
                if record.resent {
                    self.queue.clear_resent(index);
                }
            }
        }
    }

    /// Something that begins at `from` arrived after what ends at `highest`.
    fn note_reordering(&mut self, from: u64, highest: u64) {
        let segments = (highest - from).div_ceil(u64::from(self.mss)) as u32;
        if segments > self.reordering {
            self.reordering = segments.min(self.config.reordering_max);
        }
        self.reorder_seen += 1;
    }

    /// Ends a tail loss probe.
    fn end_probe(&mut self, ack: u64, news: &News, now: u64) {
        let Some(until) = self.probe_until.filter(|until| ack >= *until) else { return };
        let pure_duplicate = !(news.advanced || news.is_no_duplicate() || news.sacked);
        if !self.probe_resent || news.duplicate_of_probe || (ack == until && pure_duplicate) {
            self.probe_until = None;
        } else if ack > until {
            self.reduce_for_probe(now);
        }
    }

    /// The packet that carries a segment again.
    pub(super) fn packet_of(&self, record: &Record) -> Outgoing {
        let fin = self.fin.is_some_and(|fin| fin < record.end);
        let syn = record.start == 0;
        let mut flags = if syn { bits::SYN } else { bits::ACK };
        flags |= if fin { bits::FIN } else { 0 } | if record.push { bits::PSH } else { 0 };
        let len = (record.end - record.start) as u32 - u32::from(fin) - u32::from(syn);
        Outgoing { start: record.start, len, flags, retransmission: true }
    }

    /// After an acknowledgement, new data.
    pub(super) fn send_more(&mut self, now: u64) {
        self.push_pending(Push::Nagle, now);
    }
}
