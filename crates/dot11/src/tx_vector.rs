//! Transmit vectors: the decisions of a transmitter about a PPDU, from which its data rate and its layout in time follow.
//!
//! This is the only law of air time in the project: the simulated cell, captures, models and radiotap headers compute with it.
//! Clauses are those of IEEE 802.11-2020, and of 802.11ax-2021 and 802.11be-2024 for HE and EHT.
//!
//! A symbol carries `N_DBPS` data bits: data subcarriers times coded bits times streams times coding rate, *rounded down*.
//! The rate of the standard's tables is not rounded, so a duration does not follow from a rate; it follows from the symbols.
//!
//! Left out: STBC, the extra symbol that LDPC needs for some lengths, the exceptions in the number of encoders of VHT (six bits each),
//! the SIG-B of HE MU PPDUs, whose length depends on the users, and EHT's MCS 14.

use airwatt_base::{Rate, Span};

use crate::layout::Layout;

/// Width of the channel that a PPDU takes, or of its resource unit in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Width {
    /// A resource unit of 26 tones (HE and EHT).
    Tones26,
    /// A resource unit of 52 tones.
    Tones52,
    /// A resource unit of 106 tones.
    Tones106,
    /// 20 MHz; 22 MHz for DSSS.
    Mhz20,
    /// 40 MHz.
    Mhz40,
    /// 80 MHz.
    Mhz80,
    /// 160 MHz, or twice 80.
    Mhz160,
    /// 320 MHz (EHT).
    Mhz320,
}

/// Guard interval between symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Guard {
    /// 0.4 us (HT and VHT).
    Short,
    /// 0.8 us.
    Long,
    /// 1.6 us (HE and EHT).
    Double,
    /// 3.2 us (HE and EHT).
    Quadruple,
}

impl Guard {
    const fn nanos(self) -> u64 {
        match self {
            Self::Short => 400,
            Self::Long => 800,
            Self::Double => 1_600,
            Self::Quadruple => 3_200,
        }
    }
}

/// Length of the training fields of HE and EHT, without their guard interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ltf {
    /// 1x: 3.2 us.
    Single,
    /// 2x: 6.4 us.
    Double,
    /// 4x: 12.8 us.
    Quadruple,
}

impl Ltf {
    const fn nanos(self) -> u64 {
        match self {
            Self::Single => 3_200,
            Self::Double => 6_400,
            Self::Quadruple => 12_800,
        }
    }
}

/// Form of an HE or EHT PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HeForm {
    /// To or from one user. An EHT PPDU for one user is an EHT MU PPDU.
    SingleUser,
    /// HE extended range: SIG-A is sent twice.
    ExtendedRange,
    /// The answer to a trigger frame: the short training field is twice as long.
    TriggerBased,
}

/// The fields that only PPDUs of HE and EHT have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HeFields {
    /// Form.
    pub form: HeForm,
    /// Training fields.
    pub ltf: Ltf,
    /// Dual carrier modulation: each bit is sent on two tones.
    pub dcm: bool,
    /// Packet extension in microseconds, for a receiver that needs time after the last symbol: 0, 4, 8, 12, 16, and 20 for EHT.
    pub extension_us: u8,
}

/// Format of a PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// 802.11b: DSSS and CCK (clauses 15 and 16). The index counts the rates of 1, 2, 5.5 and 11 Mbit/s.
    Dsss {
        /// Whether the preamble is short. At 1 Mbit/s it never is.
        short: bool,
    },
    /// 802.11a and g (clauses 17 and 18). The index counts the eight rates.
    Ofdm,
    /// 802.11n in mixed format (clause 19). The index is that of one stream, 0 to 7.
    HtMixed,
    /// 802.11n in greenfield format.
    HtGreenfield,
    /// 802.11ac (clause 21).
    Vht,
    /// 802.11ax (clause 27).
    He(HeFields),
    /// 802.11be (clause 36).
    Eht(HeFields),
}

/// Error-correcting code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Coding {
    /// Binary convolutional code: six tail bits for each encoder.
    Bcc,
    /// Low-density parity check: no tail bits.
    Ldpc,
}

/// Band of a channel. PPDUs of OFDM and later end with a signal extension at 2.4 GHz.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Band {
    /// 2.4 GHz.
    Ghz2,
    /// 5 GHz.
    Ghz5,
    /// 6 GHz.
    Ghz6,
}

