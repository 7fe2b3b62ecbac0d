//! What a run of `towline paper` will do, decided and checked before anything runs.

use super::frames;
use super::options::Options;
use super::published::TABLE;
use super::spec::{Method, Spec};
use anyhow::{Result, bail};
use std::path::{Path, PathBuf};
use std::thread;

/// Independent chains per row, from which the standard errors come.
///
/// With this many a standard error is itself known to 9 per cent, so that four of them are four.
pub const MOST_CHAINS: u64 = 64;

/// In short runs fewer, longer chains measure autocorrelations better; with fewer than this many, four
/// estimated standard errors are too often not four.
const FEWEST_CHAINS: u64 = 32;

/// Chains are not made shorter than this in order to have more of them.
const SHORT_CHAIN: u64 = 1000;

/// Where every chain warms up, which takes longer than its draws, there are fewer, and their standard errors rougher.
const WARMED_CHAINS: (u64, u64) = (8, 32);

/// Chains that warm up together, as many as a run has by default.
const CHAINS_TOGETHER: u64 = 4;

/// The validated plan.
#[derive(Debug)]
pub struct Plan {
    /// Folder for the figures.
    pub out: PathBuf,
    /// File for the JSON.
    pub json: Option<PathBuf>,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Number of threads.
    pub threads: usize,
    /// Whether to keep silent about progress.
    pub quiet: bool,
    /// Whether frames are put beside the paper's methods.
    pub frames: bool,
    /// The rows, in the order of the paper's figures; those of frames after them.
    pub rows: Vec<RowPlan>,
}

/// What will be run for one row.
#[derive(Clone, Copy, Debug)]
pub struct RowPlan {
    /// The row: its test, method and settings.
    pub spec: Spec,
    /// The number of independent chains.
    pub chains: u64,
    /// Iterations of each chain.
    pub length: u64,
    /// The random stream of the first chain; the others follow.
    pub first_stream: u64,
}

impl Plan {
    /// Checks the flags and fills in the defaults.
    ///
    /// # Errors
    /// A sentence about the first flag that cannot be honoured.
    pub fn new(options: Options) -> Result<Self> {
        let Options {
            out,
            json,
            seed,
            iterations,
            threads,
            quiet,
            frames,
        } = options;
        if iterations == Some(0) {
            bail!("--iterations 0 would measure nothing: ask for at least 1, better 10000");
        }
        let longest = u64::from(u32::MAX);
        if let Some(many) = iterations.filter(|&n| n > longest) {
            bail!("--iterations {many} is more than memory holds: ask for at most {longest}");
        }
        if threads == Some(0) {
            bail!("--threads 0 leaves nobody to work: ask for at least 1, or leave it out");
        }
        if out.exists() && !out.is_dir() {
            bail!(
                "--out {} is a file: name a folder, which is created if need be",
                out.display()
            );
        }
        if let Some(file) = &json {
            check_file(file, &out)?;
        }
        let paper = TABLE.iter().zip(0..).map(|(known, index)| {
            let iterations = iterations.unwrap_or_else(|| default_iterations(&known.spec));
            RowPlan::new(known.spec, iterations, index * MOST_CHAINS)
        });
        // After the spare stream, so that the paper's rows and figures are the same with and without them.
        let added = if frames { frames::specs() } else { Vec::new() };
        let added = added.into_iter().zip(TABLE.len() as u64 + 1..);
        let added = added.map(|(spec, index)| {
            let iterations = iterations.unwrap_or_else(|| frames::iterations(&spec));
            RowPlan::new(spec, iterations, index * MOST_CHAINS)
        });
        Ok(Self {
            out,
            json,
            seed,
            threads: threads
                .unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from)),
            quiet,
            frames,
            rows: paper.chain(added).collect(),
        })
    }

    /// A random stream that no chain uses.
    pub fn spare_stream(&self) -> u64 {
        TABLE.len() as u64 * MOST_CHAINS
    }
}

impl RowPlan {
    fn new(spec: Spec, iterations: u64, first_stream: u64) -> Self {
        let (fewest, most) = match spec.method {
            Method::Auto => WARMED_CHAINS,
            _ => (FEWEST_CHAINS, MOST_CHAINS),
        };
        let chains = (iterations / SHORT_CHAIN).clamp(fewest, most);
        Self {
            spec,
            chains,
            length: iterations.div_ceil(chains),
            first_stream,
        }
    }

