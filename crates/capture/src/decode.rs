//! From the bytes of a packet to its record, through link layers, VLAN tags and GRE.
//!
//! A packet states its length on the link in the file, apart from the bytes that were captured, and nothing else confirms
//! it. So a length that no packet of its link type can have is a defect of the packet: it is noted, and the packet is left
//! out. An 802.11 frame is one MPDU. Elsewhere a packet may be a bundle of segments (GSO, GRO), which is as long as one IP
//! packet can state. Longer bundles (BIG TCP, up to 512 KiB and off by default) are left out with the rest.

use std::net::IpAddr;

use airwatt_base::{Instant, Seq, Span};
use airwatt_dot11::{
    AmpduStatus, Band, Capability, Frame, FrameKind, MacAddress, ManagementBody, QuietInterval, Radiotap,
    RadiotapFlags, TwtAction, TwtCommand, TwtSchedule, TwtSetup, WmmInfo, WnmSleep, amsdu_subframes,
    check_fcs, snap_payload,
};
use airwatt_energy::Radio;
use etherparse::LaxIpSlice;

use crate::absence::Absences;
use crate::capture::{CELL_BYTES, CUT, Capture, FileFormat, LinkType, Oversized};
use crate::decrypt::Decryption;
use crate::packet::{
    AirFrame, Beacon, BlockAck, CapturedPacket, GroupProtocol, Ip, PacketSink, SleepChange, TcpFields,
    TransportHeader,
};

/// Layers of tags and tunnels that are decoded; deeper nesting is an attack or a loop.
pub(crate) const DEPTH_LIMIT: u8 = 8;

/// Ethernet types (IEEE 802 numbers).
pub(crate) const TYPE_IPV4: u16 = 0x0800;
pub(crate) const TYPE_IPV6: u16 = 0x86dd;
pub(crate) const TYPE_PPPOE_SESSION: u16 = 0x8864;
pub(crate) const TYPE_TRANSPARENT_ETHERNET: u16 = 0x6558;
/// Aruba's access points tunnel 802.11 frames to their controller under these GRE protocol numbers.
pub(crate) const TYPES_ARUBA: std::ops::RangeInclusive<u16> = 0x8200..=0x83ff;

const PROTOCOL_ICMP: u8 = 1;
const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;
pub(crate) const PROTOCOL_GRE: u8 = 47;
const PROTOCOL_ICMP6: u8 = 58;

/// Radio profiles that a capture may have.
const PROFILE_LIMIT: usize = 256;

/// Length of the FCS at the end of a frame.
const FCS_BYTES: u32 = 4;

/// The longest MPDU with its FCS: that of VHT, HE and EHT (802.11-2020 table 9-34).
const MPDU_LIMIT_BYTES: u32 = 11_454;
/// Padding that a driver may put between header and body.
const MPDU_PADDING_BYTES: u32 = 4;
/// The longest IP packet: IPv6 does not count its header of 40 bytes in its 16-bit length.
const IP_LIMIT_BYTES: u32 = 65_535 + 40;
/// Headers before the IP packet of a station: link layer, VLAN tags, PPPoE, and the outer headers of GRE.
const LINK_HEADERS_BYTES: u32 = 256;

/// The layers of a packet that were decoded.
#[derive(Clone, Copy, Default)]
struct Layers {
    macs: Option<(MacAddress, MacAddress)>,
    ip: Option<Ip>,
}

/// Collects records while a file is read.
pub(crate) struct Decoder {
    /// The records so far, whose times count from 1970.
    pub(crate) capture: Capture,
    /// Association identifiers in all beacons together.
    aids: usize,
    /// The A-MPDU of the packet before, by its number and transmitter, unless that was its last.
    ampdu: Option<(u32, Option<MacAddress>)>,
    decryption: Decryption,
    /// Whether a frame has had an FCS that matched: one without protection, and one with it.
    fcs_matches: [bool; 2],
    memory_limit_bytes: u64,
}

impl Decoder {
    /// A decoder whose records may occupy `memory_limit_bytes`, and which opens protected frames with `decryption`.
    pub(crate) fn new(memory_limit_bytes: u64, decryption: Decryption) -> Self {
        let fcs_matches = [false; 2];
        Self {
            capture: Capture::default(),
            aids: 0,
            ampdu: None,
            decryption,
            fcs_matches,
            memory_limit_bytes,
        }
    }

