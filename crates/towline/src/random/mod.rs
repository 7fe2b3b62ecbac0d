//! Randomness: the generator of a chain, its normal numbers, and choices without a jump.

#[cfg(test)]
pub(crate) mod enumerate;
mod generator;
pub(crate) mod selection;
mod ziggurat;

pub use generator::Rng;
