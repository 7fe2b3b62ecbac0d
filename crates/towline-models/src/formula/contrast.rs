//! Contrasts: how a factor of k levels becomes k − 1 columns beside a constant, as R has them.

use super::polynomial::Orthogonal;

/// A coding of a factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Contrast {
    /// Each level against the one at `base`.
    Treatment { base: usize },
    /// Each level but the last against the mean of all.
    Sum,
    /// Each level against the mean of those before it.
    Helmert,
    /// Orthogonal polynomials in the number of the level.
    Polynomial,
}

/// The names of contrasts, as `C(f, name)` takes them.
pub(crate) const CONTRASTS: [&str; 5] = [
    "contr.treatment",
    "contr.SAS",
    "contr.sum",
    "contr.helmert",
    "contr.poly",
];

impl Contrast {
    /// The contrast of a name, for a factor of so many levels.
    pub fn named(name: &str, levels: usize) -> Option<Self> {
        Some(match name {
            "contr.treatment" | "treatment" => Self::Treatment { base: 0 },
            "contr.SAS" | "SAS" => Self::Treatment { base: levels - 1 },
            "contr.sum" | "sum" => Self::Sum,
            "contr.helmert" | "helmert" => Self::Helmert,
            "contr.poly" | "poly" => Self::Polynomial,
            _ => return None,
        })
    }

    /// What columns are called after the factor.
    pub fn labels(self, levels: &[String]) -> Vec<String> {
        let count = levels.len() - 1;
        match self {
            Self::Treatment { base } => {
                let others = levels.iter().enumerate().filter(|(k, _)| *k != base);
                others.map(|(_, level)| level.clone()).collect()
            }
            Self::Sum | Self::Helmert => (1..=count).map(|k| k.to_string()).collect(),
            Self::Polynomial => (1..=count)
                .map(|k| match k {
                    1 => ".L".into(),
                    2 => ".Q".into(),
                    3 => ".C".into(),
                    k => format!("^{k}"),
                })
                .collect(),
        }
    }

    /// Column by column, the value of each of so many levels.
    pub fn columns(self, levels: usize) -> Vec<Vec<f64>> {
        let make = |value: &dyn Fn(usize, usize) -> f64| -> Vec<Vec<f64>> {
            let column = |k| (0..levels).map(|level| value(k, level)).collect();
            (0..levels - 1).map(column).collect()
        };
        let is = |yes: bool| f64::from(u8::from(yes));
        match self {
            Self::Treatment { base } => make(&|k, level| is(level == k + usize::from(k >= base))),
            Self::Sum => make(&|k, level| is(level == k) - is(level == levels - 1)),
            Self::Helmert => make(&|k, level| match level {
                level if level <= k => -1.0,
                level if level == k + 1 => level as f64,
                _ => 0.0,
            }),
            Self::Polynomial => {
                let scores: Vec<f64> = (1..=levels).map(|level| level as f64).collect();
                Orthogonal::of(&scores, levels - 1).columns(&scores)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contrasts_are_those_of_r() {
        let sum = Contrast::Sum.columns(3);
        assert_eq!(sum, [[1.0, 0.0, -1.0], [0.0, 1.0, -1.0]]);
        let helmert = Contrast::Helmert.columns(3);
        assert_eq!(helmert, [[-1.0, 1.0, 0.0], [-1.0, -1.0, 2.0]]);
        let base = Contrast::Treatment { base: 1 }.columns(3);
        assert_eq!(base, [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]);
        let half = 0.5f64.sqrt();
        let poly = Contrast::Polynomial.columns(3);
        assert!((poly[0][0] + half).abs() < 1e-15 && poly[0][1].abs() < 1e-15);
        assert!((poly[1][1] + (2.0f64 / 3.0).sqrt()).abs() < 1e-15);
    }
}
