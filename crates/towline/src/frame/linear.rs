//! The linear frame: a centre that moves linearly with x, and a fixed root.

use super::map::Frame;
use crate::error::Error;
use crate::linalg::{Factor, HASH_START, Root, Storage, hashed};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// m(x) = m₀ + B (x − x₀), L(x) = L₀: what warm-up learns, then freezes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "LinearParts")]
pub struct Linear {
    x: Vec<f64>,
    centre: Vec<f64>,
    slope: Vec<f64>,
    root: Arc<Factor>,
    /// Computed, never read: a file in which something was changed must not keep its old key.
    #[serde(skip)]
    key: u64,
}

/// What is read of a linear frame.
#[derive(Deserialize)]
struct LinearParts {
    x: Vec<f64>,
    centre: Vec<f64>,
    slope: Vec<f64>,
    root: Factor,
}

impl TryFrom<LinearParts> for Linear {
    type Error = Error;

    fn try_from(parts: LinearParts) -> Result<Self, Error> {
        Self::new(parts.x, parts.centre, parts.slope, parts.root)
    }
}

impl Linear {
    /// From x₀, m₀, B (row by row: one row for each fast variable) and L₀.
    ///
    /// # Errors
    /// [`Error::Dimension`] where they do not fit together, [`Error::Setting`] where one is no number.
    pub fn new(
        x: Vec<f64>,
        centre: Vec<f64>,
        slope: Vec<f64>,
        root: Factor,
    ) -> Result<Self, Error> {
        let numbers = x.iter().chain(&centre).chain(&slope);
        if let Some(&value) = numbers.clone().find(|value| !value.is_finite()) {
            return Err(Error::Setting {
                what: "a number in the linear frame",
                value,
                expected: "finite",
            });
        }
        // Byte by byte, and every entry of the root: of whole words, two changed signs would cancel.
        let key = hashed(HASH_START, numbers.chain(root.entries()).copied());
        let (slow_dim, fast_dim) = (x.len(), centre.len());
        let linear = Self {
            x,
            centre,
            slope,
            root: Arc::new(root),
            key,
        };
        linear.validate(slow_dim, fast_dim)?;
        Ok(linear)
    }

    /// The same without a slope.
    pub(crate) fn level(&self) -> Self {
        let mut level = self.clone();
        level.slope.fill(0.0);
        let numbers = level.x.iter().chain(&level.centre).chain(&level.slope);
        let numbers = numbers.chain(level.root.entries()).copied();
        level.key = hashed(HASH_START, numbers);
        level
    }

    /// L₀.
    pub(crate) fn root(&self) -> &Arc<Factor> {
        &self.root
    }

    /// m₀.
    pub(crate) fn centre(&self) -> &[f64] {
        &self.centre
    }

    /// Everything in it, as a vector to send to other chains.
    pub(crate) fn numbers(&self) -> Vec<f64> {
        let parts = self.x.iter().chain(&self.centre).chain(&self.slope);
        parts.copied().chain(self.root.numbers()).collect()
    }

    /// From such a vector.
    pub(crate) fn from_numbers(numbers: &[f64], slow_dim: usize, fast_dim: usize) -> Option<Self> {
        let (x, rest) = numbers.split_at_checked(slow_dim)?;
        let (centre, rest) = rest.split_at_checked(fast_dim)?;
        let (slope, root) = rest.split_at_checked(slow_dim * fast_dim)?;
        let root = Factor::from_numbers(root, fast_dim)?;
        Self::new(x.to_vec(), centre.to_vec(), slope.to_vec(), root).ok()
    }

    /// Whether every number in it is one.
    pub(crate) fn is_finite(&self) -> bool {
        self.numbers().iter().all(|v| v.is_finite())
    }

    /// The number of fast variables.
    pub(crate) fn fast_dim(&self) -> usize {
        self.centre.len()
    }

    /// What tells this frame from another.
    pub(crate) fn key(&self) -> u64 {
        self.key
    }

    /// m(x).
    pub(crate) fn centre_at(&self, x: &[f64]) -> Vec<f64> {
        let mut centre = Vec::new();
        self.centre_into(x, &mut centre);
        centre
    }

    /// m(x), into a list that is there.
    pub(crate) fn centre_into(&self, x: &[f64], centre: &mut Vec<f64>) {
        centre.copy(&self.centre);
        let width = self.x.len();
        for (k, m) in centre.iter_mut().enumerate() {
            let row = &self.slope[k * width..(k + 1) * width];
            for ((b, value), origin) in row.iter().zip(x).zip(&self.x) {
                *m += b * (value - origin);
            }
        }
    }

    /// The frame at x.
    pub fn frame(&self, x: &[f64]) -> Frame {
        self.frame_in(x, None)
    }

    /// The frame at x, in the memory of one that is no longer needed.
    pub(crate) fn frame_in(&self, x: &[f64], used: Option<Frame>) -> Frame {
        let mut frame = match used {
            Some(Frame::Affine { centre, root }) if root.is(&self.root) => {
                Frame::Affine { centre, root }
            }
            Some(Frame::Affine { centre, .. }) => Frame::Affine {
                centre,
                root: Root::Lower(self.root.clone()),
            },
            _ => Frame::Affine {
                centre: Vec::new(),
                root: Root::Lower(self.root.clone()),
            },
        };
        if let Frame::Affine { centre, .. } = &mut frame {
            self.centre_into(x, centre);
        }
        frame
    }

    pub(crate) fn validate(&self, slow_dim: usize, fast_dim: usize) -> Result<(), Error> {
        for (what, expected, found) in [
            ("the origin of the linear frame", slow_dim, self.x.len()),
            (
                "the centre of the linear frame",
                fast_dim,
                self.centre.len(),
            ),
            (
                "the slope of the linear frame",
                slow_dim * fast_dim,
                self.slope.len(),
            ),
            ("the root of the linear frame", fast_dim, self.root.dim()),
        ] {
            if expected != found {
                return Err(Error::Dimension {
                    what,
                    expected,
                    found,
                });
            }
        }
        Ok(())
    }
}
