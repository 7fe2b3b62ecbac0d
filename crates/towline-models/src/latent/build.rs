//! How a model is made of plain data.

use super::{Labels, Latent, LatentGaussian};
use crate::additive::Additive;
use crate::component::{Component, Grouped};
use crate::dense::{Dense, Process};
use crate::error::Error;
use crate::family::{Family, Likelihood};
use crate::fixed::{Fixed, Scaled};
use crate::parameter::{Kind, Parameter, Register, Source, Value};
use crate::sparse::{Grouping, Sparse};
use std::sync::Arc;

/// The data that a family explains.
#[derive(Debug, Clone, PartialEq)]
pub struct Data {
    /// Their family.
    pub family: Family,
    /// The response.
    pub response: Vec<f64>,
    /// Trials, for the binomial families.
    pub trials: Option<Vec<f64>>,
    /// Added to the linear predictor: for Poisson and negative binomial counts, the logarithm of an exposure.
    pub offset: Option<Vec<f64>>,
    /// The number of classes, for the softmax.
    pub classes: usize,
}

impl Data {
    /// A response without trials or offset.
    pub fn new(family: Family, response: Vec<f64>) -> Self {
        let classes = match family {
            Family::Softmax => 1 + response.iter().fold(0.0f64, |a, b| a.max(*b)) as usize,
            _ => 1,
        };
        Self {
            family,
            response,
            trials: None,
            offset: None,
            classes,
        }
    }

    /// With so many trials for each observation.
    #[must_use]
    pub fn trials(mut self, trials: Vec<f64>) -> Self {
        self.trials = Some(trials);
        self
    }

    /// With an offset.
    #[must_use]
    pub fn offset(mut self, offset: Vec<f64>) -> Self {
        self.offset = Some(offset);
        self
    }
}

/// Puts a [`LatentGaussian`] together.
///
/// ```
/// use towline_models::{Builder, Data, Family, Fixed, Grouping, Value};
/// use towline::{Model, Prior};
/// let data = Data::new(Family::Poisson, vec![3.0, 1.0, 4.0, 0.0]);
/// let sd = Value::free("sd_site", Prior::HalfNormal { scale: 1.0 });
/// let levels = vec!["a".into(), "b".into()];
/// let model = Builder::new(data)
///     .fixed(Fixed::default().with("Intercept", vec![1.0; 4], 0.0, 5.0))
///     .grouping(Grouping::intercept("site", levels, vec![0, 0, 1, 1], sd))
///     .build()?;
/// assert_eq!((model.slow_dim(), model.fast_dim()), (1, 3));
/// # Ok::<(), towline_models::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Builder {
    data: Data,
    fixed: Fixed,
    groupings: Vec<Grouping>,
    process: Option<Process>,
    components: Vec<Component>,
    parameter: Option<Value>,
    class_names: Vec<String>,
}

impl Builder {
    /// A model of these data.
    pub fn new(data: Data) -> Self {
        Self {
            data,
            fixed: Fixed::default(),
            groupings: Vec::new(),
            process: None,
            components: Vec::new(),
            parameter: None,
            class_names: Vec::new(),
        }
    }

    /// With names for the classes of the softmax, instead of their numbers.
    #[must_use]
    pub fn class_names(mut self, names: Vec<String>) -> Self {
        self.class_names = names;
        self
    }

    /// With fixed effects.
    #[must_use]
    pub fn fixed(mut self, fixed: Fixed) -> Self {
        self.fixed = fixed;
        self
    }

    /// With one more grouping.
    #[must_use]
    pub fn grouping(mut self, grouping: Grouping) -> Self {
        self.groupings.push(grouping);
        self
    }

    /// With a Gaussian process.
    #[must_use]
    pub fn process(mut self, process: Process) -> Self {
        self.process = Some(process);
        self
    }

    /// With one more component, beside groupings and the process.
    #[must_use]
    pub fn component(mut self, component: Component) -> Self {
        self.components.push(component);
        self
    }

    /// With the family's parameter: see [`Family::parameter`].
    #[must_use]
    pub fn parameter(mut self, parameter: Value) -> Self {
        self.parameter = Some(parameter);
        self
    }

