//! The one source of randomness: xoshiro256++, with an independent stream for every chain.
//!
//! Kernels draw only what is named here. Under test the same methods can be scripted by an
//! enumerator that walks through every outcome with its probability, so that it is the
//! production kernels themselves, not models of them, whose invariance is proved.

#[cfg(test)]
use super::enumerate::Script;
use super::selection::Choice;
use super::ziggurat;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

/// A chain's generator.
///
/// ```
/// let mut first = towline::Rng::stream(7, 0);
/// let mut second = towline::Rng::stream(7, 1);
/// assert_ne!(first.normal(), second.normal());
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rng {
    generator: Xoshiro256PlusPlus,
    #[cfg(test)]
    #[serde(skip)]
    pub(crate) script: Option<Box<Script>>,
}

/// The height of a slice under a log density; see [`Rng::height`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Height {
    level: f64,
    /// Under enumeration the level is known only to lie in here (a fraction of the density where it was drawn).
    #[cfg(test)]
    pub(crate) open: (f64, f64),
}

impl Rng {
    /// Stream `k` of the generator with this seed: 2¹²⁸ numbers apart from the next.
    pub fn stream(seed: u64, k: u64) -> Self {
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
        for _ in 0..k {
            generator.jump();
        }
        Self {
            generator,
            #[cfg(test)]
            script: None,
        }
    }

    /// A generator of its own for one purpose and one place in it (the finaliser of splitmix64, once for each).
    pub(crate) fn apart(seed: u64, purpose: u64, index: u64) -> Self {
        let mixed = [purpose, index].into_iter().fold(seed, |sum, part| {
            let mut z =
                sum.wrapping_add(0x9e37_79b9_7f4a_7c15) ^ part.wrapping_mul(0xd6e8_feb8_6659_fd93);
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        });
        Self::stream(mixed, 0)
    }

    /// A uniform number in [0, 1).
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        #[cfg(test)]
        assert!(
            self.script.is_none(),
            "a uniform number cannot be enumerated"
        );
        self.generator.random()
    }

    /// A standard normal number.
    #[inline(always)]
    pub fn normal(&mut self) -> f64 {
        #[cfg(test)]
        if let Some(script) = &mut self.script {
            return script.normal();
        }
        ziggurat::normal(&mut self.generator)
    }

    /// A standard exponential number.
    #[inline(always)]
    pub fn exponential(&mut self) -> f64 {
        #[cfg(test)]
        assert!(
            self.script.is_none(),
            "an exponential number cannot be enumerated"
        );
        ziggurat::exponential(&mut self.generator)
    }

    /// True with probability min(1, exp(log_ratio)).
    ///
    /// Compares with an exponential number: that needs neither `exp` nor `ln`.
    #[inline]
    pub fn accept(&mut self, log_ratio: f64) -> bool {
        #[cfg(test)]
        if let Some(script) = &mut self.script {
            return script.accept(log_ratio);
        }
        log_ratio > -self.exponential()
    }

    /// A whole number below `n`, each equally likely.
    #[inline]
    pub fn index(&mut self, n: usize) -> usize {
        #[cfg(test)]
        if let Some(script) = &mut self.script {
            return script.choose(&vec![1.0; n]);
        }
        self.generator.random_range(0..n)
    }

    /// The position of one of the weights, with probability in proportion to it.
    pub fn pick(&mut self, weights: impl Iterator<Item = f64> + Clone) -> usize {
        let total: f64 = weights.clone().sum();
        self.pick_of(total, weights)
    }

    /// The same where the sum of the weights is known.
    #[inline]
    pub(crate) fn pick_of(
        &mut self,
        total: f64,
        weights: impl Iterator<Item = f64> + Clone,
    ) -> usize {
        #[cfg(test)]
        if let Some(script) = &mut self.script {
            return script.choose(&weights.collect::<Vec<_>>());
        }
        let mut left = self.uniform() * total;
        let mut last = 0;
        for (k, weight) in weights.enumerate() {
            if weight > 0.0 {
                last = k;
                left -= weight;
                if left < 0.0 {
                    break;
                }
            }
        }
        last
    }

    /// A uniform number between `low` and `high`.
    #[inline]
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        #[cfg(test)]
        if let Some(script) = &mut self.script {
            return script.between(low, high);
        }
        low + (high - low) * self.uniform()
    }

    /// The end of a slice's first interval: `width` placed uniformly at random around `centre`.
    #[inline]
    pub(crate) fn around(&mut self, centre: f64, width: f64) -> f64 {
        #[cfg(test)]
        if let Some(script) = &mut self.script {
            return script.around(centre, width);
        }
        centre - width * self.uniform()
    }

    /// The height of a slice: uniform under the density whose logarithm is given.
    #[inline(always)]
    pub(crate) fn height(&mut self, log_density: f64) -> Height {
        #[cfg(test)]
        if self.script.is_some() {
            return Height {
                level: log_density,
                open: (0.0, 1.0),
            };
        }
        Height {
            level: log_density - self.exponential(),
            #[cfg(test)]
            open: (0.0, 0.0),
        }
    }

    /// Whether a density rises above the slice.
    #[inline]
    pub(crate) fn above(&mut self, height: &mut Height, log_density: f64) -> bool {
        self.choose(height, log_density).is_new()
    }

    /// The same, as a choice between states that is made without a jump.
    #[inline(always)]
    pub(crate) fn choose(&mut self, height: &mut Height, log_density: f64) -> Choice {
        #[cfg(test)]
        if let Some(script) = &mut self.script {
            let above = script.above(&mut height.open, (log_density - height.level).exp());
            return Choice::greater(f64::from(above), 0.5);
        }
        Choice::greater(log_density, height.level)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_stability_of_the_stream() {
        let mut rng = Rng::stream(1, 2);
        let seen = [rng.uniform(), rng.normal(), rng.exponential()];
        let pinned = [PINNED[0], PINNED[1], PINNED[2]].map(f64::from_bits);
        assert_eq!(seen, pinned, "bits: {:x?}", seen.map(f64::to_bits));
    }

    /// Changing these changes every seeded result: say so in CHANGELOG.md.
    const PINNED: [u64; 3] = [0x3fe9e29d819a4664, 0x3fd5679522652013, 0x3ffda2ea883d2d22];

    #[test]
    fn pick_follows_its_weights() {
        let mut rng = Rng::stream(3, 0);
        let weights = [1.0, 0.0, 3.0];
        let mut counts = [0u32; 3];
        for _ in 0..40_000 {
            counts[rng.pick(weights.iter().copied())] += 1;
        }
        assert_eq!(counts[1], 0);
        // Binomial(40000, 1/4): sd 86.6, so 350 is four of them.
        assert!(
            (f64::from(counts[0]) - 10_000.0).abs() < 350.0,
            "{counts:?}"
        );
    }

    #[test]
    fn accept_has_the_probability_it_says() {
        let mut rng = Rng::stream(4, 0);
        let hits = (0..100_000).filter(|_| rng.accept(0.3f64.ln())).count() as f64;
        assert!((hits - 30_000.0).abs() < 4.0 * (1e5 * 0.21f64).sqrt());
        assert!(rng.accept(0.0) && rng.accept(f64::INFINITY));
        assert!(!rng.accept(f64::NEG_INFINITY) && !rng.accept(f64::NAN));
    }
}
