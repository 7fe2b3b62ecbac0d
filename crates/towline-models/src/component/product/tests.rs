//! Products beside dense arithmetic: covariances, marginal likelihoods, new places.

use crate::component::{Input, Point, Structure};
use crate::latent::{At, Latent};
use crate::resolve::Resolved;
use crate::spec::ModelFile;
use crate::table::Table;
use crate::triangle::Triangle;
use crate::{LatentGaussian, vector::square};
use std::sync::Arc;
use towline::{Scratch, Target};

const AREAS: [&str; 7] = ["p", "q", "r", "s", "u", "v", "w"];
/// Two islands, and an area alone.
const EDGES: [[usize; 2]; 5] = [[0, 1], [1, 2], [0, 2], [3, 4], [4, 5]];
const PARTS: [&[usize]; 3] = [&[0, 1, 2], &[3, 4, 5], &[6]];
const TIMES: usize = 5;
const STEPS: usize = 9;

/// Every area at some of the times; two further times.
fn table() -> Table {
    let mut text = String::from("y,t,step,area,a,b\n");
    for i in 0..45usize {
        let (a, b) = (i * 7 % 45, i * 11 % 45);
        text += &format!(
            "{},{},{},{},{},{}\n",
            (i as f64 * 0.7).sin(),
            i % TIMES,
            i * 2 % STEPS,
            AREAS[i % 7],
            a as f64 / 45.0,
            b as f64 / 45.0
        );
    }
    Table::parse("d.csv", &text).unwrap()
}

fn resolve(terms: &str) -> Resolved {
    static FOLDER: std::sync::OnceLock<std::path::PathBuf> = std::sync::OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let name = format!("towline-products-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let pairs = EDGES.map(|[a, b]| format!("{},{}\n", AREAS[a], AREAS[b]));
        std::fs::write(folder.join("edges.csv"), format!("a,b\n{}", pairs.concat())).unwrap();
        folder
    });
    let text = format!(
        "family = \"gaussian\"\nformula = '''y ~ {terms}'''\n[data]\nfile = \"{}\"\n",
        folder.join("d.csv").display()
    );
    let model = ModelFile::parse("m.toml", &text).unwrap();
    Resolved::new(&model, &table()).unwrap_or_else(|error| panic!("{terms}: {error}"))
}

/// A square matrix, row by row.
type Dense = Vec<f64>;

fn solve(matrix: &[f64], n: usize, right: &[f64]) -> Dense {
    let inverse = crate::component::nodes::inverse(matrix, n);
    product(&inverse, n, n, right, right.len() / n)
}

fn product(a: &[f64], rows: usize, inner: usize, b: &[f64], columns: usize) -> Dense {
    let mut out = vec![0.0; rows * columns];
    for i in 0..rows {
        for k in 0..inner {
            for j in 0..columns {
                out[i * columns + j] += a[i * inner + k] * b[k * columns + j];
            }
        }
    }
    out
}

fn transposed(a: &[f64], rows: usize, columns: usize) -> Dense {
    (0..rows * columns)
        .map(|c| a[(c % rows) * columns + c / rows])
        .collect()
}

fn kronecker(a: &[f64], n: usize, b: &[f64], m: usize) -> Dense {
    let size = n * m;
    let entry = |c: usize| {
        let (i, j) = (c / size, c % size);
        a[(i / m) * n + j / m] * b[(i % m) * m + j % m]
    };
    (0..size * size).map(entry).collect()
}

/// The covariance of a Gaussian with an improper precision, given that some sums (row by row) are zero: the sums are given a
/// precision, which makes it proper, and then conditioned on.
fn conditioned(q: &[f64], n: usize, sums: &[Vec<f64>]) -> Dense {
    let k = sums.len();
    let a: Vec<f64> = sums.concat();
    let mut proper = q.to_vec();
    for sum in sums {
        for i in 0..n {
            for j in 0..n {
                proper[i * n + j] += sum[i] * sum[j];
            }
        }
    }
    let unit: Dense = (0..n * n)
        .map(|c| f64::from(u8::from(c / n == c % n)))
        .collect();
    let all = solve(&proper, n, &unit);
    let across = product(&all, n, n, &transposed(&a, k, n), k);
    let between = product(&a, k, n, &across, k);
    let taken = product(
        &across,
        n,
        k,
        &solve(&between, k, &transposed(&across, n, k)),
        n,
    );
    all.iter().zip(taken).map(|(a, t)| a - t).collect()
}

