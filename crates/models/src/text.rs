//! Values of parameters as users write them: `100ms`, `16Mbps`, `0.01`, `rts-cts`, lists and ranges of them.
//!
//! ```text
//! 10ms             one value
//! 10ms,50ms        a list
//! 10ms:300ms:5ms   from, to and step; the end is included if a step reaches it
//! 1e-4:0.1:x2      from, to and factor
//! ```
//!
//! Models take real numbers, so a value need not be an integer number of nanoseconds or bits, unlike the quantities of
//! scenarios. As there, a number with a unit must be written with it, prefixes are decimal, and an error states what is
//! expected.

use std::fmt;

use crate::fields::{Field, Kind};

#[cfg(test)]
mod tests;

/// The error for a text that is not a value of a parameter. Its display is one line: the parameter, the
/// text, and the problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextError {
    /// The name of the parameter.
    pub parameter: &'static str,
    /// The text that was read.
    pub text: String,
    /// The problem, and what is expected instead.
    pub problem: String,
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?} {}", self.parameter, self.text, self.problem)
    }
}

impl std::error::Error for TextError {}

/// Largest number of values in a range. More are considered a typing error.
const VALUES_MAX: f64 = 1e6;

/// A unit: its name, and the factor to the base unit as a fraction, because dividing by a power of ten is exact and
/// multiplying by its inverse is not.
type Unit = (&'static str, f64, f64);

const TIME: &[Unit] = &[
    ("s", 1.0, 1.0),
    ("ms", 1.0, 1e3),
    ("us", 1.0, 1e6),
    ("µs", 1.0, 1e6),
    ("ns", 1.0, 1e9),
    ("min", 60.0, 1.0),
    ("h", 3600.0, 1.0),
];
const RATE: &[Unit] = &[("bps", 1.0, 1.0), ("kbps", 1e3, 1.0), ("Mbps", 1e6, 1.0), ("Gbps", 1e9, 1.0)];
const SIZE: &[Unit] = &[
    ("B", 1.0, 1.0),
    ("kB", 1e3, 1.0),
    ("MB", 1e6, 1.0),
    ("GB", 1e9, 1.0),
    ("KiB", 1024.0, 1.0),
    ("MiB", 1_048_576.0, 1.0),
    ("GiB", 1_073_741_824.0, 1.0),
];
const BITS: &[Unit] = &[("b", 1.0, 1.0), ("kb", 1e3, 1.0), ("Mb", 1e6, 1.0)];
const POWER: &[Unit] = &[("W", 1.0, 1.0), ("mW", 1.0, 1e3), ("uW", 1.0, 1e6), ("µW", 1.0, 1e6)];
const ENERGY: &[Unit] = &[("J", 1.0, 1.0), ("mJ", 1.0, 1e3), ("uJ", 1.0, 1e6), ("µJ", 1.0, 1e6)];

/// The units of a field, and an example of an accepted text.
fn units(field: &Field) -> (&'static [Unit], &'static str) {
    match field.unit {
        "s" => (TIME, "20ms"),
        "b/s" => (RATE, "16Mbps"),
        "B" => (SIZE, "1500B"),
        "b" => (BITS, "12kb"),
        "W" => (POWER, "390mW"),
        "J" => (ENERGY, "1.4mJ"),
        _ => (&[], "0.01"),
    }
}

/// Reads one value, a list or a range.
///
/// # Errors
/// Returns an error for a text that is none of these, and for a range of no or too many values.
pub fn values(field: &Field, text: &str) -> Result<Vec<f64>, TextError> {
    let text = text.trim();
    let mut read = Vec::new();
    for item in text.split(',') {
        match item.split(':').map(str::trim).collect::<Vec<_>>()[..] {
            [single] => read.push(value(field, single)?),
            [from, to, step] if !matches!(field.kind, Kind::Choice(_)) => {
                read.extend(range(field, item, (from, to, step))?);
            }
            _ => {
                return Err(error(
                    field,
                    item,
                    "is no value, list or range; allowed is V, V1,V2 or FROM:TO:STEP",
                ));
            }
        }
    }
    Ok(read)
}

fn error(field: &Field, text: &str, problem: &str) -> TextError {
    TextError { parameter: field.name, text: text.trim().to_owned(), problem: problem.to_owned() }
}

/// Reads one value.
///
/// # Errors
/// Returns an error for a text without a number, a number without its unit, a unit that does not fit, and a name that
/// is not a choice.
pub fn value(field: &Field, text: &str) -> Result<f64, TextError> {
    if let Kind::Choice(names) = field.kind {
        let index = names.iter().position(|name| *name == text);
        let allowed = || error(field, text, &format!("is unknown; allowed are {}", names.join(", ")));
        return index.map(|index| index as f64).ok_or_else(allowed);
    }
    if field.kind == Kind::WholeOrNone && text == "none" {
        return Ok(f64::INFINITY);
    }
    number(field, text).map(|(count, (_, over, under))| count * over / under)
}

/// Splits a text into a number and a unit.
fn number(field: &Field, text: &str) -> Result<(f64, Unit), TextError> {
    let (known, example) = units(field);
    let unit_at = text.find(|c: char| c.is_alphabetic() && !matches!(c, 'e' | 'E')).unwrap_or(text.len());
    let (digits, unit) = text.split_at(unit_at);
    let nonsense = || error(field, text, &format!("is not a number; write for example \"{example}\""));
    let decimal = |c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | 'e' | 'E');
    let digits = digits.trim();
    if !digits.chars().all(decimal) {
        return Err(nonsense());
    }
    let count: f64 = digits.parse().map_err(|_| nonsense())?;
    if !count.is_finite() {
        return Err(error(field, text, "is too large"));
    }
    match (known, unit) {
        ([], "") => Ok((count, ("", 1.0, 1.0))),
        ([], "packets") if field.unit == "packets" => Ok((count, ("", 1.0, 1.0))),
        ([], _) => Err(error(field, text, &format!("has a unit; write for example \"{example}\""))),
        (_, "") => Err(error(field, text, &format!("has no unit; write for example \"{example}\""))),
        _ => known.iter().find(|known| known.0 == unit).map(|unit| (count, *unit)).ok_or_else(|| {
            let names: Vec<&str> = known.iter().map(|known| known.0).collect();
            error(field, text, &format!("has a unit that does not fit; allowed are {}", names.join(", ")))
        }),
    }
}

