//! Notices covariates that tell 0 from 1 without error.

/// Says so where a covariate separates the classes: proper priors keep its coefficient finite, and then matter.
pub(super) fn note<'a>(
    response: &[f64],
    columns: &[Vec<f64>],
    names: impl Iterator<Item = &'a str>,
    notes: &mut Vec<String>,
) {
    let separating: Vec<String> = names
        .zip(columns)
        .filter(|(_, column)| separates(response, column))
        .map(|(name, _)| format!("`{name}`"))
        .collect();
    if !separating.is_empty() {
        notes.push(format!(
            "{} separates the classes: by the likelihood alone its coefficient would be infinite; the prior keeps it \
             finite, and the answer depends on that prior",
            separating.join(", ")
        ));
    }
}

fn separates(response: &[f64], column: &[f64]) -> bool {
    let range = |class: f64| {
        let of_class = response.iter().zip(column).filter(|(y, _)| **y == class);
        of_class.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (_, x)| {
            (low.min(*x), high.max(*x))
        })
    };
    let (zero, one) = (range(0.0), range(1.0));
    let both = zero.0 <= zero.1 && one.0 <= one.1;
    // A constant column, such as the intercept, separates nothing.
    let varies = zero.0.min(one.0) < zero.1.max(one.1);
    both && varies && (zero.1 <= one.0 || one.1 <= zero.0)
}
