//! Scenario files that somebody got wrong: one line that names the place, the key, the value and what is allowed.

use std::ops::ControlFlow;

use airwatt_sim::scenario::{Checked, Scenario, ScenarioError, shipped};
use airwatt_sim::{RunError, RunOptions, run};
use proptest::prelude::*;

fn error(set: &[(&str, &str)]) -> String {
    let set: Vec<_> = set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Scenario::load("fast-dsl", &set).expect_err("this scenario cannot be").to_string()
}

/// Who names 802.11ax for a cell with beacons at 1 Mb/s means that at 2.4 GHz.
#[test]
fn a_standard_of_the_other_band_is_named() {
    let set = [("wifi.standard".to_owned(), "802.11ax".to_owned())];
    let error = Scenario::load("idle", &set).expect_err("beacons at 1 Mb/s").to_string();
    let hint = "48Mbps, 54Mbps, or wifi.standard = \"802.11ax-2.4GHz\", which has it, got 1Mbps";
    assert!(error.ends_with(hint), "{error}");
}

#[test]
fn a_stream_in_bytes_is_refused() {
    let stream = |block| {
        [
            ("flow.application.kind", "streaming"),
            ("flow.application.rate", "2Mbps"),
            ("flow.application.media", "10s"),
            ("flow.application.block", block),
        ]
    };
    let expected = "--set flow.application.block=1B: expected at least 1ms of the flow's rate, got 1B (4us)";
    assert_eq!(error(&stream("1B")), expected);
    let enough = stream("250B").map(|(key, value)| (key.to_owned(), value.to_owned()));
    assert_eq!(Scenario::load("fast-dsl", &enough).map(|_| ()), Ok(()));
}

/// A profile lies under the keys of the scenario and of the flags, and a scenario with every key is read as it was written.
#[test]
fn a_tcp_profile_lies_under_the_keys_that_are_given() {
    let set = |pairs: &[(&str, &str)]| -> Checked {
        let pairs: Vec<_> =
            pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Scenario::load("fast-dsl", &pairs).unwrap()
    };
    let scenario = set(&[("tcp.profile", "linux-2.6.28"), ("tcp.max_rto", "100s")]);
    let tcp = &scenario.tcp;
    assert_eq!(tcp.initial_window, Some(3), "the profile's");
    assert!(!tcp.delayed_ack, "the scenario's, although the profile delays");
    assert_eq!(tcp.max_rto.to_string(), "100s", "the flag's");
    assert_eq!(Scenario::from_text(&scenario.to_toml(), "again", &[]).unwrap().tcp, *tcp);
    for profile in ["rfc", "linux-settings", "linux-2.6.28", "ns2-2001", "freebsd-4.3", "opnet"] {
        set(&[("tcp.profile", profile)]);
    }
}

