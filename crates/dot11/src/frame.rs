//! The 802.11 MAC header (802.11-2020 9.2 and 9.3): a view of a frame's bytes and its meaning.

use super::address::MacAddress;
use super::error::{MalformedFrame, le16, le32, take};

/// What a frame is: type and subtype (802.11-2020 table 9-1). Numbers in the `Other` forms are the subtype.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "the names are the standard's")]
pub enum FrameKind {
    AssociationRequest,
    AssociationResponse,
    ReassociationRequest,
    ReassociationResponse,
    ProbeRequest,
    ProbeResponse,
    Beacon,
    Disassociation,
    Authentication,
    Deauthentication,
    Action,
    OtherManagement(u8),
    BlockAckRequest,
    BlockAck,
    PsPoll,
    Rts,
    Cts,
    Ack,
    CfEnd,
    OtherControl(u8),
    Data,
    Null,
    QosData,
    QosNull,
    OtherData(u8),
    /// Type 3: DMG and S1G frames, whose headers differ.
    Extension(u8),
}

impl FrameKind {
    /// A Trigger frame (802.11ax-2021 table 9-1).
    pub const TRIGGER: Self = Self::OtherControl(2);

    /// The kind of a two-bit type and a four-bit subtype.
    pub const fn from_bits(kind: u8, subtype: u8) -> Self {
        match (kind & 3, subtype & 15) {
            (0, 0) => Self::AssociationRequest,
            (0, 1) => Self::AssociationResponse,
            (0, 2) => Self::ReassociationRequest,
            (0, 3) => Self::ReassociationResponse,
            (0, 4) => Self::ProbeRequest,
            (0, 5) => Self::ProbeResponse,
            (0, 8) => Self::Beacon,
            (0, 10) => Self::Disassociation,
            (0, 11) => Self::Authentication,
            (0, 12) => Self::Deauthentication,
            (0, 13) => Self::Action,
            (0, other) => Self::OtherManagement(other),
            (1, 8) => Self::BlockAckRequest,
            (1, 9) => Self::BlockAck,
            (1, 10) => Self::PsPoll,
            (1, 11) => Self::Rts,
            (1, 12) => Self::Cts,
            (1, 13) => Self::Ack,
            (1, 14) => Self::CfEnd,
            (1, other) => Self::OtherControl(other),
            (2, 0) => Self::Data,
            (2, 4) => Self::Null,
            (2, 8) => Self::QosData,
            (2, 12) => Self::QosNull,
            (2, other) => Self::OtherData(other),
            (_, other) => Self::Extension(other),
        }
    }

    /// Type and subtype, as they stand in the frame control field.
    pub const fn bits(self) -> (u8, u8) {
        match self {
            Self::AssociationRequest => (0, 0),
            Self::AssociationResponse => (0, 1),
            Self::ReassociationRequest => (0, 2),
            Self::ReassociationResponse => (0, 3),
            Self::ProbeRequest => (0, 4),
            Self::ProbeResponse => (0, 5),
            Self::Beacon => (0, 8),
            Self::Disassociation => (0, 10),
            Self::Authentication => (0, 11),
            Self::Deauthentication => (0, 12),
            Self::Action => (0, 13),
            Self::OtherManagement(subtype) => (0, subtype & 15),
            Self::BlockAckRequest => (1, 8),
            Self::BlockAck => (1, 9),
            Self::PsPoll => (1, 10),
            Self::Rts => (1, 11),
            Self::Cts => (1, 12),
            Self::Ack => (1, 13),
            Self::CfEnd => (1, 14),
            Self::OtherControl(subtype) => (1, subtype & 15),
            Self::Data => (2, 0),
            Self::Null => (2, 4),
            Self::QosData => (2, 8),
            Self::QosNull => (2, 12),
            Self::OtherData(subtype) => (2, subtype & 15),
            Self::Extension(subtype) => (3, subtype & 15),
        }
    }

    /// Management, type 0.
    pub const fn is_management(self) -> bool {
        self.bits().0 == 0
    }

    /// Control, type 1.
    pub const fn is_control(self) -> bool {
        self.bits().0 == 1
    }

    /// Data, type 2: with and without a body.
    pub const fn is_data(self) -> bool {
        self.bits().0 == 2
    }

