//! A target whose type is forgotten: what is no inner loop (warm-up, weights, guarded runs) is compiled once for it, and not again for
//! every target.
//!
//! The engine is generic, so that a density is inlined into its inner loops; a program with many densities, such as a test suite, pays
//! for that with a compilation of the engine for each. Erased, they share one, at the price of a virtual call and a boxed cache:
//!
//! ```
//! use towline::erased::{AnyTarget, Erased};
//! use towline::{Chain, Kernel, ModelError, Rng, SlowProposal, Target};
//!
//! struct Normal;
//! impl Target for Normal {
//!     type Cache = f64;
//!     fn prepare(&self, x: &[f64]) -> Result<Option<f64>, ModelError> {
//!         Ok(Some(-0.5 * x[0] * x[0]))
//!     }
//!     fn log_density(&self, cache: &f64, _: &[f64]) -> f64 {
//!         *cache
//!     }
//! }
//!
//! let kernel = Kernel::metropolis(SlowProposal::random_walk(&[2.0])?);
//! let erased = Erased(&Normal);
//! let target: &AnyTarget = &erased;
//! let mut chain = Chain::new(target, kernel.clone(), &[0.0], &[], Rng::stream(1, 0))?;
//! let mut same = Chain::new(Normal, kernel, &[0.0], &[], Rng::stream(1, 0))?;
//! for _ in 0..100 {
//!     chain.advance()?;
//!     same.advance()?;
//!     assert_eq!(chain.x(), same.x());
//! }
//! # Ok::<(), towline::Error>(())
//! ```

use crate::error::ModelError;
use crate::model::{Column, Model};
use crate::random::Rng;
use crate::target::{OwnFrame, Scratch, Target};
use std::any::Any;

/// The cache of a target whose type is forgotten.
pub type AnyCache = Box<dyn Any + Send>;
/// A target whose type is forgotten.
pub type AnyTarget<'a> = dyn Target<Cache = AnyCache> + 'a;
/// A model whose type is forgotten.
pub(crate) type AnyModel<'a> = dyn Model<Cache = AnyCache> + 'a;

/// A model that threads share.
pub(crate) trait Shared: Send + Sync {
    /// It, its type forgotten.
    fn any(&self) -> Box<AnyModel<'_>>;
}

impl<M: Model + Send + Sync> Shared for M {
    fn any(&self) -> Box<AnyModel<'_>> {
        Box::new(Erased(self))
    }
}

/// A target with its caches in boxes: as `&AnyTarget` it is the same type whatever the target was. The arithmetic stays the target's
/// own, so draws are the same to the bit.
#[derive(Debug, Clone, Copy)]
pub struct Erased<'a, T>(pub &'a T);

/// The cache as the target made it.
fn own<T: Target>(cache: &AnyCache) -> &T::Cache {
    let own = cache.downcast_ref();
    own.expect("a cache is used by the target that made it")
}

fn boxed<C: Send + 'static>(cache: C) -> AnyCache {
    Box::new(cache)
}

impl<T: Target> Target for Erased<'_, T> {
    type Cache = AnyCache;

    fn prepare(&self, x: &[f64]) -> Result<Option<AnyCache>, ModelError> {
        Ok(self.0.prepare(x)?.map(boxed))
    }

    fn prepare_batch(&self, xs: &[&[f64]]) -> Vec<Result<Option<AnyCache>, ModelError>> {
        let all = self.0.prepare_batch(xs).into_iter();
        all.map(|one| Ok(one?.map(boxed))).collect()
    }

    fn is_batched(&self) -> bool {
        self.0.is_batched()
    }

    fn log_density(&self, cache: &AnyCache, y: &[f64]) -> f64 {
        self.0.log_density(own::<T>(cache), y)
    }

    fn log_density_in(&self, cache: &AnyCache, y: &[f64], scratch: &mut Scratch) -> f64 {
        self.0.log_density_in(own::<T>(cache), y, scratch)
    }

    fn log_density_batch(
        &self,
        cache: &AnyCache,
        ys: &[f64],
        out: &mut [f64],
        scratch: &mut Scratch,
    ) {
        self.0.log_density_batch(own::<T>(cache), ys, out, scratch);
    }

    fn is_vectorised(&self) -> bool {
        self.0.is_vectorised()
    }

    fn gradient(
        &self,
        cache: &AnyCache,
        y: &[f64],
        gradient: &mut [f64],
        scratch: &mut Scratch,
    ) -> Option<f64> {
        self.0.gradient(own::<T>(cache), y, gradient, scratch)
    }

    fn curvature(
        &self,
        cache: &AnyCache,
        y: &[f64],
        curvature: &mut [f64],
        scratch: &mut Scratch,
    ) -> bool {
        self.0.curvature(own::<T>(cache), y, curvature, scratch)
    }

    fn slow_covariance(&self) -> Option<&[f64]> {
        self.0.slow_covariance()
    }

    fn has_own_frame(&self) -> bool {
        self.0.has_own_frame()
    }

    fn own_frame(&self, cache: &AnyCache, hint: &[f64], scratch: &mut Scratch) -> Option<OwnFrame> {
        self.0.own_frame(own::<T>(cache), hint, scratch)
    }

    fn blocks(&self) -> &[usize] {
        self.0.blocks()
    }

    fn refine(&self, cache: &AnyCache, head: &[f64]) -> Result<Option<AnyCache>, ModelError> {
        Ok(self.0.refine(own::<T>(cache), head)?.map(boxed))
    }
}

impl<M: Model> Model for Erased<'_, M> {
    fn columns(&self) -> Vec<Column> {
        self.0.columns()
    }

    fn report(&self, x: &[f64], y: &[f64], cache: &AnyCache, row: &mut [f64]) {
        self.0.report(x, y, own::<M>(cache), row);
    }

    fn start(&self, rng: &mut Rng) -> Result<(Vec<f64>, Vec<f64>), ModelError> {
        self.0.start(rng)
    }

    fn says_when(&self) -> bool {
        self.0.says_when()
    }

    fn is_enough(&self, draws: u64) -> Result<bool, ModelError> {
        self.0.is_enough(draws)
    }

    fn settings(&self) -> Vec<(String, String)> {
        self.0.settings()
    }
}
