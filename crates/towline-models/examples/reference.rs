//! The reference models of the data sets, written in code: what their parts cost, and how a fit compares with the peers'.
//!
//! `cargo run --release -p towline-models --example reference -- DATA MODEL time|hand|warm [STEPS]` where DATA is the folder with
//! the data sets and MODEL one of pima, rongelap, rongelap_nugget, loaloa, salamander, epil, toenail, rwm5yr.

use std::collections::HashMap;
use std::path::Path;
use std::time::Instant;
use towline::diagnose::{ess_bulk, mean, rhat, sd};
use towline::fast::{CrankNicolson, Hmc};
use towline::frame::{Curvature, Frame, Laplace, Linear};
use towline::{
    Chain, Drag, Factor, FastMove, FastOnly, FrameRule, Kernel, Model, Prior, Rng, Role, Scratch,
    SlowProposal, Target, Warmup,
};
use towline_models::{
    Builder, Covariance, Data, Distance, Family, Fixed, Grouping, LatentGaussian, Places, Process,
    Shape, Value,
};

type Any<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// A table by columns.
struct Table(HashMap<String, Vec<String>>);

impl Table {
    fn read(path: &Path) -> Any<Self> {
        let mut reader = csv::Reader::from_path(path)?;
        let names: Vec<String> = reader.headers()?.iter().map(str::to_string).collect();
        let mut columns = vec![Vec::new(); names.len()];
        for record in reader.records() {
            for (column, value) in columns.iter_mut().zip(record?.iter()) {
                column.push(value.to_string());
            }
        }
        Ok(Self(names.into_iter().zip(columns).collect()))
    }

    fn text(&self, name: &str) -> &[String] {
        &self.0[name]
    }

    fn numbers(&self, name: &str) -> Vec<f64> {
        self.text(name)
            .iter()
            .map(|v| v.parse().expect("a number"))
            .collect()
    }

    fn groups(&self, name: &str) -> (Vec<String>, Vec<usize>) {
        let mut levels = self.text(name).to_vec();
        levels.sort();
        levels.dedup();
        let group = self
            .text(name)
            .iter()
            .map(|v| levels.binary_search(v).expect("a level"))
            .collect();
        (levels, group)
    }
}

fn log_normal(name: &str, log_mean: f64, log_sd: f64) -> Value {
    Value::free(name, Prior::LogNormal { log_mean, log_sd })
}

fn standard(v: &[f64]) -> Vec<f64> {
    let n = v.len() as f64;
    let m = v.iter().sum::<f64>() / n;
    let s = (v.iter().map(|a| (a - m).powi(2)).sum::<f64>() / n).sqrt();
    v.iter().map(|a| (a - m) / s).collect()
}

fn centred(v: &[f64]) -> Vec<f64> {
    let m = v.iter().sum::<f64>() / v.len() as f64;
    v.iter().map(|a| a - m).collect()
}

fn grouping(table: &Table, column: &str, sd: Value) -> Grouping {
    let (levels, group) = table.groups(column);
    Grouping::intercept(column, levels, group, sd)
}

fn exponential(sigma: Value, phi: Value, nugget: Option<Value>) -> Covariance {
    let mut parts = vec![Covariance::Stationary {
        shape: Shape::Exponential,
        inputs: vec![0, 1],
        distance: Distance::Euclidean,
        sd: sigma,
        ranges: vec![phi],
    }];
    parts.extend(nugget.map(|sd| Covariance::Nugget {
        sd,
        inputs: Vec::new(),
    }));
    Covariance::Sum(parts)
}

