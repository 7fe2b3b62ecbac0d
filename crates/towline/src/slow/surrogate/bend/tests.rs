use super::*;
use crate::random::Rng;

/// Points about as a heated target's, with the exact log density.
fn seen(
    log_density: impl Fn(&[f64]) -> f64,
    draw: impl Fn(&mut Rng) -> Vec<f64>,
    count: usize,
) -> Vec<Seen> {
    let mut rng = Rng::stream(3, 0);
    (0..count)
        .map(|_| {
            let x = draw(&mut rng);
            let below = -log_density(&x);
            Seen {
                x,
                below,
                weight: (-below / 6.0).exp(),
                inner: below < 12.0,
            }
        })
        .collect()
}

/// The rms of log density less that of a unit normal over u, about its mean.
fn left(bend: &Bend, points: &[Seen]) -> f64 {
    let values: Vec<f64> = points
        .iter()
        .filter(|s| s.below < 8.0)
        .map(|s| {
            let mut u = vec![0.0; s.x.len()];
            let log_det = bend.apply(&s.x, &mut u);
            let normal = -0.5 * u.iter().map(|v| v * v).sum::<f64>();
            -s.below - log_det - normal
        })
        .collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let square = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>();
    (square / values.len() as f64).sqrt()
}

#[test]
fn a_banana_and_a_funnel_become_normal_whichever_variable_leads() {
    for swapped in [false, true] {
        let turn = move |mut x: Vec<f64>| {
            if swapped {
                x.swap(0, 1);
            }
            x
        };
        let banana = seen(
            |x| {
                let x = turn(x.to_vec());
                -0.5 * x[0] * x[0] - 0.5 * ((x[1] - x[0] * x[0] + 1.0) / 0.3).powi(2)
            },
            |rng| {
                let a = 1.6 * rng.normal();
                turn(vec![a, a * a - 1.0 + 0.5 * rng.normal()])
            },
            300,
        );
        let bend = Bend::fit(&banana, 3.0).unwrap();
        assert!(left(&bend, &banana) < 0.05, "{}", left(&bend, &banana));
        let funnel = seen(
            |x| {
                let x = turn(x.to_vec());
                -0.5 * (x[0] / 1.5).powi(2) - 0.5 * x[1] * x[1] * (-x[0]).exp() - 0.5 * x[0]
            },
            |rng| {
                let a = 2.2 * rng.normal();
                turn(vec![a, 1.5 * (0.5 * a).exp() * rng.normal()])
            },
            300,
        );
        let bend = Bend::fit(&funnel, 3.0).unwrap();
        assert!(left(&bend, &funnel) < 0.1, "{}", left(&bend, &funnel));
    }
}

#[test]
fn what_is_bent_is_bent_back_and_its_determinant_is_that_of_differences() {
    let points = seen(
        |x| -0.5 * x.iter().map(|v| v * v).sum::<f64>() - 0.2 * (x[2] - x[0] * x[1]).powi(2),
        |rng| (0..3).map(|_| 1.5 * rng.normal()).collect(),
        400,
    );
    let bend = Bend::fit(&points, 2.0).unwrap();
    assert!(bend.fits(3) && !bend.fits(2));
    let mut rng = Rng::stream(4, 0);
    for _ in 0..50 {
        let x: Vec<f64> = (0..3).map(|_| 2.0 * rng.normal()).collect();
        let (mut u, mut back) = (vec![0.0; 3], vec![0.0; 3]);
        let log_det = bend.apply(&x, &mut u);
        bend.invert(&u, &mut back);
        for k in 0..3 {
            assert!((x[k] - back[k]).abs() < 1e-9, "{x:?} {back:?}");
        }
        // By central differences; three by three by hand.
        let mut d = [[0.0; 3]; 3];
        let h = 1e-6;
        for (j, row) in d.iter_mut().enumerate() {
            let (mut up, mut down) = (x.clone(), x.clone());
            up[j] += h;
            down[j] -= h;
            let (mut a, mut b) = (vec![0.0; 3], vec![0.0; 3]);
            bend.apply(&up, &mut a);
            bend.apply(&down, &mut b);
            for k in 0..3 {
                row[k] = (a[k] - b[k]) / (2.0 * h);
            }
        }
        let det = d[0][0] * (d[1][1] * d[2][2] - d[1][2] * d[2][1])
            - d[0][1] * (d[1][0] * d[2][2] - d[1][2] * d[2][0])
            + d[0][2] * (d[1][0] * d[2][1] - d[1][1] * d[2][0]);
        assert!((det.abs().ln() - log_det).abs() < 1e-4, "{det} {log_det}");
    }
}
