//! Splines of a column, as R's `bs` and `ns`: the knots of the fit serve new rows.

/// A basis of splines.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Spline {
    /// All knots, those at the ends as often as the order says.
    knots: Vec<f64>,
    /// The degree plus one.
    order: usize,
    /// Whether the first function is there; without it a constant beside the basis is not counted twice.
    whole: bool,
    /// For natural splines: reflections that take the two constraints at the ends away.
    natural: Option<[Vec<f64>; 2]>,
}

/// Where splines have their knots.
pub(crate) struct Knots {
    pub inner: Vec<f64>,
    pub ends: [f64; 2],
}

impl Spline {
    /// B-splines of a degree.
    pub fn plain(knots: &Knots, degree: usize, whole: bool) -> Self {
        let order = degree + 1;
        let mut all = vec![knots.ends[0]; order];
        all.extend(&knots.inner);
        all.extend(vec![knots.ends[1]; order]);
        Self {
            knots: all,
            order,
            whole,
            natural: None,
        }
    }

    /// Cubic splines that are linear beyond the ends.
    pub fn natural(knots: &Knots, whole: bool) -> Self {
        let mut spline = Self::plain(knots, 3, whole);
        // The second derivatives at both ends are zero: project those two directions out (R's qr.qty).
        let mut constraints = knots.ends.map(|end| {
            let mut bends = spline.at(end, 2);
            if !whole {
                bends.remove(0);
            }
            bends
        });
        let first = reflection(&constraints[0], 0);
        reflect(&first, 0, &mut constraints[1]);
        let second = reflection(&constraints[1], 1);
        spline.natural = Some([first, second]);
        spline
    }

    /// Its columns at these values.
    pub fn columns(&self, values: &[f64]) -> Vec<Vec<f64>> {
        let rows: Vec<Vec<f64>> = values.iter().map(|x| self.row(*x)).collect();
        let width = rows.first().map_or(0, Vec::len);
        (0..width)
            .map(|k| rows.iter().map(|row| row[k]).collect())
            .collect()
    }

    fn row(&self, x: f64) -> Vec<f64> {
        let (low, high) = (self.knots[0], self.knots[self.knots.len() - 1]);
        let end = x.clamp(low, high);
        // B-splines go on as the polynomial at the end, natural ones as its tangent.
        let mut row = if self.natural.is_some() && end != x {
            let slopes = self.at(end, 1);
            let values = self.at(end, 0).into_iter().zip(slopes);
            values
                .map(|(value, slope)| value + slope * (x - end))
                .collect()
        } else {
            self.at(x, 0)
        };
        if !self.whole {
            row.remove(0);
        }
        if let Some([first, second]) = &self.natural {
            reflect(first, 0, &mut row);
            reflect(second, 1, &mut row);
            row.drain(..2);
        }
        row
    }

    /// A derivative of every B-spline at x.
    fn at(&self, x: f64, derivative: usize) -> Vec<f64> {
        // The last stretch between different knots that begins at or before x, but one inside the ends.
        let (first, last) = (self.order - 1, self.knots.len() - self.order - 1);
        let begins = |k: &usize| self.knots[*k] <= x && self.knots[*k] < self.knots[*k + 1];
        let stretch = (first..=last).rev().find(begins).unwrap_or(first);
        self.of_order(self.order, stretch, x, derivative)
    }

    fn of_order(&self, order: usize, stretch: usize, x: f64, derivative: usize) -> Vec<f64> {
        let t = &self.knots;
        let mut out = vec![0.0; t.len() - order];
        if derivative > 0 {
            let lower = self.of_order(order - 1, stretch, x, derivative - 1);
            let part = |k: usize| {
                let width = t[k + order - 1] - t[k];
                if width > 0.0 { lower[k] / width } else { 0.0 }
            };
            for (k, value) in out.iter_mut().enumerate() {
                *value = (order - 1) as f64 * (part(k) - part(k + 1));
            }
            return out;
        }
        // Cox and de Boor's recurrence within one stretch, where no width is zero.
        let mut values = vec![1.0];
        for j in 1..order {
            let mut next = vec![0.0; j + 1];
            for (r, value) in values.iter().enumerate() {
                let (left, right) = (t[stretch + 1 + r - j], t[stretch + 1 + r]);
                let share = value / (right - left);
                next[r] += (right - x) * share;
                next[r + 1] += (x - left) * share;
            }
            values = next;
        }
        out[stretch + 1 - order..=stretch].copy_from_slice(&values);
        out
    }
}

/// The Householder vector that LINPACK makes of a column from its entry `at` on: I − v vᵀ / v_at.
fn reflection(column: &[f64], at: usize) -> Vec<f64> {
    let mut v = column.to_vec();
    v[..at].fill(0.0);
    let mut length = v.iter().map(|a| a * a).sum::<f64>().sqrt();
    if v[at] < 0.0 {
        length = -length;
    }
    v.iter_mut().for_each(|a| *a /= length);
    v[at] += 1.0;
    v
}

fn reflect(v: &[f64], at: usize, row: &mut [f64]) {
    let along: f64 = v.iter().zip(row.iter()).map(|(a, b)| a * b).sum();
    let step = along / v[at];
    row.iter_mut().zip(v).for_each(|(a, b)| *a -= step * b);
}

/// The point below which a share of sorted values lies, as R's `quantile` has it by default.
pub(crate) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let (below, part) = (place.floor() as usize, place.fract());
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + part * (sorted[above] - sorted[below])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn knots() -> Knots {
        Knots {
            inner: vec![2.0, 3.5],
            ends: [0.0, 5.0],
        }
    }

    #[test]
    fn b_splines_sum_to_one_inside_and_go_on_as_polynomials() {
        let spline = Spline::plain(&knots(), 3, true);
        for x in [0.0, 0.3, 2.0, 3.4, 4.999, 5.0, 5.5, -1.0] {
            let sum: f64 = spline.row(x).iter().sum();
            assert!((sum - 1.0).abs() < 1e-12, "{x}: {sum}");
        }
        // Fourth differences of a cubic are zero, across the end too.
        for k in 0..spline.row(0.0).len() {
            let value = |step: f64| spline.row(4.8 + 0.1 * step)[k];
            let fourth =
                value(0.0) - 4.0 * value(1.0) + 6.0 * value(2.0) - 4.0 * value(3.0) + value(4.0);
            assert!(fourth.abs() < 1e-12, "{fourth}");
        }
    }

    #[test]
    fn natural_splines_are_straight_beyond_their_ends() {
        let spline = Spline::natural(&knots(), false);
        assert_eq!(spline.row(1.0).len(), 3);
        for k in 0..3 {
            for from in [5.0, -2.0] {
                let value = |step: f64| spline.row(from + step)[k];
                assert!((value(0.0) - 2.0 * value(1.0) + value(2.0)).abs() < 1e-12);
            }
            // No bend at the end itself.
            let value = |step: f64| spline.row(5.0 + 1e-3 * step)[k];
            assert!((value(-1.0) - 2.0 * value(0.0) + value(1.0)).abs() < 1e-8);
        }
    }
}
