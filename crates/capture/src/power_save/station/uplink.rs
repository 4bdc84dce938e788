//! The frames of a station: the modes that they show, and the numbers that say whether one was missed.

use airwatt_base::Instant;
use airwatt_dot11::FrameKind;

use crate::packet::{AirFrame, CapturedPacket};
use crate::power_save::sequence::{Counter, Sequences};

/// The latest frames of a station, among whose counters are all that it uses at the time.
const RECENT: usize = 32;
/// Frames before and after a time among which the last numbers of a station's counters are looked for.
const NEARBY: usize = 32;

/// A frame of a station, as far as it shows its mode.
#[derive(Clone, Copy, Debug)]
pub(super) struct ModeFrame {
    pub(super) at: Instant,
    pub(super) packet: u32,
    /// Whether it says that the station is in power save; `None` if it has no valid PM bit, as a probe request.
    pub(super) asleep: Option<bool>,
    /// Whether it was acknowledged, or the capture has no acknowledgements: otherwise the access point may not know the mode.
    pub(super) heard: bool,
    /// Its counter and number; `None` for PS-Polls, which have none.
    pub(super) number: Option<(Counter, u16)>,
}

/// The frames of a station.
#[derive(Clone, Debug, Default)]
pub(in crate::power_save) struct Uplink {
    /// Those of the present segment, in order of time.
    frames: Vec<ModeFrame>,
    /// Their numbers since the station associated.
    numbers: Sequences,
    /// Whether it has sent QoS Null frames. They have no number that shows whether one was missed, and may set the PM bit.
    pub(super) sends_qos_nulls: bool,
    /// When its access point acknowledged frames that were not captured: PS-Polls, or QoS Null frames.
    unseen: Vec<Instant>,
}

impl Uplink {
    /// A frame that shows whether the station is in power save, and whether it was acknowledged.
    pub(super) fn shows_mode(
        &mut self,
        (packet, frame): (&CapturedPacket, &AirFrame),
        asleep: bool,
        acknowledged: Option<bool>,
    ) {
        self.sends_qos_nulls |= frame.control.kind == FrameKind::QosNull;
        self.note(packet, frame, (Some(asleep), acknowledged != Some(false)));
    }

    /// A frame of which the PM bit is reserved, such as a probe request: it has a number.
    pub(in crate::power_save) fn sent_without_mode(&mut self, packet: &CapturedPacket, frame: &AirFrame) {
        self.note(packet, frame, (None, false));
    }

    /// Its access point acknowledged a frame of it that was not captured.
    pub(in crate::power_save) fn was_unseen(&mut self, at: Instant) {
        self.unseen.push(at);
    }

    /// Whether it did since a time.
    pub(super) fn was_unseen_since(&self, at: Instant) -> bool {
        self.unseen.last().is_some_and(|unseen| *unseen > at)
    }

    fn note(&mut self, packet: &CapturedPacket, frame: &AirFrame, (asleep, heard): (Option<bool>, bool)) {
        self.numbers.note(frame, (packet.at, packet.number));
        let number = Counter::of(frame).zip(frame.sequence_control.map(|control| control >> 4));
        self.frames.push(ModeFrame { at: packet.at, packet: packet.number, asleep, heard, number });
    }

    /// The access point has answered the frame in the place of an acknowledgement.
    pub(super) fn was_answered(&mut self, packet: u32) {
        if let Some(frame) = self.frames.iter_mut().rev().find(|frame| frame.packet == packet) {
            frame.heard = true;
        }
    }

    /// The time of the last frame.
    pub(super) fn last(&self) -> Option<Instant> {
        self.frames.last().map(|frame| frame.at)
    }

    /// The time of the last frame up to `time`.
    pub(super) fn last_up_to(&self, time: Instant) -> Option<Instant> {
        let before = self.frames.partition_point(|frame| frame.at <= time);
        before.checked_sub(1).map(|index| self.frames[index].at)
    }

    /// The time of the last frame before `time` that the access point received, as far as its acknowledgement says.
    pub(super) fn last_heard_before(&self, time: Instant) -> Option<Instant> {
        self.frames.iter().rev().find(|frame| frame.heard && frame.at < time).map(|frame| frame.at)
    }

    /// Whether the last frame that shows the mode says that the station is in power save, and is not earlier than `time`.
    pub(super) fn shows_sleep_since(&self, time: Instant) -> bool {
        let shows = self.frames.iter().rev().find(|frame| frame.asleep.is_some());
        shows.is_some_and(|frame| frame.asleep == Some(true) && frame.at >= time)
    }

    /// Whether numbers of the station are missing since a time.
    pub(super) fn skips_since(&self, time: Instant) -> bool {
        self.recent_counters().any(|counter| self.numbers.gap_after(counter, time).is_some())
    }

