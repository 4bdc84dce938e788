//! What users write.

use super::*;
use crate::catalogue;

fn field(model: &str, name: &str) -> Field {
    let found = catalogue::find(model).unwrap().parameters();
    found.into_iter().find(|field| field.name == name).unwrap()
}

fn read(name: &str, text: &str) -> Vec<f64> {
    values(&field("tcp-energy", name), text).unwrap()
}

fn problem(name: &str, text: &str) -> String {
    values(&field("tcp-energy", name), text).unwrap_err().to_string()
}

#[test]
fn values_with_their_units() {
    assert_eq!(read("rtt_s", "100ms"), [0.1]);
    assert_eq!(read("rtt_s", "13.3ns"), [13.3e-9]);
    assert_eq!(read("data_rate_bps", "54Mbps"), [54e6]);
    assert_eq!(read("file_bytes", "10MB,1MiB"), [1e7, 1_048_576.0]);
    assert_eq!(read("listen_w", "390mW"), [0.39]);
    assert_eq!(read("p", "1e-4, 0.01"), [1e-4, 0.01]);
    assert_eq!(read("initial_packets", "10packets"), [10.0]);
    assert_eq!(read("accounting", "printed"), [2.0]);
    let retries = field("dcf-saturation", "retries");
    assert_eq!(values(&retries, "none").unwrap(), [f64::INFINITY]);
}

#[test]
fn ranges() {
    let range = read("rtt_s", "10ms:300ms:5ms");
    assert_eq!((range.len(), range[0], range[28], range[58]), (59, 0.01, 0.15, 0.3));
    assert_eq!(read("m", "1:5:2"), [1.0, 3.0, 5.0]);
    assert_eq!(read("m", "5:1:-2"), [5.0, 3.0, 1.0]);
    assert_eq!(read("p", "0.001:0.004:x2"), [0.001, 0.002, 0.004]);
    assert_eq!(read("rtt_s", "900ms:1.1s:100ms,2s").len(), 4);
    assert_eq!(read("p", "0.1:0.35:0.1").len(), 3);
}

#[test]
fn errors_name_parameter_value_and_what_is_expected() {
    assert_eq!(problem("rtt_s", "20"), "rtt_s: expected a number with its unit, such as 20ms, got \"20\"");
    for (name, text, words) in [
        ("rtt_s", "20MB", "one of the units s, ms"),
        ("rtt_s", "ms", "expected a number"),
        ("rtt_s", "", "expected a number"),
        ("rtt_s", "1_0ms", "expected a number"),
        ("p", "nan", "expected a number"),
        ("p", "inf", "expected a number"),
        ("p", "1e999", "expected a number below"),
        ("p", "0.1ms", "expected a number, such as 0.01, got"),
        ("p", "3packets", "expected a number, such as 0.01, got"),
        ("accounting", "best", "expected one of repaired, unclamped, printed, got \"best\""),
        ("accounting", "a:b:c", "expected a value V, a list V1,V2 or a range FROM:TO:STEP"),
        ("rtt_s", "1ms:2ms", "expected a value V, a list V1,V2 or a range FROM:TO:STEP"),
        ("rtt_s", "1ms:2ms:0ms", "range FROM:TO:"),
        ("rtt_s", "2ms:1ms:1ms", "range FROM:TO:"),
        ("p", "0.1:0.2:x1", "range FROM:TO:"),
        ("p", "0:0.2:x2", "range FROM:TO:"),
        ("rtt_s", "0s:1s:1ns", "at most a million values"),
    ] {
        assert!(problem(name, text).contains(words), "{name}={text}: {}", problem(name, text));
    }
}