    /// Memory of the records in bytes, without that of names, with what is found out about each cell later.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let records = self.capture.packets.capacity() * size_of::<CapturedPacket>()
            + self.capture.frames.capacity() * size_of::<AirFrame>()
            + self.capture.beacons.capacity() * size_of::<Beacon>()
            + self.capture.called.capacity() * size_of::<Vec<u16>>()
            + self.capture.block_acks.capacity() * size_of::<BlockAck>()
            + self.capture.wake_times.capacity() * size_of::<TwtSetup>()
            + self.aids * size_of::<u16>()
            + self.capture.networks.len() * CELL_BYTES;
        records as u64
    }

    /// Time of the first packet in nanoseconds since 1970.
    pub(crate) fn first_unix_ns(&self) -> Option<u64> {
        self.capture.packets.first().map(|packet| packet.at.as_nanos())
    }

    /// The time of the last packet, in nanoseconds since 1970.
    pub(crate) fn last_unix_ns(&self) -> Option<u64> {
        self.capture.packets.iter().map(|packet| packet.at.as_nanos()).max()
    }

    /// Appends the records of another file. Its packets are numbered on.
    pub(crate) fn append(&mut self, other: Self) {
        let (frames, beacons) = (self.capture.frames.len() as u32, self.capture.beacons.len() as u32);
        let (called, wake_times) = (self.capture.called.len() as u32, self.capture.wake_times.len() as u32);
        let block_acks = self.capture.block_acks.len() as u32;
        self.capture.packets.extend(other.capture.packets.into_iter().map(|packet| CapturedPacket {
            number: packet.number.saturating_add(self.capture.packets_in_file),
            frame: packet.frame.map(|frame| frame + frames),
            ..packet
        }));
        self.capture.frames.extend(other.capture.frames.into_iter().map(|frame| AirFrame {
            beacon: frame.beacon.map(|beacon| beacon + beacons),
            mu_rts: frame.mu_rts.map(|place| place + called),
            block_ack: frame.block_ack.map(|place| place + block_acks),
            sleep_change: frame.sleep_change.map(|change| match change {
                SleepChange::TwtAccepted(index) => SleepChange::TwtAccepted(index + wake_times),
                other => other,
            }),
            ..frame
        }));
        self.capture.beacons.extend(other.capture.beacons);
        self.capture.called.extend(other.capture.called);
        self.capture.block_acks.extend(other.capture.block_acks);
        self.capture.wake_times.extend(other.capture.wake_times);
        self.aids += other.aids;
        self.capture.packets_in_file =
            self.capture.packets_in_file.saturating_add(other.capture.packets_in_file);
        self.capture.bytes_on_link += other.capture.bytes_on_link;
        for link in other.capture.link_types {
            if !self.capture.link_types.contains(&link) {
                self.capture.link_types.push(link);
            }
        }
        for (bssid, network) in other.capture.networks {
            self.capture.networks.entry(bssid).or_default().append(network);
        }
        self.capture.radios.extend(other.capture.radios);
        let room = PROFILE_LIMIT.saturating_sub(self.capture.profiles.len());
        self.capture.profiles.extend(other.capture.profiles.into_iter().take(room));
        self.capture.associations.extend(other.capture.associations);
        self.capture.target_wakes.extend(other.capture.target_wakes);
        self.capture.without_uapsd.extend(other.capture.without_uapsd);
        self.capture.notes.append(other.capture.notes);
    }

    /// Hands over what was learnt of keys, for the next file of a capture.
    pub(crate) fn take_decryption(&mut self) -> Decryption {
        self.decryption.next_file();
        std::mem::take(&mut self.decryption)
    }

    /// Orders the packets of several files by time.
    pub(crate) fn sort_by_time(&mut self) {
        self.capture.packets.sort_by_key(|packet| packet.at);
    }

    /// Records a packet: its time in nanoseconds since 1970, its length on the link and the bytes that were captured.
    fn record(&mut self, link: LinkType, unix_ns: Option<u64>, original: u32, data: &[u8]) {
        if !self.capture.link_types.contains(&link) {
            self.capture.link_types.push(link);
        }
        let at = unix_ns.map(Instant::from_nanos).unwrap_or_else(|| {
            self.capture.notes.without_time += 1;
            self.capture.packets.last().map_or(Instant::ZERO, |p| p.at)
        });
        // Some tools leave the original length empty.
        let wire_bytes = original.max(u32::try_from(data.len()).unwrap_or(u32::MAX));
        let number = self.capture.packets_in_file;
        let limit_bytes = longest(link, data);
        if wire_bytes > limit_bytes {
            let first = Oversized { first: number, bytes: wire_bytes, limit_bytes, count: 0 };
            self.capture.notes.oversized.get_or_insert(first).count += 1;
            return;
        }
        self.capture.bytes_on_link += u64::from(wire_bytes);
        let mut packet = CapturedPacket {
            number,
            at,
            wire_bytes,
            macs: None,
            ip: None,
            frame: None,
            group: None,
            repeated: false,
        };
        if link.is_air() {
            self.air(link, packet, data);
            return;
        }
        let layers = match link {
            LinkType::Ethernet => ethernet(data, wire_bytes, 0),
            LinkType::RawIp => Layers { macs: None, ip: ip(data, wire_bytes, 0) },
            LinkType::Loopback => Layers {
                macs: None,
                ip: data.get(4..).and_then(|rest| ip(rest, wire_bytes.saturating_sub(4), 0)),
            },
            LinkType::LinuxCooked => cooked(data, wire_bytes, 14, 6, 16),
            LinkType::LinuxCooked2 => cooked(data, wire_bytes, 0, 12, 20),
            LinkType::Dot11 | LinkType::Radiotap => Layers::default(),
        };
        (packet.macs, packet.ip) = (layers.macs, layers.ip);
        if link == LinkType::Ethernet
            && packet.macs.is_some_and(|(_, destination)| destination.is_group())
            && let Some(kind) = data.get(12..14)
        {
            packet.group = Some(GroupProtocol::of(u16::from_be_bytes([kind[0], kind[1]]), &data[14..]));
        }
        self.capture.packets.push(packet);
    }

    /// Whether the FCS of a frame does not match, also if radiotap does not say so. Some monitors write frames with an FCS that never matches, or
    /// that matches no frame that they have decrypted: it counts once one of the kind has matched.
    fn is_wrong(&mut self, frame: &[u8]) -> bool {
        let is_protected = frame.get(1).is_some_and(|flags| flags & 0x40 != 0);
        let has_matched = &mut self.fcs_matches[usize::from(is_protected)];
        let matches = check_fcs(frame);
        *has_matched |= matches;
        *has_matched && !matches
    }

    /// Records an 802.11 frame with or without radiotap.
    fn air(&mut self, link: LinkType, mut packet: CapturedPacket, data: &[u8]) {
        let (radiotap, skip) = match link {
            LinkType::Radiotap => Radiotap::decode(data).unwrap_or_default(),
            _ => (Radiotap::default(), 0),
        };
        let unreadable = link == LinkType::Radiotap && skip == 0;
        let whole = data.len() as u32 >= packet.wire_bytes;
        let mut bytes = &data[skip.min(data.len())..];
        let mut length = packet.wire_bytes.saturating_sub(skip as u32);
        // Without radiotap only a checksum that matches shows that there is an FCS.
        let has_fcs = if link == LinkType::Radiotap {
            radiotap.flags.has(RadiotapFlags::FCS)
        } else {
            whole && check_fcs(bytes)
        };
        let is_wrong = has_fcs && whole && self.is_wrong(bytes);
        if has_fcs {
            length = length.saturating_sub(FCS_BYTES);
            bytes = &bytes[..bytes.len().min(length as usize)];
        }
        let padded = radiotap.flags.has(RadiotapFlags::DATA_PAD);
        let decoded = if padded { Frame::decode_padded(bytes) } else { Frame::decode(bytes) };
        let Some(frame) = decoded.ok().filter(|_| !unreadable) else {
            self.capture.packets.push(packet);
            return;
        };
        let mut found = air_frame(&frame, length, &radiotap);
        found.damaged |= is_wrong;
        if let Some(block_ack) = block_ack(&frame).filter(|_| !found.damaged) {
            found.block_ack = Some(self.capture.block_acks.len() as u32);
            self.capture.block_acks.push(block_ack);
        }
        found.is_continued = self.continues(&radiotap, &found);
        self.management(&frame, &mut found, whole);
        if let Some(aids) = called(&frame).filter(|_| !found.damaged) {
            let aids = aids.filter(|_| whole).collect::<Vec<_>>();
            self.aids += aids.capacity();
            found.mu_rts = Some(self.capture.called.len() as u32);
            self.capture.called.push(aids);
        }
        packet.macs = frame.header().source().map(|source| (source, frame.header().destination()));
        packet.frame = Some(self.capture.frames.len() as u32);
        let header = frame.header();
        let control = header.control;
        let readable = control.kind.has_payload() && !found.damaged;
        let opened =
            (readable && control.protected).then(|| self.decryption.open(&frame, whole, packet.number));
        let body = match &opened {
            None => frame.body(),
            Some(None) => &[],
            Some(Some(body)) => {
                found.msdu_bytes = (body.len() as u32).saturating_sub(8);
                body
            }
        };
        let readable = readable && opened != Some(None);
        if readable && !control.protected {
            self.decryption.observe(&frame, body);
        }
        if header.address1.is_group() && control.from_ds && !control.to_ds && control.kind.has_payload() {
            let inside = snap_payload(body).filter(|_| readable);
            let protocol = inside.map(|(kind, rest)| GroupProtocol::of(kind, rest));
            packet.group = Some(protocol.unwrap_or(GroupProtocol::Encrypted));
        }
        let amsdu = header.qos.is_some_and(|qos| qos.amsdu());
        self.capture.frames.push(found);
        if readable && amsdu {
            self.aggregate(packet, body);
            return;
        }
        if readable {
            packet.ip = logical_link(body, found.msdu_bytes, 0);
        }
        self.capture.packets.push(packet);
    }

    /// Whether a frame follows another one in its A-MPDU: the packet before is of the same and not the last of it.
    fn continues(&mut self, radiotap: &Radiotap, frame: &AirFrame) -> bool {
        let is_last = |ampdu: &AmpduStatus| ampdu.flags & AmpduStatus::IS_LAST != 0;
        let here = radiotap.ampdu.map(|ampdu| (ampdu.reference, frame.transmitter));
        let before = std::mem::replace(
            &mut self.ampdu,
            here.filter(|_| !radiotap.ampdu.as_ref().is_some_and(is_last)),
        );
        here.is_some() && here == before
    }

    /// One packet for each MSDU of an A-MSDU; the first keeps the frame.
    fn aggregate(&mut self, packet: CapturedPacket, body: &[u8]) {
        let before = self.capture.packets.len();
        for subframe in amsdu_subframes(body) {
            let frame = packet.frame.filter(|_| self.capture.packets.len() == before);
            let ip = logical_link(subframe.body, (subframe.length as u32).saturating_sub(8), 0);
            let macs = Some((subframe.source, subframe.destination));
            self.capture.packets.push(CapturedPacket { macs, ip, frame, ..packet });
        }
        if self.capture.packets.len() == before {
            self.capture.packets.push(packet);
        }
    }

    /// Reads what power save needs from management frames. `whole` says whether no byte of the frame is missing.
    fn management(&mut self, frame: &Frame<'_>, found: &mut AirFrame, whole: bool) {
        if found.damaged {
            return;
        }
        // An element that is not there may have been cut off.
        let known = |has: bool| (has || whole).then_some(has);
        match ManagementBody::decode(frame) {
            Ok(Some(ManagementBody::Beacon { timestamp_us, interval, capability, elements })) => {
                let Some(bssid) = found.bssid else { return };
                let is_beacon = found.control.kind == FrameKind::Beacon;
                let network = self.capture.networks.entry(bssid).or_default();
                network.interval = interval;
                network.is_whole |= whole;
                self.decryption.name(bssid, elements);
                if let Some(ssid) = elements.ssid().filter(|ssid| !ssid.iter().all(|byte| *byte == 0)) {
                    network.ssid = String::from_utf8_lossy(ssid).into_owned();
                }
                if let Some(wmm) = elements.wmm() {
                    network.uapsd = Some(wmm.ap_uapsd());
                    network.access = wmm.best_effort.or(network.access);
                }
                if !is_beacon {
                    return;
                }
                network.beacons += 1;
                network.beacon_bytes += u64::from(found.air_bytes);
                let tim = elements.tim();
                if let Some(tim) = tim {
                    network.dtim_period = tim.dtim_period;
                }
                network.announce(TwtSchedule::all(elements));
                // What was cut off may be what excuses.
                let may_have = |has: bool| has || !whole;
                self.capture.notes.beacons_cut |= !whole;
                let is_map_ambiguous =
                    tim.is_some_and(|tim| tim.first_octet > 0) && may_have(elements.has_several_bssids());
                let map = tim.filter(|_| !is_map_ambiguous);
                let aids = map.map_or_else(Vec::new, |tim| tim.aids().collect());
                let dtim = tim.map(|tim| (tim.dtim_count, tim.dtim_period));
                self.aids += aids.capacity();
                found.beacon = Some(self.capture.beacons.len() as u32);
                let group = tim.is_some_and(|tim| tim.dtim_count == 0 && tim.group);
                let is_tim_missing = tim.is_none() && whole && capability.has(Capability::ESS);
                self.capture.beacons.push(Beacon {
                    bssid,
                    interval,
                    dtim,
                    group,
                    is_tim_missing,
                    is_map_ambiguous,
                    is_multi_link: may_have(elements.is_multi_link()),
                    is_twt_responder: may_have(elements.is_twt_responder()),
                    timestamp_us,
                    aids,
                    group_goes_on: tim.is_some_and(|tim| tim.dtim_count > 0 && tim.group),
                    quiet: QuietInterval::all(elements).collect(),
                    absences: Absences::all(elements),
                    switches_channel: elements.switches_channel(),
                    has_broadcast_twt: may_have(elements.has_twt()),
                });
            }
            Ok(Some(ManagementBody::AssociationRequest { elements, listen_interval, .. })) => {
                self.decryption.name(frame.header().address1, elements);
                found.listen_interval = Some(listen_interval);
                let wmm = elements.wmm();
                found.requested_uapsd = wmm.map(WmmInfo::station_uapsd).or_else(|| whole.then_some(0));
                found.is_multi_link = known(elements.is_multi_link());
                found.supports_twt = known(elements.is_twt_requester());
            }
            Ok(Some(ManagementBody::AssociationResponse(response, elements))) if response.status == 0 => {
                found.aid = Some(response.aid);
                found.grants_uapsd = elements.wmm().map(WmmInfo::ap_uapsd).or_else(|| known(false));
                found.is_multi_link = known(elements.is_multi_link());
                found.supports_twt = known(elements.is_twt_responder());
            }
            _ => found.sleep_change = self.sleep_change(frame),
        }
    }

    /// What an action frame changes about the sleep of its station, or asks to change.
    fn sleep_change(&mut self, frame: &Frame<'_>) -> Option<SleepChange> {
        let control = frame.header().control;
        if control.kind != FrameKind::Action {
            return None;
        }
        if control.protected {
            return Some(SleepChange::Unreadable);
        }
        match TwtAction::decode(frame) {
            Ok(Some(TwtAction::Setup(
                setup @ TwtSetup { request: false, command: TwtCommand::Accept, .. },
            ))) => {
                self.capture.wake_times.push(setup);
                Some(SleepChange::TwtAccepted(self.capture.wake_times.len() as u32 - 1))
            }
            Ok(Some(TwtAction::Setup(setup))) => Some(match setup.request {
                true => SleepChange::TwtRequested,
                false => SleepChange::TwtRefused,
            }),
            Ok(Some(TwtAction::Teardown { flow })) => Some(SleepChange::TwtEnded(flow)),
            // A station that asks for the next time does not suspend, and a response is to come.
            Ok(Some(TwtAction::Information { flow, next_requested: false, next: None, .. })) => {
                Some(SleepChange::TwtSuspended(flow))
            }
            Ok(Some(TwtAction::Information { flow, next: Some((next_us, _)), .. })) => {
                Some(SleepChange::TwtResumed(flow, next_us as u32))
            }
            _ => WnmSleep::decode(frame).ok().flatten().map(SleepChange::Wnm),
        }
    }

    /// The capture of the records, of a file of `bytes`. Its times still count from 1970, and it has no segments yet.
    pub(crate) fn into_capture(self, file: &str, format: FileFormat, bytes: u64) -> Capture {
        Capture { file: file.to_owned(), format, bytes, ..self.capture }
    }
}

