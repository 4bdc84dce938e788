//! A copy of a capture with a comment at each 802.11 frame: the state of its station, and the findings.
//!
//! The copy is a pcapng file with the packets as they are, in the order of the file; Wireshark shows the comments of a packet
//! above its layers, and `pkt_comment` filters by them. The capture is read twice: what a frame means for a finding may
//! follow from later frames. Left out: comments and statistics of the original but how much it lacks,
//! and the names of its interfaces.

use std::collections::BTreeMap;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use airwatt_base::Instant;
use airwatt_dot11::{FrameKind, MacAddress};

use crate::analyze::AnalysisProgress;
use crate::capture::Capture;
use crate::copy::Writer;
use crate::decrypt::NetworkKey;
use crate::error::AnalyzeError;
use crate::file::{OnReading, Reading, SourceFile, read_to_sink, sources};
use crate::limits::Limits;
use crate::packet::{AirFrame, CapturedPacket, PacketSink};
use crate::power_save::{self, ModeSpan, Observations, Stays, Verdict};
use crate::report::KEEP_ALIVE;
use crate::stations::station_of;

/// Sleeping stations that the comment of a beacon names.
const NAMED_STATIONS: usize = 6;

/// A finding at a packet: packet number, and the text of its comment.
pub type Remark = (u32, String);

/// Writes the capture at `path` to `out`, with comments. What is decrypted with `keys` tells more about it, and is written as it was. `remarks` are further comments, those of the keep-alives of an
/// analysis. `opened` is called when the files are open and nothing of them has been read.
///
/// # Errors
/// [`AnalyzeError`]: the capture cannot be read twice, or `out` failed.
pub fn annotate(
    path: &Path,
    limits: &Limits,
    keys: &[NetworkKey],
    remarks: &[Remark],
    out: &mut dyn io::Write,
    opened: impl FnOnce() -> io::Result<()>,
    watch: &mut dyn FnMut(AnalysisProgress) -> ControlFlow<()>,
) -> Result<(), AnalyzeError> {
    if !path.is_dir() && !path.is_file() {
        let name = path.display();
        return Err(AnalyzeError::Option(format!(
            "--pcap: expected a capture in a file or a folder, which is read twice, got {name}; hint: save it to a file first"
        )));
    }
    // The second reading needs files that were opened before privileges were given up.
    let mut again = sources::of(path)?;
    for source in &mut again {
        source.open()?;
    }
    let mut on_reading = |reading: Reading| watch(AnalysisProgress::Reading(reading));
    let capture = Capture::open_then(path, limits, keys, opened, &mut on_reading)?;
    let comments = Comments::of(&capture, remarks);
    copy(&capture, again, &comments, out, &mut on_reading)
}

/// Copies the packets of the files in the order in which the capture numbers them.
fn copy(
    capture: &Capture,
    mut files: Vec<SourceFile>,
    comments: &Comments<'_>,
    out: &mut dyn io::Write,
    on_reading: OnReading<'_>,
) -> Result<(), AnalyzeError> {
    let place = |source: &SourceFile| capture.files.iter().position(|file| file.name == source.name);
    if !capture.files.is_empty() {
        // Files without packets are not among those of the capture.
        files.retain(|source| place(source).is_some());
        files.sort_by_key(place);
    }
    let failed = |error: io::Error| AnalyzeError::Output(error.to_string());
    let out = Writer::new(out, format!("{}, annotated", capture.file)).map_err(failed)?;
    let mut copier = Copier { out, comments, number: 0 };
    for file in files {
        let read = read_to_sink(file, &mut copier, &mut |bytes| on_reading(Reading { bytes, of: None }))?;
        copier.out.ended(&read.end);
    }
    copier.out.finish().map_err(failed)
}

/// The comments of each packet.
struct Comments<'a> {
    capture: &'a Capture,
    /// Indices of packets by number.
    places: BTreeMap<u32, usize>,
    seen: Observations,
    findings: BTreeMap<u32, Vec<String>>,
}

