//! Named random streams, with the same numbers on every computer and in every version.
//!
//! A stream is derived from the run's seed and a name such as `station/3/backoff`, so adding a station does not change
//! the numbers of others. The generator is xoshiro256++ (Blackman and Vigna, *Scrambled linear pseudorandom number
//! generators*, ACM TOMS 47(4), 2021), seeded by SplitMix64 as its authors advise. Generator and samplers are
//! implemented here because published crates do not guarantee the values of samplers across versions; the tests contain
//! known values.

/// One stream of random numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RandomStream {
    state: [u64; 4],
}

/// One step of SplitMix64 (Steele, Lea, Flood, 2014): a bijection that spreads every bit of its input.
const fn split_mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

impl RandomStream {
    /// Creates the stream called `name` of the run with this `seed`.
    pub fn new(seed: u64, name: &str) -> Self {
        let mut key = split_mix(seed);
        for byte in name.bytes() {
            key = split_mix(key ^ u64::from(byte));
        }
        let mut state = [0; 4];
        for word in &mut state {
            key = split_mix(key);
            *word = key;
        }
        Self { state }
    }

    /// Returns the next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let shifted = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= shifted;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Returns an integer in `0..bound`, without bias (Lemire, *Fast random integer generation in an interval*, 2019).
    /// Panics if `bound` is zero.
    pub fn below(&mut self, bound: u32) -> u32 {
        assert!(bound > 0, "no number lies below zero");
        loop {
            let product = (self.next_u64() >> 32) * u64::from(bound);
            let low = product as u32;
            if low >= bound || low >= bound.wrapping_neg() % bound {
                return (product >> 32) as u32;
            }
        }
    }

    /// Returns a number in `[0, 1)` with 53 random bits.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Returns true with this probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Returns an exponentially distributed number with this mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.unit()).ln()
    }

    /// Returns a normally distributed number with mean 0 and standard deviation 1 (Box and Muller, 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (2.0 * self.exponential(1.0)).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Known values, because a change here changes every published result.
    #[test]
    fn streams_never_change() {
        let mut stream = RandomStream::new(1, "station/3/backoff");
        let drawn: Vec<u64> = (0..3).map(|_| stream.next_u64()).collect();
        assert_eq!(drawn, [GOLDEN[0], GOLDEN[1], GOLDEN[2]]);
        let mut stream = RandomStream::new(1, "station/3/backoff");
        assert_eq!((0..5).map(|_| stream.below(16)).collect::<Vec<_>>(), GOLDEN_BELOW_16);
    }

    const GOLDEN: [u64; 3] =
        [4_019_025_023_831_156_971, 4_768_717_996_033_575_074, 15_948_273_435_048_458_792];
    const GOLDEN_BELOW_16: [u32; 5] = [3, 4, 13, 1, 12];

    /// The reference generator from state {1, 2, 3, 4} gives this sequence.
    #[test]
    fn generator_is_xoshiro256_plus_plus() {
        let mut stream = RandomStream { state: [1, 2, 3, 4] };
        let drawn: Vec<u64> = (0..4).map(|_| stream.next_u64()).collect();
        assert_eq!(drawn, [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386]);
    }

    #[test]
    fn names_and_seeds_give_unrelated_streams() {
        let first = |seed, name| RandomStream::new(seed, name).next_u64();
        assert_ne!(first(1, "a"), first(1, "b"));
        assert_ne!(first(1, "a"), first(2, "a"));
        assert_ne!(first(1, "ab"), first(1, "ba"));
    }

    #[test]
    fn samples_have_the_mean_that_they_should() {
        let mut stream = RandomStream::new(7, "means");
        let n = 100_000;
        let slots: u64 = (0..n).map(|_| u64::from(stream.below(16))).sum();
        assert!((slots as f64 / n as f64 - 7.5).abs() < 0.05);
        let gaps: f64 = (0..n).map(|_| stream.exponential(0.2)).sum();
        assert!((gaps / n as f64 - 0.2).abs() < 0.003);
    }
}
