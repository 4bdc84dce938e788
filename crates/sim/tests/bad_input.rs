//! Scenario files that somebody got wrong: one line that names the place, the key, the value and what is allowed.

use std::ops::ControlFlow;

use airwatt_sim::scenario::{Scenario, shipped};
use airwatt_sim::{RunError, RunOptions, run};
use proptest::prelude::*;

fn error(set: &[(&str, &str)]) -> String {
    let set: Vec<_> = set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Scenario::load("fast-dsl", &set).expect_err("this scenario cannot be").to_string()
}

/// Each flag with how its error line has to begin.
#[test]
fn flags_get_a_line_that_says_what_is_allowed() {
    let cases = [
        (("wired.rtt", "20"), r#"--set wired.rtt=20: "20" has no unit; write for example "20ms""#),
        (
            ("wired.rtt", "20Mbps"),
            "--set wired.rtt=20Mbps: \"20Mbps\" has a unit that does not fit; allowed are s, ms, us",
        ),
        (("wired.rtt", "-1ms"), r#"--set wired.rtt=-1ms: "-1ms" is negative; allowed is zero or more"#),
        (("wired.rtt", "1h"), "--set wired.rtt=1h: 3600s is out of range; allowed are 0ns to 100s"),
        (
            ("wired.rt", "20ms"),
            "--set wired.rt=20ms: unknown field `rt`, expected one of `rtt`, `down`, `up`",
        ),
        (
            ("policy", "psmm"),
            "--policy psmm: \"psmm\" is not a power-save policy; allowed are active, timeout, psm",
        ),
        (
            ("transport", "quic"),
            "--transport quic: \"quic\" is not a transport; allowed are tahoe, reno, newreno, sack, cubic, ",
        ),
        (("tcp.receive_window", "1kB"), "--set tcp.receive_window=1kB: 1kB is out of range"),
        (("tcp.receive_window", "0packets"), "--set tcp.receive_window=0packets: 0packets is out of range"),
        (
            ("tcp.rto_clock", "slow"),
            "--set tcp.rto_clock=slow: unknown variant `slow`, expected `fine` or `coarse`",
        ),
        (("tcp.rto_tick", "2s"), "--set tcp.rto_tick=2s: 2s is out of range; allowed are 1ms to 1s"),
        (("tcp.rto_min_ticks", "0"), "--set tcp.rto_min_ticks=0: 0 is out of range"),
        (("tcp.delayed_ack_segments", "0"), "--set tcp.delayed_ack_segments=0: 0 is out of range"),
        (("tcp.window_growth", "fast"), "--set tcp.window_growth=fast: unknown variant `fast`"),
        (("station.radio", "ar5005"), "--set station.radio=ar5005: "),
        (("station.count", "-1"), "--set station.count=-1: "),
        (
            ("station.count", "5000"),
            "--set station.count=5000: 5000 stations are out of range; allowed are 1 to 2007",
        ),
        (
            ("wifi", "faster-wifi"),
            "--set wifi=faster-wifi: \"faster-wifi\" is not a Wi-Fi set; allowed are fast-wifi, slow-wifi",
        ),
        (
            ("wifi.data_rate", "131Mbps"),
            "--set wifi.data_rate=131Mbps: 131Mbps is not a rate of this standard; allowed are 6Mbps",
        ),
        (("wifi.cw_min", "8"), "--set wifi.cw_min=8: 8 is not a power of two less one"),
        (
            ("wifi.frame_error_rate", "1"),
            "--set wifi.frame_error_rate=1: 1 is out of range; allowed are 0 to below 1",
        ),
        (("wifi.frame_error_rate", "nan"), "--set wifi.frame_error_rate=nan: NaN is out of range"),
        (("flow.0.size", "0B"), "--set flow.0.size=0B: 0B is out of range"),
        (("flow.7.size", "1MB"), "--set flow.7.size=1MB: flow.7 does not exist; allowed are 0 to 0"),
        (("ap.buffer", "9kB"), "--set ap.buffer=9kB: 9kB is in bytes; this queue counts packets"),
        (("ap.buffer", "0packets"), "--set ap.buffer=0packets: 0packets is out of range"),
        (("ap.queue", "red"), "--set ap.queue=red: unknown variant `red`"),
        (("wifi.path_loss.exponent", "9"), "--set wifi.path_loss.exponent=9: 9 is out of range"),
        (("wifi.path_loss.tx_power", "0W"), "--set wifi.path_loss.tx_power=0W: 0nW is out of range"),
        (("measure_from", "1s"), "--set measure_from=1s: needs a duration"),
        (("fairness_windows", "[\"1s\"]"), "--set fairness_windows=[\"1s\"]: needs a duration"),
        (("fairness_capacity", "0bps"), "--set fairness_capacity=0bps: 0bps is out of range"),
        (("flow.neighbours", "0"), "--set flow.neighbours=0: 0 is out of range; allowed are 1 to 2007"),
        (("flow.wired", "{ rtt = \"1s\" }"), "--set flow.wired={ rtt = \"1s\" }: missing field `down`"),
        (
            ("flow", "[{ direction = \"down\", size = \"1B\", neighbours = 1, stations = [0] }]"),
            "--set flow=[{ direction = \"down\", size = \"1B\", neighbours = 1, stations = [0] }]: goes without stations",
        ),
        (
            ("flow", "[{ direction = \"down\", size = \"1B\", neighbours = 1, transport = \"split\" }]"),
            "--set flow=[{ direction = \"down\", size = \"1B\", neighbours = 1, transport = \"split\" }]: \"split\" is",
        ),
        (("", "1"), "--set =1: the key is empty"),
        (("wired.rtt.x", "1"), "--set wired.rtt.x=1: rtt is a single value and has no key \"x\""),
    ];
    for (set, expected) in cases {
        let line = error(&[set]);
        assert!(line.starts_with(expected), "{set:?} gave\n  {line}\nand not\n  {expected}");
        assert!(!line.contains('\n'));
    }
}

#[test]
fn what_cannot_go_together_is_refused() {
    let line = error(&[("ap.uapsd", "false"), ("policy", "psm")]);
    assert_eq!(
        line,
        "--policy psm: \"psm\" needs U-APSD, which this access point lacks; set ap.uapsd=true or choose another"
    );
    let line = error(&[("wifi.cw_min", "1023"), ("wifi.cw_max", "15")]);
    assert!(line.starts_with("--set wifi.cw_max=15: 15 is below wifi.cw_min"), "{line}");
    let line = error(&[("flow.application", "saturated")]);
    assert!(
        line.starts_with("--set flow.application=saturated: \"saturated\" needs transport \"udp\""),
        "{line}"
    );
}

#[test]
fn a_measured_interval_lies_within_the_run() {
    let error = |set: &[(&str, &str)]| {
        let set: Vec<_> = set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Scenario::load("ten-up", &set).unwrap_err().to_string()
    };
    let line = error(&[("measure_from", "200s")]);
    assert!(line.starts_with("--set measure_from=200s: 200s is out of range; allowed are "), "{line}");
    let line = error(&[("fairness_windows", "[\"151s\"]")]);
    assert!(line.contains("151s is out of range; allowed are 100ms to 150s"), "{line}");
    let line = error(&[("fairness_windows", "[\"150ms\"]")]);
    assert!(line.ends_with("150ms is not a multiple of 100ms"), "{line}");
}

#[test]
fn files_get_their_line() {
    let text = "wifi = \"fast-wifi\"\n\n[wired]\nrtt = 20\ndown = { rate = \"1Mbps\" }\nup = { rate = \"1Mbps\" }\n[[flow]]\ndirection = \"down\"\nsize = \"1MB\"\n";
    let error = |text: &str| Scenario::from_text(text, "my.toml", &[]).unwrap_err().to_string();
    assert_eq!(error(text), r#"my.toml:4: wired.rtt: "20" has no unit; write for example "20ms""#);
    let typo = text.replace("rtt = 20", "rtt = \"20ms\"").replace("size", "sise");
    assert!(error(&typo).starts_with("my.toml:9: flow.0.sise: unknown field `sise`"), "{}", error(&typo));
    assert!(error("wifi = ").starts_with("my.toml:1: "), "{}", error("wifi = "));
    assert!(error("").starts_with("my.toml: missing field `flow`"), "{}", error(""));
    assert!(
        error("base = \"fastdsl\"").starts_with("my.toml:1: base: \"fastdsl\": "),
        "{}",
        error("base = \"fastdsl\"")
    );
    assert!(error("base = 3").starts_with("my.toml:1: base: 3 is not a name"), "{}", error("base = 3"));
}

#[test]
fn each_flow_needs_a_port() {
    let text = format!(
        "base = \"fast-dsl\"\nflow = [{}]",
        "{ direction = \"up\", neighbours = 2007, size = \"1kB\" },".repeat(5)
    );
    let error = Scenario::from_text(&text, "ports", &[]).unwrap_err().to_string();
    assert!(error.ends_with("flow: expected at most 10000 flows, got 10035"), "{error}");
}

#[test]
fn names_that_are_nowhere_get_the_list() {
    let line = Scenario::load("fats-dsl", &[]).unwrap_err().to_string();
    assert!(line.starts_with("fats-dsl: no such scenario or file; scenarios that ship are bulk, "), "{line}");
    let line = Scenario::load(env!("CARGO_MANIFEST_DIR"), &[]).unwrap_err().to_string();
    assert!(!line.contains('\n') && line.contains("scenarios that ship are"), "{line}");
}

#[test]
fn a_run_that_cannot_end_says_so() {
    let set = [
        ("wifi.frame_error_rate".to_owned(), "0.99".to_owned()),
        ("time_limit".to_owned(), "20s".to_owned()),
    ];
    let scenario = Scenario::load("fast-dsl", &set).unwrap();
    let mut go_on = |_| ControlFlow::Continue(());
    let error = run(&scenario, 1, &mut RunOptions { trace: false, on_progress: &mut go_on }).unwrap_err();
    assert!(matches!(error, RunError::TimeLimit { .. } | RunError::ConnectionLost { .. }), "{error}");
}

/// Runs a scenario for at most a few hundred thousand events.
fn run_shortly(scenario: &Scenario) {
    let mut reports = 0;
    let mut a_little = |_| {
        reports += 1;
        if reports < 4 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let _ = run(scenario, 1, &mut RunOptions { trace: false, on_progress: &mut a_little });
}

const WORDS: [&str; 24] = [
    "\"0ms\"",
    "\"1ns\"",
    "\"1h\"",
    "\"-3ms\"",
    "\"1bps\"",
    "\"1Tbps\"",
    "\"9999999GB\"",
    "\"1packets\"",
    "0",
    "1",
    "-1",
    "1e308",
    "nan",
    "inf",
    "true",
    "[]",
    "{}",
    "\"\"",
    "\"psm\"",
    "\"802.11b\"",
    "\"11Mbps\"",
    "\"saturated\"",
    "\"udp\"",
    "99999999999999999999",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    /// Values of a shipped file replaced by others, right and wrong: an error of one line, or a run. Never a panic.
    #[test]
    fn exchanged_values_never_panic(which in 0..shipped().len(), changes in prop::collection::vec((0_usize..60, 0..WORDS.len()), 1..4)) {
        let mut lines: Vec<String> = shipped()[which].text.lines().map(str::to_owned).collect();
        for (line, word) in changes {
            let count = lines.len();
            let line = &mut lines[line % count];
            if let Some((key, _)) = line.clone().split_once('=') {
                *line = format!("{key}= {}", WORDS[word]);
            }
        }
        match Scenario::from_text(&lines.join("\n"), "mutated.toml", &[]) {
            Ok(scenario) => run_shortly(&scenario),
            Err(error) => prop_assert!(!error.to_string().contains('\n'), "{error}"),
        }
    }

    /// Bytes of a shipped file replaced, cut and doubled.
    #[test]
    fn damaged_files_never_panic(which in 0..shipped().len(), changes in prop::collection::vec((any::<usize>(), any::<u8>()), 0..12), cut in any::<usize>()) {
        let mut bytes = shipped()[which].text.as_bytes().to_vec();
        for (place, byte) in changes {
            let count = bytes.len();
            bytes[place % count] = byte;
        }
        bytes.truncate(cut % (2 * bytes.len()));
        let text = String::from_utf8_lossy(&bytes);
        match Scenario::from_text(&text, "damaged.toml", &[]) {
            Ok(scenario) => run_shortly(&scenario),
            Err(error) => prop_assert!(!error.to_string().contains('\n'), "{error}"),
        }
    }

    /// Any flag.
    #[test]
    fn flags_never_panic(key in "(wired|wifi|ap|tcp|station|flow|policy|[a-z]{0,3})(\\.[a-z_0-9]{0,9}){0,3}", value in ".{0,12}") {
        if let Err(error) = Scenario::load("fast-dsl", &[(key, value)]) {
            prop_assert!(!error.to_string().contains('\n'), "{error}");
        }
    }
}

/// A run of a given length goes on without the connection, and its document says so.
#[test]
fn a_lost_connection_is_part_of_a_run_with_a_duration() {
    let set = [("wifi.frame_error_rate", "0.99"), ("duration", "400s"), ("tcp.initial_rto", "1s")];
    let set = set.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let scenario = Scenario::load("fast-dsl", &set).unwrap();
    let mut go_on = |_| ControlFlow::Continue(());
    let result = run(&scenario, 1, &mut RunOptions { trace: false, on_progress: &mut go_on }).unwrap().result;
    assert!(result.flows[0].connection_lost && result.flows[0].completed_s.is_none());
    assert!((400.0..400.1).contains(&result.simulated_s));
}
