//! What a program that knows nothing of ours reads in the captures of runs: tshark as the oracle.
//!
//! Skipped with a line that says so where tshark is not installed.
#![expect(clippy::print_stdout, reason = "a skipped test says why")]

use std::ops::ControlFlow;
use std::process::Command;

use airwatt_sim::media::cell::frame::{BeaconContent, CellFrameKind, Node, TracedFrame};
use airwatt_sim::packet::Payload;
use airwatt_sim::record::RunTrace;
use airwatt_sim::scenario::Scenario;
use airwatt_sim::{RunOptions, run};

fn traced(scenario: &str, changes: &[(&str, &str)]) -> RunTrace {
    let changes: Vec<_> = changes.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    let scenario = Scenario::load(scenario, &changes).unwrap();
    let mut go_on = |_| ControlFlow::Continue(());
    run(&scenario, 1, &mut RunOptions { trace: true, on_progress: &mut go_on }).unwrap().trace.unwrap()
}

/// What tshark prints of the trace's capture; `None` where it is not installed.
fn tshark(trace: &RunTrace, name: &str, arguments: &[&str]) -> Option<String> {
    let mut bytes = Vec::new();
    trace.write_pcapng(&mut bytes).unwrap();
    let path = std::env::temp_dir().join(format!("airwatt-{}-{name}.pcapng", std::process::id()));
    std::fs::write(&path, bytes).unwrap();
    let output = Command::new("tshark").arg("-r").arg(&path).args(arguments).output();
    std::fs::remove_file(&path).unwrap();
    let Ok(output) = output else {
        println!("skipped: tshark is not installed");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

/// The values of `fields`, a line a frame.
fn fields(trace: &RunTrace, name: &str, fields: &[&str]) -> Option<Vec<Vec<String>>> {
    let mut arguments = vec!["-T", "fields", "-o", "tcp.relative_sequence_numbers:FALSE"];
    arguments.extend(fields.iter().flat_map(|field| ["-e", field]));
    let text = tshark(trace, name, &arguments)?;
    Some(text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect())
}

fn by_start(trace: &RunTrace) -> Vec<&TracedFrame> {
    let mut frames: Vec<&TracedFrame> = trace.frames.iter().collect();
    frames.sort_by_key(|frame| frame.start);
    frames
}

fn is(text: &str, flag: bool) -> bool {
    // Truth values are numbers or words, depending on the version.
    matches!((text, flag), ("1" | "True", true) | ("0" | "False", false))
}

/// The option has the size of packets without that of headers, whose options do not count (RFC 6691).
#[test]
fn the_mss_of_a_syn_is_that_of_packets_of_1500_bytes() {
    for timestamps in ["true", "false"] {
        let set = [("tcp.timestamps", timestamps), ("tcp.header", "60B"), ("flow.application.size", "100kB")];
        let trace = traced("fast-dsl", &[&set[..], &[("tcp.handshake", "true")]].concat());
        let Some(rows) = fields(&trace, &format!("mss-{timestamps}"), &["tcp.options.mss_val", "ip.len"])
        else {
            return;
        };
        let options: Vec<_> = rows.iter().map(|row| &row[0]).filter(|option| !option.is_empty()).collect();
        assert_eq!(options, ["1460", "1460"], "timestamps {timestamps}");
        let longest = rows.iter().filter_map(|row| row.get(1)?.parse::<u32>().ok()).max();
        assert_eq!(longest, Some(1500), "timestamps {timestamps}");
    }
}

#[test]
fn no_frame_is_malformed_and_no_expert_objects() {
    // A broken frame is broken, and other experts' notes are about what TCP does.
    let complaints = "radiotap.flags.badfcs == 0 && (_ws.malformed || _ws.expert.severity >= error || \
                      _ws.expert.group == \"Assumption\" || wlan.fcs.status == 0 || ip.checksum.status == 0 || \
                      tcp.checksum.status == 0 || udp.checksum.status == 0 || (_ws.short && !udp))";
    let cases: [(&str, &[(&str, &str)]); 20] = [
        ("fast-dsl", &[("flow.application.size", "300kB"), ("policy", "active"), ("station.count", "2")]),
        ("fast-dsl", &[("flow.application.size", "300kB"), ("policy", "timeout"), ("station.count", "2")]),
        ("fast-dsl", &[("flow.application.size", "300kB"), ("policy", "psm"), ("station.count", "20")]),
        ("fast-dsl", &[("flow.application.size", "300kB"), ("policy", "psm-legacy"), ("station.count", "2")]),
        (
            "fast-dsl",
            &[("flow.application.size", "300kB"), ("policy", "uapsd"), ("wifi.frame_error_rate", "0.2")],
        ),
        ("reference-download", &[("flow.application.size", "300kB"), ("wifi.station_rts_threshold", "60B")]),
        (
            "reference-download",
            &[("flow.application.size", "300kB"), ("tcp.header", "100B"), ("wifi.standard", "802.11g")],
        ),
        ("saturation", &[("station.count", "5"), ("duration", "200ms")]),
        ("web", &[("policy", "twt"), ("duration", "3s")]),
        (
            "web",
            &[
                ("policy", "twt"),
                ("station.power_save.resume_after", "100ms"),
                ("ap.twt_information", "true"),
                ("duration", "3s"),
            ],
        ),
        (
            "saturation",
            &[
                ("station.count", "2"),
                ("duration", "200ms"),
                ("wifi.standard", "802.11n"),
                ("wifi.mode", "HT20 MCS 7"),
                ("wifi.aggregation.missed_block_ack", "request"),
                ("wifi.response_error_rate", "0.3"),
            ],
        ),
        ("wifi4", &[("duration", "300ms")]),
        ("wifi5", &[("duration", "300ms")]),
        ("wifi6", &[("duration", "300ms")]),
        (
            "wifi4",
            &[("duration", "300ms"), ("wifi.aggregation.amsdu", "3839B"), ("wifi.frame_error_rate", "0.2")],
        ),
        ("idle-6ghz", &[("duration", "1s")]),
        ("idle-6ghz", &[("duration", "1s"), ("policy", "twt"), ("ap.beacon_length", "2332B")]),
        ("wifi6", &[("duration", "300ms"), ("wifi.standard", "802.11ax-6GHz"), ("ap.beacon_length", "600B")]),
        ("idle", &[("duration", "3s"), ("policy", "twt"), ("station.power_save.trigger_enabled", "true")]),
        (
            "web",
            &[
                ("duration", "3s"),
                ("wifi", "wifi6"),
                ("policy", "twt"),
                ("station.power_save.trigger_enabled", "true"),
                ("station.power_save.interval", "100ms"),
            ],
        ),
    ];
    for (index, (scenario, changes)) in cases.iter().enumerate() {
        let trace = traced(scenario, changes);
        let requests = by_start(&trace).iter().any(|frame| frame.kind == CellFrameKind::BlockAckRequest);
        assert_eq!(requests, changes.iter().any(|(_, value)| *value == "request"));
        let options = [
            ["-o", "wlan.check_checksum:TRUE"],
            ["-o", "ip.check_checksum:TRUE"],
            ["-o", "tcp.check_checksum:TRUE"],
            ["-Y", complaints],
        ];
        let options = options.concat();
        let Some(found) = tshark(&trace, &format!("sound-{index}"), &options) else { return };
        assert_eq!(found.lines().take(3).collect::<Vec<_>>(), [""; 0], "{scenario} {changes:?}");
    }
}

/// Each packet of an A-MSDU is one for tshark too, of a frame that says by its QoS Control that it has several.
#[test]
fn shared_frames_have_their_packets() {
    let changes =
        [("flow.application.size", "300kB"), ("policy", "psm"), ("wifi.aggregation.amsdu", "7935B")];
    let trace = traced("fast-dsl", &changes);
    let wanted = ["wlan.qos.amsdupresent", "wlan_aggregate.a_mdsu.length", "ip.len"];
    let Some(lines) = fields(&trace, "shared", &wanted) else { return };
    let mut shared = 0;
    for (line, frame) in lines.iter().zip(by_start(&trace)) {
        let Some(first) = frame.packet else { continue };
        let lengths = |more: u32| {
            let lengths = frame.packets().map(|packet| (packet.bytes + more).to_string());
            lengths.collect::<Vec<_>>().join(",")
        };
        assert_eq!(line[2], lengths(0), "{first:?}");
        if !frame.joined.is_empty() {
            shared += 1;
            assert!(is(&line[0], true), "{line:?}");
            assert_eq!(line[1], lengths(8));
        }
    }
    assert!(shared > 20, "{shared}");
}

/// Beacons of 6 GHz are on channel 5, at 5975 MHz and 6 Mbit/s, and have 400 bytes, all of which are in the capture. tshark's time on the air is
/// that by hand, 560 us.
#[test]
fn beacons_of_6_ghz_are_dissected() {
    let trace = traced("idle-6ghz", &[("duration", "1s")]);
    let names =
        ["wlan.fc.type_subtype", "radiotap.channel.freq", "wlan_radio.data_rate", "wlan_radio.duration"];
    let lengths = ["radiotap.length", "frame.len", "frame.cap_len"];
    let Some(lines) = fields(&trace, "six-ghz", &[&names[..], &lengths[..]].concat()) else { return };
    let beacons: Vec<_> = lines.iter().filter(|line| line[0] == "0x0008" || line[0] == "8").collect();
    assert_eq!(beacons.len(), 10, "{lines:?}");
    for beacon in beacons {
        let of = |place: usize| beacon[place].parse::<f64>().unwrap();
        assert_eq!([of(1), of(2), of(3)], [5_975.0, 6.0, 560.0], "{beacon:?}");
        assert_eq!((of(5) - of(4), of(6)), (400.0, of(5)));
    }
}

/// A station asks for 8.192 ms every 300 s: 36,621 x 2^13 us. The access point names its least duration, 64 units of 256 us, and accepts that.
#[test]
fn the_fields_of_target_wake_time_are_those_of_the_negotiation() {
    let changes = [
        ("policy", "twt"),
        ("station.power_save.interval", "300s"),
        ("station.power_save.duration", "8.192ms"),
        ("duration", "1s"),
    ];
    let trace = traced("idle", &changes);
    let arguments = ["-Y", "wlan.fc.type_subtype == 0x000d", "-T", "fields"];
    let wanted = [
        "wlan.fc.pwrmgt",
        "wlan.twt.setup_cmd",
        "wlan.twt.requester",
        "wlan.twt.implicit",
        "wlan.twt.flow_type",
        "wlan.twt.wake_interval_exp",
        "wlan.twt.wake_interval_mantissa",
        "wlan.twt.nom_min_twt_wake_duration",
        "wlan.twt.target_wake_time",
    ];
    let fields = wanted.iter().flat_map(|field| ["-e", field]);
    let arguments: Vec<&str> = arguments.into_iter().chain(fields).collect();
    let Some(text) = tshark(&trace, "target-wake", &arguments) else { return };
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    let values = |line: &str| -> Vec<Option<u64>> {
        let flags = |text: &str| if is(text, true) { Some(1) } else { number(text).or(Some(0)) };
        line.split('\t').map(flags).collect()
    };
    let lines: Vec<Vec<Option<u64>>> = text.lines().map(values).collect();
    // Suggest, Dictate, Suggest, Accept: the last one has the start of the first service period, half an interval behind the first beacon,
    // which is on the air less than 0.5 ms after its target time.
    let frames = by_start(&trace);
    let beacon = frames.iter().find(|frame| frame.kind == CellFrameKind::Beacon).expect("it is sent");
    let start = lines.last().and_then(|line| line[8]).expect("there is an answer");
    assert!((beacon.start.as_nanos() / 1_000 + 51_200).abs_diff(start) < 500, "{start}");
    let frame = |pm, command, requester, units, start| {
        [pm, command, requester, 1, 0, 13, 36_621, units, start].map(Some).to_vec()
    };
    let expected =
        [frame(0, 1, 1, 32, 0), frame(0, 6, 0, 64, 0), frame(0, 1, 1, 64, 0), frame(0, 4, 0, 64, start)];
    assert_eq!(lines, expected, "{text}");
}

/// An access point that takes information frames says so in its answer. A frame of the user suspends the agreement with PM = 0, and the
/// station resumes it with PM = 1 at a time that is a number of intervals behind the first period.
#[test]
fn the_fields_of_information_frames_are_those_of_the_agreement() {
    let changes = [
        ("policy", "twt"),
        ("station.power_save.interval", "100ms"),
        ("station.power_save.resume_after", "50ms"),
        ("ap.twt_information", "true"),
        ("duration", "20s"),
    ];
    let trace = traced("web", &changes);
    let arguments = ["-Y", "wlan.fc.type_subtype == 0x000d", "-T", "fields", "-E", "separator=;"];
    let wanted = [
        "wlan.fc.pwrmgt",
        "wlan.s1g.twt_information.control.next_twt_subfield_size",
        "wlan.s1g.twt_information.next_twt64",
        "wlan.twt.target_wake_time",
        "wlan.twt.control_field",
    ];
    let arguments: Vec<&str> =
        arguments.into_iter().chain(wanted.iter().flat_map(|field| ["-e", field])).collect();
    let Some(text) = tshark(&trace, "information", &arguments) else { return };
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(';').collect()).collect();
    let time = |text: &str| match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).expect("a number"),
        None => text.parse().expect("a number"),
    };
    // Bit 4 of the control field: information frames are disabled.
    assert_eq!([0, 1].map(|frame: usize| time(lines[frame][4])), [0x10, 0], "{text}");
    let first = time(lines[1][3]);
    let (mut suspensions, mut resumptions) = (0, 0);
    for line in &lines[2..] {
        if line[2].is_empty() {
            assert!(is(line[0], false), "{text}");
            suspensions += 1;
        } else {
            assert!(is(line[0], true), "{text}");
            assert_eq!((time(line[1]), (time(line[2]) - first) % 100_000), (3, 0), "{text}");
            resumptions += 1;
        }
    }
    assert!(suspensions >= 1 && suspensions - resumptions <= 1, "{text}");
}

