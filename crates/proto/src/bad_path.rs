//! For tests: paths that lose, double and delay what they carry, the same for every transport.

use airwatt_base::{RandomStream, Span};

/// What becomes of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Arrive,
    Lose,
    /// Arrives so much later.
    Delay(Span),
    /// Arrives, and once more so much later.
    Double(Span),
}

/// How bad a path is, in thousandths.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Badness {
    pub(crate) lose: u32,
    pub(crate) double: u32,
    pub(crate) delay: u32,
}

/// The fate of each packet on a path of this badness, drawn from `seed`.
pub(crate) fn bad_path<P>(seed: u64, badness: Badness) -> impl FnMut(usize, u64, &P) -> Fate {
    let mut stream = RandomStream::new(seed, "test/path");
    move |_, _, _| {
        let draw = stream.below(1000);
        let more = Span::from_micros(u64::from(stream.below(60_000)));
        if draw < badness.lose {
            Fate::Lose
        } else if draw < badness.lose + badness.double {
            Fate::Double(more)
        } else if draw < badness.lose + badness.double + badness.delay {
            Fate::Delay(more)
        } else {
            Fate::Arrive
        }
    }
}
