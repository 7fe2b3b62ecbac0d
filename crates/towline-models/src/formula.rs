//! Formulas in the manner of lme4: read, interpreted, and made into columns of numbers.
//!
//! `y ~ age + I(age^2) + urban:livch + offset(log(e)) + (1 + age | district) + (1 | village)`. The path of a formula:
//! `lexer` (words) → `parser` (a tree) → `terms` (what it means for a model) → `expression` and `matrix` (numbers).
//! Everything keeps its place in the text, so that a message can point at the character.

mod expression;
mod lexer;
mod matrix;
mod parser;
mod span;
mod terms;

pub(crate) use expression::{Context, Expression, deviation, mean, names};
pub(crate) use matrix::{Factor, INTERCEPT, Matrix};
pub(crate) use parser::{Kind, Node, Operator, parse};

pub use span::SyntaxError;
pub(crate) use terms::{Formula, Response};

#[cfg(test)]
mod fuzz;

/// Whether a text is a formula: the first mistake otherwise.
///
/// # Errors
/// The mistake, with its place.
pub fn check_formula(text: &str) -> Result<(), SyntaxError> {
    Formula::parse(text).map(drop)
}
