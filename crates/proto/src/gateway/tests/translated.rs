//! E2TCP's rules in TCP's segments, against a TCP that knows of nothing.

use std::collections::BTreeMap;

use airwatt_base::{Instant, Seq, Span};
use proptest::prelude::*;

use crate::bad_path::{Badness, Fate, bad_path};
use crate::cc::Algorithm;
use crate::e2tcp::E2tcpConfig;
use crate::end::{End, EndEvent, EndOutput, Stream};
use crate::gateway::Translated;
use crate::tcp::{self, Ecn, Flags, ReceiveBytes, SackBlocks, Segment, SendBytes, TcpConfig};

type Base = Translated<SendBytes, ReceiveBytes>;
type Mobile = tcp::Connection<SendBytes, ReceiveBytes>;

/// What becomes of each packet of a path.
type Path = Box<dyn FnMut(usize, u64, &()) -> Fate>;

/// Bytes by which their place can be told.
fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at % 251) as u8 ^ (at / 251) as u8).collect()
}

/// Both ends, the packets on their way, and what each end has received.
struct Pair {
    base: Base,
    mobile: Mobile,
    now: Instant,
    queue: BTreeMap<(Instant, u64), (bool, Segment, Vec<u8>)>,
    count: u64,
    path: Path,
    received: [Vec<u8>; 2],
    events: [Vec<EndEvent>; 2],
    closes: [bool; 2],
    /// Segments with data that the base station sent.
    sent: usize,
}

impl Pair {
    fn new(mobile: TcpConfig, seed: u64, badness: Badness) -> Self {
        let isn = |value| Seq::new(value);
        let config = E2tcpConfig { initial_sequence: isn(u32::MAX - 20_000), ..E2tcpConfig::default() };
        Self {
            base: Base::new(E2tcpConfig { read_at_once: false, ..config }, 40),
            mobile: Mobile::new(TcpConfig {
                initial_sequence: isn(77),
                congestion: Algorithm::Sack,
                ..mobile
            }),
            now: Instant::ZERO,
            queue: BTreeMap::new(),
            count: 0,
            path: Box::new(bad_path(seed, badness)),
            received: Default::default(),
            events: Default::default(),
            closes: [false; 2],
            sent: 0,
        }
    }

    fn transmit(&mut self, to_mobile: bool, segment: Segment, payload: Vec<u8>) {
        assert_eq!(usize::from(segment.len), payload.len());
        if to_mobile {
            self.sent += usize::from(segment.len > 0);
            assert!(segment.flags.has(Flags::ACK) || segment.flags.has(Flags::SYN), "{segment}");
        }
        let delays = match (self.path)(0, 0, &()) {
            Fate::Arrive => vec![Span::ZERO],
            Fate::Lose => vec![],
            Fate::Delay(more) => vec![more],
            Fate::Double(more) => vec![Span::ZERO, more],
        };
        for delay in delays {
            self.count += 1;
            let at = self.now + Span::from_millis(5) + delay;
            self.queue.insert((at, self.count), (to_mobile, segment, payload.clone()));
        }
    }

    fn collect(&mut self) {
        loop {
            let mut any = false;
            while let Some(output) = self.base.poll() {
                any = true;
                match output {
                    EndOutput::Transmit((segment, payload)) => self.transmit(true, segment, payload),
                    EndOutput::Event(event) => self.events[0].push(event),
                }
            }
            while let Some(output) = End::poll(&mut self.mobile) {
                any = true;
                match output {
                    EndOutput::Transmit((segment, payload)) => self.transmit(false, segment, payload),
                    EndOutput::Event(event) => self.events[1].push(event),
                }
            }
            for (end, bytes) in [(0, self.base.readable()), (1, self.mobile.readable())] {
                if bytes > 0 {
                    any = true;
                    let data = match end {
                        0 => self.base.read(bytes, self.now),
                        _ => self.mobile.read(bytes, self.now),
                    };
                    self.received[end].extend(data);
                }
            }
            // Each end closes when it is connected; what was written is still delivered.
            for end in [0, 1] {
                if self.events[end].contains(&EndEvent::Connected) && !self.closes[end] {
                    any = true;
                    self.closes[end] = true;
                    match end {
                        0 => self.base.close(self.now),
                        _ => self.mobile.close(self.now),
                    }
                }
            }
            if !any {
                return;
            }
        }
    }

    fn run(&mut self, until: Instant) {
        self.collect();
        for _ in 0..400_000 {
            let arrival = self.queue.first_key_value().map(|((at, _), _)| *at);
            let timers = [End::due(&self.base), End::due(&self.mobile)];
            let Some(next) = timers.into_iter().chain([arrival]).flatten().min().filter(|at| *at <= until)
            else {
                return;
            };
            self.now = next;
            if arrival == Some(next) {
                let (_, (to_mobile, segment, payload)) = self.queue.pop_first().expect("it was there");
                if to_mobile {
                    self.mobile.receive((segment, payload), next);
                } else {
                    self.base.receive((segment, payload), next);
                }
            } else {
                End::handle_timeout(&mut self.base, next);
                End::handle_timeout(&mut self.mobile, next);
            }
            self.collect();
        }
        panic!("never ends");
    }

