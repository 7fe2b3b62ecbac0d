//! Tempered transitions (Neal 1996): y is heated step by step, cooled again by the same steps backwards, and the whole accepted or not.
//!
//! The way from one mode of y to another leads through places without mass; under the density raised to the power 1/heat they have some.
//! A transition is reversible for whatever density it is handed, so it may stand wherever a fast move may, inside a drag too.

use super::{check_dim, check_positive};
use crate::error::Error;
use crate::fast::density::FastDensity;
use crate::fast::step::{Move, Point, Storage, Tally, Work};
use crate::random::Rng;
use serde::{Deserialize, Serialize};

/// A tempered transition along one of several directions, or in all variables at once.
///
/// Along a direction only what lies on that line is heated, which costs little however many variables there are: those between
/// known modes are the ones to give. In all variables it finds its way by itself, and is accepted the less often the more there are.
///
/// ```
/// use towline::fast::{FastMove, Tempered};
/// // Heats 1.5, 2.25, … up to about 38, along the first of two variables or in both.
/// let heats = (1..10).map(|k| 1.5f64.powi(k)).collect();
/// let hot = FastMove::Tempered(Tempered::new(heats, [2.4, 1.7], vec![vec![1.0, 0.0]]));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tempered {
    heats: Vec<f64>,
    steps: [f64; 2],
    directions: Vec<Vec<f64>>,
}

impl Tempered {
    /// Rising heats above one, the random walk's steps at heat one (they grow with the root of the heat) along a direction and, where all
    /// variables move, in each of them; and directions.
    pub fn new(heats: Vec<f64>, steps: [f64; 2], directions: Vec<Vec<f64>>) -> Self {
        Self {
            heats,
            steps,
            directions,
        }
    }

    /// Moves the point, heated, along the way up and down; returns ln of the ratio that makes up for the heat, and whether anything moved.
    fn travel<D: FastDensity, C: Storage>(
        &self,
        density: &mut D,
        point: &mut Point<'_, C, D::Value>,
        work: &mut Work<C>,
        rng: &mut Rng,
    ) -> (f64, bool) {
        let line = self.directions.get(rng.index(self.directions.len() + 1));
        let (mut log_ratio, mut moved) = (0.0, false);
        let mut before = 1.0;
        for heat in &self.heats {
            log_ratio += (1.0 / heat - before) * density.log(point.value);
            before = 1.0 / heat;
            moved |= self.walk(*heat, line, density, point, work, rng);
        }
        for (k, heat) in self.heats.iter().enumerate().rev() {
            moved |= self.walk(*heat, line, density, point, work, rng);
            let after = k.checked_sub(1).map_or(1.0, |k| 1.0 / self.heats[k]);
            log_ratio += (after - 1.0 / heat) * density.log(point.value);
        }
        (log_ratio, moved)
    }

    /// One step of a random walk under the heated density.
    fn walk<D: FastDensity, C: Storage>(
        &self,
        heat: f64,
        line: Option<&Vec<f64>>,
        density: &mut D,
        point: &mut Point<'_, C, D::Value>,
        work: &mut Work<C>,
        rng: &mut Rng,
    ) -> bool {
        let proposal = work.proposal.as_mut();
        let [along, each] = self.steps.map(|step| step * heat.sqrt());
        match line {
            Some(line) => {
                let step = along * rng.normal();
                for ((new, old), way) in proposal.iter_mut().zip(point.at.as_ref()).zip(line) {
                    *new = old + step * way;
                }
            }
            None => {
                for (new, old) in proposal.iter_mut().zip(point.at.as_ref()) {
                    *new = old + each * rng.normal();
                }
            }
        }
        let value = density.value(proposal);
        let log_ratio = (density.log(value) - density.log(point.value)) / heat;
        let accepted = rng.accept(log_ratio);
        if accepted {
            point.at.as_mut().copy_from_slice(proposal);
            point.value = value;
        }
        accepted
    }
}