    /// The model.
    ///
    /// # Errors
    /// Data that do not fit together, or outside what their family can produce.
    pub fn build(self) -> Result<LatentGaussian, Error> {
        self.validate()?;
        let Self {
            data,
            fixed,
            groupings,
            process,
            components,
            parameter,
            class_names,
        } = self;
        let rows = data.response.len();
        let mut register = Register::default();
        let scaled = Scaled::new(&fixed, rows);
        let mut labels = Vec::new();
        let together = !components.is_empty() || (process.is_some() && !groupings.is_empty());
        let latent = match &process {
            _ if together => {
                if let Some(process) = &process {
                    labels.push(Labels::of_places(process.places.len));
                }
                let groups = groupings.iter().map(Grouped::component);
                let all: Vec<Component> = groups.chain(components).collect();
                labels.extend(all.iter().map(|component| Labels {
                    name: component.name.clone(),
                    levels: component.labels.levels.clone(),
                    effects: component.labels.effects.clone(),
                }));
                let additive = Additive::new(all, process.as_ref(), scaled, &mut register)?;
                Latent::Additive(Box::new(additive))
            }
            Some(process) => {
                labels.push(Labels::of_places(process.places.len));
                Latent::Dense(Dense::new(process, scaled, data.classes, &mut register))
            }
            None => {
                labels.extend(groupings.iter().map(|g| Labels {
                    name: g.name.clone(),
                    levels: g.levels.clone(),
                    effects: g.effects.clone(),
                }));
                Latent::Sparse(Sparse::new(&groupings, scaled, data.classes, &mut register))
            }
        };
        let family_parameter = match &parameter {
            Some(value) => register.add(value, 0.0, f64::INFINITY),
            None => Source::Fixed(1.0),
        };
        let mut offset = data.offset.clone().unwrap_or_else(|| vec![0.0; rows]);
        for (column, mean) in fixed.columns.iter().zip(&fixed.means) {
            for (o, x) in offset.iter_mut().zip(column) {
                *o += x * mean;
            }
        }
        let offset = offset.repeat(data.classes);
        let likelihood = Likelihood::new(
            data.family,
            &data.response,
            data.trials.as_deref(),
            data.classes,
        );
        let mut settings = vec![
            ("family".to_string(), format!("{:?}", data.family)),
            ("observations".to_string(), rows.to_string()),
        ];
        for slow in &register.slow {
            let prior = match &slow.kind {
                Kind::Scaled(prior, _) => prior.to_string(),
                Kind::Own(_, _, called) => called.clone(),
                Kind::Partial { power } => format!("LKJ (vine power {power})"),
            };
            settings.push((format!("prior of {}", slow.name), prior));
        }
        for (name, (mean, sd)) in fixed.names.iter().zip(fixed.means.iter().zip(&fixed.sds)) {
            settings.push((format!("prior of {name}"), format!("normal({mean}, {sd})")));
        }
        let mut model = LatentGaussian {
            family: data.family,
            likelihood,
            response: data.response,
            fixed,
            offset,
            latent,
            slow: register.slow,
            family_parameter,
            labels,
            class_names,
            settings,
            reference: None,
            frozen: Arc::default(),
            forecast: Arc::default(),
            worth: super::judge::WORTH,
            unfactorised: Arc::default(),
        };
        model.refer();
        Ok(model)
    }

