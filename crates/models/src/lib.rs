//! Analytical models, one file each: the formula, its symbols with units, its source, and its range of validity.
//!
//! Every model has the same shape: a `Params` of plain numbers in SI base units (the unit is the last part of a name),
//! an `Output`, and `solve(&Params) -> Result<Output, ModelError>`. A model is a pure function of its parameters, so
//! that arrays of points can be solved in any order and on any number of threads. Floating point is used in models and
//! results only: no decision of a protocol depends on a model.
//!
//! If a published number follows only from a certain interpretation of its source, that interpretation is the default
//! of a parameter, the other one its alternative, and the module documents it. [`catalogue`] lists the models with
//! their parameters and results, for the command line, for Python and for the reference pages; [`text`] reads values as
//! users write them.
//!
//! * [`mac_frame`]: time and energy of a frame exchange with its retries (Hashimoto 2013).
//! * [`tcp_blocks`]: common parts of the TCP models.
//! * [`tcp_throughput`]: steady throughput with random losses (Padhye et al. 1998, Mathis et al. 1997).
//! * [`tcp_latency`]: the time of one transfer (Cardwell et al. 2000).
//! * [`tcp_energy`]: the energy of an upload, always awake and with ideal sleep between bursts (Hashimoto 2013).
//! * [`ack_gap`]: gaps between acknowledgements (Hashimoto 2013, table 3.1).
//! * [`wni_factors`]: properties of a radio that limit the gain of sleep (Hashimoto 2013).
//! * [`sctp_tunnel`]: power with all flows in one tunnel that sends bursts (Hashimoto 2013).
//! * [`psm_throughput`]: a download through beacon-driven power save (Camps-Mur, Sallent-Ribes).
//! * [`ba_ta_controller`]: stability of the trigger-interval controller (Camps-Mur, Sallent-Ribes).
//! * [`dcf_saturation`]: n stations that always have a frame to send (Bianchi 2000), with and without a retry limit.
//! * [`max_throughput`]: one station alone on the channel (Jun, Peddabachagari, Sichitiu 2003).
//! * [`energy_throughput`]: energy of a sender against its throughput (Singh 2002).
//! * [`ap_buffer`]: an access point's buffer from one overflow (Hashimoto 2010, 2013).

use std::fmt;

pub mod ack_gap;
pub mod ap_buffer;
pub mod ba_ta_controller;
pub mod catalogue;
pub mod dcf_saturation;
pub mod energy_throughput;
pub mod fields;
pub mod mac_frame;
pub mod max_throughput;
pub mod psm_throughput;
pub mod radio;
pub mod sctp_tunnel;
pub mod tcp_blocks;
pub mod tcp_energy;
pub mod tcp_latency;
pub mod tcp_throughput;
pub mod text;
pub mod wni_factors;

/// The error for a parameter outside a model's range: a [`SettingError`](airwatt_base::settings::SettingError) that is
/// `Copy`, because arrays of points are solved. Its display is the same line: the parameter, the range, and the value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelError {
    /// The name of the parameter as in `Params`.
    pub parameter: &'static str,
    /// Its value.
    pub value: f64,
    /// The range that the model accepts.
    pub allowed: &'static str,
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.value.abs();
        write!(f, "{}: expected {}, got ", self.parameter, self.allowed)?;
        // Numbers with very many digits are printed in scientific notation.
        if size.is_finite() && size != 0.0 && !(1e-6..1e15).contains(&size) {
            write!(f, "{:e}", self.value)
        } else {
            write!(f, "{}", self.value)
        }
    }
}

impl std::error::Error for ModelError {}

/// Rejects everything but a finite number of zero or more.
fn not_negative(parameter: &'static str, value: f64) -> Result<(), ModelError> {
    let holds = value.is_finite() && value >= 0.0;
    require(holds, parameter, value, "a finite number of zero or more")
}

/// Rejects everything but a finite number above zero.
fn positive(parameter: &'static str, value: f64) -> Result<(), ModelError> {
    let holds = value.is_finite() && value > 0.0;
    require(holds, parameter, value, "a finite number above zero")
}

/// Returns an error about `parameter` unless `holds`.
fn require(
    holds: bool,
    parameter: &'static str,
    value: f64,
    allowed: &'static str,
) -> Result<(), ModelError> {
    if holds { Ok(()) } else { Err(ModelError { parameter, value, allowed }) }
}
