//! A likelihood written in Python, in two stages: its functions called with fresh arrays, their results checked.

use crate::pointer::Pointer;
use crate::trouble::{Trouble, kind, point};
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyTuple};
use std::collections::HashMap;
use std::sync::Arc;
use towline::{Likelihood, ModelError};

/// The functions of a model.
pub struct Functions {
    /// The slow computation.
    pub prepare: Py<PyAny>,
    /// The fast one.
    pub fast: Fast,
    /// The fast one at many points.
    pub batch: Option<Py<PyAny>>,
    /// The fast one with its gradient.
    pub gradient: Option<Py<PyAny>>,
    /// The computation between the two.
    pub refine: Option<Py<PyAny>>,
    /// Quantities computed from draws.
    pub derived: Option<Arc<Py<PyAny>>>,
    /// What they are called.
    pub derived_names: Vec<String>,
    /// How names are typeset.
    pub labels: HashMap<String, String>,
    /// What the fast function is called in messages: `log_likelihood` or `log_density`.
    pub called: &'static str,
    /// Slow parameters.
    pub slow: Vec<String>,
    /// Fast parameters.
    pub fast_names: Vec<String>,
    /// Where exceptions go.
    pub trouble: Arc<Trouble>,
}

/// The fast function.
pub enum Fast {
    /// In Python.
    Python(Py<PyAny>),
    /// In machine code.
    Pointer(Pointer),
}

/// What the slow computation left behind.
pub struct Cache {
    object: Py<PyAny>,
    /// The same as numbers, for machine code.
    numbers: Vec<f64>,
    /// Where it was made, on the user's scale, for messages.
    slow: Vec<f64>,
}

impl Functions {
    /// Whether fast evaluations need the interpreter.
    pub fn interpreted(&self) -> bool {
        matches!(self.fast, Fast::Python(_))
    }

    /// The point in words.
    pub fn place(&self, slow: &[f64], fast: &[f64]) -> String {
        let values = slow.iter().chain(fast).copied();
        point(self.slow.iter().chain(&self.fast_names), values)
    }

    /// A result as a number; NaN where it was none, and that is only counted.
    #[inline]
    fn number(
        &self,
        result: &Bound<'_, PyAny>,
        place: &'static str,
        cache: &Cache,
        fast: &[f64],
    ) -> f64 {
        if let Ok(number) = result.cast_exact::<PyFloat>() {
            return number.value();
        }
        result.extract().unwrap_or_else(|_| {
            let message = format!(
                "{place} returned {}: a float is needed (-inf outside the support)",
                kind(result)
            );
            let point = self.place(&cache.slow, fast);
            self.trouble.unfit(result.py(), message, place, &point);
            f64::NAN
        })
    }

    /// A cache of what the slow or the medium computation returned; `None` is no mass.
    fn keep(
        &self,
        result: Bound<'_, PyAny>,
        place: &'static str,
        slow: &[f64],
    ) -> Result<Option<Cache>, ModelError> {
        if result.is_none() {
            return Ok(None);
        }
        let mut numbers = Vec::new();
        if let Fast::Pointer(_) = self.fast {
            let py = result.py();
            let read = || -> PyResult<Vec<f64>> {
                let array = py
                    .import("numpy")?
                    .call_method1("ascontiguousarray", (&result, "float64"))?
                    .call_method0("ravel")?;
                let array: PyReadonlyArray1<'_, f64> = array.extract()?;
                Ok(array.as_slice()?.to_vec())
            };
            numbers = match read() {
                Ok(numbers) => numbers,
                Err(error) => {
                    let message = format!(
                        "{place} returned {}: with a C function for {}, an array of float64 is needed ({error})",
                        kind(&result),
                        self.called
                    );
                    let point = self.place(slow, &[]);
                    return Err(self.trouble.unfit(py, message, place, &point).into());
                }
            };
        }
        Ok(Some(Cache {
            object: result.unbind(),
            numbers,
            slow: slow.to_vec(),
        }))
    }

