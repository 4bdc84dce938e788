//! A tunnel that carries all flows of a client and sends their packets in bursts (Hashimoto 2013, chapter 4), so that the
//! client's radio wakes once for a burst instead of once for a packet.
//!
//! ```text
//!  host ---- client ~~~~~~~~ wireless hop ~~~~~~~~ concentrator ---- servers
//!       inner packets    outer packets, in bursts        inner packets
//! ```
//! Both ends are the same machine. It holds the inner packets of its host until one of these comes first, and sends
//! everything that it holds then:
//!
//! * **The burst is full**: m packets, a fixed number or the largest that keeps the mean delay below a budget ([`burst`]).
//! * **The time-out**: the oldest packet has been held for as long as [`TunnelConfig`] allows.
//! * **The radio is awake anyway**: the peer's burst has ended, or the client is due to send a trigger.
//!
//! A client also estimates the interval at which the concentrator fills bursts, and sends an empty datagram as a trigger
//! when it has sent nothing for so long (equations 4.15 to 4.17): under U-APSD any frame of a station opens a service
//! period. Under other power save that is of no use, and `triggers` turns it off. Equations have an interval of at most the beacon interval also for a client that receives nothing. This machine
//! sends no trigger then, because beacons announce buffered packets as often: an idle tunnel never wakes up.
//!
//! Inner flows share a burst by deficit round robin ([`queue`]). An [`Association`] carries packets to the peer and is
//! exchangeable: [`Plain`] numbers datagrams and leaves losses to the inner transports, and [`Sctp`] is an SCTP association.
//!
//! A tunnel is generic over its inner packet: the simulator's packets have a length and no bytes, and a daemon's are bytes
//! ([`IpPacket`]). Left out here: encryption, addresses of the peer, and the division of an inner packet among outer ones.

pub mod association;
pub mod burst;
mod config;
pub mod ip;
mod plain;
pub mod queue;
pub mod sctp;
pub mod wire;

use std::fmt::Debug;

use airwatt_base::{Instant, Machine, Span, Timeout, TimerTable, timer_kinds};

pub use self::association::{Association, AssociationOutput};
pub use self::config::{AssociationKind, TunnelConfig};
pub use self::ip::IpPacket;
pub use self::plain::{Datagram, Plain};
pub use self::sctp::Sctp;
pub use self::wire::TunnelHeader;

use self::burst::{BurstSize, TriggerInterval};
use self::queue::FlowQueues;

/// Time from the end of the peer's burst to the release of what is held: a host acknowledges what it has received within
/// this time, so that its acknowledgements leave while the radio is still awake.
pub const ANSWER_DELAY: Span = Span::from_micros(200);

/// A packet of a tunnel's host.
pub trait Inner: Clone + Debug + Send {
    /// What tells flows apart, as addresses and ports.
    type Flow: Copy + Debug + Ord + Send;

    /// The flow of the packet.
    fn flow(&self) -> Self::Flow;
    /// Its length in bytes, IP header included.
    fn bytes(&self) -> u32;
    /// Whether it is a pure acknowledgement that makes `older`, an earlier packet of its flow, superfluous. Duplicate
    /// acknowledgements and those with selective acknowledgements are never superfluous, since they report losses.
    fn supersedes(&self, older: &Self) -> bool;
}

/// The end of a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TunnelEnd {
    /// At the wireless host: this end sends triggers.
    Client,
    /// At the access point, or beside it.
    Concentrator,
}

/// An input of a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input<P, D> {
    /// A packet of the own host, for the peer's side.
    Inner(P),
    /// A datagram of the peer.
    Outer(D),
    /// The radio is awake: what is held is sent.
    Awake,
}

/// An output of a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output<P, D> {
    /// A datagram for the peer.
    Transmit(D),
    /// A packet for the own host.
    Deliver(P),
    /// A packet that goes no further, and why.
    Dropped(P, DropReason),
}

/// Why a packet of the own host goes no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// A later acknowledgement of the same flow took its place.
    Superseded,
    /// The tunnel held as many packets as it may.
    QueueFull,
    /// The association gave it up.
    Abandoned,
}

/// Why a burst was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// It had its m packets.
    Full,
    /// Its oldest packet had been held long enough.
    TimedOut,
    /// The radio was awake anyway.
    Awake,
}

timer_kinds! {
    /// Why a tunnel wakes up.
    pub enum Reason {
        /// When to serve the association.
        Association = "association",
        /// When to send what is held after the peer's burst.
        Answer = "answer",
        /// When to send what is held because its oldest packet has been held long enough.
        Hold = "hold",
        /// When to send what is held in place of a trigger, which waits a little for a burst that is about to fill.
        DelayedTrigger = "delayed-trigger",
        /// When to fetch what the peer's burst may have become.
        Trigger = "trigger",
        /// When to keep mappings of addresses on the path alive.
        KeepAlive = "keep-alive",
    }
}

