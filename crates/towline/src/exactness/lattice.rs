//! Targets that live on a lattice: a table of irregular log densities, with holes.

use super::space::Space;
use crate::error::ModelError;
use crate::frame::Frame;
use crate::target::{Scratch, Target};

/// Whole numbers from the first, so many.
type Axis = (i64, usize);

/// A density on whole numbers (or on a lattice seen in a frame); between them, that of the nearest.
pub(super) struct Lattice {
    slow: Vec<Axis>,
    fast: Vec<Axis>,
    table: Vec<f64>,
    /// The slow variables are powers of two.
    doubling: bool,
    /// The size of the pseudo-gradient.
    push: f64,
    /// The lattice is that of z, not of y.
    frame: Option<fn(&[f64]) -> Frame>,
}

impl Lattice {
    /// One entry for each cell, spread over six units; some cells are empty.
    pub fn new(slow: &[Axis], fast: &[Axis]) -> Self {
        let cells: usize = slow.iter().chain(fast).map(|axis| axis.1).product();
        let table = (0..cells)
            .map(|cell| {
                // Holes that fall at other y for other x: the support of y depends on x.
                if cells > 6 && cell % 7 == 5 {
                    return f64::NEG_INFINITY;
                }
                let scattered = ((cell as f64 * 12.9898 + 4.1414).sin() * 43_758.545_3).fract();
                6.0 * scattered.abs() - 3.0
            })
            .collect();
        Self {
            slow: slow.to_vec(),
            fast: fast.to_vec(),
            table,
            doubling: false,
            push: 0.0,
            frame: None,
        }
    }

    /// Slow variables 2ᵏ instead of k: where log-normal steps stay on the lattice.
    pub fn doubling(mut self) -> Self {
        self.doubling = true;
        self
    }

    /// A pseudo-gradient of multiples of `push`, unrelated to the density. Leapfrogs are reversible
    /// for any field; whole momenta need multiples of 2n, since ρᵢ mixes two fields with weights i/n.
    pub fn pushed(mut self, push: f64) -> Self {
        self.push = push;
        self
    }

    /// The lattice is that of z in this frame, whose cells are as large as the frame's determinant.
    pub fn in_frame(mut self, frame: fn(&[f64]) -> Frame) -> Self {
        self.frame = Some(frame);
        self
    }

    /// The states with their mass.
    pub fn space(self) -> Space<Self> {
        let axes: Vec<Axis> = self.slow.iter().chain(&self.fast).copied().collect();
        let cells: Vec<_> = (0..self.table.len())
            .map(|mut cell| {
                let mut point = vec![0.0; axes.len()];
                for (value, axis) in point.iter_mut().zip(&axes).rev() {
                    *value = (axis.0 + (cell % axis.1) as i64) as f64;
                    cell /= axis.1;
                }
                let z = point.split_off(self.slow.len());
                let mut log_size = 0.0;
                if self.doubling {
                    point.iter_mut().for_each(|v| *v = v.exp2());
                    log_size += point.iter().map(|v| v.ln()).sum::<f64>();
                }
                let mut y = z.clone();
                if let Some(frame) = self.frame {
                    let frame = frame(&point);
                    frame.to_y(&z, &mut y);
                    log_size += frame.log_det();
                }
                (point, y, log_size)
            })
            .collect();
        Space::new(self, cells)
    }

    /// The number of the cell, `None` off the lattice.
    fn cell(&self, slow: &[i64], y: &[f64], frame: Option<&Frame>) -> Option<usize> {
        let seen = frame.map(|frame| {
            let (mut z, mut spare) = (y.to_vec(), y.to_vec());
            frame.to_z(y, &mut z, &mut spare);
            z
        });
        let z = seen.as_deref().unwrap_or(y);
        let mut cell = 0;
        for (&k, axis) in slow.iter().zip(&self.slow) {
            cell = cell * axis.1 + usize::try_from(k - axis.0).ok()?;
        }
        for (value, axis) in z.iter().zip(&self.fast) {
            let k = usize::try_from((value + 0.5).floor() as i64 - axis.0).ok()?;
            if k >= axis.1 {
                return None;
            }
            cell = cell * axis.1 + k;
        }
        Some(cell)
    }
}

impl Target for Lattice {
    type Cache = (Vec<i64>, Option<Frame>);

    fn prepare(&self, x: &[f64]) -> Result<Option<Self::Cache>, ModelError> {
        let scale = |v: f64| if self.doubling { v.log2() } else { v };
        let slow: Vec<i64> = x.iter().map(|&v| scale(v).round() as i64).collect();
        let inside = slow
            .iter()
            .zip(&self.slow)
            .all(|(k, axis)| (axis.0..axis.0 + axis.1 as i64).contains(k));
        Ok(inside.then(|| (slow, self.frame.map(|frame| frame(x)))))
    }

    fn log_density(&self, (slow, frame): &Self::Cache, y: &[f64]) -> f64 {
        self.cell(slow, y, frame.as_ref())
            .map_or(f64::NEG_INFINITY, |cell| self.table[cell])
    }

    fn gradient(
        &self,
        cache: &Self::Cache,
        y: &[f64],
        gradient: &mut [f64],
        _: &mut Scratch,
    ) -> Option<f64> {
        let cell = self.cell(&cache.0, y, cache.1.as_ref());
        for (k, g) in gradient.iter_mut().enumerate() {
            let sign = cell.map_or(0, |cell| (cell * 7 + k * 5 + cell / 3) % 3) as f64 - 1.0;
            *g = self.push * sign;
        }
        (self.push > 0.0).then(|| self.log_density(cache, y))
    }
}

#[test]
fn the_lattice_is_asymmetric_wide_and_has_holes_that_depend_on_x() {
    let space = Lattice::new(&[(0, 4)], &[(-1, 4)]).space();
    assert_eq!(space.states.len(), 14, "16 cells, 2 holes");
    let (low, high) = space
        .mass
        .iter()
        .fold((1.0f64, 0.0f64), |(l, h), &m| (l.min(m), h.max(m)));
    assert!(high / low > 100.0);
    let mut sorted = space.mass.clone();
    sorted.sort_by(f64::total_cmp);
    assert!(sorted.windows(2).all(|w| w[1] > 1.001 * w[0]), "{sorted:?}");
}
