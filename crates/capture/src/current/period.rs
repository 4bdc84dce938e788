//! Periods from distances: their length, and whether it is that of beacons.

/// A thing is periodic if this share of its distances is within this share of the median.
const PERIODIC: f64 = 0.8;
const ALIKE: f64 = 0.05;
/// How far the clocks of meter and access point may differ.
const CLOCKS: f64 = 1e-4;

/// The period of distances of which `median_s` is usual, each of one period or of several, and known to `error_s`; `None` if they have
/// none.
pub(super) fn of(distances_s: &[f64], median_s: f64, error_s: f64) -> Option<f64> {
    let times = |distance_s: f64| (distance_s / median_s).round().max(1.0);
    let is_multiple = |distance_s: &f64| {
        (distance_s - times(*distance_s) * median_s).abs() <= (ALIKE * median_s).max(error_s)
    };
    let periodic: Vec<f64> = distances_s.iter().copied().filter(is_multiple).collect();
    let usual_s = periodic.iter().sum::<f64>() / periodic.iter().copied().map(times).sum::<f64>();
    (!periodic.is_empty() && periodic.len() as f64 >= PERIODIC * distances_s.len() as f64).then_some(usual_s)
}

/// Whether a time that is known to `error_s` is a whole number of beacon intervals.
pub(super) fn is_of_beacons(time_s: f64, beacons_s: f64, error_s: f64) -> bool {
    let times = (time_s / beacons_s).round();
    times >= 1.0 && (time_s - times * beacons_s).abs() <= error_s + CLOCKS * time_s
}
