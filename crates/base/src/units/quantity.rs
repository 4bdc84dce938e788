//! Rates, sizes, queue limits, power, energy, current, voltage and distance.

use std::fmt;
use std::ops::{Add, AddAssign, Mul};

use super::operators::{assignments, operators};
use super::parse::{Notation, ParseQuantityError};
#[cfg(feature = "serde")]
use super::text::text_serde;
use super::time::Span;

/// Declares a quantity that is one integer of a base unit: constructor, getter, parsing and printing.
macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident, $new:ident, $get:ident, $unit:literal, $notation:expr, $what:literal, $example:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(u64);

        impl $name {
            pub(super) const NOTATION: Notation = $notation;

            /// Zero.
            pub const ZERO: Self = Self(0);

            #[doc = concat!("From a count of ", $unit, ".")]
            pub const fn $new(count: u64) -> Self {
                Self(count)
            }

            #[doc = concat!("The count of ", $unit, ".")]
            pub const fn $get(self) -> u64 {
                self.0
            }
        }

        impl std::str::FromStr for $name {
            type Err = ParseQuantityError;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::NOTATION.parse(text).map(Self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&Self::NOTATION.print(self.0))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        #[cfg(feature = "serde")]
        text_serde!($name, $what, $example);
    };
}

quantity!(
    /// A data rate in bit/s. Prefixes are decimal: `1Mbps` is 10^6 bit/s.
    Rate, from_bps, as_bps, "bit/s",
    Notation {
        units: &[("Mbps", 1_000_000), ("kbps", 1_000), ("Gbps", 1_000_000_000), ("bps", 1), ("Mbit/s", 1_000_000), ("kbit/s", 1_000), ("Gbit/s", 1_000_000_000), ("bit/s", 1)],
        print: &[("Gbps", 1_000_000_000), ("Mbps", 1_000_000), ("kbps", 1_000), ("bps", 1)],
        example: "16Mbps",
        resolution: "1bps",
    },
    "a data rate with its unit: bps, kbps, Mbps, Gbps (decimal)", "16Mbps"
);

