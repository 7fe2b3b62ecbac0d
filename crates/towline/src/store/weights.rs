//! Estimates by weights on disk: `scale.bin` (what turns slow points into weights), `points.bin` (a record for each finished slow
//! point), `estimates.json` (what they say) and `weighted.f64` (draws with their weights).

use super::rows::Draws;
use super::{file, framed};
use crate::error::Error;
use crate::estimate::{Estimates, Scale, Weighted};
use crate::kernel::info::Info;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The version of the binary formats that is written here, and the newest that is read.
const VERSION: u32 = 1;
const POINTS: &str = "points.bin";
const ESTIMATES: &str = "estimates.json";
const DRAWS: &str = "weighted.f64";
/// The length and the checksum before each record.
const HEAD: usize = 16;

/// What is frozen before the first point is evaluated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Weighing {
    pub scale: Scale,
    /// What learning π̃ took, all chains together.
    pub learned: Info,
    /// Seconds that it took.
    pub seconds: f64,
    /// Whether it was decided that chains do the work after all.
    pub chains_instead: bool,
}

impl Weighing {
    fn path(folder: &Path) -> PathBuf {
        folder.join("scale.bin")
    }

    /// That of a run; nothing where no point was ever asked for.
    pub fn read(folder: &Path, run: u64) -> Result<Option<Self>, Error> {
        let path = Self::path(folder);
        let Some(bytes) = file::read(&path)? else {
            return Ok(None);
        };
        let (of, content): (u64, Self) = framed::unwrap(&path, VERSION, &bytes)?;
        if of == run {
            return Ok(Some(content));
        }
        let problem = framed::OTHER_RUN.to_owned();
        Err(Error::Damaged { path, problem })
    }

    pub fn write(&self, folder: &Path, run: u64) -> Result<(), Error> {
        let path = Self::path(folder);
        match framed::wrap(VERSION, &(run, self)) {
            Ok(bytes) => file::replace(&path, &bytes),
            Err(problem) => Err(Error::Damaged { path, problem }),
        }
    }
}

/// The log of finished points: a record is there whole or not at all.
#[derive(Debug)]
pub(crate) struct Points {
    path: PathBuf,
    run: u64,
    file: Mutex<File>,
}

impl Points {
    /// Opens the log of a run, and reads what is in it. What a killed process left half-written at its end is cut off.
    pub fn open(folder: &Path, run: u64) -> Result<(Self, Vec<Weighted>), Error> {
        let path = folder.join(POINTS);
        file::refuse_link(&path)?;
        let bytes = file::read(&path)?.unwrap_or_default();
        let (points, whole) = parse(&path, run, &bytes)?;
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
        let file = Mutex::new(file);
        Ok((Self { path, run, file }, points))
    }

    /// Adds a point, which is on the disk when this returns.
    pub fn add(&self, point: &Weighted) -> Result<(), Error> {
        let content = postcard::to_stdvec(&(self.run, point)).map_err(|error| Error::Damaged {
            path: self.path.clone(),
            problem: error.to_string(),
        })?;
        let mut bytes = Vec::with_capacity(HEAD + content.len());
        bytes.extend_from_slice(&(content.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&framed::checksum(&content).to_le_bytes());
        bytes.extend_from_slice(&content);
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(&bytes)
            .and_then(|()| file.sync_data())
            .map_err(|source| file::failed("write", &self.path, source))
    }
}

/// The records of a log, in its order, and how many of its bytes they take.
fn parse(path: &Path, run: u64, bytes: &[u8]) -> Result<(Vec<Weighted>, usize), Error> {
    let damaged = |problem: &str| Error::Damaged {
        path: path.to_path_buf(),
        problem: problem.to_owned(),
    };
    let (mut points, mut at) = (Vec::new(), 0);
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
        let (of, point): (u64, Weighted) = postcard::from_bytes(content)
            .map_err(|error| damaged(&format!("a point cannot be read ({error})")))?;
        if of != run {
            return Err(damaged(framed::OTHER_RUN));
        }
        points.push(point);
        at = end;
    }
    Ok((points, at))
}

