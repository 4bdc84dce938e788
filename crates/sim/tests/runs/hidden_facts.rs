//! Policies at stations that hide facts from them (`hide`): what a Linux interface can reach, by the code that runs in the
//! simulator.

use crate::support::{in_parallel, scenario, simulate};
use airwatt_sim::scenario::{Checked, Scenario};

const NOTHING: &str = "[]";
const SERVICE_AND_TIM: &str = r#"["service", "tim"]"#;
const EVERYTHING: &str = r#"["service", "tim", "air-time"]"#;

fn download((path, size, hide): (&str, &str, &str)) -> Checked {
    scenario(path, &[("policy", "ba-ta"), ("station.hide", hide), ("flow.application.size", size)])
}

/// BA-TA completes without More Data, EOSP, TIM and air time, and spends at most a tenth more or less than with them. On a
/// path that is much slower than the air it takes no longer either. On faster ones it takes up to two and a half times as
/// long: without EOSP its estimate of the peak rate includes the gaps between bursts, so it believes that the path is
/// the bottleneck, and triggers less often.
#[test]
fn ba_ta_completes_at_the_same_energy_without_service_periods_and_tim() {
    let paths = [("slow-dsl", "2MB", 1.05), ("fast-dsl", "20MB", 2.5), ("wifi-bottleneck", "20MB", 2.5)];
    let jobs: Vec<_> = paths
        .iter()
        .flat_map(|(path, size, _)| [NOTHING, SERVICE_AND_TIM, EVERYTHING].map(|hide| (*path, *size, hide)))
        .collect();
    let results = in_parallel(&jobs, |job| {
        let result = simulate(&download(*job), 1).result;
        (result.flows[0].completed_s.expect("it completes"), result.stations[0].energy_j)
    });
    for ((path, _, longest), of_path) in paths.iter().zip(results.chunks(3)) {
        let (seconds, joules) = of_path[0];
        for (hidden_s, hidden_j) in &of_path[1..] {
            assert!((hidden_j / joules - 1.0).abs() < 0.1, "{path}: {hidden_j} J instead of {joules} J");
            assert!(hidden_s / seconds < *longest, "{path}: {hidden_s} s instead of {seconds} s");
        }
    }
}

#[test]
fn a_policy_that_needs_what_is_hidden_is_refused() {
    let error = |policy: &str, hide: &str| {
        let set = [("policy", policy), ("station.hide", hide)];
        let set = set.map(|(key, value)| (key.to_owned(), value.to_owned()));
        Scenario::load("fast-dsl", &set).expect_err("it cannot run").to_string()
    };
    for (policy, hide, missed) in [
        ("psm", r#"["tim"]"#, "tim"),
        ("timeout", r#"["tim"]"#, "tim"),
        ("psm-legacy", r#"["service"]"#, "service"),
    ] {
        assert_eq!(
            error(policy, hide),
            format!("--set station.hide={hide}: not with power_save.policy {policy:?}: it needs {missed:?}")
        );
    }
    // Policies that see nothing lose nothing, so that a comparison with `active` needs no second scenario.
    scenario("fast-dsl", &[("policy", "active"), ("station.hide", EVERYTHING)]);
}
