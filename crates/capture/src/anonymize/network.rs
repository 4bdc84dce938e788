//! What stays of packets above the link: the headers of IP and of what is in it, through tags and tunnels, as far as an analysis reads them.

use std::net::{Ipv4Addr, Ipv6Addr};

use airwatt_dot11::FrameControl;

use super::{Copy, Masks};
use crate::decode::{
    DEPTH_LIMIT, PROTOCOL_GRE, TYPE_IPV4, TYPE_IPV6, TYPE_PPPOE_SESSION, TYPE_TRANSPARENT_ETHERNET,
    TYPES_ARUBA, gre,
};

/// LLC of a SNAP header: DSAP and SSAP 0xaa, control 3 (RFC 1042); and the OUIs with which an Ethernet type follows.
const SNAP: [u8; 3] = [0xaa, 0xaa, 0x03];
const ETHERNET_OUIS: [[u8; 3]; 2] = [[0, 0, 0], [0, 0, 0xf8]];
/// The authentication header (RFC 4302), which stands between that of IP and what it authenticates.
const PROTOCOL_AUTHENTICATION: u8 = 51;

impl Masks {
    pub(super) fn ethernet(&mut self, copy: &mut Copy<'_>, at: usize) -> Option<()> {
        self.macs(copy, &[at, at + 6])?;
        copy.keep(at + 12..at + 14);
        match copy.be16(at + 12)? {
            // A length, and LLC follows (IEEE 802.3 3.2.6).
            ..0x0600 => self.logical_link(copy, at + 14, copy.from.len()),
            kind => self.network(copy, Some(kind), at + 14),
        }
    }

    /// A cooked capture: the sender's address with its length before it, and the protocol.
    pub(super) fn cooked(
        &mut self,
        copy: &mut Copy<'_>,
        address: usize,
        protocol: usize,
        body: usize,
    ) -> Option<()> {
        self.macs(copy, &[address])?;
        copy.keep(protocol..protocol + 2);
        self.network(copy, copy.be16(protocol), body)
    }

    /// LLC and SNAP, and what follows by its Ethernet type. A body that begins otherwise has no header that is known.
    pub(super) fn logical_link(&mut self, copy: &mut Copy<'_>, at: usize, end: usize) -> Option<()> {
        if at + 8 > end || copy.array(at)? != SNAP {
            return None;
        }
        copy.keep(at..at + 8);
        let has_type = ETHERNET_OUIS.contains(&copy.array(at + 3)?);
        if has_type { self.network(copy, copy.be16(at + 6), at + 8) } else { None }
    }

    /// What an Ethernet type says that it is; `None` for IP by its version. As deep as an analysis looks.
    pub(super) fn network(&mut self, copy: &mut Copy<'_>, kind: Option<u16>, at: usize) -> Option<()> {
        if copy.depth > DEPTH_LIMIT {
            return None;
        }
        copy.depth += 1;
        let kept = self.network_inside(copy, kind, at);
        copy.depth -= 1;
        kept
    }

    fn network_inside(&mut self, copy: &mut Copy<'_>, kind: Option<u16>, at: usize) -> Option<()> {
        match kind {
            Some(TYPE_IPV4) => self.ipv4(copy, at),
            Some(TYPE_IPV6) => self.ipv6(copy, at),
            // VLAN tags: the type stays, the identifier goes.
            Some(0x8100 | 0x88a8 | 0x9100) => {
                copy.keep(at + 2..at + 4);
                self.network(copy, copy.be16(at + 2), at + 4)
            }
            // Version, type and code; length and protocol, without the session's number.
            Some(TYPE_PPPOE_SESSION) => {
                copy.keep(at..at + 2);
                copy.keep(at + 4..at + 8);
                let is_ip = matches!(copy.be16(at + 6)?, 0x0021 | 0x0057);
                if is_ip { self.network(copy, None, at + 8) } else { None }
            }
            Some(0x0806) => self.arp(copy, at),
            // EAPOL: version, type and length.
            Some(0x888e) => {
                copy.keep(at..at + 4);
                Some(())
            }
            None => match copy.byte(at)? >> 4 {
                4 => self.ipv4(copy, at),
                6 => self.ipv6(copy, at),
                _ => None,
            },
            Some(_) => None,
        }
    }

    fn ipv4(&mut self, copy: &mut Copy<'_>, at: usize) -> Option<()> {
        let header = usize::from(copy.byte(at)? & 15) * 4;
        if copy.byte(at)? >> 4 != 4 || header < 20 {
            return None;
        }
        // Without the identification.
        copy.keep(at..at + 4);
        copy.keep(at + 6..at + 10);
        for place in [at + 12, at + 16] {
            let masked = self.v4(Ipv4Addr::from(copy.array::<4>(place)?));
            copy.put(place, &masked.octets());
        }
        if let Some(bytes) = copy.to.get(at..at + header) {
            let sum = internet_checksum(bytes);
            copy.put(at + 10, &sum.to_be_bytes());
        }
        let is_later_fragment = copy.be16(at + 6)? & 0x1fff != 0;
        if is_later_fragment { None } else { self.inside_ip(copy, copy.byte(at + 9)?, at + header) }
    }

