//! Captures made to exhaust the machine: each is refused or analysed within the time and memory that a small file may take.
//!
//! Time is that of the processor, so that a busy machine does not matter. The test profile is slow: it reads a third of the packets
//! within generous bounds, and `make test-long` all of them in an optimized build. Memory is the largest sum of allocations. The
//! tests run one after the other, so that they do not count each other's.

use std::fmt::Write as _;
use std::io::Write as _;
use std::ops::ControlFlow;
use std::sync::{Mutex, MutexGuard};

use airwatt_capture::{
    AnalysisProgress, AnalyzeError, Capture, CaptureError, Limits, Question, analyze, analyze_capture,
    power_save, report,
};
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATIONS: PeakAlloc = PeakAlloc;

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Time for one capture.
const SECONDS: f64 = if cfg!(debug_assertions) { 10.0 } else { 5.0 };
/// A capture of one megabyte holds this many packets.
const MEGABYTE_PACKETS: u32 = 17_000;
/// The packets of a capture of many.
const MANY: u32 = if cfg!(debug_assertions) { 5_000 } else { MEGABYTE_PACKETS };
const MEGABYTES: f64 = 200.0;

fn alone() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Processor time of this thread in seconds; zero where the system does not report it.
fn processor_s() -> f64 {
    let status = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    status.split(' ').next().and_then(|nanos| nanos.parse().ok()).map_or(0.0, |nanos: f64| nanos * 1e-9)
}

/// Runs `work` and checks what it cost.
fn bounded<T>(what: &str, seconds: f64, work: impl FnOnce() -> T) -> T {
    ALLOCATIONS.reset_peak_usage();
    let before = ALLOCATIONS.current_usage_as_mb();
    let begin = processor_s();
    let result = work();
    let (took, peak) = (processor_s() - begin, ALLOCATIONS.peak_usage_as_mb() - before);
    eprintln!("{what}: {took:.2} s, {peak:.1} MB");
    assert!(took < seconds, "{what}: {took} s");
    assert!(f64::from(peak) < MEGABYTES, "{what}: {peak} MB");
    result
}

/// The default limit of events, and less for fewer packets.
fn limits() -> Limits {
    let events = Limits::default().events_for(0) * u64::from(MANY) / u64::from(MEGABYTE_PACKETS);
    Limits { events: Some(events), ..Limits::default() }
}

/// Reads and analyses a capture under all policies.
fn analyze_all(what: &str, bytes: &[u8]) -> Result<report::Analysis, AnalyzeError> {
    analyze_within(what, bytes, limits())
}

/// The same within other limits.
fn analyze_within(what: &str, bytes: &[u8], limits: Limits) -> Result<report::Analysis, AnalyzeError> {
    assert!(bytes.len() < 1_000_000, "{what}: a small capture");
    let mut watch = |_: AnalysisProgress| ControlFlow::Continue(());
    bounded(what, SECONDS, || {
        let capture = Capture::read(what, bytes).map_err(AnalyzeError::from)?;
        analyze_capture(&capture, &Question { seed: 1, limits, ..Question::default() }, &mut watch)
    })
}

fn pcap(link: u32) -> Vec<u8> {
    let mut bytes = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0];
    bytes.extend_from_slice(&link.to_le_bytes());
    bytes
}

/// Adds a packet with its time in microseconds and the length that it states.
fn packet(file: &mut Vec<u8>, micros: u64, stated: u32, data: &[u8]) {
    for word in [(micros / 1_000_000) as u32, (micros % 1_000_000) as u32, data.len() as u32, stated] {
        file.extend_from_slice(&word.to_le_bytes());
    }
    file.extend_from_slice(data);
}

