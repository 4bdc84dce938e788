//! Traces of current meters: CSV with a column of times and a column of currents.
//!
//! The first line names the columns and their units: `Timestamp(ms),Current(uA)` as the PPK2's application writes it, or
//! `Timestamp,Value` as Otii writes them, a file for each channel ("Main current - Arc.csv"), in seconds and amperes. A column
//! without a unit is in these. Fields are divided by commas, semicolons or tabs; other columns are left out. A file of any
//! length is read as a stream, and means of 1 ms are kept.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read};

use airwatt_base::reason_of;

/// Samples are averaged over this time.
const BIN_S: f64 = 1e-3;
/// Bins that are kept at most: three hours.
const MOST_BINS: usize = 10_800_000;
/// A line is never longer.
const MOST_LINE_BYTES: u64 = 4_096;

/// A trace, as mean currents of 1 ms from its first sample on. Times without samples repeat the current before them.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// The file.
    pub file: String,
    /// Samples.
    pub samples: u64,
    /// Mean currents in amperes.
    pub current_a: Vec<f32>,
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
        Some(Self { separator, time, time_unit_s, current, current_unit_a })
    }

    /// Time in seconds and current in amperes of a line.
    fn sample(&self, line: &str) -> Option<(f64, f64)> {
        let (mut time, mut current) = (None, None);
        for (index, field) in line.split(self.separator).enumerate() {
            let number =
                || field.trim().trim_matches('"').parse::<f64>().ok().filter(|number| number.is_finite());
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

/// The unit in parentheses or brackets at the end of a column's name.
fn unit(name: &str) -> Option<&str> {
    let name = name.trim_end_matches([')', ']']);
    let at = name.rfind(['(', '['])?;
    Some(name[at + 1..].trim())
}

impl Trace {
    /// Reads a trace; `goes_on` is asked now and then, with the bytes so far.
    ///
    /// # Errors
    /// [`TraceError`]: the file is not such a trace, its times go back, it covers more than three hours, or `goes_on` says no.
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
        let mut bins = Bins::default();
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
                failed(format!("line {number}: expected a time and a current, got {:?}", line.trim_end()))
            })?;
            bins.add(time_s, current_a).map_err(|text| failed(format!("line {number}: {text}")))?;
            if number.is_multiple_of(100_000) && !goes_on(bytes) {
                return Err(failed("interrupted".to_owned()));
            }
        }
        let (samples, current_a) = bins.finish();
        if samples < 2 {
            return Err(failed("expected at least two samples".to_owned()));
        }
        Ok(Self { file: file.to_owned(), samples, current_a })
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

/// Means under construction.
#[derive(Default)]
struct Bins {
    first_s: Option<f64>,
    last_s: f64,
    samples: u64,
    current_a: Vec<f32>,
    sum: f64,
    count: u32,
}

impl Bins {
    fn add(&mut self, time_s: f64, current_a: f64) -> Result<(), String> {
        let first_s = *self.first_s.get_or_insert(time_s);
        if self.samples > 0 && time_s < self.last_s {
            return Err(format!("expected times in order, got {time_s} s after {} s", self.last_s));
        }
        self.last_s = time_s;
        self.samples += 1;
        let bin = ((time_s - first_s) / BIN_S + 1e-6) as usize;
        if bin >= MOST_BINS {
            return Err("expected a trace of at most three hours".to_owned());
        }
        while self.current_a.len() < bin {
            self.close();
        }
        self.sum += current_a;
        self.count += 1;
        Ok(())
    }

    /// Ends the present bin.
    fn close(&mut self) {
        let mean = if self.count > 0 {
            (self.sum / f64::from(self.count)) as f32
        } else {
            self.current_a.last().copied().unwrap_or_default()
        };
        self.current_a.push(mean);
        (self.sum, self.count) = (0.0, 0);
    }

    fn finish(mut self) -> (u64, Vec<f32>) {
        if self.count > 0 {
            self.close();
        }
        (self.samples, self.current_a)
    }
}
