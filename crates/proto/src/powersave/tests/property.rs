//! Random traffic over a lossy air: nothing is lost without account, nobody waits for ever, nobody sleeps on a backlog
//! (the air asserts the last whenever a radio falls asleep).

use airwatt_base::{Instant, RandomStream, Span};
use proptest::prelude::*;

use super::air::{Air, Radio, station_config};
use super::{ACTIVE, PSM, PSM_LEGACY};
use crate::powersave::{
    BaTaConfig, BaTaStrConfig, BaTaTwtConfig, LatencyGuardConfig, OutsidePeriods, PowerSaveConfig,
    PsmThrottlingConfig, Ratio, Reach, ScanConfig, StationConfig, StationId, TimeoutConfig, TwtConfig,
    UapsdConfig, WakeHabits,
};

/// After the traffic the air is perfect for so long: every repair needs at most a few beacons, and the policies of this test
/// forget what they learnt after one or two seconds.
const CALM: Span = Span::from_secs(5);

/// How long the perfect air lasts. An access point that is left with a full buffer sends it in agreed service periods, of which
/// the shortest have room for one packet, so that such a station adds an interval for each.
fn calm(cell: &Cell) -> Span {
    let packets = u64::from(cell.power_save_buffer) + cell.queue_limit as u64;
    let intervals = cell.policies.iter().filter_map(|policy| match policy {
        PowerSaveConfig::Twt(agreement) => Some(agreement.interval * packets),
        _ => None,
    });
    CALM + intervals.max().unwrap_or(Span::ZERO)
}

#[derive(Clone, Debug)]
struct Cell {
    policies: Vec<PowerSaveConfig>,
    power_save_buffer: u32,
    queue_limit: usize,
    loss_percent: u32,
    mean_gap_ms: u32,
    burst: u32,
    scan: Option<ScanConfig>,
    seed: u64,
}

fn policy() -> impl Strategy<Value = PowerSaveConfig> {
    prop_oneof![
        Just(ACTIVE),
        (0_u64..300)
            .prop_map(|ms| PowerSaveConfig::Timeout(TimeoutConfig { timeout: Some(Span::from_millis(ms)) })),
        Just(PSM),
        Just(PSM_LEGACY),
        (2_u64..150).prop_map(|ms| PowerSaveConfig::Uapsd(UapsdConfig { interval: Span::from_millis(ms) })),
        (0_u64..200, 100_u64..3_000, any::<bool>()).prop_map(|(timeout, hold, triggers)| {
            PowerSaveConfig::LatencyGuard(LatencyGuardConfig {
                timeout: Span::from_millis(timeout),
                hold: Span::from_millis(hold),
                answer: Span::from_millis(50),
                reach: if triggers { Reach::Triggers } else { Reach::Polls },
                ..LatencyGuardConfig::default()
            })
        }),
        (1_u64..100, 10_u64..1_000, any::<[bool; 3]>(), proptest::option::of(1_u64..500), habits()).prop_map(
            |(least, more, [announced, trigger_enabled, early_end], resume_after, habits)| {
                let [duration, interval] = [least, least + more].map(Span::from_millis);
                PowerSaveConfig::Twt(TwtConfig {
                    interval,
                    duration,
                    announced,
                    trigger_enabled,
                    early_end: Some(early_end),
                    resume_after: resume_after.map(Span::from_millis),
                    outside: Some(habits.outside),
                    beacons_after: Some(habits.beacons_after),
                    overhead: Some(habits.overhead),
                    ..TwtConfig::default()
                })
            }
        ),
        ba_ta().prop_map(PowerSaveConfig::BaTa),
        (17_u64..60, 0_u64..200, 0_u64..200, 100_u64..1_000).prop_map(|(least, more, timeout, probe)| {
            let half = Span::from_millis(500);
            PowerSaveConfig::BaTaTwt(BaTaTwtConfig {
                int_min: Span::from_millis(least),
                int_max: Span::from_millis(least + more),
                idle_interval: half,
                timeout: Span::from_millis(timeout),
                probe: Span::from_millis(probe),
                renegotiate_after: half,
                retry_after: Span::from_secs(2),
                forget_after: Span::from_secs(1),
                ..BaTaTwtConfig::default()
            })
        }),
        ba_ta().prop_map(|ba_ta| PowerSaveConfig::BaTaStr(BaTaStrConfig { ba_ta, ..Default::default() })),
        (100_u64..2_000, 1_u32..6).prop_map(|(ms, used_up_max)| {
            let measure = Span::from_millis(ms);
            let quiet = measure / 3;
            let (period, forget_after) = (measure, Span::from_secs(2));
            let throttling = PsmThrottlingConfig {
                measure,
                period,
                quiet,
                forget_after,
                used_up_max,
                ..Default::default()
            };
            PowerSaveConfig::PsmThrottling(throttling)
        }),
    ]
}

