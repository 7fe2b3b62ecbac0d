//! What warm-up has looked at, `looked-K.bin`: a run that is killed in the middle of a stage begins the stage anew, and takes from
//! here what it had found, so that no slow evaluation of a look is made twice.

use super::file;
use super::records::Records;
use crate::error::Error;
use crate::warmup::look::{Look, Wanted};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// What took less, in seconds, is sooner made again than written and read.
const WORTH_KEEPING: f64 = 0.005;

/// Where it was looked, and by which rule.
type Place = (u64, bool, Vec<u64>);

/// The looks of one chain.
#[derive(Debug)]
pub(crate) struct Looked {
    log: Records<Record>,
    known: Mutex<HashMap<Place, Option<Look>>>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Record {
    rule: u64,
    frame: bool,
    x: Vec<f64>,
    look: Option<Look>,
}

fn place(rule: u64, wanted: Wanted, x: &[f64]) -> Place {
    let bits = x.iter().map(|v| v.to_bits()).collect();
    (rule, wanted == Wanted::Frame, bits)
}

impl Looked {
    fn path(folder: &Path, chain: usize) -> PathBuf {
        folder.join(format!("looked-{chain}.bin"))
    }

    /// What a chain of a run has looked at. A log that is damaged is begun anew: all of it can be found again.
    pub fn open(folder: &Path, chain: usize, run: u64) -> Result<Self, Error> {
        let path = Self::path(folder, chain);
        let (log, records) = match Records::open(path.clone(), run) {
            Ok(opened) => opened,
            Err(Error::Damaged { .. }) => (Records::anew(path, run)?, Vec::new()),
            Err(error) => return Err(error),
        };
        let known = records.into_iter().map(|record: Record| {
            let wanted = if record.frame {
                Wanted::Frame
            } else {
                Wanted::Marginal
            };
            (place(record.rule, wanted, &record.x), record.look)
        });
        Ok(Self {
            known: Mutex::new(known.collect()),
            log,
        })
    }

    /// Removes what only warm-up needs.
    pub fn remove(folder: &Path, chain: usize) {
        file::remove(&Self::path(folder, chain));
    }

    /// What was found there by this rule, if it was looked there.
    pub fn get(&self, rule: u64, wanted: Wanted, x: &[f64]) -> Option<Option<Look>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&place(rule, wanted, x)).cloned()
    }

    /// Keeps what was found, where that took long.
    pub fn keep(
        &self,
        rule: u64,
        wanted: Wanted,
        x: &[f64],
        look: &Option<Look>,
        seconds: f64,
    ) -> Result<(), Error> {
        if seconds < WORTH_KEEPING {
            return Ok(());
        }
        self.log.note(&Record {
            rule,
            frame: wanted == Wanted::Frame,
            x: x.to_vec(),
            look: look.clone(),
        })
    }
}