impl PacketSink for Decoder {
    fn dropped(&mut self, packets: u64) {
        self.capture.notes.dropped = packets;
    }

    fn comment(&mut self, text: &str) {
        self.capture.notes.original_cut |= text == CUT;
        if let Some((name, profile)) =
            text.strip_prefix("profile of radio ").and_then(|rest| rest.split_once(":\n"))
        {
            // What is no profile is a comment of somebody else.
            if let Some(radio) =
                Radio::from_toml(profile, name).ok().filter(|_| self.capture.profiles.len() < PROFILE_LIMIT)
            {
                self.capture.profiles.insert(name.to_owned(), radio);
            }
            return;
        }
        let of = |what: &str| {
            let (mac, value) = text.strip_prefix(what)?.split_once(": ")?;
            Some((mac.parse().ok()?, value))
        };
        if let Some((mac, radio)) = of("radio of ") {
            self.capture.radios.insert(mac, radio.to_owned());
        } else if let Some((mac, aid)) = of("AID of ").and_then(|(mac, aid)| Some((mac, aid.parse().ok()?))) {
            self.capture.associations.insert(mac, aid);
        } else if let Some((mac, _)) = of("target wake time of ") {
            self.capture.target_wakes.insert(mac);
        } else if let Some((mac, "none")) = of("U-APSD of ") {
            self.capture.without_uapsd.insert(mac);
        }
    }

