//! 802.11 frames of a run, byte by byte.

use airwatt_dot11::{
    BasicTrigger, BeaconFields, Capability, Elements, FrameControl, FrameKind, MacAddress, MacHeader,
    QosControl, TimFields, encapsulate,
};

use super::{FCS_BYTES, first_bit_us, group, packet, target_wake};
use crate::media::cell::frame::{
    BeaconContent, CellFrameKind, Node, QOS_OVERHEAD_BYTES, TracedFrame, block_ack_bytes,
};
use crate::packet::{GroupPacket, Packet, Payload};
use crate::record::{CellSetting, Setting};
use airwatt_dot11::Standard;

/// The address of the access point and its BSS, locally administered like the others.
const ACCESS_POINT: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
/// The next hop beyond the access point, to and from which all packets go.
const ROUTER: MacAddress = MacAddress([2, 0, 0, 0, 0, 2]);
const SSID: &[u8] = b"airwatt";
const ETHER_TYPE_IPV4: u16 = 0x0800;
/// E2TCP has no EtherType of its own: this is the first one for local experiments (IEEE 802, 9.2.3).
const ETHER_TYPE_E2TCP: u16 = 0x88b5;
/// Bit 7 of the QoS information octet: the access point offers U-APSD.
const WMM_UAPSD: u8 = 0x80;
/// The BA Control field of a compressed BlockAck, and the BAR Control field of a request for one (802.11-2020 table 9-28).
const COMPRESSED_BITMAP: u16 = 2 << 1;
/// The fragment number of a BlockAck says how long its bitmap is; this is the one of 256 bits (802.11ax 9.3.1.8.2).
const LONG_BITMAP: u16 = 4;
const ID_VENDOR: u8 = 221;
/// A locally administered OUI, which belongs to no vendor.
const NO_VENDOR: [u8; 3] = [2, 0, 0];
/// Largest value of a duration field that is a duration (802.11-2020 9.2.4.2).
const MAX_DURATION_US: u64 = 32_767;
/// Bits from the first bit of a beacon's header to its timestamp, which is the time of the transmission of the
/// timestamp field itself.
const BEACON_HEADER_BITS: u64 = 24 * 8;

/// The address of a cell's access point, and of its BSS.
fn bssid(setting: &Setting, cell: &CellSetting) -> MacAddress {
    let number = setting.cells.iter().position(|other| other.name == cell.name).unwrap_or(0) as u16;
    match number.to_be_bytes() {
        [0, 0] => ACCESS_POINT,
        [high, low] => MacAddress([2, 0, 0, 1, high, low]),
    }
}

/// The address of a station.
pub(super) fn station_address(number: u16) -> MacAddress {
    let [high, low] = (number + 1).to_be_bytes();
    MacAddress([2, 0, 0, 0, 1 + high, low])
}

fn address(setting: &Setting, cell: &CellSetting, node: Node) -> MacAddress {
    match node {
        Node::AccessPoint => bssid(setting, cell),
        Node::Station(station) => station_address(station as u16),
        Node::All => MacAddress::BROADCAST,
    }
}