fn typical(covariance: &[f64], n: usize, members: &[usize]) -> f64 {
    let logs = members.iter().map(|k| covariance[k * n + k].ln());
    (logs.sum::<f64>() / members.len() as f64).exp()
}

fn walk_precision(n: usize, order: usize) -> Dense {
    let step: &[f64] = if order == 1 {
        &[-1.0, 1.0]
    } else {
        &[1.0, -2.0, 1.0]
    };
    let mut q = vec![0.0; n * n];
    for k in 0..n - order {
        for (a, v) in step.iter().enumerate() {
            for (b, w) in step.iter().enumerate() {
                q[(k + a) * n + k + b] += v * w;
            }
        }
    }
    q
}

fn walk_sums(n: usize, order: usize) -> Vec<Vec<f64>> {
    let line = (0..n).map(|k| k as f64 - (n as f64 - 1.0) / 2.0).collect();
    [vec![1.0; n], line][..order].to_vec()
}

/// Scaled to a typical variance of one.
fn walk(n: usize, order: usize) -> (Dense, Vec<Vec<f64>>) {
    let (mut q, sums) = (walk_precision(n, order), walk_sums(n, order));
    let all: Vec<usize> = (0..n).collect();
    let scale = typical(&conditioned(&q, n, &sums), n, &all);
    q.iter_mut().for_each(|v| *v *= scale);
    (q, sums)
}

/// Each island is scaled and sums to zero; the area alone has variance one.
fn icar() -> (Dense, Vec<Vec<f64>>) {
    let n = AREAS.len();
    let mut q = vec![0.0; n * n];
    for [i, j] in EDGES {
        q[i * n + i] += 1.0;
        q[j * n + j] += 1.0;
        q[i * n + j] -= 1.0;
        q[j * n + i] -= 1.0;
    }
    q[6 * n + 6] = 1.0;
    let indicator = |part: &[usize]| -> Vec<f64> {
        (0..n)
            .map(|k| f64::from(u8::from(part.contains(&k))))
            .collect()
    };
    let sums = vec![indicator(PARTS[0]), indicator(PARTS[1])];
    let covariance = conditioned(&q, n, &sums);
    for part in &PARTS[..2] {
        let scale = typical(&covariance, n, part);
        for i in *part {
            for j in *part {
                q[i * n + j] *= scale;
            }
        }
    }
    (q, sums)
}

fn autoregression(n: usize, rho: f64) -> Dense {
    (0..n * n)
        .map(|c| rho.powi((c / n).abs_diff(c % n) as i32))
        .collect()
}

/// Sums of a product: those of either factor for every node of the other.
fn sums(first: &[Vec<f64>], n: usize, second: &[Vec<f64>], m: usize) -> Vec<Vec<f64>> {
    let mut all = Vec::new();
    for v in first {
        for j in 0..m {
            all.push(
                (0..n * m)
                    .map(|c| if c % m == j { v[c / m] } else { 0.0 })
                    .collect(),
            );
        }
    }
    for v in second {
        for i in 0..n {
            let mut row = vec![0.0; n];
            row[i] = 1.0;
            all.push((0..n * m).map(|c| row[c / m] * v[c % m]).collect());
        }
    }
    all
}

/// The covariance of the only component of a model at x, by its reported values, and the values of its parameters.
fn covariance_of(model: &LatentGaussian, x: &[f64]) -> (Dense, usize) {
    let Latent::Additive(additive) = &model.latent else {
        panic!("not on the general path");
    };
    let cache = model.prepare(x).unwrap().unwrap();
    let At::Additive(at) = &cache.at else {
        panic!()
    };
    let structure = &additive.parts[0].component.structure;
    let n = structure.reports();
    let mut covariance = vec![0.0; n * n];
    for k in additive.border()..additive.dim() {
        let mut y = vec![0.0; additive.dim()];
        y[k] = 1.0;
        additive.drawn(at, &mut y);
        let u = additive.effects_of(at, 0, &y);
        let mut reported = vec![0.0; n];
        structure.report(&u, &mut reported);
        for i in 0..n {
            for j in 0..n {
                covariance[i * n + j] += reported[i] * reported[j];
            }
        }
    }
    (covariance, n)
}

