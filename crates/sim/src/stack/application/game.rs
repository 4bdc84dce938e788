//! A game: settings of the packets that one of its ends sends.

use airwatt_base::Size;
use airwatt_base::settings::{SettingError, Settings};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::game_packets::{GameEnd, GameModel, GameTraffic, MAX_PACKET};
use super::{ApplicationKind, Pattern, SourceConfig};

/// The packets that one end of a game sends, by a model of the IEEE 802.11 report on real-time applications.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GameConfig {
    /// The game: `status-sync`, in which the server tells each player what has changed, or `lockstep`, in which it sends the inputs of
    /// all players to each.
    pub model: GameModel,
    /// The end that sends the flow's packets: `server`, or `player`. A game has a flow for each.
    pub sends: GameEnd,
}

impl Settings for GameConfig {
    fn check(&self) -> Result<(), SettingError> {
        Ok(())
    }
}

impl ApplicationKind for GameConfig {
    fn end(&self) -> Result<(), &'static str> {
        Err("")
    }

    fn packet(&self) -> Option<Size> {
        Some(Size::from_bytes(u64::from(MAX_PACKET)))
    }

    fn pattern(&self) -> Pattern {
        Pattern::Source(SourceConfig::Game(GameTraffic { model: self.model, sends: self.sends }))
    }
}
