//! Radiotap: what a capture says about a frame besides its bytes (radiotap.org, fields of November 2026).
//!
//! A header is a list of present bits and, behind it, the fields in the order of their bits, each aligned to its own
//! size from the start of the header. Bits may go on in further words; a word may switch to a vendor's own namespace,
//! whose bytes are skipped by the length that stands there. A bit that is not known ends the reading, since the
//! length of its field is not known either: what was read before it holds. Where a field comes several times (once
//! for each antenna), the first counts.

use std::ops::Range;

use airwatt_base::Rate;

use super::error::{MalformedFrame, le16, le32, le64, take};
use super::tx_vector::{Coding, Format, Guard, HeFields, HeForm, Ltf, TxVector, Width};

/// Present words that a header may have; more is damage.
const WORD_LIMIT: usize = 32;
const BIT_RADIOTAP_NAMESPACE: u32 = 29;
const BIT_VENDOR_NAMESPACE: u32 = 30;
const BIT_MORE_WORDS: u32 = 31;

/// Alignment and size of each field of the standard namespace by its bit; size zero for what is not defined.
const FIELDS: [(u8, u8); 28] = [
    (8, 8),  // 0 TSFT
    (1, 1),  // 1 flags
    (1, 1),  // 2 rate
    (2, 4),  // 3 channel
    (2, 2),  // 4 FHSS
    (1, 1),  // 5 antenna signal, dBm
    (1, 1),  // 6 antenna noise, dBm
    (2, 2),  // 7 lock quality
    (2, 2),  // 8 transmit attenuation
    (2, 2),  // 9 transmit attenuation, dB
    (1, 1),  // 10 transmit power, dBm
    (1, 1),  // 11 antenna
    (1, 1),  // 12 antenna signal, dB
    (1, 1),  // 13 antenna noise, dB
    (2, 2),  // 14 RX flags
    (2, 2),  // 15 TX flags
    (1, 1),  // 16 RTS retries
    (1, 1),  // 17 data retries
    (4, 8),  // 18 extended channel
    (1, 3),  // 19 MCS
    (4, 8),  // 20 A-MPDU status
    (2, 12), // 21 VHT
    (8, 12), // 22 time stamp
    (2, 12), // 23 HE
    (2, 12), // 24 HE-MU
    (2, 6),  // 25 HE-MU other user
    (1, 1),  // 26 no PSDU
    (2, 4),  // 27 L-SIG
];

/// The flags field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct RadiotapFlags(pub u8);

impl RadiotapFlags {
    /// The frame began with a short DSSS preamble.
    pub const SHORT_PREAMBLE: u8 = 0x02;
    /// The bytes end in the FCS.
    pub const FCS: u8 = 0x10;
    /// The MAC header is padded to four bytes.
    pub const DATA_PAD: u8 = 0x20;
    /// The frame failed its FCS check.
    pub const BAD_FCS: u8 = 0x40;

    /// Whether all bits of `bits` are set.
    pub const fn has(self, bits: u8) -> bool {
        self.0 & bits == bits
    }
}

/// The channel field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Channel {
    /// Centre frequency in MHz.
    pub frequency_mhz: u16,
    /// Radiotap's channel flags, raw.
    pub flags: u16,
}

impl Channel {
    /// Flags of an OFDM channel in the 5 GHz band.
    pub const OFDM_5GHZ: u16 = 0x0140;
    /// Flags of a channel with DSSS and OFDM in the 2.4 GHz band.
    pub const DYNAMIC_2GHZ: u16 = 0x0480;
}

/// The TX flags field, of frames that the capturing machine sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TxFlags(pub u16);

/// The MCS field: an 802.11n frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct McsField {
    /// Which of the properties are known, raw.
    pub known: u8,
    /// The properties, raw.
    pub flags: u8,
    /// Index, which counts streams too.
    pub index: u8,
}

impl McsField {
    const KNOWN_BANDWIDTH: u8 = 0x01;
    const KNOWN_INDEX: u8 = 0x02;
    const KNOWN_GUARD: u8 = 0x04;
    const KNOWN_FORMAT: u8 = 0x08;
    const KNOWN_CODING: u8 = 0x10;
    /// Width, index, guard interval, format, coding, STBC and extension streams.
    const ALL_KNOWN: u8 = 0x7f;
    const SHORT_GUARD: u8 = 0x04;
    const GREENFIELD: u8 = 0x08;
    const LDPC: u8 = 0x10;

