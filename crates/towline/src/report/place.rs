//! Where in the user's own parameters something was seen, which chains record on the scales on which they move.

use crate::chain::health::Ailment;
use crate::error::Error;
use crate::model::Role;
use crate::store::RunDir;
use std::collections::HashMap;

/// The slow parameters of a run, and their draws in order where they were asked for.
pub(super) struct Places<'a> {
    run: &'a RunDir,
    /// The columns of the slow variables, in their order.
    slow: Vec<String>,
    sorted: HashMap<usize, Vec<f64>>,
}

impl<'a> Places<'a> {
    pub fn of(run: &'a RunDir) -> Self {
        let columns = run.manifest().columns.iter();
        let mut slow: Vec<String> = columns
            .filter(|c| c.role == Role::Slow)
            .map(|c| c.name.clone())
            .collect();
        let tuning = run.manifest().tuning.as_ref();
        if tuning.is_some_and(|tuning| tuning.centre.len() != slow.len()) {
            // A model whose columns are not its slow variables: those have numbers only.
            slow.clear();
        }
        Self {
            run,
            slow,
            sorted: HashMap::new(),
        }
    }

    /// What a slow variable is called.
    pub fn name(&self, variable: usize) -> String {
        let name = self.slow.get(variable).cloned();
        name.unwrap_or_else(|| format!("slow variable {variable}"))
    }

    /// The tail that holds this share of a variable's draws, as `sigma is above 3.2`.
    pub fn tail(&mut self, variable: usize, above: bool, share: f64) -> Result<String, Error> {
        let name = self.name(variable);
        let part = if above { 1.0 - share } else { share };
        let word = if above { "above" } else { "below" };
        Ok(match self.quantile(variable, part)? {
            Some(edge) => format!("{name} is {word} {}", short(edge)),
            None => format!(
                "{name} is in its {} tail",
                if above { "upper" } else { "lower" }
            ),
        })
    }

    /// A region of a variable. Its edges are known on the scale on which chains move, which rises with the parameter's own: the
    /// shares of draws beyond them give the edges there.
    pub fn region(&mut self, ailment: &Ailment) -> Result<String, Error> {
        let (low, high) = ailment.range;
        if low == f64::NEG_INFINITY || high == f64::INFINITY {
            return self.tail(ailment.variable, high == f64::INFINITY, ailment.share);
        }
        let name = self.name(ailment.variable);
        let below = ailment.below;
        let edges = (
            self.quantile(ailment.variable, below)?,
            self.quantile(ailment.variable, below + ailment.share)?,
        );
        Ok(match edges {
            (Some(low), Some(high)) => {
                format!("{name} is between {} and {}", short(low), short(high))
            }
            _ => format!("{name} is between {} and {}", short(low), short(high)),
        })
    }

    fn quantile(&mut self, variable: usize, part: f64) -> Result<Option<f64>, Error> {
        let Some(name) = self.slow.get(variable) else {
            return Ok(None);
        };
        if !self.sorted.contains_key(&variable) {
            let mut all = self.run.column(name)?.concat();
            all.sort_by(f64::total_cmp);
            self.sorted.insert(variable, all);
        }
        let all = &self.sorted[&variable];
        let place = (part * all.len() as f64) as usize;
        Ok(all.get(place.min(all.len().saturating_sub(1))).copied())
    }
}

/// Three digits.
fn short(value: f64) -> String {
    if value != 0.0 && !(1e-3..1e5).contains(&value.abs()) {
        return format!("{value:.2e}");
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let digits = (2 - value.abs().max(1e-3).log10().floor() as i32).clamp(0, 5) as usize;
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn edges_are_told_with_three_digits() {
        let told = [3.21456, -0.04567, 1234.5, 2.5e-7, 0.0].map(short);
        assert_eq!(told, ["3.21", "-0.0457", "1234", "2.50e-7", "0"]);
    }
}
