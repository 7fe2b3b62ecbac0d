//! Columns of numbers from terms: R's coding of factors, R's names, the same coding for new rows.

use super::expression::Context;
use super::terms::{Term, Terms};
use super::variable::Variable;
use crate::error::Error;
use crate::table::Table;
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};

/// What is multiplied into a column: one of the columns that a variable becomes.
#[derive(Debug, Clone, Copy)]
struct Piece {
    variable: usize,
    /// Whether the variable, a factor, has a column for each level.
    full: bool,
    column: usize,
}

/// One column of the design.
#[derive(Debug, Clone)]
struct Column {
    name: String,
    pieces: Vec<Piece>,
}

/// How columns are made of a table's.
#[derive(Debug, Clone)]
pub(crate) struct Matrix {
    variables: Vec<Variable>,
    columns: Vec<Column>,
    /// What is taken off each column; empty for nothing.
    means: Vec<f64>,
}

/// The name of the intercept: R's without its brackets, which programs that read draws would stumble over.
pub(crate) const INTERCEPT: &str = "Intercept";

/// More columns than any design of a person: products of factors of many levels reach it before memory ends.
const MOST: usize = 20_000;

impl Matrix {
    pub fn compile(terms: &Terms, context: Context) -> Result<Self, Error> {
        let mut matrix = Self {
            variables: Vec::new(),
            columns: Vec::new(),
            means: Vec::new(),
        };
        let mut known: HashMap<String, usize> = HashMap::new();
        for node in terms.terms.iter().flat_map(|term| &term.variables) {
            if let Entry::Vacant(place) = known.entry(node.to_string()) {
                place.insert(matrix.variables.len());
                matrix.variables.push(Variable::compile(node, context)?);
            }
        }
        if terms.intercept {
            matrix.columns.push(Column {
                name: INTERCEPT.into(),
                pieces: Vec::new(),
            });
        }
        let mut first_factor = terms.intercept;
        for (k, term) in terms.terms.iter().enumerate() {
            let mut columns = vec![Column {
                name: String::new(),
                pieces: Vec::new(),
            }];
            for node in &term.variables {
                let name = node.to_string();
                let variable = known[&name];
                let full = matrix.variables[variable].is_factor() && {
                    // Without an intercept the first factor of all takes its place.
                    let instead = !first_factor;
                    first_factor = true;
                    instead || !is_spanned(&terms.terms[..k], term, &name)
                };
                let labels = matrix.variables[variable].labels(full);
                if matrix.columns.len() + columns.len() * labels.len() > MOST {
                    return Err(Error::TooLarge(format!(
                        "the term `{}` makes more than {MOST} columns; give groups random effects, (1 | group)",
                        term.key().join(":")
                    )));
                }
                // The first variable varies fastest, as in R.
                columns = labels
                    .iter()
                    .enumerate()
                    .flat_map(|(column, label)| {
                        let piece = Piece {
                            variable,
                            full,
                            column,
                        };
                        columns.iter().map({
                            let name = &name;
                            move |so_far| so_far.times(&format!("{name}{label}"), piece)
                        })
                    })
                    .collect();
            }
            matrix.columns.extend(columns);
        }
        Ok(matrix)
    }

    /// Takes the mean over the data of the fit off every column but the intercept.
    pub fn centre(&mut self, table: &Table) -> Result<(), Error> {
        let values = self.values(table)?;
        self.means = values
            .iter()
            .zip(&self.columns)
            .map(|(values, column)| {
                if column.pieces.is_empty() {
                    0.0
                } else {
                    super::expression::mean(values)
                }
            })
            .collect();
        Ok(())
    }

    /// Leaves a column out.
    pub fn remove(&mut self, column: usize) {
        self.columns.remove(column);
        if !self.means.is_empty() {
            self.means.remove(column);
        }
    }

    /// The names of the columns.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| column.name.as_str())
    }

    /// How many columns there are.
    pub fn len(&self) -> usize {
        self.columns.len()
    }

    /// Whether a column is a factor's level (and so 0 or 1).
    pub fn is_indicator(&self, column: usize) -> bool {
        let pieces = &self.columns[column].pieces;
        let indicates = |piece: &Piece| self.variables[piece.variable].is_indicator(piece.full);
        !pieces.is_empty() && pieces.iter().all(indicates)
    }

    /// Whether a factor has a part in a column.
    pub fn has_factor(&self, column: usize) -> bool {
        let pieces = &self.columns[column].pieces;
        let is_factor = |piece: &Piece| self.variables[piece.variable].is_factor();
        pieces.iter().any(is_factor)
    }

    /// What the levels of each factor are compared with, where they are compared.
    pub fn references(&self) -> Vec<(String, String)> {
        let pieces = self.columns.iter().flat_map(|column| &column.pieces);
        let compared: BTreeSet<usize> = pieces
            .filter(|piece| !piece.full)
            .map(|piece| piece.variable)
            .collect();
        compared
            .into_iter()
            .filter_map(|variable| self.variables[variable].reference())
            .collect()
    }

    /// The columns, one after another.
    pub fn values(&self, table: &Table) -> Result<Vec<Vec<f64>>, Error> {
        let mut made: HashMap<(usize, bool), Vec<Vec<f64>>> = HashMap::new();
        for piece in self.columns.iter().flat_map(|column| &column.pieces) {
            let key = (piece.variable, piece.full);
            if let Entry::Vacant(place) = made.entry(key) {
                place.insert(self.variables[piece.variable].columns(table, piece.full)?);
            }
        }
        let mut columns = Vec::with_capacity(self.columns.len());
        for (k, column) in self.columns.iter().enumerate() {
            let mut values = vec![1.0; table.rows()];
            for piece in &column.pieces {
                let part = &made[&(piece.variable, piece.full)][piece.column];
                values.iter_mut().zip(part).for_each(|(v, p)| *v *= p);
            }
            if let Some(mean) = self.means.get(k) {
                values.iter_mut().for_each(|v| *v -= mean);
            }
            columns.push(values);
        }
        Ok(columns)
    }
}

impl Column {
    fn times(&self, label: &str, piece: Piece) -> Self {
        let joint = if self.name.is_empty() { "" } else { ":" };
        let mut pieces = self.pieces.clone();
        pieces.push(piece);
        Self {
            name: format!("{}{joint}{label}", self.name),
            pieces,
        }
    }
}

/// R's rule for contrasts: whether an earlier term spans this one without one of its variables. (A constant counts as
/// there: where it is not, the first factor has all its levels.)
fn is_spanned(earlier: &[Term], term: &Term, without: &str) -> bool {
    let mut margin = term.key();
    margin.retain(|name| name != without);
    margin.is_empty()
        || earlier.iter().any(|other| {
            let key = other.key();
            margin.iter().all(|name| key.contains(name))
        })
}

#[cfg(test)]
mod tests;
