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

fn column<'a>(tables: &'a [Table], table: &str, column: &str) -> &'a Values {
    let table = tables.iter().find(|candidate| candidate.name == table).unwrap();
    &table.columns.iter().find(|candidate| candidate.name == column).unwrap().values
}

/// The picture of the radio and the bill for it are the same thing. The radio of these scenarios has free transitions.
#[test]
fn radio_states_last_as_long_as_the_ledger_says() {
    for policy in ["active", "timeout", "psm", "psm-legacy", "uapsd"] {
        let (result, trace) =
            traced("fast-dsl", &[("flow.size", "1MB"), ("station.policy", policy), ("station.count", "2")]);
        for station in 0..2 {
            let states = trace.states_of(station, &trace.frames.iter().collect::<Vec<_>>());
            let mut spent = [0_u64; 5];
            let ends = states.iter().skip(1).map(|change| change.0).chain([trace.end]);
            for (&(at, state), end) in states.iter().zip(ends) {
                spent[state as usize] += (end - at).as_nanos();
            }
            let ledger = result.stations[station as usize].state_s;
            let expected = [ledger.transmit, ledger.receive, ledger.listen, ledger.sleep, ledger.transition];
            for (state, (spent, expected)) in STATES.iter().zip(spent.into_iter().zip(expected)) {
                assert!(
                    (spent as f64 / 1e9 - expected).abs() < 1e-9,
                    "{policy} {state}: {spent} ns, {expected} s"
                );
            }
        }
    }
}

#[test]
fn tables_have_columns_of_equal_length_in_order_of_time() {
    let (_, trace) = traced("fast-dsl", &[("flow.size", "1MB"), ("station.policy", "psm")]);
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
    let (result, trace) = traced("fast-dsl", &[("flow.size", "1MB"), ("station.policy", "psm")]);
    let tables = trace.tables();
    let Values::Bool(received) = column(&tables, "triggers", "received") else { unreachable!() };
    assert_eq!(received.iter().filter(|received| **received).count() as u64, result.stations[0].triggers);
    let Values::Code(kinds, names) = column(&tables, "frames", "kind") else { unreachable!() };
    let beacon = names.iter().position(|name| name == "beacon").unwrap() as u32;
    let beacons = kinds.iter().filter(|kind| **kind == beacon).count() as f64;
    assert!(
        (beacons - result.simulated_s / 0.1).abs() < 3.0,
        "{beacons} beacons in {} s",
        result.simulated_s
    );
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
