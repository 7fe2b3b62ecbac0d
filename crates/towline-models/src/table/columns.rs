//! A table of columns in memory: from a frame, or on the way to one.

use super::Table;
use crate::error::Error;

/// The cells of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Cells {
    /// Numbers; NaN is a missing value.
    Numbers(Vec<f64>),
    /// Words; an empty one is a missing value.
    Words(Vec<String>),
}

impl Cells {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Numbers(values) => values.len(),
            Self::Words(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn text(&self, row: usize) -> String {
        match self {
            Self::Numbers(values) => number(values[row]),
            Self::Words(values) => values[row].clone(),
        }
    }
}

/// A number to the last bit, as short as it can be written.
fn number(value: f64) -> String {
    let size = value.abs();
    if value.is_nan() {
        String::new()
    } else if size == 0.0 || (1e-5..1e15).contains(&size) {
        // Without the sign of zero, which would be another level.
        format!("{}", value + 0.0)
    } else {
        format!("{value:e}")
    }
}

impl Table {
    /// A table of columns, and the CSV file from which the same table would be read.
    ///
    /// # Errors
    /// Where columns have different lengths or the same name, or there is nothing in them.
    pub fn of_columns(name: &str, columns: &[(String, Cells)]) -> Result<(Self, Vec<u8>), Error> {
        let failed = |reason: String| Error::Table {
            name: name.into(),
            line: 1,
            reason,
        };
        let rows = columns.first().map_or(0, |(_, cells)| cells.len());
        for (column, cells) in columns {
            if cells.len() != rows {
                return Err(failed(format!(
                    "`{column}` has {} rows, `{}` has {rows}",
                    cells.len(),
                    columns[0].0
                )));
            }
        }
        // Through the reader of files, so that a run that is opened again has the same table to the last letter.
        let mut writer = csv::Writer::from_writer(Vec::new());
        let mut write = |record: Vec<String>| {
            let written = writer.write_record(&record);
            written.map_err(|error| failed(error.to_string()))
        };
        write(columns.iter().map(|(name, _)| name.clone()).collect())?;
        for row in 0..rows {
            write(columns.iter().map(|(_, cells)| cells.text(row)).collect())?;
        }
        let bytes = writer
            .into_inner()
            .map_err(|error| failed(error.to_string()))?;
        Ok((Self::from_bytes(name, &bytes)?, bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_in_memory_are_the_table_of_their_file() {
        let numbers = vec![1.0, -0.0, f64::NAN, 0.1 + 0.2, 1e300, 5e-324];
        let words = ["a, b", "\"", " c ", "", "1", "ü"].map(String::from);
        let columns = [
            ("x".to_string(), Cells::Numbers(numbers.clone())),
            ("f".to_string(), Cells::Words(words.to_vec())),
        ];
        let (table, bytes) = Table::of_columns("d", &columns).unwrap();
        let again = Table::parse("d", std::str::from_utf8(&bytes).unwrap()).unwrap();
        assert_eq!(table.text("f").unwrap(), again.text("f").unwrap());
        assert_eq!(table.checksum(), again.checksum());
        assert_eq!(table.text("x").unwrap()[..3], ["1", "0", ""]);
        for (text, number) in table.text("x").unwrap().iter().zip(&numbers) {
            assert!(number.is_nan() || text.parse::<f64>().unwrap() == *number);
        }
        let short = [columns[0].clone(), ("g".into(), Cells::Numbers(vec![1.0]))];
        let said = Table::of_columns("d", &short).unwrap_err().to_string();
        assert!(said.contains("`g` has 1 rows, `x` has 6"), "{said}");
        assert!(Table::of_columns("d", &[]).is_err());
    }
}
