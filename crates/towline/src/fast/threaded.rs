//! A target whose batches are evaluated on several threads.

use crate::error::ModelError;
use crate::target::{OwnFrame, Scratch, Target};
use std::num::NonZeroUsize;
use std::panic::resume_unwind;

/// A target that splits [`log_density_batch`](Target::log_density_batch) over threads; all else it
/// hands on. An [`AveragedDrag`](crate::AveragedDrag) then runs its paths on them.
///
/// Threads are started for every batch. That takes some 20 µs for each at best, and twice that on a busy
/// machine: it pays where a thread's share of a batch takes well over 100 µs, and is a great loss for
/// fast evaluations of nanoseconds. (Where there are several chains, a thread for each chain pays
/// sooner.)
///
/// Draws are the same, to the bit, whatever the number of threads, provided that the target's own
/// batch form gives each y the same bits in a batch of any size, as the default form does.
///
/// ```
/// use std::num::NonZeroUsize;
/// # use towline::{ModelError, Scratch, Target, Threaded};
/// # struct Model;
/// # impl Target for Model {
/// #     type Cache = f64;
/// #     fn prepare(&self, x: &[f64]) -> Result<Option<f64>, ModelError> { Ok(Some(x[0])) }
/// #     fn log_density(&self, x: &f64, y: &[f64]) -> f64 { -0.5 * (y[0] - x).powi(2) }
/// # }
/// let target = Threaded::new(Model, NonZeroUsize::new(2).unwrap());
/// let cache = target.prepare(&[1.0])?.unwrap();
/// let mut out = [0.0; 3];
/// target.log_density_batch(&cache, &[0.0, 1.0, 3.0], &mut out, &mut Scratch::default());
/// assert_eq!(out, [-0.5, 0.0, -2.0]);
/// # Ok::<(), ModelError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Threaded<T> {
    target: T,
    threads: NonZeroUsize,
}

impl<T> Threaded<T> {
    /// This target on so many threads, the calling one included.
    pub fn new(target: T, threads: NonZeroUsize) -> Self {
        Self { target, threads }
    }

    /// The target itself.
    pub fn into_inner(self) -> T {
        self.target
    }
}

impl<T: Target<Cache: Sync> + Sync> Target for Threaded<T> {
    type Cache = T::Cache;

    fn log_density_batch(
        &self,
        cache: &Self::Cache,
        ys: &[f64],
        out: &mut [f64],
        scratch: &mut Scratch,
    ) {
        let share = out.len().div_ceil(self.threads.get()).max(1);
        let dim = ys.len().checked_div(out.len()).unwrap_or(0);
        let (own, others) = out.split_at_mut(share.min(out.len()));
        let (own_ys, other_ys) = ys.split_at(own.len() * dim);
        std::thread::scope(|scope| {
            let started: Vec<_> = others
                .chunks_mut(share)
                .enumerate()
                .map(|(k, out)| {
                    let ys = &other_ys[k * share * dim..][..out.len() * dim];
                    scope.spawn(move || {
                        let scratch = &mut Scratch::default();
                        self.target.log_density_batch(cache, ys, out, scratch);
                    })
                })
                .collect();
            self.target.log_density_batch(cache, own_ys, own, scratch);
            for thread in started {
                // A panic of the model goes on in the chain's own thread, with its message.
                thread.join().unwrap_or_else(|panic| resume_unwind(panic));
            }
        });
    }

    fn prepare(&self, x: &[f64]) -> Result<Option<Self::Cache>, ModelError> {
        self.target.prepare(x)
    }

    #[inline]
    fn log_density(&self, cache: &Self::Cache, y: &[f64]) -> f64 {
        self.target.log_density(cache, y)
    }

    #[inline]
    fn log_density_in(&self, cache: &Self::Cache, y: &[f64], scratch: &mut Scratch) -> f64 {
        self.target.log_density_in(cache, y, scratch)
    }

    fn is_vectorised(&self) -> bool {
        self.target.is_vectorised()
    }

    fn gradient(
        &self,
        cache: &Self::Cache,
        y: &[f64],
        gradient: &mut [f64],
        scratch: &mut Scratch,
    ) -> Option<f64> {
        self.target.gradient(cache, y, gradient, scratch)
    }

    fn curvature(
        &self,
        cache: &Self::Cache,
        y: &[f64],
        curvature: &mut [f64],
        scratch: &mut Scratch,
    ) -> bool {
        self.target.curvature(cache, y, curvature, scratch)
    }

    fn has_own_frame(&self) -> bool {
        self.target.has_own_frame()
    }

    fn own_frame(
        &self,
        cache: &Self::Cache,
        hint: &[f64],
        scratch: &mut Scratch,
    ) -> Option<OwnFrame> {
        self.target.own_frame(cache, hint, scratch)
    }

    fn blocks(&self) -> &[usize] {
        self.target.blocks()
    }

    fn refine(&self, cache: &Self::Cache, head: &[f64]) -> Result<Option<Self::Cache>, ModelError> {
        self.target.refine(cache, head)
    }
}
