//! Upper bounds on what an analysis may cost, so that no file can exhaust the machine.
//!
//! A bound counts memory or simulated events and never wall time: whether a capture is accepted must not depend on how
//! fast the machine is. A small capture has smaller limits: it takes at most 200 MB and some seconds. Replays that only widen a
//! band are left out where they would exceed the limit.
//! Memory is what the records of the capture, its replay and its time lines occupy, all forms of them at once. The program itself
//! and the libraries that draw and write are left out: 30 MB, with `--trace` 90 and with `--plot` 110. Events are those of one station's
//! replays.

use std::fmt;
use std::str::FromStr;

use airwatt_base::Size;

/// Memory that an analysis may take unless the user sets another limit.
pub const DEFAULT_MEMORY_BYTES: u64 = 2_000_000_000;
/// Events that an analysis may simulate unless the user sets another limit.
pub const DEFAULT_EVENTS: u64 = 10_000_000_000;

/// A capture below this size is small, and gets [`SMALL_MEMORY_BYTES`] and [`SMALL_EVENTS`] by default.
pub const SMALL_CAPTURE_BYTES: u64 = 1_000_000;
/// Memory for a small capture, so that it takes less than 200 MB together with the program.
pub const SMALL_MEMORY_BYTES: u64 = 150_000_000;
/// Events for a small capture: some three seconds of simulation.
pub const SMALL_EVENTS: u64 = 30_000_000;

/// Memory for the time lines of a small capture, so that it takes less than 200 MB together with the libraries that draw and write them, 110 MB.
pub const SMALL_TRACE_BYTES: u64 = 48_000_000;

/// Decompressed bytes for each byte of the file, at most.
pub(crate) const EXPANSION_LIMIT: u64 = 200;

/// Limits as the user set them; `None` stands for the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Events of all replays together.
    pub events: Option<u64>,
}

impl Limits {
    /// Memory in bytes for a capture of `capture_bytes`.
    pub fn memory_bytes_for(&self, capture_bytes: u64) -> u64 {
        let small = capture_bytes < SMALL_CAPTURE_BYTES;
        self.memory_bytes.unwrap_or(if small { SMALL_MEMORY_BYTES } else { DEFAULT_MEMORY_BYTES })
    }

    /// Memory in bytes for time lines of a capture of `capture_bytes` that takes `used_bytes` itself.
    pub fn trace_bytes_for(&self, capture_bytes: u64, used_bytes: u64) -> u64 {
        let left = self.memory_bytes_for(capture_bytes).saturating_sub(used_bytes);
        let is_small = capture_bytes < SMALL_CAPTURE_BYTES && self.memory_bytes.is_none();
        if is_small { left.min(SMALL_TRACE_BYTES) } else { left }
    }

    /// Events for a capture of `capture_bytes`.
    pub fn events_for(&self, capture_bytes: u64) -> u64 {
        let small = capture_bytes < SMALL_CAPTURE_BYTES;
        self.events.unwrap_or(if small { SMALL_EVENTS } else { DEFAULT_EVENTS })
    }
}

/// The reason for which a text is not a list of limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseLimitsError(String);

impl fmt::Display for ParseLimitsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ParseLimitsError {}

impl FromStr for Limits {
    type Err = ParseLimitsError;

    /// Reads `memory=2GB,events=1e10`; either may be missing.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut limits = Self::default();
        for entry in text.split(',') {
            let wrong = || ParseLimitsError(format!("expected memory=SIZE or events=COUNT, got {entry:?}"));
            let (key, value) = entry.split_once('=').ok_or_else(wrong)?;
            let (slot, value) = match key {
                "memory" => {
                    let size: Size =
                        value.parse().map_err(|error| ParseLimitsError(format!("memory: {error}")))?;
                    (&mut limits.memory_bytes, size.as_bytes())
                }
                "events" => (&mut limits.events, count(value)?),
                _ => return Err(wrong()),
            };
            if slot.replace(value).is_some() {
                return Err(ParseLimitsError(format!("expected {key} once, got it twice")));
            }
        }
        Ok(limits)
    }
}

/// A count in decimal or scientific notation, as in `20000000` and `2e7`.
fn count(text: &str) -> Result<u64, ParseLimitsError> {
    let wrong = || ParseLimitsError(format!("events: expected a whole number from 1 to 1e18, got {text:?}"));
    if let Ok(count) = text.parse::<u64>() {
        return if (1..=10u64.pow(18)).contains(&count) { Ok(count) } else { Err(wrong()) };
    }
    let count: f64 = text.parse().map_err(|_| wrong())?;
    let is_whole = (1.0..=1e18).contains(&count) && count.fract() == 0.0;
    if is_whole { Ok(count as u64) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_parsed_with_their_units() {
        let parsed = |text: &str| text.parse::<Limits>().map_err(|error| error.to_string());
        let both = Limits { memory_bytes: Some(3_000_000), events: Some(20_000) };
        assert_eq!(parsed("memory=3MB,events=2e4"), Ok(both));
        assert_eq!(parsed("events=20000"), Ok(Limits { events: Some(20_000), ..Limits::default() }));
        for (text, problem) in [
            ("", "memory=SIZE"),
            ("memory", "memory=SIZE"),
            ("time=5s", "memory=SIZE"),
            ("memory=2", "unit"),
            ("events=0", "1 to 1e18"),
            ("events=1.5", "whole number"),
            ("events=nan", "whole number"),
            ("events=1,events=2", "twice"),
        ] {
            assert!(parsed(text).unwrap_err().contains(problem), "{text}: {:?}", parsed(text));
        }
    }

    #[test]
    fn small_captures_have_small_limits_unless_the_user_sets_them() {
        let limits = Limits::default();
        assert_eq!(limits.events_for(999_999), SMALL_EVENTS);
        assert_eq!(limits.events_for(1_000_000), DEFAULT_EVENTS);
        assert_eq!(limits.memory_bytes_for(10), SMALL_MEMORY_BYTES);
        let set = Limits { memory_bytes: Some(5), events: Some(7) };
        assert_eq!((set.memory_bytes_for(10), set.events_for(10)), (5, 7));
    }
}
