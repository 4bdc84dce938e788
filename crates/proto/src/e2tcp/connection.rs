//! One end of a connection: its states, the application's calls, its timers.
//!
//! The states are TCP's (RFC 9293 section 3.3.2), as set-up, half-close and termination are TCP's in E2TCP; what happens when
//! a packet arrives is in `arrival.rs`. SYN and FIN travel as packets of their own, each with a sequence number of its own,
//! so that they are sent again and acknowledged by the rules that hold for data.

use std::collections::VecDeque;

use airwatt_base::{Instant, Machine, Seq, Span, Timeout, TimerTable, timer_kinds};

use super::config::E2tcpConfig;
use super::receiver::Receiver;
use super::rtt::RttEstimator;
use super::sender::{Outgoing, Sender};
use super::statistics::Statistics;
use super::window::BurstState;
use super::wire::{Acknowledgement, Addresses, ControlFlags, Header, Packet};
use crate::tcp::{Lengths, ReceiveBuffer, ReceiveBytes, SendBuffer, SendBytes};

timer_kinds! {
    /// Why a connection wakes up.
    pub enum E2tcpTimer {
        /// When to give up waiting for packets that were sent once.
        Transmission = "transmission",
        /// When to give up waiting for packets that were sent again.
        Retransmission = "retransmission",
        /// When to probe a closed window.
        Probe = "probe",
        /// When a burst of errors is predicted to end.
        BurstEnd = "burst-end",
        /// When to forget a closed connection.
        Linger = "linger",
    }
}

pub(super) type Timers = TimerTable<E2tcpTimer, 5>;

/// The states of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// There is no connection.
    Closed,
    /// Waits for a SYN.
    Listen,
    /// Has sent a SYN.
    SynSent,
    /// Has received and sent a SYN.
    SynReceived,
    /// Data flows.
    Established,
    /// Has closed its direction.
    FinWait1,
    /// Has closed its direction, and the peer knows.
    FinWait2,
    /// The peer has closed its direction.
    CloseWait,
    /// Both have closed at once.
    Closing,
    /// The peer closed first, and now this end has.
    LastAck,
    /// Both directions are closed; the peer's last packets are answered for a while.
    Linger,
}

/// What comes in. `D` is what the application writes, `P` what comes with a packet: a length and nothing in the simulator,
/// bytes on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input<D = u64, P = ()> {
    /// The application opens actively: a SYN is sent.
    Open,
    /// The application waits for a SYN.
    Listen,
    /// A packet arrived, with its payload.
    Packet(Packet, P),
    /// The application writes. Before the connection stands, data waits; after [`Input::Close`] it is ignored.
    Write(D),
    /// Everything written so far is urgent.
    Urgent,
    /// The application has read so many bytes. Needed only where received data does not count as read at once.
    Read(u64),
    /// The application has nothing more to write. What was written is still delivered.
    Close,
    /// The application gives up: the peer gets a reset.
    Abort,
}

/// What goes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// A packet to send.
    Transmit(Packet),
    /// Something the application wants to know.
    Event(Event),
}

/// What the application wants to know. Places in the stream count from its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The connection stands.
    Connected,
    /// So many bytes more are in order.
    Delivered {
        /// How many bytes.
        bytes: u64,
    },
    /// So many bytes at this place are missing, by leave of the reliability; the stream goes on behind them. A buffer that
    /// keeps bytes reads them as zeros.
    Gap {
        /// The first missing byte.
        at: u64,
        /// How many bytes.
        bytes: u64,
    },
    /// Bytes that a [`Event::Gap`] had given up arrived all the same.
    Late {
        /// The first of them.
        at: u64,
        /// How many bytes.
        bytes: u64,
    },
    /// The peer has marked data as urgent, up to before this place.
    Urgent {
        /// Behind the last urgent byte.
        until: u64,
    },
    /// The peer has closed its direction, and all its data is delivered.
    PeerClosed,
    /// The peer has everything that was written so far, or can do without.
    AllAcknowledged,
    /// The peer refused the connection.
    Refused,
    /// The peer reset the connection.
    Reset,
    /// The peer did not answer, and the connection was given up.
    TimedOut,
    /// Both directions are closed, and the connection is forgotten.
    Closed,
}

