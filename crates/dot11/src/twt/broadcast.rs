//! Broadcast target wake time: the schedules that an access point announces in its beacons (802.11ax-2021 26.8.3).

use super::{
    ACTION_SETUP, ACTION_TEARDOWN, CATEGORIES, DURATION_IN_TIME_UNITS, ID_TWT, NEGOTIATION_TYPE, REQUEST,
    TRIGGER, TwtCommand, UNANNOUNCED, WakeDuration, WakeInterval,
};
use crate::elements::Elements;
use crate::error::le16;

/// The negotiation type of an element that announces schedules.
const BROADCAST: u8 = 2 << 2;
/// That of one by which a station joins a schedule, or is answered.
const MEMBERSHIP: u8 = 3 << 2;
/// Length of one parameter set.
const PARAMETERS: usize = 9;
/// The bit of the request type field in the last parameter set of an element.
const LAST: u16 = 1 << 5;
/// Of the broadcast information field: three bytes about traffic follow the parameter set (802.11be 9.4.2.199).
const TRAFFIC: u16 = 1;
const TRAFFIC_BYTES: usize = 3;
/// The lowest bit of the clock in the target wake time field, and the number of its bits.
const TARGET_SHIFT: u32 = 10;
const TARGET_BITS: u32 = 16;

/// Service periods that an access point announces to all of its stations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TwtSchedule {
    /// Its number; 0 is for all stations, the others are for those that have joined.
    pub id: u8,
    /// The access point sends a Trigger frame in each service period.
    pub trigger: bool,
    /// The access point sends before a station has shown that it is awake.
    pub unannounced: bool,
    /// What stations should send in it, at most 7 (table 9-299).
    pub recommendation: u8,
    /// Bits 10 to 25 of the access point's clock at the start of the next service period.
    pub target: u16,
    /// Least time awake.
    pub duration: WakeDuration,
    /// Time between two service periods.
    pub interval: WakeInterval,
    /// Beacon intervals for which it will hold; 255 without an end.
    pub persistence: u8,
    /// Other stations end their transmission opportunities before its service periods (restricted target wake time, 802.11be).
    pub restricted: bool,
}

impl TwtSchedule {
    /// Those that a beacon announces. What is cut short or of another kind is left out.
    pub fn all(elements: Elements<'_>) -> impl Iterator<Item = Self> {
        elements.filter(|(id, _)| *id == ID_TWT).flat_map(|(_, contents)| Sets::of(contents))
    }

    /// The start of the next service period by the access point's clock in microseconds, for a beacon whose clock shows `timestamp_us`: the
    /// first time later than that with these bits.
    pub const fn next_us(&self, timestamp_us: u64) -> u64 {
        let turn = 1u64 << (TARGET_SHIFT + TARGET_BITS);
        let start = timestamp_us / turn * turn + ((self.target as u64) << TARGET_SHIFT);
        if start > timestamp_us { start } else { start.saturating_add(turn) }
    }

    /// Appends the element of a beacon that announces this one alone.
    pub fn push(&self, out: &mut Vec<u8>) {
        self.push_element(BROADCAST, 0, out);
    }

    /// Appends the body of a set-up frame by which a station asks to join, or is answered: [`TwtCommand::Request`] and such.
    pub fn push_set_up(&self, dialog_token: u8, command: TwtCommand, is_request: bool, out: &mut Vec<u8>) {
        out.extend_from_slice(&[CATEGORIES[0], ACTION_SETUP, dialog_token]);
        let request = if is_request { REQUEST } else { 0 };
        self.push_element(MEMBERSHIP, request | (command as u16) << 1, out);
    }

    /// Appends the body of a teardown frame by which a station leaves the schedule of this number.
    pub fn push_teardown(id: u8, out: &mut Vec<u8>) {
        out.extend_from_slice(&[CATEGORIES[0], ACTION_TEARDOWN, id & 31 | 3 << 5]);
    }

    fn push_element(&self, negotiation: u8, command: u16, out: &mut Vec<u8>) {
        let (unit, duration) = self.duration.field();
        let bit = |on: bool, bit: u16| if on { bit } else { 0 };
        let bits = command
            | bit(self.trigger, TRIGGER)
            | LAST
            | bit(self.unannounced, UNANNOUNCED)
            | u16::from(self.recommendation & 7) << 7
            | u16::from(self.interval.exponent & WakeInterval::MAX_EXPONENT) << 10;
        let information = u16::from(self.id & 31) << 3 | u16::from(self.persistence) << 8;
        let mut contents = vec![negotiation | unit];
        contents.extend_from_slice(&bits.to_le_bytes());
        contents.extend_from_slice(&self.target.to_le_bytes());
        contents.push(duration);
        contents.extend_from_slice(&self.interval.mantissa.to_le_bytes());
        contents.extend_from_slice(&information.to_le_bytes());
        Elements::push(out, ID_TWT, &contents);
    }
}

/// The parameter sets of an element.
struct Sets<'a> {
    control: u8,
    rest: &'a [u8],
}

