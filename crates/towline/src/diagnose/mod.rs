//! What draws say about the run that made them: autocorrelation times, R-hat, effective sample sizes, errors.
//!
//! Everything here is a pure function of draws. A quantity of one chain is a slice; a quantity of
//! a run is a slice of such slices, one per chain, all of the same length.
//!
//! | question | answer |
//! |---|---|
//! | how many steps does a chain need to forget? | [`autocorrelation_time`], [`pooled_autocorrelation_time`] |
//! | do the chains agree? | [`rhat`] |
//! | how many independent draws is this worth? | [`ess_bulk`], [`ess_tail`], [`ess_mean`], [`ess_quantile`] |
//! | how far off may a reported figure be? | [`mcse_mean`], [`mcse_sd`], [`mcse_quantile`] |
//! | have importance weights a tail that can be trusted? | [`pareto_shape`] |
//! | all of it in one line | [`Summary`] |
//!
//! # Two kinds of answer
//!
//! R-hat, the effective sample sizes and the Monte Carlo standard errors are those of
//! Vehtari, Gelman, Simpson, Carpenter and Bürkner, "Rank-normalization, folding, and
//! localization: an improved R-hat" (Bayesian Analysis 16, 2021), and agree with ArviZ 0.23 to
//! 1e-8 on the same draws (`tests/arviz_agreement.rs`). The autocorrelation time is ours: ArviZ's
//! is built to be safe in a table, not to be a measurement with an error bar.
//!
//! # Where ArviZ's versions differ from one another, and from us
//!
//! - [`mcse_sd`]: ArviZ 0.23 (and R's `posterior`) divide by the effective sample size of the
//!   squared deviations; arviz-stats 0.8 (ArviZ 1.x) by that of the draws themselves, which is
//!   too small an error for an antithetic chain and too large a one for most others.
//!   We follow 0.23.
//! - Quantiles: 0.23 calls SciPy's `mquantiles`, arviz-stats calls `numpy.quantile`. The
//!   definition is the same (type 7); the rounding is not, and decides whether a draw that ties
//!   with a quantile counts as below it. We follow NumPy, which never rounds a tie away.
//! - ArviZ takes draws whose range is below 1e-15 for constant, and so says "every draw is
//!   independent" for a parameter measured in large enough units. Ours is relative to the
//!   draws' size.
//!
//! # When there is no answer
//!
//! Nothing here panics. Fewer than [`MIN_DRAWS`] draws, chains of unequal length, or a NaN among
//! the draws give NaN. So does [`rhat`] of a single chain, as in ArviZ. Draws that are
//! all the same give as many effective draws as there are draws (ArviZ's convention: they
//! may be exact, or stuck, and no statistic can tell), and an R-hat of NaN.

mod autocorrelation;
mod beta;
mod chains;
mod ess;
mod mcse;
mod moments;
mod pareto;
mod rank;
mod rhat;
mod summary;
mod time;
mod window;

#[cfg(test)]
mod processes;

pub use autocorrelation::{autocorrelation, autocovariance, autocovariance_about};
pub use chains::MIN_DRAWS;
pub use ess::{ess_bulk, ess_mean, ess_quantile, ess_tail};
pub use mcse::{mcse_mean, mcse_quantile, mcse_sd};
pub use moments::{mean, quantile, sd};
pub use pareto::{generalised_pareto, pareto_shape};
pub use rhat::rhat;
pub use summary::Summary;
pub use time::{
    AutocorrelationTime, RELIABLE_LENGTH, autocorrelation_time, autocorrelation_time_about,
    pooled_autocorrelation_time,
};
pub use window::WINDOW_FACTOR;
