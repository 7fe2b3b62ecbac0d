//! The Laplace frame: the mode of the conditional at x, and a root of its inverse curvature there.

mod coupled;
mod walls;

use super::anchors::Anchors;
use super::climb::{FIRST_STEP, Room, climb};
use super::linear::Linear;
use super::map::Frame;
use super::slope::{Origin, Slope};
use crate::error::Error;
use crate::linalg::{Factor, Inverse, Root, Storage, Stretched, hashed, symmetrise, transpose};
use crate::optimise::axes;
use crate::optimise::lbfgs::ascend;
use crate::target::{Scratch, Target};
pub(crate) use coupled::Coupled;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How the mode of ℓ(x, ·) is found at each x, and what serves as its curvature.
///
/// The search starts from the linear frame, moved by the nearest anchor where there are any, so it is a function
/// of x alone; and where it finds no mode that start stands: whole, never half of one and half of the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "LaplaceParts")]
pub struct Laplace {
    linear: Linear,
    curvature: Curvature,
    anchors: Arc<Anchors>,
    /// Computed, never read: a file in which something was changed must not keep its old key.
    #[serde(skip)]
    key: u64,
}

/// What is read of a Laplace frame.
#[derive(Deserialize)]
struct LaplaceParts {
    linear: Linear,
    curvature: Curvature,
    #[serde(default)]
    anchors: Arc<Anchors>,
}

impl From<LaplaceParts> for Laplace {
    fn from(parts: LaplaceParts) -> Self {
        Self::new(parts.linear, parts.curvature).anchored(parts.anchors)
    }
}

/// Whose curvature a Laplace frame has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Curvature {
    /// That of the conditional at its mode, found anew at each x: O(d²) fast evaluations, or the
    /// model's own.
    Local,
    /// The learned one of the linear frame; only the mode moves. For many fast variables.
    Learned,
    /// The target's own, with its own search: see [`Target::own_frame`].
    Own,
    /// The learned axes with widths of their own at each mode: 2d fast evaluations. For many fast variables.
    Axes,
    /// Widths along the variables themselves, where the mode lies at walls beyond which there is no mass.
    Walls,
}

impl Curvature {
    /// As a number, to send to other chains.
    pub(crate) fn number(self) -> f64 {
        match self {
            Self::Local => 0.0,
            Self::Learned => 1.0,
            Self::Own => 2.0,
            Self::Axes => 3.0,
            Self::Walls => 4.0,
        }
    }

    /// From such a number.
    pub(crate) fn from_number(number: f64) -> Self {
        match number {
            1.0 => Self::Learned,
            2.0 => Self::Own,
            3.0 => Self::Axes,
            4.0 => Self::Walls,
            _ => Self::Local,
        }
    }
}

/// What a search found.
pub(crate) struct Searched {
    pub frame: Frame,
    /// ℓ(x, m(x)) + ln|det L(x)|: Laplace's estimate of the log marginal, up to a constant.
    pub log_marginal: Option<f64>,
    pub evaluations: u64,
    /// A place with mass where a search nearby may begin; the centre of the frame is one, but where it lies at a wall.
    pub inside: Option<Vec<f64>>,
}

impl Searched {
    /// Where a search nearby may begin.
    pub fn begin(&self) -> Option<&[f64]> {
        match (&self.inside, &self.frame) {
            (Some(inside), _) => Some(inside),
            (None, Frame::Affine { centre, .. }) => Some(centre),
            (None, Frame::Identity) => None,
        }
    }
}

impl Laplace {
    /// Frames that start their search from this linear one.
    pub fn new(linear: Linear, curvature: Curvature) -> Self {
        let laplace = Self {
            linear,
            curvature,
            anchors: Arc::default(),
            key: 0,
        };
        laplace.anchored(Arc::default())
    }

    /// The same, but searches begin where the nearest of these anchors says.
    #[must_use]
    pub fn anchored(mut self, anchors: Arc<Anchors>) -> Self {
        self.anchors = anchors;
        let numbers = hashed(self.linear.key(), self.anchors.numbers());
        self.key = numbers.wrapping_add(match self.curvature {
            Curvature::Local => 1,
            Curvature::Learned => 2,
            Curvature::Own => 3,
            Curvature::Axes => 4,
            Curvature::Walls => 5,
        });
        self
    }

    /// The linear frame to start from and to fall back on.
    pub fn linear(&self) -> &Linear {
        &self.linear
    }

    /// Whose curvature it has.
    pub fn curvature(&self) -> Curvature {
        self.curvature
    }

    /// Rules that search from different places, or differently, must not be taken for each other.
    pub(crate) fn key(&self) -> u64 {
        self.key
    }

    pub(crate) fn validate(&self, slow_dim: usize, fast_dim: usize) -> Result<(), Error> {
        self.linear.validate(slow_dim, fast_dim)?;
        self.anchors.validate(slow_dim, fast_dim)
    }

