//! A learned slow proposal: a frozen approximation of the marginal of x, sampled by a chain of its own.
//!
//! Every slow evaluation of warm-up gives an estimate of the log marginal at its x. A smooth function
//! is fitted to them once; from then on x* is proposed by a chain on that function, which costs
//! no slow evaluation, and the acceptance of the drag corrects what the function gets wrong.
//!
//! Read in this order: `limits` (all constants), `visits` (points made ready), `polynomial`, `radial`, `process`, `mixture`
//! (what may be fitted), `shape` (its tails and guards), `faces` (its walls), `wander`, `jump` and `heated` (chains), `choose`, `bend`, `warp` and `curved`
//! (coordinates in which it is all done, fitted by `levenberg`).

mod bend;
mod choose;
mod curved;
mod faces;
mod free;
mod heated;
mod jump;
mod levenberg;
mod limits;
mod mixture;
mod polynomial;
mod process;
mod radial;
mod shape;
#[cfg(test)]
mod tests;
mod visits;
mod wander;
mod warp;

pub(crate) use heated::Heated;
pub(crate) use visits::Extent;
pub use visits::Visit;

use crate::error::Error;
use crate::linalg::{Factor, SmallBuffer};
use crate::random::Rng;
use bend::Bend;
use jump::Jumps;
use limits::{BENT_ABOVE, BENT_SHARE, HEATED_STRIDE, MIXED_ABOVE, WHITE, WHITENINGS};
use serde::{Deserialize, Serialize};
use shape::Shape;
use visits::Samples;
use wander::Wander;
use warp::Warp;

/// A frozen approximation π̃ of the marginal density of the slow variables.
///
/// Nothing about it changes once it is fitted. Its tails are exponential, heavier than those of the
/// Gaussian it was whitened with; it should still be mixed with random-walk proposals, which do not
/// depend on what was learned.
///
/// ```
/// use towline::Factor;
/// use towline::slow::{Surrogate, Visit};
/// // A skewed density of one variable, visited on a grid.
/// let log_marginal = |x: f64| 3.0 * x - 3.0 * x.exp();
/// let visits: Vec<Visit> = (0..80)
///     .map(|k| -2.5 + 0.05 * f64::from(k))
///     .map(|x| Visit { x: vec![x], log_marginal: log_marginal(x) })
///     .collect();
/// let factor = Factor::diagonal(&[0.6], "the spread of x")?;
/// let surrogate = Surrogate::fit(&visits, &[-0.2], &factor).expect("enough points");
/// assert!((surrogate.log_density(&[0.3]) - log_marginal(0.3)).abs() < 0.05);
/// println!("{:?}", surrogate.quality());
/// # Ok::<(), towline::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Surrogate {
    /// Bent coordinates u of x, where straight ones do not do.
    #[serde(default)]
    bend: Option<Bend>,
    /// Maps of single variables, before anything is bent.
    #[serde(default)]
    warp: Option<Warp>,
    /// The mean and the root of the covariance of u (of x where nothing is bent): what it is whitened with.
    centre: Vec<f64>,
    factor: Factor,
    /// The same of x, where it is bent.
    #[serde(default)]
    bulk: Option<(Vec<f64>, Factor)>,
    /// The log density that the whitened shape calls zero.
    offset: f64,
    shape: Shape,
    /// What makes its chain jump, where it would be slow without.
    jumps: Option<Jumps>,
    moves: usize,
    quality: Quality,
}

/// What kind of function a surrogate is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// The learned Gaussian, with linear tails.
    Gaussian,
    /// The Gaussian times the exponential of a polynomial.
    Polynomial {
        /// Its total degree.
        degree: usize,
    },
    /// A quadratic and a Gaussian process over what it leaves.
    GaussianProcess,
    /// A mixture of normals in bent coordinates, each in its own.
    Mixture {
        /// How many.
        parts: usize,
    },
}

/// How good a surrogate is expected to be.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Quality {
    /// What was chosen.
    pub kind: Kind,
    /// The cross-validated error of log π̃ at visited points, weighted rms in log units. What matters: the
    /// surrogate alone is accepted about 1 − 0.56 × this often, for small errors.
    pub cv_error: f64,
    /// The standard error of log π̃ at its own draws: large where it extrapolates.
    pub spread: f64,
    /// The largest correlation between a proposal and where it started, under π̃.
    pub memory: f64,
    /// The number of points that took part.
    pub points: usize,
}

