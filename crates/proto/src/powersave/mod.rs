//! 802.11 power save as two sans-IO machines: the access point's side and the station's.
//!
//! [`AccessPointPowerSave`] buffers for stations that sleep, sets their TIM bits and serves their PS-Polls and U-APSD triggers.
//! [`StationPowerSave`] decides when its radio sleeps and wakes, and what it asks the access point for; how it decides is a
//! [policy](PowerSaveConfig), one file each. Both speak of frames by what power save needs to know of them: size, flags and time. The
//! 802.11 contention, acknowledgement and retry below them belong to the driver: the simulated air, or a real card.
//!
//! Left out: S-APSD, per-access-category U-APSD (all categories are trigger- and delivery-enabled or none), and limits to a
//! service period's length.

mod access_point;
mod estimate;
mod guard;
mod interface;
mod mac_radio;
mod own;
mod policy;
mod radio;
mod ratio;
mod station;
#[cfg(test)]
mod tests;
mod wake_agreement;
mod wake_habits;

pub use access_point::{
    AccessPointConfig, AccessPointInput, AccessPointOutput, AccessPointPowerSave, AccessPointTimer, Downlink,
    Loss, UplinkKind, WakeLimits,
};
pub use estimate::{Dozing, Estimate, Fetch, Trial};
pub use guard::{
    ACKNOWLEDGEMENT, ArrivalAfterPause, Demand, FlowClass, FlowSample, GuardCounts, LatencyGuard,
    LatencyGuardConfig, Reach, Volume,
};
pub use interface::{
    Adaptation, AirTime, Purpose, ReceiveWindow, StationInput, StationOutput, StationTimer, Uplink,
};
pub use mac_radio::{ScanConfig, StationConfig, StationCounts};
pub use own::{AnyPolicy, OwnPolicy, StationPolicy};
pub use policy::{
    BaTaConfig, BaTaStrConfig, BaTaTwtConfig, Policy, PowerSaveConfig, PowerSavePolicy, PsmThrottlingConfig,
    StreamConfig, TimeoutConfig, TwtConfig, UapsdConfig, WakeDevice,
};
pub use radio::{Abilities, Fact, Observable, PolicyTimer, PowerSaveRadio};
pub use ratio::{ParseRatioError, Ratio};
pub use station::StationPowerSave;
pub use wake_agreement::{WakeAgreement, WakeAnswer, WakeFrame, WakeProposal, WakeRequest};
pub use wake_habits::{OutsidePeriods, WakeHabits};

/// Index of a station in its cell: its association identifier less one.
pub type StationId = u32;

/// A frame that a station sends for power save, not for its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PowerSaveFrame {
    /// A QoS Null frame of a trigger-enabled category with PM = 1: opens a service period (802.11-2020 11.2.3.5).
    Trigger,
    /// A Null frame whose PM bit announces the power-management mode (802.11-2020 11.2.3.2).
    PmNull {
        /// The PM bit: true for power save.
        pm: bool,
    },
    /// A PS-Poll: asks for one buffered frame (802.11-2020 11.2.3.6).
    PsPoll,
    /// An action frame about target wake time. Its PM bit is that of the station's data.
    Wake(WakeFrame),
}

/// What the header of a downlink frame says to a station in power save.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Hash)]
pub struct ServiceFlags {
    /// The More Data bit: the access point holds further frames for this station.
    pub more_data: bool,
    /// End of service period, in the QoS control field.
    pub eosp: bool,
}
