//! Draws on disk: rows of little-endian doubles, all of one width, only ever appended.

use super::file::{failed, refuse_link};
use crate::error::Error;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Bytes that are read at a time.
const CHUNK: usize = 1 << 20;

/// Appends rows to a file. Rows are on their way to the system after [`flush`](Self::flush), and on the disk
/// after [`sync`](Self::sync).
#[derive(Debug)]
pub struct Rows {
    path: PathBuf,
    file: File,
    rows: u64,
    checksum: u64,
    waiting: Vec<u8>,
}

/// What a checksum of rows begins with, and the factor of FNV-1a, which is taken over whole numbers here.
const BEGIN: u64 = 0xcbf2_9ce4_8422_2325;
const FACTOR: u64 = 0x0100_0000_01b3;

/// The checksum of rows, one number further.
#[inline(always)]
fn further(checksum: u64, value: f64) -> u64 {
    // The rotation brings high bits, which a product alone leaves where they are, into play.
    ((checksum ^ value.to_bits()).wrapping_mul(FACTOR)).rotate_left(23)
}

impl Rows {
    /// Opens a file that holds so many rows that count, of this width; what follows them is cut off.
    ///
    /// # Errors
    /// Where it holds fewer, or cannot be written.
    pub fn open(path: &Path, width: usize, rows: u64) -> Result<Self, Error> {
        refuse_link(path)?;
        let open = || -> std::io::Result<(File, u64)> {
            let file = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(path)?;
            let length = file.metadata()?.len();
            Ok((file, length))
        };
        let (mut file, length) = open().map_err(|source| failed("write", path, source))?;
        let expected = (8 * width as u64).saturating_mul(rows);
        if length < expected {
            return Err(Error::Damaged {
                path: path.to_path_buf(),
                problem: format!(
                    "it holds {} rows, and {rows} were stored; put back the file that belongs here",
                    length / (8 * width as u64).max(1)
                ),
            });
        }
        file.set_len(expected)
            .and_then(|()| file.seek(SeekFrom::Start(expected)))
            .map_err(|source| failed("write", path, source))?;
        Ok(Self {
            path: path.to_path_buf(),
            file,
            rows,
            checksum: BEGIN,
            waiting: Vec::new(),
        })
    }

    /// With the checksum of the rows that are there already; without any it is known.
    #[must_use]
    pub fn continuing(mut self, checksum: u64) -> Self {
        if self.rows > 0 {
            self.checksum = checksum;
        }
        self
    }

    /// The checksum of all rows so far, those in memory included.
    pub fn checksum(&self) -> u64 {
        self.checksum
    }

    /// Adds a row, in memory.
    #[inline]
    pub fn append(&mut self, row: &[f64]) {
        self.waiting
            .extend(row.iter().flat_map(|value| value.to_le_bytes()));
        self.checksum = row
            .iter()
            .fold(self.checksum, |sum, value| further(sum, *value));
        self.rows += 1;
    }

    /// Bytes that wait in memory.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Rows so far, those in memory included.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Hands what waits to the system, so that readers see it.
    ///
    /// # Errors
    /// Where the disk is full or the like: what was synced before is still there.
    pub fn flush(&mut self) -> Result<(), Error> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        self.file
            .write_all(&self.waiting)
            .map_err(|source| failed("write", &self.path, source))?;
        self.waiting.clear();
        Ok(())
    }

    /// Makes all rows last, whatever happens to the machine.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    pub fn sync(&mut self) -> Result<(), Error> {
        self.flush()?;
        self.file
            .sync_data()
            .map_err(|source| failed("write", &self.path, source))
    }
}

/// The rows of one file, as they were when it was opened: a run that goes on may append to it.
#[derive(Debug, Clone)]
pub struct Draws {
    path: PathBuf,
    width: usize,
    rows: usize,
    /// What they must come to, where a checkpoint says so.
    checksum: Option<u64>,
}