/// An IPv4 header with a TCP header, of a packet that states `total` bytes.
fn tcp(down: bool, total: u16, sequence: u32) -> Vec<u8> {
    let (station, server) = ([192, 168, 1, 2], [198, 51, 100, 1]);
    let (source, destination) = if down { (server, station) } else { (station, server) };
    let mut bytes = vec![0x45, 0];
    bytes.extend_from_slice(&total.to_be_bytes());
    bytes.extend_from_slice(&[0, 0, 0, 0, 64, 6, 0, 0]);
    bytes.extend_from_slice(&source);
    bytes.extend_from_slice(&destination);
    bytes.extend_from_slice(&[1, 187, 200, 10]);
    bytes.extend_from_slice(&sequence.to_be_bytes());
    bytes.extend_from_slice(&[0, 0, 0, 0, 0x50, 16, 255, 255, 0, 0, 0, 0]);
    bytes
}

#[test]
fn a_stated_length_of_gigabytes_is_a_defect_and_no_traffic() {
    let _alone = alone();
    // Segmentation offload leaves the IP length zero, so that the link's length would hold.
    let mut file = pcap(101);
    for step in 0..10 {
        packet(&mut file, step * 1_000, u32::MAX - 1, &tcp(true, 0, 1));
    }
    assert_eq!(file.len(), 24 + 10 * 56);
    let error = analyze_all("only impossible lengths", &file).unwrap_err();
    assert!(!error.is_wrong_input(), "exit status 1");
    let text = error.to_string();
    assert!(text.contains("10 packets state") && text.contains("packet 1, with 4294967294 bytes"), "{text}");

    packet(&mut file, 20_000, 1_500, &tcp(true, 1_500, 1));
    let document = analyze_all("one possible length", &file).unwrap();
    assert_eq!((document.capture.packets, document.capture.oversized_packets), (11, 10));
    assert_eq!((document.capture.bytes, document.bytes.tcp), (1_500, 1_500));
    assert!(document.capture.notes.iter().any(|note| note.contains("10 packets state a length")));
}

#[test]
fn the_longest_bundle_and_the_longest_frame_are_traffic() {
    let _alone = alone();
    let mut file = pcap(1);
    let ethernet = |ip: Vec<u8>| [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0][..], &ip].concat();
    packet(&mut file, 0, 65_535 + 14, &ethernet(tcp(true, 0, 1)));
    let document = analyze_all("a bundle", &file).unwrap();
    assert_eq!((document.bytes.tcp, document.capture.oversized_packets), (65_535, 0));
    packet(&mut file, 0, 65_535 + 512, &ethernet(tcp(true, 0, 1)));
    assert_eq!(analyze_all("and BIG TCP", &file).unwrap().capture.oversized_packets, 1);

    // An 802.11 frame without FCS, as a capture of link type 105 has it.
    let null = [0x48, 1, 0, 0, 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0, 0];
    let mut air = pcap(105);
    packet(&mut air, 0, 11_454, &null);
    packet(&mut air, 1, u32::MAX, &null);
    let capture = Capture::read("air", &air[..]).unwrap();
    assert_eq!((capture.frames.len(), capture.notes.oversized.map(|found| found.first)), (1, Some(2)));
}

#[test]
fn truncated_bundles_by_the_thousand_are_replayed_without_bands() {
    let _alone = alone();
    let mut file = pcap(101);
    for step in 0..MANY {
        packet(&mut file, u64::from(step) * 1_000, 65_535, &tcp(true, 65_535, step.wrapping_mul(65_495)));
    }
    // What is reported fits the limit of events of a small capture; what only makes a band does not.
    let policies = analyze_all("a gigabyte in headers", &file).unwrap().policies;
    assert!(policies.iter().any(|policy| !policy.left_out.is_empty() && policy.energy_low_j.is_none()));
    let capture = Capture::read("x.pcap", &file[..]).unwrap();
    let limits = "events=2e5".parse::<Limits>().unwrap();
    let question = Question { limits, ..Question::default() };
    let error = analyze_capture(&capture, &question, &mut |_| ControlFlow::Continue(())).unwrap_err();
    let text = error.to_string();
    assert!(!error.is_wrong_input() && text.contains("--limit"), "{text}");
}

