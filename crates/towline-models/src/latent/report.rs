//! What is reported of a draw: parameters, coefficients and latent values, on the user's scale.

use super::{At, Cache, Latent, LatentGaussian};
use crate::parameter::Kind;
use towline::frame::Frame;
use towline::{Column, Model, ModelError, Rng, Role, Scratch, Target};

/// How far from the middle chains begin, beside draws of the prior.
const DISPERSION: f64 = 0.5;
/// How often a start is tried.
const TRIES: usize = 100;

impl Model for LatentGaussian {
    fn columns(&self) -> Vec<Column> {
        let mut columns: Vec<Column> = self
            .slow
            .iter()
            .map(|slow| Column {
                lower: slow.lower.is_finite().then_some(slow.lower),
                upper: slow.upper.is_finite().then_some(slow.upper),
                ..Column::new(slow.name.clone(), Role::Slow)
            })
            .collect();
        let classes = self.likelihood.classes();
        let of_class = |name: &str, class: usize| match classes {
            1 => name.to_string(),
            _ => match self.class_names.get(class) {
                Some(class) => format!("{name}.{class}"),
                None => format!("{name}.{class}"),
            },
        };
        for class in 0..classes {
            for name in &self.fixed.names {
                columns.push(Column::new(of_class(name, class), Role::Fast));
            }
        }
        for labels in &self.labels {
            for class in 0..classes {
                let name = of_class(&labels.name, class);
                for level in &labels.levels {
                    for effect in &labels.effects {
                        let part = match effect.as_str() {
                            "" | "Intercept" if labels.effects.len() == 1 => String::new(),
                            effect => format!(",{effect}"),
                        };
                        columns.push(Column::new(format!("{name}[{level}{part}]"), Role::Latent));
                    }
                }
            }
        }
        columns
    }

    fn report(&self, _: &[f64], y: &[f64], cache: &Cache, row: &mut [f64]) {
        let y = &*cache.straight(y);
        let (slow, rest) = row.split_at_mut(self.slow.len());
        slow.copy_from_slice(&cache.values);
        if let Latent::Sparse(sparse) = &self.latent {
            for term in &sparse.terms {
                self.correlations(term, cache, slow);
            }
        }
        if let (Latent::Additive(additive), At::Additive(at)) = (&self.latent, &cache.at) {
            additive.reported(at, slow);
        }
        let classes = self.likelihood.classes();
        let width = self.fixed.len();
        let (beta, mut latent) = rest.split_at_mut(width * classes);
        for class in 0..classes {
            let from = match &self.latent {
                Latent::Dense(dense) => class * dense.block(),
                _ => class * width,
            };
            for k in 0..width {
                beta[class * width + k] = self.fixed.means[k] + self.fixed.sds[k] * y[from + k];
            }
        }
        match (&self.latent, &cache.at) {
            (Latent::Dense(dense), At::Dense(at)) => {
                for (class, out) in latent.chunks_exact_mut(dense.places.len).enumerate() {
                    dense.latent(at, y, class, out);
                }
            }
            (Latent::Sparse(sparse), At::Sparse(at)) => {
                let u = &y[sparse.border()..];
                for (t, term) in sparse.terms.iter().enumerate() {
                    for class in 0..classes {
                        let (out, next) = latent.split_at_mut(term.groups * term.width);
                        sparse.effects_of(at, t, class, u, out);
                        latent = next;
                    }
                }
            }
            (Latent::Additive(additive), At::Additive(at)) => additive.report(at, y, latent),
            _ => unreachable!("a cache belongs to the model that made it"),
        }
    }

    fn start(&self, rng: &mut Rng) -> Result<(Vec<f64>, Vec<f64>), ModelError> {
        let middle = self.middle();
        for _ in 0..TRIES {
            let x: Vec<f64> = self
                .slow
                .iter()
                .zip(&middle)
                .map(|(slow, m)| m + DISPERSION * (slow.draw(rng) - m))
                .collect();
            let z: Vec<f64> = (0..self.fast_dim()).map(|_| rng.normal()).collect();
            let Some(cache) = self.prepare(&x)? else {
                continue;
            };
            let mut scratch = Scratch::default();
            let mut y = vec![0.0; z.len()];
            let own = self.own_frame(&cache, &y, &mut scratch);
            let frame = own.map_or(Frame::Identity, |own| Frame::Affine {
                centre: own.centre,
                root: own.root,
            });
            frame.to_y(&z, &mut y);
            if self.log_density_in(&cache, &y, &mut scratch).is_finite() {
                return Ok((x, y));
            }
        }
        Err("no point of positive density was found near the middle of the priors: are they on the scale of the data?".into())
    }

    fn settings(&self) -> Vec<(String, String)> {
        self.settings.clone()
    }
}

impl LatentGaussian {
    /// Correlations instead of partial ones.
    fn correlations(&self, term: &crate::sparse::Term, cache: &Cache, slow: &mut [f64]) {
        let k = term.width;
        let root = term.correlation_root(&cache.values);
        let mut next = term.partials.iter();
        for i in 1..k {
            for j in 0..i {
                let Some(&at) = next.next() else { return };
                debug_assert!(matches!(self.slow[at].kind, Kind::Partial { .. }));
                slow[at] = (0..=j).map(|m| root[i * k + m] * root[j * k + m]).sum();
            }
        }
    }
}
