//! Frame ladders and properties of power save: both machines over a small air.

mod air;
mod ladders;
mod ladders_ba_ta;
mod ladders_scan;
mod ladders_twt;
mod machines;
mod property;
mod throttling;
mod wake_times;

use airwatt_base::settings::NoSettings;

use super::PowerSaveConfig;

const ACTIVE: PowerSaveConfig = PowerSaveConfig::Active(NoSettings {});
const PSM: PowerSaveConfig = PowerSaveConfig::Psm(NoSettings {});
const PSM_LEGACY: PowerSaveConfig = PowerSaveConfig::PsmLegacy(NoSettings {});
