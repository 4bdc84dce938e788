//! Bodies of management frames: beacons, probe responses, association (802.11-2020 9.3.3).

use airwatt_base::Span;

use super::elements::{AccessParameters, Elements, TimFields};
use super::error::{MalformedFrame, le16, le64, take};
use super::frame::{Frame, FrameKind};

/// A time unit (802.11-2020 3.1), in which beacons state their interval.
pub const TIME_UNIT: Span = Span::from_micros(1_024);

/// The capability information field (802.11-2020 9.4.1.4), with the bits that power save and timing look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Capability(pub u16);

impl Capability {
    /// The bit of an access point, as against an ad hoc network.
    pub const ESS: u16 = 1;
    /// The bit that allows short DSSS preambles.
    pub const SHORT_PREAMBLE: u16 = 1 << 5;
    /// The bit that asks for 9 us slots in the 2.4 GHz band.
    pub const SHORT_SLOT: u16 = 1 << 10;

    /// Whether all bits of `bits` are set.
    pub const fn has(self, bits: u16) -> bool {
        self.0 & bits == bits
    }
}

/// What a (re)association response says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AssociationResponse {
    /// Capabilities of the access point.
    pub capability: Capability,
    /// Zero for success.
    pub status: u16,
    /// The association identifier, 1 to 2007 (top bits removed).
    pub aid: u16,
}

/// A view of a management body: the fixed fields, and the elements behind them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ManagementBody<'a> {
    /// A beacon or a probe response.
    Beacon {
        /// The access point's clock in microseconds.
        timestamp_us: u64,
        /// Time between two beacons: the field's time units, or what a simulated access point declares more exactly.
        interval: Span,
        /// Capabilities of the access point.
        capability: Capability,
        /// SSID, TIM, WMM and others.
        elements: Elements<'a>,
    },
    /// An association or reassociation request.
    AssociationRequest {
        /// Capabilities of the station.
        capability: Capability,
        /// How many beacon intervals the station may sleep through.
        listen_interval: u16,
        /// SSID, WMM and others.
        elements: Elements<'a>,
    },
    /// An association or reassociation response.
    AssociationResponse(AssociationResponse, Elements<'a>),
}

impl<'a> ManagementBody<'a> {
    /// Reads the body of a management frame; `None` for kinds that power save does not look into, and for
    /// encrypted bodies.
    pub fn decode(frame: &Frame<'a>) -> Result<Option<Self>, MalformedFrame> {
        let control = frame.header().control;
        let body = frame.body();
        if control.protected {
            return Ok(None);
        }
        Ok(Some(match control.kind {
            FrameKind::Beacon | FrameKind::ProbeResponse => {
                let fixed = take(body, 12)?;
                let elements = Elements(&body[12..]);
                let units = le16(fixed, 8);
                // An element that contradicts the field is somebody else's.
                let exact = elements.declared_interval().filter(|exact| time_units(*exact) == Some(units));
                Self::Beacon {
                    timestamp_us: le64(fixed, 0),
                    interval: exact.unwrap_or(TIME_UNIT * u64::from(units)),
                    capability: Capability(le16(fixed, 10)),
                    elements,
                }
            }
            FrameKind::AssociationRequest | FrameKind::ReassociationRequest => {
                // A reassociation request names the old access point between fixed fields and elements.
                let length = if control.kind == FrameKind::AssociationRequest { 4 } else { 10 };
                let fixed = take(body, length)?;
                Self::AssociationRequest {
                    capability: Capability(le16(fixed, 0)),
                    listen_interval: le16(fixed, 2),
                    elements: Elements(&body[length..]),
                }
            }
            FrameKind::AssociationResponse | FrameKind::ReassociationResponse => {
                let fixed = take(body, 6)?;
                let response = AssociationResponse {
                    capability: Capability(le16(fixed, 0)),
                    status: le16(fixed, 2),
                    aid: le16(fixed, 4) & 0x3fff,
                };
                Self::AssociationResponse(response, Elements(&body[6..]))
            }
            _ => return Ok(None),
        }))
    }
}

impl AssociationResponse {
    /// Appends the fixed fields; elements follow.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.capability.0.to_le_bytes());
        out.extend_from_slice(&self.status.to_le_bytes());
        // The two top bits of the AID field are set (802.11-2020 9.4.1.8).
        out.extend_from_slice(&(self.aid | 0xc000).to_le_bytes());
    }
}

/// What a beacon is to say. [`BeaconFields::encode`] writes the body that follows the MAC header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BeaconFields<'a> {
    /// The access point's clock in microseconds.
    pub timestamp_us: u64,
    /// Time between two beacons. The field has time units: an interval that is no whole number of them, as publications
    /// have, is rounded there and declared by a vendor-specific element.
    pub interval: Span,
    /// Capabilities.
    pub capability: Capability,
    /// The network's name, at most 32 bytes.
    pub ssid: &'a [u8],
    /// Supported rates in units of 500 kbit/s, bit 7 set for basic rates; at most eight.
    pub rates: &'a [u8],
    /// Channel number, in the 2.4 GHz band.
    pub ds_channel: Option<u8>,
    /// Who has frames waiting.
    pub tim: TimFields<'a>,
    /// The WMM QoS information octet; bit 7 announces U-APSD.
    pub wmm: Option<u8>,
    /// The access parameters in a WMM element, of best effort, background, video and voice; `None` for an element without parameters.
    pub access: Option<[AccessParameters; 4]>,
}

impl BeaconFields<'_> {
    /// Appends the body.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.timestamp_us.to_le_bytes());
        let units = time_units(self.interval).unwrap_or(u16::MAX);
        out.extend_from_slice(&units.to_le_bytes());
        out.extend_from_slice(&self.capability.0.to_le_bytes());
        Elements::push_ssid(out, self.ssid);
        Elements::push_rates(out, self.rates);
        if let Some(channel) = self.ds_channel {
            Elements::push_ds_channel(out, channel);
        }
        self.tim.encode(out);
        match (self.wmm, self.access) {
            (Some(qos_info), Some(access)) => Elements::push_wmm_parameters(out, qos_info, access),
            (Some(qos_info), None) => Elements::push_wmm(out, qos_info),
            (None, _) => {}
        }
        if self.interval != TIME_UNIT * u64::from(units) {
            Elements::push_declared_interval(out, self.interval);
        }
    }
}

/// The time units of an interval, rounded; `None` if the field of a beacon has no room for them.
fn time_units(interval: Span) -> Option<u16> {
    let rounded = interval.as_nanos().checked_add(TIME_UNIT.as_nanos() / 2)?;
    u16::try_from(rounded / TIME_UNIT.as_nanos()).ok()
}
