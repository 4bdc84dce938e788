//! The receive half: what has arrived, when it is acknowledged, and which window is offered.

use airwatt_base::Seq;

use super::config::LinuxConfig;
use super::packet::{Blocks, bits};
use crate::reliability::ByteRange;

/// The shortest delay of an acknowledgement in microseconds (`TCP_ATO_MIN`), and the longest.
const DELAY: (u64, u64) = (40_000, 200_000);
/// Acknowledgements at once when data begins to flow, and where the peer's window may have become small.
const QUICK_MAX: u32 = 16;
const QUICK_FOR_MARK: u32 = 2;
/// Duplicate acknowledgements that are sent at once.
const DUPLICATES_AT_ONCE: u32 = 3;
/// Acknowledgements held back at most while data is missing.
const HELD_MAX: u32 = 44;
/// Ranges beyond gaps of which the news can be held back: a third one still fits beside time stamps.
const RANGES_HELD: usize = 2;
/// Ranges beyond gaps that are kept.
const RANGES_MAX: usize = 2048;

/// Which acknowledgement is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    Now,
    /// At this time.
    At(u64),
}

/// The receive half. Positions count from the peer's initial sequence number.
#[derive(Clone, Debug, Default)]
pub(super) struct Receiver {
    pub(super) initial: Seq,
    /// Next position expected, and the one that was acknowledged last.
    pub(super) next: u64,
    pub(super) acknowledged: u64,
    /// Next position that the application reads.
    pub(super) copied: u64,
    /// Position of the peer's FIN.
    pub(super) fin: Option<u64>,
    ranges: Vec<ByteRange>,
    /// Starts of the ranges that were touched last, the latest first, and the last repetition.
    recent: Vec<u64>,
    repeated: Option<(u64, u64)>,
    buffer: u64,
    buffer_max: u64,
    /// Bound of the offered window, which grows with what arrives, up to `clamp`: what the buffer has room for, less a segment until the
    /// buffer grows.
    threshold: u64,
    clamp: u64,
    window: u64,
    /// Position up to which a power-save policy lets the peer send; no field offers more.
    granted: Option<u64>,
    pub(super) scale: u8,
    pub(super) advertised_mss: u32,
    segment: u32,
    /// The state of delayed acknowledgements: the delay, quick ones left, whether requests and replies alternate.
    delay: u64,
    quick: u32,
    ping_pong: bool,
    last_data: Option<u64>,
    pub(super) pending: bool,
    /// Segments with PSH or shorter than others since the last acknowledgement, of which two count.
    pushed: u32,
    pub(super) timer: Option<u64>,
    duplicates: u32,
    duplicates_at: u64,
    held: u32,
    /// Whether what arrived last lies in a range that is not among the latest: an acknowledgement that is held back would not
    /// report all that is new.
    spreads: bool,
    pub(super) dsack: bool,
    tuning: Tuning,
}

/// What the receive buffer's size follows: the data that the application takes in a round trip.
#[derive(Clone, Copy, Debug, Default)]
struct Tuning {
    /// Eight times the smoothed round-trip time by time stamps, in microseconds; zero before a sample.
    rtt8: u64,
    /// The last time stamp that came back.
    echo: u32,
    /// When the round began, what had been read then, and the most that was read in one.
    since: u64,
    read: u64,
    most: u64,
}

impl Receiver {
    pub(super) fn new(config: &LinuxConfig) -> Self {
        let half = config.receive_buffer.0 / 2;
        let mss = u64::from(config.mss);
        let window = (half / mss * mss).max(mss);
        let most = config.receive_buffer.1.max(config.receive_buffer.0).max(1 << 15);
        Self {
            copied: 1,
            buffer: config.receive_buffer.0,
            buffer_max: config.receive_buffer.1,
            threshold: window,
            clamp: window,
            window,
            scale: (most.ilog2().saturating_sub(15)).min(14) as u8,
            advertised_mss: config.mss,
            segment: 536,
            dsack: config.dsack,
            tuning: Tuning { read: 1, most: window.min(10 * mss), ..Tuning::default() },
            ..Self::default()
        }
    }

    /// The peer's SYN has arrived.
    pub(super) fn synchronize(&mut self, initial: Seq) {
        self.initial = initial;
        (self.next, self.acknowledged) = (1, 1);
    }

