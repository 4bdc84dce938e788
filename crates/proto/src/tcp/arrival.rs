//! Processing of an arriving segment (SEGMENT ARRIVES, RFC 9293 section 3.10.7), one function for each step.
//!
//! RFC 9293 adopted the changes of RFC 5961 against blind in-window attacks, and so does this module: a reset is
//! accepted only at exactly the next expected sequence number, and a SYN inside a connection is answered with a
//! challenge ACK. Answers to empty segments that are not acceptable are rate-limited, so that two ends that have lost
//! synchronization do not acknowledge each other for ever.

use airwatt_base::{Instant, Span};

use super::buffer::{ReceiveBuffer, SendBuffer};
use super::connection::{Connection, Output};
use super::reassembly::Text;
use super::receiver::AckDue;
use super::segment::{Flags, Segment};
use super::sender::AckPosition;
use super::timer::Timers;
use super::timestamps::Echo;
use crate::event::Event;
use crate::lifecycle::State;

/// Least time between two answers to empty segments that are not acceptable. RFC 5961 section 7 asks for a limit; this
/// is the one of Linux (`tcp_invalid_ratelimit`).
const CHALLENGE_INTERVAL: Span = Span::from_millis(500);

/// Whether a segment lies in the receive window.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Acceptable {
    Yes,
    /// The window is closed, but the segment is the next one: its text is dropped and its acknowledgement counts.
    WithoutText,
    No,
}

impl<S: SendBuffer, R: ReceiveBuffer> Connection<S, R> {
    /// Processes an arriving segment in any state.
    pub(super) fn on_segment(&mut self, segment: &Segment, payload: &R::Payload, now: Instant) {
        match self.state {
            State::Closed => self.refuse(segment),
            State::Listen => self.on_segment_listen(segment),
            State::SynSent => self.on_segment_syn_sent(segment, now),
            _ => self.on_segment_synchronized(segment, payload, now),
        }
    }

    /// Section 3.10.7.1: answers a segment for which there is no connection with a reset.
    fn refuse(&mut self, segment: &Segment) {
        if let Some(reset) = segment.reset() {
            self.push(reset);
        }
    }

    /// Section 3.10.7.2: processes a segment in LISTEN.
    fn on_segment_listen(&mut self, segment: &Segment) {
        if segment.flags.has(Flags::RST) {
            return;
        }
        if segment.flags.has(Flags::ACK) {
            self.refuse(segment);
        } else if segment.flags.has(Flags::SYN) {
            self.synchronize(segment);
            self.sender.offer(0, 0, segment.window);
            self.sender.synchronize();
            self.state = State::SynReceived;
        }
    }

    /// Section 3.10.7.3: processes a segment in SYN-SENT.
    fn on_segment_syn_sent(&mut self, segment: &Segment, now: Instant) {
        let acknowledges = segment.flags.has(Flags::ACK);
        let acceptable = acknowledges && self.sender.ack_position(segment.ack) == AckPosition::Valid(1);
        if acknowledges && !acceptable {
            self.refuse(segment);
        } else if segment.flags.has(Flags::RST) {
            if acceptable {
                self.finish(Some(Event::Reset));
            }
        } else if segment.flags.has(Flags::SYN) {
            self.state = State::SynReceived;
            self.synchronize(segment);
            if acceptable {
                self.take_acknowledgement(1, segment, now);
                self.connect();
                self.receiver.due = AckDue::Now;
            } else {
                // Simultaneous open: the SYN is sent again, now with an acknowledgement.
                self.sender.offer(0, 0, segment.window);
                self.sender.synchronize();
            }
        }
    }

    /// Takes the sequence number and the options of the peer's SYN.
    fn synchronize(&mut self, syn: &Segment) {
        self.receiver.synchronize(syn.seq);
        self.echo = syn.timestamps.filter(|_| self.config.timestamps).map(Echo::new);
    }

    /// Section 3.10.7.4: processes a segment in all other states.
    fn on_segment_synchronized(&mut self, segment: &Segment, payload: &R::Payload, now: Instant) {
        let acceptable = self.acceptable(segment);
        if acceptable == Acceptable::No {
            return self.reject(segment, payload, now);
        }
        if segment.flags.has(Flags::RST) {
            return self.on_reset(segment, now);
        }
        if segment.flags.has(Flags::SYN) {
            return self.on_syn_in_connection(segment, now);
        }
        if let Some(echo) = &mut self.echo {
            if segment.timestamps.is_none() {
                // RFC 7323 section 3.2: once agreed on, the option is in every segment.
                return;
            }
            if self.receiver.acknowledges_from(segment.seq) {
                echo.update(segment.timestamps);
            }
        }
        if !segment.flags.has(Flags::ACK) || !self.on_acknowledgement(segment, now) {
            return;
        }
        if segment.sequence_length() == 0 {
            return;
        }
        if acceptable == Acceptable::WithoutText {
            self.receiver.due = AckDue::Now;
            return;
        }
        self.on_text(segment, payload, now);
    }

    /// First step: tests the segment against the four cases of section 3.10.7.4's table.
    ///
    /// The table requires a segment's first or last position to lie in the window, and so rejects a segment that begins
    /// before the window and ends beyond it; here any overlap is accepted.
    fn acceptable(&self, segment: &Segment) -> Acceptable {
        let start = self.receiver.position(segment.seq);
        let (next, edge) = (self.receiver.next(), self.receiver.edge());
        let length = i64::from(segment.sequence_length());
        let accepted = match (length, edge == next) {
            // `start == edge` is an ACK from a peer that has filled the window and whose `SND.NXT` lies at its right
            // edge.
            (0, _) => next <= start && start <= edge,
            (_, true) if start == next => return Acceptable::WithoutText,
            (_, true) => false,
            (_, false) => start < edge && next < start + length,
        };
        if accepted { Acceptable::Yes } else { Acceptable::No }
    }

