use std::ops::ControlFlow;

use super::*;
use crate::record::RunResult;
use crate::scenario::Scenario;

fn traced(scenario: &str, changes: &[(&str, &str)]) -> (RunResult, RunTrace) {
    let changes: Vec<_> = changes.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    let scenario = Scenario::load(scenario, &changes).unwrap();
    let mut watch = |_| ControlFlow::Continue(());
    let run =
        crate::run(&scenario, 1, &mut crate::RunOptions { trace: true, on_progress: &mut watch }).unwrap();
    (run.result, run.trace.unwrap())
}

fn column<'a>(tables: &'a [ResultTable], table: &str, column: &str) -> &'a Values {
    let table = tables.iter().find(|candidate| candidate.name == table).unwrap();
    &table.columns.iter().find(|candidate| candidate.name == column).unwrap().values
}

#[test]
fn tables_have_columns_of_equal_length_in_order_of_time() {
    let (_, trace) = traced("fast-dsl", &[("flow.application.size", "1MB"), ("policy", "ba-ta")]);
    let tables = trace.tables();
    for table in &tables {
        let length = table.columns[0].values.len();
        assert!(length > 0, "{} is empty", table.name);
        assert!(table.columns.iter().all(|column| column.values.len() == length), "{}", table.name);
        let Values::I64(times) = &table.columns[0].values else {
            panic!("{} begins without times", table.name)
        };
        assert!(times.is_sorted(), "{}", table.name);
    }
}

#[test]
fn triggers_and_beacons_are_as_many_as_were_counted() {
    let (result, trace) = traced("fast-dsl", &[("flow.application.size", "1MB"), ("policy", "psm")]);
    let tables = trace.tables();
    let Values::Bool(received) = column(&tables, "triggers", "received") else { unreachable!() };
    let Values::Code(kinds, names) = column(&tables, "triggers", "kind") else { unreachable!() };
    let count = |kind: &str| {
        let code = names.iter().position(|name| name == kind).unwrap() as u32;
        received.iter().zip(kinds).filter(|(received, of)| **received && **of == code).count() as u64
    };
    assert_eq!(count("trigger"), result.stations[0].triggers);
    assert_eq!(count("ps-poll"), 0);
    assert_eq!(count("pm-null"), 1);
    assert!(count("data") > 0, "no acknowledgement of TCP was a trigger");
    let beacons = column(&tables, "beacons", "time_ns").len() as f64;
    assert!(
        (beacons - result.simulated_s / 0.1).abs() < 3.0,
        "{beacons} beacons in {} s",
        result.simulated_s
    );
}

/// The interval stays between its bounds, the peak rate below that of the line, and every change has a row.
#[test]
fn adaptations_are_the_controllers_states() {
    let (_, trace) = traced("fast-dsl", &[("flow.application.size", "5MB"), ("policy", "ba-ta")]);
    let tables = trace.tables();
    let Values::I64(intervals) = column(&tables, "adaptations", "interval_ns") else { unreachable!() };
    let Values::I64(peaks) = column(&tables, "adaptations", "peak_rate_bps") else { unreachable!() };
    assert!(intervals.iter().all(|interval| (20_000_000..=100_000_000).contains(interval)));
    assert!(peaks.iter().all(|peak| *peak <= 16_000_000) && peaks.contains(&0), "{:?}", peaks.iter().max());
    assert!(intervals.len() > 20);
    let (_, trace) = traced("fast-dsl", &[("flow.application.size", "10kB"), ("policy", "psm")]);
    assert!(column(&trace.tables(), "adaptations", "time_ns").is_empty());
}

#[test]
fn bytes_are_little_endian() {
    assert_eq!(Values::U32(vec![1, 256]).to_le_bytes(), [1, 0, 0, 0, 0, 1, 0, 0]);
    assert_eq!(Values::I64(vec![-2]).to_le_bytes(), (-2_i64).to_le_bytes());
    assert_eq!(Values::Bool(vec![true, false]).to_le_bytes(), [1, 0]);
}

#[test]
fn names_get_codes_by_first_appearance() {
    let names = ["b", "a", "b"].map(str::to_owned);
    assert_eq!(coded(names.into_iter()), Values::Code(vec![0, 1, 0], vec!["b".to_owned(), "a".to_owned()]));
}
