//! The distribution function of a count whose predictor is uncertain.

use super::{NOTHING, STEP, over_normal};
use crate::family::Observation;
use crate::special::normal_cdf;

/// P(Y ≤ k) with a normal η, by whichever of two integrals is the smoother.
///
/// With few doubts about η it is the mean of P(Y ≤ k | η) over η. With many, that is a step; but it is also the
/// probability that η stays below a tolerance with density −∂P(Y ≤ k | η)/∂η, the mean of a smooth Φ over that.
pub(super) struct Tolerance {
    observation: Observation,
    k: f64,
    width: f64,
    nodes: Vec<(f64, f64)>,
}

impl Tolerance {
    pub fn new(observation: Observation, k: f64) -> Self {
        let (_, width) = observation.tolerance_at(k);
        Self {
            observation,
            k,
            width,
            nodes: Vec::new(),
        }
    }

    pub fn probability(&mut self, m: f64, s: f64) -> f64 {
        if s < self.width {
            return over_normal(m, s, self.width, |eta| self.observation.cdf(self.k, eta));
        }
        if self.nodes.is_empty() {
            self.find_nodes();
        }
        let sum: f64 = self
            .nodes
            .iter()
            .map(|(t, w)| w * normal_cdf((t - m) / s))
            .sum();
        sum.clamp(0.0, 1.0)
    }

    fn find_nodes(&mut self) {
        let (centre, width) = self.observation.tolerance_at(self.k);
        let h = STEP * width;
        // Of counts beyond all data the tolerance is a step: narrower than doubles are apart.
        if centre + h == centre {
            self.nodes = vec![(centre, 1.0)];
            return;
        }
        let top = self.observation.ln_tolerance(self.k, centre);
        let density = |t: f64| (self.observation.ln_tolerance(self.k, t) - top).exp();
        let mut nodes = vec![(centre, 1.0)];
        for side in [-1.0, 1.0] {
            for j in 1..20_000 {
                let t = centre + side * f64::from(j) * h;
                let value = density(t);
                nodes.push((t, value));
                if value < NOTHING {
                    break;
                }
            }
        }
        let total: f64 = nodes.iter().map(|n| n.1).sum();
        self.nodes = nodes.into_iter().map(|(t, v)| (t, v / total)).collect();
    }
}