fn parameter(model: &LatentGaussian, x: &[f64], name: &str) -> f64 {
    let k = model.slow.iter().position(|s| s.name == name);
    let k = k.unwrap_or_else(|| panic!("no {name}"));
    model.slow[k].value(x[k])
}

fn assert_same(found: &[f64], known: &[f64], what: &str) {
    assert_eq!(found.len(), known.len(), "{what}");
    for (k, (a, b)) in found.iter().zip(known).enumerate() {
        assert!((a - b).abs() < 1e-8, "{what} {k}: {a} {b}");
    }
}

const AREAL: &str = "areal(area, graph = \"edges.csv\")";

fn point(model: &LatentGaussian) -> Vec<f64> {
    (0..model.slow_dim())
        .map(|k| 0.3 - 0.2 * k as f64)
        .collect()
}

/// (Formula, the names of its parameters) and the dense covariance at a point.
fn products() -> Vec<(String, Dense)> {
    let ((areal, parts), (short, mean)) = (icar(), walk(TIMES, 1));
    let (long, lines) = walk(STEPS, 2);
    let (n, m) = (AREAS.len(), TIMES);
    let of = |terms: &str| {
        let model = resolve(terms).parts.build().unwrap();
        let x = point(&model);
        (model, x)
    };
    let scaled = |mut k: Dense, sd: f64| {
        k.iter_mut().for_each(|v| *v *= sd * sd);
        k
    };
    let mut all = Vec::new();
    // Both intrinsic, either order, either the larger; one with lines.
    let terms = format!("{AREAL}:rw1(t)");
    let (model, x) = of(&terms);
    let k = conditioned(
        &kronecker(&areal, n, &short, m),
        n * m,
        &independent(sums(&parts, n, &mean, m)),
    );
    all.push((
        terms,
        scaled(k, parameter(&model, &x, "sd_areal_area_rw1_t")),
    ));
    let terms = format!("rw1(t):{AREAL}");
    let (model, x) = of(&terms);
    let k = conditioned(
        &kronecker(&short, m, &areal, n),
        n * m,
        &independent(sums(&mean, m, &parts, n)),
    );
    all.push((
        terms,
        scaled(k, parameter(&model, &x, "sd_rw1_t_areal_area")),
    ));
    let terms = format!("rw2(step):{AREAL}");
    let (model, x) = of(&terms);
    let k = conditioned(
        &kronecker(&long, STEPS, &areal, n),
        STEPS * n,
        &independent(sums(&lines, STEPS, &parts, n)),
    );
    all.push((
        terms,
        scaled(k, parameter(&model, &x, "sd_rw2_step_areal_area")),
    ));
    // One intrinsic: the smaller, and the larger.
    let terms = "rw1(t):ar1(step)".to_string();
    let (model, x) = of(&terms);
    let rho = parameter(&model, &x, "rho_ar1_step_rw1_t");
    let k = kronecker(
        &conditioned(&short, m, &mean),
        m,
        &autoregression(STEPS, rho),
        STEPS,
    );
    all.push((terms, scaled(k, parameter(&model, &x, "sd_rw1_t_ar1_step"))));
    let terms = format!("{AREAL}:ar1(t)");
    let (model, x) = of(&terms);
    let rho = parameter(&model, &x, "rho_ar1_t_areal_area");
    let k = kronecker(
        &conditioned(&areal, n, &parts),
        n,
        &autoregression(m, rho),
        m,
    );
    all.push((
        terms,
        scaled(k, parameter(&model, &x, "sd_areal_area_ar1_t")),
    ));
    // None.
    let terms = "ar1(t):ar1(step)".to_string();
    let (model, x) = of(&terms);
    let k = kronecker(
        &autoregression(m, parameter(&model, &x, "rho_ar1_t_ar1_step")),
        m,
        &autoregression(STEPS, parameter(&model, &x, "rho_ar1_step_ar1_t")),
        STEPS,
    );
    all.push((terms, scaled(k, parameter(&model, &x, "sd_ar1_t_ar1_step"))));
    all
}

/// Those of some vectors that are no combinations of others before them.
fn independent(all: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let mut basis: Vec<Vec<f64>> = Vec::new();
    for mut v in all {
        for u in &basis {
            let along = crate::vector::inner(u, &v);
            v.iter_mut().zip(u).for_each(|(v, u)| *v -= along * u);
        }
        let length = square(&v).sqrt();
        if length > 1e-9 {
            v.iter_mut().for_each(|v| *v /= length);
            basis.push(v);
        }
    }
    basis
}

