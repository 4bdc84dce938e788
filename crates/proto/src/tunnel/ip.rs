//! Inner packets as a daemon has them: the bytes of IP packets.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::net::IpAddr;

use airwatt_base::Seq;
use etherparse::{LaxNetSlice, LaxSlicedPacket, TcpOptionElement, TcpSlice, TransportSlice};

use super::sctp::InnerMessage;
use super::wire::{self, WireError};
use super::{Datagram, Inner};

/// Addresses, protocol and ports of a packet. Fragments have no ports, since only the first one contains them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IpFlow {
    /// The sender's address.
    pub source: IpAddr,
    /// The receiver's address.
    pub destination: IpAddr,
    /// Number of the transport protocol.
    pub protocol: u8,
    /// Ports of sender and receiver; zeros for a protocol without ports.
    pub ports: [u16; 2],
}

/// An IP packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IpPacket {
    bytes: Vec<u8>,
    flow: IpFlow,
    /// The acknowledgement number, if the packet only acknowledges.
    acknowledges: Option<Seq>,
}

impl IpPacket {
    /// Reads a packet. What is wrong beyond the IP header is left to the host that receives the packet.
    ///
    /// # Errors
    /// The bytes are no IP packet, or not exactly as long as its header says.
    pub fn parse(bytes: Vec<u8>) -> Result<Self, WireError> {
        if wire::packet_length(&bytes)? != bytes.len() {
            return Err(WireError::Truncated);
        }
        let (flow, acknowledges) = read(&bytes)?;
        Ok(Self { bytes, flow, acknowledges })
    }

    /// The packet's bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The packet's bytes, for their buffer to be used again.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Lowers the maximum segment size that a SYN announces to what packets of `mtu` bytes hold, so that segments of hosts
    /// behind this one need not be fragmented. Returns whether it did.
    pub fn clamp_segments(&mut self, mtu: u16) -> bool {
        let headers = if self.flow.source.is_ipv4() { 40 } else { 60 };
        let most = mtu.saturating_sub(headers);
        let Some(place) = self.segment_size().filter(|place| place.value > most) else { return false };
        self.bytes[place.at..place.at + 2].copy_from_slice(&most.to_be_bytes());
        // RFC 1624. A value at an odd place is spread over two words.
        let word = |value: u16| u32::from(if place.is_odd { value.swap_bytes() } else { value });
        let checksum = &mut self.bytes[place.checksum_at..place.checksum_at + 2];
        let before = u16::from_be_bytes([checksum[0], checksum[1]]);
        let mut sum = u32::from(!before) + u32::from(!(word(place.value) as u16)) + word(most);
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        checksum.copy_from_slice(&(!(sum as u16)).to_be_bytes());
        true
    }

    /// Where the maximum segment size is that this packet announces, if it is a whole TCP segment with SYN.
    fn segment_size(&self) -> Option<SegmentSize> {
        let (bytes, is_v4) = (self.bytes.as_slice(), self.flow.source.is_ipv4());
        let is_fragment = is_v4 && u16::from_be_bytes([bytes[6], bytes[7]]) & 0x3fff != 0;
        let protocol = bytes[if is_v4 { 9 } else { 6 }];
        if protocol != TCP || is_fragment {
            return None;
        }
        let tcp = if is_v4 { usize::from(bytes[0] & 0xf) * 4 } else { 40 };
        let header = bytes.get(tcp..)?.get(..20)?;
        let options = bytes.get(tcp + 20..tcp + usize::from(header[12] >> 4) * 4)?;
        if header[13] & SYN == 0 {
            return None;
        }
        let mut at = 0;
        loop {
            match *options.get(at)? {
                0 => return None,
                1 => at += 1,
                2 if options.get(at + 1) == Some(&4) => {
                    let value = u16::from_be_bytes([*options.get(at + 2)?, *options.get(at + 3)?]);
                    let place =
                        SegmentSize { value, at: tcp + 22 + at, is_odd: at % 2 == 1, checksum_at: tcp + 16 };
                    return Some(place);
                }
                _ => at += usize::from(*options.get(at + 1)?).max(2),
            }
        }
    }
}

/// Number of the protocol TCP.
const TCP: u8 = 6;
/// The flag SYN in byte 13 of a TCP header.
const SYN: u8 = 2;

/// The option of a maximum segment size (RFC 9293, section 3.7.1).
#[derive(Clone, Copy, Debug)]
struct SegmentSize {
    value: u16,
    /// Where the value is in the packet.
    at: usize,
    /// Whether the value begins in the middle of a word of the checksum.
    is_odd: bool,
    checksum_at: usize,
}