    /// The field of a frame of 802.11n without STBC and extension streams; `None` for frames of other formats.
    pub fn of(vector: &TxVector) -> Option<Self> {
        let index = vector.ht_index()?;
        let flag = |set: bool, flag: u8| if set { flag } else { 0 };
        let flags = flag(vector.width() == Width::Mhz40, 1)
            | flag(vector.guard() == Guard::Short, Self::SHORT_GUARD)
            | flag(vector.format() == Format::HtGreenfield, Self::GREENFIELD)
            | flag(vector.coding() == Coding::Ldpc, Self::LDPC);
        Some(Self { known: Self::ALL_KNOWN, flags, index })
    }

    fn vector(self) -> Option<TxVector> {
        if self.known & Self::KNOWN_INDEX == 0 {
            return None;
        }
        // What is not known is taken as 20 MHz and the long guard interval, which every 802.11n radio has.
        let wide = self.known & Self::KNOWN_BANDWIDTH != 0 && self.flags & 3 == 1;
        let short = self.known & Self::KNOWN_GUARD != 0 && self.flags & Self::SHORT_GUARD != 0;
        let width = if wide { Width::Mhz40 } else { Width::Mhz20 };
        let vector = TxVector::ht(self.index, width, if short { Guard::Short } else { Guard::Long })?;
        let has = |known, flag| self.known & known != 0 && self.flags & flag != 0;
        let vector = if has(Self::KNOWN_FORMAT, Self::GREENFIELD) { vector.greenfield() } else { vector };
        Some(if has(Self::KNOWN_CODING, Self::LDPC) { vector.with_coding(Coding::Ldpc) } else { vector })
    }
}

/// The A-MPDU status field: which aggregate a frame came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AmpduStatus {
    /// The same for all frames of one aggregate.
    pub reference: u32,
    /// Raw; bit 2 says that "last" is known, bit 3 that this is the last.
    pub flags: u16,
}

impl AmpduStatus {
    /// Whether a frame is the last one is known.
    pub const LAST_KNOWN: u16 = 0x04;
    /// It is the last one.
    pub const IS_LAST: u16 = 0x08;
}

/// What a radiotap header says; a field is `None` where it is absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Radiotap {
    /// The receiving radio's clock when the first bit of the MPDU arrived, in microseconds.
    pub tsft_us: Option<u64>,
    /// FCS, preamble, padding.
    pub flags: RadiotapFlags,
    /// Legacy rate in units of 500 kbit/s.
    pub rate_500kbps: Option<u8>,
    /// Channel.
    pub channel: Option<Channel>,
    /// Signal at the antenna in dBm.
    pub signal_dbm: Option<i8>,
    /// RX flags, raw.
    pub rx_flags: Option<u16>,
    /// TX flags; present on frames that the capturing machine sent.
    pub tx_flags: Option<TxFlags>,
    /// Transmissions beyond the first of a data frame that the capturing machine sent.
    pub data_retries: Option<u8>,
    /// 802.11n.
    pub mcs: Option<McsField>,
    /// Aggregate.
    pub ampdu: Option<AmpduStatus>,
    /// 802.11ac: the vector of the first user, as far as it follows from the field.
    pub vht: Option<TxVector>,
    /// 802.11ax: the vector, as far as it follows from the field.
    pub he: Option<TxVector>,
}

impl Radiotap {
    /// Reads a header from the start of `bytes`; returns it and its length, after which the frame begins.
    pub fn decode(bytes: &[u8]) -> Result<(Self, usize), MalformedFrame> {
        let fixed = take(bytes, 8)?;
        if fixed[0] != 0 {
            return Err(MalformedFrame::Malformed("radiotap version is not 0"));
        }
        let length = usize::from(le16(fixed, 2));
        if length < 8 {
            return Err(MalformedFrame::Malformed("radiotap length is under 8"));
        }
        let header = take(bytes, length)?;
        let words = present_words(header)?;
        let mut radiotap = Self::default();
        radiotap.read_fields(header, words, |_| {});
        Ok((radiotap, length))
    }

