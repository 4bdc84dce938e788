//! MAC frames: what waits in a transmission queue, and what is recorded of a frame on the air.

pub(super) mod parts;

use airwatt_base::{Instant, Span};
use airwatt_dot11::TxVector;
use airwatt_energy::Cause;
use airwatt_proto::powersave::{PowerSaveFrame, ServiceFlags, StationId, WakeAnswer, WakeFrame};

use super::access::contention::ContenderId;
use crate::packet::{FlowLabel, NO_FLOW, Packet, cause_of};
use crate::route::{MediumId, Member};

/// ACK: frame control, duration, receiver, FCS (802.11-2020 9.3.1.4).
pub const ACK_BYTES: u32 = 14;
/// CTS: the same fields (9.3.1.3).
pub const CTS_BYTES: u32 = 14;
/// BlockAck with a compressed bitmap of `window` frames, 64 or 256: addresses, control 2, starting sequence control 2, a bit for each frame,
/// FCS (9.3.1.8).
pub const fn block_ack_bytes(window: u16) -> u32 {
    24 + window as u32 / 8
}
/// BlockAckReq of one TID: addresses, control 2, starting sequence control 2, FCS (9.3.1.7).
pub const BLOCK_ACK_REQUEST_BYTES: u32 = 24;
/// Basic Trigger frame to one station: frame control, duration, two addresses 12, common information 8, user information 5 and what a Basic
/// Trigger adds to it 1, FCS 4, without padding (802.11ax-2021 9.3.1.22).
pub const TRIGGER_BYTES: u32 = 34;
/// What precedes each MPDU of an A-MPDU, and the alignment of all but the last (9.7.1).
pub const DELIMITER_BYTES: u32 = 4;
/// LLC and SNAP of a packet.
const LLC_SNAP_BYTES: u32 = 8;
/// Addresses and length ahead of each packet of an A-MSDU, and the alignment of all but the last (9.3.2.2).
const AMSDU_HEADER_BYTES: u32 = 14;
const AMSDU_ALIGNMENT: u32 = 4;
/// RTS: one address more (9.3.1.2).
pub const RTS_BYTES: u32 = 20;
/// PS-Poll: AID in place of the duration, BSSID, transmitter (9.3.1.5).
pub const PS_POLL_BYTES: u32 = 20;
/// QoS Null: a QoS data header and FCS without a body (9.3.2.1).
pub const QOS_NULL_BYTES: u32 = 30;
/// Null: the same without QoS control.
pub const NULL_BYTES: u32 = 28;
/// The QoS Control field, which group-addressed frames do without (9.2.4.1.3, 10.2.3).
const QOS_CONTROL_BYTES: u32 = 2;
/// What a QoS data frame adds to an IP packet: QoS header 26, LLC and SNAP 8, FCS 4. A data frame that adds less has no QoS Control.
pub const QOS_OVERHEAD_BYTES: u32 = 38;
/// A beacon without its TIM: header 24, fixed fields 12, SSID of 8 characters 10, rates 10, DS parameter 3, EDCA parameter set
/// 20, HT elements 54, FCS 4 (9.3.3.2).
pub const BEACON_BYTES: u32 = 137;
/// What follows the TIM of a beacon: EDCA parameter set 20, HT elements 54, FCS 4 (9.3.3.2).
pub const AFTER_TIM_BYTES: u32 = 78;
/// TWT Setup: MAC header 24, category, action and dialog token 3, element header 2, its content 15, FCS 4 (802.11ax-2021 9.6.24.8).
pub const TWT_SETUP_BYTES: u32 = 48;
/// The same about a schedule of the access point, whose parameter set has 9 bytes behind the control field.
pub const TWT_JOIN_BYTES: u32 = 43;
/// The element by which a beacon announces a schedule (9.4.2.199).
pub const TWT_SCHEDULE_BYTES: u32 = 12;
/// TWT Teardown: MAC header 24, category, action and flow 3, FCS 4 (9.6.24.9).
pub const TWT_TEARDOWN_BYTES: u32 = 31;
/// TWT Information: as a teardown, with a control field instead of the flow (9.6.24.11); a next TWT of 8 bytes resumes the agreement.
pub const TWT_INFORMATION_BYTES: u32 = 31;
const NEXT_TWT_BYTES: u32 = 8;
/// TIM: element header 2, DTIM count and period 2, bitmap control 1, and one byte for eight stations (9.4.2.5).
pub const TIM_FIXED_BYTES: u32 = 5;

