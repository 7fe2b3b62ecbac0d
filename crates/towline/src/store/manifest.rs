//! `manifest.json`: what was run.

use super::{file, framed};
use crate::error::Error;
use crate::model::{Column, Role};
use crate::warmup::tuning::Tuning;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What a manifest says it is.
pub const FORMAT: &str = "towline-run";
/// The version of the format that is written here, and the newest that is read.
pub const VERSION: u32 = 1;
/// The name of the file.
pub(crate) const FILE: &str = "manifest.json";

/// What was run: enough to read the draws, and to go on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`FORMAT`].
    pub format: String,
    /// [`VERSION`].
    pub version: u32,
    /// The version of towline that began the run.
    pub towline: String,
    /// The model, as whoever began the run described it: enough for them to build it again.
    pub model: serde_json::Value,
    /// The seed; chain K uses stream K.
    pub seed: u64,
    /// How many chains.
    pub chains: usize,
    /// How many draws of each chain are asked for.
    pub draws: u64,
    /// What a row of `chain-K.f64` begins with.
    pub columns: Vec<Column>,
    /// What follows in it.
    pub statistics: Vec<String>,
    /// What a row of `latents-K.f64` holds.
    #[serde(default)]
    pub latents: Vec<Column>,
    /// Steps from one row of `latents-K.f64` to the next.
    #[serde(default = "one")]
    pub latent_every: u64,
    /// Other settings of the run.
    #[serde(default)]
    pub options: Options,
    /// What warm-up chose, or was given; nothing before it is known.
    #[serde(default)]
    pub tuning: Option<Tuning>,
}

/// Settings of a run that are recorded with it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Options {
    /// Slow evaluations that warm-up may spend in each chain; nothing for the default.
    pub warmup: Option<usize>,
    /// How many fast evaluations a slow one costs; nothing where it is measured.
    pub cost_ratio: Option<f64>,
    /// Whether the tuning was given, so that there was no warm-up.
    pub tuning_given: bool,
    /// Whether evaluations that fail count as outside the support, instead of ending the run.
    pub failures_count_as_outside: bool,
    /// Seconds that one evaluation may take.
    pub evaluation_limit: Option<f64>,
    /// The run ends when every column's R-hat is below this …
    pub stop_rhat: Option<f64>,
    /// … and every column's effective sample size above this.
    pub stop_ess: Option<f64>,
    /// The standard error of every slow parameter that is asked for, in its standard deviations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<f64>,
    /// Whether every step has random numbers of its own, so that workers can make the next slow evaluations ready.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub looks_ahead: bool,
}

fn one() -> u64 {
    1
}

/// What is read first, since everything else may have another form in a newer version.
#[derive(Deserialize)]
struct Heading {
    format: String,
    version: u32,
    towline: Option<String>,
}

impl Manifest {
    /// The statistics that every row carries.
    pub const STATISTICS: [&str; 4] = ["log_density", "outer_accepted", "slow_evals", "fast_evals"];

    /// Reads the manifest of a run directory.
    ///
    /// # Errors
    /// Where there is none, it is damaged, or a newer version wrote it.
    pub fn read(folder: &Path) -> Result<Self, Error> {
        let path = folder.join(FILE);
        let Some(bytes) = file::read(&path)? else {
            let problem = if folder.is_dir() {
                format!("there is no {FILE} in it")
            } else {
                "there is no such directory".to_owned()
            };
            return Err(Error::NotARun {
                path: folder.to_path_buf(),
                problem,
            });
        };
        Self::parse(&path, &bytes)
    }

    /// Reads the text of a manifest; the path is only for messages.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Self, Error> {
        let damaged = |problem: String| Error::Damaged {
            path: path.to_path_buf(),
            problem,
        };
        if bytes.is_empty() {
            return Err(damaged("it is empty".to_owned()));
        }
        let heading: Heading = serde_json::from_slice(bytes)
            .map_err(|error| damaged(format!("it is not a run's manifest ({error})")))?;
        if heading.format != FORMAT {
            return Err(damaged(format!(
                "its format is {:?}, and a run's is {FORMAT:?}",
                heading.format
            )));
        }
        if heading.version > VERSION {
            return Err(Error::NewerFormat {
                path: path.to_path_buf(),
                found: heading.version,
                known: VERSION,
            });
        }
        let manifest: Self = serde_json::from_slice(bytes)
            .or_else(|error| Self::of_an_earlier_version(bytes, &heading).ok_or(error))
            .map_err(|error| damaged(error.to_string()))?;
        manifest.check().map_err(damaged)?;
        Ok(manifest)
    }

    /// A manifest of an earlier towline whose tuning is of another form: everything that a reader of its draws needs, without it.
    fn of_an_earlier_version(bytes: &[u8], heading: &Heading) -> Option<Self> {
        if heading.towline.as_deref() == Some(env!("CARGO_PKG_VERSION")) {
            return None;
        }
        let mut whole: serde_json::Value = serde_json::from_slice(bytes).ok()?;
        whole["tuning"] = serde_json::Value::Null;
        serde_json::from_value(whole).ok()
    }

    /// Writes it, whole or not at all.
    ///
    /// # Errors
    /// Where the directory cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), Error> {
        let path = folder.join(FILE);
        let mut text = serde_json::to_vec_pretty(self).map_err(|error| Error::Damaged {
            path: path.clone(),
            problem: error.to_string(),
        })?;
        text.push(b'\n');
        file::replace(&path, &text)
    }

    /// What tells this run from others: a checksum of what its draws depend on. Every binary file of the run carries it,
    /// so that a manifest that was changed, or a file of another run, is noticed. What a resume may change (how many
    /// draws, when to stop) and what warm-up finds is not part of it.
    pub fn fingerprint(&self) -> u64 {
        let options = &self.options;
        let parts = (
            (&self.model, self.seed, self.chains),
            (&self.columns, &self.statistics, &self.latents),
            (
                self.latent_every,
                options.warmup,
                options.cost_ratio,
                options.tuning_given,
            ),
        );
        // What JSON cannot say (no number is infinite here) would have failed when the manifest was written.
        framed::checksum(&serde_json::to_vec(&parts).unwrap_or_default())
    }

    /// Numbers in a row of `chain-K.f64`.
    pub fn width(&self) -> usize {
        self.columns.len() + self.statistics.len()
    }

    /// Where a column stands among all those the model reports, latents included: in the running moments.
    pub fn columns_in_order(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter().chain(&self.latents)
    }

    /// What deserialising cannot see.
    pub(crate) fn check(&self) -> Result<(), String> {
        // No run has so many: a garbled number must not make a reader try to allocate for it.
        const MOST_CHAINS: usize = 1 << 20;
        if self.chains == 0 || self.chains > MOST_CHAINS {
            return Err(format!("it speaks of {} chains", self.chains));
        }
        if self.width() == 0 {
            return Err("its rows have no columns".to_owned());
        }
        if self.latent_every == 0 {
            return Err("latent_every is 0".to_owned());
        }
        if self.columns.iter().any(|c| c.role == Role::Latent) {
            return Err("columns of role latent belong in \"latents\"".to_owned());
        }
        let mut names: Vec<&str> = self.columns_in_order().map(|c| c.name.as_str()).collect();
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(format!("two columns are called {:?}", pair[0])),
            None => Ok(()),
        }
    }
}