    /// A data frame that carries a QoS control field.
    pub const fn is_qos(self) -> bool {
        let (kind, subtype) = self.bits();
        kind == 2 && subtype & 8 != 0
    }

    /// A data frame that carries a body: not one of the Null forms.
    pub const fn has_payload(self) -> bool {
        let (kind, subtype) = self.bits();
        kind == 2 && subtype & 4 == 0
    }
}

/// The frame control field (802.11-2020 9.2.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameControl {
    /// Type and subtype.
    pub kind: FrameKind,
    /// Towards the distribution system: from a station to its access point.
    pub to_ds: bool,
    /// From the distribution system: from an access point to a station.
    pub from_ds: bool,
    /// More fragments of this MSDU follow.
    pub more_fragments: bool,
    /// A retransmission.
    pub retry: bool,
    /// PM: the mode in which the sender is after this frame exchange; true for power save.
    pub power_management: bool,
    /// The access point holds further frames for the receiver.
    pub more_data: bool,
    /// The body is encrypted.
    pub protected: bool,
    /// +HTC: in QoS data and management frames an HT control field follows.
    pub order: bool,
}

impl FrameControl {
    /// A frame of `kind` with no flag set.
    pub const fn new(kind: FrameKind) -> Self {
        Self {
            kind,
            to_ds: false,
            from_ds: false,
            more_fragments: false,
            retry: false,
            power_management: false,
            more_data: false,
            protected: false,
            order: false,
        }
    }

    /// From the field as it stands in the frame, least significant bit first.
    pub fn from_bits(bits: u16) -> Result<Self, MalformedFrame> {
        if bits & 3 != 0 {
            return Err(MalformedFrame::Malformed("802.11 protocol version is not 0"));
        }
        let flag = |bit: u16| bits >> bit & 1 == 1;
        Ok(Self {
            kind: FrameKind::from_bits((bits >> 2) as u8, (bits >> 4) as u8),
            to_ds: flag(8),
            from_ds: flag(9),
            more_fragments: flag(10),
            retry: flag(11),
            power_management: flag(12),
            more_data: flag(13),
            protected: flag(14),
            order: flag(15),
        })
    }

    /// The field as it stands in the frame.
    pub fn to_bits(self) -> u16 {
        let (kind, subtype) = self.kind.bits();
        u16::from(kind) << 2
            | u16::from(subtype) << 4
            | u16::from(self.to_ds) << 8
            | u16::from(self.from_ds) << 9
            | u16::from(self.more_fragments) << 10
            | u16::from(self.retry) << 11
            | u16::from(self.power_management) << 12
            | u16::from(self.more_data) << 13
            | u16::from(self.protected) << 14
            | u16::from(self.order) << 15
    }
}

/// The QoS control field (802.11-2020 9.2.4.5). Bits that mean different things to different senders are kept raw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct QosControl(pub u16);

impl QosControl {
    /// The field of a frame of traffic identifier `tid` (0 to 15) with normal acknowledgement.
    pub const fn new(tid: u8) -> Self {
        Self(tid as u16 & 15)
    }

    /// The same with end of service period set or not. Meaningful from an access point only.
    pub const fn with_eosp(self, eosp: bool) -> Self {
        Self(self.0 & !0x10 | (eosp as u16) << 4)
    }

    /// Traffic identifier, 0 to 15; 0 to 7 is the user priority.
    pub const fn tid(self) -> u8 {
        (self.0 & 15) as u8
    }

    /// End of service period: the last frame to the station in this service period. From an access point only.
    pub const fn eosp(self) -> bool {
        self.0 & 0x10 != 0
    }

    /// Sets whether the body is an A-MSDU.
    pub const fn with_amsdu(self, amsdu: bool) -> Self {
        Self(self.0 & !0x80 | (amsdu as u16) << 7)
    }

    /// The body is an A-MSDU: several MSDUs, each with its own small header.
    pub const fn amsdu(self) -> bool {
        self.0 & 0x80 != 0
    }
}

