//! What warm-up has found so far, `looked-K.bin`: a run that is killed in the middle of a stage begins the stage anew, and takes from
//! here what it had found, so that no slow evaluation is made twice.

use super::file;
use super::records::Records;
use crate::error::Error;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Where it was looked: the rule of the frame, and the bits of x.
type Place = (u64, Vec<u64>);

/// What one chain has found.
#[derive(Debug)]
pub(crate) struct Looked {
    log: Records<Record>,
    known: HashMap<Place, Vec<u8>>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Record {
    place: Place,
    found: Vec<u8>,
}

fn place(rule: u64, x: &[f64]) -> Place {
    (rule, x.iter().map(|v| v.to_bits()).collect())
}

impl Looked {
    fn path(folder: &Path, chain: usize) -> PathBuf {
        folder.join(format!("looked-{chain}.bin"))
    }

    /// What a chain of a run has found. A log that is damaged is begun anew: all of it can be found again.
    pub fn open(folder: &Path, chain: usize, run: u64) -> Result<Self, Error> {
        let path = Self::path(folder, chain);
        let (log, records) = match Records::open(path.clone(), run) {
            Ok(opened) => opened,
            Err(Error::Damaged { .. }) => (Records::anew(path, run)?, Vec::new()),
            Err(error) => return Err(error),
        };
        let known = records
            .into_iter()
            .map(|record: Record| (record.place, record.found));
        Ok(Self {
            known: known.collect(),
            log,
        })
    }

    /// Removes what only warm-up needs.
    pub fn remove(folder: &Path, chain: usize) {
        file::remove(&Self::path(folder, chain));
    }

    /// Whether anything was found there, by whatever rule.
    pub fn has(&self, x: &[f64]) -> bool {
        let (_, bits) = place(0, x);
        self.known.keys().any(|(_, known)| *known == bits)
    }

    /// What was found there by this rule.
    pub fn get(&self, rule: u64, x: &[f64]) -> Option<Vec<u8>> {
        self.known.get(&place(rule, x)).cloned()
    }

    /// Keeps what was found.
    pub fn keep(&self, rule: u64, x: &[f64], found: Vec<u8>) -> Result<(), Error> {
        self.log.note(&Record {
            place: place(rule, x),
            found,
        })
    }
}
