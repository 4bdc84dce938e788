//! A trace in which no load is switched, beside a prediction: where both stand, what they have in common, and what follows.

use std::borrow::Cow;

use airwatt_energy::RadioState;
use airwatt_sim::replay::RadioPeriod;

use super::align::{self, Aligned};
use super::drift;
use super::fit::Fit;
use super::host_wakeups::HostWakeups;
use super::pulses::{self, Pulses, Rises, Wakeups};
use super::{
    CurrentReport, CurrentVerdict, CurrentVerdictKind, DOUBTFUL_CORRELATION, LEAST_CORRELATION,
    LONGEST_SAMPLE_S, OtherOffset, Prediction, REPLAY_CORRELATION, REPLAY_PRECISION_S, ReceivedBeacons,
    StateCharge, StateCurrents, Trace, Undetermined, WHOLE, asleep_share, beacons_every_s, currents,
    has_beacons_alone, low_and_high, of_both, place, share_of_time, sleep_limit, states, usual_s, varies,
    verdict, whole_time_s, windows, without_beacons,
};

/// A trace at its place on the capture's clock, if it has one, and the fit of the states' currents there.
pub(super) struct Placed<'a> {
    /// The prediction's times. Those awake for beacons alone are sleep if it does not know when beacons were sent.
    periods: Cow<'a, [RadioPeriod]>,
    currents: StateCurrents,
    beacons_in_sleep: bool,
    correlation: Option<f64>,
    /// Whether trace and prediction go together.
    belongs: bool,
    aligned: Option<Aligned>,
    fit: Option<Fit>,
}

impl<'a> Placed<'a> {
    fn of(
        trace: &Trace,
        prediction: &Prediction<'a>,
        own: StateCurrents,
        offset: Option<f64>,
    ) -> Result<Self, String> {
        let near = Self::near(trace, prediction, own, offset);
        let aligned = near.aligned.filter(|_| near.belongs || offset.is_some());
        let fit = aligned.as_ref().map(|aligned| Fit::of(&near.periods, &trace.intervals, aligned.offset_s));
        if fit.as_ref().is_some_and(|fit| fit.covered_s == 0.0) {
            return Err(format!(
                "--offset: expected a time at which {} overlaps with the capture, got none",
                trace.file
            ));
        }
        Ok(Self { aligned, fit, ..near })
    }

    /// Where the trace correlates best, however little that is.
    pub(super) fn near(
        trace: &Trace,
        prediction: &Prediction<'a>,
        own: StateCurrents,
        offset: Option<f64>,
    ) -> Self {
        let beacons_in_sleep = !prediction.knows_beacons && has_beacons_alone(prediction.periods);
        let (periods, currents) = if beacons_in_sleep {
            without_beacons(prediction.periods, own)
        } else {
            (Cow::Borrowed(prediction.periods), own)
        };
        let bin = if beacons_in_sleep { align::BEACONS_BIN } else { align::REPORT_BIN };
        let aligned = place(trace, &periods, &currents, offset, bin);
        let correlation = aligned.as_ref().map(|aligned| aligned.correlation);
        let belongs = correlation.is_some_and(|correlation| correlation >= LEAST_CORRELATION);
        Self { periods, currents, beacons_in_sleep, correlation, belongs, aligned, fit: None }
    }

    /// The drift of the trace's clock ([`drift::of`]).
    pub(super) fn drift(&self, trace: &Trace) -> Option<f64> {
        drift::of(trace, &self.periods, &self.currents, self.aligned.as_ref()?.offset_s)
    }

    /// The charge that is predicted for the time of both, and the mean current.
    fn predicted(&self) -> (f64, f64) {
        let covered = self.fit.as_ref().map_or_else(|| whole_time_s(&self.periods), |fit| fit.time_s);
        let charge_c: f64 =
            covered.iter().zip(&self.currents).map(|(time_s, current)| time_s * current).sum();
        (charge_c, charge_c / covered.iter().sum::<f64>().max(f64::MIN_POSITIVE))
    }

    /// What the trace shows of each state. Where trace and prediction do not go together, a fit would divide one by the other's times.
    fn states(&self, trace: &Trace) -> Vec<StateCharge> {
        let (Some(fit), Some(aligned)) = (&self.fit, &self.aligned) else { return Vec::new() };
        if !self.belongs && varies(trace) {
            return Vec::new();
        }
        let mut parts = fit.solve_parts(&self.periods, &trace.intervals, aligned.offset_s);
        let sample_s = trace.sample_s();
        if sample_s > LONGEST_SAMPLE_S {
            parts.leave_out(&usual_s(&self.periods), sample_s, Undetermined::TooShort);
        }
        if self.beacons_in_sleep {
            parts.leave_out(&usual_s(&self.periods), REPLAY_PRECISION_S, Undetermined::Brief);
            if self.correlation.is_none_or(|correlation| correlation < REPLAY_CORRELATION) {
                parts.leave_out_awake();
            }
        }
        states(&parts, fit, &self.currents)
    }
}

