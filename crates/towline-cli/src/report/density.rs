//! A smooth density of draws, on a grid: a Gaussian kernel, reflected at the ends of the support.

/// Points of the grid.
const GRID: usize = 120;

/// The grid and the density of each set of draws on it. All share a bandwidth, so that they can be compared.
pub fn densities(
    chains: &[&[f64]],
    lower: Option<f64>,
    upper: Option<f64>,
) -> (Vec<f64>, Vec<Vec<f64>>) {
    let mut sorted: Vec<f64> = chains
        .iter()
        .copied()
        .flatten()
        .copied()
        .filter(|x| x.is_finite())
        .collect();
    sorted.sort_by(f64::total_cmp);
    if sorted.len() < 4 {
        return (Vec::new(), Vec::new());
    }
    let at = |p: f64| sorted[((sorted.len() - 1) as f64 * p) as usize];
    let mean = sorted.iter().sum::<f64>() / sorted.len() as f64;
    let sd = (sorted.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / sorted.len() as f64).sqrt();
    let spread = sd.min((at(0.75) - at(0.25)) / 1.34);
    if !(spread > 0.0 && spread.is_finite()) {
        return (Vec::new(), Vec::new());
    }
    // Silverman's rule, with draws counted as fewer than they are: they are correlated.
    let bandwidth = 0.9 * spread * (sorted.len() as f64 / 4.0).powf(-0.2);
    let mut low = at(0.001) - 3.0 * bandwidth;
    let mut high = at(0.999) + 3.0 * bandwidth;
    low = lower.map_or(low, |end| low.max(end));
    high = upper.map_or(high, |end| high.min(end));
    let step = (high - low) / (GRID - 1) as f64;
    let grid: Vec<f64> = (0..GRID).map(|k| low + step * k as f64).collect();
    let one = |draws: &&[f64]| {
        // Fine bins first: the cost does not depend on how many draws there are.
        const FINE: usize = 8;
        let bins = GRID * FINE;
        let width = (high - low) / bins as f64;
        let mut counts = vec![0.0; bins];
        for x in draws.iter().filter(|x| **x >= low && **x <= high) {
            counts[(((x - low) / width) as usize).min(bins - 1)] += 1.0;
        }
        let total = draws.len() as f64 * bandwidth * std::f64::consts::TAU.sqrt();
        let kernel = |from: f64, to: f64| (-0.5 * ((from - to) / bandwidth).powi(2)).exp();
        grid.iter()
            .map(|&x| {
                let mut sum = 0.0;
                for (k, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0.0) {
                    let centre = low + width * (k as f64 + 0.5);
                    sum += count * kernel(x, centre);
                    sum += lower.map_or(0.0, |end| count * kernel(x, 2.0 * end - centre));
                    sum += upper.map_or(0.0, |end| count * kernel(x, 2.0 * end - centre));
                }
                sum / total
            })
            .collect()
    };
    let each = chains.iter().map(one).collect();
    (grid, each)
}

#[cfg(test)]
mod tests {
    use super::*;
    use towline::Rng;

    #[test]
    fn a_density_of_normal_draws_is_normal_and_one_at_an_edge_keeps_its_height() {
        let mut rng = Rng::stream(2, 0);
        let normal: Vec<f64> = (0..20_000).map(|_| rng.normal()).collect();
        let half: Vec<f64> = normal.iter().map(|x| x.abs()).collect();
        for (draws, lower, factor) in [(&normal, None, 1.0), (&half, Some(0.0), 2.0)] {
            let (grid, each) = densities(&[draws], lower, None);
            for (x, p) in grid.iter().zip(&each[0]) {
                let exact = factor * (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt();
                assert!((p - exact).abs() < 0.03, "{x}: {p} is not {exact}");
            }
        }
        assert!(densities(&[&[1.0; 50]], None, None).0.is_empty());
    }
}
