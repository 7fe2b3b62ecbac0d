//! A look at one place of x: the slow evaluation there, and the mode of the conditional. Looks of a batch do not depend on each other,
//! so that they can be made anywhere, in any order, by as many as there are.

use crate::chain::exchange::Exchange;
use crate::error::Error;
use crate::frame::{Frame, Laplace};
use crate::instant::Instant;
use crate::kernel::state::{MOST_KEPT, prepare};
use crate::linalg::Root;
use crate::target::{Scratch, Target};
use serde::{Deserialize, Serialize};

/// What a look found, as plain data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Look {
    /// The mode, or where it was looked for in vain.
    pub centre: Vec<f64>,
    pub width: Width,
    /// Laplace's estimate of the log marginal; `None` where no mode was found.
    pub log_marginal: Option<f64>,
    /// ln |det L| of the frame.
    pub log_det: f64,
    /// The log density at the centre, where it was asked for or there is no mode.
    pub density: Option<f64>,
    pub fast_evaluations: u64,
    /// What the slow evaluation, the search and the density at the centre took.
    pub seconds: [f64; 3],
}

/// How wide the conditional is there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Width {
    /// As the rule has it.
    Learned,
    /// A covariance, row by row.
    Found(Vec<f64>),
    /// As the target knows it, which is no matrix; or nobody asked.
    Untold,
}

/// Who wants to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// A climb, which goes on from the frame at the best place.
    Frame,
    /// The marginal alone.
    Marginal,
}

/// Who looks at many places, in whatever order.
pub(crate) trait Looks {
    /// What was found at each of `xs`, in their order; nothing where there is no mass whatever y is.
    ///
    /// # Errors
    /// The first failure, in the order of `xs`.
    fn looks(
        &self,
        rule: &Laplace,
        xs: &[Vec<f64>],
        wanted: Wanted,
        exchange: &mut dyn Exchange,
    ) -> Result<Vec<Option<Look>>, Error>;
}

/// A target that is looked at by its own thread, one place after another.
pub(crate) struct OneByOne<T>(pub T);

impl<T: Target> Looks for OneByOne<T> {
    fn looks(
        &self,
        rule: &Laplace,
        xs: &[Vec<f64>],
        wanted: Wanted,
        _: &mut dyn Exchange,
    ) -> Result<Vec<Option<Look>>, Error> {
        xs.iter().map(|x| look(&self.0, rule, x, wanted)).collect()
    }
}

/// One look: a function of the target, the rule and x alone.
pub(crate) fn look<T: Target>(
    target: &T,
    rule: &Laplace,
    x: &[f64],
    wanted: Wanted,
) -> Result<Option<Look>, Error> {
    let begun = Instant::now();
    let slow = prepare(target, x)?;
    let seconds = begun.elapsed().as_secs_f64();
    Ok(slow.map(|slow| {
        let mut look = look_at(target, rule, x, &slow.cache, wanted);
        look.seconds[0] = seconds;
        look
    }))
}

/// The same where the slow evaluation was made.
pub(crate) fn look_at<T: Target>(
    target: &T,
    rule: &Laplace,
    x: &[f64],
    cache: &T::Cache,
    wanted: Wanted,
) -> Look {
    let mut scratch = Scratch::default();
    let begun = Instant::now();
    let found = rule.find(target, x, cache, &mut scratch);
    let searched = begun.elapsed().as_secs_f64();
    let mut fast_evaluations = found.evaluations;
    let mut centre = vec![0.0; rule.linear().fast_dim()];
    found.frame.to_y(&vec![0.0; centre.len()], &mut centre);
    let begun = Instant::now();
    let mut density = None;
    if wanted == Wanted::Frame || found.log_marginal.is_none() {
        fast_evaluations += 1;
        density = Some(target.log_density_in(cache, &centre, &mut scratch));
    }
    let width = match &found.frame {
        _ if wanted == Wanted::Marginal => Width::Untold,
        Frame::Identity => Width::Learned,
        Frame::Affine { root, .. } => match root {
            Root::Lower(_) => Width::Learned,
            Root::Own(_) => Width::Untold,
            root => root.covariance().map_or(Width::Untold, Width::Found),
        },
    };
    Look {
        width,
        log_marginal: found.log_marginal,
        log_det: found.frame.log_det(),
        density,
        fast_evaluations,
        seconds: [0.0, searched, begun.elapsed().as_secs_f64()],
        centre,
    }
}

impl Look {
    /// The mode, where one was found and there are few enough fast variables for it to be kept.
    pub fn mode(&self) -> Option<&[f64]> {
        let kept = (1..=MOST_KEPT).contains(&self.centre.len());
        (kept && self.log_marginal.is_some()).then_some(&self.centre)
    }
}
