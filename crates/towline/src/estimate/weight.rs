//! The weight of a slow point: ∫ exp ℓ(x, y) dy without bias, by fast evaluations alone.
//!
//! How many evaluations it takes, and by which method, is decided by pilot draws that are thrown away; the estimate itself
//! is made of a fixed number of fresh ones. Stopping when the fresh draws look good enough would bias it.

use super::anneal::trajectory;
use super::reference::{Reference, log_sum};
use crate::error::Error;
use crate::frame::Frame;
use crate::random::Rng;
use crate::target::{Scratch, Target};

/// Pairs of the pilot: enough to tell a relative variance of 0.01 from one of 100.
const PILOT_PAIRS: usize = 24;
/// The fewest pairs of the estimate itself.
const FEWEST_PAIRS: usize = 32;
/// A pilot tells a variance badly: so many times as many draws as it asks for.
const CAUTION: f64 = 2.0;
/// Independent draws that would leave more noise than this (in log units) give way to annealing, where that leaves less.
const NOISY: f64 = 0.2;
/// Steps of the annealed trajectories that are tried, and pilot trajectories of each.
const STEPS: [usize; 3] = [16, 64, 256];
const PILOT_TRAJECTORIES: usize = 6;
/// The fewest trajectories of an estimate.
const FEWEST_TRAJECTORIES: usize = 6;
/// Evaluations of one elliptical slice, about.
const SLICE: usize = 3;
/// Draws of y that are kept of each x.
pub(crate) const KEPT: usize = 32;

/// What may be spent on a weight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Budget {
    /// The noise that is small enough, in log units.
    pub noise: f64,
    /// Fast evaluations, about, at most.
    pub most: usize,
}

/// What fast evaluations say of one x.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Weighed {
    /// The logarithm of an unbiased estimate of ∫ exp ℓ(x, y) dy.
    pub log_marginal: f64,
    /// The standard deviation of that, as its own draws tell.
    pub noise: f64,
    /// Draws of y given x, with their log densities.
    pub kept: Vec<(Vec<f64>, f64)>,
    /// Fast evaluations spent.
    pub evaluations: u64,
}

/// The conditional at one x in the coordinates of its frame.
struct Conditional<'a, T: Target> {
    target: &'a T,
    x: &'a [f64],
    cache: &'a T::Cache,
    frame: &'a Frame,
    scratch: Scratch,
    evaluations: u64,
    fault: Option<Error>,
}

impl<T: Target> Conditional<'_, T> {
    /// The log densities at many z, with the Jacobian of the frame.
    fn logs(&mut self, zs: &[f64], dim: usize) -> Vec<f64> {
        let mut ys = vec![0.0; zs.len()];
        for (z, y) in zs.chunks_exact(dim).zip(ys.chunks_exact_mut(dim)) {
            self.frame.to_y(z, y);
        }
        let mut out = vec![0.0; zs.len() / dim];
        self.target
            .log_density_batch(self.cache, &ys, &mut out, &mut self.scratch);
        self.evaluations += out.len() as u64;
        let bad = |value: &f64| value.is_nan() || *value == f64::INFINITY;
        if let Some(k) = out.iter().position(bad) {
            let y = ys[k * dim..(k + 1) * dim].to_vec();
            self.note(y, out[k]);
        }
        let jacobian = self.frame.log_det();
        out.iter_mut().for_each(|log| *log += jacobian);
        out
    }

    fn log(&mut self, z: &[f64]) -> f64 {
        let mut y = vec![0.0; z.len()];
        self.frame.to_y(z, &mut y);
        self.evaluations += 1;
        let value = self
            .target
            .log_density_in(self.cache, &y, &mut self.scratch);
        if value.is_nan() || value == f64::INFINITY {
            self.note(y, value);
            return f64::NEG_INFINITY;
        }
        value + self.frame.log_det()
    }

    fn note(&mut self, y: Vec<f64>, value: f64) {
        let x = self.x.to_vec();
        self.fault.get_or_insert(Error::NotANumber { x, y, value });
    }

    /// Draws with the logarithms of their weights, and the relative variance of a pair's mean.
    fn independent(&mut self, pairs: usize, dim: usize, rng: &mut Rng) -> Sample {
        let reference = Reference::new(dim, pairs);
        let zs = reference.draws(rng);
        let mut logs = self.logs(&zs, dim);
        for (log, z) in logs.iter_mut().zip(zs.chunks_exact(dim)) {
            *log -= reference.log_density(z);
        }
        let pairs: Vec<f64> = logs
            .chunks_exact(2)
            .map(|two| log_sum(two) - 2f64.ln())
            .collect();
        let variance = relative_variance(&pairs);
        Sample { zs, logs, variance }
    }

    /// The same by annealed trajectories; the variance is that of one.
    fn annealed(&mut self, count: usize, n: usize, dim: usize, rng: &mut Rng) -> Sample {
        let (mut zs, mut logs, mut z) = (Vec::new(), Vec::new(), vec![0.0; dim]);
        for _ in 0..count {
            logs.push(trajectory(&mut |z: &[f64]| self.log(z), n, &mut z, rng));
            zs.extend(&z);
        }
        let variance = relative_variance(&logs);
        Sample { zs, logs, variance }
    }
}

