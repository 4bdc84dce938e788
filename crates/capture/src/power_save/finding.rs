//! Findings: their kinds, the rules behind them, and their occurrences.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::AddAssign;

use airwatt_base::{Instant, Span};
use airwatt_dot11::MacAddress;
use airwatt_energy::{Radio, RadioState};

use super::agreements::{Agreements, HeldAgreement, TARGET_WAKE_TIME};
use super::pauses::Pauses;
use super::{ENOUGH_BEACONS, Mark};

/// Occurrences of a finding that are kept with a description; of all others time and packet are.
const EXAMPLES: usize = 5;
/// A mark of an earlier segment of the capture.
const EARLIER: Mark = (Instant::ZERO, 0);

/// The kind of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FindingKind {
    /// The access point sent data to a station in power save that had not requested it.
    SentToSleeper,
    /// A frame was buffered, and no beacon announced it.
    TimNeverSet,
    /// The TIM bit was set, and the access point had nothing for the station.
    TimStuck,
    /// A beacon of an access point has no TIM element.
    TimMissing,
    /// The More Data bit announced a frame, the station requested it, and none was sent.
    MoreDataThenNothing,
    /// A group-addressed frame followed one without the More Data bit in the same beacon interval.
    MoreDataMissing,
    /// No EOSP ended a service period.
    EospMissing,
    /// The access point announces U-APSD, the station requested it, and the association response does not grant it.
    UapsdNotGranted,
    /// The station requested its frame and received it late.
    LateDelivery,
    /// A beacon announced a frame and the station requested it several beacons later.
    LateFetch,
    /// The station changed its PM bit repeatedly within beacon intervals.
    PmFlapping,
    /// A station in power save sent or acknowledged frames without a pause in which it could have slept.
    AwakeInPowerSave,
    /// The access point neither acknowledged a PS-Poll nor responded with data.
    PsPollUnanswered,
    /// A group-addressed frame was sent after a beacon that was no DTIM, while a station was in power save.
    GroupNotAfterDtim,
    /// A DTIM beacon announced group-addressed frames, and none followed.
    GroupNotSent,
    /// The DTIM count of a beacon does not continue that of the beacon before it.
    DtimSkipped,
    /// A beacon was transmitted long after its target time.
    BeaconLate,
    /// A beacon is missing between two that were captured.
    BeaconMissing,
    /// The access point sent data outside the agreed service periods to a station that had not requested it.
    SentOutsideWakeTime,
    /// A station in power save sent outside the service periods that it has agreed on.
    WokeOutsideWakeTime,
    /// A station did not show in an announced service period that it was awake, though a frame was buffered.
    AbsentAtWakeTime,
}

/// The fields of a result that follow from the kind of a finding.
struct Rule {
    name: &'static str,
    clause: &'static str,
    severity: &'static str,
    cause: &'static str,
}

/// What a capture needs to have so that a rule is decided: nothing of the rest of it replaces these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// So many beacons of the station's access point at least.
    pub beacons: u32,
    /// Their TIM.
    pub tim: bool,
    /// The station's association identifier.
    pub aid: bool,
    /// Frames that show the station's power-management mode.
    pub mode: bool,
}

/// The excess that the faults of a finding cost a station's radio: the difference between what was captured and the same frames
/// with the fault removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Excess {
    /// Time by which frames were late.
    pub delay: Span,
    /// Time for which the station was awake instead of asleep.
    pub awake: Span,
    /// Of that, time for which it sent.
    pub sent: Span,
    /// Of that, time for which it received.
    pub received: Span,
    /// Wake-ups.
    pub wake_ups: u64,
}

impl Excess {
    /// Frames that were late, while the station slept.
    pub(super) fn late(delay: Span) -> Self {
        Self { delay, ..Self::default() }
    }

    /// A time awake.
    pub(super) fn awake(awake: Span) -> Self {
        Self { awake, ..Self::default() }
    }

    /// The energy beyond that of a radio which slept instead.
    pub fn energy_j(&self, radio: &Radio) -> f64 {
        let above = |state: RadioState, other: RadioState| {
            radio.power(state).as_watts() - radio.power(other).as_watts()
        };
        let transitions = (radio.wake_up.energy() + radio.to_sleep.energy()).as_joules();
        above(RadioState::Listen, RadioState::Sleep) * self.awake.as_secs_f64()
            + above(RadioState::Transmit, RadioState::Listen) * self.sent.as_secs_f64()
            + above(RadioState::Receive, RadioState::Listen) * self.received.as_secs_f64()
            + transitions * self.wake_ups as f64
    }
}

