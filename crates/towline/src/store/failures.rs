//! `failures.jsonl`: evaluations that failed, one JSON object a line.

use super::file::{self, failed};
use crate::error::Error;
use serde::{Deserialize, Serialize};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// One evaluation that failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// In which chain.
    pub chain: usize,
    /// After how many of its draws.
    pub step: u64,
    /// The slow variables, on the chain's scale; `null` stands for what is no number.
    pub x: Vec<Option<f64>>,
    /// The fast variables, where they are known.
    pub y: Vec<Option<f64>>,
    /// What happened.
    pub message: String,
}

impl Failure {
    /// A failure at a point.
    pub fn new(chain: usize, step: u64, x: &[f64], y: &[f64], message: String) -> Self {
        let numbers = |v: &[f64]| {
            v.iter()
                .map(|&v| Some(v).filter(|v| v.is_finite()))
                .collect()
        };
        Self {
            chain,
            step,
            x: numbers(x),
            y: numbers(y),
            message,
        }
    }

    /// The failure that ended a chain.
    pub fn of(chain: usize, step: u64, error: &Error) -> Self {
        let nothing: &[f64] = &[];
        let (x, y) = match error {
            Error::Model { x, y, .. } | Error::NotANumber { x, y, .. } => (&x[..], &y[..]),
            Error::OutsideSupport { x, y } => (&x[..], &y[..]),
            Error::Panicked { x, .. }
            | Error::TooLong { x, .. }
            | Error::PointTooLong { x, .. } => (&x[..], nothing),
            _ => (nothing, nothing),
        };
        Self::new(chain, step, x, y, error.to_string())
    }
}

/// The log of failures of a run directory: several chains may write to it.
#[derive(Debug)]
pub struct Failures {
    path: PathBuf,
    writing: Mutex<()>,
}

impl Failures {
    /// The log of this run directory, made when there is something to log.
    pub fn new(folder: &Path) -> Self {
        Self {
            path: folder.join("failures.jsonl"),
            writing: Mutex::new(()),
        }
    }

    /// Adds a line.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn log(&self, failure: &Failure) -> Result<(), Error> {
        let mut line = serde_json::to_vec(failure).unwrap_or_default();
        line.push(b'\n');
        let _alone = self.writing.lock();
        OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.path)
            .and_then(|mut file| file.write_all(&line))
            .map_err(|source| failed("write", &self.path, source))
    }

    /// Every failure that was logged. A last, incomplete line is left out, as is one that is no failure.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub fn read(folder: &Path) -> Result<Vec<Failure>, Error> {
        let bytes = file::read(&folder.join("failures.jsonl"))?.unwrap_or_default();
        let lines = bytes.split(|&byte| byte == b'\n');
        Ok(lines
            .filter_map(|line| serde_json::from_slice(line).ok())
            .collect())
    }
}
