//! Looks for the warm-up of one chain: by workers where there are any, else by the chain itself; and none of them twice, whatever
//! happens in between.

use super::crew::Done;
use super::driver::Job;
use super::guard::{Guard, StopSignal};
use crate::chain::exchange::Exchange;
use crate::erased::{AnyModel, AnyTarget};
use crate::error::Error;
use crate::frame::Laplace;
use crate::store::{Failure, Looked};
use crate::warmup::look::{Look, Looks, Wanted, look};
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Who looks for a chain.
pub(super) struct Looker<'a> {
    guard: &'a Guard<'a, AnyModel<'a>, true>,
    desk: Desk<'a>,
}

/// Where looks are received.
struct Desk<'a> {
    chain: usize,
    job: &'a Job,
    lenient: bool,
    looked: Looked,
}

impl<'a> Looker<'a> {
    pub fn new(
        guard: &'a Guard<'a, AnyModel<'a>, true>,
        chain: usize,
        job: &'a Job,
    ) -> Result<Self, Error> {
        let run = job.manifest.fingerprint();
        let desk = Desk {
            chain,
            job,
            lenient: guard.is_lenient(),
            looked: Looked::open(&job.folder, chain, run)?,
        };
        Ok(Self { guard, desk })
    }
}

impl Desk<'_> {
    /// Takes what came of a look: an error is told, and is none where it counts as outside the support.
    fn take(&self, x: &[f64], done: Done) -> Result<Option<Look>, Error> {
        let watch = &self.job.watches[self.chain];
        watch.slow_evaluations.fetch_add(1, Ordering::Relaxed);
        watch.take_over(done.failed, done.failures);
        match done.found {
            Err(error) if self.lenient => {
                watch.note_x(x);
                watch.note_failure(self.chain, &[], error.to_string());
                Ok(None)
            }
            found => found,
        }
    }
}

impl Looks for Looker<'_> {
    fn looks(
        &self,
        rule: &Laplace,
        xs: &[Vec<f64>],
        wanted: Wanted,
        exchange: &mut dyn Exchange,
    ) -> Result<Vec<Option<Look>>, Error> {
        let (key, desk) = (rule.key(), &self.desk);
        let mut found: Vec<Option<Result<Option<Look>, Error>>> = xs
            .iter()
            .map(|x| desk.looked.get(key, wanted, x).map(Ok))
            .collect();
        let open: Vec<usize> = (0..xs.len()).filter(|&k| found[k].is_none()).collect();
        let Some(crew) = &desk.job.crew else {
            let target: &AnyTarget = self.guard;
            for k in open {
                let begun = Instant::now();
                let look = look(&target, rule, &xs[k], wanted)?;
                let seconds = begun.elapsed().as_secs_f64();
                desk.looked.keep(key, wanted, &xs[k], &look, seconds)?;
                found[k] = Some(Ok(look));
            }
            return found.into_iter().flatten().collect();
        };
        let places: Vec<(usize, &[f64])> = open.iter().map(|&k| (k, &xs[k][..])).collect();
        let stops = || desk.job.control.is_stopping();
        let mut unkept = Ok(());
        let mut take = |k: usize, done: Done| {
            let seconds = done.seconds;
            let look = desk.take(&xs[k], done);
            if let (Ok(look), Ok(())) = (&look, &unkept) {
                unkept = desk.looked.keep(key, wanted, &xs[k], look, seconds);
            }
            found[k] = Some(look);
        };
        let mut whole = Ok(true);
        exchange.aside(&mut || {
            whole = crew.look(desk.chain, rule, &places, wanted, &stops, &mut take);
        });
        unkept?;
        let failed = found.iter().flatten().filter(|one| one.is_err()).count();
        if failed > 1 {
            // The first is reported by whoever ends the run; the others are told here.
            let errors = found.iter().flatten().filter_map(|one| one.as_ref().err());
            for error in errors.skip(1) {
                let failure = Failure::of(desk.chain, 0, error);
                desk.job.failures.log(&failure)?;
            }
        }
        let all: Vec<Option<Look>> = found.into_iter().flatten().collect::<Result<_, _>>()?;
        if whole? {
            return Ok(all);
        }
        Err(Error::Model {
            x: Vec::new(),
            y: Vec::new(),
            source: Box::new(StopSignal),
        })
    }
}
