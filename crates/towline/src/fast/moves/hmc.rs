//! Hamiltonian Monte Carlo for targets that give gradients; one leapfrog step is Langevin.

use super::pcn::half_square;
use super::{check_dim, check_positive};
use crate::error::Error;
use crate::fast::density::FastDensity;
use crate::fast::step::{Move, Point, Storage, Tally, Work};
use crate::linalg::Factor;
use crate::random::Rng;
use serde::{Deserialize, Serialize};

/// A trajectory of fixed length with a fresh momentum, preconditioned by a factor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hmc {
    step: f64,
    leapfrogs: usize,
    factor: Factor,
    /// What multiplies the gradient in half of a kick, where that is not half of the step.
    #[serde(default)]
    kick: Option<f64>,
}

impl Hmc {
    /// Trajectories of this many leapfrog steps, each of size `step` in the metric of `factor` (an
    /// estimate of the root of y's covariance).
    pub fn new(step: f64, leapfrogs: usize, factor: Factor) -> Self {
        Self {
            step,
            leapfrogs,
            factor,
            kick: None,
        }
    }

    /// Trajectories that turn a density with this factor's covariance, and its mean at zero, by `angle` (below π) in each of so many
    /// steps, exactly, however long they are: for variables seen in a frame.
    ///
    /// A turn by θ is three shears, p ← p − tan(θ/2) y, y ← y + sin θ p, p ← p − tan(θ/2) y: a leapfrog step whose kicks are longer than
    /// half of its drift. What is left for the acceptance is what the density has beside the normal one, as where the two are split
    /// (Shahbaba et al. 2014): a curvature of 1 + δ is met as one that is wrong by δ tan²(θ/2), where a leapfrog step of ε is wrong by ε²/4 even if
    /// δ is zero.
    pub fn turning(angle: f64, leapfrogs: usize, factor: Factor) -> Self {
        Self {
            step: angle.sin(),
            leapfrogs,
            factor,
            kick: Some(angle.sin() / (1.0 + angle.cos())),
        }
    }

    /// The Langevin move: one leapfrog step.
    pub fn langevin(step: f64, factor: Factor) -> Self {
        Self::new(step, 1, factor)
    }

    /// p ← p + (step/2) Lᵀ g, or by what a turn takes.
    fn kick(&self, momentum: &mut [f64], gradient: &[f64], spare: &mut [f64]) {
        let by = self.kick.unwrap_or(0.5 * self.step);
        self.factor.apply_transposed(gradient, spare);
        for (p, g) in momentum.iter_mut().zip(&*spare) {
            *p += by * g;
        }
    }

    /// y ← y + step · L p.
    fn drift(&self, y: &mut [f64], momentum: &[f64], spare: &mut [f64]) {
        self.factor.apply(momentum, spare);
        for (position, v) in y.iter_mut().zip(&*spare) {
            *position += self.step * v;
        }
    }
}

impl Move for Hmc {
    fn step<D: FastDensity, C: Storage>(
        &self,
        density: &mut D,
        point: &mut Point<'_, C, D::Value>,
        work: &mut Work<C>,
        rng: &mut Rng,
    ) -> Tally {
        let Work {
            proposal,
            noise,
            gradient,
            spare,
        } = work;
        let (y, momentum) = (proposal.as_mut(), noise.as_mut());
        let (gradient, spare) = (gradient.as_mut(), spare.as_mut());
        y.copy_from_slice(point.at.as_ref());
        for p in momentum.iter_mut() {
            *p = rng.normal();
        }
        let start = density.log(point.value) - half_square(momentum);

        // Where there is no mass a model need not fill the gradient: going on would be by the last one, which the way back
        // would not know. The way back meets the same places, so that refusing the whole trajectory keeps the balance.
        let nowhere = |density: &mut D, y: &[f64], gradient: &mut [f64]| match density
            .gradient(y, gradient)
        {
            None => true,
            Some(value) => density.log(value) == f64::NEG_INFINITY,
        };
        let mut lost = nowhere(density, y, gradient);
        for _ in 0..self.leapfrogs {
            self.kick(momentum, gradient, spare);
            self.drift(y, momentum, spare);
            // A trajectory that overflows is refused before the model is asked about it: the way back
            // overflows too, so nothing is lost but the proposal.
            lost = lost || y.iter().any(|v| !v.is_finite());
            if lost {
                break;
            }
            lost = nowhere(density, y, gradient);
            self.kick(momentum, gradient, spare);
        }
        if lost {
            return Tally::one(false);
        }
        // Not the gradient's own answer, which may differ by a rounding error: what is stored must be what
        // the density gives, bit for bit, or a resumed chain would think that the model had changed.
        let value = density.value(y);
        let end = density.log(value) - half_square(momentum);
        let accepted = rng.accept(end - start);
        if accepted {
            point.at.as_mut().copy_from_slice(y);
            point.value = value;
        }
        Tally::one(accepted)
    }

    fn validate(&self, dim: usize) -> Result<(), Error> {
        check_dim("the covariance of the HMC move", self.factor.dim(), dim)?;
        check_positive("the step of the HMC move", self.step)?;
        check_positive("the angle of the HMC move", self.kick.unwrap_or(1.0))?;
        check_positive("the leapfrog steps of the HMC move", self.leapfrogs as f64)
    }

