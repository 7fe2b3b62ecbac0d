//! A target made of named parameters with priors, a likelihood in two stages and derived quantities.

mod likelihood;
mod parameter;
mod scale;
#[cfg(test)]
mod tests;

pub use likelihood::{Likelihood, TwoStages, two_stages};
pub use parameter::{Parameter, Speed};

use crate::error::{Error, ModelError};
use crate::linalg::Factor;
use crate::model::{Column, Model, Role};
use crate::random::Rng;
use crate::target::{Scratch, Target};
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

/// Tries to find a start of positive density. Later ones keep closer to the priors' medians.
const TRIES: usize = 200;

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

    /// Ends a run when `enough` says so of a number of draws: see [`Model::is_enough`].
    #[must_use]
    pub fn stopping(
        mut self,
        enough: impl Fn(u64) -> Result<bool, ModelError> + Send + Sync + 'static,
    ) -> Self {
        self.enough = Some(Box::new(enough));
        self
    }

    /// With a covariance of the slow coordinates, on the scale on which chains move: see [`Target::slow_covariance`].
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

impl<L: Likelihood> Target for Posterior<L> {
    type Cache = PosteriorCache<L::Cache>;

    fn prepare(&self, x: &[f64]) -> Result<Option<Self::Cache>, ModelError> {
        let mut slow = vec![0.0; self.slow.len()];
        let log_prior = self.values(&self.slow, x, &mut slow);
        if log_prior == f64::NEG_INFINITY {
            return Ok(None);
        }
        let likelihood = self.likelihood.prepare(&slow)?;
        Ok(likelihood.map(|likelihood| PosteriorCache {
            likelihood,
            slow,
            log_prior,
        }))
    }

    fn prepare_batch(&self, xs: &[&[f64]]) -> Vec<Result<Option<Self::Cache>, ModelError>> {
        let values = |x: &&[f64]| {
            let mut slow = vec![0.0; self.slow.len()];
            let log_prior = self.values(&self.slow, x, &mut slow);
            (slow, log_prior)
        };
        let all: Vec<(Vec<f64>, f64)> = xs.iter().map(values).collect();
        let inside = |log_prior: f64| log_prior > f64::NEG_INFINITY;
        let asked = all.iter().filter(|(_, log)| inside(*log));
        let asked: Vec<&[f64]> = asked.map(|(slow, _)| &slow[..]).collect();
        let mut found = self.likelihood.prepare_batch(&asked).into_iter();
        let keep = |(slow, log_prior): (Vec<f64>, f64)| {
            if !inside(log_prior) {
                return Ok(None);
            }
            let missing = || Err("prepare_batch gave fewer results than it was asked for".into());
            let likelihood = found.next().unwrap_or_else(missing)?;
            Ok(likelihood.map(|likelihood| PosteriorCache {
                likelihood,
                slow,
                log_prior,
            }))
        };
        all.into_iter().map(keep).collect()
    }

    fn is_batched(&self) -> bool {
        self.likelihood.is_batched()
    }

    fn log_density(&self, cache: &Self::Cache, y: &[f64]) -> f64 {
        self.log_density_in(cache, y, &mut Scratch::default())
    }

    #[inline]
    fn log_density_in(&self, cache: &Self::Cache, y: &[f64], scratch: &mut Scratch) -> f64 {
        let [fast] = scratch.slices([self.fast.len()]);
        let log_prior = self.values(&self.fast, y, fast);
        if log_prior == f64::NEG_INFINITY {
            return log_prior; // the likelihood need not know what to say out there
        }
        let log = self.likelihood.log_likelihood(&cache.likelihood, fast);
        log + log_prior + cache.log_prior
    }

    fn log_density_batch(
        &self,
        cache: &Self::Cache,
        ys: &[f64],
        out: &mut [f64],
        scratch: &mut Scratch,
    ) {
        let (count, width) = (out.len(), self.fast.len());
        let dim = ys.len().checked_div(count).unwrap_or(0);
        let [fasts, logs] = scratch.slices([count * width, count]);
        // Those inside the support come together at the front: the likelihood sees no others.
        let mut inside = 0;
        for (k, out) in out.iter_mut().enumerate() {
            let fast = &mut fasts[inside * width..(inside + 1) * width];
            *out = self.values(&self.fast, &ys[k * dim..(k + 1) * dim], fast);
            inside += usize::from(*out != f64::NEG_INFINITY);
        }
        let logs = &mut logs[..inside];
        self.likelihood
            .log_likelihood_batch(&cache.likelihood, &fasts[..inside * width], logs);
        let among = out.iter_mut().filter(|out| **out != f64::NEG_INFINITY);
        for (out, log) in among.zip(logs) {
            *out = *log + *out + cache.log_prior;
        }
    }

    fn is_vectorised(&self) -> bool {
        self.likelihood.is_vectorised()
    }