/// Appends the frame without its FCS, as far as its bytes are known, to an empty `out`. Returns its length with the
/// unknown bytes.
pub(super) fn encode(setting: &Setting, cell: &CellSetting, frame: &TracedFrame, out: &mut Vec<u8>) -> usize {
    header(setting, cell, frame).encode(out);
    if frame.kind == CellFrameKind::BlockAck {
        // Best effort's TID is 0. Bits for 64 or 256 frames follow the number of the first one, whose fragment number says which (9.3.1.8).
        let is_long = frame.bytes > block_ack_bytes(64);
        let (words, length) = if is_long { (4, LONG_BITMAP) } else { (1, 0) };
        let control = COMPRESSED_BITMAP | u16::from(frame.tid) << 12;
        out.extend_from_slice(&control.to_le_bytes());
        out.extend_from_slice(&(frame.sequence << 4 | length).to_le_bytes());
        frame.bitmap.words().iter().take(words).for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
    }
    if frame.kind == CellFrameKind::BlockAckRequest {
        let control = COMPRESSED_BITMAP | u16::from(frame.tid) << 12;
        out.extend_from_slice(&control.to_le_bytes());
        out.extend_from_slice(&(frame.sequence << 4).to_le_bytes());
    }
    if let (CellFrameKind::Trigger, Node::Station(station)) = (frame.kind, frame.to) {
        BasicTrigger { aid: setting.stations[station as usize].aid }.encode(out);
    }
    if let Some(frame) = frame.action {
        target_wake::push_action(frame, out);
    }
    if let Some(content) = &frame.beacon {
        beacon(setting, cell, frame, content, out);
        if let Some(schedule) = cell.schedule {
            target_wake::push_schedule(schedule, frame.start, out);
        }
        fill(out, (frame.bytes as usize).saturating_sub(FCS_BYTES));
    }
    let mut whole = out.len();
    let body = out.len();
    for packet in frame.packets() {
        if !frame.joined.is_empty() {
            // The packet before ends here, and what is known of its payload is that there is one.
            out.resize(body + (whole - body).next_multiple_of(4), 0);
            subframe(setting, cell, frame, packet, out);
        }
        let ether_type = match packet.payload {
            Payload::E2tcp(_) => ETHER_TYPE_E2TCP,
            Payload::Group(neighbour) => group::ether_type(neighbour),
            _ => ETHER_TYPE_IPV4,
        };
        encapsulate(ether_type, out);
        whole = out.len() + packet.bytes as usize;
        packet::encode(setting, packet, out);
    }
    whole
}

/// Appends what precedes a packet of an A-MSDU: where it goes, where it came from, and its length with LLC and SNAP (9.3.2.2).
fn subframe(setting: &Setting, cell: &CellSetting, frame: &TracedFrame, packet: &Packet, out: &mut Vec<u8>) {
    const LLC_SNAP_BYTES: u32 = 8;
    let has_ds = cell.access_point.is_some();
    let end = |node| match node {
        Node::AccessPoint if has_ds => ROUTER,
        _ => address(setting, cell, node),
    };
    out.extend_from_slice(&end(frame.to).0);
    out.extend_from_slice(&end(frame.from).0);
    out.extend_from_slice(&((packet.bytes + LLC_SNAP_BYTES) as u16).to_be_bytes());
}

fn kind_of(frame: &TracedFrame) -> FrameKind {
    match frame.kind {
        CellFrameKind::Data => {
            let packet = frame.packet.map_or(0, |packet| packet.bytes);
            if frame.bytes.saturating_sub(packet) < QOS_OVERHEAD_BYTES {
                FrameKind::Data
            } else {
                FrameKind::QosData
            }
        }
        CellFrameKind::Group => FrameKind::Data,
        CellFrameKind::QosNull => FrameKind::QosNull,
        CellFrameKind::Null => FrameKind::Null,
        CellFrameKind::PsPoll => FrameKind::PsPoll,
        CellFrameKind::Action => FrameKind::Action,
        CellFrameKind::Beacon => FrameKind::Beacon,
        CellFrameKind::Rts => FrameKind::Rts,
        CellFrameKind::Cts => FrameKind::Cts,
        CellFrameKind::Ack => FrameKind::Ack,
        CellFrameKind::BlockAck => FrameKind::BlockAck,
        CellFrameKind::BlockAckRequest => FrameKind::BlockAckRequest,
        CellFrameKind::Trigger => FrameKind::TRIGGER,
    }
}

/// The group-addressed packet in a frame.
fn neighbour(frame: &TracedFrame) -> Option<GroupPacket> {
    match frame.packet?.payload {
        Payload::Group(packet) => Some(packet),
        _ => None,
    }
}

