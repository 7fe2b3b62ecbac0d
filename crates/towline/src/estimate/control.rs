//! Control variates: functions of x whose means under π̃ are known from as many free draws as one likes.
//!
//! Regressing what is to be averaged on them and taking the intercept removes the part of its spread that they explain. The
//! intercept is a linear functional: it gives each point a share that depends on the x alone, the same for everything that is
//! averaged. What leaving a point out changes is known in closed form, so every error is a jackknife: with plain residuals
//! errors would be too small, since the regression has seen its own noise.

use super::free::Free;
use crate::linalg::Factor;

/// One control for every so many points at most: beyond that a jackknife over-states the error, and the gain is small.
const POINTS_EACH: f64 = 6.0;
/// The same for lines and squares alone, which few points of many slow variables bear: without squares, standard deviations of the six of a CMB
/// posterior were known to 11 to 15 % with sixty points, with them to 2 to 9 %.
const SQUARES_POINTS_EACH: f64 = 4.0;
/// The highest total degree.
const MOST_DEGREE: usize = 4;
/// No more controls than this: the work of the free draws grows as their square.
const MOST_CONTROLS: usize = 120;
/// Controls on whose coefficients a single point has more leverage than this are not used: where a point of a heavy tail decides a
/// coefficient alone, the regression goes through it, and no error sees that it is wrong.
const MOST_LEVERAGE: f64 = 0.7;
/// With few slow variables the highest degree may have one control for every so many points, and leverages up to so much, if those of
/// degree three and more are penalised as if each had been seen to be zero once. Fifty points on a banana bear degree two, and what they
/// leave grows as a fourth power: with few points far out its error came out too small by half (root mean square of z-scores 1.6, and 1.1 with these). With
/// more than two slow variables a penalty gained nothing, and errors came out too large.
const PENALISED_MOST_SLOW: usize = 2;
const PENALISED_POINTS_EACH: f64 = 3.5;
const PENALISED_LEVERAGE: f64 = 0.99;
const PENALTY: f64 = 1.0;

/// Controls are constant beyond so many standard deviations: in a heavy tail of π̃ the fourth power of a few points would be all that
/// a regression sees, while the weights there are small.
const FURTHEST: f64 = 3.0;

/// Polynomials in whitened x, made orthonormal under π̃.
#[derive(Debug, Clone)]
pub(crate) struct Controls {
    /// Each the product of these coordinates.
    terms: Vec<Vec<usize>>,
    /// Whether those of higher degree are penalised.
    penalised: bool,
    means: Vec<f64>,
    root: Option<Factor>,
    /// Their means over each of the free chains, which are independent.
    by_chain: Vec<Vec<f64>>,
}

impl Controls {
    /// As many as so many points bear, then fewer and fewer, at last none.
    pub fn for_points(points: usize, free: &Free) -> impl Iterator<Item = Self> + '_ {
        candidates(free.dim(), points)
            .into_iter()
            .filter_map(|(terms, penalised)| Self::with(terms, penalised, free))
            .chain(std::iter::once(Self::none()))
    }

    /// No controls.
    pub fn none() -> Self {
        Self {
            terms: Vec::new(),
            penalised: false,
            means: Vec::new(),
            root: None,
            by_chain: Vec::new(),
        }
    }

    fn with(terms: Vec<Vec<usize>>, penalised: bool, free: &Free) -> Option<Self> {
        let q = terms.len();
        let count = free.count() as f64;
        let mut means = vec![0.0; q];
        let mut values = vec![0.0; q];
        for w in free.draws() {
            fill(&terms, w, &mut values);
            means
                .iter_mut()
                .zip(&values)
                .for_each(|(m, v)| *m += v / count);
        }
        let mut covariance = vec![0.0; q * q];
        for w in free.draws() {
            fill(&terms, w, &mut values);
            values.iter_mut().zip(&means).for_each(|(v, m)| *v -= m);
            for i in 0..q {
                for j in 0..=i {
                    covariance[i * q + j] += values[i] * values[j] / count;
                }
            }
        }
        for i in 0..q {
            for j in 0..i {
                covariance[j * q + i] = covariance[i * q + j];
            }
        }
        let root = Factor::from_covariance(&covariance, "the control variates").ok()?;
        let mut controls = Self {
            terms,
            penalised,
            means,
            root: Some(root),
            by_chain: Vec::new(),
        };
        controls.by_chain = free
            .chains
            .iter()
            .map(|chain| controls.mean(chain))
            .collect();
        Some(controls)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.terms.len()
    }

    /// Their values at a whitened point, with mean zero and covariance one under π̃.
    pub fn at(&self, w: &[f64]) -> Vec<f64> {
        let mut values = vec![0.0; self.terms.len()];
        fill(&self.terms, w, &mut values);
        values
            .iter_mut()
            .zip(&self.means)
            .for_each(|(v, m)| *v -= m);
        if let Some(root) = &self.root {
            root.solve(&mut values);
        }
        values
    }

    /// What a coefficient of each is penalised by, in points at which it was seen to be zero.
    pub fn penalties(&self) -> Vec<f64> {
        let of = |term: &Vec<usize>| match self.penalised && term.len() > 2 {
            true => PENALTY,
            false => 0.0,
        };
        self.terms.iter().map(of).collect()
    }

    /// The leverage that a point may have.
    pub fn most_leverage(&self) -> f64 {
        match self.penalised {
            true => PENALISED_LEVERAGE,
            false => MOST_LEVERAGE,
        }
    }

    /// Their means over draws.
    fn mean(&self, draws: &[Vec<f64>]) -> Vec<f64> {
        let mut mean = vec![0.0; self.terms.len()];
        for w in draws {
            let values = self.at(w);
            mean.iter_mut()
                .zip(&values)
                .for_each(|(m, v)| *m += v / draws.len() as f64);
        }
        mean
    }

    /// The variance that the free draws leave in an average with these slopes: from the scatter of their chains.
    pub fn free_variance(&self, slopes: &[f64]) -> f64 {
        let chains = self.by_chain.len() as f64;
        if self.by_chain.is_empty() {
            return 0.0;
        }
        // Along the slopes: controls differ in how fast the free chains forget them. All chains together have mean zero.
        let slopes = &slopes[..self.terms.len()];
        let along = |mean: &Vec<f64>| mean.iter().zip(slopes).map(|(m, s)| m * s).sum::<f64>();
        let squares: f64 = self.by_chain.iter().map(|m| along(m).powi(2)).sum();
        squares / (chains - 1.0) / chains
    }
}

