//! Sources of group-addressed packets at an access point: each stands for a number of hosts that send at random times.

use airwatt_base::{Instant, RandomStream, Span};

use crate::packet::{GroupKind, Packet};

/// Settings of one source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupSourceConfig {
    /// What the packets are.
    pub kind: GroupKind,
    /// Number of hosts that send them.
    pub hosts: u32,
    /// Mean time between two packets of one host.
    pub interval: Span,
    /// Length of a packet in bytes.
    pub bytes: u32,
}

/// One source: a Poisson process.
#[derive(Clone, Debug)]
struct Source {
    config: GroupSourceConfig,
    stream: RandomStream,
    next: Instant,
}

impl Source {
    fn schedule(&mut self, from: Instant) {
        let mean_s = self.config.interval.as_secs_f64() / f64::from(self.config.hosts);
        self.next = from + Span::from_secs_f64(self.stream.exponential(mean_s));
    }
}

/// All sources of one access point.
#[derive(Clone, Debug)]
pub(super) struct GroupSources(Vec<Source>);

impl GroupSources {
    /// Makes the sources of the access point with this name. Each has a random stream of its own.
    pub(super) fn new(configs: &[GroupSourceConfig], name: &str, seed: u64) -> Self {
        let source = |(index, config): (usize, &GroupSourceConfig)| {
            let stream = RandomStream::new(seed, &format!("{name}/group/{index}"));
            let mut source = Source { config: *config, stream, next: Instant::ZERO };
            source.schedule(Instant::ZERO);
            source
        };
        Self(configs.iter().enumerate().map(source).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The time of the next packet.
    pub(super) fn next(&self) -> Option<Instant> {
        self.0.iter().map(|source| source.next).min()
    }

    /// Takes a packet that is due.
    pub(super) fn take(&mut self, now: Instant) -> Option<Packet> {
        let source = self.0.iter_mut().find(|source| source.next <= now)?;
        let host = source.stream.below(source.config.hosts);
        let at = source.next;
        source.schedule(at);
        Some(Packet::group(source.config.kind, host, source.config.bytes, at))
    }
}
