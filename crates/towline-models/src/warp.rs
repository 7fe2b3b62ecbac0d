//! Skewed effects straightened: y = T(v), coordinate by coordinate, such that v is more nearly normal than y.
//!
//! T is Jones and Pewsey's sinh-arcsinh transformation (2009), sinh(arsinh w + ε), brought to mean 0 and variance 1 where w
//! is standard normal: it maps the line onto the line, its inverse is that of −ε, and ε alone decides the skewness.

use crate::vector::wide;

/// E √(1 + w²) for a standard normal w.
const MEAN_ROOT: f64 = 1.354_530_806_481_315_5;
/// Skewness beyond which ε no longer grows: what is more skewed than this is not well described by it.
const MOST_SKEW: f64 = 0.8;
/// ε = s (a + b s² + c s⁴) has the skewness s: fitted for |s| up to 0.8, where it is off by 2e-4 at most.
const EPSILON: [f64; 3] = [0.590_57, 0.099_22, 0.048_74];
/// Σ skewness²/12, about the divergence from a normal of all coordinates together, below which nothing is gained.
const STRAIGHT: f64 = 0.05;
/// Factors of the Jacobian that are multiplied before a logarithm is taken: each is between e^−ε and e^ε or so.
const TOGETHER: usize = 16;

/// T at one x. The first coordinates are left as they are.
#[derive(Debug, Clone)]
pub(crate) struct Warp {
    plain: usize,
    parts: Vec<Part>,
}

#[derive(Debug, Clone, Copy)]
struct Part {
    centre: f64,
    scale: f64,
    /// cosh ε and sinh ε, divided by the transform's standard deviation.
    even: f64,
    odd: f64,
    /// Its mean, divided likewise.
    mean: f64,
}

impl Part {
    fn new(centre: f64, variance: f64, third: f64) -> Self {
        let scale = variance.sqrt();
        let skew = (third / (variance * scale)).clamp(-MOST_SKEW, MOST_SKEW);
        let [a, b, c] = EPSILON;
        let square = skew * skew;
        let epsilon = skew * (a + square * (b + square * c));
        let (cosh, sinh) = (epsilon.cosh(), epsilon.sinh());
        let mean = MEAN_ROOT * sinh;
        let sd = (cosh * cosh + 2.0 * sinh * sinh - mean * mean).sqrt();
        Self {
            centre,
            scale,
            even: cosh / sd,
            odd: sinh / sd,
            mean: mean / sd,
        }
    }
}

impl Warp {
    /// From means, variances and third cumulants of the coordinates after the first; `None` where they are straight enough.
    pub fn new(centre: &[f64], variance: &[f64], third: &[f64]) -> Option<Self> {
        let plain = centre.len() - variance.len();
        let bent: f64 = variance
            .iter()
            .zip(third)
            .map(|(v, t)| t * t / (12.0 * v * v * v))
            .sum();
        if !(bent.is_finite() && bent > STRAIGHT && variance.iter().all(|v| *v > 0.0)) {
            return None;
        }
        let parts = centre[plain..].iter().zip(variance).zip(third);
        Some(Self {
            plain,
            parts: parts.map(|((m, v), t)| Part::new(*m, *v, *t)).collect(),
        })
    }

    /// y = T(v); returns the logarithm of the Jacobian.
    pub fn straighten(&self, v: &[f64], y: &mut [f64]) -> f64 {
        y[..self.plain].copy_from_slice(&v[..self.plain]);
        let (v, y) = (&v[self.plain..], &mut y[self.plain..]);
        let mut log = 0.0;
        let chunks = self.parts.chunks(TOGETHER).zip(v.chunks(TOGETHER));
        for ((parts, v), y) in chunks.zip(y.chunks_mut(TOGETHER)) {
            let mut product = 1.0;
            wide(
                #[inline(always)]
                || {
                    for ((part, v), y) in parts.iter().zip(v).zip(y) {
                        let w = (v - part.centre) / part.scale;
                        let root = (1.0 + w * w).sqrt();
                        let t = part.even * w + part.odd * root - part.mean;
                        *y = part.centre + part.scale * t;
                        product *= part.even + part.odd * w / root;
                    }
                },
            );
            log += product.ln();
        }
        log
    }

