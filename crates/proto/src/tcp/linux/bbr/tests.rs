//! BBR over a bottleneck: what it does to a queue, with losses, and while it measures the round trip.

use std::collections::BTreeMap;

use airwatt_base::{Instant, Machine, RandomStream, Span};

use super::*;
use crate::event::Event;
use crate::tcp::linux::state::is_excess;
use crate::tcp::linux::{Connection, Control, Input, LinuxConfig, Output, Packet};

/// A path with a bottleneck, and a sender that always has data.
struct Path {
    /// Bytes a second, the round trip without queues, packets in the queue at most, and the share of losses.
    rate: u64,
    rtt: Span,
    queue: usize,
    loss: f64,
    /// How long the path holds acknowledgements together before they leave; zero for not at all.
    holds: Span,
}

/// What was seen of a transfer.
#[derive(Debug, Default)]
struct Seen {
    /// Bytes delivered, and the same in the second half.
    delivered: u64,
    later: u64,
    retransmitted: u64,
    /// The smoothed round trip in microseconds, each 100 ms.
    rtts: Vec<u64>,
    /// The window in segments, each 10 ms.
    windows: Vec<u64>,
}

impl Path {
    fn run(&self, control: Control, duration: Span) -> Seen {
        self.run_with(control, duration, 11)
    }

    /// The same with the pattern of losses that this seed draws.
    fn run_with(&self, control: Control, duration: Span, losses: u64) -> Seen {
        let config =
            LinuxConfig { control, seed: 7, receive_buffer: (16 << 20, 16 << 20), ..LinuxConfig::default() };
        let mut ends = [Connection::new(config.clone()), Connection::new(config)];
        let mut random = RandomStream::new(losses, "losses");
        let mut path: BTreeMap<(Instant, u64), (usize, Packet)> = BTreeMap::new();
        let (mut seen, mut order, mut free) = (Seen::default(), 0, Instant::ZERO);
        let mut now = Instant::ZERO;
        let end = now + duration;
        ends[1].handle_input(Input::Listen, now);
        ends[0].handle_input(Input::Open, now);
        let mut next_look = now;
        while now < end {
            for who in [0, 1] {
                while let Some(output) = ends[who].poll_output() {
                    match output {
                        Output::Transmit(packet) if who == 0 => {
                            for part in cut(packet, 1448) {
                                let waits = free.saturating_since(now);
                                let takes =
                                    Span::from_nanos(u64::from(part.len + 52) * 1_000_000_000 / self.rate);
                                let is_full = waits.as_nanos() / takes.as_nanos().max(1) >= self.queue as u64;
                                if part.len > 0 && (is_full || random.chance(self.loss)) {
                                    continue;
                                }
                                free = free.max(now) + takes;
                                order += 1;
                                path.insert((free + self.rtt / 2, order), (1, part));
                            }
                        }
                        Output::Transmit(packet) => {
                            order += 1;
                            let mut at = now + self.rtt / 2;
                            if self.holds > Span::ZERO {
                                let hold = self.holds.as_nanos();
                                at = Instant::from_nanos(at.as_nanos().div_ceil(hold) * hold);
                            }
                            path.insert((at, order), (0, packet));
                        }
                        Output::Event(Event::Delivered { bytes }) => {
                            seen.delivered += bytes;
                            if now >= Instant::ZERO + duration / 2 {
                                seen.later += bytes;
                            }
                        }
                        Output::Event(_) => {}
                    }
                }
            }
            let room = ends[0].room();
            if room > 10_000 {
                ends[0].handle_input(Input::Write { bytes: room, more: false, record: false }, now);
                continue;
            }
            let arrival = path.first_key_value().map(|((at, _), _)| *at);
            let timers = [0, 1].map(|who| ends[who].poll_timeout().map(|timeout| timeout.at));
            let next = [arrival, timers[0], timers[1], Some(next_look)].into_iter().flatten().min();
            now = now.max(next.expect("the next look"));
            if next == Some(next_look) {
                let value =
                    |name| ends[0].info(now).iter().find(|(known, _)| *known == name).expect("known").1;
                seen.windows.push(value("tcpi_snd_cwnd"));
                if seen.windows.len() % 10 == 0 {
                    seen.rtts.push(value("tcpi_rtt"));
                }
                next_look += Span::from_millis(10);
            } else if next == arrival {
                let (_, (who, packet)) = path.pop_first().expect("an arrival");
                ends[who].handle_input(Input::Packet(packet), now);
            } else {
                ends[usize::from(next != timers[0])].handle_timeout(now);
            }
        }
        seen.retransmitted =
            ends[0].info(now).iter().find(|(name, _)| *name == "tcpi_total_retrans").expect("known").1;
        seen
    }
}

