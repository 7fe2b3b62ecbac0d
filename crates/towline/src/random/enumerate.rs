//! Test only: runs a kernel through every outcome of its random choices, each with its probability.
//!
//! Real randomness is replaced by choices from finite sets: a normal number becomes one of a
//! few weighted values, a uniform number on an interval one of the lattice points inside it. On a
//! target that lives on the lattice, production code then is a finite Markov chain, whose
//! transition matrix is had exactly and whose invariance is checked to rounding.

use crate::random::Rng;

/// The choices made so far in one walk through a kernel, and those still to be tried.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Script {
    normals: Vec<(f64, f64)>,
    spacing: f64,
    choices: Vec<(usize, Vec<f64>)>,
    at: usize,
    probability: f64,
}

impl Script {
    /// One of several outcomes with the given weights; those of weight zero are never taken.
    pub fn choose(&mut self, weights: &[f64]) -> usize {
        let total: f64 = weights.iter().sum();
        assert!(total > 0.0, "no outcome is possible");
        if self.at == self.choices.len() {
            let first = weights.iter().position(|&w| w > 0.0).unwrap();
            self.choices.push((first, weights.to_vec()));
        }
        let chosen = self.choices[self.at].0;
        self.at += 1;
        self.probability *= weights[chosen] / total;
        chosen
    }

    pub fn normal(&mut self) -> f64 {
        let weights: Vec<f64> = self.normals.iter().map(|n| n.1).collect();
        let chosen = self.choose(&weights);
        self.normals[chosen].0
    }

    pub fn accept(&mut self, log_ratio: f64) -> bool {
        let p = if log_ratio.is_nan() {
            0.0
        } else {
            log_ratio.exp().min(1.0)
        };
        self.choose(&[1.0 - p, p]) == 1
    }

    /// One of the lattice points strictly inside an interval.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        let first = (low / self.spacing + 1e-6).ceil() as i64;
        let last = (high / self.spacing - 1e-6).ceil() as i64;
        let k = self.choose(&vec![1.0; (last - first) as usize]);
        (first + k as i64) as f64 * self.spacing
    }

    /// The lower end, half-way between lattice points, of an interval with a lattice point inside.
    pub fn around(&mut self, centre: f64, width: f64) -> f64 {
        let cells = (width / self.spacing).round() as usize;
        let k = self.choose(&vec![1.0; cells]);
        centre - (k as f64 + 0.5) * self.spacing
    }

    /// Whether `density` is above a level uniform on the open interval, which is narrowed by the answer.
    pub fn above(&mut self, open: &mut (f64, f64), density: f64) -> bool {
        let share = ((density - open.0) / (open.1 - open.0)).clamp(0.0, 1.0);
        let above = self.choose(&[1.0 - share, share]) == 1;
        if above {
            open.1 = open.1.min(density);
        } else {
            open.0 = open.0.max(density);
        }
        above
    }

    /// Prepares the next walk; false when every outcome has been seen.
    fn next(&mut self) -> bool {
        self.at = 0;
        self.probability = 1.0;
        while let Some((chosen, weights)) = self.choices.pop() {
            if let Some(next) = (chosen + 1..weights.len()).find(|&k| weights[k] > 0.0) {
                self.choices.push((next, weights));
                return true;
            }
        }
        false
    }
}

/// What stands for a standard normal number: values with weights, symmetric about zero.
#[derive(Debug, Clone)]
pub(crate) enum Normals {
    /// −1, 0, 1 with weights 1, 1, 1: the fewest outcomes, for random walks.
    Step,
    /// −k … k with weights exp(−j²/2): where a kernel relies on the normal density itself.
    Lattice(i32),
}

impl Normals {
    fn list(&self) -> Vec<(f64, f64)> {
        match self {
            Self::Step => vec![(-1.0, 1.0), (0.0, 1.0), (1.0, 1.0)],
            Self::Lattice(k) => (-k..=*k)
                .map(|j| (f64::from(j), (-0.5 * f64::from(j * j)).exp()))
                .collect(),
        }
    }
}

/// Every outcome of `run` with its probability.
pub(crate) fn outcomes<O>(
    normals: &Normals,
    spacing: f64,
    mut run: impl FnMut(&mut Rng) -> O,
) -> Vec<(O, f64)> {
    let mut rng = Rng::stream(0, 0);
    rng.script = Some(Box::new(Script {
        normals: normals.list(),
        spacing,
        choices: Vec::new(),
        at: 0,
        probability: 1.0,
    }));
    let mut seen = Vec::new();
    loop {
        let outcome = run(&mut rng);
        let script = rng.script.as_mut().unwrap();
        seen.push((outcome, script.probability));
        if !script.next() {
            return seen;
        }
    }
}

#[test]
fn outcomes_have_probabilities_that_sum_to_one() {
    let all = outcomes(&Normals::Lattice(3), 1.0, |rng| {
        let a = rng.normal();
        let b = if a > 0.0 { rng.index(3) } else { 7 };
        (a, b, rng.accept(-0.4))
    });
    assert_eq!(all.len(), (4 + 3 * 3) * 2);
    let total: f64 = all.iter().map(|o| o.1).sum();
    assert!((total - 1.0).abs() < 1e-14);
}