/// Lists of terms that so many points bear, the longest first, and whether they are to be penalised.
fn candidates(p: usize, points: usize) -> Vec<(Vec<Vec<usize>>, bool)> {
    let bear = |each: f64| (points as f64 / each).min(MOST_CONTROLS as f64);
    let (most, most_penalised) = (bear(POINTS_EACH), bear(PENALISED_POINTS_EACH));
    let mut all = Vec::new();
    for degree in (2..=MOST_DEGREE).rev() {
        // The number of them, before they are listed.
        let count = (1..=degree).fold(1.0, |c, d| c * (p + d) as f64 / d as f64) - 1.0;
        if count <= most {
            all.push((up_to(p, degree), false));
        }
        if degree == MOST_DEGREE && p <= PENALISED_MOST_SLOW && count <= most_penalised {
            all.push((up_to(p, degree), true));
        }
    }
    if 2.0 * p as f64 <= bear(SQUARES_POINTS_EACH) {
        let squares = (0..p).flat_map(|k| [vec![k], vec![k, k]]);
        all.push((squares.collect(), false));
    }
    if p as f64 <= most {
        all.push(((0..p).map(|k| vec![k]).collect(), false));
    }
    all
}

/// All products of up to so many coordinates.
fn up_to(p: usize, degree: usize) -> Vec<Vec<usize>> {
    let mut all: Vec<Vec<usize>> = (0..p).map(|k| vec![k]).collect();
    let mut last = all.clone();
    for _ in 1..degree {
        let longer = |term: &Vec<usize>| {
            let from = term.last().copied().unwrap_or(0);
            let term = term.clone();
            (from..p).map(move |k| [&term[..], &[k]].concat())
        };
        last = last.iter().flat_map(longer).collect();
        all.extend(last.iter().cloned());
    }
    all
}

/// Products of coordinates that are constant far out.
fn fill(terms: &[Vec<usize>], w: &[f64], values: &mut [f64]) {
    for (value, term) in values.iter_mut().zip(terms) {
        *value = term
            .iter()
            .map(|&k| w[k].clamp(-FURTHEST, FURTHEST))
            .product();
    }
}

/// The regression of anything on the controls at the points.
#[derive(Debug, Clone)]
pub(crate) struct Regression {
    /// One and the controls, point by point.
    design: Vec<Vec<f64>>,
    /// The root of their Gram matrix, by the number of points.
    gram: Factor,
    /// What the intercept gives to each point.
    pub shares: Vec<f64>,
    leverage: Vec<f64>,
}

/// An average: the intercept of a regression.
#[derive(Debug, Clone)]
pub(crate) struct Average {
    /// It.
    pub value: f64,
    /// It without each of the points.
    pub left_out: Vec<f64>,
    /// The coefficients of the controls.
    pub slopes: Vec<f64>,
}

