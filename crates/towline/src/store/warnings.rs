//! `warnings.jsonl`: what a reader of the draws should know of how they were made, one JSON object a line.

use super::file::{self, failed};
use crate::error::Error;
use serde::{Deserialize, Serialize};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

/// One warning.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Warning {
    /// Of which chain.
    pub chain: usize,
    /// After how many of its draws.
    pub step: u64,
    /// What to know.
    pub message: String,
}

const NAME: &str = "warnings.jsonl";

impl Warning {
    /// Adds it to those of a run directory.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn log(&self, folder: &Path) -> Result<(), Error> {
        let path = folder.join(NAME);
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        // One call, and short: lines of several chains do not mix.
        OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .and_then(|mut file| file.write_all(&line))
            .map_err(|source| failed("write", &path, source))
    }

    /// Every warning of a run directory. A last, incomplete line is left out.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub fn read(folder: &Path) -> Result<Vec<Self>, Error> {
        let bytes = file::read(&folder.join(NAME))?.unwrap_or_default();
        let lines = bytes.split(|&byte| byte == b'\n');
        Ok(lines
            .filter_map(|line| serde_json::from_slice(line).ok())
            .collect())
    }
}