#[test]
fn a_limit_that_the_user_sets_holds() {
    let _alone = alone();
    let mut file = pcap(101);
    for step in 0..100 {
        packet(&mut file, step * 10_000, 1_500, &tcp(step % 2 == 0, 1_500, step as u32 * 1_460));
    }
    let capture = Capture::read("x.pcap", &file[..]).unwrap();
    let mut watch = |_: AnalysisProgress| ControlFlow::Continue(());
    let mut ask = |limits: &str| {
        let limits = limits.parse::<Limits>().unwrap();
        analyze_capture(&capture, &Question { limits, ..Question::default() }, &mut watch).map(|_| ())
    };
    let text = ask("events=1000").unwrap_err().to_string();
    assert!(text.starts_with("x.pcap: the replays exceed the limit of 1000 events"), "{text}");
    let text = ask("memory=1kB").unwrap_err().to_string();
    assert!(
        text.contains("the 100 packets") && text.contains("192.168.1.2") && text.contains("443"),
        "{text}"
    );
    ask("memory=1MB,events=1e7").unwrap();

    let mut goes_on = |_| ControlFlow::Continue(());
    let path = std::env::temp_dir().join(format!("airwatt-limit-{}.pcap", std::process::id()));
    std::fs::write(&path, &file).unwrap();
    let limits = "memory=1kB".parse().unwrap();
    let error = Capture::open(&path, &limits, &mut goes_on).unwrap_err();
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(error, CaptureError::Memory { .. }), "{error}");
    assert!(error.to_string().contains("--limit memory="), "{error}");
}

#[test]
fn interface_blocks_are_read_in_linear_time() {
    let _alone = alone();
    let block = |kind: u32, body: &[u8]| {
        let length = (12 + body.len()) as u32;
        [&kind.to_le_bytes()[..], &length.to_le_bytes(), body, &length.to_le_bytes()].concat()
    };
    let header = [0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255];
    let mut file = block(0x0a0d_0d0a, &header);
    for _ in 0..80_000 {
        file.extend(block(1, &[101, 0, 0, 0, 0, 0, 0, 0]));
    }
    let ip = tcp(true, 40, 1);
    let words = [79_999_u32, 0, 1, ip.len() as u32, ip.len() as u32].map(u32::to_le_bytes).concat();
    file.extend(block(6, &[&words[..], &ip].concat()));
    let capture = bounded("80,000 interfaces", 1.0, || Capture::read("interfaces", &file[..]).unwrap());
    assert_eq!(capture.packets.len(), 1);
}

#[test]
fn beacons_and_stations_do_not_multiply() {
    let _alone = alone();
    let bssid = [2, 0, 0, 0, 0, 1];
    let mut file = pcap(105);
    let mut at = 0;
    let mut add = |frame: &[u8]| {
        at += 1_000;
        packet(&mut file, at, frame.len() as u32, frame);
    };
    let mut frame = |kind: [u8; 2], to: [u8; 6], from: [u8; 6], body: &[u8]| {
        add(&[&kind[..], &[0, 0], &to, &from, &bssid, &[0, 0], body].concat());
    };
    let beacon = [&[0; 8][..], &[100, 0, 1, 0, 5, 4, 0, 1, 0, 0xff]].concat();
    for number in 0..20_000_u32 {
        let [_, _, high, low] = number.to_be_bytes();
        let station = [2, 0, 0, 1, high, low];
        match number % 2 {
            0 => frame([0x48, 0x11], bssid, station, &[]), // Null, PM = 1
            _ => frame([0x80, 0], [255; 6], bssid, &beacon),
        }
    }
    let capture = Capture::read("air", &file[..]).unwrap();
    let found = bounded("10,000 stations, 10,000 beacons", 2.0, || power_save::observe(&capture));
    assert_eq!(found.stations.len(), 10_000);
    analyze_all("10,000 stations", &file).unwrap();
}

