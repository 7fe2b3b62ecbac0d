//! What the general path must have in common with the others, and with dense arithmetic.

use crate::latent::{At, Latent};
use crate::resolve::Resolved;
use crate::spec::ModelFile;
use crate::table::Table;
use crate::{
    Builder, Covariance, Data, Distance, Family, Fixed, Grouping, LatentGaussian, Places, Process,
    Shape, Value,
};
use towline::{Model, OwnFrame, Prior, Rng, Scratch, Target};

/// Data for every component, with a graph of two islands and an area alone.
fn table() -> Table {
    let mut text = String::from("y,t,g,a,b,month,area,id\n");
    for i in 0..40u32 {
        let a = f64::from(i * 37 % 40) / 40.0;
        let b = f64::from(i * 17 % 40) / 40.0 + 0.001 * f64::from(i);
        let area = ["p", "q", "r", "s", "u", "v", "w"][(i % 7) as usize];
        text += &format!(
            "{},{},g{},{a},{b},{},{area},{area}\n",
            i % 4,
            i % 13,
            i % 3,
            i % 12 + 1
        );
    }
    Table::parse("d.csv", &text).unwrap()
}

/// A folder with the files that components read, made once for all tests.
fn folder() -> &'static std::path::Path {
    static FOLDER: std::sync::OnceLock<std::path::PathBuf> = std::sync::OnceLock::new();
    FOLDER.get_or_init(|| {
        let name = format!("towline-components-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let graph = "area,neighbour\np,q\nq,r\nr,p\ns,u\nu,v\n";
        std::fs::write(folder.join("edges.csv"), graph).unwrap();
        let precision = "a,b,value\np,p,2\nq,q,2\nr,r,2\ns,s,1\nu,u,1.5\nv,v,1\nw,w,1\np,q,-1\nq,r,-0.5\ns,u,0.25\n";
        std::fs::write(folder.join("precision.csv"), precision).unwrap();
        folder
    })
}

fn resolve(terms: &str) -> Resolved {
    let text = format!(
        "family = \"poisson\"\nformula = '''y ~ {terms}'''\n[data]\nfile = \"{}\"\n",
        folder().join("d.csv").display()
    );
    let model = ModelFile::parse("m.toml", &text).unwrap();
    Resolved::new(&model, &table()).unwrap_or_else(|error| panic!("{terms}: {error}"))
}

/// Every component, and combinations.
const TERMS: [&str; 23] = [
    "rw1(t)",
    "rw2(t)",
    "ar1(t)",
    "seasonal(month, 12)",
    "seasonal(t, 4)",
    "s(a, k = 7)",
    "te(a, b, k = 5)",
    "areal(area, graph = \"edges.csv\", model = \"icar\")",
    "areal(area, graph = \"edges.csv\", model = \"car\")",
    "areal(area, graph = \"edges.csv\")",
    "spde(a, b, edge = 0.4)",
    "nngp(a, b, m = 3)",
    "known(id, precision = \"precision.csv\")",
    "areal(area, graph = \"edges.csv\"):rw1(t)",
    "rw1(month):areal(area, graph = \"edges.csv\", model = \"bym2\")",
    "spde(a, b, edge = 0.7):ar1(month)",
    "nngp(a, b, m = 3):rw2(month)",
    "known(id, precision = \"precision.csv\"):ar1(t, by = g)",
    "areal(area, graph = \"edges.csv\") + rw1(t) + areal(area, graph = \"edges.csv\"):rw1(t) + (1 | g) + gp(a)",
    "gp(a, b) + (1 | g)",
    "gp(a) + rw1(t, by = g) + (a | g)",
    "0 + rw2(t) + areal(area, graph = \"edges.csv\") + (1 | g)",
    "ar1(t, by = g) + s(a) + gp(a, b) + (1 + b | g) + areal(area, graph = \"edges.csv\", model = \"icar\")",
];

