//! The lower bound of every station equals the energy of policy `ideal` when that policy still had an account of its own. The
//! joules below are its results then, for seed 1.
//!
//! `bulk` and what is made from it had beacons each 100 ms then, and hosts of the RFCs. The duration is 20 s, except for `ten-up`: at 20 s a frame is on the air, and the account of `ideal` lasted to its end.

use airwatt_base::Span;

use crate::support::{cut, in_parallel, scenario, simulate};
use airwatt_proto::powersave::PowerSaveConfig;
use airwatt_sim::scenario::{Checked, Scenario};

/// The scenarios that had beacons each 100 ms then and have them each 102.4 ms now, with hosts of the profile `linux`.
const BULK: [&str; 5] = ["bulk", "ssh", "streaming", "ten-stations", "web"];

/// Scenario, duration and joules by station.
const IDEAL: [(&str, &str, &[f64]); 11] = [
    ("bulk", "20s", &[9.098036800000001]),
    ("fast-dsl", "20s", &[10.57916878378]),
    ("reference-download", "20s", &[17.712381280000002]),
    (
        "saturation",
        "20s",
        &[
            4.308004224,
            3.88194564,
            3.940713552,
            4.017491904,
            3.9902726280000005,
            4.010083272,
            3.920589924,
            3.9612749880000004,
            3.9187481400000004,
            3.890874,
        ],
    ),
    ("slow-dsl", "20s", &[1.0625482400000001]),
    ("ssh", "20s", &[0.41665768000000003]),
    ("streaming", "20s", &[2.11367232]),
    (
        "ten-stations",
        "20s",
        &[
            1.1259344800000002,
            1.4065251200000002,
            1.37338336,
            1.29885056,
            1.2816016000000001,
            0.9918308800000001,
            1.38874336,
            1.5531568800000002,
            1.38241728,
            1.1303913600000002,
        ],
    ),
    (
        "ten-up",
        "18s",
        &[
            5.224195600000001,
            2.18849456,
            3.8522952000000004,
            1.47510936,
            4.90552,
            0.43292856,
            1.4008764,
            5.410674080000001,
            2.91993136,
            4.17275328,
        ],
    ),
    ("web", "20s", &[0.82306712]),
    ("wifi-bottleneck", "20s", &[14.206655360000001]),
];

#[test]
fn the_bound_of_active_is_the_energy_of_ideal() {
    let hosts =
        scenario("fast-dsl", &[("tcp.delayed_ack", "true"), ("tcp.min_rto_of", "variance")]).tcp.clone();
    let found = in_parallel(&IDEAL, |(name, duration, _)| {
        let mut scenario = Scenario::clone(&cut(name, "active", duration));
        if BULK.contains(name) {
            scenario.ap.beacon_interval = Span::from_millis(100);
            scenario.tcp = hosts.clone();
        }
        let scenario = Checked::new(scenario).unwrap();
        let stations = simulate(&scenario, 1).result.stations;
        stations.iter().map(|station| station.lower_bound_j).collect::<Vec<f64>>()
    });
    for ((name, _, joules), found) in IDEAL.iter().zip(found) {
        assert_eq!(found.len(), joules.len(), "{name}");
        for (found, joules) in found.iter().zip(*joules) {
            // An exchange in progress at the end was charged to its end: a frame and its acknowledgement at 2 W and less.
            assert!((-1e-9..1e-3).contains(&(joules - found)), "{name}: {found} J of {joules} J");
        }
    }
}

/// Under every policy the radio spends at least its bound, and sometimes much more.
#[test]
fn no_policy_spends_less_than_its_bound() {
    let policies = ["active", "timeout", "psm-legacy", "psm", "uapsd", "ba-ta", "psm-throttling"];
    let stations = in_parallel(&policies, |policy| {
        simulate(&cut("web", policy, "20s"), 1).result.stations.swap_remove(0)
    });
    for (policy, station) in policies.iter().zip(stations) {
        let (energy, bound) = (station.energy_j, station.lower_bound_j);
        assert!(bound > 0.0 && bound <= energy, "{policy}: {bound} J of {energy} J");
    }
}

