//! The point-to-point wireless link of a scenario, and the errors on it.

use airwatt_base::{QueueLimit, Rate, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A full-duplex wireless link between the base station and one station.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PointToPoint {
    /// Rate of each direction, counted over whole packets.
    pub rate: Rate,
    /// Propagation, one way.
    pub delay: Span,
    /// Drop-tail queue before either transmitter; the packet in transmission is not counted.
    #[serde(default = "super::large_queue")]
    pub queue: QueueLimit,
    /// Whether a packet arrives `delay` after its first bit left instead of after its last.
    #[serde(default)]
    pub cut_through: bool,
    /// Which packets are damaged.
    #[serde(default)]
    pub errors: Errors,
}

/// Which packets a link damages. Rates are probabilities per packet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Errors {
    /// The model. It uses the keys below that name it.
    pub model: ErrorKind,
    /// `uniform`: error rate.
    pub error_rate: f64,
    /// `two-state`: length of a good time, or its least length.
    pub good: Span,
    /// `two-state`: longest good time, where lengths are drawn. Default as `good`.
    pub good_max: Option<Span>,
    /// `two-state`: length of a bad time, or its least length.
    pub bad: Span,
    /// `two-state`: longest bad time, where lengths are drawn. Default as `bad`.
    pub bad_max: Option<Span>,
    /// `two-state` and `gilbert-elliott`: error rate in the good state.
    pub good_error_rate: f64,
    /// `two-state` and `gilbert-elliott`: error rate in the bad state.
    pub bad_error_rate: f64,
    /// `gilbert-elliott`: probability that a packet after a good one is in the bad state.
    pub to_bad: f64,
    /// `gilbert-elliott`: probability that a packet after a bad one is in the good state.
    pub to_good: f64,
    /// `listed`: numbers of the damaged packets towards the station, counted from 1 and ascending.
    pub listed_down: Vec<u64>,
    /// `listed`: numbers of the damaged packets from the station, counted from 1 and ascending.
    pub listed_up: Vec<u64>,
}

impl Default for Errors {
    fn default() -> Self {
        Self {
            model: ErrorKind::None,
            error_rate: 0.01,
            good: Span::from_secs(10),
            good_max: None,
            bad: Span::from_millis(100),
            bad_max: None,
            good_error_rate: 0.000_5,
            bad_error_rate: 0.8,
            to_bad: 0.001,
            to_good: 0.1,
            listed_down: Vec::new(),
            listed_up: Vec::new(),
        }
    }
}

/// Models of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorKind {
    /// No packet is damaged.
    None,
    /// Each packet for itself.
    Uniform,
    /// Good and bad times, which both directions share.
    TwoState,
    /// Good and bad packets, each direction for itself.
    GilbertElliott,
    /// The packets with given numbers.
    Listed,
}
