//! Each part of an impairment against exact expectations.

use airwatt_base::testkit::check_machine;

use super::*;
use crate::route::Address;

const END: Instant = Instant::from_secs(1_000);

/// Datagram `number` to node 1.
fn packet(number: u32) -> Packet {
    Packet { dst: Address(1), ..Packet::datagram(number, 1_500, Instant::ZERO) }
}

fn ms(at: u64) -> Instant {
    Instant::from_millis(at)
}

/// What becomes of packets 0, 1, ... that come at these times in microseconds: the time in microseconds, the number, and whether it
/// was forwarded.
fn run(config: &ImpairmentConfig, times_us: &[u64]) -> Vec<(u64, u32, bool)> {
    let inputs: Vec<_> =
        (0..).zip(times_us).map(|(number, at)| (Instant::from_micros(*at), packet(number))).collect();
    let done = check_machine(|| Impairment::new(config.clone(), None, "c", 1), &inputs, END);
    let shown = |(at, output): (Instant, ImpairmentOutput)| {
        let (packet, forwarded) = match output {
            ImpairmentOutput::Forward(packet) => (packet, true),
            ImpairmentOutput::Lost(packet) => (packet, false),
        };
        let crate::packet::Payload::Datagram(number) = packet.payload else { panic!("{packet:?}") };
        (at.as_nanos() / 1_000, number, forwarded)
    };
    done.into_iter().map(shown).collect()
}

#[test]
fn without_settings_packets_pass_at_once() {
    assert_eq!(run(&ImpairmentConfig::default(), &[5, 7]), [(5, 0, true), (7, 1, true)]);
}

/// 25 ms later at the next tick of 1 ms; exactly 25 ms later without ticks.
#[test]
fn delays_end_at_multiples_of_the_step() {
    let config = ImpairmentConfig { delay: Span::from_millis(25), ..ImpairmentConfig::default() };
    assert_eq!(run(&config, &[300, 1_000, 1_001]), [(26_000, 0, true), (26_000, 1, true), (27_000, 2, true)]);
    let exact = ImpairmentConfig { step: Span::ZERO, ..config };
    assert_eq!(run(&exact, &[300, 1_001]), [(25_300, 0, true), (26_001, 1, true)]);
}

#[test]
fn more_packets_than_the_limit_are_lost() {
    let config = ImpairmentConfig { delay: Span::from_millis(10), queue: 2, ..ImpairmentConfig::default() };
    let done = run(&config, &[0, 0, 0, 10_000]);
    assert_eq!(done, [(0, 2, false), (10_000, 0, true), (10_000, 1, true), (20_000, 3, true)]);
}

#[test]
fn bursts_and_outages_come_at_their_times() {
    let burst = Burst {
        every: Span::from_secs(12),
        length: Span::from_secs(1),
        loss: 1.0,
        first: Span::from_secs(2),
    };
    let config = ImpairmentConfig { burst: Some(burst), ..ImpairmentConfig::default() };
    let times = [0, 1_999_999, 2_000_000, 2_999_999, 3_000_000, 14_000_000, 15_000_000];
    let passed: Vec<bool> = run(&config, &times).into_iter().map(|(_, _, forwarded)| forwarded).collect();
    assert_eq!(passed, [true, true, false, false, true, false, true]);
    let outage =
        |at: u64, length: u64| Outage { at: Span::from_millis(at), length: Span::from_millis(length) };
    let config = ImpairmentConfig {
        outage: vec![outage(2_000, 50), outage(5_000, 50)],
        ..ImpairmentConfig::default()
    };
    let passed: Vec<bool> = run(&config, &[1_999_999, 2_000_000, 2_049_999, 2_050_000, 5_020_000])
        .into_iter()
        .map(|row| row.2)
        .collect();
    assert_eq!(passed, [true, false, false, true, false]);
}

/// The first packet is held until two later ones have passed it, in the same instant as the second.
#[test]
fn a_reordered_packet_is_passed_by_as_many_as_the_depth_says() {
    let config = ImpairmentConfig { reorder: 1.0, reorder_depth: 2, ..ImpairmentConfig::default() };
    let mut impairment = Impairment::new(config, None, "c", 1);
    impairment.handle_input(packet(0), ms(1));
    assert_eq!(impairment.poll_output(), None);
    impairment.config.reorder = 0.0;
    // A packet to another destination does not count.
    impairment.handle_input(Packet { dst: Address(2), ..packet(9) }, ms(2));
    for number in [1, 2, 3] {
        impairment.handle_input(packet(number), ms(3));
    }
    let order: Vec<_> = std::iter::from_fn(|| impairment.poll_output()).collect();
    let expected = [Packet { dst: Address(2), ..packet(9) }, packet(1), packet(2), packet(0), packet(3)];
    assert_eq!(order, expected.map(ImpairmentOutput::Forward));
    assert_eq!(
        impairment.counts(),
        ImpairmentCounts { forwarded: 5, reordered: 1, ..ImpairmentCounts::default() }
    );
}

