//! What the two ends of a gateway send each other, one message in a datagram: packets of E2TCP, and what E2TCP has no words for.
//!
//! ```text
//! E2TCP packet                                     as it is
//! 0x80 | epoch 8 | 1 if it answers another one     this end has started, with a number drawn at the start
//! 0x81 | addresses and ports                       the receiver of this opening cannot be reached
//! 0x82 | addresses and ports                       this opening is not relayed; it may go as plain TCP
//! 0x83                                             this end is there
//! 0x84 | addresses and ports                       this opening went as plain TCP after all
//! ```
//! The first byte of an E2TCP packet has none of these values: with the bit for IPv6 alone, without addresses, it is reserved.
//! Addresses and ports are as in E2TCP's header: sender, receiver, ports; the length says which IP version they are of.

use std::net::IpAddr;

use crate::e2tcp::{Addresses, E2tcpPacket, Endpoint, Header};

const STARTED: u8 = 0x80;
const UNREACHABLE: u8 = 0x81;
const DECLINED: u8 = 0x82;
const PRESENT: u8 = 0x83;
const WITHDRAWN: u8 = 0x84;

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GatewayMessage {
    /// A packet of E2TCP with its addresses, if it carries them, and its payload.
    Packet(E2tcpPacket, Option<Addresses>, Vec<u8>),
    /// The sender has started. Another number than before says that it has forgotten all connections.
    Started {
        /// The number.
        epoch: u64,
        /// Whether this answers the same message of the other end.
        answers: bool,
    },
    /// The receiver of these addresses cannot be reached; their sender opened the connection.
    Unreachable(Addresses),
    /// The connection is not relayed.
    Declined(Addresses),
    /// The sender is there, and has nothing to say yet.
    Present,
    /// The sender of this message opened the connection and did not wait any longer: it went as plain TCP.
    Withdrawn(Addresses),
}

impl GatewayMessage {
    /// The bytes of the message.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        match self {
            Self::Packet(packet, addresses, payload) => {
                bytes.reserve(packet.bytes());
                packet.header.encode(*addresses, payload, &mut bytes);
            }
            Self::Started { epoch, answers } => {
                bytes.push(STARTED);
                bytes.extend(epoch.to_be_bytes());
                bytes.push(u8::from(*answers));
            }
            Self::Unreachable(addresses) => push_addresses(UNREACHABLE, *addresses, &mut bytes),
            Self::Declined(addresses) => push_addresses(DECLINED, *addresses, &mut bytes),
            Self::Present => bytes.push(PRESENT),
            Self::Withdrawn(addresses) => push_addresses(WITHDRAWN, *addresses, &mut bytes),
        }
        bytes
    }

    /// Reads a message; `None` if it is none.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (kind, rest) = bytes.split_first()?;
        Some(match *kind {
            STARTED => {
                let (epoch, rest) = rest.split_first_chunk()?;
                let answers = match rest {
                    [0] => false,
                    [1] => true,
                    _ => return None,
                };
                Self::Started { epoch: u64::from_be_bytes(*epoch), answers }
            }
            UNREACHABLE => Self::Unreachable(read_addresses(rest)?),
            DECLINED => Self::Declined(read_addresses(rest)?),
            WITHDRAWN => Self::Withdrawn(read_addresses(rest)?),
            PRESENT => rest.is_empty().then_some(Self::Present)?,
            _ => {
                let (header, addresses, payload) = Header::decode(bytes).ok()?;
                // The header's check bounds the payload.
                Self::Packet(E2tcpPacket { header, len: payload.len() as u16 }, addresses, payload.to_vec())
            }
        })
    }
}

fn push_addresses(kind: u8, addresses: Addresses, out: &mut Vec<u8>) {
    out.push(kind);
    out.extend(address_bytes(addresses));
}

/// The addresses of sender and receiver, and their ports.
pub(super) fn address_bytes(addresses: Addresses) -> Vec<u8> {
    let mut out = Vec::with_capacity(36);
    let ends = [addresses.sender(), addresses.receiver()];
    for end in ends {
        match end.ip {
            IpAddr::V4(ip) => out.extend(ip.octets()),
            IpAddr::V6(ip) => out.extend(ip.octets()),
        }
    }
    for end in ends {
        out.extend(end.port.to_be_bytes());
    }
    out
}

fn read_addresses(bytes: &[u8]) -> Option<Addresses> {
    fn of<const N: usize>(bytes: &[u8]) -> Option<Addresses>
    where
        IpAddr: From<[u8; N]>,
    {
        let (sender, rest) = bytes.split_first_chunk::<N>()?;
        let (receiver, rest) = rest.split_first_chunk::<N>()?;
        let ports: &[u8; 4] = rest.try_into().ok()?;
        let end = |ip: [u8; N], port: [u8; 2]| Endpoint { ip: ip.into(), port: u16::from_be_bytes(port) };
        Addresses::new(end(*sender, [ports[0], ports[1]]), end(*receiver, [ports[2], ports[3]]))
    }
    if bytes.len() == 12 { of::<4>(bytes) } else { of::<16>(bytes) }
}
