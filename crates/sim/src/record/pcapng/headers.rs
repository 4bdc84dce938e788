//! IP packets of a run: IPv4, TCP and UDP headers with their checksums, without payload.
//!
//! The checksums hold for a payload of zeros, which is what an application without content sends.

use std::net::Ipv4Addr;

use airwatt_proto::tcp::{Flags, Segment};

use crate::packet::Packet;
use crate::record::Setting;

pub(super) const PROTOCOL_TCP: u8 = 6;
pub(super) const PROTOCOL_UDP: u8 = 17;
/// IPv4 and TCP headers without options, and the largest size of the options of either (RFC 791 3.1, RFC 9293 3.1).
pub(super) const IP_HEADER_BYTES: usize = 20;
const TCP_HEADER_BYTES: usize = 20;
const MAX_OPTION_BYTES: usize = 40;
const OPTION_END: u8 = 0;
const OPTION_NOP: u8 = 1;
const OPTION_MSS: u8 = 2;
const OPTION_WINDOW_SCALE: u8 = 3;
const OPTION_SACK: u8 = 5;
/// The timestamps option (RFC 7323 3.2).
const OPTION_TIMESTAMPS: u8 = 8;
/// The option for experiments (RFC 4727 7.2) replaces options of which only the length is known.
const OPTION_EXPERIMENT: u8 = 253;
/// Largest shift of a window (RFC 7323 2.3).
const MAX_WINDOW_SHIFT: u8 = 14;

/// The division of the header bytes of a TCP packet: whole words, TCP's options first.
pub(super) struct Headers {
    pub(super) ip: usize,
    tcp: usize,
}

impl Headers {
    pub(super) fn of(bytes: usize) -> Self {
        let options = bytes.saturating_sub(IP_HEADER_BYTES + TCP_HEADER_BYTES) / 4 * 4;
        let tcp = options.min(MAX_OPTION_BYTES);
        let ip = (options - tcp).min(MAX_OPTION_BYTES);
        Self { ip: IP_HEADER_BYTES + ip, tcp: TCP_HEADER_BYTES + tcp }
    }

    /// The window scale: the least that fits windows into 16 bits, if a SYN has room for the option.
    fn window_shift(&self, setting: &Setting) -> u8 {
        if self.tcp - TCP_HEADER_BYTES < 8 {
            return 0;
        }
        let fits = |shift: &u8| setting.receive_window_bytes >> shift <= u32::from(u16::MAX);
        (0..MAX_WINDOW_SHIFT).find(fits).unwrap_or(MAX_WINDOW_SHIFT)
    }
}

/// Addresses and ports of sender and receiver.
pub(super) struct Ends {
    pub(super) from: (Ipv4Addr, u16),
    pub(super) to: (Ipv4Addr, u16),
}

impl Ends {
    pub(super) fn ip(&self, packet: &Packet, protocol: u8, header: usize, out: &mut Vec<u8>) {
        const DONT_FRAGMENT: u16 = 0x4000;
        const TIME_TO_LIVE: u8 = 64;
        let start = out.len();
        out.extend_from_slice(&[0x40 | (header / 4) as u8, packet.dscp << 2 | packet.ecn()]);
        out.extend_from_slice(&(packet.bytes as u16).to_be_bytes());
        // The identification is 0: a packet that may not be fragmented needs none (RFC 6864).
        out.extend_from_slice(&[0, 0]);
        out.extend_from_slice(&DONT_FRAGMENT.to_be_bytes());
        out.extend_from_slice(&[TIME_TO_LIVE, protocol, 0, 0]);
        out.extend_from_slice(&self.from.0.octets());
        out.extend_from_slice(&self.to.0.octets());
        out.resize(start + header, OPTION_END);
        let sum = checksum(0, &out[start..]);
        out[start + 10..start + 12].copy_from_slice(&sum.to_be_bytes());
    }

    pub(super) fn tcp(
        &self,
        setting: &Setting,
        packet: &Packet,
        segment: &Segment,
        headers: &Headers,
        out: &mut Vec<u8>,
    ) {
        let start = out.len();
        let syn = segment.flags.has(Flags::SYN);
        // Windows are scaled in all segments but SYNs (RFC 7323 2.2).
        let shift = if syn { 0 } else { headers.window_shift(setting) };
        let window = (segment.window >> shift).min(u32::from(u16::MAX)) as u16;
        let ack = if segment.flags.has(Flags::ACK) { segment.ack.value() } else { 0 };
        self.ports(out);
        out.extend_from_slice(&segment.seq.value().to_be_bytes());
        out.extend_from_slice(&ack.to_be_bytes());
        let [ae, ecn] = segment.ecn.bits().to_be_bytes();
        out.extend_from_slice(&[((headers.tcp / 4) << 4) as u8 | ae, segment.flags.wire() | ecn]);
        out.extend_from_slice(&window.to_be_bytes());
        out.extend_from_slice(&[0; 4]);
        timestamps_option(segment, out);
        sack_option(segment, out);
        let used = segment.sack.option_bytes() + segment.timestamp_bytes();
        tcp_options(setting, headers, syn, used as usize, out);
        out.resize(start + headers.tcp, OPTION_END);
        self.transport_checksum(packet, PROTOCOL_TCP, headers.ip, start, start + 16, out);
    }