impl AddAssign for Excess {
    fn add_assign(&mut self, other: Self) {
        self.delay += other.delay;
        self.awake += other.awake;
        self.sent += other.sent;
        self.received += other.received;
        self.wake_ups += other.wake_ups;
    }
}

const fn rule(name: &'static str, clause: &'static str, severity: &'static str, cause: &'static str) -> Rule {
    Rule { name, clause, severity, cause }
}

const AP: &str = "access point";
const STATION: &str = "station";

impl FindingKind {
    /// Every kind.
    pub const ALL: [Self; 21] = [
        Self::SentToSleeper,
        Self::TimNeverSet,
        Self::TimStuck,
        Self::TimMissing,
        Self::MoreDataThenNothing,
        Self::MoreDataMissing,
        Self::EospMissing,
        Self::UapsdNotGranted,
        Self::LateDelivery,
        Self::LateFetch,
        Self::PmFlapping,
        Self::AwakeInPowerSave,
        Self::PsPollUnanswered,
        Self::GroupNotAfterDtim,
        Self::GroupNotSent,
        Self::DtimSkipped,
        Self::BeaconLate,
        Self::BeaconMissing,
        Self::SentOutsideWakeTime,
        Self::WokeOutsideWakeTime,
        Self::AbsentAtWakeTime,
    ];

    /// Name, clause of 802.11-2020 or 802.11ax-2021, severity, and the device that causes it.
    const fn rule(self) -> Rule {
        match self {
            Self::SentToSleeper => rule("sent-to-sleeping-station", "802.11-2020 11.2.3.6", "error", AP),
            Self::TimNeverSet => rule("tim-never-set", "802.11-2020 11.2.3.6", "error", AP),
            Self::TimStuck => rule("tim-stuck", "802.11-2020 11.2.3.6", "error", AP),
            Self::TimMissing => rule("tim-missing", "802.11-2020 9.3.3.2", "error", AP),
            Self::MoreDataThenNothing => rule("more-data-then-nothing", "802.11-2020 9.2.4.1.8", "error", AP),
            Self::MoreDataMissing => rule("more-data-missing", "802.11-2020 9.2.4.1.8", "error", AP),
            Self::EospMissing => rule("eosp-missing", "802.11-2020 9.2.4.5.3", "error", AP),
            Self::UapsdNotGranted => rule("uapsd-not-granted", "802.11-2020 11.2.3.5", "error", AP),
            Self::LateDelivery => rule("late-delivery", "802.11-2020 11.2.3.6", "warning", AP),
            Self::LateFetch => rule("late-fetch", "802.11-2020 11.2.3.7", "warning", STATION),
            Self::PmFlapping => rule("pm-flapping", "802.11-2020 11.2.3.2", "warning", STATION),
            Self::AwakeInPowerSave => rule("awake-in-power-save", "802.11-2020 11.2.3.2", "note", STATION),
            Self::PsPollUnanswered => rule("ps-poll-unanswered", "802.11-2020 11.2.3.6", "error", AP),
            Self::GroupNotAfterDtim => rule("group-not-after-dtim", "802.11-2020 11.2.3.4", "error", AP),
            Self::GroupNotSent => rule("group-announced-not-sent", "802.11-2020 11.2.3.4", "error", AP),
            Self::DtimSkipped => rule("dtim-skipped", "802.11-2020 9.4.2.5.1", "error", AP),
            Self::BeaconLate => rule("beacon-late", "802.11-2020 11.1.3.2", "warning", AP),
            Self::BeaconMissing => rule("beacon-missing", "802.11-2020 11.1.3.2", "warning", AP),
            Self::SentOutsideWakeTime => rule("twt-delivery-outside", "802.11ax-2021 26.8.2", "error", AP),
            Self::WokeOutsideWakeTime => rule("twt-sent-outside", "802.11ax-2021 26.8.2", "note", STATION),
            Self::AbsentAtWakeTime => rule("twt-absent", "802.11ax-2021 26.8.2", "warning", STATION),
        }
    }

