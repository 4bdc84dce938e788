//! Sequence numbers: the one proof that a monitor has missed no frame of a sender.
//!
//! A sender numbers its frames (802.11-2020 10.3.2.14.2). If the numbers of a counter follow each other, it sent nothing in
//! between. QoS data has a counter for each receiver and traffic identifier; everything else has one of the sender. Some
//! access points count beacons apart: beacons and other frames belong to one counter only if the capture shows them in turns.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use airwatt_base::Instant;
use airwatt_dot11::{FrameKind, MacAddress};

use super::Mark;
use crate::packet::AirFrame;

/// A counter of sequence numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Counter {
    /// Of QoS data to one receiver with one traffic identifier.
    Qos(MacAddress, MacAddress, u8),
    /// Of a sender's other frames without beacons.
    Plain(MacAddress),
    /// Of an access point's beacons.
    Beacons(MacAddress),
    /// Of an access point's beacons and other frames, if it has one for both.
    Shared(MacAddress),
}

/// Numbers of a counter that are missing, and the packets before and after them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gap {
    first: u16,
    last: u16,
    packets: [u32; 2],
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [before, after] = self.packets;
        if self.first == self.last {
            write!(f, "{} is missing between packets {before} and {after}", self.first)
        } else {
            write!(f, "{} to {} are missing between packets {before} and {after}", self.first, self.last)
        }
    }
}

/// Numbers that follow each other without a gap.
#[derive(Clone, Copy, Debug)]
struct Unbroken {
    last: u16,
    /// The packet that has it.
    packet: u32,
    /// What is missing before them; `None` at the begin, and where a number was smaller than the one before.
    gap: Option<Gap>,
    since: Instant,
    /// Time of the last of them.
    until: Instant,
    was_beacon: bool,
    /// How often a beacon followed another frame, or the other way round, without a gap.
    turns: u32,
}

/// The counters of the frames of one sender.
#[derive(Clone, Debug, Default)]
pub(super) struct Sequences {
    runs: BTreeMap<Counter, Unbroken>,
    /// Whether its beacons have a counter of their own, as [`counted_apart`] finds anywhere in the capture.
    pub(super) is_apart: bool,
}

/// The bits of a number.
const NUMBERS: u16 = 0xfff;
/// Larger steps lead back rather than forward.
const MOST_MISSING: u16 = 0x7ff;
/// A counter is shared if beacons and other frames took turns this often: by chance numbers fit once in 4,096 times.
const TURNS: u32 = 2;

impl Counter {
    /// The counter of a frame. QoS Null frames may have any number (802.11-2020 10.3.2.14.2), control frames have none.
    pub(super) fn of(frame: &AirFrame) -> Option<Self> {
        let transmitter = frame.transmitter?;
        let kind = frame.control.kind;
        match kind {
            FrameKind::QosNull | FrameKind::PsPoll => None,
            FrameKind::Beacon => Some(Self::Beacons(transmitter)),
            _ if kind.is_qos() && !frame.receiver.is_group() => {
                Some(Self::Qos(transmitter, frame.receiver, frame.tid.unwrap_or(0)))
            }
            _ => Some(Self::Plain(transmitter)),
        }
    }
}

impl Sequences {
    /// Enters a frame.
    pub(super) fn note(&mut self, frame: &AirFrame, (at, packet): Mark) {
        let (Some(counter), Some(control)) = (Counter::of(frame), frame.sequence_control) else { return };
        let number = control >> 4;
        let is_beacon = matches!(counter, Counter::Beacons(_));
        let shared = match counter {
            Counter::Beacons(sender) | Counter::Plain(sender) => Some(Counter::Shared(sender)),
            Counter::Qos(..) | Counter::Shared(_) => None,
        };
        for counter in [Some(counter), shared].into_iter().flatten() {
            let fresh = Unbroken {
                last: number,
                packet,
                gap: None,
                since: at,
                until: at,
                was_beacon: is_beacon,
                turns: 0,
            };
            let run = self.runs.entry(counter).or_insert(fresh);
            let step = number.wrapping_sub(run.last) & 0xfff;
            run.until = at;
            // Fragments and retransmissions repeat a number.
            if step == 0 && (frame.control.retry || control & 0xf != 0) {
                continue;
            }
            if step == 1 {
                run.turns += u32::from(run.was_beacon != is_beacon);
            } else {
                run.since = at;
                let next = |number: u16, by: u16| number.wrapping_add(by) & NUMBERS;
                run.gap = (2..=MOST_MISSING).contains(&step).then(|| Gap {
                    first: next(run.last, 1),
                    last: next(number, NUMBERS),
                    packets: [run.packet, packet],
                });
            }
            (run.last, run.packet, run.was_beacon) = (number, packet, is_beacon);
        }
    }

    /// What is missing of a counter before the frames that follow each other now, if that is so after `since`.
    pub(super) fn gap_after(&self, counter: Counter, since: Instant) -> Option<Gap> {
        self.runs.get(&counter).filter(|run| run.since > since)?.gap
    }

