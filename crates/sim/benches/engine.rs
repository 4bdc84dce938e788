//! The engine alone (PHOLD), whole runs of the shipped scenarios, and a saturated cell with and without aggregates.
//!
//! PHOLD (Fujimoto, 1990): a fixed population of messages hops between logical processes; each arrival sends the
//! message on to a random process after a random time. It measures the schedule and nothing else.

use std::hint::black_box;
use std::ops::ControlFlow;

use airwatt_base::{Instant, RandomStream, Schedule, Span};
use airwatt_sim::scenario::{Checked, Scenario};
use airwatt_sim::{Run, RunOptions, run};
use divan::Bencher;
use divan::counter::ItemsCount;

fn main() {
    divan::main();
}

/// Hops of one measurement.
const HOPS: u64 = 1_000_000;
/// Mean time between hops of a message.
const MEAN_NANOS: u32 = 1_000_000;

/// Every message is a slot; a hop moves it to the time of its next arrival.
#[divan::bench(args = [16, 256, 4_096, 65_536], sample_count = 10)]
fn phold(bencher: Bencher, population: u32) {
    let begin = || {
        let mut random = RandomStream::new(1, "phold");
        let mut schedule = Schedule::new(population as usize);
        for slot in 0..population {
            schedule.set(slot, Instant::from_nanos(u64::from(random.below(MEAN_NANOS))));
        }
        (schedule, random, vec![0_u32; 1_024])
    };
    bencher.counter(ItemsCount::new(HOPS)).with_inputs(begin).bench_local_values(
        |(mut schedule, mut random, mut visits)| {
            for _ in 0..HOPS {
                let Some((now, slot)) = schedule.serve() else { break };
                let draw = random.next_u64();
                visits[(draw >> 54) as usize] += 1;
                let hop = ((draw & 0xffff_ffff) * u64::from(2 * MEAN_NANOS)) >> 32;
                schedule.set(slot, now + Span::from_nanos(hop));
            }
            black_box((schedule, visits));
        },
    );
}

/// A whole run; items are events.
#[divan::bench(args = ["fast-dsl", "fast-dsl psm", "slow-dsl", "wifi-bottleneck", "reference-download", "saturation"], sample_count = 5)]
fn scenario(bencher: Bencher, name: &str) {
    let (name, policy) = name.split_once(' ').unwrap_or((name, "active"));
    let scenario =
        Scenario::load(name, &[("policy".to_owned(), policy.to_owned())]).expect("a shipped scenario");
    let events = whole(&scenario).result.events;
    bencher.counter(ItemsCount::new(events)).bench_local(|| whole(&scenario));
}

/// A second of twenty saturated stations at 80 MHz with two streams; items are MPDUs.
#[divan::bench(args = [1, 64, 256], sample_count = 5)]
fn saturated_cell(bencher: Bencher, most_in_a_ppdu: u32) {
    let mpdus = most_in_a_ppdu.to_string();
    let set = [
        ("station.0.count", "20"),
        ("wifi.standard", "802.11ax"),
        ("wifi.mode", "HE80 MCS 11 x2"),
        ("wifi.aggregation.mpdus", &mpdus),
        ("duration", "1s"),
    ];
    let set = set.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let scenario = Scenario::load("saturation", &set).expect("a shipped scenario with keys of it");
    let cell = whole(&scenario).result.cell.air;
    let sent = cell.mpdus.unwrap_or(cell.frames);
    bencher.counter(ItemsCount::new(sent)).bench_local(|| whole(&scenario));
}

fn whole(scenario: &Checked) -> Run {
    let mut go_on = |_| ControlFlow::Continue(());
    run(scenario, 1, &mut RunOptions { trace: false, on_progress: &mut go_on }).expect("a run that completes")
}
