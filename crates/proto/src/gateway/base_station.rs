//! The base station of E2TCP: it finds the connections of its mobiles in the packets that pass, and carries each over two legs,
//! E2TCP with the mobile and TCP with the wired host. Neither host can tell.
//!
//! * A mobile speaks E2TCP once a packet of it has come, or the driver says so ([`BaseStationInput::Mobile`]). Its connections
//!   have identifiers of one byte; when all 256 are taken, a further connection passes as plain TCP.
//! * What belongs to no relayed connection passes: connections that began before, hosts without E2TCP, and new ones beyond the
//!   limit of half-open connections.
//! * The first packet of a connection is held until the leg beyond stands ([`Relay`]). A refusal is answered by a reset, an
//!   unreachable host is reported to the mobile, and to a timeout nothing is said.
//! * A leg holds at most `buffer` bytes: half of it received and not read, half sent and not acknowledged.
//! * A mobile that permits gaps in what it sends says so in its SYN; the base station fills them with zeros, because TCP has no
//!   gaps. Without that, uploads are complete.
//!
//! Left out: drawing initial sequence numbers (the driver gives a base, and they rise by one every 4 us), and a mobile that comes
//! back with another address.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

use airwatt_base::{Instant, Machine, Span, Timeout};

use super::relay::{Relay, Side, Verdict};
use super::table_leg::TableLeg;
use super::timer_queue::TimerQueue;
use crate::e2tcp::{
    Addresses, ConnectionKey, ConnectionTable, E2tcpConfig, E2tcpPacket, TableConfig, TableInput, TableOutput,
};
use crate::end::{End, EndEvent, EndOutput, Stream as _};
use crate::tcp::{self, Flags, Lengths, ReceiveBuffer, Segment, SendBuffer, TcpConfig};

/// Settings of a base station.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseStationConfig {
    /// The wired legs. The receive window is derived from `buffer`.
    pub wired: TcpConfig,
    /// The wireless legs. The receive window and buffer are derived from `buffer`.
    pub wireless: E2tcpConfig,
    /// Data that a leg holds at most, in bytes, from 4 KiB. Default 256 KiB.
    pub buffer: u32,
    /// Connections that have not been set up on both legs, at most. Default 4,096.
    pub half_open: usize,
    /// Time without a packet from either side that ends a connection. Default 2 hours and 4 minutes, the shortest that RFC 5382
    /// (REQ-5) permits to those between the ends.
    pub idle: Span,
}

impl Default for BaseStationConfig {
    fn default() -> Self {
        Self {
            wired: TcpConfig::default(),
            wireless: E2tcpConfig::default(),
            buffer: 262_144,
            half_open: 4_096,
            idle: Span::from_secs(7_440),
        }
    }
}

impl BaseStationConfig {
    /// The settings of the legs, with windows within the buffer.
    fn legs(&self) -> (TcpConfig, E2tcpConfig) {
        let half = self.buffer.max(4_096) / 2;
        let wired = TcpConfig { receive_window: half, read_at_once: false, ..self.wired.clone() };
        let receive_window = self.wireless.receive_window.min(half / 2).min(u32::from(u16::MAX));
        let wireless = E2tcpConfig {
            receive_window,
            receive_buffer: half,
            read_at_once: false,
            obeys_peer: true,
            ..self.wireless.clone()
        };
        (wired, wireless)
    }
}

/// An input of a base station, with payloads `P`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BaseStationInput<P = ()> {
    /// The mobile with this address speaks E2TCP.
    Mobile(IpAddr),
    /// A TCP segment for a mobile has arrived from the wired network, with its addresses.
    FromWired(Addresses, Segment, P),
    /// A packet of the mobile with this address has arrived, with the addresses that it carries.
    FromMobile(IpAddr, E2tcpPacket, Option<Addresses>, P),
    /// The network reports that the wired host of this connection cannot be reached. The mobile is the sender of the addresses.
    Unreachable(Addresses),
}

