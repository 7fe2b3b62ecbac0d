//! Normal and exponential numbers by the ziggurat method: one 64-bit number for nearly every draw.
//!
//! The area under a decreasing density f, scaled to f(0) = 1, is cut into 256 pieces of equal area:
//! rectangles stacked on each other, the i-th reaching out to `x[i]` and up from f(x[i]) to f(x[i+1]), and
//! a base, piece 0, that is a rectangle with the tail beyond `x[1]`. A draw chooses a piece with
//! its low 8 bits and a place in it with its high 53. A place below `x[i+1]` is under the curve for certain:
//! 98.9 % of draws. (Marsaglia and Tsang 2000. Piece and place share no bit, so that Doornik's
//! objection of 2005 to the original does not apply.)
//!
//! The rest is decided in functions that are never inlined: with them in it, a drag's inner loop has
//! too few registers and takes a quarter longer. That is why these are our own, and not `rand_distr`'s.

use rand::Rng;

const LAYERS: usize = 256;

/// Where the normal's tail begins and the area of its pieces, where there are 256.
const NORMAL_TAIL: f64 = 3.654_152_885_361_009;
const NORMAL_AREA: f64 = 0.004_928_673_233_974_655;
/// The same for the exponential.
const EXP_TAIL: f64 = 7.697_117_470_131_05;
const EXP_AREA: f64 = 0.003_949_659_822_581_572;

/// Places of the normal are signed, |j| ≤ 2⁵²; those of the exponential are 0 ≤ j < 2⁵³.
const NORMAL_PLACES: f64 = (1u64 << 52) as f64;
const EXP_PLACES: f64 = (1u64 << 53) as f64;

static NORMAL: Table = table(true);
static EXP: Table = table(false);

/// Place j of a piece stands for j · `width`, and is under the curve for certain if |j| < `safe`.
#[derive(Clone, Copy)]
struct Layer {
    safe: i64,
    width: f64,
}

struct Table {
    layers: [Layer; LAYERS],
    /// f(x[i]).
    height: [f64; LAYERS + 1],
}

/// A standard normal number.
#[inline(always)]
pub(crate) fn normal(bits: &mut (impl Rng + Clone)) -> f64 {
    let u = bits.next_u64();
    let layer = &NORMAL.layers[(u & 255) as usize];
    let place = (u as i64) >> 11;
    if place.abs() < layer.safe {
        return place as f64 * layer.width;
    }
    by_value(bits, |bits| normal_edge(bits, u))
}

/// A standard exponential number.
#[inline(always)]
pub(crate) fn exponential(bits: &mut (impl Rng + Clone)) -> f64 {
    let u = bits.next_u64();
    let layer = &EXP.layers[(u & 255) as usize];
    let place = (u >> 11) as i64;
    if place < layer.safe {
        return place as f64 * layer.width;
    }
    by_value(bits, |bits| exponential_edge(bits, u))
}

/// Lends a copy of the generator, and takes it back: a generator whose address nobody is given stays in
/// registers all through a loop.
#[inline(always)]
fn by_value<R: Rng + Clone>(bits: &mut R, edge: impl FnOnce(&mut R) -> f64) -> f64 {
    let mut copy = bits.clone();
    let x = edge(&mut copy);
    *bits = copy;
    x
}

#[cold]
#[inline(never)]
fn normal_edge(bits: &mut impl Rng, mut u: u64) -> f64 {
    loop {
        let i = (u & 255) as usize;
        let place = (u as i64) >> 11;
        let x = place as f64 * NORMAL.layers[i].width;
        if place.abs() < NORMAL.layers[i].safe {
            return x;
        }
        if i == 0 {
            // The tail, by Marsaglia's method (1964).
            loop {
                let beyond = -open01(bits).ln() / NORMAL_TAIL;
                if -2.0 * open01(bits).ln() > beyond * beyond {
                    return (NORMAL_TAIL + beyond).copysign(x);
                }
            }
        }
        let (low, high) = (NORMAL.height[i], NORMAL.height[i + 1]);
        if low + (high - low) * open01(bits) < (-0.5 * x * x).exp() {
            return x;
        }
        u = bits.next_u64();
    }
}

#[cold]
#[inline(never)]
fn exponential_edge(bits: &mut impl Rng, mut u: u64) -> f64 {
    loop {
        let i = (u & 255) as usize;
        let place = (u >> 11) as i64;
        let x = place as f64 * EXP.layers[i].width;
        if place < EXP.layers[i].safe {
            return x;
        }
        if i == 0 {
            // What lies beyond any point of an exponential is the same exponential.
            return EXP_TAIL - open01(bits).ln();
        }
        let (low, high) = (EXP.height[i], EXP.height[i + 1]);
        if low + (high - low) * open01(bits) < (-x).exp() {
            return x;
        }
        u = bits.next_u64();
    }
}