/// What a tunnel has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets of the own host that were sent to the peer.
    pub packets: u64,
    /// Their bytes.
    pub packet_bytes: u64,
    /// Datagrams sent.
    pub datagrams: u64,
    /// Bursts sent with m packets.
    pub full_bursts: u64,
    /// Bursts sent at their time-out.
    pub timed_out_bursts: u64,
    /// Bursts sent because the radio was awake.
    pub awake_bursts: u64,
    /// Sum over packets of the time for which they were held.
    pub held: Span,
    /// The longest of these times.
    pub held_longest: Span,
    /// Acknowledgements that a later one superseded.
    pub superseded: u64,
    /// Packets dropped at a full queue or given up by the association.
    pub dropped: u64,
    /// Empty datagrams sent as triggers.
    pub triggers: u64,
    /// Empty datagrams sent to keep mappings alive.
    pub keep_alives: u64,
    /// Packets delivered to the own host.
    pub delivered: u64,
    /// Their bytes.
    pub delivered_bytes: u64,
}

/// One end of a tunnel over an association `A`.
#[derive(Clone, Debug)]
pub struct Tunnel<A: Association> {
    config: TunnelConfig,
    end: TunnelEnd,
    association: A,
    queues: FlowQueues<A::Inner>,
    size: BurstSize,
    interval: TriggerInterval,
    timers: TimerTable<Reason, 6>,
    /// Packets of a released burst that the association has no room for yet.
    unsent: usize,
    counts: Counts,
    outputs: std::collections::VecDeque<Output<A::Inner, A::Datagram>>,
}

impl<A: Association> Tunnel<A> {
    /// One end of a tunnel. Panics if a setting is not allowed ([`TunnelConfig`] checks itself).
    pub fn new(config: TunnelConfig, end: TunnelEnd, association: A) -> Self {
        let timers = TimerTable::new();
        let mut tunnel = Self {
            size: BurstSize::new(&config),
            interval: TriggerInterval::new(),
            queues: FlowQueues::new(config.queue_bytes()),
            config,
            end,
            association,
            timers,
            unsent: 0,
            counts: Counts::default(),
            outputs: Default::default(),
        };
        tunnel.update_association_timer();
        // The peer reaches a client behind an address translator only after the client's first datagram.
        if let (TunnelEnd::Client, Some(keep_alive)) = (end, tunnel.config.keep_alive) {
            tunnel.timers.set(Reason::KeepAlive, Instant::ZERO + keep_alive);
        }
        tunnel
    }

    /// What the tunnel has counted.
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The association.
    pub const fn association(&self) -> &A {
        &self.association
    }

    /// The association, for its settings.
    pub const fn association_mut(&mut self) -> &mut A {
        &mut self.association
    }

    /// m, the number of packets after which a burst is sent.
    pub const fn burst_packets(&self) -> u32 {
        self.size.packets()
    }

    /// The interval between triggers; `None` while beacons announce what the peer sends as often.
    pub fn trigger_interval(&self) -> Option<Span> {
        self.interval.triggers(self.size.packets()).filter(|_| self.triggers())
    }

    /// Whether this end sends triggers.
    fn triggers(&self) -> bool {
        self.end == TunnelEnd::Client && self.config.triggers
    }

    /// Number of packets held.
    pub fn held_packets(&self) -> usize {
        self.queues.len()
    }

    // Packets of the own host.

    fn hold(&mut self, packet: A::Inner, now: Instant) {
        self.size.note_packet(now);
        let superseded = if self.config.thin_acks { self.queues.supersede(&packet) } else { None };
        if let Some(older) = superseded {
            self.counts.superseded += 1;
            self.outputs.push_back(Output::Dropped(older, DropReason::Superseded));
            return;
        }
        if let Some(dropped) = self.queues.push(packet, now) {
            self.discard(dropped, DropReason::QueueFull);
        }
        if self.unsent > 0 {
            // The association has no room: packets join the burst that is being sent.
            self.unsent += 1;
            return self.send(now);
        }
        if self.queues.len() >= self.size.packets() as usize {
            return self.release(Release::Full, now);
        }
        if !self.timers.is_running(Reason::Hold) {
            self.timers.set(Reason::Hold, now + self.size.hold());
        }
    }

    /// Sends what is held.
    fn release(&mut self, why: Release, now: Instant) {
        for timer in [Reason::Hold, Reason::DelayedTrigger, Reason::Answer] {
            self.timers.stop(timer);
        }
        if self.queues.is_empty() {
            return;
        }
        *match why {
            Release::Full => &mut self.counts.full_bursts,
            Release::TimedOut => &mut self.counts.timed_out_bursts,
            Release::Awake => &mut self.counts.awake_bursts,
        } += 1;
        self.unsent = self.queues.len();
        self.send(now);
    }

    /// Gives the packets of the released burst to the association, as far as it has room.
    fn send(&mut self, now: Instant) {
        if self.unsent == 0 {
            return;
        }
        self.association.open(now);
        let before = self.unsent;
        while self.unsent > 0 && self.association.has_room() {
            let Some((packet, since)) = self.queues.pop() else {
                self.unsent = 0;
                break;
            };
            self.unsent -= 1;
            let held = now.saturating_since(since);
            self.counts.held += held;
            self.counts.held_longest = self.counts.held_longest.max(held);
            self.counts.packets += 1;
            self.counts.packet_bytes += u64::from(packet.bytes());
            self.association.send(packet, now);
        }
        if self.unsent < before {
            self.association.end_burst(now);
            self.note_sent(now);
        }
        self.collect(now);
    }