    /// The handshake has settled how long a segment is, of which one is held in reserve (`tcp_init_buffer_space`).
    pub(super) fn begin(&mut self, advertised_mss: u32) {
        self.advertised_mss = advertised_mss;
        let (whole, segment) = (self.buffer / 2, u64::from(advertised_mss));
        let reserves = whole > 2 * segment;
        self.clamp = if reserves { (whole - segment).max(2 * segment) } else { whole };
        self.threshold = self.threshold.min(self.clamp);
    }

    /// Requests and replies alternate: acknowledgements wait for data.
    pub(super) fn sent_data(&mut self, now: u64) {
        if self.last_data.is_some_and(|last| now - last < self.delay) {
            self.ping_pong = true;
        }
    }

    /// The position of a sequence number near the next expected one.
    pub(super) fn position(&self, seq: Seq) -> i64 {
        let near = self.initial + self.next as u32;
        self.next as i64 + i64::from(near.distance_to(seq) as i32)
    }

    pub(super) fn sequence(&self, position: u64) -> Seq {
        self.initial + position as u32
    }

    /// The right edge of the offered window.
    pub(super) fn edge(&self) -> u64 {
        self.acknowledged + self.window
    }

    /// Bytes in order that were not read.
    pub(super) fn readable(&self) -> u64 {
        let end = self.fin.filter(|fin| *fin < self.next).unwrap_or(self.next);
        end.saturating_sub(self.copied)
    }

    /// Whether there is data beyond a gap.
    pub(super) fn has_gap(&self) -> bool {
        !self.ranges.is_empty()
    }

    /// Takes data in the window, with the retransmission timeout of this end. Returns the bytes that became in order.
    pub(super) fn receive(&mut self, start: i64, len: u32, fin: bool, rto: u64, now: u64) -> u64 {
        let end = start + i64::from(len);
        let before = self.next;
        if fin {
            self.fin = Some(end.max(0) as u64);
        }
        let from = start.max(before as i64) as u64;
        let until = (end.max(from as i64) as u64).min(self.edge());
        if start < before as i64 && len > 0 && self.dsack {
            self.repeated = Some((start.max(1) as u64, (end as u64).min(before)));
        }
        if len > 0 {
            self.note_data(len, rto, now);
        }
        if until > from {
            if self.dsack
                && let Some(known) =
                    self.ranges.iter().find(|range| range.start <= from && until <= range.end)
            {
                self.repeated = Some((from.max(known.start), until));
            }
            self.insert(ByteRange { start: from, end: until });
        }
        if self.fin == Some(self.next) {
            self.next += 1;
        }
        self.next - before
    }

    fn insert(&mut self, range: ByteRange) {
        if range.start > self.next {
            if self.ranges.len() >= RANGES_MAX {
                return;
            }
            self.recent.retain(|start| !(range.start..=range.end).contains(start));
        }
        let first = self.ranges.partition_point(|other| other.end < range.start);
        let behind = self.ranges.partition_point(|other| other.start <= range.end);
        let mut merged = range;
        if let (Some(low), Some(high)) = (self.ranges.get(first), self.ranges.get(behind.wrapping_sub(1)))
            && first < behind
        {
            merged = ByteRange { start: range.start.min(low.start), end: range.end.max(high.end) };
        }
        self.ranges.splice(first..behind, [merged]);
        let place = self.recent.iter().position(|start| (merged.start..merged.end).contains(start));
        self.spreads = place.unwrap_or(self.recent.len()) >= RANGES_HELD;
        self.recent.retain(|start| !(merged.start..merged.end).contains(start));
        self.recent.insert(0, merged.start);
        self.recent.truncate(8);
        if self.ranges[0].start <= self.next {
            let head = self.ranges.remove(0);
            self.next = self.next.max(head.end);
            self.recent.retain(|start| *start > self.next);
        }
    }

    /// The blocks of an acknowledgement: a repetition, then the ranges beyond gaps, the latest first.
    pub(super) fn blocks(&mut self, most: usize) -> Blocks {
        let mut blocks = Blocks::default();
        if let Some((start, end)) = self.repeated.take() {
            blocks.push(self.sequence(start), self.sequence(end));
        }
        for start in &self.recent {
            if let Some(range) = self.ranges.iter().find(|range| (range.start..range.end).contains(start)) {
                blocks.push(self.sequence(range.start), self.sequence(range.end));
            }
        }
        blocks.truncate(most);
        blocks
    }

