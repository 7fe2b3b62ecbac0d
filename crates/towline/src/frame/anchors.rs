//! Modes met in warm-up, frozen: where the search for the mode at some x begins.
//!
//! The linear frame says roughly where y is at x; where centres follow x along a curve, the nearest of these says it
//! much better, and a search from there is short. It remains a function of x alone.

use super::linear::Linear;
use crate::error::Error;
use crate::linalg::{Factor, SmallBuffer, squared_distance};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// So many are kept at most.
const MOST_ANCHORS: usize = 64;
/// Modes further from the centre than this, in standard deviations, are of no use.
const OUTLYING: f64 = 8.0;

/// Places in x, each with how far the mode of y lies off the linear frame there.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(from = "AnchorsParts")]
pub struct Anchors {
    /// The root of x's covariance, in whose units distances are taken.
    metric: Option<Factor>,
    points: Vec<Anchor>,
    /// The root of y's covariance given x, as it was seen at one mode: in its units a conditional has width 1 or so,
    /// while the linear frame's root also holds what no line follows.
    root: Option<Arc<Factor>>,
    /// All places; computed, never read.
    #[serde(skip)]
    places: Places,
}

/// Places in a list of their own, since a search begins with the nearest at every slow proposal.
#[derive(Debug, Clone, PartialEq)]
enum Places {
    /// Of one slow variable: in order, each with its number.
    Line(Vec<(f64, usize)>),
    /// Of several: one after another.
    Space(Vec<f64>),
}

impl Default for Places {
    fn default() -> Self {
        Self::Space(Vec::new())
    }
}

impl Places {
    fn new(points: &[Anchor]) -> Self {
        if points.iter().all(|anchor| anchor.w.len() == 1) {
            let numbered = points.iter().enumerate();
            let mut line: Vec<(f64, usize)> = numbered.map(|(k, a)| (a.w[0], k)).collect();
            line.sort_by(|a, b| a.0.total_cmp(&b.0));
            Self::Line(line)
        } else {
            Self::Space(
                points
                    .iter()
                    .flat_map(|anchor| &anchor.w)
                    .copied()
                    .collect(),
            )
        }
    }

    /// The number of the nearest, the first one where several are as near.
    fn nearest(&self, w: &[f64]) -> Option<usize> {
        match (self, w) {
            (Self::Line(line), &[w]) => {
                let (below, above) = line.split_at(line.partition_point(|(place, _)| *place < w));
                let distance = |place: f64| (place - w) * (place - w);
                let far = |end: Option<&(f64, usize)>| end.map_or(f64::INFINITY, |e| distance(e.0));
                let least = far(below.last()).min(far(above.first()));
                let mut nearest = usize::MAX;
                // Distances grow away from w on both sides, but rounding can make neighbours as near.
                for &(place, k) in below.iter().rev() {
                    if distance(place) > least {
                        break;
                    }
                    nearest = nearest.min(k);
                }
                for &(place, k) in above {
                    if distance(place) > least {
                        break;
                    }
                    nearest = nearest.min(k);
                }
                (least < f64::INFINITY).then_some(nearest)
            }
            (Self::Line(_), _) => None,
            (Self::Space(places), w) => {
                let (mut nearest, mut least) = (None, f64::INFINITY);
                for (k, place) in places.chunks_exact(w.len().max(1)).enumerate() {
                    let distance = squared_distance(place, w);
                    if distance < least {
                        (nearest, least) = (Some(k), distance);
                    }
                }
                nearest
            }
        }
    }
}

/// What is read of anchors.
#[derive(Deserialize)]
struct AnchorsParts {
    metric: Option<Factor>,
    points: Vec<Anchor>,
    root: Option<Arc<Factor>>,
}

