//! Formulas in the manner of lme4: read, interpreted, and made into columns of numbers.
//!
//! `y ~ age + I(age^2) + urban:livch + offset(log(e)) + (1 + age | district) + (1 | village)`. The path of a formula:
//! `lexer` (words) → `parser` (a tree) → `reader` and `terms` (what it means for a model) → `expression`, `variable` and
//! `matrix` (numbers).
//! Everything keeps its place in the text, so that a message can point at the character.

mod arguments;
mod compile;
mod contrast;
mod dot;
mod expression;
mod factor;
mod lexer;
mod matrix;
mod parser;
mod polynomial;
mod reader;
mod span;
mod spline;
mod terms;
mod variable;

pub(crate) use arguments::{Bound, bind, constant};
pub(crate) use compile::functions;
pub(crate) use contrast::CONTRASTS;
pub(crate) use expression::{Context, Expression, deviation, mean, names};
pub(crate) use factor::{FACTORS, Factor};
pub(crate) use matrix::{INTERCEPT, Matrix};
pub(crate) use parser::{Argument, Kind, Node, Operator, parse};
pub(crate) use terms::{Formula, Grouping, Response, Term};
pub(crate) use variable::BASES;

pub use span::SyntaxError;

#[cfg(test)]
mod fuzz;

/// Whether a text is a formula: the first mistake otherwise.
///
/// # Errors
/// The mistake, with its place.
pub fn check_formula(text: &str) -> Result<(), SyntaxError> {
    Formula::parse(text).map(drop)
}
