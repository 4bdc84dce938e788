//! How often frames fail at a signal-to-noise ratio: two published models of receivers in white Gaussian noise.
//!
//! * **NIST** (Pei and Henderson, Validation of OFDM error rate model in ns-3, 2010): the error rate of bits before decoding by
//!   modulation, and the union bound of the convolutional code. ns-3's `NistErrorRateModel`.
//! * **Table** (ns-3's `TableBasedErrorRateModel`, its default since 3.33): ratios at which 50, 10 and 1 % of frames fail, read off
//!   its tables, which come from a simulated receiver. Between them and beyond, log(-log(1 - failures)) is linear in decibels. Frames
//!   below 400 bytes follow the table of 32 bytes, longer ones that of 1458. Tables for BPSK with rate 3/4 (9 Mbit/s) do not exist; it has
//!   NIST's. For 1024-QAM there is LDPC only.
//!
//! The table's receiver needs 3 to 6 dB less than NIST's. In both a stream has its share of the power and no interference from the others,
//! and noise is that of 290 K over the width of the PPDU and the receiver's noise figure. Left out: fading, several receiving antennas.

use airwatt_dot11::{Coding, Format, TxVector, Width};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How errors follow from the signal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorModel {
    /// By the sensitivity that the standard demands at the data rate.
    #[default]
    Sensitivity,
    /// By the signal-to-noise ratio, NIST's model.
    Nist,
    /// By the signal-to-noise ratio, the tables of ns-3.
    Table,
}

/// Frames from this length on follow the table of long frames.
const LONG_BYTES: u32 = 400;
/// The lengths of the frames of the tables.
const REFERENCE_BYTES: [f64; 2] = [32.0, 1_458.0];
/// Thermal noise at 290 K over 20 MHz in dBm.
const THERMAL_DBM: f64 = -100.97;

/// Ratios in dB at which 50, 10 and 1 % of frames fail.
type Points = [f64; 3];

/// With the convolutional code, frames of 32 and of 1458 bytes, by MCS.
const BCC: [[Points; 2]; 10] = [
    [[-1.3, -0.4, 0.5], [0.3, 0.9, 1.6]],
    [[1.7, 2.6, 3.5], [3.3, 3.9, 4.6]],
    [[4.2, 5.1, 6.0], [5.8, 6.4, 7.1]],
    [[6.9, 8.1, 9.1], [8.9, 9.7, 10.5]],
    [[10.2, 11.3, 12.3], [12.0, 12.8, 13.6]],
    [[14.1, 15.3, 16.4], [16.2, 17.0, 18.0]],
    [[15.4, 16.6, 17.8], [17.5, 18.4, 19.3]],
    [[16.8, 18.1, 19.3], [18.8, 19.6, 20.5]],
    [[20.4, 21.7, 23.0], [22.8, 23.7, 24.8]],
    [[22.0, 23.3, 24.5], [24.3, 25.2, 26.2]],
];
/// With LDPC, frames of 1458 bytes, by MCS.
const LDPC: [Points; 12] = [
    [-0.9, -0.6, -0.3],
    [2.1, 2.4, 2.7],
    [4.6, 4.9, 5.2],
    [7.6, 7.9, 8.3],
    [10.6, 10.9, 11.2],
    [14.8, 15.1, 15.5],
    [16.2, 16.5, 16.9],
    [17.7, 18.0, 18.4],
    [21.3, 21.7, 22.1],
    [23.1, 23.5, 23.9],
    [26.4, 26.8, 27.2],
    [28.4, 28.9, 29.3],
];
/// log(-log(1 - p)) of the three shares.
const SHARES: Points = [-0.366_512_9, -2.250_367_3, -4.600_149_2];

/// Coded bits of a symbol and the index of the coding rate in [`UNION_BOUNDS`], by MCS.
const MODULATION: [(u32, usize); 12] =
    [(1, 0), (2, 0), (2, 2), (4, 0), (4, 2), (6, 1), (6, 2), (6, 3), (8, 2), (8, 3), (10, 2), (10, 3)];
/// The same for the eight rates of OFDM.
const OFDM_MODULATION: [(u32, usize); 8] = [(1, 0), (1, 2), (2, 0), (2, 2), (4, 0), (4, 2), (6, 1), (6, 2)];
/// The MCS with the modulation of the rates of OFDM, if there is one.
const OFDM_MCS: [Option<usize>; 8] = [Some(0), None, Some(1), Some(2), Some(3), Some(4), Some(5), Some(6)];

/// The union bound of a code: a factor, the least exponent of D, the step of exponents, and coefficients.
struct UnionBound {
    factor: f64,
    least: i32,
    step: i32,
    coefficients: &'static [f64],
}

