//! What can be wrong with a model, its data or its formula, said so that it can be put right.

use std::path::PathBuf;

/// Why a model could not be made of a file, a formula and data.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be read.
    #[error("cannot read {}: {reason}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why. (Not its source: it is in the message, and would be said twice.)
        reason: std::io::Error,
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
        "{name}, line {line}: `{column}` is missing ({} in all); fill in what is missing, or say \
         `missing = \"drop\"` under [data] to leave such rows out",
        crate::nearest::plural(*count, "such row")
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
    /// Text among numbers, where it would make a factor of a column of measurements.
    #[error(
        "{name}, line {line}: `{column}` is `{value}`, which is not a number, as {numbers} of its {total} values are; \
         correct it, or write factor({column}) if its values are levels"
    )]
    NearlyNumeric {
        /// The table.
        name: String,
        /// The first such line.
        line: u64,
        /// The column.
        column: String,
        /// What stands there.
        value: String,
        /// How many of the column's values are numbers.
        numbers: usize,
        /// How many values it has.
        total: usize,
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
    #[error(transparent)]
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

/// The same words as for people: it is what `fn main() -> Result<(), Error>` and `unwrap` print.
impl std::fmt::Debug for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
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

    /// The message for somebody who gave the model in flags of the command, and knows of no model file.
    pub fn in_flags(&self) -> String {
        let mut text = match self {
            Self::Setting { key, reason } => match flag(key) {
                Some(flag) => format!("{flag}: {reason}"),
                None => self.to_string(),
            },
            other => other.to_string(),
        };
        for (file, flags) in IN_FLAGS {
            text = text.replace(file, flags);
        }
        text
    }
}

/// What messages say about a model file, and what they say about flags instead.
const IN_FLAGS: [(&str, &str); 7] = [
    (
        "say `missing = \"drop\"` under [data]",
        "give --drop-missing",
    ),
    ("`response` under [data]", "--response"),
    ("[data] says", "--response says"),
    ("`trials` under [data]", "--trials"),
    ("or distance = \"euclidean\"", "or leave --great-circle out"),
    ("a formula such as \"y ~ x\"", "--formula 'y ~ x'"),
    ("for it under [data.levels]", "for it in a model file"),
];

/// The flag that stands for a key of a model file.
fn flag(key: &str) -> Option<String> {
    if let Some(name) = key.strip_prefix("priors.") {
        return Some(format!("--prior {name}"));
    }
    Some(
        match key {
            "formula" => "--formula",
            "response" => "--response",
            "trials" => "--trials",
            "exposure" => "--exposure",
            "success" => "--success",
            "link" => "--probit",
            "gp.inputs" => "--gp",
            "gp.covariance" => "--covariance",
            "gp.distance" => "--great-circle",
            _ => return None,
        }
        .to_string(),
    )
}

fn hint(suggestion: &Option<String>) -> String {
    suggestion
        .as_ref()
        .map_or(String::new(), |near| format!(" (did you mean `{near}`?)"))
}