    /// What would have been different without the fault: the other side of the comparison that its cost is.
    pub const fn remedy(self) -> &'static str {
        match self {
            Self::SentToSleeper => "the frame waits in the buffer until the station asks for it",
            Self::TimNeverSet => {
                "the first beacon without the bit has it, and the same exchange follows that beacon"
            }
            Self::TimStuck => "no bit, hence no PS-Poll and no wait for its answer",
            Self::TimMissing => "beacons have a TIM; what a station does without one is not known",
            Self::MoreDataThenNothing => "no More Data, hence no request and no wait for the frame",
            Self::MoreDataMissing => {
                "stations stay awake for the second frame, or it follows the next DTIM beacon"
            }
            Self::EospMissing => "the station sleeps after the last frame of the period",
            Self::UapsdNotGranted => "triggers instead of PS-Polls: the replay under psm",
            Self::LateDelivery => "the frame follows the request at once",
            Self::LateFetch => "the station asks after the beacon for which it has to wake up",
            Self::PmFlapping => "the station stays asleep through times in active mode without data",
            Self::AwakeInPowerSave => "the station sleeps in these pauses",
            Self::PsPollUnanswered => "the first PS-Poll is answered",
            Self::GroupNotAfterDtim => "the frame waits for the next DTIM beacon",
            Self::GroupNotSent => "no bit, and stations sleep after the beacon",
            Self::DtimSkipped => "a station that wakes up for DTIM beacons sleeps through this one",
            Self::BeaconLate => "the beacon comes at its target time",
            Self::BeaconMissing => "there is a beacon when the station has woken up for it",
            Self::SentOutsideWakeTime => "the frame waits for the next service period",
            Self::WokeOutsideWakeTime => "the frames wait for the next service period",
            Self::AbsentAtWakeTime => "the station fetches the frame in the first of these periods",
        }
    }

    /// What decides about it.
    pub const fn needs(self) -> Needs {
        use FindingKind as Kind;
        let aid = matches!(
            self,
            Kind::TimNeverSet
                | Kind::TimStuck
                | Kind::LateFetch
                | Kind::PsPollUnanswered
                | Kind::AbsentAtWakeTime
        );
        let of_group = matches!(self, Kind::GroupNotAfterDtim | Kind::MoreDataMissing);
        let tim = aid || of_group || matches!(self, Kind::GroupNotSent | Kind::DtimSkipped);
        let beacons = match self {
            Kind::BeaconLate | Kind::BeaconMissing => ENOUGH_BEACONS as u32,
            Kind::TimMissing | Kind::UapsdNotGranted => 1,
            _ if tim || self.is_of_wake_times() => 1,
            _ => 0,
        };
        let mode = of_group
            || self.is_of_wake_times()
            || matches!(
                self,
                Kind::SentToSleeper | Kind::TimNeverSet | Kind::AwakeInPowerSave | Kind::PmFlapping
            );
        Needs { beacons, tim, aid, mode }
    }

    /// Whether it is about the service periods of individual target wake times.
    pub const fn is_of_wake_times(self) -> bool {
        matches!(self, Self::SentOutsideWakeTime | Self::WokeOutsideWakeTime | Self::AbsentAtWakeTime)
    }

    /// Whether it is about the answer to a PS-Poll.
    pub const fn is_of_polls(self) -> bool {
        matches!(self, Self::TimStuck | Self::PsPollUnanswered)
    }

    /// Whether it depends on a station's sleep from beacon to beacon, as that of a station with another agreement is not.
    const fn depends_on_beacons(self) -> bool {
        matches!(self, Self::SentToSleeper | Self::LateFetch)
    }

    /// Whether it depends on when a station in power save is awake, or on what the access point owes it meanwhile.
    const fn depends_on_sleep(self) -> bool {
        self.depends_on_beacons()
            || matches!(
                self,
                Self::TimNeverSet
                    | Self::TimStuck
                    | Self::MoreDataThenNothing
                    | Self::EospMissing
                    | Self::LateDelivery
                    | Self::PsPollUnanswered
            )
    }

    /// Whether it is about what an access point sends to all stations of its cell, rather than about one of them.
    pub const fn is_of_cell(self) -> bool {
        matches!(
            self,
            Self::TimMissing
                | Self::MoreDataMissing
                | Self::GroupNotAfterDtim
                | Self::GroupNotSent
                | Self::DtimSkipped
                | Self::BeaconLate
                | Self::BeaconMissing
        )
    }

    /// Whether the frames show what the radio spent on it.
    pub const fn has_energy(self) -> bool {
        !matches!(self, Self::TimMissing | Self::UapsdNotGranted)
    }

    /// Whether the frames show how late others were for it. A frame that a station slept through may be lost.
    pub const fn has_delay(self) -> bool {
        use FindingKind as Kind;
        !matches!(
            self,
            Kind::TimMissing
                | Kind::UapsdNotGranted
                | Kind::SentToSleeper
                | Kind::MoreDataMissing
                | Kind::GroupNotAfterDtim
                | Kind::SentOutsideWakeTime
                | Kind::WokeOutsideWakeTime
        )
    }

    /// The clause of 802.11-2020, or of 802.11ax-2021, that has the rule.
    pub const fn clause(self) -> &'static str {
        self.rule().clause
    }

    /// `error` if the standard does not allow it, `warning` if it wastes energy or time, `note` if it may be meant so.
    pub const fn severity(self) -> &'static str {
        self.rule().severity
    }

    /// Its name in results.
    pub const fn name(self) -> &'static str {
        self.rule().name
    }

    /// The device that causes it.
    pub const fn cause(self) -> &'static str {
        self.rule().cause
    }
}