#[test]
fn jumps_of_the_clock_by_the_thousand_are_bounded() {
    let _alone = alone();
    let mut file = pcap(101);
    for step in 0..u64::from(MANY) {
        let at = if step % 2 == 0 { 10_000_000 } else { 5_000_000_000 };
        packet(&mut file, at + step, 40, &tcp(step % 4 < 2, 40, 1));
    }
    match analyze_all("many segments", &file) {
        Ok(document) => assert_eq!(document.capture.segments.len(), MANY as usize),
        Err(error) => assert!(!error.is_wrong_input(), "{error}"),
    }
}

#[test]
fn a_clock_that_runs_backwards_costs_what_its_seconds_cost() {
    let _alone = alone();
    let mut file = pcap(101);
    for step in 0..3_000 {
        packet(&mut file, (1_000_000 - step) * 1_000_000, 140, &tcp(step % 2 == 0, 140, 1));
    }
    // A minute of idle time in each of 1,500 segments would be 90,000 s, and 4.5 million events under one policy.
    let document = analyze_within("backwards", &file, "events=2e7".parse().unwrap()).unwrap();
    assert_eq!(document.capture.segments.len(), 1_500);
    assert!(document.policies.len() > 5);
}

#[test]
fn silence_by_the_year_is_bounded() {
    let _alone = alone();
    let mut file = pcap(101);
    for step in 0..u64::from(MANY) {
        packet(&mut file, step * 3_500_000_000 % (1 << 52), 40, &tcp(step % 2 == 0, 40, 1));
    }
    match analyze_all("many packets in years", &file) {
        Ok(document) => assert_eq!(document.capture.segments.len(), 1),
        Err(error) => assert!(error.to_string().contains("--limit events="), "{error}"),
    }
}

