//! Data as a table of named columns, read from CSV; every complaint names the line, the column and the value.

mod columns;
mod read;

pub use columns::Cells;

use crate::error::Error;
use crate::nearest::nearest;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

/// What stands for a missing value, as R and pandas write it.
const MISSING: [&str; 6] = ["", "NA", "N/A", "NaN", "nan", "null"];

/// Where at most one value in so many is no number, a column is one of numbers with slips in it.
const RARE: usize = 10;

/// A table of named columns of text; whether a column is of numbers is decided when it is asked for.
///
/// ```
/// use towline_models::Table;
/// let table = Table::parse("crabs.csv", "sex,FL\nM,8.1\nF,7.2\n")?;
/// assert_eq!(table.numbers("FL")?, [8.1, 7.2]);
/// assert_eq!(table.levels("sex")?, ["F", "M"]);
/// # Ok::<(), towline_models::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Table {
    name: String,
    headers: Vec<String>,
    columns: Vec<Vec<String>>,
    /// The line of each row in the file.
    lines: Vec<u64>,
    checksum: String,
}

impl Table {
    /// Reads a CSV file with a header.
    ///
    /// # Errors
    /// Where the file cannot be read, is empty, is not UTF-8, has rows of different lengths, or names a column twice.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let bytes = fs::read(path).map_err(|reason| Error::Read {
            path: path.to_path_buf(),
            reason,
        })?;
        let name = path.file_name().map_or_else(
            || path.display().to_string(),
            |n| n.to_string_lossy().into(),
        );
        Self::from_bytes(&name, &bytes)
    }

    /// Reads a table from text; `name` stands for it in messages.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn parse(name: &str, text: &str) -> Result<Self, Error> {
        Self::from_bytes(name, text.as_bytes())
    }

    /// What the table is called in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many rows it has.
    pub fn rows(&self) -> usize {
        self.lines.len()
    }

    /// The names of its columns.
    pub fn headers(&self) -> &[String] {
        &self.headers
    }

    /// A checksum of the file as it was read, by which a change is noticed.
    pub fn checksum(&self) -> &str {
        &self.checksum
    }

    /// The line in the file of a row (from 0).
    pub fn line(&self, row: usize) -> u64 {
        self.lines[row]
    }

    /// Whether there is such a column.
    pub fn has(&self, column: &str) -> bool {
        self.headers.iter().any(|header| header == column)
    }

    /// A column as it stands in the file.
    ///
    /// # Errors
    /// Where there is none of that name: with the nearest.
    pub fn text(&self, column: &str) -> Result<&[String], Error> {
        self.headers
            .iter()
            .position(|header| header == column)
            .map(|at| self.columns[at].as_slice())
            .ok_or_else(|| Error::UnknownColumn {
                name: self.name.clone(),
                column: column.into(),
                suggestion: nearest(column, self.headers.iter().map(String::as_str))
                    .map(String::from),
                known: list(&self.headers),
            })
    }

    /// A column as text, none of it missing.
    ///
    /// # Errors
    /// Where there is no such column, or a value is missing.
    pub fn complete(&self, column: &str) -> Result<&[String], Error> {
        let values = self.text(column)?;
        let mut gaps = (0..values.len()).filter(|&row| is_missing(&values[row]));
        match gaps.next() {
            None => Ok(values),
            Some(first) => Err(Error::Missing {
                name: self.name.clone(),
                line: self.lines[first],
                column: column.into(),
                count: 1 + gaps.count(),
            }),
        }
    }

    /// Whether every value that is not missing is a number.
    ///
    /// # Errors
    /// Where there is no such column, or nearly all of it are numbers: what is not is a slip more likely than a level.
    pub fn is_numeric(&self, column: &str) -> Result<bool, Error> {
        match self.odd_one_out(column)? {
            Some(odd) => Err(odd),
            None => {
                let mut present = self.text(column)?.iter().filter(|v| !is_missing(v));
                Ok(present.all(|value| value.parse::<f64>().is_ok()))
            }
        }
    }

    /// The first value that is no number in a column whose others are numbers.
    pub(crate) fn odd_one_out(&self, column: &str) -> Result<Option<Error>, Error> {
        let values = self.text(column)?;
        let present = (0..values.len()).filter(|&row| !is_missing(&values[row]));
        let (numbers, others): (Vec<usize>, Vec<usize>) =
            present.partition(|&row| values[row].parse::<f64>().is_ok());
        let Some(&first) = others.first() else {
            return Ok(None);
        };
        let different = |rows: &[usize]| {
            let texts: HashSet<&str> = rows.iter().map(|&row| values[row].as_str()).collect();
            texts.len()
        };
        let total = numbers.len() + others.len();
        let rare = !numbers.is_empty() && others.len() * RARE <= total;
        // Levels repeat; measurements do not.
        let measured = numbers.len() > others.len() && 2 * different(&numbers) > numbers.len();
        let commas = others.iter().all(|&row| comma_for_point(&values[row]));
        if commas {
            return Ok(Some(Error::NotANumber {
                name: self.name.clone(),
                line: self.lines[first],
                column: column.into(),
                value: values[first].clone(),
                advice: " (write decimals with a point; where it is a level, say factor())",
            }));
        }
        if !(rare || measured) {
            return Ok(None);
        }
        Ok(Some(Error::NearlyNumeric {
            name: self.name.clone(),
            line: self.lines[first],
            column: column.into(),
            value: values[first].clone(),
            numbers: numbers.len(),
            total,
        }))
    }

    /// A column of finite numbers.
    ///
    /// # Errors
    /// Where there is no such column, or a value is missing, infinite, or no number.
    pub fn numbers(&self, column: &str) -> Result<Vec<f64>, Error> {
        let values = self.complete(column)?;
        let bad = |row: usize, advice| Error::NotANumber {
            name: self.name.clone(),
            line: self.lines[row],
            column: column.into(),
            value: values[row].clone(),
            advice,
        };
        let mut numbers = Vec::with_capacity(values.len());
        for (row, value) in values.iter().enumerate() {
            match value.parse::<f64>() {
                Ok(number) if number.is_finite() => numbers.push(number),
                Ok(_) => return Err(bad(row, " that a model can use")),
                Err(_) if comma_for_point(value) => {
                    return Err(bad(row, " (write decimals with a point)"));
                }
                Err(_) => return Err(bad(row, "")),
            }
        }
        Ok(numbers)
    }

    /// The different values of a column: in the order of numbers where all are numbers, of text otherwise.
    ///
    /// # Errors
    /// Where there is no such column, or a value is missing.
    pub fn levels(&self, column: &str) -> Result<Vec<String>, Error> {
        Ok(sorted_levels(self.complete(column)?.iter().cloned()))
    }

    /// The table without the rows in which one of these columns has no value, and how many those were.
    ///
    /// # Errors
    /// Where a column is not known, or nothing is left.
    pub fn drop_missing<'a>(
        &self,
        used: impl IntoIterator<Item = &'a str>,
    ) -> Result<(Self, usize), Error> {
        let mut keep = vec![true; self.rows()];
        for column in used {
            for (flag, value) in keep.iter_mut().zip(self.text(column)?) {
                *flag &= !is_missing(value);
            }
        }
        let kept = Self {
            name: self.name.clone(),
            headers: self.headers.clone(),
            columns: self
                .columns
                .iter()
                .map(|column| filter(column, &keep))
                .collect(),
            lines: filter(&self.lines, &keep),
            checksum: self.checksum.clone(),
        };
        if kept.rows() == 0 {
            return Err(Error::Empty {
                name: self.name.clone(),
                what: "every row has a missing value in a column that the model uses",
            });
        }
        let dropped = self.rows() - kept.rows();
        Ok((kept, dropped))
    }
}