impl Draws {
    /// The whole rows of a file, each of so many numbers; a file that is not there has none.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn open(path: &Path, width: usize) -> Result<Self, Error> {
        let length = match fs::metadata(path) {
            Ok(data) => data.len(),
            Err(error) if error.kind() == ErrorKind::NotFound => 0,
            Err(source) => return Err(failed("read", path, source)),
        };
        // A last, incomplete row means that a write is under way.
        let rows = (length / (8 * width as u64).max(1)) as usize;
        Ok(Self {
            path: path.to_path_buf(),
            width,
            rows: if width == 0 { 0 } else { rows },
            checksum: None,
        })
    }

    /// The first rows, which a checkpoint counts; what follows them is nobody's.
    ///
    /// # Errors
    /// Where there are fewer.
    pub(super) fn counted(mut self, rows: u64, checksum: u64) -> Result<Self, Error> {
        if (self.rows as u64) < rows && self.width > 0 {
            return Err(Error::Damaged {
                problem: format!(
                    "it holds {} rows, and {rows} were stored; put back the file that belongs here",
                    self.rows
                ),
                path: self.path,
            });
        }
        self.rows = self.rows.min(usize::try_from(rows).unwrap_or(usize::MAX));
        self.checksum = (self.rows > 0).then_some(checksum);
        Ok(self)
    }

    /// At most so many rows.
    pub(super) fn at_most(mut self, rows: u64) -> Self {
        self.rows = self.rows.min(usize::try_from(rows).unwrap_or(usize::MAX));
        self
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Numbers in a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// One column.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub fn column(&self, column: usize) -> Result<Vec<f64>, Error> {
        Ok(self.columns(&[column])?.pop().unwrap_or_default())
    }

    /// Several columns, in one pass over the file.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub fn columns(&self, columns: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        let mut out: Vec<Vec<f64>> = columns
            .iter()
            .map(|_| Vec::with_capacity(self.rows))
            .collect();
        self.each(|row| {
            for (column, out) in columns.iter().zip(&mut out) {
                out.push(row.get(*column).copied().unwrap_or(f64::NAN));
            }
        })?;
        Ok(out)
    }

    /// The last rows, at most so many, one after another in one vector: what a look at a long run needs. Their checksum, which is
    /// that of all rows, is not looked at.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub fn last(&self, most: usize) -> Result<Vec<f64>, Error> {
        let rows = most.min(self.rows);
        if rows == 0 {
            return Ok(Vec::new());
        }
        let bytes_each = 8 * self.width;
        let mut bytes = vec![0; rows * bytes_each];
        let read = |bytes: &mut [u8]| {
            let mut file = File::open(&self.path)?;
            file.seek(SeekFrom::Start(((self.rows - rows) * bytes_each) as u64))?;
            file.read_exact(bytes)
        };
        read(&mut bytes).map_err(|source| failed("read", &self.path, source))?;
        let number = |bytes: &[u8]| f64::from_le_bytes(bytes.try_into().unwrap_or_default());
        Ok(bytes.chunks_exact(8).map(number).collect())
    }

    /// Shows every row, one after another, in memory that does not grow with their number.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub fn each(&self, mut see: impl FnMut(&[f64])) -> Result<(), Error> {
        if self.rows == 0 {
            return Ok(());
        }
        let failed = |source: std::io::Error| {
            if source.kind() == ErrorKind::UnexpectedEof {
                Error::Damaged {
                    path: self.path.clone(),
                    problem: "it became shorter while it was read, as when a run is resumed; read it again".to_owned(),
                }
            } else {
                failed("read", &self.path, source)
            }
        };
        let mut file = File::open(&self.path).map_err(failed)?;
        let bytes_each = 8 * self.width;
        let at_once = (CHUNK / bytes_each).max(1);
        let mut bytes = vec![0; bytes_each * at_once.min(self.rows)];
        let mut row = vec![0.0; self.width];
        let mut left = self.rows;
        let mut checksum = BEGIN;
        while left > 0 {
            let now = left.min(at_once);
            let bytes = &mut bytes[..now * bytes_each];
            file.read_exact(bytes).map_err(failed)?;
            for source in bytes.chunks_exact(bytes_each) {
                for (value, source) in row.iter_mut().zip(source.chunks_exact(8)) {
                    *value = f64::from_le_bytes(source.try_into().unwrap_or_default());
                    checksum = further(checksum, *value);
                }
                see(&row);
            }
            left -= now;
        }
        match self.checksum {
            Some(stored) if stored != checksum => Err(Error::Damaged {
                path: self.path.clone(),
                problem: "its checksum does not match its rows: a number in it was changed, or it is another chain's"
                    .to_owned(),
            }),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_last_row_is_left_out_and_cut_off_on_resume() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("chain-0.f64");
        let mut rows = Rows::open(&path, 2, 0).unwrap();
        for k in 0..3 {
            rows.append(&[f64::from(k), -0.5]);
        }
        rows.sync().unwrap();
        let mut bytes = fs::read(&path).unwrap();
        bytes.truncate(8 * 5 + 3);
        fs::write(&path, &bytes).unwrap();
        let draws = Draws::open(&path, 2).unwrap();
        assert_eq!(draws.rows(), 2);
        assert_eq!(draws.column(0).unwrap(), [0.0, 1.0]);
        assert_eq!(draws.last(1).unwrap(), [1.0, -0.5]);
        assert_eq!(draws.last(9).unwrap(), [0.0, -0.5, 1.0, -0.5]);
        let mut rows = Rows::open(&path, 2, 1).unwrap();
        rows.append(&[7.0, 8.0]);
        rows.flush().unwrap();
        assert_eq!(
            Draws::open(&path, 2).unwrap().column(0).unwrap(),
            [0.0, 7.0]
        );
        let error = Rows::open(&path, 2, 3).unwrap_err().to_string();
        assert!(error.contains("2 rows, and 3 were stored"), "{error}");
    }

    #[test]
    fn rows_past_those_counted_are_nobodys_and_changed_ones_are_seen() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("chain-0.f64");
        let mut rows = Rows::open(&path, 2, 0).unwrap();
        rows.append(&[1.0, 2.0]);
        rows.sync().unwrap();
        let first = rows.checksum();
        // A session ends and another continues: the checksum does too.
        let mut rows = Rows::open(&path, 2, 1).unwrap().continuing(first);
        rows.append(&[3.0, 4.0]);
        rows.append(&[0.0, 0.0]);
        rows.sync().unwrap();
        let whole = |rows: u64, sum: u64| Draws::open(&path, 2).unwrap().counted(rows, sum);
        assert_eq!(whole(1, first).unwrap().column(0).unwrap(), [1.0]);
        assert_eq!(whole(3, rows.checksum()).unwrap().rows(), 3);
        assert!(whole(3, rows.checksum()).unwrap().column(1).is_ok());
        assert!(whole(4, rows.checksum()).is_err());
        let mut bytes = fs::read(&path).unwrap();
        bytes[9] ^= 1;
        fs::write(&path, bytes).unwrap();
        let said = whole(3, rows.checksum())
            .unwrap()
            .column(1)
            .unwrap_err()
            .to_string();
        assert!(said.contains("checksum"), "{said}");
    }
}