#[test]
fn the_fields_of_power_save_are_those_of_the_run() {
    let changes = [("flow.application.size", "500kB"), ("policy", "psm"), ("station.count", "2")];
    let trace = traced("fast-dsl", &changes);
    let wanted = [
        "frame.time_epoch",
        "wlan.fc.type_subtype",
        "wlan.fc.pwrmgt",
        "wlan.fc.moredata",
        "wlan.fc.retry",
        "wlan.qos.eosp",
        "wlan.tim.dtim_count",
        "wlan.tim.dtim_period",
        "wlan.tim.aid",
        "wlan.duration",
        "wlan.ra",
        "wlan_radio.duration",
    ];
    let Some(lines) = fields(&trace, "power-save", &wanted) else { return };
    let frames = by_start(&trace);
    assert_eq!(lines.len(), frames.len());
    for (line, frame) in lines.iter().zip(frames) {
        let nanos = frame.start.as_nanos();
        assert_eq!(line[0], format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000));
        let subtype = match frame.kind {
            CellFrameKind::Group => "0x0020",
            CellFrameKind::Beacon => "0x0008",
            CellFrameKind::PsPoll => "0x001a",
            CellFrameKind::Rts => "0x001b",
            CellFrameKind::Cts => "0x001c",
            CellFrameKind::Ack => "0x001d",
            CellFrameKind::BlockAck => "0x0019",
            CellFrameKind::BlockAckRequest => "0x0018",
            CellFrameKind::Trigger => "0x0012",
            CellFrameKind::Action => "0x000d",
            CellFrameKind::Null => "0x0024",
            CellFrameKind::Data => "0x0028",
            CellFrameKind::QosNull => "0x002c",
        };
        assert_eq!(line[1], subtype);
        assert!(is(&line[2], frame.pm) && is(&line[3], frame.flags.more_data) && is(&line[4], frame.retry));
        if matches!(frame.kind, CellFrameKind::Data | CellFrameKind::QosNull)
            && frame.from == Node::AccessPoint
        {
            assert!(is(&line[5], frame.flags.eosp), "{line:?}");
        }
        if let Some(BeaconContent { dtim_count, marked, .. }) = &frame.beacon {
            assert_eq!((&line[6], &line[7]), (&dtim_count.to_string(), &"1".to_owned()));
            // In hexadecimal, of as many digits as the version likes.
            let aids = line[8].split(',').filter_map(|aid| u32::from_str_radix(aid.get(2..)?, 16).ok());
            assert_eq!(aids.map(|aid| aid - 1).collect::<Vec<_>>(), *marked, "{line:?}");
        }
        let duration = frame.nav.as_nanos().div_ceil(1_000).to_string();
        assert_eq!(line[9], duration, "{:?}", frame.kind);
        if let Node::Station(station) = frame.to {
            assert_eq!(line[10], format!("02:00:00:00:01:{:02x}", station + 1));
        }
        // What it computes from rate and length by its own rules; frames that begin at once it takes for one aggregate.
        if frame.received {
            assert_eq!(line[11], (frame.duration.as_nanos() / 1_000).to_string(), "{frame:?}");
        }
    }
}

