//! The data that an application writes, and when.
//!
//! Bulk data are available from the start. Interactive packets come at random times, with exponentially distributed gaps.
//! A constant bit rate has packets at equal intervals, the first one at the start. Periodic packets come once in each interval,
//! as those of a thing that reports or keeps its connection alive ([`Period`]). A stream sends its first seconds at once,
//! which fill the buffer of the player, and then blocks at equal intervals, at the rate of its encoding (block sending). The packets of
//! calls and games have sizes and times of their own ([`super::call_packets`], [`super::game_packets`]).
//!
//! Left out: applications that react to what they receive (see [`super::Dialogue`]), and limits of the send buffer.

use airwatt_base::{Instant, RandomStream, Rate, Size, Span};

use super::call_packets::{CallPackets, CallTraffic};
use super::game_packets::{GamePackets, GameTraffic};

/// Times that come once in each interval from a beginning on. A jitter moves each on its own, so that it does not add up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    /// The interval, above zero.
    pub interval: Span,
    /// Each time is later than its regular one by a time that is uniform from zero to this, which is shorter than the interval.
    pub jitter: Span,
    /// The first regular time, after the beginning.
    pub phase: Span,
}

impl Period {
    /// The `number`-th time, from zero.
    pub(super) fn time(&self, began: Instant, number: u64, random: &mut RandomStream) -> Instant {
        let regular = began + self.phase + self.interval * number;
        if self.jitter.is_zero() {
            return regular;
        }
        regular + Span::from_secs_f64(random.unit() * self.jitter.as_secs_f64())
    }
}

/// What an application sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceConfig {
    /// All data at once.
    Bulk {
        /// Bytes in all; `None` for more than any run can carry.
        size: Option<u64>,
    },
    /// Packets at random times.
    Interactive {
        /// Bytes in all; `None` for as long as the run lasts.
        size: Option<u64>,
        /// Mean time between packets.
        mean_gap: Span,
        /// Payload of a packet in bytes.
        packet: u32,
    },
    /// Packets at equal distances.
    ConstantRate {
        /// Bytes in all; `None` for as long as the run lasts.
        size: Option<u64>,
        /// Rate of payload.
        rate: Rate,
        /// Payload of a packet in bytes.
        packet: u32,
    },
    /// Packets once in each interval.
    Periodic {
        /// Bytes in all; `None` for as long as the run lasts.
        size: Option<u64>,
        /// When.
        period: Period,
        /// Payload of a packet in bytes.
        packet: u32,
    },
    /// A stream of media in blocks.
    Stream {
        /// Bytes in all; `None` for as long as the run lasts.
        size: Option<u64>,
        /// Rate of the encoding.
        rate: Rate,
        /// Bytes that are sent at once at the start.
        startup: u64,
        /// Bytes of a block.
        block: u32,
    },
    /// What one end of a call sends, for as long as the run lasts.
    Call(CallTraffic),
    /// What one end of a game sends, for as long as the run lasts.
    Game(GameTraffic),
}

impl SourceConfig {
    /// Bytes in all; `None` for as long as the run lasts.
    pub const fn size(&self) -> Option<u64> {
        match *self {
            Self::Bulk { size }
            | Self::Interactive { size, .. }
            | Self::ConstantRate { size, .. }
            | Self::Periodic { size, .. }
            | Self::Stream { size, .. } => size,
            Self::Call(_) | Self::Game(_) => None,
        }
    }
}

/// The packets of a model that keeps a state.
#[derive(Clone, Debug)]
enum Packets {
    Call(CallPackets),
    Game(GamePackets),
}

impl Packets {
    fn of(config: SourceConfig, random: &RandomStream) -> Option<Box<Self>> {
        match config {
            SourceConfig::Call(traffic) => Some(Self::Call(CallPackets::new(traffic, random.clone()))),
            SourceConfig::Game(traffic) => Some(Self::Game(GamePackets::new(traffic, random.clone()))),
            _ => None,
        }
        .map(Box::new)
    }

