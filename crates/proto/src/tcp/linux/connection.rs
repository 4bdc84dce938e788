//! One end of a connection: handshake, states, and what joins the halves.

mod handshake;

use std::collections::VecDeque;

use airwatt_base::{Instant, Machine, Seq, Timeout, timer_kinds};

use super::accurate::Marks;
use super::clock::micros;
use super::config::{KeepAlive, LinuxConfig};
use super::keep_alive::Finding;
use super::packet::{Options, Packet, Stamps, bits};
use super::receiver::{Due, Receiver};
use super::sender::info;
use super::sender::{Outgoing, Push, Sender};
use crate::event::Event;
use crate::lifecycle::State;

/// The most urgent data and options beside a SACK option: blocks that fit beside time stamps, and alone.
const BLOCKS: (usize, usize) = (3, 4);
/// The least time between answers to segments that are not acceptable, in microseconds.
const CHALLENGE: u64 = 500_000;

timer_kinds! {
    /// Why a connection wakes up.
    pub enum LinuxTimer {
        /// When to retransmit, probe the tail, or take late segments for lost.
        Sender = "retransmission",
        /// When to send what the pacing rate held back.
        Pacing = "pacing",
        /// When to send a delayed acknowledgement.
        DelayedAck = "delayed-ack",
        /// When to remove a closed connection.
        TimeWait = "time-wait",
        /// When to see for how long the peer has been silent.
        KeepAlive = "keep-alive",
    }
}

/// Inputs of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Active open: a SYN is sent.
    Open,
    /// Passive open: the connection waits for a SYN.
    Listen,
    /// A packet arrived.
    Packet(Packet),
    /// The application writes. [`Connection::room`] bounds what a write should have.
    Write {
        /// Number of bytes.
        bytes: u64,
        /// Whether more follows soon (`MSG_MORE`).
        more: bool,
        /// Whether a record ends (`MSG_EOR`).
        record: bool,
    },
    /// The application has read this many bytes.
    Read(u64),
    /// A power-save policy lets the peer send this many bytes beyond the data in order; without a number there is no limit.
    Grant(Option<u64>),
    /// The application has nothing more to write.
    Shutdown,
    /// The application closes: the peer gets a reset if data was not read.
    Close,
    /// The application aborts the connection: the peer gets a reset.
    Abort,
    /// The device takes packets again, or no longer.
    Device {
        /// Whether it refuses them.
        refuses: bool,
    },
}

/// Outputs of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// A packet to send.
    Transmit(Packet),
    /// A notification for the application.
    Event(Event),
}

/// One end of a connection.
#[derive(Clone, Debug)]
pub struct Connection {
    state: State,
    sender: Sender,
    receiver: Receiver,
    outputs: VecDeque<Output>,
    config: LinuxConfig,
    /// What the handshake agreed on.
    timestamps: bool,
    /// The shift of the peer's windows, and of ours.
    shifts: (u8, u8),
    /// The peer's time stamp that is echoed: of the first segment after the last acknowledgement (RFC 7323 section 4.3).
    echo: u32,
    /// Whether a mark of congestion is echoed, and whether a packet of the peer was capable of one.
    marked: bool,
    capable: bool,
    /// The marks that arrive, with AccECN, and the ECN field of the peer's SYN.
    marks: Option<Marks>,
    syn_ecn: u8,
    /// Transmissions of the SYN.
    syns: u32,
    passive: bool,
    time_wait: Option<u64>,
    /// The timer of keep-alives.
    keep_alive: Option<u64>,
    next_challenge: u64,
    /// When the last acknowledgement came that is not older than others.
    last_heard: u64,
}

impl Connection {
    /// Creates a closed end.
    pub fn new(config: LinuxConfig) -> Self {
        Self {
            state: State::Closed,
            sender: Sender::new(&config),
            receiver: Receiver::new(&config),
            outputs: VecDeque::new(),
            timestamps: false,
            shifts: (0, 0),
            echo: 0,
            marked: false,
            capable: false,
            marks: None,
            syn_ecn: 0,
            syns: 0,
            passive: false,
            time_wait: None,
            keep_alive: None,
            next_challenge: 0,
            last_heard: 0,
            config,
        }
    }

    /// The state.
    pub fn state(&self) -> State {
        self.state
    }

    /// Room for writes in bytes.
    pub fn room(&self) -> u64 {
        self.sender.room()
    }