impl From<AnchorsParts> for Anchors {
    fn from(parts: AnchorsParts) -> Self {
        Self {
            places: Places::new(&parts.points),
            metric: parts.metric,
            points: parts.points,
            root: parts.root,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Anchor {
    /// The place, whitened.
    w: Vec<f64>,
    /// The mode less the linear frame's centre.
    offset: Vec<f64>,
}

/// A mode of the conditional at some x.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Mode {
    pub x: Vec<f64>,
    pub y: Vec<f64>,
}

impl Anchors {
    /// None yet, but this root of y's covariance given x.
    pub(crate) fn scaled(root: Arc<Factor>) -> Self {
        Self {
            root: Some(root),
            ..Self::default()
        }
    }

    /// The root of y's covariance given x, where it is known.
    pub(crate) fn root(&self) -> Option<&Arc<Factor>> {
        self.root.as_ref()
    }

    /// A few of these modes, spread over the bulk of x (about `centre`, with this root of its covariance).
    pub(crate) fn spread(
        &self,
        modes: &[Mode],
        linear: &Linear,
        centre: &[f64],
        slow: &Factor,
    ) -> Self {
        let whiten = |x: &[f64]| {
            let mut w: Vec<f64> = x.to_vec();
            slow.solve(&mut w);
            w
        };
        let middle = whiten(centre);
        let near: Vec<(Vec<f64>, &Mode)> = modes
            .iter()
            .map(|mode| (whiten(&mode.x), mode))
            .filter(|(w, mode)| {
                squared_distance(w, &middle) < OUTLYING * OUTLYING
                    && mode.y.iter().all(|v| v.is_finite())
            })
            .collect();
        // Each next one is that which lies furthest from all before it, the middle first.
        let mut gaps: Vec<f64> = near
            .iter()
            .map(|(w, _)| -squared_distance(w, &middle))
            .collect();
        let mut points: Vec<Anchor> = Vec::new();
        while points.len() < MOST_ANCHORS {
            let Some(k) = (0..near.len()).max_by(|&a, &b| gaps[a].total_cmp(&gaps[b])) else {
                break;
            };
            if !points.is_empty() && gaps[k] <= 0.0 {
                break;
            }
            let (w, mode) = &near[k];
            let mut offset = mode.y.clone();
            for (value, m) in offset.iter_mut().zip(linear.centre_at(&mode.x)) {
                *value -= m;
            }
            for (gap, (other, _)) in gaps.iter_mut().zip(&near) {
                let new = squared_distance(other, w);
                *gap = if points.is_empty() { new } else { gap.min(new) };
            }
            points.push(Anchor {
                w: w.clone(),
                offset,
            });
        }
        Self {
            metric: (!points.is_empty()).then(|| slow.clone()),
            places: Places::new(&points),
            points,
            root: self.root.clone(),
        }
    }

    /// Moves the linear frame's centre at x by the offset of the nearest.
    pub(crate) fn correct(&self, x: &[f64], centre: &mut [f64]) {
        let Some(metric) = &self.metric else { return };
        let mut w = SmallBuffer::new(x.len());
        let w = w.as_mut();
        w.copy_from_slice(x);
        metric.solve(w);
        let nearest = self.places.nearest(w);
        if let Some(anchor) = nearest.and_then(|k| self.points.get(k)) {
            for (m, by) in centre.iter_mut().zip(&anchor.offset) {
                *m += by;
            }
        }
    }

    /// Everything in it, for a key.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = f64> + '_ {
        let metric = self.metric.iter().flat_map(|m| m.entries().iter().copied());
        let points = self.points.iter();
        let root = self.root.iter().flat_map(|r| r.entries().iter().copied());
        metric
            .chain(points.flat_map(|a| a.w.iter().chain(&a.offset).copied()))
            .chain(root)
    }

    /// Whether it fits so many variables.
    pub(crate) fn validate(&self, slow_dim: usize, fast_dim: usize) -> Result<(), Error> {
        let check = |what, expected, found| {
            if expected == found {
                Ok(())
            } else {
                Err(Error::Dimension {
                    what,
                    expected,
                    found,
                })
            }
        };
        if let Some(metric) = &self.metric {
            check("the metric of the anchors", slow_dim, metric.dim())?;
        }
        if let Some(root) = &self.root {
            check("the root of the anchors", fast_dim, root.dim())?;
        }
        for anchor in &self.points {
            check("the place of an anchor", slow_dim, anchor.w.len())?;
            check("the offset of an anchor", fast_dim, anchor.offset.len())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_centre_follows_a_curve_that_no_line_does() {
        let root = Factor::diagonal(&[0.1], "test").unwrap();
        let linear = Linear::new(vec![0.0], vec![0.0], vec![0.5], root).unwrap();
        let slow = Factor::diagonal(&[1.0], "test").unwrap();
        let curve = |x: f64| 10.0 * (2.0 * x).sin();
        let modes: Vec<Mode> = (0..400)
            .map(|k| f64::from(k) / 50.0 - 4.0)
            .map(|x| Mode {
                x: vec![x],
                y: vec![curve(x)],
            })
            .collect();
        let anchors = Anchors::default().spread(&modes, &linear, &[0.0], &slow);
        assert_eq!(anchors.points.len(), MOST_ANCHORS);
        for k in 0..100 {
            let x = 3.8 * f64::from(k) / 50.0 - 3.8;
            let mut centre = linear.centre_at(&[x]);
            anchors.correct(&[x], &mut centre);
            // Anchors are at most 0.13 apart, and the curve's slope is at most 20.
            assert!((centre[0] - curve(x)).abs() < 1.5, "{x}");
        }
    }

    #[test]
    fn on_a_line_the_nearest_is_found_as_by_looking_at_all() {
        let mut rng = crate::Rng::stream(8, 0);
        for count in [0, 1, 2, 7, 64] {
            // On a coarse grid, so that some are as near as others, and some the same.
            let mut coarse = || (4.0 * rng.normal()).round() / 4.0;
            let points: Vec<Anchor> = (0..count)
                .map(|_| Anchor {
                    w: vec![coarse()],
                    offset: Vec::new(),
                })
                .collect();
            let line = Places::new(&points);
            let all = Places::Space(points.iter().map(|anchor| anchor.w[0]).collect());
            for w in
                (0..200)
                    .map(|_| 0.5 * coarse())
                    .chain([1e300, f64::INFINITY, f64::NEG_INFINITY])
            {
                assert_eq!(line.nearest(&[w]), all.nearest(&[w]), "{w}");
            }
        }
    }

    #[test]
    fn without_modes_nothing_is_corrected() {
        let mut centre = [3.0];
        Anchors::default().correct(&[1.0], &mut centre);
        assert_eq!(centre, [3.0]);
    }
}
