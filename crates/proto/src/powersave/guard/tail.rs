//! After which time without packets a radio sleeps, learned from packets that waited for a beacon and from packets that did not.
//!
//! A packet that arrives after a silence of the interface has waited at the access point if the radio slept by then. The silences
//! are sorted into classes of half an octave, and each class remembers how its last packets came. A class without packets follows its
//! neighbours: a radio that sleeps after a silence also sleeps after a longer one.
//!
//! Left out: radios whose tail depends on the traffic before it. Their classes wait if a fifth of their packets did.

use airwatt_base::Span;

/// Classes of time, two to an octave, from [`SHORTEST`] on. The last one, from 131 s on, has no end.
pub(super) const CLASSES: usize = 36;
/// Shorter pauses are those between packets that were sent together.
pub(super) const SHORTEST: Span = Span::from_millis(1);
/// Packets of a class that are remembered; more halve what was counted.
const REMEMBERED: u8 = 16;

/// Intervals of beacons beside which one is short.
const MANY: u64 = 8;

/// A class waits if one packet did for at most this many that did not: the tail may end within the class.
const LATE: u8 = 4;

/// The class of a time; `None` if it is shorter than [`SHORTEST`].
pub(super) fn class_of(time: Span) -> Option<usize> {
    let octave = (time.as_nanos() / SHORTEST.as_nanos()).checked_ilog2()? as usize;
    let middle = end_of(2 * octave);
    Some((2 * octave + usize::from(time >= middle)).min(CLASSES - 1))
}

/// The end of a class.
pub(super) fn end_of(class: usize) -> Span {
    let begin = SHORTEST * (1 << (class / 2));
    // The square root of two.
    if class.is_multiple_of(2) { begin * 1_414 / 1_000 } else { begin * 2 }
}

/// How packets after a silence of one class came.
#[derive(Clone, Copy, Debug, Default)]
struct Came {
    late: u8,
    promptly: u8,
}

/// What is known of the tail.
#[derive(Clone, Debug)]
pub(super) struct Tail {
    classes: [Came; CLASSES],
    /// The interval of the beacons that the radio receives.
    interval: Span,
}

impl Tail {
    pub(super) const fn new() -> Self {
        Self { classes: [Came { late: 0, promptly: 0 }; CLASSES], interval: Span::ZERO }
    }

    pub(super) const fn set_interval(&mut self, interval: Span) {
        self.interval = interval;
    }

    /// Adds a packet after a silence of this class: whether it waited for a beacon.
    pub(super) fn add(&mut self, class: usize, waited: bool) {
        let came = &mut self.classes[class];
        let count = if waited { &mut came.late } else { &mut came.promptly };
        *count += 1;
        if *count > REMEMBERED {
            came.late /= 2;
            came.promptly /= 2;
        }
    }

    /// Whether a packet that came after this silence waits, or would have if it had not come within reach. What waits ends a longer silence,
    /// up to the beacon, so that after many intervals it may be of the next class.
    pub(super) fn waits_after(&self, silence: Span) -> Option<bool> {
        let of = |silence| class_of(silence).and_then(|class| self.waits(class));
        let is_long = silence >= self.interval * MANY;
        of(silence).or_else(|| of(silence + self.interval).filter(|_| is_long))
    }

    /// Whether a packet after a silence of this class waits; `None` if neither it nor its neighbours have shown it.
    pub(super) fn waits(&self, class: usize) -> Option<bool> {
        let own = |came: &Came| match (came.late, came.promptly) {
            (0, 0) => None,
            (late, promptly) => Some(late.saturating_mul(LATE) >= promptly),
        };
        if let Some(known) = own(&self.classes[class]) {
            return Some(known);
        }
        if self.classes[..class].iter().any(|came| own(came) == Some(true)) {
            return Some(true);
        }
        let longer = self.classes[class..].iter().any(|came| own(came) == Some(false));
        longer.then_some(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_half_octaves() {
        assert_eq!(class_of(Span::from_micros(999)), None);
        for class in 0..CLASSES - 1 {
            let end = end_of(class);
            assert_eq!(class_of(end), Some(class + 1));
            assert_eq!(class_of(end.saturating_sub(Span::from_nanos(1))), Some(class));
        }
        assert_eq!(class_of(Span::from_secs(100_000)), Some(CLASSES - 1));
    }

    #[test]
    fn a_tail_is_known_by_what_waited_beyond_it_and_what_did_not_within() {
        let class = |ms: u64| class_of(Span::from_millis(ms)).expect("it is long enough");
        let mut tail = Tail::new();
        assert_eq!(tail.waits(class(500)), None);
        tail.add(class(500), true);
        assert_eq!((tail.waits(class(21)), tail.waits(class(5_000))), (None, Some(true)));
        tail.add(class(60), false);
        assert_eq!((tail.waits(class(21)), tail.waits(class(250))), (Some(false), None));
        // A packet that came while the radio was awake for a beacon changes nothing.
        (0..3).for_each(|_| tail.add(class(500), true));
        tail.add(class(500), false);
        assert_eq!(tail.waits(class(500)), Some(true));
        // Nor does a packet that came with a beacon by chance.
        (0..5).for_each(|_| tail.add(class(60), false));
        tail.add(class(60), true);
        assert_eq!(tail.waits(class(60)), Some(false));
        // Another driver is learned.
        (0..40).for_each(|_| tail.add(class(500), false));
        assert_eq!(tail.waits(class(500)), Some(false));
    }
}
