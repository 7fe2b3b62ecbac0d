//! `towline completions SHELL`: what a shell needs to complete the command, with run directories and parameters by name.
//!
//! The script that is printed asks the command itself at every Tab (`COMPLETE` is set then), so that what it offers is
//! what there is: folders that hold runs, and the parameters of the run that the line names.

use crate::cli::Cli;
use crate::registry::BUILT_IN;
use anyhow::{Result, bail};
use clap::{Args, Command, CommandFactory};
use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};
use clap_complete::env::{CompleteEnv, Shells};
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use towline::store::Manifest;
use towline_models::FamilyKind;

/// Set by the script: a line is to be completed.
const ASKED: &str = "COMPLETE";
/// More parameters are nothing to choose from.
const MOST: usize = 200;

/// Flags of `towline completions`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  source <(towline completions bash)                                   in ~/.bashrc
  source <(towline completions zsh)                                    in ~/.zshrc, after compinit
  towline completions fish > ~/.config/fish/completions/towline.fish
  towline completions powershell | Out-String | Invoke-Expression      in $PROFILE")]
pub struct Options {
    /// bash, zsh, fish, powershell or elvish
    pub shell: String,
}

/// Prints the script.
pub fn run(options: &Options) -> Result<()> {
    let shells = Shells::builtins();
    let Some(shell) = shells.completer(&options.shell) else {
        let names: Vec<&str> = shells.names().collect();
        bail!(
            "there is no completion for {:?}; there is for {}",
            options.shell,
            names.join(", ")
        );
    };
    let mut script = Vec::new();
    shell.write_registration(ASKED, "towline", "towline", "towline", &mut script)?;
    Ok(io::stdout().lock().write_all(&script)?)
}

/// Whether this call was a shell's question, which is then answered.
pub fn answered(arguments: &[OsString]) -> Result<bool, clap::Error> {
    if std::env::var_os(ASKED).is_none() {
        return Ok(false);
    }
    let line: Arc<[OsString]> = arguments.into();
    let here = std::env::current_dir().ok();
    CompleteEnv::with_factory(|| with_values(&line))
        .completer("towline")
        .try_complete(arguments.iter().cloned(), here.as_deref())
}

/// The command with completers of what only the disk knows.
fn with_values(line: &Arc<[OsString]>) -> Command {
    let mut command = Cli::command();
    let names: Vec<String> = command
        .get_subcommands()
        .map(|sub| sub.get_name().to_owned())
        .collect();
    for name in names {
        let line = Arc::clone(line);
        command = command.mut_subcommand(name, |mut sub| {
            let mut add = |id: &str, values: ArgValueCompleter| {
                if sub.get_arguments().any(|arg| arg.get_id() == id) {
                    sub = std::mem::take(&mut sub).mut_arg(id, |arg| arg.add(values));
                }
            };
            add("dir", ArgValueCompleter::new(Directories));
            add("dirs", ArgValueCompleter::new(Directories));
            add("params", ArgValueCompleter::new(Parameters(line)));
            add("family", ArgValueCompleter::new(families));
            if sub.get_name() == "run" {
                sub = sub.mut_arg("name", |arg| arg.add(ArgValueCompleter::new(examples)));
            }
            sub
        });
    }
    command
}

/// Folders, those that hold runs first and marked.
struct Directories;

impl ValueCompleter for Directories {
    fn complete(&self, current: &OsStr) -> Vec<CompletionCandidate> {
        let mark = |one: CompletionCandidate| match is_run(Path::new(one.get_value())) {
            true => one.help(Some("a run".into())).display_order(Some(0)),
            false => one.display_order(Some(1)),
        };
        PathCompleter::dir()
            .complete(current)
            .into_iter()
            // The present folder is offered too; a run is hardly ever there.
            .filter(|one| one.get_value() != "." || is_run(Path::new(".")))
            .map(mark)
            .collect()
    }
}

fn is_run(folder: &Path) -> bool {
    folder.join("manifest.json").is_file()
}

/// The parameters of the run that the line names; after a comma, one more.
struct Parameters(Arc<[OsString]>);

impl ValueCompleter for Parameters {
    fn complete(&self, current: &OsStr) -> Vec<CompletionCandidate> {
        let run = self.0.iter().map(Path::new).find(|word| is_run(word));
        let Some(manifest) = run.and_then(|run| Manifest::read(run).ok()) else {
            return Vec::new();
        };
        let current = current.to_string_lossy();
        let (before, begun) = match current.rfind(',') {
            Some(comma) => current.split_at(comma + 1),
            None => ("", &*current),
        };
        // Thousands of latents would bury the rest: they come when one is begun.
        let latents = if begun.is_empty() {
            &[][..]
        } else {
            &manifest.latents[..]
        };
        let all = manifest.columns.iter().chain(latents);
        all.filter(|column| column.name.starts_with(begun))
            .take(MOST)
            .map(|column| CompletionCandidate::new(format!("{before}{}", column.name)))
            .collect()
    }
}

/// The families of responses.
fn families(current: &OsStr) -> Vec<CompletionCandidate> {
    begun(current, FamilyKind::ALL.map(|one| (one.name(), None)))
}

/// The built-in examples, with a line about each.
fn examples(current: &OsStr) -> Vec<CompletionCandidate> {
    begun(
        current,
        BUILT_IN.iter().map(|one| (one.name, Some(one.about))),
    )
}

/// Those names that begin so.
fn begun(
    current: &OsStr,
    names: impl IntoIterator<Item = (&'static str, Option<&'static str>)>,
) -> Vec<CompletionCandidate> {
    let current = current.to_string_lossy();
    let fitting = names
        .into_iter()
        .filter(|(name, _)| name.starts_with(&*current));
    fitting
        .map(|(name, about)| CompletionCandidate::new(name).help(about.map(Into::into)))
        .collect()
}