#[test]
fn segments_are_those_of_the_run() {
    let trace = traced("fast-dsl", &[("flow.application.size", "500kB"), ("policy", "active")]);
    let wanted = ["tcp.seq_raw", "tcp.ack_raw", "tcp.len", "tcp.window_size", "tcp.srcport", "ip.len"];
    let Some(lines) = fields(&trace, "segments", &wanted) else { return };
    let mut segments = 0;
    for (line, frame) in lines.iter().zip(by_start(&trace)) {
        let Some(packet) = frame.packet else { continue };
        let Payload::Tcp(segment) = packet.payload else { panic!("a TCP flow") };
        assert_eq!(line[0], segment.seq.value().to_string());
        assert_eq!(line[2], segment.len.to_string());
        assert_eq!(line[5], packet.bytes.to_string());
        if frame.from == Node::AccessPoint {
            assert_eq!(line[4], "50000");
        } else {
            assert_eq!(line[4], "40000");
            assert_eq!(line[1], segment.ack.value().to_string());
        }
        if segments > 1 {
            // The window in the capture is what is left of it after its shift.
            let window: u32 = line[3].parse().unwrap();
            assert!(segment.window - window < 32, "{window} for {}", segment.window);
        }
        segments += 1;
    }
    assert!(segments > 500, "{segments} segments");
    let conversations = tshark(&trace, "conversation", &["-q", "-z", "conv,tcp"]).unwrap();
    assert!(conversations.contains("10.0.0.1:50000") && conversations.contains("10.1.0.1:40000"));
}