impl Move for Tempered {
    fn step<D: FastDensity, C: Storage>(
        &self,
        density: &mut D,
        point: &mut Point<'_, C, D::Value>,
        work: &mut Work<C>,
        rng: &mut Rng,
    ) -> Tally {
        let (start, value) = (point.at.as_ref().to_vec(), point.value);
        // A place without mass has no logarithm to heat.
        if density.log(value) == f64::NEG_INFINITY {
            return Tally::one(false);
        }
        let (log_ratio, moved) = self.travel(density, point, work, rng);
        let accepted = rng.accept(log_ratio);
        if !accepted {
            point.at.as_mut().copy_from_slice(&start);
            point.value = value;
        }
        Tally::one(accepted && moved)
    }

    fn validate(&self, dim: usize) -> Result<(), Error> {
        check_positive(
            "the number of heats of a tempered transition",
            self.heats.len() as f64,
        )?;
        for step in self.steps {
            check_positive("the step of a tempered transition", step)?;
        }
        let mut before = 1.0;
        for heat in &self.heats {
            if !(*heat > before && heat.is_finite()) {
                return Err(Error::Setting {
                    what: "a heat of a tempered transition",
                    value: *heat,
                    expected: "finite, above one and above the heat before it",
                });
            }
            before = *heat;
        }
        for line in &self.directions {
            check_dim("a direction of a tempered transition", line.len(), dim)?;
            if !line.iter().all(|v| v.is_finite()) {
                return Err(Error::Setting {
                    what: "a direction of a tempered transition",
                    value: f64::NAN,
                    expected: "finite",
                });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fast::density::NoModel;
    use crate::random::enumerate::{Normals, outcomes};

    /// Masses on whole numbers from 0.
    struct Table<'a>(&'a [f64]);

    impl FastDensity for Table<'_> {
        type Value = f64;
        type Nested<'n>
            = NoModel
        where
            Self: 'n;

        fn value(&mut self, y: &[f64]) -> f64 {
            let known = usize::try_from(y[0].round() as i64);
            let mass = known.ok().and_then(|k| self.0.get(k));
            mass.map_or(f64::NEG_INFINITY, |mass| mass.ln())
        }

        fn log(&self, value: f64) -> f64 {
            value
        }

        fn gradient(&mut self, _: &[f64], _: &mut [f64]) -> Option<f64> {
            None
        }
    }

    /// Two modes with next to nothing between them.
    const MASSES: [f64; 7] = [0.3, 0.2, 1e-5, 1e-6, 0.02, 0.35, 0.12];

    /// The largest |πK − π| and the probability of going from the first mode to the second, where `accept` decides by the ratio.
    fn drift(accept: impl Fn(f64, &mut Rng) -> bool) -> (f64, f64) {
        // Steps of 2 and 4 at heats 4 and 16: on the lattice.
        let hot = Tempered::new(vec![4.0, 16.0], [1.0, 1.0], vec![vec![1.0]]);
        let total: f64 = MASSES.iter().sum();
        let mut arriving = vec![0.0; MASSES.len()];
        let mut across = 0.0;
        for (from, mass) in MASSES.iter().enumerate() {
            let all = outcomes(&Normals::Step, 1.0, |rng| {
                let mut density = Table(&MASSES);
                let mut at = vec![from as f64];
                let value = density.value(&at);
                let mut point = Point { at: &mut at, value };
                let mut work = Work::new(1);
                let (log_ratio, _) = hot.travel(&mut density, &mut point, &mut work, rng);
                match accept(log_ratio, rng) {
                    true => at[0].round() as usize,
                    false => from,
                }
            });
            for (to, probability) in all {
                arriving[to] += mass / total * probability;
                across += f64::from(u8::from(from < 2 && to > 3)) * probability;
            }
        }
        let off = |(now, mass): (&f64, &f64)| (now - mass / total).abs();
        let most = arriving.iter().zip(&MASSES).map(off).fold(0.0, f64::max);
        (most, across)
    }

    #[test]
    fn it_leaves_two_modes_their_shares_and_goes_between_them() {
        let (off, across) = drift(|log_ratio, rng| rng.accept(log_ratio));
        assert!(off < 1e-12, "{off:e}");
        assert!(across > 0.01, "{across}");
    }

    #[test]
    fn heating_left_on_is_seen() {
        let (off, _) = drift(|_, _| true);
        assert!(off > 0.01, "{off:e}");
    }
}