    /// Since when no frame of the counter was missed, up to the last that was captured.
    pub(super) fn unbroken_since(&self, counter: Counter) -> Option<Instant> {
        let run = self.runs.get(&counter)?;
        let is_one = !matches!(counter, Counter::Shared(_)) || run.turns >= TURNS && !self.is_apart;
        is_one.then_some(run.since)
    }

    /// Since when nothing was missed that the access point sent without a QoS counter: beacons, management, group-addressed frames.
    pub(super) fn nothing_missed_since(&self, bssid: MacAddress) -> Option<Instant> {
        self.unbroken_since(Counter::Shared(bssid))
    }

    /// The time of the last frame that the access point sent without a QoS counter.
    pub(super) fn heard_until(&self, bssid: MacAddress) -> Option<Instant> {
        Some(self.runs.get(&Counter::Shared(bssid))?.until)
    }
}

/// Numbers of one counter that follow each other, of which the monitor missed none.
#[derive(Clone, Copy, Debug)]
struct Run {
    since: Instant,
    until: Instant,
    last: u16,
    was_beacon: bool,
    turns: u32,
    /// Whether nobody acknowledged its last frame, so that a retransmission of it may have been missed, which repeats its number.
    is_open: bool,
}

/// The numbers of an access point's frames in a segment of the capture, of those that come later too: they show whether the monitor missed
/// any between two times.
#[derive(Clone, Debug, Default)]
pub(super) struct Numbers {
    runs: BTreeMap<Counter, Vec<Run>>,
    /// When stations acknowledged frames that were not captured.
    unseen: Vec<Instant>,
    /// Whether its beacons have a counter of their own ([`counted_apart`]).
    is_apart: bool,
}

/// Why the monitor may have missed a frame of an access point to a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    /// The capture has no data to the station, whose counter is therefore not known.
    NoData,
    /// No frames before and after have the counter that management, data without QoS and mostly beacons share.
    NoShared,
    /// A number of that counter is missing.
    Shared,
    /// No frames before and after have the traffic identifier.
    NoQos(u8),
    /// A number of it is missing, or a frame was captured at a retransmission alone, or not with its acknowledgement.
    Qos(u8),
    /// A station acknowledged a frame that was not captured.
    Unseen,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the monitor may have missed the response, since ")?;
        match self {
            Self::NoData => f.write_str("no data to the station was captured, whose counter is not known"),
            Self::NoShared => f.write_str(
                "no frames before and after show the sequence counter that the access point has for all receivers, beside those of QoS data",
            ),
            Self::Shared => f.write_str("a number of the access point's counter for all receivers is missing"),
            Self::NoQos(tid) => write!(f, "no data of traffic identifier {tid} to the station was captured before and after it"),
            Self::Qos(tid) => write!(
                f,
                "of traffic identifier {tid} a number is missing, or the first transmission or the acknowledgement of a frame to the station"
            ),
            Self::Unseen => f.write_str("a frame of the access point was acknowledged that was not captured"),
        }
    }
}

impl Numbers {
    /// The numbers of an access point whose beacons have a counter of their own, or not.
    pub(super) fn new(is_apart: bool) -> Self {
        Self { is_apart, ..Self::default() }
    }

    /// Enters a frame. `is_unheard` says that no acknowledgement of it was captured, and others were.
    pub(super) fn note(&mut self, frame: &AirFrame, at: Instant, is_unheard: bool) {
        let (Some(counter), Some(control)) = (Counter::of(frame), frame.sequence_control) else { return };
        let number = control >> 4;
        let was_beacon = matches!(counter, Counter::Beacons(_));
        let is_qos = matches!(counter, Counter::Qos(..));
        let is_open = is_qos && is_unheard;
        let shared = match counter {
            Counter::Beacons(sender) | Counter::Plain(sender) => Some(Counter::Shared(sender)),
            Counter::Qos(..) | Counter::Shared(_) => None,
        };
        for counter in [Some(counter), shared].into_iter().flatten() {
            let runs = self.runs.entry(counter).or_default();
            let fresh = Run { since: at, until: at, last: number, was_beacon, turns: 0, is_open };
            let Some(run) = runs.last_mut() else {
                runs.push(fresh);
                continue;
            };
            let step = number.wrapping_sub(run.last) & 0xfff;
            if step == 0 && (frame.control.retry || control & 0xf != 0) {
                run.is_open &= is_unheard;
            } else if step == 1 && !run.is_open && !(is_qos && frame.control.retry) {
                let turns = run.turns + u32::from(run.was_beacon != was_beacon);
                *run = Run { until: at, last: number, was_beacon, turns, is_open, ..*run };
            } else {
                runs.push(fresh);
            }
        }
    }

    /// A station acknowledged a frame that was not captured.
    pub(super) fn note_unseen(&mut self, at: Instant) {
        self.unseen.push(at);
    }

    /// The run that a time is in, if there is a frame of it at `until` or after.
    fn run(&self, counter: Counter, from: Instant, until: Instant) -> Result<Run, bool> {
        let runs = self.runs.get(&counter).map_or(&[][..], Vec::as_slice);
        let before = runs.partition_point(|run| run.since <= from);
        let is_around = before > 0 && runs.last().is_some_and(|last| last.until >= until);
        let run = before.checked_sub(1).map(|place| runs[place]).filter(|run| run.until >= until);
        run.ok_or(is_around)
    }