impl Quality {
    /// The larger of the two errors.
    pub(crate) fn error(&self) -> f64 {
        self.cv_error.max(self.spread)
    }
}

/// A surrogate, and draws of its own.
type Drawn = (Surrogate, Vec<Vec<f64>>);

impl Surrogate {
    /// Fits a surrogate to visited points; `None` where there are too few of use.
    ///
    /// `centre` and `factor` are the learned mean of x and the root of its covariance; where its own draws have others, it is
    /// fitted again with those. Visits that are
    /// not finite, repeated, or hopelessly far down are left out. The result depends
    /// on the visits, their order and nothing else.
    pub fn fit(visits: &[Visit], centre: &[f64], factor: &Factor) -> Option<Self> {
        Self::fit_to(
            visits,
            centre,
            factor,
            Extent {
                heat: 1.0,
                reach: 1.0,
                mixed: true,
                curved: true,
                thorough: true,
            },
        )
    }

    /// The same to visits of a heated marginal, followed as far as is said.
    pub(crate) fn fit_to(
        visits: &[Visit],
        centre: &[f64],
        factor: &Factor,
        extent: Extent,
    ) -> Option<Self> {
        let whole = Extent {
            mixed: false,
            ..extent
        };
        let (straight, others) = Self::fit_straight(visits, centre, factor, whole, None)?;
        let straight = straight.0;
        let mut best = straight.clone();
        // What visits of the target itself say of its tails is too little to bend them by.
        if extent.curved && extent.heat > 1.0 && best.quality.error() > BENT_ABOVE {
            best = straight.bent(visits, extent).map_or(best, |bent| bent.0);
            if best.quality.error() > BENT_ABOVE {
                let warped = straight.warped(visits, extent, best.quality.error());
                best = warped.unwrap_or(best);
            }
        }
        // The last resort, and the dearest: not one shape in other coordinates, but several.
        if extent.mixed && best.wants_parts() {
            let (centre, factor) = (&straight.centre, &straight.factor);
            // In the coordinates in which `straight` was chosen last.
            let mixed = Self::fit_straight(visits, centre, factor, extent, Some(&others));
            let enough = BENT_SHARE * best.quality.error();
            let better = mixed.filter(|((mixed, _), _)| mixed.quality.error() < enough);
            best = better.map_or(best, |((mixed, _), _)| mixed);
        }
        Some(best)
    }

    /// Whitened until its own draws are white, those draws, and the errors of all that was tried there in one piece; these may be known for the
    /// coordinates that it begins with.
    fn fit_straight(
        visits: &[Visit],
        centre: &[f64],
        factor: &Factor,
        extent: Extent,
        others: Option<&[f64]>,
    ) -> Option<(Drawn, Vec<f64>)> {
        let fit = |centre: &[f64], factor: &Factor, others: Option<&[f64]>| {
            Self::fit_whitened(visits, centre, factor, extent, others)
        };
        let ((mut fitted, mut draws), mut others) = fit(centre, factor, others)?;
        for _ in 0..WHITENINGS {
            // Several parts that are no better here will not be in other units: each part has its own.
            if extent.mixed && !fitted.is_mixed() {
                break;
            }
            let Some((centre, factor)) = fitted.whitening(&draws) else {
                break;
            };
            let Some(again) = fit(&centre, &factor, None) else {
                break;
            };
            ((fitted, draws), others) = again;
        }
        Some(((fitted, draws), others))
    }

    /// A surrogate in these coordinates, its own draws there, and the errors of all that was tried in one piece.
    fn fit_whitened(
        visits: &[Visit],
        centre: &[f64],
        factor: &Factor,
        extent: Extent,
        others: Option<&[f64]>,
    ) -> Option<(Drawn, Vec<f64>)> {
        let samples = Samples::new(visits, centre, factor, extent)?;
        let choice = choose::choose(&samples, extent, others)?;
        let fitted = Self {
            bend: None,
            warp: None,
            bulk: None,
            centre: centre.to_vec(),
            factor: factor.clone(),
            offset: samples.top,
            shape: choice.shape,
            jumps: choice.jumps,
            moves: choice.moves,
            quality: choice.quality,
        };
        Some(((fitted, choice.draws), choice.others))
    }

