//! A model of whatever type as something that can be run: in threads here, or chain by chain in processes.

use crate::density::Density;
use crate::exchange::Lent;
use crate::likelihood::Functions;
use crate::trouble::point;
use pyo3::prelude::*;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use towline::run::{Ended, Job, Progress, Run, Settings};
use towline::store::Manifest;
use towline::{Column, Error, Exchange, Model, Posterior};
use towline_models::LatentGaussian;

/// A model that can be run.
pub trait Runnable: Send + Sync {
    /// A new run, its directory locked.
    fn create(
        self: Arc<Self>,
        folder: &Path,
        description: Value,
        settings: Settings,
    ) -> Result<Box<dyn Held>, Error>;

    /// A run to continue, its directory locked.
    fn open(
        self: Arc<Self>,
        folder: &Path,
        draws: Option<u64>,
        settings: &Settings,
    ) -> Result<Box<dyn Held>, Error>;

    /// Runs one chain to its end.
    fn chain(&self, k: usize, job: &Job, exchange: &mut dyn Exchange) -> Result<Ended, Error>;

    /// What is reported.
    fn columns(&self) -> Vec<Column>;

    /// A point on the user's scale, in words.
    fn place(&self, x: &[f64], y: &[f64]) -> String;
}

/// A run that is ready; it holds the lock of its directory.
pub trait Held: Send + Sync {
    /// What is run.
    fn manifest(&self) -> &Manifest;

    /// Runs all chains in threads; the threads hold the interpreter where fast evaluations need it.
    fn go(
        self: Box<Self>,
        stop: Arc<AtomicBool>,
        see: &mut dyn FnMut(&Progress),
        interpreted: bool,
    ) -> Result<Ended, Error>;
}

/// A point of a chain in the user's words.
pub trait Placed {
    /// It.
    fn place(&self, x: &[f64], y: &[f64]) -> String;
}

impl Placed for Posterior<Functions> {
    fn place(&self, x: &[f64], y: &[f64]) -> String {
        let names = self.parameters().iter().map(|parameter| &parameter.name);
        point(names, self.values_at(x, y))
    }
}

impl Placed for Density {
    fn place(&self, x: &[f64], y: &[f64]) -> String {
        self.functions.place(x, y)
    }
}

impl Placed for LatentGaussian {
    fn place(&self, x: &[f64], _: &[f64]) -> String {
        format!("x = {x:?} on the chain's scale")
    }
}

impl<M: Model + Placed + Send + Sync + 'static> Runnable for M {
    fn create(
        self: Arc<Self>,
        folder: &Path,
        description: Value,
        settings: Settings,
    ) -> Result<Box<dyn Held>, Error> {
        Ok(Box::new(Run::create(folder, self, description, settings)?))
    }

    fn open(
        self: Arc<Self>,
        folder: &Path,
        draws: Option<u64>,
        settings: &Settings,
    ) -> Result<Box<dyn Held>, Error> {
        let mut run = Run::open(folder, self)?
            .error(settings.error)?
            .workers(settings.workers)
            .threads(settings.threads)
            .time_limit(settings.time_limit)
            .checkpoint_every(settings.checkpoint_every);
        if let Some(draws) = draws {
            run = run.draws(draws)?;
        }
        Ok(Box::new(run))
    }

    fn chain(&self, k: usize, job: &Job, mut exchange: &mut dyn Exchange) -> Result<Ended, Error> {
        towline::run::chain(self, k, job, &mut exchange)
    }

    fn columns(&self) -> Vec<Column> {
        Model::columns(self)
    }

    fn place(&self, x: &[f64], y: &[f64]) -> String {
        Placed::place(self, x, y)
    }
}

impl<M: Model + Send + Sync + 'static> Held for Run<M> {
    fn manifest(&self) -> &Manifest {
        Run::manifest(self)
    }

    fn go(
        self: Box<Self>,
        stop: Arc<AtomicBool>,
        see: &mut dyn FnMut(&Progress),
        interpreted: bool,
    ) -> Result<Ended, Error> {
        let run = match interpreted {
            // Workers need the interpreter that the chain holds.
            true => self.aside(|wait| Python::attach(|py| py.detach(wait))),
            false => *self,
        };
        run.go_within(stop, see, move |model, k, job, member| {
            // Attached for as long as the chain lasts, and let go whenever it does not need the interpreter: to attach
            // a thread that never was costs more than a fast evaluation.
            Python::attach(|py| {
                py.detach(|| {
                    member.begin(|member| {
                        if interpreted {
                            let work = |_: Python<'_>| {
                                towline::run::chain(model, k, job, &mut Lent(member))
                            };
                            Python::attach(work)
                        } else {
                            towline::run::chain(model, k, job, member)
                        }
                    })
                })
            })
        })
    }
}
