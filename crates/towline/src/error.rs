//! Everything that can go wrong in the engine, each naming what was wrong and what to do.

/// A model's own failure: whatever error its `prepare` answers.
pub type ModelError = Box<dyn std::error::Error + Send + Sync>;

/// What the engine refuses or reports.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A drag of no intervals.
    #[error(
        "n = 0: a drag needs at least one interval (n = 1 is plain Metropolis with the fast variables held still)"
    )]
    ZeroIntervals,
    /// A run of no steps.
    #[error("zero iterations were asked for: ask for at least one")]
    ZeroIterations,
    /// A matrix that should be a covariance is not.
    #[error(
        "{what} is not positive definite: elimination met a pivot that is not above zero in row {pivot} (counted from 0)"
    )]
    NotPositiveDefinite {
        /// Which matrix.
        what: &'static str,
        /// The row at which the factorisation failed.
        pivot: usize,
    },
    /// Sizes that do not fit together.
    #[error("{what} has size {found}, but {expected} is needed")]
    Dimension {
        /// Which object.
        what: &'static str,
        /// The size that fits.
        expected: usize,
        /// The size that was given.
        found: usize,
    },
    /// A setting outside its range.
    #[error("{what} = {value}: it must be {expected}")]
    Setting {
        /// Which setting.
        what: &'static str,
        /// The value that was given.
        value: f64,
        /// The accepted values, in words.
        expected: &'static str,
    },
    /// A chain was started where the density is zero.
    #[error(
        "the start lies outside the support (the density is zero there): x = {x:?}, y = {y:?}; start from a point of positive density"
    )]
    OutsideSupport {
        /// The slow variables of the start.
        x: Vec<f64>,
        /// The fast variables of the start.
        y: Vec<f64>,
    },
    /// The log density was NaN or +∞.
    #[error(
        "the log density is {value} at x = {x:?}, y = {y:?}; answer -inf outside the support, and a finite number inside"
    )]
    NotANumber {
        /// The slow variables of the point.
        x: Vec<f64>,
        /// The fast variables of the point.
        y: Vec<f64>,
        /// What the model answered: NaN or +∞.
        value: f64,
    },
    /// The model's `prepare` or `refine` failed.
    #[error("the model failed at x = {x:?}{}: {source}", leading(y))]
    Model {
        /// The slow variables for which it failed.
        x: Vec<f64>,
        /// The leading fast variables for which `refine` failed; empty where it was `prepare`.
        y: Vec<f64>,
        /// The model's own error.
        source: ModelError,
    },
    /// A gradient-based move on a target without gradients.
    #[error(
        "{what} needs the target's gradient in y, which this target does not give (implement `Target::gradient`)"
    )]
    NoGradient {
        /// Which move.
        what: &'static str,
    },
    /// A prior that cannot be, or text that is no prior.
    #[error("the prior `{prior}` cannot be used: {reason}")]
    Prior {
        /// The prior as it was written.
        prior: String,
        /// What is wrong with it, and what to write instead.
        reason: String,
    },
    /// Another chain of the run has ended, so that nothing more can be learned together.
    #[error("another chain of the run ended: {0}")]
    Exchange(String),
    /// On resume the model answered another log density than the one recorded.
    #[error(
        "the model changed: the recorded log density is {recorded:e}, the model now gives {computed:e} at the same point"
    )]
    ModelChanged {
        /// The log density in the snapshot.
        recorded: f64,
        /// What the model gives now.
        computed: f64,
    },
}

/// The leading fast variables in a message, where there are any.
fn leading(y: &[f64]) -> String {
    if y.is_empty() {
        String::new()
    } else {
        format!(", with y beginning with {y:?}")
    }
}
