//! Joint draws at new rows: what rows have in common (a new group, neighbouring places) they have in common there too.

use super::{New, Predictor, What};
use crate::dense::{Dense, DenseAt};
use crate::error::Error;
use crate::family::Observation;
use crate::latent::{At, Cache, Latent};
use crate::pool::Pooled;
use crate::triangle::Triangle;
use crate::vector::inner;
use std::collections::HashMap;
use towline::Rng;

/// The most different new places of a joint draw: a full matrix of them is factorised for every draw.
const MOST_PLACES: usize = 3000;
/// Added to variances, relatively, so that places that nearly coincide do no harm to the arithmetic.
const JITTER: f64 = 1e-10;

/// One joint draw at new rows.
#[derive(Debug, Clone, PartialEq)]
pub struct JointDraw {
    /// The linear predictor, class by class.
    pub eta: Vec<f64>,
    /// A new response of each row.
    pub response: Vec<f64>,
}

impl Predictor {
    /// A joint draw of predictor and response at new rows from every draw of the posterior.
    ///
    /// # Errors
    /// Where the rows do not fit the model, or too many places are asked for.
    pub fn joint(&self, new: &New, seed: u64) -> Result<Vec<JointDraw>, Error> {
        self.model.check(new)?;
        let places = distinct(new);
        if places.0.len() > MOST_PLACES {
            return Err(Error::model(format!(
                "joint draws at {} places need a full matrix of them for every draw: at most {MOST_PLACES} are accepted. \
                 Give fewer rows, or leave --draws-to out",
                places.0.len()
            )));
        }
        self.each(&|_| {}, |k, cache, y| {
            let mut rng = Rng::stream(seed, k as u64);
            let eta = self.joint_eta(cache, y, new, &places, &mut rng)?;
            let response = self.respond(cache, &eta, new, &mut rng);
            Ok(JointDraw { eta, response })
        })
    }

    fn joint_eta(
        &self,
        cache: &Cache,
        y: &[f64],
        new: &New,
        (places, place_of): &(Vec<usize>, Vec<usize>),
        rng: &mut Rng,
    ) -> Result<Vec<f64>, Error> {
        let model = &self.model;
        let classes = model.likelihood.classes();
        let mut eta = vec![0.0; classes * new.rows];
        for class in 0..classes {
            let part = &mut eta[class * new.rows..(class + 1) * new.rows];
            model.fixed_part(y, class, new, part);
            match (&model.latent, &cache.at) {
                (Latent::Dense(dense), At::Dense(at)) => {
                    let from = class * dense.block() + model.fixed.len();
                    let u = &y[from..(class + 1) * dense.block()];
                    let f = dense.joint(at, &cache.values, u, new, places, rng)?;
                    for (e, place) in part.iter_mut().zip(place_of) {
                        *e += f[*place];
                    }
                }
                (Latent::Sparse(sparse), At::Sparse(at)) => {
                    let u = &y[sparse.border()..];
                    for (t, term) in sparse.terms.iter().enumerate() {
                        let k = term.width;
                        let mut b = vec![0.0; term.groups * k];
                        sparse.effects_of(at, t, class, u, &mut b);
                        let mut fresh: HashMap<usize, Vec<f64>> = HashMap::new();
                        for (i, e) in part.iter_mut().enumerate() {
                            let effects = match new.groups[t][i] {
                                Some(group) => &b[group * k..(group + 1) * k],
                                None => {
                                    let names = new.newcomers.get(t);
                                    let name = names.and_then(|n| n.get(i)).copied().unwrap_or(i);
                                    fresh.entry(name).or_insert_with(|| {
                                        let z: Vec<f64> = (0..k).map(|_| rng.normal()).collect();
                                        let lambda = &at.lambda[t];
                                        let row = |a: usize| {
                                            (0..=a).map(|j| lambda[a * k + j] * z[j]).sum()
                                        };
                                        (0..k).map(row).collect()
                                    })
                                }
                            };
                            *e += (0..k)
                                .map(|a| new.columns[t][a][i] * effects[a])
                                .sum::<f64>();
                        }
                    }
                }
                (Latent::Additive(additive), At::Additive(at)) => {
                    let values = &cache.values;
                    additive.joint(at, values, y, new, (places, place_of), part, rng)?;
                }
                _ => unreachable!("a cache belongs to the model that made it"),
            }
        }
        Ok(eta)
    }

    fn respond(&self, cache: &Cache, eta: &[f64], new: &New, rng: &mut Rng) -> Vec<f64> {
        let classes = self.model.likelihood.classes();
        let one = |row: usize| {
            if classes > 1 {
                let of = |class: usize| eta[class * new.rows + row];
                let top = (0..classes).map(of).fold(f64::NEG_INFINITY, f64::max);
                return rng.pick((0..classes).map(|c| (of(c) - top).exp())) as f64;
            }
            let observation = Observation {
                family: self.model.family(),
                parameter: cache.parameter(),
                trials: new.trials.get(row).copied().unwrap_or(1.0),
            };
            observation.draw(eta[row], rng)
        };
        (0..new.rows).map(one).collect()
    }
}

impl Dense {
    /// The process at new places, drawn jointly given its values at the data's.
    pub(super) fn joint(
        &self,
        at: &DenseAt,
        values: &[f64],
        u: &[f64],
        new: &New,
        places: &[usize],
        rng: &mut Rng,
    ) -> Result<Vec<f64>, Error> {
        let (n, count) = (self.places.len, places.len());
        let mut whitened = vec![0.0; n * count];
        let mut own = vec![0.0; count];
        for ((column, own), row) in whitened.chunks_exact_mut(n).zip(&mut own).zip(places) {
            *own = self.whitened(at, values, &new.places.place(*row), What::Row, column);
        }
        let chosen = crate::covariance::Places::new(
            new.places
                .coordinates
                .iter()
                .map(|c| places.iter().map(|row| c[*row]).collect())
                .collect(),
        );
        let mut left = Pooled::take(count * count);
        let mut column = vec![0.0; count];
        for j in 0..count {
            let place = chosen.place(j);
            let which = crate::covariance::Column::Row(&place);
            self.node
                .column(&chosen, values, which, &mut column, &mut Vec::new());
            let of = |i: usize| &whitened[i * n..(i + 1) * n];
            for i in j..count {
                left[j * count + i] = column[i] - inner(of(i), of(j));
            }
            left[j * count + j] += self.jitter + JITTER * own[j];
        }
        let root = Triangle::root_of(left, count).ok_or_else(|| {
            Error::model("the new places lie too close together for a joint draw: leave some out")
        })?;
        let z: Vec<f64> = (0..count).map(|_| rng.normal()).collect();
        let mut f = vec![0.0; count];
        root.multiply(&z, &mut f);
        for (f, column) in f.iter_mut().zip(whitened.chunks_exact(n)) {
            *f += inner(column, u);
        }
        Ok(f)
    }
}

/// The first row of each different new place, and the place of each row.
fn distinct(new: &New) -> (Vec<usize>, Vec<usize>) {
    let mut seen: HashMap<Vec<u64>, usize> = HashMap::new();
    let mut firsts = Vec::new();
    if new.places.coordinates.is_empty() {
        return (firsts, Vec::new());
    }
    let place_of = (0..new.rows)
        .map(|row| {
            let key = new
                .places
                .place(row)
                .iter()
                .map(|c| (c + 0.0).to_bits())
                .collect();
            *seen.entry(key).or_insert_with(|| {
                firsts.push(row);
                firsts.len() - 1
            })
        })
        .collect();
    (firsts, place_of)
}
