//! Quantities as real numbers of SI units.
//!
//! Models and results calculate with real numbers, so a value need not be a whole number of nanoseconds or bit/s. The units
//! are those of the integer quantities, from the same tables. Left out: compound units beyond those that users write.

use std::cmp::Ordering;
use std::fmt;
use std::ops::{Add, Div, Mul, Neg, Sub};
use std::str::FromStr;

use super::parse::Notation;
use super::quantity::ENERGY;
use super::time::NOTATION as TIME;
use super::{Current, Distance, Power, Rate, Size, Voltage};

/// Bits, which models count where equations do.
const BITS: Notation = Notation {
    units: &[("b", 1), ("kb", 1_000), ("Mb", 1_000_000)],
    print: &[("Mb", 1_000_000), ("kb", 1_000), ("b", 1)],
    example: "12kb",
    resolution: "1b",
};

/// What a quantity measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dimension {
    /// A time in seconds.
    Time,
    /// A data rate in bit/s.
    Rate,
    /// A size in bytes.
    Size,
    /// A size in bits.
    Bits,
    /// A power in watts.
    Power,
    /// An energy in joules.
    Energy,
    /// A current in amperes.
    Current,
    /// A voltage in volts.
    Voltage,
    /// A distance in metres.
    Distance,
}

impl Dimension {
    /// Every dimension.
    pub const ALL: [Self; 9] = [
        Self::Time,
        Self::Rate,
        Self::Size,
        Self::Bits,
        Self::Power,
        Self::Energy,
        Self::Current,
        Self::Voltage,
        Self::Distance,
    ];

    /// The name in messages: `time`, `rate`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Rate => "rate",
            Self::Size => "size",
            Self::Bits => "bits",
            Self::Power => "power",
            Self::Energy => "energy",
            Self::Current => "current",
            Self::Voltage => "voltage",
            Self::Distance => "distance",
        }
    }

    /// The SI unit in which values of this dimension count, as tables of results have it: `s`, `b/s`, `B`.
    pub const fn si_unit(self) -> &'static str {
        match self {
            Self::Time => "s",
            Self::Rate => "b/s",
            Self::Size => "B",
            Self::Bits => "b",
            Self::Power => "W",
            Self::Energy => "J",
            Self::Current => "A",
            Self::Voltage => "V",
            Self::Distance => "m",
        }
    }

    /// The dimension whose values count in this SI unit, as in [`Dimension::si_unit`].
    pub fn of_si_unit(unit: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dimension| dimension.si_unit() == unit)
    }

    /// The notation of the integer quantity, and how many of its base units an SI unit holds.
    const fn notation(self) -> (Notation, u64) {
        match self {
            Self::Time => (TIME, 1_000_000_000),
            Self::Rate => (Rate::NOTATION, 1),
            Self::Size => (Size::NOTATION, 1),
            Self::Bits => (BITS, 1),
            Self::Power => (Power::NOTATION, 1_000_000_000),
            Self::Energy => (ENERGY, 1_000_000_000),
            Self::Current => (Current::NOTATION, 1_000_000_000),
            Self::Voltage => (Voltage::NOTATION, 1_000_000),
            Self::Distance => (Distance::NOTATION, 1_000),
        }
    }

    /// A text of this dimension, for messages.
    pub const fn example(self) -> &'static str {
        self.notation().0.example
    }

    /// The units that are read, separated by commas.
    pub fn units(self) -> String {
        let names: Vec<&str> = self.notation().0.units.iter().map(|(name, _)| *name).collect();
        names.join(", ")
    }

    /// The unit with this name: a count of it times the first number over the second is a count of SI units. It is a fraction
    /// because division by a power of ten is exact and multiplication by its inverse is not.
    pub fn unit(self, name: &str) -> Option<(f64, f64)> {
        let (notation, per_si) = self.notation();
        let (_, factor) = notation.units.iter().find(|(known, _)| *known == name)?;
        let common = gcd(*factor, per_si);
        Some(((factor / common) as f64, (per_si / common) as f64))
    }
}

const fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Why a text is not a quantity, or an operation has no result. Its display says what is expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuantityError {
    /// The text does not begin with a finite decimal number.
    NotANumber {
        /// The text.
        text: String,
        /// A text that is accepted.
        example: &'static str,
    },
    /// The number has no unit.
    MissingUnit {
        /// The text.
        text: String,
        /// A text that is accepted.
        example: &'static str,
    },
    /// The unit is unknown, or belongs to another dimension.
    UnknownUnit {
        /// The text.
        text: String,
        /// The units that are accepted.
        expected: String,
    },
    /// Two dimensions that the operation does not combine.
    Incompatible {
        /// The operation: `add`, `compare`.
        operation: &'static str,
        /// The dimension on the left.
        left: Dimension,
        /// The dimension on the right.
        right: Dimension,
    },
}

impl fmt::Display for QuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotANumber { text, example } => {
                write!(f, "expected a number with a unit, as in {example}, got {text:?}")
            }
            Self::MissingUnit { text, example } => {
                write!(f, "expected a number with a unit, as in {example}, got {text:?} without a unit")
            }
            Self::UnknownUnit { text, expected } => write!(f, "expected a unit of {expected}, got {text:?}"),
            Self::Incompatible { operation, left, right } => {
                write!(f, "expected dimensions that {operation}, got {left} and {right}")
            }
        }
    }
}

impl std::error::Error for QuantityError {}

/// A real number with its dimension, in SI units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantity {
    dimension: Dimension,
    value: f64,
}

impl Quantity {
    /// A count of SI units, as in [`Dimension::si_unit`].
    pub const fn new(dimension: Dimension, value: f64) -> Self {
        Self { dimension, value }
    }

    /// What it measures.
    pub const fn dimension(self) -> Dimension {
        self.dimension
    }

    /// The count of SI units.
    pub const fn value(self) -> f64 {
        self.value
    }

    /// Reads a text of one dimension.
    ///
    /// # Errors
    /// No number, no unit, or a unit of another dimension.
    pub fn parse_as(dimension: Dimension, text: &str) -> Result<Self, QuantityError> {
        let example = dimension.example();
        let (count, unit) = with_unit(text, example)?;
        let expected =
            || QuantityError::UnknownUnit { text: text.trim().to_owned(), expected: dimension.units() };
        let (over, under) = dimension.unit(unit).ok_or_else(expected)?;
        Ok(Self { dimension, value: count * over / under })
    }

    fn unlike(self, operation: &'static str, right: Self) -> QuantityError {
        QuantityError::Incompatible { operation, left: self.dimension, right: right.dimension }
    }

    /// Compares two quantities of one dimension.
    ///
    /// # Errors
    /// Two dimensions.
    pub fn compare(self, other: Self) -> Result<Ordering, QuantityError> {
        if self.dimension == other.dimension {
            // Zero has no sign.
            Ok((self.value + 0.0).total_cmp(&(other.value + 0.0)))
        } else {
            Err(self.unlike("compare", other))
        }
    }
}

/// Why a text does not begin with a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberError {
    /// There is no decimal number.
    NotANumber,
    /// The number is beyond the range of real numbers.
    TooLarge,
}

/// Splits a text into a real number, in decimal notation with or without an exponent, and the unit behind it, which may be
/// empty.
///
/// # Errors
/// There is no finite number.
pub fn split(text: &str) -> Result<(f64, &str), NumberError> {
    let trimmed = text.trim();
    // An `e` belongs to the number only where digits follow it.
    let unit_at = trimmed
        .char_indices()
        .find(|(at, c)| {
            c.is_alphabetic() && !(matches!(c, 'e' | 'E') && exponent_follows(&trimmed[at + 1..]))
        })
        .map_or(trimmed.len(), |(at, _)| at);
    let (digits, unit) = trimmed.split_at(unit_at);
    let digits = digits.trim();
    let decimal = |c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | 'e' | 'E');
    if !digits.chars().all(decimal) {
        return Err(NumberError::NotANumber);
    }
    let count: f64 = digits.parse().map_err(|_| NumberError::NotANumber)?;
    if count.is_finite() { Ok((count, unit)) } else { Err(NumberError::TooLarge) }
}

/// A number with a unit.
fn with_unit<'a>(text: &'a str, example: &'static str) -> Result<(f64, &'a str), QuantityError> {
    let owned = || text.trim().to_owned();
    match split(text) {
        Err(_) => Err(QuantityError::NotANumber { text: owned(), example }),
        Ok((_, "")) => Err(QuantityError::MissingUnit { text: owned(), example }),
        Ok(both) => Ok(both),
    }
}