    /// Where the bytes of a whole header are that [`Radiotap::decode`] reads.
    pub fn read_bytes(header: &[u8]) -> Vec<Range<usize>> {
        let Ok(words) = present_words(header) else { return Vec::new() };
        let mut found: Vec<_> = std::iter::once(0..4 + 4 * words).collect();
        Self::default().read_fields(header, words, |read| found.push(read));
        found
    }

    /// Reads fields until they end or one is not known, and tells `read` where each was that counts.
    fn read_fields(&mut self, header: &[u8], words: usize, mut read: impl FnMut(Range<usize>)) {
        let mut at = 4 + 4 * words;
        let mut standard = true;
        // Bits of a word that follows without a namespace bit count on from 32, where nothing is defined yet.
        let mut base = 0;
        for word in 0..words {
            let present = le32(header, 4 + 4 * word);
            for bit in (0..BIT_RADIOTAP_NAMESPACE).filter(|bit| standard && present >> bit & 1 == 1) {
                let Some(&(align, size)) = FIELDS.get((base + bit) as usize) else { return };
                at = at.next_multiple_of(usize::from(align));
                let end = at + usize::from(size);
                let Some(field) = header.get(at..end) else { return };
                if self.read_field(bit, field) {
                    read(at..end);
                }
                at = end;
            }
            base += 32;
            if present >> BIT_RADIOTAP_NAMESPACE & 1 == 1 {
                standard = true;
                base = 0;
            } else if present >> BIT_VENDOR_NAMESPACE & 1 == 1 {
                // OUI (3), sub-namespace (1), then the number of bytes to skip, which cover the vendor's fields.
                at = at.next_multiple_of(2);
                let Some(vendor) = header.get(at..at + 6) else { return };
                read(at + 4..at + 6);
                at += 6 + usize::from(le16(vendor, 4));
                standard = false;
                base = 0;
            }
        }
    }

    /// Whether the field of a bit is one that is looked at.
    fn read_field(&mut self, bit: u32, field: &[u8]) -> bool {
        match bit {
            0 => _ = self.tsft_us.get_or_insert(le64(field, 0)),
            1 => self.flags.0 |= field[0],
            2 => _ = self.rate_500kbps.get_or_insert(field[0]),
            3 => {
                let channel = Channel { frequency_mhz: le16(field, 0), flags: le16(field, 2) };
                self.channel.get_or_insert(channel);
            }
            5 => _ = self.signal_dbm.get_or_insert(field[0] as i8),
            14 => _ = self.rx_flags.get_or_insert(le16(field, 0)),
            15 => _ = self.tx_flags.get_or_insert(TxFlags(le16(field, 0))),
            17 => _ = self.data_retries.get_or_insert(field[0]),
            19 => {
                let mcs = McsField { known: field[0], flags: field[1], index: field[2] };
                self.mcs.get_or_insert(mcs);
            }
            20 => {
                let ampdu = AmpduStatus { reference: le32(field, 0), flags: le16(field, 4) };
                self.ampdu.get_or_insert(ampdu);
            }
            21 => self.vht = self.vht.or_else(|| vht_field(field)),
            23 => self.he = self.he.or_else(|| he_field(field)),
            _ => return false,
        }
        true
    }

    /// What the transmitter decided; `None` where the header does not tell. HE, VHT and MCS win over the legacy field, which
    /// drivers fill with anything beside them.
    pub fn vector(&self) -> Option<TxVector> {
        self.he.or(self.vht).or_else(|| self.mcs?.vector()).or_else(|| self.legacy_vector())
    }

    /// The vector of a rate of 802.11b, a or g. No other format has such a rate.
    fn legacy_vector(&self) -> Option<TxVector> {
        let rate = Rate::from_bps(u64::from(self.rate_500kbps?) * 500_000);
        let short = self.flags.has(RadiotapFlags::SHORT_PREAMBLE);
        TxVector::dsss(rate, short).or_else(|| TxVector::ofdm(rate))
    }

