//! Factors: columns (or combinations of them) whose values are levels, coded in new rows as in the fitted ones.

use super::arguments::{bind, constant, several};
use super::contrast::{CONTRASTS, Contrast};
use super::expression::Context;
use super::parser::{Argument, Kind, Node};
use crate::error::Error;
use crate::nearest::did_you_mean;
use crate::table::{Table, list, sorted_levels};
use std::collections::HashMap;

/// One or more columns whose combinations are levels.
#[derive(Debug, Clone)]
pub(crate) struct Factor {
    pub name: String,
    /// Empty for `row()`: every row a level of its own.
    columns: Vec<String>,
    pub levels: Vec<String>,
    codes: HashMap<String, usize>,
    /// The file of the fit, and the row of each of its lines: what `row()` knows rows by.
    rows: Option<(String, HashMap<u64, usize>)>,
}

/// Functions that make a factor of a column.
pub(crate) const FACTORS: [&str; 4] = ["factor", "as.factor", "relevel", "C"];

/// Whether a node makes a factor by itself, whatever its column holds.
pub(super) fn makes_factor(node: &Node) -> bool {
    matches!(&node.kind, Kind::Call(name, _) if FACTORS.contains(&name.as_str()))
}

impl Factor {
    /// The factor of some columns in the data of the fit, with at least two levels.
    pub fn compile(nodes: &[Node], context: Context) -> Result<Self, Error> {
        let mut columns = Vec::new();
        let mut given = None;
        for node in nodes {
            if is_row(node) {
                continue;
            }
            let made = Made::of(node, context)?;
            columns.push(made.column);
            given = Some(made.levels);
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
            rows: None,
        };
        let values = factor.values(context.table)?;
        factor.levels = match (given, factor.columns.len()) {
            (_, 0) => {
                let table = context.table;
                let lines = (0..table.rows()).map(|row| (table.line(row), row));
                factor.rows = Some((table.checksum().into(), lines.collect()));
                values
            }
            (Some(levels), 1) => levels,
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
        // Rows have no names that another table could share: only the fitted file itself has the fitted rows.
        if let Some((checksum, rows)) = &self.rows {
            let same = table.checksum() == checksum;
            let code = |row| rows.get(&table.line(row)).copied().filter(|_| same);
            return Ok((0..table.rows()).map(code).collect());
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

/// A column with the order of its levels and their coding.
pub(super) struct Made {
    column: String,
    levels: Vec<String>,
    pub contrast: Contrast,
}

impl Made {
    /// What a column's name, `factor(f, levels = c(…))`, `relevel(f, ref)` or `C(f, contrast)` stands for.
    pub fn of(node: &Node, context: Context) -> Result<Self, Error> {
        match &node.kind {
            Kind::Bracketed(inside) => Self::of(inside, context),
            Kind::Name(name) if context.table.has(name) => Self::column(name, context),
            Kind::Name(name) => Err(context.unknown(name, node)),
            Kind::Call(name, arguments) => match name.as_str() {
                "factor" | "as.factor" => Self::factor(name, arguments, node, context),
                "relevel" => Self::relevel(arguments, node, context),
                "C" => Self::contrasted(arguments, node, context),
                _ => Err(context.error("a column is needed here", node)),
            },
            _ => Err(context.error("a column is needed here", node)),
        }
    }

    fn column(name: &str, context: Context) -> Result<Self, Error> {
        let values = context.table.complete(name)?;
        let levels = match context.levels.get(name) {
            Some(given) => given_levels(&format!("levels.{name}"), given, values, context.table)?,
            None => sorted_levels(values.iter().cloned()),
        };
        Ok(Self {
            column: name.into(),
            levels,
            contrast: Contrast::Treatment { base: 0 },
        })
    }

    fn factor(
        name: &str,
        arguments: &[Argument],
        node: &Node,
        context: Context,
    ) -> Result<Self, Error> {
        let bound = bind(name, &["x", "levels"], arguments, node, context)?;
        let mut made = Self::of(bound.needed("x")?, context)?;
        if let Some(levels) = bound.get("levels") {
            let text = |node: &&Node| match &node.bare().kind {
                Kind::Text(text) => Some(text.clone()),
                _ => constant(node).map(|number| number.to_string()),
            };
            let given: Option<Vec<String>> = several(levels).iter().map(text).collect();
            let Some(given) = given else {
                return Err(
                    context.error("levels are texts: levels = c(\"low\", \"high\")", levels)
                );
            };
            let values = context.table.complete(&made.column)?;
            made.levels = given_levels(&node.to_string(), &given, values, context.table)?;
        }
        Ok(made)
    }

    fn relevel(arguments: &[Argument], node: &Node, context: Context) -> Result<Self, Error> {
        let bound = bind("relevel", &["x", "ref"], arguments, node, context)?;
        let mut made = Self::of(bound.needed("x")?, context)?;
        let wanted = bound.needed("ref")?;
        // As in R: a text is a level, a number the place of one.
        let at = match (&wanted.bare().kind, constant(wanted)) {
            (Kind::Text(text), _) => made.levels.iter().position(|level| level == text),
            (_, Some(place)) => (0..made.levels.len()).find(|k| (k + 1) as f64 == place),
            _ => None,
        };
        let Some(at) = at else {
            let hint = match &wanted.bare().kind {
                Kind::Text(text) => did_you_mean(text, made.levels.iter().map(String::as_str)),
                _ => None,
            };
            let hint = hint.unwrap_or_else(|| {
                format!(
                    "they are {}; write one as text, or its place from 1 to {}",
                    list(&made.levels),
                    made.levels.len()
                )
            });
            return Err(context.error(format!("`{wanted}` is none of the levels; {hint}"), wanted));
        };
        let reference = made.levels.remove(at);
        made.levels.insert(0, reference);
        Ok(made)
    }

    fn contrasted(arguments: &[Argument], node: &Node, context: Context) -> Result<Self, Error> {
        let bound = bind("C", &["object", "contr", "base"], arguments, node, context)?;
        let mut made = Self::of(bound.needed("object")?, context)?;
        let wanted = bound.needed("contr")?;
        let name = match &wanted.bare().kind {
            Kind::Name(name) | Kind::Text(name) => name.as_str(),
            _ => "",
        };
        let count = made.levels.len();
        let Some(contrast) = Contrast::named(name, count.max(1)) else {
            let hint = did_you_mean(name, CONTRASTS)
                .unwrap_or_else(|| format!("there are {}", CONTRASTS.join(", ")));
            return Err(context.error(format!("`{wanted}` is no contrast; {hint}"), wanted));
        };
        made.contrast = contrast;
        if let Some(base) = bound.whole("base", 1, count)? {
            if contrast != (Contrast::Treatment { base: 0 }) {
                return Err(context.error("only contr.treatment has a base", node));
            }
            made.contrast = Contrast::Treatment { base: base - 1 };
        }
        Ok(made)
    }
}

fn given_levels(
    key: &str,
    given: &[String],
    values: &[String],
    table: &Table,
) -> Result<Vec<String>, Error> {
    if let Some(row) = values.iter().position(|value| !given.contains(value)) {
        return Err(Error::setting(
            key,
            format!(
                "{}, line {} has `{}`, which is not among the levels given ({})",
                table.name(),
                table.line(row),
                values[row],
                list(given)
            ),
        ));
    }
    if let Some((_, twice)) = given
        .iter()
        .enumerate()
        .find(|(k, level)| given[..*k].contains(level))
    {
        return Err(Error::setting(key, format!("`{twice}` is given twice")));
    }
    // A level that no row has would have an effect that no row informs.
    Ok(given
        .iter()
        .filter(|level| values.contains(level))
        .cloned()
        .collect())
}

fn is_row(node: &Node) -> bool {
    matches!(&node.kind, Kind::Call(name, arguments) if name == "row" && arguments.is_empty())
}
