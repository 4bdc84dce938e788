//! The file, its segments, its flows, and the addresses that may be the station.

use airwatt_base::Span;
use airwatt_dot11::MacAddress;
use schemars::JsonSchema;
use serde::Serialize;

use crate::capture::{CUT, Capture, Doubles, FileFormat};
use crate::clock;
use crate::decrypt::DecryptionReport;
use crate::flows::Flow;
use crate::packet::CapturedPacket;
use crate::stations::{Station, StationCandidate};

/// About the file.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CaptureReport {
    /// Its name as given.
    pub file: String,
    /// `pcap` or `pcapng`.
    pub format: &'static str,
    /// Names of the link types.
    pub link_types: Vec<&'static str>,
    /// Its files in order of time, if it is a folder, each with its first packet's number.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub files: Vec<(String, u32)>,
    /// Packets.
    pub packets: u32,
    /// Packets with a readable frame or IP packet; those of ARP among them.
    pub packets_used: u64,
    /// Their bytes on the link.
    pub bytes: u64,
    /// The time of its first packet, in seconds since 1970.
    pub start_unix_s: f64,
    /// Time that it covers, without the gaps between segments.
    pub covered_s: f64,
    /// Its segments.
    pub segments: Vec<SegmentReport>,
    /// Packets that were left out because they state an impossible length.
    pub oversized_packets: u32,
    /// Files of the folder that could not be read, a sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub unread: Vec<String>,
    /// Defects of the file, a sentence each.
    pub notes: Vec<String>,
    /// What became of the protected frames, if a passphrase or a key was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decryption: Option<DecryptionReport>,
}

/// A segment of the capture.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SegmentReport {
    /// Seconds since the capture's earliest packet.
    pub from_s: f64,
    /// Its length.
    pub duration_s: f64,
    /// Packets in it.
    pub packets: usize,
}

/// An address that may be the station.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CandidateReport {
    /// IP or MAC address.
    pub address: String,
    /// `ip` or `mac`.
    pub kind: &'static str,
    /// Packets to and from it.
    pub packets: u64,
    /// Bytes that it sent.
    pub bytes_sent: u64,
    /// Bytes that were sent to it.
    pub bytes_received: u64,
}

/// A flow.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FlowReport {
    /// Its number in `energy_by_cause_j.flow`: its place in the list.
    pub id: u32,
    /// `tcp`, `quic`, `udp`, `sctp`, `icmp`, `protocol-N`, or `unread` for frames between two MAC addresses that are encrypted or have
    /// no IP packet.
    pub protocol: String,
    /// The endpoint that sent the first packet.
    pub first: String,
    /// The other endpoint.
    pub second: String,
    /// The address that is not the station's; `null` without a station.
    pub peer: Option<String>,
    /// Seconds since the capture's earliest packet.
    pub from_s: f64,
    /// Last packet.
    pub until_s: f64,
    /// IP bytes from first to second.
    pub bytes_forward: u64,
    /// IP bytes from second to first.
    pub bytes_reverse: u64,
    /// TCP segments that were retransmitted, in both directions.
    pub retransmissions: u64,
    /// Round trip of the handshake.
    pub handshake_rtt_s: Option<f64>,
    /// Whether packets of only one direction were captured.
    pub one_sided: bool,
}
pub(super) fn capture_report(capture: &Capture) -> CaptureReport {
    CaptureReport {
        file: capture.file.clone(),
        format: if capture.format == FileFormat::Pcap { "pcap" } else { "pcapng" },
        link_types: capture.link_types.iter().map(|link| link.name()).collect(),
        files: capture.files.iter().map(|file| (file.name.clone(), file.packets_before + 1)).collect(),
        packets: capture.packets_in_file,
        packets_used: used(capture),
        bytes: capture.bytes_on_link,
        start_unix_s: capture.start_unix_ns as f64 * 1e-9,
        covered_s: clock::covered(capture).as_secs_f64(),
        segments: capture
            .segments
            .iter()
            .map(|segment| SegmentReport {
                from_s: segment.from.as_secs_f64(),
                duration_s: segment.duration().as_secs_f64(),
                packets: numbered(capture.packets[segment.first..segment.end].iter()),
            })
            .collect(),
        oversized_packets: capture.notes.oversized.map_or(0, |oversized| oversized.count),
        unread: capture.notes.unread.clone(),
        notes: notes(capture),
        decryption: capture.decryption.clone(),
    }
}

/// Packets that the analysis can use.
fn used(capture: &Capture) -> u64 {
    let is_used = |packet: &&CapturedPacket| {
        packet.macs.is_some() || packet.ip.is_some() || capture.frame(packet).is_some()
    };
    numbered(capture.packets.iter().filter(is_used)) as u64
}

/// The packets of the file: an A-MSDU is several of a capture with one number.
fn numbered<'p>(packets: impl Iterator<Item = &'p CapturedPacket>) -> usize {
    let mut last = None;
    packets.filter(|packet| last.replace(packet.number) != Some(packet.number)).count()
}

/// Jumps of the clock that are named.
const JUMPS: usize = 3;

