//! The shipped captures of `captures/findings`, whose truth is known: those that are named `KIND-guilty` break the rule of their name and no
//! other, and all others break none.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;

use airwatt_base::Span;
use airwatt_capture::Capture;
use airwatt_capture::power_save::{Excess, Finding, FindingKind, Verdict, observe};

/// The rules that were violated.
fn accused(capture: &Capture) -> BTreeSet<&'static str> {
    let found = observe(capture).findings.into_iter();
    let violated = found.filter(|finding| finding.count(Verdict::Violated) > 0);
    violated.map(|finding| finding.kind.name()).collect()
}

/// The captures by name.
fn shipped() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures/findings");
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let name = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
    let captures: Vec<_> = paths.map(|path| (name(&path), fs::read(&path).unwrap())).collect();
    assert!(captures.len() > 60, "{}", captures.len());
    captures
}

/// The rule that a capture breaks, by its name.
fn broken(name: &str) -> Option<&str> {
    name.split_once("-guilty").map(|(kind, _)| kind)
}

/// What a finding cost, without the beacons that a station waited for.
fn excess(finding: &Finding) -> Excess {
    finding.excess(Span::ZERO, |_, _| true)
}

fn finding(name: &str, kind: FindingKind) -> Finding {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures/findings");
    let file = File::open(folder.join(format!("{name}.pcap"))).unwrap();
    let found = observe(&Capture::read(name, file).unwrap()).findings;
    found.into_iter().find(|finding| finding.kind == kind).unwrap()
}