    fn needs_gradient(&self) -> Option<&'static str> {
        Some("the HMC (or Langevin) move")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fast::density::NoModel;

    /// Half of a standard normal: no mass, and no gradient, where y is negative.
    struct Wall {
        /// Whether the trajectory has met the wall.
        met: bool,
        walls: usize,
    }

    impl FastDensity for Wall {
        type Value = f64;
        type Nested<'n> = NoModel;

        fn value(&mut self, y: &[f64]) -> f64 {
            if y[0] < 0.0 {
                f64::NEG_INFINITY
            } else {
                -0.5 * y[0] * y[0]
            }
        }

        fn log(&self, value: f64) -> f64 {
            value
        }

        fn gradient(&mut self, y: &[f64], gradient: &mut [f64]) -> Option<f64> {
            assert!(!self.met, "a trajectory went on behind the wall");
            if y[0] < 0.0 {
                self.met = true;
                self.walls += 1;
                return Some(f64::NEG_INFINITY);
            }
            gradient[0] = -y[0];
            Some(self.value(y))
        }
    }

    /// A normal density with this covariance, whose gradient is exact.
    struct Normal([f64; 2]);

    impl FastDensity for Normal {
        type Value = f64;
        type Nested<'n> = NoModel;

        fn value(&mut self, y: &[f64]) -> f64 {
            -0.5 * y.iter().zip(&self.0).map(|(y, v)| y * y / v).sum::<f64>()
        }

        fn log(&self, value: f64) -> f64 {
            value
        }

        fn gradient(&mut self, y: &[f64], gradient: &mut [f64]) -> Option<f64> {
            for ((g, y), v) in gradient.iter_mut().zip(y).zip(&self.0) {
                *g = -y / v;
            }
            Some(self.value(y))
        }
    }

    /// How many of some moves are accepted, and the correlation of where they begin and end.
    fn accepted(hmc: &Hmc, variances: [f64; 2]) -> (u64, f64) {
        let (mut rng, mut work) = (Rng::stream(22, 0), Work::new(2));
        let mut normal = Normal(variances);
        let (mut accepted, mut product) = (0, 0.0);
        for _ in 0..1000 {
            let mut at: Vec<f64> = variances.iter().map(|v| v.sqrt() * rng.normal()).collect();
            let before = at[0];
            let value = normal.value(&at);
            let mut point = Point { at: &mut at, value };
            accepted += hmc
                .step(&mut normal, &mut point, &mut work, &mut rng)
                .accepted;
            product += before * at[0] / variances[0] / 1000.0;
        }
        (accepted, product)
    }

    #[test]
    fn turns_of_a_normal_density_are_exact_however_long() {
        let root = Factor::diagonal(&[2.0, 0.5], "test").unwrap();
        let quarter = std::f64::consts::FRAC_PI_2;
        for steps in [1, 2, 5] {
            let turning = Hmc::turning(quarter / steps as f64, steps, root.clone());
            let (count, correlation) = accepted(&turning, [4.0, 0.25]);
            assert_eq!(count, 1000, "{steps} steps");
            // A quarter turn forgets where it began: 4 standard errors of a thousand.
            assert!(correlation.abs() < 0.13, "{correlation}");
        }
        let (count, correlation) = accepted(&Hmc::turning(1.0, 1, root), [4.0, 0.25]);
        assert_eq!(count, 1000);
        assert!((correlation - 1.0f64.cos()).abs() < 0.13, "{correlation}");
    }

    #[test]
    fn turns_of_another_density_are_not() {
        let unit = Factor::diagonal(&[1.0, 1.0], "test").unwrap();
        let (count, _) = accepted(&Hmc::turning(1.5, 1, unit), [2.0, 0.5]);
        assert!((200..900).contains(&count), "{count}");
    }

    #[test]
    fn a_trajectory_that_meets_a_wall_is_refused_and_the_density_stays_exact() {
        let hmc = Hmc::new(0.4, 6, Factor::diagonal(&[1.0], "test").unwrap());
        let mut rng = Rng::stream(21, 0);
        let mut wall = Wall {
            met: false,
            walls: 0,
        };
        let mut work = Work::new(1);
        let starts = 40_000;
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..starts {
            // From exact draws, a step leaves exact draws: independent ones, so that errors are plain.
            let mut at = vec![rng.normal().abs()];
            for _ in 0..3 {
                wall.met = false;
                let value = wall.value(&at);
                let mut point = Point { at: &mut at, value };
                hmc.step(&mut wall, &mut point, &mut work, &mut rng);
            }
            sum += at[0];
            squares += at[0] * at[0];
        }
        let n = f64::from(starts);
        let (mean, second) = (sum / n, squares / n);
        let half = std::f64::consts::FRAC_2_PI;
        let z = [
            (mean - half.sqrt()) / ((1.0 - half) / n).sqrt(),
            (second - 1.0) / (2.0 / n).sqrt(),
        ];
        assert!(wall.walls > 1000, "the wall was hardly met");
        assert!(z.iter().all(|z| z.abs() < 4.0), "{z:?}");
    }
}