    /// What fills in the derived quantities.
    pub fn deriving(&self) -> impl Fn(&Cache, &[f64], &[f64], &mut [f64]) + Send + Sync + 'static {
        let derived = Derived {
            function: self.derived.clone(),
            names: self.derived_names.clone(),
            parameters: self.slow.iter().chain(&self.fast_names).cloned().collect(),
            trouble: Arc::clone(&self.trouble),
        };
        move |cache, slow, fast, out| derived.fill(cache, slow, fast, out)
    }
}

/// The function that derives quantities from draws.
pub struct Derived {
    function: Option<Arc<Py<PyAny>>>,
    names: Vec<String>,
    parameters: Vec<String>,
    trouble: Arc<Trouble>,
}

impl Derived {
    /// Fills `out` with derived quantities.
    pub fn fill(&self, cache: &Cache, slow: &[f64], fast: &[f64], out: &mut [f64]) {
        let Some(function) = &self.function else {
            return;
        };
        Python::attach(|py| {
            let (x, y) = (
                PyArray1::from_slice(py, slow),
                PyArray1::from_slice(py, fast),
            );
            let result = function
                .bind(py)
                .call1((cache.object.bind(py), x, y))
                .and_then(|result| self.take(&result, out));
            if let Err(error) = result {
                let at = point(&self.parameters, slow.iter().chain(fast).copied());
                self.trouble.raised(py, error, "derived", &at);
                out.fill(f64::NAN);
            }
        });
    }

    fn take(&self, result: &Bound<'_, PyAny>, out: &mut [f64]) -> PyResult<()> {
        let count = out.len();
        let unfit = |problem: String| {
            let needed = match count {
                1 => "one number".to_owned(),
                count => format!("a sequence of {count} numbers"),
            };
            crate::trouble::ModelError::new_err(format!(
                "derived returned {problem}: {needed} is needed, or a dictionary with {}",
                self.names.join(", ")
            ))
        };
        if let Ok(dictionary) = result.cast::<PyDict>() {
            for (name, out) in self.names.iter().zip(out.iter_mut()) {
                let value = dictionary.get_item(name)?;
                let value = value.ok_or_else(|| unfit(format!("no {name}")))?;
                *out = value
                    .extract()
                    .map_err(|_| unfit(format!("{} for {name}", kind(&value))))?;
            }
            return Ok(());
        }
        if count == 1
            && let Ok(value) = result.extract::<f64>()
        {
            out[0] = value;
            return Ok(());
        }
        let values: Vec<f64> = result.extract().map_err(|_| unfit(kind(result)))?;
        if values.len() != count {
            return Err(unfit(format!("{} numbers", values.len())));
        }
        out.copy_from_slice(&values);
        Ok(())
    }
}

impl Likelihood for Functions {
    type Cache = Cache;

    fn prepare(&self, slow: &[f64]) -> Result<Option<Cache>, ModelError> {
        Python::attach(|py| {
            let x = PyArray1::from_slice(py, slow);
            match self.prepare.bind(py).call1((x,)) {
                Ok(result) => self.keep(result, "prepare", slow),
                Err(error) => {
                    let point = self.place(slow, &[]);
                    Err(self.trouble.raised(py, error, "prepare", &point).into())
                }
            }
        })
    }

    #[inline]
    fn log_likelihood(&self, cache: &Cache, fast: &[f64]) -> f64 {
        let function = match &self.fast {
            Fast::Pointer(pointer) => return pointer.call(&cache.numbers, fast),
            Fast::Python(function) => function,
        };
        Python::attach(|py| {
            let y = PyArray1::from_slice(py, fast);
            match function.bind(py).call1((cache.object.bind(py), y)) {
                Ok(result) => self.number(&result, self.called, cache, fast),
                Err(error) => {
                    let point = self.place(&cache.slow, fast);
                    self.trouble.raised(py, error, self.called, &point);
                    f64::NAN
                }
            }
        })
    }