/// Uniform on (0, 1), ends excluded.
fn open01(bits: &mut impl Rng) -> f64 {
    ((bits.next_u64() >> 12) as f64 + 0.5) * (1.0 / (1u64 << 52) as f64)
}

// The tables, by the compiler. The library's exp, ln and sqrt are not `const`; those below are right to
// a few units in the last place, which changes no probability by more than 1e-15.

const fn table(normal: bool) -> Table {
    let (tail, area, places) = if normal {
        (NORMAL_TAIL, NORMAL_AREA, NORMAL_PLACES)
    } else {
        (EXP_TAIL, EXP_AREA, EXP_PLACES)
    };
    let mut x = [0.0; LAYERS + 1];
    let mut height = [1.0; LAYERS + 1];
    x[1] = tail;
    height[1] = density(normal, tail);
    // As wide as a rectangle of the base's area would have to be: beyond x[1] stands for the tail.
    x[0] = area / height[1];
    height[0] = 0.0;
    let mut i = 2;
    while i < LAYERS {
        height[i] = height[i - 1] + area / x[i - 1];
        x[i] = inverse_density(normal, height[i]);
        i += 1;
    }
    let mut layers = [Layer {
        safe: 0,
        width: 0.0,
    }; LAYERS];
    let mut i = 0;
    while i < LAYERS {
        layers[i] = Layer {
            safe: (x[i + 1] / x[i] * places) as i64,
            width: x[i] / places,
        };
        i += 1;
    }
    Table { layers, height }
}

const fn density(normal: bool, x: f64) -> f64 {
    exp_minus(if normal { 0.5 * x * x } else { x })
}

const fn inverse_density(normal: bool, height: f64) -> f64 {
    let t = minus_ln(height);
    if normal { sqrt(2.0 * t) } else { t }
}

/// exp(−t), 0 ≤ t < 40.
const fn exp_minus(t: f64) -> f64 {
    let halvings = (t / core::f64::consts::LN_2) as i32;
    // ln 2 in two pieces, the first short enough for exact products.
    let r = (t - halvings as f64 * 0.693_147_180_369_123_8)
        - halvings as f64 * 1.908_214_929_270_587_7e-10;
    let mut sum = 1.0;
    let mut k = 24;
    while k > 0 {
        sum = 1.0 - r / k as f64 * sum;
        k -= 1;
    }
    let mut i = 0;
    while i < halvings {
        sum *= 0.5;
        i += 1;
    }
    sum
}

/// −ln f, 0 < f ≤ 1, by Halley's iteration.
const fn minus_ln(f: f64) -> f64 {
    let mut t = 0.0;
    let mut k = 0;
    while k < 40 {
        let e = exp_minus(t);
        let step = 2.0 * (e - f) / (e + f);
        t += step;
        if step < 1e-17 && step > -1e-17 {
            break;
        }
        k += 1;
    }
    t
}

