//! Walls: half-spaces in which no visit found mass, while it has company on their other side.
//!
//! A smooth fit to what was found goes on beyond a wall, and proposes in vain there. A face is put between the points with mass and
//! those without: the flat that leaves the widest gap to both.

use super::limits::{FACE_COMPANY, FACE_EXACT, FACE_ROUNDS, FACE_TRIES};
use serde::{Deserialize, Serialize};

/// A half-space of whitened points: those further along its normal than its offset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Face {
    normal: Vec<f64>,
    offset: f64,
}

impl Face {
    /// Whether a point is beyond it.
    #[inline]
    pub fn bars(&self, w: &[f64]) -> bool {
        dot(&self.normal, w) >= self.offset
    }

    pub fn fits(&self, dim: usize) -> bool {
        self.normal.len() == dim
            && self.offset.is_finite()
            && self.normal.iter().all(|v| v.is_finite())
    }
}

/// Faces between points with mass and those without, as few as do; points that no flat parts from those with mass stay on this side.
pub(super) fn find(with: &[&[f64]], without: &[&[f64]]) -> Vec<Face> {
    let Some(dim) = with.first().map(|w| w.len()) else {
        return Vec::new();
    };
    let mut left: Vec<&[f64]> = without.to_vec();
    let mut faces = Vec::new();
    while faces.len() < 2 * dim + 2 && left.len() >= FACE_COMPANY {
        let stride = left.len().div_ceil(FACE_TRIES).max(1);
        let mut best: Option<(usize, Vec<f64>)> = None;
        for point in left.iter().step_by(stride) {
            let Some(normal) = between(with, &[point], 0) else {
                continue;
            };
            let edge = furthest(with, &normal);
            let count = left.iter().filter(|w| dot(&normal, w) > edge).count();
            if best.as_ref().is_none_or(|(most, _)| count > *most) {
                best = Some((count, normal));
            }
        }
        let Some((count, rough)) = best.filter(|(count, _)| *count >= FACE_COMPANY) else {
            break;
        };
        let edge = furthest(with, &rough);
        let barred = |normal: &[f64], edge: f64| -> Vec<&[f64]> {
            let beyond = left.iter().filter(|w| dot(normal, w) > edge);
            beyond.copied().collect()
        };
        let mut normal = rough;
        if let Some(better) = between(with, &barred(&normal, edge), 1) {
            let edge = furthest(with, &better);
            // Rounds that end early may leave it crossing the points that it was to part.
            if barred(&better, edge).len() >= count {
                normal = better;
            }
        }
        let edge = furthest(with, &normal);
        let beyond = left.iter().map(|w| dot(&normal, w)).filter(|at| *at > edge);
        let offset = beyond.fold(f64::INFINITY, f64::min);
        let face = Face { normal, offset };
        left.retain(|w| !face.bars(w));
        faces.push(face);
    }
    faces
}

/// How far points reach along a normal.
fn furthest(points: &[&[f64]], normal: &[f64]) -> f64 {
    let along = points.iter().map(|w| dot(normal, w));
    along.fold(f64::NEG_INFINITY, f64::max)
}

/// The direction of the shortest way from the hull of some points to that of others (Gilbert's rounds), roughly (0) or
/// nearly (1); nothing where they meet.
fn between(from: &[&[f64]], to: &[&[f64]], stage: usize) -> Option<Vec<f64>> {
    let dim = from[0].len();
    let mut way: Vec<f64> = to[0].iter().zip(from[0]).map(|(t, f)| t - f).collect();
    let nearest = |points: &[&[f64]], way: &[f64], sign: f64| -> usize {
        let mut best = (f64::INFINITY, 0);
        for (k, w) in points.iter().enumerate() {
            let along = sign * dot(way, w);
            if along < best.0 {
                best = (along, k);
            }
        }
        best.1
    };
    for _ in 0..FACE_ROUNDS[stage] {
        let (t, f) = (nearest(to, &way, 1.0), nearest(from, &way, -1.0));
        let corner: Vec<f64> = (0..dim).map(|i| to[t][i] - from[f][i]).collect();
        let step: Vec<f64> = corner.iter().zip(&way).map(|(c, w)| c - w).collect();
        let length = dot(&step, &step);
        let gain = -dot(&way, &step);
        // What may still be gained, as a share of the way.
        if gain <= FACE_EXACT[stage] * dot(&way, &way) || length <= 0.0 {
            break;
        }
        let share = (gain / length).min(1.0);
        way.iter_mut().zip(&step).for_each(|(w, s)| *w += share * s);
    }
    let length = dot(&way, &way).sqrt();
    if length.is_nan() || length < 1e-6 {
        return None;
    }
    way.iter_mut().for_each(|w| *w /= length);
    let least = to
        .iter()
        .map(|w| dot(&way, w))
        .fold(f64::INFINITY, f64::min);
    (least > furthest(from, &way)).then_some(way)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Rng;

    /// Uniform points of a square, those within a triangle of it apart.
    fn triangle() -> (Vec<Vec<f64>>, Vec<Vec<f64>>) {
        let mut rng = Rng::stream(3, 0);
        let point = || vec![3.0 * rng.uniform() - 1.0, 3.0 * rng.uniform() - 1.0];
        let points: Vec<Vec<f64>> = std::iter::repeat_with(point).take(900).collect();
        points
            .into_iter()
            .partition(|w| w[0] > 0.0 && w[1] > 0.0 && w[0] + w[1] < 1.0)
    }

    #[test]
    fn three_faces_make_a_triangle() {
        let (with, without) = triangle();
        let (with, without): (Vec<&[f64]>, Vec<&[f64]>) = (
            with.iter().map(Vec::as_slice).collect(),
            without.iter().map(Vec::as_slice).collect(),
        );
        let faces = find(&with, &without);
        assert!((3..=6).contains(&faces.len()), "{faces:?}");
        let barred = |w: &[f64]| faces.iter().any(|face| face.bars(w));
        assert!(with.iter().all(|w| !barred(w)));
        // What is too little for another face stays on this side.
        let missed = without.iter().filter(|w| !barred(w)).count();
        assert!(missed < FACE_COMPANY, "{missed}");
        assert!(faces.iter().all(|face| face.fits(2)));
        // Fresh points: nearly all are on the right side.
        let mut rng = Rng::stream(4, 0);
        let mut wrong = 0;
        for _ in 0..3000 {
            let w = [3.0 * rng.uniform() - 1.0, 3.0 * rng.uniform() - 1.0];
            let within = w[0] > 0.0 && w[1] > 0.0 && w[0] + w[1] < 1.0;
            wrong += u32::from(within == barred(&w));
        }
        assert!(wrong < 90, "{wrong}");
    }

    #[test]
    fn an_island_without_mass_has_no_face() {
        let mut rng = Rng::stream(5, 0);
        let point = || vec![rng.normal(), rng.normal()];
        let points: Vec<Vec<f64>> = std::iter::repeat_with(point).take(500).collect();
        let (without, with): (Vec<_>, Vec<_>) = points
            .into_iter()
            .partition(|w| w[0].hypot(w[1] - 0.3) < 0.4);
        let with: Vec<&[f64]> = with.iter().map(Vec::as_slice).collect();
        let without: Vec<&[f64]> = without.iter().map(Vec::as_slice).collect();
        assert!(without.len() > 20);
        assert_eq!(find(&with, &without), Vec::new());
    }
}
