//! Slow proposals S(x*|x): each returns ln S(x|x*)/S(x*|x), so asymmetric ones cost nothing extra.

use crate::error::Error;
use crate::linalg::{Factor, SmallBuffer};
use crate::random::Rng;
use crate::slow::surrogate::Surrogate;
use serde::{Deserialize, Serialize};

/// How a new x is proposed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum SlowProposal {
    /// x* = x + L ξ: Gaussian, symmetric.
    RandomWalk(Factor),
    /// x*ₖ = xₖ exp((L ξ)ₖ): asymmetric, so that proofs can see whether the ratio of proposals is where it should be.
    #[cfg(test)]
    LogNormal(Factor),
    /// x* = centre + L ξ, whatever x is: for proofs, as the last.
    #[cfg(test)]
    Independence {
        /// The mean of the proposal.
        centre: Vec<f64>,
        /// The root of its covariance.
        factor: Factor,
    },
    /// A chain on a learned approximation of the marginal of x; to be mixed with a random walk.
    Surrogate(Box<Surrogate>),
}

impl SlowProposal {
    /// A Gaussian random walk with independent steps of these standard deviations.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`] where one is not positive and finite.
    pub fn random_walk(sds: &[f64]) -> Result<Self, Error> {
        Factor::diagonal(sds, "the slow random walk's covariance").map(Self::RandomWalk)
    }

    /// Writes x* and returns ln S(x|x*)/S(x*|x).
    pub(crate) fn propose(&self, x: &[f64], new: &mut [f64], rng: &mut Rng) -> f64 {
        match self {
            Self::RandomWalk(factor) => {
                draw(factor, new, rng);
                for (new, old) in new.iter_mut().zip(x) {
                    *new += old;
                }
                0.0
            }
            #[cfg(test)]
            Self::LogNormal(factor) => {
                draw(factor, new, rng);
                // The density of x* given x has the factor 1/Π x*ₖ, the rest is symmetric.
                let log_ratio = new.iter().sum();
                for (new, old) in new.iter_mut().zip(x) {
                    *new = old * new.exp();
                }
                log_ratio
            }
            #[cfg(test)]
            Self::Independence { centre, factor } => {
                draw(factor, new, rng);
                for (new, mean) in new.iter_mut().zip(centre) {
                    *new += mean;
                }
                log_gaussian(centre, factor, x) - log_gaussian(centre, factor, new)
            }
            Self::Surrogate(surrogate) => surrogate.propose(x, new, rng),
        }
    }

    /// Refuses settings that do not fit the number of slow variables.
    pub(crate) fn validate(&self, dim: usize) -> Result<(), Error> {
        let check = |what, found| {
            if found == dim {
                Ok(())
            } else {
                Err(Error::Dimension {
                    what,
                    expected: dim,
                    found,
                })
            }
        };
        match self {
            Self::RandomWalk(factor) => check("the covariance of the slow proposal", factor.dim()),
            #[cfg(test)]
            Self::LogNormal(factor) => check("the covariance of the slow proposal", factor.dim()),
            #[cfg(test)]
            Self::Independence { factor, .. } => {
                check("the covariance of the slow proposal", factor.dim())
            }
            Self::Surrogate(surrogate) => surrogate.validate(dim),
        }
    }
}

/// new = L ξ.
fn draw(factor: &Factor, new: &mut [f64], rng: &mut Rng) {
    let mut noise = SmallBuffer::new(new.len());
    let noise = noise.as_mut();
    for xi in noise.iter_mut() {
        *xi = rng.normal();
    }
    factor.apply(noise, new);
}

/// The log density at x of a Gaussian, up to its constant.
#[cfg(test)]
fn log_gaussian(centre: &[f64], factor: &Factor, x: &[f64]) -> f64 {
    let mut rest: Vec<f64> = x.iter().zip(centre).map(|(a, b)| a - b).collect();
    factor.solve(&mut rest);
    -0.5 * rest.iter().map(|v| v * v).sum::<f64>()
}