#[test]
fn guilty_captures_alone_accuse() {
    let mut wrong = Vec::new();
    for (name, file) in shipped() {
        let accused = accused(&Capture::read(&name, &file[..]).unwrap());
        if !accused.iter().copied().eq(broken(&name)) {
            wrong.push(format!("{name}: {accused:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Where an access point has concealed a frame: each beacon without the bit, also if the frame is one of management, or announces the
/// other, if the station has sent frames without a PM bit or changes its mode by frames without a number, and if the bit goes on again.
#[test]
fn each_guilty_beacon_is_named() {
    for (name, beacons) in [
        ("guilty-managed", 2),
        ("guilty-managed-first", 2),
        ("guilty-probe", 2),
        ("guilty-nulls", 3),
        ("guilty-flicker", 1),
        ("guilty-flap", 2),
        ("guilty-flap-qos", 2),
    ] {
        let rule = finding(&format!("tim-never-set-{name}"), FindingKind::TimNeverSet);
        assert_eq!(rule.count(Verdict::Violated), beacons, "{name}: {:?}", rule.occurrences);
    }
}

/// A bit that went out and on again before the frame was fetched is not kept, whatever explains it, unless the first was composed before the
/// frame that was delivered.
#[test]
fn a_bit_that_goes_out_is_not_kept() {
    for (name, undecidable) in [("fetched", 1), ("aged", 1), ("unknown", 1), ("stale", 0)] {
        let rule = finding(&format!("tim-never-set-{name}"), FindingKind::TimNeverSet);
        assert_eq!(rule.count(Verdict::Undecidable), undecidable, "{name}: {:?}", rule.occurrences);
    }
}

/// A station that says in an action frame that it leaves power save is awake.
#[test]
fn an_action_frame_shows_the_mode() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures/findings");
    let file = File::open(folder.join("sent-to-sleeping-station-managed.pcap")).unwrap();
    let seen = observe(&Capture::read("managed", file).unwrap());
    assert!(seen.findings.iter().all(|finding| finding.kind != FindingKind::SentToSleeper));
    let [modes] = &seen.modes.values().collect::<Vec<_>>()[..] else { panic!("one station") };
    let asleep: Vec<bool> = modes.iter().map(|span| span.in_power_save).collect();
    assert_eq!(asleep, [true, false, true, false]);
}

/// Where a packet of the file begins and ends.
fn place_of(file: &[u8], place: usize) -> Option<(usize, usize)> {
    let length =
        |at: usize| Some(16 + u32::from_le_bytes(file.get(at + 8..at + 12)?.try_into().unwrap()) as usize);
    let mut at = 24;
    for _ in 0..place {
        at += length(at)?;
    }
    Some((at, at + length(at)?))
}

/// The file without one of its packets.
fn without(file: &[u8], place: usize) -> Option<Vec<u8>> {
    let (from, until) = place_of(file, place)?;
    Some([&file[..from], &file[until..]].concat())
}

/// A damaged frame in the place of a packet: radiotap says that its checksum is wrong, and the bits of its body are others.
fn damaged(file: &[u8], place: usize) -> Option<Vec<u8>> {
    const FLAGS_OF_RADIOTAP: u8 = 1 << 1;
    const BAD_FCS: u8 = 0x40;
    let (from, until) = place_of(file, place)?;
    // Radiotap with a rate and a channel, of 14 bytes; flags come before both, and an octet that aligns the channel goes.
    let (times, packet) = (&file[from..from + 8], &file[from + 16..until]);
    let (frame, channel) = (&packet[14..], &packet[10..14]);
    let body: Vec<u8> =
        frame.iter().enumerate().map(|(at, byte)| if at < 24 { *byte } else { !byte }).collect();
    let length = (packet.len() as u32).to_le_bytes();
    let head = [&packet[..4], &[packet[4] | FLAGS_OF_RADIOTAP, 0, 0, 0, BAD_FCS, packet[8]]].concat();
    let parts: [&[u8]; 8] = [&file[..from], times, &length, &length, &head, channel, &body, &file[until..]];
    Some(parts.concat())
}

/// What a frame whose checksum is wrong says decides nothing: it accuses of nothing that the capture without it does not show.
#[test]
fn a_damaged_frame_decides_nothing() {
    for (name, file) in shipped().into_iter().filter(|(name, _)| name.starts_with("tim-never-set")) {
        for place in 0..40 {
            let (Some(mutant), Some(missed)) = (damaged(&file, place), without(&file, place)) else { break };
            let violated = |bytes: &[u8]| -> Vec<(FindingKind, u64)> {
                let found = observe(&Capture::read(&name, bytes).unwrap()).findings;
                found.iter().map(|finding| (finding.kind, finding.count(Verdict::Violated))).collect()
            };
            assert_eq!(violated(&mutant), violated(&missed), "{name}, packet {}", place + 1);
        }
    }
}

/// An acknowledgement alone tells of each frame that was missed, two frames of management of one between them, or the association of the listen
/// interval, which nothing tells without these.
const TOLD_BY_A_FRAME: [&str; 3] = ["tim-stuck-acknowledged", "tim-never-set-gap", "tim-never-set-old"];

/// Whichever single frame the monitor missed, it accuses of nothing that the whole capture does not show.
#[test]
fn a_missed_frame_accuses_nobody() {
    let (mut wrong, mut mutants) = (Vec::new(), 0);
    for (name, file) in shipped() {
        for (place, mutant) in (0..).map_while(|place| Some((place, without(&file, place)?))) {
            let accused = accused(&Capture::read(&name, &mutant[..]).unwrap());
            if !TOLD_BY_A_FRAME.contains(&&*name) && accused.iter().any(|kind| Some(*kind) != broken(&name)) {
                wrong.push(format!("{name} without packet {}: {accused:?}", place + 1));
            }
            mutants += 1;
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(mutants > 2_000, "{mutants}");
}

/// Up to its end, or before its begin, this capture lacks any frame of the traffic identifier, or of management, of which one was missed, or
/// the listen interval; the verdict says that it assumes that there is none, or that the frame was not discarded.
const ASSUMES: [&str; 3] = ["tim-never-set-later", "tim-never-set-gap", "tim-never-set-old"];

/// Wherever the monitor began or ended, it accuses of nothing that the whole capture does not show: what it does not know, such as the
/// association, makes no verdict harder.
#[test]
fn a_part_of_a_capture_accuses_nobody() {
    let mut wrong = Vec::new();
    for (name, file) in shipped() {
        for (place, (from, until)) in (0..).map_while(|place| Some((place, place_of(&file, place)?))) {
            let parts = [[&file[..24], &file[from..]].concat(), file[..until].to_vec()];
            for (part, which) in parts.iter().zip(["from", "up to"]) {
                let accused = accused(&Capture::read(&name, &part[..]).unwrap());
                if !ASSUMES.contains(&&*name) && accused.iter().any(|kind| Some(*kind) != broken(&name)) {
                    wrong.push(format!("{name} {which} packet {}: {accused:?}", place + 1));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A frame waits from the period at 766.8 ms, in which its station is absent, to the beacon at 1126.4 ms, 11 beacon intervals of 102.4 ms. Two frames
/// of a station outside its periods, 2 ms apart, are one occurrence, and one wake-up.
#[test]
fn service_periods_cost_what_they_delay_and_wake() {
    let cost = |name: &str, kind| {
        let rule = finding(name, kind);
        assert_eq!(rule.count(Verdict::Violated), 1, "{name}: {:?}", rule.occurrences);
        excess(&rule)
    };
    let absent = cost("twt-absent-guilty", FindingKind::AbsentAtWakeTime);
    let (delay, by_hand) = (absent.delay, Span::from_micros(11 * 102_400 - 766_800));
    assert!(delay.abs_diff(by_hand) < Span::from_micros(10), "{delay}, by hand {by_hand}");
    let outside = cost("twt-sent-outside-guilty", FindingKind::WokeOutsideWakeTime);
    assert_eq!(outside.wake_ups, 1);
    assert!(outside.awake.abs_diff(Span::from_millis(2)) < Span::from_micros(10), "{:?}", outside);
}

/// PS-Polls up to the next response are one occurrence, which waits from the first one on: for as long as beacons say that the frame is
/// there, or until the response.
#[test]
fn ps_polls_wait_from_the_first_one_on() {
    let of = |name: &str| {
        let rule = finding(name, FindingKind::PsPollUnanswered);
        let violated = rule.occurrences.iter().find(|one| one.verdict == Verdict::Violated).unwrap();
        (rule.count(Verdict::Violated), violated.packet, excess(&rule).delay, excess(&rule).awake)
    };
    let interval = Span::from_micros(102_400);
    let gone = Span::from_millis(2);
    // It listens up to each beacon, and after its last PS-Poll up to the beacon without the bit.
    assert_eq!(of("ps-poll-unanswered-guilty-again"), (1, 17, interval * 20 - gone, interval * 21 - gone));
    // The second PS-Poll is answered a millisecond after it. The station listens for two intervals of a usual length after the first one.
    assert_eq!(
        of("ps-poll-unanswered-guilty-later"),
        (1, 17, interval * 3 + Span::from_millis(1), Span::from_millis(205))
    );
    // Numbers of QoS data are of the data alone: the next one says that there was no response before. It listens for four intervals.
    assert_eq!(
        of("ps-poll-unanswered-guilty-qos"),
        (1, 20, interval * 4 + Span::from_millis(1), interval * 4)
    );
}

/// A PS-Poll that was acknowledged is ignored, and something says that the frame was there all the time: the delay is from there on, and More
/// Data is not to blame for it.
#[test]
fn an_ignored_ps_poll_is_at_fault_itself() {
    for (name, packet, delay_us) in [
        ("ps-poll-unanswered-guilty-promised", 21, 407_100),
        ("ps-poll-unanswered-guilty-second", 31, 307_700),
        ("ps-poll-unanswered-guilty-two", 26, 410_600),
    ] {
        let rule = finding(name, FindingKind::PsPollUnanswered);
        let violated: Vec<u32> = rule
            .occurrences
            .iter()
            .filter(|one| one.verdict == Verdict::Violated)
            .map(|one| one.packet)
            .collect();
        let delay = Span::from_micros(delay_us);
        assert_eq!((violated, excess(&rule).delay), (vec![packet], delay), "{name}: {:?}", rule.occurrences);
    }
}

/// What leaves open whether an access point ignored a PS-Poll is said.
#[test]
fn what_leaves_a_ps_poll_open_is_named() {
    for (name, reason) in [
        ("copy", "Retry bit"),
        ("missed", "a number of the access point's counter for all receivers is missing"),
        ("unannounced", "neither the beacon before the PS-Poll nor More Data announced a frame"),
        ("stale", "delivered right before it"),
        ("cleared", "neither the beacon before"),
        ("waited", "discarded for its age"),
        ("unheard", "nobody acknowledged the frame before"),
        ("gap", "traffic identifier 5 a number is missing"),
        ("ended", "no data of traffic identifier 5"),
        ("reserved", "waited for the channel"),
        ("near", "may have discarded the frame"),
    ] {
        let rule = finding(&format!("ps-poll-unanswered-{name}"), FindingKind::PsPollUnanswered);
        let open: Vec<&str> = rule
            .occurrences
            .iter()
            .filter(|one| one.verdict == Verdict::Undecidable)
            .filter_map(|one| one.detail.as_deref())
            .collect();
        assert!(matches!(open[..], [one] if one.contains(reason)), "{name}: {:?}", rule.occurrences);
    }
}

/// A frame that was missed before an answer which says that nothing is buffered leaves no later answer open.
#[test]
fn an_empty_buffer_renews_the_count() {
    let rule = finding("tim-stuck-guilty-gap", FindingKind::TimStuck);
    assert_eq!((rule.count(Verdict::Violated), rule.count(Verdict::Undecidable)), (3, 1));
}

/// What one frame tells decides that a rule was not violated, or leaves it open.
#[test]
fn what_one_frame_tells_accuses_nobody() {
    for (name, kind, undecidable) in [
        ("sent-to-sleeping-station-missed", FindingKind::SentToSleeper, 1),
        ("late-delivery-copy", FindingKind::LateDelivery, 1),
        ("late-delivery-ended", FindingKind::LateDelivery, 0),
        ("tim-never-set-later", FindingKind::TimNeverSet, 1),
        ("tim-never-set-restarted", FindingKind::TimNeverSet, 1),
        ("beacon-late-busy", FindingKind::BeaconLate, 1),
        ("tim-never-set-busy", FindingKind::TimNeverSet, 1),
        ("tim-never-set-uapsd", FindingKind::TimNeverSet, 1),
        ("tim-stuck-late", FindingKind::TimStuck, 1),
        ("tim-stuck-probe", FindingKind::TimStuck, 1),
        ("tim-never-set-retried", FindingKind::TimNeverSet, 1),
        ("more-data-then-nothing-retried", FindingKind::MoreDataThenNothing, 1),
        ("more-data-then-nothing-reserved", FindingKind::PsPollUnanswered, 1),
        ("more-data-then-nothing-called", FindingKind::MoreDataThenNothing, 1),
        ("more-data-then-nothing-gap", FindingKind::MoreDataThenNothing, 1),
        ("ps-poll-unanswered-reserved", FindingKind::PsPollUnanswered, 1),
        ("ps-poll-unanswered-called", FindingKind::PsPollUnanswered, 0),
        ("late-delivery-reserved", FindingKind::LateDelivery, 1),
        ("late-delivery-quiet", FindingKind::LateDelivery, 1),
        ("late-delivery-called", FindingKind::LateDelivery, 1),
        ("late-delivery-grouped", FindingKind::LateDelivery, 1),
        ("late-delivery-voice", FindingKind::LateDelivery, 1),
        ("late-delivery-emptied", FindingKind::LateDelivery, 1),
        ("late-delivery-answered", FindingKind::LateDelivery, 0),
        ("beacon-late-reserved", FindingKind::BeaconLate, 1),
        ("beacon-late-quiet", FindingKind::BeaconLate, 1),
        ("beacon-missing-reserved", FindingKind::BeaconMissing, 1),
        ("beacon-missing-switch", FindingKind::BeaconMissing, 1),
        ("tim-stuck-aged", FindingKind::TimStuck, 1),
        ("tim-never-set-managed", FindingKind::TimNeverSet, 0),
        ("tim-never-set-another", FindingKind::TimNeverSet, 0),
        ("tim-never-set-counters", FindingKind::TimNeverSet, 1),
        ("tim-never-set-alone", FindingKind::TimNeverSet, 1),
        ("tim-never-set-woken", FindingKind::TimNeverSet, 1),
    ] {
        let rule = finding(name, kind);
        let counts = (rule.count(Verdict::Violated), rule.count(Verdict::Undecidable));
        assert_eq!(counts, (0, undecidable), "{name}: {:?}", rule.occurrences);
        assert!(rule.count(Verdict::Kept) > 0, "{name}");
    }
}

/// The packets of a pcap file of which those from a place on are later by so many microseconds.
fn shifted(file: &[u8], place: usize, by_us: i64) -> Vec<u8> {
    let mut bytes = file.to_vec();
    let word = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let (mut at, mut number) = (24, 0);
    while at < bytes.len() {
        // The captures begin at second 0, before which no clock goes back.
        let written = i64::from(word(&bytes, at)) * 1_000_000 + i64::from(word(&bytes, at + 4)) + 10_000_000;
        let shown = written + if number >= place { by_us } else { 0 };
        bytes[at..at + 4].copy_from_slice(&((shown / 1_000_000) as u32).to_le_bytes());
        bytes[at + 4..at + 8].copy_from_slice(&((shown % 1_000_000) as u32).to_le_bytes());
        (at, number) = (at + 16 + word(&bytes, at + 8) as usize, number + 1);
    }
    bytes
}

/// The clock of the monitor is set ahead or back somewhere. Beacons have the clock of their access point, which goes on.
#[test]
fn a_clock_that_is_set_accuses_nobody() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures/findings");
    for kind in ["dtim-skipped", "late-delivery", "tim-never-set", "group-announced-not-sent", "beacon-late"]
    {
        let file = fs::read(folder.join(format!("{kind}-innocent.pcap"))).unwrap();
        for by_us in [-150_000, -250_000, -720_000, -1_500_000, 250_000] {
            for place in 1..40 {
                let bytes = shifted(&file, place, by_us);
                let accused = accused(&Capture::read(kind, &bytes[..]).unwrap());
                assert!(accused.is_empty(), "{kind} by {by_us} us from packet {place} on: {accused:?}");
            }
        }
    }
}

/// The clock of the monitor is set by less than beacons show for certain, somewhere in the wait for a frame: delays are those by the access
/// point's clock, or less where it is not known whether the clock was set before or after a frame.
#[test]
fn no_delay_follows_a_clock_that_was_set() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures/findings");
    let of = |bytes: &[u8], kind: FindingKind| {
        let found = observe(&Capture::read("set", bytes).unwrap()).findings;
        let rule = found.into_iter().find(|finding| finding.kind == kind).unwrap();
        (rule.count(Verdict::Violated), excess(&rule).delay)
    };
    for (name, kind, from, until) in [
        ("tim-never-set-guilty", FindingKind::TimNeverSet, 21, 27),
        ("ps-poll-unanswered-guilty-later", FindingKind::PsPollUnanswered, 18, 25),
    ] {
        let file = fs::read(folder.join(format!("{name}.pcap"))).unwrap();
        let whole = of(&file, kind);
        assert!(whole.1 > Span::from_millis(200));
        for place in from..until {
            for by_us in [50_000, 90_000] {
                let (count, delay) = of(&shifted(&file, place, by_us), kind);
                assert_eq!(count, whole.0, "{name}, {by_us} us from packet {place} on");
                let short = whole.1.saturating_sub(delay);
                assert!(
                    delay <= whole.1 && short <= Span::from_micros(by_us as u64),
                    "{name}, {place}: {delay}"
                );
                // It was set before the frame, as the beacon after that shows too.
                assert!(place + 1 == until || short <= Span::from_micros(10), "{name}, {place}: {delay}");
            }
        }
    }
}

/// Of a frame that a station fetched, a beacon that the monitor missed may have had the bit or not.
#[test]
fn a_delivery_whose_beacon_was_missed_is_undecidable() {
    let rule = finding("tim-never-set-missed", FindingKind::TimNeverSet);
    let undecidable = rule.count(Verdict::Undecidable);
    assert_eq!((rule.count(Verdict::Violated), undecidable), (0, 3), "{:?}", rule.occurrences);
}