    fn packet(&mut self, link: u32, unix_ns: Option<u64>, original: u32, data: &[u8]) {
        self.capture.packets_in_file = self.capture.packets_in_file.saturating_add(1);
        match LinkType::from_number(link) {
            Some(link) => self.record(link, unix_ns, original, data),
            None => self.capture.notes.skipped_link_type += 1,
        }
    }

    fn is_empty(&self) -> bool {
        self.capture.packets.is_empty()
    }

    fn is_full(&self) -> bool {
        self.memory_bytes() > self.memory_limit_bytes
    }
}

/// The longest packet of a link type in bytes, with the headers that `data` begins with.
fn longest(link: LinkType, data: &[u8]) -> u32 {
    let mpdu = MPDU_LIMIT_BYTES + MPDU_PADDING_BYTES;
    match link {
        LinkType::Dot11 => mpdu,
        // Radiotap states its own length in octets 2 and 3, little-endian.
        LinkType::Radiotap => {
            mpdu + data.get(2..4).map_or(0, |l| u32::from(u16::from_le_bytes([l[0], l[1]])))
        }
        _ => IP_LIMIT_BYTES + LINK_HEADERS_BYTES,
    }
}

/// The record of a frame of `length` bytes without its FCS.
fn air_frame(frame: &Frame<'_>, length: u32, radiotap: &Radiotap) -> AirFrame {
    let header = frame.header();
    let control = header.control;
    let from_ap = control.from_ds && !control.to_ds;
    AirFrame {
        control,
        receiver: header.address1,
        transmitter: header.address2,
        bssid: header.bssid(),
        sequence_control: header.sequence_control,
        tid: header.qos.map(|qos| qos.tid()),
        // The bit means queue size in frames from stations.
        eosp: from_ap && header.qos.is_some_and(|qos| qos.eosp()),
        aid: header.ps_poll_aid(),
        requested_uapsd: None,
        is_multi_link: None,
        supports_twt: None,
        sleep_change: None,
        listen_interval: None,
        grants_uapsd: None,
        beacon: None,
        air_bytes: length + FCS_BYTES,
        msdu_bytes: msdu_bytes(frame, length),
        received_us: radiotap.tsft_us,
        band: radiotap.channel.map(|channel| band_of(channel.frequency_mhz)),
        vector: radiotap.vector(),
        is_continued: false,
        sent_here: radiotap.tx_flags.is_some(),
        damaged: radiotap.flags.has(RadiotapFlags::BAD_FCS),
        reserves: reserved(header.duration_id),
        is_bufferable: is_bufferable(frame),
        mu_rts: None,
        block_ack: None,
    }
}

