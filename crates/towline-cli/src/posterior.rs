//! The stored draws of a fit with its model: what predictions, maps, checks and effects are made of.

use crate::fit::Description;
use anyhow::{Context, Result, bail};
use std::path::Path;
use towline::store::RunDir;
use towline_models::{Predictor, Resolved};

/// A fitted model with draws of its posterior.
pub struct Posterior {
    /// The model file, its data, and how rows are coded.
    pub resolved: Resolved,
    /// The model with its draws.
    pub predictor: Predictor,
    /// The chain of each draw, and its number there.
    pub places: Vec<(usize, usize)>,
}

impl Posterior {
    /// Opens the run of a fit, with at most so many of its draws, evenly spaced.
    pub fn open(dir: &Path, most: usize) -> Result<Self> {
        let run = RunDir::open(dir)?;
        let manifest = run.manifest();
        let resolved = Description::parse(&manifest.model)
            .and_then(|description| description.resolve(dir))
            .with_context(|| format!("{} cannot be used for this", dir.display()))?;
        let model = resolved.parts.build()?;
        let every = manifest.latent_every as usize;
        let width = manifest.columns.len();
        let (mut rows, mut places) = (Vec::new(), Vec::new());
        for chain in 0..run.chains() {
            let mut draws: Vec<Vec<f64>> = Vec::new();
            let mut step = 0;
            run.draws(chain).each(|row| {
                // Latents are stored at the end of every so many steps.
                step += 1;
                if step % every == 0 {
                    draws.push(row[..width].to_vec());
                }
            })?;
            if !manifest.latents.is_empty() {
                let mut next = 0;
                run.latents(chain).each(|row| {
                    if let Some(draw) = draws.get_mut(next) {
                        draw.extend_from_slice(row);
                    }
                    next += 1;
                })?;
                draws.truncate(next);
            }
            places.extend((0..draws.len()).map(|k| (chain, (k + 1) * every - 1)));
            rows.extend(draws);
        }
        if rows.is_empty() {
            bail!(
                "{} has no draws yet: wait until its warm-up is over, or `towline resume` it",
                dir.display()
            );
        }
        let count = rows.len().min(most);
        let chosen: Vec<usize> = (0..count).map(|k| k * rows.len() / count).collect();
        let draws = chosen
            .iter()
            .map(|k| std::mem::take(&mut rows[*k]))
            .collect();
        Ok(Self {
            resolved,
            predictor: Predictor::new(model, draws),
            places: chosen.iter().map(|k| places[*k]).collect(),
        })
    }

    /// How many draws there are.
    pub fn len(&self) -> usize {
        self.predictor.len()
    }
}