fn parts(model: &LatentGaussian, x: &[f64]) -> (crate::Cache, OwnFrame) {
    let cache = model.prepare(x).unwrap().unwrap();
    let zero = vec![0.0; model.fast_dim()];
    let mode = model.mode_frame(&cache, &zero).unwrap();
    (cache, mode)
}

/// x in the middle of things, different in every coordinate.
fn point(model: &LatentGaussian) -> Vec<f64> {
    (0..model.slow_dim())
        .map(|k| -0.3 + 0.17 * k as f64)
        .collect()
}

#[test]
fn gradients_are_those_of_the_density_for_every_component() {
    for terms in TERMS {
        let model = resolve(terms).parts.build().unwrap();
        let cache = model.prepare(&point(&model)).unwrap().unwrap();
        let mut rng = Rng::stream(3, 0);
        let y: Vec<f64> = (0..model.fast_dim()).map(|_| 0.5 * rng.normal()).collect();
        let mut gradient = vec![0.0; y.len()];
        let mut scratch = Scratch::default();
        model
            .gradient(&cache, &y, &mut gradient, &mut scratch)
            .unwrap();
        for k in 0..y.len() {
            let at = |step: f64| {
                let mut there = y.clone();
                there[k] += step;
                model.log_density(&cache, &there)
            };
            let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
            let error = (slope - gradient[k]).abs();
            assert!(
                error < 1e-4 * (1.0 + slope.abs()),
                "{terms} {k}: {slope} {}",
                gradient[k]
            );
        }
    }
}

#[test]
fn frames_are_the_mode_and_the_root_of_the_inverse_curvature_for_every_component() {
    for terms in TERMS {
        let model = resolve(terms).parts.build().unwrap();
        let (cache, own) = parts(&model, &point(&model));
        let dim = model.fast_dim();
        let mut scratch = Scratch::default();
        let slope = |y: &[f64], scratch: &mut Scratch| {
            let mut gradient = vec![0.0; dim];
            model.gradient(&cache, y, &mut gradient, scratch).unwrap();
            gradient
        };
        // In units of the conditional's standard deviations: nodes have any.
        let (mut at_mode, mut seen) = (slope(&own.centre, &mut scratch), vec![0.0; dim]);
        let towline::linalg::Root::Own(map) = &own.root else {
            panic!("{terms}: no root of its own");
        };
        map.apply_transposed(&mut at_mode, &mut seen);
        let far = seen.iter().fold(0.0f64, |far, g| far.max(g.abs()));
        assert!(far < 1e-4, "{terms}: {far}");
        // −∂²ℓ along L e_k, seen through Lᵀ, is e_k; and the maps undo each other.
        for k in (0..dim).step_by(1 + dim / 12) {
            let mut z = vec![0.0; dim];
            z[k] = 1.0;
            let mut along = vec![0.0; dim];
            own.root.apply(&z, &mut along);
            let there = |step: f64| -> Vec<f64> {
                own.centre
                    .iter()
                    .zip(&along)
                    .map(|(c, a)| c + step * a)
                    .collect()
            };
            let (up, down) = (
                slope(&there(1e-4), &mut scratch),
                slope(&there(-1e-4), &mut scratch),
            );
            let mut bend: Vec<f64> = up.iter().zip(&down).map(|(u, d)| (d - u) / 2e-4).collect();
            let mut image = vec![0.0; dim];
            map.apply_transposed(&mut bend, &mut image);
            for (i, value) in image.iter().enumerate() {
                let expected = f64::from(u8::from(i == k));
                assert!((value - expected).abs() < 2e-4, "{terms} {i} {k}: {value}");
            }
            let mut back = vec![0.0; dim];
            map.solve(&mut along, &mut back);
            for (i, value) in back.iter().enumerate() {
                let expected = f64::from(u8::from(i == k));
                assert!((value - expected).abs() < 1e-7, "{terms} {i} {k}: {value}");
            }
        }
        // ln |det L| by dense elimination of L itself.
        let mut columns = vec![0.0; dim * dim];
        for k in 0..dim {
            let mut z = vec![0.0; dim];
            z[k] = 1.0;
            own.root.apply(&z, &mut columns[k * dim..(k + 1) * dim]);
        }
        let determinant = ln_determinant(&mut columns, dim);
        assert!(
            (determinant - map.log_det()).abs() < 1e-6,
            "{terms}: {determinant} {}",
            map.log_det()
        );
    }
}