/// The fields of a MAC header. Which optional fields there are follows from the frame control; [`MacHeader::encode`] writes
/// zeros for one that should be there and is `None`, and leaves out one that should not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MacHeader {
    /// Type, subtype and flags.
    pub control: FrameControl,
    /// The duration field raw: microseconds of medium reservation, or the AID with its two top bits set in a PS-Poll.
    pub duration_id: u16,
    /// Receiver.
    pub address1: MacAddress,
    /// Transmitter; CTS and ACK have none.
    pub address2: Option<MacAddress>,
    /// BSSID, source or destination, by the DS bits; control frames have none.
    pub address3: Option<MacAddress>,
    /// Sequence number times 16 plus fragment number; control frames have none.
    pub sequence_control: Option<u16>,
    /// Source, where both DS bits are set in a data frame.
    pub address4: Option<MacAddress>,
    /// Where the kind says so.
    pub qos: Option<QosControl>,
    /// HT control, raw; with the order bit in QoS data and management frames.
    pub ht_control: Option<u32>,
}

/// Bytes of each optional part of a header.
#[derive(Clone, Copy)]
struct Layout {
    address2: bool,
    address3: bool,
    address4: bool,
    qos: bool,
    ht_control: bool,
}

impl Layout {
    fn of(control: FrameControl) -> Result<Self, MalformedFrame> {
        let none = Self { address2: false, address3: false, address4: false, qos: false, ht_control: false };
        Ok(match control.kind {
            FrameKind::Cts | FrameKind::Ack => none,
            // Trigger, beamforming report poll and NDP announcement name their transmitter too.
            FrameKind::BlockAckRequest
            | FrameKind::BlockAck
            | FrameKind::PsPoll
            | FrameKind::Rts
            | FrameKind::CfEnd
            | FrameKind::OtherControl(2 | 4 | 5 | 15) => Self { address2: true, ..none },
            FrameKind::OtherControl(_) => none,
            FrameKind::Extension(_) => {
                return Err(MalformedFrame::Malformed("extension frames are not supported"));
            }
            kind if kind.is_data() => Self {
                address2: true,
                address3: true,
                address4: control.to_ds && control.from_ds,
                qos: kind.is_qos(),
                ht_control: kind.is_qos() && control.order,
            },
            _ => Self { address2: true, address3: true, ht_control: control.order, ..none },
        })
    }

    fn length(self) -> usize {
        10 + if self.address2 { 6 } else { 0 }
            + if self.address3 { 8 } else { 0 }
            + if self.address4 { 6 } else { 0 }
            + if self.qos { 2 } else { 0 }
            + if self.ht_control { 4 } else { 0 }
    }
}

impl MacHeader {
    /// A header of `control` to `receiver`, nothing else set.
    pub const fn new(control: FrameControl, receiver: MacAddress) -> Self {
        Self {
            control,
            duration_id: 0,
            address1: receiver,
            address2: None,
            address3: None,
            sequence_control: None,
            address4: None,
            qos: None,
            ht_control: None,
        }
    }

    /// Reads a header from the start of `bytes`; returns it and its length in bytes.
    pub fn decode(bytes: &[u8]) -> Result<(Self, usize), MalformedFrame> {
        let control = FrameControl::from_bits(le16(take(bytes, 2)?, 0))?;
        let layout = Layout::of(control)?;
        let length = layout.length();
        let bytes = take(bytes, length)?;
        let mut header = Self::new(control, MacAddress::at(bytes, 4));
        header.duration_id = le16(bytes, 2);
        let mut at = 10;
        if layout.address2 {
            header.address2 = Some(MacAddress::at(bytes, at));
            at += 6;
        }
        if layout.address3 {
            header.address3 = Some(MacAddress::at(bytes, at));
            header.sequence_control = Some(le16(bytes, at + 6));
            at += 8;
        }
        if layout.address4 {
            header.address4 = Some(MacAddress::at(bytes, at));
            at += 6;
        }
        if layout.qos {
            header.qos = Some(QosControl(le16(bytes, at)));
            at += 2;
        }
        if layout.ht_control {
            header.ht_control = Some(le32(bytes, at));
        }
        Ok((header, length))
    }

    /// Length in bytes of what [`MacHeader::encode`] writes; zero for an extension frame, which it does not write.
    pub fn encoded_len(&self) -> usize {
        Layout::of(self.control).map_or(0, Layout::length)
    }