/// One end of a connection, with send buffer `S` and receive buffer `R`.
#[derive(Clone, Debug)]
pub struct Connection<S: SendBuffer = Lengths, R: ReceiveBuffer = Lengths> {
    pub(super) state: State,
    /// The connection's identifier, proposed or agreed.
    pub(super) id: u8,
    /// Sent until the peer is known to use the identifier. `None` where there is nothing to agree on.
    pub(super) addresses: Option<Addresses>,
    pub(super) agreed: bool,
    pub(super) sender: Sender<S>,
    pub(super) receiver: Receiver<R>,
    pub(super) timers: Timers,
    pub(super) statistics: Statistics,
    pub(super) events: VecDeque<Event>,
    outputs: VecDeque<Output>,
    pub(super) config: E2tcpConfig,
}

impl<S: SendBuffer, R: ReceiveBuffer> Connection<S, R> {
    /// A closed end that proposes, or waits for, the identifier `id`, and sends `addresses` until it is agreed. Panics if the
    /// settings do not pass [`E2tcpConfig::check`].
    pub fn new(config: E2tcpConfig, id: u8, addresses: Addresses) -> Self {
        Self::build(config, id, Some(addresses))
    }

    /// An end whose set-up with a peer of settings `peer` is over, without a packet or a wake-up spent on it: as simulators
    /// that begin with data have it.
    pub fn established(config: E2tcpConfig, peer: &E2tcpConfig, id: u8) -> Self {
        let mut end = Self::build(config, id, None);
        end.state = State::Established;
        end.agreed = true;
        end.sender.establish();
        end.receiver.synchronize(peer.initial_sequence);
        end
    }

    fn build(config: E2tcpConfig, id: u8, addresses: Option<Addresses>) -> Self {
        if let Err(problem) = config.check() {
            panic!("{problem}");
        }
        Self {
            state: State::Closed,
            id,
            addresses,
            agreed: false,
            sender: Sender::new(&config),
            receiver: Receiver::new(&config),
            timers: Timers::new(),
            statistics: Statistics::default(),
            events: VecDeque::new(),
            outputs: VecDeque::new(),
            config,
        }
    }

    /// The state.
    pub fn state(&self) -> State {
        self.state
    }

    /// The connection's identifier, proposed or agreed.
    pub fn id(&self) -> u8 {
        self.id
    }

    /// Whether the peer is known to use the identifier.
    pub fn is_agreed(&self) -> bool {
        self.agreed
    }

    /// The settings.
    pub fn config(&self) -> &E2tcpConfig {
        &self.config
    }

    /// What was counted so far.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// The window in packets.
    pub fn window(&self) -> u32 {
        self.sender.window.size()
    }

    /// The largest window as it stands, in packets.
    pub fn largest_window(&self) -> u32 {
        self.sender.window.max()
    }

    /// Packets on their way, as far as the sender believes.
    pub fn outstanding(&self) -> u32 {
        self.sender.outstanding()
    }

    /// The state of the burst-error detector, if there is one.
    pub fn burst_state(&self) -> Option<BurstState> {
        self.sender.window.burst_state()
    }

    /// The estimator of the round-trip time.
    pub fn rtt(&self) -> &RttEstimator {
        &self.sender.rtt
    }

    /// The timeout of both timers.
    pub fn rto(&self) -> Span {
        self.sender.rtt.rto()
    }

    /// Bytes written and not yet acknowledged.
    pub fn unacknowledged_bytes(&self) -> u64 {
        self.sender.unacknowledged()
    }

    /// Bytes in order and not yet read, gaps among them.
    pub fn readable_bytes(&self) -> u64 {
        self.receiver.readable()
    }

    /// When this timer is due, if it runs.
    pub fn timer(&self, timer: E2tcpTimer) -> Option<Instant> {
        self.timers.get(timer)
    }

    // The application's calls.

    fn open(&mut self) {
        if matches!(self.state, State::Closed | State::Listen) && !self.sender.has_begun() {
            self.state = State::SynSent;
            self.sender.open();
        }
    }

