//! A copy of a capture without names, addresses and contents, for a bug report.
//!
//! Only what is decoded stays, field by field: times, lengths, the fields of radiotap that an analysis reads, and the headers from which it
//! follows: frame control, sequence and QoS control, TIM, rates, access parameters; of IP, TCP, UDP and SCTP lengths, flags,
//! ports, sequence and acknowledgement numbers. Addresses are numbered in the order in which they come, apart from groups that
//! standards name; whether one is local stays. Everything else is zero: SSIDs, payloads, encrypted bodies, options, host names,
//! and whatever stands where nothing is defined. Checksums that were right are right again, and that of UDP and TCP is left out.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::{ControlFlow, Range};
use std::path::Path;

use airwatt_dot11::{
    Frame, FrameControl, FrameKind, MacAddress, QosControl, Radiotap, RadiotapFlags, check_fcs, fcs,
};

use crate::analyze::AnalysisProgress;
use crate::capture::LinkType;
use crate::copy::Writer;
use crate::decode::called;
use crate::error::{AnalyzeError, CaptureError};
use crate::file::{End, Reading, read_to_sink, sources};
use crate::packet::PacketSink;
use crate::power_save::GCR_CONCEALMENT;
use crate::stations::is_private;

mod fields;
mod network;

/// Set in the fourth byte of an encrypted body that begins with a packet number (802.11-2020 12.5.3.2); WEP does not set it.
const EXTENDED_IV: u8 = 1 << 5;
const FCS_BYTES: usize = 4;

/// Writes the capture at `path` (`-` is standard input) to `out` as pcapng without what it says about its users. `opened` is called when the files
/// are open and nothing of them has been read.
///
/// # Errors
/// [`AnalyzeError`]: the capture cannot be read or has no packets, or `out` failed.
pub fn anonymize(
    path: &Path,
    out: &mut dyn io::Write,
    opened: impl FnOnce() -> io::Result<()>,
    watch: &mut dyn FnMut(AnalysisProgress) -> ControlFlow<()>,
) -> Result<(), AnalyzeError> {
    let failed = |error: io::Error| AnalyzeError::Output(error.to_string());
    let mut files = sources::of(path)?;
    for file in &mut files {
        file.open()?;
    }
    opened().map_err(|error| AnalyzeError::Option(error.to_string()))?;
    let mut sink =
        Sink { out: Writer::new(out, "anonymized".to_owned()).map_err(failed)?, masks: Masks::default() };
    for file in files {
        let name = file.name.clone();
        let read = read_to_sink(file, &mut sink, &mut |bytes| {
            watch(AnalysisProgress::Reading(Reading { bytes, of: None }))
        })?;
        match read.end {
            End::Damaged(what) if sink.out.is_empty() => {
                return Err(CaptureError::NotACapture(name, what.to_owned()).into());
            }
            end => sink.out.ended(&end),
        }
    }
    if sink.out.is_empty() {
        let file = path.to_string_lossy().into_owned();
        return Err(CaptureError::NoPackets { file, oversized: None, is_cut: sink.out.is_cut() }.into());
    }
    sink.out.finish().map_err(failed)
}

struct Sink<'a> {
    out: Writer<'a>,
    masks: Masks,
}

impl PacketSink for Sink<'_> {
    fn packet(&mut self, link: u32, unix_ns: Option<u64>, original: u32, data: &[u8]) {
        let masked = self.masks.packet(link, original, data);
        self.out.packet(link, unix_ns, original, &masked, Vec::new());
    }

    fn comment(&mut self, text: &str) {
        self.out.comment(text);
    }

    fn dropped(&mut self, packets: u64) {
        self.out.dropped(packets);
    }

    fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    fn is_full(&self) -> bool {
        self.out.is_full()
    }
}

/// Addresses with the numbers that stand for them.
#[derive(Debug, Default)]
struct Masks {
    macs: BTreeMap<MacAddress, u32>,
    v4: BTreeMap<Ipv4Addr, u32>,
    v6: BTreeMap<Ipv6Addr, u32>,
}

