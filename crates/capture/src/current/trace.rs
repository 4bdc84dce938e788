//! Traces of current meters: CSV with a column of times and a column of currents.
//!
//! The first line names the columns and their units: `Timestamp(ms),Current(uA)` as the PPK2's application writes it, or
//! `Timestamp,Value` as Otii writes them, a file for each channel ("Main current - Arc.csv"), in seconds and amperes, or
//! `time_s,current_ma`. A column without a unit is in these. Fields are divided by commas, or by semicolons or tabs, where numbers may have decimal commas; other
//! columns are left out. A file of any
//! length is read as a stream.
//!
//! A sample is the mean current from its time to that of the next one. Where the next one comes ten times later than usual, there
//! is a gap of which nothing is known. Of long traces, neighbouring samples are put together.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read};

use airwatt_base::{Span, reason_of};

/// Bins to which a trace is reduced where it is compared.
pub(super) const FINE_BIN: Span = Span::from_millis(1);
/// Longest trace.
const MOST_S: f64 = 3.0 * 3_600.0;
/// Intervals that are kept: 40 s of 100,000 samples/s are kept as they are, ten minutes by tenths of a millisecond.
const MOST_INTERVALS: usize = 4_000_000;
/// Samples from which the usual distance is learnt.
const LEARN: usize = 100;
/// A distance of so many usual ones is a gap.
const GAP: f64 = 10.0;
/// A line is never longer.
const MOST_LINE_BYTES: u64 = 4_096;
/// No device with a radio takes more.
const MOST_A: f64 = 1_000.0;
/// No device takes more on the average: the first line then names a unit that the values do not have.
const MOST_MEAN_A: f64 = 10.0;

/// No device with a radio takes more on the average where the first line names no unit: values are more likely in another one.
const MOST_BARE_A: f64 = 1.0;

/// A mean current.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Begin, in seconds since the first sample.
    pub start_s: f64,
    /// Length in seconds.
    pub length_s: f32,
    /// Mean current in amperes.
    pub current_a: f32,
}

impl Interval {
    /// Its end, in seconds since the first sample.
    pub fn end_s(&self) -> f64 {
        self.start_s + f64::from(self.length_s)
    }

    /// Its charge in coulombs.
    pub fn charge_c(&self) -> f64 {
        f64::from(self.length_s) * f64::from(self.current_a)
    }
}

/// A trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// The file.
    pub file: String,
    /// Samples.
    pub samples: u64,
    /// Mean currents in order of time, without overlap.
    pub intervals: Vec<Interval>,
}

/// The reason for which a trace cannot be read; one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceError(pub String);

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TraceError {}

/// The places of the columns, and their units in seconds and amperes.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Columns {
    separator: char,
    time: usize,
    time_unit_s: f64,
    current: usize,
    current_unit_a: f64,
    /// Whether the first line names a unit of the current; otherwise it is in amperes, as Otii has it.
    has_unit: bool,
}

impl Columns {
    fn of(header: &str) -> Option<Self> {
        let separator = [';', '\t', ','].into_iter().find(|separator| header.contains(*separator))?;
        let names: Vec<String> = header
            .split(separator)
            .map(|name| name.trim().trim_matches('"').replace(['\u{b5}', '\u{3bc}'], "u"))
            .collect();
        let named = |wanted: &str| names.iter().position(|name| name.to_lowercase().contains(wanted));
        let current = named("current").or_else(|| names.iter().position(|name| name == "Value"))?;
        let time = named("time")?;
        let time_unit_s = match unit(&names[time]) {
            None | Some("s") => 1.0,
            Some("ms") => 1e-3,
            Some("us") => 1e-6,
            Some(_) => return None,
        };
        let current_unit_a = match unit(&names[current]) {
            None | Some("A") => 1.0,
            Some("mA") => 1e-3,
            Some("uA") => 1e-6,
            Some("nA") => 1e-9,
            Some(_) => return None,
        };
        let has_unit = unit(&names[current]).is_some();
        Some(Self { separator, time, time_unit_s, current, current_unit_a, has_unit })
    }

