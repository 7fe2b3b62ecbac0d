//! Estimates by weights on disk: `scale.bin` (what turns slow points into weights), `points.bin` (a record for each finished slow
//! point), `estimates.json` (what they say) and `weighted.f64` (draws with their weights).

use super::records::Records;
use super::rows::Draws;
use super::{file, framed};
use crate::error::Error;
use crate::estimate::{Estimates, Scale, Weighted};
use crate::kernel::info::Info;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The version of the binary formats that is written here, and the newest that is read.
const VERSION: u32 = 1;
const POINTS: &str = "points.bin";
const ESTIMATES: &str = "estimates.json";
const DRAWS: &str = "weighted.f64";

/// What is frozen before the first point is evaluated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Weighing {
    pub scale: Scale,
    /// What learning π̃ took, all chains together.
    pub learned: Info,
    /// Seconds that it took.
    pub seconds: f64,
    /// How often π̃ was fitted again with what points had told.
    pub refits: usize,
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
pub(crate) type Points = Records<Weighted>;

impl Points {
    /// That of a run, and what is in it.
    pub fn of(folder: &Path, run: u64) -> Result<(Self, Vec<Weighted>), Error> {
        Self::open(folder.join(POINTS), run)
    }
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
    /// How often π̃ was fitted again with what earlier points had told, which then count as learning.
    #[serde(default)]
    pub refits: usize,
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
        // A regression may give a point a share below nothing, which a weight cannot be; all weights add up to one.
        let kept = |share: &f64| share.max(0.0);
        let total: f64 = self.estimates.shares.iter().map(kept).sum();
        for (point, share) in points.iter().zip(&self.estimates.shares) {
            let rows = point.rows.len() / width;
            let weight = kept(share) / total / rows.max(1) as f64;
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
