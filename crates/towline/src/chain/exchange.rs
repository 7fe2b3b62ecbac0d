//! How chains of one run share what they learn: each gives a vector, each gets all of them.

use crate::error::Error;

/// Gathers a vector from every chain, at fixed step counts, in the order of the chains.
///
/// Every chain runs the same code and calls this the same number of times, so that all learn the same
/// and a run's draws do not depend on whether chains are threads, processes or MPI ranks.
pub trait Exchange {
    /// How many chains there are.
    fn chains(&self) -> usize;

    /// Gives this chain's vector and answers those of all chains, chain 0 first.
    ///
    /// # Errors
    /// [`Error::Exchange`] where another chain has ended, so that its vector will never come.
    fn gather(&mut self, mine: &[f64]) -> Result<Vec<Vec<f64>>, Error>;

    /// Called now and then by a chain at work: where chains share a processor, another one may have its turn.
    fn rest(&mut self) {}
}

/// A chain on its own.
#[derive(Debug, Clone, Copy, Default)]
pub struct Solo;

impl Exchange for Solo {
    fn chains(&self) -> usize {
        1
    }

    fn gather(&mut self, mine: &[f64]) -> Result<Vec<Vec<f64>>, Error> {
        Ok(vec![mine.to_vec()])
    }
}

/// Whoever borrows an exchange may use it, also where its type is not known.
impl<E: Exchange + ?Sized> Exchange for &mut E {
    fn chains(&self) -> usize {
        (**self).chains()
    }

    fn gather(&mut self, mine: &[f64]) -> Result<Vec<Vec<f64>>, Error> {
        (**self).gather(mine)
    }

    fn rest(&mut self) {
        (**self).rest();
    }
}
