//! A Snoop agent: a base station that keeps copies of the data on their way to a mobile and retransmits what the last hop loses,
//! so that the sender does not take it for congestion.
//!
//! Source: H. Balakrishnan, S. Seshan, E. Amir, R. Katz, "Improving TCP/IP performance over wireless networks", MobiCom 1995,
//! section 3. The connection stays whole: no byte is acknowledged but by the mobile. Rules for a segment with data from the wired
//! host:
//! 1. New data in sequence: kept, and forwarded.
//! 2. Not in sequence and kept: if the mobile has acknowledged it, its acknowledgement was lost, and is sent again by the agent;
//!    otherwise it was probably lost, and is forwarded.
//! 3. Not in sequence and not kept: it was lost, or overtaken, on the wired path. It is kept with a mark and forwarded: the sender
//!    has to know of its loss, so that duplicate acknowledgements that ask for it pass.
//!
//! Rules for an acknowledgement from the mobile:
//! 1. New: what it acknowledges is forgotten, the round-trip time of the last hop measured, and it is forwarded.
//! 2. Older than the last: dropped.
//! 3. A duplicate for data that are not kept, or that the sender has retransmitted: forwarded.
//! 4. The first duplicate for kept data: these are retransmitted before anything else, and as many duplicates are expected as
//!    segments were sent after them. It is dropped.
//! 5. An expected duplicate: dropped.
//!
//! The lowest kept segment is retransmitted as well if twice the smoothed round-trip time of the last hop passes without a new
//! acknowledgement, or 200 ms without a packet from either side.
//!
//! Decisions that the publication leaves open: the smoothed round-trip time has TCP's gain of 1/8; a timeout without answer
//! doubles the next, up to 3.2 s (without that, a hop that is away for seconds is filled with copies); a duplicate beyond the
//! expected ones means that the retransmission was lost, and begins rule 4 anew; a segment that finds the memory full is
//! forwarded and not kept.
//!
//! Left out: data from the mobile, for which the publication changes the mobile's TCP; a priority of the agent's retransmissions
//! over packets that wait already, which the queue before the hop would have to offer; handoff.

use std::collections::VecDeque;

use airwatt_base::{Instant, Machine, Seq, Span, Timeout, TimerTable, timer_kinds, with_defaults};

use crate::tcp::{Flags, Segment};

timer_kinds! {
    /// The timers of an agent.
    pub enum SnoopTimer {
        /// When to repeat a retransmission that was not acknowledged.
        RoundTrip = "round-trip",
        /// When to retransmit because nothing has happened.
        Persist = "persist",
    }
}

with_defaults! {
    /// Settings of an agent.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct SnoopConfig {
        /// Payload that is kept at most, in bytes.
        pub memory: u64 = 262_144,
        /// Silence of both sides after which the lowest kept segment is retransmitted.
        pub persist: Span = Span::from_millis(200),
        /// The longest interval between repetitions without an answer.
        pub longest: Span = Span::from_millis(3_200),
    }
}

/// An input of an agent, with the payload of the segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnoopInput<P> {
    /// A segment of the wired host has arrived.
    FromWired(Segment, P),
    /// A segment of the mobile has arrived.
    FromWireless(Segment, P),
}

/// An output of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnoopOutput<P> {
    /// A segment to the wired host.
    ToWired(Segment, P),
    /// A segment to the mobile. `copy` says whether the agent sends it of its own accord.
    ToWireless {
        /// The segment.
        segment: Segment,
        /// Its payload.
        payload: P,
        /// Whether it is a retransmission by the agent.
        copy: bool,
    },
}

/// What an agent has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SnoopStatistics {
    /// Segments retransmitted to the mobile.
    pub retransmitted: u64,
}

/// A kept segment.
#[derive(Clone, Debug)]
struct Kept<P> {
    segment: Segment,
    payload: P,
    sent: Instant,
    /// Whether it was lost before it came here, or sent again by the wired host.
    by_sender: bool,
    /// Retransmissions by the agent.
    copies: u32,
}

impl<P> Kept<P> {
    fn end(&self) -> Seq {
        self.segment.seq + u32::from(self.segment.len)
    }
}