/// An output of a base station. Addresses of a connection have the mobile as sender, those of a packet are the packet's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BaseStationOutput<P = ()> {
    /// A segment to a wired host.
    ToWired(Addresses, Segment, P),
    /// A packet to a mobile.
    ToMobile(IpAddr, E2tcpPacket, Option<Addresses>, P),
    /// A segment for a mobile that goes on as it came.
    Pass(Addresses, Segment, P),
    /// The mobile is to learn that the wired host cannot be reached.
    Unreachable(Addresses),
    /// A connection is over.
    Ended(Addresses, ConnectionEnding),
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionEnding {
    /// Both hosts closed it.
    Closed,
    /// The host beyond refused it.
    Refused,
    /// The host beyond did not answer.
    Unanswered,
    /// The host beyond cannot be reached.
    Unreachable,
    /// One leg was lost, and the other reset. So many bytes had been acknowledged and were not delivered.
    Lost(u64),
    /// Both legs were reset after too long a silence; bytes as above.
    Idle(u64),
}

/// What a base station has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Connections whose opening was held.
    pub begun: u64,
    /// Connections that stood on both legs.
    pub relayed: u64,
    /// Segments that passed as they came.
    pub passed: u64,
    /// Connections that were not relayed because too many were half open or all identifiers were taken.
    pub over_limit: u64,
    /// Packets of a mobile with addresses of another one, or without a connection.
    pub dropped: u64,
    /// Bytes that were acknowledged to their sender and not delivered.
    pub undelivered: u64,
    /// Bytes that were given up, and replaced by zeros.
    pub given_up: u64,
}

/// What a timer of a base station is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BaseStationTimer {
    /// A wired leg.
    Wired(Addresses),
    /// The wireless legs of a mobile.
    Mobile(IpAddr),
    /// The silence of a connection.
    Idle(Addresses),
}

/// One relayed connection.
#[derive(Clone, Debug)]
struct Entry<S: SendBuffer, R: ReceiveBuffer> {
    relay: Relay,
    mobile: IpAddr,
    wired: tcp::Connection<S, R>,
    /// The wireless leg in the table of the mobile, once it exists.
    key: Option<ConnectionKey>,
    /// The packet that opens the connection, until it may be answered.
    held_wired: Option<(Segment, R::Payload)>,
    held_mobile: Option<(E2tcpPacket, R::Payload)>,
    /// Which legs stand.
    stands: [bool; 2],
}

/// A base station with send buffers `S` and receive buffers `R`.
#[derive(Clone, Debug)]
pub struct BaseStation<S: SendBuffer = Lengths, R: ReceiveBuffer = Lengths> {
    config: BaseStationConfig,
    wired: TcpConfig,
    wireless: E2tcpConfig,
    entries: BTreeMap<Addresses, Entry<S, R>>,
    tables: BTreeMap<IpAddr, ConnectionTable<S, R>>,
    /// The connection of a wireless leg.
    keys: BTreeMap<(IpAddr, ConnectionKey), Addresses>,
    half_open: usize,
    timers: TimerQueue<BaseStationTimer>,
    counters: Counters,
    outputs: VecDeque<BaseStationOutput<R::Payload>>,
}

