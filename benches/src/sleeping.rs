//! What warm-up chooses, beside a grid search: a target whose slow computation takes 2 ms and whose fast one 2 µs.
//!
//! Effective draws are counted on the same target without its waits, in long chains, and the seconds of a step with them,
//! in short ones: each is then known well within the 20 % that are asked for. With `counted` nothing waits: evaluations are
//! counted instead, a slow one as a thousand fast ones, on ten seeds, so that it can be run on a busy machine too.

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

/// What the waits amount to, for counting.
const RATIO: f64 = 1000.0;
/// Seeds of warm-up, when counted.
const SEEDS: u64 = 10;
/// What was chosen must give this share of the best of the grid.
const WANTED: f64 = 0.85;
const FRAMES: [FrameKind; 3] = [FrameKind::Linear, FrameKind::Mode, FrameKind::Laplace];

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

/// The same tuning with another frame and number of intervals.
fn with(tuning: &Tuning, frame: FrameKind, n: usize) -> Tuning {
    let mut other = tuning.clone();
    // Each kind of frame has its inner move; that of the kind that was not chosen is with the safe drags.
    if (frame == FrameKind::Linear) != (tuning.main.frame == FrameKind::Linear) {
        other.main.inner = tuning.safe.inner.clone();
    }
    (other.main.frame, other.main.n) = (frame, n);
    other
}

/// Effective draws of x for each slow evaluation's worth of evaluations.
fn counted_rate(target: &Sleeping, tuning: &Tuning) -> Result<f64, towline::Error> {
    let (x, y) = ([0.0], [0.0, 0.0]);
    let mut chain = Chain::new(target, tuning.kernel()?, &x, &y, Rng::stream(3, 0))?;
    let mut xs = Vec::with_capacity(COUNTED as usize);
    chain.run(COUNTED, |draw: &Draw<'_>| {
        xs.push(draw.x[0]);
        ControlFlow::Continue(())
    })?;
    let spent = chain.totals();
    let cost = spent.slow_evaluations as f64 + spent.fast_evaluations as f64 / RATIO;
    Ok(COUNTED as f64 / autocorrelation_time(&xs).value / cost)
}

/// The same without waiting: on several seeds, and by evaluations.
pub fn counted() -> Result<(), Box<dyn Error>> {
    let target = Sleeping {
        waits: AtomicBool::new(false),
    };
    let warmup = Warmup {
        cost: Cost::Ratio(RATIO),
        ..Warmup::default()
    };
    println!("Effective draws per slow evaluation's worth, a slow one as {RATIO} fast ones.");
    println!(
        "{:<6} {:<22} {:>8} {:<22} {:>8} {:>8}",
        "seed", "chosen", "rate", "best of the grid", "rate", "share"
    );
    let mut enough = 0;
    for seed in 1..=SEEDS {
        let rng = &mut Rng::stream(seed, 0);
        let tuning = warmup.run(&target, &[2.0], &[1.0, 1.0], rng)?.tuning;
        let chosen = counted_rate(&target, &tuning)?;
        let mut best = (0.0, FrameKind::Linear, 0);
        for frame in FRAMES {
            for n in GRID {
                let rate = counted_rate(&target, &with(&tuning, frame, n))?;
                if rate > best.0 {
                    best = (rate, frame, n);
                }
            }
        }
        let share = chosen / best.0;
        enough += u64::from(share >= WANTED);
        println!(
            "{seed:<6} {:<22} {chosen:>8.3} {:<22} {:>8.3} {share:>8.2}",
            format!("{:?}, n = {}", tuning.main.frame, tuning.main.n),
            format!("{:?}, n = {}", best.1, best.2),
            best.0,
        );
    }
    println!("At least {WANTED} of the best of the grid on {enough} seeds of {SEEDS}.");
    if enough < SEEDS {
        return Err("what was chosen is not good enough on every seed".into());
    }
    Ok(())
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
    for frame in FRAMES {
        for n in GRID {
            let worth = Worth::measure(&target, &with(&tuning, frame, n))?;
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
