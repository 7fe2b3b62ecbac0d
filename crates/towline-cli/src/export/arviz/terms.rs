//! Latent columns as arrays: `school[a]`, `school[b]`, … become one variable with a dimension `school`.

use super::Dimension;
use anyhow::Result;
use towline::Column;
use towline::store::Draws;

/// Columns that belong together.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Term {
    /// The variable.
    pub name: String,
    /// Its dimensions beside chain and draw; none for a column by itself.
    pub dimensions: Vec<Dimension>,
    first: usize,
    size: usize,
}

impl Term {
    /// All of them, in order.
    pub fn all(columns: &[Column]) -> Vec<Self> {
        let parts: Vec<Option<(&str, &str)>> = columns
            .iter()
            .map(|c| {
                c.name
                    .strip_suffix(']')
                    .and_then(|name| name.split_once('['))
            })
            .collect();
        let mut terms = Vec::new();
        let mut first = 0;
        while first < columns.len() {
            let Some((name, _)) = parts[first] else {
                let name = columns[first].name.clone();
                terms.push(Self {
                    name,
                    dimensions: Vec::new(),
                    first,
                    size: 1,
                });
                first += 1;
                continue;
            };
            let same = parts[first..]
                .iter()
                .take_while(|p| p.is_some_and(|p| p.0 == name));
            let labels: Vec<&str> = same.flatten().map(|p| p.1).collect();
            terms.push(Self::of(name, &labels, first));
            first += labels.len();
        }
        terms
    }

    fn of(name: &str, labels: &[&str], first: usize) -> Self {
        // A process's values are at places; f.0 and f.1 are those of classes.
        let process = name == "f"
            || name
                .strip_prefix("f.")
                .is_some_and(|c| c.parse::<u32>().is_ok());
        let dimension = if process { "place" } else { name };
        let owned = |labels: &[&str]| labels.iter().map(|l| (*l).to_owned()).collect();
        let one = |labels: Vec<String>| Dimension {
            name: dimension.to_owned(),
            labels,
        };
        let dimensions = match effects(labels) {
            Some((levels, effects)) => {
                let effect = Dimension {
                    name: format!("{dimension}_effect"),
                    labels: owned(&effects),
                };
                vec![one(owned(&levels)), effect]
            }
            None => vec![one(owned(labels))],
        };
        Self {
            // A variable cannot be called as its dimension is.
            name: if process {
                name.to_owned()
            } else {
                format!("effect_{name}")
            },
            dimensions,
            first,
            size: labels.len(),
        }
    }

    /// The values of one chain, draw after draw.
    pub fn values(&self, draws: &Draws, length: usize) -> Result<Vec<f64>> {
        let mut out = Vec::with_capacity(length * self.size);
        let mut left = length;
        draws.each(|row| {
            if left > 0 {
                out.extend_from_slice(&row[self.first..self.first + self.size]);
                left -= 1;
            }
        })?;
        Ok(out)
    }
}

/// `a,Intercept`, `a,x`, `b,Intercept`, … as levels and effects.
fn effects<'a>(labels: &[&'a str]) -> Option<(Vec<&'a str>, Vec<&'a str>)> {
    let pairs: Option<Vec<(&str, &str)>> = labels.iter().map(|l| l.rsplit_once(',')).collect();
    let pairs = pairs?;
    let level = pairs.first()?.0;
    let width = pairs.iter().take_while(|p| p.0 == level).count();
    if width < 2 || pairs.len() % width != 0 {
        return None;
    }
    let names: Vec<&str> = pairs[..width].iter().map(|p| p.1).collect();
    let regular = pairs.chunks(width).all(|c| {
        c.iter()
            .zip(&names)
            .all(|(p, name)| p.0 == c[0].0 && p.1 == *name)
    });
    let levels = pairs.chunks(width).map(|c| c[0].0).collect();
    regular.then_some((levels, names))
}

#[cfg(test)]
mod tests {
    use super::*;
    use towline::Role;

    #[test]
    fn columns_become_arrays_with_dimensions() {
        let names = [
            "s[a,Intercept]",
            "s[a,x]",
            "s[b,Intercept]",
            "s[b,x]",
            "f[0]",
            "f[1]",
            "alone",
        ];
        let columns: Vec<Column> = names
            .iter()
            .map(|n| Column::new(*n, Role::Latent))
            .collect();
        let terms = Term::all(&columns);
        let seen: Vec<(&str, usize, usize)> = terms
            .iter()
            .map(|t| (t.name.as_str(), t.first, t.dimensions.len()))
            .collect();
        assert_eq!(seen, [("effect_s", 0, 2), ("f", 4, 1), ("alone", 6, 0)]);
        assert_eq!(terms[0].dimensions[0].labels, ["a", "b"]);
        assert_eq!(terms[0].dimensions[1].labels, ["Intercept", "x"]);
        assert_eq!(terms[1].dimensions[0].name, "place");
    }
}
