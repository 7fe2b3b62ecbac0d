//! From what the package hands over to a model that can be run.

use crate::density::{Density, columns};
use crate::likelihood::{Fast, Functions};
use crate::pointer::Pointer;
use crate::refused;
use crate::runnable::Runnable;
use crate::trouble::Trouble;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::HashMap;
use std::sync::Arc;
use towline::posterior::Speed;
use towline::{ModelError, Parameter, Posterior, Prior, Rng};

/// A model that can be run.
#[pyclass(frozen, module = "towline._towline")]
pub struct Target {
    /// It.
    pub runnable: Arc<dyn Runnable>,
    /// Where its exceptions go.
    pub trouble: Arc<Trouble>,
    /// Whether fast evaluations need the interpreter.
    pub interpreted: bool,
    /// What its fast function is called.
    pub called: &'static str,
}

#[pymethods]
impl Target {
    /// Whether fast evaluations need the interpreter.
    #[getter]
    fn interpreted(&self) -> bool {
        self.interpreted
    }

    /// How many evaluations have failed and counted as outside the support, and the first exception.
    fn failures<'py>(&self, py: Python<'py>) -> (u64, Option<Bound<'py, PyAny>>) {
        let first = self.trouble.take(None);
        let first = first.map(|error| error.into_value(py).into_bound(py).into_any());
        (self.trouble.failures(), first)
    }
}

/// A parameter as it is handed over: its name, its prior as text, its level (nothing for slow), its label and whether it
/// is a latent.
type Given = (String, String, Option<u32>, Option<String>, bool);

/// A posterior.
#[pyfunction]
#[pyo3(signature = (parameters, functions, start=None))]
pub fn posterior(
    parameters: Vec<Given>,
    functions: &Bound<'_, PyDict>,
    start: Option<Py<PyAny>>,
) -> PyResult<Target> {
    let mut all = Vec::new();
    for (name, prior, level, label, latent) in parameters {
        let prior: Prior = prior.parse().map_err(|error: towline::Error| {
            PyValueError::new_err(format!("the parameter {name:?}: {error}"))
        })?;
        all.push(Parameter {
            name,
            prior,
            speed: level.map_or(Speed::Slow, Speed::Fast),
            label,
            latent,
        });
    }
    let named = |slow: bool| -> Vec<String> {
        let mut of: Vec<&Parameter> = all
            .iter()
            .filter(|parameter| (parameter.speed == Speed::Slow) == slow)
            .collect();
        of.sort_by_key(|parameter| parameter.speed);
        of.into_iter()
            .map(|parameter| parameter.name.clone())
            .collect()
    };
    let (slow, fast) = (named(true), named(false));
    let given = |name: &str| -> PyResult<Option<Bound<'_, PyAny>>> {
        Ok(functions.get_item(name)?.filter(|found| !found.is_none()))
    };
    let enough = given("enough")?.map(Bound::unbind);
    let known: Option<Vec<f64>> = given("slow_covariance")?
        .map(|known| known.extract())
        .transpose()?;
    let functions = read(functions, "log_likelihood", slow, fast)?;
    let (trouble, interpreted) = (Arc::clone(&functions.trouble), functions.interpreted());
    let names: Vec<String> = all.iter().map(|parameter| parameter.name.clone()).collect();
    let derived_names = functions.derived_names.clone();
    let labels = functions.labels.clone();
    let has_derived = functions.derived.is_some();
    let value = |error: towline::Error| PyValueError::new_err(error.to_string());
    let derive = functions.deriving();
    let mut posterior = Posterior::new(all, functions).map_err(value)?;
    if has_derived {
        let as_text: Vec<&str> = derived_names.iter().map(String::as_str).collect();
        posterior = posterior.deriving(&as_text, derive).map_err(value)?;
        for name in &derived_names {
            if let Some(label) = labels.get(name) {
                posterior = posterior.labelling(name, label).map_err(value)?;
            }
        }
    }
    if let Some(start) = start {
        let trouble = Arc::clone(&trouble);
        posterior = posterior.starting(move |rng| begin(&start, &names, &trouble, rng));
    }
    if let Some(enough) = enough {
        let trouble = Arc::clone(&trouble);
        posterior = posterior.stopping(move |draws| is_enough(&enough, &trouble, draws));
    }
    if let Some(known) = known {
        posterior = posterior.knowing(known).map_err(value)?;
    }
    Ok(Target {
        runnable: Arc::new(posterior),
        trouble,
        interpreted,
        called: "log_likelihood",
    })
}