fn notes(capture: &Capture) -> Vec<String> {
    let notes = &capture.notes;
    let mut list = Vec::new();
    list.extend(notes.unread.iter().map(|error| format!("left out: {error}")));
    if notes.truncated {
        list.push("the last packet is cut short and was left out".to_owned());
    }
    if let Some((position, what)) = notes.damaged {
        list.push(format!("damaged at byte {position} ({what}): the rest was not read"));
    }
    if notes.beacons_cut {
        let unknown = "what they say of other links, target wake time and several BSSIDs is not known";
        list.push(format!("the snap length cuts beacons off: {unknown}, which leaves findings undecidable"));
    }
    if notes.original_cut {
        list.push(CUT.to_owned());
    }
    if notes.dropped > 0 {
        let (packets, were) = if notes.dropped == 1 { ("packet", "was") } else { ("packets", "were") };
        list.push(format!(
            "{} {packets} {were} dropped as it was captured, as the file says itself",
            notes.dropped
        ));
    }
    if capture.segments.len() > 1 {
        let jumps = capture.segments.iter().skip(1);
        let places: Vec<String> = jumps
            .take(JUMPS)
            .filter_map(|segment| capture.packets.get(segment.first))
            .map(|packet| packet.number.to_string())
            .collect();
        let more = capture.segments.len() - 1 - places.len();
        let others = if more > 0 { format!(" and {more} more") } else { String::new() };
        list.push(format!(
            "the clock jumps before packet {}{others}: {} segments are analysed one by one, the time between them is not \
             counted, and what a jump interrupts is undecidable",
            places.join(", "),
            capture.segments.len()
        ));
    }
    if let Some(first) = notes.steps.first() {
        let most = notes.steps.iter().map(|step| step.size).max().unwrap_or_default();
        let often = match notes.steps.len() {
            1 => format!("once, by {most}, before packet {}", first.packet),
            count => format!("{count} times by up to {most}, first before packet {}", first.packet),
        };
        list.push(format!(
            "the capture's clock steps {often}, as the timestamps of beacons say: delays of findings are by the access point's clock, times \
             and pictures by the capture's, so that they differ across it"
        ));
    }
    if let Some(oversized) = notes.oversized {
        list.push(format!("left out: {oversized}"));
    }
    let wrong = capture.frames.iter().filter(|frame| frame.damaged).count();
    if wrong > 0 {
        let (frames, were) = if wrong == 1 { ("frame", "was") } else { ("frames", "were") };
        list.push(format!("{wrong} {frames} with a wrong checksum {were} left out"));
    }
    if notes.out_of_order > 0 {
        let (packets, were) = if notes.out_of_order == 1 { ("packet", "was") } else { ("packets", "were") };
        let count = notes.out_of_order;
        list.push(format!("{count} {packets} {were} out of order and {were} sorted by time"));
    }
    let is_unknown = |(mac, _): &(&MacAddress, &String)| capture.named_radio(**mac).is_none();
    let mut unknown = capture.radios.iter().filter(is_unknown).peekable();
    if let Some((mac, name)) = unknown.peek() {
        let (mac, name, count) = (*mac, *name, unknown.clone().count());
        let others = if count > 1 { format!(" (and so on, for {count} stations)") } else { String::new() };
        list.push(format!(
            "the capture names radio {name:?} for {mac}{others}, which is no profile that ships or that it has: without --radio another is assumed"
        ));
    }
    if let Some(Doubles { frames, apart }) = notes.doubles {
        list.push(format!(
            "{frames} frames were not analysed, which the capture has a second time {:.3} ms later: it is merged of several monitors' captures, \
             whose clocks differ; hint: check that of one monitor",
            1e3 * apart.as_secs_f64()
        ));
    }
    if notes.without_time > 0 {
        list.push(format!(
            "{} packets have no time, or one that no clock shows, and got that of the packet before",
            notes.without_time
        ));
    }
    if notes.skipped_link_type > 0 {
        let supported = crate::capture::LinkType::supported();
        list.push(format!(
            "{} packets of other link types were left out; supported are {supported}",
            notes.skipped_link_type
        ));
    }
    list
}

pub(super) fn candidate(candidate: &StationCandidate) -> CandidateReport {
    CandidateReport {
        address: candidate.station.to_string(),
        kind: if matches!(candidate.station, Station::Ip(_)) { "ip" } else { "mac" },
        packets: candidate.packets,
        bytes_sent: candidate.bytes_sent,
        bytes_received: candidate.bytes_received,
    }
}

pub(super) fn flow(flow: &Flow, id: u32) -> FlowReport {
    FlowReport {
        id,
        protocol: flow.protocol_name(),
        first: flow.first.to_string(),
        second: flow.second.to_string(),
        peer: flow.peer.map(|peer| peer.address.to_string()),
        from_s: flow.from.as_secs_f64(),
        until_s: flow.until.as_secs_f64(),
        bytes_forward: flow.forward.bytes,
        bytes_reverse: flow.reverse.bytes,
        retransmissions: flow.forward.retransmissions + flow.reverse.retransmissions,
        handshake_rtt_s: flow.handshake_rtt.map(Span::as_secs_f64),
        one_sided: flow.is_one_sided(),
    }
}