/// ECN as RFC 3168 has it: both SYNs agree, data are capable, a queue's marks come back as ECE until a segment with CWR follows.
#[test]
fn marks_and_their_echoes_are_on_the_air() {
    let changes = [
        ("tcp.profile", "linux"),
        ("tcp.ecn", "true"),
        ("transport", "cubic"),
        ("policy", "active"),
        ("flow.application.size", "8MB"),
        ("wired.down.discipline", "fq-codel"),
    ];
    let trace = traced("fast-dsl", &changes);
    let names = ["ip.dsfield.ecn", "tcp.flags.syn", "tcp.flags.ece", "tcp.flags.cwr", "tcp.len"];
    let Some(rows) = fields(&trace, "ecn", &names) else { return };
    let set = |text: &str| is(text, true);
    let packets: Vec<_> = rows
        .iter()
        .filter(|row| !row[4].is_empty())
        .map(|row| (row[0].as_str(), set(&row[1]), set(&row[2]), set(&row[3]), row[4] != "0"))
        .collect();
    let count = |wanted: fn(&(&str, bool, bool, bool, bool)) -> bool| {
        packets.iter().filter(|one| wanted(one)).count()
    };
    assert!(count(|(_, syn, ece, ..)| *syn && *ece) >= 2, "both SYNs");
    assert_eq!(count(|(field, _, _, _, data)| !data && *field != "0"), 0, "only data are capable");
    let (marks, echoes) = (count(|(field, ..)| *field == "3"), count(|(_, syn, ece, ..)| !syn && *ece));
    assert!((1..20).contains(&marks) && echoes > marks, "{marks} {echoes}");
    assert!(count(|(_, syn, _, cwr, data)| !syn && *cwr && *data) >= 1, "the sender has reduced its window");
}