/// The values of a range.
fn range(field: &Field, text: &str, (from, to, step): (&str, &str, &str)) -> Result<Vec<f64>, TextError> {
    let (first, last) = (number(field, from)?, number(field, to)?);
    let (low, high) = (value(field, from)?, value(field, to)?);
    if let Some(factor) = step.strip_prefix('x') {
        let factor: f64 = factor.parse().unwrap_or(f64::NAN);
        if !(factor > 1.0 && factor.is_finite() && low > 0.0 && high >= low) {
            return Err(error(
                field,
                text,
                "is no range; allowed is FROM:TO:xFACTOR, rising, with a factor above 1",
            ));
        }
        let steps = steps(field, text, (high / low).ln() / factor.ln())?;
        return Ok((0..=steps).map(|step| low * factor.powi(step as i32)).collect());
    }
    let width = number(field, step)?;
    let size = value(field, step)?;
    if !(size != 0.0 && (high - low) / size >= 0.0) {
        return Err(error(
            field,
            text,
            "is no range; allowed is FROM:TO:STEP with a step that leads from FROM to TO",
        ));
    }
    let steps = steps(field, text, (high - low) / size)?;
    // The steps are computed in the unit of the text if there is only one, so that 10ms:300ms:5ms contains exactly the
    // value of 150ms.
    if first.1 == last.1 && first.1 == width.1 {
        let (_, over, under) = first.1;
        return Ok((0..=steps).map(|step| (first.0 + f64::from(step) * width.0) * over / under).collect());
    }
    Ok((0..=steps).map(|step| low + f64::from(step) * size).collect())
}

/// The number of steps in a range; the margin includes an end that a step should reach.
fn steps(field: &Field, text: &str, steps: f64) -> Result<u32, TextError> {
    let steps = (steps + 1e-9).floor();
    if steps < VALUES_MAX {
        Ok(steps as u32)
    } else {
        Err(error(field, text, "has more than a million values"))
    }
}
