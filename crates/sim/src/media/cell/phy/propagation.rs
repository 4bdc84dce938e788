//! How strong a signal is over a distance, how often a frame fails for it, and which of several frames at once is heard.
//!
//! * **Loss**: ITU-R P.1238, site-general indoor: 20 log10(f / MHz) - 28 + 10 n log10(d / m) dB, on one floor; n = 3.1
//!   at 5.2 GHz and 3.0 at 2.4 GHz (offices).
//! * **Errors**: a receiver that just meets IEEE 802.11-2020: at the sensitivity of its rate a tenth of the frames of 1000 bytes
//!   fails (17.3.10.2, 19.3.19.1; 8 % of 1024 at 802.11b, 16.3.8.2, is taken for the same). The error rate of a byte falls
//!   by a decade with each decibel above it: about what convolutional codes over a quiet channel do near that point.
//! * **Capture**: of frames that stations begin at once the access point gets one that is stronger than all others together by
//!   a margin, 10 dB by default, as receivers that lock to the first preamble need at least.
//!
//! Beside these errors stand those of `snr`. Left out: fading, who hears whom (`hidden_from` says it, whatever the distances), interference of signals that are too weak to be heard, capture of the access point's own frames, errors in control frames and beacons. Both directions of a
//! station are alike.

use airwatt_base::Power;
use airwatt_dot11::{Band, Format, Standard, TxVector, Width};

/// Exponent of the loss over distance: offices, in ITU-R P.1238.
pub const fn office_exponent(standard: Standard) -> f64 {
    if standard.is_2_4_ghz() { 3.0 } else { 3.1 }
}

/// A transmitter's signal at `distance_m`, in dBm. Nearer than 10 cm counts as 10 cm.
pub fn received_dbm(standard: Standard, power: Power, exponent: f64, distance_m: f64) -> f64 {
    let megahertz: f64 = match standard.band() {
        Band::Ghz2 => 2_437.0,
        Band::Ghz5 => 5_200.0,
        Band::Ghz6 => 6_200.0,
    };
    let sent_dbm = 10.0 * (power.as_watts() * 1e3).log10();
    sent_dbm - 20.0 * megahertz.log10() + 28.0 - 10.0 * exponent * distance_m.max(0.1).log10()
}

/// Power of a level in milliwatts.
pub fn milliwatts(dbm: f64) -> f64 {
    10_f64.powf(dbm / 10.0)
}

/// Rates up to these, in kbit/s, and what they need.
const OFDM: [(u64, f64); 7] = [
    (6_000, -82.0),
    (9_000, -81.0),
    (12_000, -79.0),
    (18_000, -77.0),
    (24_000, -74.0),
    (36_000, -70.0),
    (48_000, -66.0),
];

/// What HT and later formats need at 20 MHz, by MCS.
const MODULATION: [f64; 12] =
    [-82.0, -79.0, -77.0, -74.0, -70.0, -66.0, -65.0, -64.0, -59.0, -57.0, -54.0, -52.0];

/// What a receiver of the standard needs, in dBm: tables 17-18, 19-23, 21-25 and, of 802.11ax, 27-51, with 3 dB more for each
/// doubling of the width; 16.3.8.2 for 11 Mbit/s and 15.4.8.2 for 2 Mbit/s, which stand for 5.5 and 1 Mbit/s too. Several streams need
/// what their modulation needs.
pub fn sensitivity_dbm(vector: &TxVector) -> f64 {
    let kbps = vector.rate().as_bps() / 1_000;
    match vector.format() {
        Format::Dsss { .. } => {
            if kbps > 2_000 {
                -76.0
            } else {
                -80.0
            }
        }
        Format::Ofdm => OFDM.iter().find(|(most, _)| kbps <= *most).map_or(-65.0, |(_, dbm)| *dbm),
        Format::HtMixed | Format::HtGreenfield | Format::Vht | Format::He(_) | Format::Eht(_) => {
            let wider = match vector.width() {
                Width::Mhz40 => 3.0,
                Width::Mhz80 => 6.0,
                Width::Mhz160 => 9.0,
                Width::Mhz320 => 12.0,
                Width::Tones26 | Width::Tones52 | Width::Tones106 | Width::Mhz20 => 0.0,
            };
            MODULATION.get(usize::from(vector.mcs())).copied().unwrap_or(-46.0) + wider
        }
    }
}

/// Probability that a byte is received wrongly, at `margin_db` above the sensitivity.
pub fn byte_error_rate(margin_db: f64) -> f64 {
    let at_sensitivity = 1.0 - 0.9_f64.powf(1e-3);
    (at_sensitivity * 10_f64.powf(-margin_db)).min(1.0)
}

/// Probability that a frame of `bytes` is received wrongly.
pub fn frame_error_rate(byte_error_rate: f64, bytes: u32) -> f64 {
    1.0 - (1.0 - byte_error_rate).powi(bytes as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(standard: Standard, rate: &str) -> f64 {
        sensitivity_dbm(&standard.vector(rate.parse().unwrap()).unwrap())
    }

    #[test]
    fn the_sensitivity_is_where_the_standard_says() {
        let margin = |dbm| dbm - needs(Standard::A, "54Mbps");
        assert!((frame_error_rate(byte_error_rate(margin(-65.0)), 1_000) - 0.1).abs() < 1e-9);
        assert!(frame_error_rate(byte_error_rate(margin(-62.0)), 1_000) < 2e-4);
        assert!(frame_error_rate(byte_error_rate(margin(-68.0)), 1_000) > 0.99);
        assert_eq!(needs(Standard::N, "130Mbps"), -64.0);
        assert_eq!(needs(Standard::N, "24Mbps"), -74.0);
        assert_eq!(needs(Standard::B, "11Mbps"), -76.0);
        assert_eq!(sensitivity_dbm(&"HE80 MCS 11 x2".parse().unwrap()), -46.0);
    }

    /// 40 mW (16 dBm) at 1 m: 16 - 74.32 + 28 = -30.3 dBm; ten times as far, 31 dB less.
    #[test]
    fn loss_by_hand() {
        let at = |metres| received_dbm(Standard::A, "40mW".parse().unwrap(), 3.1, metres);
        assert!((at(1.0) + 30.3).abs() < 0.05, "{}", at(1.0));
        assert!((at(1.0) - at(10.0) - 31.0).abs() < 1e-9);
        assert_eq!(at(0.0), at(0.1));
    }

    #[test]
    fn every_rate_has_a_sensitivity_that_rises_with_it_on_one_stream() {
        for standard in [Standard::B, Standard::A, Standard::G] {
            let needs: Vec<f64> =
                standard.rates().iter().map(|rate| needs(standard, &rate.to_string())).collect();
            assert!(needs.is_sorted(), "{standard:?}: {needs:?}");
        }
    }
}
