//! Fixed effects: covariates whose coefficients have normal priors, and so are latent variables like the others.

/// The covariates, and the priors of their coefficients.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Fixed {
    /// Their names.
    pub names: Vec<String>,
    /// Covariate by covariate, a number for each observation.
    pub columns: Vec<Vec<f64>>,
    /// The prior mean of each coefficient.
    pub means: Vec<f64>,
    /// The prior standard deviation of each coefficient.
    pub sds: Vec<f64>,
}

impl Fixed {
    /// Adds a covariate whose coefficient is normal(mean, sd) a priori.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, column: Vec<f64>, mean: f64, sd: f64) -> Self {
        self.names.push(name.into());
        self.columns.push(column);
        self.means.push(mean);
        self.sds.push(sd);
        self
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

/// The covariates times their prior standard deviations: what multiplies standard normal variables.
#[derive(Debug, Clone)]
pub(crate) struct Scaled {
    pub width: usize,
    pub rows: usize,
    /// Covariate by covariate.
    pub columns: Vec<f64>,
    /// Observation by observation.
    pub by_row: Vec<f64>,
}

impl Scaled {
    pub fn new(fixed: &Fixed, rows: usize) -> Self {
        let width = fixed.len();
        let pairs = fixed.columns.iter().zip(&fixed.sds);
        let columns: Vec<f64> = pairs
            .flat_map(|(c, sd)| c.iter().map(move |v| v * sd))
            .collect();
        let by_row = (0..rows * width)
            .map(|k| columns[(k % width) * rows + k / width])
            .collect();
        Self {
            width,
            rows,
            columns,
            by_row,
        }
    }

    pub fn column(&self, k: usize) -> &[f64] {
        &self.columns[k * self.rows..(k + 1) * self.rows]
    }

    pub fn row(&self, i: usize) -> &[f64] {
        &self.by_row[i * self.width..(i + 1) * self.width]
    }

    /// eta += X β.
    #[inline(always)]
    pub fn push(&self, beta: &[f64], eta: &mut [f64]) {
        for (k, b) in beta.iter().enumerate() {
            for (e, x) in eta.iter_mut().zip(self.column(k)) {
                *e += x * b;
            }
        }
    }

    /// out = Xᵀ g.
    #[inline(always)]
    pub fn pull(&self, g: &[f64], out: &mut [f64]) {
        for (k, value) in out.iter_mut().enumerate() {
            *value = crate::vector::dot(self.column(k), g);
        }
    }

    /// Xᵀ W X into `out` (width × width, symmetric). `spare` is working space, an entry for each row.
    pub fn gram(&self, w: &[f64], spare: &mut [f64], mut out: impl FnMut(usize, usize, f64)) {
        for a in 0..self.width {
            for ((s, x), w) in spare.iter_mut().zip(self.column(a)).zip(w) {
                *s = x * w;
            }
            for b in 0..=a {
                let value = crate::vector::inner(spare, self.column(b));
                out(a, b, value);
                if a != b {
                    out(b, a, value);
                }
            }
        }
    }
}