/// A packet, and its copy, which begins as zeros.
struct Copy<'a> {
    from: &'a [u8],
    to: Vec<u8>,
    /// Tags and tunnels around the present place.
    depth: u8,
}

impl Copy<'_> {
    /// Keeps bytes as they are, as far as there are any.
    fn keep(&mut self, bytes: Range<usize>) {
        let end = bytes.end.min(self.from.len());
        let start = bytes.start.min(end);
        self.to[start..end].copy_from_slice(&self.from[start..end]);
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.to[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn array<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.from.get(at..)?.first_chunk().copied()
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.from.get(at).copied()
    }

    fn be16(&self, at: usize) -> Option<u16> {
        self.array(at).map(u16::from_be_bytes)
    }

    fn le16(&self, at: usize) -> Option<u16> {
        self.array(at).map(u16::from_le_bytes)
    }
}

impl Masks {
    fn packet(&mut self, link: u32, original: u32, data: &[u8]) -> Vec<u8> {
        let mut copy = Copy { from: data, to: vec![0; data.len()], depth: 0 };
        let is_whole = data.len() as u64 >= u64::from(original);
        // A header that is cut short ends what is copied.
        let _ = match LinkType::from_number(link) {
            Some(LinkType::Ethernet) => self.ethernet(&mut copy, 0),
            Some(LinkType::RawIp) => self.network(&mut copy, None, 0),
            Some(LinkType::Loopback) => {
                copy.keep(0..4);
                self.network(&mut copy, None, 4)
            }
            Some(LinkType::LinuxCooked) => {
                copy.keep(0..6);
                self.cooked(&mut copy, 6, 14, 16)
            }
            Some(LinkType::LinuxCooked2) => {
                copy.keep(0..12);
                self.cooked(&mut copy, 12, 0, 20)
            }
            Some(LinkType::Dot11) => self.air(&mut copy, 0, is_whole && check_fcs(data), false),
            Some(LinkType::Radiotap) => self.radiotap(&mut copy),
            None => None,
        };
        copy.to
    }

    fn radiotap(&mut self, copy: &mut Copy<'_>) -> Option<()> {
        let (radiotap, length) = Radiotap::decode(copy.from).ok()?;
        for read in Radiotap::read_bytes(&copy.from[..length]) {
            copy.keep(read);
        }
        let has_fcs = radiotap.flags.has(RadiotapFlags::FCS);
        self.air(copy, length, has_fcs, radiotap.flags.has(RadiotapFlags::DATA_PAD))
    }

    fn air(&mut self, copy: &mut Copy<'_>, at: usize, has_fcs: bool, is_padded: bool) -> Option<()> {
        let frame = copy.from.get(at..)?;
        let was_right = has_fcs && check_fcs(frame);
        let end = copy.from.len().saturating_sub(if has_fcs { FCS_BYTES } else { 0 }).max(at);
        let _ = self.frame(copy, at, end, is_padded);
        if has_fcs && end > at && end + FCS_BYTES == copy.to.len() {
            let sum = fcs(&copy.to[at..end]);
            copy.put(end, &(if was_right { sum } else { !sum }).to_le_bytes());
        }
        Some(())
    }