/// What a compressed block acknowledgement of 64 or 256 MPDUs says.
fn block_ack(frame: &Frame<'_>) -> Option<BlockAck> {
    let (fixed, bits) = frame.body().split_at_checked(4)?;
    let control = u16::from_le_bytes([fixed[0], fixed[1]]);
    let is_compressed = frame.header().control.kind == FrameKind::BlockAck && control >> 1 & 0x0f == 2;
    let mut bitmap = [0; 32];
    let known =
        bitmap.get_mut(..bits.len()).filter(|known| is_compressed && matches!(known.len(), 8 | 32))?;
    known.copy_from_slice(bits);
    Some(BlockAck {
        tid: (control >> 12) as u8,
        start: u16::from_le_bytes([fixed[2], fixed[3]]) >> 4,
        bitmap,
    })
}

/// The band of a channel by its centre frequency: channel 177 at 5885 MHz is the last of 5 GHz, channel 2 at 5935 MHz the first of
/// 6 GHz (802.11-2020 and 802.11ax-2021 annex E).
const fn band_of(frequency_mhz: u16) -> Band {
    match frequency_mhz {
        0..3_000 => Band::Ghz2,
        3_000..5_925 => Band::Ghz5,
        _ => Band::Ghz6,
    }
}

/// What a Duration field reserves; with its highest bit it is none, but an association identifier (802.11-2020 table 9-10).
fn reserved(duration_id: u16) -> Span {
    Span::from_micros(if duration_id & 0x8000 == 0 { u64::from(duration_id) } else { 0 })
}