    /// How many chains warm up together; one where nothing is learned.
    pub fn team(&self) -> u64 {
        match self.spec.method {
            Method::Auto => CHAINS_TOGETHER,
            _ => 1,
        }
    }

    /// Iterations over all chains.
    pub fn iterations(&self) -> u64 {
        self.chains * self.length
    }

    /// Roughly what an iteration costs, in nanoseconds: the progress bar's unit.
    pub fn cost(&self) -> u64 {
        let inner = if self.spec.test == 1 { 13 } else { 19 };
        let outer = match self.spec.method {
            Method::DragFramed | Method::Auto => 4000,
            _ => 100,
        };
        outer + inner * self.spec.n.unwrap_or(0) as u64
    }
}

/// Iterations of each row in a default run: half a minute on two cores in all.
///
/// The relative error of an autocorrelation time τ from N iterations goes as sqrt(τ/N), so N ∝ τ
/// makes errors even: here N is 80 000 τ or more, for errors of about 1 per cent. Single-variable
/// updates come out at 1 to 10 per cent: beyond |x| = 3 or so y is far narrower than its proposals,
/// and a chain that gets there stays long. It can happen in a drag too (in 2 of the 24 drag rows of
/// four seeds), and then that row's error bar is several times wider.
fn default_iterations(spec: &Spec) -> u64 {
    let length = match (spec.test, spec.method, spec.n) {
        (_, Method::Marginal, _) => 1 << 17, // Costs next to nothing.
        (_, Method::Single, _) => 1 << 19,
        (1, Method::Joint, _) => 1 << 18,
        (_, Method::Joint, _) => 1 << 19,
        (1, Method::Drag, Some(20)) => 3 << 15,
        (_, Method::Drag, Some(20)) => 1 << 17,
        (_, Method::Drag, Some(100)) => 1 << 15,
        _ => 3 << 12,
    };
    MOST_CHAINS * length
}

/// Refuses a file that could not be written after all the work.
fn check_file(file: &Path, out: &Path) -> Result<()> {
    if file.is_dir() {
        bail!("--json {} is a folder: name a file", file.display());
    }
    let folder = file.parent().filter(|f| !f.as_os_str().is_empty());
    if let Some(folder) = folder
        && !folder.is_dir()
        && folder != out
    {
        bail!(
            "--json {}: there is no folder {}; create it first",
            file.display(),
            folder.display()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::published::find;
    use super::*;

    fn options() -> Options {
        Options {
            out: PathBuf::from("no-such-folder"),
            json: None,
            seed: 1,
            iterations: None,
            threads: None,
            quiet: true,
            frames: false,
        }
    }

    #[test]
    fn no_two_chains_share_a_stream() {
        let frames = Options {
            frames: true,
            ..options()
        };
        let plan = Plan::new(frames).unwrap();
        let mut used = vec![plan.spare_stream()];
        let streams = |row: &RowPlan| row.first_stream..row.first_stream + row.chains;
        used.extend(plan.rows.iter().flat_map(streams));
        let count = used.len();
        used.sort_unstable();
        used.dedup();
        assert_eq!(used.len(), count);
    }

    #[test]
    fn every_default_chain_is_a_thousand_autocorrelation_times_long() {
        for row in Plan::new(options()).unwrap().rows {
            let time = find(&row.spec).unwrap().reference.act.value;
            assert!(row.length as f64 >= 1000.0 * time, "{:?}", row.spec);
        }
    }

    #[test]
    fn iterations_are_honoured_or_rounded_up_to_whole_chains() {
        for (asked, done) in [
            (1, 32),
            (2000, 2016),
            (32_000, 32_000),
            (1_000_000, 1_000_000),
        ] {
            let row = RowPlan::new(TABLE[0].spec, asked, 0);
            assert_eq!(row.iterations(), done);
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_a_sentence() {
        let refusal = |options| Plan::new(options).unwrap_err().to_string();
        let zero = Options {
            iterations: Some(0),
            ..options()
        };
        assert!(refusal(zero).contains("at least 1"));
        let zero = Options {
            threads: Some(0),
            ..options()
        };
        assert!(refusal(zero).contains("at least 1"));
        let nowhere = Options {
            json: Some(PathBuf::from("no-such-parent/file.json")),
            ..options()
        };
        assert!(refusal(nowhere).contains("create it first"));
    }
}
