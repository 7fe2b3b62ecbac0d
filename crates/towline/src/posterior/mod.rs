//! A target made of named parameters with priors, a likelihood in two stages and derived quantities.

mod likelihood;
mod parameter;
mod reported;
mod scale;
mod staged;
#[cfg(test)]
mod tests;

pub use likelihood::{Likelihood, TwoStages, two_stages};
pub use parameter::{Parameter, Speed};

use crate::error::{Error, ModelError};
use crate::linalg::Factor;
use crate::model::{Column, Role};
use crate::random::Rng;
use scale::Scale;
use std::fmt;

/// A posterior: priors of named parameters times a [`Likelihood`].
///
/// Chains move on an unconstrained scale (bounds are taken care of by transforms with their Jacobians, circles have
/// no seam); the likelihood sees, and reports show, the user's.
///
/// ```
/// use towline::{Parameter, Posterior, posterior::two_stages};
/// let data = [1.2, 0.4, 2.2, 1.9];
/// let likelihood = two_stages(
///     |slow: &[f64]| Ok(Some(slow[0])), // the long computation
///     move |sd: &f64, fast: &[f64]| {
///         data.iter().map(|d| -0.5 * ((d - fast[0]) / sd).powi(2) - sd.ln()).sum()
///     },
/// );
/// let parameters = vec![
///     Parameter::slow("sd", "half_normal(2)".parse()?).labelled(r"\sigma"),
///     Parameter::fast("mean", "normal(0, 5)".parse()?).labelled(r"\mu"),
/// ];
/// let posterior = Posterior::new(parameters, likelihood)?
///     .deriving(&["signal_to_noise"], |_, slow, fast, out| out[0] = fast[0] / slow[0])?;
/// # let _ = posterior;
/// # Ok::<(), towline::Error>(())
/// ```
pub struct Posterior<L: Likelihood> {
    parameters: Vec<Parameter>,
    slow: Vec<Coordinate>,
    fast: Vec<Coordinate>,
    blocks: Vec<usize>,
    likelihood: L,
    derived: Vec<Column>,
    derive: Option<Box<Derive<L::Cache>>>,
    start: Option<Box<Start>>,
    enough: Option<Box<Enough>>,
    slow_covariance: Option<Vec<f64>>,
}

type Derive<C> = dyn Fn(&C, &[f64], &[f64], &mut [f64]) + Send + Sync;
type Enough = dyn Fn(u64) -> Result<bool, ModelError> + Send + Sync;
type Start = dyn Fn(&mut Rng) -> Result<Vec<Option<f64>>, ModelError> + Send + Sync;

/// Where a parameter is found: among those declared, and among the coordinates of x or y.
#[derive(Debug, Clone, Copy)]
struct Coordinate {
    declared: usize,
    first: usize,
    scale: Scale,
}

/// What is kept of a slow computation: the likelihood's own, and the slow parameters with their prior.
#[derive(Debug, Clone)]
pub struct PosteriorCache<C> {
    likelihood: C,
    slow: Vec<f64>,
    log_prior: f64,
}

impl<L: Likelihood> Posterior<L> {
    /// A posterior of these parameters.
    ///
    /// # Errors
    /// Where a prior cannot be, two parameters share a name, or there is none.
    pub fn new(parameters: Vec<Parameter>, likelihood: L) -> Result<Self, Error> {
        for parameter in &parameters {
            parameter.prior.validate()?;
        }
        if parameters.is_empty() {
            return Err(Error::Dimension {
                what: "the list of parameters",
                expected: 1,
                found: 0,
            });
        }
        let mut order: Vec<usize> = (0..parameters.len()).collect();
        order.sort_by_key(|&k| parameters[k].speed); // stable: declared order within a speed
        let (mut slow, mut fast) = (Vec::new(), Vec::new());
        let (mut slow_dim, mut fast_dim) = (0, 0);
        let mut levels: Vec<(Speed, usize)> = Vec::new();
        for declared in order {
            let Parameter { prior, speed, .. } = &parameters[declared];
            let scale = Scale::of(prior);
            let (list, dim) = match speed {
                Speed::Slow => (&mut slow, &mut slow_dim),
                Speed::Fast(_) => (&mut fast, &mut fast_dim),
            };
            let first = *dim;
            list.push(Coordinate {
                declared,
                first,
                scale,
            });
            *dim += scale.width();
            match levels.last_mut() {
                Some((level, size)) if level == speed => *size += scale.width(),
                _ => levels.push((*speed, scale.width())),
            }
        }
        levels.retain(|(speed, _)| *speed != Speed::Slow);
        levels.pop();
        let posterior = Self {
            parameters,
            slow,
            fast,
            blocks: levels.into_iter().map(|(_, size)| size).collect(),
            likelihood,
            derived: Vec::new(),
            derive: None,
            start: None,
            enough: None,
            slow_covariance: None,
        };
        posterior.check_names()?;
        Ok(posterior)
    }

    /// Adds quantities computed from each draw: `derive(&cache, slow, fast, out)` fills `out`, one number for
    /// each name.
    ///
    /// # Errors
    /// Where a name is taken.
    pub fn deriving(
        mut self,
        names: &[&str],
        derive: impl Fn(&L::Cache, &[f64], &[f64], &mut [f64]) + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        self.derived = names
            .iter()
            .map(|name| Column::new(*name, Role::Derived))
            .collect();
        self.derive = Some(Box::new(derive));
        self.check_names()?;
        Ok(self)
    }

