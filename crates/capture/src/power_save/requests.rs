//! How old a frame for a station can be at most: not older than what it answers.
//!
//! A TCP segment that acknowledges data of the station was sent after that data, and an echo reply after its request. Both are
//! seen in the clear or after decryption. What follows in the same flow is not older either.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

use airwatt_base::{Instant, Seq};
use airwatt_dot11::MacAddress;

use super::Mark;
use crate::packet::{CapturedPacket, Ip, TcpFields, TransportHeader};

/// Segments of a flow that are remembered: more than a window of a station in power save has.
const REMEMBERED: usize = 64;

/// A flow by its ends, the station's first.
type Flow = (MacAddress, IpAddr, IpAddr, u16, u16);

/// The segments of one flow that the station sent, and the latest bound of the peer's.
#[derive(Debug, Default)]
struct Asked {
    /// First and next sequence number of each segment, and where it was first sent, if that is sure.
    segments: VecDeque<(Seq, Seq, Option<Mark>)>,
    /// What the last answered segment bounds.
    bound: Option<Mark>,
}

/// The requests of all stations.
#[derive(Debug, Default)]
pub(super) struct Requests(BTreeMap<Flow, Asked>);

fn flow(station: MacAddress, own: IpAddr, peer: IpAddr, (own_port, peer_port): (u16, u16)) -> Flow {
    (station, own, peer, own_port, peer_port)
}

impl Requests {
    /// A segment of the capture ends, and with it what is known.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Enters a frame of the station. `is_first` says whether the frame was sent for the first time, and `unbroken_since` since when
    /// no frame of the station was missed.
    pub(super) fn sent(
        &mut self,
        station: MacAddress,
        packet: &CapturedPacket,
        is_first: bool,
        unbroken_since: Option<Instant>,
    ) {
        let Some(Ip { source, destination, transport, .. }) = packet.ip else { return };
        let mark = (packet.at, packet.number);
        match transport {
            TransportHeader::Tcp(tcp) if tcp.sequence_length() > 0 => {
                let key = flow(station, source, destination, (tcp.source_port, tcp.destination_port));
                let asked = self.0.entry(key).or_default();
                let next = tcp.sequence + tcp.sequence_length();
                let before = asked.segments.back();
                // A segment that repeats another one answers for nothing.
                if asked.segments.iter().any(|(first, ..)| *first == tcp.sequence) {
                    return;
                }
                // It is new if it continues one that was captured and nothing was missed since, or opens the connection.
                let is_new = is_first
                    && before.map_or(tcp.has(TcpFields::SYN), |(_, end, at)| {
                        *end == tcp.sequence
                            && at.zip(unbroken_since).is_some_and(|((at, _), since)| since <= at)
                    });
                asked.segments.push_back((tcp.sequence, next, is_new.then_some(mark)));
                if asked.segments.len() > REMEMBERED {
                    asked.segments.pop_front();
                }
            }
            TransportHeader::Echo { identifier, number, reply: false, .. } if is_first => {
                let key = flow(station, source, destination, (identifier, number));
                let seq = Seq::new(0);
                self.0.insert(
                    key,
                    Asked { segments: VecDeque::from([(seq, seq, Some(mark))]), bound: Some(mark) },
                );
            }
            _ => {}
        }
    }

    /// The frame of the station that a frame for it answers, directly or after others of its flow.
    pub(super) fn answered_by(&mut self, station: MacAddress, packet: &CapturedPacket) -> Option<Mark> {
        let Ip { source, destination, transport, .. } = packet.ip?;
        match transport {
            TransportHeader::Tcp(tcp) => {
                let key = flow(station, destination, source, (tcp.destination_port, tcp.source_port));
                let asked = self.0.get_mut(&key)?;
                if tcp.has(TcpFields::ACK) {
                    let acknowledged = tcp.acknowledgement;
                    let covers = |(first, end, _): &&(Seq, Seq, Option<Mark>)| {
                        first.before(acknowledged) && end.at_or_after(acknowledged)
                    };
                    let found = asked.segments.iter().find(covers).and_then(|(.., at)| *at);
                    asked.bound = asked.bound.max(found);
                }
                asked.bound
            }
            TransportHeader::Echo { identifier, number, reply: true, .. } => {
                self.0.get(&flow(station, destination, source, (identifier, number)))?.bound
            }
            _ => None,
        }
    }
}