/// A trace beside a prediction.
pub(super) struct Compared<'a> {
    trace: &'a Trace,
    prediction: &'a Prediction<'a>,
    own: StateCurrents,
    load_a: f64,
    mean_a: f64,
    placed: Placed<'a>,
    states: Vec<StateCharge>,
    offset_s: Option<f64>,
    /// Whether the caller knew it.
    offset_given: bool,
    /// The time that both have in common, in seconds since the first sample.
    both: Option<(f64, f64)>,
    /// Whether the trace has more than that.
    is_part: bool,
    /// The part of the trace of that time, of which the verdict is.
    seen: Cow<'a, Trace>,
}

impl<'a> Compared<'a> {
    pub(super) fn of(
        trace: &'a Trace,
        prediction: &'a Prediction<'a>,
        offset: Option<f64>,
    ) -> Result<Self, String> {
        let (own, load_a) = currents(prediction.radio, prediction.load)?;
        let mean_a = trace.charge_c() / trace.covered_s();
        if mean_a.is_nan() || mean_a <= 0.0 {
            return Err(format!(
                "{}: expected a mean current above zero, got {:.4} mA; hint: the meter's leads or the sign of its export",
                trace.file,
                1e3 * mean_a
            ));
        }
        let placed = Placed::of(trace, prediction, own, offset)?;
        let states = placed.states(trace);
        let offset_s = placed.aligned.as_ref().map(|aligned| aligned.offset_s);
        let both = offset_s.map(|offset_s| of_both(trace, prediction.periods, offset_s));
        let overlap_s = placed.fit.as_ref().map_or(0.0, |fit| fit.covered_s);
        let part = both.filter(|_| overlap_s < WHOLE * trace.covered_s());
        let seen =
            part.map_or(Cow::Borrowed(trace), |(from_s, until_s)| Cow::Owned(trace.part(from_s, until_s)));
        let (is_part, offset_given) = (part.is_some(), offset.is_some());
        Ok(Self {
            trace,
            prediction,
            own,
            load_a,
            mean_a,
            placed,
            states,
            offset_s,
            offset_given,
            both,
            is_part,
            seen,
        })
    }

    /// The share of the time in which means of 1 ms are such; `None` if samples are too long to show the doze between beacons.
    fn share(&self, trace: &Trace, holds: impl Fn(f64) -> bool) -> Option<f64> {
        (self.trace.sample_s() <= LONGEST_SAMPLE_S).then(|| share_of_time(trace, &holds))
    }

    /// The share of the time asleep, beside a load of `more_a`.
    fn asleep_share(&self, trace: &Trace, more_a: f64) -> Option<f64> {
        let (doze_a, on_a) =
            (verdict::doze_limit(&self.own, self.load_a), verdict::on_limit(&self.own, self.load_a));
        let limit_a = sleep_limit(trace, doze_a + more_a, on_a + more_a)?;
        self.share(trace, |current| current <= limit_a)
    }

    /// The share of the time with a radio that is on.
    fn radio_on_share(&self, trace: &Trace) -> Option<f64> {
        let on_a = verdict::on_limit(&self.own, self.load_a);
        self.share(trace, |current| current >= on_a)
    }

    fn predicted_asleep_share(&self) -> f64 {
        let both = self.both.zip(self.offset_s);
        let between = both.map(|((from_s, until_s), offset_s)| (offset_s + from_s, offset_s + until_s));
        asleep_share(self.prediction.periods, between)
    }

    /// The current between pulses beyond that of sleep, in amperes.
    fn above_sleep(&self, pulses: &Pulses) -> f64 {
        (pulses.base_a - self.own[RadioState::Sleep as usize]).max(0.0)
    }

    /// The verdict without what the beacons say that were received.
    fn verdict(&self, pulses: Option<Pulses>, beacons_more_a: Option<f64>) -> CurrentVerdict {
        let (placed, seen) = (&self.placed, &*self.seen);
        // Between pulses the radio sleeps, whatever the current is there.
        let more_a = pulses.map_or(0.0, |pulses| self.above_sleep(&pulses));
        let measured = verdict::Measured {
            mean_a: placed.fit.as_ref().map_or(self.mean_a, Fit::mean_a),
            covered_s: seen.covered_s(),
            low_a: low_and_high(seen).0,
            varies: varies(seen),
            asleep_share: self.asleep_share(seen, more_a),
            samples_are_long: self.trace.sample_s() > LONGEST_SAMPLE_S,
            radio_on_share: self.radio_on_share(seen),
            predicted_a: placed.predicted().1,
            predicted_asleep_share: self.predicted_asleep_share(),
            is_announced: self.prediction.knows_beacons,
            states: &self.states,
            beacons_in_sleep: placed.beacons_in_sleep,
            pulses,
            beacons_more_a,
            load_a: self.load_a,
        };
        let mut verdict = verdict::of(&measured, self.prediction.radio, &self.own);
        if self.is_part && verdict.kind != CurrentVerdictKind::Undetermined {
            let overlap_s = placed.fit.as_ref().map_or(0.0, |fit| fit.covered_s);
            verdict.text += &format!("; this is of the {overlap_s:.2} s of both");
        }
        let doubtful =
            placed.correlation.filter(|correlation| placed.belongs && *correlation < DOUBTFUL_CORRELATION);
        if let Some(correlation) = doubtful {
            verdict.text += &format!(
                "; the place of the trace is doubtful, since it correlates with the prediction by {correlation:.2}: it may be one of \
                 another capture"
            );
        }
        verdict
    }

