//! One end of a connection: its states, the user calls and the timers.
//!
//! The states are those of TCP (RFC 9293 section 3.3.2), because set-up, half-close and termination work as in TCP; the
//! processing of arriving packets is in `arrival.rs`, and that of inputs in `end.rs`. SYN and FIN are packets of their own, each with a sequence
//! number, so that they are retransmitted and acknowledged by the same rules as data.

use std::collections::VecDeque;

use airwatt_base::settings::Settings;
use airwatt_base::{Instant, Machine as _, Seq, Span};

use super::config::E2tcpConfig;
use super::receiver::Receiver;
use super::rtt::RttEstimator;
use super::sender::{Outgoing, Sender};
use super::statistics::Statistics;
use super::timer::{E2tcpTimer, Timers};
use super::window::BurstState;
use super::wire::{Acknowledgement, ControlFlags, E2tcpPacket, Header, IpVersion, Level};
use crate::event::Event;
use crate::lifecycle::State;
use crate::tcp::{Lengths, ReceiveBuffer, SendBuffer};

/// Inputs of a connection. `D` is the data of a write and `P` the payload of a packet: a length and nothing in the
/// simulator, bytes on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input<D = u64, P = ()> {
    /// Active open: a SYN is sent. While it is not answered, it is sent again: whoever calls knows that the path is there now.
    Open,
    /// Passive open: the connection waits for a SYN.
    Listen,
    /// A packet arrived, with its payload.
    Packet(E2tcpPacket, P),
    /// The application writes. Data waits until the connection is established; after [`Input::Close`] it is ignored.
    Write(D),
    /// Everything written so far is urgent.
    Urgent,
    /// The application has read this many bytes. Needed only if received data does not count as read at once.
    Read(u64),
    /// The application has nothing more to write. What was written is still delivered.
    Close,
    /// The application aborts the connection: the peer gets a reset.
    Abort,
}

/// Outputs of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// A packet to send.
    Transmit(E2tcpPacket),
    /// A notification for the application.
    Event(Event),
}

/// One end of a connection, with send buffer `S` and receive buffer `R`.
#[derive(Clone, Debug)]
pub struct Connection<S: SendBuffer = Lengths, R: ReceiveBuffer = Lengths> {
    pub(super) state: State,
    /// Identifier of the connection, proposed or agreed.
    pub(super) id: u8,
    /// Addresses that packets carry until the peer is known to use the identifier; `None` if no identifier needs
    /// agreement.
    pub(super) addresses: Option<IpVersion>,
    pub(super) agreed: bool,
    pub(super) sender: Sender<S>,
    pub(super) receiver: Receiver<R>,
    pub(super) timers: Timers,
    pub(super) statistics: Statistics,
    pub(super) events: VecDeque<Event>,
    pub(super) outputs: VecDeque<Output>,
    pub(super) config: E2tcpConfig,
}

impl<S: SendBuffer, R: ReceiveBuffer> Connection<S, R> {
    /// Creates a closed end that proposes, or waits for, the identifier `id`, and sends `addresses` until it is agreed.
    /// Panics if the settings do not pass [`E2tcpConfig::check`].
    pub fn new(config: E2tcpConfig, id: u8, addresses: IpVersion) -> Self {
        Self::build(config, id, Some(addresses))
    }

    /// Creates an established end whose peer has the settings `peer`. No packet is sent and no timer set for the
    /// set-up, as in simulators that begin with data.
    pub fn established(config: E2tcpConfig, peer: &E2tcpConfig, id: u8) -> Self {
        let mut end = Self::build(config, id, None);
        end.state = State::Established;
        end.agreed = true;
        end.sender.establish();
        end.receiver.synchronize(peer.initial_sequence);
        end
    }

