//! How the command fails: what it says, and the exit code.

use crate::summary::wrap;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

/// Why the command did not do what it was asked.
#[derive(Debug)]
pub enum Failure {
    /// The command line cannot be read, or asks for help: as clap has it.
    Usage(clap::Error),
    /// The options make no sense, so nothing ran: exit code 2, as clap has it.
    Options(anyhow::Error),
    /// Something failed on the way: exit code 1.
    Run(anyhow::Error),
    /// Ctrl-C: exit code 130, as shells have it. What to do next has been said.
    Interrupted,
}

impl Failure {
    /// What went wrong, in a line, for other processes.
    pub fn words(&self) -> String {
        match self {
            Self::Usage(_) => "the command line cannot be read".to_owned(),
            Self::Options(error) | Self::Run(error) => said_once(error),
            Self::Interrupted => "the run was stopped".to_owned(),
        }
    }

    /// Says what went wrong on stderr, and returns the exit code.
    ///
    /// A reader that closes the pipe (`towline paper | head`) has seen enough: that is a success.
    pub fn report(self) -> ExitCode {
        let (error, code) = match self {
            Self::Usage(refused) => {
                // Help goes to stdout, in lines of its own. If stderr is closed there is nobody to tell.
                let _ = match refused.use_stderr() && io::stderr().is_terminal() {
                    true => writeln!(io::stderr(), "{}", broken(&refused)),
                    false => refused.print(),
                };
                return ExitCode::from(u8::try_from(refused.exit_code()).unwrap_or(2));
            }
            Self::Options(error) => (error, 2),
            Self::Run(error) if is_broken_pipe(&error) => return ExitCode::SUCCESS,
            Self::Run(error) => (error, 1),
            Self::Interrupted => return ExitCode::from(130),
        };
        let mut said = format!("error: {}", said_once(&error));
        // A terminal would break lines within words; programs read the line as it is.
        if io::stderr().is_terminal() {
            said = wrap(&said);
        }
        // If stderr is closed too there is nobody left to tell.
        let _ = writeln!(io::stderr(), "{said}");
        ExitCode::from(code)
    }
}

/// What clap says, in lines that a terminal does not break within words.
fn broken(refused: &clap::Error) -> String {
    let said = refused.render();
    match std::env::var_os("NO_COLOR") {
        Some(_) => wrap(&said.to_string()),
        None => wrap(&said.ansi().to_string()),
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}

/// An error and its causes; a cause that is in the message already is not said again.
pub fn said_once(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let words = cause.to_string();
        if text.contains(&words) {
            continue;
        }
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(&words);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;
    use clap::Parser;

    #[test]
    fn refused_options_are_told_in_lines_of_whole_words() {
        let line = ["towline", "fit", "--data", "d.csv", "--family", "bernouli"];
        let refused = crate::cli::Cli::try_parse_from(line).err().unwrap();
        let said = broken(&refused);
        assert!(said.contains("negative_binomial"), "{said}");
        let narrow = |line: &str| console::measure_text_width(line) <= 80;
        assert!(said.lines().all(narrow), "{said}");
    }

    #[test]
    fn a_cause_that_the_message_has_is_said_once() {
        let inner = io::Error::new(io::ErrorKind::NotFound, "no such file");
        let error = anyhow::Error::from(inner).context("cannot read d.csv: no such file");
        assert_eq!(said_once(&error), "cannot read d.csv: no such file");
        let error: anyhow::Error = Err::<(), _>(error).context("the fit failed").unwrap_err();
        assert_eq!(
            said_once(&error),
            "the fit failed: cannot read d.csv: no such file"
        );
    }
}