    /// The report; `windows` are those of `shown`, if they are asked for.
    pub(super) fn report(self, shown: Option<&Trace>) -> CurrentReport {
        let Self { trace, prediction, ref own, ref placed, offset_s, .. } = self;
        let announced = prediction.knows_beacons;
        let most_asleep_a = verdict::most_asleep(prediction.radio, own, self.load_a);
        let rises = Rises::of(trace, own, most_asleep_a);
        let wakeups = rises.as_ref().and_then(|rises| Wakeups::of(rises, prediction.periods, own, announced));
        let beacon = wakeups.as_ref().and_then(Wakeups::charge);
        let pulses = wakeups.and_then(|wakeups| Pulses::of(wakeups, prediction.periods, own, announced));
        let mut verdict = self.verdict(pulses, beacon.as_ref().map(|beacon| beacon.more_a));
        let beacons = offset_s
            .filter(|_| placed.belongs && announced)
            .and_then(|offset_s| ReceivedBeacons::of(rises.as_ref()?, prediction.periods, offset_s));
        verdict.text += &beacons.as_ref().map(ReceivedBeacons::text).unwrap_or_default();
        let beacons_s = beacons_every_s(prediction.periods);
        let host_wakeups = rises
            .as_ref()
            .and_then(|rises| HostWakeups::of(rises, verdict::on_limit(own, self.load_a), beacons_s));
        verdict.text += &host_wakeups.as_ref().map(HostWakeups::text).unwrap_or_default();
        // Beside a load a device sleeps at a higher current, and beside a host that is awake it does not.
        let found_a = match verdict.kind {
            CurrentVerdictKind::Load | CurrentVerdictKind::LoadOrHost => verdict.more_a.unwrap_or(0.0),
            CurrentVerdictKind::HostAwake | CurrentVerdictKind::Awake => 0.0,
            _ => pulses.map_or(0.0, |pulses| self.above_sleep(&pulses)),
        };
        let windows = shown.zip(offset_s).map(|(shown, offset_s)| {
            let every_s = beacons_every_s(prediction.periods).filter(|_| placed.beacons_in_sleep);
            windows::of(shown, &placed.periods, &placed.currents, offset_s, every_s)
        });
        let (low_a, high_a) = low_and_high(trace);
        let (predicted_c, predicted_a) = placed.predicted();
        let others = placed.aligned.as_ref().map_or(&[][..], |aligned| aligned.others.as_slice());
        let repeats_s = placed.aligned.as_ref().and_then(|aligned| aligned.repeats_s);
        CurrentReport {
            file: trace.file.clone(),
            samples: trace.samples,
            prediction: prediction.name.to_owned(),
            mean_a: self.mean_a,
            charge_c: trace.charge_c(),
            covered_s: trace.covered_s(),
            gaps_s: trace.gaps_s(),
            low_a,
            noise_a: pulses::noise(&trace.grid(align::FINE_BIN.as_secs_f64())).unwrap_or(0.0),
            high_a,
            varies: varies(trace),
            asleep_share: self.asleep_share(trace, found_a),
            overlap_asleep_share: self.both.and_then(|_| self.asleep_share(&self.seen, found_a)),
            radio_on_share: self.radio_on_share(trace),
            predicted_asleep_share: self.predicted_asleep_share(),
            offset_s,
            offset_given: self.offset_given,
            clock_fast_ppm: None,
            correlation: placed.correlation,
            beacons_in_sleep: placed.beacons_in_sleep,
            repeats_s: repeats_s.filter(|_| !others.is_empty()),
            other_offset_s: others.first().map(|other| other.0),
            other_correlation: others.first().map(|other| other.1),
            other_offsets: others
                .iter()
                .map(|&(offset_s, correlation)| OtherOffset { offset_s, correlation })
                .collect(),
            overlap_s: placed.fit.as_ref().map_or(0.0, |fit| fit.covered_s),
            measured_c: placed.fit.as_ref().map_or(0.0, |fit| fit.measured_c),
            predicted_c: if placed.fit.is_some() { predicted_c } else { 0.0 },
            predicted_a,
            load_a: self.load_a,
            switched_load: None,
            host_wakeups,
            verdict,
            beacon,
            beacons,
            windows: windows.unwrap_or_default(),
            states: self.states,
        }
    }
}
