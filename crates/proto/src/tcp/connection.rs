//! One end of a connection: the states of RFC 9293 section 3.3.2, the user calls and the timers.
//!
//! The processing of arriving segments is in `arrival.rs`, and that of inputs in `end.rs`.

use std::collections::VecDeque;

use airwatt_base::settings::Settings;
use airwatt_base::{Instant, Seq, Span};

use super::buffer::{Lengths, ReceiveBuffer, SendBuffer};
use super::config::TcpConfig;
use super::receiver::{AckDue, Receiver};
use super::rtt::RttEstimator;
use super::sack::SackBlocks;
use super::segment::{Ecn, Flags, Segment};
use super::sender::Sender;
use super::statistics::Statistics;
use super::timer::{TcpTimer, Timers};
use super::timestamps::{Echo, Timestamps, clock};
use crate::cc::{AckLoss, CongestionControl};
use crate::event::Event;
use crate::lifecycle::State;

/// Inputs of a connection. `D` is the data of a write and `P` the payload of a segment: a length and nothing in the
/// simulator, bytes on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input<D = u64, P = ()> {
    /// Active open: a SYN is sent.
    Open,
    /// Passive open: the connection waits for a SYN.
    Listen,
    /// A segment arrived, with its payload.
    Segment(Segment, P),
    /// The application writes. Data waits until the connection is established; after [`Input::Close`] it is ignored.
    Write(D),
    /// The application has read this many bytes. Needed only if received data does not count as read at once.
    Read(u64),
    /// Limits the offered window to this many bytes beyond the data in order, whatever the free buffer space; `None`
    /// removes the limit. The limit may shrink the window, which peers must tolerate (RFC 9293 section 3.8.6).
    /// Power-save policies shape streams with it.
    Grant(Option<u64>),
    /// The application has nothing more to write. What was written is still delivered.
    Close,
    /// The application aborts the connection: the peer gets a reset.
    Abort,
}

/// Outputs of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// A segment to send.
    Transmit(Segment),
    /// A notification for the application.
    Event(Event),
}

/// One end of a connection, with send buffer `S` and receive buffer `R`.
#[derive(Clone, Debug)]
pub struct Connection<S: SendBuffer = Lengths, R: ReceiveBuffer = Lengths> {
    pub(super) state: State,
    /// Whether the connection was opened passively: a reset during the handshake returns it to LISTEN.
    pub(super) passive: bool,
    pub(super) sender: Sender<S>,
    pub(super) receiver: Receiver<R>,
    pub(super) timers: Timers,
    pub(super) statistics: Statistics,
    pub(super) outputs: VecDeque<Output>,
    pub(super) config: TcpConfig,
    /// Before this time, empty segments that are not acceptable get no answer.
    pub(super) next_challenge: Instant,
    /// The timestamp to echo; `None` without the timestamps option.
    pub(super) echo: Option<Echo>,
}

impl<S: SendBuffer, R: ReceiveBuffer> Connection<S, R> {
    /// Creates a closed end. Panics if the settings do not pass [`TcpConfig::check`].
    pub fn new(config: TcpConfig) -> Self {
        if let Err(problem) = config.check() {
            panic!("{problem}");
        }
        Self {
            state: State::Closed,
            passive: false,
            sender: Sender::new(&config),
            receiver: Receiver::new(&config),
            timers: Timers::new(),
            statistics: Statistics::default(),
            outputs: VecDeque::new(),
            config,
            next_challenge: Instant::ZERO,
            echo: None,
        }
    }

    /// Creates an established end whose peer has the settings `peer`. No segment is sent and no timer set for the
    /// handshake, as in simulators that begin with data.
    pub fn established(config: TcpConfig, peer: &TcpConfig) -> Self {
        let mut end = Self::new(config);
        end.state = State::Established;
        end.sender.establish(peer.receive_window);
        end.receiver.synchronize(peer.initial_sequence);
        let agreed = end.config.timestamps && peer.timestamps;
        end.echo = agreed.then(|| Echo::new(Timestamps { value: clock(Instant::ZERO), echo: 0 }));
        end
    }

    /// The state.
    pub fn state(&self) -> State {
        self.state
    }

    /// The settings.
    pub fn config(&self) -> &TcpConfig {
        &self.config
    }

    /// The counters.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// The congestion control.
    pub fn congestion(&self) -> &CongestionControl {
        &self.sender.control
    }

    /// The detector of lost acknowledgements, if there is one.
    pub fn ackloss(&self) -> Option<&AckLoss> {
        self.sender.ackloss.as_deref()
    }

