//! Reads a table from the bytes of a CSV file.

use super::Table;
use crate::error::Error;
use crate::nearest::plural;
use std::collections::HashSet;

impl Table {
    pub(super) fn from_bytes(name: &str, bytes: &[u8]) -> Result<Self, Error> {
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
        let mut counter = Lines {
            bytes,
            at: 0,
            line: 1,
        };
        for record in reader.records() {
            let record = record.map_err(|error| {
                let start = error.position().map_or(0, csv::Position::byte);
                at(counter.line_of(start), utf8_or(&error))
            })?;
            let start = record.position().map_or(0, csv::Position::byte);
            let line = counter.line_of(start);
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
                        "this row has {}, the header has {wanted}",
                        plural(found, "field")
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
}

/// Counts lines as editors do: the csv crate's own count is one short where lines end in CR LF.
struct Lines<'a> {
    bytes: &'a [u8],
    at: usize,
    line: u64,
}

impl Lines<'_> {
    /// The line of a record that begins at a byte, or after the ends of lines there.
    fn line_of(&mut self, start: u64) -> u64 {
        let start = usize::try_from(start)
            .unwrap_or(usize::MAX)
            .min(self.bytes.len());
        let is_end = |byte: Option<&u8>| matches!(byte, Some(b'\n' | b'\r'));
        while self.at < start || is_end(self.bytes.get(self.at)) {
            match self.bytes.get(self.at) {
                None => break,
                Some(b'\n') => self.line += 1,
                // Alone it ends a line too; before a line feed it is part of that end.
                Some(b'\r') if self.bytes.get(self.at + 1) != Some(&b'\n') => self.line += 1,
                _ => {}
            }
            self.at += 1;
        }
        self.line
    }
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

/// FNV-1a, 64 bits: notices changes; it is not meant to withstand an adversary.
fn checksum(bytes: &[u8]) -> String {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("fnv1a-{hash:016x}")
}