quantity!(
    /// A size in bytes. `MB` is 10^6 bytes, `MiB` is 2^20.
    Size, from_bytes, as_bytes, "bytes",
    Notation {
        units: &[("B", 1), ("kB", 1_000), ("MB", 1_000_000), ("GB", 1_000_000_000), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)],
        print: &[("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000), ("B", 1)],
        example: "1500B",
        resolution: "1B",
    },
    "a number of bytes with its unit: B, kB, MB, GB (decimal), KiB, MiB, GiB", "50MB"
);

quantity!(
    /// A power, with a resolution of one nanowatt.
    Power, from_nanowatts, as_nanowatts, "nanowatts",
    Notation {
        units: &[("mW", 1_000_000), ("W", 1_000_000_000), ("uW", 1_000), ("µW", 1_000), ("nW", 1)],
        print: &[("W", 1_000_000_000), ("mW", 1_000_000), ("uW", 1_000), ("nW", 1)],
        example: "390mW",
        resolution: "1nW",
    },
    "a power with its unit: W, mW, uW, nW", "390mW"
);

quantity!(
    /// An electric current, with a resolution of one nanoampere.
    Current, from_nanoamperes, as_nanoamperes, "nanoamperes",
    Notation {
        units: &[("mA", 1_000_000), ("A", 1_000_000_000), ("uA", 1_000), ("µA", 1_000), ("nA", 1)],
        print: &[("A", 1_000_000_000), ("mA", 1_000_000), ("uA", 1_000), ("nA", 1)],
        example: "63mA",
        resolution: "1nA",
    },
    "a current with its unit: A, mA, uA, nA", "63mA"
);

quantity!(
    /// An electric charge, with a resolution of one nanocoulomb.
    Charge, from_nanocoulombs, as_nanocoulombs, "nanocoulombs",
    Notation {
        units: &[("uC", 1_000), ("µC", 1_000), ("nC", 1), ("mC", 1_000_000), ("C", 1_000_000_000), ("mAh", 3_600_000_000), ("Ah", 3_600_000_000_000)],
        print: &[("C", 1_000_000_000), ("mC", 1_000_000), ("uC", 1_000), ("nC", 1)],
        example: "60uC",
        resolution: "1nC",
    },
    "a charge with its unit: C, mC, uC, nC, mAh, Ah", "60uC"
);

quantity!(
    /// A voltage, with a resolution of one microvolt.
    Voltage, from_microvolts, as_microvolts, "microvolts",
    Notation {
        units: &[("V", 1_000_000), ("mV", 1_000)],
        print: &[("V", 1_000_000), ("mV", 1_000)],
        example: "3.3V",
        resolution: "1uV",
    },
    "a voltage with its unit: V, mV", "3.3V"
);

quantity!(
    /// A distance, with a resolution of one millimetre.
    Distance, from_millimetres, as_millimetres, "millimetres",
    Notation {
        units: &[("m", 1_000), ("cm", 10), ("mm", 1), ("km", 1_000_000)],
        print: &[("km", 1_000_000), ("m", 1_000), ("cm", 10), ("mm", 1)],
        example: "4m",
        resolution: "1mm",
    },
    "a distance with its unit: m, cm, mm, km", "4m"
);

impl Rate {
    /// The transmission time of `size` at this rate, rounded up to a nanosecond. Panics if the rate is zero.
    pub fn time_for(self, size: Size) -> Span {
        // A division of 128 bits costs several times one of 64, which has room for a packet.
        if let Some(bit_nanos) = size.0.checked_mul(8_000_000_000) {
            return Span::from_nanos(bit_nanos.div_ceil(self.0));
        }
        let bit_nanos = u128::from(size.0) * 8_000_000_000;
        Span::from_nanos(
            u64::try_from(bit_nanos.div_ceil(u128::from(self.0))).expect("a transmission of under 584 years"),
        )
    }
}

impl Size {
    /// The size in bits.
    pub const fn bits(self) -> u64 {
        self.0 * 8
    }
}

impl Distance {
    /// The propagation time of light over the distance, to the nearest nanosecond (c = 299 792 458 m/s).
    pub fn propagation(self) -> Span {
        Span::from_nanos((u128::from(self.0) * 1_000_000 + 149_896_229).div_euclid(299_792_458) as u64)
    }
}

operators! {
    Size Add::add + Size.0 => Size;
    Energy Add::add + Energy.0 => Energy;
}

assignments! {
    Size AddAssign::add_assign += Size;
    Energy AddAssign::add_assign += Energy;
}

impl Power {
    /// The power in watts, for results and pictures.
    pub fn as_watts(self) -> f64 {
        self.0 as f64 * 1e-9
    }
}

impl Mul<Voltage> for Current {
    type Output = Power;
    /// The power in nanowatts, rounded down.
    fn mul(self, voltage: Voltage) -> Power {
        Power((u128::from(self.0) * u128::from(voltage.0) / 1_000_000) as u64)
    }
}

impl Mul<Voltage> for Charge {
    type Output = Energy;
    /// The energy of the charge at this voltage, exact.
    fn mul(self, voltage: Voltage) -> Energy {
        Energy(u128::from(self.0) * u128::from(voltage.0) * 1_000)
    }
}

impl Voltage {
    /// The voltage in volts, for results and pictures.
    pub fn as_volts(self) -> f64 {
        self.0 as f64 * 1e-6
    }
}

/// An energy in attojoules: one nanowatt for one nanosecond. It has 128 bits, so that sums are exact.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Energy(u128);

pub(super) const ENERGY: Notation = Notation {
    units: &[
        ("mJ", 1_000_000),
        ("J", 1_000_000_000),
        ("kJ", 1_000_000_000_000),
        ("uJ", 1_000),
        ("µJ", 1_000),
        ("nJ", 1),
        ("mWh", 3_600_000_000),
        ("Wh", 3_600_000_000_000),
    ],
    print: &[("J", 1_000_000_000), ("mJ", 1_000_000), ("uJ", 1_000), ("nJ", 1)],
    example: "1.4mJ",
    resolution: "1nJ",
};
const ATTOJOULES_PER_NANOJOULE: u128 = 1_000_000_000;

impl Energy {
    /// Zero.
    pub const ZERO: Self = Self(0);

    /// The energy in attojoules.
    pub const fn as_attojoules(self) -> u128 {
        self.0
    }

    /// The energy in joules, for results and pictures.
    pub fn as_joules(self) -> f64 {
        self.0 as f64 * 1e-18
    }

    /// Returns `self - other`, or zero if that is negative.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Mul<Span> for Power {
    type Output = Energy;
    fn mul(self, span: Span) -> Energy {
        Energy(u128::from(self.0) * u128::from(span.as_nanos()))
    }
}

impl std::iter::Sum for Energy {
    fn sum<I: Iterator<Item = Self>>(energies: I) -> Self {
        energies.fold(Self::ZERO, Add::add)
    }
}

impl std::str::FromStr for Energy {
    type Err = ParseQuantityError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        ENERGY.parse(text).map(|nanojoules| Self(u128::from(nanojoules) * ATTOJOULES_PER_NANOJOULE))
    }
}

