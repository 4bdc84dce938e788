//! Which bytes of elements, action frames and block acknowledgements are fields whose meaning is known. No other byte of them is copied:
//! an element may be longer than what is defined of it, and a sender may put anything there.

use std::ops::Range;

use crate::absence::{ATTRIBUTE_HEADER, NOTICE_OF_ABSENCE, attributes, notice_bytes};

const ID_RATES: u8 = 1;
const ID_TIM: u8 = 5;
const ID_EXTENDED_RATES: u8 = 50;
const ID_TWT: u8 = 216;
const ID_VENDOR: u8 = 221;
const ID_EXTENDED: u8 = 255;
/// The bytes that are defined of elements which say how a network works and not whose it is (802.11-2020 9.4.2), by their identifiers.
const DEFINED: [(u8, usize); 14] = [
    (3, 1),    // DS parameter set
    (12, 18),  // EDCA parameter set
    (33, 2),   // power capability
    (37, 3),   // channel switch announcement
    (40, 6),   // Quiet
    (42, 1),   // ERP
    (45, 26),  // HT capabilities
    (46, 1),   // QoS capability
    (60, 4),   // extended channel switch announcement
    (61, 22),  // HT operation
    (93, 4),   // WNM sleep mode
    (191, 12), // VHT capabilities
    (192, 5),  // VHT operation
    (195, 5),  // transmit power envelope
];
/// The same of extended identifiers, which count as a byte: HE capabilities up to the map for 80 MHz, and HE operation without what is
/// optional (802.11ax-2021 9.4.2.248 and 9.4.2.249).
const DEFINED_EXTENSIONS: [(u8, usize); 2] = [(35, 22), (36, 7)];
/// Rates in units of 500 kbit/s, and selectors of what a member of the cell has to have (802.11-2020 9.4.2.3), without the bit for basic ones.
const RATES: [u8; 20] = [2, 4, 11, 12, 18, 22, 24, 36, 44, 48, 66, 72, 96, 108, 122, 123, 124, 125, 126, 127];
/// The octets of a whole TIM (802.11-2020 9.4.2.5).
const WHOLE_MAP: usize = 251;
/// OUI and type.
const VENDOR_BYTES: usize = 4;
/// OUI and type of WMM with the subtypes of its information and parameters, and the bytes of these (WMM specification 2.2).
const WMM: [(&[u8], usize); 2] = [(&[0x00, 0x50, 0xf2, 0x02, 0], 7), (&[0x00, 0x50, 0xf2, 0x02, 1], 24)];
/// OUI and type of the element in which a simulated access point states its beacon interval, and its bytes.
const INTERVAL: (&[u8], usize) = (&[0x02, 0x00, 0x00, 0x01], 12);
/// Category and action.
const ACTION_BYTES: usize = 2;

/// Where the known fields are in the contents of an element.
pub(super) fn of_element(id: u8, contents: &[u8]) -> Vec<Range<usize>> {
    let within = |bytes: usize| std::iter::once(0..bytes.min(contents.len())).collect();
    match (id, contents) {
        (ID_RATES | ID_EXTENDED_RATES, _) => {
            let known = contents.iter().enumerate().filter(|(_, rate)| RATES.contains(&(**rate & 0x7f)));
            known.map(|(at, _)| at..at + 1).collect()
        }
        (ID_TIM, [_, _, control, ..]) => within(3 + WHOLE_MAP - usize::from(control & 0xfe).min(WHOLE_MAP)),
        (ID_EXTENDED, [extension, ..]) => within(bytes_of(&DEFINED_EXTENSIONS, *extension).max(1)),
        (ID_VENDOR, _) => of_vendor(contents),
        _ => within(bytes_of(&DEFINED, id)),
    }
}

fn bytes_of(defined: &[(u8, usize)], id: u8) -> usize {
    defined.iter().find(|(known, _)| *known == id).map_or(0, |(_, bytes)| *bytes)
}

/// Of Wi-Fi Direct when an access point is absent, which excuses it; of vendors that are not known OUI and type.
fn of_vendor(contents: &[u8]) -> Vec<Range<usize>> {
    let is_interval = contents.starts_with(INTERVAL.0) && contents.len() == INTERVAL.1;
    let known = WMM.iter().chain(is_interval.then_some(&INTERVAL));
    let bytes = known.filter(|(prefix, _)| contents.starts_with(prefix)).map(|(_, bytes)| *bytes).next();
    let mut fields: Vec<_> = std::iter::once(0..bytes.unwrap_or(VENDOR_BYTES).min(contents.len())).collect();
    for (id, Range { start, end }) in attributes(contents) {
        let known = if id == NOTICE_OF_ABSENCE { notice_bytes(end - start) } else { 0 };
        fields.push(start - ATTRIBUTE_HEADER..start + known);
    }
    fields
}

/// How many bytes of the body of an action frame are known, from its category on: those that agree on block acknowledgement and on an
/// individual target wake time, and of answers of WNM sleep mode what stands before their group keys. Of others category and action.
pub(super) fn of_action(body: &[u8]) -> usize {
    let &[category, action, ref rest @ ..] = body else { return body.len() };
    let known = match (category, action, rest) {
        // ADDBA request and response; DELBA (802.11-2020 9.6.4).
        (3, 0 | 1, _) => 7,
        (3, 2, _) => 4,
        // A TWT set-up: the dialog token, and its element as far as that tells whether it is about one individual agreement; all of it if it is
        // (802.11ax-2021 9.4.2.199).
        (22 | 23, 6, &[_, ID_TWT, length, control, low, ..]) => {
            let is_individual = control & 0b100_1101 == 0 && low >> 1 & 7 != 3;
            3 + if is_individual && matches!(length, 7 | 15) { usize::from(length) } else { 3 }
        }
        (22 | 23, 6 | 7, _) => 1,
        // TWT information: how many bytes of the clock follow is in the first.
        (22 | 23, 11, [control, ..]) => 1 + [0, 4, 6, 8][usize::from(control >> 5 & 3)],
        (10, 17, _) => 3,
        _ => 0,
    };
    (ACTION_BYTES + known).min(body.len())
}

/// Where the elements begin behind the group keys of an answer of WNM sleep mode; `None` in other action frames.
pub(super) fn elements_of_action(body: &[u8]) -> Option<usize> {
    let &[10, 17, _, low, high, ..] = body else { return None };
    Some(ACTION_BYTES + 3 + usize::from(u16::from_le_bytes([low, high])))
}

/// How many bytes of a block acknowledgement, or of a request for one, are known, from its control field on: that field, of the basic and
/// the compressed form the sequence control, and in a compressed answer the bitmap (802.11-2020 9.3.1.7 and 9.3.1.8).
pub(super) fn of_block_ack(body: &[u8], is_answer: bool) -> usize {
    let &[control, _, fragment, _, ..] = body else { return body.len().min(2) };
    let bitmap = match fragment & 0x0e {
        0 => 8,
        // 256 MPDUs (802.11ax-2021 table 9-30a).
        4 => 32,
        _ => 0,
    };
    let known = match control >> 1 & 15 {
        2 if is_answer => 4 + bitmap,
        0 | 2 => 4,
        _ => 2,
    };
    known.min(body.len())
}
