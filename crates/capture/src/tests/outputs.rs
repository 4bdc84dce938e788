//! The time line, the annotated copy, and captures of several files or stations.

use std::ops::ControlFlow;
use std::path::PathBuf;

use super::*;
use crate::report::describe;
use crate::{AnalysisProgress, analyze_stations, annotate, anonymize};

/// A folder that is removed at the end.
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("airwatt-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(super) fn go_on(_: AnalysisProgress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

pub(super) fn exchange() -> File {
    [
        (0, null(false)),
        (10, null(true)),
        (100, beacon(&[1])),
        (101, poll()),
        (103, data(1, false)),
        (150, null(false)),
    ]
    .iter()
    .fold(File::new(127), |file, (millis, bytes)| file.packet(millis * 1_000, bytes))
}

#[test]
fn the_time_line_has_modes_frames_and_states() {
    let capture = exchange().read();
    let policies = ["psm".to_owned()];
    let question = Question { policies: &policies, trace: true, ..Question::default() };
    let line = analyze_capture(&capture, &question, &mut go_on).unwrap().timeline.unwrap();
    assert_eq!(line.stations, [STATION.to_string()]);
    let modes: Vec<_> = (0..line.modes.station.len())
        .map(|row| {
            (
                line.modes.time_ns[row] / 1_000_000,
                line.modes.duration_ns[row] / 1_000_000,
                line.modes.in_power_save[row],
            )
        })
        .collect();
    assert_eq!(modes, [(0, 10, false), (10, 140, true)]);
    let kinds: Vec<&str> =
        line.frames.kind.iter().map(|kind| line.kinds[usize::from(*kind)].as_str()).collect();
    assert_eq!(kinds, ["null", "null", "ps-poll", "data", "null"]);
    assert_eq!((line.beacons.aid_count.as_slice(), line.beacons.aids.as_slice()), (&[1][..], &[1][..]));
    assert_eq!(line.policies, ["psm"]);
    // The states follow each other without a gap, from the first packet to the end of the replay.
    let mut until = 0;
    for (at, length) in line.radio_states.time_ns.iter().zip(line.radio_states.duration_ns.iter()) {
        assert_eq!(*at, until);
        until += length;
    }
    assert_eq!(until, 400_000_000);
    let mut perfetto = Vec::new();
    line.write_perfetto(&[("tim-stuck".to_owned(), 5, 3)], &mut perfetto).unwrap();
    assert!(perfetto.windows(10).any(|bytes| bytes == b"power save"));
    // Without being asked for, it is not there.
    assert_eq!(analyze_capture(&capture, &Question::default(), &mut go_on).unwrap().timeline, None);
}

/// The copy has the packets as they are, and the comments are read by tshark where it is installed.
#[test]
fn the_copy_has_the_packets_and_comments() {
    let folder = Folder::new("annotate");
    let path = folder.write("x.pcap", &exchange().0);
    let mut copy = Vec::new();
    let remarks = [(3, "a remark".to_owned())];
    annotate(&path, &Limits::default(), &[], &remarks, &mut copy, || Ok(()), &mut go_on).unwrap();
    let (before, after) = (exchange().read(), Capture::read("copy", &copy[..]).unwrap());
    assert_eq!(before.packets, after.packets);
    assert_eq!((before.frames, before.start_unix_ns), (after.frames, after.start_unix_ns));
    let text = String::from_utf8_lossy(&copy);
    assert!(text.contains(&format!("airwatt: in power save: {STATION}; TIM bits: {STATION}")), "{text}");
    assert!(text.contains(&format!("airwatt: from {STATION}, in power save since 0.010000 s")), "{text}");
    assert!(text.contains("airwatt finding keep-alive: a remark"), "{text}");
    let pipe =
        annotate("/dev/null".as_ref(), &Limits::default(), &[], &[], &mut Vec::new(), || Ok(()), &mut go_on);
    assert!(pipe.unwrap_err().to_string().contains("save it to a file"));
}

/// To open a pipe waits for its writer, and to read a device may never end.
#[test]
fn what_is_no_file_in_a_folder_is_named_and_not_opened() {
    let folder = Folder::new("special");
    folder.write("a.pcap", &exchange().0);
    let _socket = std::os::unix::net::UnixListener::bind(folder.0.join("c.pcap")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", folder.0.join("d.pcap")).unwrap();
    std::os::unix::fs::symlink("nowhere", folder.0.join("e.pcap")).unwrap();
    std::fs::create_dir(folder.0.join("f.pcap")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(folder.0.join("b.pcap")).status().unwrap();
    assert!(made.success());
    let open = || {
        let mut sizes = Vec::new();
        let mut on_reading = |reading: crate::file::Reading| {
            sizes.push(reading.of);
            ControlFlow::Continue(())
        };
        let limits = Limits::default();
        let capture = Capture::open_then(&folder.0, &limits, &[], || Ok(()), &mut on_reading);
        assert!(sizes.iter().all(Option::is_some), "{sizes:?}");
        capture
    };
    let capture = open().unwrap();
    let named: Vec<_> = capture.notes.unread.iter().map(|line| line.rsplit('/').next().unwrap()).collect();
    let why = "not a pcap or pcapng capture: it is no regular file";
    let missing = "e.pcap: cannot be read: No such file or directory".to_owned();
    assert_eq!(
        named,
        [format!("b.pcap: {why}"), format!("c.pcap: {why}"), format!("d.pcap: {why}"), missing]
    );
    let mut copy = Vec::new();
    annotate(&folder.0, &Limits::default(), &[], &[], &mut copy, || Ok(()), &mut go_on).unwrap();
    assert_eq!(Capture::read("copy", &copy[..]).unwrap().packets.len(), capture.packets.len());
    std::fs::remove_file(folder.0.join("a.pcap")).unwrap();
    let error = open().unwrap_err();
    assert!(error.is_wrong_input() && error.to_string().contains(".pcap: "), "{error}");
}

/// Files of a folder are read in order of time, whatever their names; their packets are numbered on.
#[test]
fn a_folder_stands_for_its_captures() {
    let folder = Folder::new("folder");
    let packet = udp(A, B, (1, 2), 0);
    folder.write("b.pcap0", &File::new(101).packet(1_000, &packet).packet(2_000, &packet).0);
    folder.write("a.pcap1", &File::new(101).packet(3_000, &packet).0);
    folder.write("empty.pcap2", &File::new(101).0);
    folder.write("notes.txt", b"no capture");
    let mut sizes = Vec::new();
    let capture = Capture::open(&folder.0, &Limits::default(), &mut |reading| {
        sizes.push(reading.of);
        ControlFlow::Continue(())
    });
    let capture = capture.unwrap();
    assert_eq!(capture.packets.iter().map(|packet| packet.number).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(clock::covered(&capture), Span::from_millis(2));
    let file_of =
        |packet| capture.file_of(packet).map(|(name, number)| (name.rsplit('/').next().unwrap(), number));
    assert_eq!([1, 2, 3].map(file_of), [Some(("b.pcap0", 1)), Some(("b.pcap0", 2)), Some(("a.pcap1", 1))]);
    assert!(sizes.iter().all(|size| size.is_some_and(|bytes| bytes > 100)), "{sizes:?}");
    let mut copy = Vec::new();
    annotate(&folder.0, &Limits::default(), &[], &[], &mut copy, || Ok(()), &mut go_on).unwrap();
    assert_eq!(Capture::read("copy", &copy[..]).unwrap().packets, capture.packets);
    // Files that cannot be read are said, and the others are analysed.
    folder.write("c.pcap.gz", &[0x1f, 0x8b, 8, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
    folder.write("d.pcap", b"");
    let night = Capture::open(&folder.0, &Limits::default(), &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(night.packets.len(), 3);
    let [damaged, empty] = &night.notes.unread[..] else { panic!("{:?}", night.notes.unread) };
    assert!(damaged.contains("c.pcap.gz: ") && empty.contains("d.pcap: "), "{damaged}, {empty}");
    let mut copy = Vec::new();
    annotate(&folder.0, &Limits::default(), &[], &[], &mut copy, || Ok(()), &mut go_on).unwrap();
    assert_eq!(Capture::read("copy", &copy[..]).unwrap().packets.len(), 3);
    // Frames of two monitors are no sequence of one.
    folder.write("e.pcap", &File::new(101).packet(1_500, &packet).packet(3_000_000, &packet).0);
    folder.write("f.pcap", &File::new(101).packet(4_000, &packet).0);
    let both = Capture::open(&folder.0, &Limits::default(), &mut |_| ControlFlow::Continue(())).unwrap_err();
    let text = both.to_string();
    assert!(text.contains(" begins 2.997s before ") && text.contains("e.pcap ends; hint: "), "{text}");
    assert!(both.is_wrong_input());
    std::fs::remove_file(folder.0.join("f.pcap")).unwrap();
    // Also where one file alone can be read.
    for name in ["b.pcap0", "a.pcap1", "empty.pcap2"] {
        std::fs::remove_file(folder.0.join(name)).unwrap();
    }
    let mut copy = Vec::new();
    annotate(&folder.0, &Limits::default(), &[], &[], &mut copy, || Ok(()), &mut go_on).unwrap();
    assert_eq!(Capture::read("copy", &copy[..]).unwrap().packets.len(), 2);
    let bare = Folder::new("bare");
    bare.write("notes.txt", b"no capture");
    let error = Capture::open(&bare.0, &Limits::default(), &mut |_| ControlFlow::Continue(())).unwrap_err();
    assert!(error.is_wrong_input() && error.to_string().contains("got 0"), "{error}");
}

#[test]
fn each_station_gets_its_analysis() {
    let folder = Folder::new("stations");
    let other = [192, 168, 1, 3];
    let file = File::new(101).packet(1, &udp(A, B, (1, 2), 0)).packet(2, &udp(other, B, (1, 2), 0));
    let path = folder.write("x.pcap", &file.0);
    let policies = ["psm".to_owned()];
    let question = Question { policies: &policies, ..Question::default() };
    let stations = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let analyses = analyze_stations(&path, &question, &names, || Ok(()), &mut go_on);
        analyses.map(|list| list.into_iter().map(|one| one.station.unwrap()).collect::<Vec<_>>())
    };
    let mut all = stations(&["all"]).unwrap();
    all.sort();
    assert_eq!(all, ["192.168.1.2", "192.168.1.3"]);
    assert_eq!(stations(&["192.168.1.3", "192.168.1.2"]).unwrap(), ["192.168.1.3", "192.168.1.2"]);
    assert!(stations(&["192.168.1.2", "frob"]).is_err());
}

/// An ARP request costs a sleeping station its air time: one of a neighbour, and its own that the access point relays.
#[test]
fn group_addressed_packets_have_a_price() {
    let with = |source: u8, kind: u16, inside: &[u8]| {
        let mut bytes = ethernet(kind, inside);
        bytes[..6].fill(0xff);
        bytes[11] = source;
        bytes
    };
    let own = |inside: &[u8]| {
        let mut bytes = ethernet(0x0800, inside);
        bytes[11] = 7;
        bytes
    };
    let capture = File::new(1)
        .packet(1, &own(&udp(A, B, (1, 2), 0)))
        .packet(1_000_000, &with(9, 0x0806, &[0; 46]))
        .packet(2_000_000, &with(7, 0x0806, &[0; 46]))
        .packet(3_000_000, &with(9, 0x0800, &udp(B, [224, 0, 0, 251], (5353, 5353), 100)))
        .read();
    let policies = ["psm".to_owned()];
    let question = Question { station: Some("192.168.1.2"), policies: &policies, ..Question::default() };
    let group = analyze_capture(&capture, &question, &mut go_on).unwrap().group.unwrap();
    let rows: Vec<_> = group.protocols.iter().map(|cost| (cost.protocol, cost.frames)).collect();
    assert_eq!(rows, [("arp", 2), ("mdns", 1)]);
    // 46 bytes with MAC header, LLC and FCS are 82: 656 us at 1 Mb/s after 192 us of preamble. The radio receives at 1.5 W, and
    // waits 28 us and 7.5 slots of 9 us at 0.39 W, as in the replay.
    let arp = &group.protocols[0];
    assert!((arp.air_s - 2.0 * 848e-6).abs() < 1e-9, "{}", arp.air_s);
    assert!((arp.energy_j - 2.0 * (848e-6 * 1.5 + 95.5e-6 * 0.39)).abs() < 1e-9, "{}", arp.energy_j);
    let settings = [("wifi.beacon_rate".to_owned(), "6Mbps".to_owned())];
    let faster =
        analyze_capture(&capture, &Question { settings: &settings, ..question }, &mut go_on).unwrap();
    assert!(faster.group.unwrap().energy_j < group.energy_j / 3.0);
}

/// The band consists of the assumptions that it names, and an option takes one of them out.
#[test]
fn bands_say_what_they_consist_of() {
    let capture =
        File::new(101).packet(1, &udp(A, B, (1, 2), 0)).packet(9_000_000, &udp(B, A, (2, 1), 0)).read();
    let policies = ["psm".to_owned()];
    let question = Question { policies: &policies, ..Question::default() };
    let of = |settings: &[(String, String)]| {
        let analysis = analyze_capture(&capture, &Question { settings, ..question }, &mut go_on).unwrap();
        analysis.policies.into_iter().next().unwrap()
    };
    let policy = of(&[]);
    let names: Vec<&str> = policy.assumptions.iter().map(|assumption| assumption.what.as_str()).collect();
    assert!(names.contains(&"beacon rate"), "{names:?}");
    assert!(policy.assumptions.iter().all(|one| one.share >= 0.02 && one.energy_low_j <= one.energy_high_j));
    let awake = ["active".to_owned()];
    let module = Question { radio: Some("esp32-c3"), policies: &awake, ..question };
    let module = analyze_capture(&capture, &module, &mut go_on).unwrap();
    let of_module = &module.policies[0];
    let profile = of_module.assumptions.iter().find(|one| one.what == "radio profile").unwrap();
    let account = of_module.profile.as_ref().unwrap();
    // One band: that of the profile is a part of the energy's.
    assert!((profile.energy_low_j - of_module.energy_j * (1.0 - account.band_low)).abs() < 1e-12);
    assert!(account.band_low > account.error.unwrap(), "listening beyond beacons is assumed: {account:?}");
    assert_eq!(account.assumed, ["listen"]);
    let known = of(&[("wifi.beacon_rate".to_owned(), "1Mbps".to_owned())]);
    assert!(known.assumptions.iter().all(|one| one.what != "beacon rate"));
    assert_eq!(known.energy_j, policy.energy_j, "1 Mb/s is what is assumed");
}

/// A copy of a profile that ships, under its name but without the power of listening, and with an assumed wake-up: listening may take
/// three quarters of the 0.9 W of receiving, and the wake-ups of 1.4 mJ each nothing or twice as much.
#[test]
fn a_copied_profile_has_bands_of_what_it_assumes() {
    let capture =
        File::new(101).packet(1, &udp(A, B, (1, 2), 0)).packet(9_000_000, &udp(B, A, (2, 1), 0)).read();
    let folder = Folder::new("assumed");
    let text = airwatt_energy::Radio::shipped_text("ar5004").unwrap().replace("listen = \"0.8W\"\n", "");
    let path = folder.write("copy.toml", (text + "\n[assumed]\nwake_up = \"a guess\"\n").as_bytes());
    let policies = ["active".to_owned(), "psm".to_owned()];
    let question = Question { radio: path.to_str(), policies: &policies, ..Question::default() };
    let analysis = analyze_capture(&capture, &question, &mut go_on).unwrap();
    let [active, psm] = &analysis.policies[..] else { panic!("{:?}", analysis.policies) };
    let of = |policy: &crate::report::PolicyReport, what: &str| {
        let found = policy.assumptions.iter().find(|one| one.what == what);
        let found = found.unwrap_or_else(|| panic!("{what}: {:?}", policy.assumptions));
        (found.other.clone(), policy.energy_j - found.energy_low_j, found.energy_high_j - policy.energy_j)
    };
    let is_close = |a: f64, b: f64| (a - b).abs() < 1e-6 * b;
    // The radio that never sleeps listens for nearly all of the 9 s.
    let (other, below_j, above_j) = of(active, "listen");
    assert_eq!((other.as_str(), above_j), ("75 % of receive", 0.0));
    assert!(active.state_s.listen > 8.8 && is_close(below_j, 0.225 * active.state_s.listen), "{below_j}");
    let (other, below_j, above_j) = of(psm, "wake-up charge");
    let wake_ups_j = 1.4e-3 * psm.wakeups.values().sum::<u64>() as f64;
    assert_eq!(other, "none to twice");
    // A part of one may lie at the end of the capture.
    let is_near = |joules: f64| (joules - wake_ups_j).abs() < 1.4e-3;
    assert!(wake_ups_j > 0.1 && is_near(below_j) && is_near(above_j), "{below_j} {above_j} {wake_ups_j}");
}

/// What is reported is replayed before what only makes a band, so that a limit of events takes the band first.
#[test]
fn a_limit_of_events_takes_the_bands_first() {
    let capture =
        File::new(101).packet(1, &udp(A, B, (1, 2), 0)).packet(900_000_000, &udp(B, A, (2, 1), 0)).read();
    let policies = ["psm".to_owned(), "timeout".to_owned()];
    let with = |events| {
        let limits = Limits { events: Some(events), ..Limits::default() };
        let question = Question { policies: &policies, limits, ..Question::default() };
        analyze_capture(&capture, &question, &mut go_on)
    };
    let whole = with(1_000_000_000).unwrap().policies;
    assert!(whole.iter().all(|policy| policy.left_out.is_empty() && policy.energy_low_j.is_some()));
    // Enough for what is reported, whatever that takes, and not for the bands.
    let enough = (1..40).map(|step| step * 10_000).find(|events| with(*events).is_ok()).unwrap();
    let less = with(enough).unwrap().policies;
    for (one, other) in less.iter().zip(&whole) {
        assert_eq!(
            (one.energy_j, one.left_out.as_slice()),
            (other.energy_j, &["data rate", "beacon rate"][..])
        );
        assert_eq!((one.energy_low_j, one.energy_high_j), (None, None));
    }
    assert!(matches!(with(100), Err(AnalyzeError::Limit(_))));
}

/// What the error of a limit advises leads to an analysis.
#[test]
fn an_exceeded_limit_of_events_says_which_one_to_set() {
    let capture =
        File::new(101).packet(1, &udp(A, B, (1, 2), 0)).packet(900_000_000, &udp(B, A, (2, 1), 0)).read();
    let policies = ["psm-throttling".to_owned()];
    let mut limits = "events=1000".parse::<Limits>().unwrap();
    let mut steps = 0;
    let analysis = loop {
        let question = Question { policies: &policies, limits, ..Question::default() };
        match analyze_capture(&capture, &question, &mut go_on) {
            Ok(analysis) => break analysis,
            Err(error) => {
                let text = error.to_string();
                let advised = text.split("--limit ").nth(1).and_then(|rest| rest.split(',').next());
                limits = advised.and_then(|advised| advised.parse().ok()).expect(&text);
                steps += 1;
            }
        }
    };
    assert!(steps > 0 && limits.events.unwrap() <= 10_000_000, "{steps} steps to {limits:?}");
    assert_eq!(analysis.policies.len(), 1);
}

/// Two packets, three minutes apart: the time line of a policy that does not fit into the memory is left out and named, and the
/// report of every policy stays what it was.
#[test]
fn time_lines_keep_to_the_limit_of_memory() {
    let capture =
        File::new(101).packet(1, &udp(A, B, (1, 2), 0)).packet(180_000_000, &udp(B, A, (2, 1), 0)).read();
    let policies = ["timeout".to_owned(), "uapsd:interval=2ms".to_owned()];
    let with = |memory_bytes, trace| {
        let limits = Limits { memory_bytes, ..Limits::default() };
        let question = Question { policies: &policies, trace, limits, ..Question::default() };
        analyze_capture(&capture, &question, &mut go_on).unwrap()
    };
    let plain = with(None, false);
    let whole = with(Some(2_000_000_000), true);
    let states = &whole.timeline.as_ref().unwrap().radio_states;
    assert!(whole.capture.notes.iter().all(|note| !note.contains("no time line")));
    let of_timeout = states.policy.iter().filter(|policy| **policy == 0).count() as u64;
    let of_both = states.policy.len() as u64;
    assert!(of_both > 3 * of_timeout, "{of_timeout} of {of_both} periods");
    // Room for the first policy and not for the second.
    let less = with(Some(2 * of_timeout * crate::timeline::PERIOD_BYTES + 1_000_000), true);
    let line = less.timeline.as_ref().unwrap();
    assert_eq!(line.policies, ["timeout"]);
    let kept = line.radio_states.policy.len() as u64;
    assert_eq!(kept, of_timeout);
    let note = less.capture.notes.iter().find(|note| note.contains("no time line of uapsd")).expect("a note");
    assert!(note.contains("--limit memory=SIZE"), "{note}");
    for other in [&whole, &less] {
        let energies = |analysis: &crate::report::Analysis| -> Vec<f64> {
            analysis.policies.iter().map(|policy| policy.energy_j).collect()
        };
        assert_eq!(energies(&plain), energies(other));
    }
    let text = serde_json::to_string(line).unwrap();
    assert_eq!(serde_json::from_str::<crate::timeline::Timeline>(&text).unwrap(), *line);
}

/// Each of five stations would take what one may take: together they take no more, the tables of the capture stand in the first time line
/// alone, and what policies spend stays what it is for one station.
#[test]
fn the_time_lines_of_several_stations_share_a_limit() {
    let folder = Folder::new("several");
    let host = |last| [192, 168, 1, last];
    let file = (2..7).fold(File::new(101), |file, last| file.packet(1, &udp(host(last), B, (1, 2), 0)));
    let file = (2..7).fold(file, |file, last| file.packet(900_000_000, &udp(B, host(last), (2, 1), 0)));
    let path = folder.write("x.pcap", &file.0);
    let policies = ["timeout".to_owned()];
    let question = |memory_bytes| {
        let limits = Limits { memory_bytes: Some(memory_bytes), ..Limits::default() };
        Question { policies: &policies, trace: true, limits, ..Question::default() }
    };
    let of_all = |memory_bytes| {
        let all = ["all".to_owned()];
        let analyses = analyze_stations(&path, &question(memory_bytes), &all, || Ok(()), &mut go_on).unwrap();
        assert_eq!(analyses.len(), 5);
        analyses
    };
    let whole = of_all(2_000_000_000);
    let one = whole[0].timeline.as_ref().unwrap().memory_bytes();
    assert!(whole.iter().all(|analysis| analysis.timeline.as_ref().unwrap().policies == ["timeout"]));
    let limit = 3 * one + one / 2;
    let less = of_all(limit);
    let traced: Vec<usize> =
        less.iter().map(|analysis| analysis.timeline.as_ref().unwrap().policies.len()).collect();
    assert!(traced[0] == 1 && traced[4] == 0, "{traced:?}");
    let bytes: u64 = less.iter().map(|analysis| analysis.timeline.as_ref().unwrap().memory_bytes()).sum();
    assert!(bytes <= limit, "{bytes} of {limit}");
    let noted = less
        .iter()
        .filter(|one| one.capture.notes.iter().any(|note| note.contains("no time line of timeout")));
    assert_eq!(noted.count(), traced.iter().filter(|count| **count == 0).count());
    for (one, other) in whole.iter().zip(&less) {
        assert_eq!(one.policies, other.policies);
    }
}

/// Beacons that name two thousand stations each: the time line keeps how many, and names them only where there is room.
#[test]
fn the_stations_that_beacons_name_keep_to_the_limit_of_memory() {
    let aids: Vec<u16> = (1..2_000).collect();
    let file =
        (0..40).fold(exchange(), |file, number| file.packet(200_000 + number * 102_400, &beacon(&aids)));
    let capture = file.read();
    let with = |memory_bytes| {
        let limits = Limits { memory_bytes: Some(memory_bytes), ..Limits::default() };
        let policies = ["active".to_owned()];
        let question = Question { policies: &policies, trace: true, limits, ..Question::default() };
        analyze_capture(&capture, &question, &mut go_on).unwrap()
    };
    let (whole, less) = (with(2_000_000_000), with(capture.memory_bytes() + 500_000));
    let beacons = |analysis: &crate::report::Analysis| analysis.timeline.as_ref().unwrap().beacons.clone();
    assert_eq!(beacons(&whole).aids.len(), 1 + 40 * 1_999);
    assert!(beacons(&less).aids.is_empty());
    assert_eq!(beacons(&less).aid_count, beacons(&whole).aid_count);
    let says = |analysis: &crate::report::Analysis| {
        analysis.capture.notes.iter().any(|note| note.contains("which stations beacons name"))
    };
    assert_eq!((says(&whole), says(&less)), (false, true));
}

/// A copy says that its original is cut short, and a copy of the copy does; one of a whole capture does not.
#[test]
fn a_copy_says_what_its_original_lacks() {
    let folder = Folder::new("lacks");
    let whole = exchange().0;
    let copied = |path: &std::path::Path| {
        let mut copies = [Vec::new(), Vec::new()];
        anonymize(path, &mut copies[0], || Ok(()), &mut go_on).unwrap();
        annotate(path, &Limits::default(), &[], &[], &mut copies[1], || Ok(()), &mut go_on).unwrap();
        copies
    };
    for (name, bytes, is_cut) in [("whole", &whole[..], false), ("cut", &whole[..whole.len() - 3], true)] {
        for copy in copied(&folder.write(name, bytes)) {
            let again =
                copied(&folder.write("copy", &copy)).map(|bytes| Capture::read("copy", &bytes[..]).unwrap());
            let first = Capture::read("copy", &copy[..]).unwrap();
            assert!(
                [&first, &again[0], &again[1]].iter().all(|capture| capture.notes.original_cut == is_cut)
            );
            let notes = describe(&first, None, None).capture.notes;
            assert_eq!(notes.iter().any(|note| note.contains("is cut short")), is_cut, "{notes:?}");
        }
    }
    // Packets that were dropped are counted in copies, too.
    let mut dropping = copied(&folder.write("whole", &whole))[0].clone();
    let statistics = [5_u32, 36, 0, 0, 0, 8 << 16 | 5, 7, 0, 36].map(u32::to_le_bytes).concat();
    dropping.extend_from_slice(&statistics);
    for copy in copied(&folder.write("dropping", &dropping)) {
        assert_eq!(Capture::read("copy", &copy[..]).unwrap().notes.dropped, 7);
    }
}
