//! How chains of one run share what they learn: each gives a vector, each gets all of them.

use crate::error::Error;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::panic::Location;

/// Gathers a vector from every chain, at fixed step counts, in the order of the chains.
///
/// Every chain runs the same code and calls this the same number of times, so that all learn the same
/// and a run's draws do not depend on whether chains are threads, processes or MPI ranks.
pub trait Exchange {
    /// How many chains there are.
    fn chains(&self) -> usize;

    /// Which of them this is.
    fn chain(&self) -> usize;

    /// Gives this chain's vector and returns those of all chains, chain 0 first.
    ///
    /// # Errors
    /// [`Error::Exchange`] where another chain has ended, so that its vector will never come.
    #[track_caller]
    fn gather(&mut self, mine: &[f64]) -> Result<Vec<Vec<f64>>, Error>;

    /// Called now and then by a chain at work: where chains share a processor, another one may have its turn.
    fn rest(&mut self) {}

    /// Waits for what others do: whatever they need to do it (an interpreter's lock, say) is let go meanwhile.
    fn aside(&mut self, wait: &mut (dyn FnMut() + Send)) {
        wait();
    }
}

/// A chain on its own.
#[derive(Debug, Clone, Copy, Default)]
pub struct Solo;

impl Exchange for Solo {
    fn chains(&self) -> usize {
        1
    }

    fn chain(&self) -> usize {
        0
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

    fn chain(&self) -> usize {
        (**self).chain()
    }

    #[track_caller]
    fn gather(&mut self, mine: &[f64]) -> Result<Vec<Vec<f64>>, Error> {
        (**self).gather(mine)
    }

    fn rest(&mut self) {
        (**self).rest();
    }

    fn aside(&mut self, wait: &mut (dyn FnMut() + Send)) {
        (**self).aside(wait);
    }
}

/// An exchange whose rounds are numbered and named by who asks for them: chains that no longer do the same are told so,
/// instead of taking one thing for another or waiting for ever.
pub(crate) struct Rounds<E> {
    exchange: E,
    stage: usize,
    round: u32,
}

/// How many numbers name a round: the stage, the number and the line that asked.
const NAME: usize = 3;

impl<E: Exchange> Rounds<E> {
    /// The rounds of one stage of warm-up.
    pub fn new(exchange: E, stage: usize) -> Self {
        Self {
            exchange,
            stage,
            round: 0,
        }
    }
}

impl<E: Exchange> Exchange for Rounds<E> {
    fn chains(&self) -> usize {
        self.exchange.chains()
    }

    fn chain(&self) -> usize {
        self.exchange.chain()
    }

    #[track_caller]
    fn gather(&mut self, mine: &[f64]) -> Result<Vec<Vec<f64>>, Error> {
        self.round += 1;
        let line = Location::caller().line();
        let name = [self.stage as f64, f64::from(self.round), f64::from(line)];
        let mut all = self.exchange.gather(&[&name, mine].concat())?;
        for (chain, theirs) in all.iter_mut().enumerate() {
            if theirs.get(..NAME) != Some(&name) {
                let theirs = theirs.get(..NAME).unwrap_or_default();
                return Err(Error::OutOfStep {
                    chain: self.chain(),
                    other: chain,
                    mine: name.to_vec(),
                    theirs: theirs.to_vec(),
                });
            }
            theirs.drain(..NAME);
        }
        Ok(all)
    }

    fn rest(&mut self) {
        self.exchange.rest();
    }

    fn aside(&mut self, wait: &mut (dyn FnMut() + Send)) {
        self.exchange.aside(wait);
    }
}

/// What the first chain decides, heard by all: the same bits for everybody, and worked out once.
///
/// # Errors
/// What deciding or the exchange may return.
#[track_caller]
pub(crate) fn first_decides<D: Serialize + DeserializeOwned>(
    exchange: &mut impl Exchange,
    decide: impl FnOnce() -> D,
) -> Result<D, Error> {
    let mine = if exchange.chain() == 0 {
        let bytes = postcard::to_stdvec(&decide()).map_err(unreadable)?;
        // Four bytes to a number, so that each is a whole number and none is NaN; the count comes first.
        let words = bytes.chunks(4).map(|word| {
            let mut four = [0; 4];
            four[..word.len()].copy_from_slice(word);
            f64::from(u32::from_le_bytes(four))
        });
        std::iter::once(bytes.len() as f64).chain(words).collect()
    } else {
        Vec::new()
    };
    let all = exchange.gather(&mine)?;
    let (&count, words) = all
        .first()
        .and_then(|first| first.split_first())
        .ok_or_else(|| Error::Exchange("the first chain sent no decision".into()))?;
    let mut bytes: Vec<u8> = words
        .iter()
        .flat_map(|&word| (word as u32).to_le_bytes())
        .collect();
    bytes.truncate(count as usize);
    postcard::from_bytes(&bytes).map_err(unreadable)
}

fn unreadable(error: postcard::Error) -> Error {
    Error::Exchange(format!(
        "a decision of the first chain cannot be read: {error}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chain 1 of two; the other one is as told.
    struct Second(fn(&[f64]) -> Vec<f64>);

    impl Exchange for Second {
        fn chains(&self) -> usize {
            2
        }
        fn chain(&self) -> usize {
            1
        }
        fn gather(&mut self, mine: &[f64]) -> Result<Vec<Vec<f64>>, Error> {
            Ok(vec![(self.0)(mine), mine.to_vec()])
        }
    }

    #[test]
    fn chains_that_are_out_of_step_are_told_so() {
        let mut together = Rounds::new(Second(|mine| mine.to_vec()), 2);
        assert_eq!(together.gather(&[7.0]).unwrap(), [[7.0], [7.0]]);
        let other_line = |mine: &[f64]| vec![mine[0], mine[1], mine[2] + 1.0, mine[3]];
        for other in [
            other_line,
            |_: &[f64]| vec![1.0, 1.0, 1.0, 7.0],
            |_: &[f64]| vec![],
        ] {
            let error = Rounds::new(Second(other), 2).gather(&[7.0]).unwrap_err();
            assert!(
                matches!(
                    error,
                    Error::OutOfStep {
                        chain: 1,
                        other: 0,
                        ..
                    }
                ),
                "{error}"
            );
        }
    }

    #[test]
    fn what_the_first_decides_is_heard_to_the_bit() {
        let decision = (
            vec![0.1f64, -0.0, f64::INFINITY],
            Some("words".to_owned()),
            3usize,
        );
        let heard = first_decides(&mut Solo, || decision.clone()).unwrap();
        assert_eq!(heard, decision);
        assert_eq!(heard.0[1].to_bits(), (-0.0f64).to_bits());
        // The second chain does not decide.
        let silent = |_: &[f64]| Vec::new();
        let error = first_decides(&mut Second(silent), || -> f64 { panic!("it decided") });
        assert!(matches!(error, Err(Error::Exchange(_))));
    }
}