    fn gradient(
        &self,
        cache: &Self::Cache,
        y: &[f64],
        gradient: &mut [f64],
        scratch: &mut Scratch,
    ) -> Option<f64> {
        let [fast, slopes] = scratch.slices([self.fast.len(), self.fast.len()]);
        let log_prior = self.values(&self.fast, y, fast);
        if log_prior == f64::NEG_INFINITY {
            gradient.fill(0.0);
            return Some(log_prior);
        }
        let log = self.likelihood.gradient(&cache.likelihood, fast, slopes)?;
        for (k, c) in self.fast.iter().enumerate() {
            let slope = slopes[k] + self.parameters[c.declared].prior.slope(fast[k]);
            let range = c.first..c.first + c.scale.width();
            c.scale
                .slopes(&y[range.clone()], fast[k], slope, &mut gradient[range]);
        }
        Some(log + log_prior + cache.log_prior)
    }

    fn slow_covariance(&self) -> Option<&[f64]> {
        self.slow_covariance.as_deref()
    }

    fn blocks(&self) -> &[usize] {
        &self.blocks
    }

    fn refine(&self, cache: &Self::Cache, head: &[f64]) -> Result<Option<Self::Cache>, ModelError> {
        let count = self.fast.iter().filter(|c| c.first < head.len()).count();
        let mut values = vec![0.0; count];
        if self.values(&self.fast[..count], head, &mut values) == f64::NEG_INFINITY {
            return Ok(None);
        }
        let refined = self.likelihood.refine(&cache.likelihood, &values)?;
        Ok(refined.map(|likelihood| PosteriorCache {
            likelihood,
            slow: cache.slow.clone(),
            log_prior: cache.log_prior,
        }))
    }
}

impl<L: Likelihood> Model for Posterior<L> {
    fn columns(&self) -> Vec<Column> {
        let finite = |end: f64| Some(end).filter(|end| end.is_finite());
        let parameters = self.parameters.iter().map(|parameter| {
            let (lower, upper) = parameter.prior.support();
            Column {
                name: parameter.name.clone(),
                role: match parameter.speed {
                    Speed::Slow => Role::Slow,
                    Speed::Fast(_) if parameter.latent => Role::Latent,
                    Speed::Fast(_) => Role::Fast,
                },
                label: parameter.label.clone(),
                lower: finite(lower),
                upper: finite(upper),
                periodic: parameter.prior.is_periodic(),
            }
        });
        parameters.chain(self.derived.iter().cloned()).collect()
    }

    fn report(&self, _x: &[f64], y: &[f64], cache: &Self::Cache, row: &mut [f64]) {
        let mut fast = vec![0.0; self.fast.len()];
        self.values(&self.fast, y, &mut fast);
        for (c, value) in self.slow.iter().zip(&cache.slow) {
            row[c.declared] = *value;
        }
        for (c, value) in self.fast.iter().zip(&fast) {
            row[c.declared] = *value;
        }
        if let Some(derive) = &self.derive {
            let out = &mut row[self.parameters.len()..];
            derive(&cache.likelihood, &cache.slow, &fast, out);
        }
    }

    fn start(&self, rng: &mut Rng) -> Result<(Vec<f64>, Vec<f64>), ModelError> {
        let mut failure = None;
        for attempt in 0..TRIES {
            let given = match &self.start {
                Some(start) => start(rng)?,
                None => Vec::new(),
            };
            // A median of several draws: dispersed, but never out where only a wide prior's tail reaches.
            let draws = 3 + 2 * (attempt / 8);
            let values: Vec<f64> = self
                .parameters
                .iter()
                .enumerate()
                .map(|(k, parameter)| match given.get(k) {
                    Some(Some(value)) => *value,
                    _ => median(draws, || parameter.prior.draw(rng)),
                })
                .collect();
            let (x, y) = match self.locate(&values) {
                Ok(found) => found,
                Err(error) if !given.is_empty() => return Err(error.into()),
                Err(_) => continue,
            };
            match self.prepare(&x) {
                Ok(Some(cache)) if self.log_density(&cache, &y).is_finite() => return Ok((x, y)),
                Ok(_) => {}
                Err(error) => failure = Some(error),
            }
        }
        Err(failure.unwrap_or_else(|| {
            let starts = match self.start {
                Some(_) => "starts that were given",
                None => "draws from the priors",
            };
            format!(
                "none of {TRIES} {starts} has positive density: look at them, or at a likelihood that returns -inf"
            )
            .into()
        }))
    }

    fn says_when(&self) -> bool {
        self.enough.is_some()
    }

    fn is_enough(&self, draws: u64) -> Result<bool, ModelError> {
        self.enough
            .as_ref()
            .map_or(Ok(false), |enough| enough(draws))
    }

    fn settings(&self) -> Vec<(String, String)> {
        let one = |p: &Parameter| (format!("prior of {}", p.name), p.prior.to_string());
        self.parameters.iter().map(one).collect()
    }
}

fn median(count: usize, mut draw: impl FnMut() -> f64) -> f64 {
    let mut draws: Vec<f64> = (0..count).map(|_| draw()).collect();
    draws.sort_by(f64::total_cmp);
    draws[count / 2]
}

impl<L: Likelihood> fmt::Debug for Posterior<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Posterior")
            .field("parameters", &self.parameters)
            .field("derived", &self.derived)
            .finish_non_exhaustive()
    }
}