#[test]
fn determinants_that_components_know_are_those_of_their_precision() {
    let mut known = 0;
    for terms in TERMS {
        let model = resolve(terms).parts.build().unwrap();
        let Latent::Additive(additive) = &model.latent else {
            continue;
        };
        let cache = model.prepare(&point(&model)).unwrap().unwrap();
        let At::Additive(at) = &cache.at else {
            panic!("{terms}: not on the general path")
        };
        for (part, theta) in additive.parts.iter().zip(&at.theta) {
            let precision = part.precision(theta);
            let Some(told) = precision.log_root else {
                continue;
            };
            let found = part.ordered.factor(&precision.values).unwrap().log_det();
            assert!((told - found).abs() < 1e-7, "{terms}: {told} {found}");
            known += 1;
        }
    }
    assert!(known >= 10, "only {known} know theirs");
}

fn ln_determinant(a: &mut [f64], n: usize) -> f64 {
    let mut sum = 0.0;
    for c in 0..n {
        let pivot = (c..n)
            .max_by(|i, j| a[c * n + i].abs().total_cmp(&a[c * n + j].abs()))
            .unwrap();
        for k in 0..n {
            a.swap(k * n + c, k * n + pivot);
        }
        sum += a[c * n + c].abs().ln();
        for i in c + 1..n {
            let times = a[c * n + i] / a[c * n + c];
            for k in c..n {
                a[k * n + i] -= times * a[k * n + c];
            }
        }
    }
    sum
}

#[test]
fn a_reported_draw_comes_back_for_every_component() {
    for terms in TERMS {
        let model = resolve(terms).parts.build().unwrap();
        let mut rng = Rng::stream(5, 0);
        let (x, y, _) = model.simulate(&mut rng).unwrap();
        let cache = model.prepare(&x).unwrap().unwrap();
        let mut row = vec![0.0; model.columns().len()];
        model.report(&x, &y, &cache, &mut row);
        let (_, back) = model.recover(&row).unwrap().unwrap();
        for (k, (a, b)) in y.iter().zip(&back).enumerate() {
            assert!((a - b).abs() < 1e-5, "{terms} {k}: {a} {b}");
        }
    }
}

#[test]
fn predictions_at_the_fitted_rows_are_their_predictors_for_every_component() {
    for terms in TERMS {
        let resolved = resolve(terms);
        let model = resolved.parts.build().unwrap();
        let mut rng = Rng::stream(6, 0);
        let (x, y, _) = model.simulate(&mut rng).unwrap();
        let cache = model.prepare(&x).unwrap().unwrap();
        let (new, _) = resolved.rows(&table()).unwrap();
        let predicted = model.predict(&cache, &y, &new, crate::What::Row).unwrap();
        let eta = model.predictor_at(&cache, &y);
        for (k, (a, b)) in predicted.mean.iter().zip(&eta).enumerate() {
            assert!(
                (a - b).abs() < 1e-5 * (1.0 + b.abs()),
                "{terms} {k}: {a} {b}"
            );
            assert!(predicted.variance[k].abs() < 1e-6, "{terms}");
        }
    }
}

#[test]
fn what_intrinsic_components_leave_open_is_held_at_zero() {
    for terms in TERMS {
        let model = resolve(terms).parts.build().unwrap();
        let (Latent::Additive(additive), x) = (&model.latent, point(&model)) else {
            panic!("{terms} is not on the general path");
        };
        let cache = model.prepare(&x).unwrap().unwrap();
        let At::Additive(at) = &cache.at else {
            panic!()
        };
        let mut rng = Rng::stream(8, 0);
        let y: Vec<f64> = (0..model.fast_dim()).map(|_| rng.normal()).collect();
        for (k, part) in additive.parts.iter().enumerate() {
            let u = additive.effects_of(at, k, &y);
            for vector in &part.component.structure.nodes().null {
                let along: f64 = vector.iter().map(|(node, v)| v * u[*node as usize]).sum();
                assert!(along.abs() < 1e-8, "{terms}: {along}");
            }
        }
    }
}