    /// First step, for a segment that is not acceptable: acknowledges it, so that the peer learns the expected sequence
    /// number.
    fn reject(&mut self, segment: &Segment, payload: &R::Payload, now: Instant) {
        if segment.flags.has(Flags::RST) {
            return;
        }
        if segment.len > 0 && !self.take_late(segment, payload) {
            self.receiver.reject(self.receiver.position(segment.seq), segment.len);
        }
        let syn_again = segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::ACK);
        if self.state == State::SynReceived && syn_again {
            // The peer has not received our SYN, so an acknowledgement alone would not help it.
            self.sender.synchronize();
            return;
        }
        if self.state == State::TimeWait && segment.flags.has(Flags::FIN) {
            self.enter_time_wait(now);
        }
        self.challenge(segment, now);
    }

    /// Takes the bytes of a segment below the window that had been skipped. Returns false if there are none. The
    /// acknowledgement number has to be acceptable, as for every segment that brings data (RFC 5961 section 5.2).
    fn take_late(&mut self, segment: &Segment, payload: &R::Payload) -> bool {
        let in_stream = segment.flags.has(Flags::ACK) && !segment.flags.has(Flags::SYN);
        let valid = matches!(self.sender.ack_position(segment.ack), AckPosition::Valid(_));
        if self.receiver.partial.is_none() || !in_stream || !valid {
            return false;
        }
        let text = Text { start: self.receiver.position(segment.seq), len: segment.len, fin: false };
        let late = self.receiver.take_late(text, payload, &mut self.statistics);
        self.notify_gaps();
        late > 0
    }

    /// Notifies the application of the gaps that the receive half skipped, and of skipped bytes that arrived late.
    fn notify_gaps(&mut self) {
        if let Some(partial) = &mut self.receiver.partial {
            self.outputs.extend(partial.events.drain(..).map(Output::Event));
        }
    }

    /// Sends a challenge ACK (RFC 5961 section 5). The rate of challenge ACKs for empty segments is limited.
    fn challenge(&mut self, segment: &Segment, now: Instant) {
        if segment.sequence_length() == 0 {
            if now < self.next_challenge {
                return;
            }
            self.next_challenge = now.saturating_add(CHALLENGE_INTERVAL);
        }
        self.receiver.due = AckDue::Now;
    }

    /// Second step: processes a reset.
    fn on_reset(&mut self, segment: &Segment, now: Instant) {
        if self.receiver.position(segment.seq) != self.receiver.next() {
            return self.challenge(segment, now);
        }
        match self.state {
            State::SynReceived if self.passive => self.return_to_listen(),
            State::Closing | State::LastAck | State::TimeWait => self.finish(Some(Event::Closed)),
            _ => self.finish(Some(Event::Reset)),
        }
    }

    /// Fourth step: processes a SYN inside a connection.
    fn on_syn_in_connection(&mut self, segment: &Segment, now: Instant) {
        if self.state == State::SynReceived && self.passive {
            self.return_to_listen();
        } else {
            self.challenge(segment, now);
        }
    }

    fn return_to_listen(&mut self) {
        self.sender.forget_syn(&self.config);
        self.timers = Timers::new();
        self.receiver.acknowledged();
        self.state = State::Listen;
    }

    /// Fifth step: processes the acknowledgement number. Returns false if the segment is to be dropped.
    fn on_acknowledgement(&mut self, segment: &Segment, now: Instant) -> bool {
        let position = self.sender.ack_position(segment.ack);
        if self.state == State::SynReceived {
            if position != AckPosition::Valid(1) {
                self.refuse(segment);
                return false;
            }
            self.connect();
        }
        match position {
            AckPosition::Valid(ack) => {
                self.take_acknowledgement(ack, segment, now);
                self.state != State::Closed
            }
            AckPosition::Unsent | AckPosition::TooOld => {
                self.challenge(segment, now);
                false
            }
        }
    }

    fn take_acknowledgement(&mut self, ack: u64, segment: &Segment, now: Instant) {
        let from = self.receiver.position(segment.seq).max(0) as u64;
        let progress =
            self.sender.acknowledge(ack, segment, from, now, &mut self.timers, &mut self.statistics);
        if progress.all_acknowledged {
            self.notify(Event::AllAcknowledged);
        }
        self.enter(self.state.after_fins(false, progress.fin_acknowledged), now);
    }

    /// Seventh and eighth step: processes the segment text and the FIN.
    fn on_text(&mut self, segment: &Segment, payload: &R::Payload, now: Instant) {
        if !matches!(self.state, State::Established | State::FinWait1 | State::FinWait2) {
            return;
        }
        let start = self.receiver.position(segment.seq);
        let text = Text { start, len: segment.len, fin: segment.flags.has(Flags::FIN) };
        let (bytes, finished) = self.receiver.receive(text, payload, &mut self.statistics);
        if bytes > 0 {
            self.notify(Event::Delivered { bytes });
        }
        if self.receiver.partial.is_some() {
            self.notify_gaps();
        }
        if finished {
            self.notify(Event::PeerClosed);
            self.enter(self.state.after_fins(true, false), now);
        }
    }
}
