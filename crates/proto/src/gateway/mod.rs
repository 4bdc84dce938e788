//! What a base station does for the connections of its mobiles.
//!
//! * A [`Gateway`] splits the connections of a simulation: each ends at the base station and is carried on over a connection of
//!   its own to the mobile, so that each hop has its own flow control, congestion control and recovery (I-TCP; the base station
//!   of E2TCP). The decisions about one connection are a [`Relay`].
//! * A [`SplitProxy`] is one end of the same on a device, whose plain connections are sockets of the host's kernel; the packets
//!   that open them are [`Opening`]s, and what the two ends send each other are [`GatewayMessage`]s. Alone it is a base station for
//!   mobiles without a daemon: both legs are sockets of its kernel.
//! * [`Translated`] is an end with E2TCP's rules for a mobile that speaks TCP alone.
//! * [`Snoop`] leaves connections whole, keeps copies of what passes and retransmits it over the last hop.
//!
//! All are generic over what they carry: lengths in the simulator, bytes on a device. Left out: the data that a base station
//! holds when a mobile moves to another one, and the urgent pointer, which the TCP of this crate does not have.

mod connection_book;
mod ending;
mod message;
mod note;
mod opening;
mod proxy_interface;
mod relay;
mod snoop;
mod socket_leg;
mod split_proxy;
mod table_leg;
#[cfg(test)]
mod tests;
mod timer_queue;
mod translate;

use std::collections::VecDeque;

use airwatt_base::{Instant, Machine, Schedule, Slot, Timeout};

pub use ending::ConnectionEnding;
pub use message::GatewayMessage;
pub use note::{ConnectionFate, Note, Why};
pub use opening::{Opening, parse_reset, provocation};
pub use proxy_interface::{
    ConnectFailure, ConnectionId, ConnectionRow, ProxyCounters, ProxyTimer, Shares, SplitProxyConfig,
    SplitProxyInput, SplitProxyOutput,
};
pub use relay::{Relay, RelayAction, Side};
pub use snoop::{Snoop, SnoopConfig, SnoopInput, SnoopOutput, SnoopStatistics, SnoopTimer};
pub use split_proxy::SplitProxy;
pub use translate::Translated;

use crate::end::{End, EndEvent, EndOutput};

/// Index of a relay in its gateway.
pub type RelayId = u32;

/// An input of a gateway: a packet of the host at one side of a relay has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Input<P> {
    /// The relay.
    pub relay: RelayId,
    /// The side.
    pub from: Side,
    /// The packet.
    pub packet: P,
}

/// An output of a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output<P> {
    /// A packet to the host at this side.
    Transmit(RelayId, Side, P),
    /// The gateway gave this many bytes up, as the reliability of a leg permits, and passes zeros on in their place.
    GaveUp(RelayId, u64),
    /// A leg was reset, refused or timed out.
    Lost(RelayId),
}

/// A relay with its legs.
#[derive(Clone, Debug)]
struct Relayed<E: End> {
    relay: Relay,
    /// The wired and the wireless leg.
    legs: [E; 2],
    /// The packet that opens the connection, until it may be answered.
    held: Option<E::Packet>,
}

/// A gateway whose legs are ends of connections.
#[derive(Clone, Debug)]
pub struct Gateway<E: End> {
    relays: Vec<Relayed<E>>,
    /// The timers of all legs, two slots for each relay.
    schedule: Schedule,
    outputs: VecDeque<Output<E::Packet>>,
}

const fn slot(relay: RelayId, side: Side) -> Slot {
    2 * relay + side as Slot
}

const fn leg_of(slot: Slot) -> (RelayId, Side) {
    (slot / 2, if slot.is_multiple_of(2) { Side::Wired } else { Side::Wireless })
}

impl<E: End> Gateway<E> {
    /// A gateway with these relays, each of a wired and a wireless leg, and a buffer of `buffer` bytes for each direction
    /// of each relay. The legs either stand, or are opened by the first packet from either side.
    pub fn new(buffer: u64, stand: bool, relays: impl IntoIterator<Item = [E; 2]>) -> Self {
        let relay = |legs| Relayed { relay: Relay::new(buffer, stand), legs, held: None };
        let relays: Vec<_> = relays.into_iter().map(relay).collect();
        let schedule = Schedule::new(2 * relays.len());
        let mut gateway = Self { relays, schedule, outputs: VecDeque::new() };
        for slot in 0..2 * gateway.relays.len() as Slot {
            gateway.update_timer(slot);
        }
        gateway
    }