/// The decisions of a transmitter about a PPDU. A vector exists only for combinations that have a number of bits in a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TxVector {
    format: Format,
    mcs: u8,
    streams: u8,
    width: Width,
    guard: Guard,
    coding: Coding,
}

/// Rates of 802.11b in kbit/s (clauses 15 and 16).
pub(crate) const DSSS_KBPS: [u64; 4] = [1_000, 2_000, 5_500, 11_000];
/// Data bits of a symbol of 802.11a (table 17-4). A symbol of 4 us makes a rate of it.
const OFDM_BITS: [u64; 8] = [24, 36, 48, 72, 96, 144, 192, 216];

/// Coded bits of a subcarrier and a stream, and the coding rate as a fraction, by MCS (tables 19-27, 21-29, 27-61 and 36-71).
const MODULATION: [(u64, u64, u64); 14] = [
    (1, 1, 2),
    (2, 1, 2),
    (2, 3, 4),
    (4, 1, 2),
    (4, 3, 4),
    (6, 2, 3),
    (6, 3, 4),
    (6, 5, 6),
    (8, 3, 4),
    (8, 5, 6),
    (10, 3, 4),
    (10, 5, 6),
    (12, 3, 4),
    (12, 5, 6),
];
/// EHT's BPSK with rate 1/2 and dual carrier modulation.
const EHT_MCS_DCM: u8 = 15;

/// SERVICE bits (17.3.5.2, 27.3.12.2) and the tail bits of one encoder.
const SERVICE_BITS: u64 = 16;
const TAIL_BITS: u64 = 6;
/// Data bits of a symbol that one encoder of HT serves: 300 Mbit/s at the short guard interval (tables 19-27 to 19-41).
const HT_BITS_PER_ENCODER: u64 = 1_080;
/// The same for VHT: 600 Mbit/s.
const VHT_BITS_PER_ENCODER: u64 = 2_160;

/// Symbol of OFDM, HT and VHT without its guard interval, and of HE and EHT.
const OFDM_SYMBOL_NS: u64 = 3_200;
const HE_SYMBOL_NS: u64 = 12_800;
/// HT and VHT frames end on the grid of long symbols (19.4.3, 21.4.3).
const OFDM_GRID: Span = Span::from_micros(4);

/// Long PLCP preamble and header at 1 Mbit/s (16.2.2.2), and the short ones (16.2.2.3).
const DSSS_PREAMBLE: Span = Span::from_micros(192);
const DSSS_SHORT_PREAMBLE: Span = Span::from_micros(96);
/// Short and long training fields and SIGNAL (17.3.2.1); all later formats but greenfield begin with them.
const LEGACY_PREAMBLE_US: u64 = 20;
/// Silence that all but DSSS append at 2.4 GHz, so that 802.11b's SIFS still fits a decoder (18.3.2.4, 19.3.2).
const SIGNAL_EXTENSION: Span = Span::from_micros(6);

impl TxVector {
    /// A PPDU of 802.11b at `rate`; `None` if it is not one of the four rates.
    pub fn dsss(rate: Rate, short: bool) -> Option<Self> {
        let mcs = DSSS_KBPS.iter().position(|kbps| kbps * 1_000 == rate.as_bps())?;
        Some(Self::legacy(Format::Dsss { short }, mcs as u8))
    }

    /// A PPDU of 802.11a or g at `rate`; `None` if it is not one of the eight rates.
    pub fn ofdm(rate: Rate) -> Option<Self> {
        let mcs = OFDM_BITS.iter().position(|bits| bits * 250_000 == rate.as_bps())?;
        Some(Self::legacy(Format::Ofdm, mcs as u8))
    }

    const fn legacy(format: Format, mcs: u8) -> Self {
        Self { format, mcs, streams: 1, width: Width::Mhz20, guard: Guard::Long, coding: Coding::Bcc }
    }

    /// A PPDU of 802.11n in mixed format. The index counts streams too: 0 to 31. `None` for unequal modulation (33 to 76), for
    /// index 32 and for widths that HT lacks.
    pub fn ht(index: u8, width: Width, guard: Guard) -> Option<Self> {
        let (mcs, streams) = (index % 8, index / 8 + 1);
        Self::checked(Self { format: Format::HtMixed, mcs, streams, width, guard, coding: Coding::Bcc })
    }