    /// A frame of 802.11 up to `end`.
    fn frame(&mut self, copy: &mut Copy<'_>, at: usize, end: usize, is_padded: bool) -> Option<()> {
        let control = FrameControl::from_bits(copy.le16(at)?).ok()?;
        // Frame control, and the duration or the association identifier.
        copy.keep(at..at + 4);
        if control.kind.is_control() {
            self.macs(copy, &[at + 4])?;
            let has_sender = !matches!(control.kind, FrameKind::Ack | FrameKind::Cts);
            if has_sender && at + 16 <= end {
                self.macs(copy, &[at + 10])?;
            }
            let body = copy.from.get(at + 16..end)?;
            match control.kind {
                FrameKind::BlockAck | FrameKind::BlockAckRequest => {
                    let known = fields::of_block_ack(body, control.kind == FrameKind::BlockAck);
                    copy.keep(at + 16..at + 16 + known);
                }
                // The type of a Trigger frame, and of one that calls stations their association identifiers, as in a TIM.
                FrameKind::TRIGGER => {
                    copy.put(at + 16, &[body.first()? & 0x0f]);
                    let frame = Frame::decode(copy.from.get(at..end)?).ok()?;
                    for (place, aid) in called(&frame).into_iter().flatten().enumerate() {
                        copy.put(at + 24 + 5 * place, &aid.to_le_bytes());
                    }
                }
                _ => {}
            }
            return Some(());
        }
        self.macs(copy, &[at + 4, at + 10, at + 16])?;
        copy.keep(at + 22..at + 24);
        let mut body = at + 24;
        if control.kind.is_data() && control.to_ds && control.from_ds {
            self.macs(copy, &[body])?;
            body += 6;
        }
        let mut qos = QosControl::default();
        if control.kind.is_qos() {
            qos = QosControl(copy.le16(body)?);
            copy.keep(body..body + 2);
            body += 2;
        }
        if control.order && (control.kind.is_qos() || control.kind.is_management()) {
            copy.keep(body..body + 4);
            body += 4;
        }
        if is_padded {
            body = at + (body - at).next_multiple_of(4);
        }
        if control.protected {
            // The packet number, of WEP the initialization vector, and the number of the key.
            let has_packet_number = copy.byte(body + 3)? & EXTENDED_IV != 0;
            copy.keep(body..(body + if has_packet_number { 8 } else { 4 }).min(end));
            return Some(());
        }
        if control.kind.is_management() {
            return self.management(copy, control.kind, body, end);
        }
        // The number of a fragment is in the low bits of the sequence control. Headers are in the first one.
        if !control.kind.has_payload() || copy.byte(at + 22)? & 15 != 0 {
            return Some(());
        }
        // An analysis reads no aggregates in tunnels, whose work would be that of all below all others.
        if !qos.amsdu() || copy.depth > 0 {
            return self.logical_link(copy, body, end);
        }
        while body + 14 <= end {
            self.macs(copy, &[body, body + 6])?;
            copy.keep(body + 12..body + 14);
            let length = usize::from(copy.be16(body + 12)?);
            let _ = self.logical_link(copy, body + 14, (body + 14 + length).min(end));
            body += (14 + length).next_multiple_of(4);
        }
        Some(())
    }

    fn management(&mut self, copy: &mut Copy<'_>, kind: FrameKind, body: usize, end: usize) -> Option<()> {
        let fixed = match kind {
            FrameKind::Beacon | FrameKind::ProbeResponse => 12,
            FrameKind::AssociationRequest => 4,
            FrameKind::ReassociationRequest => 10,
            FrameKind::AssociationResponse | FrameKind::ReassociationResponse | FrameKind::Authentication => {
                6
            }
            FrameKind::Disassociation | FrameKind::Deauthentication => 2,
            FrameKind::ProbeRequest => 0,
            FrameKind::Action => {
                let contents = copy.from.get(body..end)?;
                let elements_at = fields::elements_of_action(contents);
                copy.keep(body..body + fields::of_action(contents));
                if let Some(at) = elements_at {
                    elements(copy, body + at, end);
                }
                return Some(());
            }
            _ => return None,
        };
        copy.keep(body..(body + fixed).min(end));
        if kind == FrameKind::ReassociationRequest {
            self.macs(copy, &[body + 4])?;
        }
        // Behind an authentication's fields a key exchange may stand, which has no elements.
        let has_elements = !matches!(
            kind,
            FrameKind::Authentication | FrameKind::Disassociation | FrameKind::Deauthentication
        );
        if has_elements {
            elements(copy, body + fixed, end);
        }
        Some(())
    }

    /// Replaces MAC addresses; `None` where they are cut off.
    fn macs(&mut self, copy: &mut Copy<'_>, places: &[usize]) -> Option<()> {
        for place in places {
            let masked = self.mac(MacAddress(copy.array(*place)?));
            copy.put(*place, &masked.0);
        }
        Some(())
    }

