//! Packets of hosts whose network stack is outside: whoever drives the network hands them in and takes them out.
//!
//! In emulation they are those of real kernels. A packet is its length here; its bytes are in the network's [`Store`], and
//! its ticket leads to them. Left out: windows that a power-save policy grants (`psm-throttling`) cannot be imposed on
//! sockets outside.
//!
//! [`Store`]: crate::packet::Store

use airwatt_base::{Instant, Span};
use airwatt_proto::tcp::Ecn;

use super::Network;
use crate::packet::{NO_FLOW, Packet, Payload, Ticket};
use crate::route::{Address, NodeId};

/// A packet of an external host has left the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The node that the packet was for.
    pub node: NodeId,
    /// The ticket of its bytes, which the driver of the network frees.
    pub ticket: Ticket,
    /// The time at which it arrived or was lost.
    pub at: Instant,
    /// The time that it spent in the network.
    pub took: Span,
    /// Whether it arrived.
    pub arrived: bool,
}

impl Network {
    /// Sends an IPv4 packet of an external host from one node to another. Returns the ticket of its bytes.
    pub fn inject(&mut self, from: NodeId, to: NodeId, bytes: &[u8]) -> Ticket {
        let ticket = self.store.put_bytes(bytes);
        let (sport, dport) = ports(bytes);
        self.forward(
            from,
            &Packet {
                src: Address(from),
                dst: Address(to),
                sport,
                dport,
                flow: NO_FLOW,
                bytes: bytes.len() as u32,
                sent: self.now,
                // The upper six bits of the second byte of the header (RFC 2474 section 3).
                dscp: bytes.get(1).map_or(0, |byte| byte >> 2),
                payload: Payload::Bytes(ticket, Ecn::new(bytes.get(1).map_or(0, |byte| *byte), 0)),
            },
        );
        self.deliver_messages();
        ticket
    }

    /// The next packet that has left the network.
    pub(crate) fn poll_delivery(&mut self) -> Option<Delivery> {
        self.deliveries.pop_front()
    }

    /// The bytes of a packet of an external host. Panics if the ticket was freed.
    pub fn bytes(&self, ticket: Ticket) -> &[u8] {
        self.store.bytes(ticket)
    }

    /// Frees the bytes of a packet that has left the network. Panics if they were freed before.
    pub fn free(&mut self, ticket: Ticket) {
        self.store.free(ticket);
    }

    /// A packet leaves the network, because it has arrived at an external host or was lost on its way there.
    pub(super) fn leave(&mut self, node: NodeId, packet: &Packet, arrived: bool) {
        if let Payload::Bytes(ticket, ecn) = packet.payload {
            if arrived {
                set_ecn(self.store.bytes_mut(ticket), ecn);
            }
            let (at, took) = (self.now, self.now - packet.sent);
            self.deliveries.push_back(Delivery { node, ticket, at, took, arrived });
        }
    }
}

/// Writes the ECN field of an IPv4 header, which a queue may have changed, and corrects the checksum (RFC 1624).
fn set_ecn(bytes: &mut [u8], ecn: Ecn) {
    let Some([version, class, _, _, _, _, _, _, _, _, high, low, ..]) = bytes.first_chunk_mut::<20>() else {
        return;
    };
    let old = u16::from_be_bytes([*version, *class]);
    *class = *class & !3 | ecn.field();
    let new = u16::from_be_bytes([*version, *class]);
    if new != old {
        let sum = u32::from(!u16::from_be_bytes([*high, *low])) + u32::from(!old) + u32::from(new);
        let sum = (sum & 0xffff) + (sum >> 16);
        [*high, *low] = (!((sum & 0xffff) + (sum >> 16)) as u16).to_be_bytes();
    }
}

/// The ports of an IPv4 packet of TCP or UDP that is the first or only fragment; otherwise 0.
fn ports(bytes: &[u8]) -> (u16, u16) {
    const TCP: u8 = 6;
    const UDP: u8 = 17;
    const FRAGMENT_OFFSET: u16 = 0x1fff;
    let word = |at: usize| Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]));
    let found = || {
        let header = usize::from(bytes.first()? & 0xf) * 4;
        let first = word(6)? & FRAGMENT_OFFSET == 0 && matches!(*bytes.get(9)?, TCP | UDP);
        Some((word(header)?, word(header + 2)?)).filter(|_| first)
    };
    found().unwrap_or((0, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header of RFC 1071's arithmetic, marked: its sum is right before and after.
    #[test]
    fn a_mark_keeps_the_checksum_right() {
        let sum = |bytes: &[u8]| {
            let words = bytes.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
            let sum = words.sum::<u32>();
            (sum & 0xffff) + (sum >> 16)
        };
        let mut header = [0x45, 0x02, 0x05, 0xdc, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2_u8];
        let checksum = !(sum(&header) as u16);
        header[10..12].copy_from_slice(&checksum.to_be_bytes());
        let before = header;
        set_ecn(&mut header, Ecn::new(2, 0));
        assert_eq!(header, before);
        set_ecn(&mut header, Ecn::new(3, 0));
        assert_eq!((header[1], sum(&header)), (0x03, 0xffff));
    }

    #[test]
    fn ports_are_those_of_tcp_and_udp() {
        let mut packet = vec![0_u8; 28];
        packet[0] = 0x45;
        packet[20..24].copy_from_slice(&[0x13, 0x88, 0x9c, 0x40]);
        assert_eq!(ports(&packet), (0, 0), "protocol 0");
        packet[9] = 17;
        assert_eq!(ports(&packet), (5_000, 40_000));
        packet[7] = 1;
        assert_eq!(ports(&packet), (0, 0), "a later fragment");
        assert_eq!(ports(&packet[..21]), (0, 0));
        assert_eq!(ports(&[]), (0, 0));
    }
}