/// The receiver address of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receiver {
    /// One MAC entity.
    Member(Member),
    /// The group address.
    Group,
}

/// Most MPDUs of one PPDU.
pub const MAX_MPDUS: u16 = 256;

/// A set of MPDUs, by their places in a PPDU or in the bitmap of a BlockAck.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MpduSet([u64; MAX_MPDUS as usize / 64]);

impl MpduSet {
    /// Number of MPDUs.
    pub fn len(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// The first `count` MPDUs.
    pub fn first(count: u16) -> Self {
        let mut set = Self::default();
        (0..count).for_each(|place| set.insert(place));
        set
    }

    /// Adds the MPDU at a place.
    pub const fn insert(&mut self, place: u16) {
        self.0[place as usize / 64] |= 1 << (place % 64);
    }

    /// Whether it has the MPDU at a place.
    pub const fn contains(&self, place: u16) -> bool {
        self.0[place as usize / 64] >> (place % 64) & 1 == 1
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.0 == [0; MAX_MPDUS as usize / 64]
    }

    /// Its bits.
    pub const fn words(&self) -> &[u64] {
        &self.0
    }
}

/// A frame in a transmission queue, or another packet of the A-MSDU that the frame before it begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mpdu {
    /// The MAC entity to which it is addressed.
    pub to: Member,
    /// What it carries.
    pub body: Body,
    /// More Data and EOSP, valid once `stamped` is set.
    pub flags: ServiceFlags,
    /// Whether a first attempt has been made; the header bits are fixed from then on.
    pub stamped: bool,
    /// Whether it is in the A-MSDU of the one before it: both have one number, one fate and one MAC header. Valid once `stamped` is set.
    pub joins: bool,
    /// Whether it has arrived, which its sender does not know while no response has come.
    pub arrived: bool,
    /// Failed attempts.
    pub retries: u16,
    /// Its air time by the estimate of a limit on queues, in microseconds; 0 without such a limit.
    pub air_time: u16,
    /// 12-bit sequence number, valid once `stamped` is set.
    pub sequence: u16,
    /// Its place in the order of arrival at its MAC.
    pub ticket: u64,
    /// When its lifetime is over; [`Instant::FOREVER`] without one.
    pub expires: Instant,
}

impl Mpdu {
    /// What the energy of this frame is charged to, if it is one of several frames of data.
    pub(super) const fn cause(&self) -> Cause {
        if self.retries > 0 { Cause::Retransmission } else { cause_of(self.body.flow()) }
    }

    /// Whether it is data that has its number.
    pub(super) const fn is_numbered(&self) -> bool {
        self.stamped && matches!(self.body, Body::Data(_))
    }

    /// A request ahead of the frames that have this ticket and later ones.
    pub(super) fn request(to: Member, ticket: u64) -> Self {
        Self { stamped: true, ..Self::new(to, Body::BlockAckRequest, ticket) }
    }

    /// A frame that has not been sent yet.
    pub fn new(to: Member, body: Body, ticket: u64) -> Self {
        let flags = ServiceFlags::default();
        Self {
            to,
            body,
            flags,
            stamped: false,
            joins: false,
            arrived: false,
            retries: 0,
            air_time: 0,
            sequence: 0,
            ticket,
            expires: Instant::FOREVER,
        }
    }
}

