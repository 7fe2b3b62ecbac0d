//! Stored draws of a fit, and the model's predictor and response averaged over them.

use crate::fit::Description;
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::thread;
use towline::Rng;
use towline::store::RunDir;
use towline_models::{LatentGaussian, New, Resolved};

/// Points of each draw's normal distribution at which quantiles and responses are taken.
const POINTS: usize = 8;

/// A fitted model with draws of its posterior.
pub struct Posterior {
    /// The model file, its data, and how rows are coded.
    pub resolved: Resolved,
    model: LatentGaussian,
    rows: Vec<Vec<f64>>,
}

/// Mean, standard deviation and quantiles of one thing at every new row.
#[derive(Debug, Clone, Default)]
pub struct Surface {
    /// The linear predictor (class by class).
    pub latent: Vec<Summary>,
    /// The mean of the response (class by class): a probability, a rate, a mean.
    pub response: Vec<Summary>,
    /// The lower and upper quantile, in per cent.
    pub percent: (f64, f64),
    /// How many rows.
    pub rows: usize,
}

/// A distribution in five numbers.
#[derive(Debug, Clone, Copy, Default)]
pub struct Summary {
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub sd: f64,
    /// Lower quantile.
    pub low: f64,
    /// Median.
    pub median: f64,
    /// Upper quantile.
    pub high: f64,
}

impl Posterior {
    /// Opens the run of a fit, with at most so many of its draws.
    pub fn open(dir: &Path, most: usize) -> Result<Self> {
        let run = RunDir::open(dir)?;
        let manifest = run.manifest();
        let resolved = Description::parse(&manifest.model)
            .and_then(|description| description.resolve(dir))
            .with_context(|| format!("no predictions from {}", dir.display()))?;
        let model = resolved.parts.build()?;
        let every = manifest.latent_every as usize;
        let width = manifest.columns.len();
        let mut rows = Vec::new();
        for chain in 0..run.chains() {
            let mut draws: Vec<Vec<f64>> = Vec::new();
            let mut step = 0;
            run.draws(chain).each(|row| {
                // Latents are stored at the end of every so many steps.
                step += 1;
                if step % every == 0 {
                    draws.push(row[..width].to_vec());
                }
            })?;
            if !manifest.latents.is_empty() {
                let mut next = 0;
                run.latents(chain).each(|row| {
                    if let Some(draw) = draws.get_mut(next) {
                        draw.extend_from_slice(row);
                    }
                    next += 1;
                })?;
                draws.truncate(next);
            }
            rows.extend(draws);
        }
        if rows.is_empty() {
            bail!("{} has no draws yet", dir.display());
        }
        let count = rows.len().min(most);
        let rows = (0..count)
            .map(|k| rows[k * rows.len() / count].clone())
            .collect();
        Ok(Self {
            resolved,
            model,
            rows,
        })
    }

    /// How many draws there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Predicts at new rows: the surface without what is particular to each place (a nugget), the response with it.
    pub fn predict(&self, new: &New, level: f64) -> Result<Surface> {
        let threads = thread::available_parallelism()
            .map_or(1, usize::from)
            .min(self.len());
        let parts: Vec<Result<Vec<Taken>>> = thread::scope(|scope| {
            let workers: Vec<_> = (0..threads)
                .map(|worker| {
                    scope.spawn(move || {
                        let mine = (worker..self.len()).step_by(threads);
                        mine.filter_map(|k| self.take(k, new).transpose()).collect()
                    })
                })
                .collect();
            let joined = workers.into_iter().map(|worker| worker.join());
            joined
                .map(|part| part.unwrap_or_else(|_| bail!("a prediction panicked")))
                .collect()
        });
        let mut taken = Vec::new();
        for part in parts {
            taken.extend(part?);
        }
        if taken.is_empty() {
            bail!("no draw of the run lies inside the support of the model: was it changed?");
        }
        let tail = 0.5 * (1.0 - level);
        let cells = taken[0].mean.len();
        let mut surface = Surface {
            percent: (100.0 * tail, 100.0 * (1.0 - tail)),
            rows: new.rows,
            ..Surface::default()
        };
        for cell in 0..cells {
            let points: Vec<f64> = taken
                .iter()
                .flat_map(|t| t.latent[cell].iter().copied())
                .collect();
            let mut latent = summary(points, tail);
            // The mixture's moments are known exactly: no need of points for them.
            let mean = average(taken.iter().map(|t| t.mean[cell]));
            let second = average(
                taken
                    .iter()
                    .map(|t| t.variance[cell] + (t.mean[cell] - mean).powi(2)),
            );
            (latent.mean, latent.sd) = (mean, second.sqrt());
            surface.latent.push(latent);
            let points = taken
                .iter()
                .flat_map(|t| t.response[cell].iter().copied())
                .collect();
            surface.response.push(summary(points, tail));
        }
        Ok(surface)
    }

