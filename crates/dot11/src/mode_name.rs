//! Transmit vectors as text: `HE80 MCS 11 x2 GI 0.8us` is format and width, index, streams, and guard interval.
//!
//! One stream (`x1`) and a guard interval of 0.8 us go without saying. The index of 802.11n counts the streams too, as in its tables:
//! `HT20 MCS 15` has two.

use std::fmt;
use std::str::FromStr;

use crate::tx_vector::{Format, Guard, TxVector, Width};

/// An error of [`TxVector::from_str`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseModeError;

/// What is expected of a mode.
pub const MODE_EXPECTED: &str = "a mode such as \"HE80 MCS 11 x2 GI 0.8us\": HT20 or 40, VHT20 to 160, HE20 to 160, then the MCS, \
     1 to 8 streams (HT has them in its MCS) and a guard interval of 0.4us, 0.8us, 1.6us or 3.2us that the format has";

impl fmt::Display for ParseModeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "expected {MODE_EXPECTED}")
    }
}

impl std::error::Error for ParseModeError {}

const WIDTHS: [(&str, Width); 4] =
    [("20", Width::Mhz20), ("40", Width::Mhz40), ("80", Width::Mhz80), ("160", Width::Mhz160)];
const GUARDS: [(&str, Guard); 4] =
    [("0.4us", Guard::Short), ("0.8us", Guard::Long), ("1.6us", Guard::Double), ("3.2us", Guard::Quadruple)];

fn named<T: Copy>(list: &[(&str, T)], name: &str) -> Option<T> {
    list.iter().find(|(own, _)| *own == name).map(|(_, value)| *value)
}

fn name_of<T: PartialEq>(list: &[(&'static str, T)], value: &T) -> &'static str {
    list.iter().find(|(_, own)| own == value).map_or("?", |(name, _)| name)
}

/// Reads a mode; `None` if it has no such form, or stands for no vector.
fn read(text: &str) -> Option<TxVector> {
    let mut words = text.split_ascii_whitespace().peekable();
    let head = words.next()?;
    let (format, width) = head.split_at(head.find(|letter: char| letter.is_ascii_digit())?);
    let width = named(&WIDTHS, width)?;
    let mcs: u8 = words.next().filter(|word| *word == "MCS").and_then(|_| words.next())?.parse().ok()?;
    let streams = match words.peek().and_then(|word| word.strip_prefix('x')) {
        Some(count) => {
            words.next();
            Some(count.parse::<u8>().ok()?)
        }
        None => None,
    };
    let guard = match words.next() {
        None => Guard::Long,
        Some("GI") => named(&GUARDS, words.next()?)?,
        Some(_) => return None,
    };
    if words.next().is_some() {
        return None;
    }
    let one = streams.unwrap_or(1);
    match format {
        "HT" => TxVector::ht(mcs, width, guard)
            .filter(|vector| streams.is_none_or(|count| count == vector.streams())),
        "VHT" => TxVector::vht(mcs, one, width, guard).filter(TxVector::is_of_vht),
        "HE" => TxVector::he(mcs, one, width, guard),
        _ => None,
    }
}

impl FromStr for TxVector {
    type Err = ParseModeError;

    fn from_str(text: &str) -> Result<Self, ParseModeError> {
        read(text).ok_or(ParseModeError)
    }
}

impl fmt::Display for TxVector {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let format = match self.format() {
            Format::Dsss { .. } | Format::Ofdm => return write!(out, "{}", self.rate()),
            Format::HtMixed => "HT",
            Format::HtGreenfield => "HT-GF",
            Format::Vht => "VHT",
            Format::He(_) => "HE",
            Format::Eht(_) => "EHT",
        };
        let width = match self.width() {
            Width::Tones26 => "-RU26",
            Width::Tones52 => "-RU52",
            Width::Tones106 => "-RU106",
            Width::Mhz320 => "320",
            width => name_of(&WIDTHS, &width),
        };
        write!(out, "{format}{width} MCS {}", self.ht_index().unwrap_or(self.mcs()))?;
        if self.ht_index().is_none() {
            write!(out, " x{}", self.streams())?;
        }
        write!(out, " GI {}", name_of(&GUARDS, &self.guard()))
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for TxVector {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for TxVector {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'_, str>>::deserialize(deserializer)?;
        text.parse()
            .map_err(|_| serde::de::Error::invalid_value(serde::de::Unexpected::Str(&text), &MODE_EXPECTED))
    }
}

#[cfg(feature = "serde")]
impl schemars::JsonSchema for TxVector {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Mode".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "description": format!("{MODE_EXPECTED}.") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_is_read_as_it_is_written() {
        for (text, rate_bps) in [
            ("HE80 MCS 11 x2 GI 0.8us", 1_200_980_392),
            ("HE20 MCS 7 x1 GI 3.2us", 73_125_000),
            ("VHT80 MCS 9 x2 GI 0.4us", 866_666_666),
            ("VHT20 MCS 9 x3 GI 0.8us", 260_000_000),
            ("HT20 MCS 15 GI 0.8us", 130_000_000),
            ("HT40 MCS 31 GI 0.4us", 600_000_000),
        ] {
            let vector: TxVector = text.parse().unwrap();
            assert_eq!((vector.to_string().as_str(), vector.rate().as_bps()), (text, rate_bps));
        }
        assert_eq!("HE80 MCS 11".parse::<TxVector>().unwrap().to_string(), "HE80 MCS 11 x1 GI 0.8us");
        assert_eq!("HT20 MCS 15 x2".parse(), "HT20 MCS 15".parse::<TxVector>());
    }

    #[test]
    fn what_no_vector_has_is_an_error() {
        for text in [
            "",
            "HE80",
            "HE80 MCS 12",
            "HE80 MCS 11 x9",
            "HE81 MCS 1",
            "HE80 MCS 11 GI 0.4us",
            "VHT80 MCS 10",
            "VHT20 MCS 9",
            "VHT80 MCS 6 x3",
            "VHT80 MCS 9 x6",
            "VHT160 MCS 9 x3",
            "VHT80 MCS 6 x7",
            "HT80 MCS 7",
            "HT20 MCS 32",
            "HT20 MCS 7 x2",
            "EHT20 MCS 1",
            "HE80 MCS 11 x2 GI 0.8us more",
            "HE80 mcs 11",
            "he80 MCS 11",
        ] {
            assert_eq!(text.parse::<TxVector>(), Err(ParseModeError), "{text}");
        }
    }
}