impl<S, R> BaseStation<S, R>
where
    S: SendBuffer<Data = R::Data, Payload = R::Payload>,
    R: ReceiveBuffer,
{
    /// A base station without mobiles. Panics if the settings of the legs do not pass their checks.
    pub fn new(config: BaseStationConfig) -> Self {
        let (wired, wireless) = config.legs();
        Self {
            config,
            wired,
            wireless,
            entries: BTreeMap::new(),
            tables: BTreeMap::new(),
            keys: BTreeMap::new(),
            half_open: 0,
            timers: TimerQueue::default(),
            counters: Counters::default(),
            outputs: VecDeque::new(),
        }
    }

    /// The counters.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Relayed connections, and how many of them do not stand on both legs yet.
    pub fn connections(&self) -> (usize, usize) {
        (self.entries.len(), self.half_open)
    }

    /// Data that the legs of a connection hold, in bytes: the wired one and the wireless one.
    pub fn held_bytes(&self, addresses: Addresses) -> Option<[u64; 2]> {
        let entry = self.entries.get(&addresses)?;
        let wireless = entry.key.and_then(|key| self.tables.get(&entry.mobile)?.connection(key));
        let of_wireless = wireless.map_or(0, |leg| leg.readable_bytes() + leg.unacknowledged_bytes());
        Some([entry.wired.readable_bytes() + entry.wired.unacknowledged_bytes(), of_wireless])
    }

    fn table(&mut self, mobile: IpAddr) -> &mut ConnectionTable<S, R> {
        let connection = &self.wireless;
        self.tables
            .entry(mobile)
            .or_insert_with(|| ConnectionTable::new(TableConfig { connection: connection.clone() }))
    }

    // Connections.

    /// Adds a connection whose opening by `side` is held, if the limits permit.
    fn add(&mut self, addresses: Addresses, side: Side, now: Instant) -> bool {
        let full = self.tables.get(&addresses.sender().ip).is_some_and(|table| table.is_full(now));
        if full || self.half_open >= self.config.half_open {
            self.counters.over_limit += 1;
            return false;
        }
        let ticks = (now.as_nanos() / 4_000) as u32;
        let initial_sequence = self.wired.initial_sequence + ticks;
        let wired = tcp::Connection::new(TcpConfig { initial_sequence, ..self.wired.clone() });
        let mut relay = Relay::new(u64::from(self.config.buffer.max(4_096) / 2), false);
        relay.begin(side, now);
        let idle_at = relay.idle_at(self.config.idle);
        let mobile = addresses.sender().ip;
        let entry = Entry {
            relay,
            mobile,
            wired,
            key: None,
            held_wired: None,
            held_mobile: None,
            stands: [false; 2],
        };
        self.entries.insert(addresses, entry);
        self.timers.put(BaseStationTimer::Idle(addresses), Some(idle_at));
        self.half_open += 1;
        self.counters.begun += 1;
        true
    }

    fn remove(&mut self, addresses: Addresses, ending: ConnectionEnding) {
        let Some(entry) = self.entries.remove(&addresses) else { return };
        self.half_open -= usize::from(entry.stands != [true; 2]);
        self.timers.put(BaseStationTimer::Wired(addresses), None);
        self.timers.put(BaseStationTimer::Idle(addresses), None);
        if let Some(key) = entry.key {
            self.keys.remove(&(entry.mobile, key));
        }
        if let ConnectionEnding::Lost(bytes) | ConnectionEnding::Idle(bytes) = ending {
            self.counters.undelivered += bytes;
        }
        self.outputs.push_back(BaseStationOutput::Ended(addresses, ending));
    }

    /// Resets both legs of a connection.
    fn abort(&mut self, addresses: Addresses, ending: fn(u64) -> ConnectionEnding, now: Instant) {
        let Some(entry) = self.entries.get_mut(&addresses) else { return };
        let mobile = entry.mobile;
        let Some(table) = self.tables.get_mut(&mobile) else { return };
        let mut wireless = TableLeg { table, key: entry.key };
        let lost = entry.relay.abort(&mut entry.wired, &mut wireless, now);
        self.collect_wired(addresses, now);
        self.collect_mobile(mobile, now);
        self.remove(addresses, ending(lost));
    }

    // Outputs of the legs.

    fn collect_wired(&mut self, addresses: Addresses, now: Instant) {
        while let Some(entry) = self.entries.get_mut(&addresses) {
            match entry.wired.poll() {
                Some(EndOutput::Transmit((segment, payload))) => {
                    self.outputs.push_back(BaseStationOutput::ToWired(addresses, segment, payload));
                }
                Some(EndOutput::Event(event)) => self.on_event(addresses, Side::Wired, event, now),
                None => {
                    let due = entry.wired.due();
                    return self.timers.put(BaseStationTimer::Wired(addresses), due);
                }
            }
        }
    }

    fn collect_mobile(&mut self, mobile: IpAddr, now: Instant) {
        while let Some(table) = self.tables.get_mut(&mobile) {
            let Some(output) = table.poll_output() else {
                let due = table.poll_timeout().map(|timeout| timeout.at);
                return self.timers.put(BaseStationTimer::Mobile(mobile), due);
            };
            match output {
                TableOutput::Transmit(key, packet, addresses) => {
                    let connection = key.and_then(|key| table.connection(key));
                    let payload = connection.map_or_else(
                        || S::default().payload(0, 0),
                        |connection| connection.payload_of(&packet),
                    );
                    self.outputs.push_back(BaseStationOutput::ToMobile(mobile, packet, addresses, payload));
                }
                TableOutput::Opened(key, addresses) | TableOutput::Accepted(key, addresses) => {
                    // The leg speaks for the wired host, which is the sender.
                    let addresses = addresses.swapped();
                    if let Some(entry) = self.entries.get_mut(&addresses) {
                        entry.key = Some(key);
                        self.keys.insert((mobile, key), addresses);
                    }
                }
                TableOutput::Refused(addresses, _) => {
                    self.on_event(addresses.swapped(), Side::Wireless, EndEvent::Reset, now);
                }
                TableOutput::Event(key, event) => {
                    if let Some(addresses) = self.keys.get(&(mobile, key)).copied() {
                        self.on_event(addresses, Side::Wireless, event.into(), now);
                    }
                }
            }
        }
    }

    fn on_event(&mut self, addresses: Addresses, side: Side, event: EndEvent, now: Instant) {
        let Some(entry) = self.entries.get_mut(&addresses) else { return };
        if let EndEvent::GaveUp(bytes) = event {
            self.counters.given_up += bytes;
        }
        if event == EndEvent::Connected && !entry.stands[side as usize] {
            entry.stands[side as usize] = true;
            if entry.stands == [true; 2] {
                self.half_open -= 1;
                self.counters.relayed += 1;
            }
        }
        let mobile = entry.mobile;
        let Some(table) = self.tables.get_mut(&mobile) else { return };
        let mut wireless = TableLeg { table, key: entry.key };
        let verdict = entry.relay.on_event(side, event, &mut entry.wired, &mut wireless, now);
        if let Some(verdict) = verdict {
            self.execute(addresses, verdict, now);
        }
    }

    fn execute(&mut self, addresses: Addresses, verdict: Verdict, now: Instant) {
        let Some(entry) = self.entries.get_mut(&addresses) else { return };
        let mobile = entry.mobile;
        match verdict {
            Verdict::Admit(Side::Wired) => {
                entry.wired.listen(now);
                if let Some(first) = entry.held_wired.take() {
                    entry.wired.receive(first, now);
                }
                self.collect_wired(addresses, now);
            }
            Verdict::Admit(Side::Wireless) => {
                let Some((packet, payload)) = entry.held_mobile.take() else { return };
                let at = addresses.receiver();
                let table = self.table(mobile);
                table.handle_input(TableInput::Listen(at), now);
                table.handle_input(TableInput::Packet(packet, Some(addresses), payload), now);
                table.handle_input(TableInput::Unlisten(at), now);
                self.collect_mobile(mobile, now);
            }
            Verdict::Refuse(side) => {
                let refused = (entry.held_wired.take(), entry.held_mobile.take());
                let nothing = S::default().payload(0, 0);
                self.outputs.extend(match (side, refused) {
                    (Side::Wired, (Some((segment, _)), _)) => {
                        segment.reset().map(|reset| BaseStationOutput::ToWired(addresses, reset, nothing))
                    }
                    (Side::Wireless, (_, Some((packet, _)))) => packet.refusal().map(|reset| {
                        BaseStationOutput::ToMobile(mobile, reset, Some(addresses.swapped()), nothing)
                    }),
                    _ => None,
                });
                self.remove(addresses, ConnectionEnding::Refused);
            }
            Verdict::Forget(_) => self.remove(addresses, ConnectionEnding::Unanswered),
            Verdict::Lost(bytes) => {
                self.collect_wired(addresses, now);
                self.collect_mobile(mobile, now);
                self.remove(addresses, ConnectionEnding::Lost(bytes));
            }
            Verdict::Done => self.remove(addresses, ConnectionEnding::Closed),
        }
    }

    /// Carries on what has arrived on a connection, as far as the buffers have room.
    fn carry_on(&mut self, addresses: Addresses, now: Instant) {
        while let Some(entry) = self.entries.get_mut(&addresses) {
            let mobile = entry.mobile;
            let Some(table) = self.tables.get_mut(&mobile) else { return };
            let mut wireless = TableLeg { table, key: entry.key };
            if !entry.relay.step(&mut entry.wired, &mut wireless, now) {
                return;
            }
            self.collect_wired(addresses, now);
            self.collect_mobile(mobile, now);
        }
    }

    // Packets.

    fn take_from_wired(&mut self, packet: Addresses, segment: Segment, payload: R::Payload, now: Instant) {
        let addresses = packet.swapped();
        let mobile = addresses.sender().ip;
        if let Some(entry) = self.entries.get_mut(&addresses) {
            entry.relay.note_packet(now);
            // While the opening is held, what its sender repeats says nothing new; a reset takes it back.
            if entry.relay.opened_by() != Some(Side::Wired) {
                entry.wired.receive((segment, payload), now);
                // A reset of an opening that was admitted has put the leg back to listening (RFC 9293 3.10.7.4), which is no event
                // of it; nobody comes any more.
                let taken_back = segment.flags.has(Flags::RST) && entry.wired.state() == tcp::State::Listen;
                self.collect_wired(addresses, now);
                if taken_back {
                    return self.abort(addresses, ConnectionEnding::Lost, now);
                }
                self.carry_on(addresses, now);
            } else if segment.flags.has(Flags::RST) {
                self.abort(addresses, ConnectionEnding::Lost, now);
            }
            return;
        }
        let opens = segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::ACK);
        if !opens || !self.tables.contains_key(&mobile) || !self.add(addresses, Side::Wired, now) {
            self.counters.passed += 1;
            return self.outputs.push_back(BaseStationOutput::Pass(packet, segment, payload));
        }
        if let Some(entry) = self.entries.get_mut(&addresses) {
            entry.held_wired = Some((segment, payload));
        }
        self.table(mobile).handle_input(TableInput::Open(packet), now);
        self.collect_mobile(mobile, now);
    }

    fn take_from_mobile(
        &mut self,
        mobile: IpAddr,
        packet: E2tcpPacket,
        addresses: Option<Addresses>,
        payload: R::Payload,
        now: Instant,
    ) {
        // A mobile speaks for itself only.
        if addresses.is_some_and(|addresses| addresses.sender().ip != mobile) {
            self.counters.dropped += 1;
            return;
        }
        let opens = packet.header.control.syn() && packet.header.acknowledgement.is_none();
        if let Some(addresses) = addresses.filter(|_| opens) {
            if self.table(mobile).restarts(addresses, &packet) {
                self.abort(addresses, ConnectionEnding::Lost, now);
            }
            match self.entries.get_mut(&addresses) {
                Some(entry) if entry.relay.opened_by() == Some(Side::Wireless) => {
                    return entry.relay.note_packet(now);
                }
                Some(_) => {}
                None => return self.open_from_mobile(mobile, packet, addresses, payload, now),
            }
        }
        let table = self.table(mobile);
        let key = table.key_of(addresses, packet.header.connection);
        table.handle_input(TableInput::Packet(packet, addresses, payload), now);
        self.collect_mobile(mobile, now);
        let connection = key.and_then(|key| self.keys.get(&(mobile, key)).copied());
        match connection {
            Some(addresses) => {
                if let Some(entry) = self.entries.get_mut(&addresses) {
                    entry.relay.note_packet(now);
                }
                self.carry_on(addresses, now);
            }
            None => self.counters.dropped += 1,
        }
    }

    fn open_from_mobile(
        &mut self,
        mobile: IpAddr,
        packet: E2tcpPacket,
        addresses: Addresses,
        payload: R::Payload,
        now: Instant,
    ) {
        if !self.add(addresses, Side::Wireless, now) {
            // The mobile's end falls back to plain TCP.
            let nothing = S::default().payload(0, 0);
            self.outputs.extend(
                packet.refusal().map(|reset| {
                    BaseStationOutput::ToMobile(mobile, reset, Some(addresses.swapped()), nothing)
                }),
            );
            return;
        }
        if let Some(entry) = self.entries.get_mut(&addresses) {
            entry.held_mobile = Some((packet, payload));
            entry.wired.open(now);
        }
        self.collect_wired(addresses, now);
    }

    /// The network says that a wired host cannot be reached. For a connection that stands it is a passing condition (RFC 9293
    /// section 3.9.2.2).
    fn on_unreachable(&mut self, addresses: Addresses) {
        let opening = |entry: &Entry<S, R>| entry.relay.opened_by() == Some(Side::Wireless);
        if self.entries.get(&addresses).is_some_and(opening) {
            self.outputs.push_back(BaseStationOutput::Unreachable(addresses));
            self.remove(addresses, ConnectionEnding::Unreachable);
        }
    }
}

