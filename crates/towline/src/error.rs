//! Everything that can go wrong in the engine, each naming what was wrong and what to do.

use std::path::PathBuf;

/// A model's own failure: whatever error its `prepare` returns.
pub type ModelError = Box<dyn std::error::Error + Send + Sync>;

/// What the engine refuses or reports.
#[derive(thiserror::Error)]
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
        "the log density is {value} at x = {x:?}, y = {y:?}; return -inf outside the support, and a finite number inside"
    )]
    NotANumber {
        /// The slow variables of the point.
        x: Vec<f64>,
        /// The fast variables of the point.
        y: Vec<f64>,
        /// What the model returned: NaN or +∞.
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
    /// A name that cannot be given.
    #[error("the name `{name}` cannot be used: {problem}")]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A prior that cannot be, or text that is no prior.
    #[error("the prior `{prior}` cannot be used: {reason}")]
    Prior {
        /// The prior as it was written.
        prior: String,
        /// What is wrong with it, and what to write instead.
        reason: String,
    },
    /// Two chains of a run are not at the same point of their warm-up.
    #[error(
        "chain {chain} is at stage, round and line {mine:?} of its warm-up and chain {other} at {theirs:?}: their models or programs differ. Run all chains with the same program, model and data"
    )]
    OutOfStep {
        /// The chain that saw it.
        chain: usize,
        /// The other.
        other: usize,
        /// Where the one is.
        mine: Vec<f64>,
        /// Where the other is.
        theirs: Vec<f64>,
    },
    /// Another chain of the run has ended, so that nothing more can be learned together.
    #[error("another chain of the run ended: {0}")]
    Exchange(String),
    /// Something failed in another process of the run.
    #[error("{message} (rank {rank})")]
    Elsewhere {
        /// Which process.
        rank: usize,
        /// What it said.
        message: String,
    },
    /// Messages between the processes of a run could not be sent or read.
    #[error("the processes of the run cannot talk to each other: {0}")]
    Post(String),
    /// On resume the model returned another log density than the one recorded.
    #[error(
        "the model changed: the recorded log density is {recorded:e}, the model now gives {computed:e} at the same point"
    )]
    ModelChanged {
        /// The log density in the snapshot.
        recorded: f64,
        /// What the model gives now.
        computed: f64,
    },
    /// The model panicked.
    #[error("the model panicked: {message}; the slow computation before that was at x = {x:?}")]
    Panicked {
        /// The x that was prepared last.
        x: Vec<f64>,
        /// The panic's message.
        message: String,
    },
    /// An evaluation took longer than it was allowed to.
    #[error(
        "an evaluation of chain {chain} took longer than the {seconds} s it may take, at x = {x:?}; fix the model or allow more, then resume"
    )]
    TooLong {
        /// The chain.
        chain: usize,
        /// The x that was being prepared, or had been prepared last.
        x: Vec<f64>,
        /// The limit.
        seconds: f64,
    },
    /// A chain of a run failed; the others stopped, and all can go on.
    #[error("chain {chain}, after {draws} draws: {source}")]
    Chain {
        /// Which chain.
        chain: usize,
        /// How many draws it had made.
        draws: u64,
        /// Its failure.
        source: Box<Error>,
    },
    /// Slow points of a batch failed; all others of it are stored.
    #[error("{failed} of {of} slow points failed, the others are stored; the first: {source}")]
    Points {
        /// How many.
        failed: usize,
        /// Of how many.
        of: usize,
        /// The first failure.
        source: Box<Error>,
    },
    /// A slow point took longer than it may.
    #[error("the evaluation at x = {x:?} took longer than {seconds} s")]
    PointTooLong {
        /// The slow variables, on the chain's scale.
        x: Vec<f64>,
        /// How long it may take.
        seconds: f64,
    },
    /// The run was told to stop before this could be finished.
    #[error("stopped")]
    Stopped,
    /// A run was begun in a directory that holds one already.
    #[error("{} holds a run already: resume that one, or choose another directory", path.display())]
    HoldsARun {
        /// The directory.
        path: PathBuf,
    },
    /// A run cannot be continued as asked.
    #[error("{} cannot be resumed: {problem}", path.display())]
    CannotResume {
        /// The directory.
        path: PathBuf,
        /// Why not.
        problem: String,
    },
    /// The file system refused.
    #[error("cannot {doing} {}: {source}{}", path.display(), advice(source))]
    File {
        /// What was being done.
        doing: &'static str,
        /// To which file.
        path: PathBuf,
        /// What the system returned.
        source: std::io::Error,
    },
    /// A file of a run directory that cannot be what a run wrote.
    #[error("{} is damaged: {problem}", path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it, and what to do.
        problem: String,
    },
    /// A file that an earlier version wrote, and that only it can continue. Draws are read from runs of every version.
    #[error(
        "{} has version {found} of its format, which this towline ({}) cannot continue: use the earlier version that wrote it, or begin anew",
        path.display(), env!("CARGO_PKG_VERSION")
    )]
    OlderFormat {
        /// Which file.
        path: PathBuf,
        /// The version it has.
        found: u32,
    },
    /// A file that a newer version wrote.
    #[error(
        "{} has version {found} of its format, and this towline ({}) knows versions up to {known}: use the newer towline that wrote it",
        path.display(), env!("CARGO_PKG_VERSION")
    )]
    NewerFormat {
        /// Which file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest version that is understood here.
        known: u32,
    },
    /// Not a run directory.
    #[error("{} is not a run directory: {problem}", path.display())]
    NotARun {
        /// The directory.
        path: PathBuf,
        /// Why not.
        problem: String,
    },
    /// A name that no column of a run has.
    #[error("{} has no column called {name:?}; it has {known}", path.display())]
    UnknownColumn {
        /// The run directory.
        path: PathBuf,
        /// The name asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// Another process writes to the run directory.
    #[error("{} is being written by {holder}: wait until it ends, or choose another directory", path.display())]
    Locked {
        /// The directory.
        path: PathBuf,
        /// Who holds the lock.
        holder: String,
    },
}

/// The same words as for people: it is what `fn main() -> Result<(), Error>` and `unwrap` print.
impl std::fmt::Debug for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

/// What to do about a failure of the file system, where there is something to say.
fn advice(source: &std::io::Error) -> &'static str {
    use std::io::ErrorKind as Kind;
    match source.kind() {
        Kind::StorageFull | Kind::QuotaExceeded | Kind::FileTooLarge => {
            " (make room, then resume: nothing that was stored is lost)"
        }
        Kind::ReadOnlyFilesystem | Kind::PermissionDenied => {
            " (make it writable, or choose another directory)"
        }
        _ => "",
    }
}

/// The leading fast variables in a message, where there are any.
fn leading(y: &[f64]) -> String {
    if y.is_empty() {
        String::new()
    } else {
        format!(", with y beginning with {y:?}")
    }
}