    /// Bytes in order that were not read.
    pub fn readable(&self) -> u64 {
        self.receiver.readable()
    }

    /// Bytes written and not acknowledged.
    pub fn unacknowledged(&self) -> u64 {
        let fin = self.sender.writes.fin.is_some_and(|fin| fin >= self.sender.space.una);
        self.sender.written() - u64::from(fin)
    }

    /// Payload of a full-sized segment now.
    pub(super) fn segment(&self) -> u32 {
        self.sender.space.current_mss()
    }

    /// The shift of the windows that this end offers.
    pub(super) fn scale(&self) -> u8 {
        self.receiver.scale
    }

    /// The congestion window, the slow-start threshold and the data in flight, in segments.
    pub(super) fn window(&self) -> (u32, u32, u32) {
        (self.sender.congestion.cwnd, self.sender.congestion.ssthresh, self.sender.queue.in_flight())
    }

    /// Retransmission timeouts, and the mean of the samples of the round-trip time in microseconds.
    pub(super) fn sender_totals(&self) -> (u64, Option<u64>) {
        (self.sender.timers.timeouts, self.sender.rtt.mean())
    }

    /// Acknowledgements that are considered lost, and halvings of the window for them.
    pub(super) fn ack_losses(&self) -> (u64, u64) {
        self.sender.ackloss.as_ref().map_or((0, 0), |watch| watch.counts())
    }

    /// Whether the application has more to write than the send buffer takes.
    pub(super) fn set_no_space(&mut self, on: bool) {
        self.sender.writes.no_space = on;
    }

    /// Whether the peer's FIN has come, after which reads give nothing more.
    pub fn peer_closed(&self) -> bool {
        self.receiver.fin.is_some_and(|fin| fin < self.receiver.next)
    }

    /// Values of `TCP_INFO` with their names; times of the connection in microseconds, times since something in milliseconds.
    pub fn info(&self, now: Instant) -> Vec<(&'static str, u64)> {
        let now = micros(now);
        let mut values = info::of(&self.sender, now);
        let (segment, last) = self.receiver.seen();
        let since = |at: Option<u64>| at.map_or(0, |at| (now - at) / 1000);
        values.extend([
            ("tcpi_state", self.state as u64),
            ("tcpi_rcv_mss", u64::from(segment)),
            ("tcpi_advmss", u64::from(self.receiver.advertised_mss)),
            ("tcpi_last_data_recv", since(last)),
            ("tcpi_last_data_sent", since(self.sender.last_sent)),
            ("tcpi_last_ack_recv", since(Some(self.last_heard))),
        ]);
        values
    }

    // Options of a socket, which may change while the connection lasts.

    /// `TCP_NODELAY`.
    pub fn set_no_delay(&mut self, on: bool, now: Instant) {
        self.sender.writes.no_delay = on;
        if on {
            self.sender.push_pending(Push::Now, micros(now));
            self.flush(now);
        }
    }

    /// `TCP_CORK`: no short segment leaves while it is set.
    pub fn set_cork(&mut self, on: bool, now: Instant) {
        self.sender.writes.cork = on;
        if !on {
            self.sender.push_pending(Push::Now, micros(now));
            self.flush(now);
        }
    }

    /// `SO_SNDBUF`, as the user gives it.
    pub fn set_send_buffer(&mut self, bytes: u64) {
        self.sender.writes.set_memory(bytes);
    }

    /// `SO_RCVBUF`, as the user gives it.
    pub fn set_receive_buffer(&mut self, bytes: u64) {
        self.receiver.set_buffer(bytes);
    }

    /// `SO_KEEPALIVE`, with `TCP_KEEPIDLE` and the like: whether and when an idle peer is probed. Probes that are switched on wait for the
    /// whole time; if the time changes, what has passed of it counts.
    pub fn set_keep_alive(&mut self, keep_alive: Option<KeepAlive>, now: Instant) {
        let before = std::mem::replace(&mut self.config.keep_alive, keep_alive);
        let was = before.map(|before| before.time);
        let time = keep_alive.map(|keep_alive| keep_alive.time);
        if self.sender.established && self.state != State::Closed && was != time {
            let clock = self.sender.timers.clock;
            let passed = if was.is_some() { clock.span(self.silence(micros(now))) } else { 0 };
            self.keep_alive =
                time.map(|time| clock.expiry(micros(now), (time.as_nanos() / 1000).saturating_sub(passed)));
        }
    }