impl<'a> Comments<'a> {
    fn of(capture: &'a Capture, remarks: &[Remark]) -> Self {
        let seen = power_save::observe(capture);
        let mut findings: BTreeMap<u32, Vec<String>> = BTreeMap::new();
        for finding in &seen.findings {
            let kind = finding.kind;
            for occurrence in finding.occurrences.iter().filter(|one| one.verdict != Verdict::Kept) {
                let word = if occurrence.verdict == Verdict::Violated { "finding" } else { "undecidable" };
                let detail =
                    occurrence.detail.as_deref().map_or_else(String::new, |text| format!(": {text}"));
                let at = occurrence
                    .access_point
                    .map_or_else(String::new, |bssid| format!(", access point {bssid}"));
                let text = format!("airwatt {word} {} [{}]{at}{detail}", kind.name(), kind.clause());
                findings.entry(occurrence.packet).or_default().push(text);
            }
        }
        for (packet, text) in remarks {
            findings.entry(*packet).or_default().push(format!("airwatt finding {KEEP_ALIVE}: {text}"));
        }
        let first = |(index, packet): (usize, &CapturedPacket)| (packet.number, index);
        // Of an A-MSDU the first packet has the frame.
        let places = capture.packets.iter().enumerate().rev().map(first).collect();
        Self { capture, places, seen, findings }
    }

    /// The comments of a packet.
    fn at(&self, number: u32) -> Vec<String> {
        let packet = self.places.get(&number).and_then(|index| self.capture.packets.get(*index));
        let frame = packet.and_then(|packet| Some((packet, self.capture.frame(packet)?)));
        let mut comments = self.findings.get(&number).cloned().unwrap_or_default();
        comments.extend(frame.and_then(|(packet, frame)| self.state(packet, frame)));
        comments
    }

    fn state(&self, packet: &CapturedPacket, frame: &AirFrame) -> Option<String> {
        if let Some(beacon) = frame.beacon.and_then(|at| self.capture.beacons.get(at as usize)) {
            let of_cell =
                self.seen.stays.iter().filter(|(_, stays)| stays.is_with(beacon.bssid, packet.number));
            let asleep = of_cell.filter(|(mac, _)| self.is_asleep(**mac, packet.at) == Some(true));
            let names: Vec<String> = asleep.map(|(mac, _)| mac.to_string()).collect();
            let more = names.len().saturating_sub(NAMED_STATIONS);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let named = names.iter().take(NAMED_STATIONS).map(String::as_str).collect::<Vec<_>>().join(", ");
            let named = if named.is_empty() { "no station".to_owned() } else { named };
            let with = |stays: &Stays| stays.at(packet.number).filter(|stay| stay.bssid == beacon.bssid)?.aid;
            let of_cell = self.seen.stays.iter().filter_map(|(mac, stays)| Some((with(stays)?, mac)));
            let of_cell: BTreeMap<u16, &MacAddress> = of_cell.collect();
            let aids = beacon.aids.iter().map(|aid| match of_cell.get(aid) {
                Some(mac) => mac.to_string(),
                None => format!("AID {aid}"),
            });
            let waiting = aids.take(NAMED_STATIONS).collect::<Vec<_>>().join(", ");
            let nobody = if beacon.shows_bits() { "none" } else { "not known" };
            let waiting = if waiting.is_empty() { nobody.to_owned() } else { waiting };
            return Some(format!("airwatt: in power save: {named}{more}; TIM bits: {waiting}"));
        }
        let polled = frame.transmitter.filter(|_| frame.control.kind == FrameKind::PsPoll);
        let (mac, sent) = polled.map(|mac| (mac, true)).or_else(|| station_of(frame))?;
        let span = self.span_at(mac, packet.at);
        let mode = match span {
            None => "mode not known".to_owned(),
            Some(span) => {
                let name = if span.in_power_save { "in power save" } else { "active" };
                format!("{name} since {:.6} s", span.from.as_secs_f64())
            }
        };
        let direction = if sent { "from" } else { "to" };
        Some(format!("airwatt: {direction} {mac}, {mode}"))
    }

    fn span_at(&self, mac: MacAddress, at: Instant) -> Option<&ModeSpan> {
        let spans = self.seen.modes.get(&mac)?;
        let after = spans.partition_point(|span| span.from <= at);
        spans.get(after.checked_sub(1)?).filter(|span| span.is_known && at <= span.until)
    }

    fn is_asleep(&self, mac: MacAddress, at: Instant) -> Option<bool> {
        self.span_at(mac, at).map(|span| span.in_power_save)
    }
}

/// Writes the packets that it takes, with their comments.
struct Copier<'a> {
    out: Writer<'a>,
    comments: &'a Comments<'a>,
    number: u32,
}

impl PacketSink for Copier<'_> {
    fn packet(&mut self, link: u32, unix_ns: Option<u64>, original: u32, data: &[u8]) {
        self.number = self.number.saturating_add(1);
        self.out.packet(link, unix_ns, original, data, self.comments.at(self.number));
    }

    fn comment(&mut self, text: &str) {
        self.out.comment(text);
    }

    fn dropped(&mut self, packets: u64) {
        self.out.dropped(packets);
    }

    fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    fn is_full(&self) -> bool {
        self.out.is_full()
    }
}
