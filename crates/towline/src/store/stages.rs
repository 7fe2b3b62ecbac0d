//! What a chain leaves behind in warm-up: `warmup-K-S.bin` for each stage, `tuning-K.bin` when it is done.

use super::clock::Seconds;
use super::looked::Looked;
use super::{file, framed};
use crate::error::Error;
use crate::warmup::Warming;
use crate::warmup::tuning::Tuning;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The version of the format that is written here, and the newest that is read.
const VERSION: u32 = 2;
/// More stages than any warm-up has.
const MOST_STAGES: usize = 32;

/// The warm-up files of one chain.
#[derive(Debug, Clone)]
pub(crate) struct Stages {
    folder: PathBuf,
    chain: usize,
    /// The run's [`fingerprint`](super::Manifest::fingerprint).
    run: u64,
}

/// The end of a stage.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Stage {
    pub warming: Warming,
    pub seconds: Seconds,
    pub failures: u64,
}

impl Stages {
    pub fn new(folder: &Path, chain: usize, run: u64) -> Self {
        Self {
            folder: folder.to_path_buf(),
            chain,
            run,
        }
    }

    fn path(&self, stage: usize) -> PathBuf {
        self.folder
            .join(format!("warmup-{}-{stage}.bin", self.chain))
    }

    fn tuning_path(&self) -> PathBuf {
        self.folder.join(format!("tuning-{}.bin", self.chain))
    }

    /// The newest stage that was saved.
    pub fn newest(&self) -> Option<usize> {
        (0..MOST_STAGES)
            .rev()
            .find(|&stage| self.path(stage).exists())
    }

    pub fn save(&self, stage: &Stage) -> Result<(), Error> {
        self.write(&self.path(stage.warming.stage()), stage)
    }

    pub fn load(&self, stage: usize) -> Result<Stage, Error> {
        self.read(&self.path(stage))
    }

    /// Removes what only warm-up needs.
    pub fn clear(&self) {
        for stage in 0..MOST_STAGES {
            // What cannot be removed does no harm: it is never read once production has begun.
            file::remove(&self.path(stage));
        }
        Looked::remove(&self.folder, self.chain);
    }

    pub fn save_tuning(&self, tuning: &Tuning) -> Result<(), Error> {
        self.write(&self.tuning_path(), tuning)
    }

    pub fn load_tuning(&self) -> Result<Tuning, Error> {
        self.read(&self.tuning_path())
    }

    /// With whose it is.
    fn write(&self, path: &Path, content: &impl Serialize) -> Result<(), Error> {
        match framed::wrap(VERSION, &(self.run, self.chain as u64, content)) {
            Ok(bytes) => file::replace(path, &bytes),
            Err(problem) => Err(Error::Damaged {
                path: path.to_path_buf(),
                problem,
            }),
        }
    }

    fn read<T: serde::de::DeserializeOwned>(&self, path: &Path) -> Result<T, Error> {
        let damaged = |problem: String| Error::Damaged {
            path: path.to_path_buf(),
            problem,
        };
        let Some(bytes) = file::read(path)? else {
            return Err(damaged(
                "it is not there, and the run cannot continue without it".to_owned(),
            ));
        };
        let (run, chain, content): (u64, u64, T) = framed::unwrap(path, VERSION, &bytes)?;
        if run != self.run {
            return Err(damaged(framed::OTHER_RUN.to_owned()));
        }
        if chain != self.chain as u64 {
            return Err(damaged(format!("it belongs to chain {chain}")));
        }
        Ok(content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_another_chain_or_run_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let of = |chain: usize, run: u64| Stages::new(folder.path(), chain, run);
        for chain in 0..2 {
            let stages = of(chain, 7);
            stages.write(&stages.path(0), &vec![chain as f64]).unwrap();
        }
        let read =
            |chain: usize, run: u64| of(chain, run).read::<Vec<f64>>(&of(chain, run).path(0));
        assert_eq!(read(1, 7).unwrap(), [1.0]);
        // The two are exchanged, as by a slip of the hand.
        let (a, b, c) = (
            of(0, 7).path(0),
            of(1, 7).path(0),
            folder.path().join("aside"),
        );
        for (from, to) in [(&a, &c), (&b, &a), (&c, &b)] {
            std::fs::rename(from, to).unwrap();
        }
        let said = read(0, 7).unwrap_err().to_string();
        assert!(said.contains("belongs to chain 1"), "{said}");
        // The manifest was changed: its run is another one.
        for (from, to) in [(&a, &c), (&b, &a), (&c, &b)] {
            std::fs::rename(from, to).unwrap();
        }
        let said = read(0, 8).unwrap_err().to_string();
        assert!(said.contains("manifest was changed"), "{said}");
    }
}