    /// Settings that count from now on: those of the host, not of the handshake.
    pub fn change(&mut self, change: impl FnOnce(&mut LinuxConfig)) {
        change(&mut self.config);
        change_sender(&mut self.sender, &self.config);
    }

    // Arrivals.

    fn receive(&mut self, packet: &Packet, now: u64) {
        match self.state {
            State::Closed => return,
            State::Listen => return self.on_listen(packet, now),
            State::SynSent => return self.on_syn_sent(packet, now),
            _ => {}
        }
        if !self.is_acceptable(packet, now) {
            return;
        }
        if self.timestamps
            && let Some(stamps) = packet.options.timestamps
            && self.receiver.position(packet.seq) <= self.receiver.acknowledged as i64
        {
            self.echo = stamps.value;
        }
        if let Some(marks) = &mut self.marks {
            marks.note(packet.ecn);
        }
        if !self.on_acknowledgement(packet, now) || self.state == State::Closed {
            return;
        }
        self.on_data(packet, now);
        if self.state != State::Closed {
            self.sender.push_pending(Push::Nagle, now);
        }
    }

    /// The checks of RFC 9293 and RFC 7323 before anything else. What is not acceptable is answered with an acknowledgement.
    fn is_acceptable(&mut self, packet: &Packet, now: u64) -> bool {
        let start = self.receiver.position(packet.seq);
        let end = start + i64::from(packet.sequence_length());
        let next = self.receiver.next as i64;
        let is_old = self.timestamps
            && packet
                .options
                .timestamps
                .is_some_and(|stamps| (stamps.value.wrapping_sub(self.echo) as i32) < 0);
        if is_old && !packet.has(bits::RST) {
            self.push_ack(now);
            return false;
        }
        let outside = start > self.receiver.edge() as i64 || (end < next && !packet.has(bits::SYN));
        if packet.has(bits::RST) {
            if start == next {
                let refused = self.state == State::SynReceived && self.passive;
                let event = if refused { None } else { Some(Event::Reset) };
                self.finish(event);
            } else if !outside {
                self.challenge(now);
            }
            return false;
        }
        if packet.has(bits::SYN) {
            if self.state == State::SynReceived && start == next - 1 {
                self.send_syn(now);
            } else {
                self.challenge(now);
            }
            return false;
        }
        let repeats = packet.sequence_length() > 0 && end <= next;
        if outside || repeats {
            if packet.sequence_length() > 0 {
                self.receiver.receive(start, packet.len, false, self.sender.rtt.rto(), now);
                self.receiver.hasten();
                if repeats && packet.has(bits::ACK) {
                    self.on_acknowledgement(packet, now);
                }
                self.push_ack(now);
            } else if end == next - 1 {
                // A probe of a closed window or of an idle connection, which wants an answer; two ends might answer each other for ever.
                self.challenge(now);
            }
            return false;
        }
        packet.has(bits::ACK)
    }

    /// Processes the acknowledgement. Returns whether the rest of the packet counts.
    fn on_acknowledgement(&mut self, packet: &Packet, now: u64) -> bool {
        let una = self.config.initial_sequence + self.sender.space.una as u32;
        let distance = i64::from(una.distance_to(packet.ack) as i32);
        let ack = self.sender.space.una as i64 + distance;
        if ack > self.sender.space.nxt as i64
            || distance < -i64::from(self.sender.space.window_max)
            || ack < 0
        {
            if self.state == State::SynReceived {
                self.push_reset(packet);
            } else {
                self.challenge(now);
            }
            return false;
        }
        if distance >= 0 {
            self.last_heard = now;
        }
        let ack = ack as u64;
        if self.state == State::SynReceived {
            if ack == 0 {
                return false;
            }
            self.handshake_acknowledged(now);
            if let Some(marks) = self.marks.as_mut().filter(|_| packet.flags & bits::ACE == 0) {
                marks.cleared = true;
                self.sender.reports = None;
            }
            let from = self.receiver.position(packet.seq).max(0) as u64;
            self.sender.space.begin(u32::from(packet.window) << self.shifts.0, from);
            self.connect(now);
            self.sender.push_pending(Push::Nagle, now);
            return true;
        }
        let window = u32::from(packet.window) << self.shifts.0;
        let from = self.receiver.position(packet.seq).max(0) as u64;
        let mut blocks = Vec::new();
        for (start, end) in packet.options.sack.iter() {
            let place = |seq: Seq| ack as i64 + i64::from(packet.ack.distance_to(seq) as i32);
            if place(start) >= 0 && place(end) >= 0 {
                blocks.push((place(start) as u64, place(end) as u64));
            }
        }
        let stamp = packet.options.timestamps.filter(|_| self.timestamps).map(|stamps| stamps.echo);
        let before = self.sender.space.una;
        self.sender.acknowledge(ack, packet, window, from, &blocks, stamp, now);
        if before < self.sender.space.una
            && self.sender.space.una >= self.sender.writes.end - u64::from(self.sender.writes.fin.is_some())
        {
            self.outputs.push_back(Output::Event(Event::AllAcknowledged));
        }
        let ours = self.sender.writes.fin.is_some_and(|fin| self.sender.space.una > fin);
        self.enter(self.state.after_fins(false, ours), now);
        true
    }