/// The coding rates 1/2, 2/3, 3/4 and 5/6.
const UNION_BOUNDS: [UnionBound; 4] = [
    UnionBound {
        factor: 1.0 / 2.0,
        least: 10,
        step: 2,
        coefficients: &[
            36.0,
            211.0,
            1_404.0,
            11_633.0,
            77_433.0,
            502_690.0,
            3_322_763.0,
            21_292_910.0,
            134_365_911.0,
        ],
    },
    UnionBound {
        factor: 1.0 / 4.0,
        least: 6,
        step: 1,
        coefficients: &[
            3.0,
            70.0,
            285.0,
            1_276.0,
            6_160.0,
            27_128.0,
            117_019.0,
            498_860.0,
            2_103_891.0,
            8_784_123.0,
        ],
    },
    UnionBound {
        factor: 1.0 / 6.0,
        least: 5,
        step: 1,
        coefficients: &[
            42.0,
            201.0,
            1_492.0,
            10_469.0,
            62_935.0,
            379_644.0,
            2_253_373.0,
            13_073_811.0,
            75_152_755.0,
            428_005_675.0,
        ],
    },
    UnionBound {
        factor: 1.0 / 10.0,
        least: 4,
        step: 1,
        coefficients: &[
            92.0,
            528.0,
            8_694.0,
            79_453.0,
            792_114.0,
            7_375_573.0,
            67_884_974.0,
            610_875_423.0,
            5_427_275_376.0,
            47_664_215_639.0,
        ],
    },
];

/// Probabilities that a byte is received wrongly, in a frame below 400 bytes and in a longer one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ByteErrors([f64; 2]);

impl ByteErrors {
    /// The same for all frames.
    pub(crate) const fn equal(rate: f64) -> Self {
        Self([rate; 2])
    }

    /// That of a frame of so many bytes.
    pub(crate) fn of(&self, bytes: u32) -> f64 {
        self.0[usize::from(bytes >= LONG_BYTES)]
    }
}

/// The signal-to-noise ratio of a stream in dB.
pub(crate) fn snr_db(vector: &TxVector, signal_dbm: f64, noise_figure_db: f64) -> f64 {
    let times_20_mhz: f64 = match vector.width() {
        Width::Mhz40 => 2.0,
        Width::Mhz80 => 4.0,
        Width::Mhz160 => 8.0,
        Width::Mhz320 => 16.0,
        Width::Tones26 | Width::Tones52 | Width::Tones106 | Width::Mhz20 => 1.0,
    };
    let shares = times_20_mhz * f64::from(vector.streams());
    signal_dbm - THERMAL_DBM - noise_figure_db - 10.0 * shares.log10()
}

/// The errors at a signal-to-noise ratio; `None` for 802.11b, which neither model has, and for MCS that they lack.
pub(crate) fn byte_errors(model: ErrorModel, vector: &TxVector, snr_db: f64) -> Option<ByteErrors> {
    let mcs = usize::from(vector.mcs());
    let (modulation, of_table) = match vector.format() {
        Format::Dsss { .. } => return None,
        Format::Ofdm => (*OFDM_MODULATION.get(mcs)?, *OFDM_MCS.get(mcs)?),
        Format::HtMixed | Format::HtGreenfield | Format::Vht | Format::He(_) | Format::Eht(_) => {
            (*MODULATION.get(mcs)?, Some(mcs))
        }
    };
    match (model, of_table) {
        (ErrorModel::Sensitivity, _) => None,
        (ErrorModel::Table, Some(mcs)) => of_tables(mcs, vector.coding(), snr_db),
        (ErrorModel::Nist | ErrorModel::Table, _) => Some(ByteErrors::equal(nist(modulation, snr_db))),
    }
}

fn of_tables(mcs: usize, coding: Coding, snr_db: f64) -> Option<ByteErrors> {
    match (coding, BCC.get(mcs)) {
        (Coding::Bcc, Some(lengths)) => Some(ByteErrors(
            [0, 1].map(|length| of_points(&lengths[length], snr_db, REFERENCE_BYTES[length])),
        )),
        _ => LDPC.get(mcs).map(|points| ByteErrors::equal(of_points(points, snr_db, REFERENCE_BYTES[1]))),
    }
}

/// The error rate of a byte if frames of `bytes` fail as these points say.
fn of_points(points: &Points, snr_db: f64, bytes: f64) -> f64 {
    let from = usize::from(snr_db > points[1]);
    let slope = (SHARES[from + 1] - SHARES[from]) / (points[from + 1] - points[from]);
    let share = SHARES[from] + (snr_db - points[from]) * slope;
    1.0 - (-share.exp() / bytes).exp()
}