    /// A PPDU of 802.11ac to one user: MCS 0 to 11 (10 and 11 are extensions of vendors) and 1 to 8 streams. Combinations
    /// that the standard excludes for the number of bits in a symbol are rounded down like all others.
    pub fn vht(mcs: u8, streams: u8, width: Width, guard: Guard) -> Option<Self> {
        let vector = Self { format: Format::Vht, mcs, streams, width, guard, coding: Coding::Bcc };
        Self::checked(vector).filter(|_| mcs <= 11)
    }

    /// A PPDU of 802.11ax to or from one user: MCS 0 to 11 and 1 to 8 streams. Its training fields are those that go with the
    /// guard interval in every receiver (4x with 3.2 us, otherwise 2x), and it has no packet extension.
    pub fn he(mcs: u8, streams: u8, width: Width, guard: Guard) -> Option<Self> {
        let format = Format::He(HeFields::of(guard));
        let vector = Self { format, mcs, streams, width, guard, coding: Coding::Bcc };
        Self::checked(vector).filter(|_| mcs <= 11)
    }

    /// A PPDU of 802.11be to or from one user: MCS 0 to 13 and 15, and 1 to 8 streams. Otherwise like [`TxVector::he`].
    pub fn eht(mcs: u8, streams: u8, width: Width, guard: Guard) -> Option<Self> {
        let fields = HeFields { dcm: mcs == EHT_MCS_DCM, ..HeFields::of(guard) };
        let vector = Self { format: Format::Eht(fields), mcs, streams, width, guard, coding: Coding::Bcc };
        Self::checked(vector)
    }

    /// Whether the standard has this combination of index, width and streams for VHT (tables 21-30 to 21-61), without the indices that
    /// are extensions of vendors.
    pub fn is_of_vht(&self) -> bool {
        let excluded: &[u8] = match (self.width, self.mcs) {
            (Width::Mhz20, 9) => &[1, 2, 4, 5, 7, 8],
            (Width::Mhz80, 6) => &[3, 7],
            (Width::Mhz80, 9) => &[6],
            (Width::Mhz160, 9) => &[3],
            _ => &[],
        };
        self.format == Format::Vht && self.mcs <= 9 && !excluded.contains(&self.streams)
    }

    /// The rate of 802.11a with the same modulation and coding, from which the rate of a response follows; 54 Mbit/s where there is
    /// none (10.6.11). `None` for 802.11b.
    pub(crate) fn non_ht_reference_rate(&self) -> Option<Rate> {
        match self.format {
            Format::Dsss { .. } => None,
            Format::Ofdm => Some(self.rate()),
            _ if self.mcs == EHT_MCS_DCM => Some(Rate::from_bps(6_000_000)),
            _ => {
                let mbps = [6, 12, 18, 24, 36, 48, 54].get(usize::from(self.mcs)).copied().unwrap_or(54);
                Some(Rate::from_bps(mbps * 1_000_000))
            }
        }
    }

    /// Whether each frame, also a single one, is in an A-MPDU: those of VHT and later (21.3.12.5).
    pub const fn is_always_delimited(&self) -> bool {
        matches!(self.format, Format::Vht | Format::He(_) | Format::Eht(_))
    }

    fn checked(vector: Self) -> Option<Self> {
        let has_guard = match vector.format {
            Format::Dsss { .. } | Format::Ofdm => vector.guard == Guard::Long,
            Format::HtMixed | Format::HtGreenfield | Format::Vht => vector.guard <= Guard::Long,
            Format::He(_) | Format::Eht(_) => vector.guard >= Guard::Long,
        };
        let most_streams =
            if matches!(vector.format, Format::HtMixed | Format::HtGreenfield) { 4 } else { 8 };
        let has_streams = (1..=most_streams).contains(&vector.streams);
        (has_guard && has_streams && vector.coded().is_some()).then_some(vector)
    }

    /// The same in greenfield format, if it is one of 802.11n.
    #[must_use]
    pub fn greenfield(mut self) -> Self {
        if self.format == Format::HtMixed {
            self.format = Format::HtGreenfield;
        }
        self
    }

    /// The same with the short preamble, if it is one of 802.11b above 1 Mbit/s.
    #[must_use]
    pub fn with_short_preamble(mut self) -> Self {
        if let Format::Dsss { short } = &mut self.format {
            *short = self.mcs > 0;
        }
        self
    }

    /// The same with another code. 802.11b, a and g have only theirs.
    #[must_use]
    pub fn with_coding(mut self, coding: Coding) -> Self {
        if !matches!(self.format, Format::Dsss { .. } | Format::Ofdm) {
            self.coding = coding;
        }
        self
    }