#[test]
fn a_reordered_packet_that_nobody_passes_waits_for_its_time() {
    let config = ImpairmentConfig { reorder: 1.0, ..ImpairmentConfig::default() };
    assert_eq!(run(&config, &[5]), [(100_005, 0, true)]);
    let delayed = ImpairmentConfig { delay: Span::from_millis(10), ..config };
    assert_eq!(run(&delayed, &[5]), [(111_000, 0, true)]);
}

/// Of 20,000 packets 5 % are lost and 1 % reordered, within four standard deviations; only packets towards the named node, and with
/// `data_only` only those with data.
#[test]
fn rates_are_those_of_the_settings_and_of_the_direction() {
    let config = ImpairmentConfig { loss: 0.05, reorder: 0.01, ..ImpairmentConfig::default() };
    let mut impairment = Impairment::new(config, Some(vec![1]), "c", 1);
    for number in 0..20_000 {
        impairment.handle_input(packet(number), ms(u64::from(number)));
        impairment.handle_input(Packet { dst: Address(2), ..packet(number) }, ms(u64::from(number)));
    }
    let counts = impairment.counts();
    assert!((877..1_124).contains(&counts.lost), "{counts:?}");
    assert!((134..246).contains(&counts.reordered), "{counts:?}");
    let to_other = std::iter::from_fn(|| impairment.poll_output());
    let to_other = to_other
        .filter(|output| matches!(output, ImpairmentOutput::Forward(packet) if packet.dst == Address(2)));
    assert_eq!(to_other.count(), 20_000);
}

/// With 10 % for 1500 bytes, 512 bytes are lost with 1 - 0.9^(512/1500) = 3.53 % and 3000 bytes with 19 %; of 20,000 packets each,
/// within four standard deviations. In a burst the length does not matter.
#[test]
fn loss_grows_with_the_length_where_a_length_is_set() {
    let burst =
        Burst { every: Span::from_secs(60), length: Span::from_secs(1), loss: 1.0, first: Span::ZERO };
    let config = ImpairmentConfig {
        loss: 0.1,
        loss_length: Some(Size::from_bytes(1_500)),
        burst: Some(burst),
        ..ImpairmentConfig::default()
    };
    let of_length = |bytes: u32| {
        let mut impairment = Impairment::new(config.clone(), None, "c", 1);
        for number in 0..20_000 {
            impairment.handle_input(
                Packet { bytes, ..packet(number) },
                Instant::from_micros(2_000_000 + u64::from(number)),
            );
        }
        impairment.handle_input(Packet { bytes: 1, ..packet(0) }, ms(60_000));
        assert_eq!(impairment.counts().lost_in_bursts, 1);
        impairment.counts().lost
    };
    assert!((602..811).contains(&of_length(512)), "{}", of_length(512));
    assert!((1_830..2_170).contains(&of_length(1_500)), "{}", of_length(1_500));
    assert!((3_578..4_022).contains(&of_length(3_000)), "{}", of_length(3_000));
}

#[test]
fn settings_have_ranges() {
    let error = |config: ImpairmentConfig| config.check().unwrap_err().to_string();
    let default = ImpairmentConfig::default;
    assert_eq!(error(ImpairmentConfig { loss: 1.5, ..default() }), "loss: expected 0 to 1, got 1.5");
    let none = Some(Size::from_bytes(0));
    assert_eq!(
        error(ImpairmentConfig { loss_length: none, ..default() }),
        "loss_length: expected 1B to 65.535kB, got 0B"
    );
    let burst = Burst { every: Span::from_secs(1), length: Span::from_secs(2), loss: 0.5, first: Span::ZERO };
    assert_eq!(
        error(ImpairmentConfig { burst: Some(burst), ..default() }),
        "burst.length: expected 1us to 1s, got 2s"
    );
    let outage = Outage { at: Span::from_secs(2), length: Span::from_secs(1) };
    assert_eq!(
        error(ImpairmentConfig { outage: vec![outage, outage], ..default() }),
        "outage.1.at: expected 3s to 32d, got 2s"
    );
}
