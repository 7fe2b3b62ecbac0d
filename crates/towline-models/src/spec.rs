//! The model file: what a user writes in a dozen lines of TOML.

mod covariance;
mod family;
mod priors;

pub(crate) use covariance::{
    CovarianceTree, Given, KernelKind, KernelSpec, covariance_names, parse_covariance,
};
pub(crate) use family::ALIASES;
pub use family::{FamilyKind, Link};
pub use priors::PriorTexts;

use crate::distance::Distance;
use crate::error::Error;
use crate::nearest::did_you_mean;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A model as it is written: data, family, formula, Gaussian processes, priors.
///
/// ```
/// use towline_models::ModelFile;
/// let model = ModelFile::parse("rongelap.toml", r#"
///     family = "poisson"
///     formula = "counts ~ 1"
///     [data]
///     file = "rongelap.csv"
///     exposure = "time"
///     [[gp]]
///     inputs = ["x", "y"]
///     covariance = "exponential"
///     [priors]
///     beta = "normal(0, 5)"
/// "#)?;
/// assert_eq!(model.gp[0].inputs, ["x", "y"]);
/// # Ok::<(), towline_models::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelFile {
    /// `bernoulli`, `binomial`, `poisson`, `negative_binomial`, `gaussian` or `softmax`.
    pub family: FamilyKind,
    /// `logit` or `probit`, for `bernoulli` and `binomial`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<Link>,
    /// Response, fixed and random effects; `response ~ 1` where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub formula: Option<String>,
    /// Whether the mean is taken off every column of the fixed effects, so that the intercept is that of an average row.
    #[serde(default, alias = "center", skip_serializing_if = "std::ops::Not::not")]
    pub centre: bool,
    /// Where the data are, and what their columns are for.
    pub data: DataSpec,
    /// Gaussian processes, added to the linear predictor.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gp: Vec<GpSpec>,
    /// Priors by the names of parameters; the others have defaults.
    #[serde(default, skip_serializing_if = "PriorTexts::is_empty")]
    pub priors: PriorTexts,
}

/// Where the data are, and what their columns are for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataSpec {
    /// A CSV file with a header; its path is relative to the model file.
    pub file: PathBuf,
    /// The response, where no formula names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<String>,
    /// Which value of a response of text counts as 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub success: Option<String>,
    /// The numbers of trials of a binomial response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trials: Option<String>,
    /// What multiplies the mean of a count: time, births, area.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exposure: Option<String>,
    /// Columns that are brought to mean 0 and standard deviation 1 (dividing by n) wherever they are used.
    #[serde(default, alias = "standardize", skip_serializing_if = "Vec::is_empty")]
    pub standardise: Vec<String>,
    /// The levels of factors in order, the reference first.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub levels: BTreeMap<String, Vec<String>>,
    /// What to do about rows with missing values.
    #[serde(default, skip_serializing_if = "is_default")]
    pub missing: MissingRule,
}

/// What to do about rows with missing values in columns that the model uses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MissingRule {
    /// Refuse them.
    #[default]
    Refuse,
    /// Leave them out, and say how many.
    Drop,
}

/// A Gaussian process over some inputs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GpSpec {
    /// What its parameters are called after; `gp`, or `gp2` for the second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Columns, or expressions in columns.
    pub inputs: Vec<String>,
    /// Sums and products of covariance functions: `constant(2) + squared_exponential_ard`.
    #[serde(default = "default_covariance")]
    pub covariance: String,
    /// How far apart two points are.
    #[serde(default, skip_serializing_if = "is_default")]
    pub distance: Distance,
    /// What is added to the diagonal for the sake of the factorisation alone.
    #[serde(default = "default_jitter")]
    pub jitter: f64,
    /// Whether the inputs are brought to mean 0 and standard deviation 1 (dividing by n).
    #[serde(
        default,
        alias = "standardize",
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub standardise: bool,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Once differentiable: neither as rough as the exponential nor as smooth as the squared exponential.
pub(crate) fn default_covariance() -> String {
    "matern32".into()
}

/// Small beside any variance on a link scale, large beside rounding even for the smoothest covariances.
pub(crate) fn default_jitter() -> f64 {
    crate::dense::DEFAULT_JITTER
}

impl GpSpec {
    /// A process over some inputs with everything else at its default.
    pub fn new(inputs: Vec<String>) -> Self {
        Self {
            name: None,
            inputs,
            covariance: default_covariance(),
            distance: Distance::default(),
            jitter: default_jitter(),
            standardise: false,
        }
    }
}

