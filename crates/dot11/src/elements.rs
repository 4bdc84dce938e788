//! Elements of management frames: SSID, TIM, and the WMM element with its U-APSD bits and access parameters.

use airwatt_base::Span;

use super::error::{MalformedFrame, le16, le64};

/// Element identifiers (802.11-2020 table 9-92).
const ID_SSID: u8 = 0;
const ID_RATES: u8 = 1;
const ID_DS: u8 = 3;
const ID_TIM: u8 = 5;
const ID_CHANNEL_SWITCH: u8 = 37;
const ID_EXTENDED_CHANNEL_SWITCH: u8 = 60;
const ID_MULTIPLE_BSSID: u8 = 71;
const ID_TWT: u8 = 216;
const ID_VENDOR: u8 = 221;
const ID_EXTENDED: u8 = 255;
/// Extension of the HE capabilities, and bits of their MAC capabilities (802.11ax-2021 9.4.2.248).
const EXTENSION_HE_CAPABILITIES: u8 = 35;
const TWT_REQUESTER: u8 = 1 << 1;
const TWT_RESPONDER: u8 = 1 << 2;
/// Extension of the Multi-Link element (802.11be-2024 9.4.2.321).
const EXTENSION_MULTI_LINK: u8 = 107;
/// The OUI, type and (in the next octet) subtype of the Wi-Fi Alliance's WMM elements (WMM specification 2.2).
const WMM_PREFIX: [u8; 4] = [0x00, 0x50, 0xf2, 0x02];
/// The unit of a TXOP limit (802.11-2020 9.4.2.28).
const TXOP_UNIT: Span = Span::from_micros(32);
/// OUI and type of the element by which a simulated access point declares its beacon interval. The OUI is locally
/// administered: it belongs to no vendor.
const INTERVAL_PREFIX: [u8; 4] = [0x02, 0x00, 0x00, 0x01];

/// A view of the elements at the end of a management body. Iterating yields identifier and contents, and stops at
/// the first element that runs past the end: the rest of a damaged frame is not worth guessing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elements<'a>(pub &'a [u8]);

impl<'a> Iterator for Elements<'a> {
    type Item = (u8, &'a [u8]);
    fn next(&mut self) -> Option<Self::Item> {
        let (&[id, length], rest) = self.0.split_first_chunk::<2>()?;
        let contents = rest.get(..usize::from(length))?;
        self.0 = &rest[usize::from(length)..];
        Some((id, contents))
    }
}

impl<'a> Elements<'a> {
    /// The contents of the first element with this identifier.
    pub fn find(mut self, wanted: u8) -> Option<&'a [u8]> {
        self.find_map(|(id, contents)| (id == wanted).then_some(contents))
    }