    /// Connects, carries both patterns and closes.
    fn exchange(&mut self, lens: [usize; 2], base_opens: bool) {
        if base_opens {
            self.mobile.listen(self.now);
            Stream::open(&mut self.base, self.now);
        } else {
            Stream::listen(&mut self.base, self.now);
            Stream::open(&mut self.mobile, self.now);
        }
        self.base.write(pattern(lens[0]), self.now);
        self.mobile.write(pattern(lens[1]), self.now);
        self.run(Instant::from_millis(20_000_000));
    }
}

const QUIET: Badness = Badness { lose: 0, double: 0, delay: 0 };

#[test]
fn a_tcp_without_any_change_is_served_in_both_directions() {
    for base_opens in [true, false] {
        let mut pair = Pair::new(TcpConfig::default(), 1, QUIET);
        pair.exchange([100_000, 60_000], base_opens);
        assert_eq!(pair.received[1], pattern(100_000));
        assert_eq!(pair.received[0], pattern(60_000));
        for events in &pair.events {
            assert!(
                events.contains(&EndEvent::Closed) && events.contains(&EndEvent::PeerClosed),
                "{events:?}"
            );
        }
        assert_eq!(pair.sent, 100, "a thousand bytes each, none of them twice");
    }
}

/// More ranges than a segment reports: what was reported once is not sent again.
#[test]
fn blocks_are_remembered() {
    let config = E2tcpConfig { min_window: 25, ..E2tcpConfig::default() };
    let mut base: Base = Translated::established(config, 40, Seq::new(0));
    Stream::write(&mut base, pattern(25_000), Instant::ZERO);
    let mut sent = Vec::new();
    let mut drain = |base: &mut Base| {
        let mut new = Vec::new();
        while let Some(EndOutput::Transmit((segment, _))) = base.poll() {
            new.push(segment.seq.value() / 1_000);
        }
        sent.extend(new.clone());
        new
    };
    assert_eq!(drain(&mut base).len(), 25);
    // Every other segment arrives. A TCP receiver names the newest three ranges, the newest first.
    let mut resent = Vec::new();
    for newest in (1..25).step_by(2) {
        let mut sack = SackBlocks::NONE;
        for block in [newest, newest - 2, newest - 4].into_iter().filter(|block| *block >= 1) {
            sack.push(Seq::new(1 + 1_000 * block as u32), Seq::new(1 + 1_000 * (block as u32 + 1)));
        }
        let ack = Segment {
            seq: Seq::new(1),
            ack: Seq::new(1),
            window: 60_000,
            len: 0,
            flags: Flags::ACK,
            ecn: Ecn::NONE,
            sack,
            timestamps: None,
        };
        base.receive((ack, Vec::new()), Instant::from_millis(newest as u64));
        resent.extend(drain(&mut base));
    }
    assert!(resent.iter().all(|segment| segment % 2 == 0), "{resent:?}");
    assert!(resent.contains(&0) && resent.contains(&2), "{resent:?}");
}

/// A reset that does not continue what arrived ends nothing (RFC 5961).
#[test]
fn a_guessed_reset_ends_nothing() {
    let mut base: Base = Translated::established(E2tcpConfig::default(), 40, Seq::new(0));
    let reset = |seq| Segment {
        seq: Seq::new(seq),
        ack: Seq::new(0),
        window: 0,
        len: 0,
        flags: Flags::RST,
        ecn: Ecn::NONE,
        sack: SackBlocks::NONE,
        timestamps: None,
    };
    for seq in [0, 2, 1_000, 60_000, 4_000_000_000] {
        base.receive((reset(seq), Vec::new()), Instant::ZERO);
        assert_eq!(base.poll(), None, "{seq}");
    }
    base.receive((reset(1), Vec::new()), Instant::ZERO);
    assert_eq!(base.poll(), Some(EndOutput::Event(EndEvent::Reset)));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn bytes_arrive_intact(
        seed in any::<u64>(),
        (lose, double, delay) in (0_u32..250, 0_u32..100, 0_u32..150),
        lens in (0_usize..50_000, 0_usize..50_000),
        (base_opens, delayed) in (any::<bool>(), any::<bool>()),
    ) {
        let delayed_ack = TcpConfig::default().delayed_ack.filter(|_| delayed);
        let mobile = TcpConfig { delayed_ack, ..TcpConfig::default() };
        let mut pair = Pair::new(mobile, seed, Badness { lose, double, delay });
        pair.exchange([lens.0, lens.1], base_opens);
        prop_assert!(pattern(lens.0).starts_with(&pair.received[1]));
        prop_assert!(pattern(lens.1).starts_with(&pair.received[0]));
        let gave_up = pair.events.iter().flatten().any(|event| *event == EndEvent::TimedOut || *event == EndEvent::Reset);
        if !gave_up {
            prop_assert_eq!((pair.received[1].len(), pair.received[0].len()), lens);
        }
    }
}