fn model(data: &Path, name: &str) -> Any<LatentGaussian> {
    let read = |file: &str| Table::read(&data.join(file));
    let builder = match name {
        "pima" => {
            let t = read("gp_pima/pima_train.csv")?;
            let names = ["npreg", "glu", "bp", "skin", "bmi", "ped", "age"];
            let places = Places::new(names.iter().map(|c| standard(&t.numbers(c))).collect());
            let covariance = Covariance::Sum(vec![
                Covariance::Stationary {
                    shape: Shape::SquaredExponential,
                    inputs: (0..7).collect(),
                    distance: Distance::Euclidean,
                    sd: log_normal("eta", 0.0, 1.0),
                    ranges: names
                        .iter()
                        .map(|c| log_normal(&format!("ell_{c}"), 1.0, 1.0))
                        .collect(),
                },
                Covariance::Constant {
                    sd: Value::Fixed(2.0),
                },
            ]);
            Builder::new(Data::new(Family::BernoulliLogit, t.numbers("type")))
                .process(Process::new(covariance, places))
        }
        "rongelap" | "rongelap_nugget" => {
            let t = read("geo_rongelap/rongelap.csv")?;
            let nugget = (name != "rongelap").then(|| log_normal("tau", -2.0, 1.0));
            let covariance = exponential(
                log_normal("sigma", -0.5, 1.0),
                log_normal("phi", 5.0, 1.0),
                nugget,
            );
            let places = Places::new(vec![t.numbers("x"), t.numbers("y")]);
            let time = t.numbers("time");
            Builder::new(
                Data::new(Family::Poisson, t.numbers("counts"))
                    .offset(time.iter().map(|t| t.ln()).collect()),
            )
            .fixed(Fixed::default().with("beta", vec![1.0; time.len()], 0.0, 5.0))
            .process(Process {
                jitter: 1e-9,
                ..Process::new(covariance, places)
            })
        }
        "loaloa" => {
            let t = read("geo_loaloa/loaloa.csv")?;
            let (lon, lat) = (t.numbers("LONGITUDE"), t.numbers("LATITUDE"));
            let k = (lat.iter().sum::<f64>() / lat.len() as f64)
                .to_radians()
                .cos();
            let places = Places::new(vec![
                lon.iter().map(|v| v * k * 111.195).collect(),
                lat.iter().map(|v| v * 111.195).collect(),
            ]);
            let elevation = t.numbers("ELEVATION");
            let above = |from: f64| {
                elevation
                    .iter()
                    .map(|e| (e - from).max(0.0) / 1000.0)
                    .collect::<Vec<_>>()
            };
            let green: Vec<f64> = t.numbers("MAX9901").iter().map(|v| v.min(0.8)).collect();
            let columns = [
                vec![1.0; lon.len()],
                elevation.iter().map(|e| e / 1000.0).collect(),
                above(650.0),
                above(1000.0),
                above(1300.0),
                standard(&green),
                standard(&t.numbers("STDEV9901")),
            ];
            let mut fixed = Fixed::default();
            for (k, column) in columns.into_iter().enumerate() {
                fixed = fixed.with(format!("beta[{k}]"), column, 0.0, 5.0);
            }
            let covariance = exponential(
                log_normal("sigma", 0.0, 1.0),
                log_normal("phi", 4.0, 1.0),
                Some(log_normal("tau", -1.0, 1.0)),
            );
            Builder::new(
                Data::new(Family::BinomialLogit, t.numbers("NO_INF")).trials(t.numbers("NO_EXAM")),
            )
            .fixed(fixed)
            .process(Process {
                jitter: 1e-9,
                ..Process::new(covariance, places)
            })
        }
        "salamander" => {
            let t = read("glmm_salamander/salamander.csv")?;
            let (levels, cross) = t.groups("Cross");
            let mut fixed = Fixed::default();
            for k in 0..levels.len() {
                let column = cross.iter().map(|c| f64::from(u8::from(*c == k))).collect();
                fixed = fixed.with(format!("beta[{k}]"), column, 0.0, 5.0);
            }
            Builder::new(Data::new(Family::BernoulliLogit, t.numbers("Mate")))
                .fixed(fixed)
                .grouping(grouping(&t, "Female", log_normal("sd_female", 0.0, 1.0)))
                .grouping(grouping(&t, "Male", log_normal("sd_male", 0.0, 1.0)))
        }
        "epil" => {
            let t = read("glmm_epil/epil.csv")?;
            let base: Vec<f64> = t.numbers("base").iter().map(|b| (b / 4.0).ln()).collect();
            let trt: Vec<f64> = t
                .text("trt")
                .iter()
                .map(|v| f64::from(u8::from(v == "progabide")))
                .collect();
            let both: Vec<f64> = base.iter().zip(&trt).map(|(a, b)| a * b).collect();
            let age: Vec<f64> = t.numbers("age").iter().map(|v| v.ln()).collect();
            let mut fixed = Fixed::default().with("beta[0]", vec![1.0; base.len()], 0.0, 100.0);
            for (k, column) in [base, trt, both, age, t.numbers("V4")].iter().enumerate() {
                fixed = fixed.with(format!("beta[{}]", k + 1), centred(column), 0.0, 100.0);
            }
            let y = t.numbers("y");
            let rows: Vec<usize> = (0..y.len()).collect();
            let names = rows.iter().map(ToString::to_string).collect();
            Builder::new(Data::new(Family::Poisson, y))
                .fixed(fixed)
                .grouping(grouping(&t, "subject", log_normal("sd_subject", -1.0, 1.0)))
                .grouping(Grouping::intercept(
                    "row",
                    names,
                    rows,
                    log_normal("sd_row", -1.0, 1.0),
                ))
        }
        "toenail" => {
            let t = read("glmm_toenail/toenail.csv")?;
            let y = t
                .text("outcome")
                .iter()
                .map(|o| f64::from(u8::from(o.contains("moderate"))))
                .collect();
            let trt: Vec<f64> = t
                .text("treatment")
                .iter()
                .map(|v| f64::from(u8::from(v == "terbinafine")))
                .collect();
            let time = t.numbers("time");
            let both = trt.iter().zip(&time).map(|(a, b)| a * b).collect();
            let fixed = Fixed::default()
                .with("beta[0]", vec![1.0; time.len()], 0.0, 5.0)
                .with("beta[1]", trt, 0.0, 5.0)
                .with("beta[2]", time, 0.0, 5.0)
                .with("beta[3]", both, 0.0, 5.0);
            Builder::new(Data::new(Family::BernoulliLogit, y))
                .fixed(fixed)
                .grouping(grouping(&t, "patientID", log_normal("sd", 0.0, 1.0)))
        }
        "rwm5yr" => {
            let t = read("glmm_rwm5yr/rwm5yr.csv")?;
            let age: Vec<f64> = t.numbers("age").iter().map(|a| (a - 44.0) / 10.0).collect();
            let mut fixed = Fixed::default()
                .with("beta[0]", vec![1.0; age.len()], 0.0, 5.0)
                .with("beta[1]", t.numbers("outwork"), 0.0, 5.0)
                .with("beta[2]", t.numbers("female"), 0.0, 5.0)
                .with("beta[3]", age, 0.0, 5.0);
            for (k, level) in ["2", "3", "4"].iter().enumerate() {
                let column = t
                    .text("edlevel")
                    .iter()
                    .map(|v| f64::from(u8::from(v == level)))
                    .collect();
                fixed = fixed.with(format!("beta[{}]", k + 4), column, 0.0, 5.0);
            }
            Builder::new(Data::new(Family::Poisson, t.numbers("docvis")))
                .fixed(fixed)
                .grouping(grouping(&t, "id", log_normal("sd", 0.0, 1.0)))
        }
        _ => return Err(format!("there is no reference model `{name}`").into()),
    };
    Ok(builder.build()?)
}