    fn on_data(&mut self, packet: &Packet, now: u64) {
        let fin = packet.has(bits::FIN);
        if packet.len == 0 && !fin {
            return;
        }
        let changes = self.marks.as_ref().is_some_and(|marks| marks.due);
        // A peer that has reduced its window may be able to send no more before an acknowledgement.
        let reduced = self.sender.congestion.ecn && packet.has(bits::CWR);
        if self.sender.congestion.ecn {
            self.note_marks(packet);
        }
        if !matches!(self.state, State::Established | State::FinWait1 | State::FinWait2) {
            if packet.len > 0 && self.sender.writes.fin.is_some() && self.state != State::TimeWait {
                self.push_ack(now);
            }
            return;
        }
        if let Some(stamps) = packet.options.timestamps.filter(|_| self.timestamps) {
            self.receiver.measure(stamps.echo, packet.len, now);
        }
        let start = self.receiver.position(packet.seq);
        let had_gap = self.receiver.has_gap();
        let readable = self.receiver.readable();
        self.receiver.receive(start, packet.len, fin, self.sender.rtt.rto(), now);
        if packet.has(bits::PSH) || packet.len < self.receiver.seen().0 {
            self.receiver.note_push();
        }
        let fresh = self.receiver.readable() - readable;
        let mut read_acknowledges = false;
        if fresh > 0 {
            self.outputs.push_back(Output::Event(Event::Delivered { bytes: fresh }));
            if self.config.read_at_once {
                read_acknowledges = self.receiver.read(fresh);
                self.receiver.adjust(now);
            }
        }
        if self.receiver.has_gap() && !had_gap {
            self.receiver.hasten();
        }
        if self.peer_closed() {
            self.outputs.push_back(Output::Event(Event::PeerClosed));
            self.enter(self.state.after_fins(true, false), now);
        }
        let urgent =
            fin || (had_gap && fresh > 0) || start < self.receiver.next as i64 - i64::from(packet.len) - 1;
        self.sender.push_pending(Push::Nagle, now);
        let at_once = (urgent && (fin || had_gap)) || reduced || changes;
        let due = self.receiver.decide(at_once, now, self.sender.rtt.srtt());
        match if read_acknowledges { Due::Now } else { due } {
            // Data that leaves in the meantime carries the acknowledgement.
            Due::Now if !self.sender.out.is_empty() && !self.receiver.has_gap() => {}
            Due::Now => self.push_ack(now),
            Due::At(at) => self.receiver.timer = Some(at),
        }
    }

    /// Notes what the ECN field of a packet with data says (RFC 3168 section 6.1.3).
    fn note_marks(&mut self, packet: &Packet) {
        if packet.has(bits::CWR) {
            self.marked = false;
        }
        match packet.ecn {
            3 if !self.marked => {
                self.receiver.hasten_for_mark();
                self.marked = true;
            }
            // Probably a repetition, which is not capable.
            0 if self.capable => self.receiver.hasten_for_mark(),
            _ => {}
        }
        self.capable |= packet.ecn != 0;
    }

    // Outputs.

