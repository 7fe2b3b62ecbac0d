//! Whether sampling works here: the report's first test, whose variance of x is known.

use super::Finding;
use crate::builtin::{self, Neal};
use std::time::Instant;
use towline::{Cost, Draw, Error, Rng, Warmup, diagnose};

/// The variance of x, by quadrature.
const VARIANCE: f64 = 0.319_483_8;
const DRAWS: usize = 4000;
/// The fixed seed gives the same draws up to rounding: only a broken build is so far off.
const LIMIT: f64 = 5.0;

/// A short run, and how far its answer is from the known one.
pub fn finding() -> Finding {
    let begun = Instant::now();
    let what = "sampling";
    match squares() {
        Ok(squares) => {
            let mean = squares.iter().sum::<f64>() / squares.len() as f64;
            let error = diagnose::mcse_mean(&[&squares]);
            let z = (mean - VARIANCE) / error;
            let found = format!(
                "{DRAWS} draws of the report's first test in {:.2} s; variance {mean:.3} ± {error:.3} (exactly {VARIANCE:.3})",
                begun.elapsed().as_secs_f64()
            );
            if z.abs() < LIMIT {
                Finding::ok(what, found)
            } else {
                Finding::bad(
                    what,
                    found,
                    "This build samples wrongly. Build it again without special compiler flags; if that does not help, report it \
                     with the output of `towline doctor --json`.",
                )
            }
        }
        Err(error) => Finding::bad(
            what,
            error.to_string(),
            "Report this, with the output of `towline doctor --json`.",
        ),
    }
}

fn squares() -> Result<Vec<f64>, Error> {
    let mut rng = Rng::stream(1, 0);
    let warmup = Warmup {
        cost: Cost::Ratio(1000.0),
        ..Warmup::default()
    };
    let warm = warmup.run(&Neal::ONE, &[2.0], &[0.0], &mut rng)?;
    let (kernel, start) = (warm.tuning.kernel()?, (&warm.x[..], &warm.y[..]));
    let mut squares = Vec::with_capacity(DRAWS);
    let see = &mut |draw: &Draw<'_>| squares.push(draw.x[0].powi(2));
    builtin::run(Neal::ONE, kernel, start, rng, DRAWS as u64, see)?;
    Ok(squares)
}