    fn build(config: E2tcpConfig, id: u8, addresses: Option<IpVersion>) -> Self {
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

    /// Identifier of the connection, proposed or agreed.
    pub fn id(&self) -> u8 {
        self.id
    }

    /// The settings.
    pub fn config(&self) -> &E2tcpConfig {
        &self.config
    }

    /// The counters.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// The window in packets.
    pub fn window(&self) -> u32 {
        self.sender.window.size
    }

    /// The current maximum of the window, in packets.
    pub fn largest_window(&self) -> u32 {
        self.sender.window.max()
    }

    /// The largest payload of a packet in bytes, which a path may have made less than the settings say.
    pub fn payload_max(&self) -> u16 {
        self.sender.payload() as u16
    }

    /// Packets in flight, as the sender estimates them.
    pub fn outstanding(&self) -> u32 {
        self.sender.outstanding()
    }

    /// The state of the burst-error detector; `None` without one.
    pub fn burst_state(&self) -> Option<BurstState> {
        self.sender.window.burst_state()
    }

    /// The estimator of the round-trip time.
    pub fn rtt(&self) -> &RttEstimator {
        &self.sender.rtt
    }

    /// The current timeout of the transmission and retransmission timers.
    pub fn rto(&self) -> Span {
        self.sender.rtt.rto()
    }

    /// When the connection began to linger, or last repeated an acknowledgement while it did.
    pub(super) fn lingers_since(&self) -> Option<Instant> {
        let until = self.poll_timeout().filter(|_| self.state == State::TimeWait)?.at;
        Some(Instant::ZERO + until.saturating_since(Instant::ZERO).saturating_sub(self.config.linger))
    }

    /// Bytes written and not yet acknowledged.
    pub fn unacknowledged_bytes(&self) -> u64 {
        self.sender.unacknowledged()
    }

    /// Bytes in order and not yet read, skipped gaps included.
    pub fn readable_bytes(&self) -> u64 {
        self.receiver.readable()
    }

    /// The time at which this timer expires; `None` if it is stopped.
    pub fn timer(&self, timer: E2tcpTimer) -> Option<Instant> {
        self.timers.get(timer)
    }

    // User calls.

    pub(super) fn open(&mut self) {
        if matches!(self.state, State::Closed | State::Listen) && !self.sender.has_begun() {
            self.state = State::SynSent;
            self.sender.open();
        } else if self.state == State::SynSent {
            self.sender.repeat_syn();
        }
    }

    pub(super) fn listen(&mut self) {
        if self.state == State::Closed && !self.sender.has_begun() {
            self.state = State::Listen;
        }
    }

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

    pub(super) fn abort(&mut self) {
        let known = self.receiver.initial_sequence().is_some();
        if known && !matches!(self.state, State::Closed | State::Listen | State::TimeWait) {
            let acknowledgement = Some(self.receiver.acknowledgement());
            let packet =
                self.packet(Header { control: ControlFlags::RST, acknowledgement, ..self.header() }, 0);
            self.push(packet);
        }
        self.finish(None);
    }

    pub(super) fn write(&mut self, data: S::Data) {
        if self.state.takes_data(!self.sender.has_begun()) && !self.sender.is_closing() {
            self.sender.write(data);
        }
    }

    // Calls by the table.

    /// Sends the SYN again with another identifier.
    pub(super) fn propose(&mut self, id: u8, now: Instant) {
        self.id = id;
        self.sender.repeat_syn();
        self.transmit(now);
    }

    /// The path carries packets with at most this payload.
    pub(super) fn narrow(&mut self, payload: u16, now: Instant) {
        self.sender.narrow(payload.into(), &mut self.timers);
        self.transmit(now);
    }

    /// Accepts the peer's identifier.
    pub(super) fn adopt(&mut self, id: u8) {
        self.id = id;
    }

    // Transitions that several inputs share.

    /// Ends the connection: stops all timers and sends nothing more.
    pub(super) fn finish(&mut self, event: Option<Event>) {
        self.flush_events();
        self.state = State::Closed;
        self.timers = Timers::new();
        self.receiver.note_acknowledged();
        self.outputs.extend(event.map(Output::Event));
    }

    /// Enters ESTABLISHED, or FIN-WAIT-1 if the application has closed already.
    pub(super) fn connect(&mut self) {
        self.events.push_back(Event::Connected);
        self.state = if self.sender.is_closing() { State::FinWait1 } else { State::Established };
    }

    /// Enters a state that FINs lead to.
    pub(super) fn enter(&mut self, state: State, now: Instant) {
        match state {
            _ if state == self.state => {}
            State::TimeWait => {
                self.state = state;
                self.timers = Timers::new();
                self.timers.set(E2tcpTimer::Linger, now.saturating_add(self.config.linger));
            }
            State::Closed => self.finish(Some(Event::Closed)),
            _ => self.state = state,
        }
    }

    // Outputs.

    fn flush_events(&mut self) {
        self.outputs.extend(self.events.drain(..).map(Output::Event));
    }

    fn push(&mut self, packet: E2tcpPacket) {
        self.statistics.packets_sent += 1;
        self.statistics.bytes_sent += packet.bytes() as u64;
        self.outputs.push_back(Output::Transmit(packet));
    }

    /// A header with the fields that every packet has.
    fn header(&self) -> Header {
        Header { addresses: self.addresses.filter(|_| !self.agreed), ..Header::new(self.id) }
    }

    fn packet(&self, header: Header, len: u16) -> E2tcpPacket {
        E2tcpPacket { header, len }
    }

    /// Adds the acknowledgement to a header, and the window field if the window has changed.
    fn acknowledge(&mut self, header: Header) -> Header {
        let window = self.receiver.window_field();
        let acknowledgement: Option<Acknowledgement> = Some(self.receiver.acknowledgement());
        self.receiver.note_acknowledged();
        Header { window, acknowledgement, ..header }
    }

    fn send(&mut self, out: Outgoing) {
        let mut header =
            Header { sequence: Some(out.seq), control: out.control, urgent: out.urgent, ..self.header() };
        if out.control.syn() {
            // A SYN that is retransmitted after the agreement still has to be matched to its connection.
            header.addresses = self.addresses;
            header.reliability = self.config.asks.and_then(Level::new);
        }
        if self.state == State::SynSent {
            // The peer's sequence numbers are not known yet, but the window can be announced.
            header.window = self.receiver.window_field();
        } else if self.receiver.ack_due || self.receiver.ack_waits() || out.control.syn() {
            header = self.acknowledge(header);
        }
        let packet = self.packet(header, out.len);
        self.push(packet);
    }

    /// Sends all packets that may be sent, and an acknowledgement if one is due and no packet carried it.
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
            let packet = self.packet(header, 0);
            self.push(packet);
        }
        if !self.receiver.ack_waits() {
            self.timers.stop(E2tcpTimer::Acknowledgement);
        } else if !self.timers.is_running(E2tcpTimer::Acknowledgement) {
            self.timers.set(E2tcpTimer::Acknowledgement, now.saturating_add(self.config.ack_delay));
        }
        if self.state == State::TimeWait {
            self.timers.stop(E2tcpTimer::Probe);
            if self.config.linger.is_zero() {
                self.finish(Some(Event::Closed));
            }
        } else if open {
            self.sender.arrange_probe(now, &mut self.timers);
        }
    }

    pub(super) fn on_timer(&mut self, timer: E2tcpTimer, now: Instant) {
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
            E2tcpTimer::Acknowledgement => {
                self.receiver.ack_due = true;
                false
            }
        };
        if silent {
            self.finish(Some(Event::TimedOut));
        }
    }

    /// The payload of `packet`. Must be called when the packet is sent, before the next input, because its bytes may be
    /// acknowledged and discarded later.
    pub fn payload_of(&self, packet: &E2tcpPacket) -> S::Payload {
        let data = packet.header.sequence.filter(|_| packet.len > 0);
        let at = data.map_or(0, |seq| self.sender.offset(seq, packet.len));
        self.sender.buffer.payload(at, usize::from(packet.len))
    }
}

/// The sequence number of the first byte of a packet whose last byte is `last`: the number that a gateway writes into a
/// TCP segment.
pub fn first_sequence(last: Seq, len: u16) -> Seq {
    last + 1 - u32::from(len)
}