#[test]
fn a_product_is_the_dense_one_conditioned_on_its_constraints() {
    for (terms, known) in products() {
        let model = resolve(&terms).parts.build().unwrap();
        let (found, _) = covariance_of(&model, &point(&model));
        assert_same(&found, &known, &terms);
    }
}

#[test]
fn fewer_constraints_are_left_than_a_product_has() {
    let left = |terms: &str| {
        let resolved = resolve(terms);
        resolved.parts.components[0].structure.nodes().null.len()
    };
    // Of 2 islands × 5 times and 7 areas × 1 mean, 15 in all: one for each island and free time.
    assert_eq!(left(&format!("{AREAL}:rw1(t)")), 2 * (TIMES - 1));
    assert_eq!(left("rw1(t):ar1(step)"), 0);
    assert_eq!(left(&format!("{AREAL}:ar1(t)")), 2 * TIMES);
    assert_eq!(left("ar1(t):ar1(step)"), 0);
}

/// The rows of the data among the nodes of both factors.
fn rows(terms: &str) -> Vec<[usize; 2]> {
    let table = table();
    let column = |name: &str| table.text(name).unwrap().to_vec();
    let of = |call: &str| -> Vec<usize> {
        match call.split(['(', ',', ')']).nth(1).unwrap() {
            "area" => column("area")
                .iter()
                .map(|a| AREAS.iter().position(|b| a == b).unwrap())
                .collect(),
            name => column(name).iter().map(|v| v.parse().unwrap()).collect(),
        }
    };
    let (first, second) = terms.split_once(':').unwrap();
    of(first)
        .into_iter()
        .zip(of(second))
        .map(|(a, b)| [a, b])
        .collect()
}

#[test]
fn the_marginal_of_gaussian_data_is_the_dense_one() {
    for (terms, k) in products() {
        let resolved = resolve(&terms);
        let model = resolved.parts.build().unwrap();
        let x = point(&model);
        let rows = rows(&terms);
        let n = rows.len();
        let all = (k.len() as f64).sqrt() as usize;
        let columns = all
            / if terms.ends_with("(t)") {
                TIMES
            } else if terms.ends_with("(step)") {
                STEPS
            } else {
                AREAS.len()
            };
        let inner = all / columns;
        let place = |i: usize| rows[i][0] * inner + rows[i][1];
        let sigma = parameter(&model, &x, "sigma");
        let (centre, spread) = (resolved.parts.fixed.means[0], resolved.parts.fixed.sds[0]);
        let mut v = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..n {
                v[i * n + j] = spread * spread + k[place(i) * all + place(j)];
            }
            v[i * n + i] += sigma * sigma;
        }
        let root = Triangle::root_of(v, n).unwrap();
        let mut r: Vec<f64> = resolved
            .parts
            .data
            .response
            .iter()
            .map(|y| y - centre)
            .collect();
        root.solve(&mut r);
        let known =
            -0.5 * square(&r) - root.log_det() - 0.5 * n as f64 * std::f64::consts::TAU.ln();
        let cache = model.prepare(&x).unwrap().unwrap();
        let start = vec![0.0; model.fast_dim()];
        let own = model.own_frame(&cache, &start, &mut Scratch::default());
        let priors: f64 = model
            .slow
            .iter()
            .zip(&x)
            .map(|(s, x)| s.log_prior(*x))
            .sum();
        let gap = own.unwrap().log_marginal - priors - known;
        assert!(gap.abs() < 1e-8, "{terms}: {gap:e}");
    }
}

fn structure(terms: &str) -> Arc<dyn Structure> {
    resolve(terms).parts.components[0].structure.clone()
}

fn located(structure: &Arc<dyn Structure>, a: f64, b: f64) -> Point {
    let (a, b) = ([a], [b]);
    let pair = Input::Pair(&Input::Numbers(&a), &Input::Numbers(&b));
    structure.locate(pair).unwrap()
}

