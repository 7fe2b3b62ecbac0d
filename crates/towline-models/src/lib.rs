//! Latent Gaussian models: a linear predictor η = A(x) y, with y normal a priori, seen through a likelihood.
//!
//! Gaussian process classification, geostatistics and generalized linear mixed models are all of this form. The covariance
//! parameters x are slow (a new x means a new factorisation), the latent y are fast.

#![deny(missing_docs)]

mod additive;
mod check;
mod component;
mod covariance;
mod defaults;
mod dense;
mod distance;
mod effects;
mod error;
mod expectation;
mod family;
mod fixed;
mod formula;
mod latent;
pub mod neal;
mod nearest;
mod newton;
mod parameter;
mod pool;
mod predict;
mod rank;
mod resolve;
#[cfg(not(target_family = "wasm"))]
mod sample;
mod sparse;
mod spec;
mod special;
mod table;
mod triangle;
mod vector;
mod warp;
mod words;

pub use check::{Loo, Waic, difference, good_k, loo, waic};
pub use component::{Component, ComponentRows};
pub use covariance::{Covariance, Places, Shape};
pub use dense::{DEFAULT_JITTER, Process};
pub use distance::{Distance, EARTH_RADIUS, great_circle};
pub use error::Error;
pub use family::{Family, Observation};
pub use fixed::Fixed;
pub use formula::{SyntaxError, check_formula};
pub use latent::{Builder, Cache, Data, LatentGaussian};
pub use parameter::{Parameter, Value};
pub use predict::{
    Coverage, Interval, JointDraw, Mixture, New, Predicted, Predictor, RowPrediction, Scores,
    Surface, What,
};
pub use resolve::{Chosen, Field, ModelParts, Resolved};
#[cfg(not(target_family = "wasm"))]
pub use sample::{Changes, Sample};
pub use sparse::Grouping;
pub use spec::{DataSpec, FamilyKind, GpSpec, Link, MissingRule, ModelFile, PriorTexts};
pub use table::{Cells, Table};
pub use words::{Words, known_words};
