//! Reading a run directory, whether its run has ended or goes on.

use super::checkpoint::Checkpoint;
use super::failures::{Failure, Failures};
use super::manifest::Manifest;
use super::rows::Draws;
use super::warnings::Warning;
use super::weights::StoredEstimates;
use crate::error::Error;
use crate::model::Column;
use std::path::{Path, PathBuf};

/// A run directory as it was when it was opened; [`refresh`](Self::refresh) looks again.
///
/// Chains may have unequal numbers of draws while a run goes on, or after one has failed. [`column`](Self::column)
/// and its like return as many of every chain as all of them have, since that is what comparing chains needs.
#[derive(Debug, Clone)]
pub struct RunDir {
    path: PathBuf,
    manifest: Manifest,
    draws: Vec<Draws>,
    latents: Vec<Draws>,
}

impl RunDir {
    /// Opens a run directory.
    ///
    /// # Errors
    /// Where it is none, or its manifest is damaged or of a newer version.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let manifest = Manifest::read(path)?;
        // Before the rows: those that a checkpoint counts are on the disk when it is.
        let checkpoints = (0..manifest.chains)
            .map(|k| checkpoint(path, k, &manifest))
            .collect::<Result<Vec<_>, _>>()?;
        let open = |name: &str, width: usize, counted: &dyn Fn(&Checkpoint) -> (u64, u64)| {
            let one = |(k, checkpoint): (usize, &Option<Checkpoint>)| {
                let draws = Draws::open(&path.join(format!("{name}-{k}.f64")), width)?;
                match checkpoint {
                    // What follows was not finished, or is not the run's.
                    Some(checkpoint) => {
                        let (rows, checksum) = counted(checkpoint);
                        draws.counted(rows, checksum)
                    }
                    None => Ok(draws.at_most(manifest.draws)),
                }
            };
            checkpoints
                .iter()
                .enumerate()
                .map(one)
                .collect::<Result<Vec<_>, _>>()
        };
        Ok(Self {
            path: path.to_path_buf(),
            draws: open("chain", manifest.width(), &|c| (c.rows, c.checksum))?,
            latents: open("latents", manifest.latents.len(), &|c| {
                (c.latent_rows, c.latent_checksum)
            })?,
            manifest,
        })
    }

    /// Looks again: a run may have gone on.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn refresh(&mut self) -> Result<(), Error> {
        *self = Self::open(&self.path)?;
        Ok(())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was run.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// How many chains there are.
    pub fn chains(&self) -> usize {
        self.manifest.chains
    }

    /// How many draws each chain has.
    pub fn rows(&self) -> Vec<usize> {
        self.draws.iter().map(Draws::rows).collect()
    }

    /// How many draws all chains have: the length of what [`column`](Self::column) returns.
    pub fn common_rows(&self) -> usize {
        self.rows().into_iter().min().unwrap_or(0)
    }

    /// The names of the columns (not of the latents).
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.manifest.columns.iter().map(|c| c.name.as_str())
    }

    /// The draws of one column, a vector for each chain, all of the same length.
    ///
    /// # Errors
    /// Where there is no such column, or the draws cannot be read.
    pub fn column(&self, name: &str) -> Result<Vec<Vec<f64>>, Error> {
        let place = self.place(&self.manifest.columns, name)?;
        cut(self.draws.iter().map(|draws| draws.column(place)))
    }

    /// The draws of all columns in their order, each as [`column`](Self::column) returns, in one pass.
    ///
    /// # Errors
    /// Where the draws cannot be read.
    pub fn columns(&self) -> Result<Vec<Vec<Vec<f64>>>, Error> {
        let places: Vec<usize> = (0..self.manifest.columns.len()).collect();
        let common = self.common_rows();
        let mut out = vec![Vec::with_capacity(self.chains()); places.len()];
        for draws in &self.draws {
            for (out, mut column) in out.iter_mut().zip(draws.columns(&places)?) {
                column.truncate(common);
                out.push(column);
            }
        }
        Ok(out)
    }

    /// The values of one statistic, as [`column`](Self::column).
    ///
    /// # Errors
    /// Where there is no such statistic, or the draws cannot be read.
    pub fn statistics(&self, name: &str) -> Result<Vec<Vec<f64>>, Error> {
        let place = self.manifest.statistics.iter().position(|s| s == name);
        let Some(place) = place else {
            return Err(self.unknown(name, self.manifest.statistics.iter().map(String::as_str)));
        };
        let place = self.manifest.columns.len() + place;
        cut(self.draws.iter().map(|draws| draws.column(place)))
    }

    /// The draws of one latent, every [`latent_every`](Manifest::latent_every) steps, as [`column`](Self::column).
    ///
    /// # Errors
    /// Where there is no such latent, or the draws cannot be read.
    pub fn latent(&self, name: &str) -> Result<Vec<Vec<f64>>, Error> {
        let place = self.place(&self.manifest.latents, name)?;
        cut(self.latents.iter().map(|draws| draws.column(place)))
    }

    /// The file of draws of one chain, to be read row by row.
    pub fn draws(&self, chain: usize) -> &Draws {
        &self.draws[chain]
    }

    /// The file of latents of one chain, to be read row by row.
    pub fn latents(&self, chain: usize) -> &Draws {
        &self.latents[chain]
    }

    /// Each chain's checkpoint: totals, seconds, running moments. `None` before a chain's production has begun, and where an
    /// earlier version wrote it: then the draws are all that is known.
    ///
    /// # Errors
    /// Where one is damaged, or of a newer version.
    pub fn checkpoints(&self) -> Result<Vec<Option<Checkpoint>>, Error> {
        (0..self.chains())
            .map(|k| checkpoint(&self.path, k, &self.manifest))
            .collect()
    }

    /// What weights of slow points say, where they were asked.
    ///
    /// # Errors
    /// Where they are damaged.
    pub fn estimates(&self) -> Result<Option<StoredEstimates>, Error> {
        StoredEstimates::read(&self.path)
    }

    /// The draws of those estimates: the columns, the log density and the weight of each, to be read row by row; no rows where there
    /// are none.
    ///
    /// # Errors
    /// Where they cannot be read.
    pub fn weighted(&self) -> Result<Draws, Error> {
        super::weights::weighted(&self.path, self.manifest.columns.len())
    }

    /// The evaluations that failed.
    ///
    /// # Errors
    /// Where the log cannot be read.
    pub fn failures(&self) -> Result<Vec<Failure>, Error> {
        Failures::read(&self.path)
    }

    /// What a reader of the draws should know of how they were made.
    ///
    /// # Errors
    /// Where the log cannot be read.
    pub fn warnings(&self) -> Result<Vec<Warning>, Error> {
        Warning::read(&self.path)
    }

    fn place(&self, columns: &[Column], name: &str) -> Result<usize, Error> {
        columns
            .iter()
            .position(|column| column.name == name)
            .ok_or_else(|| self.unknown(name, columns.iter().map(|c| c.name.as_str())))
    }

    fn unknown<'a>(&self, name: &str, known: impl Iterator<Item = &'a str>) -> Error {
        Error::UnknownColumn {
            path: self.path.clone(),
            name: name.to_owned(),
            known: known.collect::<Vec<_>>().join(", "),
        }
    }
}

/// A chain's checkpoint, for a reader: one of an earlier version is as good as none, since what it counts was finished or is
/// still where it was.
fn checkpoint(path: &Path, chain: usize, manifest: &Manifest) -> Result<Option<Checkpoint>, Error> {
    match Checkpoint::of(path, chain, manifest) {
        Err(Error::OlderFormat { .. }) => Ok(None),
        other => other,
    }
}

/// As many of every chain as all have.
fn cut(chains: impl Iterator<Item = Result<Vec<f64>, Error>>) -> Result<Vec<Vec<f64>>, Error> {
    let mut chains = chains.collect::<Result<Vec<_>, _>>()?;
    let common = chains.iter().map(Vec::len).min().unwrap_or(0);
    chains.iter_mut().for_each(|chain| chain.truncate(common));
    Ok(chains)
}
