//! The current of each state of a radio, from a measured current and the times at which the radio is predicted to be in them.
//!
//! A sample that spans a boundary belongs to each state by its share of time. With `f` the share of a state in an interval of the
//! trace, the currents `x` of the states are those for which the sum of `length x (measured - sum of f x)^2` over all intervals is
//! least. Since the shares of an interval add up to one, the charges of the states add up to what was measured, and a
//! constant current is the current of every state. States that the trace cannot tell apart, as two that always come together in
//! one interval, share what is left: the deviations from the mean current are the smallest that fit.
//!
//! No radio has a negative current, nor one whose part of a sample is more than the largest sample. A state for which least
//! squares find such a one counts with the mean current, as does one that was hardly ever there, which would take the noise of its
//! few samples for its current; its own is not determined. Standard errors take samples as independent, which they are not where the
//! prediction's times are off: a jackknife over parts of the trace shows how far the parts agree.

use airwatt_energy::RadioState;
use airwatt_sim::replay::RadioPeriod;
use schemars::JsonSchema;
use serde::Serialize;

use super::trace::Interval;

const STATES: usize = RadioState::ALL.len();
type Vector = [f64; STATES];
type Matrix = [Vector; STATES];

/// Combinations of states whose eigenvalue is less than this share of the largest one are not told apart: the trace does not say them.
const RANK: f64 = 1e-9;
/// Time in a state, in seconds, below which its current is not determined; and never less than one sample.
const LEAST_TIME_S: f64 = 1e-3;
/// A standard error of this share of a current leaves it undetermined.
const LOOSE: f64 = 0.25;
/// Parts of a trace for the jackknife.
const PARTS: usize = 20;
/// The largest sample is a bound with this tolerance.
const ABOVE_LARGEST: f64 = 1.1;
/// Share of an interval that must be predicted.
const COVERED: f64 = 0.999;

/// Time in each state within one interval, by share.
pub(super) struct Shares {
    pub interval: Interval,
    /// Its begin as time of the capture, in seconds.
    pub start_s: f64,
    pub shares: Vector,
}

/// Calls `each` with the intervals that the prediction covers, if the trace begins at `offset_s` of the capture.
pub(super) fn for_each(
    periods: &[RadioPeriod],
    intervals: &[Interval],
    offset_s: f64,
    mut each: impl FnMut(&Shares),
) {
    let seconds = |period: &RadioPeriod| {
        let start_s = period.start.as_secs_f64();
        (start_s, start_s + period.duration.as_secs_f64())
    };
    let mut first = 0;
    for interval in intervals {
        let (from_s, until_s) = (interval.start_s + offset_s, interval.end_s() + offset_s);
        while periods.get(first).is_some_and(|period| seconds(period).1 <= from_s) {
            first += 1;
        }
        if first == periods.len() {
            return;
        }
        let mut shares = [0.0; STATES];
        let mut covered = 0.0;
        for period in &periods[first..] {
            let (start_s, end_s) = seconds(period);
            if start_s >= until_s {
                break;
            }
            let part = (end_s.min(until_s) - start_s.max(from_s)).max(0.0) / (until_s - from_s);
            shares[period.state as usize] += part;
            covered += part;
        }
        if covered < COVERED {
            continue;
        }
        shares.iter_mut().for_each(|share| *share /= covered);
        each(&Shares { interval: *interval, start_s: from_s, shares });
    }
}

/// The sums of a fit.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fit {
    count: u64,
    /// Time covered, in seconds, and charge in it.
    pub covered_s: f64,
    pub measured_c: f64,
    /// Time in each state, in seconds.
    pub time_s: Vector,
    products: Matrix,
    /// Of the shares with the measured current, each times the length.
    right: Vector,
    squares: f64,
    /// The largest share of a sample in each state, and the largest sample.
    most_share: Vector,
    most_a: f64,
}

/// Why the current of a state is not determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Undetermined {
    /// The time in the state is less than 1 ms, or than a sample; each time, if samples are longer than 20 ms.
    TooShort,
    /// Least squares give less than zero, or more than the largest sample has room for.
    Impossible,
    /// Its standard error is more than a quarter of it, or a replay's times awake correlate with the trace by less than 0.95: the
    /// samples do not tell the state from others, or parts of the trace disagree.
    Loose,
    /// It is shorter each time than the precision of a replay's times, 5 ms.
    Brief,
}

/// The currents of a trace's states.
pub(super) struct Parts {
    /// As in [`Fitted`].
    pub current_a: Vector,
    /// The larger one of both standard errors.
    pub error_a: Vector,
    pub undetermined: [Option<Undetermined>; STATES],
}