    /// Time in seconds and current in amperes of a line.
    fn sample(&self, line: &str) -> Option<(f64, f64)> {
        let (mut time, mut current) = (None, None);
        for (index, field) in line.split(self.separator).enumerate() {
            let number = || {
                let text = field.trim().trim_matches('"');
                // Where commas divide no fields they are decimal ones, as European exports have them.
                let text = if self.separator == ',' { text.into() } else { text.replace(',', ".") };
                text.parse::<f64>().ok().filter(|number| number.is_finite())
            };
            if index == self.time {
                time = number();
            }
            if index == self.current {
                current = number();
            }
        }
        Some((time? * self.time_unit_s, current? * self.current_unit_a))
    }
}

/// Units by the name that they have behind a line, as in `current_ma`.
const SUFFIXES: [(&str, &str); 7] =
    [("s", "s"), ("ms", "ms"), ("us", "us"), ("a", "A"), ("ma", "mA"), ("ua", "uA"), ("na", "nA")];

/// The unit at the end of a column's name, in parentheses or brackets, or behind a line.
fn unit(name: &str) -> Option<&str> {
    let open = name.trim_end_matches([')', ']']);
    if let Some(at) = open.rfind(['(', '[']) {
        return Some(open[at + 1..].trim());
    }
    let last = name.rsplit_once('_')?.1.to_lowercase();
    SUFFIXES.iter().find(|(suffix, _)| *suffix == last).map(|(_, unit)| *unit)
}