/// What weights said of a run, and what that took: `estimates.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredEstimates {
    /// The estimates.
    #[serde(flatten)]
    pub estimates: Estimates,
    /// The standard error that was asked for, in standard deviations.
    pub error_asked: f64,
    /// Whether it was reached.
    pub reached: bool,
    /// Whether chains do the work after all, since they are cheaper or the weights cannot be trusted.
    pub chains_instead: bool,
    /// Slow evaluations that learning π̃ took.
    pub learning_slow_evals: u64,
    /// Fast evaluations that it took.
    pub learning_fast_evals: u64,
    /// Seconds of learning and weighing, all sessions added up.
    pub seconds: f64,
}

impl StoredEstimates {
    /// Those of a run directory; nothing where there are none.
    ///
    /// # Errors
    /// Where the file is damaged.
    pub fn read(folder: &Path) -> Result<Option<Self>, Error> {
        let path = folder.join(ESTIMATES);
        let Some(bytes) = file::read(&path)? else {
            return Ok(None);
        };
        let parsed = serde_json::from_slice(&bytes);
        parsed.map(Some).map_err(|error| Error::Damaged {
            path,
            problem: error.to_string(),
        })
    }

    /// Writes them and the weighted draws, each file whole or not at all.
    pub(crate) fn write(
        &self,
        folder: &Path,
        points: &[Weighted],
        width: usize,
    ) -> Result<(), Error> {
        let mut bytes = Vec::new();
        for (point, share) in points.iter().zip(&self.estimates.shares) {
            let rows = point.rows.len() / width;
            // A regression may give a point of little weight a share just below nothing; a weight cannot be that.
            let weight = share.max(0.0) / rows.max(1) as f64;
            for row in point.rows.chunks_exact(width) {
                for value in row.iter().chain([&weight]) {
                    bytes.extend_from_slice(&value.to_le_bytes());
                }
            }
        }
        file::replace(&folder.join(DRAWS), &bytes)?;
        let path = folder.join(ESTIMATES);
        let mut text = serde_json::to_vec_pretty(self).map_err(|error| Error::Damaged {
            path: path.clone(),
            problem: error.to_string(),
        })?;
        text.push(b'\n');
        file::replace(&path, &text)
    }
}

/// The weighted draws of a run directory: columns, log density, weight.
pub(super) fn weighted(folder: &Path, columns: usize) -> Result<Draws, Error> {
    Draws::open(&folder.join(DRAWS), columns + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(index: usize) -> Weighted {
        Weighted {
            index,
            x: vec![index as f64],
            log_weight: -0.5,
            noise: 0.1,
            rows: vec![1.0, 2.0, 3.0],
            fast_evaluations: 10,
            failure: None,
        }
    }

    #[test]
    fn a_log_that_was_cut_off_keeps_every_whole_point() {
        let folder = tempfile::tempdir().unwrap();
        let (log, none) = Points::open(folder.path(), 7).unwrap();
        assert!(none.is_empty());
        (0..3).for_each(|k| log.add(&point(k)).unwrap());
        let path = folder.path().join(POINTS);
        let whole = std::fs::read(&path).unwrap();
        for cut in 0..whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let (log, found) = Points::open(folder.path(), 7).unwrap();
            assert_eq!(found.len(), cut * 3 / whole.len());
            // What was lost is evaluated again, and the log is whole.
            (found.len()..3).for_each(|k| log.add(&point(k)).unwrap());
            assert_eq!(std::fs::read(&path).unwrap(), whole);
        }
        assert!(Points::open(folder.path(), 8).is_err(), "another run");
        let mut spoilt = whole.clone();
        spoilt[HEAD + 3] ^= 1;
        std::fs::write(&path, &spoilt).unwrap();
        let said = Points::open(folder.path(), 7).unwrap_err().to_string();
        assert!(said.contains("checksum"), "{said}");
    }
}
