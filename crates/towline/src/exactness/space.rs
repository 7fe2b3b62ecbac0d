//! A kernel on a finite state space, as a matrix.

use crate::Kernel;
use crate::erased::{AnyTarget, Erased};
use crate::kernel::state::{State, Workspace};
use crate::random::Rng;
use crate::random::enumerate::{Normals, outcomes};
use crate::target::Target;

/// What stands for the random numbers of a kernel.
#[derive(Debug, Clone)]
pub(super) struct Choices {
    pub normals: Normals,
    /// Between the lattice points that stand for a uniform number.
    pub spacing: f64,
}

impl Choices {
    /// Steps of −1, 0, 1.
    pub fn steps() -> Self {
        Self::new(Normals::Step)
    }

    /// −k … k with the weights of the normal density: where a kernel relies on that density.
    pub fn gaussian(k: i32) -> Self {
        Self::new(Normals::Lattice(k))
    }

    /// The same, where uniform numbers are angles: a quarter turn maps the lattice to itself.
    pub fn quarter_turns(k: i32) -> Self {
        Self {
            spacing: std::f64::consts::FRAC_PI_2,
            ..Self::gaussian(k)
        }
    }

    fn new(normals: Normals) -> Self {
        Self {
            normals,
            spacing: 1.0,
        }
    }
}

/// A finite state space: the points of a target that a kernel may visit, each with its mass.
pub(super) struct Space<T: Target> {
    pub target: T,
    pub states: Vec<(Vec<f64>, Vec<f64>)>,
    /// π, normalised.
    pub mass: Vec<f64>,
}

/// K, row by row: from, to.
pub(super) struct Matrix {
    size: usize,
    entries: Vec<f64>,
}

/// More walks than this from one state and the suite takes minutes: make the case smaller.
const MOST_WALKS: usize = 1_000_000;

/// Points this close are the same: kernels arrive with rounding errors.
const SAME: f64 = 1e-7;

impl<T: Target> Space<T> {
    /// Of the cells (x, y, ln of the cell's size), those that have mass.
    pub fn new(target: T, cells: impl IntoIterator<Item = (Vec<f64>, Vec<f64>, f64)>) -> Self {
        let (mut states, mut mass) = (Vec::new(), Vec::new());
        for (x, y, log_size) in cells {
            let mut work = Workspace::new(x.len(), y.len());
            if let Ok(state) = State::new(&target, x.clone(), y.clone(), &mut work.buffers) {
                states.push((x, y));
                mass.push((state.log_density + log_size).exp());
            }
        }
        let total: f64 = mass.iter().sum();
        mass.iter_mut().for_each(|m| *m /= total);
        Self {
            target,
            states,
            mass,
        }
    }

    /// The matrix of whatever `step` does to a state.
    pub fn matrix(
        &self,
        choices: &Choices,
        step: impl Fn(&T, &mut State<T::Cache>, &mut Workspace, &mut Rng),
    ) -> Matrix {
        self.matrix_of(&self.target, choices, step)
    }

    /// The same of a target that is this one, seen as another type.
    fn matrix_of<U: Target>(
        &self,
        target: &U,
        choices: &Choices,
        step: impl Fn(&U, &mut State<U::Cache>, &mut Workspace, &mut Rng),
    ) -> Matrix {
        let size = self.states.len();
        let mut entries = vec![0.0; size * size];
        for (from, (x, y)) in self.states.iter().enumerate() {
            let mut work = Workspace::new(x.len(), y.len());
            let mut walks = 0;
            let all = outcomes(&choices.normals, choices.spacing, |rng| {
                walks += 1;
                assert!(walks <= MOST_WALKS, "too many walks from {x:?}, {y:?}");
                let mut state =
                    State::new(target, x.clone(), y.clone(), &mut work.buffers).unwrap();
                step(target, &mut state, &mut work, rng);
                self.find(&state)
            });
            let row = &mut entries[from * size..(from + 1) * size];
            // Summed with compensation: there may be a million of them.
            let mut lost = vec![0.0; size];
            for (to, probability) in all {
                let term = probability - lost[to];
                let sum = row[to] + term;
                lost[to] = (sum - row[to]) - term;
                row[to] = sum;
            }
            let total: f64 = row.iter().sum();
            assert!((total - 1.0).abs() < 1e-13, "row {from} sums to {total}");
        }
        Matrix { size, entries }
    }

