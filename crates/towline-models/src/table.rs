//! Data as a table of named columns, read from CSV; every complaint names the line, the column and the value.

use crate::error::Error;
use crate::nearest::nearest;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

/// What stands for a missing value, as R and pandas write it.
const MISSING: [&str; 6] = ["", "NA", "N/A", "NaN", "nan", "null"];

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
        let bytes = fs::read(path).map_err(|source| Error::Read {
            path: path.to_path_buf(),
            source,
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

    fn from_bytes(name: &str, bytes: &[u8]) -> Result<Self, Error> {
        let checksum = checksum(bytes);
        // Spreadsheets put a byte order mark in front; it is no part of the first name.
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Err(Error::Empty {
                name: name.into(),
                what: "a table needs a first line with the names of its columns, and rows below it",
            });
        }
        let at = |line, reason: String| Error::Table {
            name: name.into(),
            line,
            reason,
        };
        let mut reader = csv::ReaderBuilder::new()
            .flexible(true)
            .has_headers(false)
            .trim(csv::Trim::All)
            .from_reader(bytes);
        let mut headers: Vec<String> = Vec::new();
        let mut columns: Vec<Vec<String>> = Vec::new();
        let mut lines = Vec::new();
        for record in reader.records() {
            let record = record.map_err(|error| {
                let line = error.position().map_or(1, csv::Position::line);
                at(line, utf8_or(&error))
            })?;
            let line = record.position().map_or(1, csv::Position::line);
            if headers.is_empty() {
                headers = check_headers(&record, |reason| at(line, reason))?;
                columns = vec![Vec::new(); headers.len()];
                continue;
            }
            // A row names as R writes them has one field more than the header: say so instead of shifting.
            if record.len() != headers.len() {
                let (found, wanted) = (record.len(), headers.len());
                return Err(at(
                    line,
                    format!(
                        "this row has {found} field{}, the header has {wanted}",
                        if found == 1 { "" } else { "s" }
                    ),
                ));
            }
            for (column, value) in columns.iter_mut().zip(&record) {
                column.push(value.to_string());
            }
            lines.push(line);
        }
        if lines.is_empty() {
            return Err(Error::Empty {
                name: name.into(),
                what: "it has a header and no rows",
            });
        }
        Ok(Self {
            name: name.into(),
            headers,
            columns,
            lines,
            checksum,
        })
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
    /// Where there is no such column.
    pub fn is_numeric(&self, column: &str) -> Result<bool, Error> {
        Ok(self
            .text(column)?
            .iter()
            .all(|value| is_missing(value) || value.parse::<f64>().is_ok()))
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

fn check_headers(
    record: &csv::StringRecord,
    at: impl Fn(String) -> Error,
) -> Result<Vec<String>, Error> {
    let mut seen = HashSet::new();
    for (k, header) in record.iter().enumerate() {
        if header.is_empty() {
            return Err(at(format!("column {} has no name", k + 1)));
        }
        if !seen.insert(header) {
            return Err(at(format!("two columns are called `{header}`")));
        }
    }
    // One name with semicolons or tabs in it: a file with another separator, which would fail obscurely later.
    if record.len() == 1 && record[0].contains([';', '\t']) {
        return Err(at(format!(
            "there is a single column, called `{}`: fields must be separated by commas",
            &record[0]
        )));
    }
    Ok(record.iter().map(String::from).collect())
}

fn utf8_or(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::Utf8 { err, .. } => {
            format!(
                "field {} is not UTF-8 text; save the file as UTF-8",
                err.field() + 1
            )
        }
        _ => error.to_string(),
    }
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

/// FNV-1a, 64 bits: notices changes; it is not meant to withstand an adversary.
fn checksum(bytes: &[u8]) -> String {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("fnv1a-{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Table::parse("d.csv", text).unwrap_err().to_string()
    }

    #[test]
    fn an_empty_file_is_refused_with_what_a_table_needs() {
        assert!(error("").contains("d.csv is empty"));
        assert!(error(" \n\n").contains("names of its columns"));
        assert!(error("a,b\n").contains("no rows"));
    }

    #[test]
    fn a_ragged_row_is_named_by_its_line() {
        assert_eq!(
            error("a,b\n1,2\n3\n"),
            "d.csv, line 3: this row has 1 field, the header has 2"
        );
        assert!(error("a,b\n1,2,3\n").contains("line 2: this row has 3 fields"));
    }

    #[test]
    fn headers_must_be_names_and_different() {
        assert!(error("a,b,a\n1,2,3\n").contains("two columns are called `a`"));
        assert!(error("a,,c\n1,2,3\n").contains("column 2 has no name"));
        assert!(error("a;b\n1;2\n").contains("separated by commas"));
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_name() {
        let table = Table::parse("d.csv", "\u{feff}a,b\n1,2\n").unwrap();
        assert!(table.has("a"));
    }

    #[test]
    fn bytes_that_are_not_text_are_named() {
        let error = Table::from_bytes("d.csv", b"a,b\n1,2\n1,\xff\xfe\n").unwrap_err();
        assert!(
            error.to_string().contains("line 3: field 2 is not UTF-8"),
            "{error}"
        );
    }

    #[test]
    fn a_missing_value_is_named_by_line_and_column_and_may_be_dropped() {
        let table = Table::parse("d.csv", "a,b\n1,2\nNA,3\n4,\n,6\n").unwrap();
        let error = table.numbers("a").unwrap_err().to_string();
        assert!(
            error.starts_with("d.csv, line 3: `a` is missing (2 such rows"),
            "{error}"
        );
        let (kept, dropped) = table.drop_missing(["a", "b"]).unwrap();
        assert_eq!((kept.rows(), dropped), (1, 3));
        assert_eq!(
            table.drop_missing(["b"]).unwrap().0.numbers("b").unwrap(),
            [2.0, 3.0, 6.0]
        );
    }

    #[test]
    fn text_in_a_number_column_is_named_by_line_and_value() {
        let table = Table::parse("d.csv", "a\n1\ntwo\n").unwrap();
        let error = table.numbers("a").unwrap_err().to_string();
        assert_eq!(error, "d.csv, line 3: `a` is `two`, which is not a number");
        let table = Table::parse("d.csv", "a\n\"1,5\"\n").unwrap();
        assert!(
            table
                .numbers("a")
                .unwrap_err()
                .to_string()
                .contains("with a point")
        );
        let table = Table::parse("d.csv", "a\ninf\n").unwrap();
        assert!(table.numbers("a").is_err());
    }

    #[test]
    fn an_unknown_column_comes_with_the_nearest_name() {
        let table = Table::parse("d.csv", "district,age\n1,2\n").unwrap();
        let error = table.numbers("distrct").unwrap_err().to_string();
        assert!(error.contains("did you mean `district`?"), "{error}");
        assert!(error.contains("`age`"), "{error}");
    }

    #[test]
    fn levels_are_in_the_order_of_numbers_or_of_text() {
        let table = Table::parse("d.csv", "a,b\n10,3+\n9,0\n10,2\n").unwrap();
        assert_eq!(table.levels("a").unwrap(), ["9", "10"]);
        assert_eq!(table.levels("b").unwrap(), ["0", "2", "3+"]);
    }

    #[test]
    fn the_checksum_tells_different_files_apart() {
        let one = Table::parse("d.csv", "a\n1\n").unwrap();
        let two = Table::parse("d.csv", "a\n2\n").unwrap();
        assert_ne!(one.checksum(), two.checksum());
        assert_eq!(
            one.checksum(),
            Table::parse("e.csv", "a\n1\n").unwrap().checksum()
        );
    }
}
