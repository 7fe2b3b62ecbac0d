//! Where the mode of the latent variables is thought to be at each x: an expansion about the place where the marginal is highest.
//!
//! The mode is a smooth function of x, and the posterior of x is narrow where data are many. So a handful of modes around the marginal's top,
//! which a short search finds, tell all others to second order, and the curvature at the top serves to find them exactly
//! (`newton::by_chords`). Everything is a function of the data alone: a run and whoever resumes it, and chains in whatever order,
//! have the same frames.

use super::LatentGaussian;
use crate::newton::Foretold;
use crate::triangle::Triangle;
use crate::vector::inner;
use std::sync::Arc;
use towline::linalg::{Root, RootMap};

/// The first and the last step of the coarse search along coordinates, and the frames that it may take: parameters are logarithms, or of a
/// similar scale.
const FIRST_STEP: f64 = 1.0;
const LAST_STEP: f64 = 0.25;
const MOST_FRAMES: usize = 60;
/// Steps of Newton's method that follow, at most.
const ROUNDS: usize = 5;
/// One that is shorter than this, in standard deviations, is not made.
const NEAR: f64 = 0.5;
/// How far from the top the modes are that tell the others, in standard deviations with all others held; and at most, and at least.
const REACH: f64 = 1.5;
const WIDEST: f64 = 0.5;
const NARROWEST: f64 = 1e-3;
/// The slow variables beyond which products of two are left out.
const MOST_PRODUCTS: usize = 6;
/// So many such distances out, nothing is foretold.
const FURTHEST: f64 = 8.0;

/// An expansion of the mode in x.
#[derive(Debug)]
pub(crate) struct Forecast {
    x: Vec<f64>,
    /// The unit of each slow variable.
    reach: Vec<f64>,
    centre: Vec<f64>,
    /// What multiplies powers and products of x in these units: of one variable, of its square; of two.
    terms: Vec<(Term, Vec<f64>)>,
    /// L of the curvature at the top.
    root: Arc<dyn RootMap>,
}

#[derive(Debug, Clone, Copy)]
enum Term {
    Line(usize),
    Product(usize, usize),
}

/// A mode, and Laplace's estimate there.
struct Seen {
    centre: Vec<f64>,
    height: f64,
    root: Arc<dyn RootMap>,
}

#[cfg(test)]
impl Forecast {
    /// The place that it is about, and its units.
    pub fn about(&self) -> (&[f64], &[f64]) {
        (&self.x, &self.reach)
    }
}

impl LatentGaussian {
    /// Where the mode at x is thought to be.
    pub(super) fn foretold(&self, x: &[f64]) -> Option<Foretold<'_>> {
        let forecast = self
            .forecast
            .get_or_init(|| self.make_forecast())
            .as_ref()?;
        let places = x.iter().zip(&forecast.x).zip(&forecast.reach);
        let t: Vec<f64> = places.map(|((x, top), by)| (x - top) / by).collect();
        if t.iter().any(|t| t.abs() > FURTHEST) {
            return None;
        }
        let mut y = forecast.centre.clone();
        for (term, values) in &forecast.terms {
            let by = match *term {
                Term::Line(k) => t[k],
                Term::Product(k, l) => t[k] * t[l],
            };
            y.iter_mut().zip(values).for_each(|(y, v)| *y += by * v);
        }
        Some(Foretold {
            y,
            root: &*forecast.root,
        })
    }

    /// The mode at x, searched for from another.
    fn seen(&self, x: &[f64], from: &[f64]) -> Option<Seen> {
        let cache = self.plain(x).ok()??;
        let own = self.mode_frame(&cache, from)?;
        let Root::Own(root) = own.root else {
            return None;
        };
        own.log_marginal.is_finite().then_some(Seen {
            centre: own.centre,
            height: own.log_marginal,
            root,
        })
    }

    fn make_forecast(&self) -> Option<Forecast> {
        if self.slow.is_empty() {
            return None;
        }
        let (mut x, mut top) = self.coarse_top()?;
        let mut reach = vec![LAST_STEP; x.len()];
        for _ in 0..ROUNDS {
            let around = self.around(&x, &reach, &top)?;
            let found = around.climb(top.height, &reach);
            let pairs = found.reach.iter().zip(&reach);
            let fits = pairs.clone().all(|(a, b)| *a <= 2.0 * b && *b <= 2.0 * a);
            if fits && found.length < NEAR {
                return expansion(x, reach, top, around);
            }
            reach = found.reach;
            // All of it may be too far, a quarter hardly.
            for share in [1.0, 0.25] {
                let parts = x.iter().zip(&found.step);
                let there: Vec<f64> = parts.map(|(x, s)| x + share * s).collect();
                if let Some(seen) = self.seen(&there, &top.centre)
                    && seen.height > top.height
                {
                    (x, top) = (there, seen);
                    break;
                }
            }
        }
        let around = self.around(&x, &reach, &top)?;
        expansion(x, reach, top, around)
    }

    /// About where the marginal is highest.
    fn coarse_top(&self) -> Option<(Vec<f64>, Seen)> {
        let mut x = self.middle();
        let mut best = self.seen(&x, &[])?;
        let (mut step, mut frames) = (FIRST_STEP, 1);
        while step >= LAST_STEP && frames < MOST_FRAMES {
            let mut moved = false;
            for k in 0..x.len() {
                for by in [step, -step] {
                    let mut there = x.clone();
                    there[k] += by;
                    frames += 1;
                    if let Some(seen) = self.seen(&there, &best.centre)
                        && seen.height > best.height
                    {
                        (x, best, moved) = (there, seen, true);
                        break;
                    }
                }
            }
            if !moved {
                step *= 0.5;
            }
        }
        Some((x, best))
    }

    /// The modes one step above and below x in every slow variable, and above in two of them.
    fn around(&self, x: &[f64], reach: &[f64], top: &Seen) -> Option<Around> {
        let one = |steps: &[(usize, f64)]| {
            let mut there = x.to_vec();
            steps.iter().for_each(|(k, by)| there[*k] += by * reach[*k]);
            self.seen(&there, &top.centre)
        };
        let pairs = |k: usize| Some([one(&[(k, 1.0)])?, one(&[(k, -1.0)])?]);
        let mut both = Vec::new();
        for k in 0..if x.len() <= MOST_PRODUCTS { x.len() } else { 0 } {
            for l in 0..k {
                both.push(([k, l], one(&[(k, 1.0), (l, 1.0)])?));
            }
        }
        Some(Around {
            pairs: (0..x.len()).map(pairs).collect::<Option<_>>()?,
            both,
        })
    }
}

