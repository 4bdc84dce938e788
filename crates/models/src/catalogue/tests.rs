//! Every model by its description only: defaults solve, names are whole, results are finite, bad numbers are refused.

use std::collections::BTreeSet;

use super::*;
use crate::fields::FieldKind;

fn defaults(model: &Model) -> Vec<f64> {
    model.parameters().iter().map(|field| field.default).collect()
}

#[test]
fn every_model_solves_its_defaults() {
    for model in MODELS {
        let mut results = vec![f64::NAN; model.results().len()];
        model.solve(&defaults(model), &mut results).unwrap_or_else(|error| panic!("{}: {error}", model.name));
    }
}

#[test]
fn names_are_told_apart() {
    let models: BTreeSet<_> = MODELS.iter().map(|model| model.name).collect();
    assert_eq!(models.len(), MODELS.len());
    for model in MODELS {
        for fields in [model.parameters(), model.results()] {
            let names: BTreeSet<_> = fields.iter().map(|field| field.name).collect();
            assert_eq!(names.len(), fields.len(), "{}", model.name);
            assert!(fields.iter().all(|field| !field.text.is_empty()));
        }
        let results = model.results();
        let known = |column: &&str| results.iter().any(|field| field.name == *column);
        assert!(!model.columns.is_empty() && model.columns.iter().all(known), "{}", model.name);
        assert!(model.regions.iter().all(|region| known(&region.result)), "{}", model.name);
    }
}

/// What no parameter may be, given as each parameter of each model in turn.
#[test]
fn nothing_takes_nan_or_infinity() {
    for model in MODELS {
        let mut results = vec![0.0; model.results().len()];
        for (index, field) in model.parameters().iter().enumerate() {
            for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0] {
                let unlimited = field.kind == FieldKind::WholeOrNone && bad == f64::INFINITY;
                // Gains of any sign are what the controller's stability is about.
                if unlimited || (field.name == "gain" && bad == -1.0) {
                    continue;
                }
                let mut point = defaults(model);
                point[index] = bad;
                let error = model.solve(&point, &mut results).unwrap_err();
                assert_eq!(error.parameter, field.name, "{} {bad}: {error}", model.name);
            }
        }
    }
}

#[test]
fn beyond_the_range_of_numbers_is_an_error() {
    let model = find("tcp-energy").unwrap();
    let mut point = defaults(model);
    point[0] = 5e-324;
    let mut results = vec![0.0; model.results().len()];
    let error = model.solve(&point, &mut results).unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with("p: expected ")
            && text.ends_with("got 5e-324")
            && text.contains("every result is finite"),
        "{text}"
    );
}

/// Whatever is wrong, an error names something that a user can change: at the edges of the range of numbers, too.
#[test]
fn every_error_is_about_a_parameter() {
    for model in MODELS {
        let fields = model.parameters();
        let mut results = vec![0.0; model.results().len()];
        for (index, field) in fields.iter().enumerate() {
            for edge in [0.0, 5e-324, 1e-9, 0.5, 1.0, 1.5, 1e18, 1e308] {
                let mut point = defaults(model);
                point[index] = edge;
                if let Err(error) = model.solve(&point, &mut results) {
                    let known = fields.iter().any(|field| field.name == error.parameter);
                    assert!(known, "{} {} {edge}: {error}", model.name, field.name);
                } else {
                    assert!(results.iter().all(|result| result.is_finite()));
                }
            }
        }
    }
}

#[test]
fn descriptions_come_from_the_structs() {
    let model = find("tcp-energy").unwrap();
    let parameters = model.parameters();
    let field = |name| parameters.iter().find(|field| field.name == name).unwrap();
    assert_eq!((field("rtt_s").unit, field("rtt_s").short_name(), field("rtt_s").default), ("s", "rtt", 0.1));
    assert_eq!(field("accounting").kind, FieldKind::Choice(&["repaired", "unclamped", "printed"]));
    assert!(field("accounting").text.contains("`printed`: The round counts twice, as printed."));
    assert_eq!(field("listen_w").text, "P^l, power while awake and listening.");
    assert_eq!(field("initial_packets").short_name(), "initial_packets");
}