    /// The root in whose units the search is made, and that stands where none is found.
    fn root(&self) -> &Arc<Factor> {
        self.anchors.root().unwrap_or(self.linear.root())
    }

    /// The frame at x.
    pub(crate) fn find<T: Target>(
        &self,
        target: &T,
        x: &[f64],
        cache: &T::Cache,
        scratch: &mut Scratch,
    ) -> Searched {
        self.find_in(target, x, cache, scratch, &mut Room::default(), None)
    }

    /// The frame at x, in the memory of one that is no longer needed.
    pub(crate) fn find_in<T: Target>(
        &self,
        target: &T,
        x: &[f64],
        cache: &T::Cache,
        scratch: &mut Scratch,
        room: &mut Room,
        used: Option<Frame>,
    ) -> Searched {
        let dim = self.linear.fast_dim();
        if dim == 0 {
            return Searched {
                frame: Frame::Identity,
                log_marginal: Some(target.log_density_in(cache, &[], scratch)),
                evaluations: 1,
                inside: None,
            };
        }
        match self.curvature {
            // A slope would cross walls that stand still: modes are counted from one place.
            Curvature::Walls => room.centre.copy(self.linear.centre()),
            _ => self.linear.centre_into(x, &mut room.centre),
        }
        self.anchors.correct(x, &mut room.centre);
        if self.curvature == Curvature::Own {
            let linear = self.start_at(&room.centre);
            return own(target, cache, linear, scratch);
        }
        room.fit(dim);
        if self.curvature == Curvature::Walls {
            return self.at_walls(target, x, cache, scratch, room);
        }
        let (found, evaluations) = if self.curvature == Curvature::Local {
            let (height, evaluations) = climb(target, cache, self.root(), scratch, room);
            let (y, rows) = (&room.y, &mut room.rows);
            let found = height.and_then(|height| self.local(height, y, rows, used));
            (found, evaluations)
        } else {
            let (centre, root) = (&room.centre[..], &**self.root());
            let begin = Origin { centre, root };
            let mut slope = Slope::new((target, cache, begin), begin, scratch, &mut room.y);
            let found = if self.curvature == Curvature::Axes {
                let top = axes::climb(&mut slope, &room.origin);
                top.and_then(|top| {
                    slope.centre_at(&top.at);
                    let frame = self.along_axes(slope.y, &top.curvatures);
                    let log_marginal = top.height + frame.usable_log_det()?;
                    Some((frame, log_marginal))
                })
            } else {
                let top = ascend(&mut slope, &room.origin, FIRST_STEP);
                top.and_then(|(top, height)| {
                    slope.centre_at(&top);
                    let frame = self.start_in(slope.y, used);
                    let log_marginal = height + frame.usable_log_det()?;
                    Some((frame, log_marginal))
                })
            };
            (found, slope.evaluations)
        };
        match found {
            Some((frame, log_marginal)) => Searched {
                frame,
                log_marginal: Some(log_marginal),
                evaluations,
                inside: None,
            },
            None => Searched {
                frame: self.start_at(&room.centre),
                log_marginal: None,
                evaluations,
                inside: None,
            },
        }
    }

    /// A frame with this centre and the root in whose units the search is made.
    fn start_at(&self, centre: &[f64]) -> Frame {
        self.start_in(centre, None)
    }

    /// The same in the memory of one that is no longer needed.
    fn start_in(&self, at: &[f64], used: Option<Frame>) -> Frame {
        let (mut centre, root) = match used {
            Some(Frame::Affine { centre, root }) => (centre, Some(root)),
            _ => Default::default(),
        };
        centre.copy(at);
        let root = root.filter(|root| root.is(self.root()));
        let root = root.unwrap_or_else(|| Root::Lower(self.root().clone()));
        Frame::Affine { centre, root }
    }

    /// A frame with this centre and the axes of the root in whose units the search is made, as wide as these curvatures say.
    fn along_axes(&self, centre: &[f64], curvatures: &[f64]) -> Frame {
        let widths = curvatures.iter().map(|c| 1.0 / c.sqrt()).collect();
        Frame::Affine {
            centre: centre.to_vec(),
            root: Root::Stretched(Arc::new(Stretched::new(self.root().clone(), widths))),
        }
    }

