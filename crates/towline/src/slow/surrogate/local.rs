//! A mixture of local fits, one for each peak among the visits: several modes, each a normal with its own height and widths.
//!
//! One polynomial cannot have several far modes, and a process has to be told of each by many points; where modes are nearly normal, a quadratic through the
//! points around each says all of it, their masses included.

use super::limits::{
    FOLDS, LOCAL_DEPTH, LOCAL_MOST, LOCAL_NEAREST, LOCAL_POINTS, LOCAL_ROUNDS, LOCAL_SLOW,
};
use super::visits::{Sample, Samples};
use crate::linalg::{Factor, SmallBuffer};
use serde::{Deserialize, Serialize};

/// ln Σ exp(heightⱼ − ½|Lⱼ⁻¹(w − centreⱼ)|²) + ½|w|²: a correction of the unit normal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Mixture {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Part {
    height: f64,
    centre: Vec<f64>,
    factor: Factor,
}

/// A point's own log density.
fn level(sample: &Sample) -> f64 {
    sample.wanted - 0.5 * sample.distance * sample.distance
}

fn apart(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

impl Mixture {
    /// Fits to all points and without each fold in turn; nothing where there is but one peak.
    pub fn fit(samples: &Samples) -> Option<(Self, Vec<Self>)> {
        if samples.dim > LOCAL_SLOW {
            return None;
        }
        let all: Vec<&Sample> = samples.list.iter().collect();
        let whole = Self::grow(&peaks(&all), &all)?;
        let folds = (0..FOLDS).map(|fold| {
            let kept: Vec<&Sample> = all
                .iter()
                .enumerate()
                .filter(|(index, _)| index % FOLDS != fold)
                .map(|(_, sample)| *sample)
                .collect();
            // From the same peaks: what differs is what the points say.
            whole.again(&kept)
        });
        let folds = folds.collect::<Option<Vec<_>>>()?;
        Some((whole, folds))
    }

    /// A part for each peak, then rounds.
    fn grow(peaks: &[usize], all: &[&Sample]) -> Option<Self> {
        let p = all.first()?.w.len();
        let needed = (LOCAL_POINTS * coefficients(p) as f64) as usize;
        let mut parts = Vec::new();
        for &peak in peaks {
            let top = all[peak];
            let mut near: Vec<&Sample> = all.to_vec();
            near.sort_by(|a, b| apart(&a.w, &top.w).total_cmp(&apart(&b.w, &top.w)));
            near.truncate(needed);
            parts.extend(quadratic(&near, &top.w));
        }
        let mixture = Self { parts };
        mixture.again(all)
    }

    /// Rounds in which every point goes to the part that explains it, and every part is fitted to its points.
    fn again(&self, all: &[&Sample]) -> Option<Self> {
        let mut parts = self.parts.clone();
        for _ in 0..LOCAL_ROUNDS {
            if parts.len() < 2 {
                return None;
            }
            let mut of: Vec<Vec<&Sample>> = vec![Vec::new(); parts.len()];
            for sample in all {
                let values: Vec<f64> = parts.iter().map(|part| part.value(&sample.w)).collect();
                let best = (0..parts.len()).max_by(|&a, &b| values[a].total_cmp(&values[b]))?;
                // Far down, or between two parts, a point says nothing of either.
                let second = (0..parts.len())
                    .filter(|&k| k != best)
                    .map(|k| values[k])
                    .fold(f64::NEG_INFINITY, f64::max);
                let clear = values[best] - second > 3.0;
                if clear && level(sample) > parts[best].height - LOCAL_DEPTH {
                    of[best].push(sample);
                }
            }
            parts = parts
                .into_iter()
                .zip(of)
                .filter_map(|(part, mine)| {
                    let enough =
                        mine.len() as f64 >= LOCAL_POINTS * coefficients(part.centre.len()) as f64;
                    match enough {
                        true => quadratic(&mine, &part.centre).or(Some(part)),
                        // A peak that few points belong to is kept as it was first seen.
                        false => (!mine.is_empty()).then_some(part),
                    }
                })
                .collect();
        }
        (parts.len() > 1).then_some(Self { parts })
    }

    #[inline]
    pub fn value(&self, w: &[f64]) -> f64 {
        let (mut top, mut sum) = (f64::NEG_INFINITY, 0.0);
        for part in &self.parts {
            let log = part.value(w);
            if log > top {
                sum = sum * (top - log).exp() + 1.0;
                top = log;
            } else {
                sum += (log - top).exp();
            }
        }
        top + f64::ln(sum) + 0.5 * w.iter().map(|v| v * v).sum::<f64>()
    }

    pub fn fits(&self, dim: usize) -> bool {
        let fits = |part: &Part| {
            part.height.is_finite()
                && part.factor.dim() == dim
                && part.centre.len() == dim
                && part.centre.iter().all(|v| v.is_finite())
        };
        !self.parts.is_empty() && self.parts.iter().all(fits)
    }
}

impl Part {
    fn value(&self, w: &[f64]) -> f64 {
        let mut z = SmallBuffer::new(w.len());
        let z = z.as_mut();
        for (z, (w, c)) in z.iter_mut().zip(w.iter().zip(&self.centre)) {
            *z = w - c;
        }
        self.factor.solve(z);
        self.height - 0.5 * z.iter().map(|v| v * v).sum::<f64>()
    }
}

/// Points of the bulk that are higher than all their neighbours, the highest first.
fn peaks(all: &[&Sample]) -> Vec<usize> {
    let p = all.first().map_or(1, |s| s.w.len());
    let nearest = LOCAL_NEAREST * (p + 1);
    let mut found: Vec<usize> = (0..all.len())
        .filter(|&k| all[k].inner)
        .filter(|&k| {
            let mut distances: Vec<(f64, usize)> = (0..all.len())
                .filter(|&j| j != k)
                .map(|j| (apart(&all[j].w, &all[k].w), j))
                .collect();
            distances.sort_by(|a, b| a.0.total_cmp(&b.0));
            let mut near = distances.iter().take(nearest);
            near.all(|&(_, j)| level(all[j]) < level(all[k]))
        })
        .collect();
    found.sort_by(|&a, &b| level(all[b]).total_cmp(&level(all[a])));
    found.truncate(LOCAL_MOST);
    found
}

/// 1, wₖ, wₖ wⱼ.
fn coefficients(p: usize) -> usize {
    (p + 1) * (p + 2) / 2
}

/// The quadratic through points about a place, as a normal; nothing where it has no maximum.
fn quadratic(points: &[&Sample], about: &[f64]) -> Option<Part> {
    let p = about.len();
    let size = coefficients(p);
    let top = points
        .iter()
        .map(|s| level(s))
        .fold(f64::NEG_INFINITY, f64::max);
    // In units of where they are, so that one ridge suits all.
    let spread = (points.iter().map(|s| apart(&s.w, about)).sum::<f64>() / points.len() as f64)
        .sqrt()
        .max(1e-12);
    let mut normal = vec![0.0; size * size];
    let mut right = vec![0.0; size];
    for sample in points {
        let t: Vec<f64> = (0..p).map(|k| (sample.w[k] - about[k]) / spread).collect();
        let mut row = vec![1.0];
        row.extend_from_slice(&t);
        for i in 0..p {
            row.extend((0..=i).map(|j| t[i] * t[j]));
        }
        let below = top - level(sample);
        let weight = (-0.3 * below).exp().max(1e-3);
        for i in 0..size {
            right[i] += weight * row[i] * -below;
            for j in 0..size {
                normal[i * size + j] += weight * row[i] * row[j];
            }
        }
    }
    let mean = (0..size).map(|k| normal[k * size + k]).sum::<f64>() / size as f64;
    for k in 0..size {
        normal[k * size + k] += 1e-9 * mean;
    }
    let factor = Factor::from_covariance(&normal, "a local fit").ok()?;
    factor.solve(&mut right);
    factor.solve_transposed(&mut right);
    let mut precision = vec![0.0; p * p];
    let mut at = 1 + p;
    for i in 0..p {
        for j in 0..=i {
            let c = -right[at] * if i == j { 2.0 } else { 1.0 };
            precision[i * p + j] = c;
            precision[j * p + i] = c;
            at += 1;
        }
    }
    let root = Factor::from_covariance(&precision, "a local curvature").ok()?;
    let mut step = right[1..=p].to_vec();
    root.solve(&mut step);
    root.solve_transposed(&mut step);
    let gain = 0.5
        * step
            .iter()
            .zip(&right[1..=p])
            .map(|(a, b)| a * b)
            .sum::<f64>();
    let mut covariance = vec![0.0; p * p];
    for (k, row) in covariance.chunks_mut(p).enumerate() {
        row[k] = 1.0;
        root.solve(row);
        root.solve_transposed(row);
        row.iter_mut().for_each(|c| *c *= spread * spread);
    }
    let symmetric: Vec<f64> = (0..p * p)
        .map(|k| 0.5 * (covariance[k] + covariance[(k % p) * p + k / p]))
        .collect();
    let centre: Vec<f64> = (0..p).map(|k| about[k] + spread * step[k]).collect();
    // A maximum far from the points is no peak of theirs.
    let near = apart(&centre, about).sqrt() < 3.0 * spread;
    let height = top + right[0] + gain;
    (near && height.is_finite() && height < top + 3.0).then_some(Part {
        height,
        centre,
        factor: Factor::from_covariance(&symmetric, "a local covariance").ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Rng;
    use crate::slow::surrogate::visits::{Extent, Visit};

    /// Two modes, one five times as wide as the other.
    fn density(x: &[f64]) -> f64 {
        let near = -0.5 * (x[0] * x[0] + x[1] * x[1]);
        let far = (x[0] - 5.0).powi(2) + (x[1] - 4.0).powi(2);
        (0.6 * near.exp() + 10.0 * (-0.5 * far / 0.04).exp()).ln()
    }

    #[test]
    fn two_modes_of_different_widths_are_found_with_their_masses() {
        let mut rng = Rng::stream(8, 0);
        let visits: Vec<Visit> = (0..160)
            .map(|k| {
                let (a, b) = (1.7 * rng.normal(), 1.7 * rng.normal());
                let x = match k % 2 {
                    0 => vec![a, b],
                    _ => vec![5.0 + 0.2 * a, 4.0 + 0.2 * b],
                };
                let log_marginal = density(&x);
                Visit { x, log_marginal }
            })
            .collect();
        let unit = Factor::diagonal(&[2.5, 2.0], "test").unwrap();
        let extent = Extent {
            heat: 3.0,
            reach: 1.0,
            thorough: true,
        };
        let samples = Samples::new(&visits, &[2.0, 1.6], &unit, extent).unwrap();
        let (mixture, folds) = Mixture::fit(&samples).unwrap();
        assert!(mixture.fits(2) && folds.len() == FOLDS);
        for sample in samples.list.iter().filter(|s| s.inner) {
            let off = mixture.value(&sample.w) - sample.wanted;
            assert!(off.abs() < 0.3, "{off} at {:?}", sample.w);
        }
    }
}
