//! What one row of the reproduction holds, and its JSON.

use super::published::{self, Published};
use super::spec::Spec;
use serde_json::{Value, json};

/// Two values agree when they differ by at most this many combined standard errors.
///
/// Some thirty values are compared in a run: at 4 the chance that sound code fails one of them is
/// about 0.2 %, at 3 it would be 9 %.
pub const AGREEMENT_LIMIT: f64 = 4.0;

/// A Monte Carlo estimate with its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// Its standard error.
    pub se: f64,
}

impl Estimate {
    /// The mean of values from independent chains; its standard error comes from their spread.
    pub fn of_mean(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let value = values.iter().sum::<f64>() / count;
        let spread: f64 = values.iter().map(|v| (v - value).powi(2)).sum();
        Self {
            value,
            se: (spread / (count - 1.0) / count).sqrt(),
        }
    }

    /// The ratio of two sums over independent chains; its standard error comes from leaving out
    /// each chain in turn (the jackknife).
    pub fn of_ratio(above: &[f64], below: &[f64]) -> Self {
        let totals = (above.iter().sum::<f64>(), below.iter().sum::<f64>());
        let without: Vec<f64> = above
            .iter()
            .zip(below)
            .map(|(a, b)| (totals.0 - a) / (totals.1 - b))
            .collect();
        // Values without one chain differ less than values of one chain, by the factor count − 1.
        let apart = without.len() as f64 - 1.0;
        Self {
            value: totals.0 / totals.1,
            se: apart * Self::of_mean(&without).se,
        }
    }

    /// How many combined standard errors `self` lies above `other`.
    pub fn z_against(self, other: Estimate) -> f64 {
        (self.value - other.value) / self.se.hypot(other.se)
    }
}

/// What one method gave on one test distribution. Rates are fractions.
#[derive(Clone, Debug)]
pub struct Row {
    /// The test, the method and its settings.
    pub spec: Spec,
    /// Rejection rate of the updates that change x.
    pub outer_rejection: Estimate,
    /// Rejection rate of the inner moves of a drag, or of the update of y alone.
    pub inner_rejection: Option<Estimate>,
    /// Rejection rate of the update of z alone (single-variable updates of test 2).
    pub z_rejection: Option<Estimate>,
    /// Autocorrelation time of x, 1 + 2 Σ ρ_k.
    pub act: Estimate,
    /// Autocorrelations of x at lags 0, 1, … 30.
    pub autocorrelations: Vec<f64>,
    /// Outer iterations, over all chains.
    pub iterations: u64,
    /// Slow computations spent.
    pub slow_evals: u64,
    /// Fast evaluations spent.
    pub fast_evals: u64,
}

/// How an estimate stands to the precise value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Within [`AGREEMENT_LIMIT`], or there is nothing to compare with.
    Agrees,
    /// Further away.
    Differs,
    /// The run was too short for an estimate with a standard error.
    Unknown,
}

/// One estimate of a row beside what the paper says and the precise value.
#[derive(Clone, Copy, Debug)]
pub struct Comparison {
    /// What is compared, in words.
    pub quantity: &'static str,
    /// This run's estimate.
    pub ours: Estimate,
    /// The paper's value, where it gives one.
    pub paper: Option<f64>,
    /// The precise value, where there is one.
    pub precise: Option<Estimate>,
}

impl Comparison {
    /// Standard errors by which this run lies above the precise value.
    pub fn z(&self) -> Option<f64> {
        self.precise.map(|precise| self.ours.z_against(precise))
    }

    /// How this run stands to the precise value.
    pub fn verdict(&self) -> Verdict {
        match self.z() {
            Some(z) if z.is_nan() => Verdict::Unknown,
            Some(z) if z.abs() > AGREEMENT_LIMIT => Verdict::Differs,
            _ => Verdict::Agrees,
        }
    }
}

impl Row {
    /// Test, method and number of intervals, as in "1 drag 500".
    pub fn label(&self) -> String {
        self.spec.label()
    }