/// A density without priors that begins at (x, y).
#[pyfunction]
#[pyo3(signature = (slow, fast, functions, x, y, blocks))]
pub fn density(
    slow: Vec<String>,
    fast: Vec<String>,
    functions: &Bound<'_, PyDict>,
    x: Vec<f64>,
    y: Vec<f64>,
    blocks: Vec<usize>,
) -> PyResult<Target> {
    let functions = read(functions, "log_density", slow, fast)?;
    let (trouble, interpreted) = (Arc::clone(&functions.trouble), functions.interpreted());
    let derive = Box::new(functions.deriving());
    let columns = columns(&functions, |name| functions.labels.get(name).cloned());
    Ok(Target {
        runnable: Arc::new(Density {
            functions,
            blocks,
            columns,
            start: (x, y),
            derive,
        }),
        trouble,
        interpreted,
        called: "log_density",
    })
}

/// The ends of a prior's support and whether they are the same point; refuses one that cannot be.
#[pyfunction]
pub fn prior_support(prior: &str) -> PyResult<(f64, f64, bool)> {
    let prior: Prior = prior
        .parse()
        .map_err(|error: towline::Error| PyValueError::new_err(error.to_string()))?;
    let (lower, upper) = prior.support();
    Ok((lower, upper, prior.is_periodic()))
}

/// A prior's normalised log density.
#[pyfunction]
pub fn prior_log_density(prior: &str, x: f64) -> PyResult<f64> {
    let prior: Prior = prior.parse().map_err(refused)?;
    Ok(prior.log_density(x))
}

fn read(
    given: &Bound<'_, PyDict>,
    called: &'static str,
    slow: Vec<String>,
    fast_names: Vec<String>,
) -> PyResult<Functions> {
    let get = |name: &str| -> PyResult<Option<Py<PyAny>>> {
        let found = given.get_item(name)?.filter(|found| !found.is_none());
        Ok(found.map(Bound::unbind))
    };
    let need = |name: &str| -> PyResult<Py<PyAny>> {
        get(name)?.ok_or_else(|| PyTypeError::new_err(format!("{name} is missing")))
    };
    let fast = match given.get_item("pointer")?.filter(|p| !p.is_none()) {
        Some(pointer) => {
            let (address, data): (usize, usize) = pointer.extract()?;
            let pointer = Pointer::new(address, data);
            Fast::Pointer(pointer.ok_or_else(|| {
                PyValueError::new_err("the address of the C function is zero: it was not loaded")
            })?)
        }
        None => Fast::Python(need("fast")?),
    };
    let list = |name: &str| -> PyResult<Vec<String>> {
        given
            .get_item(name)?
            .map_or(Ok(Vec::new()), |l| l.extract())
    };
    let labels: HashMap<String, String> = match given.get_item("labels")? {
        Some(labels) => labels.extract()?,
        None => HashMap::new(),
    };
    Ok(Functions {
        prepare: need("prepare")?,
        fast,
        batch: get("batch")?,
        gradient: get("gradient")?,
        refine: get("refine")?,
        derived: get("derived")?.map(Arc::new),
        derived_names: list("derived_names")?,
        labels,
        called,
        slow,
        fast_names,
        trouble: Arc::default(),
    })
}

/// Whether so many draws are enough, by the package's function.
fn is_enough(enough: &Py<PyAny>, trouble: &Trouble, draws: u64) -> Result<bool, ModelError> {
    Python::attach(|py| {
        let said = enough.bind(py).call1((draws,));
        match said.and_then(|said| said.is_truthy()) {
            Ok(said) => Ok(said),
            Err(error) => Err(trouble.raised(py, error, "enough", "").into()),
        }
    })
}

/// Where a chain begins: the package's function of a seed returns a value or `None` for each parameter.
fn begin(
    start: &Py<PyAny>,
    names: &[String],
    trouble: &Trouble,
    rng: &mut Rng,
) -> Result<Vec<Option<f64>>, ModelError> {
    let seed = (rng.uniform() * 4_294_967_296.0) as u64;
    Python::attach(|py| {
        let values: PyResult<HashMap<String, f64>> = start
            .bind(py)
            .call1((seed,))
            .and_then(|values| values.extract());
        match values {
            Ok(values) => Ok(names.iter().map(|name| values.get(name).copied()).collect()),
            Err(error) => Err(trouble.raised(py, error, "start", "").into()),
        }
    })
}