    fn listen(&mut self) {
        if self.state == State::Closed && !self.sender.has_begun() {
            self.state = State::Listen;
        }
    }

    fn close(&mut self) {
        match self.state {
            State::Listen => self.finish(Some(Event::Closed)),
            State::SynSent if self.sender.unacknowledged() == 0 => self.finish(Some(Event::Closed)),
            State::SynSent | State::SynReceived => self.sender.close(),
            State::Established => {
                self.sender.close();
                self.state = State::FinWait1;
            }
            State::CloseWait => {
                self.sender.close();
                self.state = State::LastAck;
            }
            _ => {}
        }
    }

    fn abort(&mut self) {
        let known = self.receiver.initial_sequence().is_some();
        if known && !matches!(self.state, State::Closed | State::Listen | State::Linger) {
            let acknowledgement = Some(self.receiver.acknowledgement());
            let packet =
                self.packet(Header { control: ControlFlags::RST, acknowledgement, ..self.header() }, 0);
            self.push(packet);
        }
        self.finish(None);
    }

    fn write(&mut self, data: S::Data) {
        let open = matches!(
            self.state,
            State::Listen | State::SynSent | State::SynReceived | State::Established | State::CloseWait
        );
        let early = self.state == State::Closed && !self.sender.has_begun();
        if (open || early) && !self.sender.is_closing() {
            self.sender.write(data);
        }
    }

    // The table's calls.

    /// Has the SYN sent again under another identifier.
    pub(super) fn propose(&mut self, id: u8, now: Instant) {
        self.id = id;
        self.sender.repeat_syn();
        self.transmit(now);
    }

    /// Agrees to the peer's identifier.
    pub(super) fn adopt(&mut self, id: u8) {
        self.id = id;
    }

    // Transitions that several inputs share.

    /// Ends the connection: no timer runs, nothing more is sent.
    pub(super) fn finish(&mut self, event: Option<Event>) {
        self.flush_events();
        self.state = State::Closed;
        self.timers = Timers::new();
        self.receiver.ack_due = false;
        self.outputs.extend(event.map(Output::Event));
    }

    /// The set-up is over.
    pub(super) fn connect(&mut self) {
        self.events.push_back(Event::Connected);
        self.state = if self.sender.is_closing() { State::FinWait1 } else { State::Established };
    }

    pub(super) fn enter_linger(&mut self, now: Instant) {
        self.state = State::Linger;
        self.timers = Timers::new();
        self.timers.set(E2tcpTimer::Linger, now.saturating_add(self.config.linger));
    }

    // Outputs.

    fn flush_events(&mut self) {
        self.outputs.extend(self.events.drain(..).map(Output::Event));
    }

    fn push(&mut self, packet: Packet) {
        self.statistics.packets_sent += 1;
        self.statistics.bytes_sent += packet.bytes() as u64;
        self.outputs.push_back(Output::Transmit(packet));
    }

    /// A header with what every packet has.
    fn header(&self) -> Header {
        Header { addresses: self.addresses.filter(|_| !self.agreed), ..Header::new(self.id) }
    }

    fn packet(&self, header: Header, len: u16) -> Packet {
        Packet { header, len }
    }

    /// Completes a header with what the receive half has to say, if it has: an acknowledgement, and the window if it
    /// changed.
    fn acknowledge(&mut self, header: Header) -> Header {
        let window = self.receiver.window_field();
        let acknowledgement: Option<Acknowledgement> = Some(self.receiver.acknowledgement());
        self.receiver.ack_due = false;
        Header { window, acknowledgement, ..header }
    }

    fn send(&mut self, out: Outgoing) {
        let mut header =
            Header { sequence: Some(out.seq), control: out.control, urgent: out.urgent, ..self.header() };
        if out.control.syn {
            // A SYN that is sent again after all still has to find its connection.
            header.addresses = self.addresses;
        }
        if self.state == State::SynSent {
            // The peer's sequence numbers are not known yet, but the window is ours to tell.
            header.window = self.receiver.window_field();
        } else if self.receiver.ack_due || out.control.syn {
            header = self.acknowledge(header);
        }
        let packet = self.packet(header, out.len);
        self.push(packet);
    }

