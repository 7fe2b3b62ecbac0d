//! The report's test distributions, and exact independent draws from them: what the command and the live page run by name.
//!
//! Given x, y is normal about sin x with standard deviation 0.1/(1 + x²); given y, z is normal
//! about y with standard deviation 0.2. In both tests x has the density exp(−x²)/(1 + x²).

use std::f64::consts::FRAC_1_SQRT_2;
use std::ops::ControlFlow;
use towline::{Chain, Column, Draw, Error, Info, Kernel, Model, ModelError, Rng, Role, Target};

/// One of them. One type for all, so that the engine is compiled once for the command's own examples: which it is shows in the number of
/// fast variables, and where that is known to the compiler, as in paths of few of them, it costs nothing to ask.
#[derive(Clone, Copy, Debug)]
pub struct Neal {
    fast: usize,
}

impl Neal {
    /// Test 1: E = x² + 50 (1 + x²)² (y − sin x)²; sin x stands for a long computation.
    pub const ONE: Self = Self { fast: 1 };
    /// Test 2: test 1 with a second fast variable, E₂ = E₁ + 12.5 (z − y)².
    pub const TWO: Self = Self { fast: 2 };
    /// The marginal of x in both tests: E = x² + ln(1 + x²).
    pub const MARGINAL: Self = Self { fast: 0 };
}

/// What is known once x is: all that the fast evaluations need.
#[derive(Clone, Copy, Debug)]
pub struct Given {
    /// −x²; of the marginal, all of its log density.
    base: f64,
    /// sin x, the mean of y.
    centre: f64,
    /// 50 (1 + x²)², half the precision of y.
    stiffness: f64,
}

impl Given {
    fn new(x: f64) -> Self {
        let w = 1.0 + x * x;
        Self {
            base: -x * x,
            centre: x.sin(),
            stiffness: 50.0 * w * w,
        }
    }

    fn marginal(x: f64) -> Self {
        let square = x * x;
        Self {
            base: -square - square.ln_1p(),
            centre: 0.0,
            stiffness: 0.0,
        }
    }

    #[inline]
    fn log_density(&self, y: f64) -> f64 {
        let off = y - self.centre;
        self.base - self.stiffness * off * off
    }
}

impl Target for Neal {
    type Cache = Given;

    fn prepare(&self, x: &[f64]) -> Result<Option<Given>, ModelError> {
        Ok(Some(match self.fast {
            0 => Given::marginal(x[0]),
            _ => Given::new(x[0]),
        }))
    }

    #[inline]
    fn log_density(&self, given: &Given, y: &[f64]) -> f64 {
        match y {
            [] => given.base,
            [y] => given.log_density(*y),
            [y, z, ..] => {
                let off = z - y;
                given.log_density(*y) - 12.5 * off * off
            }
        }
    }
}

/// Far enough apart for chains that do not find each other to be seen.
fn dispersed(rng: &mut Rng, fast: usize) -> (Vec<f64>, Vec<f64>) {
    let x = 2.0 * rng.normal();
    (vec![x], (0..fast).map(|_| 2.0 * rng.normal()).collect())
}

impl Model for Neal {
    fn columns(&self) -> Vec<Column> {
        let fast = ["y", "z"].into_iter().take(self.fast);
        let fast = fast.map(|name| Column::new(name, Role::Fast));
        std::iter::once(Column::new("x", Role::Slow))
            .chain(fast)
            .collect()
    }

    fn report(&self, x: &[f64], y: &[f64], _: &Given, row: &mut [f64]) {
        row[0] = x[0];
        row[1..].copy_from_slice(y);
    }

    fn start(&self, rng: &mut Rng) -> Result<(Vec<f64>, Vec<f64>), ModelError> {
        Ok(dispersed(rng, self.fast))
    }
}

/// Runs a chain of one of them, shows every draw, and says what it did. Here, and not where it is called, since here the engine is compiled
/// for these targets.
///
/// # Errors
/// What the engine refuses.
pub fn run(
    test: Neal,
    kernel: Kernel,
    (x, y): (&[f64], &[f64]),
    rng: Rng,
    steps: u64,
    see: &mut dyn FnMut(&Draw<'_>),
) -> Result<Info, Error> {
    let mut chain = Chain::new(test, kernel, x, y, rng)?;
    chain.run(steps, |draw: &Draw<'_>| {
        see(draw);
        ControlFlow::Continue(())
    })?;
    Ok(chain.totals())
}

/// An exact draw of x, by rejection from the normal density in proportion to exp(−x²).
pub fn draw_x(rng: &mut Rng) -> f64 {
    loop {
        let x = FRAC_1_SQRT_2 * rng.normal();
        if rng.uniform() * (1.0 + x * x) < 1.0 {
            return x;
        }
    }
}

/// An exact draw of y given x.
pub fn draw_y(x: f64, rng: &mut Rng) -> f64 {
    x.sin() + 0.1 / (1.0 + x * x) * rng.normal()
}

/// An exact draw of test 2's z given y.
pub fn draw_z(y: f64, rng: &mut Rng) -> f64 {
    y + 0.2 * rng.normal()
}

#[cfg(test)]
mod tests {
    use super::*;

    const VAR_X: f64 = 0.319_483_8;
    const MEAN_X4: f64 = 0.340_258_1;

    #[test]
    fn exact_draws_have_the_known_moments() {
        let mut rng = Rng::stream(11, 0);
        let count = 400_000;
        let (mut square, mut scaled_y, mut scaled_z) = (0.0, 0.0, 0.0);
        for _ in 0..count {
            let x = draw_x(&mut rng);
            let y = draw_y(x, &mut rng);
            let z = draw_z(y, &mut rng);
            square += x * x;
            scaled_y += ((y - x.sin()) * (1.0 + x * x) / 0.1).powi(2);
            scaled_z += ((z - y) / 0.2).powi(2);
        }
        let count = f64::from(count);
        let limit = 4.0 * ((MEAN_X4 - VAR_X * VAR_X) / count).sqrt();
        assert!((square / count - VAR_X).abs() < limit);
        // The square of a standard normal number has variance 2.
        let limit = 4.0 * (2.0 / count).sqrt();
        assert!((scaled_y / count - 1.0).abs() < limit);
        assert!((scaled_z / count - 1.0).abs() < limit);
    }

    #[test]
    fn the_densities_are_the_papers_energies_negated() {
        let (x, y, z) = (0.7f64, 0.5, 0.2);
        let energy = x * x + 50.0 * (1.0 + x * x).powi(2) * (y - x.sin()).powi(2);
        let given = Neal::ONE.prepare(&[x]).unwrap().unwrap();
        assert!((Neal::ONE.log_density(&given, &[y]) + energy).abs() < 1e-12);
        let energy = energy + 12.5 * (z - y).powi(2);
        assert!((Neal::TWO.log_density(&given, &[y, z]) + energy).abs() < 1e-12);
        let given = Neal::MARGINAL.prepare(&[x]).unwrap().unwrap();
        let marginal = Neal::MARGINAL.log_density(&given, &[]);
        assert!((marginal + x * x + (1.0 + x * x).ln()).abs() < 1e-12);
    }
}
