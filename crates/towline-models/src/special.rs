//! Incomplete gamma and beta functions, and the normal distribution: what cumulated probabilities are made of.

use libm::lgamma;
use std::f64::consts::FRAC_1_SQRT_2;

/// Enough terms for parameters up to 10⁹: both expansions need some √a of them.
const MOST_TERMS: usize = 200_000;
/// Where an expansion has converged.
const ENOUGH: f64 = 1e-16;

/// Φ(t), with its relative precision kept in the lower tail.
pub(crate) fn normal_cdf(t: f64) -> f64 {
    0.5 * libm::erfc(-t * FRAC_1_SQRT_2)
}

/// The density of the standard normal distribution.
pub(crate) fn normal_density(t: f64) -> f64 {
    0.398_942_280_401_432_7 * (-0.5 * t * t).exp()
}

/// Φ⁻¹(p) for 0 < p < 1: Acklam's approximation, then Halley's correction.
pub(crate) fn normal_quantile(p: f64) -> f64 {
    if p > 0.5 {
        return -normal_quantile(1.0 - p);
    }
    const A: [f64; 6] = [
        -3.969_683_028_665_376e1,
        2.209_460_984_245_205e2,
        -2.759_285_104_469_687e2,
        1.383_577_518_672_69e2,
        -3.066_479_806_614_716e1,
        2.506_628_277_459_239,
    ];
    const B: [f64; 6] = [
        -5.447_609_879_822_406e1,
        1.615_858_368_580_409e2,
        -1.556_989_798_598_866e2,
        6.680_131_188_771_972e1,
        -1.328_068_155_288_572e1,
        1.0,
    ];
    const C: [f64; 6] = [
        -7.784_894_002_430_293e-3,
        -3.223_964_580_411_365e-1,
        -2.400_758_277_161_838,
        -2.549_732_539_343_734,
        4.374_664_141_464_968,
        2.938_163_982_698_783,
    ];
    const D: [f64; 5] = [
        7.784_695_709_041_462e-3,
        3.224_671_290_700_398e-1,
        2.445_134_137_142_996,
        3.754_408_661_907_416,
        1.0,
    ];
    let horner = |c: &[f64], x: f64| c.iter().fold(0.0, |sum, c| sum * x + c);
    let mut t = if p < 0.024_25 {
        let q = (-2.0 * p.ln()).sqrt();
        horner(&C, q) / horner(&D, q)
    } else {
        let q = p - 0.5;
        horner(&A, q * q) * q / horner(&B, q * q)
    };
    for _ in 0..2 {
        let density = normal_density(t);
        if density > 0.0 {
            let u = (normal_cdf(t) - p) / density;
            t -= u / (1.0 + 0.5 * t * u);
        }
    }
    t
}

/// Q(a, x) = Γ(a, x)/Γ(a): the probability that a gamma number of shape a is above x.
pub(crate) fn upper_gamma(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 1.0;
    }
    if x.is_infinite() {
        return 0.0;
    }
    let power = (a * x.ln() - x - lgamma(a)).exp();
    if x < a + 1.0 {
        let (mut term, mut sum, mut n) = (1.0 / a, 1.0 / a, a);
        for _ in 0..MOST_TERMS {
            n += 1.0;
            term *= x / n;
            sum += term;
            if term < sum * ENOUGH {
                break;
            }
        }
        return (1.0 - power * sum).clamp(0.0, 1.0);
    }
    // Lentz's evaluation of the continued fraction (DLMF 8.9.2).
    let tiny = f64::MIN_POSITIVE / f64::EPSILON;
    let mut b = x + 1.0 - a;
    let mut c = 1.0 / tiny;
    let mut d = 1.0 / b;
    let mut value = d;
    for i in 1..MOST_TERMS {
        let i = i as f64;
        let an = -i * (i - a);
        b += 2.0;
        d = 1.0 / away_from_zero(an * d + b, tiny);
        c = away_from_zero(b + an / c, tiny);
        value *= d * c;
        if (d * c - 1.0).abs() < ENOUGH {
            break;
        }
    }
    (power * value).clamp(0.0, 1.0)
}

/// I_x(a, b): the probability that a beta number is below x; `rest` is 1 − x, given apart so that it may be tiny.
pub(crate) fn lower_beta(x: f64, rest: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if rest <= 0.0 {
        return 1.0;
    }
    let power = (a * x.ln() + b * rest.ln() - ln_beta(a, b)).exp();
    if x < (a + 1.0) / (a + b + 2.0) {
        (power / a * beta_fraction(x, a, b)).clamp(0.0, 1.0)
    } else {
        (1.0 - power / b * beta_fraction(rest, b, a)).clamp(0.0, 1.0)
    }
}

/// ln B(a, b).
pub(crate) fn ln_beta(a: f64, b: f64) -> f64 {
    lgamma(a) + lgamma(b) - lgamma(a + b)
}

fn away_from_zero(value: f64, tiny: f64) -> f64 {
    if value.abs() < tiny { tiny } else { value }
}

/// The continued fraction of the incomplete beta function (DLMF 8.17.22).
fn beta_fraction(x: f64, a: f64, b: f64) -> f64 {
    let tiny = f64::MIN_POSITIVE / f64::EPSILON;
    let mut c = 1.0;
    let mut d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0), tiny);
    let mut value = d;
    for term in 1..MOST_TERMS {
        let m = term as f64;
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / away_from_zero(1.0 + even * d, tiny);
        c = away_from_zero(1.0 + even / c, tiny);
        value *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / away_from_zero(1.0 + odd * d, tiny);
        c = away_from_zero(1.0 + odd / c, tiny);
        value *= d * c;
        if (d * c - 1.0).abs() < ENOUGH {
            break;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cumulated_probabilities_are_sums_of_single_ones() {
        for mean in [0.3, 4.0, 37.5, 600.0] {
            let (mut sum, mut p) = (0.0, f64::exp(-mean));
            for k in 0..700 {
                sum += p;
                let cdf = upper_gamma(f64::from(k) + 1.0, mean);
                assert!((cdf - sum).abs() < 1e-11, "{mean} {k}: {cdf} {sum}");
                p *= mean / f64::from(k + 1);
            }
        }
        for (m, p) in [(7, 0.3), (40, 0.02), (40, 0.97)] {
            let mut sum = 0.0;
            for k in 0..m {
                let (a, b) = (f64::from(k) + 1.0, f64::from(m - k));
                let choose = lgamma(f64::from(m) + 1.0) - lgamma(a) - lgamma(b + 1.0);
                sum += (choose + f64::from(k) * f64::ln(p) + b * f64::ln_1p(-p)).exp();
                let cdf = 1.0 - lower_beta(p, 1.0 - p, a, b);
                assert!((cdf - sum).abs() < 1e-12, "{m} {p} {k}: {cdf} {sum}");
            }
        }
    }

    #[test]
    fn normal_quantiles_invert_the_distribution() {
        for p in [1e-12, 1e-4, 0.02, 0.025, 0.3, 0.5, 0.8, 0.975, 0.999_999] {
            let back = normal_cdf(normal_quantile(p));
            assert!((back / p - 1.0).abs() < 1e-11, "{p} {back}");
        }
        assert!((normal_quantile(0.975) - 1.959_963_984_540_054).abs() < 1e-13);
    }
}
