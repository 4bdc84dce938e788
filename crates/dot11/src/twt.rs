//! Target wake time: the action frames that set up, suspend and tear down individual agreements (802.11ax-2021 26.8.2), and the schedules that
//! beacons announce (`broadcast`).
//!
//! Frames of other kinds (that join a schedule, NDP paging, TWT groups, several links) are recognised and not read.

mod broadcast;

use airwatt_base::Span;

pub use self::broadcast::TwtSchedule;

use super::error::{MalformedFrame, le16, le64, take};
use super::frame::Frame;
use super::management::TIME_UNIT;

/// Categories of action frames: unprotected S1G and S1G (802.11-2020 table 9-51). Their TWT actions have the same numbers.
const CATEGORIES: [u8; 2] = [22, 23];
const ACTION_SETUP: u8 = 6;
const ACTION_TEARDOWN: u8 = 7;
const ACTION_INFORMATION: u8 = 11;
/// Identifier of the TWT element (802.11-2020 9.4.2.199).
const ID_TWT: u8 = 216;
/// Length of the element's contents with one individual parameter set, with and without a target wake time.
const CONTENTS: usize = 15;
const CONTENTS_WITHOUT_TARGET: usize = 7;

/// Bits of the element's control field.
const NDP_PAGING: u8 = 1;
const NEGOTIATION_TYPE: u8 = 3 << 2;
const INFORMATION_DISABLED: u8 = 1 << 4;
const DURATION_IN_TIME_UNITS: u8 = 1 << 5;
/// A bitmap of links follows (802.11be).
const LINK_BITMAP: u8 = 1 << 6;
/// Bits of its request type field.
const REQUEST: u16 = 1;
const TRIGGER: u16 = 1 << 4;
const IMPLICIT: u16 = 1 << 5;
const UNANNOUNCED: u16 = 1 << 6;
const PROTECTION: u16 = 1 << 15;
/// The unit of a wake duration that is not in time units.
const DURATION_UNIT: Span = Span::from_micros(256);

/// What a set-up frame asks for or answers. The first four come from the requesting station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TwtCommand {
    /// The responder is to choose the parameters.
    Request,
    /// The parameters are wishes.
    Suggest,
    /// The parameters, or no agreement.
    Demand,
    /// A group assignment.
    Grouping,
    /// There is an agreement with these parameters.
    Accept,
    /// No agreement; a request with these parameters would be accepted.
    Alternate,
    /// No agreement; only a request with these parameters would be accepted.
    Dictate,
    /// No agreement.
    Reject,
}

impl TwtCommand {
    /// By the value of the field.
    const ALL: [Self; 8] = [
        Self::Request,
        Self::Suggest,
        Self::Demand,
        Self::Grouping,
        Self::Accept,
        Self::Alternate,
        Self::Dictate,
        Self::Reject,
    ];
}

/// The time between two service periods: `mantissa * 2^exponent` microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WakeInterval {
    /// The mantissa.
    pub mantissa: u16,
    /// The exponent, at most 31.
    pub exponent: u8,
}

impl WakeInterval {
    /// The largest exponent that the field holds.
    const MAX_EXPONENT: u8 = 31;

    /// The longest interval of the format that is not longer than `interval`.
    pub fn at_most(interval: Span) -> Self {
        let micros = interval.as_nanos() / 1_000;
        for exponent in 0..=Self::MAX_EXPONENT {
            if let Ok(mantissa) = u16::try_from(micros >> exponent) {
                return Self { mantissa, exponent };
            }
        }
        Self { mantissa: u16::MAX, exponent: Self::MAX_EXPONENT }
    }

    /// The interval as a time.
    pub const fn span(self) -> Span {
        Span::from_micros((self.mantissa as u64) << self.exponent)
    }
}

/// The nominal minimum wake duration: how long the station is awake from the start of a service period unless the
/// period ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakeDuration {
    /// In units of 256 us.
    Short(u8),
    /// In time units of 1024 us, which 802.11ax added.
    TimeUnits(u8),
}

impl WakeDuration {
    /// The duration of so many units.
    const fn of_field(in_time_units: bool, units: u8) -> Self {
        if in_time_units { Self::TimeUnits(units) } else { Self::Short(units) }
    }