/// Groups beside a process whose standard deviation is next to nothing are the groups of the sparse path.
#[test]
fn the_general_path_agrees_with_the_sparse_one() {
    let rows = 24;
    let wave = |step: f64| -> Vec<f64> { (0..rows).map(|i| (i as f64 * step).sin()).collect() };
    let free = |name: &str| Value::free(name, Prior::HalfNormal { scale: 1.0 });
    let grouping = Grouping {
        name: "g".into(),
        levels: (0..4).map(|k| k.to_string()).collect(),
        group: (0..rows).map(|i| i % 4).collect(),
        effects: vec!["Intercept".into(), "x".into()],
        columns: vec![vec![1.0; rows], wave(1.1)],
        sds: vec![free("a"), free("b")],
        correlation: Some(2.0),
    };
    let start = || {
        Builder::new(Data::new(
            Family::Poisson,
            (0..rows).map(|i| (i % 3) as f64).collect(),
        ))
        .fixed(Fixed::default().with("Intercept", vec![1.0; rows], 0.2, 1.5))
        .grouping(grouping.clone())
    };
    let sparse = start().build().unwrap();
    let covariance = Covariance::Stationary {
        shape: Shape::Exponential,
        inputs: vec![0],
        distance: Distance::Euclidean,
        sd: Value::Fixed(1e-6),
        ranges: vec![Value::Fixed(1.0)],
    };
    let mut process = Process::new(
        covariance,
        Places::new(vec![(0..rows).map(|i| i as f64).collect()]),
    );
    process.jitter = 1e-14;
    let both = start().process(process).build().unwrap();
    let x = [0.1, -0.4, 0.3];
    let (_, a) = parts(&sparse, &x);
    let (_, b) = parts(&both, &x);
    assert!(
        (a.log_marginal - b.log_marginal).abs() < 1e-5,
        "{} {}",
        a.log_marginal,
        b.log_marginal
    );
}

#[test]
fn a_factor_that_memory_cannot_hold_is_refused_before_it_is_made() {
    assert!(super::size::refuse_too_large(1_000_000, "field").is_ok());
    let error = super::size::refuse_too_large(300_000_000, "field")
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("2.4 GB") && error.contains("coarser mesh"),
        "{error}"
    );
}

#[test]
fn modes_of_every_component_are_foretold_and_frames_do_not_depend_on_the_order() {
    for terms in TERMS {
        let build = || resolve(terms).parts.build().unwrap();
        let (model, again) = (build(), build());
        let zero = vec![0.0; model.fast_dim()];
        let own = |model: &LatentGaussian, x: &[f64]| {
            let cache = model.prepare(x).unwrap().unwrap();
            let own = model
                .own_frame(&cache, &zero, &mut Scratch::default())
                .unwrap();
            (own, model.mode_frame(&cache, &zero).unwrap())
        };
        let middle = point(&model);
        let places = [0.0, 0.05, -0.1].map(|by| middle.iter().map(|x| x + by).collect::<Vec<_>>());
        let bits = |frame: &OwnFrame| -> Vec<u64> {
            let numbers = frame.centre.iter().chain([&frame.log_marginal]);
            numbers.map(|v| v.to_bits()).collect()
        };
        let mut seen: Vec<Vec<u64>> = Vec::new();
        for x in &places {
            let (own, searched) = own(&model, x);
            let error = own.log_marginal - searched.log_marginal;
            assert!(error.abs() < 3e-3, "{terms}: {error}");
            seen.push(bits(&own));
        }
        for (x, seen) in places.iter().zip(&seen).rev() {
            assert_eq!(&bits(&own(&again, x).0), seen, "{terms}");
        }
    }
}