/// The type of a Trigger frame that calls stations, in the lowest bits of its first octet (802.11ax-2021 9.3.1.22).
const MU_RTS: u8 = 3;

/// The association identifiers that a MU-RTS calls; `None` of another frame. Behind eight octets for all stations it has five for each, which
/// begin with twelve bits of its identifier, and with 4095 its padding begins (802.11ax-2021 9.3.1.22).
pub(crate) fn called(frame: &Frame<'_>) -> Option<impl Iterator<Item = u16>> {
    let body = frame.body();
    let is_mu_rts = frame.header().control.kind == FrameKind::TRIGGER && body.first()? & 0x0f == MU_RTS;
    let users = body.get(8..).unwrap_or_default().chunks_exact(5);
    let aids = users.map(|user| u16::from_le_bytes([user[0], user[1]]) & 0x0fff);
    is_mu_rts.then(|| aids.take_while(|aid| *aid != 0x0fff))
}

/// Whether it is an action frame that is buffered as data is: all are but those of fine timing measurement (802.11-2020 11.2.2), and those
/// that an access point broadcasts at times of their own: Measurement Pilot, FILS Discovery, and TIM.
fn is_bufferable(frame: &Frame<'_>) -> bool {
    let control = frame.header().control;
    let is_timed = !control.protected
        && match frame.body() {
            [4, 32 | 33, ..] => true,
            [4, 7 | 34, ..] | [11, 0, ..] => frame.header().address1.is_group(),
            _ => false,
        };
    control.kind == FrameKind::Action && !is_timed
}