    fn log_likelihood_batch(&self, cache: &Cache, fasts: &[f64], out: &mut [f64]) {
        let dim = fasts.len().checked_div(out.len()).unwrap_or(0);
        let Some(batch) = self.batch.as_ref().filter(|_| !out.is_empty()) else {
            for (k, value) in out.iter_mut().enumerate() {
                *value = self.log_likelihood(cache, &fasts[k * dim..(k + 1) * dim]);
            }
            return;
        };
        const PLACE: &str = "log_likelihood_batch";
        Python::attach(|py| {
            let result = PyArray1::from_slice(py, fasts)
                .reshape([out.len(), dim])
                .and_then(|ys| batch.bind(py).call1((cache.object.bind(py), ys)));
            let taken = result.map(|result| {
                let fits = take(py, &result, out);
                fits.map_err(|()| {
                    crate::trouble::ModelError::new_err(format!(
                        "{PLACE} returned {}: an array of {} floats is needed, one for each row of its argument, \
                         which has shape ({}, {dim})",
                        kind(&result),
                        out.len(),
                        out.len()
                    ))
                })
            });
            if let Err(error) = taken.and_then(|taken| taken) {
                let point = self.place(&cache.slow, &[]);
                self.trouble.raised(py, error, PLACE, &point);
                out.fill(f64::NAN);
            }
        });
    }

    fn is_vectorised(&self) -> bool {
        self.batch.is_some()
    }

    fn gradient(&self, cache: &Cache, fast: &[f64], gradient: &mut [f64]) -> Option<f64> {
        let function = self.gradient.as_ref()?;
        const PLACE: &str = "gradient";
        Some(Python::attach(|py| {
            let y = PyArray1::from_slice(py, fast);
            let result = function.bind(py).call1((cache.object.bind(py), y));
            let value = result.and_then(|result| {
                let pair = result.cast::<PyTuple>().ok().filter(|pair| pair.len() == 2);
                let value = pair.and_then(|pair| {
                    take(py, &pair.get_item(1).ok()?, gradient).ok()?;
                    pair.get_item(0).ok()?.extract::<f64>().ok()
                });
                value.ok_or_else(|| {
                    let parts = pair.map(|pair| pair.iter().map(|part| kind(&part)));
                    let what = parts.map_or_else(
                        || kind(&result),
                        |parts| format!("({})", parts.collect::<Vec<_>>().join(", ")),
                    );
                    crate::trouble::ModelError::new_err(format!(
                        "{PLACE} returned {what}: a tuple is needed of the value, a float, and the gradient, an array of {} floats",
                        fast.len()
                    ))
                })
            });
            value.unwrap_or_else(|error| {
                let point = self.place(&cache.slow, fast);
                self.trouble.raised(py, error, PLACE, &point);
                gradient.fill(0.0);
                f64::NAN
            })
        }))
    }

    fn refine(&self, cache: &Cache, head: &[f64]) -> Result<Option<Cache>, ModelError> {
        let Some(refine) = &self.refine else {
            return Ok(None);
        };
        Python::attach(|py| {
            let y = PyArray1::from_slice(py, head);
            match refine.bind(py).call1((cache.object.bind(py), y)) {
                Ok(result) => self.keep(result, "refine", &cache.slow),
                Err(error) => {
                    let point = self.place(&cache.slow, head);
                    Err(self.trouble.raised(py, error, "refine", &point).into())
                }
            }
        })
    }
}

/// Takes a result of exactly so many floats.
fn take(py: Python<'_>, result: &Bound<'_, PyAny>, out: &mut [f64]) -> Result<(), ()> {
    if let Ok(array) = result.extract::<PyReadonlyArray1<'_, f64>>() {
        let array = array.as_array();
        if array.len() != out.len() {
            return Err(());
        }
        for (out, value) in out.iter_mut().zip(array) {
            *out = *value;
        }
        return Ok(());
    }
    // Lists, float32 and what other libraries have for arrays.
    let asarray = py.import("numpy").map_err(|_| ())?;
    let array = asarray
        .call_method1("asarray", (result, "float64"))
        .map_err(|_| ())?;
    let array: PyReadonlyArray1<'_, f64> = array.extract().map_err(|_| ())?;
    let array = array.as_array();
    if array.len() != out.len() {
        return Err(());
    }
    for (out, value) in out.iter_mut().zip(array) {
        *out = *value;
    }
    Ok(())
}