impl Trace {
    /// Reads a trace; `goes_on` is asked now and then, with the bytes so far.
    ///
    /// # Errors
    /// [`TraceError`]: the file is not such a trace, its times go back, it covers more than three hours, a current is above 1,000 A, their mean
    /// above 10 A or without a unit above 1 A, or `goes_on` says no.
    pub fn read(
        file: &str,
        source: impl Read,
        goes_on: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Self, TraceError> {
        let failed = |text: String| TraceError(format!("{file}: {text}"));
        let unreadable = |error: io::Error| failed(format!("cannot be read: {}", reason_of(&error)));
        let mut lines = BufReader::with_capacity(1 << 20, source);
        let mut line = String::new();
        let mut bytes = next(&mut lines, &mut line).map_err(unreadable)?;
        let columns = Columns::of(&line).ok_or_else(|| {
            failed(
                "expected a first line with a time and a current, as in Timestamp(ms),Current(uA) or Timestamp,Value"
                    .to_owned(),
            )
        })?;
        let mut samples = Samples::default();
        let mut number = 1u64;
        loop {
            let read = next(&mut lines, &mut line).map_err(unreadable)?;
            if read == 0 {
                break;
            }
            (bytes, number) = (bytes + read, number + 1);
            if line.trim().is_empty() {
                continue;
            }
            let (time_s, current_a) = columns.sample(&line).ok_or_else(|| {
                let separator = columns.separator;
                let got = line.trim_end();
                failed(format!(
                    "line {number}: expected a time and a current, divided by {separator:?} as in the first line, got {got:?}"
                ))
            })?;
            samples.add(time_s, current_a).map_err(|text| failed(format!("line {number}: {text}")))?;
            if number.is_multiple_of(100_000) && !goes_on(bytes) {
                return Err(failed("interrupted".to_owned()));
            }
        }
        let (samples, intervals) = samples.finish();
        if samples < 2 || intervals.is_empty() {
            return Err(failed("expected samples at two times or more".to_owned()));
        }
        let trace = Self { file: file.to_owned(), samples, intervals };
        let mean_a = trace.charge_c() / trace.covered_s();
        if mean_a > MOST_MEAN_A {
            let hint = "hint: are the values in the unit that the first line names?";
            return Err(failed(format!(
                "expected a mean current of at most {MOST_MEAN_A} A, got {mean_a:.1} A; {hint}"
            )));
        }
        if !columns.has_unit && mean_a > MOST_BARE_A {
            return Err(failed(format!(
                "expected amperes, since the first line names no unit, and a mean of at most {MOST_BARE_A} A, got {mean_a:.2} A; \
                 hint: name the unit there, as in Current(mA)"
            )));
        }
        Ok(trace)
    }

    /// The time that it covers, without gaps, in seconds.
    pub fn covered_s(&self) -> f64 {
        self.intervals.iter().map(|interval| f64::from(interval.length_s)).sum()
    }

    /// The end of its last sample, in seconds since the first.
    pub fn end_s(&self) -> f64 {
        self.intervals.last().map_or(0.0, Interval::end_s)
    }

    /// The usual length of a sample, in seconds.
    pub(super) fn sample_s(&self) -> f64 {
        self.covered_s() / self.intervals.len().max(1) as f64
    }

    /// The time of which nothing is known between its first and its last sample, in seconds.
    pub fn gaps_s(&self) -> f64 {
        let end_s = self.end_s();
        let gaps_s = end_s - self.covered_s();
        // Lengths are rounded.
        if gaps_s > 1e-6 * end_s { gaps_s } else { 0.0 }
    }

    /// The mean current between two times since the first sample; `None` if nothing is known of it.
    pub fn mean_a(&self, from_s: f64, until_s: f64) -> Option<f64> {
        let (mut charge_c, mut covered_s) = (0.0, 0.0);
        for interval in &self.intervals {
            let part_s = interval.end_s().min(until_s) - interval.start_s.max(from_s);
            if part_s > 0.0 {
                charge_c += part_s * f64::from(interval.current_a);
                covered_s += part_s;
            }
        }
        (covered_s > 0.0).then(|| charge_c / covered_s)
    }

    /// Its part between two times since the first sample, which begins at the first of them.
    pub fn part(&self, from_s: f64, until_s: f64) -> Self {
        let inside = self.intervals.iter().filter(|each| each.start_s >= from_s && each.end_s() <= until_s);
        let intervals = inside.map(|each| Interval { start_s: each.start_s - from_s, ..*each }).collect();
        Self { file: self.file.clone(), samples: self.samples, intervals }
    }

    /// The same on a clock on which so many seconds pass beyond one for each of its own.
    pub(super) fn on_clock(&self, drift: f64) -> Self {
        let moved = |each: &Interval| Interval { start_s: each.start_s * (1.0 + drift), ..*each };
        Self { intervals: self.intervals.iter().map(moved).collect(), file: self.file.clone(), ..*self }
    }

    /// The charge in that time, in coulombs.
    pub fn charge_c(&self) -> f64 {
        self.intervals.iter().map(Interval::charge_c).sum()
    }

    /// Means of `bin_s` seconds each from the first sample on, in amperes. What gaps leave empty is not a number.
    pub fn grid(&self, bin_s: f64) -> Vec<f32> {
        let end_s = self.intervals.last().map_or(0.0, Interval::end_s);
        let mut charge_c = vec![0.0f64; (end_s / bin_s - 1e-6).ceil().max(1.0) as usize];
        let mut covered_s = charge_c.clone();
        for interval in &self.intervals {
            let (mut at_s, last_s) = (interval.start_s, interval.end_s());
            let mut bin = (at_s / bin_s + 1e-6) as usize;
            while at_s < last_s && bin < charge_c.len() {
                let until_s = last_s.min((bin + 1) as f64 * bin_s);
                charge_c[bin] += (until_s - at_s) * f64::from(interval.current_a);
                covered_s[bin] += until_s - at_s;
                (at_s, bin) = (until_s, bin + 1);
            }
        }
        // A remainder of a sample does not stand for its bin.
        let mean = |(charge_c, covered_s): (f64, f64)| {
            if covered_s > 0.5 * bin_s { (charge_c / covered_s) as f32 } else { f32::NAN }
        };
        charge_c.into_iter().zip(covered_s).map(mean).collect()
    }
}

/// Reads a line, or 0 at the end.
fn next(lines: &mut impl BufRead, line: &mut String) -> io::Result<u64> {
    line.clear();
    let read = lines.by_ref().take(MOST_LINE_BYTES).read_line(line)?;
    if read as u64 == MOST_LINE_BYTES {
        return Err(io::Error::other("a line is longer than 4,096 bytes"));
    }
    Ok(read as u64)
}

/// Intervals under construction.
#[derive(Default)]
struct Samples {
    first_s: f64,
    count: u64,
    /// Samples whose end is not known: before the usual distance is known the first ones, then the last one.
    open: Vec<(f64, f64)>,
    /// Samples of one time, of which there is the mean.
    alike: u32,
    usual_s: Option<f64>,
    intervals: Vec<Interval>,
    /// Neighbours are put together up to this length.
    least_s: f64,
}

impl Samples {
    fn add(&mut self, time_s: f64, current_a: f64) -> Result<(), String> {
        if current_a.abs() > MOST_A {
            return Err(format!("expected a current of at most {MOST_A} A, got {current_a:e} A"));
        }
        if self.count == 0 {
            self.first_s = time_s;
        }
        self.count += 1;
        let time_s = time_s - self.first_s;
        if time_s > MOST_S {
            return Err("expected a trace of at most three hours".to_owned());
        }
        if let Some((last_s, mean_a)) = self.open.last_mut() {
            if time_s < *last_s {
                let first_s = self.first_s;
                return Err(format!(
                    "expected times in order, got {} s after {} s",
                    time_s + first_s,
                    *last_s + first_s
                ));
            }
            if time_s <= *last_s {
                self.alike += 1;
                *mean_a += (current_a - *mean_a) / f64::from(self.alike);
                return Ok(());
            }
        }
        self.alike = 1;
        self.open.push((time_s, current_a));
        if self.usual_s.is_some() || self.open.len() > LEARN {
            self.settle();
        }
        Ok(())
    }

