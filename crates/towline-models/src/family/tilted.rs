//! One observation's share of a Gaussian approximation, weighed against the observation itself: moments by quadrature.

use super::{Likelihood, Pointwise, Settled};
use crate::vector::{exp, wide};

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
            let mut all = Tilted {
                log_ratio: 0.0,
                change: 0.0,
            };
            for (i, datum) in data.data().iter().enumerate() {
                let (mean, variance) = (sites.mean[i], sites.variance[i]);
                let (slope, weight) = (sites.slope[i], sites.weight[i]);
                let sd = variance.sqrt();
                let here = P::log_p(*datum, mean, settled);
                let (mut total, mut first, mut second, mut cube) = (MIDDLE, 0.0, 0.0, 0.0);
                for (node, share) in NODES {
                    let d = sd * node;
                    let bend = 0.5 * weight * d * d - here;
                    let above = exp(P::log_p(*datum, mean + d, settled) + bend - slope * d);
                    let below = exp(P::log_p(*datum, mean - d, settled) + bend + slope * d);
                    total += share * (above + below);
                    first += share * node * (above - below);
                    second += share * node * node * (above + below);
                    cube += share * node * node * node * (above - below);
                }
                let shift = first / total;
                let spread = second / total - shift * shift;
                // Something far off: the site is left as it is.
                if !(total.is_finite() && spread > 0.0 && spread < 1e6) {
                    all.change = f64::INFINITY;
                    continue;
                }
                all.log_ratio += total.ln();
                // Of η in the approximation's standard deviations, which the caller has.
                sites.skew[i] = cube / total - 3.0 * shift * second / total + 2.0 * shift.powi(3);
                all.change += 0.5 * shift * shift + 0.25 * (spread - 1.0) * (spread - 1.0);
                // Precision and precision times mean gain what the moments ask for; the family is log-concave, so that no
                // site needs a negative weight but by rounding.
                let precision = 1.0 / variance;
                let gained = precision / spread - precision;
                sites.weight[i] = (weight + gained).max(0.0);
                // The slope is that at the old mean: the caller moves it.
                sites.slope[i] = slope + shift * sd * precision / spread;
            }
            all
        },
    )
}