    /// Appends a header with the fields that are set, in one present word. The flags
    /// are always written, since whether an FCS follows must be known. Returns the header's length.
    pub fn encode(&self, out: &mut Vec<u8>) -> usize {
        let start = out.len();
        out.extend_from_slice(&[0; 8]);
        let mut present = 0u32;
        let mut put = |bit: u32, bytes: Option<&[u8]>| {
            let Some(bytes) = bytes else { return };
            present |= 1 << bit;
            let align = usize::from(FIELDS[bit as usize].0);
            let length = (out.len() - start).next_multiple_of(align);
            out.resize(start + length, 0);
            out.extend_from_slice(bytes);
        };
        put(0, self.tsft_us.map(u64::to_le_bytes).as_ref().map(|b| &b[..]));
        put(1, Some(&[self.flags.0]));
        put(2, self.rate_500kbps.map(|rate| [rate]).as_ref().map(|b| &b[..]));
        let channel = self.channel.map(|c| {
            let ([a, b], [d, e]) = (c.frequency_mhz.to_le_bytes(), c.flags.to_le_bytes());
            [a, b, d, e]
        });
        put(3, channel.as_ref().map(|b| &b[..]));
        put(5, self.signal_dbm.map(i8::to_le_bytes).as_ref().map(|b| &b[..]));
        put(14, self.rx_flags.map(u16::to_le_bytes).as_ref().map(|b| &b[..]));
        put(15, self.tx_flags.map(|flags| flags.0.to_le_bytes()).as_ref().map(|b| &b[..]));
        put(17, self.data_retries.map(|retries| [retries]).as_ref().map(|b| &b[..]));
        put(19, self.mcs.map(|mcs| [mcs.known, mcs.flags, mcs.index]).as_ref().map(|b| &b[..]));
        let ampdu = self.ampdu.map(|ampdu| {
            let ([r0, r1, r2, r3], [f0, f1]) = (ampdu.reference.to_le_bytes(), ampdu.flags.to_le_bytes());
            // Neither the CRC of the delimiter nor the reserved octet is known.
            [r0, r1, r2, r3, f0, f1, 0, 0]
        });
        put(20, ampdu.as_ref().map(|b| &b[..]));
        put(21, self.vht.as_ref().and_then(vht_bytes).as_ref().map(|b| &b[..]));
        put(23, self.he.as_ref().and_then(he_bytes).as_ref().map(|b| &b[..]));
        let length = out.len() - start;
        out[start + 2..start + 4].copy_from_slice(&(length as u16).to_le_bytes());
        out[start + 4..start + 8].copy_from_slice(&present.to_le_bytes());
        length
    }
}

/// How many present words a whole header has.
fn present_words(header: &[u8]) -> Result<usize, MalformedFrame> {
    take(header, 8)?;
    let mut words = 1;
    while le32(header, 4 * words) >> BIT_MORE_WORDS == 1 {
        words += 1;
        if words > WORD_LIMIT || 4 + 4 * words > header.len() {
            return Err(MalformedFrame::Malformed("radiotap present words run past the header"));
        }
    }
    Ok(words)
}

/// Bits of the VHT field.
const VHT_KNOWN_STBC: u16 = 0x0001;
const VHT_KNOWN_GUARD: u16 = 0x0004;
const VHT_KNOWN_WIDTH: u16 = 0x0040;
const VHT_SHORT_GUARD: u8 = 0x04;

/// The VHT field of a PPDU to one user: guard interval, width, index, streams and code are known, and that there is no space-time block code.
fn vht_bytes(vector: &TxVector) -> Option<[u8; 12]> {
    let width = match vector.width() {
        Width::Mhz20 => 0,
        Width::Mhz40 => 1,
        Width::Mhz80 => 4,
        Width::Mhz160 => 11,
        _ => return None,
    };
    let mut field = [0; 12];
    field[..2].copy_from_slice(&(VHT_KNOWN_STBC | VHT_KNOWN_GUARD | VHT_KNOWN_WIDTH).to_le_bytes());
    field[2] = if vector.guard() == Guard::Short { VHT_SHORT_GUARD } else { 0 };
    field[3] = width;
    field[4] = vector.mcs() << 4 | vector.streams();
    field[8] = u8::from(vector.coding() == Coding::Ldpc);
    Some(field)
}