/// Makes sure that a value is computed.
fn black_box_drop<T>(value: T) {
    std::hint::black_box(&value);
}

/// The best of several timings, in microseconds.
fn best(times: usize, mut f: impl FnMut()) -> f64 {
    (0..times)
        .map(|_| {
            let begin = Instant::now();
            f();
            begin.elapsed().as_secs_f64() * 1e6
        })
        .fold(f64::INFINITY, f64::min)
}

fn time(model: &LatentGaussian, x: &[f64]) -> Any<()> {
    let mut scratch = Scratch::default();
    let cache = model.prepare(x)?.ok_or("no mass")?;
    let own = model
        .own_frame(&cache, &vec![0.0; model.fast_dim()], &mut scratch)
        .ok_or("no frame")?;
    let (centre, root) = (&own.centre, &own.root);
    let near: Vec<f64> = x.iter().map(|v| v + 0.1).collect();
    let there = model.prepare(&near)?.ok_or("no mass")?;
    let again = model
        .own_frame(&there, centre, &mut scratch)
        .ok_or("no frame")?;
    let mut g = vec![0.0; centre.len()];
    println!("slow {} fast {}", model.slow_dim(), model.fast_dim());
    println!(
        "prepare      {:9.1} µs",
        best(20, || black_box_drop(model.prepare(&near)))
    );
    println!(
        "own frame    {:9.1} µs from a mode 0.1 away ({} evaluations), {} from zero",
        best(20, || black_box_drop(model.own_frame(
            &there,
            centre,
            &mut scratch
        ))),
        again.evaluations,
        own.evaluations
    );
    println!(
        "log density  {:9.1} µs",
        best(200, || black_box_drop(model.log_density_in(
            &cache,
            centre,
            &mut scratch
        )))
    );
    println!(
        "gradient     {:9.1} µs",
        best(200, || black_box_drop(model.gradient(
            &cache,
            centre,
            &mut g,
            &mut scratch
        )))
    );
    println!(
        "frame        {:9.1} µs",
        best(200, || root.apply(centre, &mut g))
    );
    let many = centre.repeat(16);
    let mut out = vec![0.0; 16];
    println!(
        "batch of 16  {:9.1} µs",
        best(50, || model.log_density_batch(
            &cache,
            &many,
            &mut out,
            &mut scratch
        ))
    );
    Ok(())
}

