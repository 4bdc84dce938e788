//! Two ends over a pipe with delay, rate and losses.

use std::collections::VecDeque;

use airwatt_base::{Instant, Size, Span};

use super::{QuicConfig, QuicCongestion, QuicEnd, QuicOutput};
use crate::end::EndEvent;

const DELAY: Span = Span::from_millis(20);
/// Time of a full packet at 10 Mbit/s.
const PACKET_TIME: Span = Span::from_micros(1_184);

/// A datagram on its way.
struct Datagram {
    arrives: Instant,
    bytes: Vec<u8>,
}

/// A client (0), a server (1) and what is between them.
struct Pair {
    ends: [QuicEnd; 2],
    /// Datagrams to each end.
    ways: [VecDeque<Datagram>; 2],
    /// When the way to each end is free.
    free: [Instant; 2],
    now: Instant,
    events: [Vec<(Instant, EndEvent)>; 2],
    /// Lengths of UDP payloads that each end sent, and whether they only acknowledged.
    sent: [Vec<(usize, bool)>; 2],
    /// Numbers of datagrams of the server that are lost.
    lost: Vec<usize>,
}

impl Pair {
    fn new(config: &QuicConfig) -> Self {
        Self {
            ends: [QuicEnd::new(config, 7), QuicEnd::new(config, !7)],
            ways: [VecDeque::new(), VecDeque::new()],
            free: [Instant::ZERO; 2],
            now: Instant::ZERO,
            events: [Vec::new(), Vec::new()],
            sent: [Vec::new(), Vec::new()],
            lost: Vec::new(),
        }
    }

    fn drain(&mut self, from: usize) {
        while let Some(output) = self.ends[from].poll() {
            match output {
                QuicOutput::Event(event) => self.events[from].push((self.now, event)),
                QuicOutput::Transmit { datagram, is_ack, .. } => {
                    let number = self.sent[from].len();
                    self.sent[from].push((datagram.len(), is_ack));
                    if from == 1 && self.lost.contains(&number) {
                        continue;
                    }
                    let to = 1 - from;
                    self.free[to] = self.free[to].max(self.now) + PACKET_TIME;
                    self.ways[to].push_back(Datagram { arrives: self.free[to] + DELAY, bytes: datagram });
                }
            }
        }
    }

    /// Runs until nothing is due any more, or the time.
    fn run(&mut self, until: Instant) {
        loop {
            self.drain(0);
            self.drain(1);
            let arrivals = self.ways.iter().filter_map(|way| way.front()).map(|datagram| datagram.arrives);
            let Some(next) = arrivals.chain(self.ends.iter().filter_map(QuicEnd::due)).min() else { return };
            if next > until {
                return;
            }
            assert!(next >= self.now, "time goes back");
            self.now = next;
            for (end, way) in self.ends.iter_mut().zip(&mut self.ways) {
                while way.front().is_some_and(|datagram| datagram.arrives <= next) {
                    let datagram = way.pop_front().expect("there is one");
                    end.receive(&datagram.bytes, next);
                }
                end.handle_timeout(next);
                assert!(end.due().is_none_or(|due| due > next), "a served timeout is gone");
            }
        }
    }

    fn delivered(&self, end: usize) -> u64 {
        let bytes = |event: &(Instant, EndEvent)| match event.1 {
            EndEvent::Delivered(bytes) => bytes,
            _ => 0,
        };
        self.events[end].iter().map(bytes).sum()
    }

    fn time_of(&self, end: usize, wanted: EndEvent) -> Option<Instant> {
        self.events[end].iter().find(|(_, event)| *event == wanted).map(|(at, _)| *at)
    }
}

fn download(config: &QuicConfig, bytes: u64, lost: Vec<usize>) -> Pair {
    let mut pair = Pair { lost, ..Pair::new(config) };
    pair.ends[0].open(Instant::ZERO);
    pair.ends[1].write(bytes, Instant::ZERO);
    pair.run(Instant::from_secs(60));
    pair
}

#[test]
fn a_handshake_takes_a_round_trip_and_the_flights_of_tls() {
    let pair = download(&QuicConfig::default(), 1, Vec::new());
    // An Initial has at least 1200 bytes (RFC 9000 section 14.1).
    assert_eq!(pair.sent[0][0], (1200, false));
    // Until the client's address is validated, the server sends at most three times what it got.
    let flight: usize = pair.sent[1].iter().take(3).map(|(bytes, _)| bytes).sum();
    assert!((3_000..=3 * 1200).contains(&flight), "{flight}");
    // The Initial and the three packets of the server's flight, each 1.184 ms, and two delays.
    let connected = pair.time_of(0, EndEvent::Connected).expect("it is connected");
    assert_eq!(connected, Instant::ZERO + DELAY + DELAY + PACKET_TIME * 4);
}

