//! What storing costs: `towline-bench store`. The paper's test 1 with n = 100, alone and in a run directory, in turns.

use crate::models::Test1;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use towline::frame::Linear;
use towline::run::{Run, Settings};
use towline::warmup::{FrameKind, Prices, Setting};
use towline::{Chain, Column, Factor, FastMove, Model, ModelError, RandomWalk, Rng, Role, Tuning};

/// Intervals of the drag.
const N: usize = 100;
/// Draws in one turn: some seconds, so that checkpoints are part of it.
const DRAWS: u64 = 1_000_000;
const TURNS: usize = 7;
/// The most that storing may add.
const LIMIT: f64 = 0.05;

impl Model for Test1 {
    fn columns(&self) -> Vec<Column> {
        vec![Column::new("x", Role::Slow), Column::new("y", Role::Fast)]
    }

    fn report(&self, x: &[f64], y: &[f64], _: &Self::Cache, row: &mut [f64]) {
        row[0] = x[0];
        row[1] = y[0];
    }

    fn start(&self, _: &mut Rng) -> Result<(Vec<f64>, Vec<f64>), ModelError> {
        Ok((vec![0.0], vec![0.0]))
    }
}

/// Times both, and says whether storing is cheap enough.
pub fn run(folder: &Path) -> Result<(), Box<dyn Error>> {
    let tuning = tuning()?;
    let place = folder.join("store-run");
    let mut turns = Vec::new();
    for _ in 0..TURNS {
        let mut rng = Rng::stream(1, 0);
        let (x, y) = Test1.start(&mut rng).map_err(|error| error.to_string())?;
        let mut chain = Chain::new(Test1, tuning.kernel()?, &x, &y, rng)?;
        let begun = clocks();
        for _ in 0..DRAWS {
            chain.advance()?;
        }
        let alone = since(begun);

        let _ = std::fs::remove_dir_all(&place);
        let settings = Settings {
            chains: 1,
            draws: DRAWS,
            tuning: Some(tuning.clone()),
            ..Settings::default()
        };
        let run = Run::create(
            &place,
            Arc::new(Test1),
            "the paper's test 1".into(),
            settings,
        )?;
        let begun = clocks();
        run.go(Arc::default(), &mut |_| ())?;
        turns.push([alone, since(begun)]);
    }
    std::fs::remove_dir_all(&place)?;
    println!(
        "storing: {DRAWS} draws of test 1, n = {N}, medians of {TURNS} turns (at most {:.0} % allowed)",
        100.0 * LIMIT
    );
    for (clock, name) in ["seconds", "processor seconds"].iter().enumerate() {
        let of = |f: &dyn Fn(&[[f64; 2]; 2]) -> f64| median(turns.iter().map(f).collect());
        let (alone, stored) = (of(&|t| t[0][clock]), of(&|t| t[1][clock]));
        // Of ratios within a turn, which a machine that is busy now and then disturbs least.
        let ratio = of(&|t| t[1][clock] / t[0][clock]);
        println!(
            "  {name}: {alone:.3} alone, {stored:.3} in a run directory: {:+.1} %",
            100.0 * (ratio - 1.0)
        );
    }
    Ok(())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The time, and the processor time of all threads so far, which a busy machine does not disturb.
fn clocks() -> (Instant, f64) {
    let spent = || -> Option<f64> {
        let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
        let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
        let ticks = fields[11].parse::<f64>().ok()? + fields[12].parse::<f64>().ok()?;
        Some(ticks / 100.0)
    };
    (Instant::now(), spent().unwrap_or(f64::NAN))
}

fn since(begun: (Instant, f64)) -> [f64; 2] {
    let now = clocks();
    [(now.0 - begun.0).as_secs_f64(), now.1 - begun.1]
}

/// The paper's settings as a tuning: steps of 1 in x, of 0.2 in y, n intervals, no learned frame.
fn tuning() -> Result<Tuning, towline::Error> {
    let walk = RandomWalk::new(Factor::diagonal(&[0.2], "the fast steps")?);
    let setting = Setting {
        frame: FrameKind::Linear,
        n: N,
        inner: FastMove::RandomWalk(walk),
    };
    let root = Factor::diagonal(&[1.0], "the frame")?;
    Ok(Tuning {
        anchors: Default::default(),
        centre: vec![0.0],
        slow: Factor::diagonal(&[1.0], "the slow steps")?,
        scale: 1.0,
        linear: Linear::new(vec![0.0], vec![0.0], vec![0.0], root)?,
        main: setting.clone(),
        safe: setting,
        shares: [0.0, 1.0, 0.0],
        surrogate: None,
        extra: 0,
        alone: None,
        prices: Prices {
            slow: 1000.0,
            nested: None,
            measured: None,
        },
        trials: Vec::new(),
        notes: Vec::new(),
        remarks: Vec::new(),
        along: 0,
    })
}