fn habits() -> impl Strategy<Value = WakeHabits> {
    let outside = vec![OutsidePeriods::Sent, OutsidePeriods::Held, OutsidePeriods::Discarded];
    (proptest::sample::select(outside), 0_u32..3, 0_u64..20).prop_map(|(outside, beacons_after, ms)| {
        WakeHabits { outside, beacons_after, overhead: Span::from_millis(ms) }
    })
}

/// Controllers with the paper's values or others, that forget within the calm.
fn ba_ta() -> impl Strategy<Value = BaTaConfig> {
    (1_u64..50, 0_u64..100, 1_u32..12, 1_u32..5, 100_i64..1_000, 0_i64..2_500, 1_u32..6).prop_map(
        |(least, more, count_max, n_max, ratio_min, gain, n_trig_max)| BaTaConfig {
            int_min: Span::from_millis(least),
            int_max: Span::from_millis(least + more),
            count_max,
            n_max,
            ratio_min: Ratio::from_permille(ratio_min),
            gain: Ratio::from_permille(gain),
            n_trig_max,
            forget_after: Span::from_secs(1),
            ..BaTaConfig::default()
        },
    )
}

/// Scans that leave half of the time to the traffic at least.
fn scan() -> impl Strategy<Value = ScanConfig> {
    (1_u64..200, 1_u32..5, 200_u64..400, 0_u64..3_000).prop_map(|(time, absences, pause, more)| {
        let interval = Span::from_millis((time + pause) * u64::from(absences) + more);
        ScanConfig { interval, time: Span::from_millis(time), absences, pause: Span::from_millis(pause) }
    })
}

fn cell() -> impl Strategy<Value = Cell> {
    (
        proptest::collection::vec(policy(), 1..4),
        1_u32..40,
        1_usize..60,
        0_u32..60,
        1_u32..300,
        1_u32..20,
        proptest::option::of(scan()),
        any::<u64>(),
    )
        .prop_map(
            |(policies, power_save_buffer, queue_limit, loss_percent, mean_gap_ms, burst, scan, seed)| Cell {
                policies,
                power_save_buffer,
                queue_limit,
                loss_percent,
                mean_gap_ms,
                burst,
                scan,
                seed,
            },
        )
}

/// Bursts of packets both ways until `end`, then calm. Returns the air and the packets sent down, by station.
fn run(cell: &Cell, end: Instant, quiet: bool) -> (Air, Vec<Vec<u32>>) {
    let config = StationConfig { scan: cell.scan, first_scan: Instant::from_millis(700), ..station_config() };
    let stations = cell.policies.iter().map(|policy| (config, *policy)).collect();
    let mut air = Air::with_stations(cell.power_save_buffer, cell.queue_limit, stations);
    if quiet {
        air = air.quiet();
    }
    air.noise = Some((RandomStream::new(cell.seed, "noise"), f64::from(cell.loss_percent) / 100.0));
    let mut traffic = RandomStream::new(cell.seed, "traffic");
    let mut accepted = vec![Vec::new(); cell.policies.len()];
    let mut packet = 0;
    let mut at = Instant::ZERO;
    loop {
        at += Span::from_secs_f64(traffic.exponential(f64::from(cell.mean_gap_ms) * 1e-3));
        if at >= end {
            break;
        }
        let at_us = at.as_nanos() / 1_000;
        let station = traffic.below(cell.policies.len() as u32);
        let down = traffic.chance(0.7);
        for _ in 0..=traffic.below(cell.burst) {
            packet += 1;
            if down {
                accepted[station as usize].push(packet);
                air.down(at_us, station, packet);
            } else {
                air.up(at_us, station, packet);
            }
        }
    }
    // What is still queued under a heavy load takes its time; then the calm proper begins.
    air.noise = None;
    let mut until = end;
    while air.uplink_held() > 0 && until < end + Span::from_secs(600) {
        until += CALM;
        air.run_until(until);
    }
    air.run_until(until + calm(cell));
    (air, accepted)
}

