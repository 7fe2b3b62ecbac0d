//! One observation's share of a Gaussian approximation, weighed against the observation itself: moments by quadrature.

use super::{Likelihood, Pointwise, Settled};
use crate::vector::{LANES, exp, wide};

/// Gauss and Hermite's rule for a standard normal, the nodes above zero with their weights. Eleven nodes integrate a
/// logistic function of a normal with a standard deviation of three to four digits; a frame needs two.
const NODES: [(f64, f64); 5] = [
    (0.928_868_997_381_064, 0.242_240_299_873_969_97),
    (1.876_035_020_154_846, 0.066_138_746_071_057_78),
    (2.865_123_160_643_645, 0.006_720_285_235_537_271),
    (3.936_166_607_129_977, 0.000_195_671_930_271_223_6),
    (5.188_001_224_374_870_5, 8.121_849_790_214_909e-7),
];
/// The weight of the node at zero.
const MIDDLE: f64 = 0.369_408_369_408_369_3;

/// What a rule costs in evaluations of all observations.
pub(crate) const EVALUATIONS: u64 = 2 * NODES.len() as u64 + 1;

/// Observation by observation: a factor exp(slope · d − ½ weight · d²), d = η − mean, that stands for it in a Gaussian
/// approximation, and mean and variance of η in that approximation.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sites {
    pub mean: Vec<f64>,
    pub variance: Vec<f64>,
    pub slope: Vec<f64>,
    pub weight: Vec<f64>,
    /// The skewness of η with this observation in the place of its site.
    pub skew: Vec<f64>,
}

impl Sites {
    /// Those of slope and curvature at these η.
    pub fn at(likelihood: &Likelihood, settled: Settled, eta: Vec<f64>) -> Self {
        let mut sites = Self {
            variance: vec![0.0; eta.len()],
            slope: vec![0.0; eta.len()],
            weight: vec![0.0; eta.len()],
            skew: vec![0.0; eta.len()],
            mean: eta,
        };
        likelihood.slope(&sites.mean, settled, &mut sites.slope);
        likelihood.weight(&sites.mean, settled, &mut sites.weight);
        sites
    }
}

/// What became of the sites.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tilted {
    /// Σ ln E[observation / site], the observation relative to what it is at the mean.
    pub log_ratio: f64,
    /// Σ ½ (change of the mean, in standard deviations)² + ¼ (relative change of the variance)²: about the divergence of the
    /// approximation from what the observations ask for.
    pub change: f64,
}

impl Likelihood {
    /// Moments of η under the approximation with one site replaced by its observation, and from them new sites: they leave
    /// such a site's approximation with these moments. `None` for families whose observations have several η.
    pub fn tilt(&self, sites: &mut Sites, settled: Settled) -> Option<Tilted> {
        match self {
            Self::Bernoulli(it) => Some(tilt(it, sites, settled)),
            Self::Probit(it) => Some(tilt(it, sites, settled)),
            Self::Binomial(it) => Some(tilt(it, sites, settled)),
            Self::Poisson(it) => Some(tilt(it, sites, settled)),
            Self::NegativeBinomial(it) => Some(tilt(it, sites, settled)),
            Self::Gaussian(_) | Self::Softmax(_) => None,
        }
    }

    /// Whether the mode is not the mean: the conditional of η is not normal.
    pub fn is_skewed(&self) -> bool {
        !matches!(self, Self::Gaussian(_) | Self::Softmax(_))
    }
}

fn tilt<P: Pointwise>(data: &P, sites: &mut Sites, settled: Settled) -> Tilted {
    wide(
        #[inline(always)]
        || {
            let data = data.data();
            let mut all = Tilted {
                log_ratio: 0.0,
                change: 0.0,
            };
            for first in (0..data.len()).step_by(LANES) {
                // Several at a time, which share the machine's vectors; the last few are filled up with copies.
                let place: [usize; LANES] =
                    std::array::from_fn(|k| (first + k).min(data.len() - 1));
                let moments = moments::<P>(
                    place.map(|i| data[i]),
                    place.map(|i| sites.mean[i]),
                    place.map(|i| sites.variance[i].sqrt()),
                    place.map(|i| sites.slope[i]),
                    place.map(|i| sites.weight[i]),
                    settled,
                );
                for (k, i) in (first..data.len().min(first + LANES)).enumerate() {
                    renew(sites, i, moments.map(|m| m[k]), &mut all);
                }
            }
            all
        },
    )
}

/// The integral of observation over site, and the first three moments that go with it, in the approximation's standard
/// deviations from its mean.
#[inline(always)]
fn moments<P: Pointwise>(
    data: [P::Datum; LANES],
    mean: [f64; LANES],
    sd: [f64; LANES],
    slope: [f64; LANES],
    weight: [f64; LANES],
    settled: Settled,
) -> [[f64; LANES]; 4] {
    let mut here = [0.0; LANES];
    for k in 0..LANES {
        here[k] = P::log_p(data[k], mean[k], settled);
    }
    let mut found = [[MIDDLE; LANES], [0.0; LANES], [0.0; LANES], [0.0; LANES]];
    for (node, share) in NODES {
        let mut ratios = [[0.0; LANES]; 2];
        for (ratio, sign) in ratios.iter_mut().zip([1.0, -1.0]) {
            for k in 0..LANES {
                let d = sign * sd[k] * node;
                let site = (slope[k] - 0.5 * weight[k] * d) * d;
                ratio[k] = exp(P::log_p(data[k], mean[k] + d, settled) - here[k] - site);
            }
        }
        let [above, below] = ratios;
        for k in 0..LANES {
            let (even, odd) = (share * (above[k] + below[k]), share * (above[k] - below[k]));
            found[0][k] += even;
            found[1][k] += node * odd;
            found[2][k] += node * node * even;
            found[3][k] += node * node * node * odd;
        }
    }
    found
}

/// A new site from the moments.
#[inline(always)]
fn renew(sites: &mut Sites, i: usize, moments: [f64; 4], all: &mut Tilted) {
    let [total, first, second, cube] = moments;
    let shift = first / total;
    let spread = second / total - shift * shift;
    // Something far off: the site is left as it is.
    if !(total.is_finite() && spread > 0.0 && spread < 1e6) {
        all.change = f64::INFINITY;
        return;
    }
    all.log_ratio += total.ln();
    // Of η in the approximation's standard deviations, which the caller has.
    sites.skew[i] = cube / total - 3.0 * shift * second / total + 2.0 * shift.powi(3);
    all.change += 0.5 * shift * shift + 0.25 * (spread - 1.0) * (spread - 1.0);
    // Precision and precision times mean gain what the moments ask for; the family is log-concave, so that no site needs a
    // negative weight but by rounding.
    let variance = sites.variance[i];
    let precision = 1.0 / variance;
    let gained = precision / spread - precision;
    sites.weight[i] = (sites.weight[i] + gained).max(0.0);
    // The slope is that at the old mean: the caller moves it.
    sites.slope[i] += shift * variance.sqrt() * precision / spread;
}
