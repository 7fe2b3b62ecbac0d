//! The drag written a second time, plainly, with a switch for each known way of getting it wrong.
//!
//! Without a defect it is the production drag, entry by entry of the matrix (`defects` checks that), so
//! a defect is one change to something right.

use crate::fast::between::Between;
use crate::fast::density::FastDensity;
use crate::fast::ends::Ends;
use crate::fast::moves::FastMove;
use crate::fast::step::{Move, Point, Work};
use crate::frame::Frame;
use crate::frame::view::Framed;
use crate::kernel::state::{State, Workspace, prepare};
use crate::random::Rng;
use crate::slow::proposal::SlowProposal;
use crate::target::Target;

/// A mistake that a dragging sampler can make; six of them were found in other samplers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Defect {
    None,
    /// n terms divided by n − 1.
    WrongDivisor,
    /// The term of yₙ₋₁ is left out of the sum.
    LastDropped,
    /// After acceptance the density of (x*, y₀) is stored with y* = yₙ₋₁.
    UndraggedDensityStored,
    /// Inner moves along coordinates A, B, A, B …, an even number of them.
    FixedOrder,
    /// The scan starts at a random coordinate, but only once: it goes on in the next outer step.
    ScanCarriedOver,
    /// The last component of an inner step is never negative.
    FixedSign,
    /// S(x|x*)/S(x*|x) is taken to be 1.
    NoProposalRatio,
    /// Weights i and n − i exchanged: dragged from the new x to the old.
    EndsSwapped,
    /// After acceptance the cache is still that of the old x.
    StaleCache,
    /// The increment of a periodic variable, not the variable, is wrapped into its period.
    WrappedIncrement,
    /// y₀ is kept with x*, and the density of yₙ₋₁ with it.
    UndraggedReturned,
    /// ρᵢ at i/(n+1): the schedule is not its own mirror image.
    LopsidedSchedule,
    /// Inner steps that grow with i: Tᵢ is not Tₙ₋ᵢ.
    GrowingSteps,
    /// The frames' determinants are left out.
    NoJacobian,
    /// The frame is chosen by the current y.
    FrameSeesY,
    /// Of two paths one is taken at random, and accepted by the mean of both ratios.
    NaiveAverage,
    /// After an inner rejection the rejected point's densities are kept.
    RejectedValueKept,
    /// After an outer rejection y stays where it was dragged.
    DraggedThoughRejected,
    /// The term of y₀ is left out, and that of yₙ₋₁ counted twice.
    FirstDropped,
}

/// What a sampler with a hidden counter carries from one outer step to the next.
#[derive(Debug, Clone)]
pub(super) struct Memory {
    first_coordinate: Option<usize>,
}

impl Memory {
    /// That of a chain which has not taken a step.
    pub const FRESH: Self = Self {
        first_coordinate: None,
    };

    /// A scan that has begun with this coordinate.
    pub const fn at(coordinate: usize) -> Self {
        Self {
            first_coordinate: Some(coordinate),
        }
    }
}

/// A drag with a defect.
pub(super) struct Reference {
    pub n: usize,
    pub proposal: SlowProposal,
    pub inner: FastMove,
    /// The size of inner steps, where the defect replaces the inner move.
    pub scale: f64,
    pub frame: fn(&[f64]) -> Frame,
    pub defect: Defect,
}

/// What a step did, for a reader.
#[derive(Debug, Default)]
pub(super) struct Trace {
    /// y₀ … yₙ₋₁ (in the frame); empty where x* has no mass.
    pub path: Vec<Vec<f64>>,
    pub x_proposed: Vec<f64>,
    pub log_s: f64,
}

/// The end of a path: z, its densities at both ends, and the mean difference.
struct Dragged {
    z: Vec<f64>,
    value: Ends,
    mean: f64,
    path: Vec<Vec<f64>>,
}

/// The period of `WrappedIncrement`.
const PERIOD: f64 = 4.0;

/// The frame that `FrameSeesY` uses: exact if the shift were fixed.
fn frame_seeing(x: &[f64], y: &[f64]) -> Frame {
    let shift = if y[0] > 0.5 { x[0] } else { 0.0 };
    let unit = crate::Factor::diagonal(&vec![1.0; y.len()], "test").unwrap();
    Frame::Affine {
        centre: vec![shift; y.len()],
        root: crate::linalg::Root::Lower(std::sync::Arc::new(unit)),
    }
}

/// No frame.
pub(super) fn identity(_: &[f64]) -> Frame {
    Frame::Identity
}

