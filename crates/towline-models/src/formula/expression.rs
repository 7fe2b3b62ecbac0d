//! Arithmetic on columns: `log(base/4)`, `scale(x)`, `trt == "progabide"`.
//!
//! Functions of a whole column (`scale`, `center`, `mean`) take their constants from the data of the fit and keep
//! them, so that a prediction at new rows uses the same.

use super::compile::compile;
use super::parser::{Kind, Node};
use super::span::SyntaxError;
use crate::error::Error;
use crate::nearest::did_you_mean;
use crate::table::Table;
use std::collections::BTreeMap;

/// What an expression is compiled in: its text, for messages, and the data of the fit.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub text: &'a str,
    pub table: &'a Table,
    /// Columns that are standardised wherever they are used.
    pub standardise: &'a [String],
    /// The levels of factors for which an order was given.
    pub levels: &'a BTreeMap<String, Vec<String>>,
}

impl Context<'_> {
    /// A mistake at a node.
    pub fn error(&self, message: impl Into<String>, node: &Node) -> Error {
        SyntaxError::new(message, self.text, node.span).into()
    }

    /// A name that is no column: with the nearest that is.
    pub fn unknown(&self, name: &str, node: &Node) -> Error {
        let columns = self.table.headers().iter().map(String::as_str);
        let mut message = format!("{} has no column `{name}`", self.table.name());
        if let Some(hint) = did_you_mean(name, columns) {
            message += &format!("; {hint}");
        } else {
            message += &format!(": it has {}", crate::table::list(self.table.headers()));
        }
        self.error(message, node)
    }
}

/// Something that has a number for every row of a table.
#[derive(Debug, Clone)]
pub(crate) struct Expression {
    name: String,
    tree: Tree,
}

#[derive(Debug, Clone)]
pub(super) enum Tree {
    Constant(f64),
    Column(String),
    /// Whether a column holds this text.
    Is {
        column: String,
        text: String,
        same: bool,
    },
    /// (a − shift) / scale.
    Affine {
        inside: Box<Tree>,
        shift: f64,
        scale: f64,
    },
    Apply(fn(f64) -> f64, Box<Tree>),
    Fold(fn(f64, f64) -> f64, Vec<Tree>),
}

impl Expression {
    /// Compiles a tree; constants of whole columns are taken from the context's table.
    pub fn compile(node: &Node, context: Context) -> Result<Self, Error> {
        Ok(Self {
            name: node.bare().to_string(),
            tree: compile(node, context)?,
        })
    }

    /// The expression as it is written, without spaces.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether a table has all its columns.
    pub fn is_in(&self, table: &Table) -> bool {
        self.tree.is_in(table)
    }

    /// Its value in every row; each is a finite number.
    pub fn values(&self, table: &Table) -> Result<Vec<f64>, Error> {
        let values = self.tree.values(table)?;
        match values.iter().position(|value| !value.is_finite()) {
            None => Ok(values),
            Some(row) => Err(Error::NotFinite {
                name: table.name().into(),
                line: table.line(row),
                expression: self.name.clone(),
                value: values[row],
            }),
        }
    }

    /// The same, standardised by the mean and standard deviation that it has in this table.
    pub fn standardised(self, table: &Table) -> Result<Self, Error> {
        let values = self.values(table)?;
        let (shift, scale) = (mean(&values), deviation(&values, 0.0));
        if scale <= 0.0 {
            return Err(Error::setting(
                self.name,
                "cannot be standardised: all its values are the same",
            ));
        }
        Ok(Self {
            tree: affine(self.tree, shift, scale),
            name: self.name,
        })
    }
}

impl Tree {
    fn is_in(&self, table: &Table) -> bool {
        match self {
            Self::Constant(_) => true,
            Self::Column(column) | Self::Is { column, .. } => table.has(column),
            Self::Affine { inside, .. } | Self::Apply(_, inside) => inside.is_in(table),
            Self::Fold(_, parts) => parts.iter().all(|part| part.is_in(table)),
        }
    }

    pub fn values(&self, table: &Table) -> Result<Vec<f64>, Error> {
        Ok(match self {
            Self::Constant(value) => vec![*value; table.rows()],
            Self::Column(name) => table.numbers(name)?,
            Self::Is { column, text, same } => table
                .complete(column)?
                .iter()
                .map(|value| f64::from(u8::from((value == text) == *same)))
                .collect(),
            Self::Affine {
                inside,
                shift,
                scale,
            } => {
                let mut values = inside.values(table)?;
                for value in &mut values {
                    *value = (*value - shift) / scale;
                }
                values
            }
            Self::Apply(function, inside) => {
                let mut values = inside.values(table)?;
                for value in &mut values {
                    *value = function(*value);
                }
                values
            }
            Self::Fold(function, parts) => {
                let mut parts = parts.iter();
                let mut values = match parts.next() {
                    Some(first) => first.values(table)?,
                    None => vec![0.0; table.rows()],
                };
                for part in parts {
                    for (value, other) in values.iter_mut().zip(part.values(table)?) {
                        *value = function(*value, other);
                    }
                }
                values
            }
        })
    }
}

/// (inside − shift) / scale.
pub(super) fn affine(inside: Tree, shift: f64, scale: f64) -> Tree {
    Tree::Affine {
        inside: Box::new(inside),
        shift,
        scale,
    }
}

/// The mean of some numbers.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The standard deviation of some numbers, dividing by n − `less`.
pub(crate) fn deviation(values: &[f64], less: f64) -> f64 {
    let centre = mean(values);
    let squares: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
    (squares / (values.len() as f64 - less)).sqrt()
}

/// All names in a tree, functions left out.
pub(crate) fn names(node: &Node, out: &mut Vec<String>) {
    match &node.kind {
        Kind::Name(name) => out.push(name.clone()),
        Kind::Number(_) | Kind::Text(_) => {}
        Kind::Call(_, arguments) => arguments
            .iter()
            .for_each(|argument| names(&argument.value, out)),
        Kind::Binary(_, a, b) => {
            names(a, out);
            names(b, out);
        }
        Kind::Minus(inside) | Kind::Bracketed(inside) | Kind::OneSided(inside) => {
            names(inside, out)
        }
    }
}

#[cfg(test)]
mod tests;
