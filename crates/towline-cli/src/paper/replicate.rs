//! One chain of one row, and what is kept of it.

use super::frames;
use super::plan::RowPlan;
use super::spec::{Method, Spec};
use crate::builtin::{self, Neal, draw_x, draw_y, draw_z};
use anyhow::anyhow;
use std::thread;
use towline::kernel::{Joint, Single};
use towline::run::Together;
use towline::{
    Drag, Draw, Error, Factor, FastMove, Info, Kernel, Model, RandomWalk, Rng, SlowProposal,
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
    let (x, y) = exact_draw(&mut rng);
    let kernel = kernel(&row.spec)?;
    let (test, fast) = match row.spec.test {
        _ if row.spec.method == Method::Marginal => (Neal::MARGINAL, 0),
        1 => (Neal::ONE, 1),
        _ => (Neal::TWO, 2),
    };
    follow(test, kernel, (&x, &y[..fast]), rng, row, progress)
}

/// Runs chains that warm up together, as those of `towline run` do, one at a time on this thread's account. After
/// it, each begins at an exact draw: what warm-up spent and where it ended count for nothing.
///
/// # Errors
/// What the engine refuses.
pub fn run_together(
    row: &RowPlan,
    rngs: Vec<Rng>,
    progress: impl Fn(u64) + Sync,
) -> anyhow::Result<Vec<Replicate>> {
    let test = match row.spec.test {
        1 => Neal::ONE,
        _ => Neal::TWO,
    };
    let together = Together::new(rngs.len(), 1);
    let one = |k: usize, mut rng: Rng| {
        together.member(k).begin(|member| {
            let (x, y) = test.start(&mut rng).map_err(|why| anyhow!("{why}"))?;
            let warm = frames::warmup().run_pooled(&test, &x, &y, &mut rng, member);
            let warm = warm.inspect_err(|error| member.leave(&error.to_string()))?;
            let (x, y) = exact_draw(&mut rng);
            let y = &y[..row.spec.test.into()];
            let kernel = warm.tuning.kernel()?;
            Ok(follow(test, kernel, (&x, y), rng, row, &progress)?)
        })
    };
    thread::scope(|scope| {
        let one = &one;
        let begin = |(k, rng)| scope.spawn(move || one(k, rng));
        let chains: Vec<_> = rngs.into_iter().enumerate().map(begin).collect();
        let join = |chain: thread::ScopedJoinHandle<'_, _>| {
            chain
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        chains.into_iter().map(join).collect()
    })
}

/// x, and the fast variables of the second test; those of the first are the first of them.
fn exact_draw(rng: &mut Rng) -> ([f64; 1], [f64; 2]) {
    let x = draw_x(rng);
    let y = draw_y(x, rng);
    ([x], [y, draw_z(y, rng)])
}

/// The kernel of a row whose settings are given.
fn kernel(spec: &Spec) -> Result<Kernel, Error> {
    let slow = spec.slow_sd.unwrap_or_default();
    let fast = vec![spec.fast_sd.unwrap_or_default(); spec.test.into()];
    let n = spec.n.unwrap_or_default();
    Ok(match spec.method {
        Method::Joint => {
            let sds = [&[slow], &fast[..]].concat();
            Joint::new(Factor::diagonal(&sds, "the joint proposal's covariance")?).into()
        }
        Method::Single => Single::new(vec![slow], fast).into(),
        Method::Marginal => Kernel::metropolis(SlowProposal::random_walk(&[slow])?),
        Method::DragFramed => frames::drag(n, slow, &fast)?,
        Method::Drag | Method::Auto => {
            let inner = RandomWalk::new(Factor::diagonal(&fast, "the inner moves' covariance")?);
            Drag::new(
                n,
                SlowProposal::random_walk(&[slow])?,
                FastMove::RandomWalk(inner),
            )?
            .into()
        }
    })
}

fn follow(
    test: Neal,
    kernel: Kernel,
    start: (&[f64], &[f64]),
    rng: Rng,
    row: &RowPlan,
    progress: impl Fn(u64),
) -> Result<Replicate, Error> {
    let mut before = start.1.to_vec();
    let mut moved = vec![0; before.len()];
    let mut x = Vec::with_capacity(row.length as usize);
    let mut untold = 0;
    let see = &mut |draw: &Draw<'_>| {
        x.push(draw.x[0]);
        // `Info` counts the moves of all fast variables together; which one moved shows here.
        for (k, now) in draw.y.iter().enumerate() {
            moved[k] += u64::from(*now != before[k]);
            before[k] = *now;
        }
        untold += 1;
        if untold == STRIDE {
            progress(std::mem::take(&mut untold));
        }
    };
    let totals = builtin::run(test, kernel, start, rng, row.length, see)?;
    progress(untold);
    Ok(Replicate { totals, moved, x })
}
