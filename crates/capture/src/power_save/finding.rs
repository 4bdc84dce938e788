//! Findings: their kinds, the rules behind them, and their occurrences.

use std::collections::BTreeMap;

use airwatt_base::{Instant, Span};
use airwatt_dot11::MacAddress;

use super::Mark;

/// Occurrences of a finding that are kept with a description; of all others time and packet are.
const EXAMPLES: u64 = 5;

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
}

/// The fields of a result that follow from the kind of a finding.
struct Rule {
    name: &'static str,
    clause: &'static str,
    severity: &'static str,
    cause: &'static str,
}

const fn rule(name: &'static str, clause: &'static str, severity: &'static str, cause: &'static str) -> Rule {
    Rule { name, clause, severity, cause }
}

const AP: &str = "access point";
const STATION: &str = "station";

impl FindingKind {
    /// Every kind.
    pub const ALL: [Self; 18] = [
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
    ];

    /// Name, clause of 802.11-2020, severity, and the device that causes it.
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
        }
    }

    /// The clause of 802.11-2020 that has the rule.
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
    /// Time by which frames were late, over all occurrences that violated the rule.
    pub delay: Span,
    /// Of that, the time for which the station was awake and waited.
    pub awake: Span,
}

impl Finding {
    /// The number of occurrences with a verdict.
    pub const fn count(&self, verdict: Verdict) -> u64 {
        self.counts[verdict as usize]
    }

    /// Decides that all undecidable occurrences violated the rule.
    pub(super) fn convict(&mut self) {
        for occurrence in self.occurrences.iter_mut().filter(|one| one.verdict == Verdict::Undecidable) {
            occurrence.verdict = Verdict::Violated;
        }
        self.counts[Verdict::Violated as usize] +=
            std::mem::take(&mut self.counts[Verdict::Undecidable as usize]);
    }

    /// Adds times to an occurrence that violated the rule.
    pub(super) fn costs(&mut self, delay: Span, awake: Span) {
        self.delay += delay;
        self.awake += awake;
    }
}

/// The findings by kind and station.
pub(super) type Findings = BTreeMap<(FindingKind, MacAddress), Finding>;

/// Adds an occurrence. Returns its finding if it violated the rule, so that its costs can be added.
pub(super) fn find<'f>(
    findings: &'f mut Findings,
    (kind, verdict, station): (FindingKind, Verdict, MacAddress),
    (at, packet): Mark,
    deciding: &[u32],
    detail: impl FnOnce() -> String,
) -> Option<&'f mut Finding> {
    let finding = findings.entry((kind, station)).or_insert_with(|| Finding {
        kind,
        station,
        occurrences: Vec::new(),
        counts: [0; 3],
        delay: Span::ZERO,
        awake: Span::ZERO,
    });
    let count = &mut finding.counts[verdict as usize];
    *count += 1;
    let is_example = *count <= EXAMPLES;
    if is_example || verdict != Verdict::Kept {
        let detail = is_example.then(detail);
        finding.occurrences.push(Occurrence { at, packet, verdict, deciding: deciding.to_vec(), detail });
    }
    (verdict == Verdict::Violated).then_some(finding)
}
