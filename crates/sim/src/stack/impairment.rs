//! The impairment of a forwarding path: delay, loss, bursts of loss, reordering, a bounded number of held packets, and outages.
//!
//! A node that forwards packets of others may impair them, as a network emulator in a router does. Packets that the node sends
//! itself are not impaired, and neither are those for it. A packet passes in this order:
//!
//! 1. **Outage**: during a scripted outage it is lost, whatever its direction.
//! 2. **Loss**: it is lost at random, with the probability of a burst while one lasts and otherwise with the uniform one, which
//!    may grow with the length of the packet.
//! 3. **Limit**: it is lost if as many packets are held as allowed.
//! 4. **Delay**: it is held for `delay`, and then until the next multiple of `step`: the clock of an emulator has ticks.
//! 5. **Reordering**: at random it is held on until `reorder_depth` later packets to the same destination have passed it, or for
//!    `reorder_wait`.
//!
//! Left out: a rate (a wire has one), duplication, corruption, and random delays.

use std::collections::VecDeque;

use airwatt_base::settings::{SettingError, Settings, in_range};
use airwatt_base::{Instant, Machine, RandomStream, Size, Span, Timeout, with_defaults};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::names::Names;
use crate::packet::Packet;
use crate::route::NodeId;

with_defaults! {
    /// Settings of an impairment.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields, default)]
    pub struct ImpairmentConfig {
        /// Time for which each packet is held, in either direction.
        pub delay: Span = Span::ZERO,
        /// Held packets leave at multiples of this, at the first one when their delay is over. `0ms` for exact delays.
        pub step: Span = Span::from_millis(1),
        /// Packets that are held at most; more are lost.
        pub queue: u32 = 50,
        /// Loss, bursts and reordering concern packets to these nodes alone. Default: all packets.
        pub towards: Option<Names> = None,
        /// Whether loss, bursts and reordering concern packets with data alone, not pure acknowledgements.
        pub data_only: bool = false,
        /// Probability that a packet is lost outside bursts.
        pub loss: f64 = 0.0,
        /// The length of a packet that is lost with the probability `loss`; others are lost outside bursts with
        /// 1 - (1 - `loss`)^(length / this), as if each byte could be lost by itself. Default: the length does not matter.
        pub loss_length: Option<Size> = None,
        /// Bursts of loss at fixed times.
        pub burst: Option<Burst> = None,
        /// Probability that a packet is held until later ones have passed it.
        pub reorder: f64 = 0.0,
        /// Number of later packets that pass it.
        pub reorder_depth: u32 = 3,
        /// The longest time for which it is held for them.
        pub reorder_wait: Span = Span::from_millis(100),
        /// Times during which every packet is lost, in order.
        pub outage: Vec<Outage> = Vec::new(),
    }
}

/// Bursts of loss that come at fixed times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Burst {
    /// From the beginning of a burst to that of the next one.
    pub every: Span,
    /// Length of a burst.
    pub length: Span,
    /// Probability that a packet is lost during a burst.
    pub loss: f64,
    /// The beginning of the first burst.
    #[serde(default)]
    pub first: Span,
}

/// A time during which nothing passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Outage {
    /// Its beginning.
    pub at: Span,
    /// Its length.
    pub length: Span,
}

impl Settings for ImpairmentConfig {
    fn check(&self) -> Result<(), SettingError> {
        const MONTH: Span = Span::from_secs(32 * 24 * 3_600);
        let probability = |key: &str, value: f64| in_range(key, value, 0.0, 1.0);
        in_range("delay", self.delay, Span::ZERO, Span::from_secs(100))?;
        in_range("step", self.step, Span::ZERO, Span::from_secs(1))?;
        in_range("queue", self.queue, 1, 1_000_000)?;
        probability("loss", self.loss)?;
        if let Some(length) = self.loss_length {
            in_range("loss_length", length, Size::from_bytes(1), Size::from_bytes(65_535))?;
        }
        if let Some(burst) = &self.burst {
            in_range("burst.every", burst.every, Span::from_micros(1), MONTH)?;
            in_range("burst.length", burst.length, Span::from_micros(1), burst.every)?;
            probability("burst.loss", burst.loss)?;
            in_range("burst.first", burst.first, Span::ZERO, MONTH)?;
        }
        probability("reorder", self.reorder)?;
        in_range("reorder_depth", self.reorder_depth, 1, 10_000)?;
        in_range("reorder_wait", self.reorder_wait, Span::from_micros(1), Span::from_secs(100))?;
        let mut least = Span::ZERO;
        for (index, outage) in self.outage.iter().enumerate() {
            in_range(&format!("outage.{index}.at"), outage.at, least, MONTH)?;
            in_range(&format!("outage.{index}.length"), outage.length, Span::from_micros(1), MONTH)?;
            least = outage.at + outage.length;
        }
        Ok(())
    }
}

