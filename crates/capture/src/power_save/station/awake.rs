//! Stretches in which a station in power save is awake: it sends or acknowledges frames without a pause in which it could sleep.

use airwatt_base::Span;
use airwatt_dot11::MacAddress;

use super::uplink::Uplink;
use crate::power_save::Mark;
use crate::power_save::finding::{Excess, FindingKind, Findings, Verdict, find, seconds};

/// A pause that a radio cannot sleep in with a profit: waking up takes milliseconds.
const NAP: Span = Span::from_millis(10);
/// A station in power save that sends or acknowledges without such a pause for this long is awake.
const BUSY: Span = Span::from_millis(100);

/// The first and the last frame of the present stretch, each within [`NAP`] of the one before.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stretch(Option<(Mark, Mark)>);

impl Stretch {
    /// A frame shows that the station is awake, though in power save.
    pub(super) fn awake_at(
        &mut self,
        mark: Mark,
        (station, uplink): (MacAddress, &Uplink),
        findings: &mut Findings,
    ) {
        let follows = |(_, last): &&mut (Mark, Mark)| mark.0.saturating_since(last.0) <= NAP;
        if let Some((_, last)) = self.0.as_mut().filter(follows) {
            *last = mark;
        } else {
            self.end((station, uplink), findings);
            self.0 = Some((mark, mark));
        }
    }

    /// Ends the stretch.
    pub(super) fn end(&mut self, (station, uplink): (MacAddress, &Uplink), findings: &mut Findings) {
        let Some((first, last)) = self.0.take() else { return };
        let awake = last.0.saturating_since(first.0);
        if awake < BUSY {
            let key = (FindingKind::AwakeInPowerSave, Verdict::Kept, station);
            find(findings, key, first, &[], || "it paused".to_owned());
            return;
        }
        // The last frame that shows its mode has to be of this stretch or later.
        let verdict = if uplink.shows_sleep_since(last.0) { Verdict::Violated } else { Verdict::Undecidable };
        let key = (FindingKind::AwakeInPowerSave, verdict, station);
        let found = find(findings, key, first, &[first.1, last.1], || {
            format!(
                "in power save it sent or acknowledged a frame at least every {} for {}",
                seconds(NAP),
                seconds(awake)
            )
        });
        if let Some(finding) = found {
            finding.cost(Excess::awake(awake));
        }
    }
}