    fn ipv6(&mut self, copy: &mut Copy<'_>, at: usize) -> Option<()> {
        if copy.byte(at)? >> 4 != 6 {
            return None;
        }
        // Version and traffic class without the flow label; length, next header, hop limit.
        copy.keep(at..at + 1);
        copy.put(at + 1, &[copy.byte(at + 1)? & 0xf0]);
        copy.keep(at + 4..at + 8);
        for place in [at + 8, at + 24] {
            let masked = self.v6(Ipv6Addr::from(copy.array::<16>(place)?));
            copy.put(place, &masked.octets());
        }
        let (mut next, mut at) = (copy.byte(at + 6)?, at + 40);
        // Hop-by-hop options, routing, destination options; and the place of a fragment, without the packet's number.
        while matches!(next, 0 | 43 | 44 | 60) {
            let is_fragment = next == 44;
            copy.keep(at..at + if is_fragment { 4 } else { 2 });
            if is_fragment && copy.be16(at + 2)? >> 3 != 0 {
                return None;
            }
            let length = if is_fragment { 0 } else { usize::from(copy.byte(at + 1)?) };
            (next, at) = (copy.byte(at)?, at + (length + 1) * 8);
        }
        self.inside_ip(copy, next, at)
    }

    /// What an IP packet has: a transport header, also behind one that authenticates, or a packet in GRE.
    fn inside_ip(&mut self, copy: &mut Copy<'_>, protocol: u8, at: usize) -> Option<()> {
        match protocol {
            PROTOCOL_AUTHENTICATION => {
                copy.keep(at..at + 2);
                let next = copy.byte(at)?;
                let at = at + (usize::from(copy.byte(at + 1)?) + 2) * 4;
                // One behind another is no packet that an analysis reads.
                if next == PROTOCOL_AUTHENTICATION { None } else { self.inside_ip(copy, next, at) }
            }
            PROTOCOL_GRE => self.tunnelled(copy, at),
            _ => transport(copy, protocol, at),
        }
    }

    /// GRE without its key, and what is in it.
    fn tunnelled(&mut self, copy: &mut Copy<'_>, at: usize) -> Option<()> {
        copy.keep(at..at + 4);
        let (inside, kind) = gre(copy.from.get(at..)?)?;
        let at = at + inside;
        match kind {
            TYPE_TRANSPARENT_ETHERNET => self.ethernet(copy, at),
            kind if TYPES_ARUBA.contains(&kind) => {
                let control = FrameControl::from_bits(copy.le16(at)?).ok()?;
                let is_read = control.kind.has_payload();
                if is_read { self.frame(copy, at, copy.from.len(), false) } else { None }
            }
            kind => self.network(copy, Some(kind), at),
        }
    }

    fn arp(&mut self, copy: &mut Copy<'_>, at: usize) -> Option<()> {
        copy.keep(at..at + 8);
        for (mac, ip) in [(at + 8, at + 14), (at + 18, at + 24)] {
            self.macs(copy, &[mac])?;
            let masked = self.v4(Ipv4Addr::from(copy.array::<4>(ip)?));
            copy.put(ip, &masked.octets());
        }
        Some(())
    }
}

/// Ports, lengths, flags, sequence numbers; `None` for a protocol of which nothing stays.
fn transport(copy: &mut Copy<'_>, protocol: u8, at: usize) -> Option<()> {
    match protocol {
        6 => {
            copy.keep(at..at + 16);
            let end = at + usize::from(copy.byte(at + 12)? >> 4) * 4;
            let mut option = at + 20;
            while option < end {
                match copy.byte(option)? {
                    0 => return Some(()),
                    1 => {
                        copy.keep(option..option + 1);
                        option += 1;
                    }
                    kind => {
                        let length = usize::from(copy.byte(option + 1)?).max(2);
                        // The segment size, the window's scale, SACK: of others, and of other lengths, kind and length.
                        let is_kept = matches!((kind, length), (2, 4) | (3, 3) | (5, 10 | 18 | 26 | 34));
                        copy.keep(option..(option + if is_kept { length } else { 2 }).min(end));
                        option += length;
                    }
                }
            }
            Some(())
        }
        17 => {
            copy.keep(at..at + 6);
            Some(())
        }
        // Type and code of ICMP, the type of IGMP; and identifier and number of an echo, without the checksum before them.
        1 | 2 | 58 => {
            copy.keep(at..at + 2);
            if protocol != 2 && matches!(copy.byte(at)?, 0 | 8 | 128 | 129) {
                copy.keep(at + 4..at + 8);
            }
            Some(())
        }
        132 => {
            copy.keep(at..at + 4);
            Some(())
        }
        _ => None,
    }
}

/// The sum of RFC 1071 over a header whose field for it is zero.
fn internet_checksum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)));
    let mut sum = words.fold(0_u32, |sum, word| sum.wrapping_add(word));
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}