airwatt_base::timer_kinds! {
    /// Why an impairment wakes up.
    pub enum ImpairmentTimer {
        /// When the delay of a packet is over.
        Release = "release",
        /// When a packet has waited long enough for others to pass it.
        Overdue = "overdue",
    }
}

/// What an impairment does with a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ImpairmentOutput {
    /// It goes on.
    Forward(Packet),
    /// It was lost.
    Lost(Packet),
}

/// What an impairment counted, in packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImpairmentCounts {
    /// Forwarded.
    pub forwarded: u64,
    /// Lost at random outside bursts.
    pub lost: u64,
    /// Lost at random in bursts.
    pub lost_in_bursts: u64,
    /// Lost in outages.
    pub lost_in_outages: u64,
    /// Lost because too many were held.
    pub queue_drops: u64,
    /// Held until others had passed, or for the longest time.
    pub reordered: u64,
}

/// A packet whose delay is not over.
#[derive(Clone, Copy, Debug)]
struct Delayed {
    release: Instant,
    packet: Packet,
    reorder: bool,
}

/// A packet that others are to pass.
#[derive(Clone, Copy, Debug)]
struct Overtaken {
    packet: Packet,
    /// Packets that are still to pass it.
    remaining: u32,
    overdue: Instant,
}

/// The impairment of one node.
#[derive(Clone, Debug)]
pub struct Impairment {
    config: ImpairmentConfig,
    towards: Option<Vec<NodeId>>,
    losses: RandomStream,
    reorderings: RandomStream,
    /// In order of their release, which is that of their arrival.
    delayed: VecDeque<Delayed>,
    overtaken: Vec<Overtaken>,
    outputs: VecDeque<ImpairmentOutput>,
    counts: ImpairmentCounts,
}

impl Impairment {
    /// An impairment that holds nothing. `towards` are the nodes of [`ImpairmentConfig::towards`]; its random streams are called
    /// after `name`.
    pub fn new(config: ImpairmentConfig, towards: Option<Vec<NodeId>>, name: &str, seed: u64) -> Self {
        Self {
            config,
            towards,
            losses: RandomStream::new(seed, &format!("{name}/loss")),
            reorderings: RandomStream::new(seed, &format!("{name}/reordering")),
            delayed: VecDeque::new(),
            overtaken: Vec::new(),
            outputs: VecDeque::new(),
            counts: ImpairmentCounts::default(),
        }
    }

    /// Counts so far.
    pub const fn counts(&self) -> ImpairmentCounts {
        self.counts
    }

    /// Whether loss, bursts and reordering concern the packet.
    fn concerns(&self, packet: &Packet) -> bool {
        let is_towards = self.towards.as_ref().is_none_or(|nodes| nodes.contains(&packet.dst.0));
        is_towards && (!self.config.data_only || packet.payload.has_data())
    }

    fn is_outage(&self, now: Instant) -> bool {
        let lasts = |outage: &Outage| {
            let begins = Instant::ZERO + outage.at;
            now >= begins && now < begins + outage.length
        };
        self.config.outage.iter().any(lasts)
    }

    /// The burst that lasts.
    fn burst(&self, now: Instant) -> Option<Burst> {
        let burst = self.config.burst?;
        let first = Instant::ZERO + burst.first;
        let since = (now >= first).then(|| now - first)?;
        let within = since - burst.every * since.whole(burst.every);
        (within < burst.length).then_some(burst)
    }