fn exponent_follows(rest: &str) -> bool {
    rest.strip_prefix(['+', '-']).unwrap_or(rest).starts_with(|c: char| c.is_ascii_digit())
}

impl FromStr for Quantity {
    type Err = QuantityError;

    /// Reads a text of any dimension: the unit says which.
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let (count, unit) = with_unit(text, "20ms")?;
        let found = Dimension::ALL.into_iter().find_map(|dimension| Some((dimension, dimension.unit(unit)?)));
        let Some((dimension, (over, under))) = found else {
            let expected: Vec<String> = Dimension::ALL.into_iter().map(Dimension::units).collect();
            return Err(QuantityError::UnknownUnit {
                text: text.trim().to_owned(),
                expected: expected.join(", "),
            });
        };
        Ok(Self { dimension, value: count * over / under })
    }
}

impl fmt::Display for Quantity {
    /// As the integer quantity prints, which scenarios read, where the value is one within a part in 10^9; else with all
    /// digits in the first unit of the tables that is not larger than the value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (notation, per_si) = self.dimension.notation();
        let count = self.value * per_si as f64;
        let whole = count.round();
        if (0.0..9e15).contains(&whole) && (count - whole).abs() <= 1e-9 * whole {
            return f.pad(&notation.print(whole as u64));
        }
        let fits = notation.print.iter().find(|(_, factor)| count.abs() >= *factor as f64);
        let (unit, factor) = fits.or(notation.print.last()).copied().unwrap_or(("", 1));
        f.pad(&format!("{}{unit}", count / factor as f64))
    }
}

impl Add for Quantity {
    type Output = Result<Self, QuantityError>;
    fn add(self, other: Self) -> Self::Output {
        if self.dimension == other.dimension {
            Ok(Self { value: self.value + other.value, ..self })
        } else {
            Err(self.unlike("add", other))
        }
    }
}

impl Sub for Quantity {
    type Output = Result<Self, QuantityError>;
    fn sub(self, other: Self) -> Self::Output {
        if self.dimension == other.dimension {
            Ok(Self { value: self.value - other.value, ..self })
        } else {
            Err(self.unlike("subtract", other))
        }
    }
}

impl Neg for Quantity {
    type Output = Self;
    fn neg(self) -> Self {
        Self { value: -self.value, ..self }
    }
}

impl Mul<f64> for Quantity {
    type Output = Self;
    fn mul(self, factor: f64) -> Self {
        Self { value: self.value * factor, ..self }
    }
}

/// The products that have a dimension of their own: left, right, product, and the factor from SI units to SI units.
const PRODUCTS: [(Dimension, Dimension, Dimension, f64); 4] = [
    (Dimension::Rate, Dimension::Time, Dimension::Bits, 1.0),
    (Dimension::Rate, Dimension::Time, Dimension::Size, 8.0),
    (Dimension::Power, Dimension::Time, Dimension::Energy, 1.0),
    (Dimension::Current, Dimension::Voltage, Dimension::Power, 1.0),
];

impl Mul for Quantity {
    type Output = Result<Self, QuantityError>;

    /// A rate over a time is a size in bytes.
    fn mul(self, other: Self) -> Self::Output {
        let found = PRODUCTS.iter().rev().find(|(left, right, ..)| {
            let both = (self.dimension, other.dimension);
            both == (*left, *right) || both == (*right, *left)
        });
        let (.., dimension, under) = found.ok_or_else(|| self.unlike("multiply", other))?;
        Ok(Self { dimension: *dimension, value: self.value * other.value / under })
    }
}

/// A quotient: a number if both have one dimension.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Quotient {
    /// The ratio of two quantities of one dimension.
    Ratio(f64),
    /// A quantity of another dimension.
    Quantity(Quantity),
}

impl Div for Quantity {
    type Output = Result<Quotient, QuantityError>;

    fn div(self, other: Self) -> Self::Output {
        if self.dimension == other.dimension {
            return Ok(Quotient::Ratio(self.value / other.value));
        }
        for (left, right, product, under) in PRODUCTS {
            for (divisor, quotient) in [(left, right), (right, left)] {
                if (self.dimension, other.dimension) == (product, divisor) {
                    let value = self.value * under / other.value;
                    return Ok(Quotient::Quantity(Self { dimension: quotient, value }));
                }
            }
        }
        Err(self.unlike("divide", other))
    }
}