impl Datagram<IpPacket> {
    /// The datagram's bytes.
    pub fn encode(&self) -> Vec<u8> {
        let packets: usize = self.packets.iter().map(|packet| packet.bytes.len()).sum();
        let mut bytes = Vec::with_capacity(wire::HEADER_BYTES + packets);
        self.header.encode(&mut bytes);
        self.packets.iter().for_each(|packet| bytes.extend_from_slice(&packet.bytes));
        bytes
    }
}

/// The flow of a packet, and the acknowledgement number if it only acknowledges.
fn read(bytes: &[u8]) -> Result<(IpFlow, Option<Seq>), WireError> {
    let sliced = LaxSlicedPacket::from_ip(bytes).map_err(|_| WireError::NotIp)?;
    let (source, destination, protocol) = match &sliced.net {
        Some(LaxNetSlice::Ipv4(ip)) => {
            let header = ip.header();
            (header.source_addr().into(), header.destination_addr().into(), ip.payload().ip_number.0)
        }
        Some(LaxNetSlice::Ipv6(ip)) => {
            let header = ip.header();
            (header.source_addr().into(), header.destination_addr().into(), ip.payload().ip_number.0)
        }
        Some(LaxNetSlice::Arp(_)) | None => return Err(WireError::NotIp),
    };
    let (ports, acknowledges) = match &sliced.transport {
        Some(TransportSlice::Tcp(tcp)) => ([tcp.source_port(), tcp.destination_port()], pure_ack(tcp)),
        Some(TransportSlice::Udp(udp)) => ([udp.source_port(), udp.destination_port()], None),
        _ => ([0, 0], None),
    };
    Ok((IpFlow { source, destination, protocol, ports }, acknowledges))
}

/// The acknowledgement number of a segment that only acknowledges: no data, no flag but ACK, and no option but timestamps.
fn pure_ack(tcp: &TcpSlice<'_>) -> Option<Seq> {
    let others = tcp.fin() | tcp.syn() | tcp.rst() | tcp.psh() | tcp.urg() | tcp.ece() | tcp.cwr() | tcp.ns();
    let known = |option| matches!(option, Ok(TcpOptionElement::Noop | TcpOptionElement::Timestamp(..)));
    let is_pure = tcp.ack() && !others && tcp.payload().is_empty() && tcp.options_iterator().all(known);
    is_pure.then(|| Seq::new(tcp.acknowledgment_number()))
}

impl Inner for IpPacket {
    type Flow = IpFlow;

    fn flow(&self) -> IpFlow {
        self.flow
    }

    fn bytes(&self) -> u32 {
        self.bytes.len() as u32
    }

    fn supersedes(&self, older: &Self) -> bool {
        match (self.acknowledges, older.acknowledges) {
            (Some(new), Some(old)) => self.flow == older.flow && new.after(old),
            _ => false,
        }
    }
}

impl InnerMessage for IpPacket {
    fn to_payload(&self) -> Vec<u8> {
        self.bytes.clone()
    }

    fn from_payload(payload: Vec<u8>) -> Option<Self> {
        Self::parse(payload).ok()
    }

    fn stream(&self) -> u16 {
        // Its keys are fixed.
        let mut hasher = DefaultHasher::new();
        self.flow.hash(&mut hasher);
        hasher.finish() as u16
    }
}

#[cfg(test)]
mod tests {
    use etherparse::PacketBuilder;

    use super::*;

    fn tcp(ack: u32, payload: &[u8], options: &[TcpOptionElement]) -> IpPacket {
        let builder = PacketBuilder::ipv4([10, 0, 0, 2], [192, 0, 2, 1], 64)
            .tcp(40_000, 443, 7, 1_000)
            .ack(ack)
            .options(options)
            .unwrap();
        let mut bytes = Vec::new();
        builder.write(&mut bytes, payload).unwrap();
        IpPacket::parse(bytes).unwrap()
    }

    #[test]
    fn a_packet_is_of_the_flow_of_its_addresses_and_ports() {
        let packet = tcp(1, b"data", &[]);
        assert_eq!(packet.bytes(), 44);
        assert_eq!(packet.flow().source, IpAddr::from([10, 0, 0, 2]));
        assert_eq!((packet.flow().protocol, packet.flow().ports), (6, [40_000, 443]));
        let mut bytes = Vec::new();
        let builder = PacketBuilder::ipv6([1; 16], [2; 16], 64).udp(5, 6);
        builder.write(&mut bytes, b"query").unwrap();
        let packet = IpPacket::parse(bytes).unwrap();
        assert_eq!((packet.flow().protocol, packet.flow().ports), (17, [5, 6]));
        assert_eq!(packet.flow().destination, IpAddr::from([2; 16]));
    }