    fn begin(&mut self, now: Instant) {
        match self {
            Self::Call(packets) => packets.begin(now),
            Self::Game(packets) => packets.begin(now),
        }
    }

    fn due(&self) -> Instant {
        match self {
            Self::Call(packets) => packets.due(),
            Self::Game(packets) => packets.due(),
        }
    }

    fn take(&mut self) -> u32 {
        match self {
            Self::Call(packets) => packets.take(),
            Self::Game(packets) => packets.take(),
        }
    }
}

/// The data of one application, in the order of their times.
#[derive(Clone, Debug)]
pub struct Source {
    config: SourceConfig,
    packets: Option<Box<Packets>>,
    gaps: RandomStream,
    began: Instant,
    due: Option<Instant>,
    /// Bytes written so far.
    written: u64,
    /// Time of the last write.
    last: Instant,
}

impl Source {
    /// The data of flow `flow` of the run with this seed.
    pub fn new(config: SourceConfig, seed: u64, flow: usize) -> Self {
        let gaps = RandomStream::new(seed, &format!("flow/{flow}/gaps"));
        let packets = Packets::of(config, &gaps);
        Self { config, packets, gaps, began: Instant::ZERO, due: None, written: 0, last: Instant::ZERO }
    }

    /// The application begins at `now`.
    pub fn begin(&mut self, now: Instant) {
        self.began = now;
        self.last = now;
        if let Some(packets) = &mut self.packets {
            packets.begin(now);
            self.due = Some(packets.due());
            return;
        }
        self.due = Some(match self.config {
            SourceConfig::Interactive { mean_gap, .. } => now + self.gap(mean_gap),
            SourceConfig::Periodic { period, .. } => period.time(now, 0, &mut self.gaps),
            _ => now,
        });
    }

    /// Bytes in all; `None` for as long as the run lasts.
    pub const fn size(&self) -> Option<u64> {
        self.config.size()
    }

    /// The time of the next write.
    pub const fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Whether it writes a stream in blocks.
    pub(crate) const fn is_stream(&self) -> bool {
        matches!(self.config, SourceConfig::Stream { .. })
    }

    /// The position in the stream at which the last block ends, in bytes; `None` if the last write was not a block.
    pub(crate) fn block_end(&self) -> Option<u64> {
        match self.config {
            SourceConfig::Stream { startup, .. } if self.written > startup.max(1) => Some(self.written),
            _ => None,
        }
    }

    /// Whether everything has been written.
    pub fn is_exhausted(&self) -> bool {
        self.config.size().is_some_and(|size| self.written >= size)
    }

    /// The time from the beginning to the last write.
    pub fn lasted(&self) -> Span {
        self.last - self.began
    }

    /// Takes the bytes that the application writes at `now`; zero if none are due.
    pub fn take(&mut self, now: Instant) -> u64 {
        let Some(due) = self.due.filter(|due| *due <= now) else { return 0 };
        let left = self.config.size().map_or(u64::MAX >> 8, |size| size - self.written);
        let (bytes, next) = match self.config {
            SourceConfig::Bulk { .. } => (left, None),
            SourceConfig::Interactive { mean_gap, packet, .. } => {
                (u64::from(packet), Some(due + self.gap(mean_gap)))
            }
            SourceConfig::ConstantRate { rate, packet, .. } => {
                let ahead = Size::from_bytes(self.written + u64::from(packet));
                // From the beginning on, so that no rounding adds up.
                (u64::from(packet), Some(self.began + rate.time_for(ahead)))
            }
            SourceConfig::Periodic { period, packet, .. } => {
                let number = self.written / u64::from(packet) + 1;
                (u64::from(packet), Some(period.time(self.began, number, &mut self.gaps)))
            }
            SourceConfig::Stream { rate, startup, block, .. } => {
                // A byte at least, so that the next call finds a stream that has begun.
                let bytes = if self.written == 0 { startup.max(1) } else { u64::from(block) };
                let beyond =
                    Size::from_bytes((self.written + bytes).saturating_sub(startup) + u64::from(block));
                (bytes, Some(self.began + rate.time_for(beyond)))
            }
            SourceConfig::Call(_) | SourceConfig::Game(_) => {
                let taken = self.packets.as_mut().map(|packets| (packets.take(), packets.due()));
                taken.map_or((0, None), |(bytes, next)| (u64::from(bytes), Some(next)))
            }
        };
        let bytes = bytes.min(left);
        self.written += bytes;
        self.last = now;
        self.due = next.filter(|_| bytes < left);
        bytes
    }

