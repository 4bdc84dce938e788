//! Real captures: the one that ships, and those of the neighbouring folder `shared/captures` where there is one.
//! Counts are capinfos' and tshark's; where tshark is installed, it is asked again.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;

use airwatt_capture::report::{Analysis, Basis};
use airwatt_capture::{
    AirFrame, AnalysisProgress, AnalyzeError, Capture, Limits, LinkType, Question, analyze, clock, flows,
    stations,
};

/// What a capture holds: name, packets, link type, seconds covered, the clear station.
type Expected = (&'static str, u32, LinkType, f64, Option<&'static str>);

const CAPTURES: [Expected; 15] = [
    ("reddit.pcap", 1_942, LinkType::Ethernet, 14.2, Some("2a01:cb01:2049:8b07:991d:ec85:28df:f629")),
    ("443-firefox.pcap", 667, LinkType::Ethernet, 8.4, Some("192.168.1.13")),
    ("alexa-app.pcapng", 3_103, LinkType::Ethernet, 176.2, Some("172.16.42.216")),
    ("android.pcap", 500, LinkType::Ethernet, 102.3, Some("192.168.2.16")),
    ("nest_log_sink.pcap", 1_000, LinkType::Ethernet, 6_723.0, Some("192.168.242.15")),
    ("mqtt.pcap", 9, LinkType::Ethernet, 339.9, None),
    ("dropbox.pcap", 848, LinkType::Ethernet, 266.1, None),
    ("youtubeupload.pcap", 137, LinkType::Ethernet, 18.1, Some("192.168.2.27")),
    ("http-bulk-no_crlf.pcap", 1_519, LinkType::Ethernet, 110.3, Some("10.1.6.206")),
    ("sctp.pcap", 74, LinkType::Ethernet, 0.1, None),
    ("gre-aruba.pcap", 2_407, LinkType::Ethernet, 31.8, Some("10.37.36.92")),
    ("wifi-phone-ps-pmkid.cap", 20_056, LinkType::Dot11, 380.5, None),
    ("wpa-psk-linksys.cap", 587, LinkType::Dot11, 10.1, Some("00:13:ce:55:98:ef")),
    ("radiotap-ap-ping-ps.pcapng", 187, LinkType::Radiotap, 4.9, Some("5a:f7:19:2b:ed:5e")),
    ("radiotap-exthdr.pcap", 10, LinkType::Radiotap, 3.0, Some("90:a4:de:c0:46:11")),
];

fn shipped() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures/tcp-download.pcapng")
}

/// A capture of the shared folder; `None`, said on the way, where there is none.
fn shared(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/captures").join(name);
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: {name} is not there; it is taken from the folder shared/captures beside the project");
    None
}

fn open(path: &Path) -> Capture {
    let mut goes_on = |_| ControlFlow::Continue(());
    Capture::open(path, &Limits::default(), &mut goes_on).unwrap_or_else(|error| panic!("{error}"))
}

fn ask(path: &Path, question: &Question<'_>) -> Analysis {
    let mut watch = |_: AnalysisProgress| ControlFlow::Continue(());
    analyze(path, question, &mut watch).unwrap_or_else(|error| panic!("{error}"))
}

/// Fields of tshark's, a row a packet; `None`, said on the way, without tshark.
fn tshark(path: &Path, filter: &str, fields: &[&str]) -> Option<Vec<Vec<String>>> {
    let mut command = Command::new("tshark");
    command.args(["-n", "-r"]).arg(path).args(["-Y", filter, "-T", "fields", "-E", "occurrence=f"]);
    command.args(fields.iter().flat_map(|field| ["-e", field]));
    match command.output() {
        Ok(output) if output.status.success() || !output.stdout.is_empty() => {
            let text = String::from_utf8_lossy(&output.stdout);
            Some(text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect())
        }
        _ => {
            eprintln!("skipped: tshark is not installed or cannot read {}", path.display());
            None
        }
    }
}

#[test]
fn every_capture_has_its_packets_its_time_and_its_station() {
    for (name, packets, link, covered_s, station) in CAPTURES {
        let Some(path) = shared(name) else { continue };
        let capture = open(&path);
        assert_eq!(capture.packets_in_file, packets, "{name}");
        assert_eq!(capture.link_types, [link], "{name}");
        let covered = clock::covered(&capture).as_secs_f64();
        assert!((covered - covered_s).abs() < 0.06, "{name}: {covered} s");
        assert_eq!(stations::clear(&capture).map(|found| found.to_string()).as_deref(), station, "{name}");
        assert_eq!(capture.notes.truncated, name == "wifi-phone-ps-pmkid.cap", "{name}");
        assert_eq!(capture.segments.len(), if name == "dropbox.pcap" { 3 } else { 1 }, "{name}");
    }
}