/// A burst as the segments that the network card makes of it.
fn cut(packet: Packet, mss: u32) -> Vec<Packet> {
    let starts = (0..packet.len.max(1)).step_by(mss as usize);
    starts.map(|at| Packet { seq: packet.seq + at, len: (packet.len - at).min(mss), ..packet }).collect()
}

const VERSIONS: [Control; 2] = [Control::Bbr1, Control::Bbr3];

fn path(megabits: u64, rtt: u64, queue: usize, loss: f64) -> Path {
    Path { rate: megabits * 125_000, rtt: Span::from_millis(rtt), queue, loss, holds: Span::ZERO }
}

/// The share of the link that the payload has in the second half of a transfer; headers take 52 bytes of 1,500.
fn share(path: &Path, seen: &Seen, seconds: u64) -> f64 {
    seen.later as f64 * 1500.0 / 1448.0 / (path.rate * seconds / 2) as f64
}

#[test]
fn the_link_is_full_and_the_queue_is_not() {
    let path = path(10, 40, 1000, 0.0);
    for control in VERSIONS {
        let seen = path.run(control, Span::from_secs(20));
        let share = share(&path, &seen, 20);
        assert!(share > 0.93, "{control:?}: {share}");
        assert_eq!(seen.retransmitted, 0, "{control:?}");
        // The window is twice the product, so a queue is at most about as long as the path, bursts aside.
        let rtt = seen.rtts[seen.rtts.len() / 2..].iter().max().expect("round trips");
        assert!((40_000..95_000).contains(rtt), "{control:?}: {rtt}");
    }
    // CUBIC fills the queue of 1,000 packets, 1.2 s.
    let seen = path.run(Control::Cubic, Span::from_secs(20));
    assert!(*seen.rtts.iter().max().expect("round trips") > 200_000);
}

#[test]
fn losses_at_random_leave_both_versions_far_above_cubic() {
    let path = path(20, 100, 400, 0.01);
    let cubic = share(&path, &path.run(Control::Cubic, Span::from_secs(30)), 30);
    for control in VERSIONS {
        let bbr = share(&path, &path.run(control, Span::from_secs(30)), 30);
        assert!(bbr > 0.6 && bbr > 5.0 * cubic, "{control:?}: {bbr}, cubic: {cubic}");
    }
}

/// Version 1 refreshes its bandwidth while a probe at 1.25 less the losses comes through: up to 20 %.
#[test]
fn version_1_stands_fifteen_per_cent_of_losses_and_not_twenty_five() {
    let share = |loss| {
        let path = path(20, 50, 400, loss);
        share(&path, &path.run(Control::Bbr1, Span::from_secs(40)), 40)
    };
    let (few, many) = (share(0.15), share(0.25));
    assert!(few > 0.6, "{few}");
    assert!(many < few / 2.0, "{many} of {few}");
}

/// Version 3 takes more than 2 % for its own doing. Which losses meet its probes decides how much it has: 0.5 to 0.74 of the link with 1 %, so
/// that shares are means over ten patterns.
#[test]
fn version_3_gives_way_beyond_two_per_cent() {
    let share = |control, loss| {
        let path = path(20, 50, 400, loss);
        let of = |losses| share(&path, &path.run_with(control, Span::from_secs(30), losses), 30);
        (0..10).map(of).sum::<f64>() / 10.0
    };
    let (few, many) = (share(Control::Bbr3, 0.01), share(Control::Bbr3, 0.1));
    assert!(few > 0.6, "{few}");
    assert!(many < few / 2.0, "{many} of {few}");
    assert!(share(Control::Bbr1, 0.1) > 1.5 * many);
}