    #[test]
    fn a_fragment_has_no_ports() {
        let mut bytes = tcp(1, b"data", &[]).into_bytes();
        bytes[7] = 1;
        assert_eq!(IpPacket::parse(bytes).unwrap().flow().ports, [0, 0]);
    }

    #[test]
    fn only_a_later_pure_acknowledgement_supersedes() {
        let stamp = TcpOptionElement::Timestamp(1, 2);
        let first = tcp(1_000, b"", std::slice::from_ref(&stamp));
        assert!(tcp(2_000, b"", &[stamp]).supersedes(&first));
        assert!(!tcp(1_000, b"", &[]).supersedes(&first), "a duplicate reports a loss");
        assert!(!tcp(900, b"", &[]).supersedes(&first));
        assert!(!tcp(2_000, b"x", &[]).supersedes(&first), "data");
        assert!(!tcp(2_000, b"", &[]).supersedes(&tcp(1_000, b"x", &[])), "data must not get lost");
        let blocks = TcpOptionElement::SelectiveAcknowledgement((5_000, 6_000), [None; 3]);
        assert!(!tcp(2_000, b"", std::slice::from_ref(&blocks)).supersedes(&first));
        assert!(!tcp(2_000, b"", &[]).supersedes(&tcp(1_000, b"", &[blocks])));
        // Sequence numbers wrap.
        assert!(tcp(5, b"", &[]).supersedes(&tcp(u32::MAX - 5, b"", &[])));
        let mut closing = tcp(2_000, b"", &[]).into_bytes();
        closing[33] |= 1;
        assert!(!IpPacket::parse(closing).unwrap().supersedes(&first), "a FIN");
    }

    #[test]
    fn a_syn_announces_segments_that_fit() {
        use TcpOptionElement::{MaximumSegmentSize, Noop, WindowScale};
        let syn = |v6: bool, options: &[TcpOptionElement], size: u16| {
            let mut options = options.to_vec();
            options.push(MaximumSegmentSize(size));
            let mut bytes = Vec::new();
            if v6 {
                let builder = PacketBuilder::ipv6([1; 16], [2; 16], 64).tcp(4, 5, 7, 1_000).syn();
                builder.options(&options).unwrap().write(&mut bytes, b"").unwrap();
            } else {
                let builder =
                    PacketBuilder::ipv4([10, 0, 0, 2], [192, 0, 2, 1], 64).tcp(4, 5, 7, 1_000).syn();
                builder.options(&options).unwrap().write(&mut bytes, b"").unwrap();
            }
            IpPacket::parse(bytes).unwrap()
        };
        // An option at an even and at an odd place; checksums are those that the library computes.
        for options in [&[][..], &[Noop], &[WindowScale(7)]] {
            for (v6, fits) in [(false, 1_396), (true, 1_376)] {
                let mut packet = syn(v6, options, 1_460);
                assert!(packet.clamp_segments(1_436));
                assert_eq!(packet, syn(v6, options, fits));
                assert!(!packet.clamp_segments(1_436), "it fits");
            }
        }
        let mut small = syn(false, &[], 536);
        assert!(!small.clamp_segments(1_436));
        assert!(!tcp(1, b"data", &[MaximumSegmentSize(9_000)]).clamp_segments(1_436), "no SYN");
        let mut damaged = syn(false, &[], 1_460).into_bytes();
        for length in 20..damaged.len() {
            let mut cut = damaged[..length].to_vec();
            cut[3] = length as u8;
            IpPacket::parse(cut).unwrap().clamp_segments(1_436);
        }
        damaged[41] = 0;
        assert!(!IpPacket::parse(damaged).unwrap().clamp_segments(1_436), "an option without a length");
    }

    #[test]
    fn what_is_no_packet_is_refused() {
        let whole = tcp(1, b"data", &[]).into_bytes();
        let mut longer = whole.clone();
        longer.push(0);
        assert_eq!(IpPacket::parse(longer), Err(WireError::Truncated));
        assert_eq!(IpPacket::parse(whole[..30].to_vec()), Err(WireError::Truncated));
        assert_eq!(IpPacket::parse(Vec::new()), Err(WireError::Truncated));
        assert_eq!(IpPacket::parse(vec![0; 40]), Err(WireError::NotIp));
        // A TCP header that is cut off concerns the receiving host only.
        let mut short = whole[..30].to_vec();
        short[3] = 30;
        assert_eq!(IpPacket::parse(short).unwrap().flow().ports, [0, 0]);
    }
}