    /// The contents, after the extension's identifier, of the first element with this extension.
    fn find_extension(mut self, wanted: u8) -> Option<&'a [u8]> {
        self.find_map(|(id, contents)| contents.strip_prefix(&[wanted]).filter(|_| id == ID_EXTENDED))
    }

    /// The network's name; bytes, since nothing says that it is text. Empty where it is hidden.
    pub fn ssid(self) -> Option<&'a [u8]> {
        self.find(ID_SSID)
    }

    /// The traffic indication map, if there is a sound one.
    pub fn tim(self) -> Option<Tim<'a>> {
        Tim::decode(self.find(ID_TIM)?).ok()
    }

    /// The WMM information or parameter element.
    pub fn wmm(mut self) -> Option<WmmInfo> {
        self.find_map(|(id, contents)| {
            let rest = contents.strip_prefix(&WMM_PREFIX).filter(|_| id == ID_VENDOR)?;
            // Subtype 0 (information) and 1 (parameters), then version 1, then the QoS information octet.
            match rest {
                [0, 1, qos_info, ..] => Some(WmmInfo { qos_info: *qos_info, best_effort: None }),
                // A reserved octet, then the records of the access categories, best effort first.
                [1, 1, qos_info, _, records @ ..] => Some(WmmInfo {
                    qos_info: *qos_info,
                    best_effort: records.first_chunk().map(AccessParameters::decode),
                }),
                _ => None,
            }
        })
    }

    /// Whether it is the frame of several BSSIDs, the lowest bits of whose TIM are about groups (802.11-2020 9.4.2.5, 9.4.2.45).
    pub fn has_several_bssids(self) -> bool {
        self.find(ID_MULTIPLE_BSSID).and_then(<[u8]>::first).is_some_and(|indicator| *indicator > 0)
    }

    /// Whether there is a Multi-Link element.
    pub fn is_multi_link(self) -> bool {
        self.find_extension(EXTENSION_MULTI_LINK).is_some()
    }

    /// Whether an access point announces that it moves to another channel.
    pub fn switches_channel(self) -> bool {
        self.find(ID_CHANNEL_SWITCH).or_else(|| self.find(ID_EXTENDED_CHANNEL_SWITCH)).is_some()
    }

    /// Whether there is a TWT element: in a beacon it announces broadcast target wake times.
    pub fn has_twt(self) -> bool {
        self.find(ID_TWT).is_some()
    }

    /// Whether the sender may ask for individual target wake time, by its HE capabilities.
    pub fn is_twt_requester(self) -> bool {
        self.has_he_capability(TWT_REQUESTER)
    }

    /// Whether the sender answers requests for individual target wake time, by its HE capabilities.
    pub fn is_twt_responder(self) -> bool {
        self.has_he_capability(TWT_RESPONDER)
    }

    /// Whether a bit of the first octet of the HE MAC capabilities is set.
    fn has_he_capability(self, bit: u8) -> bool {
        self.find_extension(EXTENSION_HE_CAPABILITIES)
            .and_then(<[u8]>::first)
            .is_some_and(|mac| mac & bit != 0)
    }

    /// The beacon interval that a simulated access point declares beside the field of its beacons.
    pub(crate) fn declared_interval(mut self) -> Option<Span> {
        self.find_map(|(id, contents)| {
            let nanos = contents
                .strip_prefix(&INTERVAL_PREFIX)
                .filter(|nanos| id == ID_VENDOR && nanos.len() == 8)?;
            Some(Span::from_nanos(le64(nanos, 0)))
        })
    }

    /// Appends an element. Contents beyond 255 bytes are cut off: the length is one octet.
    pub fn push(out: &mut Vec<u8>, id: u8, contents: &[u8]) {
        let contents = &contents[..contents.len().min(255)];
        out.push(id);
        out.push(contents.len() as u8);
        out.extend_from_slice(contents);
    }

    /// Appends the SSID element.
    pub fn push_ssid(out: &mut Vec<u8>, ssid: &[u8]) {
        Self::push(out, ID_SSID, &ssid[..ssid.len().min(32)]);
    }

    /// Appends the supported rates, in units of 500 kbit/s with bit 7 set for basic rates; at most eight.
    pub(crate) fn push_rates(out: &mut Vec<u8>, rates: &[u8]) {
        Self::push(out, ID_RATES, &rates[..rates.len().min(8)]);
    }

    /// Appends the DS parameter set: the channel number.
    pub(crate) fn push_ds_channel(out: &mut Vec<u8>, channel: u8) {
        Self::push(out, ID_DS, &[channel]);
    }

    /// Appends a WMM information element with this QoS information octet.
    pub fn push_wmm(out: &mut Vec<u8>, qos_info: u8) {
        let [a, b, c, d] = WMM_PREFIX;
        Self::push(out, ID_VENDOR, &[a, b, c, d, 0, 1, qos_info]);
    }

    /// Appends a WMM parameter element with this QoS information octet, and these parameters of best effort, background, video and voice.
    pub(crate) fn push_wmm_parameters(out: &mut Vec<u8>, qos_info: u8, access: [AccessParameters; 4]) {
        let [a, b, c, d] = WMM_PREFIX;
        let mut contents = vec![a, b, c, d, 1, 1, qos_info, 0];
        for (category, access) in (0..).zip(access) {
            contents.extend_from_slice(&access.encode(category));
        }
        Self::push(out, ID_VENDOR, &contents);
    }

    /// Appends the element that [`Elements::declared_interval`] reads: nanoseconds in eight octets, little-endian.
    pub(crate) fn push_declared_interval(out: &mut Vec<u8>, interval: Span) {
        let nanos = interval.as_nanos().to_le_bytes();
        Self::push(out, ID_VENDOR, &[&INTERVAL_PREFIX[..], &nanos].concat());
    }
}

/// How the frames of an access category contend for the medium (802.11-2020 9.4.2.28).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessParameters {
    /// Slots of the arbitration inter-frame space.
    pub aifsn: u8,
    /// Smallest contention window in slots, a power of two less one.
    pub cw_min: u32,
    /// Largest contention window in slots, a power of two less one.
    pub cw_max: u32,
    /// The longest transmission opportunity; zero for one frame exchange.
    pub txop: Span,
}

impl AccessParameters {
    fn decode(record: &[u8; 4]) -> Self {
        let window = |exponent: u8| (1 << exponent) - 1;
        Self {
            aifsn: record[0] & 0x0f,
            cw_min: window(record[1] & 0x0f),
            cw_max: window(record[1] >> 4),
            txop: TXOP_UNIT * u64::from(le16(record, 2)),
        }
    }

