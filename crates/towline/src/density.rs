//! What a fast move sees of a target: a density over y, and nothing else.

use crate::error::Error;
use crate::frame::Frame;
use crate::state::Slow;
use crate::target::{Scratch, Target};

/// A density over y whose evaluations may carry more than its logarithm.
///
/// While dragging, one evaluation answers the log density at both ends, from which the logarithm of
/// the intermediate density follows. A move cannot tell: it can only ask for [`log`](Self::log).
/// That is why it satisfies the paper's symmetry condition whatever it does.
pub(crate) trait FastDensity {
    /// What an evaluation answers.
    type Value: Copy;

    /// Evaluates at `y`.
    fn value(&mut self, y: &[f64]) -> Self::Value;

    /// The logarithm of the density where it had this value.
    fn log(&self, value: Self::Value) -> f64;

    /// Evaluates at `y` with the gradient; `None` where the target gives none.
    fn gradient(&mut self, y: &[f64], gradient: &mut [f64]) -> Option<Self::Value>;
}

/// What a density needs to work with: a model's scratch, and room for y when moves see z.
#[derive(Debug, Clone, Default)]
pub(crate) struct Buffers {
    pub scratch: Scratch,
    pub y: Vec<f64>,
    pub gradient: Vec<f64>,
    pub other_gradient: Vec<f64>,
}

impl Buffers {
    pub fn new(fast_dim: usize) -> Self {
        Self {
            scratch: Scratch::default(),
            y: vec![0.0; fast_dim],
            gradient: vec![0.0; fast_dim],
            other_gradient: vec![0.0; fast_dim],
        }
    }
}

/// A log density that is neither a number nor −∞, and where it was met.
#[derive(Debug, Clone)]
struct Fault {
    y: Vec<f64>,
    value: f64,
}

/// The target at one x, seen in a frame: a density over z.
pub(crate) struct End<'a, T: Target> {
    target: &'a T,
    slow: &'a Slow<T::Cache>,
    frame: &'a Frame,
    fault: Option<Fault>,
}

impl<'a, T: Target> End<'a, T> {
    pub fn new(target: &'a T, slow: &'a Slow<T::Cache>, frame: &'a Frame) -> Self {
        Self {
            target,
            slow,
            frame,
            fault: None,
        }
    }

    /// ℓ(x, y) where z is y in this end's frame. The frame's determinant is the caller's to add,
    /// once, since it is the same for every z.
    #[inline]
    fn log_density<const FRAMED: bool>(&mut self, z: &[f64], buffers: &mut Buffers) -> f64 {
        let value = if FRAMED {
            self.frame.to_y(z, &mut buffers.y);
            self.target
                .log_density_in(&self.slow.cache, &buffers.y, &mut buffers.scratch)
        } else {
            self.target
                .log_density_in(&self.slow.cache, z, &mut buffers.scratch)
        };
        // One comparison for both: false for every number and for −∞.
        if value.is_nan() || value == f64::INFINITY {
            let y = if FRAMED { &buffers.y } else { z };
            self.note(y, value);
        }
        value
    }

    fn gradient<const FRAMED: bool>(
        &mut self,
        z: &[f64],
        gradient: &mut [f64],
        buffers: &mut Buffers,
    ) -> Option<f64> {
        let Buffers {
            scratch,
            y,
            gradient: by_y,
            ..
        } = buffers;
        let value = if FRAMED {
            self.frame.to_y(z, y);
            let value = self.target.gradient(&self.slow.cache, y, by_y, scratch)?;
            self.frame.gradient_to_z(by_y, gradient);
            value
        } else {
            self.target
                .gradient(&self.slow.cache, z, gradient, scratch)?
        };
        if value.is_nan() || value == f64::INFINITY {
            let y = if FRAMED { &y[..] } else { z };
            self.note(y, value);
        }
        Some(value)
    }

    #[cold]
    fn note(&mut self, y: &[f64], value: f64) {
        // Fast moves may run off to infinity on their way; only the model's answer at a point is its own.
        self.fault.get_or_insert_with(|| Fault {
            y: y.to_vec(),
            value,
        });
    }

