//! Correlations and partial correlations of a group's effects.

/// The Cholesky root of the correlation matrix of partial correlations (row by row below the diagonal), row by row.
pub(crate) fn correlation_root(partials: &[f64], k: usize) -> Vec<f64> {
    let mut root = vec![0.0; k * k];
    let mut next = partials.iter();
    for i in 0..k {
        let mut left: f64 = 1.0;
        for j in 0..i {
            let partial = next.next().copied().unwrap_or(0.0);
            root[i * k + j] = partial * left.sqrt();
            left *= 1.0 - partial * partial;
        }
        root[i * k + i] = left.sqrt();
    }
    root
}

/// Partial correlations instead of correlations, in place: the inverse of what is done for reports.
pub(crate) fn partials_of(at: &[usize], k: usize, values: &mut [f64]) {
    let mut next = at.iter();
    let mut root = vec![0.0; k * k];
    for i in 0..k {
        let mut left: f64 = 1.0;
        for j in 0..i {
            let Some(&at) = next.next() else { return };
            let known: f64 = (0..j).map(|m| root[i * k + m] * root[j * k + m]).sum();
            let entry = (values[at] - known) / root[j * k + j];
            // Rounding must not put a correlation beyond one.
            let partial = (entry / left.sqrt()).clamp(-1.0 + 1e-15, 1.0 - 1e-15);
            root[i * k + j] = entry;
            left *= 1.0 - partial * partial;
            values[at] = partial;
        }
        root[i * k + i] = left.sqrt();
    }
}
