//! What the user writes: a density in two stages, one slow and one fast.

use crate::error::ModelError;
use crate::linalg::Root;

/// Working memory that the engine keeps for a target, so that a fast evaluation need not allocate.
///
/// ```
/// let mut scratch = towline::Scratch::default();
/// let [a, b] = scratch.slices([3, 2]);
/// a[0] = 1.0;
/// b[1] = 2.0;
/// ```
#[derive(Debug, Clone, Default)]
pub struct Scratch {
    buffer: Vec<f64>,
}

impl Scratch {
    /// Disjoint slices of the lengths asked for, with whatever an earlier call left in them.
    ///
    /// Allocates only when it has never been asked for as much before.
    pub fn slices<const K: usize>(&mut self, lengths: [usize; K]) -> [&mut [f64]; K] {
        let total: usize = lengths.iter().sum();
        if self.buffer.len() < total {
            self.buffer.resize(total, 0.0);
        }
        let mut rest = &mut self.buffer[..];
        lengths.map(|length| {
            let (head, tail) = std::mem::take(&mut rest).split_at_mut(length);
            rest = tail;
            head
        })
    }
}

/// A frame that a target found by itself at some x: see [`Target::own_frame`].
#[derive(Debug, Clone)]
pub struct OwnFrame {
    /// The centre m.
    pub centre: Vec<f64>,
    /// The root L.
    pub root: Root,
    /// ℓ(x, m) + ln|det L|: Laplace's estimate of the log marginal of x, up to a constant.
    pub log_marginal: f64,
    /// What it cost, in fast evaluations.
    pub evaluations: u64,
}

/// Somebody beside a chain in warm-up, who makes slow evaluations ready and remembers what they told.
#[doc(hidden)]
pub trait Helper {
    /// Which x will be prepared next, most of them in this order, and which ones after them if all goes as it seems to: those are for whoever has nothing else
    /// to do meanwhile.
    fn prefetch(&self, xs: &[&[f64]], likely: &[&[f64]]);

    /// Whether x was foreseen, and is ready or under way, when the rest of what was foreseen is no longer wanted.
    fn is_under_way(&self, x: &[f64]) -> bool;

    /// What was noted of x under this rule before the run was interrupted.
    fn recall(&self, rule: u64, x: &[f64]) -> Option<Vec<u8>>;

    /// Whether anything was noted of x before the run was interrupted, under whatever rule.
    fn has_seen(&self, x: &[f64]) -> bool;

    /// Whether it is worth while to note what the last slow evaluation told.
    fn remembers(&self) -> bool;

    /// Keeps what was found at x under this rule.
    fn note(&self, rule: u64, x: &[f64], found: Vec<u8>);
}

/// A density over slow variables x and fast variables y, in two stages.
///
/// Two methods are needed: [`prepare`](Self::prepare), the slow computation, whose result is
/// cached, and [`log_density`](Self::log_density), which given that cache is cheap. The log density
/// need not be normalised. (The paper's energy E is its negative.)
///
/// The rest is optional: what a target can offer to be sampled faster, or to be sampled at more
/// than two speeds.
pub trait Target {
    /// What the slow computation leaves behind for the fast ones. It borrows from nothing, since warm-up keeps it where types are forgotten,
    /// and can go to another thread: several may make slow computations for one chain.
    type Cache: Send + 'static;

    /// The slow computation at `x`.
    ///
    /// Answers `Ok(None)` where there is no mass whatever y is; an error is the model's failure and
    /// ends the chain.
    ///
    /// # Errors
    /// Whatever can fail in the model.
    fn prepare(&self, x: &[f64]) -> Result<Option<Self::Cache>, ModelError>;

    /// The slow computation at several x at once, in their order. Override it (and [`is_batched`](Self::is_batched)) where a model
    /// has a way of its own to make several together: a cluster, a vectorised solver, a graphics card.
    ///
    /// A result must not depend on what else is in the batch.
    fn prepare_batch(&self, xs: &[&[f64]]) -> Vec<Result<Option<Self::Cache>, ModelError>> {
        xs.iter().map(|x| self.prepare(x)).collect()
    }

    /// Whether [`prepare_batch`](Self::prepare_batch) is to be used; without it, threads call [`prepare`](Self::prepare).
    fn is_batched(&self) -> bool {
        false
    }

    /// Who stands beside a chain in warm-up: the engine's own, of which a model need not know.
    #[doc(hidden)]
    fn helper(&self) -> Option<&dyn Helper> {
        None
    }

    /// The log density of (x, y), given the cache of x; −∞ outside the support.
    fn log_density(&self, cache: &Self::Cache, y: &[f64]) -> f64;

    /// The same with working memory: what the engine calls. Override it where a fast evaluation
    /// needs arrays of its own.
    #[inline]
    fn log_density_in(&self, cache: &Self::Cache, y: &[f64], scratch: &mut Scratch) -> f64 {
        let _ = scratch;
        self.log_density(cache, y)
    }

    /// The log densities of many y (one after another in `ys`, each of length `ys.len() /
    /// out.len()`) at one x. Override it where a vectorised form is cheaper than this loop.
    fn log_density_batch(
        &self,
        cache: &Self::Cache,
        ys: &[f64],
        out: &mut [f64],
        scratch: &mut Scratch,
    ) {
        let dim = ys.len().checked_div(out.len()).unwrap_or(0);
        for (k, value) in out.iter_mut().enumerate() {
            *value = self.log_density_in(cache, &ys[k * dim..(k + 1) * dim], scratch);
        }
    }

