//! From weighted points to estimates with their errors.

use super::basis::Basis;
use super::control::Controls;
use super::defensive::Defensive;
use super::free::Free;
use super::point::{Scale, Weighted};
use crate::diagnose::pareto_shape;
use serde::{Deserialize, Serialize};

/// Above this shape of the weights' tail their variance may not exist, and no error can be trusted (Vehtari et al. 2024).
pub const POOR_SHAPE: f64 = 0.7;
/// Covariances are given of no more columns than this.
const MOST_COVARIANCES: usize = 200;

/// What the weights of slow points say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Estimates {
    /// Slow points that were evaluated.
    pub points: usize,
    /// How many of them failed, and count as outside the support.
    pub failed: usize,
    /// Fast evaluations that the weights took.
    pub fast_evals: u64,
    /// The standard deviation of the log weights, under the posterior.
    pub spread: f64,
    /// The part of it that is noise of the fast draws, root mean square.
    pub noise: f64,
    /// The shape k of the weights' tail; above 0.7 the estimates should not be used. Nothing where it cannot be told.
    pub pareto_k: Option<f64>,
    /// Control variates that took part.
    pub controls: usize,
    /// The columns of the model, latents apart.
    pub columns: Vec<ColumnEstimate>,
    /// Their covariance, row by row; empty where there are very many.
    pub covariance: Vec<f64>,
    /// The posterior's constant.
    pub evidence: Option<Evidence>,
    /// The share of each point in every average; they add up to one.
    #[serde(skip)]
    pub shares: Vec<f64>,
}

/// One column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ColumnEstimate {
    /// Its name.
    pub name: String,
    /// The posterior mean.
    #[serde(deserialize_with = "number")]
    pub mean: f64,
    /// The posterior standard deviation.
    #[serde(deserialize_with = "number")]
    pub sd: f64,
    /// The standard error of the mean.
    #[serde(deserialize_with = "number")]
    pub se: f64,
    /// The standard error of the standard deviation.
    #[serde(deserialize_with = "number")]
    pub se_sd: f64,
    /// The number of independent draws whose mean would have this error.
    #[serde(deserialize_with = "number")]
    pub equivalent_draws: f64,
    /// The quantiles at 5, 50 and 95 per cent.
    #[serde(deserialize_with = "numbers")]
    pub quantiles: [f64; 3],
    /// Their standard errors.
    #[serde(deserialize_with = "numbers")]
    pub se_quantiles: [f64; 3],
}

/// JSON has no word for what is no number: it writes null.
fn number<'de, D: serde::Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(f64::NAN))
}

fn numbers<'de, D: serde::Deserializer<'de>>(from: D) -> Result<[f64; 3], D::Error> {
    let read: [Option<f64>; 3] = Deserialize::deserialize(from)?;
    Ok(read.map(|v| v.unwrap_or(f64::NAN)))
}

/// The logarithm of ∫ exp ℓ(x, y) dx dy.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// It.
    pub ln_z: f64,
    /// Its standard error.
    pub se: f64,
}

/// What makes estimates of points: free draws of π̃, made once.
#[derive(Debug, Clone)]
pub struct Estimator {
    scale: Scale,
    names: Vec<String>,
    free: Free,
    constant: Option<(f64, f64)>,
    defensive: Option<Defensive>,
}

impl Estimator {
    /// For columns of these names and errors of about so many standard deviations; free draws are made on so many threads, and are
    /// the same whatever that is.
    pub fn new(scale: Scale, names: Vec<String>, error: f64, threads: usize) -> Self {
        let (surrogate, seed) = (&scale.surrogate, scale.stream());
        let free = Free::new(surrogate, seed, error, threads);
        let constant = free.log_constant(surrogate, seed);
        let defensive = scale
            .heat
            .and_then(|heat| Defensive::new(surrogate, heat, seed, &free));
        Self {
            scale,
            names,
            free,
            constant,
            defensive,
        }
    }