    /// The mean of its own draws in the bulk and the root of their covariance, where these are not what it was whitened with.
    fn whitening(&self, draws: &[Vec<f64>]) -> Option<(Vec<f64>, Factor)> {
        let p = self.dim();
        // Beyond the radius its tails are heavier than those of what was seen, on purpose.
        let radius = self.shape.guard.radius;
        let near = |w: &&Vec<f64>| w.iter().map(|v| v * v).sum::<f64>() <= radius * radius;
        let bulk: Vec<&Vec<f64>> = draws.iter().filter(near).collect();
        let count = bulk.len().max(1) as f64;
        let mean = |of: &dyn Fn(&[f64]) -> f64| bulk.iter().map(|w| of(w)).sum::<f64>() / count;
        let means: Vec<f64> = (0..p).map(|i| mean(&|w| w[i])).collect();
        let mut covariance = vec![0.0; p * p];
        let mut off = means.iter().fold(0.0_f64, |most, m| most.max(m.abs()));
        for i in 0..p {
            for j in 0..p {
                covariance[i * p + j] = mean(&|w| (w[i] - means[i]) * (w[j] - means[j]));
                let wanted = f64::from(u8::from(i == j));
                off = off.max((covariance[i * p + j] - wanted).abs());
            }
        }
        if off <= WHITE || !off.is_finite() {
            return None;
        }
        // Both through the old factor: x = centre + L w.
        let own = Factor::from_covariance(&covariance, "the surrogate's own covariance").ok()?;
        let through = |v: &[f64]| {
            let mut out = vec![0.0; p];
            self.factor.apply(v, &mut out);
            out
        };
        let mut total = vec![0.0; p * p];
        for k in 0..p {
            let mut column = vec![0.0; p];
            own.apply(&unit(k, p), &mut column);
            let column = through(&column);
            for i in 0..p {
                for j in 0..p {
                    total[i * p + j] += column[i] * column[j];
                }
            }
        }
        let shift = through(&means);
        let centre = self.centre.iter().zip(&shift).map(|(c, s)| c + s).collect();
        let factor = Factor::from_covariance(&total, "the surrogate's own covariance").ok()?;
        Some((centre, factor))
    }

    /// How good it is expected to be.
    pub fn quality(&self) -> &Quality {
        &self.quality
    }

    /// Whether it is so far off that several parts are tried.
    pub(crate) fn wants_parts(&self) -> bool {
        self.quality.error() > MIXED_ABOVE
    }

    /// Whether it is in several parts.
    pub(crate) fn is_mixed(&self) -> bool {
        matches!(self.quality.kind, Kind::Mixture { .. })
    }

    /// The root of the covariance of x, about.
    pub(crate) fn factor(&self) -> &Factor {
        self.bulk.as_ref().map_or(&self.factor, |bulk| &bulk.1)
    }

    /// The number of slow variables.
    pub fn dim(&self) -> usize {
        self.centre.len()
    }

    /// The number of elliptical slice moves in one proposal.
    pub fn moves(&self) -> usize {
        self.moves
    }

    /// log π̃(x), on the scale of the estimates it was fitted to.
    pub fn log_density(&self, x: &[f64]) -> f64 {
        let mut w = SmallBuffer::new(x.len());
        let w = w.as_mut();
        let log_det = self.whiten(x, w);
        self.offset + self.shape.log_density(w) + log_det
    }

    /// Writes an x* drawn by a reversible chain on π̃ from x, and returns
    /// ln S(x|x*)/S(x*|x) = ln π̃(x)/π̃(x*).
    pub(crate) fn propose(&self, x: &[f64], new: &mut [f64], rng: &mut Rng) -> f64 {
        let mut w = vec![0.0; x.len()];
        let log_det = self.whiten(x, &mut w);
        let density = |w: &[f64]| self.shape.log_density(w);
        let mut chain = Wander::new(&density, w, self.jumps.as_ref());
        let before = chain.log_density;
        chain.run(self.moves, rng);
        self.write(&chain.w, new);
        let mut after = chain.log_density;
        if self.is_curved() {
            // Densities over x, not over u.
            after += self.coordinates(new, &mut chain.w) - log_det;
        }
        before - after
    }

