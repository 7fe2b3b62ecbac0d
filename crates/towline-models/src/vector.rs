//! Elementary functions and sums written so that the compiler can do several at once, on whatever the machine has.
//!
//! Everything here is ordinary arithmetic in a fixed order, so that the results are the same bits on every machine:
//! wider registers make it faster, not different.

/// Runs `f` compiled for the widest vector registers that this machine has.
///
/// `f` and what it calls must be `#[inline(always)]`, or they are compiled for the oldest machine.
#[inline(always)]
pub(crate) fn wide<R>(f: impl FnOnce() -> R) -> R {
    pulp::Arch::new().dispatch(f)
}

/// How many sums run side by side: enough to hide the latency of an addition.
pub(crate) const LANES: usize = 8;

const LOG2_E: f64 = std::f64::consts::LOG2_E;
/// ln 2 in two parts, the first with few bits, so that k · ln 2 is exact in it.
const LN_2_HIGH: f64 = 6.931_471_803_691_238e-1;
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// 1.5 · 2⁵²: added to a small number, it leaves the nearest integer in the low bits.
const SHIFT: f64 = 6_755_399_441_055_744.0;
/// Below, e^x is less than the smallest normal number: taken for zero.
const LOWEST: f64 = -708.3;
/// Above, e^x is more than the largest number.
const HIGHEST: f64 = 709.7;

/// e^x to about an ulp, without a branch; 0 far below and the largest of its range (about 1.7e308) far above, so that
/// sums stay numbers.
#[inline(always)]
pub(crate) fn exp(x: f64) -> f64 {
    let inside = x.clamp(LOWEST, HIGHEST);
    let shifted = inside * LOG2_E + SHIFT;
    let k = shifted - SHIFT;
    let r = (inside - k * LN_2_HIGH) - k * LN_2_LOW;
    // Taylor's polynomial on |r| ≤ ln 2 / 2: the remainder r¹⁴/14! is below 1e-17. Estrin's scheme: short chains.
    let r2 = r * r;
    let r4 = r2 * r2;
    let r8 = r4 * r4;
    let low = (1.0 + r)
        + r2 * (0.5 + r * (1.0 / 6.0))
        + r4 * ((1.0 / 24.0 + r * (1.0 / 120.0)) + r2 * (1.0 / 720.0 + r * (1.0 / 5_040.0)));
    let high = (1.0 / 40_320.0 + r * (1.0 / 362_880.0))
        + r2 * (1.0 / 3_628_800.0 + r * (1.0 / 39_916_800.0))
        + r4 * (1.0 / 479_001_600.0 + r * (1.0 / 6_227_020_800.0));
    let value = low + r8 * high;
    // 2^k in two factors, since 2^1024 is no number.
    let bits = shifted.to_bits() as i64 - SHIFT.to_bits() as i64;
    let half = bits >> 1;
    let first = f64::from_bits(((1023 + half) as u64) << 52);
    let second = f64::from_bits(((1023 + bits - half) as u64) << 52);
    let scaled = value * first * second;
    if x < LOWEST { 0.0 } else { scaled }
}

/// ln(1 + s) for 0 ≤ s ≤ 1, by 2 artanh(s / (2 + s)).
#[inline(always)]
fn ln_1p_unit(s: f64) -> f64 {
    let t = s / (2.0 + s);
    let u = t * t; // at most 1/9
    let u2 = u * u;
    let u4 = u2 * u2;
    let u8 = u4 * u4;
    let a = (1.0 + u * (1.0 / 3.0)) + u2 * (1.0 / 5.0 + u * (1.0 / 7.0));
    let b = (1.0 / 9.0 + u * (1.0 / 11.0)) + u2 * (1.0 / 13.0 + u * (1.0 / 15.0));
    let c = (1.0 / 17.0 + u * (1.0 / 19.0)) + u2 * (1.0 / 21.0 + u * (1.0 / 23.0));
    let d = (1.0 / 25.0 + u * (1.0 / 27.0)) + u2 * (1.0 / 29.0 + u * (1.0 / 31.0));
    2.0 * t * (a + u4 * b + u8 * (c + u4 * d))
}

/// ln(1 + e^x).
#[inline(always)]
pub(crate) fn softplus(x: f64) -> f64 {
    x.max(0.0) + ln_1p_unit(exp(-x.abs()))
}

/// 1 / (1 + e^−x).
#[inline(always)]
pub(crate) fn logistic(x: f64) -> f64 {
    let s = exp(-x.abs());
    let small = s / (1.0 + s);
    if x < 0.0 { small } else { 1.0 - small }
}

/// The derivative of [`logistic`].
#[inline(always)]
pub(crate) fn logistic_slope(x: f64) -> f64 {
    let s = exp(-x.abs());
    s / ((1.0 + s) * (1.0 + s))
}

/// a · b, in a fixed order of summation.
#[inline(always)]
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; LANES];
    let (a_chunks, a_rest) = a.as_chunks::<LANES>();
    let (b_chunks, b_rest) = b.as_chunks::<LANES>();
    for (u, v) in a_chunks.iter().zip(b_chunks) {
        for k in 0..LANES {
            sums[k] += u[k] * v[k];
        }
    }
    let mut rest = 0.0;
    for (u, v) in a_rest.iter().zip(b_rest) {
        rest += u * v;
    }
    total(sums) + rest
}

/// The sum of the lanes.
#[inline(always)]
pub(crate) fn total(s: [f64; LANES]) -> f64 {
    ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
}

/// |a|².
pub(crate) fn square(a: &[f64]) -> f64 {
    wide(
        #[inline(always)]
        || dot(a, a),
    )
}

/// a · b, dispatched.
pub(crate) fn inner(a: &[f64], b: &[f64]) -> f64 {
    wide(
        #[inline(always)]
        || dot(a, b),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_is_right_to_two_ulps_over_its_range() {
        let mut worst: f64 = 0.0;
        for k in 0..200_000 {
            let x = -708.0 + 1417.5 * f64::from(k) / 200_000.0;
            worst = worst.max((exp(x) / x.exp() - 1.0).abs());
        }
        assert!(worst < 4.5e-16, "relative error {worst:e}");
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(exp(-800.0), 0.0);
        assert_eq!(exp(f64::NEG_INFINITY), 0.0);
        assert!(exp(1e9).is_finite() && exp(1e9) > 1e308);
        assert!(exp(f64::NAN).is_nan());
    }

    #[test]
    fn softplus_and_logistic_are_right_and_never_overflow() {
        for k in -4000..=4000 {
            let x = f64::from(k) / 50.0;
            let exact = if x > 0.0 {
                x + (-x).exp().ln_1p()
            } else {
                x.exp().ln_1p()
            };
            assert!((softplus(x) / exact - 1.0).abs() < 1e-14, "softplus({x})");
            let p = if x > 0.0 {
                1.0 / (1.0 + (-x).exp())
            } else {
                x.exp() / (1.0 + x.exp())
            };
            assert!((logistic(x) / p - 1.0).abs() < 1e-14, "logistic({x})");
        }
        assert_eq!((softplus(1e6), softplus(-1e6)), (1e6, 0.0));
        assert_eq!((logistic(1e6), logistic(-1e6)), (1.0, 0.0));
        assert_eq!(logistic_slope(1e6), 0.0);
    }
}
