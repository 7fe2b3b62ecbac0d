//! Linear algebra of few dimensions: roots of covariances, small vectors and matrices.

mod factor;

pub use factor::Factor;