/// Frames of a PPDU with the places of their MPDUs.
pub(super) fn placed<'a>(mpdus: impl Iterator<Item = &'a Mpdu>) -> impl Iterator<Item = (u16, &'a Mpdu)> {
    let mut count = 0;
    mpdus.map(move |mpdu| {
        count += u16::from(!mpdu.joins);
        (count - 1, mpdu)
    })
}

/// A transmit mode, by its place in the table of its cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModeId(pub(super) u16);

impl ModeId {
    /// Data where a link has no mode of its own.
    pub(super) const DATA: Self = Self(0);
    /// RTS, CTS, ACK and PS-Poll.
    pub(super) const CONTROL: Self = Self(1);
    /// Beacons.
    pub(super) const BEACON: Self = Self(2);
    /// Group-addressed frames.
    pub(super) const GROUP: Self = Self(3);
}

/// One attempt at the first frames of a queue. The frames, with what they carry, stay in the queue until the attempt is concluded.
/// What differs between frames is that of the first one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ppdu {
    /// The MAC entity that sends it.
    pub from: Member,
    /// Its receiver.
    pub to: Receiver,
    /// The contender that won the access.
    pub contender: ContenderId,
    /// The kind of the frame.
    pub kind: CellFrameKind,
    /// Its transmit mode.
    pub mode: ModeId,
    /// Number of MPDUs.
    pub count: u16,
    /// Number of frames of the queue in them: more than MPDUs, where these are A-MSDUs.
    pub msdus: u16,
    /// Window of the block-ack agreement under which it is sent; 0 without one.
    pub window: u16,
    /// Length of the PSDU in bytes: that of a single frame is its length from the MAC header to the FCS.
    pub bytes: u32,
    /// More Data and EOSP.
    pub flags: ServiceFlags,
    /// Whether this is an attempt after the first.
    pub retry: bool,
    /// 12-bit sequence number; 0 in a PS-Poll, which has none.
    pub sequence: u16,
    /// The flow of the packet that it carries, or [`NO_FLOW`].
    pub flow: FlowLabel,
    /// Whether an RTS precedes it.
    pub rts: bool,
    /// The power-management bit.
    pub pm: bool,
}

/// What a frame carries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Body {
    /// An IP packet.
    Data(Packet),
    /// A station's power-save frame, or an action frame of either side.
    Control(PowerSaveFrame),
    /// A QoS Null or Null from the access point: the answer to a trigger or poll if nothing is buffered.
    NullData,
    /// A Basic Trigger frame.
    Trigger,
    /// A question which frames have arrived. Its sequence number is where the sender's window starts.
    BlockAckRequest,
    /// A group-addressed packet.
    Group(Packet),
    /// A frame of a node outside the simulator.
    External(ExternalFrame),
    /// A beacon.
    Beacon {
        /// Beacons before the next DTIM beacon; 0 in a DTIM beacon.
        dtim_count: u8,
        /// The group bit of its TIM.
        group: bool,
        /// Length, MAC header to FCS, in bytes.
        bytes: u32,
    },
}

/// A frame of a node outside the simulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExternalFrame {
    /// The number by which its fate is reported.
    pub number: u32,
    /// Its kind, which decides its rate.
    pub kind: CellFrameKind,
    /// Length, MAC header to FCS, in bytes.
    pub bytes: u32,
}

impl Ppdu {
    /// What the energy of this attempt is charged to.
    pub(super) const fn cause(&self) -> Cause {
        match self.kind {
            _ if self.retry => Cause::Retransmission,
            CellFrameKind::Data => cause_of(self.flow),
            CellFrameKind::Beacon => Cause::Beacon,
            CellFrameKind::Group => Cause::Group,
            CellFrameKind::BlockAckRequest => Cause::Retransmission,
            _ => Cause::Service,
        }
    }

    /// What its receiver answers.
    pub(super) const fn response(&self) -> CellFrameKind {
        if self.count > 1 || matches!(self.kind, CellFrameKind::BlockAckRequest) {
            CellFrameKind::BlockAck
        } else {
            CellFrameKind::Ack
        }
    }
}