/// The answer to the question whether a rule was kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It was not, as captured frames prove.
    Violated,
    /// It was, as captured frames prove.
    Kept,
    /// The captured frames allow both: one that the monitor may have missed decides, or a time that no frame shows.
    Undecidable,
}

impl Verdict {
    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Violated => "violated",
            Self::Kept => "kept",
            Self::Undecidable => "undecidable",
        }
    }
}

/// One occurrence of a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// Its time.
    pub at: Instant,
    /// The packet's number in the file.
    pub packet: u32,
    /// Whether the rule was kept.
    pub verdict: Verdict,
    /// The packets from which the verdict follows, in order; the packet itself if they are empty.
    pub deciding: Vec<u32>,
    /// A description, of the first few occurrences.
    pub detail: Option<String>,
    /// The time for which a frame was in the access point's buffer, as far as that is proven.
    pub buffered: Option<(Instant, Instant)>,
    /// What it cost a station if it violated the rule, but for what depends on its radio.
    pub excess: Excess,
    /// The beacons that came late, or not at all: a station that sleeps listens for each until its radio gives it up.
    pub late: Vec<LateBeacon>,
    /// The service periods of target wake time around it, if the rule is about these: their beginnings and ends.
    pub periods: Vec<(Instant, Instant)>,
    /// What the verdict assumes, since no frame can show it.
    pub assumption: Option<&'static str>,
    /// The access point that the station was with, or the one that the rule is about.
    pub access_point: Option<MacAddress>,
    /// The association identifier that the station had there, if a frame shows it.
    pub aid: Option<u16>,
}

/// A beacon that came late, or not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LateBeacon {
    /// Its target time.
    pub due: Instant,
    /// The time by which it was late, or until the next one.
    pub late_by: Span,
}

/// What was found about one rule and one station.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its kind.
    pub kind: FindingKind,
    /// The station; the access point if the finding concerns all of its stations.
    pub station: MacAddress,
    /// The occurrences in order of time; of those that kept the rule the first ones.
    pub occurrences: Vec<Occurrence>,
    /// Occurrences by verdict.
    counts: [u64; 3],
    /// The occurrences of the segments that have ended, which are in order.
    in_order: usize,
    /// The first occurrences by verdict, which have a description: some judgements wait for later frames, so that others come before them.
    first: [Vec<Mark>; 3],
}

impl Finding {
    /// What the occurrences that violated the rule cost a station whose radio waits for so long for a beacon. `concerns` says whether
    /// what happens at a time and with a packet concerns the station: nobody waits for a beacon who is awake, or with another access point.
    pub fn excess(&self, beacon_wait: Span, concerns: impl Fn(Instant, u32) -> bool) -> Excess {
        let mut excess = Excess::default();
        for one in self.occurrences.iter().filter(|one| one.verdict == Verdict::Violated) {
            if concerns(one.at, one.packet) {
                excess += one.excess;
            }
            for beacon in one.late.iter().filter(|beacon| concerns(beacon.due, one.packet)) {
                excess.delay += beacon.late_by;
                excess.awake += beacon.late_by.min(beacon_wait);
            }
        }
        excess
    }

    /// Adds to what the last occurrence that violated the rule cost.
    pub(super) fn cost(&mut self, excess: Excess) {
        self.add(Verdict::Violated, excess);
    }

    /// Adds what the last occurrence cost that is undecidable so far.
    pub(super) fn may_cost(&mut self, excess: Excess) {
        self.add(Verdict::Undecidable, excess);
    }