/// The access point sends to a station whose service period is over, and the bound has no need to be awake for that.
#[test]
fn a_frame_to_a_radio_that_sleeps_is_no_part_of_its_bound() {
    let set = [
        ("policy", "twt"),
        ("station.radio", "esp32-c5-5ghz"),
        ("wifi.mode", "HE20 MCS 7"),
        ("flow.application.size", "5MB"),
    ];
    let station = simulate(&scenario("wifi6", &set), 1).result.stations.swap_remove(0);
    assert!(station.lower_bound_j <= station.energy_j, "{} {}", station.lower_bound_j, station.energy_j);
}

/// `ideal` is the run of `active`, and its result is the bound.
#[test]
fn ideal_is_the_bound_of_active() {
    let [active, ideal] = ["active", "ideal"].map(|policy| simulate(&cut("ten-stations", policy, "5s"), 1));
    assert_eq!(active.fingerprints.frames, ideal.fingerprints.frames);
    assert_eq!(active.fingerprints.radios, ideal.fingerprints.radios);
    assert_eq!(active.result.simulated_s, ideal.result.simulated_s);
    for (active, ideal) in active.result.stations.iter().zip(&ideal.result.stations) {
        assert_eq!(ideal.energy_j, active.lower_bound_j);
        assert_eq!(ideal.lower_bound_j, active.lower_bound_j);
        assert!(ideal.wakeups > 0 && ideal.state_s.sleep > 0.0);
    }
}

/// `ideal` names the bound wherever a policy can be named, for some stations or for all of them, and is no policy itself.
#[test]
fn ideal_stands_for_active_with_its_bound() {
    let file = "base = \"ten-stations\"\nduration = \"1s\"\nstation = [\n{ count = 4, power_save = { policy = \"ideal\" } },\n\
                { count = 6, power_save = { policy = \"psm\" } } ]\n";
    let scenario = Scenario::from_text(file, "file", &[]).unwrap();
    assert_eq!((scenario.station[0].power_save.name(), scenario.station[0].lower_bound), ("active", true));
    assert!(!scenario.station[1].lower_bound);
    let names = |scenario: &Checked| {
        simulate(scenario, 1).result.stations.iter().map(|station| station.policy.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(&scenario)[3..5], ["ideal", "psm"]);
    let written = Scenario::from_text(&scenario.to_toml(), "written", &[]).unwrap();
    assert_eq!(*written, *scenario);
    // A policy for all stations replaces the bound as well.
    let set = |policy: &str| [("policy".to_owned(), policy.to_owned())];
    let all = Scenario::from_text(file, "file", &set("uapsd")).unwrap();
    assert_eq!(names(&all), ["uapsd"; 10]);
    let all = Scenario::load("two-cells", &set("ideal")).unwrap();
    assert!(all.cell.iter().flat_map(|cell| &cell.station).all(|group| group.lower_bound));
    let error = Scenario::from_text(file, "file", &[("station.1.lower_bound".to_owned(), "true".to_owned())]);
    let error = error.unwrap_err().to_string();
    assert!(error.contains("power_save.policy: expected \"active\" with lower_bound"), "{error}");
    assert!(PowerSaveConfig::named("ideal").is_err());
}

/// Whenever a run ends, also in the middle of an exchange, the states of the bound add up to the run.
#[test]
fn the_states_of_the_bound_add_up_to_the_run() {
    for micros in [900_013_u64, 950_250, 1_000_111, 1_234_567, 1_500_000] {
        let set = [("policy", "ideal"), ("duration", &format!("{micros}us")), ("measure_from", "100ms")];
        let run = simulate(&crate::support::scenario("saturation", &set), 1);
        for station in &run.result.stations {
            let states = station.state_s;
            let sum = states.transmit + states.receive + states.listen + states.sleep + states.transition;
            assert!((sum - run.result.simulated_s).abs() < 1e-9, "{sum} of {}", run.result.simulated_s);
        }
    }
}