/// √v by Newton's iteration.
const fn sqrt(v: f64) -> f64 {
    let mut s = if v > 1.0 { v } else { 1.0 };
    let mut k = 0;
    while k < 60 {
        s = 0.5 * (s + v / s);
        k += 1;
    }
    s
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    const DRAWS: usize = 20_000_000;
    const CELLS: usize = 1000;
    const TAIL_CELLS: usize = 20;

    #[test]
    fn normals_are_normal() {
        let mut bits = Xoshiro256PlusPlus::seed_from_u64(7);
        Law {
            from: -4.5,
            to: 4.5,
            tail: NORMAL_TAIL,
            above: |x| 0.5 * libm::erfc(x / 2f64.sqrt()),
            moments: &[0.0, 1.0, 0.0, 3.0, 0.0, 15.0],
        }
        .check(|| normal(&mut bits));
    }

    #[test]
    fn exponentials_are_exponential() {
        let mut bits = Xoshiro256PlusPlus::seed_from_u64(8);
        Law {
            from: 0.0,
            to: 12.0,
            tail: EXP_TAIL,
            above: |x| (-x).exp(),
            moments: &[1.0, 2.0, 6.0, 24.0],
        }
        .check(|| exponential(&mut bits));
    }

    #[test]
    fn the_pieces_have_equal_areas_and_close_at_the_top() {
        for (table, places, area, f) in [
            (&NORMAL, NORMAL_PLACES, NORMAL_AREA, bell as fn(f64) -> f64),
            (&EXP, EXP_PLACES, EXP_AREA, |x| (-x).exp()),
        ] {
            for i in 1..LAYERS {
                let Layer { safe, width } = table.layers[i];
                let x = width * places;
                let rise = table.height[i + 1] - table.height[i];
                assert!((table.height[i] / f(x) - 1.0).abs() < 1e-14, "{i}");
                assert!((x * rise / area - 1.0).abs() < 1e-10, "{i}");
                assert!(safe >= 0 && (safe as f64) < places, "{i}");
            }
            assert_eq!(table.height[LAYERS], 1.0);
            assert_eq!(table.layers[LAYERS - 1].safe, 0);
        }
    }

    #[test]
    fn the_base_has_the_area_of_its_rectangle_and_its_tail() {
        let tail = (std::f64::consts::PI / 2.0).sqrt() * libm::erfc(NORMAL_TAIL / 2f64.sqrt());
        let base = NORMAL_TAIL * bell(NORMAL_TAIL) + tail;
        assert!((base / NORMAL_AREA - 1.0).abs() < 1e-12);
        let base = (EXP_TAIL + 1.0) * (-EXP_TAIL).exp();
        assert!((base / EXP_AREA - 1.0).abs() < 1e-12);
    }

    fn bell(x: f64) -> f64 {
        (-0.5 * x * x).exp()
    }

    /// What draws should look like.
    struct Law {
        /// Cells of equal width lie between these two.
        from: f64,
        to: f64,
        /// What lies beyond this, on either side, is looked at in cells of equal probability.
        tail: f64,
        /// The probability of being above x.
        above: fn(f64) -> f64,
        moments: &'static [f64],
    }

    impl Law {
        fn check(&self, mut draw: impl FnMut() -> f64) {
            let (from, above) = (self.from, self.above);
            let width = (self.to - from) / CELLS as f64;
            let mut counts = vec![0u64; CELLS + 2];
            let mut beyond = vec![0u64; TAIL_CELLS];
            let mut sums = vec![(0.0, 0.0); self.moments.len()];
            for _ in 0..DRAWS {
                let x = draw();
                let cell = ((x - from) / width + 1.0).max(0.0) as usize;
                counts[cell.min(CELLS + 1)] += 1;
                if x.abs() > self.tail {
                    let share = above(x.abs()) / above(self.tail);
                    beyond[((share * TAIL_CELLS as f64) as usize).min(TAIL_CELLS - 1)] += 1;
                }
                let mut power = 1.0;
                for (sum, squares) in &mut sums {
                    power *= x;
                    *sum += power;
                    *squares += power * power;
                }
            }

            let edge = |k: usize| from + width * k as f64;
            let mut expected = vec![1.0 - above(from)];
            expected.extend((0..CELLS).map(|k| above(edge(k)) - above(edge(k + 1))));
            expected.push(above(self.to));
            assert_small(deviate(&counts, &expected), "the cells");
            let equal = [1.0 / TAIL_CELLS as f64; TAIL_CELLS];
            assert_small(deviate(&beyond, &equal), "the tail");
            for ((sum, squares), moment) in sums.iter().zip(self.moments) {
                let draws = DRAWS as f64;
                let (mean, square) = (sum / draws, squares / draws);
                let error = ((square - mean * mean) / draws).sqrt();
                assert_small((mean - moment) / error, "a moment");
            }
        }
    }

    fn assert_small(deviate: f64, what: &str) {
        assert!(deviate.abs() < 4.0, "{what}: off by {deviate:.1} s.e.");
    }

    /// Chi-square of counts against probabilities, as a standard normal deviate (Wilson and Hilferty 1931).
    fn deviate(counts: &[u64], probabilities: &[f64]) -> f64 {
        let draws: u64 = counts.iter().sum();
        let (mut chi2, mut freedom) = (0.0, -1.0);
        for (&count, p) in counts.iter().zip(probabilities) {
            let expected = draws as f64 * p;
            if expected > 0.0 {
                chi2 += (count as f64 - expected).powi(2) / expected;
                freedom += 1.0;
            } else {
                assert_eq!(count, 0, "an impossible draw");
            }
        }
        let s = 2.0 / (9.0 * freedom);
        ((chi2 / freedom).cbrt() - (1.0 - s)) / f64::sqrt(s)
    }
}
