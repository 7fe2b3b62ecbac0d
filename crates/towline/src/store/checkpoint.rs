//! `checkpoint-K.bin`: what a chain needs to go on, and what it has cost so far.

use super::batches::Batches;
use super::manifest::Manifest;
use super::moments::Moments;
use super::{file, framed};
use crate::chain::Position;
use crate::chain::health::FrameHealth;
use crate::chain::parts::MixRecord;
use crate::error::Error;
use crate::kernel::info::Info;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The version of the format that is written here, and the newest that is read.
pub(crate) const VERSION: u32 = 2;

/// A chain at some step of production, with everything that was said of it until then.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Which chain.
    pub chain: usize,
    /// Of which run: its manifest's [`fingerprint`](super::Manifest::fingerprint).
    pub run: u64,
    /// Where it stands; its totals are production's, the first evaluation included.
    pub snapshot: Position,
    /// Rows of `chain-K.f64` that are safely on disk.
    pub rows: u64,
    /// Rows of `latents-K.f64`.
    pub latent_rows: u64,
    /// The checksum of those rows of `chain-K.f64`.
    pub checksum: u64,
    /// The checksum of those rows of `latents-K.f64`.
    pub latent_checksum: u64,
    /// Means and variances of every column, then of every latent, over all steps.
    pub moments: Moments,
    /// A digest of every column's draws (latents apart), from which R-hat and effective sizes are estimated.
    pub batches: Batches,
    /// What warm-up spent.
    pub warmup: Info,
    /// Seconds that warm-up took.
    pub warmup_seconds: f64,
    /// Seconds of production.
    pub seconds: f64,
    /// Evaluations that failed and were counted as outside the support.
    pub failures: u64,
    /// Whether frames worked everywhere.
    pub health: Option<FrameHealth>,
    /// Whether the run's target was reached here, so that there is nothing more to do.
    pub reached: bool,
    /// Seconds by the clock on the wall, warm-up and waiting for other chains included.
    pub wall_seconds: Option<f64>,
    /// Seconds of the processor that the chain's thread used, warm-up included, where the system tells.
    pub cpu_seconds: Option<f64>,
    /// What each kernel of the mix did; nothing in checkpoints that were written before it was recorded.
    pub parts: Option<MixRecord>,
}

impl Checkpoint {
    /// The file of a chain.
    pub fn path(folder: &Path, chain: usize) -> PathBuf {
        folder.join(format!("checkpoint-{chain}.bin"))
    }

    /// Reads a chain's checkpoint; `None` where there is none yet.
    ///
    /// # Errors
    /// Where it is damaged, or a newer version wrote it.
    pub fn read(folder: &Path, chain: usize) -> Result<Option<Self>, Error> {
        let path = Self::path(folder, chain);
        file::read(&path)?
            .map(|bytes| {
                let checkpoint = Self::parse(&path, &bytes)?;
                if checkpoint.chain == chain {
                    Ok(checkpoint)
                } else {
                    let problem = format!("it belongs to chain {}", checkpoint.chain);
                    Err(Error::Damaged { path, problem })
                }
            })
            .transpose()
    }

    /// Reads a chain's checkpoint, which must be of this run.
    ///
    /// # Errors
    /// As [`read`](Self::read), and where it is another run's.
    pub fn of(folder: &Path, chain: usize, manifest: &Manifest) -> Result<Option<Self>, Error> {
        let found = Self::read(folder, chain)?;
        match &found {
            Some(found) if found.run != manifest.fingerprint() => Err(Error::Damaged {
                path: Self::path(folder, chain),
                problem: framed::OTHER_RUN.to_owned(),
            }),
            _ => Ok(found),
        }
    }

    /// Reads the bytes of a checkpoint; the path is only for messages.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Self, Error> {
        framed::unwrap(path, VERSION, bytes)
    }

    /// Writes it, whole or not at all.
    ///
    /// # Errors
    /// Where the directory cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), Error> {
        let path = Self::path(folder, self.chain);
        match framed::wrap(VERSION, self) {
            Ok(bytes) => file::replace(&path, &bytes),
            Err(problem) => Err(Error::Damaged { path, problem }),
        }
    }
}