impl Body {
    /// The flow of the packet in it, or [`NO_FLOW`].
    pub const fn flow(&self) -> FlowLabel {
        match self {
            Self::Data(packet) => packet.flow,
            _ => NO_FLOW,
        }
    }

    /// What kind of frame carries this.
    pub const fn kind(&self) -> CellFrameKind {
        match self {
            Self::Data(_) => CellFrameKind::Data,
            Self::Control(PowerSaveFrame::PsPoll) => CellFrameKind::PsPoll,
            Self::Control(PowerSaveFrame::PmNull { .. }) => CellFrameKind::Null,
            Self::Control(PowerSaveFrame::Trigger) | Self::NullData => CellFrameKind::QosNull,
            Self::Control(PowerSaveFrame::Wake(_)) => CellFrameKind::Action,
            Self::Trigger => CellFrameKind::Trigger,
            Self::BlockAckRequest => CellFrameKind::BlockAckRequest,
            Self::Group(_) => CellFrameKind::Group,
            Self::Beacon { .. } => CellFrameKind::Beacon,
            Self::External(frame) => frame.kind,
        }
    }

    /// Length of the frame that carries this, MAC header to FCS, in bytes; a packet comes with `overhead` bytes of
    /// headers and FCS.
    pub(crate) const fn frame_bytes(&self, overhead: u32) -> u32 {
        match self {
            Self::Data(packet) => packet.bytes + overhead,
            Self::Group(packet) => packet.bytes + overhead - QOS_CONTROL_BYTES,
            Self::Control(PowerSaveFrame::Trigger) | Self::NullData => QOS_NULL_BYTES,
            Self::Control(PowerSaveFrame::PmNull { .. }) => NULL_BYTES,
            Self::Control(PowerSaveFrame::PsPoll) => PS_POLL_BYTES,
            Self::Control(PowerSaveFrame::Wake(WakeFrame::Teardown { .. })) => TWT_TEARDOWN_BYTES,
            Self::Control(PowerSaveFrame::Wake(WakeFrame::Information { next: None })) => {
                TWT_INFORMATION_BYTES
            }
            Self::Control(PowerSaveFrame::Wake(WakeFrame::Information { next: Some(_) })) => {
                TWT_INFORMATION_BYTES + NEXT_TWT_BYTES
            }
            Self::Control(PowerSaveFrame::Wake(frame)) if joins(frame) => TWT_JOIN_BYTES,
            Self::Control(PowerSaveFrame::Wake(_)) => TWT_SETUP_BYTES,
            Self::Trigger => TRIGGER_BYTES,
            Self::BlockAckRequest => BLOCK_ACK_REQUEST_BYTES,
            Self::Beacon { bytes, .. } => *bytes,
            Self::External(frame) => frame.bytes,
        }
    }
}

/// Whether a frame of a set-up is about the access point's schedule.
const fn joins(frame: &WakeFrame) -> bool {
    match frame {
        WakeFrame::Request { proposal, .. } => proposal.request.broadcast,
        WakeFrame::Answer { answer, .. } => match answer {
            WakeAnswer::Accept(agreement) => agreement.request.broadcast,
            WakeAnswer::Alternate(request) | WakeAnswer::Dictate(request) | WakeAnswer::Reject(request) => {
                request.broadcast
            }
        },
        WakeFrame::Teardown { .. } | WakeFrame::Information { .. } => false,
    }
}

/// Length of a beacon whose TIM has room for `stations` stations.
pub const fn beacon_bytes(stations: u32) -> u32 {
    let bitmap = stations.div_ceil(8);
    BEACON_BYTES + TIM_FIXED_BYTES + if bitmap == 0 { 1 } else { bitmap }
}