/// Bytes of what the body carries above LLC/SNAP (8 bytes), without what the cipher adds: WEP 4 + 4, TKIP 8 + 4 and
/// Michael's 8, CCMP and GCMP with the short MIC 8 + 8 (802.11-2020 12.3.2, 12.5.2.2, 12.5.3.2).
fn msdu_bytes(frame: &Frame<'_>, length: u32) -> u32 {
    let control = frame.header().control;
    if !control.kind.has_payload() {
        return 0;
    }
    let cipher = match frame.body() {
        _ if !control.protected => 0,
        // WEP does not set the extended IV bit; TKIP's second octet repeats its first with bit 5 set and bit 7 clear.
        [_, _, _, key, ..] if key & 0x20 == 0 => 8,
        [first, second, third, ..] if *second == (*first | 0x20) & 0x7f && *third != 0 => 20,
        _ => 16,
    };
    length.saturating_sub(frame.header().encoded_len() as u32 + cipher + 8)
}

/// An Ethernet frame of `length` bytes on the link.
fn ethernet(data: &[u8], length: u32, depth: u8) -> Layers {
    let Some((header, rest)) = data.split_first_chunk::<14>() else { return Layers::default() };
    let [d0, d1, d2, d3, d4, d5, s0, s1, s2, s3, s4, s5, t0, t1] = *header;
    let destination = MacAddress([d0, d1, d2, d3, d4, d5]);
    let source = MacAddress([s0, s1, s2, s3, s4, s5]);
    let kind = u16::from_be_bytes([t0, t1]);
    let length = length.saturating_sub(14);
    // Below 1,536 the field is a length, and LLC follows (IEEE 802.3 3.2.6).
    let ip = if kind < 0x0600 {
        logical_link(rest, length.saturating_sub(8), depth)
    } else {
        network(kind, rest, length, depth)
    };
    Layers { macs: Some((source, destination)), ip }
}

/// Linux cooked capture: where the protocol and the sender's address stand, and how long the header is.
fn cooked(data: &[u8], length: u32, protocol_at: usize, address_at: usize, header: usize) -> Layers {
    let Some(rest) = data.get(header..) else { return Layers::default() };
    let kind = u16::from_be_bytes([data[protocol_at], data[protocol_at + 1]]);
    let mut octets = [0; 6];
    octets.copy_from_slice(&data[address_at..address_at + 6]);
    // The header holds the sender's address alone; the zero address stands for the unknown receiver.
    let macs = (octets != [0; 6]).then(|| (MacAddress(octets), MacAddress::default()));
    Layers { macs, ip: network(kind, rest, length.saturating_sub(header as u32), 0) }
}

/// An LLC body; `length` counts from the end of LLC and SNAP.
fn logical_link(data: &[u8], length: u32, depth: u8) -> Option<Ip> {
    let (kind, rest) = snap_payload(data)?;
    network(kind, rest, length, depth)
}

/// The packet of an Ethernet type, also within VLAN tags.
fn network(kind: u16, data: &[u8], length: u32, depth: u8) -> Option<Ip> {
    if depth > DEPTH_LIMIT {
        return None;
    }
    match kind {
        TYPE_IPV4 | TYPE_IPV6 => ip(data, length, depth),
        // 802.1Q, 802.1ad and what came before it: tag, then the next type.
        0x8100 | 0x88a8 | 0x9100 => {
            let (tag, rest) = data.split_first_chunk::<4>()?;
            network(u16::from_be_bytes([tag[2], tag[3]]), rest, length.saturating_sub(4), depth + 1)
        }
        // PPPoE: six bytes, then a PPP protocol number (RFC 2516).
        TYPE_PPPOE_SESSION => match data.get(6..8)? {
            [0x00, 0x21 | 0x57] => ip(&data[8..], length.saturating_sub(8), depth),
            _ => None,
        },
        _ => None,
    }
}

