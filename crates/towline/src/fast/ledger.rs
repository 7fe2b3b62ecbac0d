//! What a density works with and accounts for: buffers, evaluations spent, the first failure.

use crate::error::Error;
use crate::target::Scratch;

/// Evaluations spent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    pub medium: u64,
    pub fast: u64,
}

impl std::ops::AddAssign for Spent {
    fn add_assign(&mut self, other: Self) {
        self.medium += other.medium;
        self.fast += other.fast;
    }
}

/// What a density has to account for when it is done.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    pub spent: Spent,
    /// The first failure of a nested move's density.
    pub failure: Option<Error>,
}

impl Ledger {
    /// Notes a log density that is neither a number nor −∞.
    pub fn check(&mut self, x: &[f64], y: &[f64], value: f64) {
        if value.is_nan() || value == f64::INFINITY {
            self.failure.get_or_insert_with(|| Error::NotANumber {
                x: x.to_vec(),
                y: y.to_vec(),
                value,
            });
        }
    }

    /// What was spent, or the failure.
    pub fn close(self) -> Result<Spent, Error> {
        self.failure.map_or(Ok(self.spent), Err)
    }
}

/// What a density needs to work with: a model's scratch, and room for y when moves see z.
#[derive(Debug, Clone, Default)]
pub(crate) struct Buffers {
    pub scratch: Scratch,
    pub y: Vec<f64>,
    /// L z, where both ends of a drag share L.
    pub image: Vec<f64>,
    /// Where `Between` met what may be no number.
    pub suspect: Vec<f64>,
    pub gradient: Vec<f64>,
    pub other_gradient: Vec<f64>,
}

impl Buffers {
    pub fn new(fast_dim: usize) -> Self {
        Self {
            scratch: Scratch::default(),
            y: vec![0.0; fast_dim],
            image: vec![0.0; fast_dim],
            suspect: vec![0.0; fast_dim],
            gradient: vec![0.0; fast_dim],
            other_gradient: vec![0.0; fast_dim],
        }
    }
}