    /// With a label (LaTeX without dollar signs) for one of the derived quantities.
    ///
    /// # Errors
    /// Where there is none of that name.
    pub fn labelling(mut self, name: &str, label: &str) -> Result<Self, Error> {
        let found = self.derived.iter_mut().find(|column| column.name == name);
        let column = found.ok_or_else(|| Error::Name {
            name: name.to_owned(),
            problem: "no derived quantity has it",
        })?;
        column.label = Some(label.to_owned());
        Ok(self)
    }

    /// Begins chains where `start` says: a value for each parameter, as declared; those it returns `None` for are
    /// drawn from their priors.
    #[must_use]
    pub fn starting(
        mut self,
        start: impl Fn(&mut Rng) -> Result<Vec<Option<f64>>, ModelError> + Send + Sync + 'static,
    ) -> Self {
        self.start = Some(Box::new(start));
        self
    }

    /// Ends a run when `enough` says so of a number of draws: see [`Model::is_enough`](crate::Model::is_enough).
    #[must_use]
    pub fn stopping(
        mut self,
        enough: impl Fn(u64) -> Result<bool, ModelError> + Send + Sync + 'static,
    ) -> Self {
        self.enough = Some(Box::new(enough));
        self
    }

    /// With a covariance of the slow coordinates, on the scale on which chains move: see [`Target::slow_covariance`](crate::Target::slow_covariance).
    ///
    /// # Errors
    /// Where it is no covariance, or of other coordinates.
    pub fn knowing(mut self, slow_covariance: Vec<f64>) -> Result<Self, Error> {
        let dim: usize = self.slow.iter().map(|c| c.scale.width()).sum();
        if slow_covariance.len() != dim * dim {
            return Err(Error::Dimension {
                what: "the covariance of the slow parameters",
                expected: dim * dim,
                found: slow_covariance.len(),
            });
        }
        Factor::from_covariance(&slow_covariance, "the covariance of the slow parameters")?;
        self.slow_covariance = Some(slow_covariance);
        Ok(self)
    }

    /// The values of all parameters, in declared order, where a chain stands at (x, y): what
    /// [`locate`](Self::locate) undoes. Those of coordinates that are not there are NaN.
    pub fn values_at(&self, x: &[f64], y: &[f64]) -> Vec<f64> {
        let mut all = vec![f64::NAN; self.parameters.len()];
        for (list, u) in [(&self.slow, x), (&self.fast, y)] {
            for c in list {
                if let Some(u) = u.get(c.first..c.first + c.scale.width()) {
                    all[c.declared] = c.scale.value(u).0;
                }
            }
        }
        all
    }

    /// The parameters, as they were declared.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// The likelihood.
    pub fn likelihood(&self) -> &L {
        &self.likelihood
    }

    /// The coordinates (x, y) at which a chain stands when its parameters have these values, in declared order.
    ///
    /// # Errors
    /// Where there are more or fewer values than parameters, or one lies outside its support.
    pub fn locate(&self, values: &[f64]) -> Result<(Vec<f64>, Vec<f64>), Error> {
        if values.len() != self.parameters.len() {
            return Err(Error::Dimension {
                what: "the list of values",
                expected: self.parameters.len(),
                found: values.len(),
            });
        }
        for (parameter, &value) in self.parameters.iter().zip(values) {
            if parameter.prior.log_density(value).is_nan()
                || parameter.prior.log_density(value) == f64::NEG_INFINITY
            {
                return Err(Error::Prior {
                    prior: parameter.prior.to_string(),
                    reason: format!("{} = {value} lies outside its support", parameter.name),
                });
            }
        }
        let place = |list: &[Coordinate]| {
            let mut u = vec![0.0; dimension(list)];
            for c in list {
                c.scale.coordinates(values[c.declared], &mut u[c.first..]);
            }
            u
        };
        Ok((place(&self.slow), place(&self.fast)))
    }

    fn check_names(&self) -> Result<(), Error> {
        let mut names: Vec<&str> = self.parameters.iter().map(|p| p.name.as_str()).collect();
        names.extend(self.derived.iter().map(|column| column.name.as_str()));
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(Error::Name {
                name: pair[0].to_owned(),
                problem: "two parameters or derived quantities have it; names must differ",
            }),
            None if names[0].trim().is_empty() => Err(Error::Name {
                name: names[0].to_owned(),
                problem: "it is empty",
            }),
            None => Ok(()),
        }
    }

    /// Fills values on the user's scale; returns the log prior with all Jacobians.
    #[inline]
    fn values(&self, list: &[Coordinate], u: &[f64], values: &mut [f64]) -> f64 {
        let mut log = 0.0;
        for (c, value) in list.iter().zip(values) {
            let (at, jacobian) = c.scale.value(&u[c.first..]);
            *value = at;
            if jacobian == f64::NEG_INFINITY {
                return jacobian;
            }
            log += self.parameters[c.declared].prior.log_density(at) + jacobian;
        }
        log
    }
}

fn dimension(list: &[Coordinate]) -> usize {
    list.iter().map(|c| c.scale.width()).sum()
}

impl<L: Likelihood> fmt::Debug for Posterior<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Posterior")
            .field("parameters", &self.parameters)
            .field("derived", &self.derived)
            .finish_non_exhaustive()
    }
}