    /// From points in their order; nothing without two points of any weight.
    pub fn estimates(&self, points: &[Weighted]) -> Option<Estimates> {
        let Self {
            scale, free, names, ..
        } = self;
        let whitened: Vec<Vec<f64>> = points
            .iter()
            .map(|point| scale.surrogate.whitened(&point.x))
            .collect();
        let ratios = self.ratios(points, &whitened)?;
        // By the density that the points were drawn from.
        let logs: Vec<f64> = points
            .iter()
            .zip(&ratios)
            .map(|(point, ratio)| point.log_weight + ratio.ln())
            .collect();
        let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if logs.iter().filter(|l| l.is_finite()).count() < 2 {
            return None;
        }
        let weights: Vec<f64> = logs.iter().map(|log| (log - top).exp()).collect();
        let basis = Controls::for_points(points.len(), free)
            .find_map(|controls| Basis::new(controls, &whitened, &ratios, &weights))
            .or_else(|| Basis::plain(Controls::none(), &weights))?;
        let plain = Basis::plain(Controls::none(), &weights);
        let used = basis.controls();
        let width = names.len() + 1;
        let columns = names.iter().enumerate().map(|(k, name)| {
            let of = |point: &Weighted| {
                point
                    .rows
                    .chunks_exact(width)
                    .map(move |row| row[k])
                    .collect()
            };
            let draws: Vec<Vec<f64>> = points.iter().map(of).collect();
            let column = basis.column(name, &draws);
            // Controls may take away more of a mean square than there is; plain weights leave something, unless it is a constant.
            match &plain {
                Some(plain) if column.sd == 0.0 => plain.column(name, &draws),
                _ => column,
            }
        });
        let columns: Vec<ColumnEstimate> = columns.collect();
        let shares = basis.shares();
        let evidence = self.constant.map(|(log_constant, error)| {
            let (log_total, of_points) = basis.log_total();
            Evidence {
                ln_z: log_constant + top + log_total,
                se: of_points.hypot(error),
            }
        });
        let noise = points.iter().map(|p| p.noise * p.noise).sum::<f64>() / points.len() as f64;
        let shape = pareto_shape(&logs);
        Some(Estimates {
            points: points.len(),
            failed: points.iter().filter(|p| p.failure.is_some()).count(),
            fast_evals: points.iter().map(|p| p.fast_evaluations).sum(),
            spread: spread(points, &weights),
            noise: noise.sqrt(),
            pareto_k: Some(shape).filter(|k| k.is_finite()),
            controls: used,
            covariance: covariance(&shares, points, width, &columns),
            columns,
            evidence,
            shares,
        })
    }

    /// π̃ by the density that the points were drawn from, at each of them; nothing where that has no constant.
    fn ratios(&self, points: &[Weighted], whitened: &[Vec<f64>]) -> Option<Vec<f64>> {
        if self.scale.heat.is_none() {
            return Some(vec![1.0; points.len()]);
        }
        let defensive = self.defensive.as_ref()?;
        let heated = points.iter().filter(|point| self.scale.is_heated(point));
        let heated = heated.count();
        let share = heated as f64 / points.len() as f64;
        let ratio = |w: &Vec<f64>| defensive.ratio(&self.scale.surrogate, share, w);
        Some(whitened.iter().map(ratio).collect())
    }
}

impl Estimates {
    /// Whether the weights' tail is such that nothing here should be used.
    pub fn is_poor(&self) -> bool {
        self.pareto_k.is_some_and(|k| k > POOR_SHAPE)
    }
}

/// The standard deviation of ln π/π̃ under π: of points drawn far out from π̃ heated, where there is next to no mass, it knows nothing.
fn spread(points: &[Weighted], weights: &[f64]) -> f64 {
    let massive = || {
        let all = points.iter().zip(weights);
        all.filter(|(_, weight)| **weight > 0.0)
            .map(|(point, weight)| (point.log_weight, weight))
    };
    let total: f64 = massive().map(|(_, weight)| weight).sum();
    let mean = massive().map(|(log, weight)| weight * log).sum::<f64>() / total;
    let squares: f64 = massive()
        .map(|(log, weight)| weight * (log - mean).powi(2))
        .sum();
    (squares / total).sqrt()
}

/// The covariance of all columns, by the points' shares.
fn covariance(
    shares: &[f64],
    points: &[Weighted],
    width: usize,
    columns: &[ColumnEstimate],
) -> Vec<f64> {
    let count = columns.len();
    if count > MOST_COVARIANCES {
        return Vec::new();
    }
    let mut sums = vec![0.0; count * count];
    for (share, point) in shares.iter().zip(points) {
        let each = share / (point.rows.len() / width).max(1) as f64;
        for row in point.rows.chunks_exact(width) {
            for i in 0..count {
                for j in 0..=i {
                    sums[i * count + j] +=
                        each * (row[i] - columns[i].mean) * (row[j] - columns[j].mean);
                }
            }
        }
    }
    for i in 0..count {
        for j in 0..i {
            sums[j * count + i] = sums[i * count + j];
        }
    }
    sums
}
