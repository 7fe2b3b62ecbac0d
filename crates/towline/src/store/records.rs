//! A log of records, each of which is there whole or not at all: whoever is killed while writing loses the record that was being
//! written, and no other.

use super::{file, framed};
use crate::error::Error;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The length and the checksum before each record.
const HEAD: usize = 16;

/// A log of one run.
#[derive(Debug)]
pub(crate) struct Records<R> {
    path: PathBuf,
    run: u64,
    file: Mutex<File>,
    kind: PhantomData<fn(R)>,
}

impl<R: Serialize + DeserializeOwned> Records<R> {
    /// Opens or makes a log, and returns what is in it; a record that was half-written is cut off.
    ///
    /// # Errors
    /// Where it is damaged or of another run.
    pub fn open(path: PathBuf, run: u64) -> Result<(Self, Vec<R>), Error> {
        file::refuse_link(&path)?;
        let bytes = file::read(&path)?.unwrap_or_default();
        let (records, whole) = parse(&path, run, &bytes)?;
        Ok((Self::from(path, run, whole)?, records))
    }

    /// A log without records, whatever was there.
    pub fn anew(path: PathBuf, run: u64) -> Result<Self, Error> {
        file::refuse_link(&path)?;
        Self::from(path, run, 0)
    }

    fn from(path: PathBuf, run: u64, whole: usize) -> Result<Self, Error> {
        let open = || -> std::io::Result<File> {
            let mut file = File::options()
                .write(true)
                .create(true)
                .truncate(false)
                .open(&path)?;
            file.set_len(whole as u64)?;
            file.seek(SeekFrom::End(0))?;
            Ok(file)
        };
        let file = open().map_err(|source| file::failed("open", &path, source))?;
        Ok(Self {
            path,
            run,
            file: Mutex::new(file),
            kind: PhantomData,
        })
    }

    /// Adds a record, which is on the disk when this returns.
    pub fn add(&self, record: &R) -> Result<(), Error> {
        self.write(record, true)
    }

    /// Adds a record, which outlives this process when this returns, though perhaps not the machine.
    pub fn note(&self, record: &R) -> Result<(), Error> {
        self.write(record, false)
    }

    fn write(&self, record: &R, synced: bool) -> Result<(), Error> {
        let content = postcard::to_stdvec(&(self.run, record)).map_err(|error| Error::Damaged {
            path: self.path.clone(),
            problem: error.to_string(),
        })?;
        let mut bytes = Vec::with_capacity(HEAD + content.len());
        bytes.extend_from_slice(&(content.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&framed::checksum(&content).to_le_bytes());
        bytes.extend_from_slice(&content);
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let written = file.write_all(&bytes);
        let written = written.and_then(|()| if synced { file.sync_data() } else { Ok(()) });
        written.map_err(|source| file::failed("write", &self.path, source))
    }
}

/// The records of a log, in its order, and how many of its bytes they take.
fn parse<R: DeserializeOwned>(
    path: &Path,
    run: u64,
    bytes: &[u8],
) -> Result<(Vec<R>, usize), Error> {
    let damaged = |problem: &str| Error::Damaged {
        path: path.to_path_buf(),
        problem: problem.to_owned(),
    };
    let (mut records, mut at) = (Vec::new(), 0);
    while let Some(head) = bytes.get(at..at + HEAD) {
        let number =
            |from: usize| u64::from_le_bytes(head[from..from + 8].try_into().unwrap_or_default());
        let length = usize::try_from(number(0)).unwrap_or(usize::MAX);
        let end = (at + HEAD).saturating_add(length);
        let Some(content) = bytes.get(at + HEAD..end) else {
            // Half-written when the process ended.
            break;
        };
        if framed::checksum(content) != number(8) {
            if end == bytes.len() {
                break;
            }
            return Err(damaged(
                "the checksum of a point does not match its content",
            ));
        }
        let (of, record): (u64, R) = postcard::from_bytes(content)
            .map_err(|error| damaged(&format!("a point cannot be read ({error})")))?;
        if of != run {
            return Err(damaged(framed::OTHER_RUN));
        }
        records.push(record);
        at = end;
    }
    Ok((records, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_was_cut_off_keeps_every_whole_record() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("points.bin");
        let open = |run| Records::<Vec<f64>>::open(path.clone(), run);
        let record = |k: usize| vec![k as f64, -0.5, 3.0];
        let (log, none) = open(7).unwrap();
        assert!(none.is_empty());
        (0..3).for_each(|k| log.add(&record(k)).unwrap());
        let whole = std::fs::read(&path).unwrap();
        for cut in 0..whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let (log, found) = open(7).unwrap();
            assert_eq!(found.len(), cut * 3 / whole.len());
            // What was lost is evaluated again, and the log is whole.
            (found.len()..3).for_each(|k| log.note(&record(k)).unwrap());
            assert_eq!(std::fs::read(&path).unwrap(), whole);
        }
        assert!(open(8).is_err(), "another run");
        let mut spoilt = whole.clone();
        spoilt[HEAD + 3] ^= 1;
        std::fs::write(&path, &spoilt).unwrap();
        let said = open(7).unwrap_err().to_string();
        assert!(said.contains("checksum"), "{said}");
    }
}
