//! What a flow delivered from a given time on: together, and in bins for the sliding-window method.
//!
//! A byte counts when the receiving application gets it, so that what waited behind a gap counts at once when the gap is
//! filled.

use airwatt_base::{Instant, Span};

/// Length of a bin.
pub const BIN: Span = Span::from_millis(100);

/// The meter of one flow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meter {
    from: Instant,
    bytes: u64,
    bins: Option<Vec<u64>>,
}

impl Meter {
    /// Counts from `from` on.
    pub const fn new(from: Instant) -> Self {
        Self { from, bytes: 0, bins: None }
    }

    /// Keeps bins from now on.
    pub fn keep_bins(&mut self) {
        self.bins.get_or_insert_default();
    }

    /// So many bytes were delivered.
    #[inline]
    pub fn add(&mut self, bytes: u64, now: Instant) {
        if now < self.from || bytes == 0 {
            return;
        }
        self.bytes += bytes;
        if let Some(bins) = &mut self.bins {
            let bin = (now - self.from).whole(BIN) as usize;
            if bins.len() <= bin {
                bins.resize(bin + 1, 0);
            }
            bins[bin] += bytes;
        }
    }

    /// Bytes delivered since the beginning.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes in each whole bin up to `end`; empty if no bins were kept.
    pub fn bins(&self, end: Instant) -> Vec<u64> {
        let whole = end.saturating_since(self.from).whole(BIN) as usize;
        self.bins.as_ref().map_or_else(Vec::new, |bins| {
            let mut bins = bins.clone();
            bins.resize(whole, 0);
            bins
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_count_from_the_beginning_on_and_in_whole_bins() {
        let mut meter = Meter::new(Instant::from_millis(1_000));
        meter.keep_bins();
        for (at, bytes) in [(999, 7), (1_000, 1), (1_099, 2), (1_100, 4), (1_350, 8)] {
            meter.add(bytes, Instant::from_millis(at));
        }
        assert_eq!(meter.bytes(), 15);
        assert_eq!(meter.bins(Instant::from_millis(1_349)), [3, 4, 0]);
        assert_eq!(meter.bins(Instant::from_millis(1_500)), [3, 4, 0, 8, 0]);
        assert_eq!(meter.bins(Instant::from_millis(10)), [0; 0]);
    }
}