#[test]
fn a_short_queue_costs_version_1_more_losses() {
    let path = path(20, 50, 20, 0.0);
    let [first, third] = VERSIONS.map(|control| path.run(control, Span::from_secs(20)));
    let shares = [&first, &third].map(|seen| share(&path, seen, 20));
    assert!(shares.iter().all(|share| *share > 0.8), "{shares:?}");
    assert!(third.retransmitted * 2 < first.retransmitted, "{} {}", third.retransmitted, first.retransmitted);
}

/// Every 10 s version 1 has four segments in flight for 200 ms, and version 3 half of the product every 5 s.
#[test]
fn the_round_trip_is_measured() {
    let path = path(10, 40, 1000, 0.0);
    // The product is 33.3 segments of 1,500 bytes.
    for (control, small, every) in [(Control::Bbr1, 4..=4, 1000), (Control::Bbr3, 12..=22, 500)] {
        let seen = path.run(control, Span::from_secs(25));
        let is_small = |window: &u64| small.contains(window);
        let begins: Vec<usize> = (200..seen.windows.len())
            .filter(|at| is_small(&seen.windows[*at]) && !is_small(&seen.windows[at - 1]))
            .collect();
        assert_eq!(begins.len(), 2500 / every - usize::from(every == 500), "{control:?}: {begins:?}");
        for pair in begins.windows(2) {
            let apart = pair[1] - pair[0];
            assert!((every..every + 60).contains(&apart), "{control:?}: {begins:?}");
        }
        for at in begins {
            let lasts = seen.windows[at..].iter().take_while(|window| is_small(window)).count();
            assert!((20..=40).contains(&lasts), "{control:?}: {lasts}");
        }
    }
}

/// Acknowledgements that come once in 50 ms, as those of a station that sleeps: the window has room for what arrives at once.
#[test]
fn bursts_of_acknowledgements_do_not_starve_it() {
    for control in VERSIONS {
        let path = Path { holds: Span::from_millis(50), ..path(10, 20, 1000, 0.0) };
        let share = share(&path, &path.run(control, Span::from_secs(20)), 20);
        assert!(share > 0.85, "{control:?}: {share}");
    }
}

#[test]
fn a_larger_sample_counts_for_ten_rounds() {
    let mut largest = Largest::of(10);
    largest.push(9, 1);
    largest.push(5, 4);
    largest.push(7, 6);
    assert_eq!(largest.get(), 9);
    largest.expire(10);
    assert_eq!(largest.get(), 9);
    largest.expire(11);
    assert_eq!(largest.get(), 7, "the sample of round 4 was smaller than a later one");
    largest.expire(40);
    assert_eq!(largest.get(), 7, "the last sample stays");
}

#[test]
fn the_pipe_is_full_after_three_rounds_without_a_quarter_more() {
    let mut full = Full::default();
    for (bandwidth, reached) in [(100, false), (125, false), (150, false), (150, false), (155, true)] {
        full.round(bandwidth);
        assert_eq!(full.reached, reached, "{bandwidth}");
    }
}

#[test]
fn rates_and_products_by_hand() {
    // 10 segments in 100 ms with 1,000 bytes each are 100,000 bytes a second, of which 99 % are used.
    let bandwidth = (10 << BANDWIDTH_BITS) / 100_000;
    assert!((98_950..=99_000).contains(&bytes_a_second(bandwidth, UNIT, 1000)));
    assert!((285_000..=286_000).contains(&bytes_a_second(bandwidth, v1::HIGH_GAIN, 1000)));
    // In 50 ms they are five.
    assert_eq!(product(bandwidth, 50_000, UNIT), 5);
    assert_eq!(product(bandwidth, 50_000, 2 * UNIT), 10);
    assert!(!is_excess(2, 100) && is_excess(3, 100));
}
