//! Two ends over a pipe with delay, rate and losses.

use std::collections::VecDeque;

use airwatt_base::{Instant, Size, Span};

use super::{QuicAckRule, QuicConfig, QuicCongestion, QuicContent, QuicEnd, QuicOutput};
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
    /// Streams that have ended at each end.
    ended: [Vec<u64>; 2],
    /// Numbers of datagrams of the server that are lost.
    lost: Vec<usize>,
    /// Nothing arrives from this time on.
    silent_from: Instant,
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
            ended: [Vec::new(), Vec::new()],
            lost: Vec::new(),
            silent_from: Instant::FOREVER,
        }
    }

    fn drain(&mut self, from: usize) {
        while let Some(output) = self.ends[from].poll() {
            match output {
                QuicOutput::Event(event) => self.events[from].push((self.now, event)),
                QuicOutput::StreamEnded(number) => self.ended[from].push(number),
                QuicOutput::Transmit(datagram, content) => {
                    let number = self.sent[from].len();
                    self.sent[from].push((datagram.len(), content == QuicContent::Acknowledgement));
                    if from == 1 && self.lost.contains(&number) || self.now >= self.silent_from {
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
        assert_eq!(counts.retransmitted, 6, "{congestion:?}");
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

/// Chrome acknowledges each second of the first hundred packets, then each tenth, or after a quarter of the least round-trip time: of this path 10.6 ms,
/// which are 9 packets of 1.184 ms. Nothing that its receiver is told is on the air.
#[test]
fn chrome_acknowledges_in_two_steps() {
    let config = QuicConfig { ack_rule: QuicAckRule::Chrome, ..QuicConfig::default() };
    let count = |bytes: u64, config: &QuicConfig| {
        let pair = download(config, bytes, Vec::new());
        assert_eq!(pair.delivered(0), bytes);
        assert_eq!(pair.ends[1].counts().retransmitted, 0);
        (pair.sent[0].iter().filter(|(_, is_ack)| *is_ack).count(), pair.sent[1].len())
    };
    let [(short, short_of), (second, second_of)] =
        [&config, &QuicConfig::default()].map(|config| count(100_000, config));
    assert_eq!((short, short_of), (second, second_of), "below a hundred packets both are the same");
    let (all, packets) = count(5_000_000, &config);
    let share = all.saturating_sub(50) as f64 / packets.saturating_sub(100) as f64;
    assert!((0.095..0.125).contains(&share), "{share}");
    // A packet as long as the path permits is no longer by what its receiver is told.
    let longest = download(&config, 5_000_000, Vec::new()).sent[1].iter().map(|(bytes, _)| *bytes).max();
    assert!(longest <= Some(1_452));
    // Losses are seen and repaired as with the other rule.
    let pair = download(&config, 2_000_000, vec![400, 402, 900]);
    assert_eq!(
        (pair.delivered(0), pair.ends[1].counts().retransmitted, pair.ends[1].counts().timeouts),
        (2_000_000, 3, 0)
    );
}

/// RFC 9002 section 6.2: the probe time-out is doubled each time. When nothing arrives any more, a sender's time-outs in a minute are as many as
/// doublings of the first one go into it.
#[test]
fn probe_timeouts_are_counted() {
    // So little that no queue stands: an end that has sent all takes a round trip that has just grown for a loss, as the RFC's timer does.
    let free = download(&QuicConfig::default(), 60_000, vec![20]);
    assert_eq!(
        free.ends.each_ref().map(|end| end.counts().timeouts),
        [0, 0],
        "losses are seen by acknowledgements"
    );
    // The server's last packets are lost: one time-out, of which the probe shows the loss.
    let last = free.sent[1].len() - 1;
    let tail = download(&QuicConfig::default(), 60_000, vec![20, last - 1, last]);
    assert_eq!((tail.delivered(0), tail.ends[1].counts().timeouts), (60_000, 1));
    let mut silent = Pair { silent_from: Instant::from_secs(1), ..Pair::new(&QuicConfig::default()) };
    silent.ends[0].open(Instant::ZERO);
    silent.ends[1].write(5_000_000, Instant::ZERO);
    silent.run(Instant::from_secs(61));
    // The first one is between a round trip of 42 ms and that with a full window and 25 ms of waiting.
    let timeouts = silent.ends[1].counts().timeouts;
    assert!((6..=10).contains(&timeouts), "{timeouts}");
    // A client whose Initial is lost: 1 s at first (RFC 9002 section 6.2.2 with an RTT of 333 ms), then 2, 4, 8, 16 s.
    let mut alone = Pair { silent_from: Instant::ZERO, ..Pair::new(&QuicConfig::default()) };
    alone.ends[0].open(Instant::ZERO);
    alone.run(Instant::from_secs(40));
    assert_eq!(alone.ends[0].counts().timeouts, 5);
}

/// What is urgent is sent first, whenever it was written; within an urgency streams take turns. Streams that are written together leave together.
#[test]
fn urgent_streams_come_first() {
    let mut pair = Pair::new(&QuicConfig::default());
    pair.ends[0].open(Instant::ZERO);
    for (number, urgency) in [(0, 3), (1, 3), (2, 1), (3, 2), (4, 2)] {
        pair.ends[1].write_stream(200_000, urgency, number < 4, Instant::ZERO);
    }
    pair.run(Instant::from_secs(60));
    assert_eq!(pair.delivered(0), 1_000_000);
    assert_eq!(pair.ended[0][0], 2);
    let mut pairs = [pair.ended[0][1..3].to_vec(), pair.ended[0][3..].to_vec()];
    pairs.iter_mut().for_each(|two| two.sort_unstable());
    assert_eq!(pairs, [vec![3, 4], vec![0, 1]]);
    let mut pair = Pair::new(&QuicConfig::default());
    pair.ends[0].open(Instant::ZERO);
    pair.run(Instant::from_millis(200));
    let before = pair.sent[0].len();
    for number in 0..10 {
        pair.ends[0].write_stream(100, 3, number < 9, Instant::from_millis(200));
    }
    pair.drain(0);
    assert_eq!(pair.sent[0].len(), before + 1, "ten requests of 100 bytes are one datagram");
}

/// A loss halves NewReno's window and takes three tenths of CUBIC's (RFC 9002 section 7.3.2, RFC 9438 section 4.6), once for a burst.
#[test]
fn a_burst_of_losses_reduces_the_window_once() {
    for (congestion, kept) in [(QuicCongestion::NewReno, 0.5), (QuicCongestion::Cubic, 0.7)] {
        let config = QuicConfig { congestion, ..QuicConfig::default() };
        let thresholds = |lost: Vec<usize>| download(&config, 400_000, lost).ends[1].sender_window();
        let [one, burst] =
            [thresholds(vec![60]), thresholds(vec![60, 62, 64])].map(|counts| counts.threshold);
        let free = thresholds(Vec::new());
        assert_eq!(free.threshold, u32::MAX, "{congestion:?}");
        assert!(one < free.window, "{congestion:?}");
        // The later packets of the burst grow the window no more before the reduction: it is at most a packet each smaller.
        let share = f64::from(burst) / f64::from(one);
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
