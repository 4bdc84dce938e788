//! What a base station does for the connections of its mobiles.
//!
//! * A [`Gateway`] splits the connections of a simulation: each ends at the base station and is carried on over a connection of
//!   its own to the mobile, so that each hop has its own flow control, congestion control and recovery (I-TCP; the base station
//!   of E2TCP). The decisions about one connection are a [`Relay`].
//! * A [`SplitProxy`] is one end of the same on a device, whose plain connections are sockets of the host's kernel; the packets
//!   that open them are [`Opening`]s, and what the two ends send each other are [`GatewayMessage`]s.
//! * A [`TcpProxy`] is a base station alone on a device, for mobiles without a daemon: both legs are sockets of its kernel.
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
mod tcp_proxy;
#[cfg(test)]
mod tests;
mod timer_queue;
mod translate;

use std::collections::VecDeque;

use airwatt_base::{Instant, Machine, Schedule, Slot, Timeout};

pub use ending::ConnectionEnding;
pub use message::GatewayMessage;
pub use note::{Fate, Note, Why};
pub use opening::{Opening, parse_reset, provocation};
pub use proxy_interface::{
    ConnectFailure, ConnectionId, ConnectionRow, ProxyCounters, ProxyTimer, Shares, SplitProxyConfig,
    SplitProxyInput, SplitProxyOutput,
};
pub use relay::{Relay, Side, Verdict};
pub use snoop::{Snoop, SnoopConfig, SnoopInput, SnoopOutput, SnoopStatistics, SnoopTimer};
pub use split_proxy::SplitProxy;
pub use tcp_proxy::{TcpProxy, TcpProxyConfig};
pub use translate::Translated;

use crate::end::{End, EndEvent, EndOutput};

/// Index of a relay in its gateway.
pub type RelayId = u32;

/// An input of a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input<W, S> {
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

/// A relay with its legs.
#[derive(Clone, Debug)]
struct Relayed<W: End, S: End> {
    relay: Relay,
    wired: W,
    wireless: S,
    /// The packet that opens the connection, until it may be answered.
    held: (Option<W::Packet>, Option<S::Packet>),
}