    pub(super) fn udp(&self, packet: &Packet, out: &mut Vec<u8>) {
        let start = out.len();
        self.ports(out);
        let length = (packet.bytes as u16).saturating_sub(IP_HEADER_BYTES as u16);
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(&[0, 0]);
        self.transport_checksum(packet, PROTOCOL_UDP, IP_HEADER_BYTES, start, start + 6, out);
    }

    fn ports(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.from.1.to_be_bytes());
        out.extend_from_slice(&self.to.1.to_be_bytes());
    }

    /// Writes the checksum over pseudo-header, header from `start` on and a payload of zeros to `place`.
    fn transport_checksum(
        &self,
        packet: &Packet,
        protocol: u8,
        ip_header: usize,
        start: usize,
        place: usize,
        out: &mut [u8],
    ) {
        let length = packet.bytes - ip_header as u32;
        let addresses: u32 = [self.from.0, self.to.0].iter().map(|address| sum_of(&address.octets())).sum();
        let sum = checksum(addresses + u32::from(protocol) + length, &out[start..]);
        // Zero would mean that there is no checksum (RFC 768).
        let sum = if sum == 0 && protocol == PROTOCOL_UDP { u16::MAX } else { sum };
        out[place..place + 2].copy_from_slice(&sum.to_be_bytes());
    }
}

/// Appends the timestamps option of a segment, if it carries it, in the form of RFC 7323 appendix A.
fn timestamps_option(segment: &Segment, out: &mut Vec<u8>) {
    if let Some(timestamps) = segment.timestamps {
        out.extend_from_slice(&[OPTION_NOP, OPTION_NOP, OPTION_TIMESTAMPS, 10]);
        out.extend_from_slice(&timestamps.value.get().to_be_bytes());
        out.extend_from_slice(&timestamps.echo.to_be_bytes());
    }
}

/// Appends the SACK option of a segment, if it has blocks (RFC 2018 3).
fn sack_option(segment: &Segment, out: &mut Vec<u8>) {
    if segment.sack.is_empty() {
        return;
    }
    let length = 2 + 8 * segment.sack.iter().count() as u8;
    out.extend_from_slice(&[OPTION_NOP, OPTION_NOP, OPTION_SACK, length]);
    for (start, end) in segment.sack.iter() {
        out.extend_from_slice(&start.value().to_be_bytes());
        out.extend_from_slice(&end.value().to_be_bytes());
    }
}

/// Appends the options of one segment; the caller fills the rest of the header with end-of-list options.
fn tcp_options(setting: &Setting, headers: &Headers, syn: bool, used: usize, out: &mut Vec<u8>) {
    let room = headers.tcp.saturating_sub(TCP_HEADER_BYTES + used);
    if !syn {
        if room >= 4 {
            out.extend_from_slice(&[OPTION_EXPERIMENT, room as u8]);
        }
        return;
    }
    // The value does not include the length of options (RFC 6691).
    let segment = setting.mtu_bytes.saturating_sub((IP_HEADER_BYTES + TCP_HEADER_BYTES) as u32);
    let [high, low] = (segment as u16).to_be_bytes();
    if room >= 4 {
        out.extend_from_slice(&[OPTION_MSS, 4, high, low]);
    }
    if room >= 8 {
        out.extend_from_slice(&[OPTION_NOP, OPTION_WINDOW_SCALE, 3, headers.window_shift(setting)]);
    }
}

/// Sum of the 16-bit words of `bytes`; a last odd byte is the high byte of a word.
fn sum_of(bytes: &[u8]) -> u32 {
    let words =
        bytes.chunks(2).map(|word| u32::from(word[0]) << 8 | word.get(1).map_or(0, |low| u32::from(*low)));
    words.sum()
}

/// The Internet checksum of `bytes` and of words that add up to `before` (RFC 1071).
pub(super) fn checksum(before: u32, bytes: &[u8]) -> u16 {
    let mut sum = before + sum_of(bytes);
    while sum > u32::from(u16::MAX) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}
