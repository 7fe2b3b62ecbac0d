//! Columns of numbers from terms: treatment contrasts for factors, R's names, the same coding for new rows.

use super::expression::{Context, Expression};
use super::parser::{Kind, Node};
use super::terms::{Term, Terms};
use crate::error::Error;
use crate::table::{Table, list, sorted_levels};
use std::collections::HashMap;

/// A variable of a formula, as the data of the fit define it.
#[derive(Debug, Clone)]
pub(crate) enum Variable {
    Number(Expression),
    Factor(Factor),
}

/// One or more columns whose combinations are levels.
#[derive(Debug, Clone)]
pub(crate) struct Factor {
    pub name: String,
    /// Empty for `row()`: every row a level of its own.
    columns: Vec<String>,
    pub levels: Vec<String>,
    codes: HashMap<String, usize>,
}

impl Factor {
    /// The factor of some columns in the data of the fit, with at least two levels.
    pub fn compile(nodes: &[Node], context: Context) -> Result<Self, Error> {
        let mut columns = Vec::new();
        for node in nodes {
            match factor_column(node) {
                Some(name) if context.table.has(name) => columns.push(name.to_string()),
                Some(name) => return Err(context.unknown(name, node)),
                None if is_row(node) => {}
                None => return Err(context.error("a column is needed here", node)),
            }
        }
        let name = nodes
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(":");
        let mut factor = Self {
            name,
            columns,
            levels: Vec::new(),
            codes: HashMap::new(),
        };
        let values = factor.values(context.table)?;
        factor.levels = match factor.columns.as_slice() {
            [] => values,
            [column] => match context.levels.get(column) {
                Some(given) => given_levels(column, given, &values, context.table)?,
                None => sorted_levels(values.into_iter()),
            },
            _ => sorted_levels(values.into_iter()),
        };
        if let [level] = factor.levels.as_slice() {
            return Err(Error::OneLevel {
                factor: factor.name,
                level: level.clone(),
            });
        }
        let numbered = factor.levels.iter().cloned().enumerate();
        factor.codes = numbered.map(|(code, level)| (level, code)).collect();
        Ok(factor)
    }

    /// The text of the level of every row.
    pub fn values(&self, table: &Table) -> Result<Vec<String>, Error> {
        match self.columns.as_slice() {
            [] => Ok((1..=table.rows()).map(|row| row.to_string()).collect()),
            [column] => Ok(table.complete(column)?.to_vec()),
            columns => {
                let parts = columns
                    .iter()
                    .map(|column| table.complete(column))
                    .collect::<Result<Vec<_>, _>>()?;
                let join = |row: usize| {
                    let values: Vec<&str> = parts.iter().map(|part| part[row].as_str()).collect();
                    values.join(":")
                };
                Ok((0..table.rows()).map(join).collect())
            }
        }
    }

    /// The level of every row of a table; `None` where the fitted data do not have it.
    pub fn codes(&self, table: &Table) -> Result<Vec<Option<usize>>, Error> {
        // Rows have no names that another table could share.
        if self.columns.is_empty() {
            let same = table.rows() == self.levels.len();
            return Ok((0..table.rows()).map(|row| same.then_some(row)).collect());
        }
        let values = self.values(table)?;
        Ok(values
            .iter()
            .map(|value| self.codes.get(value).copied())
            .collect())
    }

    /// The level of every row of a table, all of which the fitted data must have.
    pub fn known_codes(&self, table: &Table) -> Result<Vec<usize>, Error> {
        let values = self.values(table)?;
        let code = |(row, value): (usize, &String)| {
            self.codes
                .get(value)
                .copied()
                .ok_or_else(|| Error::UnknownLevel {
                    name: table.name().into(),
                    line: table.line(row),
                    factor: self.name.clone(),
                    level: value.clone(),
                    known: list(&self.levels),
                })
        };
        values.iter().enumerate().map(code).collect()
    }
}

fn given_levels(
    column: &str,
    given: &[String],
    values: &[String],
    table: &Table,
) -> Result<Vec<String>, Error> {
    if let Some(row) = values.iter().position(|value| !given.contains(value)) {
        return Err(Error::setting(
            format!("levels.{column}"),
            format!(
                "{}, line {} has `{}`, which is not among the levels given ({})",
                table.name(),
                table.line(row),
                values[row],
                list(given)
            ),
        ));
    }
    // A level that no row has would have an effect that no row informs.
    Ok(given
        .iter()
        .filter(|level| values.contains(level))
        .cloned()
        .collect())
}

/// The column that a node makes a factor of: its name, or the argument of `factor()`.
fn factor_column(node: &Node) -> Option<&str> {
    match &node.kind {
        Kind::Name(name) => Some(name),
        Kind::Call(name, arguments) if name == "factor" || name == "as.factor" => {
            match arguments.as_slice() {
                [argument] => match &argument.value.kind {
                    Kind::Name(name) => Some(name),
                    _ => None,
                },
                _ => None,
            }
        }
        _ => None,
    }
}