#[test]
fn idle_hours_cost_what_their_packets_cost() {
    let _alone = alone();
    for (count, step_us) in [(112, 2_900_000_000), (u64::from(MANY), 21_000_000), (u64::from(MANY), 980_000)]
    {
        let mut file = pcap(101);
        for step in 0..count {
            packet(&mut file, step * step_us, 40, &tcp(step % 2 == 0, 40, 1));
        }
        let hours = count * step_us / 3_600_000_000;
        let what = format!("{count} packets in {hours} hours");
        // The latency guard stays within reach of peers that pause for less than a minute, so that hours with a packet each 21 s are no
        // idle time of its replay: they have the limit of a capture with more packets.
        let document = analyze_within(&what, &file, Limits::default()).unwrap();
        let covered_s = document.capture.covered_s;
        for policy in &document.policies {
            let states = policy.state_s;
            let sum = [states.transmit, states.receive, states.listen, states.sleep, states.transition];
            assert!((sum.iter().sum::<f64>() / covered_s - 1.0).abs() < 0.01, "{what}, {}", policy.policy);
        }
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

#[test]
fn compressed_captures_are_read_like_others() {
    let _alone = alone();
    let mut file = pcap(101);
    let mut ports = String::new();
    for step in 0..12_000_u32 {
        packet(
            &mut file,
            u64::from(step) * 1_000,
            40,
            &tcp(step % 2 == 0, 40, step.wrapping_mul(2_654_435_761)),
        );
        write!(ports, "{step}").unwrap();
    }
    let plain = Capture::read("x", &file[..]).unwrap();
    let (gz, zst) = (gzip(&file), zstd(&file));
    // Concatenated members and frames are one file; a skippable frame carries nothing.
    let two_members = [gzip(&file[..5_000]), gzip(&file[5_000..])].concat();
    let skippable = [0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
    let two_frames = [zstd(&file[..5_000]), skippable.to_vec(), zstd(&file[5_000..])].concat();
    for compressed in [&gz, &zst, &two_members, &two_frames] {
        assert!(compressed.len() < file.len());
        let capture = Capture::read("x", &compressed[..]).unwrap();
        assert_eq!((capture.packets.len(), capture.bytes), (12_000, plain.bytes));
        assert_eq!(capture.packets, plain.packets);
        assert_eq!(capture.notes, plain.notes);
    }
    // What comes before damage is kept.
    for cut in [&gz[..gz.len() * 3 / 4], &zst[..zst.len() * 3 / 4]] {
        let capture = Capture::read("x", cut).unwrap();
        assert!((3_000..12_000).contains(&capture.packets.len()), "{}", capture.packets.len());
        assert_eq!(capture.packets, plain.packets[..capture.packets.len()]);
        assert!(capture.notes.damaged.is_some());
    }
    // A skippable frame that is longer than the file hides what may have been in it.
    let beyond = [0x50, 0x2a, 0x4d, 0x18, 255, 255, 0, 0, 1, 2, 3];
    let capture = Capture::read("x", &[zst, beyond.to_vec()].concat()[..]).unwrap();
    assert!(capture.packets == plain.packets && capture.notes.damaged.is_some());
    let error = Capture::read("x", &beyond[..]).unwrap_err();
    assert!(error.to_string().contains("damaged or cut short"), "{error}");
}

#[test]
fn what_expands_beyond_measure_is_refused() {
    let _alone = alone();
    // Eight hundred packets as long as a snap length may be, one of which is compressed: as gzip members, and as Zstandard frames whose blocks state one
    // byte and how often it comes (RFC 8878 3.1.1.2.2). Then a file of megabytes that expands to 65 million empty packets, which are
    // small in the file and large in memory.
    let mut whole = Vec::new();
    packet(&mut whole, 0, 0, &vec![0; 2 << 17]);
    let mut zeros = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 0x38];
    for block in 1..=2 {
        let header = u32::from(block == 2) | 1 << 1 | 1 << 17 << 3;
        zeros.extend_from_slice(&[&header.to_le_bytes()[..3], &[0]].concat());
    }
    let zstandard = [zstd(&whole[..16]), zeros].concat();
    let bomb = |file: Vec<u8>, packet: Vec<u8>| [file, packet.repeat(800)].concat();
    let file = pcap(101);
    let empty = [gzip(&file), gzip(&vec![0; 1 << 20]).repeat(1_000)].concat();
    let bombs = [
        ("gzip", bomb(gzip(&file), gzip(&whole))),
        ("zstd", bomb(zstd(&file), zstandard)),
        ("empty packets", empty),
    ];
    for (name, compressed) in bombs {
        let path = std::env::temp_dir().join(format!("airwatt-bomb-{}-{name}", std::process::id()));
        std::fs::write(&path, &compressed).unwrap();
        let mut watch = |_: AnalysisProgress| ControlFlow::Continue(());
        let error = bounded(name, 10.0, || analyze(&path, &Question::default(), &mut watch)).unwrap_err();
        std::fs::remove_file(&path).unwrap();
        assert!(error.is_wrong_input() && error.to_string().contains("200 times"), "{error}");
    }
}

#[test]
fn a_small_file_that_expands_has_the_limits_of_a_small_file() {
    let _alone = alone();
    let mut file = pcap(101);
    for step in 0..20_000 {
        packet(&mut file, step * 1_000, 40, &tcp(true, 40, 0));
    }
    let compressed = gzip(&file);
    assert!(file.len() > 1_000_000 && compressed.len() < 1_000_000);
    let path = std::env::temp_dir().join(format!("airwatt-small-{}", std::process::id()));
    std::fs::write(&path, &compressed).unwrap();
    let capture = Capture::open(&path, &Limits::default(), &mut |_| ControlFlow::Continue(())).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!((capture.packets.len(), capture.bytes), (20_000, compressed.len() as u64));
}

#[test]
fn a_block_that_states_gigabytes_is_refused_without_reading_them() {
    let _alone = alone();
    let mut file = pcap(1);
    for word in [0_u32, 0, u32::MAX, u32::MAX] {
        file.extend_from_slice(&word.to_le_bytes());
    }
    file.resize(900_000, 0);
    let error = analyze_all("a packet of 4 GB", &file).unwrap_err();
    assert!(error.to_string().contains("longer than the snap length"), "{error}");
}