#[test]
fn quic_sctp_and_tunnels_are_counted_as_such() {
    if let Some(path) = shared("youtubeupload.pcap") {
        let (_, bytes) = flows::flows(&open(&path), None);
        assert!(bytes.quic > 100_000 && bytes.tcp > 0, "{bytes:?}");
    }
    if let Some(path) = shared("sctp.pcap") {
        let (list, bytes) = flows::flows(&open(&path), None);
        assert_eq!(
            (list.len(), bytes),
            (1, flows::ByteClasses { other: bytes.other, ..flows::ByteClasses::default() })
        );
    }
    if let Some(path) = shared("gre-aruba.pcap") {
        let (list, _) = flows::flows(&open(&path), None);
        assert_eq!(list.len(), 23);
        assert!(list.iter().all(flows::Flow::is_one_sided));
    }
}

#[test]
fn handshakes_and_retransmissions_as_tshark_sees_them() {
    let capture = open(&shipped());
    let (list, _) = flows::flows(&capture, None);
    let again: u64 =
        list.iter().map(|flow| flow.forward.retransmissions + flow.reverse.retransmissions).sum();
    assert_eq!(again, 48);
    assert!(list.iter().all(|flow| flow.handshake_rtt.is_some()));
    if let Some(found) = tshark(&shipped(), "tcp.analysis.retransmission", &["frame.number"]) {
        assert_eq!(found.len() as u64, again);
    }
    let Some(path) = shared("http-bulk-no_crlf.pcap") else { return };
    let (list, _) = flows::flows(&open(&path), None);
    let rtt = list[0].handshake_rtt.expect("a handshake").as_secs_f64();
    if let Some(found) = tshark(&path, "tcp.analysis.initial_rtt", &["tcp.analysis.initial_rtt"]) {
        let theirs: f64 = found[0][0].parse().expect("a number");
        assert!((rtt - theirs).abs() < 1e-6, "{rtt} {theirs}");
    }
}

/// Frame by frame against tshark: type and subtype, PM, More Data, retry, rate.
#[test]
fn dot11_fields_as_tshark_sees_them() {
    for (name, ..) in CAPTURES.iter().filter(|(_, _, link, ..)| link.is_air()) {
        let Some(path) = shared(name) else { continue };
        let capture = open(&path);
        let mut records: Vec<_> = capture.packets.iter().filter(|packet| packet.frame.is_some()).collect();
        records.sort_by_key(|packet| packet.number);
        let Some(rows) = tshark(&path, "frame", &FIELDS.map(|(field, _)| field)) else { continue };
        for packet in &records {
            let frame = &capture.frames[packet.frame.expect("filtered") as usize];
            let row = &rows[packet.number as usize - 1];
            for ((field, ours), theirs) in FIELDS.iter().zip(row) {
                // tshark leaves a field out where it does not look into a frame.
                if !theirs.is_empty() && !frame.damaged {
                    assert_eq!(&ours(&capture, frame), theirs, "{name}, packet {}, {field}", packet.number);
                }
            }
        }
    }
}

