//! Visited points made ready for fitting: clean, whitened, weighted towards the bulk.

use super::faces::{self, Face};
use super::limits::{
    BARRED_DEPTH, BULK_SHARE, COMPANY_SHARE, FACE_FALL, FACE_MOST_SLOW, FIT_REACH, HOPELESS,
    MANY_SLOW, RADIUS_SHARE, TAIL_FROM, WEIGHT_RATE,
};
use crate::linalg::Factor;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ChiSquared, ContinuousCDF};

/// A slow evaluation of warm-up: a point, and an estimate of the log marginal density there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Visit {
    /// The slow variables.
    pub x: Vec<f64>,
    /// log π̂(x), up to a constant that is the same at every point; −∞ where there is no mass.
    pub log_marginal: f64,
}

/// How far a fit is to be good.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Extent {
    /// The bulk reaches so many times as far down as draws do: visits came from the marginal raised to the power one over this.
    pub heat: f64,
    /// It is followed out to so many times the distance of what was seen: above one while exploring, which then goes there.
    pub reach: f64,
    /// Whether it may be in several parts: not where coordinates were bent to make it one.
    pub mixed: bool,
    /// Whether its coordinates may be bent or warped.
    pub curved: bool,
    /// Whether it is to make proposals, whose chain is then tuned: while exploring, a rough look is enough.
    pub thorough: bool,
}

/// One point that takes part in the fit.
#[derive(Debug, Clone)]
pub(super) struct Sample {
    /// L⁻¹ (x − centre).
    pub w: Vec<f64>,
    /// |w|.
    pub distance: f64,
    /// log π̂ less `top`, plus |w|²/2: what a correction has to explain.
    pub wanted: f64,
    pub weight: f64,
    /// Whether it is in the (heated) bulk.
    pub inner: bool,
}

/// All points that take part in the fit, and what they say about the extent of the bulk.
#[derive(Debug, Clone)]
pub(super) struct Samples {
    pub dim: usize,
    /// How hot the marginal was that the points came from.
    pub heat: f64,
    pub list: Vec<Sample>,
    /// The log density that the mode is guessed to have.
    pub top: f64,
    /// Points without mass, or hopelessly far down, as if they lay just below the bulk: a fit must not claim mass there.
    pub barred: Vec<Sample>,
    /// Walls, beyond which such points are not among those above.
    pub faces: Vec<Face>,
    /// Points beyond the radius, whitened, with their log densities: what tails look like.
    pub tails: Vec<(Vec<f64>, f64)>,
    /// How far below the mode the (heated) bulk reaches.
    pub depth: f64,
    /// The distance within which the correction is followed.
    pub radius: f64,
}