    /// Appends the header's bytes. Extension frames are not written.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let Ok(layout) = Layout::of(self.control) else { return };
        out.extend_from_slice(&self.control.to_bits().to_le_bytes());
        out.extend_from_slice(&self.duration_id.to_le_bytes());
        out.extend_from_slice(&self.address1.0);
        if layout.address2 {
            out.extend_from_slice(&self.address2.unwrap_or_default().0);
        }
        if layout.address3 {
            out.extend_from_slice(&self.address3.unwrap_or_default().0);
            out.extend_from_slice(&self.sequence_control.unwrap_or_default().to_le_bytes());
        }
        if layout.address4 {
            out.extend_from_slice(&self.address4.unwrap_or_default().0);
        }
        if layout.qos {
            out.extend_from_slice(&self.qos.unwrap_or_default().0.to_le_bytes());
        }
        if layout.ht_control {
            out.extend_from_slice(&self.ht_control.unwrap_or_default().to_le_bytes());
        }
    }

    /// The association identifier in a PS-Poll (1 to 2007); `None` in other frames and out of range.
    pub fn ps_poll_aid(&self) -> Option<u16> {
        let aid = self.duration_id & 0x3fff;
        let valid = self.control.kind == FrameKind::PsPoll && self.duration_id >> 14 == 3;
        (valid && (1..=2007).contains(&aid)).then_some(aid)
    }

    /// Where a data or management frame's MSDU is going in the end (802.11-2020 table 9-30).
    pub fn destination(&self) -> MacAddress {
        let in_address3 = self.control.kind.is_data() && self.control.to_ds;
        if in_address3 { self.address3.unwrap_or(self.address1) } else { self.address1 }
    }

    /// Where a data or management frame's MSDU came from in the beginning; `None` for CTS and ACK.
    pub fn source(&self) -> Option<MacAddress> {
        match (self.control.kind.is_data(), self.control.to_ds, self.control.from_ds) {
            (true, true, true) => self.address4,
            (true, false, true) => self.address3,
            _ => self.address2,
        }
    }

    /// The BSSID; `None` where the frame does not name it.
    pub fn bssid(&self) -> Option<MacAddress> {
        let kind = self.control.kind;
        match (self.control.to_ds, self.control.from_ds) {
            _ if kind == FrameKind::PsPoll => Some(self.address1),
            _ if kind == FrameKind::CfEnd => self.address2,
            _ if kind.is_control() => None,
            (true, true) => None,
            _ if kind.is_management() => self.address3,
            (true, false) => Some(self.address1),
            (false, true) => self.address2,
            (false, false) => self.address3,
        }
    }
}

/// A view of a whole frame, header and body, without its FCS.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    header: MacHeader,
    body: &'a [u8],
}

impl<'a> Frame<'a> {
    /// Reads the header at the start of `bytes`; what follows it is the body. `bytes` does not end in an FCS.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, MalformedFrame> {
        let (header, length) = MacHeader::decode(bytes)?;
        Ok(Self { header, body: &bytes[length..] })
    }

    /// As [`Frame::decode`], where the capture pads the header to a multiple of four bytes (radiotap's data-pad flag).
    pub fn decode_padded(bytes: &'a [u8]) -> Result<Self, MalformedFrame> {
        let (header, length) = MacHeader::decode(bytes)?;
        let padded = if header.control.kind.is_data() { length.next_multiple_of(4) } else { length };
        Ok(Self { header, body: bytes.get(padded..).unwrap_or(&[]) })
    }

    /// What the header says.
    pub const fn header(&self) -> &MacHeader {
        &self.header
    }

    /// The bytes after the header; encrypted where [`FrameControl::protected`] says so.
    pub const fn body(&self) -> &'a [u8] {
        self.body
    }

    /// Category, action and the rest of the body of an action frame; `None` for other frames, and encrypted or empty bodies.
    pub(super) fn action(&self) -> Option<(u8, u8, &'a [u8])> {
        let control = self.header().control;
        match self.body {
            [category, action, rest @ ..] if control.kind == FrameKind::Action && !control.protected => {
                Some((*category, *action, rest))
            }
            _ => None,
        }
    }
}