    /// A leg of a relay.
    pub fn leg(&self, relay: RelayId, side: Side) -> &E {
        &self.relays[relay as usize].legs[side as usize]
    }

    fn update_timer(&mut self, slot: Slot) {
        let (relay, side) = leg_of(slot);
        self.schedule.put(slot, self.leg(relay, side).due());
    }

    /// Takes the outputs of a leg.
    fn collect(&mut self, id: RelayId, side: Side, now: Instant) {
        while let Some(output) = self.relays[id as usize].legs[side as usize].poll() {
            match output {
                EndOutput::Transmit(packet) => self.outputs.push_back(Output::Transmit(id, side, packet)),
                EndOutput::Event(event) => self.on_event(id, side, event, now),
            }
        }
        self.update_timer(slot(id, side));
    }

    fn on_event(&mut self, id: RelayId, side: Side, event: EndEvent, now: Instant) {
        if let EndEvent::GaveUp(bytes) = event {
            self.outputs.push_back(Output::GaveUp(id, bytes));
        }
        let Relayed { relay, legs: [wired, wireless], .. } = &mut self.relays[id as usize];
        if let Some(verdict) = relay.on_event(side, event, wired, wireless, now) {
            self.execute(id, verdict, now);
        }
    }

    fn execute(&mut self, id: RelayId, verdict: RelayAction, now: Instant) {
        let Relayed { legs, held, .. } = &mut self.relays[id as usize];
        match verdict {
            RelayAction::Admit(side) => {
                let leg = &mut legs[side as usize];
                leg.listen(now);
                if let Some(first) = held.take() {
                    leg.receive(first, now);
                }
                self.collect(id, side, now);
            }
            RelayAction::Refuse(side) => {
                let refusal = held.take().and_then(|first| E::refusal(&first));
                self.outputs.extend(refusal.map(|refusal| Output::Transmit(id, side, refusal)));
                self.outputs.push_back(Output::Lost(id));
            }
            RelayAction::Forget(_) => {
                *held = None;
                self.outputs.push_back(Output::Lost(id));
            }
            RelayAction::Lost(_) => {
                self.collect(id, Side::Wired, now);
                self.collect(id, Side::Wireless, now);
                self.outputs.push_back(Output::Lost(id));
            }
            RelayAction::Done => {}
        }
    }

    /// Carries on what has arrived, as far as the buffers have room.
    fn carry_on(&mut self, id: RelayId, now: Instant) {
        loop {
            let Relayed { relay, legs: [wired, wireless], .. } = &mut self.relays[id as usize];
            if !relay.step(wired, wireless, now) {
                break;
            }
            self.collect(id, Side::Wired, now);
            self.collect(id, Side::Wireless, now);
        }
    }

    /// A packet has arrived. The first one is held, and the leg to the other side opened.
    fn take(&mut self, Input { relay: id, from, packet }: Input<E::Packet>, now: Instant) {
        let Relayed { relay, legs, held } = &mut self.relays[id as usize];
        if relay.is_waiting() {
            relay.begin(from, now);
            *held = Some(packet);
            legs[from.other() as usize].open(now);
            self.collect(id, from.other(), now);
        } else if relay.opened_by() != Some(from) {
            // What the sender of the first one repeats meanwhile says nothing new.
            legs[from as usize].receive(packet, now);
            self.collect(id, from, now);
        }
    }
}

impl<E: End> Machine for Gateway<E> {
    type Input = Input<E::Packet>;
    type Output = Output<E::Packet>;
    type Reason = (RelayId, Side);

    fn handle_input(&mut self, input: Self::Input, now: Instant) {
        let id = input.relay;
        self.take(input, now);
        self.carry_on(id, now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        while let Some((_, slot)) = self.schedule.first().filter(|(at, _)| *at <= now) {
            let (id, side) = leg_of(slot);
            self.relays[id as usize].legs[side as usize].handle_timeout(now);
            self.collect(id, side, now);
            self.carry_on(id, now);
        }
    }

    fn poll_output(&mut self) -> Option<Self::Output> {
        self.outputs.pop_front()
    }

    fn poll_timeout(&self) -> Option<Timeout<Self::Reason>> {
        self.schedule.first().map(|(at, slot)| Timeout { at, reason: leg_of(slot) })
    }
}
