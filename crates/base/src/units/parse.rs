//! Conversion of text with a unit to an integer count of a base unit, and back, without loss.

use std::fmt;

/// Largest number of fractional digits: the largest factor of any unit is 10^18, and 10^18 x 10^18 fits 128 bits.
const MAX_FRACTION_DIGITS: usize = 18;

/// One unit of a table: its name and how many base units it holds.
pub(super) type Unit = (&'static str, u64);

/// The reason why a text is not a quantity. Its display is one clause that ends in what is expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParseQuantityError {
    /// The number has no unit.
    MissingUnit {
        /// The text that was read.
        text: String,
        /// An example of an accepted text.
        example: &'static str,
    },
    /// The unit does not measure this quantity.
    UnknownUnit {
        /// The text that was read.
        text: String,
        /// The units that are accepted.
        allowed: String,
    },
    /// The text is not a number in decimal notation without a sign.
    NotANumber {
        /// The text that was read.
        text: String,
        /// An example of an accepted text.
        example: &'static str,
    },
    /// The number is negative.
    Negative {
        /// The text that was read.
        text: String,
    },
    /// The number has more digits than the resolution.
    TooFine {
        /// The text that was read.
        text: String,
        /// The smallest step, with its unit.
        resolution: &'static str,
    },
    /// The number exceeds 64 bits.
    TooLarge {
        /// The text that was read.
        text: String,
        /// The largest value, with its unit.
        limit: String,
    },
}

impl ParseQuantityError {
    /// What is expected instead of the text.
    pub fn expected(&self) -> String {
        match self {
            Self::MissingUnit { example, .. } | Self::NotANumber { example, .. } => {
                format!("a number with its unit, such as {example}")
            }
            Self::UnknownUnit { allowed, .. } => format!("a number with one of the units {allowed}"),
            Self::Negative { .. } => "zero or more".to_owned(),
            Self::TooFine { resolution, .. } => format!("a multiple of {resolution}"),
            Self::TooLarge { limit, .. } => format!("at most {limit}"),
        }
    }

    /// The text that was read.
    pub fn text(&self) -> &str {
        match self {
            Self::MissingUnit { text, .. }
            | Self::NotANumber { text, .. }
            | Self::UnknownUnit { text, .. }
            | Self::Negative { text }
            | Self::TooFine { text, .. }
            | Self::TooLarge { text, .. } => text,
        }
    }
}

impl fmt::Display for ParseQuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}, got {:?}", self.expected(), self.text())
    }
}

impl std::error::Error for ParseQuantityError {}

/// The notation of one quantity.
pub(super) struct Notation {
    /// Accepted units, the base unit first.
    pub(super) units: &'static [Unit],
    /// Units used for printing, the largest first.
    pub(super) print: &'static [Unit],
    pub(super) example: &'static str,
    pub(super) resolution: &'static str,
}

impl Notation {
    /// Returns the count of base units in `text`.
    pub(super) fn parse(&self, text: &str) -> Result<u64, ParseQuantityError> {
        let trimmed = text.trim();
        let owned = || trimmed.to_owned();
        let (negative, unsigned) = match trimmed.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, trimmed),
        };
        let split =
            unsigned.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(unsigned.len());
        let (number, unit) = unsigned.split_at(split);
        let unit = unit.trim();
        let Some((whole, fraction)) = decimal(number) else {
            return Err(ParseQuantityError::NotANumber { text: owned(), example: self.example });
        };
        if unit.is_empty() {
            // Zero is the same in every unit, but files stay readable if it also has a unit.
            return Err(ParseQuantityError::MissingUnit { text: owned(), example: self.example });
        }
        let Some(&(_, factor)) = self.units.iter().find(|(name, _)| *name == unit) else {
            let allowed = self.units.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
            return Err(ParseQuantityError::UnknownUnit { text: owned(), allowed });
        };
        if negative && (whole != 0 || fraction.bytes().any(|b| b != b'0')) {
            return Err(ParseQuantityError::Negative { text: owned() });
        }
        let too_large = || ParseQuantityError::TooLarge { text: owned(), limit: self.print(u64::MAX) };
        let fraction = fraction.trim_end_matches('0');
        let too_fine = || ParseQuantityError::TooFine { text: owned(), resolution: self.resolution };
        if fraction.len() > MAX_FRACTION_DIGITS {
            return Err(too_fine());
        }
        let whole = whole.checked_mul(u128::from(factor)).ok_or_else(too_large)?;
        let scale = 10_u128.pow(fraction.len() as u32);
        let part = fraction.parse::<u128>().unwrap_or(0) * u128::from(factor);
        if part % scale != 0 {
            return Err(too_fine());
        }
        let value = whole + part / scale;
        u64::try_from(value).map_err(|_| too_large())
    }

    /// Formats the shortest exact text: with the largest unit that leaves at most three decimals, otherwise with the
    /// base unit.
    pub(super) fn print(&self, value: u64) -> String {
        for &(name, factor) in self.print {
            if value < factor && factor != 1 {
                continue;
            }
            let scaled = u128::from(value) * 1000;
            let factor = u128::from(factor);
            if scaled % factor == 0 {
                return format!("{}{name}", trim_zeros(scaled / factor));
            }
        }
        format!("{value}{}", self.units[0].0)
    }
}

/// Formats thousandths as decimal text without trailing zeros.
fn trim_zeros(thousandths: u128) -> String {
    let text = format!("{}.{:03}", thousandths / 1000, thousandths % 1000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Splits `12_000.5` into 12000 and "5". Returns `None` if there is no digit, there are two points, or there are over
/// 30 digits.
fn decimal(number: &str) -> Option<(u128, String)> {
    let digits: String = number.chars().filter(|c| *c != '_').collect();
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') || digits.len() > 30 {
        return None;
    }
    let whole = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    Some((whole, fraction.to_owned()))
}