    /// The frame at a peak y = m + L₀u of this height, with its curvature H in u: in y that is L₀⁻ᵀ H L₀⁻¹.
    fn local(
        &self,
        height: f64,
        y: &[f64],
        rows: &mut [f64],
        used: Option<Frame>,
    ) -> Option<(Frame, f64)> {
        let dim = y.len();
        for row in rows.chunks_mut(dim) {
            self.root().solve_transposed(row);
        }
        transpose(rows, dim);
        for column in rows.chunks_mut(dim) {
            self.root().solve_transposed(column);
        }
        symmetrise(rows, dim);
        let (mut centre, mut inverse) = match used {
            Some(Frame::Affine {
                centre,
                root: Root::Inverted(inverse),
            }) => (centre, inverse),
            _ => Default::default(),
        };
        let definite = match Arc::get_mut(&mut inverse) {
            Some(free) => free.refill(rows, dim),
            None => {
                let mut fresh = Inverse::default();
                let definite = fresh.refill(rows, dim);
                inverse = Arc::new(fresh);
                definite
            }
        };
        if !definite {
            return None;
        }
        centre.copy(y);
        let frame = Frame::Affine {
            centre,
            root: Root::Inverted(inverse),
        };
        let log_marginal = height + frame.usable_log_det()?;
        Some((frame, log_marginal))
    }
}

/// What the target finds by itself from the linear frame's centre; the linear frame where it finds nothing.
fn own<T: Target>(target: &T, cache: &T::Cache, linear: Frame, scratch: &mut Scratch) -> Searched {
    let hint: &[f64] = match &linear {
        Frame::Affine { centre, .. } => centre,
        Frame::Identity => &[],
    };
    match target.own_frame(cache, hint, scratch) {
        Some(own) => {
            let frame = Frame::Affine {
                centre: own.centre,
                root: own.root,
            };
            let usable = frame.usable_log_det().is_some() && own.log_marginal.is_finite();
            Searched {
                frame: if usable { frame } else { linear },
                log_marginal: usable.then_some(own.log_marginal),
                evaluations: if usable { own.evaluations } else { 1 },
                inside: None,
            }
        }
        None => Searched {
            frame: linear,
            log_marginal: None,
            evaluations: 1,
            inside: None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::erased::{AnyTarget, Erased};
    use crate::fast::CrankNicolson;
    use crate::testing::{Neal1, Neal2};
    use crate::{Chain, Drag, FastMove, FrameRule, Rng, SlowProposal};

    fn rough(fast: usize) -> Linear {
        let root = Factor::diagonal(&vec![0.3; fast], "test").unwrap();
        Linear::new(vec![0.0], vec![0.0; fast], vec![0.5; fast], root).unwrap()
    }

    #[test]
    fn the_frame_of_a_gaussian_conditional_is_its_mean_and_sd() {
        let rule = Laplace::new(rough(1), Curvature::Local);
        for x in [-2.0, 0.0, 0.7, 3.0f64] {
            let cache = Neal1.prepare(&[x]).unwrap().unwrap();
            let found = rule.find(&Neal1, &[x], &cache, &mut Scratch::default());
            let mut y = [0.0];
            found.frame.to_y(&[0.0], &mut y);
            let sd = 0.1 / (1.0 + x * x);
            assert!((y[0] - x.sin()).abs() < 0.05 * sd);
            assert!((found.frame.log_det() - sd.ln()).abs() < 1e-3);
            let expected = -x * x - (1.0 + x * x).ln() + 0.1f64.ln();
            assert!((found.log_marginal.unwrap() - expected).abs() < 2e-3);
        }
    }

    #[test]
    fn a_framed_drag_reaches_the_marginal_ideal_with_few_fast_evaluations() {
        for (fast, most) in [(1, 14.0), (2, 22.0)] {
            let frame = FrameRule::Laplace(Box::new(Laplace::new(rough(fast), Curvature::Local)));
            let inner = FastMove::CrankNicolson(CrankNicolson::new(1.0));
            let proposal = SlowProposal::random_walk(&[1.0]).unwrap();
            let drag = Drag::new(1, proposal, inner).unwrap().in_frame(frame);
            let (x, y) = ([0.0], vec![0.0; fast]);
            let rng = Rng::stream(5, 0);
            let mut rejected = 0;
            let steps = 100_000;
            let totals = if fast == 1 {
                let mut chain =
                    Chain::new(&Erased(&Neal1) as &AnyTarget, drag, &x, &y, rng).unwrap();
                for _ in 0..steps {
                    rejected += 1 - chain.advance().unwrap().outer_accepted;
                }
                chain.totals()
            } else {
                let mut chain =
                    Chain::new(&Erased(&Neal2) as &AnyTarget, drag, &x, &y, rng).unwrap();
                for _ in 0..steps {
                    rejected += 1 - chain.advance().unwrap().outer_accepted;
                }
                chain.totals()
            };
            // Marginal Metropolis rejects 47.18 %; 0.4 % is some four standard errors.
            let share = rejected as f64 / steps as f64;
            assert!((share - 0.4718).abs() < 0.005, "{share}");
            let cost = totals.fast_evaluations as f64 / totals.slow_evaluations as f64;
            assert!(cost < most, "{cost}");
            println!(
                "{fast}: rejected {share}, fast per slow {cost}, failures {}",
                totals.frame_failures
            );
        }
    }
}