/// An agent for one connection.
#[derive(Clone, Debug)]
pub struct Snoop<P = ()> {
    config: SnoopConfig,
    /// In order of sequence number.
    kept: VecDeque<Kept<P>>,
    pub(super) bytes: u64,
    /// The sequence number after the highest that came from the wired host; `None` before the first data.
    next: Option<Seq>,
    /// The last acknowledgement of the mobile, and its payload.
    last_ack: Option<(Segment, P)>,
    /// Duplicates of it that the retransmission explains.
    expected: u32,
    smoothed: Option<Span>,
    /// Timeouts since the last new acknowledgement.
    timeouts: u32,
    timers: TimerTable<SnoopTimer, 2>,
    statistics: SnoopStatistics,
    outputs: VecDeque<SnoopOutput<P>>,
}

impl<P: Clone> Snoop<P> {
    /// An agent that has seen nothing.
    pub fn new(config: SnoopConfig) -> Self {
        Self {
            config,
            kept: VecDeque::new(),
            bytes: 0,
            next: None,
            last_ack: None,
            expected: 0,
            smoothed: None,
            timeouts: 0,
            timers: TimerTable::new(),
            statistics: SnoopStatistics::default(),
            outputs: VecDeque::new(),
        }
    }

    /// The counters.
    pub fn statistics(&self) -> &SnoopStatistics {
        &self.statistics
    }

    fn forward(&mut self, segment: Segment, payload: P) {
        self.outputs.push_back(SnoopOutput::ToWireless { segment, payload, copy: false });
    }

    fn on_data(&mut self, segment: Segment, payload: P, now: Instant) {
        let end = segment.seq + u32::from(segment.len);
        let in_sequence = self.next.is_none_or(|next| segment.seq.at_or_after(next));
        let acknowledged = self.last_ack.as_ref().filter(|(last, _)| end.at_or_before(last.ack));
        if let (false, Some((last, payload))) = (in_sequence, acknowledged) {
            return self.outputs.push_back(SnoopOutput::ToWired(*last, payload.clone()));
        }
        match self.kept.iter_mut().find(|kept| kept.segment.seq == segment.seq && kept.end() == end) {
            Some(kept) => {
                kept.by_sender = true;
                kept.sent = now;
            }
            None => self.keep(segment, payload.clone(), !in_sequence, now),
        }
        self.next = Some(self.next.map_or(end, |next| next.later(end)));
        self.forward(segment, payload);
    }

    fn keep(&mut self, segment: Segment, payload: P, by_sender: bool, now: Instant) {
        if self.bytes + u64::from(segment.len) > self.config.memory {
            return;
        }
        self.bytes += u64::from(segment.len);
        let at = self.kept.partition_point(|kept| kept.segment.seq.before(segment.seq));
        self.kept.insert(at, Kept { segment, payload, sent: now, by_sender, copies: 0 });
    }

    /// Processes a segment of the mobile.
    fn on_ack(&mut self, segment: Segment, payload: P, now: Instant) {
        let last = self.last_ack.as_ref().map(|(last, _)| last.ack);
        if last.is_none_or(|last| segment.ack.after(last)) {
            self.on_new_ack(segment.ack, now);
            self.last_ack = Some((segment, payload.clone()));
            return self.outputs.push_back(SnoopOutput::ToWired(segment, payload));
        }
        let pure = segment.is_pure_ack();
        if pure && last.is_some_and(|last| segment.ack.before(last)) {
            return;
        }
        let repeats = self.last_ack.as_ref().is_some_and(|(last, _)| last.window == segment.window);
        let drop =
            pure && repeats && self.next.is_some_and(|next| next != segment.ack) && self.on_duplicate(now);
        if !drop {
            // A change of the window is news, and so are data.
            if last.is_none_or(|last| segment.ack.at_or_after(last)) {
                self.last_ack = Some((segment, payload.clone()));
            }
            self.outputs.push_back(SnoopOutput::ToWired(segment, payload));
        }
    }

