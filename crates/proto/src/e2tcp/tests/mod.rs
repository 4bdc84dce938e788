//! Two ends over a path of fixed delay with a virtual clock; the tests decide which packets are lost, duplicated or
//! delayed. Every packet crosses the path as bytes, through encoder and decoder.

mod contract;
mod flow;
mod header;
mod identifiers;
mod ladders;
mod late;
mod payload;
mod reliability;
mod setup;
mod transfer;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use airwatt_base::{Instant, Machine, Seq, Span};

use super::*;
use crate::bad_path::Fate;
use crate::tcp::{ReceiveBytes, SendBytes};

type End = Connection<SendBytes, ReceiveBytes>;
type Script = Box<dyn FnMut(usize, u64, &E2tcpPacket) -> Fate>;

const A: usize = 0;
const B: usize = 1;

/// One-way delay of the path, unless a test has another one.
const DELAY: Span = Span::from_millis(50);

fn endpoint(host: u8, port: u16) -> Endpoint {
    Endpoint { ip: IpAddr::V4(Ipv4Addr::new(10, 0, 0, host)), port }
}

fn addresses() -> Addresses {
    Addresses::new(endpoint(1, 4000), endpoint(2, 80)).expect("both are IPv4")
}

/// The peer's stream as the application has received it: each byte, and whether it has arrived.
#[derive(Clone, Debug, Default)]
struct Stream {
    bytes: Vec<u8>,
    arrived: Vec<bool>,
    gaps: Vec<(u64, u64)>,
}

impl Stream {
    /// Whether at least `reliability` per cent of the bytes arrived.
    fn keeps(&self, reliability: u8) -> bool {
        let arrived = self.arrived.iter().filter(|arrived| **arrived).count();
        arrived * 100 >= usize::from(reliability) * self.arrived.len()
    }
}

struct Pair {
    now: Instant,
    delay: Span,
    ends: [End; 2],
    /// Packets in flight, by arrival time and order of transmission.
    path: BTreeMap<(Instant, u64), (usize, Vec<u8>)>,
    sent: [u64; 2],
    order: u64,
    script: Script,
    events: [Vec<Event>; 2],
    streams: [Stream; 2],
    /// Whether the applications read data as soon as it arrives.
    reading: bool,
    /// One line for each packet sent: time in ms, sender, packet, and outcome.
    ladder: Vec<String>,
    /// The window of A in packets after each change.
    windows: Vec<u32>,
}

impl Pair {
    fn new(a: End, b: End) -> Self {
        let windows = vec![a.window()];
        Self {
            now: Instant::ZERO,
            delay: DELAY,
            ends: [a, b],
            path: BTreeMap::new(),
            sent: [0; 2],
            order: 0,
            script: Box::new(|_, _, _| Fate::Arrive),
            events: [Vec::new(), Vec::new()],
            streams: [Stream::default(), Stream::default()],
            reading: true,
            ladder: Vec::new(),
            windows,
        }
    }

    /// Two established ends with these settings.
    fn established(a: &E2tcpConfig, b: &E2tcpConfig) -> Self {
        Self::new(Connection::established(a.clone(), b, 0), Connection::established(b.clone(), a, 0))
    }

    /// Two ends before the set-up; B listens.
    fn apart(a: &E2tcpConfig, b: &E2tcpConfig) -> Self {
        let mut pair = Self::new(
            Connection::new(a.clone(), 7, IpVersion::V4),
            Connection::new(b.clone(), 0, IpVersion::V4),
        );
        pair.input(B, Input::Listen);
        pair
    }

    fn with(mut self, script: impl FnMut(usize, u64, &E2tcpPacket) -> Fate + 'static) -> Self {
        self.script = Box::new(script);
        self
    }

    fn input(&mut self, who: usize, input: Input<Vec<u8>, Vec<u8>>) {
        self.ends[who].handle_input(input, self.now);
        self.settle(who);
        let ready = self.ends[who].readable_bytes();
        if self.reading && ready > 0 {
            self.read(who, ready);
        }
    }

    fn read(&mut self, who: usize, bytes: u64) {
        self.streams[who].bytes.extend(self.ends[who].front(bytes));
        self.ends[who].handle_input(Input::Read(bytes), self.now);
        self.settle(who);
    }

    fn settle(&mut self, who: usize) {
        let late = self.ends[who].late().to_vec();
        while let Some(output) = self.ends[who].poll_output() {
            match output {
                Output::Event(event) => self.note(who, event, &late),
                Output::Transmit(packet) => self.transmit(who, packet),
            }
        }
        if self.windows.last() != Some(&self.ends[A].window()) {
            self.windows.push(self.ends[A].window());
        }
    }

    fn note(&mut self, who: usize, event: Event, late: &[(u64, Vec<u8>)]) {
        let stream = &mut self.streams[who];
        let len = stream.arrived.len();
        match event {
            Event::Delivered { bytes } => stream.arrived.resize(len + bytes as usize, true),
            Event::Gap { at, bytes } => {
                assert_eq!(at, len as u64, "a gap lies where the stream stands");
                stream.gaps.push((at, bytes));
                stream.arrived.resize(len + bytes as usize, false);
            }
            Event::Late { at, bytes } => {
                let (_, piece) = late.iter().find(|(place, _)| *place == at).expect("the bytes are there");
                assert_eq!(piece.len() as u64, bytes);
                for (index, byte) in (at as usize..).zip(piece) {
                    assert!(!stream.arrived[index], "late bytes fill a gap, once");
                    stream.arrived[index] = true;
                    // If the byte is not read yet, the buffer has it in its place.
                    if let Some(place) = stream.bytes.get_mut(index) {
                        *place = *byte;
                    }
                }
            }
            _ => {}
        }
        self.events[who].push(event);
    }