type Field = (&'static str, fn(&Capture, &AirFrame) -> String);

const FIELDS: [Field; 9] = [
    ("wlan.fc.type_subtype", |_, frame| {
        let (kind, subtype) = frame.control.kind.bits();
        format!("0x{:04x}", u16::from(kind) << 4 | u16::from(subtype))
    }),
    ("wlan.fc.pwrmgt", |_, frame| flag(frame.control.power_management)),
    ("wlan.fc.moredata", |_, frame| flag(frame.control.more_data)),
    ("wlan.fc.retry", |_, frame| flag(frame.control.retry)),
    ("wlan.ra", |_, frame| frame.receiver.to_string()),
    ("wlan.qos.tid", |_, frame| frame.tid.map_or_else(String::new, |tid| tid.to_string())),
    ("wlan.seq", |_, frame| {
        frame.sequence_control.map_or_else(String::new, |field| (field >> 4).to_string())
    }),
    ("wlan_radio.data_rate", |_, frame| {
        frame.rate().map_or_else(String::new, |rate| (rate.as_bps() as f64 / 1e6).to_string())
    }),
    ("wlan.tim.dtim_period", |capture, frame| {
        let beacon = frame.beacon.and_then(|at| capture.beacons.get(at as usize));
        beacon.and_then(|beacon| beacon.dtim).map_or_else(String::new, |(_, period)| period.to_string())
    }),
];

fn flag(set: bool) -> String {
    if set { "1" } else { "0" }.to_owned()
}

#[test]
fn the_capture_that_ships_is_analysed() {
    let document = ask(&shipped(), &Question { seed: 1, ..Question::default() });
    assert_eq!(document.station.as_deref(), Some("192.168.7.2"));
    assert!(
        document.phy.as_deref().is_some_and(|text| text.starts_with("assumed: 802.11n-2.4GHz at 65Mbps"))
    );
    assert!(document.findings.iter().any(|finding| finding.kind == "keep-alive" && finding.count == 8));
    // Under the policy that chips run: after each of the eight the radio listens for 50 ms of timeout, and before for a round
    // trip, at 0.39 W: 8 x 0.39 W x 50 ms = 0.16 J at least. Power save without a timeout spares that.
    let finding = &document.findings[0];
    assert_eq!(finding.policy.as_deref(), Some("timeout"));
    let cost_j = finding.cost_j.expect("a cost");
    assert!(0.16 < cost_j && cost_j < 0.4, "{cost_j} J for eight small exchanges");
    let of_psm = finding.costs_j["psm"].expect("a cost");
    assert!(0.0 < of_psm && of_psm < cost_j, "{of_psm} J under psm");
    assert_eq!(finding.occurrences.len(), 8);
    assert!(finding.costs_j.values().flatten().all(|cost_j| *cost_j >= 0.0), "{:?}", finding.costs_j);
    let policy = |name: &str| document.policies.iter().find(|policy| policy.policy == name).expect(name);
    let (active, psm) = (policy("active"), policy("psm"));
    assert!(active.sleep_share == 0.0 && psm.sleep_share > 0.8);
    assert!(psm.energy_j < active.energy_j / 3.0);
    assert!(active.added_delay_s.is_some_and(|delay| delay.p99 == 0.0));
    assert!(psm.added_delay_s.is_some_and(|delay| delay.mean > 1e-3 && delay.p99 < 0.2));
    for policy in &document.policies {
        let state = policy.state_s;
        let total = state.transmit + state.receive + state.listen + state.sleep + state.transition;
        assert!((total - document.capture.covered_s - 0.25).abs() < 0.02, "{}: {total} s", policy.policy);
        assert_eq!((policy.basis, policy.lost), (Basis::Inferred, 0), "{}", policy.policy);
        let (low, high) = (policy.energy_low_j.expect("a band"), policy.energy_high_j.expect("a band"));
        assert!(low <= policy.energy_j && policy.energy_j <= high, "{}", policy.policy);
    }
    let again = ask(&shipped(), &Question { seed: 1, ..Question::default() });
    let text = |document: &Analysis| serde_json::to_string(document).expect("a document");
    assert_eq!(text(&document), text(&again));
}

/// What is set of the cell holds in the replays, and is said.
#[test]
fn the_cell_can_be_set() {
    let policies = ["psm-legacy".to_owned()];
    let set = |pairs: &[(&str, &str)]| {
        let settings: Vec<_> = pairs.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
        ask(
            &shipped(),
            &Question { policies: &policies, settings: &settings, seed: 1, ..Question::default() },
        )
    };
    let wakeups = |document: &Analysis| document.policies[0].wakeups.values().sum::<u64>();
    let usual = set(&[]);
    let rare = set(&[("station.listen_interval", "10")]);
    assert!(wakeups(&rare) < wakeups(&usual) / 2, "{} of {}", wakeups(&rare), wakeups(&usual));
    // Beacons at 1 Mb/s are what is assumed.
    let fast = set(&[("wifi.standard", "802.11n-2.4GHz"), ("wifi.beacon_rate", "6Mbps")]);
    assert!(fast.policies[0].state_s.receive < usual.policies[0].state_s.receive);
    assert!(fast.phy.is_some_and(|text| {
        text.ends_with("; set: wifi.standard = 802.11n-2.4GHz, wifi.beacon_rate = 6Mbps")
    }));
    // A rate that the standard lacks gives way to the next one below.
    assert!(!set(&[("wifi.standard", "802.11g")]).policies.is_empty());
}

#[test]
fn measured_and_inferred_are_labelled_apart() {
    let Some(path) = shared("radiotap-ap-ping-ps.pcapng") else { return };
    let policies = ["psm".to_owned()];
    let document = ask(&path, &Question { policies: &policies, seed: 1, ..Question::default() });
    // The capture has the rates, so that no band is theirs; which beacons the radio hears is not in it.
    let policy = &document.policies[0];
    assert_eq!(policy.basis, Basis::Simulated);
    let assumed: Vec<&str> = policy.assumptions.iter().map(|assumption| assumption.what.as_str()).collect();
    assert_eq!(assumed, ["beacons received"]);
    let air = document.air.expect("802.11");
    let measured = air.stations[0].measured.expect("rates are known");
    assert!(0.0 < measured.energy_low_j && measured.energy_low_j < measured.energy_high_j);
    assert!(air.stations[0].counts.tim_set > 0);
}

#[test]
fn idle_power_is_not_integrated_over_a_jump_of_years() {
    let Some(path) = shared("dropbox.pcap") else { return };
    let policies = ["active".to_owned()];
    let station = Some("192.168.56.1");
    let document = ask(&path, &Question { station, policies: &policies, seed: 1, ..Question::default() });
    assert!(document.capture.notes.iter().any(|note| note.contains("clock jumps")));
    // 267 s at most at the radio's 390 mW of listening and some more.
    assert!(document.policies[0].energy_j < 120.0, "{}", document.policies[0].energy_j);
}

#[test]
fn options_may_end_with_their_block() {
    let bytes = fs::read(shipped()).unwrap();
    let mut shortened = Vec::new();
    let mut at = 0;
    let mut ends = 0;
    while at < bytes.len() {
        let length = u32::from_le_bytes(bytes[at + 4..at + 8].try_into().unwrap()) as usize;
        let mut body = &bytes[at + 8..at + length - 4];
        let is_packet = bytes[at] == 6;
        if let Some(rest) = body.strip_suffix(&[0; 4]).filter(|_| !is_packet) {
            body = rest;
            ends += 1;
        }
        let stated = (body.len() as u32 + 12).to_le_bytes();
        shortened.extend([&bytes[at..at + 4], &stated, body, &stated].concat());
        at += length;
    }
    assert!(ends >= 2, "the section and an interface have options");
    let path = std::env::temp_dir().join(format!("airwatt-options-{}.pcapng", std::process::id()));
    fs::write(&path, shortened).unwrap();
    let (whole, read) = (open(&shipped()), open(&path));
    fs::remove_file(&path).unwrap();
    assert_eq!(read.packets.len(), whole.packets.len());
    assert_eq!(read.packets.last().map(|packet| packet.at), whole.packets.last().map(|packet| packet.at));
}

#[test]
fn wrong_questions_get_one_line() {
    let mut watch = |_: AnalysisProgress| ControlFlow::Continue(());
    let path = shipped();
    let mut ask = |question: &Question<'_>| {
        let error = analyze(&path, question, &mut watch).expect_err("a wrong question");
        let text = error.to_string();
        assert!(!text.contains('\n'), "{text}");
        text
    };
    assert!(
        ask(&Question { station: Some("10.9.9.9"), ..Question::default() }).contains("is not in the capture")
    );
    assert!(ask(&Question { station: Some("my phone"), ..Question::default() }).starts_with("--station"));
    let settings = [("flow.0.start".to_owned(), "1s".to_owned())];
    let refused = ask(&Question { settings: &settings, ..Question::default() });
    assert!(refused.starts_with("--set flow.0.start: expected a key of ap, wifi or station"), "{refused}");
    // Keys that a replay takes from elsewhere would be said to be set and have no effect.
    for (key, value, hint) in [
        ("station.power_save.policy", "timeout", "--policy"),
        ("station.0.power_save.timeout", "30ms", "--policy"),
        ("station.lower_bound", "true", "--policy ideal"),
        ("station.count", "2", "--station all"),
    ] {
        let settings = [(key.to_owned(), value.to_owned())];
        let refused = ask(&Question { settings: &settings, ..Question::default() });
        let expected = format!("--set {key}: no effect on a capture; hint: {hint}");
        assert!(refused.starts_with(&expected), "{refused}");
    }
    assert!(ask(&Question { radio: Some("nokia"), ..Question::default() }).starts_with("--radio"));
    let policies = ["sleep".to_owned()];
    assert!(ask(&Question { policies: &policies, ..Question::default() }).starts_with("--policy"));
    let mut stop = |_: AnalysisProgress| ControlFlow::Break(());
    let stopped = analyze(&path, &Question::default(), &mut stop);
    assert_eq!(stopped.err(), Some(AnalyzeError::Interrupted));
}