    /// Since when no frame of the station was missed.
    pub(in crate::power_save) fn unbroken_since(&self) -> Option<Instant> {
        self.recent_counters().filter_map(|counter| self.numbers.unbroken_since(counter)).max()
    }

    /// The counters of the station's last frames.
    fn recent_counters(&self) -> impl Iterator<Item = Counter> {
        self.frames.iter().rev().take(RECENT).filter_map(|frame| frame.number.map(|(counter, _)| counter))
    }

    /// The frames that prove that the station was in power save at a time ([`proves_sleep`]): numbers say that no frame was missed, and its
    /// access point acknowledged none that was. There are none for one that may have changed its mode by frames without a number.
    pub(in crate::power_save) fn proves_sleep(&self, at: Instant) -> Option<Vec<u32>> {
        if self.sends_qos_nulls {
            return None;
        }
        let proof = proves_sleep(&self.frames, at).filter(|proof| proof.is_numbered)?;
        let begin = self.unseen.partition_point(|unseen| *unseen <= proof.span[0]);
        let is_unseen = self.unseen.get(begin).is_some_and(|unseen| *unseen < proof.span[1]);
        (!is_unseen).then_some(proof.packets)
    }

    /// The same, as far as numbers say it, as if none without a number had been sent or missed.
    pub(super) fn shows_sleep_by_numbers(&self, at: Instant) -> Option<Vec<u32>> {
        proves_sleep(&self.frames, at).map(|proof| proof.packets)
    }

    /// The association has ended, and numbers begin anew.
    pub(super) fn leave(&mut self) {
        self.numbers = Sequences::default();
    }

    /// The segment has ended: times of the next one are not comparable.
    pub(in crate::power_save) fn end_segment(&mut self) {
        self.frames.clear();
        self.unseen.clear();
    }
}

/// A counter, a number of it, and the packet that has it.
type Numbered = ((Counter, u16), u32);

/// What says that a station was in power save.
struct Proof {
    /// The frames before and after, and those whose numbers say that none was missed.
    packets: Vec<u32>,
    /// The times of the frames before and after.
    span: [Instant; 2],
    /// Whether frames of one counter before and after say that none of it was missed in between.
    is_numbered: bool,
}

/// The frames before and after `at` if the station was in power save then: nothing between them has changed its mode, by their numbers.
/// PS-Polls have none, so that those next to the time, before and after them, have to follow each other. The access point has to have heard
/// one of those that say so.
fn proves_sleep(frames: &[ModeFrame], at: Instant) -> Option<Proof> {
    let (earlier, later) = frames.split_at(frames.partition_point(|frame| frame.at <= at));
    let shows_mode = |frame: &&ModeFrame| frame.asleep.is_some();
    let sleeps = |frame: &ModeFrame| frame.asleep == Some(true);
    let last_modes = earlier.iter().rev().filter(shows_mode);
    let was_heard = last_modes.clone().take_while(|frame| sleeps(frame)).any(|frame| frame.heard);
    let (before, after) = (last_modes.clone().next()?, later.iter().find(shows_mode)?);
    let numbers = |frame: &ModeFrame| frame.number.map(|number| (number, frame.packet));
    let next: Vec<Numbered> = later.iter().take(NEARBY).filter_map(numbers).collect();
    let mut last: Vec<Numbered> = Vec::new();
    for number in earlier.iter().rev().take(NEARBY).filter_map(numbers) {
        if last.iter().all(|((counter, _), _)| *counter != number.0.0) {
            last.push(number);
        }
    }
    let second = |((counter, _), _): &Numbered| next.iter().find(|((other, _), _)| other == counter);
    let pairs: Vec<(&Numbered, &Numbered)> =
        last.iter().filter_map(|first| Some((first, second(first)?))).collect();
    let is_of_one_counter = match (before.number, after.number) {
        (Some((one, _)), Some((other, _))) => one == other,
        (None, Some(number)) => sleeps(after) || last.iter().any(|(one, _)| one.0 == number.0),
        _ => sleeps(after),
    };
    let misses_none =
        pairs.iter().all(|(((_, first), _), ((_, second), _))| second.wrapping_sub(*first) & 0xfff <= 1);
    let is_proven = sleeps(before) && was_heard && is_of_one_counter && misses_none;
    is_proven.then_some(Proof {
        packets: [before.packet, after.packet]
            .into_iter()
            .chain(pairs.iter().flat_map(|((_, first), (_, second))| [*first, *second]))
            .collect(),
        span: [before.at, after.at],
        is_numbered: !pairs.is_empty(),
    })
}
