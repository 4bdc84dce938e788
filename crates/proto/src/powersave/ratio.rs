//! Dimensionless numbers of the power-save controllers, as exact decimals.
//!
//! Fixed point with nine decimals in 64 bits: the published parameters (0.9, 0.1) are exact, sums are exact, and products
//! are computed in 128 bits and cut off towards zero, so that a controller decides alike on every machine and on a
//! router without floating point.

use std::fmt;
use std::ops::{Add, Neg, Sub};
use std::str::FromStr;

#[cfg(test)]
mod tests;

/// Digits behind the decimal point.
const DECIMALS: usize = 9;

/// A number such as a gain or a utilisation, in billionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Ratio(i64);

impl Ratio {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// The whole.
    pub const ONE: Self = Self(1_000_000_000);

    /// From a count of thousandths.
    pub const fn from_permille(count: i64) -> Self {
        Self(count * 1_000_000)
    }

    /// As a floating-point number, for results and pictures.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / Self::ONE.0 as f64
    }

    /// `part / whole`, at most [`Ratio::ONE`]; zero of a `whole` of zero.
    pub fn share(part: u64, whole: u64) -> Self {
        if whole == 0 {
            return Self::ZERO;
        }
        let share = u128::from(part.min(whole)) * Self::ONE.0 as u128 / u128::from(whole);
        Self(share as i64)
    }

    /// This number times a count, cut off towards zero.
    pub fn of(self, count: i128) -> i128 {
        count * i128::from(self.0) / i128::from(Self::ONE.0)
    }

    /// The product, cut off towards zero.
    pub fn times(self, other: Self) -> Self {
        Self(self.of(i128::from(other.0)) as i64)
    }

    /// Exponential smoothing: this share of `old` and the rest of `new`, cut off towards zero.
    pub fn smooth(self, old: i128, new: i128) -> i128 {
        let (old_share, new_share) = (i128::from(self.0), i128::from(Self::ONE.0 - self.0));
        (old * old_share + new * new_share) / i128::from(Self::ONE.0)
    }

    /// [`Ratio::smooth`] of ratios.
    pub fn smooth_ratio(self, old: Self, new: Self) -> Self {
        Self(self.smooth(i128::from(old.0), i128::from(new.0)) as i64)
    }

    /// The absolute value.
    pub const fn abs(self) -> Self {
        Self(self.0.abs())
    }
}

impl Add for Ratio {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Sub for Ratio {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl Neg for Ratio {
    type Output = Self;
    fn neg(self) -> Self {
        Self(-self.0)
    }
}

/// A text that is not a decimal number with at most nine decimals below a billion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseRatioError(
    /// What was read.
    pub String,
);

impl fmt::Display for ParseRatioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected a number with at most nine decimals, such as 0.9, got {:?}", self.0)
    }
}

impl std::error::Error for ParseRatioError {}

impl FromStr for Ratio {
    type Err = ParseRatioError;
    fn from_str(text: &str) -> Result<Self, ParseRatioError> {
        let error = || ParseRatioError(text.to_owned());
        let digits = text.strip_prefix('-').unwrap_or(text);
        let (whole, decimals) = digits.split_once('.').unwrap_or((digits, ""));
        let plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        let fits = !whole.is_empty() && whole.len() <= DECIMALS && decimals.len() <= DECIMALS;
        if !fits || !plain(whole) || !plain(decimals) || digits.ends_with('.') {
            return Err(error());
        }
        let value: i64 = format!("{whole}{decimals:0<DECIMALS$}").parse().map_err(|_| error())?;
        Ok(Self(if digits.len() < text.len() { -value } else { value }))
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let (whole, rest) = (self.0.unsigned_abs() / 1_000_000_000, self.0.unsigned_abs() % 1_000_000_000);
        let decimals = format!("{rest:0DECIMALS$}");
        let decimals = decimals.trim_end_matches('0');
        if decimals.is_empty() {
            return f.pad(&format!("{sign}{whole}"));
        }
        f.pad(&format!("{sign}{whole}.{decimals}"))
    }
}

/// Read from and written to scenario files as a plain number.
mod text {
    use airwatt_base::settings::{Value, refused_form};

    use super::{FromStr, Ratio};

    impl serde::Serialize for Ratio {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_f64(self.as_f64())
        }
    }

    impl<'de> serde::Deserialize<'de> for Ratio {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            match Value::deserialize(deserializer)? {
                // The shortest text that means a number is what its writer wrote.
                number @ (Value::Integer(_) | Value::Float(_)) => {
                    Ratio::from_str(&number.to_string()).map_err(serde::de::Error::custom)
                }
                other => Err(refused_form("a number with at most nine decimals, for example 0.9", &other)),
            }
        }
    }

    impl schemars::JsonSchema for Ratio {
        fn schema_name() -> std::borrow::Cow<'static, str> {
            "Ratio".into()
        }
        fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
            schemars::json_schema!({ "type": "number", "description": "a plain number", "examples": [0.9] })
        }
    }
}
