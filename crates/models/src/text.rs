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

use airwatt_base::Dimension;
use airwatt_base::settings::SettingError;
use airwatt_base::units::{self, NumberError};

use crate::fields::{Field, FieldKind};

#[cfg(test)]
mod tests;

/// Largest number of values in a range. More are considered a typing error.
const VALUES_MAX: f64 = 1e6;

/// How many SI units one unit of a text holds, as a fraction: division by a power of ten is exact and multiplication by its
/// inverse is not.
type Scale = (f64, f64);

/// The scale of a number without a unit.
const PLAIN: Scale = (1.0, 1.0);

/// Reads one value, a list or a range.
///
/// # Errors
/// Returns an error for a text that is none of these, and for a range of no or too many values.
pub fn values(field: &Field, text: &str) -> Result<Vec<f64>, SettingError> {
    let text = text.trim();
    let mut read = Vec::new();
    for item in text.split(',') {
        match item.split(':').map(str::trim).collect::<Vec<_>>()[..] {
            [single] => read.push(value(field, single)?),
            [from, to, step] if !matches!(field.kind, FieldKind::Choice(_)) => {
                read.extend(range(field, item, (from, to, step))?);
            }
            _ => {
                return Err(error(field, item, "a value V, a list V1,V2 or a range FROM:TO:STEP"));
            }
        }
    }
    Ok(read)
}

/// The error of a parameter whose text is not what is expected.
fn error(field: &Field, text: &str, expected: &str) -> SettingError {
    SettingError::syntax(field.name, expected, format!("{:?}", text.trim()))
}

/// Reads one value.
///
/// # Errors
/// Returns an error for a text without a number, a number without its unit, a unit that does not fit, and a name that
/// is not a choice.
pub fn value(field: &Field, text: &str) -> Result<f64, SettingError> {
    if let FieldKind::Choice(names) = field.kind {
        let index = names.iter().position(|name| *name == text);
        let unknown = || error(field, text, &format!("one of {}", names.join(", ")));
        return index.map(|index| index as f64).ok_or_else(unknown);
    }
    if field.kind == FieldKind::WholeOrNone && text == "none" {
        return Ok(f64::INFINITY);
    }
    number(field, text).map(|(count, (over, under))| count * over / under)
}

/// Splits a text into a number and the scale of its unit.
fn number(field: &Field, text: &str) -> Result<(f64, Scale), SettingError> {
    let dimension = Dimension::of_si_unit(field.unit);
    let example = dimension.map_or("0.01", Dimension::example);
    let number = dimension.map_or("a number", |_| "a number with its unit");
    let wrong = || error(field, text, &format!("{number}, such as {example}"));
    let (count, unit) = units::split(text).map_err(|problem| match problem {
        NumberError::NotANumber => wrong(),
        NumberError::TooLarge => error(field, text, "a number below 1.8e308"),
    })?;
    match (dimension, unit) {
        (None, "") => Ok((count, PLAIN)),
        (None, "packets") if field.unit == "packets" => Ok((count, PLAIN)),
        (None, _) | (_, "") => Err(wrong()),
        (Some(dimension), _) => dimension.unit(unit).map(|scale| (count, scale)).ok_or_else(|| {
            error(field, text, &format!("a number with one of the units {}", dimension.units()))
        }),
    }
}

/// The values of a range.
fn range(field: &Field, text: &str, (from, to, step): (&str, &str, &str)) -> Result<Vec<f64>, SettingError> {
    let (first, last) = (number(field, from)?, number(field, to)?);
    let (low, high) = (value(field, from)?, value(field, to)?);
    if let Some(factor) = step.strip_prefix('x') {
        let factor: f64 = factor.parse().unwrap_or(f64::NAN);
        if !(factor > 1.0 && factor.is_finite() && low > 0.0 && high >= low) {
            return Err(error(field, text, "a rising range FROM:TO:xFACTOR with a factor above 1"));
        }
        let steps = steps(field, text, (high / low).ln() / factor.ln())?;
        return Ok((0..=steps).map(|step| low * factor.powi(step as i32)).collect());
    }
    let width = number(field, step)?;
    let size = value(field, step)?;
    if !(size != 0.0 && (high - low) / size >= 0.0) {
        return Err(error(field, text, "a range FROM:TO:STEP with a step that leads from FROM to TO"));
    }
    let steps = steps(field, text, (high - low) / size)?;
    // The steps are computed in the unit of the text if there is only one, so that 10ms:300ms:5ms contains exactly the
    // value of 150ms.
    if first.1 == last.1 && first.1 == width.1 {
        let (over, under) = first.1;
        return Ok((0..=steps).map(|step| (first.0 + f64::from(step) * width.0) * over / under).collect());
    }
    Ok((0..=steps).map(|step| low + f64::from(step) * size).collect())
}

/// The number of steps in a range; the margin includes an end that a step should reach.
fn steps(field: &Field, text: &str, steps: f64) -> Result<u32, SettingError> {
    let steps = (steps + 1e-9).floor();
    if steps < VALUES_MAX { Ok(steps as u32) } else { Err(error(field, text, "at most a million values")) }
}
