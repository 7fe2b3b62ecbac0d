//! Jumps of the surrogate's chain: independent proposals from a mixture of normals fitted to its own draws.
//!
//! Ellipses and rays follow a bent or divided shape slowly. The mixture knows roughly where its parts are, and the ratio of
//! densities corrects the rest, as for any independence sampler: the chain stays reversible for π̃ whatever the mixture is.

use super::limits::{JUMP_DRAWS, JUMP_PARTS, JUMP_ROUNDS, JUMP_SPREAD, PART_DRAWS};
use crate::linalg::Factor;
use crate::random::Rng;
use serde::{Deserialize, Serialize};

/// A mixture of normals over w.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Jumps {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Part {
    weight: f64,
    centre: Vec<f64>,
    factor: Factor,
}

impl Jumps {
    /// From draws: groups of near ones (by Lloyd's rounds), and a normal, somewhat wider, for each.
    pub fn fit(draws: &[Vec<f64>]) -> Option<Self> {
        let stride = draws.len().div_ceil(JUMP_DRAWS).max(1);
        let draws: Vec<&Vec<f64>> = draws.iter().step_by(stride).collect();
        let p = draws.first()?.len();
        let most = (draws.len() / (PART_DRAWS * (p + 1))).clamp(1, JUMP_PARTS);
        let mut centres = spread(&draws, most);
        let mut of = assigned(&draws, &centres);
        for _ in 0..JUMP_ROUNDS {
            for (k, centre) in centres.iter_mut().enumerate() {
                let mine: Vec<&&Vec<f64>> = members(&draws, &of, k).collect();
                for (j, c) in centre.iter_mut().enumerate() {
                    let sum: f64 = mine.iter().map(|w| w[j]).sum();
                    if !mine.is_empty() {
                        *c = sum / mine.len() as f64;
                    }
                }
            }
            of = assigned(&draws, &centres);
        }
        let parts: Vec<Part> = centres
            .into_iter()
            .enumerate()
            .filter_map(|(k, centre)| {
                let mine: Vec<&&Vec<f64>> = members(&draws, &of, k).collect();
                part(centre, &mine)
            })
            .collect();
        (!parts.is_empty()).then_some(Self { parts })
    }

    /// The log density of the mixture, up to a constant.
    pub fn log_density(&self, w: &[f64]) -> f64 {
        let mut top = f64::NEG_INFINITY;
        let mut sum = 0.0;
        for part in &self.parts {
            let mut z: Vec<f64> = w.iter().zip(&part.centre).map(|(w, c)| w - c).collect();
            part.factor.solve(&mut z);
            let square: f64 = z.iter().map(|v| v * v).sum();
            let log = part.weight.ln() - part.factor.log_det() - 0.5 * square;
            if log > top {
                sum = sum * (top - log).exp() + 1.0;
                top = log;
            } else {
                sum += (log - top).exp();
            }
        }
        top + sum.ln()
    }

    /// The logarithm of its integral over w: what [`log_density`](Self::log_density) leaves out.
    pub fn log_total(&self) -> f64 {
        let total: f64 = self.parts.iter().map(|part| part.weight).sum();
        let dim = self.parts.first().map_or(0, |part| part.centre.len());
        total.ln() + 0.5 * dim as f64 * std::f64::consts::TAU.ln()
    }

    /// A draw from it.
    pub fn draw(&self, w: &mut [f64], rng: &mut Rng) {
        let part = &self.parts[rng.pick(self.parts.iter().map(|part| part.weight))];
        let noise: Vec<f64> = w.iter().map(|_| rng.normal()).collect();
        part.factor.apply(&noise, w);
        w.iter_mut().zip(&part.centre).for_each(|(w, c)| *w += c);
    }

    /// One independent proposal, accepted by Hastings' ratio: the new point with its log density under `density`, or nothing.
    pub fn step(
        &self,
        density: impl Fn(&[f64]) -> f64,
        (w, here): (&[f64], f64),
        rng: &mut Rng,
    ) -> Option<(Vec<f64>, f64)> {
        let mut new = vec![0.0; w.len()];
        self.draw(&mut new, rng);
        let there = density(&new);
        let log_ratio = there - here + self.log_density(w) - self.log_density(&new);
        rng.accept(log_ratio).then_some((new, there))
    }

