//! Latent Gaussian models: a linear predictor η = A(x) y, with y standard normal a priori, seen through a likelihood.
//!
//! Gaussian process classification, geostatistics and generalized linear mixed models are all of this form. The covariance
//! parameters x are slow (a new x means a new factorisation), the latent y are fast.

#![deny(missing_docs)]

mod error;
mod formula;
mod nearest;
mod rank;
mod spec;
mod table;

pub use error::Error;
pub use formula::{SyntaxError, check_formula};
pub use spec::{
    CovarianceTree, DataSpec, DistanceKind, FamilyKind, GpSpec, KernelKind, KernelSpec, Link,
    MissingRule, ModelFile, PriorTexts,
};
pub use table::Table;