    fn mac(&mut self, address: MacAddress) -> MacAddress {
        if [MacAddress::BROADCAST, GCR_CONCEALMENT].contains(&address) || address.0 == [0; 6] {
            return address;
        }
        match address.0 {
            // The group of those who look for one host has the end of its address.
            [0x33, 0x33, 0xff, ..] => return MacAddress([0x33, 0x33, 0xff, 0, 0, 0]),
            // Groups of IEEE 802, and those of IP that standards name: 224.0.0.0/23, 239.255.255.250, ff02::1 and others, and those of DHCP.
            // The others have the end of an address of IP, which may be a site's.
            [0x01, 0x80, 0xc2, 0, 0, _]
            | [0x01, 0x00, 0x5e, 0, 0 | 1, _]
            | [0x01, 0x00, 0x5e, 0x7f, 0xff, 0xfa]
            | [0x33, 0x33, 0, 0 | 1, 0, _] => return address,
            _ => {}
        }
        let number = number(&mut self.macs, address).to_be_bytes();
        // Locally administered, and unlike what simulations and labs take.
        let first = if address.is_group() { 7 } else { 6 };
        MacAddress([first, 0, number[0], number[1], number[2], number[3]])
    }

    fn v4(&mut self, address: Ipv4Addr) -> Ipv4Addr {
        let is_named = matches!(address.octets(), [224, 0, 0 | 1, _] | [239, 255, 255, 250]);
        if is_named || address.is_broadcast() || address.is_unspecified() || address.is_loopback() {
            return address;
        }
        let [_, a, b, c] = number(&mut self.v4, address).to_be_bytes();
        if address.is_multicast() {
            // A site's or a source's, also with the site's prefix inside (RFC 6034) or its number (RFC 3180).
            Ipv4Addr::new(239, a, b, c)
        } else if is_private(address.into()) {
            Ipv4Addr::new(10, a, b, c)
        } else {
            Ipv4Addr::new(11, a, b, c)
        }
    }

    fn v6(&mut self, address: Ipv6Addr) -> Ipv6Addr {
        if let [0xff02, 0, 0, 0, 0, 1, 0xff00..=0xffff, _] = address.segments() {
            // The group of those who look for one host has the end of its address (RFC 4291 2.7.1).
            return Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00, 0);
        }
        // A group that a standard names has no flag, and 32 bits at most (RFC 3307 4.1); others may have a site's prefix inside (RFC 3306).
        let is_named = matches!(address.segments(), [0xff00..=0xff0f, 0, 0, 0, 0, 0, 0 | 1, 0..=0xff]);
        if is_named || address.is_unspecified() || address.is_loopback() {
            return address;
        }
        let [a, b, c, d] = number(&mut self.v6, address).to_be_bytes();
        let low = [u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])];
        if address.is_multicast() {
            // Transient, of the same scope.
            let first = 0xff10 | address.segments()[0] & 0x000f;
            return Ipv6Addr::new(first, 0, 0, 0, 0, 0, 0x8000 | low[0], low[1]);
        }
        let (first, second) = match address.segments()[0] {
            first if first & 0xffc0 == 0xfe80 => (0xfe80, 0),
            first if first & 0xfe00 == 0xfc00 => (0xfd00, 0),
            _ => (0x2001, 0x0db8),
        };
        Ipv6Addr::new(first, second, 0, 0, 0, 0, low[0], low[1])
    }
}

/// Keeps of elements identifier, length, and the fields that are known. One that runs past the end is damage, of which nothing is known.
fn elements(copy: &mut Copy<'_>, mut at: usize, end: usize) {
    while at + 2 <= end {
        let (id, contents) = (copy.from[at], at + 2..at + 2 + usize::from(copy.from[at + 1]));
        copy.keep(at..at + 2);
        at = contents.end;
        if at <= end {
            for known in fields::of_element(id, &copy.from[contents.clone()]) {
                copy.keep(contents.start + known.start..contents.start + known.end);
            }
        }
    }
}

/// The number of an address: from 1, in the order in which they come.
fn number<A: Ord>(known: &mut BTreeMap<A, u32>, address: A) -> u32 {
    let next = known.len() as u32 + 1;
    *known.entry(address).or_insert(next)
}