    fn push(&mut self, out: Outgoing, now: u64) {
        let is_syn = out.flags & bits::SYN != 0;
        let mut flags = out.flags;
        let mut ecn = 0;
        if let Some(marks) = self.marks.as_mut().filter(|_| !is_syn) {
            // The first acknowledgement answers the SYN-ACK's field instead.
            let counter = marks.counter();
            flags |= if flags & bits::ACE == 0 { counter } else { 0 };
            ecn = if marks.cleared { 0 } else { 2 };
        } else if self.sender.congestion.ecn && !is_syn {
            if self.marked && flags & bits::ACK != 0 {
                flags |= bits::ECE;
            }
            if out.len > 0 && !out.retransmission {
                ecn = 2;
                if std::mem::take(&mut self.sender.congestion.send_cwr) {
                    flags |= bits::CWR;
                }
            }
        }
        if out.len > 0 {
            self.receiver.sent_data(now);
        }
        let acks = flags & bits::ACK != 0;
        let mut options = Options::default();
        let offers = is_syn && !self.passive;
        if is_syn {
            options.mss = Some(self.config.mss as u16);
            options.sack_permitted = if offers { self.config.sack } else { self.sender.queue.sack };
            let scales =
                if offers { self.config.window_scaling } else { self.shifts.1 > 0 || self.shifts.0 > 0 };
            options.window_scale = scales.then_some(self.receiver.scale);
        }
        if self.timestamps || (offers && self.config.timestamps) {
            options.timestamps =
                Some(Stamps { value: (now / 1000) as u32, echo: if acks { self.echo } else { 0 } });
        }
        if self.sender.queue.sack && acks && !is_syn && out.len == 0 {
            options.sack = self.receiver.blocks(if self.timestamps { BLOCKS.0 } else { BLOCKS.1 });
        }
        let packet = Packet {
            seq: self.config.initial_sequence + out.start as u32,
            ack: if acks { self.receiver.sequence(self.receiver.next) } else { Seq::new(0) },
            window: self.receiver.offer(self.shifts.1, flags),
            len: out.len,
            flags,
            ecn,
            urgent: 0,
            options,
        };
        self.outputs.push_back(Output::Transmit(packet));
    }

    fn push_ack(&mut self, now: u64) {
        let start = self.sender.space.nxt;
        self.push(Outgoing { start, len: 0, flags: bits::ACK, retransmission: false }, now);
    }

    fn challenge(&mut self, now: u64) {
        if now >= self.next_challenge {
            self.next_challenge = now + CHALLENGE;
            self.push_ack(now);
        }
    }

    /// The reset that answers a packet for which there is no connection.
    fn push_reset(&mut self, packet: &Packet) {
        let acks = packet.has(bits::ACK);
        let reset = Packet {
            seq: if acks { packet.ack } else { Seq::new(0) },
            ack: if acks { Seq::new(0) } else { packet.seq + packet.sequence_length() },
            window: 0,
            len: 0,
            flags: if acks { bits::RST } else { bits::RST | bits::ACK },
            ecn: 0,
            urgent: 0,
            options: Options::default(),
        };
        self.outputs.push_back(Output::Transmit(reset));
    }

    /// Completes what the send half has released.
    fn flush(&mut self, now: Instant) {
        while let Some(out) = self.sender.out.pop_front() {
            self.push(out, micros(now));
        }
    }

    // States.

    fn enter(&mut self, state: State, now: u64) {
        if state == self.state {
            return;
        }
        self.state = state;
        match state {
            State::TimeWait => {
                self.time_wait = Some(now + self.config.time_wait.as_nanos() / 1000);
                self.keep_alive = None;
            }
            State::Closed => self.finish(Some(Event::Closed)),
            _ => {}
        }
    }

    fn finish(&mut self, event: Option<Event>) {
        self.state = State::Closed;
        (self.sender.timers.timer, self.receiver.timer, self.time_wait) = (None, None, None);
        self.keep_alive = None;
        self.sender.out.clear();
        self.outputs.extend(event.map(Output::Event));
    }

    fn shutdown(&mut self, now: u64) {
        if self.sender.writes.fin.is_some() {
            return;
        }
        match self.state.after_close(self.sender.written() > 0) {
            State::Closed if self.state == State::Closed => {}
            State::Closed => self.finish(Some(Event::Closed)),
            state => {
                self.sender.write_fin(now);
                self.state = state;
            }
        }
    }

    fn abort(&mut self, now: u64) {
        if !matches!(self.state, State::Closed | State::Listen | State::SynSent | State::TimeWait) {
            self.reset_peer(now);
        }
        self.finish(None);
    }

    fn reset_peer(&mut self, now: u64) {
        self.sender.out.clear();
        let start = self.sender.space.nxt;
        self.push(Outgoing { start, len: 0, flags: bits::RST | bits::ACK, retransmission: false }, now);
    }