/// Each flag with how its error line has to begin.
#[test]
fn flags_get_a_line_that_says_what_is_allowed() {
    let cases = [
        (
            ("wired.rtt", "20"),
            r#"--set wired.rtt=20: expected a number with its unit, such as 20ms, got "20""#,
        ),
        (
            ("wired.rtt", "20Mbps"),
            "--set wired.rtt=20Mbps: expected a number with one of the units s, ms, us",
        ),
        (("wired.rtt", "-1ms"), r#"--set wired.rtt=-1ms: expected zero or more, got "-1ms""#),
        (("wired.rtt", "1h"), "--set wired.rtt=1h: expected 0s to 100s, got 1h"),
        (("wired.rt", "20ms"), "--set wired.rt=20ms: unknown key; hint: expected rtt, down or up"),
        (
            ("station.phone.distance", "3m"),
            "--set station.phone.distance=3m: station: expected a number (0 to 0) or a key (count, ",
        ),
        (("policy", "psmm"), "--policy psmm: expected active, timeout, psm"),
        (("transport", "sctp"), "--transport sctp: expected tahoe, reno, newreno, sack, cubic, "),
        (("tcp.receive_window", "1kB"), "--set tcp.receive_window=1kB: expected 1.5kB to "),
        (("tcp.receive_window", "0packets"), "--set tcp.receive_window=0packets: expected 1packets to "),
        (
            ("tcp.rto_clock", "slow"),
            "--set tcp.rto_clock=slow: expected \"fine\" or \"coarse\", got \"slow\"",
        ),
        (("tcp.rto_tick", "2s"), "--set tcp.rto_tick=2s: expected 1ms to 1s, got 2s"),
        (("tcp.rto_min_ticks", "0"), "--set tcp.rto_min_ticks=0: expected 1 to 1000, got 0"),
        (("tcp.delayed_ack_segments", "0"), "--set tcp.delayed_ack_segments=0: expected 1 to 1000, got 0"),
        (
            ("tcp.window_growth", "fast"),
            "--set tcp.window_growth=fast: expected \"bytes\" or \"acks\", got \"fast\"",
        ),
        (("station.radio", "ar5005"), "--set station.radio=ar5005: "),
        (
            ("station.hide", r#"["eosp"]"#),
            r#"--set station.hide=["eosp"]: expected "service", "tim" or "air-time", got "eosp""#,
        ),
        (("station.count", "-1"), "--set station.count=-1: "),
        (("station.count", "5000"), "--set station.count=5000: expected 1 to 2007 stations, got 5000"),
        (
            ("tcp.profile", "vms"),
            "--set tcp.profile=vms: expected freebsd-4.3, linux, linux-2.6.28, linux-settings, ns2-2001, opnet, rfc, got \"vms\"",
        ),
        (("tcp.profile", "2"), "--set tcp.profile=2: expected freebsd-4.3, linux"),
        (
            ("wifi", "faster-wifi"),
            "--set wifi=faster-wifi: expected fast-wifi, slow-wifi, wifi4, wifi5, wifi6 or a table, got \"faster-wifi\"",
        ),
        (
            ("wifi.data_rate", "131Mbps"),
            "--set wifi.data_rate=131Mbps: expected a rate of this standard: 6Mbps",
        ),
        (
            ("station.data_rate", "7Mbps"),
            "--set station.data_rate=7Mbps: expected a rate of this standard: 6Mbps",
        ),
        (("wifi.cw_min", "8"), "--set wifi.cw_min=8: expected a power of two less one"),
        (("wifi.frame_error_rate", "1"), "--set wifi.frame_error_rate=1: expected 0 to below 1, got 1"),
        (
            ("wifi.response_error_rate", "-1"),
            "--set wifi.response_error_rate=-1: expected 0 to below 1, got -1",
        ),
        (
            ("wifi.mode", "HE80 MCS 12"),
            "--set wifi.mode=HE80 MCS 12: expected a mode such as \"HE80 MCS 11 x2 GI 0.8us\"",
        ),
        (
            ("wifi.mode", "HE80 MCS 11 x2"),
            "--set wifi.mode=HE80 MCS 11 x2: expected a mode of 802.11n: HT20 and HT40, got HE80 MCS 11 x2 GI 0.8us",
        ),
        (
            ("wifi.categories", "hostapd"),
            "--set wifi.categories=hostapd: expected \"standard\" or \"linux\", got \"hostapd\"",
        ),
        (
            ("wifi.categories", "linux"),
            "--set wifi.categories=linux: not with wifi.txop: each category has its own limit",
        ),
        (("flow.dscp", "64"), "--set flow.dscp=64: expected 0 to 63, got 64"),
        (
            ("wifi.txop_duration_rts_threshold", "33ms"),
            "--set wifi.txop_duration_rts_threshold=33ms: expected 32us to 32.704ms, got 33ms",
        ),
        (("wifi.rts_after_failures", "0"), "--set wifi.rts_after_failures=0: expected 1 to 255, got 0"),
        (
            ("wifi.msdu_lifetime.best_effort", "0ms"),
            "--set wifi.msdu_lifetime.best_effort=0ms: expected 1ms to 60s, got 0s",
        ),
        (
            ("wifi.msdu_lifetime.voice", "9ms"),
            "--set wifi.msdu_lifetime.voice=9ms: no effect with one category for all data; hint: it belongs to wifi.categories",
        ),
        (("wifi.aggregation.mpdus", "65"), "--set wifi.aggregation.mpdus=65: expected 1 to 64, got 65"),
        (
            ("wifi.aggregation.bytes", "64KiB"),
            "--set wifi.aggregation.bytes=64KiB: expected 1B to 65.535kB, got 65.536kB",
        ),
        (
            ("wifi.aggregation.amsdu", "8kB"),
            "--set wifi.aggregation.amsdu=8kB: expected 100B to 7.935kB, got 8kB",
        ),
        (
            ("wifi.aggregation.time", "6ms"),
            "--set wifi.aggregation.time=6ms: expected 1ns to 5.484ms, got 6ms",
        ),
        (
            ("wifi.aggregation.missed_block_ack", "ask"),
            "--set wifi.aggregation.missed_block_ack=ask: expected \"resend\" or \"request\", got \"ask\"",
        ),
        (
            ("wifi.aggregation.retry_limit", "256"),
            "--set wifi.aggregation.retry_limit=256: expected 0 to 255, got 256",
        ),
        (("wifi.frame_error_rate", "nan"), "--set wifi.frame_error_rate=nan: expected 0 to below 1, got NaN"),
        (
            ("flow.0.application.size", "0B"),
            "--set flow.0.application.size=0B: expected 1B to 1000GB, got 0B",
        ),
        (
            ("flow.7.application.size", "1MB"),
            "--set flow.7.application.size=1MB: expected flow.0 to flow.0, got flow.7",
        ),
        (
            ("ap.buffer", "9kB"),
            "--set ap.buffer=9kB: expected a number of packets such as 100packets, got 9kB",
        ),
        (("ap.buffer", "0packets"), "--set ap.buffer=0packets: expected 1packets to "),
        (
            ("wifi.rate_control", "minstrel"),
            "--set wifi.rate_control=minstrel: expected \"fixed\" or \"minstrel-ht\", got \"minstrel\"",
        ),
        (
            ("wifi.path_loss.shadowing_db", "-1"),
            "--set wifi.path_loss.shadowing_db=-1: expected 0 to 30, got -1",
        ),
        (
            ("ap.queue", "red"),
            "--set ap.queue=red: expected \"drop-tail\", \"two-queues\", \"fq-codel\", \"mac80211\" or \"ath9k\", got \"red\"",
        ),
        (("wifi.path_loss.exponent", "9"), "--set wifi.path_loss.exponent=9: expected 1 to 6, got 9"),
        (("wifi.path_loss.tx_power", "0W"), "--set wifi.path_loss.tx_power=0W: expected 1uW to 10W, got 0nW"),
        (
            ("measure_from", "1s"),
            "--set measure_from=1s: no effect with a run without a duration; hint: it belongs to duration",
        ),
        (
            ("fairness_windows", "[\"1s\"]"),
            "--set fairness_windows=[\"1s\"]: no effect with a run without a duration",
        ),
        (("fairness_capacity", "0bps"), "--set fairness_capacity=0bps: expected 100bps to "),
        (("flow.neighbours", "0"), "--set flow.neighbours=0: expected 1 to 2007, got 0"),
        (
            ("flow.wired", "{ rtt = \"1s\" }"),
            "--set flow.wired={ rtt = \"1s\" }: flow.0.wired.down: expected a table such as { rate = \"50Mbps\" } beside the other direction and rtt, got nothing",
        ),
        (
            (
                "flow",
                "[{ direction = \"down\", application = { kind = \"bulk\", size = \"1B\" }, neighbours = 1, stations = [0] }]",
            ),
            "--set flow=[{ direction = \"down\", application = { kind = \"bulk\", size = \"1B\" }, neighbours = 1, stations = [0] }]: flow.0.neighbours: not with stations",
        ),
        (
            (
                "flow",
                "[{ direction = \"down\", application = { kind = \"bulk\", size = \"1B\" }, neighbours = 1, transport = \"split\" }]",
            ),
            "--set flow=[{ direction = \"down\", application = { kind = \"bulk\", size = \"1B\" }, neighbours = 1, transport = \"split\" }]: flow.0.transport: not with neighbours: \"split\" is",
        ),
        (
            ("policy", "uapsd:40ms"),
            "--policy uapsd:40ms: expected uapsd:KEY=VALUE, for example uapsd:interval=40ms",
        ),
        (
            ("policy", "uapsd:interval=20s"),
            "--policy uapsd:interval=20s: station.0.power_save.interval: expected 1ms to 10s, got 20s",
        ),
        (
            ("policy", "psm:interval=20ms"),
            "--policy psm:interval=20ms: station.0.power_save.interval: no effect with policy \"psm\"; hint: it belongs to \"uapsd\"",
        ),
        (
            ("station.power_save.interval", "40ms"),
            "--set station.power_save.interval=40ms: no effect with policy \"active\"; hint: it belongs to \"uapsd\"",
        ),
        (
            ("station.0.power_save", "psm"),
            "--set station.0.power_save=psm: expected a table such as { policy = \"psm\" }, got \"psm\"",
        ),
        (
            ("wired.down", "16Mbps"),
            "--set wired.down=16Mbps: expected a table such as { rate = \"16Mbps\" }, or the key wired.down.rate, got \"16Mbps\"",
        ),
        (
            ("flow.application", "web"),
            "--set flow.application=web: expected a table such as { kind = \"web\" }, got \"web\"",
        ),
        (
            ("flow.0.application.media", "20s"),
            "--set flow.0.application.media=20s: no effect with kind \"bulk\"; hint: it belongs to \"streaming\"",
        ),
        (
            ("station.0.policy", "psm"),
            "--set station.0.policy=psm: renamed; hint: write station.power_save.policy",
        ),
        (
            ("station.ba_ta.ratio_min", "0.8"),
            "--set station.ba_ta.ratio_min=0.8: renamed; hint: write station.power_save.ratio_min",
        ),
        (("flow.size", "1MB"), "--set flow.size=1MB: renamed; hint: write flow.application.size"),
        (("", "1"), "--set =1: expected a dotted key"),
        (("wired.rtt.x", "1"), "--set wired.rtt.x=1: wired.rtt: expected a table, to set \"x\" in it"),
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
        "--policy psm: expected a policy without U-APSD, which this access point lacks (ap.uapsd), got \"psm\""
    );
    let line = error(&[("wifi.cw_min", "1023"), ("wifi.cw_max", "15")]);
    assert!(line.starts_with("--set wifi.cw_max=15: expected wifi.cw_min (1023) to"), "{line}");
    let line = error(&[("flow.application.kind", "saturated")]);
    assert!(
        line.starts_with("--set flow.application.kind=saturated: not with transport \"newreno\": \"saturated\" needs transport \"udp\""),
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
    assert!(line.starts_with("--set measure_from=200s: expected "), "{line}");
    let line = error(&[("fairness_windows", "[\"151s\"]")]);
    assert!(line.contains("expected 100ms to 150s, got 151s"), "{line}");
    let line = error(&[("fairness_windows", "[\"150ms\"]")]);
    assert!(line.ends_with("expected a multiple of 100ms, got 150ms"), "{line}");
}

/// The flag that begins a table is named, not only the key that the table lacks.
#[test]
fn a_key_of_a_table_that_the_scenario_lacks_names_its_flag() {
    let line =
        Scenario::load("idle", &[("wired.rtt".to_owned(), "20ms".to_owned())]).unwrap_err().to_string();
    assert_eq!(
        line,
        "--set wired.rtt=20ms: wired.down: expected a table such as { rate = \"50Mbps\" } beside the other direction and rtt, got nothing; idle has no wired, which needs all of its keys"
    );
}

#[test]
fn files_get_their_line() {
    let text = "wifi = \"fast-wifi\"\n\n[wired]\nrtt = 20\ndown = { rate = \"1Mbps\" }\nup = { rate = \"1Mbps\" }\n[[flow]]\ndirection = \"down\"\napplication = { kind = \"bulk\", size = \"1MB\" }\n";
    let error = |text: &str| Scenario::from_text(text, "my.toml", &[]).unwrap_err().to_string();
    assert_eq!(
        error(text),
        r#"my.toml:4: wired.rtt: expected a number with its unit, such as 20ms, got "20""#
    );
    let typo = text.replace("rtt = 20", "rtt = \"20ms\"").replace("size", "sise");
    assert!(error(&typo).starts_with("my.toml:9: flow.0.application.sise: unknown key"), "{}", error(&typo));
    assert!(error("wifi = ").starts_with("my.toml:1: "), "{}", error("wifi = "));
    assert!(
        error("").starts_with("my.toml: flow: expected at least one [[flow]] table, or a duration of an idle network, got nothing"),
        "{}",
        error("")
    );
    let missing = error("base = \"fastdsl\"");
    assert!(
        missing.starts_with("my.toml:1: base: expected ") && missing.contains("got \"fastdsl\": "),
        "{missing}"
    );
    let number = error("base = 3");
    assert!(number.starts_with("my.toml:1: base: expected ") && number.ends_with("got 3"), "{number}");
}

#[test]
fn each_flow_needs_a_port() {
    let text = format!(
        "base = \"fast-dsl\"\nflow = [{}]",
        "{ direction = \"up\", neighbours = 2007, application = { kind = \"bulk\", size = \"1kB\" } },"
            .repeat(5)
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
fn run_shortly(scenario: &Checked) {
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

/// Whether every line of an error names the file, and none is there twice.
fn each_line_has_its_place(error: &ScenarioError, file: &str) -> bool {
    let text = error.to_string();
    let lines: Vec<&str> = text.split('\n').collect();
    lines.iter().enumerate().all(|(index, line)| {
        line.starts_with(&format!("{file}:")) && line.len() > file.len() + 2 && !lines[..index].contains(line)
    })
}

/// Every key with the wrong form is reported at once, with its line; an error that only follows from another one is not.
#[test]
fn all_keys_with_the_wrong_form_are_reported() {
    let text = "base = \"fast-dsl\"\nspeed = 3\n[wired]\nrtt = 20\n[ap]\nbuffer = \"many\"\nuapsd = true\n[tcp]\nmtu = \"x\"\n";
    let error = Scenario::from_text(text, "wrong.toml", &[]).expect_err("four keys are wrong").to_string();
    let lines: Vec<&str> = error.split('\n').collect();
    assert_eq!(lines.len(), 4, "{error}");
    for place in [
        "wrong.toml:2: speed: ",
        "wrong.toml:4: wired.rtt: ",
        "wrong.toml:6: ap.buffer: ",
        "wrong.toml:9: tcp.mtu: ",
    ] {
        assert!(lines.iter().any(|line| line.starts_with(place)), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    /// Values of a shipped file replaced by others, right and wrong: an error with a line for each key, or a run. Never a panic.
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
            Err(error) => prop_assert!(each_line_has_its_place(&error, "mutated.toml"), "{error}"),
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
            Err(error) => prop_assert!(each_line_has_its_place(&error, "damaged.toml"), "{error}"),
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

/// Settings of a kind hold whether they come before or after its name, and go when another kind takes its place.
#[test]
fn a_kind_brings_its_own_settings() {
    let load = |set: &[(&str, &str)]| {
        let set: Vec<_> = set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Scenario::load("web", &set).map(|scenario| scenario.to_toml()).map_err(|error| error.to_string())
    };
    let web = load(&[("flow.application.count", "3"), ("flow.application.kind", "web")]).unwrap();
    assert!(web.contains("count = 3") && web.contains("mean_gap = \"5s\""), "{web}");
    let other =
        load(&[("flow.application.count", "3"), ("flow.application.kind", "request-response")]).unwrap();
    assert!(other.contains("count = 3") && other.contains("mean_gap = \"500ms\""), "{other}");
    let wrong = load(&[("flow.application.count", "3"), ("flow.application.kind", "bulk")]).unwrap_err();
    assert!(wrong.contains("flow.application.count=3: no effect with kind \"bulk\""), "{wrong}");
    let kept = load(&[("policy", "uapsd:interval=40ms"), ("policy", "uapsd")]).unwrap();
    assert!(kept.contains("interval = \"40ms\""), "{kept}");
    let gone = load(&[("policy", "uapsd:interval=40ms"), ("policy", "psm")]).unwrap();
    assert!(!gone.contains("interval = \"40ms\""), "{gone}");
}

/// A key that nothing configured uses is refused where it was written: in the flag, or in the file itself. What a base or
/// a comparison brings along is not held against it.
#[test]
fn keys_without_effect_are_refused() {
    let cases = [
        (
            ("fast-dsl", ("ap.dtim_period", "3")),
            "--set ap.dtim_period=3: no effect with a listen interval that counts beacons; hint: it belongs to station.listen_interval \"dtim\" or station.receive_dtims",
        ),
        (
            ("fast-dsl", ("station.0.receive_dtims", "true")),
            "--set station.0.receive_dtims=true: no effect with stations that receive every beacon; hint: it belongs to a station.listen_interval above 1",
        ),
        (
            ("e2tcp", ("ap.buffer", "9packets")),
            "--set ap.buffer=9packets: no effect with a [link]; hint: it belongs to [wifi]",
        ),
        (
            ("call-today", ("wifi.aifsn", "2")),
            "--set wifi.aifsn=2: no effect with wifi.categories; hint: it belongs to a cell whose data has one access category",
        ),
        (("ten-up", ("time_limit", "9s")), "--set time_limit=9s: no effect with a duration"),
        (("fast-dsl", ("tcp.rto_tick", "9ms")), "--set tcp.rto_tick=9ms: no effect with rto_clock \"fine\""),
        (
            ("fast-dsl", ("e2tcp.max_window", "30")),
            "--set e2tcp.max_window=30: no effect with these transports",
        ),
        (
            ("fast-dsl", ("tcp.sack_recovery", "pipe")),
            "--set tcp.sack_recovery=pipe: no effect with these transports",
        ),
        (
            ("fast-dsl", ("ackloss.threshold", "2")),
            "--set ackloss.threshold=2: no effect with these transports",
        ),
        (
            ("fast-dsl", ("flow.0.application.media", "9s")),
            "--set flow.0.application.media=9s: no effect with kind \"bulk\"",
        ),
    ];
    for ((name, (key, value)), expected) in cases {
        let line = Scenario::load(name, &[(key.to_owned(), value.to_owned())]).unwrap_err().to_string();
        assert!(line.starts_with(expected), "{line}");
    }
    let text = "base = \"fast-dsl\"\n[ap]\ndtim_period = 3\n";
    let line = Scenario::from_text(text, "my.toml", &[]).unwrap_err().to_string();
    assert!(line.starts_with("my.toml:3: ap.dtim_period: no effect with"), "{line}");
    // What a base has set and an override leaves without effect is written as its default.
    let linux = [("tcp.profile".to_owned(), "linux".to_owned())];
    let mut hosts = 0;
    for shipped in shipped() {
        let whole = Scenario::load(shipped.name, &[]).expect(shipped.name).to_toml();
        Scenario::from_text(&whole, "whole.toml", &[]).expect(shipped.name);
        let Ok(scenario) = Scenario::load(shipped.name, &linux) else { continue };
        let read = Scenario::from_text(&scenario.to_toml(), "linux.toml", &[]).expect(shipped.name);
        assert_eq!(read.tcp, scenario.tcp, "{}", shipped.name);
        assert_eq!(read.canonical(), scenario.canonical(), "{}", shipped.name);
        hosts += 1;
    }
    assert!(hosts > 5, "{hosts}");
    let bulk = Scenario::load("bulk", &linux).unwrap().to_toml();
    assert!(bulk.contains("min_rto_of = \"timeout\""), "{bulk}");
    let chosen = [("transport", "reno"), ("ackloss.threshold", "2")];
    let chosen = chosen.map(|(key, value)| (key.to_owned(), value.to_owned()));
    Scenario::load("ten-up", &chosen).expect("a comparison of transports sets it for all");
}

/// Settings of TCP that no connection of the scenario reads. A comparison that chooses the transports may set them for all.
#[test]
fn settings_of_tcp_need_a_connection_that_has_them() {
    let load = |transport: &str, set: &[(&str, &str)]| {
        let text = format!(
            "base = \"fast-dsl\"\nduration = \"1s\"\n[[flow]]\ndirection = \"down\"\ntransport = \"{transport}\"\n"
        );
        let text = match transport {
            "udp" => format!("{text}application = {{ kind = \"cbr\", rate = \"1Mbps\" }}\n"),
            _ => text,
        };
        let set: Vec<_> = set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Scenario::from_text(&text, "my.toml", &set).map(|_| ()).map_err(|error| error.to_string())
    };
    let refused = |transport: &str, key: &str, value: &str, because: &str| {
        let line = load(transport, &[(key, value)]).expect_err(key);
        assert!(
            line.starts_with(&format!("--set {key}={value}: no effect with {because}; hint: ")),
            "{line}"
        );
    };
    let settings = [
        ("tcp.profile", "linux-settings"),
        ("tcp.initial_window", "4"),
        ("tcp.delayed_ack", "true"),
        ("tcp.min_rto", "300ms"),
        ("tcp.handshake", "true"),
    ];
    for (key, value) in settings {
        refused("quic", key, value, "these transports");
        refused("udp", key, value, "these transports");
        for transport in ["reno", "cubic", "prtp"] {
            assert_eq!(load(transport, &[(key, value)]), Ok(()), "{transport} {key}");
        }
    }
    let classic = [("tcp.window_growth", "acks"), ("tcp.window_rules", "bsd")];
    for (key, value) in classic {
        refused("cubic", key, value, "these transports");
        assert_eq!(load("reno", &[(key, value)]), Ok(()), "{key}");
    }
    assert_eq!(load("veno", &[classic[0]]), Ok(()), "its window grows as Reno's");
    refused("veno", classic[1].0, classic[1].1, "these transports");
    let timer = ("tcp.partial_ack_timer", "slow-but-steady");
    for transport in ["reno", "sack", "cubic"] {
        refused(transport, timer.0, timer.1, "these transports");
    }
    assert_eq!(load("newreno", &[timer]), Ok(()));
    for wait in [("tcp.delayed_ack_timeout", "90ms"), ("tcp.delayed_ack_segments", "3")] {
        refused("reno", wait.0, wait.1, "acknowledgements that are not delayed");
        assert_eq!(load("reno", &[("tcp.delayed_ack", "true"), wait]), Ok(()));
    }
    for transport in ["quic", "udp"] {
        assert_eq!(load(transport, &[("tcp.mtu", "1400B")]), Ok(()), "the size of its packets");
    }
    assert_eq!(load("reno", &[("transport", "quic"), ("tcp.initial_window", "4")]), Ok(()));
}

#[test]
fn old_keys_in_files_get_the_new_one() {
    let text = "wifi = \"fast-wifi\"\n[[station]]\npolicy = \"psm\"\n[[flow]]\ndirection = \"down\"\n";
    let line = Scenario::from_text(text, "my.toml", &[]).unwrap_err().to_string();
    assert_eq!(line, "my.toml:3: station.0.policy: renamed; hint: write station.power_save.policy");
    for (old, new) in [("forth", "forward"), ("back", "reverse")] {
        let text = format!(
            "base = \"two-access-points\"\n[[link]]\nname = \"wire\"\n{old} = {{ rate = \"1Mbps\" }}\n"
        );
        let line = Scenario::from_text(&text, "my.toml", &[]).unwrap_err().to_string();
        assert!(line.contains(&format!("link.0.{old}: renamed; hint: write link.{new}")), "{line}");
    }
}

/// Each value out of range has a line, also where a key has no default to take its place; the same key is not repeated.
#[test]
fn all_values_of_a_file_that_are_out_of_range_are_reported_at_once() {
    let text = "base = \"fast-dsl\"\n\n[wired]\nrtt = \"1000s\"\n\n[wifi]\nbase = \"fast-wifi\"\nretry_limit = 1000\n\n[[station]]\n\
                power_save = { policy = \"timeout\", timeout = \"3h\" }\ndistance = \"400km\"\n";
    let lines = Scenario::from_text(text, "my.toml", &[]).unwrap_err().to_string();
    let lines: Vec<&str> = lines.lines().collect();
    let begins = [
        "my.toml:4: wired.rtt: ",
        "my.toml:8: wifi.retry_limit: ",
        "my.toml:11: station.0.power_save.timeout: ",
    ];
    assert_eq!(lines.len(), 4, "{lines:?}");
    for (line, begin) in lines.iter().zip(begins) {
        assert!(line.starts_with(begin) && line.contains("expected "), "{line}");
    }
    assert!(lines[3].starts_with("my.toml:12: station.0.distance: "), "{lines:?}");
}

/// A scenario from a stranger names other files. What is no regular file is refused at once: a device has no end, and a FIFO no writer.
#[test]
fn only_regular_files_are_read() {
    let folder = std::env::temp_dir().join(format!("airwatt-bad-input-{}", std::process::id()));
    std::fs::create_dir(&folder).expect("a new folder");
    let fifo = folder.join("radio.toml");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status().expect("mkfifo runs");
    assert!(made.success());
    let refused =
        |text: &str| Scenario::from_text(text, "stranger.toml", &[]).expect_err("refused").to_string();
    for file in ["/dev/zero", fifo.to_str().expect("UTF-8")] {
        let radio = refused(&format!("base = \"fast-dsl\"\n[[station]]\nradio = {file:?}\n"));
        assert!(radio.ends_with("expected a regular file, got a device, FIFO or socket"), "{radio}");
        let base = refused(&format!("base = {file:?}\n"));
        assert!(base.ends_with("expected a regular file, got a device, FIFO or socket"), "{base}");
        let whole = Scenario::load(file, &[]).expect_err("refused").to_string();
        assert!(whole.contains("expected a regular file, got a device, FIFO or socket"), "{whole}");
    }
    std::fs::remove_dir_all(&folder).expect("removed");
}

/// A megabyte of empty tables made hundreds of megabytes of stations before their number was looked at.
#[test]
fn the_number_of_tables_is_bounded() {
    for list in ["station", "flow", "cell.station"] {
        let text = format!("name = \"long\"\n{list} = [{}]\n", "{},".repeat(300_000));
        let error = Scenario::from_text(&text, "stranger.toml", &[]).expect_err("refused").to_string();
        assert_eq!(error, format!("stranger.toml:2: {list}: expected at most 10000 tables, got 300000"));
    }
}

/// A sweep writes to a folder that is named after the scenario.
#[test]
fn a_name_stays_in_its_folder() {
    let long = "x".repeat(101);
    for name in ["../../x", "a/b", ".hidden", "..", "-x", "a\u{1b}[2Jb", "a\u{202e}b", "a\nb", &long] {
        let text = format!("base = \"fast-dsl\"\nname = {}\n", toml::Value::from(name));
        let refused = Scenario::from_text(&text, "stranger.toml", &[]).expect_err(name).to_string();
        let expected =
            "expected up to 100 characters without slash, invisible character, leading dot or dash, got ";
        assert!(refused.contains(expected) && !refused.contains(char::is_control), "{refused}");
        assert!(!refused.contains('\u{202e}'), "{refused}");
    }
    let named_after =
        |file: &str| Scenario::from_text("base = \"fast-dsl\"\n", file, &[]).expect(file).name.clone();
    assert_eq!(named_after("somewhere/caf\u{e9} 2.toml"), "caf\u{e9} 2");
    assert_eq!(named_after(".hidden.toml"), "hidden");
    assert_eq!(named_after("-x.toml"), "x");
    assert_eq!(named_after("a\u{1b}b\u{202e}.toml"), "a_b_");
}

/// What a program has changed in a scenario runs only after a check that finds what a file would be refused for: ranges, and names.
#[test]
fn a_changed_copy_is_checked_again() {
    let scenario = Scenario::load("two-cells", &[]).unwrap();
    let refused = |change: &dyn Fn(&mut Scenario)| {
        let mut copy = Scenario::clone(&scenario);
        change(&mut copy);
        Checked::new(copy).expect_err("it cannot run").to_string()
    };
    let line = refused(&|copy| copy.cell[0].access_point.as_mut().unwrap().dtim_period = 0);
    assert!(line.starts_with("cell.0.access_point.dtim_period: expected 1 to "), "{line}");
    let line = refused(&|copy| copy.node.clear());
    assert!(line.starts_with("cell.0.station.0.node: expected a node: server"), "{line}");
}