    /// Whether [`log_density_batch`](Self::log_density_batch) is cheaper than as many single evaluations: searches for
    /// modes then take their differences by it.
    fn is_vectorised(&self) -> bool {
        false
    }

    /// The log density and, in `gradient`, its gradient in y; `None` (the default) where the
    /// target has no gradients.
    fn gradient(
        &self,
        cache: &Self::Cache,
        y: &[f64],
        gradient: &mut [f64],
        scratch: &mut Scratch,
    ) -> Option<f64> {
        let _ = (cache, y, gradient, scratch);
        None
    }

    /// Fills `curvature` (row-major, d × d) with minus the second derivatives in y and returns
    /// true; false (the default) where the target has none.
    fn curvature(
        &self,
        cache: &Self::Cache,
        y: &[f64],
        curvature: &mut [f64],
        scratch: &mut Scratch,
    ) -> bool {
        let _ = (cache, y, curvature, scratch);
        false
    }

    /// A covariance of x (row-major, p × p) that is known beforehand, as a cosmologist's file of an earlier run has it: warm-up
    /// climbs by it and looks for widths no more. It need not be right; `None` (the default) where there is none.
    fn slow_covariance(&self) -> Option<&[f64]> {
        None
    }

    /// Whether the target finds frames by itself, as a latent Gaussian model does.
    fn has_own_frame(&self) -> bool {
        false
    }

    /// The target's own frame at x: the mode of ℓ(x, ·) and a root of the inverse curvature there, or
    /// whatever else brings the conditionals at different x near each other.
    ///
    /// It must be a function of `cache` and `hint` alone: `hint` is where the mode is expected (the centre of
    /// the linear frame at x, itself a function of x alone in production). `None` where it finds none: the
    /// linear frame stands in then.
    fn own_frame(
        &self,
        cache: &Self::Cache,
        hint: &[f64],
        scratch: &mut Scratch,
    ) -> Option<OwnFrame> {
        let _ = (cache, hint, scratch);
        None
    }

    /// The sizes of the leading blocks of y, from slower to faster, for a target of more than two
    /// speeds; what is left of y is fastest. The default is that there are none: all of y is as fast.
    ///
    /// With sizes \[2, 3\] and seven fast variables, the first two are slower than the next three,
    /// and these slower than the last two.
    fn blocks(&self) -> &[usize] {
        &[]
    }

    /// The medium computation: a cache that makes [`log_density`](Self::log_density) cheap as long as y
    /// begins with the values in `head`.
    ///
    /// `head` is one or more of the leading [`blocks`](Self::blocks), whole, which its length tells
    /// apart. `cache` comes from [`prepare`](Self::prepare), or is one refined for fewer blocks of
    /// the same head. Both caches serve at such y, where they must give the same log density, to the
    /// bit (a resumed chain knows only the first); y is passed whole to either. What the two
    /// share is best put in an `Arc`.
    ///
    /// `Ok(None)` (the default) where there is no such computation, or no mass: the cache that is there
    /// is used then, which is right and only slower.
    ///
    /// # Errors
    /// Whatever can fail in the model.
    fn refine(&self, cache: &Self::Cache, head: &[f64]) -> Result<Option<Self::Cache>, ModelError> {
        let _ = (cache, head);
        Ok(None)
    }
}

impl<T: Target + ?Sized> Target for &T {
    type Cache = T::Cache;

    fn prepare(&self, x: &[f64]) -> Result<Option<Self::Cache>, ModelError> {
        (**self).prepare(x)
    }

    fn prepare_batch(&self, xs: &[&[f64]]) -> Vec<Result<Option<Self::Cache>, ModelError>> {
        (**self).prepare_batch(xs)
    }

    fn is_batched(&self) -> bool {
        (**self).is_batched()
    }

    fn helper(&self) -> Option<&dyn Helper> {
        (**self).helper()
    }

    #[inline]
    fn log_density(&self, cache: &Self::Cache, y: &[f64]) -> f64 {
        (**self).log_density(cache, y)
    }

    #[inline]
    fn log_density_in(&self, cache: &Self::Cache, y: &[f64], scratch: &mut Scratch) -> f64 {
        (**self).log_density_in(cache, y, scratch)
    }

    fn log_density_batch(
        &self,
        cache: &Self::Cache,
        ys: &[f64],
        out: &mut [f64],
        scratch: &mut Scratch,
    ) {
        (**self).log_density_batch(cache, ys, out, scratch);
    }

    fn is_vectorised(&self) -> bool {
        (**self).is_vectorised()
    }

    fn gradient(
        &self,
        cache: &Self::Cache,
        y: &[f64],
        gradient: &mut [f64],
        scratch: &mut Scratch,
    ) -> Option<f64> {
        (**self).gradient(cache, y, gradient, scratch)
    }

    fn curvature(
        &self,
        cache: &Self::Cache,
        y: &[f64],
        curvature: &mut [f64],
        scratch: &mut Scratch,
    ) -> bool {
        (**self).curvature(cache, y, curvature, scratch)
    }

    fn slow_covariance(&self) -> Option<&[f64]> {
        (**self).slow_covariance()
    }

    fn has_own_frame(&self) -> bool {
        (**self).has_own_frame()
    }

    fn own_frame(
        &self,
        cache: &Self::Cache,
        hint: &[f64],
        scratch: &mut Scratch,
    ) -> Option<OwnFrame> {
        (**self).own_frame(cache, hint, scratch)
    }

    fn blocks(&self) -> &[usize] {
        (**self).blocks()
    }

    fn refine(&self, cache: &Self::Cache, head: &[f64]) -> Result<Option<Self::Cache>, ModelError> {
        (**self).refine(cache, head)
    }
}