impl Regression {
    /// At points where the controls have these values, with penalties of the first of them; nothing where they do not tell the coefficients.
    pub fn new(controls: &[Vec<f64>], penalties: &[f64]) -> Option<Self> {
        let count = controls.len() as f64;
        let design: Vec<Vec<f64>> = controls
            .iter()
            .map(|row| [&[1.0], &row[..]].concat())
            .collect();
        let q = design.first()?.len();
        let mut gram = vec![0.0; q * q];
        for row in &design {
            for i in 0..q {
                for j in 0..q {
                    gram[i * q + j] += row[i] * row[j] / count;
                }
            }
        }
        // (The intercept, which is what is estimated, is not penalised.)
        for (k, penalty) in penalties.iter().enumerate() {
            gram[(k + 1) * (q + 1)] += penalty / count;
        }
        let gram = Factor::from_covariance(&gram, "the controls at the points").ok()?;
        let mut first = vec![0.0; q];
        first[0] = 1.0;
        gram.solve(&mut first);
        gram.solve_transposed(&mut first);
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let shares: Vec<f64> = design.iter().map(|row| dot(&first, row) / count).collect();
        let leverage = design.iter().map(|row| {
            let mut white = row.clone();
            gram.solve(&mut white);
            dot(&white, &white) / count
        });
        let leverage = leverage.collect();
        Some(Self {
            design,
            gram,
            shares,
            leverage,
        })
    }

    /// Whether no point decides a coefficient alone, having more leverage than this. Without controls all points have the same leverage.
    pub fn is_even(&self, most_leverage: f64) -> bool {
        self.gram.dim() == 1 || self.leverage.iter().all(|h| *h <= most_leverage)
    }

    /// The average of something that has these values at the points.
    pub fn of(&self, values: &[f64]) -> Average {
        let count = values.len() as f64;
        let q = self.gram.dim();
        let mut slopes = vec![0.0; q];
        for (row, value) in self.design.iter().zip(values) {
            slopes
                .iter_mut()
                .zip(row)
                .for_each(|(s, r)| *s += r * value / count);
        }
        self.gram.solve(&mut slopes);
        self.gram.solve_transposed(&mut slopes);
        let value = slopes[0];
        let left_out = (0..values.len()).map(|i| {
            let fitted: f64 = self.design[i].iter().zip(&slopes).map(|(r, s)| r * s).sum();
            value - self.shares[i] * (values[i] - fitted) / (1.0 - self.leverage[i])
        });
        let left_out = left_out.collect();
        slopes.remove(0);
        Average {
            value,
            left_out,
            slopes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Rng;

    #[test]
    fn leaving_a_point_out_is_what_leaving_it_out_gives() {
        let mut rng = Rng::stream(31, 0);
        let rows: Vec<Vec<f64>> = (0..12)
            .map(|_| (0..3).map(|_| rng.normal()).collect())
            .collect();
        let values: Vec<f64> = (0..12).map(|_| rng.normal()).collect();
        for penalties in [&[][..], &[0.0, 0.3, 2.0]] {
            let of = |rows: &[Vec<f64>], values: &[f64]| {
                Regression::new(rows, penalties).unwrap().of(values)
            };
            let whole = of(&rows, &values);
            for i in 0..12 {
                let (mut fewer, mut rest) = (rows.clone(), values.clone());
                fewer.remove(i);
                rest.remove(i);
                let without = of(&fewer, &rest).value;
                assert!((without - whole.left_out[i]).abs() < 1e-10, "{i}");
            }
        }
    }

    #[test]
    fn terms_are_those_of_their_degree() {
        assert_eq!(
            up_to(2, 2),
            [vec![0], vec![1], vec![0, 0], vec![0, 1], vec![1, 1]]
        );
        assert_eq!(up_to(3, 4).len(), 34);
        let longest = |p, points| candidates(p, points).into_iter().next();
        let longest =
            |p, points| longest(p, points).map(|(terms, penalised)| (terms.len(), penalised));
        assert_eq!(longest(3, 204), Some((34, false)));
        assert_eq!(longest(6, 48), Some((12, false)));
        assert_eq!(longest(6, 47), Some((6, false)));
        assert_eq!(longest(6, 30), None);
        // Of two variables, fifty points bear degree four with a penalty, and degree two without.
        assert_eq!(longest(2, 84), Some((14, false)));
        assert_eq!(longest(2, 50), Some((14, true)));
        assert_eq!(longest(2, 48), Some((5, false)));
    }
}