    /// Sends all that may be sent, and an acknowledgement if one is due and nothing carried it.
    pub(super) fn transmit(&mut self, now: Instant) {
        if matches!(self.state, State::Closed | State::Listen) {
            self.flush_events();
            return;
        }
        self.flush_events();
        let open = !matches!(self.state, State::SynSent | State::SynReceived);
        while let Some(out) = self.sender.next(open, now, &mut self.timers, &mut self.statistics) {
            self.send(out);
        }
        if self.receiver.ack_due && self.state != State::SynSent {
            let header = self.acknowledge(self.header());
            self.statistics.acks_sent += 1;
            let packet = self.packet(header, 0);
            self.push(packet);
        }
        if self.state == State::Linger {
            self.timers.stop(E2tcpTimer::Probe);
            if self.config.linger.is_zero() {
                self.finish(Some(Event::Closed));
            }
        } else if open {
            self.sender.arrange_probe(now, &mut self.timers);
        }
    }

    fn on_timer(&mut self, timer: E2tcpTimer, now: Instant) {
        let silent = match timer {
            E2tcpTimer::Transmission => {
                self.sender.on_transmission_timeout(now, &mut self.timers, &mut self.statistics)
            }
            E2tcpTimer::Retransmission => {
                self.sender.on_retransmission_timeout(now, &mut self.timers, &mut self.statistics)
            }
            E2tcpTimer::Probe => self.sender.on_probe_timeout(now),
            E2tcpTimer::BurstEnd => {
                self.sender.on_burst_end();
                false
            }
            E2tcpTimer::Linger => return self.finish(Some(Event::Closed)),
        };
        if silent {
            self.finish(Some(Event::TimedOut));
        }
    }
}

impl<R: ReceiveBuffer> Connection<SendBytes, R> {
    /// Appends the payload of `packet` to `out`. To be called when the packet is sent, before the next input: later its bytes
    /// may be acknowledged and gone.
    pub fn payload(&self, packet: &Packet, out: &mut Vec<u8>) {
        if let Some(seq) = packet.header.sequence.filter(|_| packet.len > 0) {
            self.sender.buffer.copy(self.sender.offset(seq, packet.len), usize::from(packet.len), out);
        }
    }
}

impl<S: SendBuffer> Connection<S, ReceiveBytes> {
    /// Appends to `out` all bytes that are in order and not yet read, skipped ones as zeros. [`Input::Read`] then says how
    /// many were taken.
    pub fn received(&self, out: &mut Vec<u8>) {
        self.receiver.buffer.copy(out);
    }

    /// The pieces, with their places in the stream, for which the last input brought [`Event::Late`]. To be called before the
    /// next input.
    pub fn late(&self) -> &[(u64, Vec<u8>)] {
        self.receiver.buffer.late()
    }
}

impl<S: SendBuffer, R: ReceiveBuffer> Machine for Connection<S, R> {
    type Input = Input<S::Data, R::Payload>;
    type Output = Output;
    type Reason = E2tcpTimer;

    fn handle_input(&mut self, input: Self::Input, now: Instant) {
        self.receiver.buffer.forget_late();
        match input {
            Input::Open => self.open(),
            Input::Listen => self.listen(),
            Input::Packet(packet, payload) => self.on_packet(&packet, &payload, now),
            Input::Write(data) => self.write(data),
            Input::Urgent => self.sender.mark_urgent(),
            Input::Read(bytes) => self.receiver.read(bytes),
            Input::Close => self.close(),
            Input::Abort => self.abort(),
        }
        self.transmit(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        let mut expired = false;
        while let Some(timer) = self.timers.expire(now) {
            expired = true;
            self.on_timer(timer, now);
        }
        if expired {
            self.transmit(now);
        }
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    fn poll_timeout(&self) -> Option<Timeout<E2tcpTimer>> {
        self.timers.next()
    }
}

/// The sequence number of the first byte of a packet whose last one is `last`: TCP's number, as a gateway writes it.
pub fn first_sequence(last: Seq, len: u16) -> Seq {
    last + 1 - u32::from(len)
}
