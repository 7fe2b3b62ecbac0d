//! Prediction where several components stand together.

use super::{New, What};
use crate::additive::{Additive, AdditiveAt};
use crate::component::Point;
use crate::error::Error;
use crate::triangle::Triangle;
use std::collections::HashMap;
use towline::Rng;

/// Added to variances, relatively, so that places that coincide do no harm to the arithmetic.
const JITTER: f64 = 1e-10;
/// New places that are asked for at once where only the variance of each is wanted: they share what is computed for the
/// parameters, and the covariance of so many is small.
const TOGETHER: usize = 32;

impl Additive {
    pub(super) fn check(&self, new: &New) -> Result<(), Error> {
        let dense = self.process.as_ref();
        let wanted = dense.map_or(0, |process| process.places.coordinates.len());
        if new.places.coordinates.len() != wanted {
            return Err(Error::model(
                "new places need the coordinates that the data's have",
            ));
        }
        if new.groups.len() + new.components.len() > self.parts.len() {
            return Err(Error::model("more components than the model has"));
        }
        let lengths = new.groups.iter().map(Vec::len);
        let lengths = lengths.chain(new.components.iter().map(|c| c.points.len()));
        match lengths.into_iter().find(|len| *len != new.rows) {
            None => Ok(()),
            Some(len) => Err(Error::model(format!(
                "a component has {len} entries for {} predictions",
                new.rows
            ))),
        }
    }

    /// Where new rows lie for each component: groups first, then the others; components that are not asked for are left out.
    fn points(&self, new: &New) -> Vec<(usize, Vec<Point>)> {
        let mut all = Vec::new();
        for (t, groups) in new.groups.iter().enumerate() {
            let columns = &new.columns[t];
            let width = columns.len();
            let at = |(row, group): (usize, &Option<usize>)| match group {
                Some(group) => Point::Nodes(
                    (0..width)
                        .map(|a| ((group * width + a) as u32, columns[a][row]))
                        .collect(),
                ),
                None => Point::Fresh(columns.iter().map(|column| column[row]).collect()),
            };
            all.push((t, groups.iter().enumerate().map(at).collect()));
        }
        let first = self.parts.len() - new.components.len();
        for (k, component) in new.components.iter().enumerate() {
            all.push((first + k, component.points.clone()));
        }
        all
    }

    /// Adds to the means and variances of new rows.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn predict(
        &self,
        at: &AdditiveAt,
        values: &[f64],
        y: &[f64],
        new: &New,
        what: What,
        mean: &mut [f64],
        variance: &mut [f64],
    ) {
        if let (Some(process), Some(at)) = (&self.process, &at.process) {
            let v = &y[self.fixed.width..self.border()];
            process.predict(at, values, v, new, what, mean, variance);
            if what == What::Centred {
                let mut f = vec![0.0; v.len()];
                at.root.multiply(v, &mut f);
                let centre = f.iter().sum::<f64>() / f.len() as f64;
                mean.iter_mut().for_each(|m| *m -= centre);
            }
        }
        for (part, points) in self.points(new) {
            let u = self.effects_of(at, part, y);
            let structure = &self.parts[part].component.structure;
            if what == What::Centred && !points.is_empty() {
                // A field by itself: what does not trade off with an intercept.
                let rows = &self.parts[part].component.rows;
                let at_row = |i: usize| rows.row(i).map(|(k, w)| w * u[k as usize]).sum::<f64>();
                let centre = (0..rows.len()).map(at_row).sum::<f64>() / rows.len() as f64;
                let first = self.parts.len() - new.components.len();
                let asked = part >= first && new.components[part - first].is_anywhere();
                if asked {
                    mean.iter_mut().for_each(|m| *m -= centre);
                }
            }
            let mut fresh: Vec<(usize, &[f64])> = Vec::new();
            for (row, point) in points.iter().enumerate() {
                match point {
                    Point::Nodes(nodes) => {
                        mean[row] += nodes.iter().map(|(k, w)| w * u[*k as usize]).sum::<f64>();
                    }
                    Point::Fresh(place) => fresh.push((row, place)),
                }
            }
            for some in fresh.chunks(TOGETHER) {
                let places: Vec<&[f64]> = some.iter().map(|(_, place)| *place).collect();
                let there = structure.fresh(&at.theta[part], &places);
                for (k, (row, _)) in some.iter().enumerate() {
                    mean[*row] += there.mean(k, &u);
                    variance[*row] += there.covariance[k * some.len() + k].max(0.0);
                }
            }
        }
    }

    /// Adds a joint draw at new rows.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn joint(
        &self,
        at: &AdditiveAt,
        values: &[f64],
        y: &[f64],
        new: &New,
        (places, place_of): (&[usize], &[usize]),
        eta: &mut [f64],
        rng: &mut Rng,
    ) -> Result<(), Error> {
        if let (Some(process), Some(at)) = (&self.process, &at.process) {
            let v = &y[self.fixed.width..self.border()];
            let f = process.joint(at, values, v, new, places, rng)?;
            for (e, place) in eta.iter_mut().zip(place_of) {
                *e += f[*place];
            }
        }
        for (part, points) in self.points(new) {
            let u = self.effects_of(at, part, y);
            // New places, each once; new groups have their own numbers.
            let mut seen: HashMap<(usize, Vec<u64>), usize> = HashMap::new();
            let mut fresh: Vec<(usize, &[f64])> = Vec::new();
            let mut of_row = vec![None; points.len()];
            for (row, point) in points.iter().enumerate() {
                match point {
                    Point::Nodes(nodes) => {
                        eta[row] += nodes.iter().map(|(k, w)| w * u[*k as usize]).sum::<f64>();
                    }
                    Point::Fresh(place) => {
                        let group = match part < new.groups.len() {
                            true => new
                                .newcomers
                                .get(part)
                                .and_then(|n| n.get(row))
                                .copied()
                                .unwrap_or(row),
                            false => 0,
                        };
                        let key = (group, place.iter().map(|c| (c + 0.0).to_bits()).collect());
                        let next = fresh.len();
                        let number = *seen.entry(key).or_insert(next);
                        if number == next {
                            fresh.push((group, place));
                        }
                        of_row[row] = Some(number);
                    }
                }
            }
            if fresh.is_empty() {
                continue;
            }
            let of_places: Vec<&[f64]> = fresh.iter().map(|(_, place)| *place).collect();
            let structure = &self.parts[part].component.structure;
            let there = structure.fresh(&at.theta[part], &of_places);
            let covariance = &there.covariance;
            let n = fresh.len();
            let mut matrix = vec![0.0; n * n];
            for i in 0..n {
                for j in 0..=i {
                    // Different new groups have nothing in common.
                    let same = fresh[i].0 == fresh[j].0;
                    matrix[j * n + i] = if same { covariance[i * n + j] } else { 0.0 };
                }
                matrix[i * n + i] += JITTER * covariance[i * n + i] + f64::MIN_POSITIVE;
            }
            let root = Triangle::root_of(matrix, n).ok_or_else(|| {
                Error::model(
                    "the new places lie too close together for a joint draw: leave some out",
                )
            })?;
            let z: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
            let mut f = vec![0.0; n];
            root.multiply(&z, &mut f);
            for (e, number) in eta.iter_mut().zip(of_row) {
                if let Some(number) = number {
                    *e += there.mean(number, &u) + f[number];
                }
            }
        }
        Ok(())
    }
}