    /// Ends all open samples but the last.
    fn settle(&mut self) {
        let usual_s = *self.usual_s.get_or_insert_with(|| {
            let mut distances: Vec<f64> = self.open.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
            distances.sort_by(f64::total_cmp);
            distances.get(distances.len() / 2).copied().unwrap_or(1e-3)
        });
        let open = std::mem::take(&mut self.open);
        for pair in open.windows(2) {
            let distance_s = pair[1].0 - pair[0].0;
            self.push(pair[0], if distance_s > GAP * usual_s { usual_s } else { distance_s });
        }
        self.open.extend(open.last());
    }

    fn push(&mut self, (start_s, current_a): (f64, f64), length_s: f64) {
        let interval = Interval { start_s, length_s: length_s as f32, current_a: current_a as f32 };
        put_together(&mut self.intervals, interval, self.least_s);
        if self.intervals.len() >= MOST_INTERVALS {
            self.least_s = 2.0 * self.least_s.max(interval.end_s() / self.intervals.len() as f64);
            let mut fewer = Vec::with_capacity(self.intervals.len() / 2 + 1);
            for interval in self.intervals.drain(..) {
                put_together(&mut fewer, interval, self.least_s);
            }
            self.intervals = fewer;
        }
    }

    fn finish(mut self) -> (u64, Vec<Interval>) {
        if self.open.len() > 1 {
            self.settle();
        }
        if let (Some(last), Some(usual_s)) = (self.open.pop(), self.usual_s) {
            self.push(last, usual_s);
        }
        (self.count, self.intervals)
    }
}

/// Appends an interval, or extends the last one if it touches it and both are no longer than `least_s`.
pub(super) fn put_together(list: &mut Vec<Interval>, next: Interval, least_s: f64) {
    if let Some(last) = list.last_mut() {
        let touches = next.start_s - last.end_s() < 1e-3 * f64::from(next.length_s);
        let length_s = next.end_s() - last.start_s;
        if touches && length_s <= least_s {
            last.current_a =
                ((last.charge_c() + next.charge_c()) / f64::from(last.length_s + next.length_s)) as f32;
            last.length_s = length_s as f32;
            return;
        }
    }
    list.push(next);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(start_ms: u32, length_ms: u32, current_a: f32) -> Interval {
        let in_s = |ms: u32| f64::from(ms) * 1e-3;
        Interval { start_s: in_s(start_ms), length_s: in_s(length_ms) as f32, current_a }
    }

    /// 1 A for 1 ms and 3 A for 3 ms are 10 mC in 4 ms, which is 2.5 A. They stay apart if 4 ms are too long, or a gap is between them.
    #[test]
    fn put_together_keeps_the_charge() {
        let of = |next: Interval, least_s: f64| {
            let mut list = vec![interval(0, 1, 1.0)];
            put_together(&mut list, next, least_s);
            list
        };
        let both = of(interval(1, 3, 3.0), 4.5e-3);
        assert_eq!(both.len(), 1, "{both:?}");
        assert!((both[0].current_a - 2.5).abs() < 1e-6 && both[0].start_s == 0.0, "{both:?}");
        assert!((both[0].length_s - 4e-3).abs() < 1e-9, "{both:?}");
        let apart = |next: Interval, least_s: f64| assert_eq!(of(next, least_s), [interval(0, 1, 1.0), next]);
        apart(interval(1, 3, 3.0), 3.5e-3);
        apart(interval(2, 2, 3.0), 4.5e-3);
    }
}
