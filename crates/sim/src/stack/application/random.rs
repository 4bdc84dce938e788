//! Random numbers of the distributions in which traffic models are published.

use airwatt_base::RandomStream;

/// A Weibull-distributed number of this shape, whose scale is 1.
pub(super) fn weibull(random: &mut RandomStream, shape: f64) -> f64 {
    random.exponential(1.0).powf(1.0 / shape)
}

/// A number of the largest extreme value distribution (Gumbel's). Its mean is `location` and 0.5772 times `scale`.
pub(super) fn largest_extreme_value(random: &mut RandomStream, location: f64, scale: f64) -> f64 {
    // The stream may give zero, once in 2^53 times, whose logarithm is infinite.
    location - scale * random.exponential(1.0).max(f64::MIN_POSITIVE).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean_and_deviation(draw: impl Fn(&mut RandomStream) -> f64) -> (f64, f64) {
        let mut random = RandomStream::new(1, "test");
        let drawn: Vec<f64> = (0..100_000).map(|_| draw(&mut random)).collect();
        let mean = drawn.iter().sum::<f64>() / 100_000.0;
        let squares = drawn.iter().map(|number| (number - mean).powi(2)).sum::<f64>();
        (mean, (squares / 100_000.0).sqrt())
    }

    /// Means and deviations in closed form; with 100,000 numbers a mean's standard error is 0.3 % of the deviation.
    #[test]
    fn the_moments_are_those_of_the_distributions() {
        let near = |(mean, deviation): (f64, f64), (expected, width): (f64, f64)| {
            assert!((mean - expected).abs() < 0.015 * width, "{mean} instead of {expected}");
            assert!((deviation / width - 1.0).abs() < 0.03, "{deviation} instead of {width}");
        };
        near(mean_and_deviation(RandomStream::normal), (0.0, 1.0));
        // A Weibull distribution of shape 1 is exponential, one of shape 2 is Rayleigh's: sqrt(pi) / 2 and sqrt(1 - pi / 4).
        near(mean_and_deviation(|random| weibull(random, 1.0)), (1.0, 1.0));
        let (mean, width) = (std::f64::consts::PI.sqrt() / 2.0, (1.0 - std::f64::consts::FRAC_PI_4).sqrt());
        near(mean_and_deviation(|random| weibull(random, 2.0)), (mean, width));
        // Gumbel's: the mean is Euler's constant above the location, the deviation pi / sqrt(6), in units of the scale.
        let width = 11.0 * std::f64::consts::PI / 6.0_f64.sqrt();
        near(
            mean_and_deviation(|random| largest_extreme_value(random, 50.0, 11.0)),
            (50.0 + 11.0 * 0.577_22, width),
        );
    }
}
