//! Changes of the PM bit that follow each other closely: a station that leaves power save and enters it again without data.

use airwatt_base::{Instant, Span};
use airwatt_dot11::MacAddress;

use crate::power_save::finding::{Excess, FindingKind, Findings, Verdict, find, provided, seconds};
use crate::power_save::{FLAP_CHANGES, FLAP_INTERVAL, Mark};

/// What the verdict assumes: a station that looks for other access points sets PM while it is on another channel, which no frame here shows.
const NO_SCAN: &str = "the station did not scan other channels meanwhile";
/// What the capture may show of that.
const SCANS: &str = "the station may scan: it sent probe requests in between";
const SENDS_ELSEWHERE: &str =
    "the station may scan: of its numbers some are missing between frames with and without PM";

/// Changes that an occurrence names, beside the last one: a run may have thousands.
const MOST_NAMED: usize = 15;

/// The changes of the PM bit of a station.
#[derive(Clone, Debug, Default)]
pub(super) struct PmChanges {
    run: Option<Run>,
    /// Whether data was exchanged since the last one.
    has_data: bool,
}

/// Changes of which each follows the last within [`FLAP_INTERVAL`].
#[derive(Clone, Debug)]
struct Run {
    first: Mark,
    last: Mark,
    changes: u32,
    /// The packets of the first [`MOST_NAMED`] changes and of the last one.
    packets: Vec<u32>,
    /// The time on the air of the frame of the last change.
    air: Span,
    /// The times in active mode without data, and the frames that began and ended them.
    waste: Excess,
    /// Why the station may have been on another channel in between.
    doubt: Option<&'static str>,
}

impl PmChanges {
    /// Data was exchanged.
    pub(super) const fn exchanged(&mut self) {
        self.has_data = true;
    }

    /// The station sent a probe request.
    pub(super) const fn probed(&mut self) {
        if let Some(run) = &mut self.run {
            run.doubt = Some(SCANS);
        }
    }

    /// The first frame that shows the mode of `station`: it changes nothing.
    pub(super) const fn shown(&mut self) {
        self.has_data = false;
    }

    /// A frame of `station` that is on the air for `air` changes the bit, to `asleep`. `skips` says whether numbers of the station are
    /// missing since a time.
    pub(super) fn change(
        &mut self,
        station: MacAddress,
        mark: Mark,
        (asleep, air): (bool, Span),
        skips: impl FnOnce(Instant) -> bool,
        findings: &mut Findings,
    ) {
        let had_data = std::mem::take(&mut self.has_data);
        let since = |before: Instant| mark.0.saturating_since(before);
        let Some(run) = self.run.as_mut().filter(|run| since(run.last.0) <= FLAP_INTERVAL) else {
            self.end(station, findings);
            let packets = vec![mark.1];
            let waste = Excess::default();
            self.run = Some(Run { first: mark, last: mark, changes: 1, packets, air, waste, doubt: None });
            return;
        };
        // Being awake served nothing if no data was exchanged.
        if asleep && !had_data {
            run.waste += Excess { sent: run.air + air, ..Excess::awake(since(run.last.0)) };
        }
        // While it was said to sleep, it sent what this channel does not have.
        if !asleep && run.doubt.is_none() && skips(run.last.0) {
            run.doubt = Some(SENDS_ELSEWHERE);
        }
        (run.last, run.air) = (mark, air);
        run.changes += 1;
        run.packets.truncate(MOST_NAMED);
        run.packets.push(mark.1);
    }

    /// Ends a run of changes.
    pub(super) fn end(&mut self, station: MacAddress, findings: &mut Findings) {
        let Some(Run { first, last, changes, packets, waste, doubt, .. }) = self.run.take() else { return };
        let verdict = match doubt {
            _ if changes < FLAP_CHANGES => Verdict::Kept,
            Some(_) => Verdict::Undecidable,
            None => Verdict::Violated,
        };
        let key = (FindingKind::PmFlapping, verdict, station);
        let found = find(findings, key, first, &packets, || {
            format!(
                "{changes} changes of PM in {}, up to packet {}, each within {} of the last{}",
                seconds(last.0.saturating_since(first.0)),
                last.1,
                seconds(FLAP_INTERVAL),
                doubt.map_or_else(|| provided(Some(NO_SCAN)), |doubt| format!("; {doubt}"))
            )
        });
        if let Some(finding) = found {
            finding.cost(waste);
            finding.assume(Some(NO_SCAN));
        }
    }
}