    /// Any datagram is a trigger, and keeps mappings alive.
    fn note_sent(&mut self, now: Instant) {
        if let Some(keep_alive) = self.config.keep_alive {
            self.timers.set(Reason::KeepAlive, now + keep_alive);
        }
        self.schedule_trigger(now, now);
    }

    fn schedule_trigger(&mut self, last_sent: Instant, now: Instant) {
        if !self.triggers() {
            return;
        }
        self.interval.note_sent(last_sent);
        match self.interval.due(self.size.packets(), now) {
            Some(at) => self.timers.set(Reason::Trigger, at),
            None => self.timers.stop(Reason::Trigger),
        }
    }

    fn discard(&mut self, packet: A::Inner, why: DropReason) {
        self.counts.dropped += 1;
        self.outputs.push_back(Output::Dropped(packet, why));
    }

    // The association.

    /// Takes the outputs of the association.
    fn collect(&mut self, now: Instant) {
        while let Some(output) = self.association.poll() {
            match output {
                AssociationOutput::Transmit(datagram) => {
                    self.counts.datagrams += 1;
                    self.outputs.push_back(Output::Transmit(datagram));
                }
                AssociationOutput::Deliver(packet) => {
                    self.counts.delivered += 1;
                    self.counts.delivered_bytes += u64::from(packet.bytes());
                    if self.triggers() {
                        self.interval.note_received(now);
                    }
                    self.outputs.push_back(Output::Deliver(packet));
                }
                AssociationOutput::BurstEnded => self.answer(now),
                AssociationOutput::Abandoned(packet) => self.discard(packet, DropReason::Abandoned),
            }
        }
        self.update_association_timer();
    }

    /// The peer's burst has ended, and the radio is awake.
    fn answer(&mut self, now: Instant) {
        if self.config.answer && self.unsent == 0 && !self.timers.is_running(Reason::Answer) {
            self.timers.set(Reason::Answer, now + ANSWER_DELAY);
        }
    }

    fn receive(&mut self, datagram: A::Datagram, now: Instant) {
        self.association.receive(datagram, now);
        self.collect(now);
        self.send(now);
        if self.triggers()
            && let Some(at) = self.interval.due(self.size.packets(), now)
        {
            self.timers.set(Reason::Trigger, at);
        }
    }

    fn update_association_timer(&mut self) {
        match self.association.due() {
            Some(at) => self.timers.set(Reason::Association, at),
            None => self.timers.stop(Reason::Association),
        }
    }

    /// The peer's burst may be complete. What is held triggers as well as an empty datagram does, and leaves soon: a burst that
    /// is about to fill gets a quarter of the interval to do so, since the own bursts of an uplink that is as fast as the
    /// downlink come at the interval of the triggers.
    fn trigger(&mut self, now: Instant) {
        let Some(interval) = self.interval.triggers_at(self.size.packets(), now) else { return };
        if self.queues.is_empty() {
            self.counts.triggers += 1;
            return self.probe(now);
        }
        let at = now + interval / 4;
        if self.unsent == 0 && self.timers.get(Reason::DelayedTrigger).is_none_or(|delayed| at < delayed) {
            self.timers.set(Reason::DelayedTrigger, at);
        }
    }

    /// Sends an empty datagram.
    fn probe(&mut self, now: Instant) {
        self.association.probe(now);
        self.note_sent(now);
        self.collect(now);
    }

    fn serve(&mut self, reason: Reason, now: Instant) {
        match reason {
            Reason::Association => {
                self.association.handle_timeout(now);
                self.collect(now);
                self.send(now);
            }
            Reason::Answer | Reason::DelayedTrigger => self.release(Release::Awake, now),
            Reason::Hold => self.release(Release::TimedOut, now),
            Reason::Trigger => self.trigger(now),
            Reason::KeepAlive => {
                self.counts.keep_alives += 1;
                self.probe(now);
            }
        }
    }
}

impl<A: Association> Machine for Tunnel<A> {
    type Input = Input<A::Inner, A::Datagram>;
    type Output = Output<A::Inner, A::Datagram>;
    type Reason = Reason;

    fn handle_input(&mut self, input: Self::Input, now: Instant) {
        match input {
            Input::Inner(packet) => self.hold(packet, now),
            Input::Outer(datagram) => self.receive(datagram, now),
            Input::Awake => {
                if self.unsent == 0 {
                    self.release(Release::Awake, now);
                }
            }
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        while let Some(reason) = self.timers.expire(now) {
            self.serve(reason, now);
        }
    }

    fn poll_output(&mut self) -> Option<Self::Output> {
        self.outputs.pop_front()
    }

    fn poll_timeout(&self) -> Option<Timeout<Reason>> {
        self.timers.next()
    }
}

#[cfg(test)]
mod tests;