    fn note_data(&mut self, len: u32, rto: u64, now: u64) {
        self.pending = true;
        self.segment = self.segment.max(len.min(self.advertised_mss));
        match self.last_data {
            None => {
                self.begin_quick();
                self.delay = DELAY.0;
            }
            Some(last) => {
                let gap = now - last;
                if gap <= DELAY.0 / 2 {
                    self.delay = self.delay / 2 + DELAY.0 / 2;
                } else if gap < self.delay {
                    self.delay = (self.delay / 2 + gap).min(rto);
                } else if gap > rto {
                    self.begin_quick();
                }
            }
        }
        self.last_data = Some(now);
        if len >= 128 && self.threshold < self.clamp {
            self.threshold = (self.threshold + 2 * u64::from(self.advertised_mss.max(len))).min(self.clamp);
            self.quick |= u32::from(self.quick > 0);
        }
    }

    /// Notes that a segment has PSH or is shorter than others, so that no more may follow for now.
    pub(super) fn note_push(&mut self) {
        self.pushed += 1;
    }

    /// Acknowledges the next segments at once.
    pub(super) fn begin_quick(&mut self) {
        self.quicken(QUICK_MAX);
    }

    fn quicken(&mut self, most: u32) {
        let segments = (self.window / u64::from(2 * self.segment)) as u32;
        self.quick = self.quick.max(segments.clamp(2, most));
    }

    /// Something is out of order or repeated: acknowledgements come at once.
    pub(super) fn hasten(&mut self) {
        self.hasten_for(QUICK_MAX);
    }

    /// Congestion was met: the peer's window may be so small that it waits for the next acknowledgements.
    pub(super) fn hasten_for_mark(&mut self) {
        self.hasten_for(QUICK_FOR_MARK);
    }

    fn hasten_for(&mut self, most: u32) {
        self.quicken(most);
        self.ping_pong = false;
        self.delay = DELAY.0;
    }

    /// Decides when to acknowledge what has arrived. `gap_filled` demands it at once.
    pub(super) fn decide(&mut self, gap_filled: bool, now: u64, srtt: Option<u64>) -> Due {
        let unacknowledged = self.next - self.acknowledged;
        let whole = self.free_window() >= self.window.saturating_sub(unacknowledged) + unacknowledged;
        let full = unacknowledged > u64::from(self.segment) && (self.readable() == 0 || whole);
        if full || (self.quick > 0 && !self.ping_pong) || gap_filled {
            return Due::Now;
        }
        if self.has_gap() {
            if self.duplicates_at != self.next {
                (self.duplicates_at, self.duplicates) = (self.next, 0);
            }
            let at_once = self.duplicates < DUPLICATES_AT_ONCE || (self.held > 0 && self.spreads);
            if at_once || self.held >= HELD_MAX {
                self.duplicates += 1;
                return Due::Now;
            }
            self.held += 1;
            let wait = srtt.map_or(0, |srtt| (srtt / 20).min(1000));
            return if wait == 0 { Due::Now } else { Due::At(now + wait) };
        }
        let bound = srtt.map_or(DELAY.1, |srtt| srtt.max(DELAY.0)).min(DELAY.1 - 1000);
        let wait = self.delay.max(DELAY.0).min(bound);
        match self.timer {
            Some(at) if at <= now + wait / 4 => Due::Now,
            Some(at) => Due::At(at.min(now + wait)),
            None => Due::At(now + wait),
        }
    }

    /// The delayed acknowledgement's timer has expired. The delay grows up to the retransmission timeout of this end.
    pub(super) fn expire(&mut self, rto: u64) -> bool {
        self.timer = None;
        if self.held > 0 {
            return true;
        }
        if !self.pending {
            return false;
        }
        if self.ping_pong {
            self.ping_pong = false;
            self.delay = DELAY.0;
        } else {
            self.delay = (2 * self.delay).min(rto);
        }
        true
    }

    /// The application reads. Returns whether that has to be acknowledged at once: also if the window that is left has become twice as
    /// large, or open again (`__tcp_cleanup_rbuf`).
    pub(super) fn read(&mut self, bytes: u64) -> bool {
        self.copied += bytes.min(self.readable());
        let unacknowledged = self.next - self.acknowledged;
        let full = unacknowledged > u64::from(self.segment);
        let ends = self.pushed > u32::from(self.ping_pong) && self.readable() == 0 && bytes > 0;
        let (left, free) = (self.edge().saturating_sub(self.next), self.free_window());
        let doubles = bytes > 0 && 2 * left <= self.buffer / 2 && free > 0 && free >= 2 * left;
        (self.pending && (full || ends)) || doubles
    }