    fn add(&mut self, verdict: Verdict, excess: Excess) {
        if let Some(occurrence) = self.occurrences.iter_mut().rfind(|one| one.verdict == verdict) {
            occurrence.excess += excess;
        }
    }

    /// Says which beacons of the last occurrence were late. Of one that never came a station hears of its frames from the next one.
    pub(super) fn late(&mut self, beacons: impl Iterator<Item = LateBeacon>) {
        if let Some(occurrence) = self.occurrences.last_mut() {
            occurrence.late = beacons.collect();
        }
    }

    /// Says which service periods of target wake time the last occurrence lies between.
    pub(super) fn between(&mut self, periods: Vec<(Instant, Instant)>) {
        if let Some(occurrence) = self.occurrences.last_mut() {
            occurrence.periods = periods;
        }
    }

    /// The number of occurrences with a verdict.
    pub const fn count(&self, verdict: Verdict) -> u64 {
        self.counts[verdict as usize]
    }

    /// Names the access point of each occurrence, and the association identifier: a station may have been with several. `stay` gives that of
    /// a packet.
    pub(super) fn name_access_points(&mut self, stay: impl Fn(u32) -> Option<(MacAddress, Option<u16>)>) {
        for occurrence in self.occurrences.iter_mut().filter(|one| one.access_point.is_none()) {
            let stay = stay(occurrence.packet);
            (occurrence.access_point, occurrence.aid) =
                (stay.map(|(bssid, _)| bssid), stay.and_then(|(_, aid)| aid));
        }
    }

    /// Decides that all undecidable occurrences violated the rule.
    pub(super) fn convict(&mut self) {
        for occurrence in self.occurrences.iter_mut().filter(|one| one.verdict == Verdict::Undecidable) {
            occurrence.verdict = Verdict::Violated;
        }
        self.counts[Verdict::Violated as usize] +=
            std::mem::take(&mut self.counts[Verdict::Undecidable as usize]);
        for mark in std::mem::take(&mut self.first[Verdict::Undecidable as usize]) {
            self.is_one_of_the_first(Verdict::Violated, mark);
        }
    }

    /// Whether an occurrence is one of the first of its verdict so far.
    fn is_one_of_the_first(&mut self, verdict: Verdict, mark: Mark) -> bool {
        let first = &mut self.first[verdict as usize];
        let place = first.partition_point(|one| *one <= mark);
        if place < EXAMPLES {
            first.insert(place, mark);
            first.truncate(EXAMPLES);
        }
        place < EXAMPLES
    }

    /// Puts the occurrences of a segment in order of time, and leaves out the descriptions of those that turned out not to be the first.
    fn end_segment(&mut self) {
        let mut of_segment = self.occurrences.split_off(self.in_order);
        of_segment.sort_by_key(|one| (one.at, one.packet));
        let before = |marks: &Vec<Mark>| marks.iter().filter(|mark| **mark == EARLIER).count();
        let mut left = self.first.each_ref().map(|marks| EXAMPLES - before(marks));
        of_segment.retain_mut(|one| {
            let left = &mut left[one.verdict as usize];
            one.detail.take_if(|_| *left == 0);
            *left -= usize::from(one.detail.is_some());
            one.detail.is_some() || one.verdict != Verdict::Kept
        });
        self.occurrences.append(&mut of_segment);
        self.in_order = self.occurrences.len();
        // The times of two segments are not comparable.
        self.first.iter_mut().flatten().for_each(|mark| *mark = EARLIER);
    }

    /// Says for how long the frame of the last occurrence was buffered.
    pub(super) fn buffered(&mut self, from: Instant, until: Instant) {
        if let Some(occurrence) = self.occurrences.last_mut() {
            occurrence.buffered = Some((from, until));
        }
    }

    /// Says what the verdict of the last occurrence assumes.
    pub(super) fn assume(&mut self, assumption: Option<&'static str>) {
        if let Some(occurrence) = self.occurrences.last_mut() {
            occurrence.assumption = assumption;
        }
    }
}

/// An assumption, as it stands behind what rests on it.
pub(super) fn provided(assumption: Option<&str>) -> String {
    assumption.map_or_else(String::new, |what| format!(" (provided that {what})"))
}

