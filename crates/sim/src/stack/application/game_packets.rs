//! The packets of a game, by the models of the IEEE 802.11 report on real-time applications (802.11-18/2009r6, section 4.1.4): both the
//! times between packets and their sizes have the largest extreme value distribution. The same numbers are in ns-3's
//! `RtaTigMobileGaming`, from which this was checked.
//!
//! In a game with *status synchronization* the server tells each player what has changed; in *lockstep* it collects the inputs of all
//! players and sends them to each, which is larger and rarer.
//!
//! Left out: the last packet of a session, since a game lasts as long as the run.

use airwatt_base::{Instant, RandomStream, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::random::largest_extreme_value;

/// Most bytes of a packet. The models have no bound; a size beyond it has a probability below 1e-13.
pub(super) const MAX_PACKET: u32 = 1_400;

/// A model of a game.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GameModel {
    /// The server tells each player what has changed: 66 packets a second down and 55 up.
    #[default]
    StatusSync,
    /// The server sends the inputs of all players to each: 33 packets a second down and 42 up.
    Lockstep,
}

/// An end of a game.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GameEnd {
    /// The server, whose packets go to a player.
    #[default]
    Server,
    /// A player.
    Player,
}

/// The packets that one end of a game sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GameTraffic {
    /// The game.
    pub model: GameModel,
    /// The end.
    pub sends: GameEnd,
}

/// Location and scale of two distributions, and the largest first packet.
#[derive(Clone, Copy, Debug)]
struct Numbers {
    gap_ms: (f64, f64),
    bytes: (f64, f64),
    first_bytes: u32,
}

impl GameTraffic {
    const fn numbers(self) -> Numbers {
        let (gap_ms, bytes, first_bytes) = match (self.model, self.sends) {
            (GameModel::StatusSync, GameEnd::Server) => ((13.0, 3.7), (50.0, 11.0), 20),
            (GameModel::StatusSync, GameEnd::Player) => ((15.0, 5.7), (38.0, 3.7), 20),
            (GameModel::Lockstep, GameEnd::Server) => ((28.0, 4.2), (210.0, 35.0), 80),
            (GameModel::Lockstep, GameEnd::Player) => ((22.0, 3.4), (92.0, 38.0), 80),
        };
        Numbers { gap_ms, bytes, first_bytes }
    }
}

/// The packets in the order of their times.
#[derive(Clone, Debug)]
pub(super) struct GamePackets {
    numbers: Numbers,
    random: RandomStream,
    due: Instant,
    begun: bool,
}

impl GamePackets {
    pub(super) const fn new(traffic: GameTraffic, random: RandomStream) -> Self {
        Self { numbers: traffic.numbers(), random, due: Instant::FOREVER, begun: false }
    }

    pub(super) fn begin(&mut self, now: Instant) {
        self.due = now + self.gap();
    }

    pub(super) const fn due(&self) -> Instant {
        self.due
    }

    /// The bytes of the packet that is due.
    pub(super) fn take(&mut self) -> u32 {
        let bytes = if self.begun {
            let (location, scale) = self.numbers.bytes;
            largest_extreme_value(&mut self.random, location, scale).round() as u32
        } else {
            self.random.below(self.numbers.first_bytes + 1)
        };
        self.begun = true;
        let gap = self.gap();
        self.due += gap;
        bytes.clamp(1, MAX_PACKET)
    }

    fn gap(&mut self) -> Span {
        let (location, scale) = self.numbers.gap_ms;
        let gap = largest_extreme_value(&mut self.random, location, scale);
        Span::from_secs_f64(gap.max(0.0) / 1e3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean and deviation of the gaps in milliseconds and of the sizes in bytes, over ten minutes.
    fn statistics(model: GameModel, sends: GameEnd) -> [f64; 4] {
        let traffic = GameTraffic { model, sends };
        let mut packets = GamePackets::new(traffic, RandomStream::new(1, "test"));
        packets.begin(Instant::ZERO);
        let (mut times, mut sizes) = (vec![0.0], Vec::new());
        while packets.due() < Instant::from_secs(600) {
            times.push(packets.due().as_secs_f64() * 1e3);
            sizes.push(f64::from(packets.take()));
        }
        assert!(sizes.remove(0) <= f64::from(traffic.numbers().first_bytes));
        let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let of = |numbers: &[f64]| {
            let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
            let squares = numbers.iter().map(|number| (number - mean).powi(2)).sum::<f64>();
            [mean, (squares / numbers.len() as f64).sqrt()]
        };
        let ([gap, gap_width], [size, size_width]) = (of(&gaps), of(&sizes));
        [gap, gap_width, size, size_width]
    }

    /// The published locations and scales, read from the moments of what is sent: the scale is the deviation times sqrt(6) / pi, and the
    /// location is 0.5772 scales below the mean.
    #[test]
    fn packets_have_the_published_statistics() {
        let published = [
            (GameModel::StatusSync, GameEnd::Server, [13.0, 3.7, 50.0, 11.0]),
            (GameModel::StatusSync, GameEnd::Player, [15.0, 5.7, 38.0, 3.7]),
            (GameModel::Lockstep, GameEnd::Server, [28.0, 4.2, 210.0, 35.0]),
            (GameModel::Lockstep, GameEnd::Player, [22.0, 3.4, 92.0, 38.0]),
        ];
        for (model, end, [gap_at, gap_scale, size_at, size_scale]) in published {
            let [gap, gap_width, size, size_width] = statistics(model, end);
            for (mean, width, location, scale) in
                [(gap, gap_width, gap_at, gap_scale), (size, size_width, size_at, size_scale)]
            {
                let seen = width * 6.0_f64.sqrt() / std::f64::consts::PI;
                assert!((seen / scale - 1.0).abs() < 0.03, "{model:?} {end:?}: scale {seen}, not {scale}");
                let seen = mean - 0.577_22 * scale;
                assert!((seen - location).abs() < 0.03 * scale, "{model:?} {end:?}: {seen}, not {location}");
            }
        }
    }

    /// Packets a second, as docs/applications.md has them.
    #[test]
    fn a_game_keeps_its_rate() {
        let rate = |model, end| (1e3 / statistics(model, end)[0]).round();
        assert_eq!(rate(GameModel::StatusSync, GameEnd::Server), 66.0);
        assert_eq!(rate(GameModel::StatusSync, GameEnd::Player), 55.0);
        assert_eq!(rate(GameModel::Lockstep, GameEnd::Server), 33.0);
        assert_eq!(rate(GameModel::Lockstep, GameEnd::Player), 42.0);
    }
}
