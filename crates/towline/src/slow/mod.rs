//! Slow proposals S(x*|x): the random walk and the learned one.

pub(crate) mod proposal;
pub(crate) mod surrogate;
