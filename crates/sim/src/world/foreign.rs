//! Foreign packets and a foreign clock: what [`crate::live`] drives.

use airwatt_base::Instant;
use airwatt_proto::powersave::StationId;

use super::wiring::Message;
use super::{Flow, FlowState, World};
use crate::apps::{Crossing, Foreign, Meter};
use crate::packet::{Body, FlowId, Packet};

/// A packet on its way up that is for another station of the cell: the same packet on its way down there. The flow of a
/// station's foreign packets has the station's number.
pub(super) fn turn(foreign: &mut Foreign, packet: Packet) -> Option<Packet> {
    let Body::Datagram(number) = packet.body else { return None };
    foreign.take_turn(number).map(|to| Packet { flow: FlowId::from(to), ..packet })
}

impl World {
    /// Serves every wake-up that is due at or before `now`, each at its own time.
    pub(crate) fn serve_until(&mut self, now: Instant) {
        while let Some((at, slot)) = self.schedule.first().filter(|(at, _)| *at <= now) {
            self.wake(at, slot);
        }
        self.now = self.now.max(now);
    }

    /// When the next machine wants to be woken.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.schedule.first().map(|(at, _)| at)
    }

    /// A foreign packet leaves the server, or this station for the server or for the station `to`.
    pub(crate) fn send_foreign(
        &mut self,
        station: StationId,
        down: bool,
        to: Option<StationId>,
        number: u64,
        bytes: u32,
    ) {
        let packet =
            Packet { flow: FlowId::from(station), bytes, sent: self.now, body: Body::Datagram(number) };
        if let (Some(to), FlowState::Foreign(foreign)) = (to, &mut self.flows[station as usize].application) {
            foreign.turns_at_base(number, to);
        }
        self.messages.push_back(match (down, self.flows[station as usize].wire) {
            (true, Some(_)) => Message::Wire { down, packet },
            (down, _) => Message::Hop { down, packet },
        });
        self.deliver_messages();
    }

    /// The next foreign packet that has come to its end.
    pub(crate) fn take_crossing(&mut self) -> Option<Crossing> {
        self.crossings.pop_front()
    }

    pub(super) fn crossed(&mut self, packet: Packet, arrived: bool) {
        let Body::Datagram(number) = packet.body else { return };
        self.crossings.push_back(Crossing { number, at: self.now, took: self.now - packet.sent, arrived });
    }

    /// Puts flows that were observed from outside in the place of the foreign ones.
    pub(crate) fn replace_flows(&mut self, observed: impl Iterator<Item = (Option<StationId>, bool, Meter)>) {
        let wire = (!self.wires.is_empty()).then_some(0);
        let flow = |(station, down, meter)| Flow {
            station,
            wire,
            down,
            application: FlowState::Foreign(Foreign::default()),
            meter,
            first_slot: 0,
        };
        self.flows = observed.map(flow).collect();
    }
}
