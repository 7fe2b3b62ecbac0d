//! Several paths of a drag from one start.

use crate::error::Error;
use crate::fast::density::{Between, Ends, FastDensity, Kept, Spent};
use crate::fast::moves::{Metropolis, Tally};
use crate::fast::path::Path;
use crate::random::Rng;
use crate::target::Target;

/// What several paths leave behind.
#[derive(Debug)]
pub(crate) struct Bundle<C> {
    /// The last points, one after another.
    pub zs: Vec<f64>,
    /// (1/n) Σᵢ₌₀ⁿ⁻¹ [ℓ(x*, zᵢ) − ℓ(x, zᵢ)] of each.
    pub mean_differences: Vec<f64>,
    /// ℓ(x*, z) at the last points.
    pub log_densities: Vec<f64>,
    /// The refined caches of the last points at x*; none where paths ran in lockstep.
    pub kept: Vec<Kept<C>>,
    /// Proposals of the inner moves.
    pub inner: Tally,
    /// Evaluations spent.
    pub spent: Spent,
}

impl<C> Bundle<C> {
    /// No paths yet.
    pub fn new() -> Self {
        Self {
            zs: Vec::new(),
            mean_differences: Vec::new(),
            log_densities: Vec::new(),
            kept: Vec::new(),
            inner: Tally::default(),
            spent: Spent::default(),
        }
    }

    /// One more path, which ended at z.
    pub fn push(&mut self, path: Path<C>, z: &[f64]) {
        let [_, kept] = path.kept;
        self.zs.extend_from_slice(z);
        self.mean_differences.push(path.mean_difference);
        self.log_densities.push(path.end.to);
        self.kept.push(kept);
        self.inner += path.inner;
        self.spent += path.spent;
    }
}

/// Advances paths together: all proposals of one interval are evaluated by one call of the target for
/// each end.
pub(crate) fn lockstep<T: Target, M: Metropolis, const FRAMED: bool>(
    count: usize,
    n: usize,
    inner: &M,
    mut between: Between<'_, T, FRAMED>,
    start: Ends,
    z: &[f64],
    rng: &mut Rng,
) -> Result<Bundle<T::Cache>, Error> {
    let dim = z.len();
    let mut zs = z.repeat(count);
    let mut proposals = zs.clone();
    let mut noise = vec![0.0; dim];
    let mut values = vec![start; count];
    let mut proposed = values.clone();
    let mut sums = vec![start.to - start.from; count];
    let mut tally = Tally::default();
    // Where the start has no mass at the proposed end, the sums are −∞ whatever comes after.
    let intervals = if start.to > f64::NEG_INFINITY { n } else { 1 };
    for i in 1..intervals {
        between.set(i, n);
        for (at, proposal) in zs.chunks_exact(dim).zip(proposals.chunks_exact_mut(dim)) {
            inner.propose(at, &mut noise, proposal, rng);
        }
        between.values(&proposals, &mut proposed);
        for k in 0..count {
            let at = &mut zs[k * dim..(k + 1) * dim];
            let proposal = &proposals[k * dim..(k + 1) * dim];
            let accepted = rng.accept(
                (between.log(proposed[k]) + inner.base(proposal))
                    - (between.log(values[k]) + inner.base(at)),
            );
            if accepted {
                at.copy_from_slice(proposal);
                values[k] = proposed[k];
            }
            tally += Tally::one(accepted);
            sums[k] += values[k].to - values[k].from;
        }
    }
    Ok(Bundle {
        zs,
        mean_differences: sums.into_iter().map(|sum| sum / n as f64).collect(),
        log_densities: values.iter().map(|value| value.to).collect(),
        kept: Vec::new(),
        inner: tally,
        spent: between.finish()?.spent,
    })
}