    /// The bit of the control field that names the unit, and the number of units.
    const fn field(self) -> (u8, u8) {
        match self {
            Self::Short(units) => (0, units),
            Self::TimeUnits(units) => (DURATION_IN_TIME_UNITS, units),
        }
    }

    /// The duration as a time.
    pub fn span(self) -> Span {
        match self {
            Self::Short(units) => DURATION_UNIT * u64::from(units),
            Self::TimeUnits(units) => TIME_UNIT * u64::from(units),
        }
    }
}

/// The TWT element of an individual agreement, as a set-up frame carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TwtSetup {
    /// Ties an answer to its request.
    pub dialog_token: u8,
    /// Whether the frame comes from the requesting station.
    pub request: bool,
    /// What it asks for or answers.
    pub command: TwtCommand,
    /// The access point sends a Trigger frame in the service period.
    pub trigger: bool,
    /// Each service period follows the last after the interval, without a frame that names its time.
    pub implicit: bool,
    /// The access point sends before the station has shown that it is awake.
    pub unannounced: bool,
    /// The agreement's number among those of the two stations, at most 7.
    pub flow: u8,
    /// The access point protects the frame exchanges of a service period.
    pub protection: bool,
    /// The sender does not take information frames.
    pub information_disabled: bool,
    /// Start of the first service period by the access point's clock in microseconds; `None` where the field is 0 or absent,
    /// by which a request leaves it open.
    pub target_us: Option<u64>,
    /// Least time awake.
    pub duration: WakeDuration,
    /// Time between two service periods.
    pub interval: WakeInterval,
    /// Bitmap of channels; 0 for the whole channel.
    pub channel: u8,
}

impl TwtSetup {
    /// Reads what follows the action number; `None` for elements that are not of one individual agreement.
    fn decode(body: &[u8]) -> Result<Option<Self>, MalformedFrame> {
        let fixed = take(body, 3)?;
        let (dialog_token, id, length) = (fixed[0], fixed[1], usize::from(fixed[2]));
        if id != ID_TWT {
            return Err(MalformedFrame::Malformed("TWT set-up without a TWT element"));
        }
        let contents = &take(body, 3 + length)?[3..];
        let control = take(contents, 3)?[0];
        let bits = le16(contents, 1);
        let command = TwtCommand::ALL[usize::from(bits >> 1 & 7)];
        if control & (NDP_PAGING | NEGOTIATION_TYPE | LINK_BITMAP) != 0 || command == TwtCommand::Grouping {
            return Ok(None);
        }
        let target = match length {
            CONTENTS => le64(contents, 3),
            CONTENTS_WITHOUT_TARGET => 0,
            _ => return Err(MalformedFrame::Malformed("length of a TWT element")),
        };
        let rest = &contents[length - 4..];
        let duration = WakeDuration::of_field(control & DURATION_IN_TIME_UNITS != 0, rest[0]);
        Ok(Some(Self {
            dialog_token,
            request: bits & REQUEST != 0,
            command,
            trigger: bits & TRIGGER != 0,
            implicit: bits & IMPLICIT != 0,
            unannounced: bits & UNANNOUNCED != 0,
            flow: (bits >> 7 & 7) as u8,
            protection: bits & PROTECTION != 0,
            information_disabled: control & INFORMATION_DISABLED != 0,
            target_us: Some(target).filter(|target| *target != 0),
            duration,
            interval: WakeInterval { mantissa: le16(rest, 1), exponent: (bits >> 10 & 31) as u8 },
            channel: rest[3],
        }))
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let bit = |on: bool, bit: u16| if on { bit } else { 0 };
        let (unit, duration) = self.duration.field();
        let information = if self.information_disabled { INFORMATION_DISABLED } else { 0 };
        let bits = bit(self.request, REQUEST)
            | (self.command as u16) << 1
            | bit(self.trigger, TRIGGER)
            | bit(self.implicit, IMPLICIT)
            | bit(self.unannounced, UNANNOUNCED)
            | u16::from(self.flow & 7) << 7
            | u16::from(self.interval.exponent & WakeInterval::MAX_EXPONENT) << 10
            | bit(self.protection, PROTECTION);
        out.extend_from_slice(&[self.dialog_token, ID_TWT, CONTENTS as u8, unit | information]);
        out.extend_from_slice(&bits.to_le_bytes());
        out.extend_from_slice(&self.target_us.unwrap_or(0).to_le_bytes());
        out.push(duration);
        out.extend_from_slice(&self.interval.mantissa.to_le_bytes());
        out.push(self.channel);
    }
}