    /// The same with other fields of HE or EHT, if it is a PPDU of these.
    #[must_use]
    pub fn with_he_fields(mut self, fields: HeFields) -> Self {
        if let Format::He(own) | Format::Eht(own) = &mut self.format {
            *own = fields;
        }
        self
    }

    /// Format.
    pub const fn format(&self) -> Format {
        self.format
    }

    /// Index of modulation and coding of one stream; of 802.11b and a, the index of the rate.
    pub const fn mcs(&self) -> u8 {
        self.mcs
    }

    /// The index of 802.11n, which counts streams too.
    pub const fn ht_index(&self) -> Option<u8> {
        match self.format {
            Format::HtMixed | Format::HtGreenfield => Some(8 * (self.streams - 1) + self.mcs),
            _ => None,
        }
    }

    /// Spatial streams.
    pub const fn streams(&self) -> u8 {
        self.streams
    }

    /// Width.
    pub const fn width(&self) -> Width {
        self.width
    }

    /// Guard interval.
    pub const fn guard(&self) -> Guard {
        self.guard
    }

    /// Error-correcting code.
    pub const fn coding(&self) -> Coding {
        self.coding
    }

    /// Coded bits of a symbol and the coding rate as a fraction; `None` if the format has no such index or width.
    fn coded(&self) -> Option<(u64, u64, u64)> {
        let tones = match (self.format, self.width) {
            (Format::Dsss { .. } | Format::Ofdm, _) => return Some((0, 1, 1)),
            (Format::HtMixed | Format::HtGreenfield | Format::Vht, Width::Mhz20) => 52,
            (Format::HtMixed | Format::HtGreenfield | Format::Vht, Width::Mhz40) => 108,
            (Format::Vht, Width::Mhz80) => 234,
            (Format::Vht, Width::Mhz160) => 468,
            (Format::He(_) | Format::Eht(_), Width::Tones26) => 24,
            (Format::He(_) | Format::Eht(_), Width::Tones52) => 48,
            (Format::He(_) | Format::Eht(_), Width::Tones106) => 102,
            (Format::He(_) | Format::Eht(_), Width::Mhz20) => 234,
            (Format::He(_) | Format::Eht(_), Width::Mhz40) => 468,
            (Format::He(_) | Format::Eht(_), Width::Mhz80) => 980,
            (Format::He(_) | Format::Eht(_), Width::Mhz160) => 1_960,
            (Format::Eht(_), Width::Mhz320) => 3_920,
            _ => return None,
        };
        let is_dcm = matches!(self.format, Format::He(fields) | Format::Eht(fields) if fields.dcm);
        let mcs = match self.format {
            Format::Eht(_) if self.mcs == EHT_MCS_DCM => 0,
            _ => usize::from(self.mcs),
        };
        let &(bits, numerator, denominator) = MODULATION.get(mcs)?;
        let tones = if is_dcm { tones / 2 } else { tones };
        Some((tones * bits * u64::from(self.streams), numerator, denominator))
    }

    /// Data bits in a thousand symbols: 802.11b's 5.5 Mbit/s has no whole number of bits in its "symbol" of a microsecond.
    fn bits_per_kilosymbol(&self) -> u64 {
        let index = usize::from(self.mcs);
        match (self.format, self.coded()) {
            (Format::Dsss { .. }, _) => DSSS_KBPS[index],
            (Format::Ofdm, _) => OFDM_BITS[index] * 1_000,
            (_, Some((coded, numerator, denominator))) => coded * numerator / denominator * 1_000,
            (_, None) => unreachable!("a vector exists only if it has bits in a symbol"),
        }
    }

    /// Length of a symbol. For 802.11b, whose LENGTH field counts whole microseconds (16.2.3.5), one microsecond.
    const fn symbol(&self) -> Span {
        match self.format {
            Format::Dsss { .. } => Span::from_micros(1),
            Format::He(_) | Format::Eht(_) => Span::from_nanos(HE_SYMBOL_NS + self.guard.nanos()),
            _ => Span::from_nanos(OFDM_SYMBOL_NS + self.guard.nanos()),
        }
    }

    /// The data rate as the standard's tables have it: not rounded down to whole bits in a symbol, but to a bit per second.
    pub fn rate(&self) -> Rate {
        let nanos = self.symbol().as_nanos();
        match (self.format, self.coded()) {
            (Format::Dsss { .. } | Format::Ofdm, _) | (_, None) => {
                Rate::from_bps(self.bits_per_kilosymbol() * 1_000_000 / nanos)
            }
            (_, Some((coded, numerator, denominator))) => {
                Rate::from_bps(coded * numerator * 1_000_000_000 / (denominator * nanos))
            }
        }
    }

