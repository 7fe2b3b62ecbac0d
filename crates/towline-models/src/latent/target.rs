//! The model as a target: what is slow, the density and its gradient, and the frame.

use super::{At, Cache, Latent, LatentGaussian};
use crate::additive::AdditiveSystem;
use crate::dense::DenseSystem;
use crate::newton::{self, Centre, Foretold, System};
use crate::sparse::SparseSystem;
use crate::warp::Warp;
use std::sync::atomic::Ordering;
use towline::{ModelError, OwnFrame, Scratch, Target};

impl LatentGaussian {
    /// What the slow computation leaves behind, without a frame and what straightens y by it.
    pub(crate) fn plain(&self, x: &[f64]) -> Result<Option<Cache>, ModelError> {
        let values: Vec<f64> = self.slow.iter().zip(x).map(|(s, x)| s.value(*x)).collect();
        let base: f64 = self.slow.iter().zip(x).map(|(s, x)| s.log_prior(*x)).sum();
        // Overflow and underflow of a parameter: far outside what any prior allows.
        let inside = self
            .slow
            .iter()
            .zip(&values)
            .all(|(s, v)| *v > s.lower && *v < s.upper);
        if !(base.is_finite() && inside) {
            return Ok(None);
        }
        let at = match &self.latent {
            Latent::Dense(dense) => dense.prepare(&values).map(At::Dense),
            Latent::Sparse(sparse) => Some(At::Sparse(sparse.prepare(&values))),
            Latent::Additive(additive) => additive
                .prepare(&values)
                .map(|at| At::Additive(Box::new(at))),
        };
        if at.is_none() {
            self.unfactorised.fetch_add(1, Ordering::Relaxed);
        }
        let settled = self.likelihood.settle(self.family_parameter.get(&values));
        if settled.constant.is_nan() {
            return Ok(None);
        }
        let constant = |at: &At| match at {
            At::Additive(at) => at.log_constant(),
            _ => 0.0,
        };
        Ok(at.map(|at| Cache {
            x: x.to_vec(),
            values,
            base: base + constant(&at),
            settled,
            at,
            own: None,
            warp: None,
        }))
    }

    /// The frame of mode and curvature, which [`own_frame`](Target::own_frame) corrects.
    pub(crate) fn mode_frame(&self, cache: &Cache, hint: &[f64]) -> Option<OwnFrame> {
        self.mode_foretold(cache, hint, None)
    }

    /// The same from where the mode is thought to be.
    pub(super) fn mode_foretold(
        &self,
        cache: &Cache,
        hint: &[f64],
        foretold: Option<Foretold>,
    ) -> Option<OwnFrame> {
        fn of<S: System>(
            system: &S,
            model: &LatentGaussian,
            cache: &Cache,
            hint: &[f64],
            foretold: Option<Foretold>,
        ) -> Option<OwnFrame> {
            let LatentGaussian {
                likelihood, offset, ..
            } = model;
            let (settled, reference) = (cache.settled, model.reference.as_deref());
            let found = newton::mode(
                system, likelihood, settled, offset, cache.base, hint, reference, foretold,
            );
            found.map(|(found, _, evaluations)| newton::own(found, evaluations))
        }
        with_system!(self, cache, system => of(&system, self, cache, hint, foretold))
    }

    /// The frame, at the mean where that is asked for, and what straightens y.
    pub(super) fn find(
        &self,
        cache: &Cache,
        hint: &[f64],
        centre: Centre,
    ) -> Option<(OwnFrame, Option<Warp>)> {
        with_system!(self, cache, system => newton::frame(
            &system,
            &self.likelihood,
            cache.settled,
            &self.offset,
            cache.base,
            hint,
            self.reference.as_deref(),
            centre,
        ))
    }
}

impl Target for LatentGaussian {
    type Cache = Cache;

    /// Where effects of groups are skewed, the frame is found here, and y are what is straight by it: a deterministic
    /// function of x alone, which the density contains, so that whatever it does leaves the posterior as it is.
    fn prepare(&self, x: &[f64]) -> Result<Option<Cache>, ModelError> {
        let Some(mut cache) = self.plain(x)? else {
            return Ok(None);
        };
        if let Some(frozen) = self.frozen()
            && let Some((own, warp)) = self.find(&cache, &[], Centre::MeanFrom(frozen))
        {
            (cache.own, cache.warp) = (Some(own), warp);
        }
        Ok(Some(cache))
    }

    fn log_density(&self, cache: &Cache, y: &[f64]) -> f64 {
        self.log_density_in(cache, y, &mut Scratch::default())
    }

    fn log_density_in(&self, cache: &Cache, y: &[f64], scratch: &mut Scratch) -> f64 {
        let dim = if cache.warp.is_some() { y.len() } else { 0 };
        let [eta, spare, straight] = scratch.slices([self.offset.len(), self.spare(), dim]);
        let Some(warp) = &cache.warp else {
            self.eta_of(cache, y, eta, spare);
            return self.finish(cache, y, eta);
        };
        let log_jacobian = warp.straighten(y, straight);
        self.eta_of(cache, straight, eta, spare);
        log_jacobian + self.finish(cache, straight, eta)
    }

    fn log_density_batch(&self, cache: &Cache, ys: &[f64], out: &mut [f64], scratch: &mut Scratch) {
        let (dim, rows, count) = (self.fast_dim(), self.offset.len(), out.len());
        let (Latent::Dense(dense), At::Dense(at)) = (&self.latent, &cache.at) else {
            for (value, y) in out.iter_mut().zip(ys.chunks_exact(dim)) {
                *value = self.log_density_in(cache, y, scratch);
            }
            return;
        };
        // The matrix is read once for all of them.
        let [etas, spare] = scratch.slices([rows * count, dense.batch_spare(count)]);
        dense.push_many(at, ys, etas, spare);
        let parts = ys.chunks_exact(dim).zip(etas.chunks_exact_mut(rows));
        for (value, (y, eta)) in out.iter_mut().zip(parts) {
            for (e, o) in eta.iter_mut().zip(&self.offset) {
                *e += o;
            }
            *value = self.finish(cache, y, eta);
        }
    }

    fn gradient(
        &self,
        cache: &Cache,
        y: &[f64],
        gradient: &mut [f64],
        scratch: &mut Scratch,
    ) -> Option<f64> {
        let (rows, dim) = (self.offset.len(), y.len());
        let [eta, slope, spare, straight] = scratch.slices([rows, rows, self.spare(), dim]);
        let log_jacobian = match &cache.warp {
            Some(warp) => warp.straighten(y, straight),
            None => {
                straight.copy_from_slice(y);
                0.0
            }
        };
        self.eta_of(cache, straight, eta, spare);
        self.likelihood.slope(eta, cache.settled, slope);
        with_system!(self, cache, system => system.pull(slope, gradient, spare));
        let prior = with_system!(self, cache, system => system.take_prior(straight, gradient));
        if let Some(warp) = &cache.warp {
            warp.gradient(y, gradient);
        }
        Some(log_jacobian + self.finish_from(cache, prior, eta))
    }

    fn has_own_frame(&self) -> bool {
        true
    }

    fn own_frame(&self, cache: &Cache, hint: &[f64], _: &mut Scratch) -> Option<OwnFrame> {
        match &cache.own {
            Some(own) => Some(own.clone()),
            None => self.mode_foretold(cache, hint, self.foretold(&cache.x)),
        }
    }
}
