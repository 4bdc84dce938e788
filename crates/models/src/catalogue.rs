//! The models by name: their parameters and results, and the solution of arrays of points.
//!
//! Names, units, texts and defaults come from the models themselves ([`crate::fields`]); this module adds the name and
//! the source of each model. A result that is not a finite number is an error here, whatever the cause, so that no
//! caller sees a NaN.

use crate::fields::{Field, FieldKind, FieldValue};
use crate::{
    ModelError, ack_gap, ap_buffer, ba_ta_controller, dcf_saturation, energy_throughput, mac_frame,
    max_throughput, psm_throughput, sctp_tunnel, tcp_energy, tcp_latency, tcp_throughput, wni_factors,
};

#[cfg(test)]
mod tests;

/// An entry of the catalogue.
#[derive(Clone, Copy, Debug)]
pub struct Model {
    /// The name, as on the command line.
    pub name: &'static str,
    /// The result, in a few words.
    pub summary: &'static str,
    /// The source of the equations.
    pub source: &'static str,
    /// The results that a table of many points shows; a picture draws the first one.
    pub columns: &'static [&'static str],
    /// Where the equations hold, as far as the results tell.
    pub regions: &'static [Region],
    parameters: fn() -> Vec<Field>,
    results: fn() -> Vec<Field>,
    solve: fn(&[f64], &mut [f64]) -> Result<(), ModelError>,
}

/// A condition on a result without which the equations do not hold, although they give numbers.
#[derive(Clone, Copy, Debug)]
pub struct Region {
    /// The result that tells.
    pub result: &'static str,
    /// The least value of the result with which the equations hold.
    pub least: f64,
    /// What a smaller value says about the parameters.
    pub outside: &'static str,
}

fn fields_of<T: FieldValue + Default>() -> Vec<Field> {
    let mut fields = Vec::new();
    T::default().describe("", "", &mut fields);
    fields
}

/// Makes the entry of one model; `solve` is a function item, so that the function pointers need no closure.
macro_rules! model {
    ($name:literal, $columns:expr, $params:ty => $output:ty, $solve:path, $summary:literal, $source:literal $(, $region:expr)*) => {
        Model {
            name: $name,
            summary: $summary,
            source: $source,
            columns: &$columns,
            regions: &[$($region),*],
            parameters: fields_of::<$params>,
            results: fields_of::<$output>,
            solve: |parameters, results| {
                let output = $solve(&<$params>::read("", &mut parameters.iter())?)?;
                output.write(&mut results.iter_mut());
                Ok(())
            },
        }
    };
}

