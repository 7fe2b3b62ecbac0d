//! How chains share what they learn where Python is between them: through an object's `gather`, or in threads that must let
//! go of the interpreter while they wait.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use towline::run::Member;
use towline::{Error, Exchange};

/// A thread's part, lent to a chain that holds the interpreter: it waits without it.
pub struct Lent<'a>(pub &'a mut Member);

impl Exchange for Lent<'_> {
    fn chains(&self) -> usize {
        self.0.chains()
    }

    fn chain(&self) -> usize {
        self.0.chain()
    }

    fn gather(&mut self, mine: &[f64]) -> Result<Vec<Vec<f64>>, Error> {
        let member = &mut *self.0;
        Python::attach(|py| py.detach(|| member.gather(mine)))
    }

    fn rest(&mut self) {
        let member = &mut *self.0;
        Python::attach(|py| py.detach(|| member.rest()));
    }

    fn aside(&mut self, wait: &mut (dyn FnMut() + Send)) {
        let member = &mut *self.0;
        Python::attach(|py| py.detach(|| member.aside(wait)));
    }
}

/// A Python object with `gather(bytes) -> list of bytes`, in the order of the chains, and `rest()`.
pub struct Through {
    /// The object.
    pub object: Py<PyAny>,
    /// How many chains there are.
    pub chains: usize,
    /// Which of them this is.
    pub chain: usize,
}

impl Exchange for Through {
    fn chains(&self) -> usize {
        self.chains
    }

    fn chain(&self) -> usize {
        self.chain
    }

    fn gather(&mut self, mine: &[f64]) -> Result<Vec<Vec<f64>>, Error> {
        let bytes: Vec<u8> = mine.iter().flat_map(|v| v.to_le_bytes()).collect();
        let all = Python::attach(|py| -> PyResult<Vec<Vec<u8>>> {
            let bytes = PyBytes::new(py, &bytes);
            let all = self.object.bind(py).call_method1("gather", (bytes,))?;
            let all = all.try_iter()?.map(|one| -> PyResult<Vec<u8>> {
                Ok(one?.cast::<PyBytes>()?.as_bytes().to_vec())
            });
            all.collect()
        });
        let all = all.map_err(|error| Error::Exchange(words(&error)))?;
        if all.len() != self.chains {
            let (found, chains) = (all.len(), self.chains);
            let problem = format!("{found} vectors were gathered from {chains} chains");
            return Err(Error::Exchange(problem));
        }
        let number = |bytes: &[u8]| f64::from_le_bytes(bytes.try_into().unwrap_or_default());
        let vector = |bytes: Vec<u8>| bytes.chunks_exact(8).map(number).collect();
        Ok(all.into_iter().map(vector).collect())
    }

    fn rest(&mut self) {
        Python::attach(|py| {
            // A turn that cannot be given away is kept: what is wrong shows at the next meeting.
            let _ = self.object.bind(py).call_method0("rest");
        });
    }
}

/// An exception in words, without its type.
fn words(error: &PyErr) -> String {
    Python::attach(|py| error.value(py).to_string())
}
