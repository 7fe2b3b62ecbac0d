//! `towline demo`: the built-in example from data to pictures, by the commands that a user would give.

use crate::carry_out;
use crate::cli::Cli;
use crate::failure::Failure;
use crate::runs;
use anyhow::{Context, Result, anyhow};
use clap::{Args, Parser};
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use towline::run::Ranks;

/// Flags of `towline demo`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub struct Options {
    /// Folder for the example's files, its run, the map and the report
    #[arg(long, value_name = "DIR", default_value = "demo")]
    pub out: PathBuf,

    /// Draws of each chain
    #[arg(long, value_name = "N", default_value_t = 2000)]
    pub draws: u64,

    /// Replace an earlier demo in that folder
    #[arg(long)]
    pub force: bool,

    /// Say nothing about progress
    #[arg(long, short)]
    pub quiet: bool,
}

const EXAMPLE: &str = "\
Examples:
  towline demo                 sudden infant deaths in North Carolina, in ./demo: model, data, run, map, report
  towline demo --out first     the same in ./first; edit first/model.toml and fit it again";

/// The example, as `examples/geo_ncsids` has it (a test compares them): part of the command, so that it works anywhere.
const FILES: [(&str, &str); 2] = [
    ("model.toml", include_str!("../assets/demo/model.toml")),
    ("ncsids.csv", include_str!("../assets/demo/ncsids.csv")),
];

/// Writes the example's files, then carries out one command after the other.
pub fn run(options: &Options) -> Result<(), Failure> {
    unpack(options).map_err(Failure::Run)?;
    let model = options.out.join("model.toml");
    let draws = options.draws.to_string();
    let out: OsString = options.out.clone().into();
    let mut fit: Vec<OsString> = vec!["fit".into(), model.into(), "--out".into(), out.clone()];
    fit.extend(["--draws".into(), draws.into()]);
    if options.force {
        fit.push("--force".into());
    }
    if options.quiet {
        fit.push("--quiet".into());
    }
    follow(fit)?;
    follow(vec!["map".into(), out.clone()])?;
    follow(vec!["report".into(), out])?;
    farewell(&options.out).map_err(Failure::Run)
}

/// Puts the model and its data where the run will be.
fn unpack(options: &Options) -> Result<()> {
    let folder = &options.out;
    let name = folder.display();
    let taken = std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some());
    if taken && !options.force {
        return Err(anyhow!(
            "{name} is not empty: --force replaces an earlier demo there, and --out DIR puts this one elsewhere"
        ));
    }
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create the folder {name}"))?;
    for (file, text) in FILES {
        runs::write_beside(&folder.join(file), text.as_bytes())?;
    }
    Ok(())
}

/// Shows a command and carries it out, as if it had been typed.
fn follow(arguments: Vec<OsString>) -> Result<(), Failure> {
    let words: Vec<_> = arguments
        .iter()
        .map(|word| word.to_string_lossy())
        .collect();
    writeln!(io::stdout().lock(), "$ towline {}\n", words.join(" "))
        .map_err(|error| Failure::Run(error.into()))?;
    let line = std::iter::once(OsString::from("towline")).chain(arguments);
    let cli = Cli::try_parse_from(line).map_err(Failure::Usage)?;
    // Under MPI only the leading process is here.
    carry_out(cli.command, &mut Ranks::alone())?;
    writeln!(io::stdout().lock()).map_err(|error| Failure::Run(error.into()))
}

fn farewell(folder: &Path) -> Result<()> {
    let name = folder.display();
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "Look at {name}/map.png and open {name}/report.html in a browser."
    )?;
    writeln!(out, "Then change {name}/model.toml, and fit it again:")?;
    writeln!(out, "  towline fit {name}/model.toml --out second")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_demo_is_the_example_of_north_carolina() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/geo_ncsids");
        for (name, text) in FILES {
            let example = std::fs::read_to_string(folder.join(name)).unwrap();
            assert_eq!(example, text, "{name}: copy it to assets/demo again");
        }
    }
}