#[test]
fn everything_arrives_and_is_acknowledged() {
    for congestion in [QuicCongestion::NewReno, QuicCongestion::Cubic] {
        let config = QuicConfig { congestion, ..QuicConfig::default() };
        let pair = download(&config, 5_000_000, vec![40, 41, 90, 300, 301, 302]);
        assert_eq!(pair.delivered(0), 5_000_000, "{congestion:?}");
        let done = pair.time_of(1, EndEvent::AllAcknowledged).expect("all is acknowledged");
        // 5 MB in packets of at most 1452 bytes, each 1.184 ms, take 4.1 s.
        assert!(
            (4_100..8_000).contains(&((done - Instant::ZERO).as_nanos() / 1_000_000)),
            "{congestion:?} {done:?}"
        );
        let counts = pair.ends[1].counts();
        assert_eq!(counts.lost, 6, "{congestion:?}");
        assert!(counts.rtt_mean.is_some_and(|rtt| rtt >= DELAY * 2));
    }
}

#[test]
fn path_mtu_discovery_finds_1452_bytes() {
    let longest = |config: &QuicConfig| {
        let pair = download(config, 500_000, Vec::new());
        pair.sent[1].iter().map(|(bytes, _)| *bytes).max()
    };
    let found = longest(&QuicConfig::default()).expect("datagrams were sent");
    assert!((1_433..=1_452).contains(&found), "{found}");
    assert_eq!(longest(&QuicConfig { mtu: Size::from_bytes(1200), ..QuicConfig::default() }), Some(1200));
}

#[test]
fn an_agreement_thins_acknowledgements() {
    let acknowledgements = |config: &QuicConfig| {
        let pair = download(config, 5_000_000, Vec::new());
        let data = pair.sent[1].len() as f64;
        pair.sent[0].iter().filter(|(_, is_ack)| *is_ack).count() as f64 / data
    };
    let every_second = acknowledgements(&QuicConfig::default());
    assert!((0.45..0.55).contains(&every_second), "{every_second}");
    // 25 ms are 21 packets of this path.
    let every_tenth = acknowledgements(&QuicConfig { ack_every: 10, ..QuicConfig::default() });
    assert!((0.09..0.13).contains(&every_tenth), "{every_tenth}");
}

/// A loss halves NewReno's window and takes three tenths of CUBIC's (RFC 9002 section 7.3.2, RFC 9438 section 4.6), once for a burst.
#[test]
fn a_burst_of_losses_reduces_the_window_once() {
    for (congestion, kept) in [(QuicCongestion::NewReno, 0.5), (QuicCongestion::Cubic, 0.7)] {
        let config = QuicConfig { congestion, ..QuicConfig::default() };
        let thresholds = |lost: Vec<usize>| download(&config, 400_000, lost).ends[1].counts();
        let [one, burst] =
            [thresholds(vec![60]), thresholds(vec![60, 62, 64])].map(|counts| counts.threshold);
        let free = thresholds(Vec::new());
        assert_eq!(free.threshold, u64::from(u32::MAX), "{congestion:?}");
        assert!(one < free.window, "{congestion:?}");
        // The later packets of the burst grow the window no more before the reduction: it is at most a packet each smaller.
        let share = burst as f64 / one as f64;
        assert!((0.95..=1.0).contains(&share), "{congestion:?} {kept} {share}");
    }
}

#[test]
fn writes_are_streams_that_wait_for_no_other() {
    let mut pair = Pair { lost: vec![12], ..Pair::new(&QuicConfig::default()) };
    pair.ends[0].open(Instant::ZERO);
    for _ in 0..120 {
        pair.ends[1].write(500, Instant::ZERO);
    }
    pair.run(Instant::from_secs(60));
    // More writes than the 100 streams that a peer permits at once.
    assert_eq!(pair.delivered(0), 60_000);
    assert!(pair.time_of(1, EndEvent::AllAcknowledged).is_some());
    let gaps = pair.events[0].windows(2).map(|two| two[1].0 - two[0].0).max();
    assert!(gaps.is_some_and(|gap| gap < DELAY * 3), "{gaps:?}");
}

#[test]
fn runs_are_repeated_to_the_bit() {
    let run = || download(&QuicConfig::default(), 300_000, vec![20, 33]);
    let (one, two) = (run(), run());
    assert_eq!(one.sent, two.sent);
    assert_eq!(one.events, two.events);
    assert_eq!(one.now, two.now);
}

#[test]
fn a_connection_without_traffic_has_no_timer() {
    let pair = download(&QuicConfig::default(), 1_000, Vec::new());
    assert_eq!(pair.ends.iter().filter_map(QuicEnd::due).min(), None);
}