fn header(setting: &Setting, cell: &CellSetting, frame: &TracedFrame) -> MacHeader {
    let kind = kind_of(frame);
    let from_station = matches!(frame.from, Node::Station(_));
    let mut control = FrameControl::new(kind);
    control.retry = frame.retry;
    control.power_management = frame.pm;
    control.more_data = frame.flags.more_data;
    // An ad-hoc network has no distribution system.
    let has_ds = kind.is_data() && cell.access_point.is_some();
    control.to_ds = has_ds && from_station;
    control.from_ds = has_ds && !from_station;
    let to = neighbour(frame).map_or_else(|| address(setting, cell, frame.to), group::destination);
    let mut header = MacHeader::new(control, to);
    header.duration_id = match (frame.kind, frame.from) {
        // The field contains the AID with both top bits set (9.2.4.2).
        (CellFrameKind::PsPoll, Node::Station(station)) => 0xc000 | setting.stations[station as usize].aid,
        _ => frame.nav.as_nanos().div_ceil(1_000).min(MAX_DURATION_US) as u16,
    };
    header.address2 = Some(address(setting, cell, frame.from));
    // Null frames end at the access point; packets go further.
    let end = match neighbour(frame) {
        Some(packet) => group::source(packet),
        // The packets of an A-MSDU have their ends with them (table 9-30).
        None if frame.packet.is_some() && frame.joined.is_empty() && has_ds => ROUTER,
        None => bssid(setting, cell),
    };
    header.address3 = Some(end);
    header.sequence_control = Some(frame.sequence << 4);
    header.qos =
        Some(QosControl::new(frame.tid).with_eosp(frame.flags.eosp).with_amsdu(!frame.joined.is_empty()));
    header
}

fn beacon(
    setting: &Setting,
    cell: &CellSetting,
    frame: &TracedFrame,
    &BeaconContent { dtim_count, group, ref marked }: &BeaconContent,
    out: &mut Vec<u8>,
) {
    let aids: Vec<u16> = marked.iter().map(|station| setting.stations[*station as usize].aid).collect();
    // Rates are multiples of 500 kbit/s, mandatory ones with bit 7.
    let (rates, ds_channel): (&[u8], _) = match cell.standard {
        Standard::B => (&[0x82, 0x84, 0x8b, 0x96], Some(1)),
        standard => {
            let ds_channel = standard.is_2_4_ghz().then_some(1);
            (&[0x8c, 0x12, 0x98, 0x24, 0xb0, 0x48, 0x60, 0x6c], ds_channel)
        }
    };
    let has_short_slots = cell.standard.is_2_4_ghz() && cell.standard != Standard::B;
    let short_slot = if has_short_slots { Capability::SHORT_SLOT } else { 0 };
    let short_preamble = if cell.short_preamble { Capability::SHORT_PREAMBLE } else { 0 };
    let header_us = BEACON_HEADER_BITS * 1_000_000 / frame.vector.rate().as_bps();
    BeaconFields {
        timestamp_us: first_bit_us(cell, frame) + header_us,
        interval: cell.beacon_interval,
        capability: Capability(Capability::ESS | short_slot | short_preamble),
        ssid: SSID,
        rates,
        ds_channel,
        tim: TimFields { dtim_count, dtim_period: cell.dtim_period, group, aids: &aids },
        wmm: Some(if cell.uapsd { WMM_UAPSD } else { 0 }),
        access: Some(cell.access),
    }
    .encode(out);
}

/// Fills up to `length` bytes with vendor-specific elements, for content of which the simulator knows only the length. They
/// need room for an OUI at least.
pub(super) fn fill(out: &mut Vec<u8>, length: usize) {
    const ELEMENT_HEADER_BYTES: usize = 2;
    const LEAST: usize = ELEMENT_HEADER_BYTES + NO_VENDOR.len();
    const MOST: usize = ELEMENT_HEADER_BYTES + u8::MAX as usize;
    let mut room = length.saturating_sub(out.len());
    while room >= LEAST {
        // The bytes that a longest element leaves have to hold another one.
        let bytes = if (MOST + 1..MOST + LEAST).contains(&room) { room - LEAST } else { room.min(MOST) };
        let mut contents = vec![0; bytes - ELEMENT_HEADER_BYTES];
        contents[..NO_VENDOR.len()].copy_from_slice(&NO_VENDOR);
        Elements::push(out, ID_VENDOR, &contents);
        room -= bytes;
    }
}
