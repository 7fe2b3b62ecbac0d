//! What is known about each row beforehand: the paper's settings and values, and the precise values.

use super::result::Estimate;
use super::spec::{Method, Spec};

/// The lags at which precise autocorrelations are known.
pub const LAGS: [usize; 5] = [1, 5, 10, 20, 30];

/// Standard error of every precise rejection rate.
const RATE_SE: f64 = 0.0002;

/// Values given in the text of the paper's section 4, where it gives them.
#[derive(Debug)]
pub struct Paper {
    /// Rejection rate of the updates that change x.
    pub outer_rejection: Option<f64>,
    /// Rejection rate of the inner updates, or of y alone.
    pub inner_rejection: Option<f64>,
    /// Autocorrelation time of x ("approximately").
    pub act: Option<f64>,
}

/// Values from an independent C program, 10⁷ to 10⁸ iterations per row.
#[derive(Debug)]
pub struct Reference {
    /// Rejection rate of the updates that change x.
    pub outer_rejection: f64,
    /// Rejection rate of the inner updates, or of y alone.
    pub inner_rejection: Option<f64>,
    /// Rejection rate of updates of z alone.
    pub z_rejection: Option<f64>,
    /// Autocorrelation time of x.
    pub act: Estimate,
    /// Autocorrelations of x at [`LAGS`].
    pub autocorrelations: Option<[f64; 5]>,
}

/// One row of the paper's tests.
#[derive(Debug)]
pub struct Published {
    /// Its test, method and settings.
    pub spec: Spec,
    /// What the paper says.
    pub paper: Paper,
    /// The precise values.
    pub reference: Reference,
}

/// A precise rejection rate with its standard error.
pub fn rate(value: f64) -> Estimate {
    Estimate { value, se: RATE_SE }
}

/// What is known about a row, if it is one of the paper's.
pub fn find(spec: &Spec) -> Option<&'static Published> {
    TABLE
        .iter()
        .find(|row| row.spec.is(spec.test, spec.method, spec.n))
}

const fn paper(outer: Option<f64>, inner: Option<f64>, act: Option<f64>) -> Paper {
    Paper {
        outer_rejection: outer,
        inner_rejection: inner,
        act,
    }
}

const fn reference(
    outer_rejection: f64,
    inner_rejection: Option<f64>,
    act: (f64, f64),
    autocorrelations: Option<[f64; 5]>,
) -> Reference {
    Reference {
        outer_rejection,
        inner_rejection,
        z_rejection: None,
        act: Estimate {
            value: act.0,
            se: act.1,
        },
        autocorrelations,
    }
}

const fn row(
    test: u8,
    (method, n): (Method, Option<usize>),
    (slow_sd, fast_sd): (f64, Option<f64>),
    paper: Paper,
    reference: Reference,
) -> Published {
    Published {
        spec: Spec {
            test,
            method,
            n,
            slow_sd: Some(slow_sd),
            fast_sd,
        },
        paper,
        reference,
    }
}

const JOINT: (Method, Option<usize>) = (Method::Joint, None);
const SINGLE: (Method, Option<usize>) = (Method::Single, None);
const MARGINAL: (Method, Option<usize>) = (Method::Marginal, None);
const DRAG_20: (Method, Option<usize>) = (Method::Drag, Some(20));
const DRAG_100: (Method, Option<usize>) = (Method::Drag, Some(100));
const DRAG_500: (Method, Option<usize>) = (Method::Drag, Some(500));

/// Every row of the paper's two tests, in the order of its figures.
///
/// The marginal of x is the same in both tests, so marginal Metropolis has the same values. The precise
/// times of `single` come with rare long excursions that ask for 10 % of room; four of the standard
/// errors given with them are wider than that already.
#[rustfmt::skip] // One line per fact reads as the table it is.
pub static TABLE: [Published; 12] = [
    row(1, JOINT, (0.5, Some(0.5)),
        paper(Some(0.87), None, Some(75.0)),
        reference(0.8621, None, (78.8, 0.3), Some([0.9739, 0.8770, 0.7708, 0.5973, 0.4637]))),
    row(1, SINGLE, (0.25, Some(0.25)),
        paper(Some(0.59), Some(0.64), Some(230.0)),
        reference(0.5843, Some(0.6349), (339.0, 15.0), Some([0.9868, 0.9586, 0.9287, 0.8725, 0.8202]))),
    row(1, MARGINAL, (1.0, None),
        paper(Some(0.47), None, None),
        reference(0.4718, None, (5.038, 0.007), Some([0.6603, 0.1343, 0.0203, 0.0007, 0.0000]))),
    row(1, DRAG_20, (1.0, Some(0.2)),
        paper(Some(0.76), Some(0.60), None),
        reference(0.7547, Some(0.5893), (59.5, 0.3), Some([0.9615, 0.8341, 0.7050, 0.5069, 0.3652]))),
    row(1, DRAG_100, (1.0, Some(0.2)),
        paper(Some(0.63), Some(0.60), None),
        reference(0.6240, Some(0.6338), (16.42, 0.07), Some([0.8817, 0.5411, 0.2956, 0.0878, 0.0261]))),
    row(1, DRAG_500, (1.0, Some(0.2)),
        paper(Some(0.52), Some(0.60), Some(7.4)),
        reference(0.5222, Some(0.6398), (7.54, 0.02), Some([0.7636, 0.2634, 0.0709, 0.0051, 0.0008]))),
    row(2, JOINT, (0.3, Some(0.3)),
        paper(Some(0.85), None, Some(205.0)),
        reference(0.8510, None, (249.0, 1.5), Some([0.9921, 0.9532, 0.9110, 0.8376, 0.7728]))),
    row(2, SINGLE, (0.25, Some(0.25)),
        paper(None, None, Some(365.0)),
        Reference {
            z_rejection: Some(0.3556),
            ..reference(0.5843, Some(0.6583), (412.0, 11.0), Some([0.9897, 0.9636, 0.9382, 0.8916, 0.8478]))
        }),
    row(2, MARGINAL, (1.0, None),
        paper(Some(0.47), None, None),
        reference(0.4718, None, (5.038, 0.007), Some([0.6603, 0.1343, 0.0203, 0.0007, 0.0000]))),
    row(2, DRAG_20, (1.0, Some(0.2)),
        paper(None, None, None),
        reference(0.7871, Some(0.6525), (98.4, 0.5), Some([0.9735, 0.8869, 0.7986, 0.6539, 0.5372]))),
    row(2, DRAG_100, (1.0, Some(0.2)),
        paper(None, None, None),
        reference(0.6695, Some(0.7092), (24.3, 0.1), Some([0.9166, 0.6555, 0.4350, 0.1933, 0.0866]))),
    row(2, DRAG_500, (1.0, Some(0.2)),
        paper(None, None, Some(9.3)),
        reference(0.5499, Some(0.7187), (9.2, 0.05), None)),
];

#[cfg(test)]
mod tests {
    use super::super::result::AGREEMENT_LIMIT;
    use super::*;

    #[test]
    fn every_row_is_found_once() {
        for row in &TABLE {
            assert!(std::ptr::eq(find(&row.spec).unwrap(), row));
        }
        let unknown = Spec {
            n: Some(7),
            ..TABLE[3].spec
        };
        assert!(find(&unknown).is_none());
    }

    #[test]
    fn four_standard_errors_cover_the_tenth_allowed_to_single_rows() {
        for row in TABLE.iter().filter(|row| row.spec.method == Method::Single) {
            let act = row.reference.act;
            assert!(AGREEMENT_LIMIT * act.se > 0.1 * act.value);
        }
    }
}