/// An IP packet of either version; `length` is what the link left for it.
fn ip(data: &[u8], length: u32, depth: u8) -> Option<Ip> {
    let (slice, _) = LaxIpSlice::from_slice(data).ok()?;
    let (source, destination, stated, headers): (IpAddr, IpAddr, u32, u32) = match &slice {
        LaxIpSlice::Ipv4(v4) => {
            let header = v4.header();
            let options = v4.extensions().auth.as_ref().map_or(0, |auth| auth.slice().len());
            (
                header.source_addr().into(),
                header.destination_addr().into(),
                header.total_len().into(),
                (header.slice().len() + options) as u32,
            )
        }
        LaxIpSlice::Ipv6(v6) => {
            let header = v6.header();
            let payload = u32::from(header.payload_length());
            (
                header.source_addr().into(),
                header.destination_addr().into(),
                if payload == 0 { 0 } else { payload + 40 },
                (40 + v6.extensions().slice().len()) as u32,
            )
        }
    };
    // Segmentation offload leaves the stated length zero; the link's length replaces it.
    let bytes = if stated == 0 { length } else { stated };
    let payload = slice.payload();
    let rest = bytes.saturating_sub(headers);
    let protocol = payload.ip_number.0;
    if protocol == PROTOCOL_GRE
        && !payload.fragmented
        && let Some(inner) = tunnelled(payload.payload, rest, depth)
    {
        return Some(inner);
    }
    let transport = transport(protocol, payload.payload, rest, payload.fragmented);
    Some(Ip { source, destination, bytes, transport })
}

/// How long the header of GRE is, and what follows. `None` for other versions than 0.
pub(crate) fn gre(data: &[u8]) -> Option<(usize, u16)> {
    let (header, _) = data.split_first_chunk::<4>()?;
    let flag = |bit: u8| usize::from(header[0] & bit != 0) * 4;
    // Checksum (or the obsolete routing), key and sequence number take four bytes each.
    let length = 4 + flag(0x80 | 0x40) + flag(0x20) + flag(0x10);
    (header[1] & 7 == 0).then_some((length, u16::from_be_bytes([header[2], header[3]])))
}

/// GRE (RFC 2784, RFC 2890) with IP, Ethernet or an access point's 802.11 frames inside.
fn tunnelled(data: &[u8], length: u32, depth: u8) -> Option<Ip> {
    let (skip, kind) = gre(data).filter(|_| depth <= DEPTH_LIMIT)?;
    let rest = data.get(skip..)?;
    let length = length.saturating_sub(skip as u32);
    match kind {
        TYPE_TRANSPARENT_ETHERNET => ethernet(rest, length, depth + 1).ip,
        kind if TYPES_ARUBA.contains(&kind) => {
            let frame = Frame::decode(rest).ok()?;
            let readable = frame.header().control.kind.has_payload() && !frame.header().control.protected;
            let above_llc = length.saturating_sub(frame.header().encoded_len() as u32 + 8);
            if readable { logical_link(frame.body(), above_llc, depth + 1) } else { None }
        }
        kind => network(kind, rest, length, depth + 1),
    }
}

/// The transport header. Read here, since a capture that keeps the first bytes only may cut TCP's options off, and the
/// fields before them are whole.
fn transport(protocol: u8, data: &[u8], length: u32, fragment: bool) -> TransportHeader {
    let port = |at: usize| u16::from_be_bytes([data[at], data[at + 1]]);
    let word = |at: usize| u32::from_be_bytes([data[at], data[at + 1], data[at + 2], data[at + 3]]);
    match protocol {
        // The first fragment has the ports, but the others cannot be distinguished from it here.
        _ if fragment => TransportHeader::Other(protocol),
        PROTOCOL_TCP if data.len() >= 20 => TransportHeader::Tcp(TcpFields {
            source_port: port(0),
            destination_port: port(2),
            sequence: Seq::new(word(4)),
            acknowledgement: Seq::new(word(8)),
            flags: data[13],
            window: port(14),
            payload: length.saturating_sub(u32::from(data[12] >> 4) * 4),
        }),
        PROTOCOL_UDP if data.len() >= 4 => {
            TransportHeader::Udp { source_port: port(0), destination_port: port(2) }
        }
        // Type, code, checksum, identifier, number.
        PROTOCOL_ICMP | PROTOCOL_ICMP6 if data.len() >= 8 && matches!(data[0], 0 | 8 | 128 | 129) => {
            let reply = matches!(data[0], 0 | 129);
            TransportHeader::Echo { protocol, identifier: port(4), number: port(6), reply }
        }
        _ => TransportHeader::Other(protocol),
    }
}
