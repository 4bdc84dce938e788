//! Two ends over a path of fixed delay with a virtual clock; the tests decide which segments are lost, duplicated or
//! delayed.

mod ackloss;
mod arrival;
mod contract;
mod delivered;
mod handshake;
mod partial;
mod recovery;
mod scoreboard;
mod timestamps;
mod transfer;
mod window;

use std::collections::BTreeMap;

use airwatt_base::{Instant, Machine, Span};

use super::*;
use crate::bad_path::Fate;
use crate::cc::Algorithm;

/// The timer of simulators of the year 2000.
const COARSE: RtoClock = RtoClock::Coarse;

/// The two kinds of connections: lengths and bytes.
trait Kind {
    type Send: SendBuffer;
    type Receive: ReceiveBuffer;
    fn payload(
        end: &Connection<Self::Send, Self::Receive>,
        segment: &Segment,
    ) -> <Self::Receive as ReceiveBuffer>::Payload;
}

#[derive(Debug)]
struct InLengths;

impl Kind for InLengths {
    type Send = Lengths;
    type Receive = Lengths;
    fn payload(_end: &Connection, _segment: &Segment) {}
}

#[derive(Debug)]
struct InBytes;

impl Kind for InBytes {
    type Send = SendBytes;
    type Receive = ReceiveBytes;
    fn payload(end: &Connection<SendBytes, ReceiveBytes>, segment: &Segment) -> Vec<u8> {
        let bytes = end.payload_of(segment);
        assert_eq!(bytes.len(), usize::from(segment.len), "the buffer has what the segment says");
        bytes
    }
}

/// Indices of the two ends.
const A: usize = 0;
const B: usize = 1;

type Payload<K> = <<K as Kind>::Receive as ReceiveBuffer>::Payload;
type Data<K> = <<K as Kind>::Send as SendBuffer>::Data;
type Script = Box<dyn FnMut(usize, u64, &Segment) -> Fate>;

struct Pair<K: Kind> {
    now: Instant,
    delay: Span,
    ends: [Connection<K::Send, K::Receive>; 2],
    /// Segments in flight, by arrival time and order of transmission.
    path: BTreeMap<(Instant, u64), (usize, Segment, Payload<K>)>,
    sent: [u64; 2],
    order: u64,
    /// Decides the fate of a segment, from the index of its sender, its number (from 1), and the segment.
    script: Script,
    events: [Vec<Event>; 2],
    /// One line for each segment sent: time in ms, sender, segment, and outcome.
    ladder: Vec<String>,
    /// Congestion window and threshold of A in bytes after each change.
    windows: Vec<(u32, u32)>,
}

impl<K: Kind> Pair<K> {
    fn new(a: Connection<K::Send, K::Receive>, b: Connection<K::Send, K::Receive>, delay: Span) -> Self {
        let windows = vec![(a.cwnd(), a.ssthresh())];
        Self {
            now: Instant::ZERO,
            delay,
            ends: [a, b],
            path: BTreeMap::new(),
            sent: [0; 2],
            order: 0,
            script: Box::new(|_, _, _| Fate::Arrive),
            events: [Vec::new(), Vec::new()],
            ladder: Vec::new(),
            windows,
        }
    }

    fn established(config: &TcpConfig, delay: Span) -> Self {
        let end = || Connection::established(config.clone(), config);
        Self::new(end(), end(), delay)
    }

    fn with(mut self, script: impl FnMut(usize, u64, &Segment) -> Fate + 'static) -> Self {
        self.script = Box::new(script);
        self
    }

    fn input(&mut self, who: usize, input: Input<Data<K>, Payload<K>>) {
        self.ends[who].handle_input(input, self.now);
        self.settle(who);
    }

    fn settle(&mut self, who: usize) {
        while let Some(output) = self.ends[who].poll_output() {
            match output {
                Output::Event(event) => self.events[who].push(event),
                Output::Transmit(segment) => self.transmit(who, segment),
            }
        }
        let window = (self.ends[A].cwnd(), self.ends[A].ssthresh());
        if self.windows.last() != Some(&window) {
            self.windows.push(window);
        }
    }

    fn transmit(&mut self, who: usize, segment: Segment) {
        self.sent[who] += 1;
        let fate = (self.script)(who, self.sent[who], &segment);
        let mark = match &fate {
            Fate::Arrive => "",
            Fate::Lose => " /lost/",
            Fate::Delay(_) => " /late/",
            Fate::Double(_) => " /twice/",
        };
        let name = ["A>", "<B"][who];
        self.ladder.push(format!("{} {name} {segment}{mark}", self.now.as_nanos() / 1_000_000));
        let payload = K::payload(&self.ends[who], &segment);
        let arrives = self.now + self.delay;
        match fate {
            Fate::Lose => {}
            Fate::Arrive => self.put(arrives, who, segment, payload),
            Fate::Delay(more) => self.put(arrives + more, who, segment, payload),
            Fate::Double(more) => {
                self.put(arrives, who, segment, payload.clone());
                self.put(arrives + more, who, segment, payload);
            }
        }
    }

    fn put(&mut self, at: Instant, who: usize, segment: Segment, payload: Payload<K>) {
        self.order += 1;
        self.path.insert((at, self.order), (1 - who, segment, payload));
    }

    /// Processes the next event up to `until`. Returns false if there is none.
    fn step(&mut self, until: Instant) -> bool {
        let arrival = self.path.first_key_value().map(|((at, _), _)| *at);
        let timer = |end: &Connection<_, _>| end.poll_timeout().map(|timeout| timeout.at);
        let timers = [timer(&self.ends[A]), timer(&self.ends[B])];
        let Some(next) = [arrival, timers[A], timers[B]].into_iter().flatten().min() else { return false };
        if next > until {
            return false;
        }
        assert!(next >= self.now, "time never goes back");
        self.now = next;
        if arrival == Some(next) {
            let (_, (who, segment, payload)) = self.path.pop_first().expect("an arrival");
            self.input(who, Input::Segment(segment, payload));
        } else {
            let who = if timers[A] == Some(next) { A } else { B };
            self.ends[who].handle_timeout(next);
            self.settle(who);
        }
        true
    }

    /// Runs for `span`, and sets the clock to its end.
    fn run(&mut self, span: Span) {
        let until = self.now + span;
        while self.step(until) {}
        self.now = until;
    }

    /// Runs until there are no more events.
    fn run_out(&mut self) {
        let mut steps = 0_u64;
        while self.step(Instant::FOREVER) {
            steps += 1;
            assert!(steps < 20_000_000, "never ends:\n{}", self.ladder[self.ladder.len() - 20..].join("\n"));
        }
    }

    /// Bytes delivered at `who`.
    fn delivered(&self, who: usize) -> u64 {
        self.ends[who].statistics().bytes_delivered
    }

    /// Takes the lines since the last call and compares them.
    #[track_caller]
    fn expect(&mut self, expected: &str) {
        let expected: Vec<&str> = expected.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let ladder = std::mem::take(&mut self.ladder);
        assert_eq!(ladder, expected, "\nwas:\n{}\n", ladder.join("\n"));
    }
}

/// Settings with segments of 1000 bytes, a window that does not limit, and an acknowledgement of every segment at once.
fn plain() -> TcpConfig {
    TcpConfig { mss: 1000, receive_window: 100_000, delayed_ack: None, ..TcpConfig::default() }
}

fn millis(count: u64) -> Span {
    Span::from_millis(count)
}
