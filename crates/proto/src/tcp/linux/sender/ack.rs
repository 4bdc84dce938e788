//! What an acknowledgement does, in the order in which Linux does it.

use super::Sender;
use super::recovery::{News, Repair};
use crate::tcp::linux::cubic::Sample;
use crate::tcp::linux::packet::{Packet, bits};
use crate::tcp::linux::queue::Record;
use crate::tcp::linux::timers::Reason;

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
    pub(in crate::tcp::linux) fn acknowledge(
        &mut self,
        ack: u64,
        packet: &Packet,
        window: u32,
        from: u64,
        blocks: &[(u64, u64)],
        stamp: Option<u32>,
        now: u64,
    ) {
        let before = (self.space.una, self.queue.delivered, self.queue.lost_ever);
        let flight = self.queue.packets();
        let mut news = News { data: packet.len > 0, stamp, ..News::default() };
        let mut times = Times::default();
        let mut oldest_new = u64::MAX;
        if ack < self.space.una {
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
        news.advanced = ack > self.space.una;
        if news.advanced {
            self.timers.retransmits = 0;
        }
        self.update_window(ack, window, from, &mut news, now);
        let highest = if self.queue.sacked > 0 { self.queue.highest } else { self.space.una };
        self.space.una = ack;
        self.timers.answered();
        if !blocks.is_empty() && self.queue.sack {
            self.tag(blocks, ack, &mut news, &mut times, now);
        }
        news.echo = self.congestion.ecn && packet.has(bits::ECE) && !packet.has(bits::SYN);
        if flight == 0 {
            self.take_report(packet, &mut news, before.1);
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
        if self.queue.sack && news.acked && oldest_new < highest {
            self.note_reordering(oldest_new, highest);
        }
        self.rack.update_window(before.0, self.space.nxt);
        self.take_report(packet, &mut news, before.1);
        self.end_probe(ack, &news, now);
        let mut repair = Repair::None;
        if news.is_dubious(self.congestion.state) {
            let duplicate = !(news.advanced || news.is_no_duplicate() || news.duplicate);
            repair = self.alert(&mut news, duplicate, now);
        }
        if news.set_timer && !self.schedule_probe(true, now) {
            self.rearm(now);
        }
        self.deliver(&news, before, now);
        self.repair(repair, now);
    }

    /// Reads the counter of marks, with AccECN. An acknowledgement that brings nothing new may be an older one.
    fn take_report(&mut self, packet: &Packet, news: &mut News, delivered: u64) {
        if let Some(reports) = self.reports.as_mut().filter(|_| news.acked || news.sacked) {
            news.echo |= reports.take(packet.flags, (self.queue.delivered - delivered) as u32) > 0;
        }
    }

    /// Sets the window from what was delivered.
    fn deliver(&mut self, news: &News, before: (u64, u64, u64), now: u64) {
        let delivered = (self.queue.delivered - before.1) as u32;
        let newly_lost = self.queue.lost_ever > before.2;
        if self.congestion.is_bbr() {
            let lost = (self.queue.lost_ever - before.2) as u32;
            return self.follow_bbr(news.rtt, delivered, lost, now);
        }
        if self.congestion.state.reduces() {
            self.reduce(delivered, newly_lost, news.advanced);
        } else if news.acked || (self.rack.reordering > self.config.reordering && news.sacked) {
            self.congestion.grow(delivered, now, self.timers.clock);
        }
        self.update_pacing_rate();
    }

    /// Takes the peer's window. Data that waited for it may be the first after an idle time.
    fn update_window(&mut self, ack: u64, window: u32, from: u64, news: &mut News, now: u64) {
        let before = self.space.window;
        news.window = self.space.update(ack, window, from);
        if self.space.window != before && self.has_unsent() {
            self.slow_start_after_idle(now);
        }
    }

    /// Removes what is acknowledged.
    fn remove_acknowledged(&mut self, news: &mut News, times: &mut Times, oldest_new: &mut u64, now: u64) {
        while let Some(record) = self.queue.take_acknowledged(self.space.una) {
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
            if record.sacked && self.queue.sack {
                self.queue.sacked = self.queue.sacked.saturating_sub(1);
            } else if self.queue.sack {
                self.queue.delivered += 1;
                self.arrived(&record, news.stamp, now);
            }
        }
        if self.queue.is_empty() && !self.has_unsent() {
            self.chronograph.idle(now);
        }
        if times.acked > 0 && !self.queue.sack {
            // One ACK acknowledged the hole, the others were duplicates.
            self.queue.delivered += u64::from(times.acked.saturating_sub(self.queue.sacked).max(1));
            self.queue.sacked = self.queue.sacked.saturating_sub(times.acked - 1);
            self.limit_duplicates(times.acked);
            news.original &= !news.acked_resent;
        }
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
            let lone = times.acked == 1 && flight == 1 && times.last_len < u64::from(self.space.mss);
            news.rtt = Some((rtt, lone && sacked.is_none()));
            self.rtt.sample_minimum(rtt, now, lone && sacked.is_none());
        }
        if let Some(rtt) = sample {
            self.rtt.sample(rtt, self.space.una, self.space.nxt);
            self.timers.backoff = 0;
            if !news.acked
                && let Some((sacked, head)) = sacked.zip(self.queue.head())
                && sacked > now - head.sent
            {
                news.set_timer = true;
            }
        }
        if let Some(rtt) = newest {
            let sample = Sample {
                now,
                rtt,
                una: self.space.una,
                nxt: self.space.nxt,
                window: self.congestion.cwnd,
                slow_start: self.congestion.in_slow_start(),
                rate: self.pacing.rate,
                paced: self.config.paced,
                detect: self.config.hystart,
            };
            self.congestion.sample(&sample, self.timers.clock);
        }
    }

    /// Gives the detector of lost acknowledgements one whose segments have left the queue, and halves the window if it says so.
    fn watch_acknowledgement(&mut self, news: &News, now: u64) {
        let newest = news.rtt.map(|(rtt, _)| now - rtt);
        if let Some(watch) = &mut self.ackloss
            && watch.acknowledged(&self.space, &self.queue, news.stamp, newest)
        {
            self.congestion.halve();
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
        let highest = self.queue.highest.max(self.space.una);
        let mut oldest = u64::MAX;
        let mut sorted: Vec<(u64, u64)> = blocks.iter().copied().skip(usize::from(duplicate)).collect();
        sorted.sort_unstable();
        for (start, end) in sorted {
            let valid = start < end && end <= self.space.nxt && start >= self.space.una.max(1);
            if !valid {
                continue;
            }
            for index in self.queue.from(start)..self.queue.len() {
                let Some(record) = self.queue.get(index).filter(|record| record.end <= end) else { break };
                if record.sacked {
                    continue;
                }
                if !record.ever {
                    if record.start < highest && highest > self.space.una {
                        oldest = oldest.min(record.start);
                    }
                    news.original |= record.end <= self.reduction.until;
                    times.first_sacked = times.first_sacked.or(Some(record.sent));
                    times.last_sacked = Some(record.sent);
                }
                self.queue.mark_sacked(index);
                self.arrived(&record, news.stamp, now);
                news.sacked = true;
            }
        }
        if oldest < self.queue.highest {
            self.note_reordering(oldest, self.queue.highest);
        }
    }

    /// RACK and the delivery rate learn of a segment that has arrived. Which transmission of it did can be known by the time stamp.
    fn arrived(&mut self, record: &Record, stamp: Option<u32>, now: u64) {
        self.rate.deliver(record.sent, record.end, record.snapshot);
        if !record.precedes(stamp) {
            self.rack.advance(record, self.rtt.minimum(), now);
        }
    }

    /// The peer has received data twice.
    fn note_duplicate(&mut self, block: (u64, u64), ack: u64, news: &mut News) {
        let length = block.1.saturating_sub(block.0);
        if length == 0 || length > u64::from(self.space.window_max) {
            return;
        }
        let segments = length.div_ceil(u64::from(self.space.mss)).max(1);
        if segments == 1 && self.timers.tail_probe.is_some_and(|probe| probe.until == block.1) {
            news.duplicate_of_probe = true;
        }
        if self.queue.duplicates + segments > self.queue.retransmitted {
            return;
        }
        self.queue.duplicates += segments;
        if !news.duplicate_of_probe {
            self.rack.note_duplicate();
        }
        news.duplicate = true;
        self.queue.delivered += segments;
        self.reduction.note_duplicate(block.1, segments as u32);
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
        let segments = (highest - from).div_ceil(u64::from(self.space.mss)) as u32;
        self.rack.note_reordering(segments, self.config.reordering_max);
    }

    /// Ends a tail loss probe.
    fn end_probe(&mut self, ack: u64, news: &News, now: u64) {
        let Some(probe) = self.timers.tail_probe.filter(|probe| ack >= probe.until) else { return };
        let pure_duplicate = !(news.advanced || news.is_no_duplicate() || news.sacked);
        if !probe.resent || news.duplicate_of_probe || (ack == probe.until && pure_duplicate) {
            self.timers.tail_probe = None;
        } else if ack > probe.until {
            self.reduce_for_probe(now);
        }
    }

    /// An acknowledgement came while nothing was outstanding: a closed window is probed further, or it is open.
    fn check_probing(&mut self, now: u64) {
        if !self.has_unsent() {
            return;
        }
        let len = u64::from(self.space.current_mss()).min(self.writes.end - self.space.nxt);
        if self.space.nxt + len > self.space.edge() {
            self.set_window_probe(now);
            return;
        }
        self.timers.backoff = 0;
        if self.timers.runs_for(Reason::WindowProbe) {
            self.timers.timer = None;
        }
    }
}