fn is_row(node: &Node) -> bool {
    matches!(&node.kind, Kind::Call(name, arguments) if name == "row" && arguments.is_empty())
}

impl Variable {
    pub fn compile(node: &Node, context: Context) -> Result<Self, Error> {
        match &node.kind {
            Kind::Name(name) if context.table.has(name) => {
                let factor =
                    context.levels.contains_key(name) || !context.table.is_numeric(name)?;
                if factor && !context.standardise.contains(name) {
                    return Ok(Self::Factor(Factor::compile(
                        std::slice::from_ref(node),
                        context,
                    )?));
                }
            }
            Kind::Call(name, _) if name == "factor" || name == "as.factor" => {
                return Ok(Self::Factor(Factor::compile(
                    std::slice::from_ref(node),
                    context,
                )?));
            }
            Kind::Call(name, _) if name == "row" => {
                return Err(context.error("row() can only be a group: (1 | row())", node));
            }
            _ => {}
        }
        Ok(Self::Number(Expression::compile(node, context)?))
    }
}

/// What is multiplied into a column: a number, or whether a factor has a level.
#[derive(Debug, Clone, Copy)]
enum Piece {
    Number(usize),
    Level(usize, usize),
}

/// How columns are made of a table's.
#[derive(Debug, Clone)]
pub(crate) struct Matrix {
    variables: Vec<Variable>,
    columns: Vec<(String, Vec<Piece>)>,
    /// What is taken off each column; empty for nothing.
    means: Vec<f64>,
}

/// The name of the intercept: R's without its brackets, which programs that read draws would stumble over.
pub(crate) const INTERCEPT: &str = "Intercept";

