//! Surrogates in bent or warped coordinates, where straight ones do not do.

use super::Surrogate;
use super::bend::{Bend, Seen};
use super::limits::{BENT_ABOVE, BENT_SHARE};
use super::visits::{Extent, Samples, Visit};
use super::warp::Warp;
use crate::linalg::Factor;

impl Surrogate {
    /// The points that coordinates are fitted to.
    fn seen(&self, visits: &[Visit], extent: Extent) -> Option<Vec<Seen>> {
        let samples = Samples::new(visits, &self.centre, &self.factor, extent)?;
        let seen = samples
            .list
            .iter()
            .map(|sample| Seen {
                x: self.unwhiten(&sample.w),
                below: 0.5 * sample.distance * sample.distance - sample.wanted,
                weight: sample.weight,
                inner: sample.inner,
            })
            .collect();
        Some(seen)
    }

    /// The same in warped coordinates, and bent ones of those where that is better, where its error is well below this; for one that is
    /// neither.
    pub(super) fn warped(&self, visits: &[Visit], extent: Extent, error: f64) -> Option<Self> {
        let p = self.dim();
        let warp = Warp::fit(&self.seen(visits, extent)?, extent.heat)?;
        let there: Vec<Visit> = visits
            .iter()
            .filter(|visit| visit.x.len() == p)
            .map(|visit| warp.visit(visit))
            .collect();
        let unit = Factor::diagonal(&vec![1.0; p], "warped coordinates").ok()?;
        let whole = Extent {
            mixed: false,
            ..extent
        };
        let (mut fitted, _) = Self::fit_straight(&there, &vec![0.0; p], &unit, whole, None)?;
        if fitted.0.quality.error() > BENT_ABOVE
            && let Some(bent) = fitted.0.bent(&there, extent)
        {
            fitted = bent;
        }
        let (mut warped, draws) = fitted;
        if warped.quality.error() > BENT_SHARE * error {
            return None;
        }
        warped.warp = Some(warp);
        warped.bulk = Some(warped.bulk_of(&draws)?);
        Some(warped)
    }

    /// The same in bent coordinates, where that is better, and its own draws.
    pub(super) fn bent(&self, visits: &[Visit], extent: Extent) -> Option<(Self, Vec<Vec<f64>>)> {
        let p = self.dim();
        let bend = Bend::fit(&self.seen(visits, extent)?, extent.heat)?;
        let there: Vec<Visit> = visits
            .iter()
            .filter(|visit| visit.x.len() == p)
            .map(|visit| bend.visit(visit))
            .collect();
        let unit = Factor::diagonal(&vec![1.0; p], "bent coordinates").ok()?;
        let whole = Extent {
            mixed: false,
            ..extent
        };
        let ((mut bent, draws), _) = Self::fit_straight(&there, &vec![0.0; p], &unit, whole, None)?;
        if bent.quality.error() > BENT_SHARE * self.quality.error() {
            return None;
        }
        bent.bend = Some(bend);
        bent.bulk = Some(bent.bulk_of(&draws)?);
        Some((bent, draws))
    }

    /// The mean of its own draws over x and the root of their covariance, without those beyond the radius or what maps were fitted to.
    fn bulk_of(&self, draws: &[Vec<f64>]) -> Option<(Vec<f64>, Factor)> {
        let (p, radius) = (self.dim(), self.shape.guard.radius);
        let near = |w: &&Vec<f64>| w.iter().map(|v| v * v).sum::<f64>() <= radius * radius;
        let all: Vec<Vec<f64>> = draws
            .iter()
            .filter(near)
            .map(|w| self.unwhiten(w))
            .filter(|x| self.warp.as_ref().is_none_or(|warp| warp.covers(x)))
            .collect();
        let count = all.len() as f64;
        let mean = |of: &dyn Fn(&[f64]) -> f64| all.iter().map(|x| of(x)).sum::<f64>() / count;
        let means: Vec<f64> = (0..p).map(|k| mean(&|x| x[k])).collect();
        let covariance: Vec<f64> = (0..p * p)
            .map(|k| mean(&|x| (x[k / p] - means[k / p]) * (x[k % p] - means[k % p])))
            .collect();
        let factor = Factor::from_covariance(&covariance, "the surrogate's covariance").ok()?;
        Some((means, factor))
    }
}