impl<S, R> Machine for BaseStation<S, R>
where
    S: SendBuffer<Data = R::Data, Payload = R::Payload>,
    R: ReceiveBuffer,
{
    type Input = BaseStationInput<R::Payload>;
    type Output = BaseStationOutput<R::Payload>;
    type Reason = BaseStationTimer;

    fn handle_input(&mut self, input: Self::Input, now: Instant) {
        match input {
            BaseStationInput::Mobile(mobile) => {
                self.table(mobile);
            }
            BaseStationInput::FromWired(addresses, segment, payload) => {
                self.take_from_wired(addresses, segment, payload, now);
            }
            BaseStationInput::FromMobile(mobile, packet, addresses, payload) => {
                self.take_from_mobile(mobile, packet, addresses, payload, now);
            }
            BaseStationInput::Unreachable(addresses) => self.on_unreachable(addresses),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        while let Some((_, timer)) = self.timers.first().filter(|(at, _)| *at <= now) {
            self.timers.put(timer, None);
            match timer {
                BaseStationTimer::Wired(addresses) => {
                    if let Some(entry) = self.entries.get_mut(&addresses) {
                        End::handle_timeout(&mut entry.wired, now);
                    }
                    self.collect_wired(addresses, now);
                    self.carry_on(addresses, now);
                }
                BaseStationTimer::Mobile(mobile) => {
                    self.table(mobile).handle_timeout(now);
                    self.collect_mobile(mobile, now);
                }
                BaseStationTimer::Idle(addresses) => {
                    let Some(entry) = self.entries.get(&addresses) else { continue };
                    let at = entry.relay.idle_at(self.config.idle);
                    if at <= now {
                        self.abort(addresses, ConnectionEnding::Idle, now);
                    } else {
                        self.timers.put(timer, Some(at));
                    }
                }
            }
        }
    }

    fn poll_output(&mut self) -> Option<Self::Output> {
        self.outputs.pop_front()
    }

    fn poll_timeout(&self) -> Option<Timeout<BaseStationTimer>> {
        self.timers.first().map(|(at, reason)| Timeout { at, reason })
    }
}
