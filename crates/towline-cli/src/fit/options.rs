//! Flags of `towline fit`, and the model that they describe where there is no file.

use crate::sampling::SamplingOptions;
use anyhow::{Result, bail};
use clap::Args;
use std::path::PathBuf;
use towline_models::{
    DataSpec, Distance, FamilyKind, GpSpec, Link, MissingRule, ModelFile, PriorTexts,
};

/// Flags of `towline fit`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub struct Options {
    /// The model file; without one, the flags below describe the model
    #[arg(value_name = "MODEL.toml")]
    pub file: Option<PathBuf>,

    /// Data: a CSV file with a header
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    pub data: Option<PathBuf>,

    /// Formula in the manner of lme4: 'use ~ age + urban + (1 | district)'
    #[arg(long, value_name = "TEXT", conflicts_with = "file")]
    pub formula: Option<String>,

    /// The response, where there is no formula
    #[arg(long, value_name = "COLUMN", conflicts_with = "file")]
    pub response: Option<String>,

    /// bernoulli, binomial, poisson, negative_binomial, gaussian or softmax
    #[arg(long, value_name = "NAME", conflicts_with = "file")]
    pub family: Option<FamilyKind>,

    /// Probit instead of logit, for bernoulli and binomial
    #[arg(long, conflicts_with = "file")]
    pub probit: bool,

    /// Which value of a response of text counts as 1
    #[arg(long, value_name = "VALUE", conflicts_with = "file")]
    pub success: Option<String>,

    /// The numbers of trials of a binomial response
    #[arg(long, value_name = "COLUMN", conflicts_with = "file")]
    pub trials: Option<String>,

    /// What multiplies the mean of a count: time, births, area
    #[arg(long, value_name = "COLUMN", conflicts_with = "file")]
    pub exposure: Option<String>,

    /// Inputs of a Gaussian process: x,y
    #[arg(
        long,
        value_name = "COLUMNS",
        value_delimiter = ',',
        conflicts_with = "file"
    )]
    pub gp: Vec<String>,

    /// Its covariance: exponential, 'matern32 + nugget', squared_exponential_ard, … [default: matern32]
    #[arg(long, value_name = "TEXT", requires = "gp")]
    pub covariance: Option<String>,

    /// The inputs are longitude and latitude in degrees: distances in km along the Earth's surface (through the Earth for
    /// covariances that need it)
    #[arg(long, requires = "gp")]
    pub great_circle: bool,

    /// Bring the inputs to mean 0 and standard deviation 1
    #[arg(long, requires = "gp")]
    pub standardise: bool,

    /// A prior by the name of its parameter, as often as needed: --prior 'gp_length=log_normal(5, 1)'
    #[arg(long, value_name = "NAME=PRIOR", conflicts_with = "file")]
    pub prior: Vec<String>,

    /// Leave out rows with missing values
    #[arg(long, conflicts_with = "file")]
    pub drop_missing: bool,

    /// Show the model with all its priors, and do not run it
    #[arg(long)]
    pub show: bool,

    /// Folder for the run, made if need be [default: called after the model or the data]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Replace the run that is in the folder
    #[arg(long)]
    pub force: bool,

    /// How to sample.
    #[command(flatten)]
    pub sampling: SamplingOptions,
}

const EXAMPLE: &str = "\
Examples:
  towline fit model.toml --show       the model and its priors, without running it
  towline fit model.toml --out fit    four chains of 2000 draws in ./fit
  towline fit --data contraception.csv --family bernoulli \\
      --formula 'use ~ age + I(age^2) + urban + livch + (1 | district)'
  towline fit --data rongelap.csv --response counts --family poisson \\
      --exposure time --gp x,y --covariance exponential";

impl Options {
    /// The model, from its file or from the flags.
    pub fn model(&self) -> Result<ModelFile> {
        if let Some(file) = &self.file {
            return Ok(ModelFile::read(file)?);
        }
        let Some(data) = &self.data else {
            bail!(
                "what is to be fitted? give a model file, or --data with --formula or --response"
            );
        };
        let Some(family) = self.family else {
            bail!(
                "--family is missing: one of {}",
                FamilyKind::ALL.map(FamilyKind::name).join(", ")
            );
        };
        let mut priors = PriorTexts::default();
        for text in &self.prior {
            let Some((name, prior)) = text.split_once('=') else {
                bail!("--prior {text}: write NAME=PRIOR, such as --prior 'beta=normal(0, 5)'");
            };
            priors.insert(name.trim(), prior.trim());
        }
        let gp = (!self.gp.is_empty()).then(|| {
            let mut gp = GpSpec::new(self.gp.iter().map(|name| name.trim().to_string()).collect());
            if let Some(covariance) = &self.covariance {
                gp.covariance.clone_from(covariance);
            }
            if self.great_circle {
                gp.distance = Distance::GreatCircle;
            }
            gp.standardise = self.standardise;
            gp
        });
        Ok(ModelFile {
            family,
            link: self.probit.then_some(Link::Probit),
            formula: self.formula.clone(),
            centre: false,
            data: DataSpec {
                file: data.clone(),
                response: self.response.clone(),
                success: self.success.clone(),
                trials: self.trials.clone(),
                exposure: self.exposure.clone(),
                missing: if self.drop_missing {
                    MissingRule::Drop
                } else {
                    MissingRule::Refuse
                },
                ..DataSpec::default()
            },
            gp: gp.into_iter().collect(),
            priors,
        })
    }
}
