//! `towline man`: the manual page, made from the help.

use crate::cli::Cli;
use anyhow::{Context, Result};
use clap::{Args, CommandFactory};
use clap_mangen::Man;
use std::io::{self, Write};
use std::path::PathBuf;

/// Flags of `towline man`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  towline man | man -l -                               reads it
  towline man --out ~/.local/share/man/man1            a page for each command: man towline-fit")]
pub struct Options {
    /// Write a page for the command and one for each subcommand into this folder, instead of printing the first
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// Prints or writes it.
pub fn run(options: &Options) -> Result<()> {
    let mut command = Cli::command();
    command.build();
    let Some(folder) = &options.out else {
        let mut page = Vec::new();
        Man::new(command).render(&mut page)?;
        return Ok(io::stdout().lock().write_all(&page)?);
    };
    let attempt = || -> io::Result<()> {
        std::fs::create_dir_all(folder)?;
        clap_mangen::generate_to(command, folder)
    };
    attempt().with_context(|| format!("cannot write manual pages in {}", folder.display()))?;
    writeln!(
        io::stdout().lock(),
        "Written: {}/towline.1 and a page for each command",
        folder.display()
    )?;
    Ok(())
}
