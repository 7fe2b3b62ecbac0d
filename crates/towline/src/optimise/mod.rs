//! Deterministic optimisers: they know neither targets nor frames.

pub(crate) mod axes;
pub(crate) mod coordinate;
pub(crate) mod lbfgs;
pub(crate) mod newton;
pub(crate) mod surface;
pub(crate) mod walls;
pub(crate) mod widths;
