//! Rates: what a link carries at a signal-to-noise ratio, and what Minstrel-HT finds of it.

use airwatt_sim::scenario::Scenario;

use crate::support::{in_parallel, scenario, simulate};

/// One saturated station of 802.11n at a distance, with errors after one of the models. Mbit/s of its flow.
fn carried(mode: &str, control: &str, metres: &str, errors: &str) -> f64 {
    let set = [
        ("station.0.count", "1"),
        ("station.0.distance", metres),
        ("wifi.standard", "802.11n"),
        ("wifi.mode", mode),
        ("wifi.rate_control", control),
        ("wifi.aggregation.mpdus", "32"),
        ("wifi.path_loss.errors", errors),
        ("duration", "4s"),
        ("measure_from", "1s"),
    ];
    simulate(&scenario("saturation", &set), 1).result.flows[0].measured_bps.unwrap() * 1e-6
}

/// The best of the sixteen modes at 20 MHz, and Minstrel-HT among the same.
#[test]
fn minstrel_finds_the_best_mode() {
    let distances = ["5m", "20m", "30m", "60m"];
    let modes: Vec<String> = (0..16).map(|index| format!("HT20 MCS {index}")).collect();
    let jobs: Vec<(&str, &str)> =
        distances.iter().flat_map(|metres| modes.iter().map(move |mode| (*metres, mode.as_str()))).collect();
    let fixed = in_parallel(&jobs, |(metres, mode)| carried(mode, "fixed", metres, "table"));
    let found = in_parallel(&distances, |metres| carried("HT20 MCS 15", "minstrel-ht", metres, "table"));
    let mut table = "distance  best mode  Minstrel-HT (Mbit/s)\n".to_owned();
    let mut least = 1.0_f64;
    for ((metres, fixed), found) in distances.into_iter().zip(fixed.chunks(16)).zip(found) {
        let (best, mode) = fixed.iter().zip(&modes).fold((0.0, ""), |(most, name), (mbps, mode)| {
            if *mbps > most { (*mbps, mode.as_str()) } else { (most, name) }
        });
        least = least.min(found / best);
        table += &format!("{metres:>8} {best:9.2} {mode:12} {found:9.2} {:5.2}\n", found / best);
    }
    assert!(least > 0.8, "{table}");
}

/// Rate control chooses among MCS, which 802.11a has none of.
#[test]
fn minstrel_needs_modes() {
    let set = [("wifi.rate_control".to_owned(), "minstrel-ht".to_owned())];
    let error = Scenario::load("saturation", &set).unwrap_err().to_string();
    assert!(error.contains("expected \"fixed\" with 802.11a; it chooses among MCS"), "{error}");
}

/// A signal that a mode needs and has not: nothing arrives; with 20 dB more everything does.
#[test]
fn what_arrives_depends_on_the_signal() {
    for errors in ["nist", "table"] {
        let at = |metres| carried("HT20 MCS 7", "fixed", metres, errors);
        let [near, far] = [at("5m"), at("100m")];
        assert!(near > 50.0 && far < 0.5, "{errors}: {near} {far}");
    }
    let shadowed = |seed: u64| {
        let set = [
            ("station.0.count", "1"),
            ("station.0.distance", "35m"),
            ("wifi.path_loss.shadowing_db", "8"),
            ("wifi.path_loss.errors", "table"),
            ("duration", "2s"),
        ];
        simulate(&scenario("saturation", &set), seed).result.flows[0].goodput_bps
    };
    let goodputs: Vec<f64> = (1..=12).map(shadowed).collect();
    assert!(goodputs.iter().any(|bps| *bps < 1e6) && goodputs.iter().any(|bps| *bps > 5e6), "{goodputs:?}");
}
