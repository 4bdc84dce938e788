//! Tests that the written file can be read back: every slice ends, states cover the run, counters have the recorded
//! values.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use crate::scenario::Scenario;
use crate::{Run, RunOptions, run};

/// The value of a field of a message: a number or bytes.
enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let (mut value, mut shift) = (0, 0);
    loop {
        let byte = bytes[0];
        *bytes = &bytes[1..];
        value |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte < 0x80 {
            return value;
        }
    }
}

fn fields(mut bytes: &[u8]) -> BTreeMap<u64, Vec<Value<'_>>> {
    let mut found: BTreeMap<u64, Vec<Value>> = BTreeMap::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        let value = match tag & 7 {
            0 => Value::Number(varint(&mut bytes)),
            2 => {
                let (inner, rest) = bytes.split_at(varint(&mut &*bytes) as usize + varint_length(bytes));
                bytes = rest;
                Value::Bytes(&inner[varint_length(inner)..])
            }
            other => panic!("wire type {other}"),
        };
        found.entry(tag >> 3).or_default().push(value);
    }
    found
}

fn varint_length(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| *byte < 0x80).map_or(bytes.len(), |last| last + 1)
}

fn number(message: &BTreeMap<u64, Vec<Value>>, field: u64) -> Option<u64> {
    message.get(&field).map(|values| match values[0] {
        Value::Number(number) => number,
        Value::Bytes(_) => panic!("field {field} is a number"),
    })
}

fn inner<'a>(message: &BTreeMap<u64, Vec<Value<'a>>>, field: u64) -> Option<&'a [u8]> {
    message.get(&field).map(|values| match values[0] {
        Value::Bytes(bytes) => bytes,
        Value::Number(_) => panic!("field {field} is a message"),
    })
}

fn traced() -> Run {
    let set = [("policy", "psm"), ("flow.application.size", "200kB")]
        .map(|(key, value)| (key.to_owned(), value.to_owned()));
    let scenario = Scenario::load("fast-dsl", &set).unwrap();
    let mut go_on = |_| ControlFlow::Continue(());
    run(&scenario, 1, &mut RunOptions { trace: true, on_progress: &mut go_on }).unwrap()
}

#[test]
fn slices_cover_the_run_and_counters_hold_what_was_recorded() {
    let run = traced();
    let trace = run.trace.as_ref().unwrap();
    let mut written = Vec::new();
    trace.write_perfetto(&mut written).unwrap();
    let mut names = BTreeMap::new();
    let mut open = BTreeMap::new();
    let mut covered: BTreeMap<String, u64> = BTreeMap::new();
    let mut counters: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for packet in &fields(&written)[&1] {
        let Value::Bytes(packet) = packet else { panic!("packets are messages") };
        let packet = fields(packet);
        if let Some(descriptor) = inner(&packet, 60) {
            let descriptor = fields(descriptor);
            let name = String::from_utf8(inner(&descriptor, 2).unwrap().to_vec()).unwrap();
            names.insert(number(&descriptor, 1).unwrap(), name);
            continue;
        }
        let (at, event) = (number(&packet, 8).unwrap(), fields(inner(&packet, 11).unwrap()));
        let track = number(&event, 11).unwrap();
        match number(&event, 9).unwrap() {
            1 => assert!(open.insert(track, at).is_none(), "slices of a track do not overlap"),
            2 => *covered.entry(names[&track].clone()).or_default() += at - open.remove(&track).unwrap(),
            4 => counters.entry(names[&track].clone()).or_default().push(number(&event, 30).unwrap()),
            other => panic!("event type {other}"),
        }
    }
    assert!(open.is_empty(), "every slice ends");
    assert_eq!(covered["radio"], trace.end.as_nanos(), "a radio is always in one state");
    let windows: Vec<u64> = trace.windows.iter().map(|sample| u64::from(sample.cwnd)).collect();
    assert_eq!(counters["congestion window"], windows);
    assert_eq!(counters["transmission queue"].len(), trace.ap_queue.len());
    assert!(counters["power"].contains(&20_000) && counters["power"].contains(&1_500_000), "microwatts");
}