    /// Up to when the monitor missed nothing from `from` on of what the access point sent to a station with these counters: `until` at least.
    pub(super) fn complete_until(
        &self,
        (bssid, counters): (MacAddress, &[Counter]),
        from: Instant,
        until: Instant,
    ) -> Result<Instant, Missing> {
        if counters.is_empty() {
            return Err(Missing::NoData);
        }
        let unseen = self.unseen.iter().find(|at| **at > from).copied();
        if unseen.is_some_and(|at| at <= until) {
            return Err(Missing::Unseen);
        }
        let plain = self.plain(bssid, from, until);
        let plain = plain.map_err(|is_around| if is_around { Missing::Shared } else { Missing::NoShared })?;
        let mut complete = unseen.map_or(plain.until, |at| at.min(plain.until));
        for counter in counters {
            let Counter::Qos(_, _, tid) = *counter else { continue };
            let run = self.run(*counter, from, until);
            let run = run.map_err(|around| if around { Missing::Qos(tid) } else { Missing::NoQos(tid) })?;
            complete = complete.min(run.until);
        }
        Ok(complete)
    }

    /// The run of what the access point sends without a QoS counter, if it has a frame at `until` or after; otherwise whether the counter has
    /// frames before and after.
    fn plain(&self, bssid: MacAddress, from: Instant, until: Instant) -> Result<Run, bool> {
        let shared = self.run(Counter::Shared(bssid), from, until);
        let is_shared = |run: &Run| run.turns >= TURNS && !self.is_apart;
        match shared.ok().filter(is_shared) {
            Some(run) => Ok(run),
            None => self.run(Counter::Plain(bssid), from, until),
        }
    }

    /// Whether the monitor missed no management frame of an access point, or of a station, between two times; `None` if no frames before and
    /// after show that, and none a gap that may lie there.
    pub(super) fn has_all_management(&self, mac: MacAddress, from: Instant, until: Instant) -> Option<bool> {
        if self.plain(mac, from, until).is_ok() {
            return Some(true);
        }
        let runs = self.runs.get(&Counter::Plain(mac)).map_or(&[][..], Vec::as_slice);
        // What is missing was sent between the runs beside it.
        let has_gap = runs.windows(2).any(|pair| pair[0].until < until && pair[1].since > from);
        has_gap.then_some(false)
    }

    /// Whether the monitor missed no frame of a counter between two times.
    pub(super) fn is_complete(&self, counter: Counter, from: Instant, until: Instant) -> bool {
        self.run(counter, from, until).is_ok()
    }
}

/// The access points whose beacons have a counter of their own: more other frames were captured between two beacons than their numbers
/// have room for. Numbers near each other fit by chance now and then, so that one such place outweighs every turn.
pub(super) fn counted_apart<'f>(frames: impl Iterator<Item = &'f AirFrame>) -> BTreeSet<MacAddress> {
    #[derive(Default)]
    struct Between {
        beacon: Option<u16>,
        other: Option<u16>,
        count: u16,
    }
    let mut senders: BTreeMap<MacAddress, Between> = BTreeMap::new();
    let mut apart = BTreeSet::new();
    for frame in frames {
        let (Some(counter), Some(control)) = (Counter::of(frame), frame.sequence_control) else { continue };
        let number = control >> 4;
        match counter {
            Counter::Beacons(sender) => {
                let between = senders.entry(sender).or_default();
                let step = between.beacon.map_or(0, |before| number.wrapping_sub(before) & 0xfff);
                if (1..=between.count).contains(&step) {
                    apart.insert(sender);
                }
                (between.beacon, between.count) = (Some(number), 0);
            }
            // Fragments, retransmissions and copies of a frame repeat its number.
            Counter::Plain(sender) if control & 0xf == 0 && !frame.control.retry => {
                let between = senders.entry(sender).or_default();
                let is_new = between.other.replace(number) != Some(number);
                between.count = between.count.saturating_add(u16::from(is_new));
            }
            _ => {}
        }
    }
    apart
}

/// The counters of data by access point and station. A traffic identifier whose first captured frame comes late may have had others before.
pub(super) fn data_counters<'f>(
    frames: impl Iterator<Item = &'f AirFrame>,
) -> BTreeMap<(MacAddress, MacAddress), Vec<Counter>> {
    let mut all: BTreeMap<_, Vec<Counter>> = BTreeMap::new();
    let is_down = |frame: &&AirFrame| {
        let control = &frame.control;
        control.from_ds && !control.to_ds && control.kind.has_payload() && !frame.receiver.is_group()
    };
    for frame in frames.filter(is_down) {
        let (Some(bssid), Some(counter)) = (frame.transmitter, Counter::of(frame)) else { continue };
        let of_station = all.entry((bssid, frame.receiver)).or_default();
        if !of_station.contains(&counter) {
            of_station.push(counter);
        }
    }
    all
}