    /// The record of access category `category`. Windows are rounded down to powers of two less one, and the limit to the
    /// nearest of its units.
    fn encode(self, category: u8) -> [u8; 4] {
        let exponent = |window: u32| window.saturating_add(1).ilog2().min(15) as u8;
        let units = (self.txop + TXOP_UNIT / 2).whole(TXOP_UNIT).min(u64::from(u16::MAX)) as u16;
        let [low, high] = units.to_le_bytes();
        let windows = exponent(self.cw_max) << 4 | exponent(self.cw_min);
        [category << 5 | self.aifsn.min(15), windows, low, high]
    }
}

/// What a WMM element says about U-APSD and about access to the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WmmInfo {
    /// The access parameters of best effort, in a parameter element.
    pub best_effort: Option<AccessParameters>,
    /// The QoS information octet, raw: its bits mean one thing from an access point and another from a station.
    pub qos_info: u8,
}

impl WmmInfo {
    /// From an access point: it serves U-APSD (802.11-2020 9.4.1.17).
    pub const fn ap_uapsd(self) -> bool {
        self.qos_info & 0x80 != 0
    }

    /// From a station: the access categories that are both trigger- and delivery-enabled, bit 0 AC_VO, 1 AC_VI,
    /// 2 AC_BK, 3 AC_BE.
    pub const fn station_uapsd(self) -> u8 {
        self.qos_info & 0x0f
    }
}

/// A view of a traffic indication map (802.11-2020 9.4.2.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tim<'a> {
    /// Beacons until the next DTIM beacon; zero in one.
    pub dtim_count: u8,
    /// Every how many beacons one is a DTIM beacon, at least 1.
    pub dtim_period: u8,
    /// Group-addressed frames follow this DTIM beacon.
    pub group: bool,
    /// The octet of the whole map with which `bitmap` begins; even.
    pub first_octet: u8,
    /// The part of the map that is sent.
    pub bitmap: &'a [u8],
}

impl<'a> Tim<'a> {
    /// Reads the contents of a TIM element.
    pub fn decode(contents: &'a [u8]) -> Result<Self, MalformedFrame> {
        let [dtim_count, dtim_period, control, bitmap @ ..] = contents else {
            return Err(MalformedFrame::Truncated { needed: 4, have: contents.len() });
        };
        if *dtim_period == 0 {
            return Err(MalformedFrame::Malformed("DTIM period is 0"));
        }
        Ok(Self {
            dtim_count: *dtim_count,
            dtim_period: *dtim_period,
            group: control & 1 == 1,
            first_octet: control & 0xfe,
            bitmap,
        })
    }

    /// Whether the map says that the station with this association identifier has frames waiting.
    pub fn tim_bit(&self, aid: u16) -> bool {
        let octet = usize::from(aid / 8).checked_sub(usize::from(self.first_octet));
        octet.and_then(|at| self.bitmap.get(at)).is_some_and(|bits| bits >> (aid % 8) & 1 == 1)
    }

    /// The association identifiers with their bit set, in rising order; bit 0 stands for group traffic and is left out.
    pub fn aids(&self) -> impl Iterator<Item = u16> + use<'a> {
        let first = u16::from(self.first_octet) * 8;
        let bitmap = self.bitmap;
        (0u16..)
            .zip(bitmap)
            .flat_map(move |(octet, bits)| {
                (0..8u16)
                    .filter(move |bit| bits >> bit & 1 == 1)
                    .map(move |bit| first.saturating_add(octet * 8 + bit))
            })
            .filter(|aid| (1..=2007).contains(aid))
    }
}

/// What a traffic indication map is to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimFields<'a> {
    /// Beacons until the next DTIM beacon.
    pub dtim_count: u8,
    /// Every how many beacons one is a DTIM beacon.
    pub dtim_period: u8,
    /// Group-addressed frames follow this DTIM beacon.
    pub group: bool,
    /// Association identifiers (1 to 2007) of the stations that have frames waiting; others are ignored.
    pub aids: &'a [u16],
}

impl TimFields<'_> {
    /// Appends the element. Of the map the part from the first to the last octet that is not zero is sent, from an
    /// even octet on; one zero octet where there is none (802.11-2020 9.4.2.5, method B).
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut map = [0u8; 251];
        for aid in self.aids.iter().filter(|aid| (1..=2007).contains(*aid)) {
            map[usize::from(aid / 8)] |= 1 << (aid % 8);
        }
        let first = map.iter().position(|octet| *octet != 0).unwrap_or(0) & !1;
        let last = map.iter().rposition(|octet| *octet != 0).unwrap_or(0);
        out.extend_from_slice(&[ID_TIM, (4 + last - first) as u8, self.dtim_count, self.dtim_period]);
        out.push(first as u8 | u8::from(self.group));
        out.extend_from_slice(&map[first..=last]);
    }
}