impl fmt::Display for Energy {
    /// Formats the energy rounded down to a nanojoule; sums of a run are finer than any value that a user writes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&ENERGY.print(u64::try_from(self.0 / ATTOJOULES_PER_NANOJOULE).unwrap_or(u64::MAX)))
    }
}

impl fmt::Debug for Energy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}aJ", self.0)
    }
}

#[cfg(feature = "serde")]
text_serde!(Energy, "an energy with its unit: J, mJ, uJ, nJ", "1.4mJ");

/// The capacity of a queue: in packets, as routers and access points count, or in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum QueueLimit {
    /// At most this many packets.
    Packets(u32),
    /// At most this many bytes.
    Bytes(Size),
}

impl QueueLimit {
    /// Whether a packet of `size` bytes fits into the queue after `packets` packets with a total of `bytes` bytes.
    pub const fn admits(self, packets: usize, bytes: u64, size: u64) -> bool {
        match self {
            Self::Packets(limit) => packets < limit as usize,
            Self::Bytes(limit) => bytes + size <= limit.0,
        }
    }
}

impl std::str::FromStr for QueueLimit {
    type Err = ParseQuantityError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const PACKETS: Notation = Notation {
            units: &[
                ("packets", 1),
                ("packet", 1),
                ("B", 1),
                ("kB", 1_000),
                ("MB", 1_000_000),
                ("GB", 1_000_000_000),
                ("KiB", 1 << 10),
                ("MiB", 1 << 20),
                ("GiB", 1 << 30),
            ],
            print: &[("packets", 1)],
            example: "100packets",
            resolution: "1packets",
        };
        let count = PACKETS.parse(text)?;
        if text.trim_end().ends_with('B') {
            return Ok(Self::Bytes(Size(count)));
        }
        let limit =
            || ParseQuantityError::TooLarge { text: text.to_owned(), limit: format!("{}packets", u32::MAX) };
        u32::try_from(count).map(Self::Packets).map_err(|_| limit())
    }
}

impl fmt::Display for QueueLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packets(count) => f.pad(&format!("{count}packets")),
            Self::Bytes(size) => fmt::Display::fmt(size, f),
        }
    }
}

#[cfg(feature = "serde")]
text_serde!(
    QueueLimit,
    "how much a queue holds: packets, or bytes as B, kB, MB, GB, KiB, MiB, GiB",
    "100packets"
);