/// Where to begin by hand: the top of the estimated marginal, by coordinate search, and its widths.
fn top(model: &LatentGaussian) -> Any<(Vec<f64>, Vec<f64>, Vec<f64>)> {
    let mut rng = Rng::stream(11, 0);
    let (mut x, mut centre) = model.start(&mut rng)?;
    let mut scratch = Scratch::default();
    let mut height = |x: &[f64], centre: &mut Vec<f64>| -> f64 {
        let Ok(Some(cache)) = model.prepare(x) else {
            return f64::NEG_INFINITY;
        };
        let Some(own) = model.own_frame(&cache, centre, &mut scratch) else {
            return f64::NEG_INFINITY;
        };
        *centre = own.centre;
        own.log_marginal
    };
    let mut best = height(&x, &mut centre);
    let mut steps = vec![0.5; x.len()];
    for _ in 0..25 {
        for k in 0..x.len() {
            let old = x[k];
            let mut moved = false;
            for sign in [1.0, -1.0] {
                x[k] = old + sign * steps[k];
                let value = height(&x, &mut centre);
                if value > best {
                    best = value;
                    moved = true;
                    break;
                }
                x[k] = old;
            }
            steps[k] *= if moved { 1.6 } else { 0.5 };
        }
    }
    let widths = (0..x.len())
        .map(|k| {
            let mut at = |h: f64| {
                let mut x = x.clone();
                x[k] += h;
                height(&x, &mut centre)
            };
            let bend = -(at(0.2) + at(-0.2) - 2.0 * best) / 0.04;
            1.0 / bend.max(0.5).sqrt()
        })
        .collect();
    height(&x, &mut centre);
    Ok((x, centre, widths))
}

