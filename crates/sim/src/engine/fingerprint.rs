//! Fingerprints of a trajectory: a hash for each projection, so that one line tells what moved.
//!
//! Equal fingerprints do not prove equal runs; they are for noticing change. FNV-1a over 64-bit words: not
//! cryptographic, but stable for ever and cheap enough to stay on.

/// A running hash of one projection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(u64);

impl Default for Fingerprint {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fingerprint {
    /// Takes one word in.
    pub fn add(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x0000_0100_0000_01b3);
        self.0 ^= self.0 >> 29;
    }

    /// Takes a text in.
    pub fn add_text(&mut self, text: &str) {
        text.bytes().for_each(|byte| self.add(u64::from(byte)));
    }

    /// The hash so far.
    pub const fn value(self) -> u64 {
        self.0
    }
}

/// The projections of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fingerprints {
    /// Which slot was served when.
    pub events: Fingerprint,
    /// Which frame was on the air when, from whom, with which outcome.
    pub frames: Fingerprint,
    /// Which radio dozed and woke when.
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