fn check(cell: &Cell, air: &mut Air, accepted: &[Vec<u32>]) -> Result<(), TestCaseError> {
    prop_assert_eq!(air.held(), 0, "the access point is left with packets");
    prop_assert_eq!(air.uplink_held(), 0, "a station is left with frames");
    // During a scan the access point takes a station for one in power save, so the modes are compared between two. It begins with the
    // frame that says so.
    let scans = |air: &Air| {
        let mut clients = air.clients.iter().zip(&cell.policies);
        clients
            .any(|(client, policy)| client.radio == Radio::Away || *policy == ACTIVE && client.machine.pm())
    };
    for _ in 0..1_000 {
        let is_settled = !scans(air);
        let now = air.now;
        air.run_until(now + Span::from_millis(5));
        if is_settled && !scans(air) {
            break;
        }
    }
    for (station, packets) in accepted.iter().enumerate() {
        let client = &air.clients[station];
        for packet in packets {
            let known = client.got.contains(packet) || air.dropped.contains(packet);
            prop_assert!(known, "packet {} is neither delivered nor accounted for", packet);
        }
        let sleeps = cell.policies[station] != ACTIVE;
        prop_assert_eq!(air.ap.asleep(station as StationId), sleeps, "the modes agree at last");
        prop_assert_eq!(client.machine.pm(), sleeps);
        if !sleeps {
            prop_assert_eq!(client.radio, Radio::Awake);
        }
    }
    let slept: Vec<Span> = air.clients.iter().map(|client| client.slept).collect();
    let now = air.now;
    air.run_until(now + Span::from_secs(1));
    for (station, before) in slept.iter().enumerate() {
        if cell.policies[station] != ACTIVE {
            prop_assert!(air.clients[station].slept > *before, "station {} sleeps in the calm", station);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// Short runs of many cells, each machine held to its contract afterwards.
    #[test]
    fn a_quarter_of_a_minute(cell in cell()) {
        let (mut air, accepted) = run(&cell, Instant::from_secs(15), false);
        check(&cell, &mut air, &accepted)?;
        air.check_machines();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, failure_persistence: None, ..ProptestConfig::default() })]

    /// An hour of few cells.
    #[test]
    fn an_hour(cell in cell()) {
        let cell = Cell { mean_gap_ms: cell.mean_gap_ms.max(20), ..cell };
        let (mut air, accepted) = run(&cell, Instant::from_secs(3600), true);
        check(&cell, &mut air, &accepted)?;
    }
}

/// Service periods of one millisecond leave a full buffer behind when the traffic ends, which takes longer than [`CALM`] to go.
#[test]
fn a_full_buffer_leaves_in_short_service_periods() {
    let policies = vec![PowerSaveConfig::Twt(TwtConfig {
        interval: Span::from_millis(349),
        duration: Span::from_millis(1),
        announced: false,
        early_end: Some(false),
        ..TwtConfig::default()
    })];
    let seed = 3_914_603_510_987_192_646;
    let (power_save_buffer, queue_limit, loss_percent, mean_gap_ms, burst, scan) = (28, 28, 0, 54, 1, None);
    let cell =
        Cell { policies, power_save_buffer, queue_limit, loss_percent, mean_gap_ms, burst, scan, seed };
    let (mut air, accepted) = run(&cell, Instant::from_secs(15), false);
    if let Err(error) = check(&cell, &mut air, &accepted) {
        panic!("{error}");
    }
}

/// Two hours of every policy with its own parameters, one over an air that loses a third, one with hardly any room at the access
/// point: what chance may leave out of the cells above.
#[test]
fn two_hours_of_every_policy() {
    for (number, policy) in PowerSaveConfig::KINDS.iter().enumerate() {
        let config = PowerSaveConfig::named(policy.name).expect("it is listed");
        for (loss_percent, power_save_buffer, queue_limit) in [(33, 40, 60), (10, 2, 1)] {
            let policies = vec![config, PSM, ACTIVE];
            let seed = number as u64;
            let scan = (number % 2 == 1).then(|| ScanConfig::every(Span::from_secs(10)));
            let cell = Cell {
                policies,
                power_save_buffer,
                queue_limit,
                loss_percent,
                mean_gap_ms: 150,
                burst: 12,
                scan,
                seed,
            };
            let (mut air, accepted) = run(&cell, Instant::from_secs(3600), true);
            // The paper's values forget after ten seconds, and the interval has steps to go from there.
            let now = air.now;
            air.run_until(now + Span::from_secs(20));
            if let Err(error) = check(&cell, &mut air, &accepted) {
                panic!("{}: {error}", policy.name);
            }
        }
    }
}