/// The HE field of a PPDU to or from one user: index, carrier modulation, code, width, guard interval, training fields and streams are
/// known.
fn he_bytes(vector: &TxVector) -> Option<[u8; 12]> {
    const KNOWN_INDEX_DCM_CODE_WIDTH: u16 = 0x0020 | 0x0040 | 0x0080 | 0x4000;
    const KNOWN_GUARD: u16 = 0x0002;
    let Format::He(fields) = vector.format() else { return None };
    let form = match fields.form {
        HeForm::SingleUser => 0,
        HeForm::ExtendedRange => 1,
        HeForm::TriggerBased => 3,
    };
    let width = match vector.width() {
        Width::Mhz20 => 0,
        Width::Mhz40 => 1,
        Width::Mhz80 => 2,
        Width::Mhz160 => 3,
        Width::Tones26 => 4,
        Width::Tones52 => 5,
        Width::Tones106 => 6,
        Width::Mhz320 => return None,
    };
    let guard = match vector.guard() {
        Guard::Double => 1,
        Guard::Quadruple => 2,
        _ => 0,
    };
    let ltf = match fields.ltf {
        Ltf::Single => 1,
        Ltf::Double => 2,
        Ltf::Quadruple => 3,
    };
    let flag = |set: bool, flag: u16| if set { flag } else { 0 };
    let data3 = u16::from(vector.mcs()) << 8
        | flag(fields.dcm, 0x1000)
        | flag(vector.coding() == Coding::Ldpc, 0x2000);
    let words = [
        KNOWN_INDEX_DCM_CODE_WIDTH | form,
        KNOWN_GUARD,
        data3,
        0,
        width | guard << 4 | ltf << 6,
        u16::from(vector.streams()),
    ];
    let mut field = [0; 12];
    field.chunks_exact_mut(2).zip(words).for_each(|(bytes, word)| bytes.copy_from_slice(&word.to_le_bytes()));
    Some(field)
}

/// The vector of the first user of a VHT field.
fn vht_field(field: &[u8]) -> Option<TxVector> {
    let known = le16(field, 0);
    let short_guard = known & VHT_KNOWN_GUARD != 0 && field[2] & VHT_SHORT_GUARD != 0;
    let width = if known & VHT_KNOWN_WIDTH == 0 {
        Width::Mhz20
    } else {
        match field[3] & 0x1f {
            0 | 2 | 3 | 7..=10 | 18..=25 => Width::Mhz20,
            1 | 5 | 6 | 14..=17 => Width::Mhz40,
            4 | 12 | 13 => Width::Mhz80,
            11 => Width::Mhz160,
            _ => return None,
        }
    };
    let (streams, mcs) = (field[4] & 15, field[4] >> 4);
    let vector = TxVector::vht(mcs, streams, width, if short_guard { Guard::Short } else { Guard::Long })?;
    Some(if field[8] & 1 != 0 { vector.with_coding(Coding::Ldpc) } else { vector })
}

/// The vector of an HE field. What it does not know is taken as one stream, the 0.8 us guard interval with its usual training
/// fields, and the convolutional code; without index and width there is none. A PPDU to several users counts as one to a single user.
fn he_field(field: &[u8]) -> Option<TxVector> {
    let known = le16(field, 0);
    if known & 0x4020 != 0x4020 {
        return None;
    }
    let (known2, data3, data5, data6) = (le16(field, 2), le16(field, 4), le16(field, 8), le16(field, 10));
    let width = match data5 & 15 {
        0 | 7 => Width::Mhz20,
        1 | 8 => Width::Mhz40,
        2 | 9 => Width::Mhz80,
        3 | 10 => Width::Mhz160,
        4 => Width::Tones26,
        5 => Width::Tones52,
        6 => Width::Tones106,
        _ => return None,
    };
    let guard = match data5 >> 4 & 3 {
        _ if known2 & 0x0002 == 0 => Guard::Long,
        0 => Guard::Long,
        1 => Guard::Double,
        2 => Guard::Quadruple,
        _ => return None,
    };
    let streams = ((data6 & 15) as u8).max(1);
    let vector = TxVector::he((data3 >> 8 & 15) as u8, streams, width, guard)?;
    let form = match known & 3 {
        1 => HeForm::ExtendedRange,
        3 => HeForm::TriggerBased,
        _ => HeForm::SingleUser,
    };
    let ltf = match data5 >> 6 & 3 {
        1 => Some(Ltf::Single),
        2 => Some(Ltf::Double),
        3 => Some(Ltf::Quadruple),
        _ => None,
    };
    let Format::He(usual) = vector.format() else { return None };
    let fields = HeFields { form, ltf: ltf.unwrap_or(usual.ltf), dcm: data3 & 0x1000 != 0, ..usual };
    let vector = vector.with_he_fields(fields);
    Some(if data3 & 0x2000 != 0 { vector.with_coding(Coding::Ldpc) } else { vector })
}
