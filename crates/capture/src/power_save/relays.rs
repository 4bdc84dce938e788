//! Since when a frame for a station is at its access point at the latest: since another station of the cell sent it there.
//!
//! A monitor does not see what reaches an access point from elsewhere. What stations of its cell send to each other it sees twice: on the
//! way to the access point, and on the way from it with both addresses.

use std::collections::{BTreeMap, VecDeque};

use airwatt_dot11::MacAddress;

use super::Mark;
use crate::packet::{AirFrame, CapturedPacket, Ip};

/// Frames for a station that are remembered, the youngest ones.
const REMEMBERED: usize = 64;

/// What a frame carries, as far as it is the same on both ways.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Payload {
    source: MacAddress,
    ip: Option<Ip>,
    bytes: u32,
}

impl Payload {
    /// That of a frame, and the address that it is for.
    fn of(packet: &CapturedPacket, frame: &AirFrame) -> Option<(Self, MacAddress)> {
        let (source, destination) = packet.macs?;
        Some((Self { source, ip: packet.ip, bytes: frame.msdu_bytes }, destination))
    }
}

/// A frame that an access point acknowledged.
#[derive(Clone, Copy, Debug)]
struct Relayed {
    payload: Payload,
    sequence_control: Option<u16>,
    mark: Mark,
}

/// The frames of stations for stations, by the cell and the destination.
#[derive(Debug, Default)]
pub(super) struct Relays(BTreeMap<(MacAddress, MacAddress), VecDeque<Relayed>>);

impl Relays {
    /// A segment of the capture ends, and with it what is known.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Enters a frame of a station that its access point acknowledged. Of its transmissions the last one counts.
    pub(super) fn sent(
        &mut self,
        bssid: MacAddress,
        packet: &CapturedPacket,
        frame: &AirFrame,
        is_followed: impl Fn(MacAddress) -> bool,
    ) {
        let Some((payload, destination)) =
            Payload::of(packet, frame).filter(|(_, destination)| is_followed(*destination))
        else {
            return;
        };
        let sequence_control = frame.sequence_control;
        let sent = self.0.entry((bssid, destination)).or_default();
        if packet.repeated && sent.back().is_some_and(|last| last.sequence_control == sequence_control) {
            sent.pop_back();
        }
        sent.push_back(Relayed { payload, sequence_control, mark: (packet.at, packet.number) });
        if sent.len() > REMEMBERED {
            sent.pop_front();
        }
    }

    /// The frame that brought what a frame for a station carries, the youngest of those that are alike.
    pub(super) fn brought_by(
        &mut self,
        bssid: MacAddress,
        packet: &CapturedPacket,
        frame: &AirFrame,
    ) -> Option<Mark> {
        let (payload, destination) = Payload::of(packet, frame)?;
        let sent = self.0.get_mut(&(bssid, destination))?;
        let found = sent.iter().rfind(|one| one.payload == payload)?.mark;
        sent.retain(|one| one.payload != payload);
        Some(found)
    }
}