    pub fn fits(&self, dim: usize) -> bool {
        let fits = |part: &Part| {
            part.weight > 0.0
                && part.weight.is_finite()
                && part.centre.len() == dim
                && part.factor.dim() == dim
                && part.centre.iter().all(|v| v.is_finite())
        };
        !self.parts.is_empty() && self.parts.iter().all(fits)
    }
}

fn members<'a, 'b>(
    draws: &'a [&'b Vec<f64>],
    of: &'a [usize],
    k: usize,
) -> impl Iterator<Item = &'a &'b Vec<f64>> {
    draws
        .iter()
        .zip(of)
        .filter(move |(_, part)| **part == k)
        .map(|(w, _)| w)
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// So many of the draws, each the furthest from those before it.
fn spread(draws: &[&Vec<f64>], most: usize) -> Vec<Vec<f64>> {
    let mut centres = vec![draws[0].clone()];
    let mut gaps: Vec<f64> = draws.iter().map(|w| distance(w, &centres[0])).collect();
    while centres.len() < most {
        let Some(k) = (0..draws.len()).max_by(|&a, &b| gaps[a].total_cmp(&gaps[b])) else {
            break;
        };
        for (gap, w) in gaps.iter_mut().zip(draws) {
            *gap = gap.min(distance(w, draws[k]));
        }
        centres.push(draws[k].clone());
    }
    centres
}

/// The nearest centre of each draw.
fn assigned(draws: &[&Vec<f64>], centres: &[Vec<f64>]) -> Vec<usize> {
    let nearest = |w: &&Vec<f64>| {
        (0..centres.len())
            .min_by(|&a, &b| distance(w, &centres[a]).total_cmp(&distance(w, &centres[b])))
            .unwrap_or(0)
    };
    draws.iter().map(nearest).collect()
}

/// The normal of one group; nothing where there are too few draws in it to tell.
fn part(centre: Vec<f64>, mine: &[&&Vec<f64>]) -> Option<Part> {
    let p = centre.len();
    let count = mine.len() as f64;
    if mine.len() < p + 2 {
        return None;
    }
    let mut covariance = vec![0.0; p * p];
    for w in mine {
        for i in 0..p {
            for j in 0..p {
                covariance[i * p + j] += (w[i] - centre[i]) * (w[j] - centre[j]) / count;
            }
        }
    }
    let mean = (0..p).map(|k| covariance[k * p + k]).sum::<f64>() / p as f64;
    for (k, entry) in covariance.iter_mut().enumerate() {
        *entry *= JUMP_SPREAD;
        if k % (p + 1) == 0 {
            // Against groups that are flat by chance.
            *entry += 0.02 * mean + 1e-9;
        }
    }
    let factor = Factor::from_covariance(&covariance, "a part of the mixture").ok()?;
    Some(Part {
        weight: count,
        centre,
        factor,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::enumerate::{Normals, outcomes};

    /// Draws around two places, thrice as many at the first.
    fn divided(rng: &mut Rng) -> Vec<Vec<f64>> {
        // Every other draw is used: among those, a quarter.
        let side = |k: usize| if (k / 2).is_multiple_of(4) { 12.0 } else { 0.0 };
        (0..2000)
            .map(|k| vec![side(k) + rng.normal(), 0.2 * rng.normal()])
            .collect()
    }

    #[test]
    fn a_mixture_has_the_mass_of_its_draws_where_they_are() {
        let mut rng = Rng::stream(5, 0);
        let jumps = Jumps::fit(&divided(&mut rng)).unwrap();
        let mut w = vec![0.0; 2];
        let mut right = 0;
        for _ in 0..4000 {
            jumps.draw(&mut w, &mut rng);
            right += u32::from(w[0] > 6.0);
        }
        // Binomial(4000, 1/4): sd 27.
        assert!((f64::from(right) - 1000.0).abs() < 110.0, "{right}");
        assert!(jumps.log_density(&[0.0, 0.0]) > jumps.log_density(&[6.0, 0.0]) + 5.0);
    }

    /// max |πK − π| over whole numbers, for a step of a chain with jumps.
    fn drift(step: impl Fn(&Jumps, &dyn Fn(&[f64]) -> f64, f64, &mut Rng) -> f64) -> f64 {
        let unit = |centre: f64, weight: f64| Part {
            weight,
            centre: vec![centre],
            factor: Factor::diagonal(&[1.0], "test").unwrap(),
        };
        let jumps = Jumps {
            parts: vec![unit(-2.0, 1.0), unit(2.0, 2.5)],
        };
        // Irregular, and far from what the mixture has.
        let masses: Vec<f64> = (0..9).map(|k| 1.0 + f64::from(k * k % 5)).collect();
        let log_mass = |w: &[f64]| {
            let k = usize::try_from(w[0].round() as i64 + 4).ok();
            let mass = k.and_then(|k| masses.get(k));
            mass.map_or(f64::NEG_INFINITY, |mass| mass.ln())
        };
        let total: f64 = masses.iter().sum();
        let mut arriving = vec![0.0; masses.len()];
        for (k, mass) in masses.iter().enumerate() {
            let from = k as f64 - 4.0;
            // Normal numbers −12 … 12 with their density as weights: every whole number is in reach of every part.
            let all = outcomes(&Normals::Lattice(12), 1.0, |rng| {
                step(&jumps, &log_mass, from, rng)
            });
            for (to, probability) in all {
                arriving[(to.round() + 4.0) as usize] += mass / total * probability;
            }
        }
        let off = |(now, mass): (&f64, &f64)| (now - mass / total).abs();
        arriving.iter().zip(&masses).map(off).fold(0.0, f64::max)
    }

    #[test]
    fn jumps_leave_every_mass_as_it_is() {
        let off = drift(|jumps, density, from, rng| {
            let stepped = jumps.step(density, (&[from], density(&[from])), rng);
            stepped.map_or(from, |(w, _)| w[0])
        });
        assert!(off < 1e-12, "{off:e}");
    }

    #[test]
    fn masses_of_parts_without_their_densities_are_seen() {
        let off = drift(|jumps, density, from, rng| {
            let mut new = [0.0];
            jumps.draw(&mut new, rng);
            // The mass of the part that is nearest, as if that were the density of the mixture.
            let mass = |w: f64| {
                let near = |part: &&Part| (w - part.centre[0]).abs();
                let part = jumps
                    .parts
                    .iter()
                    .min_by(|a, b| near(a).total_cmp(&near(b)));
                part.map_or(0.0, |part| part.weight.ln())
            };
            let ratio = density(&new) - density(&[from]) + mass(from) - mass(new[0]);
            if rng.accept(ratio) { new[0] } else { from }
        });
        assert!(off > 0.01, "{off:e}");
    }

    #[test]
    fn the_mixture_that_is_drawn_from_is_the_one_that_is_evaluated() {
        // E over its draws of 1/(its density, normalised over a box) is the volume of the box.
        let mut rng = Rng::stream(6, 0);
        let jumps = Jumps::fit(&divided(&mut rng)).unwrap();
        let total: f64 = jumps.parts.iter().map(|part| part.weight).sum();
        let constant = total.ln() + (2.0 * std::f64::consts::PI).ln();
        let inside = |w: &[f64]| (-1.0..1.0).contains(&w[0]) && (-0.3..0.3).contains(&w[1]);
        let (mut sum, mut squares, count) = (0.0, 0.0, 200_000);
        let mut w = vec![0.0; 2];
        for _ in 0..count {
            jumps.draw(&mut w, &mut rng);
            if inside(&w) {
                let value = (constant - jumps.log_density(&w)).exp();
                sum += value;
                squares += value * value;
            }
        }
        let count = f64::from(count);
        let mean = sum / count;
        let error = ((squares / count - mean * mean) / count).sqrt();
        assert!((mean - 1.2).abs() < 4.0 * error, "{mean} ± {error}");
    }
}