fn filter<T: Clone>(values: &[T], keep: &[bool]) -> Vec<T> {
    let pairs = values.iter().zip(keep);
    pairs
        .filter(|(_, keep)| **keep)
        .map(|(v, _)| v.clone())
        .collect()
}

fn comma_for_point(value: &str) -> bool {
    value.matches(',').count() == 1 && value.replace(',', ".").parse::<f64>().is_ok()
}

/// Whether a field stands for a missing value.
pub(crate) fn is_missing(value: &str) -> bool {
    MISSING.contains(&value)
}

/// Different values in order: of numbers where all are numbers, of text otherwise.
pub(crate) fn sorted_levels(values: impl Iterator<Item = String>) -> Vec<String> {
    let unique: HashSet<String> = values.collect();
    let mut levels: Vec<String> = unique.into_iter().collect();
    let numbers: Option<HashMap<String, f64>> = levels
        .iter()
        .map(|level| level.parse().ok().map(|number| (level.clone(), number)))
        .collect();
    levels.sort();
    if let Some(numbers) = numbers {
        levels.sort_by(|a, b| numbers[a].total_cmp(&numbers[b]));
    }
    levels
}

/// A few names for a message, not all of a hundred.
pub(crate) fn list(names: &[String]) -> String {
    const SHOWN: usize = 12;
    let mut text = names
        .iter()
        .take(SHOWN)
        .map(|name| format!("`{name}`"))
        .collect::<Vec<_>>()
        .join(", ");
    if names.len() > SHOWN {
        text += &format!(" and {} more", names.len() - SHOWN);
    }
    text
}

#[cfg(test)]
mod tests;