    fn check(self) -> Result<(), Error> {
        match self.fault {
            None => Ok(()),
            Some(fault) => Err(Error::NotANumber {
                x: self.slow.x.clone(),
                y: fault.y,
                value: fault.value,
            }),
        }
    }
}

/// The conditional density of y (or z) at one x.
pub(crate) struct Conditional<'a, T: Target> {
    end: End<'a, T>,
    buffers: &'a mut Buffers,
    evaluations: u64,
}

impl<'a, T: Target> Conditional<'a, T> {
    pub fn new(end: End<'a, T>, buffers: &'a mut Buffers) -> Self {
        Self {
            end,
            buffers,
            evaluations: 0,
        }
    }

    /// The number of fast evaluations, or the fault met in one of them.
    pub fn finish(self) -> Result<u64, Error> {
        self.end.check()?;
        Ok(self.evaluations)
    }
}

impl<T: Target> FastDensity for Conditional<'_, T> {
    type Value = f64;

    #[inline]
    fn value(&mut self, z: &[f64]) -> f64 {
        self.evaluations += 1;
        self.end.log_density::<true>(z, self.buffers)
    }

    #[inline]
    fn log(&self, value: f64) -> f64 {
        value
    }

    fn gradient(&mut self, z: &[f64], gradient: &mut [f64]) -> Option<f64> {
        self.evaluations += 1;
        self.end.gradient::<true>(z, gradient, self.buffers)
    }
}

/// The log densities at both ends of a drag, at one z.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ends {
    /// At the current x.
    pub from: f64,
    /// At the proposed x*.
    pub to: f64,
}

/// The intermediate density ρᵢ between two ends (the paper's equation 11).
pub(crate) struct Between<'a, T: Target, const FRAMED: bool> {
    from: End<'a, T>,
    to: End<'a, T>,
    buffers: &'a mut Buffers,
    weights: Ends,
    evaluations: u64,
}

impl<'a, T: Target, const FRAMED: bool> Between<'a, T, FRAMED> {
    pub fn new(from: End<'a, T>, to: End<'a, T>, buffers: &'a mut Buffers) -> Self {
        Self {
            from,
            to,
            buffers,
            weights: Ends { from: 0.5, to: 0.5 },
            evaluations: 0,
        }
    }

    /// Makes this ρᵢ of n.
    ///
    /// Each weight is computed from its own whole number (n − i, i), and products are summed without
    /// fusing: exchanging the ends and i with n − i gives the same bits.
    #[inline]
    pub fn set(&mut self, i: usize, n: usize) {
        let share = 1.0 / n as f64;
        self.weights = Ends {
            from: (n - i) as f64 * share,
            to: i as f64 * share,
        };
    }

    /// The proposed end alone, at z: what is needed at the start, where the current end is known.
    #[inline]
    pub fn value_at_proposed_end(&mut self, z: &[f64]) -> f64 {
        self.evaluations += 1;
        self.to.log_density::<FRAMED>(z, self.buffers)
    }

    /// The number of fast evaluations, or the fault met in one of them.
    pub fn finish(self) -> Result<u64, Error> {
        self.from.check()?;
        self.to.check()?;
        Ok(self.evaluations)
    }
}

impl<T: Target, const FRAMED: bool> FastDensity for Between<'_, T, FRAMED> {
    type Value = Ends;

    #[inline]
    fn value(&mut self, z: &[f64]) -> Ends {
        self.evaluations += 2;
        Ends {
            from: self.from.log_density::<FRAMED>(z, self.buffers),
            to: self.to.log_density::<FRAMED>(z, self.buffers),
        }
    }

    #[inline]
    fn log(&self, value: Ends) -> f64 {
        self.weights.from * value.from + self.weights.to * value.to
    }

    fn gradient(&mut self, z: &[f64], gradient: &mut [f64]) -> Option<Ends> {
        self.evaluations += 2;
        let from = self.from.gradient::<FRAMED>(z, gradient, self.buffers)?;
        let mut other = std::mem::take(&mut self.buffers.other_gradient);
        let to = self.to.gradient::<FRAMED>(z, &mut other, self.buffers)?;
        for (g, other) in gradient.iter_mut().zip(&other) {
            *g = self.weights.from * *g + self.weights.to * other;
        }
        self.buffers.other_gradient = other;
        Some(Ends { from, to })
    }
}