    fn gap(&mut self, mean: Span) -> Span {
        Span::from_secs_f64(self.gaps.exponential(mean.as_secs_f64()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything that a source writes: when, in milliseconds, and how much.
    fn writes(config: SourceConfig) -> Vec<(u64, u64)> {
        let mut source = Source::new(config, 1, 0);
        source.begin(Instant::from_millis(100));
        let mut writes = Vec::new();
        while let Some(due) = source.due() {
            writes.push((due.as_nanos() / 1_000_000, source.take(due)));
        }
        assert!(source.is_exhausted());
        writes
    }

    #[test]
    fn bulk_is_there_at_once() {
        assert_eq!(writes(SourceConfig::Bulk { size: Some(5_000) }), [(100, 5_000)]);
    }

    /// 1000 bytes at 1 Mbit/s are 8 ms apart; the last packet is what is left.
    #[test]
    fn a_constant_rate_is_constant() {
        let rate = Rate::from_bps(1_000_000);
        let config = SourceConfig::ConstantRate { size: Some(2_500), rate, packet: 1_000 };
        assert_eq!(writes(config), [(100, 1_000), (108, 1_000), (116, 500)]);
    }

    /// The jitter moves a packet within its interval, and not those after it.
    #[test]
    fn periodic_packets_keep_their_interval() {
        let period =
            Period { interval: Span::from_secs(30), jitter: Span::ZERO, phase: Span::from_millis(500) };
        let of = |period| SourceConfig::Periodic { size: Some(150), period, packet: 60 };
        assert_eq!(writes(of(period)), [(600, 60), (30_600, 60), (60_600, 30)]);
        let moved = Period { jitter: Span::from_secs(10), ..period };
        let config = SourceConfig::Periodic { size: Some(60_000), period: moved, packet: 60 };
        let late: Vec<u64> =
            (0..).zip(writes(config)).map(|(number, (at, _))| at - 600 - 30_000 * number).collect();
        assert!(late.iter().all(|late| *late < 10_000) && late.len() == 1_000);
        // The mean of 1,000 uniform times is 5 s, with a standard error of 91 ms.
        let mean = late.iter().sum::<u64>() as f64 / 1_000.0;
        assert!((mean - 5_000.0).abs() < 300.0, "{mean}");
    }

    /// At 8 kbit/s a block of 1000 bytes lasts a second; the first ten seconds come at once.
    #[test]
    fn a_stream_fills_the_players_buffer_and_then_keeps_its_rate() {
        let rate = Rate::from_bps(8_000);
        let config = SourceConfig::Stream { size: Some(12_500), rate, startup: 10_000, block: 1_000 };
        assert_eq!(writes(config), [(100, 10_000), (1_100, 1_000), (2_100, 1_000), (3_100, 500)]);
        let live = SourceConfig::Stream { size: Some(2_500), rate, startup: 0, block: 1_000 };
        assert_eq!(writes(live), [(100, 1), (1_101, 1_000), (2_101, 1_000), (3_101, 499)]);
    }

    /// 4,000 gaps: their mean's standard error is 1.6 % of it, their deviation is the mean.
    #[test]
    fn interactive_gaps_are_exponential() {
        let config =
            SourceConfig::Interactive { size: Some(4_000), mean_gap: Span::from_millis(200), packet: 1 };
        let times: Vec<f64> = writes(config).iter().map(|(at, _)| *at as f64 - 100.0).collect();
        let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean / 200.0 - 1.0).abs() < 0.06, "{mean}");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.06, "{variance}");
    }
}