    fn transmit(&mut self, who: usize, packet: E2tcpPacket) {
        self.sent[who] += 1;
        let fate = (self.script)(who, self.sent[who], &packet);
        let mark = match &fate {
            Fate::Arrive => "",
            Fate::Lose => " /lost/",
            Fate::Delay(_) => " /late/",
            Fate::Double(_) => " /twice/",
        };
        self.ladder.push(format!("{} {} {packet}{mark}", self.now.as_nanos() / 1_000_000, ["A>", "<B"][who]));
        let payload = self.ends[who].payload_of(&packet);
        assert_eq!(payload.len(), usize::from(packet.len), "the buffer has what the packet says");
        let mut bytes = Vec::new();
        let ours = if who == A { addresses() } else { addresses().swapped() };
        packet.header.encode(Some(ours), &payload, &mut bytes);
        assert_eq!(bytes.len(), packet.bytes());
        let arrives = self.now + self.delay;
        match fate {
            Fate::Lose => {}
            Fate::Arrive => self.put(arrives, who, bytes),
            Fate::Delay(more) => self.put(arrives + more, who, bytes),
            Fate::Double(more) => {
                self.put(arrives, who, bytes.clone());
                self.put(arrives + more, who, bytes);
            }
        }
    }

    fn put(&mut self, at: Instant, who: usize, bytes: Vec<u8>) {
        self.order += 1;
        self.path.insert((at, self.order), (who, bytes));
    }

    fn arrive(&mut self, whose: usize, bytes: &[u8]) {
        let (header, _, payload) = Header::decode(bytes).expect("our own packets decode");
        let packet = E2tcpPacket { header, len: payload.len() as u16 };
        self.input(1 - whose, Input::Packet(packet, payload.to_vec()));
    }

    /// Processes the next event up to `until`. Returns false if there is none.
    fn step(&mut self, until: Instant) -> bool {
        let arrival = self.path.keys().next().map_or(Instant::FOREVER, |(at, _)| *at);
        let timeout = |who: usize| self.ends[who].poll_timeout().map_or(Instant::FOREVER, |t| t.at);
        let (a, b) = (timeout(A), timeout(B));
        let next = arrival.min(a).min(b);
        if next > until || next == Instant::FOREVER {
            return false;
        }
        self.now = next;
        if arrival == next {
            if let Some((_, (whose, bytes))) = self.path.pop_first() {
                self.arrive(whose, &bytes);
            }
        } else {
            let who = if a == next { A } else { B };
            self.ends[who].handle_timeout(next);
            self.settle(who);
        }
        true
    }

    /// Runs until there are no more events.
    fn finish(&mut self) {
        let mut steps = 0;
        while self.step(Instant::FOREVER) {
            steps += 1;
            assert!(steps < 1_000_000, "never ends");
        }
    }

    fn run(&mut self, millis: u64) {
        let until = Instant::from_millis(millis);
        while self.step(until) {}
        self.now = self.now.max(until);
    }

    /// Runs as long as this, while `who` serves its timers and reads nothing.
    fn stall(&mut self, who: usize, until: Span) {
        let until = Instant::ZERO + until;
        loop {
            let early =
                |(at, _): &(Instant, u64), (whose, _): &mut (usize, Vec<u8>)| *whose != who && *at < until;
            let early: Vec<_> = self.path.extract_if(.., early).collect();
            self.path.extend(early.into_iter().map(|((_, order), packet)| ((until, order), packet)));
            if !self.step(until.saturating_sub(Span::from_nanos(1))) {
                return;
            }
        }
    }

    /// The ladder's lines that contain `text`.
    fn lines(&self, text: &str) -> Vec<&str> {
        self.ladder.iter().map(String::as_str).filter(|line| line.contains(text)).collect()
    }
}

/// Bytes that identify their position.
fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 7 + at / 251 + at / 65_000) as u8).collect()
}

/// Settings of an end that starts with data, at sequence number 0, so that packet n ends at byte 1000 n.
/// The settings of the thesis, which describes no doubling of timeouts.
fn plain() -> E2tcpConfig {
    E2tcpConfig { back_off: false, ..E2tcpConfig::default() }
}

/// The number n of a packet with data.
fn number(packet: &E2tcpPacket) -> u32 {
    packet.header.sequence.map_or(0, |seq| if packet.len > 0 { seq.value().div_ceil(1000) } else { 0 })
}

/// Does the same as the fuzz target: bytes that decode must have exactly one encoding.
fn replay(packet: &[u8]) {
    if let Ok((header, addresses, payload)) = Header::decode(packet) {
        let mut again = Vec::new();
        header.encode(addresses, payload, &mut again);
        assert_eq!(again, packet);
        assert_eq!(header.bytes() + payload.len(), packet.len());
    }
}