impl Samples {
    /// `None` where too few points remain to say anything.
    ///
    /// With `heat` above one the bulk reaches that much further down: what is fitted is good well beyond where draws fall.
    pub fn new(
        visits: &[Visit],
        centre: &[f64],
        factor: &Factor,
        Extent { heat, reach, .. }: Extent,
    ) -> Option<Self> {
        let dim = centre.len();
        if dim == 0 || factor.dim() != dim {
            return None;
        }
        let points = distinct(visits, dim);
        // A Gaussian in `dim` dimensions stands in for the shape of the bulk.
        let chi_squared = ChiSquared::new(dim as f64).ok()?;
        let bulk = 0.5 * chi_squared.inverse_cdf(BULK_SHARE);
        let depth = heat * bulk;
        let best = best_with_company(&points, depth + HOPELESS, dim)?;
        // The best of n draws is itself below the mode.
        let top = best + 0.5 * chi_squared.inverse_cdf(1.0 / points.len() as f64);

        let sample = |x: &[f64], below: f64| {
            let mut w: Vec<f64> = x.iter().zip(centre).map(|(x, c)| x - c).collect();
            factor.solve(&mut w);
            let square: f64 = w.iter().map(|v| v * v).sum();
            Sample {
                w,
                distance: square.sqrt(),
                wanted: 0.5 * square - below,
                weight: (-WEIGHT_RATE / heat * (below - bulk).max(0.0)).exp(),
                inner: below <= depth,
            }
        };
        let mut list: Vec<Sample> = points
            .iter()
            .filter(|visit| (top - depth - HOPELESS..=top + depth).contains(&visit.log_marginal))
            .map(|visit| sample(&visit.x, top - visit.log_marginal))
            .filter(|sample| sample.distance.is_finite())
            .collect();
        let mut barred: Vec<Sample> = visits
            .iter()
            .filter(|visit| visit.x.len() == dim && visit.log_marginal < top - depth - HOPELESS)
            .map(|visit| sample(&visit.x, depth + BARRED_DEPTH))
            .filter(|sample| sample.distance.is_finite())
            .collect();
        let mut distances: Vec<f64> = list
            .iter()
            .filter(|sample| sample.inner)
            .map(|sample| sample.distance)
            .collect();
        if distances.len() < dim + 2 {
            return None;
        }
        distances.sort_by(f64::total_cmp);
        let seen = distances[((distances.len() - 1) as f64 * RADIUS_SHARE) as usize];
        let mut radius = reach * seen;
        if reach > 1.0 && dim > MANY_SLOW {
            // Differences about the mode lie far inside the shell in which draws will be: go there at once.
            radius = radius.max((heat * chi_squared.inverse_cdf(0.5)).sqrt());
        }
        let tails = points
            .iter()
            .map(|visit| (sample(&visit.x, 0.0), visit.log_marginal - top))
            .filter(|(seen, _)| seen.distance > TAIL_FROM * radius && seen.distance.is_finite())
            .map(|(seen, log)| (seen.w, log))
            .collect();
        let near = |sample: &Sample| sample.distance <= FIT_REACH.max(reach) / reach * radius;
        list.retain(near);
        barred.retain(near);
        let faces = if dim <= FACE_MOST_SLOW {
            let with: Vec<&[f64]> = list.iter().map(|sample| &sample.w[..]).collect();
            let massless = visits.iter().filter(|visit| {
                visit.x.len() == dim && visit.log_marginal < top - depth - FACE_FALL
            });
            // Far out even a normal tail is without mass, and with several variables lies hardly beyond what has mass as seen along most normals: no wall is
            // told by that.
            let without: Vec<Vec<f64>> = massless
                .map(|visit| sample(&visit.x, 0.0))
                .filter(|sample| sample.distance.is_finite() && (dim == 1 || near(sample)))
                .map(|sample| sample.w)
                .collect();
            let without: Vec<&[f64]> = without.iter().map(Vec::as_slice).collect();
            faces::find(&with, &without)
        } else {
            Vec::new()
        };
        barred.retain(|sample| !faces.iter().any(|face| face.bars(&sample.w)));
        (radius > 0.0).then_some(Self {
            dim,
            heat,
            list,
            barred,
            faces,
            tails,
            top,
            depth,
            radius,
        })
    }

    /// The points whose error is what a candidate is judged by: where the correction is followed.
    pub fn inside(&self) -> impl Iterator<Item = (usize, &Sample)> {
        let radius = self.radius;
        self.list
            .iter()
            .enumerate()
            .filter(move |(_, sample)| sample.distance <= radius)
    }
}

/// The finite visits, each x once (a second copy would sit in another fold and flatter the fit).
fn distinct(visits: &[Visit], dim: usize) -> Vec<&Visit> {
    let mut seen = std::collections::HashSet::new();
    visits
        .iter()
        .filter(|visit| {
            visit.x.len() == dim
                && visit.log_marginal.is_finite()
                && visit.x.iter().all(|v| v.is_finite())
        })
        // Adding zero makes −0 and 0 the same bits.
        .filter(|visit| {
            seen.insert(
                visit
                    .x
                    .iter()
                    .map(|v| (v + 0.0).to_bits())
                    .collect::<Vec<_>>(),
            )
        })
        .collect()
}

/// The highest value that has others within reach below it: one failed estimate must not pass for the mode.
fn best_with_company(points: &[&Visit], reach: f64, dim: usize) -> Option<f64> {
    let mut values: Vec<f64> = points.iter().map(|visit| visit.log_marginal).collect();
    values.sort_by(|a, b| b.total_cmp(a));
    let company = (dim + 2).max((COMPANY_SHARE * values.len() as f64) as usize);
    (0..values.len())
        .find(|&k| {
            values
                .get(k + company - 1)
                .is_some_and(|value| values[k] - value <= reach)
        })
        .map(|k| values[k])
}