    /// Measures the round-trip time, as the receiver of data sees it, by the time stamp that a full segment returns.
    pub(super) fn measure(&mut self, echo: u32, len: u32, now: u64) {
        if echo == self.tuning.echo || len < self.segment {
            return;
        }
        self.tuning.echo = echo;
        let clock = (now / 1000) as u32;
        let rtt = 1000 * u64::from(clock.wrapping_sub(echo).max(1));
        let rtt8 = self.tuning.rtt8;
        self.tuning.rtt8 = if rtt8 == 0 { 8 * rtt } else { rtt8 + rtt - rtt8 / 8 };
    }

    /// Once in a round trip: makes the buffer large enough for a window of twice what was read in it, and as much again
    /// as that grows (dynamic right-sizing).
    pub(super) fn adjust(&mut self, now: u64) {
        let Tuning { rtt8, since, read, most, .. } = self.tuning;
        if rtt8 == 0 || now - since < rtt8 / 8 {
            return;
        }
        let copied = self.copied - read;
        if copied > most {
            let target = 2 * copied;
            let window = target + 2 * target * (copied - most) / most;
            let buffer = (2 * window).min(self.buffer_max);
            if buffer > self.buffer {
                (self.buffer, self.clamp) = (buffer, buffer / 2);
            }
            self.tuning.most = copied;
        }
        (self.tuning.since, self.tuning.read) = (now, self.copied);
    }

    /// Limits the window in the fields of packets to `bytes` beyond the data in order; `None` removes the limit. What is in flight is
    /// accepted all the same. Returns whether the window moves by a segment, which is then to be announced.
    pub(super) fn grant(&mut self, bytes: Option<u64>) -> bool {
        let offered =
            |granted: Option<u64>| self.edge().min(granted.unwrap_or(u64::MAX)).saturating_sub(self.next);
        let granted = bytes.map(|bytes| self.next + bytes);
        let moves = offered(self.granted).abs_diff(offered(granted)) >= u64::from(self.segment);
        self.granted = granted;
        moves
    }

    /// The window that the buffer has room for (`__tcp_select_window`). Where less than half of it is free, no window that is smaller than
    /// a segment or a sixteenth of the whole is offered; the bound that grows with what arrives comes after that, since it says nothing
    /// of room.
    fn free_window(&self) -> u64 {
        let whole = self.buffer / 2;
        let free = whole.saturating_sub(self.next.saturating_sub(self.copied));
        if free < whole / 2 && (free < whole / 16 || free < u64::from(self.segment)) {
            return 0;
        }
        free.min(self.threshold)
    }

    /// A window without a scale is of whole segments, unless the last one is less than a segment below what is free.
    fn whole_segments(&self, free: u64) -> u64 {
        let segment = u64::from(self.segment);
        if (free.saturating_sub(segment) + 1..=free).contains(&self.window) {
            self.window
        } else {
            free / segment * segment
        }
    }

    /// The window to offer now, which never shrinks, as its field and with the acknowledgement recorded as sent.
    pub(super) fn offer(&mut self, scale: u8, flags: u16) -> u16 {
        if flags & bits::SYN != 0 {
            return self.window.min(0xffff) as u16;
        }
        let left = self.edge().saturating_sub(self.next);
        let unit = 1_u64 << scale;
        let free = self.free_window();
        let window = if scale == 0 { self.whole_segments(free) } else { free.div_ceil(unit) * unit };
        let window = if window < left { left.div_ceil(unit) * unit } else { window };
        self.window = window.min(0xffff << scale);
        self.acknowledged = self.next;
        if self.pending && self.quick > 0 {
            self.quick -= 1;
            if self.quick == 0 {
                self.delay = DELAY.0;
            }
        }
        (self.pending, self.pushed, self.timer, self.held) = (false, 0, None, 0);
        let granted = self.granted.map_or(u64::MAX, |granted| granted.saturating_sub(self.next));
        (self.window.min(granted) >> scale) as u16
    }

    /// Sets the receive buffer, as a user does: it is doubled, and no longer grows.
    pub(super) fn set_buffer(&mut self, bytes: u64) {
        self.buffer = (2 * bytes).max(2304);
        self.buffer_max = self.buffer;
        let mss = u64::from(self.advertised_mss);
        self.window = (self.buffer / 2 / mss * mss).max(mss);
        (self.threshold, self.clamp) = (self.window, self.window);
        self.scale = self.scale.min(14);
    }