impl ModelFile {
    /// Reads a model file; the path of its data becomes relative to the present folder, as the model file's is.
    ///
    /// # Errors
    /// Where the file cannot be read, is no TOML, or has keys or values that are not known.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = fs::read_to_string(path).map_err(|reason| Error::Read {
            path: path.to_path_buf(),
            reason,
        })?;
        let mut model = Self::parse(&path.display().to_string(), &text)?;
        if let Some(folder) = path.parent() {
            model.data.file = folder.join(&model.data.file);
        }
        Ok(model)
    }

    /// Reads a model from text; `name` stands for it in messages.
    ///
    /// # Errors
    /// Where it is no TOML, or has keys or values that are not known: with the nearest known one.
    pub fn parse(name: &str, text: &str) -> Result<Self, Error> {
        toml::from_str(text).map_err(|error| Error::File {
            name: name.into(),
            reason: with_hint(&error),
        })
    }

    /// The model as a file.
    ///
    /// # Errors
    /// Where something in it cannot be written as TOML.
    pub fn to_toml(&self) -> Result<String, Error> {
        toml::to_string(self).map_err(|error| Error::setting("model", error.to_string()))
    }
}

/// A TOML error with the place, and with the nearest known word where one is not known.
fn with_hint(error: &toml::de::Error) -> String {
    let message = error.message();
    let mut words = message.split('`').skip(1).step_by(2);
    let unknown = message.starts_with("unknown field") || message.starts_with("unknown variant");
    let hint = words
        .next()
        .filter(|_| unknown)
        .and_then(|word| did_you_mean(word, words))
        .map_or(String::new(), |hint| format!("\n{hint}"));
    format!("{}{hint}", error.to_string().trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        ModelFile::parse("m.toml", text).unwrap_err().to_string()
    }

    #[test]
    fn unknown_keys_and_values_come_with_the_nearest_known_one_and_the_line() {
        let text = error("famly = \"poisson\"\n[data]\nfile = \"d.csv\"\n");
        assert!(
            text.contains("line 1") && text.contains("did you mean `family`?"),
            "{text}"
        );
        let text = error("family = \"poison\"\n[data]\nfile = \"d.csv\"\n");
        assert!(
            text.contains("line 1") && text.contains("did you mean `poisson`?"),
            "{text}"
        );
        let text = error("family = \"poisson\"\n[data]\nfile = \"d.csv\"\nexposur = \"t\"\n");
        assert!(
            text.contains("line 4") && text.contains("did you mean `exposure`?"),
            "{text}"
        );
        let text =
            error("family = \"poisson\"\n[data]\nfile = \"d.csv\"\n[[gp]]\ninput = [\"x\"]\n");
        assert!(text.contains("did you mean `inputs`?"), "{text}");
        assert!(error("family = \"poisson\"\n").contains("missing field `data`"));
    }

    #[test]
    fn priors_may_be_nested_or_quoted_and_must_be_text() {
        let text = "family = \"poisson\"\n[data]\nfile = \"d.csv\"\n[priors]\nsd_district = \"exponential(1)\"\n\
                    \"beta_I(age^2)\" = \"normal(0, 1)\"\n";
        let model = ModelFile::parse("m.toml", text).unwrap();
        assert_eq!(model.priors.get("sd_district"), Some("exponential(1)"));
        assert_eq!(model.priors.get("beta_I(age^2)"), Some("normal(0, 1)"));
        let text = error("family = \"poisson\"\n[data]\nfile = \"d.csv\"\n[priors]\nsd = 3\n");
        assert!(
            text.contains("sd") && text.contains("normal(0, 5)"),
            "{text}"
        );
    }

    #[test]
    fn a_model_survives_being_written() {
        let text = "family = \"bernoulli\"\nlink = \"probit\"\nformula = \"y ~ x\"\ncentre = true\n[data]\n\
                    file = \"d.csv\"\nmissing = \"drop\"\n[data.levels]\nmode = [\"want\", \"do\"]\n[[gp]]\n\
                    inputs = [\"x\"]\ndistance = \"great_circle\"\n[priors]\nbeta = \"normal(0, 5)\"\n";
        let model = ModelFile::parse("m.toml", text).unwrap();
        let again = ModelFile::parse("n.toml", &model.to_toml().unwrap()).unwrap();
        assert_eq!(model, again);
    }
}