/// An action frame about individual agreements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TwtAction {
    /// A request for an agreement, or its answer.
    Setup(TwtSetup),
    /// The end of an agreement.
    Teardown {
        /// Which agreement; `None` for all of the two stations.
        flow: Option<u8>,
    },
    /// The agreement is suspended, or goes on at a time that is named.
    Information {
        /// Which agreement; `None` for all of the two stations.
        flow: Option<u8>,
        /// The sender asks for such a frame in return.
        response_requested: bool,
        /// The sender asks the other to name the next service period.
        next_requested: bool,
        /// The start of the next service period by the access point's clock in microseconds, as many of its low bytes as the frame has:
        /// 4, 6 or 8. `None` suspends the agreement.
        next: Option<(u64, NextTwtBytes)>,
    },
}

/// How many of the low bytes of the clock an information frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextTwtBytes {
    /// 4 bytes: the time within 71.6 minutes.
    Four,
    /// 6 bytes.
    Six,
    /// The whole time.
    Eight,
}

impl NextTwtBytes {
    /// By the value of the field, less 1.
    const ALL: [Self; 3] = [Self::Four, Self::Six, Self::Eight];

    const fn bytes(self) -> usize {
        4 + 2 * self as usize
    }
}

impl TwtAction {
    /// Reads the body of an action frame; `None` for other frames, encrypted bodies, and whatever is not about an individual
    /// agreement.
    pub fn decode(frame: &Frame<'_>) -> Result<Option<Self>, MalformedFrame> {
        let Some((category, action, body)) = frame.action() else { return Ok(None) };
        if !CATEGORIES.contains(&category) {
            return Ok(None);
        }
        match action {
            ACTION_SETUP => Ok(TwtSetup::decode(body)?.map(Self::Setup)),
            ACTION_TEARDOWN => {
                let flow = take(body, 1)?[0];
                let individual = flow >> 5 & 3 == 0;
                Ok(individual.then(|| Self::Teardown { flow: (flow & 0x80 == 0).then_some(flow & 7) }))
            }
            ACTION_INFORMATION => Self::decode_information(body).map(Some),
            _ => Ok(None),
        }
    }

    fn decode_information(body: &[u8]) -> Result<Self, MalformedFrame> {
        let control = take(body, 1)?[0];
        let next = match control >> 5 & 3 {
            0 => None,
            size => {
                let size = NextTwtBytes::ALL[usize::from(size) - 1];
                let mut bytes = [0; 8];
                bytes[..size.bytes()].copy_from_slice(&take(body, 1 + size.bytes())?[1..]);
                Some((u64::from_le_bytes(bytes), size))
            }
        };
        Ok(Self::Information {
            flow: (control & 0x80 == 0).then_some(control & 7),
            response_requested: control & 1 << 3 != 0,
            next_requested: control & 1 << 4 != 0,
            next,
        })
    }

    /// Appends the body of the action frame, of the unprotected category.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let which = |flow: Option<u8>| flow.map_or(0x80, |flow| flow & 7);
        let bit = |on: bool, bit: u8| if on { bit } else { 0 };
        out.push(CATEGORIES[0]);
        match *self {
            Self::Setup(setup) => {
                out.push(ACTION_SETUP);
                setup.encode(out);
            }
            Self::Teardown { flow } => out.extend_from_slice(&[ACTION_TEARDOWN, which(flow)]),
            Self::Information { flow, response_requested, next_requested, next } => {
                let size = next.map_or(0, |(_, size)| size as u8 + 1);
                let asks = bit(response_requested, 1 << 3) | bit(next_requested, 1 << 4);
                out.extend_from_slice(&[ACTION_INFORMATION, which(flow) | asks | size << 5]);
                if let Some((time, size)) = next {
                    out.extend_from_slice(&time.to_le_bytes()[..size.bytes()]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