    /// The largest segment that has come, and since when none has.
    pub(super) fn seen(&self) -> (u32, Option<u64>) {
        (self.segment, self.last_data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A gap that is filled delivers a whole window at once, for which the buffer grows by more than the bound of the window does. The
    /// buffer is empty then, and the window stays open.
    #[test]
    fn a_buffer_that_grows_closes_no_window() {
        let config = LinuxConfig::default();
        let mut receiver = Receiver::new(&config);
        receiver.synchronize(Seq::new(0));
        receiver.tuning.rtt8 = 8;
        let (mut next, mut now) = (1, 1_000);
        for round in 0..40 {
            // The first segment of the window comes last.
            let window = receiver.edge() as i64 - next;
            let segments = window / 1448;
            assert!(segments > 0, "the window is closed in round {round}: {receiver:?}");
            for segment in (0..segments).rev() {
                receiver.receive(next + 1448 * segment, 1448, false, 200_000, now);
            }
            receiver.read(1448 * segments as u64);
            now += 1_000;
            receiver.adjust(now);
            receiver.offer(7, bits::ACK);
            next += 1448 * segments;
        }
        assert!(receiver.buffer > config.receive_buffer.0);
    }

    /// Twice what was read in a round trip, 400 kB, and twice that again as it has doubled: a window of 1.2 MB, in a buffer of twice as much.
    #[test]
    fn the_buffer_follows_what_is_read_and_how_it_grows() {
        let mut receiver = Receiver::new(&LinuxConfig::default());
        receiver.copied = 200_000;
        receiver.tuning = Tuning { rtt8: 8, read: 0, most: 100_000, ..receiver.tuning };
        receiver.adjust(1_000);
        assert_eq!((receiver.buffer, receiver.clamp), (2_400_000, 1_200_000));
    }

    /// Room that reading makes in a window that was closed is announced at once.
    #[test]
    fn reading_opens_a_closed_window() {
        let mut receiver = Receiver::new(&LinuxConfig::default());
        receiver.synchronize(Seq::new(0));
        let mut next = 1;
        while receiver.edge() as i64 - next >= 1448 {
            receiver.receive(next, 1448, false, 200_000, 0);
            receiver.offer(7, bits::ACK);
            next += 1448;
        }
        assert!(!receiver.read(1), "a byte is no window");
        assert!(receiver.read(60_000));
    }

    /// A window without a scale stays one of whole segments, and one with a scale is all that is free.
    #[test]
    fn a_window_without_a_scale_is_of_whole_segments() {
        let config = LinuxConfig { receive_buffer: (62_896, 62_896), ..LinuxConfig::default() };
        for (scale, expected) in [(0, 21 * 1400), (3, 30_000)] {
            let mut receiver = Receiver::new(&config);
            receiver.synchronize(Seq::new(0));
            receiver.begin(1448);
            for segment in 0..40 {
                receiver.receive(1 + 1400 * segment, 1400, false, 200_000, 0);
                receiver.read(1400);
                receiver.offer(scale, bits::ACK);
            }
            let offered = u64::from(receiver.offer(scale, bits::ACK)) << scale;
            assert_eq!(offered, expected, "scale {scale}");
        }
    }

    /// What is new in three ranges fits into one acknowledgement, so that the one held back leaves before a fourth.
    #[test]
    fn no_news_is_lost_while_acknowledgements_are_held_back() {
        let mut receiver = Receiver::new(&LinuxConfig::default());
        receiver.synchronize(Seq::new(0));
        let mut reported = Vec::new();
        let mut now = 0;
        // Every second segment of 60 is missing. The first acknowledgements are quick; then the round trip of 100 ms holds them
        // back for 1 ms.
        for segment in (1..60).step_by(2) {
            now += 10;
            receiver.receive(1 + 1000 * segment, 1000, false, 200_000, now);
            if receiver.decide(false, now, Some(100_000)) == Due::Now {
                reported.extend(receiver.blocks(3).iter().map(|(start, _)| Seq::new(0).distance_to(start)));
                receiver.offer(7, bits::ACK);
            }
        }
        reported.extend(receiver.blocks(3).iter().map(|(start, _)| Seq::new(0).distance_to(start)));
        for segment in (1..60).step_by(2) {
            let start = 1 + 1000 * segment as u32;
            assert!(reported.contains(&start), "the range at {start} was not reported: {reported:?}");
        }
    }
}
