//! Fingerprints of a trajectory: one hash for each projection, so that one line shows what has changed.
//!
//! Equal fingerprints do not prove equal runs; they detect changes. The hash is FNV-1a over 64-bit words: it is not
//! cryptographic, but it never changes and is fast enough to be always on.

/// A running hash of one projection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(u64);

impl Default for Fingerprint {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fingerprint {
    /// Adds one word.
    pub fn add(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x0000_0100_0000_01b3);
        self.0 ^= self.0 >> 29;
    }

    /// Adds a text.
    pub(crate) fn add_text(&mut self, text: &str) {
        text.bytes().for_each(|byte| self.add(u64::from(byte)));
    }

    /// The hash so far.
    pub const fn value(self) -> u64 {
        self.0
    }
}

/// The fingerprints of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fingerprints {
    /// The sources woken, by their names, with the times.
    pub events: Fingerprint,
    /// The frames on the air, with times, senders and outcomes.
    pub frames: Fingerprint,
    /// The transitions of radios, with their times.
    pub radios: Fingerprint,
    /// The result document.
    pub results: Fingerprint,
}

impl std::fmt::Display for Fingerprints {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { events, frames, radios, results } = self;
        write!(
            f,
            "events:{:016x} frames:{:016x} radios:{:016x} results:{:016x}",
            events.0, frames.0, radios.0, results.0
        )
    }
}