    /// The time of training fields and headers, which precede the data.
    fn preamble(&self) -> Span {
        // One field for one stream, otherwise an even number of them (tables 19-13 and 21-13).
        let fields = if self.streams == 1 { 1 } else { u64::from(self.streams).next_multiple_of(2) };
        let micros = Span::from_micros;
        match self.format {
            Format::Dsss { short } if short && self.mcs > 0 => DSSS_SHORT_PREAMBLE,
            Format::Dsss { .. } => DSSS_PREAMBLE,
            Format::Ofdm => micros(LEGACY_PREAMBLE_US),
            // HT-SIG 8, HT-STF 4 (19.3.2).
            Format::HtMixed => micros(LEGACY_PREAMBLE_US + 12 + 4 * fields),
            // HT-GF-STF 8, a first training field of 8, HT-SIG 8, further training fields.
            Format::HtGreenfield => micros(24 + 4 * (fields - 1)),
            // VHT-SIG-A 8, VHT-STF 4, training fields, VHT-SIG-B 4 (21.3.2).
            Format::Vht => micros(LEGACY_PREAMBLE_US + 16 + 4 * fields),
            // RL-SIG 4, HE-SIG-A 8 or twice that, HE-STF 4 or 8 (27.3.4).
            Format::He(he) => {
                let sig_a = if he.form == HeForm::ExtendedRange { 16 } else { 8 };
                micros(LEGACY_PREAMBLE_US + 4 + sig_a) + he.training(fields, self.guard)
            }
            // RL-SIG 4, U-SIG 8, and EHT-SIG of two symbols where no trigger frame has said it all (36.3.4).
            Format::Eht(eht) => {
                let eht_sig = if eht.form == HeForm::TriggerBased { 0 } else { 8 };
                micros(LEGACY_PREAMBLE_US + 12 + eht_sig) + eht.training(fields, self.guard)
            }
        }
    }

    /// SERVICE and tail bits.
    fn fixed_bits(&self) -> u64 {
        let bits = self.bits_per_kilosymbol() / 1_000;
        let encoders = match (self.format, self.coding) {
            (Format::Dsss { .. }, _) => return 0,
            (_, Coding::Ldpc) => 0,
            (Format::HtMixed | Format::HtGreenfield, Coding::Bcc) => bits.div_ceil(HT_BITS_PER_ENCODER),
            (Format::Vht, Coding::Bcc) => bits.div_ceil(VHT_BITS_PER_ENCODER),
            (_, Coding::Bcc) => 1,
        };
        SERVICE_BITS + TAIL_BITS * encoders
    }

    /// The layout of frames in time.
    pub fn layout(&self, band: Band) -> Layout {
        let is_extended = band == Band::Ghz2 && !matches!(self.format, Format::Dsss { .. });
        let silence = if is_extended { SIGNAL_EXTENSION } else { Span::ZERO };
        let extension = match self.format {
            Format::He(fields) | Format::Eht(fields) => Span::from_micros(u64::from(fields.extension_us)),
            _ => Span::ZERO,
        };
        let symbol = self.symbol();
        let grid = if self.guard == Guard::Short { OFDM_GRID } else { symbol };
        Layout::new(
            self.preamble(),
            extension + silence,
            [symbol, grid],
            self.bits_per_kilosymbol(),
            self.fixed_bits(),
        )
    }

    /// The time for which a PPDU with a PSDU of so many bytes is on the air. One MPDU that is not in an A-MPDU is a PSDU.
    pub fn frame_time(&self, band: Band, psdu_bytes: u32) -> Span {
        self.layout(band).time(psdu_bytes)
    }
}

impl HeFields {
    /// One user, the training fields that go with a guard interval, and nothing else.
    const fn of(guard: Guard) -> Self {
        let ltf = if matches!(guard, Guard::Quadruple) { Ltf::Quadruple } else { Ltf::Double };
        Self { form: HeForm::SingleUser, ltf, dcm: false, extension_us: 0 }
    }

    /// Short training field and long ones.
    fn training(&self, fields: u64, guard: Guard) -> Span {
        let short_us = if self.form == HeForm::TriggerBased { 8 } else { 4 };
        Span::from_micros(short_us) + Span::from_nanos(self.ltf.nanos() + guard.nanos()) * fields
    }
}

#[cfg(test)]
mod tests;