/// Weighted draws of z.
struct Sample {
    zs: Vec<f64>,
    logs: Vec<f64>,
    variance: f64,
}

/// How an estimate is made: decided before its draws are.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Plan {
    /// So many pairs of independent draws.
    Independent { pairs: usize },
    /// So many trajectories of n steps.
    Annealed { count: usize, n: usize },
}

/// Estimates the marginal at x.
///
/// # Errors
/// Where the model gives no number.
pub(crate) fn weigh<T: Target>(
    target: &T,
    (x, cache): (&[f64], &T::Cache),
    frame: &Frame,
    dim: usize,
    budget: Budget,
    rng: &mut Rng,
) -> Result<Weighed, Error> {
    let mut here = Conditional {
        target,
        x,
        cache,
        frame,
        scratch: Scratch::default(),
        evaluations: 0,
        fault: None,
    };
    if dim == 0 {
        let value = here.log(&[]);
        return match here.fault {
            Some(fault) => Err(fault),
            None => Ok(Weighed {
                log_marginal: value,
                noise: 0.0,
                kept: vec![(Vec::new(), value)],
                evaluations: 1,
            }),
        };
    }
    let plan = plan(&mut here, dim, budget, rng);
    let (sample, units) = match plan {
        Plan::Independent { pairs } => (here.independent(pairs, dim, rng), pairs),
        Plan::Annealed { count, n } => (here.annealed(count, n, dim, rng), count),
    };
    if let Some(fault) = here.fault {
        return Err(fault);
    }
    let log_marginal = log_sum(&sample.logs) - (sample.logs.len() as f64).ln();
    let kept = kept(&sample, log_marginal, dim, rng);
    let evaluations = here.evaluations;
    let kept = kept.into_iter().map(|k| {
        let mut y = vec![0.0; dim];
        frame.to_y(&sample.zs[k * dim..(k + 1) * dim], &mut y);
        // Its value was known on the way; once more is cheaper than carrying all of them along.
        let log = target.log_density_in(cache, &y, &mut Scratch::default());
        (y, log)
    });
    let kept: Vec<(Vec<f64>, f64)> = kept.collect();
    Ok(Weighed {
        log_marginal,
        noise: (sample.variance / units as f64).sqrt(),
        evaluations: evaluations + kept.len() as u64,
        kept,
    })
}

/// Decides by draws that serve nothing else.
fn plan<T: Target>(
    here: &mut Conditional<'_, T>,
    dim: usize,
    budget: Budget,
    rng: &mut Rng,
) -> Plan {
    let pilot = here.independent(PILOT_PAIRS, dim, rng);
    let most = (budget.most / 2).max(FEWEST_PAIRS);
    let wanted = CAUTION * pilot.variance / (budget.noise * budget.noise);
    let pairs = (wanted.ceil() as usize).clamp(FEWEST_PAIRS, most);
    let noise = |variance: f64, count: usize| (variance / count as f64).sqrt();
    let mut best = (noise(pilot.variance, pairs), Plan::Independent { pairs });
    // Forty-eight draws of which one has all the weight have a relative variance of some forty: it may be anything.
    let hidden = pilot.variance > 0.4 * PILOT_PAIRS as f64;
    if (best.0 > NOISY || hidden) && here.fault.is_none() {
        for n in STEPS {
            let count = budget.most / (n * SLICE);
            if count < FEWEST_TRAJECTORIES {
                break;
            }
            let pilot = here.annealed(PILOT_TRAJECTORIES, n, dim, rng);
            let left = noise(pilot.variance, count);
            if left < best.0 || (hidden && n == STEPS[0]) {
                best = (left, Plan::Annealed { count, n });
            }
            if left < NOISY {
                break;
            }
        }
    }
    best.1
}

/// The relative variance of numbers given by their logarithms.
fn relative_variance(logs: &[f64]) -> f64 {
    let mean = log_sum(logs) - (logs.len() as f64).ln();
    if mean == f64::NEG_INFINITY {
        return 0.0;
    }
    let squares = logs.iter().map(|log| ((log - mean).exp() - 1.0).powi(2));
    squares.sum::<f64>() / (logs.len() as f64 - 1.0).max(1.0)
}

/// Which draws are kept: each as often as its weight says, by one random number (systematic resampling), so that their plain
/// mean has the weighted mean as its expectation.
fn kept(sample: &Sample, log_mean: f64, dim: usize, rng: &mut Rng) -> Vec<usize> {
    let count = KEPT.min(sample.zs.len() / dim);
    if log_mean == f64::NEG_INFINITY {
        return Vec::new();
    }
    let log_total = log_mean + (sample.logs.len() as f64).ln();
    let step = 1.0 / count as f64;
    let (mut next, mut sum) = (step * rng.between(0.0, 1.0), 0.0);
    let mut chosen = Vec::with_capacity(count);
    for (k, log) in sample.logs.iter().enumerate() {
        sum += (log - log_total).exp();
        while next < sum && chosen.len() < count {
            chosen.push(k);
            next += step;
        }
    }
    // Rounding may leave the last ones out.
    let last = chosen.last().copied();
    chosen.extend(last.into_iter().cycle().take(count - chosen.len()));
    chosen
}