/// What follows the TIM of a beacon, for a beacon of this length in a cell of one station: elements that other access points add
/// stand behind the TIM for the most part (802.11-2020 table 9-32).
pub const fn after_tim_bytes(beacon: Option<u32>) -> u32 {
    match beacon {
        Some(bytes) => bytes.saturating_sub(beacon_bytes(1) - AFTER_TIM_BYTES),
        None => AFTER_TIM_BYTES,
    }
}

/// Kind of a frame on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CellFrameKind {
    /// QoS Data.
    Data,
    /// QoS Null.
    QosNull,
    /// Null.
    Null,
    /// PS-Poll.
    PsPoll,
    /// An action frame about target wake time.
    Action,
    /// Group-addressed Data.
    Group,
    /// Beacon.
    Beacon,
    /// Request to send.
    Rts,
    /// Clear to send.
    Cts,
    /// Acknowledgement.
    Ack,
    /// Acknowledgement of an aggregate.
    BlockAck,
    /// Question which frames of aggregates have arrived.
    BlockAckRequest,
    /// Basic Trigger frame, which a station answers with its own PPDU.
    Trigger,
}

impl CellFrameKind {
    /// The mode of frames of this kind on a link whose data has the mode `data`.
    pub(super) const fn mode(self, data: ModeId) -> ModeId {
        match self {
            Self::PsPoll
            | Self::Rts
            | Self::Cts
            | Self::Ack
            | Self::BlockAck
            | Self::BlockAckRequest
            | Self::Trigger => ModeId::CONTROL,
            // Management frames are sent at the lowest basic rate, as by Linux.
            Self::Beacon | Self::Action => ModeId::BEACON,
            Self::Group => ModeId::GROUP,
            Self::Data | Self::QosNull | Self::Null => data,
        }
    }

    /// The name in traces.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::QosNull => "qos-null",
            Self::Null => "null",
            Self::PsPoll => "ps-poll",
            Self::Action => "action",
            Self::Group => "group",
            Self::Beacon => "beacon",
            Self::Rts => "rts",
            Self::Cts => "cts",
            Self::Ack => "ack",
            Self::BlockAck => "block-ack",
            Self::BlockAckRequest => "block-ack-request",
            Self::Trigger => "trigger",
        }
    }
}

/// A node of the cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// The access point.
    AccessPoint,
    /// A station.
    Station(StationId),
    /// Everyone: beacons.
    All,
}

/// A frame as it was on the air.
#[derive(Clone, Debug, PartialEq)]
pub struct TracedFrame {
    /// When its preamble began.
    pub start: Instant,
    /// How long it lasted.
    pub duration: Span,
    /// Who sent it.
    pub from: Node,
    /// For whom.
    pub to: Node,
    /// The medium. The cell itself leaves it 0; the network sets it, and makes the numbers of stations those of the run.
    pub medium: MediumId,
    /// The index of its BSS on the medium.
    pub bss: u16,
    /// The traffic identifier of its access category.
    pub tid: u8,
    /// What it was.
    pub kind: CellFrameKind,
    /// How it was sent.
    pub vector: TxVector,
    /// MAC header to FCS, in bytes.
    pub bytes: u32,
    /// Whether its receiver got it.
    pub received: bool,
    /// Whether it was an attempt after the first.
    pub retry: bool,
    /// The power-management bit.
    pub pm: bool,
    /// More Data and EOSP.
    pub flags: ServiceFlags,
    /// 12-bit sequence number; 0 in control frames, which have none, and the first number of its bitmap in a BlockAck.
    pub sequence: u16,
    /// NAV that the frame announces: the Duration field.
    pub nav: Span,
    /// The IP packet inside.
    pub packet: Option<Packet>,
    /// What a beacon says; `None` for other frames.
    pub beacon: Option<BeaconContent>,
    /// What an action frame says; `None` for other frames.
    pub action: Option<WakeFrame>,
    /// The packets behind `packet` in an A-MSDU.
    pub joined: Vec<Packet>,
    /// Its place, if it is one of several frames of a PPDU: they begin together, and the first one has the duration of all.
    pub aggregate: Option<Aggregate>,
    /// Of a BlockAck: which of the numbers from `sequence` on have arrived.
    pub bitmap: MpduSet,
}

