//! More than two speeds: refined caches, and the density that a nested drag runs on.

pub(crate) mod corners;
pub(crate) mod refine;
