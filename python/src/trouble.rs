//! Exceptions of the model: caught where it is called, kept while the engine comes to its end, raised again there.

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use std::fmt::Write;
use std::panic::resume_unwind;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

create_exception!(
    towline,
    Error,
    PyException,
    "What towline refuses or reports; its message says what to do."
);
create_exception!(
    towline,
    ModelError,
    Error,
    "The model returned what cannot be used, or failed."
);

/// What went wrong in the model of a run, first of all.
#[derive(Debug, Default)]
pub struct Trouble {
    /// Each with the name of the thread it was raised in, which says the chain.
    raised: Mutex<Vec<(String, PyErr)>>,
    /// Whether a failure only makes its point one outside the support.
    lenient: AtomicBool,
    failures: AtomicU64,
}

impl Trouble {
    /// A run begins.
    pub fn reset(&self, lenient: bool) {
        self.lenient.store(lenient, Ordering::Relaxed);
        self.failures.store(0, Ordering::Relaxed);
        drop(self.take(None));
    }

    /// The exception that ended a chain, or the first there was; none is left.
    pub fn take(&self, chain: Option<usize>) -> Option<PyErr> {
        let mut raised = self.raised.lock().unwrap_or_else(|e| e.into_inner());
        let mut all = std::mem::take(&mut *raised);
        let of_it = chain.and_then(|k| {
            let thread = format!("chain {k}");
            all.iter().position(|(name, _)| *name == thread)
        });
        (!all.is_empty()).then(|| all.swap_remove(of_it.unwrap_or(0)).1)
    }

    /// How many there were.
    pub fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    /// The model raised: ends the step, with the exception kept for whoever waits for the run. Where failures are
    /// only counted, returns what happened in words.
    ///
    /// A panic is how the engine ends a step from within an evaluation; without the panic hook, nothing is printed.
    #[cold]
    pub fn raised(&self, py: Python<'_>, error: PyErr, place: &str, point: &str) -> String {
        let text = format!("{} in {place}{}", error.value(py), at(point));
        let text = match error.get_type(py).name() {
            Ok(name) => format!("{name}: {text}"),
            Err(_) => text,
        };
        // What cannot be noted is left out: the exception itself matters more.
        let note = format!("raised by {place}{}", at(point));
        let _ = error.value(py).call_method1("add_note", (note,));
        self.failures.fetch_add(1, Ordering::Relaxed);
        let thread = std::thread::current().name().unwrap_or_default().to_owned();
        let mut raised = self.raised.lock().unwrap_or_else(|e| e.into_inner());
        // One of each chain: where failures are only counted there may be very many.
        if raised.iter().all(|(name, _)| *name != thread) {
            raised.push((thread, error));
        }
        drop(raised);
        if self.lenient.load(Ordering::Relaxed) {
            return text;
        }
        resume_unwind(Box::new(text));
    }

    /// The model returned something else than it should.
    #[cold]
    pub fn unfit(&self, py: Python<'_>, message: String, place: &str, point: &str) -> String {
        self.raised(py, ModelError::new_err(message), place, point)
    }
}

fn at(point: &str) -> String {
    if point.is_empty() {
        String::new()
    } else {
        format!(" at {point}")
    }
}

/// A point in words: `H0 = 70, A = 0.25`; what is not known (NaN) is left out, and beyond some names the rest is too.
pub fn point<'a>(
    names: impl IntoIterator<Item = &'a String>,
    values: impl IntoIterator<Item = f64>,
) -> String {
    const MOST: usize = 30;
    let mut text = String::new();
    let known = names
        .into_iter()
        .zip(values)
        .filter(|(_, value)| !value.is_nan());
    for (k, (name, value)) in known.enumerate() {
        if k == MOST {
            text += ", …";
            break;
        }
        let comma = if k > 0 { ", " } else { "" };
        let _ = write!(text, "{comma}{name} = {value}");
    }
    text
}

/// What Python calls the type of a value, for messages.
pub fn kind(value: &Bound<'_, PyAny>) -> String {
    let name = value.get_type().name();
    let name = name.map_or_else(|_| "something".to_owned(), |name| name.to_string());
    match value.getattr("shape") {
        Ok(shape) => format!("{name} of shape {shape}"),
        Err(_) => name,
    }
}
