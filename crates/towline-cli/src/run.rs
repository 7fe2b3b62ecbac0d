//! `towline run NAME`: samples a built-in example.

use crate::failure::Failure;
use crate::registry::{BUILT_IN, built_in};
use crate::sampling::{self, SamplingOptions};
use clap::Args;
use std::path::PathBuf;
use towline::run::Ranks;

/// Flags of `towline run`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub struct Options {
    /// Which example; `towline run list` lists them
    pub name: String,

    /// Folder for the run, made if need be [default: the example's name]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// How to sample.
    #[command(flatten)]
    pub sampling: SamplingOptions,
}

const EXAMPLE: &str = "\
Examples:
  towline run neal1                                   four chains of 2000 draws in ./neal1
  towline run neal2 --out two --chains 8 --draws 10000
  towline run neal1 --rhat 1.01 --ess 1000            until there is enough
  towline run neal1 --error 0.03                      means of slow parameters to 3 % of their spread, by weights
  towline run list                                    what examples there are";

impl Options {
    /// Whether this only lists what there is.
    pub fn lists(&self) -> bool {
        self.name == "list"
    }
}

/// Samples it.
pub fn run(options: Options, ranks: &mut Ranks) -> Result<(), Failure> {
    if options.lists() {
        for one in BUILT_IN {
            println!("{:<10} {}", one.name, one.about);
        }
        return Ok(());
    }
    let (model, description) = built_in(&options.name).map_err(Failure::Options)?;
    let folder = options.out.unwrap_or_else(|| PathBuf::from(&options.name));
    sampling::begin(&*model, &folder, description, &options.sampling, ranks)
}