    fn validate(&self) -> Result<(), Error> {
        let rows = self.data.response.len();
        let wrong = |what: String| Err(Error::model(what));
        if rows == 0 {
            return wrong("there are no observations".into());
        }
        for (i, y) in self.data.response.iter().enumerate() {
            let trials = self.data.trials.as_ref().and_then(|t| t.get(i)).copied();
            let fits = self.data.family.accepts(*y, trials.unwrap_or(1.0))
                && (self.data.family != Family::Softmax || *y < self.data.classes as f64);
            if !fits {
                let family = self.data.family;
                return wrong(format!(
                    "observation {i} is {y}, which {family:?} cannot produce"
                ));
            }
        }
        if self.data.family != Family::Softmax && self.data.classes != 1 {
            return wrong("only the softmax has several classes".into());
        }
        let lengths = |name: &str, len: usize| {
            if len == rows {
                Ok(())
            } else {
                Err(Error::model(format!(
                    "{name} has {len} entries for {rows} observations"
                )))
            }
        };
        if let Some(trials) = &self.data.trials {
            lengths("trials", trials.len())?;
        }
        if let Some(offset) = &self.data.offset {
            lengths("the offset", offset.len())?;
        }
        for (name, column) in self.fixed.names.iter().zip(&self.fixed.columns) {
            lengths(name, column.len())?;
        }
        let prior = self.fixed.means.iter().zip(&self.fixed.sds);
        if prior
            .clone()
            .any(|(m, s)| !(m.is_finite() && s.is_finite() && *s >= 0.0))
        {
            return wrong(
                "the prior of a coefficient needs a finite mean and standard deviation".into(),
            );
        }
        match (&self.data.family.parameter(), &self.parameter) {
            (Some(name), None) => {
                return wrong(format!(
                    "{:?} data need a value or a prior for `{name}`",
                    self.data.family
                ));
            }
            (None, Some(_)) => {
                return wrong(format!(
                    "{:?} data have no parameter of their own",
                    self.data.family
                ));
            }
            _ => {}
        }
        let together = self.process.is_some() && !self.groupings.is_empty();
        if self.data.classes > 1 && (together || !self.components.is_empty()) {
            return wrong(
                "a response of several classes takes either groups or one Gaussian process, and no other components: leave some \
                 out, or fit one class against the others by the bernoulli family"
                    .into(),
            );
        }
        for component in &self.components {
            lengths(&component.name, component.rows.len())?;
        }
        for grouping in &self.groupings {
            let name = &grouping.name;
            lengths(name, grouping.group.len())?;
            for column in &grouping.columns {
                lengths(name, column.len())?;
            }
            let effects = grouping.effects.len();
            if effects == 0 || grouping.columns.len() != effects || grouping.sds.len() != effects {
                return wrong(format!(
                    "{name}: each effect needs a column and a standard deviation"
                ));
            }
            if grouping.group.iter().any(|g| *g >= grouping.levels.len()) {
                return wrong(format!(
                    "{name}: an observation is in a group that has no name"
                ));
            }
        }
        if let Some(process) = &self.process {
            match &process.place_of {
                None => lengths("the list of places", process.places.len)?,
                Some(place_of) => {
                    lengths("the list of places", place_of.len())?;
                    if place_of.iter().any(|p| *p >= process.places.len) {
                        return wrong(
                            "an observation is at a place that has no coordinates".into(),
                        );
                    }
                }
            }
        }
        let mut names: Vec<&str> = self.fixed.names.iter().map(String::as_str).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return wrong(format!("two fixed effects are called `{}`", pair[0]));
        }
        Ok(())
    }
}

impl Labels {
    /// Of a process at so many places.
    fn of_places(count: usize) -> Self {
        Self {
            name: "f".into(),
            levels: (0..count).map(|i| i.to_string()).collect(),
            effects: vec![String::new()],
        }
    }
}

impl LatentGaussian {
    /// The same model of other data, of the same sizes: for simulations.
    #[must_use]
    pub fn with_response(&self, response: Vec<f64>) -> Self {
        let mut model = self.clone();
        let trials = self.likelihood.trials();
        let classes = self.likelihood.classes();
        model.likelihood = Likelihood::new(self.family, &response, trials.as_deref(), classes);
        model.response = response;
        model.frozen = Arc::default();
        model.forecast = Arc::default();
        model.refer();
        model
    }

    /// The slow parameter of this name with another prior: for sensitivity analyses.
    #[must_use]
    pub fn with_prior(&self, parameter: &Parameter) -> Option<Self> {
        let mut model = self.clone();
        let k = model.slow.iter().position(|s| s.name == parameter.name)?;
        let mut register = Register::default();
        let (lower, upper) = match &model.slow[k].kind {
            Kind::Scaled(_, crate::parameter::Scale::Real) => (f64::NEG_INFINITY, f64::INFINITY),
            Kind::Scaled(..) | Kind::Own(..) => (model.slow[k].lower, model.slow[k].upper),
            Kind::Partial { .. } => return None,
        };
        register.add(&Value::Free(parameter.clone()), lower, upper);
        model.slow[k] = register.slow.pop()?;
        Some(model)
    }
}