    /// The congestion window in bytes.
    pub fn cwnd(&self) -> u32 {
        self.sender.control.cwnd()
    }

    /// The slow-start threshold in bytes.
    pub fn ssthresh(&self) -> u32 {
        self.sender.control.ssthresh()
    }

    /// Sequence numbers in flight, as the sender estimates them: after a timeout, those sent since.
    pub fn flight(&self) -> u32 {
        self.sender.flight()
    }

    /// Whether the sender is in fast recovery.
    pub fn in_recovery(&self) -> bool {
        self.sender.recovering
    }

    /// Bytes in flight by the scoreboard (pipe of RFC 6675) during fast recovery; otherwise `None`.
    pub fn pipe(&self) -> Option<u64> {
        self.sender.pipe()
    }

    /// The estimator of the round-trip time.
    pub fn rtt(&self) -> &RttEstimator {
        &self.sender.rtt
    }

    /// The smoothed round-trip time; `None` before the first sample.
    pub fn srtt(&self) -> Option<Span> {
        self.sender.rtt.srtt()
    }

    /// The retransmission timeout.
    pub fn rto(&self) -> Span {
        self.sender.rtt.rto()
    }

    /// Bytes written and not yet acknowledged.
    pub fn unacknowledged_bytes(&self) -> u64 {
        self.sender.unacknowledged()
    }

    /// Bytes received in order and not yet read, skipped gaps included.
    pub fn readable_bytes(&self) -> u64 {
        self.receiver.readable()
    }

    /// The time at which this timer expires; `None` if it is stopped.
    pub fn timer(&self, timer: TcpTimer) -> Option<Instant> {
        self.timers.get(timer)
    }

    // User calls of RFC 9293 section 3.10.

    /// Section 3.10.1. Ignored unless the end is closed or listening.
    pub(super) fn open(&mut self) {
        if matches!(self.state, State::Closed | State::Listen) && !self.was_used() {
            self.state = State::SynSent;
            self.passive = false;
            self.sender.synchronize();
        }
    }

    pub(super) fn listen(&mut self) {
        if self.state == State::Closed && !self.was_used() {
            self.state = State::Listen;
            self.passive = true;
        }
    }

    /// Whether this end had a connection before: an end serves only one.
    fn was_used(&self) -> bool {
        self.sender.next_sequence() != self.sender.initial_sequence()
    }

    /// Section 3.10.4.
    pub(super) fn close(&mut self) {
        match self.state.after_close(self.sender.unacknowledged() > 0) {
            State::Closed if self.state == State::Closed => {}
            State::Closed => self.finish(Some(Event::Closed)),
            state => {
                self.sender.close();
                self.state = state;
            }
        }
    }

    /// Section 3.10.5: sends a reset and closes the connection. Also where both ends have closed and data or the FIN are not
    /// acknowledged yet, where the section sends none: the peer would wait for them for ever.
    pub(super) fn abort(&mut self) {
        if matches!(
            self.state,
            State::SynReceived
                | State::Established
                | State::FinWait1
                | State::FinWait2
                | State::CloseWait
                | State::Closing
                | State::LastAck
        ) {
            let seq = self.sender.next_sequence();
            let ack = self.receiver.acknowledgement();
            let flags = Flags::RST | Flags::ACK;
            self.push(Segment {
                seq,
                ack,
                window: 0,
                len: 0,
                flags,
                ecn: Ecn::NONE,
                sack: SackBlocks::NONE,
                timestamps: None,
            });
        }
        self.finish(None);
    }

    pub(super) fn write(&mut self, data: S::Data) {
        if self.state.takes_data(!self.was_used()) && !self.sender.is_closing() {
            self.sender.write(data);
        }
    }

    // Transitions that several inputs share.

    /// Ends the connection: stops all timers and sends nothing more.
    pub(super) fn finish(&mut self, event: Option<Event>) {
        self.state = State::Closed;
        self.timers = Timers::new();
        self.receiver.due = AckDue::No;
        self.outputs.extend(event.map(Output::Event));
    }

    /// Enters ESTABLISHED, or FIN-WAIT-1 if the application has closed already.
    pub(super) fn connect(&mut self) {
        self.sender.established();
        self.notify(Event::Connected);
        self.state = if self.sender.is_closing() { State::FinWait1 } else { State::Established };
    }

    /// Enters a state that FINs lead to.
    pub(super) fn enter(&mut self, state: State, now: Instant) {
        match state {
            _ if state == self.state => {}
            State::TimeWait => self.enter_time_wait(now),
            State::Closed => self.finish(Some(Event::Closed)),
            _ => self.state = state,
        }
    }

