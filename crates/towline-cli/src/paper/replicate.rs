//! One chain of one row, and what is kept of it.

use super::plan::RowPlan;
use super::published::Published;
use super::result::Method;
use crate::builtin::{Neal1, Neal2, NealMarginal, draw_x, draw_y, draw_z};
use std::ops::ControlFlow;
use towline::kernel::{Joint, Single};
use towline::{
    Chain, Drag, Draw, Error, Factor, FastMove, Info, Kernel, RandomWalk, Rng, SlowProposal, Target,
};

/// Iterations between two reports of progress: some milliseconds of work.
const STRIDE: u64 = 4096;

/// What a chain leaves behind. Of the draws only x is kept.
#[derive(Debug)]
pub struct Replicate {
    /// Acceptances and evaluations.
    pub totals: Info,
    /// How many iterations changed each fast variable.
    pub moved: Vec<u64>,
    /// x after every iteration.
    pub x: Vec<f64>,
}

/// Runs one chain of a row from an exact draw of its distribution, so that no part is to be thrown away.
///
/// # Errors
/// What the engine refuses.
pub fn run(row: &RowPlan, mut rng: Rng, progress: impl Fn(u64)) -> Result<Replicate, Error> {
    let known = row.known;
    let x = draw_x(&mut rng);
    let y = draw_y(x, &mut rng);
    let z = draw_z(y, &mut rng);
    let kernel = kernel(known)?;
    match (known.method, known.test) {
        (Method::Marginal, _) => follow(
            Chain::new(NealMarginal, kernel, &[x], &[], rng)?,
            row,
            progress,
        ),
        (_, 1) => follow(Chain::new(Neal1, kernel, &[x], &[y], rng)?, row, progress),
        _ => follow(
            Chain::new(Neal2, kernel, &[x], &[y, z], rng)?,
            row,
            progress,
        ),
    }
}

/// The kernel of a row, with the paper's settings.
fn kernel(known: &Published) -> Result<Kernel, Error> {
    let slow = known.slow_sd;
    let fast = vec![known.fast_sd.unwrap_or_default(); known.test.into()];
    Ok(match known.method {
        Method::Joint => {
            let sds = [&[slow], &fast[..]].concat();
            Joint::new(Factor::diagonal(&sds, "the joint proposal's covariance")?).into()
        }
        Method::Single => Single::new(vec![slow], fast).into(),
        Method::Marginal => Kernel::metropolis(SlowProposal::random_walk(&[slow])?),
        Method::Drag => {
            let inner = RandomWalk::new(Factor::diagonal(&fast, "the inner moves' covariance")?);
            Drag::new(
                known.n.unwrap_or_default(),
                SlowProposal::random_walk(&[slow])?,
                FastMove::RandomWalk(inner),
            )?
            .into()
        }
    })
}

fn follow<T: Target>(
    mut chain: Chain<T>,
    row: &RowPlan,
    progress: impl Fn(u64),
) -> Result<Replicate, Error> {
    let mut before = chain.y().to_vec();
    let mut moved = vec![0; before.len()];
    let mut x = Vec::with_capacity(row.length as usize);
    let mut left = row.length;
    while left > 0 {
        let steps = left.min(STRIDE);
        chain.run(steps, |draw: &Draw<'_>| {
            x.push(draw.x[0]);
            // `Info` counts the moves of all fast variables together; which one moved shows here.
            for (k, now) in draw.y.iter().enumerate() {
                moved[k] += u64::from(*now != before[k]);
                before[k] = *now;
            }
            ControlFlow::Continue(())
        })?;
        progress(steps);
        left -= steps;
    }
    Ok(Replicate {
        totals: chain.totals(),
        moved,
        x,
    })
}