/// A time in the unit that a reader measures it in, with three digits behind the point at most.
pub(super) fn seconds(span: Span) -> String {
    let (value, unit) = match span.as_secs_f64() {
        seconds if seconds < 1.0 => (1e3 * seconds, "ms"),
        seconds => (seconds, "s"),
    };
    let text = format!("{value:.3}");
    format!("{} {unit}", text.trim_end_matches('0').trim_end_matches('.'))
}

/// The findings by kind and station, and what excuses: the agreements of stations, and a channel that was not free.
#[derive(Default)]
pub(super) struct Findings {
    by_kind: BTreeMap<(FindingKind, MacAddress), Finding>,
    agreements: BTreeMap<MacAddress, Agreements>,
    /// The stations that have a target wake time all along, as the simulator that wrote the capture says.
    target_wakes: BTreeSet<MacAddress>,
    /// When the channel was free.
    pub(super) pauses: Pauses,
}

impl Findings {
    /// `target_wakes` are the stations with a target wake time all along.
    pub(super) fn new(target_wakes: BTreeSet<MacAddress>) -> Self {
        Self { target_wakes, ..Self::default() }
    }

    /// Whether an access point was seen to set a bit with nothing behind it: for any station, or as far as can be told for this one.
    pub(super) fn shows_untrue_bits(&self, station: MacAddress) -> bool {
        let stuck = self.by_kind.iter().filter(|((kind, _), _)| *kind == FindingKind::TimStuck);
        stuck.into_iter().any(|((_, of), finding)| {
            finding.count(Verdict::Violated) > 0 || *of == station && finding.count(Verdict::Undecidable) > 0
        })
    }

    pub(super) fn get_mut(&mut self, kind: FindingKind, station: MacAddress) -> Option<&mut Finding> {
        self.by_kind.get_mut(&(kind, station))
    }

    /// A segment of the capture has ended.
    pub(super) fn end_segment(&mut self) {
        self.by_kind.values_mut().for_each(Finding::end_segment);
        for agreements in self.agreements.values_mut() {
            agreements.end_segment();
        }
        self.pauses.clear();
    }

    /// All of them in order, and the agreements of each station that had any.
    pub(super) fn into_all(self) -> (Vec<Finding>, BTreeMap<MacAddress, Vec<HeldAgreement>>) {
        let agreements = self.agreements.into_iter().map(|(station, of)| (station, of.held));
        (self.by_kind.into_values().collect(), agreements.filter(|(_, held)| !held.is_empty()).collect())
    }

    /// The agreements of a station.
    pub(super) fn agreements(&mut self, station: MacAddress) -> &mut Agreements {
        self.agreements.entry(station).or_default()
    }

    /// Why the rule accuses nobody because of the station's agreements.
    pub(super) fn excuse(&self, kind: FindingKind, station: MacAddress) -> Option<&'static str> {
        if !kind.depends_on_sleep() {
            return None;
        }
        if self.target_wakes.contains(&station) {
            return Some(TARGET_WAKE_TIME);
        }
        self.agreements.get(&station)?.excuse(kind.depends_on_beacons())
    }
}

/// Adds an occurrence. Returns its finding if it violated the rule, so that its costs can be added.
pub(super) fn find<'f>(
    findings: &'f mut Findings,
    (kind, verdict, station): (FindingKind, Verdict, MacAddress),
    (at, packet): Mark,
    deciding: &[u32],
    detail: impl FnOnce() -> String,
) -> Option<&'f mut Finding> {
    let excuse = if verdict == Verdict::Violated { findings.excuse(kind, station) } else { None };
    let verdict = if excuse.is_some() { Verdict::Undecidable } else { verdict };
    let finding = findings.by_kind.entry((kind, station)).or_insert_with(|| Finding {
        kind,
        station,
        occurrences: Vec::new(),
        counts: [0; 3],
        in_order: 0,
        first: Default::default(),
    });
    finding.counts[verdict as usize] += 1;
    let is_example = finding.is_one_of_the_first(verdict, (at, packet));
    if is_example || verdict != Verdict::Kept {
        let detail = is_example.then(|| match excuse {
            Some(why) => format!("{}; {why}", detail()),
            None => detail(),
        });
        finding.occurrences.push(Occurrence {
            at,
            packet,
            verdict,
            deciding: deciding.to_vec(),
            detail,
            buffered: None,
            excess: Excess::default(),
            late: Vec::new(),
            periods: Vec::new(),
            assumption: None,
            access_point: kind.is_of_cell().then_some(station),
            aid: None,
        });
    }
    (verdict == Verdict::Violated).then_some(finding)
}