    fn on_new_ack(&mut self, ack: Seq, now: Instant) {
        let mut sample = None;
        while let Some(kept) = self.kept.front().filter(|kept| kept.end().at_or_before(ack)) {
            sample = (kept.copies == 0 && !kept.by_sender).then_some(now - kept.sent);
            self.bytes -= u64::from(kept.segment.len);
            self.kept.pop_front();
        }
        if let Some(sample) = sample {
            self.smoothed =
                Some(self.smoothed.map_or(sample, |smoothed| smoothed - smoothed / 8 + sample / 8));
        }
        self.expected = 0;
        self.timeouts = 0;
        self.wait_for_round_trip(now);
    }

    /// Sets the timer of the lowest kept segment.
    fn wait_for_round_trip(&mut self, now: Instant) {
        let Some(smoothed) = self.smoothed.filter(|_| !self.kept.is_empty()) else { return };
        self.timers.set(SnoopTimer::RoundTrip, now.saturating_add(self.backed_off(smoothed * 2)));
    }

    /// An interval, doubled for each timeout without an answer.
    fn backed_off(&self, interval: Span) -> Span {
        (interval.min(self.config.longest) * (1 << self.timeouts.min(16))).min(self.config.longest)
    }

    /// Sets the timer for the silence of both sides.
    fn wait_for_packets(&mut self, now: Instant) {
        self.timers.set(SnoopTimer::Persist, now.saturating_add(self.backed_off(self.config.persist)));
    }

    /// A duplicate acknowledgement: retransmits what it asks for if that is kept. Returns whether the wired host need not know.
    fn on_duplicate(&mut self, now: Instant) -> bool {
        let Some(asked) = self.last_ack.as_ref().map(|(last, _)| last.ack) else { return false };
        let Some(first) = self.kept.front().filter(|kept| kept.segment.seq == asked) else { return false };
        if first.by_sender {
            return false;
        }
        if self.expected > 0 {
            self.expected -= 1;
            return true;
        }
        // The segments after the missing one are each answered by a duplicate, of which this is one.
        self.expected = (self.kept.len() as u32).saturating_sub(2);
        self.retransmit(now);
        true
    }

    /// Retransmits the lowest kept segment.
    fn retransmit(&mut self, now: Instant) {
        let Some(first) = self.kept.front_mut() else { return };
        first.copies += 1;
        first.sent = now;
        let (segment, payload) = (first.segment, first.payload.clone());
        self.statistics.retransmitted += 1;
        self.outputs.push_back(SnoopOutput::ToWireless { segment, payload, copy: true });
        self.wait_for_round_trip(now);
    }

    fn on_segment(&mut self, segment: Segment, payload: P, wired: bool, now: Instant) {
        let ends = segment.flags.has(Flags::RST) || segment.flags.has(Flags::SYN);
        if ends {
            // A connection begins, or is over: what was seen of it says nothing any more.
            *self = Self { outputs: std::mem::take(&mut self.outputs), ..Self::new(self.config) };
        }
        match (wired, segment.len > 0) {
            (true, true) if !ends => self.on_data(segment, payload, now),
            (true, _) => self.forward(segment, payload),
            (false, _) if !ends && segment.flags.has(Flags::ACK) => self.on_ack(segment, payload, now),
            (false, _) => self.outputs.push_back(SnoopOutput::ToWired(segment, payload)),
        }
        if self.kept.is_empty() {
            return self.timers = TimerTable::new();
        }
        self.wait_for_packets(now);
        if !self.timers.is_running(SnoopTimer::RoundTrip) {
            self.wait_for_round_trip(now);
        }
    }
}

impl<P: Clone> Machine for Snoop<P> {
    type Input = SnoopInput<P>;
    type Output = SnoopOutput<P>;
    type Reason = SnoopTimer;

    fn handle_input(&mut self, input: Self::Input, now: Instant) {
        match input {
            SnoopInput::FromWired(segment, payload) => self.on_segment(segment, payload, true, now),
            SnoopInput::FromWireless(segment, payload) => self.on_segment(segment, payload, false, now),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.timers.expire(now).is_none() {
            return;
        }
        while self.timers.expire(now).is_some() {}
        self.timeouts += 1;
        self.expected = 0;
        self.retransmit(now);
        self.wait_for_packets(now);
    }

    fn poll_output(&mut self) -> Option<Self::Output> {
        self.outputs.pop_front()
    }

    fn poll_timeout(&self) -> Option<Timeout<SnoopTimer>> {
        self.timers.next()
    }
}
