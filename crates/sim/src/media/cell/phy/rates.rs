//! Which mode the next attempt over a link has: the one that is configured, or one of those up to it that rate control chooses.

use airwatt_base::{Instant, RandomStream, Span};
use airwatt_dot11::{Band, Format, Guard, TxVector, Width};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::minstrel::{Minstrel, RateGroup};
use super::mode::Link;

/// How the mode of data is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RateControl {
    /// It is the configured one.
    #[default]
    Fixed,
    /// The modes of the format up to the configured one, by Linux's algorithm.
    MinstrelHt,
}

/// Bits of the aggregate to whose length Minstrel's times refer, and its frames.
const AGGREGATE_BITS: u64 = 16 * 1_200 * 8;
const AGGREGATE_FRAMES: u64 = 16;
/// What Linux adds to the data at the short guard interval, so that it ends on the grid of long symbols.
const SHORT_GUARD_REST: Span = Span::from_nanos(800);

/// The modes up to `best` in groups of equal width, guard interval and streams, the slowest one of each first: the width grows last, then the
/// guard interval shrinks. Formats without such modes have none.
pub(crate) fn groups(best: &TxVector) -> Vec<Vec<TxVector>> {
    let widths = [Width::Mhz20, Width::Mhz40, Width::Mhz80, Width::Mhz160];
    let guards: &[Guard] =
        if best.guard() == Guard::Short { &[Guard::Long, Guard::Short] } else { &[best.guard()] };
    let mut groups = Vec::new();
    for width in widths.into_iter().filter(|width| *width <= best.width()) {
        for guard in guards {
            for streams in 1..=best.streams() {
                let of = |mcs| vector(best, mcs, streams, width, *guard);
                let group: Vec<TxVector> = (0..=best.mcs()).filter_map(of).collect();
                groups.extend((!group.is_empty()).then_some(group));
            }
        }
    }
    groups
}

fn vector(best: &TxVector, mcs: u8, streams: u8, width: Width, guard: Guard) -> Option<TxVector> {
    let vector = match best.format() {
        Format::HtMixed => TxVector::ht(8 * (streams - 1) + mcs, width, guard)?,
        Format::Vht => TxVector::vht(mcs, streams, width, guard).filter(TxVector::is_of_vht)?,
        Format::He(fields) => TxVector::he(mcs, streams, width, guard)?.with_he_fields(fields),
        Format::Dsss { .. } | Format::Ofdm | Format::HtGreenfield | Format::Eht(_) => return None,
    };
    Some(vector.with_coding(best.coding()))
}

/// The time of a frame in a long aggregate.
fn frame_time(vector: &TxVector, band: Band) -> Span {
    let symbol = vector.layout(band).symbol();
    // The rate is rounded down to a bit per second, the bits of a symbol are whole.
    let bits = (vector.rate().as_bps() * symbol.as_nanos() + 1_000_000) / 1_000_000_000;
    let rest = if vector.guard() == Guard::Short { SHORT_GUARD_REST } else { Span::ZERO };
    Span::from_nanos((symbol * AGGREGATE_BITS.div_ceil(bits) + rest).as_nanos() / AGGREGATE_FRAMES)
}

/// A link, and the rates between which it changes.
#[derive(Clone, Debug)]
pub(crate) struct LinkPlan {
    pub(crate) link: Link,
    pub(crate) rates: Option<Box<LinkRates>>,
}

impl LinkPlan {
    /// A link that does not change.
    pub(crate) const fn fixed(link: Link) -> Self {
        Self { link, rates: None }
    }
}

/// The rates of a link.
#[derive(Clone, Debug)]
pub(crate) struct LinkRates {
    control: Minstrel,
    /// By the rates of all groups.
    links: Vec<Link>,
}

impl LinkRates {
    /// The rates of these groups, each of which has its link. `random` orders them for probes.
    pub(crate) fn new(
        groups: &[Vec<TxVector>],
        links: Vec<Link>,
        band: Band,
        random: &mut RandomStream,
    ) -> Self {
        let group = |group: &Vec<TxVector>| RateGroup {
            streams: group.first().map_or(1, TxVector::streams),
            durations: group.iter().map(|vector| frame_time(vector, band)).collect(),
        };
        let groups: Vec<RateGroup> = groups.iter().map(group).collect();
        Self { control: Minstrel::new(&groups, random), links }
    }

    /// The link of the next attempt.
    pub(crate) fn link(&self) -> Link {
        let mut link = self.links[self.control.rate()];
        link.rts = self.control.wants_rts();
        if self.control.is_probe() {
            (link.limit.mpdus, link.limit.amsdu) = (1, 0);
        }
        link
    }

    /// Learns how many of the frames of an attempt arrived, if a response came.
    pub(crate) fn result(&mut self, sent: u16, received: Option<u32>, now: Instant) {
        self.control.result(sent.into(), received, now);
    }

    /// What was tried has been given up.
    pub(crate) fn restart(&mut self) {
        self.control.restart();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values of Linux's tables.
    #[test]
    fn times_are_those_of_linux() {
        for (mode, nanos) in [
            ("HT20 MCS 0", 1_477_000),
            ("HT20 MCS 7", 147_750),
            ("HT20 MCS 15", 74_000),
            ("VHT80 MCS 9 x1 GI 0.4us", 22_325),
        ] {
            assert_eq!(frame_time(&mode.parse().unwrap(), Band::Ghz5).as_nanos(), nanos, "{mode}");
        }
    }

    #[test]
    fn groups_hold_the_modes_up_to_the_best() {
        let of = |mode: &str| groups(&mode.parse().unwrap());
        let ht = of("HT40 MCS 15 GI 0.4us");
        let firsts: Vec<(Width, Guard, u8)> =
            ht.iter().map(|group| (group[0].width(), group[0].guard(), group[0].streams())).collect();
        let (narrow, wide) = (Width::Mhz20, Width::Mhz40);
        assert_eq!(
            firsts[..3],
            [(narrow, Guard::Long, 1), (narrow, Guard::Long, 2), (narrow, Guard::Short, 1)]
        );
        assert_eq!(firsts[3..5], [(narrow, Guard::Short, 2), (wide, Guard::Long, 1)]);
        assert_eq!((firsts.len(), ht.iter().map(Vec::len).sum::<usize>()), (8, 64));
        // Three widths and two streams, 12 rates each; MCS 9 of VHT does not exist at 20 MHz.
        assert_eq!(of("HE80 MCS 11 x2").iter().map(Vec::len).collect::<Vec<_>>(), [12; 6]);
        assert_eq!(of("VHT80 MCS 9 x1").iter().map(Vec::len).collect::<Vec<_>>(), [9, 10, 10]);
    }
}