impl Matrix {
    pub fn compile(terms: &Terms, context: Context) -> Result<Self, Error> {
        let mut matrix = Self {
            variables: Vec::new(),
            columns: Vec::new(),
            means: Vec::new(),
        };
        let mut known: HashMap<String, usize> = HashMap::new();
        if terms.intercept {
            matrix.columns.push((INTERCEPT.into(), Vec::new()));
        }
        // Without an intercept the first factor takes its place; later ones are contrasted against it.
        let mut constant = terms.intercept;
        for term in &terms.terms {
            let mut columns: Vec<(String, Vec<Piece>)> = vec![(String::new(), Vec::new())];
            for node in &term.variables {
                let name = node.to_string();
                let at = match known.get(&name) {
                    Some(at) => *at,
                    None => {
                        matrix.variables.push(Variable::compile(node, context)?);
                        known.insert(name.clone(), matrix.variables.len() - 1);
                        matrix.variables.len() - 1
                    }
                };
                let pieces: Vec<(String, Piece)> = match &matrix.variables[at] {
                    Variable::Number(_) => vec![(name.clone(), Piece::Number(at))],
                    Variable::Factor(factor) => {
                        // R's rule: contrasts where the term without this factor is in the model too.
                        let first = usize::from(has_margin(terms, term, &name, constant));
                        constant |= term.variables.len() == 1;
                        (first..factor.levels.len())
                            .map(|level| {
                                (
                                    format!("{name}{}", factor.levels[level]),
                                    Piece::Level(at, level),
                                )
                            })
                            .collect()
                    }
                };
                // The first factor varies fastest, as in R.
                columns = pieces
                    .iter()
                    .flat_map(|(label, piece)| {
                        columns.iter().map(move |(so_far, list)| {
                            let joint = if so_far.is_empty() { "" } else { ":" };
                            let mut list = list.clone();
                            list.push(*piece);
                            (format!("{so_far}{joint}{label}"), list)
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
            .map(|(column, (_, pieces))| {
                if pieces.is_empty() {
                    0.0
                } else {
                    super::expression::mean(column)
                }
            })
            .collect();
        Ok(())
    }

    /// The names of the columns.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|(name, _)| name.as_str())
    }

    /// Whether a column is a factor's level (and so 0 or 1).
    pub fn is_indicator(&self, column: usize) -> bool {
        let pieces = &self.columns[column].1;
        !pieces.is_empty() && pieces.iter().all(|piece| matches!(piece, Piece::Level(..)))
    }

    /// The columns, one after another.
    pub fn values(&self, table: &Table) -> Result<Vec<Vec<f64>>, Error> {
        enum Values {
            Numbers(Vec<f64>),
            Codes(Vec<usize>),
        }
        let values = self
            .variables
            .iter()
            .map(|variable| match variable {
                Variable::Number(expression) => expression.values(table).map(Values::Numbers),
                Variable::Factor(factor) => factor.known_codes(table).map(Values::Codes),
            })
            .collect::<Result<Vec<_>, _>>()?;
        let mut columns = Vec::with_capacity(self.columns.len());
        for (k, (_, pieces)) in self.columns.iter().enumerate() {
            let mut column = vec![1.0; table.rows()];
            for piece in pieces {
                match (piece, &values[piece.variable()]) {
                    (Piece::Number(_), Values::Numbers(numbers)) => {
                        column.iter_mut().zip(numbers).for_each(|(c, n)| *c *= n);
                    }
                    (Piece::Level(_, level), Values::Codes(codes)) => column
                        .iter_mut()
                        .zip(codes)
                        .for_each(|(c, code)| *c *= f64::from(u8::from(code == level))),
                    _ => unreachable!("pieces are made from their variables"),
                }
            }
            if let Some(mean) = self.means.get(k) {
                column.iter_mut().for_each(|c| *c -= mean);
            }
            columns.push(column);
        }
        Ok(columns)
    }
}

impl Piece {
    fn variable(self) -> usize {
        match self {
            Self::Number(at) | Self::Level(at, _) => at,
        }
    }
}

/// Whether the term without one of its variables is in the model, where `constant` says whether a constant is.
fn has_margin(terms: &Terms, term: &Term, without: &str, constant: bool) -> bool {
    let mut margin = term.key();
    margin.retain(|name| name != without);
    if margin.is_empty() {
        constant
    } else {
        terms.terms.iter().any(|other| other.key() == margin)
    }
}

#[cfg(test)]
mod tests {
    use super::super::terms::Formula;
    use super::*;
    use std::collections::BTreeMap;

    const DATA: &str = "x,a,b,n\n1,u,p,1\n2,v,q,2\n3,w,p,1\n4,u,q,3\n";

    fn matrix(text: &str) -> Result<(Vec<String>, Vec<Vec<f64>>), Error> {
        let table = Table::parse("d.csv", DATA)?;
        let formula = Formula::parse(text)?;
        let context = Context {
            text,
            table: &table,
            standardise: &[],
            levels: &BTreeMap::new(),
        };
        let matrix = Matrix::compile(&formula.fixed, context)?;
        let names = matrix.names().map(String::from).collect();
        Ok((names, matrix.values(&table)?))
    }

    #[test]
    fn factors_are_coded_and_named_as_in_r() {
        let (names, values) = matrix("~ x + a").unwrap();
        assert_eq!(names, ["Intercept", "x", "av", "aw"]);
        assert_eq!(values[2], [0.0, 1.0, 0.0, 0.0]);
        let (names, _) = matrix("~ 0 + a").unwrap();
        assert_eq!(names, ["au", "av", "aw"]);
        let (names, _) = matrix("~ a*b").unwrap();
        assert_eq!(names, ["Intercept", "av", "aw", "bq", "av:bq", "aw:bq"]);
        let (names, _) = matrix("~ factor(n)").unwrap();
        assert_eq!(names, ["Intercept", "factor(n)2", "factor(n)3"]);
        let (names, _) = matrix("~ 0 + a + b").unwrap();
        assert_eq!(names, ["au", "av", "aw", "bq"]);
        let (names, _) = matrix("~ 0 + x + a").unwrap();
        assert_eq!(names, ["x", "au", "av", "aw"]);
        let (names, _) = matrix("~ a:x").unwrap();
        assert_eq!(names, ["Intercept", "au:x", "av:x", "aw:x"]);
    }

    #[test]
    fn interactions_multiply() {
        let (names, values) = matrix("~ x*b").unwrap();
        assert_eq!(names, ["Intercept", "x", "bq", "x:bq"]);
        assert_eq!(values[3], [0.0, 2.0, 0.0, 4.0]);
    }

    #[test]
    fn a_factor_with_one_level_is_refused() {
        let table = Table::parse("d.csv", "x,a\n1,u\n2,u\n").unwrap();
        let formula = Formula::parse("~ x + a").unwrap();
        let context = Context {
            text: "~ x + a",
            table: &table,
            standardise: &[],
            levels: &BTreeMap::new(),
        };
        let error = Matrix::compile(&formula.fixed, context).unwrap_err();
        assert!(
            error.to_string().contains("`a` has one level only, `u`"),
            "{error}"
        );
    }

    #[test]
    fn new_rows_are_coded_as_the_fitted_ones_and_new_levels_refused() {
        let table = Table::parse("d.csv", DATA).unwrap();
        let formula = Formula::parse("~ a").unwrap();
        let context = Context {
            text: "~ a",
            table: &table,
            standardise: &[],
            levels: &BTreeMap::new(),
        };
        let matrix = Matrix::compile(&formula.fixed, context).unwrap();
        let new = Table::parse("n.csv", "a\nw\n").unwrap();
        assert_eq!(matrix.values(&new).unwrap(), [[1.0], [0.0], [1.0]]);
        let new = Table::parse("n.csv", "a\nz\n").unwrap();
        let error = matrix.values(&new).unwrap_err().to_string();
        assert!(error.contains("n.csv, line 2: `a` is `z`"), "{error}");
    }
}