    fn expire_sender(&mut self, now: u64) {
        if !matches!(self.state, State::SynSent | State::SynReceived) {
            if self.sender.expire(now) {
                self.finish(Some(Event::TimedOut));
            }
            return;
        }
        if self.sender.timers.timer.is_some_and(|timer| timer.at <= now) {
            self.repeat_syn(now);
        }
    }

    /// The peer has been silent, perhaps for as long as it may be.
    fn expire_keep_alive(&mut self, now: u64) {
        self.keep_alive = None;
        let Some(settings) = self.config.keep_alive else { return };
        let clock = self.sender.timers.clock;
        let wait = if self.sender.is_idle() {
            match settings.find(self.silence(now), self.sender.timers.probes, self.config.user_timeout, clock)
            {
                Finding::Dead => {
                    self.reset_peer(now);
                    return self.finish(Some(Event::TimedOut));
                }
                Finding::Heard { left } => left,
                Finding::Silent => self.sender.probe_idle(settings.interval.as_nanos() / 1000),
            }
        } else {
            // The retransmission timer watches over what is outstanding.
            settings.time.as_nanos() / 1000
        };
        self.keep_alive = Some(clock.expiry(now, wait));
    }

    /// How long the peer has been silent, in jiffies.
    fn silence(&self, now: u64) -> u64 {
        let clock = self.sender.timers.clock;
        let last = self.last_heard.max(self.receiver.seen().1.unwrap_or(0));
        clock.jiffy(now) - clock.jiffy(last)
    }
}

/// Settings of the host that the send half reads while it runs.
fn change_sender(sender: &mut Sender, config: &LinuxConfig) {
    let control = sender.config.control;
    sender.config = config.clone();
    if control != config.control {
        sender.begin_control();
    }
}

impl Machine for Connection {
    type Input = Input;
    type Output = Output;
    type Reason = LinuxTimer;

    fn handle_input(&mut self, input: Input, now: Instant) {
        let at = micros(now);
        match input {
            Input::Open if self.state == State::Closed && self.syns == 0 => self.open(at),
            Input::Listen if self.state == State::Closed && self.syns == 0 => self.state = State::Listen,
            Input::Open | Input::Listen => {}
            Input::Packet(packet) => self.receive(&packet, at),
            Input::Write { bytes, more, record } if self.sender.writes.fin.is_none() => {
                self.sender.write(bytes, more, record, at);
            }
            Input::Write { .. } => {}
            Input::Read(bytes) => {
                let acknowledges = self.receiver.read(bytes);
                self.receiver.adjust(at);
                if acknowledges {
                    self.push_ack(at);
                }
            }
            Input::Grant(bytes) => {
                if self.receiver.grant(bytes) && self.sender.established && self.state != State::Closed {
                    self.push_ack(at);
                }
            }
            Input::Shutdown => self.shutdown(at),
            Input::Close if self.receiver.readable() > 0 => self.abort(at),
            Input::Close => self.shutdown(at),
            Input::Abort => self.abort(at),
            Input::Device { refuses } => self.sender.blocked = refuses,
        }
        self.flush(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        let at = micros(now);
        while let Some(due) = self.poll_timeout().filter(|timeout| timeout.at <= now) {
            match due.reason {
                LinuxTimer::Sender => self.expire_sender(at),
                LinuxTimer::Pacing => {
                    self.sender.depart(at);
                }
                LinuxTimer::DelayedAck => {
                    if self.receiver.expire(self.sender.rtt.rto()) {
                        self.push_ack(at);
                    }
                }
                LinuxTimer::TimeWait => self.finish(Some(Event::Closed)),
                LinuxTimer::KeepAlive => self.expire_keep_alive(at),
            }
            self.flush(now);
        }
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    fn poll_timeout(&self) -> Option<Timeout<LinuxTimer>> {
        let timers = [
            (self.sender.timers.timer.map(|timer| timer.at), LinuxTimer::Sender),
            (self.sender.pacing.timer, LinuxTimer::Pacing),
            (self.receiver.timer, LinuxTimer::DelayedAck),
            (self.time_wait, LinuxTimer::TimeWait),
            (self.keep_alive, LinuxTimer::KeepAlive),
        ];
        let next = timers.into_iter().filter_map(|(at, reason)| at.map(|at| (at, reason)));
        next.min_by_key(|(at, _)| *at).map(|(at, reason)| Timeout { at: Instant::from_micros(at), reason })
    }
}
