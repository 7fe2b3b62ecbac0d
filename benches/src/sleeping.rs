//! What warm-up chooses, beside a grid search: a target whose slow computation takes 2 ms and whose fast one 2 µs.
//!
//! Effective draws are counted on the same target without its waits, in long chains, and the seconds of a step with them,
//! in short ones: each is then known well within the 20 % that are asked for.

use std::error::Error;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use towline::diagnose::autocorrelation_time;
use towline::warmup::FrameKind;
use towline::{Chain, Cost, Draw, ModelError, Rng, Target, Tuning, Warmup};

const SLOW: Duration = Duration::from_millis(2);
const FAST: Duration = Duration::from_micros(2);
/// Steps with which a step is timed, and steps with which the autocorrelation time is measured.
const TIMED: u64 = 400;
const COUNTED: u64 = 60_000;
const GRID: [usize; 7] = [1, 2, 4, 12, 40, 128, 400];

/// The paper's test 2, at a price.
struct Sleeping {
    waits: AtomicBool,
}

impl Sleeping {
    fn waits(&self) -> bool {
        self.waits.load(Ordering::Relaxed)
    }
}

impl Target for Sleeping {
    type Cache = (f64, f64);

    fn prepare(&self, x: &[f64]) -> Result<Option<(f64, f64)>, ModelError> {
        if self.waits() {
            std::thread::sleep(SLOW);
        }
        Ok(Some((x[0], x[0].sin())))
    }

    fn log_density(&self, &(x, sin_x): &(f64, f64), y: &[f64]) -> f64 {
        if self.waits() {
            // A sleep would last fifty times as long.
            let begun = Instant::now();
            while begun.elapsed() < FAST {
                std::hint::spin_loop();
            }
        }
        let wide = 1.0 + x * x;
        -x * x - 50.0 * wide * wide * (y[0] - sin_x).powi(2) - 12.5 * (y[1] - y[0]).powi(2)
    }
}

/// What a tuning is worth.
struct Worth {
    seconds: f64,
    time: f64,
}

impl Worth {
    fn measure(target: &Sleeping, tuning: &Tuning) -> Result<Self, towline::Error> {
        let mut chain = Chain::new(
            target,
            tuning.kernel()?,
            &[0.0],
            &[0.0, 0.0],
            Rng::stream(3, 0),
        )?;
        target.waits.store(true, Ordering::Relaxed);
        let begun = Instant::now();
        for _ in 0..TIMED {
            chain.advance()?;
        }
        let seconds = begun.elapsed().as_secs_f64() / TIMED as f64;
        target.waits.store(false, Ordering::Relaxed);
        let mut xs = Vec::with_capacity(COUNTED as usize);
        chain.run(COUNTED, |draw: &Draw<'_>| {
            xs.push(draw.x[0]);
            ControlFlow::Continue(())
        })?;
        let time = autocorrelation_time(&xs).value;
        Ok(Self { seconds, time })
    }

    /// Effective draws per second.
    fn rate(&self) -> f64 {
        1.0 / (self.seconds * self.time)
    }

    fn print(&self, what: &str) {
        println!(
            "{what:<28} {:>8.2} {:>10.2} {:>12.1}",
            1e3 * self.seconds,
            self.time,
            self.rate()
        );
    }
}

/// Warms up, tries the grid, and says how what was chosen compares.
pub fn run() -> Result<(), Box<dyn Error>> {
    let target = Sleeping {
        waits: AtomicBool::new(true),
    };
    let warmup = Warmup {
        cost: Cost::Measured,
        ..Warmup::default()
    };
    let warm = warmup.run(&target, &[2.0], &[1.0, 1.0], &mut Rng::stream(1, 0))?;
    let tuning = warm.tuning;
    println!(
        "A slow evaluation takes 2 ms, a fast one 2 µs.\n{:<28} {:>8} {:>10} {:>12}",
        "setting", "ms/step", "act of x", "ESS/second"
    );
    let chosen = Worth::measure(&target, &tuning)?;
    chosen.print(&format!(
        "chosen: {:?}, n = {}",
        tuning.main.frame, tuning.main.n
    ));
    let mut best = 0.0f64;
    for frame in [FrameKind::Linear, FrameKind::Mode, FrameKind::Laplace] {
        for n in GRID {
            let mut other = tuning.clone();
            (other.main.frame, other.main.n) = (frame, n);
            if frame == FrameKind::Linear {
                other.main.inner = other.safe.inner.clone();
            }
            let worth = Worth::measure(&target, &other)?;
            worth.print(&format!("{frame:?}, n = {n}"));
            best = best.max(worth.rate());
        }
    }
    println!(
        "What warm-up chose gives {:.2} of the best of the grid's effective draws per second.",
        chosen.rate() / best
    );
    Ok(())
}