impl Parts {
    /// Leaves out states whose usual length, in seconds, is less than `least_s`.
    pub(super) fn leave_out(&mut self, usual_s: &Vector, least_s: f64, because: Undetermined) {
        for (why, usual_s) in self.undetermined.iter_mut().zip(usual_s) {
            if *usual_s < least_s {
                *why = why.or(Some(because));
            }
        }
    }

    /// Leaves out all states but sleep.
    pub(super) fn leave_out_awake(&mut self) {
        for state in RadioState::ALL.into_iter().filter(|state| *state != RadioState::Sleep) {
            let why = &mut self.undetermined[state as usize];
            *why = why.or(Some(Undetermined::Loose));
        }
    }
}

/// What a fit found.
struct Fitted {
    /// Mean current of each state, in amperes, and its standard error; of states that are not determined, the mean of all and 0.
    current_a: Vector,
    error_a: Vector,
    /// Sum of squares that is left.
    left: f64,
}

impl Fit {
    pub(super) fn of(periods: &[RadioPeriod], intervals: &[Interval], offset_s: f64) -> Self {
        let mut fit = Self::default();
        for_each(periods, intervals, offset_s, |part| {
            let (length_s, current_a) =
                (f64::from(part.interval.length_s), f64::from(part.interval.current_a));
            fit.count += 1;
            fit.most_a = fit.most_a.max(current_a);
            fit.covered_s += length_s;
            fit.measured_c += length_s * current_a;
            fit.squares += length_s * current_a * current_a;
            for (row, share) in part.shares.iter().enumerate().filter(|(_, share)| **share > 0.0) {
                fit.time_s[row] += length_s * share;
                fit.most_share[row] = fit.most_share[row].max(*share);
                fit.right[row] += length_s * share * current_a;
                for (column, other) in part.shares.iter().enumerate() {
                    fit.products[row][column] += length_s * share * other;
                }
            }
        });
        fit
    }

    pub(super) fn mean_a(&self) -> f64 {
        if self.covered_s > 0.0 { self.measured_c / self.covered_s } else { 0.0 }
    }

    /// Whether a state was there long enough for its current to be determined.
    pub(super) fn determines(&self, state: usize) -> bool {
        self.time_s[state] >= LEAST_TIME_S.max(self.covered_s / self.count.max(1) as f64)
    }

    /// The fit of all parts but `part`, whose largest samples stay.
    fn without(&self, part: &Self) -> Self {
        let mut rest = *self;
        rest.count -= part.count;
        rest.covered_s -= part.covered_s;
        rest.measured_c -= part.measured_c;
        rest.squares -= part.squares;
        for row in 0..STATES {
            rest.time_s[row] -= part.time_s[row];
            rest.right[row] -= part.right[row];
            for column in 0..STATES {
                rest.products[row][column] -= part.products[row][column];
            }
        }
        rest
    }

    /// The currents of all states as far as the trace determines them; the same intervals and offset as in [`Fit::of`].
    pub(super) fn solve_parts(
        &self,
        periods: &[RadioPeriod],
        intervals: &[Interval],
        offset_s: f64,
    ) -> Parts {
        let mut undetermined: [Option<Undetermined>; STATES] =
            std::array::from_fn(|state| (!self.determines(state)).then_some(Undetermined::TooShort));
        let known = |list: &[Option<Undetermined>; STATES]| list.map(|why| why.is_none());
        let fitted = loop {
            let fitted = self.solve(known(&undetermined));
            // The worst one first, since the others are better without it.
            let off = |state: usize| {
                let most_a = ABOVE_LARGEST * self.most_a / self.most_share[state].max(f64::MIN_POSITIVE);
                (-fitted.current_a[state]).max(fitted.current_a[state] - most_a)
            };
            let candidates = (0..STATES).filter(|state| undetermined[*state].is_none() && off(*state) >= 0.0);
            let Some(worst) = candidates.max_by(|a, b| off(*a).total_cmp(&off(*b))) else { break fitted };
            undetermined[worst] = Some(Undetermined::Impossible);
        };
        let each = intervals.len().div_ceil(PARTS).max(1);
        let mut first = 0;
        let part = |chunk: &[Interval]| {
            // Periods before the part cannot be in it.
            first += periods[first..].partition_point(|period| {
                (period.start + period.duration).as_secs_f64() <= chunk[0].start_s + offset_s
            });
            Self::of(&periods[first..], chunk, offset_s)
        };
        let rests: Vec<Self> = intervals
            .chunks(each)
            .map(part)
            .filter(|part| part.count > 0)
            .map(|part| self.without(&part))
            .collect();
        let found: Vec<Fitted> = rests.iter().map(|rest| rest.solve(known(&undetermined))).collect();
        let mut error_a = fitted.error_a;
        for state in 0..STATES {
            if undetermined[state].is_some() {
                continue;
            }
            // A state that is in one part alone has nothing to agree with.
            if rests.len() > 2 && rests.iter().all(|rest| rest.determines(state)) {
                let n = found.len() as f64;
                let mean_a = found.iter().map(|each| each.current_a[state]).sum::<f64>() / n;
                let squares: f64 = found.iter().map(|each| (each.current_a[state] - mean_a).powi(2)).sum();
                error_a[state] = error_a[state].max(((n - 1.0) / n * squares).sqrt());
            }
            if error_a[state] > LOOSE * fitted.current_a[state] {
                undetermined[state] = Some(Undetermined::Loose);
            }
        }
        Parts { current_a: fitted.current_a, error_a, undetermined }
    }

