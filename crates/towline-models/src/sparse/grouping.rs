//! Effects of groups as a user gives them.

use crate::parameter::{Register, Source, Value};

/// Effects of groups: one or more columns of covariates whose coefficients differ from group to group.
#[derive(Debug, Clone, PartialEq)]
pub struct Grouping {
    /// Its name.
    pub name: String,
    /// The names of the groups.
    pub levels: Vec<String>,
    /// The group of each observation.
    pub group: Vec<usize>,
    /// The names of the effects: `Intercept`, or a covariate.
    pub effects: Vec<String>,
    /// Effect by effect, what it multiplies in each observation.
    pub columns: Vec<Vec<f64>>,
    /// The standard deviation of each effect between groups.
    pub sds: Vec<Value>,
    /// Whether effects of a group are correlated, and then the shape of the LKJ prior of their correlations (1:
    /// uniform over correlation matrices; 2: prefers weak ones).
    pub correlation: Option<f64>,
}

impl Grouping {
    /// A single level for each group: `(1 | name)`.
    pub fn intercept(
        name: impl Into<String>,
        levels: Vec<String>,
        group: Vec<usize>,
        sd: Value,
    ) -> Self {
        Self {
            columns: vec![vec![1.0; group.len()]],
            name: name.into(),
            levels,
            group,
            effects: vec!["Intercept".into()],
            sds: vec![sd],
            correlation: None,
        }
    }

    /// Numbers its slow parameters: standard deviations, and partial correlations row by row below the diagonal.
    pub(crate) fn register(&self, register: &mut Register) -> (Vec<Source>, Vec<usize>) {
        let width = self.effects.len();
        let sds = self
            .sds
            .iter()
            .map(|sd| register.add(sd, 0.0, f64::INFINITY))
            .collect();
        let mut partials = Vec::new();
        if let Some(shape) = self.correlation.filter(|_| width > 1) {
            for i in 1..width {
                for j in 0..i {
                    let name = format!("cor_{}_{}_{}", self.name, self.effects[j], self.effects[i]);
                    let power = shape + 0.5 * (width - 2 - j) as f64;
                    partials.push(register.add_partial(name, power));
                }
            }
        }
        (sds, partials)
    }
}