    pub(super) fn enter_time_wait(&mut self, now: Instant) {
        self.timers.stop(TcpTimer::Retransmission);
        self.state = State::TimeWait;
        self.timers.set(TcpTimer::TimeWait, now.saturating_add(self.config.time_wait));
    }

    // Outputs.

    pub(super) fn notify(&mut self, event: Event) {
        self.outputs.push_back(Output::Event(event));
    }

    /// Sends a segment that belongs to no position of the send stream, such as a reset or an acknowledgement.
    pub(super) fn push(&mut self, segment: Segment) {
        self.outputs.push_back(Output::Transmit(segment));
    }

    /// Sends an acknowledgement now.
    pub(super) fn push_ack(&mut self, now: Instant) {
        let segment = self.segment(self.sender.ack_sequence(), 0, Flags::NONE, now);
        self.push(segment);
    }

    /// Sends an acknowledgement with SACK blocks now. Separate from the plain one, which is the common case.
    #[inline(never)]
    fn push_blocks(&mut self, now: Instant) {
        // The blocks are read before the receive half records the acknowledgement as sent.
        let sack = self.receiver.blocks();
        let segment = self.segment(self.sender.ack_sequence(), 0, Flags::NONE, now);
        self.push(Segment { sack, ..segment });
    }

    /// Completes a segment with the acknowledgement number, the offered window and the timestamps.
    fn segment(&mut self, seq: Seq, len: u16, flags: Flags, now: Instant) -> Segment {
        let sack = SackBlocks::NONE;
        if self.state == State::SynSent {
            // The peer's sequence numbers are not known yet.
            let window = self.config.receive_window;
            let timestamps = self.config.timestamps.then(|| Timestamps { value: clock(now), echo: 0 });
            return Segment { seq, ack: Seq::new(0), window, len, flags, ecn: Ecn::NONE, sack, timestamps };
        }
        let timestamps = self.echo.map(|echo| Timestamps { value: clock(now), echo: echo.recent() });
        self.receiver.acknowledged();
        self.timers.stop(TcpTimer::DelayedAck);
        let window = self.receiver.offer();
        let ack = self.receiver.acknowledgement();
        Segment { seq, ack, window, len, flags: flags | Flags::ACK, ecn: Ecn::NONE, sack, timestamps }
    }

    /// Sends all segments that may be sent, and an acknowledgement if one is due and no segment carried it.
    pub(super) fn transmit(&mut self, now: Instant) {
        if matches!(self.state, State::Closed | State::Listen) {
            return;
        }
        let open = !matches!(self.state, State::SynSent | State::SynReceived);
        if open && self.receiver.due == AckDue::Now && self.receiver.has_blocks() {
            self.push_blocks(now);
        }
        while let Some(out) = self.sender.next(open, now, &mut self.timers, &mut self.statistics) {
            let segment = self.segment(out.seq, out.len, out.flags, now);
            self.push(segment);
        }
        match self.receiver.due {
            AckDue::Now => self.push_ack(now),
            AckDue::Later if !self.timers.is_running(TcpTimer::DelayedAck) => {
                let timeout = self.config.delayed_ack.map_or(Span::ZERO, |delayed| delayed.timeout);
                self.timers.set(TcpTimer::DelayedAck, now.saturating_add(timeout));
            }
            _ => {}
        }
        if open {
            self.sender.arrange_persist(now, &mut self.timers);
        }
        if self.state == State::TimeWait && self.config.time_wait.is_zero() {
            self.finish(Some(Event::Closed));
        }
    }

    pub(super) fn on_timer(&mut self, timer: TcpTimer, _: Instant) {
        match timer {
            TcpTimer::Retransmission => {
                if self.sender.on_retransmission_timeout(&mut self.statistics) {
                    self.finish(Some(Event::TimedOut));
                }
            }
            TcpTimer::Persist => self.sender.on_persist_timeout(),
            TcpTimer::DelayedAck => self.receiver.due = AckDue::Now,
            TcpTimer::TimeWait => self.finish(Some(Event::Closed)),
        }
    }

    /// The payload of `segment`. Must be called when the segment is sent, before the next input, because its bytes may be
    /// acknowledged and discarded later.
    pub fn payload_of(&self, segment: &Segment) -> S::Payload {
        let at = if segment.len > 0 { self.sender.offset(segment.seq) } else { 0 };
        self.sender.buffer.payload(at, usize::from(segment.len))
    }
}
