//! What an optimiser climbs: a height, and what else is known of it.

/// What is climbed. Points without mass are −∞; NaN and +∞ are taken as −∞ too, since a search
/// looks where no chain would go.
pub(crate) trait Surface {
    /// The height at `u`.
    fn height(&mut self, u: &[f64]) -> f64;

    /// Whether [`heights`](Self::heights) is cheaper than as many single heights.
    fn is_vectorised(&self) -> bool {
        false
    }

    /// The heights at many u, one after another.
    fn heights(&mut self, us: &[f64], out: &mut [f64]) {
        let dim = us.len().checked_div(out.len()).unwrap_or(0);
        for (k, value) in out.iter_mut().enumerate() {
            *value = self.height(&us[k * dim..(k + 1) * dim]);
        }
    }

    /// Whether it helps to say beforehand at which places heights will be asked for.
    fn looks_ahead(&self) -> bool {
        false
    }

    /// Heights at these places (one after another in `us`) will be asked for next, and those at `likely` after them if all goes as it seems to: what
    /// others may look at who would be idle meanwhile.
    fn expect(&mut self, us: &[f64], likely: &[f64]) {
        let _ = (us, likely);
    }

    /// A parabola that foretold the height at its top to this many log units is the peak's own.
    fn foretold(&self) -> f64 {
        FORETOLD
    }

    /// The gradient, where the surface knows it.
    fn gradient(&mut self, u: &[f64], gradient: &mut [f64]) -> bool {
        let _ = (u, gradient);
        false
    }

    /// The curvature (minus the second derivatives, row by row), where the surface knows it.
    fn curvature(&mut self, u: &[f64], curvature: &mut [f64]) -> bool {
        let _ = (u, curvature);
        false
    }
}

/// What is foretold, where a surface does not say otherwise.
pub(crate) const FORETOLD: f64 = 0.01;

/// A climb that has gone this far (in the learned scale) follows a slope without end.
pub(crate) const STRAYED: f64 = 1e15;

/// What a search takes a height for.
pub(crate) fn clean(height: f64) -> f64 {
    if height.is_nan() || height == f64::INFINITY {
        f64::NEG_INFINITY
    } else {
        height
    }
}