    /// So many draws from π̃ heated (raised to the power 1/heat), by a long chain: where to look next. It jumps between the parts that
    /// short chains from `places` find.
    pub(crate) fn heated_draws(
        &self,
        heat: f64,
        count: usize,
        places: &[Vec<f64>],
        rng: &mut Rng,
    ) -> Vec<Vec<f64>> {
        let whitened = places.iter().map(|place| self.whitened(place));
        let heated = Heated::new(self, heat, &whitened.collect::<Vec<_>>(), rng);
        let draws = heated.draws(count, HEATED_STRIDE, rng);
        draws.iter().map(|w| self.unwhiten(w)).collect()
    }

    /// x at a whitened point.
    pub(crate) fn unwhiten(&self, w: &[f64]) -> Vec<f64> {
        let mut x = vec![0.0; w.len()];
        self.write(w, &mut x);
        x
    }

    /// Writes x at a whitened point.
    fn write(&self, w: &[f64], x: &mut [f64]) {
        self.factor.apply(w, x);
        x.iter_mut().zip(&self.centre).for_each(|(x, c)| *x += c);
        if let Some(bend) = &self.bend {
            let u = x.to_vec();
            bend.invert(&u, x);
        }
        if let Some(warp) = &self.warp {
            warp.invert(x);
        }
    }

    /// Whether its coordinates are not those of x.
    pub(crate) fn is_curved(&self) -> bool {
        self.bend.is_some() || self.warp.is_some()
    }

    /// Writes u at x, and returns ln |det du/dx|.
    fn coordinates(&self, x: &[f64], u: &mut [f64]) -> f64 {
        match (&self.warp, &self.bend) {
            (None, None) => {
                u.copy_from_slice(x);
                0.0
            }
            (Some(warp), None) => warp.apply(x, u),
            (None, Some(bend)) => bend.apply(x, u),
            (Some(warp), Some(bend)) => {
                let mut warped = SmallBuffer::new(x.len());
                let warped = warped.as_mut();
                warp.apply(x, warped) + bend.apply(warped, u)
            }
        }
    }

    /// The mean of x, about.
    pub(crate) fn centre(&self) -> &[f64] {
        self.bulk.as_ref().map_or(&self.centre, |bulk| &bulk.0)
    }

    /// Writes the whitened point at x, and returns ln |det du/dx|: nothing where nothing is bent.
    fn whiten(&self, x: &[f64], w: &mut [f64]) -> f64 {
        let log_det = self.coordinates(x, w);
        for (w, centre) in w.iter_mut().zip(&self.centre) {
            *w -= centre;
        }
        self.factor.solve(w);
        log_det
    }

    /// Refuses one that does not fit the number of slow variables, or was damaged where it was stored.
    pub(crate) fn validate(&self, dim: usize) -> Result<(), Error> {
        for found in [self.centre.len(), self.factor.dim()] {
            if found != dim {
                return Err(Error::Dimension {
                    what: "the surrogate of the slow variables",
                    expected: dim,
                    found,
                });
            }
        }
        let jumps = self.jumps.as_ref().is_none_or(|jumps| jumps.fits(dim));
        let curved = self.bend.as_ref().is_none_or(|bend| bend.fits(dim))
            && self.warp.as_ref().is_none_or(|warp| warp.fits(dim));
        if !self.shape.fits(dim) || !jumps || !curved || !self.centre.iter().all(|v| v.is_finite())
        {
            return Err(Error::Setting {
                what: "a number of the surrogate",
                value: f64::NAN,
                expected: "finite, and they must be as many as its degree asks for",
            });
        }
        // An even number of alternating moves would not be reversible.
        if self.moves.is_multiple_of(2) {
            return Err(Error::Setting {
                what: "the number of moves of the surrogate's chain",
                value: self.moves as f64,
                expected: "odd",
            });
        }
        Ok(())
    }
}

fn unit(k: usize, p: usize) -> Vec<f64> {
    (0..p).map(|i| f64::from(u8::from(i == k))).collect()
}
