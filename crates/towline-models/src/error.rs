//! What can be wrong with a model, its data or its formula, said so that it can be mended.

use std::path::PathBuf;

/// Why a model could not be made of a file, a formula and data.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A table without rows, or without anything.
    #[error("{name} is empty: {what}")]
    Empty {
        /// The table.
        name: String,
        /// What is missing.
        what: &'static str,
    },
    /// A table that is not one: rows of different lengths, headers that occur twice, text that is not UTF-8.
    #[error("{name}, line {line}: {reason}")]
    Table {
        /// The table.
        name: String,
        /// The line in the file, from 1.
        line: u64,
        /// What is wrong there.
        reason: String,
    },
    /// A column that the table does not have.
    #[error(
        "{name} has no column `{column}`{}; its columns are {known}",
        hint(suggestion)
    )]
    UnknownColumn {
        /// The table.
        name: String,
        /// The column asked for.
        column: String,
        /// The nearest name.
        suggestion: Option<String>,
        /// The columns there are.
        known: String,
    },
    /// A value that is missing where one is needed.
    #[error(
        "{name}, line {line}: `{column}` is missing ({count} such rows in all); fill them in, remove them, or say \
         `missing = \"drop\"` under [data] to leave those rows out"
    )]
    Missing {
        /// The table.
        name: String,
        /// The first such line.
        line: u64,
        /// The column.
        column: String,
        /// How many rows have no value.
        count: usize,
    },
    /// Text where a number is needed.
    #[error("{name}, line {line}: `{column}` is `{value}`, which is not a number{advice}")]
    NotANumber {
        /// The table.
        name: String,
        /// The line.
        line: u64,
        /// The column.
        column: String,
        /// What stands there.
        value: String,
        /// What to do, where that is known.
        advice: &'static str,
    },
    /// A computed value that is not a finite number.
    #[error("{name}, line {line}: {expression} is {value}, which no model can use")]
    NotFinite {
        /// The table.
        name: String,
        /// The line.
        line: u64,
        /// What was computed.
        expression: String,
        /// What came out.
        value: f64,
    },
    /// A formula, covariance or expression with a mistake: says what, and points at it.
    #[error("{0}")]
    Syntax(#[from] crate::formula::SyntaxError),
    /// A factor or a grouping with a single level.
    #[error(
        "`{factor}` has one level only, `{level}`: it cannot tell rows apart; leave it out of the formula"
    )]
    OneLevel {
        /// The factor.
        factor: String,
        /// Its level.
        level: String,
    },
    /// A level that the data of the fit did not have.
    #[error(
        "{name}, line {line}: `{factor}` is `{level}`, a level that the fitted data do not have (they have {known})"
    )]
    UnknownLevel {
        /// The table.
        name: String,
        /// The line.
        line: u64,
        /// The factor.
        factor: String,
        /// The level.
        level: String,
        /// The levels there are.
        known: String,
    },
    /// A covariate that is a combination of others.
    #[error(
        "the column `{column}` of the model is {relation}: their effects cannot be told apart; leave one of them out"
    )]
    Collinear {
        /// The column.
        column: String,
        /// What it is a combination of.
        relation: String,
    },
    /// A response outside what its family can produce.
    #[error(
        "{name}, line {line}: the response `{response}` is {value}, but a {family} response needs {accepted}"
    )]
    Response {
        /// The table.
        name: String,
        /// The line.
        line: u64,
        /// The response.
        response: String,
        /// Its value.
        value: String,
        /// The family.
        family: &'static str,
        /// What the family accepts.
        accepted: String,
    },
    /// Parts that do not make a model together.
    #[error("{0}")]
    Model(String),
    /// Too many rows for dense matrices.
    #[error("{0}")]
    TooLarge(String),
    /// A model file that is not TOML, or with keys or values it does not know.
    #[error("{name}: {reason}")]
    File {
        /// The file.
        name: String,
        /// What is wrong, with the line.
        reason: String,
    },
    /// A setting that makes no sense, or does not go with another.
    #[error("{key}: {reason}")]
    Setting {
        /// The setting.
        key: String,
        /// What is wrong with it, and what to do.
        reason: String,
    },
    /// Data that are no longer those of the fit.
    #[error(
        "{} has changed since the run began (its checksum was {then}, it is {now}): a run goes on with the data it began \
         with only; put the old file back, or fit again", path.display()
    )]
    Changed {
        /// The data.
        path: PathBuf,
        /// The checksum at the beginning.
        then: String,
        /// The checksum now.
        now: String,
    },
}

impl Error {
    /// Parts that do not make a model together.
    pub(crate) fn model(reason: impl Into<String>) -> Self {
        Self::Model(reason.into())
    }

    /// A setting that makes no sense.
    pub(crate) fn setting(key: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Setting {
            key: key.into(),
            reason: reason.into(),
        }
    }
}

fn hint(suggestion: &Option<String>) -> String {
    suggestion
        .as_ref()
        .map_or(String::new(), |near| format!(" (did you mean `{near}`?)"))
}