/// NIST's error rate of a byte.
fn nist((bits, coding): (u32, usize), snr_db: f64) -> f64 {
    let ratio = 10_f64.powf(snr_db / 10.0);
    let before_decoding = if bits == 1 {
        0.5 * erfc(ratio.sqrt())
    } else {
        let points = 2_f64.powi(bits as i32);
        let side = points.sqrt();
        (1.0 - 1.0 / side) / side.log2() * erfc((3.0 * ratio / (2.0 * (points - 1.0))).sqrt())
    };
    let distance = (4.0 * before_decoding * (1.0 - before_decoding)).sqrt();
    let UnionBound { factor, least, step, coefficients } = &UNION_BOUNDS[coding];
    let exponents = (0..).map(|place| least + step * place);
    let sum: f64 = coefficients.iter().zip(exponents).map(|(value, k)| value * distance.powi(k)).sum();
    1.0 - (1.0 - (factor * sum).min(1.0)).powi(8)
}

/// The complementary error function: its series up to 2, and its continued fraction beyond.
fn erfc(x: f64) -> f64 {
    let scale = std::f64::consts::FRAC_2_SQRT_PI;
    if x < 2.0 {
        let (mut term, mut sum) = (x, x);
        for n in 1..60 {
            let n = f64::from(n);
            term *= -x * x / n;
            sum += term / (2.0 * n + 1.0);
        }
        1.0 - scale * sum
    } else {
        let fraction = (1..60).rev().fold(x, |below, n| x + f64::from(n) / 2.0 / below);
        0.5 * scale * (-x * x).exp() / fraction
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::cell::phy::propagation::frame_error_rate;

    fn failures(model: ErrorModel, mode: &str, snr_db: f64, bytes: u32) -> f64 {
        let errors = byte_errors(model, &mode.parse().unwrap(), snr_db).unwrap();
        frame_error_rate(errors.of(bytes), bytes)
    }

    /// Values of tables of the function.
    #[test]
    fn erfc_is_that_of_tables() {
        for (x, value) in [(0.0, 1.0), (0.5, 0.479_500_122), (1.0, 0.157_299_207), (2.0, 0.004_677_735)] {
            assert!((erfc(x) - value).abs() < 1e-9, "{x}: {}", erfc(x));
        }
        assert!((erfc(4.0) / 1.541_725_79e-8 - 1.0).abs() < 1e-8);
        assert!((erfc(1.999_999_9) / erfc(2.0) - 1.0).abs() < 1e-6);
    }

    /// The values of ns-3's own test: QPSK 1/2, 2000 bytes.
    #[test]
    fn nist_is_that_of_ns_3() {
        for (snr_db, success) in [(6.0, 0.0174), (7.0, 0.881), (8.0, 0.997)] {
            let simulated = 1.0 - failures(ErrorModel::Nist, "HT20 MCS 1", snr_db, 2_000);
            assert!((simulated - success).abs() < 5e-4, "{snr_db}: {simulated}");
        }
        for (mode, snr_db, share) in
            [("HT20 MCS 0", 3.95, 0.1), ("HT20 MCS 7", 24.50, 0.01), ("HE20 MCS 11", 34.90, 0.5)]
        {
            let simulated = failures(ErrorModel::Nist, mode, snr_db, 1_458);
            assert!((simulated / share - 1.0).abs() < 0.05, "{mode}: {simulated}");
        }
    }

    #[test]
    fn tables_have_their_points() {
        for (mode, snr_db, bytes, share) in [
            ("HT20 MCS 7", 18.8, 1_458, 0.5),
            ("HT20 MCS 7", 19.6, 1_458, 0.1),
            ("HT20 MCS 7", 20.5, 1_458, 0.01),
            ("HT20 MCS 3", 8.1, 32, 0.1),
            ("HE80 MCS 11", 28.9, 1_458, 0.1),
        ] {
            let simulated = failures(ErrorModel::Table, mode, snr_db, bytes);
            assert!((simulated / share - 1.0).abs() < 1e-3, "{mode}: {simulated}");
        }
        let mut before = 1.0;
        for step in 0..100 {
            let now = failures(ErrorModel::Table, "HT20 MCS 4", f64::from(step) / 4.0, 1_458);
            assert!(now <= before, "{step}");
            before = now;
        }
        assert!(before < 1e-9);
    }

    /// -60 dBm over -93.97 dBm are 33.97 dB; four times the width and two streams take 9.03 of them.
    #[test]
    fn ratios_by_hand() {
        let of = |mode: &str| snr_db(&mode.parse().unwrap(), -60.0, 7.0);
        assert!((of("HT20 MCS 0") - 33.97).abs() < 1e-9);
        assert!((of("HE80 MCS 0 x2") - 24.94).abs() < 5e-3);
    }
}