#[test]
fn new_places_of_a_product_are_the_dense_conditional() {
    let structure = structure("ar1(t):ar1(step)");
    let (sd, first, second) = (1.3, 0.6, -0.4);
    let theta = [sd, 1.0, first, 1.0, second];
    let new = [
        [7.0, 2.0],
        [7.0, 3.0],
        [2.0, 11.0],
        [6.0, 11.0],
        [-1.0, -2.0],
        [8.0, 12.0],
    ];
    let known: Vec<[f64; 2]> = (0..TIMES * STEPS)
        .map(|c| [(c / STEPS) as f64, (c % STEPS) as f64])
        .collect();
    let between = |a: &[f64; 2], b: &[f64; 2]| {
        sd * sd
            * f64::powi(first, (a[0] - b[0]).abs() as i32)
            * f64::powi(second, (a[1] - b[1]).abs() as i32)
    };
    let matrix = |a: &[[f64; 2]], b: &[[f64; 2]]| -> Dense {
        a.iter()
            .flat_map(|a| b.iter().map(|b| between(a, b)))
            .collect()
    };
    let (n, k) = (known.len(), new.len());
    // Row by row, the nodes' weights for each new place.
    let weights = transposed(
        &solve(&matrix(&known, &known), n, &matrix(&known, &new)),
        n,
        k,
    );
    let explained = product(&weights, k, n, &matrix(&known, &new), k);
    let left: Dense = matrix(&new, &new)
        .iter()
        .zip(explained)
        .map(|(a, b)| a - b)
        .collect();
    let places: Vec<Vec<f64>> = new
        .iter()
        .map(|[a, b]| match located(&structure, *a, *b) {
            Point::Fresh(place) => place,
            Point::Nodes(_) => panic!("{a} {b} is a node"),
        })
        .collect();
    let places: Vec<&[f64]> = places.iter().map(Vec::as_slice).collect();
    let fresh = structure.fresh(&theta, &places);
    assert_same(&fresh.covariance, &left, "covariance");
    for (i, row) in fresh.weights.iter().enumerate() {
        let mut dense = vec![0.0; n];
        row.iter().for_each(|(node, w)| dense[*node as usize] += w);
        assert_same(&dense, &weights[i * n..(i + 1) * n], "weights");
    }
}

/// Beyond the end of a random walk, whose level is held: the last values, and the variance of both factors together.
#[test]
fn the_future_of_an_intrinsic_factor_starts_from_its_last_time() {
    let structure = structure("rw1(t):ar1(step)");
    let (sd, rho) = (0.8, 0.5);
    let theta = [sd, 1.0, 1.0, rho];
    let Point::Fresh(place) = located(&structure, 6.0, 3.0) else {
        panic!();
    };
    let fresh = structure.fresh(&theta, &[&place]);
    let (q, _) = walk(TIMES, 1);
    // Q of neighbours is −1/variance of a step.
    let step = -1.0 / q[1];
    assert!((fresh.covariance[0] - sd * sd * 2.0 * step).abs() < 1e-8);
    let Point::Nodes(last) = located(&structure, 4.0, 3.0) else {
        panic!();
    };
    assert_eq!(fresh.weights[0], last);
    // One step of the autoregression beyond its end, at a time that was fitted: its variance there is that of the walk.
    let Point::Fresh(place) = located(&structure, 0.0, 9.0) else {
        panic!();
    };
    let fresh = structure.fresh(&theta, &[&place]);
    let walked = conditioned(&q, TIMES, &walk_sums(TIMES, 1))[0];
    let known = sd * sd * walked * (1.0 - rho * rho);
    assert!((fresh.covariance[0] - known).abs() < 1e-8);
}

#[test]
fn a_bym2_factor_is_two_products() {
    let terms = "areal(area, graph = \"edges.csv\", model = \"bym2\"):rw1(t)";
    let model = resolve(terms).parts.build().unwrap();
    let x = point(&model);
    let (found, size) = covariance_of(&model, &x);
    let (areal, parts) = icar();
    let (short, mean) = walk(TIMES, 1);
    let (n, m) = (AREAS.len(), TIMES);
    let mix = parameter(&model, &x, "mix_areal_area_rw1_t");
    let sd = parameter(&model, &x, "sd_areal_area_rw1_t");
    let structured = conditioned(&areal, n, &parts);
    let whole: Dense = (0..n * n)
        .map(|c| mix * structured[c] + (1.0 - mix) * f64::from(u8::from(c / n == c % n)))
        .collect();
    let known = kronecker(&whole, n, &conditioned(&short, m, &mean), m);
    for i in 0..n * m {
        for j in 0..n * m {
            let (a, b) = (found[i * size + j], sd * sd * known[i * n * m + j]);
            assert!((a - b).abs() < 1e-8, "{i} {j}: {a} {b}");
        }
    }
}