impl<'a> Sets<'a> {
    fn of(contents: &'a [u8]) -> Self {
        match contents.split_first() {
            Some((&control, rest)) if control & NEGOTIATION_TYPE == BROADCAST => Self { control, rest },
            _ => Self { control: 0, rest: &[] },
        }
    }
}

impl Iterator for Sets<'_> {
    type Item = TwtSchedule;

    fn next(&mut self) -> Option<TwtSchedule> {
        let (set, rest) = self.rest.split_at_checked(PARAMETERS)?;
        let (bits, information) = (le16(set, 0), le16(set, 7));
        let restricted = information & TRAFFIC != 0;
        let traffic = if restricted { TRAFFIC_BYTES } else { 0 };
        self.rest = if bits & LAST == 0 { rest.get(traffic..).unwrap_or_default() } else { &[] };
        Some(TwtSchedule {
            id: (information >> 3 & 31) as u8,
            trigger: bits & TRIGGER != 0,
            unannounced: bits & UNANNOUNCED != 0,
            recommendation: (bits >> 7 & 7) as u8,
            target: le16(set, 2),
            duration: WakeDuration::of_field(self.control & DURATION_IN_TIME_UNITS != 0, set[4]),
            interval: WakeInterval { mantissa: le16(set, 5), exponent: (bits >> 10 & 31) as u8 },
            persistence: (information >> 8) as u8,
            restricted,
        })
    }
}

#[cfg(test)]
mod tests {
    use airwatt_base::Span;

    use super::*;

    fn schedule() -> TwtSchedule {
        TwtSchedule {
            id: 3,
            trigger: true,
            unannounced: false,
            recommendation: 1,
            target: 0x1234,
            duration: WakeDuration::Short(64),
            interval: WakeInterval { mantissa: 100, exponent: 10 },
            persistence: 255,
            restricted: false,
        }
    }

    /// Negotiation type 2 in bits 2 and 3; trigger and last in bits 4 and 5, recommendation 1 from bit 7, exponent 10 from bit 10: 0x28b0; the
    /// number 3 from bit 3: 0x18.
    #[test]
    fn a_schedule_is_what_it_says() {
        let mut bytes = Vec::new();
        schedule().push(&mut bytes);
        assert_eq!(bytes, [216, 10, 8, 0xb0, 0x28, 0x34, 0x12, 64, 100, 0, 0x18, 0xff]);
        let read = |bytes: &[u8]| TwtSchedule::all(Elements(bytes)).collect::<Vec<_>>();
        assert_eq!(read(&bytes), [schedule()]);
        // By command 1 (Suggest, from bit 1) and the request bit a station asks to join; it leaves by 3 in bits 5 and 6.
        let mut asks = Vec::new();
        schedule().push_set_up(7, TwtCommand::Suggest, true, &mut asks);
        assert_eq!(asks, [22, 6, 7, 216, 10, 12, 0xb3, 0x28, 0x34, 0x12, 64, 100, 0, 0x18, 0xff]);
        let mut leaves = Vec::new();
        TwtSchedule::push_teardown(3, &mut leaves);
        assert_eq!(leaves, [22, 7, 0x63]);
        // An element of an individual agreement, and one that is cut short.
        let mut other = bytes.clone();
        other[2] = 0;
        assert_eq!(read(&other), []);
        let mut short = Vec::new();
        Elements::push(&mut short, ID_TWT, &bytes[2..11]);
        assert_eq!(read(&short), []);
    }

    /// The first of two sets is restricted, and has three bytes about its traffic.
    #[test]
    fn an_element_has_several_schedules() {
        let mut contents = vec![BROADCAST | DURATION_IN_TIME_UNITS];
        contents.extend_from_slice(&[0x40, 0, 1, 0, 2, 3, 0, 0x09, 5, 1, 2, 3]);
        contents.extend_from_slice(&[0x20, 0, 9, 0, 8, 7, 0, 0x10, 6]);
        let mut bytes = Vec::new();
        Elements::push(&mut bytes, ID_TWT, &contents);
        let read: Vec<_> = TwtSchedule::all(Elements(&bytes)).collect();
        let of = |one: &TwtSchedule| (one.id, one.restricted, one.unannounced, one.target, one.persistence);
        assert_eq!(read.iter().map(of).collect::<Vec<_>>(), [(1, true, true, 1, 5), (2, false, false, 9, 6)]);
        assert_eq!(read[0].duration.span(), Span::from_micros(2_048));
    }

    /// 0x1234 x 1,024 us = 4,771,840 us, and the bits come again after 2^26 us = 67.108864 s.
    #[test]
    fn the_next_period_is_the_first_with_the_bits() {
        let one = schedule();
        assert_eq!(one.next_us(0), 4_771_840);
        assert_eq!(one.next_us(4_771_839), 4_771_840);
        assert_eq!(one.next_us(4_771_840), 71_880_704);
        assert_eq!(one.next_us(67_108_864), 71_880_704);
    }
}