    /// The sum of squares that is left by the currents of all states that were there long enough.
    pub(super) fn left(&self) -> f64 {
        self.solve(std::array::from_fn(|state| self.determines(state))).left
    }

    /// Solves the normal equations for the deviations from the mean current; states that are not `known` have none.
    fn solve(&self, known: [bool; STATES]) -> Fitted {
        let mean_a = self.mean_a();
        let mut right = self.right;
        for (row, value) in right.iter_mut().enumerate() {
            *value -= mean_a * self.time_s[row];
        }
        let mut products = self.products;
        for state in (0..STATES).filter(|state| !known[*state]) {
            right[state] = 0.0;
            products[state] = [0.0; STATES];
            products.iter_mut().for_each(|row| row[state] = 0.0);
        }
        let (values, vectors) = eigen(products);
        let largest = values.iter().copied().fold(0.0, f64::max);
        let mut deviations = [0.0; STATES];
        let mut variances = [0.0; STATES];
        for (value, vector) in values.iter().zip(&vectors).filter(|(value, _)| **value > RANK * largest) {
            let along: f64 = vector.iter().zip(&right).map(|(a, b)| a * b).sum();
            for (state, part) in vector.iter().enumerate() {
                deviations[state] += along / value * part;
                variances[state] += part * part / value;
            }
        }
        let explained: f64 = deviations.iter().zip(&right).map(|(a, b)| a * b).sum();
        let left = (self.squares - mean_a * self.measured_c - explained).max(0.0);
        let freedom = (self.count as f64 - STATES as f64).max(1.0);
        // Lengths are weights: the variance of one sample's error, times its length.
        let variance = left / freedom;
        Fitted {
            current_a: deviations.map(|deviation| mean_a + deviation),
            error_a: variances.map(|part| (variance * part).sqrt()),
            left,
        }
    }
}

/// Eigenvalues and eigenvectors of a symmetric matrix (Jacobi's rotations; six by six needs few).
fn eigen(mut a: Matrix) -> (Vector, Matrix) {
    let mut vectors = [[0.0; STATES]; STATES];
    for (index, vector) in vectors.iter_mut().enumerate() {
        vector[index] = 1.0;
    }
    let scale = a.iter().flatten().fold(0.0f64, |most, value| most.max(value.abs()));
    for _ in 0..50 {
        let mut off = 0.0f64;
        for p in 0..STATES {
            for q in p + 1..STATES {
                off = off.max(a[p][q].abs());
                if a[p][q].abs() <= 1e-15 * scale {
                    continue;
                }
                let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
                let t = theta.signum() / (theta.abs() + theta.hypot(1.0));
                let cosine = 1.0 / t.hypot(1.0);
                let sine = t * cosine;
                for row in &mut a {
                    (row[p], row[q]) = (cosine * row[p] - sine * row[q], sine * row[p] + cosine * row[q]);
                }
                let (of_p, of_q) = (a[p], a[q]);
                for column in 0..STATES {
                    a[p][column] = cosine * of_p[column] - sine * of_q[column];
                    a[q][column] = sine * of_p[column] + cosine * of_q[column];
                }
                let (of_p, of_q) = (vectors[p], vectors[q]);
                for column in 0..STATES {
                    vectors[p][column] = cosine * of_p[column] - sine * of_q[column];
                    vectors[q][column] = sine * of_p[column] + cosine * of_q[column];
                }
            }
        }
        if off <= 1e-15 * scale {
            break;
        }
    }
    (std::array::from_fn(|index| a[index][index]), vectors)
}
