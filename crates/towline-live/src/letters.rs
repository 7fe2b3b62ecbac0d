//! How chains in workers share what they learn: a chain that must hear from the others stops, and is run again from the last
//! point that it saved once their letters are there.
//!
//! A worker cannot wait for another without memory that they share, which pages from a file or from a plain server do not have.
//! But a stage of warm-up is a function of where it began and of what was heard: run again with the same letters it comes to
//! the same point, and on to the next letter.

use towline::{Error, Exchange};

/// The letters of one stage of warm-up.
#[derive(Debug, Default)]
pub struct Letters {
    pub chain: usize,
    pub chains: usize,
    /// What all chains said, round by round.
    pub heard: Vec<Vec<Vec<f64>>>,
    /// The rounds that this attempt has come through.
    pub round: usize,
    /// What this chain says in the first round that was not heard.
    pub mine: Option<Vec<f64>>,
}

impl Letters {
    /// Those of a chain on its own. (`towline::chain::Solo` would do, and all of warm-up would be compiled a second time for it.)
    pub fn alone() -> Self {
        Self {
            chains: 1,
            ..Self::default()
        }
    }
}

impl Exchange for Letters {
    fn chains(&self) -> usize {
        self.chains
    }

    fn chain(&self) -> usize {
        self.chain
    }

    fn gather(&mut self, mine: &[f64]) -> Result<Vec<Vec<f64>>, Error> {
        if self.chains == 1 {
            return Ok(vec![mine.to_vec()]);
        }
        let round = self.round;
        self.round += 1;
        match self.heard.get(round) {
            Some(all) => Ok(all.clone()),
            None => {
                self.mine = Some(mine.to_vec());
                Err(Error::Exchange(
                    "the others have not written yet".to_owned(),
                ))
            }
        }
    }
}

/// A vector as text that keeps every bit: JSON has no word for what is no number.
pub fn write(numbers: &[f64]) -> String {
    numbers
        .iter()
        .map(|v| format!("{:016x}", v.to_bits()))
        .collect()
}

/// The vector that was written.
pub fn read(text: &str) -> Result<Vec<f64>, String> {
    let number = |digits: &[u8]| {
        let digits = std::str::from_utf8(digits).ok()?;
        Some(f64::from_bits(u64::from_str_radix(digits, 16).ok()?))
    };
    if !text.len().is_multiple_of(16) {
        return Err("a letter is torn".to_owned());
    }
    let numbers: Option<Vec<f64>> = text.as_bytes().chunks_exact(16).map(number).collect();
    numbers.ok_or_else(|| "a letter cannot be read".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_keep_every_bit() {
        let numbers = [0.1, -0.0, f64::NAN, f64::NEG_INFINITY, 5e-324];
        let read = read(&write(&numbers)).unwrap();
        assert!(
            read.iter()
                .zip(&numbers)
                .all(|(a, b)| a.to_bits() == b.to_bits())
        );
        assert!(super::read("12").is_err() && super::read("zzzzzzzzzzzzzzzz").is_err());
    }
}
