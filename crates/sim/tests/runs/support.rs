//! What the tests of whole runs share: runs of scenarios with keys set, on two threads, and their means.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use airwatt_base::Span;
use airwatt_sim::scenario::{Checked, Scenario};
use airwatt_sim::{Run, RunOptions, run};

/// A scenario that ships, or a file, with keys set as by `--set`.
pub(crate) fn scenario(name: &str, set: &[(&str, &str)]) -> Checked {
    let set: Vec<_> = set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Scenario::load(name, &set).unwrap_or_else(|error| panic!("{error}"))
}

/// A scenario that ships under a policy, cut short; what it measures from and when its flows begin are cut too.
pub(crate) fn cut(name: &str, policy: &str, duration: &str) -> Checked {
    let mut set = vec![("policy", policy), ("duration", duration)];
    let whole = scenario(name, &[]);
    if whole.measure_from.is_some() {
        set.extend([("measure_from", "1s"), ("fairness_windows", "[\"1s\"]")]);
    }
    if whole.measure_from.is_some() || whole.flow.iter().any(|flow| flow.start_spread > Span::from_secs(1)) {
        set.push(("flow.start_spread", "1s"));
    }
    scenario(name, &set)
}

/// One run without traces.
pub(crate) fn simulate(scenario: &Checked, seed: u64) -> Run {
    simulate_traced(scenario, seed, false)
}

/// One run.
pub(crate) fn simulate_traced(scenario: &Checked, seed: u64, trace: bool) -> Run {
    let mut go_on = |_| ControlFlow::Continue(());
    run(scenario, seed, &mut RunOptions { trace, on_progress: &mut go_on })
        .unwrap_or_else(|error| panic!("seed {seed}: {error}"))
}

/// Does `work` on every job, on as many threads as the machine has, and keeps the order.
pub(crate) fn in_parallel<J: Sync, R: Send>(jobs: &[J], work: impl Fn(&J) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut results: Vec<(usize, R)> = std::thread::scope(|scope| {
        for _ in 0..threads {
            let (sender, next, work) = (sender.clone(), &next, &work);
            scope.spawn(move || {
                while let Some((index, job)) = {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    jobs.get(index).map(|job| (index, job))
                } {
                    sender.send((index, work(job))).expect("results are read until all threads are done");
                }
            });
        }
        drop(sender);
        receiver.iter().collect()
    });
    assert_eq!(results.len(), jobs.len(), "a run panicked");
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// A mean with the half width of its 95 % confidence interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Mean {
    pub(crate) mean: f64,
    pub(crate) ci95: f64,
}

impl Mean {
    /// Of independent runs; the interval from Student's distribution.
    pub(crate) fn of(values: &[f64]) -> Self {
        /// Two-sided 95 % quantiles for 1 to 9 degrees of freedom.
        const T: [f64; 9] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262];
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let Some(quantile) = values.len().checked_sub(2).map(|index| T[index.min(T.len() - 1)]) else {
            return Self { mean, ci95: 0.0 };
        };
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
        Self { mean, ci95: quantile * (variance / count).sqrt() }
    }
}

/// `value` over `reference`, less one.
pub(crate) fn difference(value: f64, reference: f64) -> f64 {
    value / reference - 1.0
}

/// The policies among `all` that all stations of a shipped scenario can have: on a point-to-point link, in an ad-hoc cell and where
/// an access point shares a station's radio, that is one.
pub(crate) fn policies_of(name: &'static str, all: &[&'static str]) -> Vec<(&'static str, &'static str)> {
    let sleeps = |policy: &str| Scenario::load(name, &[("policy".to_owned(), policy.to_owned())]).is_ok();
    all.iter().filter(|policy| **policy == "active" || sleeps(policy)).map(|policy| (name, *policy)).collect()
}