    /// What is known about this row from elsewhere.
    pub fn published(&self) -> Option<&'static Published> {
        published::find(&self.spec)
    }

    /// The outer rejection rate beside the known values.
    pub fn outer(&self) -> Comparison {
        let known = self.published();
        Comparison {
            quantity: "outer rejection",
            ours: self.outer_rejection,
            paper: known.and_then(|k| k.paper.outer_rejection),
            precise: known.map(|k| published::rate(k.reference.outer_rejection)),
        }
    }

    /// The inner rejection rate beside the known values, if the method has one.
    pub fn inner(&self) -> Option<Comparison> {
        let known = self.published();
        self.inner_rejection.map(|ours| Comparison {
            quantity: "inner rejection",
            ours,
            paper: known.and_then(|k| k.paper.inner_rejection),
            precise: known
                .and_then(|k| k.reference.inner_rejection)
                .map(published::rate),
        })
    }

    /// The rejection rate of updates of z alone beside the precise value, if the method has one.
    pub fn inner_z(&self) -> Option<Comparison> {
        self.z_rejection.map(|ours| Comparison {
            quantity: "rejection of z",
            ours,
            paper: None,
            precise: self
                .published()
                .and_then(|k| k.reference.z_rejection)
                .map(published::rate),
        })
    }

    /// The autocorrelation time beside the known values.
    pub fn act(&self) -> Comparison {
        let known = self.published();
        Comparison {
            quantity: "autocorrelation time",
            ours: self.act,
            paper: known.and_then(|k| k.paper.act),
            precise: known.map(|k| k.reference.act),
        }
    }

    /// Everything of this row that can be compared.
    pub fn comparisons(&self) -> Vec<Comparison> {
        [
            Some(self.outer()),
            self.inner(),
            self.inner_z(),
            Some(self.act()),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Whether everything of this row agrees with the precise values; none if that cannot be told.
    pub fn agrees(&self) -> Option<bool> {
        let verdicts: Vec<Verdict> = self.comparisons().iter().map(|c| c.verdict()).collect();
        if verdicts.contains(&Verdict::Differs) {
            Some(false)
        } else if verdicts.contains(&Verdict::Unknown) {
            None
        } else {
            Some(true)
        }
    }

    /// Fast evaluations per slow one.
    pub fn fast_per_slow(&self) -> f64 {
        self.fast_evals as f64 / self.slow_evals as f64
    }
}

/// The rows as `{"rows": […]}`; rates are fractions, what does not apply is null.
pub fn to_json(rows: &[Row]) -> Value {
    json!({ "rows": rows.iter().map(row_json).collect::<Vec<_>>() })
}

fn row_json(row: &Row) -> Value {
    let known = row.published();
    let z = |comparison: Option<Comparison>| comparison.and_then(|c| c.z());
    json!({
        "test": row.spec.test,
        "method": row.spec.method.name(),
        "frame": row.spec.frame(),
        "n": row.spec.n,
        "proposal_sd": row.spec.slow_sd.map(|sd| json!({ "slow": sd, "fast": row.spec.fast_sd })),
        "outer_rejection": row.outer_rejection.value,
        "outer_rejection_se": row.outer_rejection.se,
        "inner_rejection": row.inner_rejection.map(|e| e.value),
        "inner_rejection_se": row.inner_rejection.map(|e| e.se),
        "z_rejection": row.z_rejection.map(|e| e.value),
        "z_rejection_se": row.z_rejection.map(|e| e.se),
        "act": row.act.value,
        "act_se": row.act.se,
        "autocorrelations": row.autocorrelations,
        "iterations": row.iterations,
        "slow_evals": row.slow_evals,
        "fast_evals": row.fast_evals,
        "paper": {
            "outer_rejection": row.outer().paper,
            "inner_rejection": known.and_then(|k| k.paper.inner_rejection),
            "act": row.act().paper,
        },
        "reference": known.map(reference_json),
        "z_scores": {
            "outer_rejection": z(Some(row.outer())),
            "inner_rejection": z(row.inner()),
            "z_rejection": z(row.inner_z()),
            "act": z(Some(row.act())),
        },
        "agrees": row.agrees(),
    })
}

fn reference_json(known: &Published) -> Value {
    let precise = &known.reference;
    let rate_se = |rate: Option<f64>| rate.map(|r| published::rate(r).se);
    json!({
        "outer_rejection": precise.outer_rejection,
        "outer_rejection_se": rate_se(Some(precise.outer_rejection)),
        "inner_rejection": precise.inner_rejection,
        "inner_rejection_se": rate_se(precise.inner_rejection),
        "z_rejection": precise.z_rejection,
        "z_rejection_se": rate_se(precise.z_rejection),
        "act": precise.act.value,
        "act_se": precise.act.se,
        "autocorrelations": precise
            .autocorrelations
            .map(|values| json!({ "lags": published::LAGS, "values": values })),
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;

    fn keys(value: &Value) -> Vec<&str> {
        let mut keys: Vec<_> = value.as_object().unwrap().keys().map(|k| &**k).collect();
        keys.sort_unstable();
        keys
    }

    #[test]
    fn json_has_exactly_the_promised_keys_in_every_row() {
        let json = to_json(&fixture::rows());
        assert_eq!(keys(&json), ["rows"]);
        assert_eq!(json["rows"].as_array().unwrap().len(), 12);
        for row in json["rows"].as_array().unwrap() {
            let expected = [
                "act",
                "act_se",
                "agrees",
                "autocorrelations",
                "fast_evals",
                "frame",
                "inner_rejection",
                "inner_rejection_se",
                "iterations",
                "method",
                "n",
                "outer_rejection",
                "outer_rejection_se",
                "paper",
                "proposal_sd",
                "reference",
                "slow_evals",
                "test",
                "z_rejection",
                "z_rejection_se",
                "z_scores",
            ];
            assert_eq!(keys(row), expected);
            let paper = ["act", "inner_rejection", "outer_rejection"];
            assert_eq!(keys(&row["paper"]), paper);
            assert_eq!(keys(&row["reference"]).len(), 9);
        }
    }

    #[test]
    fn json_of_a_drag_gives_the_papers_values_as_fractions() {
        let json = to_json(&fixture::rows());
        let drag = &json["rows"][3];
        assert_eq!(drag["test"], 1);
        assert_eq!(drag["method"], "drag");
        assert_eq!(drag["n"], 20);
        let paper = json!({ "outer_rejection": 0.76, "inner_rejection": 0.60, "act": null });
        assert_eq!(drag["paper"], paper);
        assert_eq!(drag["reference"]["act"], 59.5);
        assert_eq!(drag["reference"]["autocorrelations"]["values"][0], 0.9615);
        assert_eq!(drag["z_rejection"], Value::Null);
    }

    #[test]
    fn json_is_null_where_a_method_has_no_such_value() {
        let json = to_json(&fixture::rows());
        let joint = &json["rows"][0];
        for key in ["n", "inner_rejection", "inner_rejection_se", "z_rejection"] {
            assert!(joint[key].is_null(), "{key}");
        }
        assert_eq!(joint["paper"]["act"], 75.0);
        let single = &json["rows"][7];
        assert_eq!(single["test"], 2);
        assert!(single["z_rejection"].is_number());
    }

    #[test]
    fn json_of_an_unknown_row_has_no_reference() {
        let mut row = fixture::rows().remove(3);
        row.spec.n = Some(37);
        let json = to_json(&[row]);
        assert!(json["rows"][0]["reference"].is_null());
        assert!(json["rows"][0]["paper"]["outer_rejection"].is_null());
    }

    #[test]
    fn an_estimate_without_a_standard_error_neither_agrees_nor_differs() {
        let mut row = fixture::rows().remove(0);
        assert_eq!(row.agrees(), Some(true));
        row.act.se = f64::NAN;
        assert_eq!(row.act().verdict(), Verdict::Unknown);
        assert_eq!(row.agrees(), None);
        row.outer_rejection.value += 0.1;
        assert_eq!(row.agrees(), Some(false));
    }

    #[test]
    fn a_mean_has_the_standard_error_of_its_spread() {
        let mean = Estimate::of_mean(&[1.0, 2.0, 3.0, 6.0]);
        assert_eq!(mean.value, 3.0);
        assert!((mean.se - (14.0f64 / 12.0).sqrt()).abs() < 1e-15);
        assert!(Estimate::of_mean(&[1.0]).se.is_nan());
    }

    #[test]
    fn a_ratio_to_a_constant_is_a_mean() {
        let values = [1.0, 2.0, 3.0, 6.0];
        let (ratio, mean) = (
            Estimate::of_ratio(&values, &[1.0; 4]),
            Estimate::of_mean(&values),
        );
        assert!((ratio.value - mean.value).abs() < 1e-14);
        assert!((ratio.se - mean.se).abs() < 1e-14);
    }
}