fn main() -> Any<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [data, name, what, ..] = arguments.as_slice() else {
        return Err("reference DATA MODEL time|hand|warm [STEPS]".into());
    };
    let steps: u64 = arguments.get(3).map_or(Ok(2000), |s| s.parse())?;
    let model = model(Path::new(data), name)?;
    if what == "time" {
        let (x, _, _) = top(&model)?;
        println!("x {x:.3?}");
        return time(&model, &x);
    }
    let begin = Instant::now();
    let columns = model.columns();
    let kept: Vec<usize> = (0..columns.len())
        .filter(|k| columns[*k].role != Role::Latent)
        .collect();
    let mut chains: Vec<Vec<Vec<f64>>> = vec![Vec::new(); kept.len()];
    let mut warm_seconds = 0.0;
    for k in 0..2 {
        let mut rng = Rng::stream(21, k);
        let from = Instant::now();
        let (kernel, x, y): (Kernel, Vec<f64>, Vec<f64>) = if what == "warm" {
            let (x, y) = model.start(&mut rng)?;
            let warm = Warmup::default().run(&model, &x, &y, &mut rng)?;
            println!(
                "frame {:?}, n {}, shares {:?}, extra {}",
                warm.tuning.main.frame, warm.tuning.main.n, warm.tuning.shares, warm.tuning.extra
            );
            for trial in &warm.tuning.trials {
                println!("  {trial:?}");
            }
            (warm.tuning.kernel()?, warm.x, warm.y)
        } else {
            let (x, centre, widths) = top(&model)?;
            let p = x.len();
            let root = Factor::diagonal(&vec![1.0; centre.len()], "the frame")?;
            let linear = Linear::new(x.clone(), centre.clone(), vec![0.0; p * centre.len()], root)?;
            let frame = FrameRule::Laplace(Box::new(Laplace::new(linear, Curvature::Own)));
            let scale = 2.38 / (p as f64).sqrt();
            let steps: Vec<f64> = widths.iter().map(|w| w * scale).collect();
            let number = |k: usize, or: f64| {
                arguments
                    .get(k)
                    .map_or(or, |v| v.parse().expect("a number"))
            };
            let (n, beta) = (number(4, 5.0) as usize, number(5, 0.3));
            let (step, leaps, extra) = (
                number(6, 0.0),
                number(7, 4.0) as usize,
                number(8, 1.0) as usize,
            );
            let inner = if step > 0.0 {
                FastMove::Hmc(Hmc::new(
                    step,
                    leaps,
                    Factor::diagonal(&vec![1.0; centre.len()], "momenta")?,
                ))
            } else {
                FastMove::CrankNicolson(CrankNicolson::new(beta))
            };
            let drag = Drag::new(n, SlowProposal::random_walk(&steps)?, inner.clone())?
                .in_frame(frame.clone());
            let fast = FastOnly::new(inner, extra).in_frame(frame);
            // From the frame, not from its centre: at the very top of many variables HMC accepts nothing.
            let cache = model.prepare(&x)?.ok_or("no mass")?;
            let own = model
                .own_frame(&cache, &centre, &mut Scratch::default())
                .ok_or("no frame")?;
            let z: Vec<f64> = centre.iter().map(|_| rng.normal()).collect();
            let mut y = centre.clone();
            Frame::Affine {
                centre: own.centre,
                root: own.root,
            }
            .to_y(&z, &mut y);
            (Kernel::Cycle(vec![drag.into(), fast.into()]), x, y)
        };
        warm_seconds += from.elapsed().as_secs_f64();
        let mut chain = Chain::new(&model, kernel, &x, &y, rng)?;
        let mut row = vec![0.0; columns.len()];
        let mut rows: Vec<Vec<f64>> = vec![Vec::new(); kept.len()];
        for _ in 0..steps {
            chain.advance()?;
            model.report(chain.x(), chain.y(), chain.cache(), &mut row);
            for (out, k) in rows.iter_mut().zip(&kept) {
                let log = columns[*k].role == Role::Slow && columns[*k].lower == Some(0.0);
                out.push(if log { row[*k].ln() } else { row[*k] });
            }
        }
        let totals = chain.totals();
        println!(
            "chain {k}: accepted {:.3} inner {:.3} slow {} fast {}",
            totals.outer_acceptance(),
            totals.inner_accepted as f64 / totals.inner_proposed.max(1) as f64,
            totals.slow_evaluations,
            totals.fast_evaluations
        );
        for (all, one) in chains.iter_mut().zip(rows) {
            all.push(one);
        }
    }
    let seconds = begin.elapsed().as_secs_f64();
    println!("{name}: {seconds:.1} s, of which warm-up {warm_seconds:.1}");
    let mut worst = f64::INFINITY;
    for (column, draws) in kept.iter().zip(&chains) {
        let slices: Vec<&[f64]> = draws.iter().map(Vec::as_slice).collect();
        let all: Vec<f64> = draws.concat();
        let ess = ess_bulk(&slices);
        worst = worst.min(ess);
        println!(
            "{:14} {:9.4} ± {:7.4}  ess {:7.0}  rhat {:.4}  per second {:8.2}",
            columns[*column].name,
            mean(&[&all]),
            sd(&[&all]),
            ess,
            rhat(&slices),
            ess / seconds
        );
    }
    println!("worst {:.2} effective draws per second", worst / seconds);
    Ok(())
}