    /// The matrix of a production kernel, which must leave every state as it should be kept. The target's type is forgotten: production's
    /// kernels are compiled once for all spaces.
    pub fn kernel(&self, choices: &Choices, kernel: &Kernel) -> Matrix {
        let (x, y) = &self.states[0];
        kernel.validate(x, y).unwrap();
        let erased = Erased(&self.target);
        let target: &AnyTarget = &erased;
        self.matrix_of(&target, choices, |target, state, work, rng| {
            kernel.step(target, state, work, rng).unwrap();
            check(target, state);
        })
    }

    fn find<C>(&self, state: &State<C>) -> usize {
        let close = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < SAME);
        self.states
            .iter()
            .position(|(x, y)| close(x, &state.slow.x) && close(y, &state.y))
            .unwrap_or_else(|| panic!("left the support: {:?}, {:?}", state.slow.x, state.y))
    }

    /// max |πK − π|.
    pub fn drift(&self, matrix: &Matrix) -> f64 {
        (0..matrix.size)
            .map(|to| {
                let arriving: f64 = (0..matrix.size)
                    .map(|from| self.mass[from] * matrix.at(from, to))
                    .sum();
                (arriving - self.mass[to]).abs()
            })
            .fold(0.0, f64::max)
    }

    /// max |πᵢ Kᵢⱼ − πⱼ Kⱼᵢ|.
    pub fn imbalance(&self, matrix: &Matrix) -> f64 {
        let flow = |from, to| self.mass[from] * matrix.at(from, to);
        (0..matrix.size)
            .flat_map(|a| (0..a).map(move |b| (a, b)))
            .map(|(a, b)| (flow(a, b) - flow(b, a)).abs())
            .fold(0.0, f64::max)
    }

    /// Asserts πK = π.
    pub fn assert_invariant(&self, name: &str, matrix: &Matrix) {
        let drift = self.drift(matrix);
        assert!(drift < 1e-12, "{name}: max |πK − π| = {drift:e}");
        // A kernel that never moves is invariant too, and proves nothing.
        assert!(matrix.moves() > 1e-3, "{name} does not move");
    }

    /// Asserts πK = π and detailed balance.
    pub fn assert_reversible(&self, name: &str, matrix: &Matrix) {
        self.assert_invariant(name, matrix);
        let imbalance = self.imbalance(matrix);
        assert!(imbalance < 1e-12, "{name}: imbalance {imbalance:e}");
    }
}

/// Asserts that the stored density and the stored cache belong to the stored point.
fn check<T: Target>(target: &T, state: &State<T::Cache>) {
    let fresh = target.prepare(&state.slow.x).unwrap().unwrap();
    for cache in [&fresh, &state.slow.cache] {
        let density = target.log_density(cache, &state.y);
        assert!(
            (density - state.log_density).abs() < 1e-9,
            "stored {} at {:?}, {:?}, where it is {density}",
            state.log_density,
            state.slow.x,
            state.y
        );
    }
}

impl Matrix {
    pub fn at(&self, from: usize, to: usize) -> f64 {
        self.entries[from * self.size + to]
    }

    /// The largest probability of leaving a state.
    fn moves(&self) -> f64 {
        (0..self.size)
            .map(|k| 1.0 - self.at(k, k))
            .fold(0.0, f64::max)
    }

    /// The largest difference between two entries.
    pub fn distance(&self, other: &Self) -> f64 {
        let pairs = self.entries.iter().zip(&other.entries);
        pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    }
}

#[test]
fn a_matrix_that_prefers_one_direction_is_seen_to() {
    let space = super::lattice::Lattice::new(&[(0, 3)], &[(0, 2)]).space();
    // From every state to the next one: far from invariant, and the check says so.
    let matrix = space.matrix(&Choices::steps(), |_, state, _, _| {
        let next = (space.find(state) + 1) % space.states.len();
        (state.slow.x, state.y) = space.states[next].clone();
    });
    assert!(space.drift(&matrix) > 0.1 && space.imbalance(&matrix) > 0.1);
}