/// A gateway with wired legs `W` and wireless legs `S`.
#[derive(Clone, Debug)]
pub struct Gateway<W: End, S: End> {
    relays: Vec<Relayed<W, S>>,
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

impl<W: End, S: End<Data = W::Data>> Gateway<W, S> {
    /// A gateway with these relays, each of a wired and a wireless leg, and a buffer of `buffer` bytes for each direction
    /// of each relay. The legs either stand, or are opened by the first packet from either side.
    pub fn new(buffer: u64, stand: bool, relays: impl IntoIterator<Item = (W, S)>) -> Self {
        let relay = |(wired, wireless)| Relayed {
            relay: Relay::new(buffer, stand),
            wired,
            wireless,
            held: (None, None),
        };
        let relays: Vec<_> = relays.into_iter().map(relay).collect();
        let schedule = Schedule::new(2 * relays.len());
        let mut gateway = Self { relays, schedule, outputs: VecDeque::new() };
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
    fn collect(&mut self, id: RelayId, side: Side, now: Instant) {
        loop {
            let relayed = &mut self.relays[id as usize];
            let event = match side {
                Side::Wired => match relayed.wired.poll() {
                    Some(EndOutput::Transmit(packet)) => {
                        self.outputs.push_back(Output::ToWired(id, packet));
                        continue;
                    }
                    Some(EndOutput::Event(event)) => event,
                    None => break,
                },
                Side::Wireless => match relayed.wireless.poll() {
                    Some(EndOutput::Transmit(packet)) => {
                        self.outputs.push_back(Output::ToWireless(id, packet));
                        continue;
                    }
                    Some(EndOutput::Event(event)) => event,
                    None => break,
                },
            };
            if let EndEvent::GaveUp(bytes) = event {
                self.outputs.push_back(Output::GaveUp(id, bytes));
            }
            let Relayed { relay, wired, wireless, .. } = relayed;
            if let Some(verdict) = relay.on_event(side, event, wired, wireless, now) {
                self.execute(id, verdict, now);
            }
        }
        self.update_timer(slot(id, side));
    }

    fn execute(&mut self, id: RelayId, verdict: Verdict, now: Instant) {
        let relayed = &mut self.relays[id as usize];
        match verdict {
            Verdict::Admit(Side::Wired) => {
                relayed.wired.listen(now);
                if let Some(first) = relayed.held.0.take() {
                    relayed.wired.receive(first, now);
                }
                self.collect(id, Side::Wired, now);
            }
            Verdict::Admit(Side::Wireless) => {
                relayed.wireless.listen(now);
                if let Some(first) = relayed.held.1.take() {
                    relayed.wireless.receive(first, now);
                }
                self.collect(id, Side::Wireless, now);
            }
            Verdict::Refuse(side) => {
                let held = std::mem::take(&mut relayed.held);
                self.outputs.extend(match side {
                    Side::Wired => {
                        held.0.and_then(|first| W::refusal(&first)).map(|no| Output::ToWired(id, no))
                    }
                    Side::Wireless => {
                        held.1.and_then(|first| S::refusal(&first)).map(|no| Output::ToWireless(id, no))
                    }
                });
                self.outputs.push_back(Output::Lost(id));
            }
            Verdict::Forget(_) => {
                relayed.held = (None, None);
                self.outputs.push_back(Output::Lost(id));
            }
            Verdict::Lost(_) => {
                self.collect(id, Side::Wired, now);
                self.collect(id, Side::Wireless, now);
                self.outputs.push_back(Output::Lost(id));
            }
            Verdict::Done => {}
        }
    }

    /// Carries on what has arrived, as far as the buffers have room.
    fn carry_on(&mut self, id: RelayId, now: Instant) {
        loop {
            let Relayed { relay, wired, wireless, .. } = &mut self.relays[id as usize];
            if !relay.step(wired, wireless, now) {
                break;
            }
            self.collect(id, Side::Wired, now);
            self.collect(id, Side::Wireless, now);
        }
    }

    /// A packet from the wired host. The first one is held, and the wireless leg opened.
    fn take_from_wired(&mut self, id: RelayId, packet: W::Packet, now: Instant) {
        let Relayed { relay, wired, wireless, held } = &mut self.relays[id as usize];
        if relay.is_waiting() {
            relay.begin(Side::Wired, now);
            held.0 = Some(packet);
            wireless.open(now);
            return self.collect(id, Side::Wireless, now);
        }
        // What its sender repeats meanwhile says nothing new.
        if relay.opened_by() != Some(Side::Wired) {
            wired.receive(packet, now);
            self.collect(id, Side::Wired, now);
        }
    }

    /// As [`Gateway::take_from_wired`], for the other side.
    fn take_from_wireless(&mut self, id: RelayId, packet: S::Packet, now: Instant) {
        let Relayed { relay, wired, wireless, held } = &mut self.relays[id as usize];
        if relay.is_waiting() {
            relay.begin(Side::Wireless, now);
            held.1 = Some(packet);
            wired.open(now);
            return self.collect(id, Side::Wired, now);
        }
        if relay.opened_by() != Some(Side::Wireless) {
            wireless.receive(packet, now);
            self.collect(id, Side::Wireless, now);
        }
    }
}

impl<W: End, S: End<Data = W::Data>> Machine for Gateway<W, S> {
    type Input = Input<W::Packet, S::Packet>;
    type Output = Output<W::Packet, S::Packet>;
    type Reason = (RelayId, Side);

    fn handle_input(&mut self, input: Self::Input, now: Instant) {
        let id = match input {
            Input::FromWired(relay, packet) => {
                self.take_from_wired(relay, packet, now);
                relay
            }
            Input::FromWireless(relay, packet) => {
                self.take_from_wireless(relay, packet, now);
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
