//! A gateway between a wired network and wireless hosts: it ends each connection of a wired host and carries its data on
//! over a connection of its own to the wireless host (I-TCP; the gateway of E2TCP).
//!
//! ```text
//!  wired host ------ wired leg | relay | wireless leg ~~~~~~ wireless host
//! ```
//! Each pair of legs is a relay. The gateway reads from one leg and writes to the other as long as the data that the
//! other has not delivered yet fits its buffer, so that a slow leg holds the fast one back through its window.
//!
//! A gateway is generic over its legs: in the simulator both are machines of this crate, and on a device the wired leg can
//! be a stream of the kernel. Left out: the data that the gateway holds when a host moves to another gateway, and the
//! passing on of the end of a stream.

mod leg;

use std::collections::VecDeque;

use airwatt_base::{Instant, Machine, Schedule, Slot, Timeout};

pub use leg::{Leg, LegEvent, LegOutput, Wireless, WirelessPacket};

/// Index of a relay in its gateway.
pub type RelayId = u32;

/// The leg of a relay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The connection to the wired host.
    Wired,
    /// The connection to the wireless host.
    Wireless,
}

/// An input of a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input<W, S> {
    /// The connections of a relay are opened: the wired one by the gateway, the wireless one by the wireless host.
    Open(RelayId),
    /// A packet of the wired host has arrived.
    FromWired(RelayId, W),
    /// A packet of the wireless host has arrived.
    FromWireless(RelayId, S),
}

/// An output of a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output<W, S> {
    /// A packet to the wired host.
    ToWired(RelayId, W),
    /// A packet to the wireless host.
    ToWireless(RelayId, S),
    /// The gateway gave this many bytes up, as the reliability of a leg permits, and passes zeros on in their place.
    GaveUp(RelayId, u64),
    /// A leg was reset, refused or timed out.
    Lost(RelayId),
}

/// Two connections, and the data between them.
#[derive(Clone, Debug)]
struct Relay<W, S> {
    wired: W,
    wireless: S,
}

/// A gateway with wired legs `W` and wireless legs `S`.
#[derive(Clone, Debug)]
pub struct Gateway<W: Leg, S: Leg> {
    relays: Vec<Relay<W, S>>,
    /// Bytes that a relay holds for one leg at most.
    buffer: u64,
    /// The timers of all legs, two slots for each relay.
    schedule: Schedule,
    outputs: VecDeque<Output<W::Packet, S::Packet>>,
}

const fn slot(relay: RelayId, side: Side) -> Slot {
    2 * relay + side as Slot
}

const fn leg_of(slot: Slot) -> (RelayId, Side) {
    (slot / 2, if slot.is_multiple_of(2) { Side::Wired } else { Side::Wireless })
}

impl<W: Leg, S: Leg> Gateway<W, S> {
    /// A gateway with these relays, each of a wired and a wireless leg, and a buffer of `buffer` bytes for each direction
    /// of each relay.
    pub fn new(buffer: u64, relays: impl IntoIterator<Item = (W, S)>) -> Self {
        let relays: Vec<_> = relays.into_iter().map(|(wired, wireless)| Relay { wired, wireless }).collect();
        let schedule = Schedule::new(2 * relays.len());
        let mut gateway = Self { relays, buffer, schedule, outputs: VecDeque::new() };
        for slot in 0..2 * gateway.relays.len() as Slot {
            gateway.update_timer(slot);
        }
        gateway
    }

    /// The wired leg of a relay.
    pub fn wired(&self, relay: RelayId) -> &W {
        &self.relays[relay as usize].wired
    }

    /// The wireless leg of a relay.
    pub fn wireless(&self, relay: RelayId) -> &S {
        &self.relays[relay as usize].wireless
    }

    fn update_timer(&mut self, slot: Slot) {
        let (relay, side) = leg_of(slot);
        let relay = &self.relays[relay as usize];
        let due = match side {
            Side::Wired => relay.wired.due(),
            Side::Wireless => relay.wireless.due(),
        };
        self.schedule.put(slot, due);
    }

    /// Takes the outputs of a leg.
    fn collect(&mut self, id: RelayId, side: Side) {
        let relay = &mut self.relays[id as usize];
        match side {
            Side::Wired => {
                while let Some(output) = relay.wired.poll() {
                    self.outputs.extend(match output {
                        LegOutput::Transmit(packet) => Some(Output::ToWired(id, packet)),
                        LegOutput::Event(event) => report(id, event),
                    });
                }
            }
            Side::Wireless => {
                while let Some(output) = relay.wireless.poll() {
                    self.outputs.extend(match output {
                        LegOutput::Transmit(packet) => Some(Output::ToWireless(id, packet)),
                        LegOutput::Event(event) => report(id, event),
                    });
                }
            }
        }
        self.update_timer(slot(id, side));
    }

    /// Reads what one leg has received and writes it to the other, as far as the buffer has room.
    fn carry_on(&mut self, id: RelayId, now: Instant) {
        let Relay { wired, wireless } = &mut self.relays[id as usize];
        let down = wired.readable().min(self.buffer.saturating_sub(wireless.unacknowledged()));
        if down > 0 {
            wired.read(down, now);
            wireless.write(down, now);
            self.collect(id, Side::Wired);
            self.collect(id, Side::Wireless);
        }
        let Relay { wired, wireless } = &mut self.relays[id as usize];
        let up = wireless.readable().min(self.buffer.saturating_sub(wired.unacknowledged()));
        if up > 0 {
            wireless.read(up, now);
            wired.write(up, now);
            self.collect(id, Side::Wireless);
            self.collect(id, Side::Wired);
        }
    }

    /// Opens the connections of a relay.
    fn open(&mut self, id: RelayId, now: Instant) {
        self.relays[id as usize].wired.open(now);
        self.collect(id, Side::Wired);
        self.relays[id as usize].wireless.listen(now);
        self.collect(id, Side::Wireless);
    }
}

/// What the driver of a gateway learns of an event of a leg.
const fn report<W, S>(relay: RelayId, event: LegEvent) -> Option<Output<W, S>> {
    match event {
        LegEvent::GaveUp(bytes) => Some(Output::GaveUp(relay, bytes)),
        LegEvent::Lost => Some(Output::Lost(relay)),
        LegEvent::Other => None,
    }
}

impl<W: Leg, S: Leg> Machine for Gateway<W, S> {
    type Input = Input<W::Packet, S::Packet>;
    type Output = Output<W::Packet, S::Packet>;
    type Reason = (RelayId, Side);

    fn handle_input(&mut self, input: Self::Input, now: Instant) {
        let id = match input {
            Input::Open(relay) => return self.open(relay, now),
            Input::FromWired(relay, packet) => {
                self.relays[relay as usize].wired.receive(packet, now);
                self.collect(relay, Side::Wired);
                relay
            }
            Input::FromWireless(relay, packet) => {
                self.relays[relay as usize].wireless.receive(packet, now);
                self.collect(relay, Side::Wireless);
                relay
            }
        };
        self.carry_on(id, now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        while let Some((_, slot)) = self.schedule.first().filter(|(at, _)| *at <= now) {
            let (id, side) = leg_of(slot);
            let relay = &mut self.relays[id as usize];
            match side {
                Side::Wired => relay.wired.handle_timeout(now),
                Side::Wireless => relay.wireless.handle_timeout(now),
            }
            self.collect(id, side);
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

#[cfg(test)]
mod tests;