/// AccECN as RFC 9768 has it: the SYN asks with three bits, the SYN-ACK answers with the field of the SYN, and of the counters that follow
/// from five on one comes after the other as packets are marked.
#[test]
fn counters_of_marks_are_on_the_air() {
    let changes = [
        ("tcp.profile", "linux"),
        ("tcp.accecn", "true"),
        ("transport", "cubic"),
        ("policy", "active"),
        ("flow.application.size", "8MB"),
        ("wired.down.discipline", "fq-codel"),
    ];
    let trace = traced("fast-dsl", &changes);
    let names = ["ip.dsfield.ecn", "tcp.flags.syn", "tcp.flags", "tcp.len"];
    let Some(rows) = fields(&trace, "accecn", &names) else { return };
    let packets: Vec<_> = rows
        .iter()
        .filter(|row| !row[3].is_empty())
        .map(|row| {
            let flags = u32::from_str_radix(row[2].trim_start_matches("0x"), 16).unwrap();
            (row[0].as_str(), is(&row[1], true), flags >> 6 & 7, row[3] != "0")
        })
        .collect();
    let syns: Vec<_> = packets.iter().filter(|one| one.1).map(|one| one.2).collect();
    assert_eq!(syns, [7, 2], "the SYN and its answer");
    assert!(packets.iter().all(|(field, syn, ..)| *syn || *field != "0"), "all but SYNs are capable");
    let marks = packets.iter().filter(|one| one.0 == "3").count();
    // The first acknowledgement still answers the SYN-ACK.
    let mut counters: Vec<_> =
        packets.iter().filter(|one| !one.1 && !one.3).map(|one| one.2).skip(1).collect();
    counters.dedup();
    assert!((1..20).contains(&marks), "{marks}");
    assert_eq!(counters.first(), Some(&5));
    let steps: u32 = counters.windows(2).map(|pair| pair[1].wrapping_sub(pair[0]) & 7).sum();
    assert_eq!(steps as usize, marks, "{counters:?}");
}