    /// The gradient in v from that in y, in place: T′ times it, and the slope of the Jacobian's logarithm.
    pub fn gradient(&self, v: &[f64], gradient: &mut [f64]) {
        wide(
            #[inline(always)]
            || {
                let parts = self.parts.iter().zip(&v[self.plain..]);
                for ((part, v), g) in parts.zip(&mut gradient[self.plain..]) {
                    let w = (v - part.centre) / part.scale;
                    let root = (1.0 + w * w).sqrt();
                    let slope = part.even + part.odd * w / root;
                    *g = *g * slope + part.odd / (root * root * root * slope * part.scale);
                }
            },
        );
    }

    /// v = T⁻¹(y).
    pub fn bend(&self, y: &[f64]) -> Vec<f64> {
        let mut v = y.to_vec();
        for (part, v) in self.parts.iter().zip(&mut v[self.plain..]) {
            // cosh² − sinh² = 1 gives back the standard deviation by which both were divided.
            let sd = (part.even * part.even - part.odd * part.odd).sqrt().recip();
            let t = ((*v - part.centre) / part.scale + part.mean) * sd;
            let w = sd * (part.even * t - part.odd * (1.0 + t * t).sqrt());
            *v = part.centre + part.scale * w;
        }
        v
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Warp {
        let centre = [0.4, -1.0, 0.3, 2.0, 0.0];
        Warp::new(&centre, &[0.5, 2.0, 1.0, 0.1], &[0.2, -1.5, 0.0, 0.03]).unwrap()
    }

    #[test]
    fn a_warp_is_undone_and_has_the_jacobian_and_gradient_that_it_says() {
        let warp = example();
        // Far out as well: the map is onto the whole line.
        for far in [0.3, 1.0, 8.0] {
            let v: Vec<f64> = (0..5)
                .map(|k| far * (1.3 * f64::from(k)).sin() - 0.2)
                .collect();
            let mut y = vec![0.0; 5];
            let log = warp.straighten(&v, &mut y);
            for (a, b) in warp.bend(&y).iter().zip(&v) {
                assert!((a - b).abs() < 1e-10 * (1.0 + b.abs()), "{a} {b}");
            }
            let h = 1e-5;
            let (mut sum, mut up, mut down) = (0.0, y.clone(), y.clone());
            // With ∂ℓ/∂y = 1 everywhere, the gradient is that of Σ y + ln |∂y/∂v|.
            let mut gradient = vec![1.0; 5];
            warp.gradient(&v, &mut gradient);
            for k in 0..5 {
                let mut there = v.clone();
                there[k] += h;
                let above = warp.straighten(&there, &mut up);
                there[k] -= 2.0 * h;
                let below = warp.straighten(&there, &mut down);
                sum += ((up[k] - down[k]) / (2.0 * h)).ln();
                let total = |y: &[f64], log: f64| y.iter().sum::<f64>() + log;
                let slope = (total(&up, above) - total(&down, below)) / (2.0 * h);
                assert!((slope - gradient[k]).abs() < 1e-6, "{k}: {slope}");
            }
            assert!((sum - log).abs() < 1e-7, "{sum} {log}");
        }
    }

    #[test]
    fn a_warped_normal_has_the_moments_that_were_asked_for() {
        let warp = example();
        for (k, (variance, third)) in [(0.5, 0.2), (2.0, -1.5), (1.0, 0.0), (0.1, 0.03)]
            .into_iter()
            .enumerate()
        {
            let part = warp.parts[k];
            let (mut total, mut moments) = (0.0, [0.0; 3]);
            let value =
                |w: f64| part.scale * (part.even * w + part.odd * (1.0 + w * w).sqrt() - part.mean);
            for i in -900..=900 {
                let w = f64::from(i) * 0.01;
                let p = (-0.5 * w * w).exp();
                total += p;
                for (n, m) in moments.iter_mut().enumerate() {
                    *m += p * value(w).powi(n as i32 + 1);
                }
            }
            let [mean, square, cube] = moments.map(|m| m / total);
            assert!(mean.abs() < 1e-6 && (square / variance - 1.0).abs() < 1e-6);
            // The last is more skewed than the transformation is used for.
            let skew = third / variance * variance.sqrt().recip();
            let got = cube / square.powf(1.5);
            assert!((got - skew.min(MOST_SKEW)).abs() < 2e-3, "{got} {skew}");
        }
    }
}