impl TracedFrame {
    /// The packets in it.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.packet.iter().chain(&self.joined)
    }

    /// The length of its packets, in words.
    pub(crate) fn content(&self) -> Option<String> {
        let bytes: u32 = self.packets().map(|packet| packet.bytes).sum();
        match self.joined.len() {
            0 => self.packet.map(|_| format!("{bytes} B")),
            joined => Some(format!("{} packets {bytes} B", joined + 1)),
        }
    }
}

/// The place of a frame in an A-MPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aggregate {
    /// The number of the A-MPDU in its trace.
    pub reference: u32,
    /// How many frames precede this one.
    pub place: u16,
    /// Number of frames.
    pub count: u16,
}

/// The TIM of a beacon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BeaconContent {
    /// Beacons before the next DTIM beacon; 0 in a DTIM beacon.
    pub dtim_count: u8,
    /// Whether group-addressed frames follow.
    pub group: bool,
    /// The stations whose bit is set.
    pub marked: Vec<StationId>,
}

/// Limits that the frames of one MAC are subject to.
#[derive(Clone, Copy, Debug)]
pub struct FrameLimits {
    /// Largest number of retransmissions of a frame.
    pub retries: u32,
    /// An RTS precedes PSDUs longer than this many bytes.
    pub rts_threshold: Option<u32>,
    /// Bytes that a data MPDU adds to an IP packet.
    pub overhead: u32,
}

impl FrameLimits {
    /// Whether an RTS precedes a PSDU of this length.
    pub(crate) fn wants_rts(&self, bytes: u32) -> bool {
        self.rts_threshold.is_some_and(|limit| bytes > limit)
    }

    /// Length of a data MPDU of `mpdu` bytes after another packet has joined it. `is_amsdu` says whether it has more than one already.
    pub const fn joined(&self, mpdu: u32, is_amsdu: bool, packet: u32) -> u32 {
        let header = self.overhead - LLC_SNAP_BYTES;
        let body = mpdu - header + if is_amsdu { 0 } else { AMSDU_HEADER_BYTES };
        header + body.next_multiple_of(AMSDU_ALIGNMENT) + AMSDU_HEADER_BYTES + LLC_SNAP_BYTES + packet
    }

    /// Whether the A-MSDU in an MPDU of `mpdu` bytes has at most `amsdu` bytes.
    pub const fn is_within(&self, mpdu: u32, amsdu: u32) -> bool {
        mpdu - (self.overhead - LLC_SNAP_BYTES) <= amsdu
    }

    /// Whether data frames have a QoS Control field.
    pub(crate) const fn has_qos_control(&self) -> bool {
        self.overhead >= QOS_OVERHEAD_BYTES
    }

    /// The attempt at a frame that `from` sends as `contender`, with this power-management bit and, if it is data, in this mode.
    #[inline]
    pub fn ppdu(
        &self,
        mpdu: &Mpdu,
        to: Receiver,
        data: ModeId,
        from: Member,
        contender: ContenderId,
        pm: bool,
    ) -> Ppdu {
        let (kind, bytes) = (mpdu.body.kind(), mpdu.body.frame_bytes(self.overhead));
        Ppdu {
            from,
            to,
            contender,
            kind,
            mode: kind.mode(data),
            count: 1,
            msdus: 1,
            window: 0,
            bytes,
            flags: mpdu.flags,
            retry: mpdu.retries > 0,
            sequence: mpdu.sequence,
            flow: mpdu.body.flow(),
            // What follows a Trigger frame is no response that an RTS could announce.
            rts: kind != CellFrameKind::Trigger && self.wants_rts(bytes),
            pm,
        }
    }
}

/// The frames of a PPDU on the air.
pub(super) type OnAir<'a> = std::iter::Take<std::collections::vec_deque::Iter<'a, Mpdu>>;