impl Reference {
    pub fn step<T: Target>(
        &self,
        target: &T,
        state: &mut State<T::Cache>,
        memory: &mut Memory,
        work: &mut Workspace,
        rng: &mut Rng,
    ) -> Trace {
        let mut log_s = self.proposal.propose(&state.slow.x, &mut work.x, rng);
        let mut trace = Trace {
            x_proposed: work.x.clone(),
            log_s,
            ..Trace::default()
        };
        if self.defect == Defect::NoProposalRatio {
            log_s = 0.0;
        }
        let Some(mut proposed) = prepare(target, &work.x).unwrap() else {
            return trace;
        };
        let frame = |x: &[f64]| match self.defect {
            Defect::FrameSeesY => frame_seeing(x, &state.y),
            _ => (self.frame)(x),
        };
        let (here, there) = (frame(&state.slow.x), frame(&proposed.x));
        here.to_z(&state.y, &mut work.z, &mut work.spare);
        let start = work.z.clone();

        let from = state.slow.end(target, &here);
        let to = proposed.end(target, &there);
        let mut between =
            Between::new(from, to, [Framed(&here), Framed(&there)], &mut work.buffers);
        let value = Ends {
            from: state.log_density,
            to: between.value_at_proposed_end(&start),
        };
        let mut run = |rng: &mut Rng| self.drag(&mut between, &start, value, memory, rng);
        let mut dragged = run(rng);
        let mut mean = dragged.mean;
        if self.defect == Defect::NaiveAverage {
            let other = run(rng);
            mean = ((mean.exp() + other.mean.exp()) / 2.0).ln();
            if rng.index(2) == 1 {
                dragged = other;
            }
        }
        let log_jacobian = match self.defect {
            Defect::NoJacobian => 0.0,
            _ => there.log_det() - here.log_det(),
        };
        if rng.accept(log_s + mean + log_jacobian) {
            state.log_density = match self.defect {
                Defect::UndraggedDensityStored => value.to,
                _ => dragged.value.to,
            };
            match self.defect {
                Defect::UndraggedReturned => there.to_y(&start, &mut state.y),
                _ => there.to_y(&dragged.z, &mut state.y),
            }
            if self.defect == Defect::StaleCache {
                std::mem::swap(&mut state.slow.cache, &mut proposed.cache);
            }
            state.slow = proposed;
        } else if self.defect == Defect::DraggedThoughRejected {
            here.to_y(&dragged.z, &mut state.y);
            state.log_density = dragged.value.from;
        }
        trace.path = dragged.path;
        trace
    }

    fn drag<T: Target>(
        &self,
        between: &mut Between<'_, T, Framed<'_>>,
        start: &[f64],
        value: Ends,
        memory: &mut Memory,
        rng: &mut Rng,
    ) -> Dragged {
        let n = self.n;
        let mut z = start.to_vec();
        let mut work = Work::new(z.len());
        let mut value = value;
        let mut terms = vec![value.to - value.from];
        let mut path = vec![z.clone()];
        if terms[0] > f64::NEG_INFINITY {
            for i in 1..n {
                match self.defect {
                    Defect::EndsSwapped => between.set(n - i, n),
                    Defect::LopsidedSchedule => between.set(i, n + 1),
                    _ => between.set(i, n),
                }
                let mut point = Point { at: &mut z, value };
                match self.increment(i, point.at.len(), memory, rng) {
                    Some(by) => self.metropolis(between, &mut point, &by, rng),
                    None => {
                        self.inner.step(between, &mut point, &mut work, rng);
                    }
                }
                value = point.value;
                terms.push(value.to - value.from);
                path.push(z.clone());
            }
        }
        let last = *terms.last().unwrap();
        let sum: f64 = terms.iter().sum();
        let mean = match self.defect {
            Defect::WrongDivisor => sum / (n - 1) as f64,
            Defect::LastDropped => (sum - last) / n as f64,
            Defect::FirstDropped => (sum - terms[0] + last) / n as f64,
            _ => sum / n as f64,
        };
        Dragged {
            z,
            value,
            // Where the start has no mass at x*, no defect makes up for that.
            mean: if terms[0] == f64::NEG_INFINITY {
                f64::NEG_INFINITY
            } else {
                mean
            },
            path,
        }
    }

    /// The step that a defect makes in place of the inner move.
    fn increment(
        &self,
        i: usize,
        dim: usize,
        memory: &mut Memory,
        rng: &mut Rng,
    ) -> Option<Vec<f64>> {
        let along = |k: usize, rng: &mut Rng| {
            let mut by = vec![0.0; dim];
            by[k] = self.scale * rng.normal();
            by
        };
        let all =
            |rng: &mut Rng| -> Vec<f64> { (0..dim).map(|_| self.scale * rng.normal()).collect() };
        match self.defect {
            Defect::FixedOrder => Some(along((i - 1) % dim, rng)),
            Defect::ScanCarriedOver => {
                let first = *memory
                    .first_coordinate
                    .get_or_insert_with(|| rng.index(dim));
                Some(along((first + i - 1) % dim, rng))
            }
            Defect::FixedSign => {
                let mut by = all(rng);
                by[dim - 1] = by[dim - 1].abs();
                Some(by)
            }
            Defect::WrappedIncrement => {
                let mut by = all(rng);
                by.iter_mut().for_each(|v| *v = v.rem_euclid(PERIOD));
                Some(by)
            }
            Defect::GrowingSteps => Some(all(rng).iter().map(|v| v * i as f64).collect()),
            Defect::RejectedValueKept => Some(all(rng)),
            _ => None,
        }
    }

    fn metropolis<T: Target>(
        &self,
        between: &mut Between<'_, T, Framed<'_>>,
        point: &mut Point<'_, Vec<f64>, Ends>,
        by: &[f64],
        rng: &mut Rng,
    ) {
        let proposal: Vec<f64> = point.at.iter().zip(by).map(|(a, b)| a + b).collect();
        let value = between.value(&proposal);
        let log = between.log(value);
        let accepted = rng.accept(log - between.log(point.value));
        if accepted {
            point.at.copy_from_slice(&proposal);
        }
        // Where the rejected point has no mass even this mistake would have been noticed.
        let kept = self.defect == Defect::RejectedValueKept && log > f64::NEG_INFINITY;
        if accepted || kept {
            point.value = value;
        }
    }
}