    /// One draw's predictor at new rows, with points of its distribution.
    fn take(&self, k: usize, new: &New) -> Result<Option<Taken>> {
        let recovered = self
            .model
            .recover(&self.rows[k])
            .map_err(|error| anyhow::anyhow!("{error}"))?;
        let Some((cache, y)) = recovered else {
            return Ok(None);
        };
        let predicted = self.model.predict(&cache, &y, new)?;
        let classes = predicted.mean.len() / new.rows.max(1);
        let mut rng = Rng::stream(k as u64, 1);
        let mut latent = vec![Vec::with_capacity(POINTS); predicted.mean.len()];
        let mut response = latent.clone();
        let mut eta = vec![0.0; classes];
        for row in 0..new.rows {
            for point in 0..POINTS {
                for class in 0..classes {
                    let cell = class * new.rows + row;
                    // One class: evenly spaced over the distribution. Several: drawn, since they vary together.
                    let z = if classes == 1 {
                        NORMAL_POINTS[point]
                    } else {
                        rng.normal()
                    };
                    let at = |variance: f64| predicted.mean[cell] + variance.max(0.0).sqrt() * z;
                    latent[cell].push(at(predicted.variance[cell]));
                    eta[class] = at(predicted.variance[cell] + predicted.nugget[cell]);
                }
                for (class, value) in self.model.response_mean(&eta).into_iter().enumerate() {
                    response[class * new.rows + row].push(value);
                }
            }
        }
        Ok(Some(Taken {
            mean: predicted.mean,
            variance: predicted.variance,
            latent,
            response,
        }))
    }
}

/// What one draw says.
struct Taken {
    mean: Vec<f64>,
    variance: Vec<f64>,
    latent: Vec<Vec<f64>>,
    response: Vec<Vec<f64>>,
}

/// Quantiles of the standard normal distribution at (k + ½)/8, stretched to variance one.
const NORMAL_POINTS: [f64; POINTS] = [
    -1.662_96, -0.961_65, -0.529_83, -0.170_52, 0.170_52, 0.529_83, 0.961_65, 1.662_96,
];

fn average(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0usize), |(sum, count), value| {
        (sum + value, count + 1)
    });
    sum / count as f64
}

fn summary(mut points: Vec<f64>, tail: f64) -> Summary {
    let mean = average(points.iter().copied());
    let variance = average(points.iter().map(|point| (point - mean).powi(2)));
    points.sort_by(f64::total_cmp);
    let quantile = |p: f64| {
        let at = p * (points.len() - 1) as f64;
        let (below, part) = (at.floor() as usize, at.fract());
        let above = (below + 1).min(points.len() - 1);
        points[below] * (1.0 - part) + points[above] * part
    };
    Summary {
        mean,
        sd: variance.sqrt(),
        low: quantile(tail),
        median: quantile(0.5),
        high: quantile(1.0 - tail),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_points_have_mean_zero_and_variance_one() {
        let mean = average(NORMAL_POINTS.iter().copied());
        let variance = average(NORMAL_POINTS.iter().map(|z| z * z));
        assert!(mean.abs() < 1e-12);
        assert!((variance - 1.0).abs() < 1e-3, "{variance}");
    }

    #[test]
    fn a_summary_interpolates_quantiles() {
        let summary = summary(vec![3.0, 1.0, 2.0, 5.0, 4.0], 0.25);
        assert_eq!((summary.low, summary.median, summary.high), (2.0, 3.0, 4.0));
        assert_eq!(summary.mean, 3.0);
    }
}