    /// The probability that the packet is lost outside bursts.
    fn uniform_loss(&self, packet: &Packet) -> f64 {
        let Some(length) = self.config.loss_length else { return self.config.loss };
        1.0 - (1.0 - self.config.loss).powf(f64::from(packet.bytes) / length.as_bytes() as f64)
    }

    /// Decides whether the packet is lost, and counts it.
    fn loses(&mut self, packet: &Packet, now: Instant) -> bool {
        if self.is_outage(now) {
            self.counts.lost_in_outages += 1;
            return true;
        }
        if self.concerns(packet) {
            let burst = self.burst(now);
            if self.losses.chance(burst.map_or_else(|| self.uniform_loss(packet), |burst| burst.loss)) {
                let count =
                    if burst.is_some() { &mut self.counts.lost_in_bursts } else { &mut self.counts.lost };
                *count += 1;
                return true;
            }
        }
        let is_full = self.delayed.len() + self.overtaken.len() >= self.config.queue as usize;
        self.counts.queue_drops += u64::from(is_full);
        is_full
    }

    /// When a packet that comes now is released.
    fn release_of(&self, now: Instant) -> Instant {
        let due = now + self.config.delay;
        if self.config.delay.is_zero() || self.config.step.is_zero() {
            return due;
        }
        let since = due.saturating_since(Instant::ZERO);
        Instant::ZERO + self.config.step * since.covering(self.config.step)
    }

    /// Releases what is due.
    fn release(&mut self, now: Instant) {
        while let Some(&Delayed { release, packet, reorder }) =
            self.delayed.front().filter(|first| first.release <= now)
        {
            self.delayed.pop_front();
            self.release_overdue(release);
            if reorder {
                self.counts.reordered += 1;
                let overdue = release + self.config.reorder_wait;
                self.overtaken.push(Overtaken { packet, remaining: self.config.reorder_depth, overdue });
            } else {
                self.forward(packet);
                self.pass(&packet);
            }
        }
        self.release_overdue(now);
    }

    /// The packet has passed those before it that have the same destination.
    fn pass(&mut self, packet: &Packet) {
        for held in self.overtaken.iter_mut().filter(|held| held.packet.dst == packet.dst) {
            held.remaining -= 1;
        }
        self.forward_overtaken(|held| held.remaining == 0);
    }

    fn release_overdue(&mut self, now: Instant) {
        self.forward_overtaken(|held| held.overdue <= now);
    }

    fn forward_overtaken(&mut self, is_ready: impl Fn(&Overtaken) -> bool) {
        while let Some(place) = self.overtaken.iter().position(&is_ready) {
            let held = self.overtaken.remove(place);
            self.forward(held.packet);
        }
    }

    fn forward(&mut self, packet: Packet) {
        self.counts.forwarded += 1;
        self.outputs.push_back(ImpairmentOutput::Forward(packet));
    }
}

impl Machine for Impairment {
    type Input = Packet;
    type Output = ImpairmentOutput;
    type Reason = ImpairmentTimer;

    fn handle_input(&mut self, packet: Packet, now: Instant) {
        self.release(now);
        if self.loses(&packet, now) {
            self.outputs.push_back(ImpairmentOutput::Lost(packet));
            return;
        }
        let reorder = self.concerns(&packet) && self.reorderings.chance(self.config.reorder);
        self.delayed.push_back(Delayed { release: self.release_of(now), packet, reorder });
        self.release(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.release(now);
    }

    fn poll_output(&mut self) -> Option<ImpairmentOutput> {
        self.outputs.pop_front()
    }

    fn poll_timeout(&self) -> Option<Timeout<ImpairmentTimer>> {
        let release = self.delayed.front().map(|first| (first.release, ImpairmentTimer::Release));
        let overdue = self.overtaken.iter().map(|held| (held.overdue, ImpairmentTimer::Overdue));
        let (at, reason) = release.into_iter().chain(overdue).min_by_key(|(at, _)| *at)?;
        Some(Timeout { at, reason })
    }
}

#[cfg(test)]
mod tests;