/// All models, in the order in which they build on each other.
pub const MODELS: &[Model] = &[
    model!(
        "mac-frame", ["uplink_s", "uplink_j", "downlink_s", "downlink_j", "loss"], mac_frame::Params => mac_frame::Output, mac_frame::solve,
        "time and energy of a frame exchange with its retries", "Hashimoto 2013"
    ),
    model!(
        "tcp-latency", ["total_s", "slow_start_s", "recovery_s", "avoidance_s", "throughput_bps"], tcp_latency::Params => tcp_latency::Output, tcp_latency::solve,
        "how long one transfer takes", "Cardwell, Savage, Anderson 2000"
    ),
    model!(
        "tcp-throughput", ["throughput_bps", "approximate_bps", "mathis_bps", "goodput_bps"], tcp_throughput::Params => tcp_throughput::Output, tcp_throughput::solve,
        "steady throughput with random losses", "Padhye et al. 1998, Mathis et al. 1997"
    ),
    model!(
        "tcp-energy", ["ratio", "cam_j", "ideal_j", "total_s", "burst_total_s"], tcp_energy::Params => tcp_energy::Output, tcp_energy::solve,
        "energy of an upload: always awake, and asleep between bursts", "Hashimoto 2013",
        Region {
            result: "path_loss",
            least: 0.0,
            outside: "p is below air_loss, the loss on the wireless link alone; take more retries, a smaller q or a larger p",
        }
    ),
    model!(
        "ack-gap", ["gap_s", "p", "loss_window_packets"], ack_gap::Params => ack_gap::Output, ack_gap::solve,
        "the mean gap between acknowledgements of an upload", "Hashimoto 2013"
    ),
    model!(
        "wni-factors", ["reduction_j", "short_of_wake_up_power", "conditions"], wni_factors::Params => wni_factors::Output, wni_factors::solve,
        "which property of a radio limits what sleep saves", "Hashimoto 2013"
    ),
    model!(
        "sctp-tunnel", ["saving", "cam_w", "ideal_w", "burst_packets", "delay_s"], sctp_tunnel::Params => sctp_tunnel::Output, sctp_tunnel::solve,
        "power with all flows in one tunnel that sends bursts", "Hashimoto 2013"
    ),
    model!(
        "psm-throughput", ["throughput_bps", "effective_rtt_s", "burst_packets", "regime"], psm_throughput::Params => psm_throughput::Output, psm_throughput::solve,
        "a download by a station that wakes for beacons only", "Camps-Mur, Sallent-Ribes"
    ),
    model!(
        "ba-ta-controller", ["after_s", "fixed_point_s", "multiplier", "stability"], ba_ta_controller::Params => ba_ta_controller::Output, ba_ta_controller::solve,
        "the trigger interval's fixed point and stability", "Camps-Mur, Sallent-Ribes"
    ),
    model!(
        "dcf-saturation", ["throughput_bps", "attempt_probability", "collision_probability"], dcf_saturation::Params => dcf_saturation::Output, dcf_saturation::solve,
        "throughput of stations that always have a frame to send", "Bianchi 2000"
    ),
    model!(
        "max-throughput", ["throughput_bps", "cycle_s", "data_s"], max_throughput::FramesOfStandard => max_throughput::Output,
        max_throughput::solve_standard, "throughput of one station alone on the channel", "Jun et al. 2003"
    ),
    model!(
        "energy-throughput", ["total_j", "idealized_j", "energy_per_bit_j"], energy_throughput::Params => energy_throughput::Output,
        energy_throughput::solve, "energy of a sender against its throughput", "Singh 2002"
    ),
    model!(
        "ap-buffer", ["buffer_packets", "pipe_bytes"], ap_buffer::Params => ap_buffer::Output, ap_buffer::solve,
        "an access point's buffer from one overflow", "Hashimoto 2010, 2013"
    ),
];

/// Returns the model of this name.
pub fn find(name: &str) -> Option<&'static Model> {
    MODELS.iter().find(|model| model.name == name)
}

impl Model {
    /// The parameters, in the order of [`Model::solve`].
    pub fn parameters(&self) -> Vec<Field> {
        (self.parameters)()
    }

    /// The results, in the order of [`Model::solve`].
    pub fn results(&self) -> Vec<Field> {
        (self.results)()
    }

    /// Solves one point: takes a number for each parameter, and writes a number for each result.
    ///
    /// # Errors
    /// Returns an error for a parameter outside its range, or if a result is not a finite number.
    pub fn solve(&self, parameters: &[f64], results: &mut [f64]) -> Result<(), ModelError> {
        (self.solve)(parameters, results).map_err(|error| self.of_a_parameter(error, parameters))?;
        if results.iter().all(|result| result.is_finite()) { Ok(()) } else { Err(self.extreme(parameters)) }
    }

    /// Replaces an error about a derived quantity, which the user has not written, by one about a parameter.
    #[cold]
    fn of_a_parameter(&self, error: ModelError, parameters: &[f64]) -> ModelError {
        let known = self.parameters().iter().any(|field| field.name == error.parameter);
        if known { error } else { self.extreme(parameters) }
    }

    /// The error for results that are not finite numbers: it names the parameter that is furthest from its default.
    /// Each parameter alone is in its range.
    #[cold]
    fn extreme(&self, parameters: &[f64]) -> ModelError {
        let fields = self.parameters();
        // The distance is in powers of ten; a zero is as far away as the smallest number.
        let magnitude = |value: f64| value.abs().max(f64::MIN_POSITIVE).log10();
        let distance = |(field, value): &(&Field, &f64)| {
            if field.kind == FieldKind::Number {
                (magnitude(**value) - magnitude(field.default)).abs()
            } else {
                0.0
            }
        };
        let pairs = fields.iter().zip(parameters);
        let furthest = pairs.max_by(|one, other| distance(one).total_cmp(&distance(other)));
        let (parameter, value) =
            furthest.map_or(("parameters", f64::NAN), |(field, value)| (field.name, *value));
        ModelError {
            parameter,
            value,
            allowed: "a value nearer to the default, with which every result is finite",
        }
    }
}