/// Modes around a place.
struct Around {
    pairs: Vec<[Seen; 2]>,
    both: Vec<([usize; 2], Seen)>,
}

/// A step of Newton's method on the marginal.
struct Climb {
    step: Vec<f64>,
    /// Its length in standard deviations.
    length: f64,
    /// How far the next modes should be from their centre.
    reach: Vec<f64>,
}

impl Around {
    fn climb(&self, top: f64, reach: &[f64]) -> Climb {
        let p = reach.len();
        let mut curvature = vec![0.0; p * p];
        let (mut slope, mut next) = (vec![0.0; p], vec![0.0; p]);
        for (k, [above, below]) in self.pairs.iter().enumerate() {
            let h = reach[k];
            slope[k] = (above.height - below.height) / (2.0 * h);
            let bend = (2.0 * top - above.height - below.height) / (h * h);
            // Where it is not curved, it is taken to be as wide as can be.
            let sd = bend.max(WIDEST.powi(-2)).sqrt().recip();
            curvature[k * p + k] = sd.powi(-2);
            next[k] = (REACH * sd).clamp(NARROWEST, WIDEST);
        }
        let alone = curvature.clone();
        for ([k, l], seen) in &self.both {
            let others = self.pairs[*k][0].height + self.pairs[*l][0].height;
            let bend = (others - top - seen.height) / (reach[*k] * reach[*l]);
            (curvature[k * p + l], curvature[l * p + k]) = (bend, bend);
        }
        let root = Triangle::root_of(curvature, p).or_else(|| Triangle::root_of(alone, p));
        let mut step = slope.clone();
        if let Some(root) = root {
            root.solve(&mut step);
            root.solve_transposed(&mut step);
        }
        for (s, h) in step.iter_mut().zip(reach) {
            *s = s.clamp(-4.0 * h, 4.0 * h);
        }
        Climb {
            length: inner(&slope, &step).max(0.0).sqrt(),
            step,
            reach: next,
        }
    }
}

/// The expansion from the modes around the top.
fn expansion(x: Vec<f64>, reach: Vec<f64>, top: Seen, around: Around) -> Option<Forecast> {
    let m = &top.centre;
    let mut terms: Vec<(Term, Vec<f64>)> = Vec::new();
    for (k, [above, below]) in around.pairs.iter().enumerate() {
        let both = above.centre.iter().zip(&below.centre);
        let line = both.clone().map(|(a, b)| 0.5 * (a - b)).collect();
        let bend = both.zip(m).map(|((a, b), m)| 0.5 * (a + b) - m).collect();
        terms.push((Term::Line(k), line));
        terms.push((Term::Product(k, k), bend));
    }
    for ([k, l], seen) in &around.both {
        let others = around.pairs[*k][0].centre.iter();
        let others = others.zip(&around.pairs[*l][0].centre).zip(m);
        let sums = others.map(|((a, b), m)| a + b - m);
        let product = seen.centre.iter().zip(sums).map(|(s, o)| s - o).collect();
        terms.push((Term::Product(*k, *l), product));
    }
    let mut all = terms.iter().flat_map(|(_, values)| values);
    all.all(|v| v.is_finite()).then_some(Forecast {
        x,
        reach,
        centre: top.centre,
        terms,
        root: top.root,
    })
}
