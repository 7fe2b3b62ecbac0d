//! A target whose marginals are known, because independent draws of it can be made.

use towline::{Column, Model, ModelError, Rng, Role, Scratch, Target};

/// ℓ(x, y), up to a constant.
type Density = dyn Fn(&[f64], &[f64]) -> f64 + Send + Sync;
/// ℓ(x, y) with its gradient in y.
type Gradient = dyn Fn(&[f64], &[f64], &mut [f64]) -> f64 + Send + Sync;
/// An independent draw of (x, y).
type Draw = dyn Fn(&mut Rng) -> (Vec<f64>, Vec<f64>) + Send + Sync;
/// What is shown, and judged, of x.
type Shown = dyn Fn(&[f64]) -> Vec<f64> + Send + Sync;
/// A place where a chain may begin.
type Start = dyn Fn(&mut Rng) -> (Vec<f64>, Vec<f64>) + Send + Sync;

/// One target of the gallery: one type for all, so that the engine is compiled once.
pub struct Known {
    /// Its name.
    pub name: String,
    /// What it is, in a few words.
    pub about: String,
    /// Slow variables.
    pub slow: usize,
    /// Fast variables.
    pub fast: usize,
    /// The cost ratio that is given to the run; nothing for a measured one.
    pub ratio: Option<f64>,
    /// How many of the fast variables are judged, the first ones.
    pub judged_fast: usize,
    density: Box<Density>,
    gradient: Option<Box<Gradient>>,
    draw: Box<Draw>,
    start: Box<Start>,
    shown: Option<Box<Shown>>,
}

impl Known {
    /// From a log density and a way to draw from it; all chains begin at `start`.
    pub fn new(
        name: &str,
        about: &str,
        start: (Vec<f64>, Vec<f64>),
        density: impl Fn(&[f64], &[f64]) -> f64 + Send + Sync + 'static,
        draw: impl Fn(&mut Rng) -> (Vec<f64>, Vec<f64>) + Send + Sync + 'static,
    ) -> Self {
        let (slow, fast) = (start.0.len(), start.1.len());
        Self {
            name: name.into(),
            about: about.into(),
            slow,
            fast,
            ratio: Some(1000.0),
            judged_fast: fast.min(2),
            density: Box::new(density),
            gradient: None,
            draw: Box::new(draw),
            start: Box::new(move |_| start.clone()),
            shown: None,
        }
    }

    /// Chains begin at draws of this instead.
    #[must_use]
    pub fn starting(
        mut self,
        start: impl Fn(&mut Rng) -> (Vec<f64>, Vec<f64>) + Send + Sync + 'static,
    ) -> Self {
        self.start = Box::new(start);
        self
    }

    /// With another cost ratio, or a measured one.
    #[must_use]
    pub fn costing(mut self, ratio: Option<f64>) -> Self {
        self.ratio = ratio;
        self
    }

    /// With a gradient in y.
    #[must_use]
    pub fn with_gradient(
        mut self,
        gradient: impl Fn(&[f64], &[f64], &mut [f64]) -> f64 + Send + Sync + 'static,
    ) -> Self {
        self.gradient = Some(Box::new(gradient));
        self
    }

    /// As many functions of x as it has variables are shown and judged in place of these.
    #[must_use]
    pub fn shown_as(mut self, shown: impl Fn(&[f64]) -> Vec<f64> + Send + Sync + 'static) -> Self {
        self.shown = Some(Box::new(shown));
        self
    }

    /// What is shown of x.
    pub fn shown(&self, x: Vec<f64>) -> Vec<f64> {
        match &self.shown {
            Some(shown) => shown(&x),
            None => x,
        }
    }

    /// An independent draw of (x, y).
    pub fn draw(&self, rng: &mut Rng) -> (Vec<f64>, Vec<f64>) {
        (self.draw)(rng)
    }

    /// ℓ(x, y).
    pub fn density(&self, x: &[f64], y: &[f64]) -> f64 {
        (self.density)(x, y)
    }
}

impl std::fmt::Debug for Known {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Known({}, {} + {})", self.name, self.slow, self.fast)
    }
}

impl Target for Known {
    type Cache = Vec<f64>;

    fn prepare(&self, x: &[f64]) -> Result<Option<Vec<f64>>, ModelError> {
        Ok(Some(x.to_vec()))
    }

    fn log_density(&self, x: &Vec<f64>, y: &[f64]) -> f64 {
        (self.density)(x, y)
    }

    fn gradient(
        &self,
        x: &Vec<f64>,
        y: &[f64],
        gradient: &mut [f64],
        _: &mut Scratch,
    ) -> Option<f64> {
        let known = self.gradient.as_ref()?;
        Some(known(x, y, gradient))
    }
}

impl Model for Known {
    fn columns(&self) -> Vec<Column> {
        let slow = (0..self.slow).map(|k| Column::new(format!("x{}", k + 1), Role::Slow));
        let fast = (0..self.judged_fast).map(|k| Column::new(format!("y{}", k + 1), Role::Fast));
        slow.chain(fast).collect()
    }

    fn report(&self, x: &[f64], y: &[f64], _: &Vec<f64>, row: &mut [f64]) {
        let (slow, fast) = row.split_at_mut(self.slow);
        slow.copy_from_slice(&self.shown(x.to_vec()));
        fast.copy_from_slice(&y[..self.judged_fast]);
    }

    fn start(&self, rng: &mut Rng) -> Result<(Vec<f64>, Vec<f64>), ModelError> {
        Ok((self.start)(rng))
    }
}

/// Fast variables that follow x: yₖ ~ N(centre(x, k), width(x, k)²), whatever the marginal of x is.
#[expect(
    clippy::too_many_arguments,
    reason = "a target is these eight things, and each call names them in one place"
)]
pub fn following(
    name: &str,
    about: &str,
    start: Vec<f64>,
    fast: usize,
    log_marginal: impl Fn(&[f64]) -> f64 + Send + Sync + 'static,
    draw_x: impl Fn(&mut Rng) -> Vec<f64> + Send + Sync + 'static,
    centre: impl Fn(&[f64], usize) -> f64 + Clone + Send + Sync + 'static,
    width: impl Fn(&[f64], usize) -> f64 + Clone + Send + Sync + 'static,
) -> Known {
    let (centre_too, width_too) = (centre.clone(), width.clone());
    let y: Vec<f64> = (0..fast).map(|k| centre(&start, k)).collect();
    let density = move |x: &[f64], y: &[f64]| {
        let mut sum = log_marginal(x);
        for (k, v) in y.iter().enumerate() {
            let w = width(x, k);
            let z = (v - centre(x, k)) / w;
            sum -= 0.5 * z * z + w.ln();
        }
        if sum.is_nan() { f64::NEG_INFINITY } else { sum }
    };
    let draw = move |rng: &mut Rng| {
        let x = draw_x(rng);
        let y = (0..fast)
            .map(|k| centre_too(&x, k) + width_too(&x, k) * rng.normal())
            .collect();
        (x, y)
    };
    Known::new(name, about, (start, y), density, draw)
}
