//! A run on its way, whatever its model: rounds of chains, and slow points weighed between them.

use super::control::{Control, Watch};
use super::crew::{Aside, Crew};
use super::driver::Job;
use super::progress::Progress;
use super::relay::Relay;
use super::together::{Member, Together};
use super::{Ended, Ranks, STACK, Settings, await_chains, weigh};
use crate::erased::Shared;
use crate::error::Error;
use crate::store::{Failures, Manifest, Weighing};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

/// One chain, from where it stands to its end.
pub(super) type Work = dyn Fn(usize, &Job, &mut Member) -> Result<Ended, Error> + Send + Sync;

/// What is run.
pub(super) struct Rounds {
    pub folder: PathBuf,
    pub manifest: Manifest,
    pub settings: Settings,
    pub strict: bool,
    pub aside: Aside,
    pub model: Arc<dyn Shared>,
    pub work: Arc<Work>,
}

impl Rounds {
    /// All of it.
    pub fn go(
        &self,
        ranks: &mut Ranks,
        stop: &Arc<AtomicBool>,
        see: &mut dyn FnMut(&Progress),
    ) -> Result<Ended, Error> {
        let begun = Instant::now();
        let options = &self.manifest.options;
        // Ranks have their own chains; one process has all it needs for points.
        let asked = options.error.filter(|_| ranks.ranks() == 1);
        let decided = Weighing::read(&self.folder, self.manifest.fingerprint())?;
        let mut weighs = asked.is_some() && !decided.is_some_and(|d| d.chains_instead);
        loop {
            let job = self.job(stop, begun.elapsed(), weighs)?;
            let ended = self.round(ranks, &job, see)?;
            let (Some(error), true) = (asked, job.learned.load(Ordering::Relaxed)) else {
                return Ok(ended);
            };
            let asked = weigh::Asked {
                error,
                workers: self.settings.workers(),
                lenient: options.failures_count_as_outside,
                limit: self.settings.evaluation_limit,
            };
            match weigh::weigh(&self.model, &job, &asked, see)? {
                weigh::Weighed::Ended(ended) => return Ok(ended),
                weigh::Weighed::ChainsInstead => weighs = false,
            }
        }
    }

    /// What chains are told, in a run that has lasted so long already.
    fn job(
        &self,
        stop: &Arc<AtomicBool>,
        lasted: Duration,
        weighs: bool,
    ) -> Result<Arc<Job>, Error> {
        let left = |limit: Duration| limit.saturating_sub(lasted).max(Duration::from_millis(1));
        let limit = self.settings.evaluation_limit;
        let crew = match self.settings.workers {
            Some(workers) if workers > 1 => {
                let model = Arc::clone(&self.model);
                Some(Crew::new(model, workers, limit, self.aside)?)
            }
            _ => None,
        };
        Ok(Arc::new(Job {
            folder: self.folder.clone(),
            manifest: self.manifest.clone(),
            tuning: self.settings.tuning.clone(),
            control: Control::new(Arc::clone(stop), self.settings.time_limit.map(left)),
            checkpoint_every: self.settings.checkpoint_every,
            watches: (0..self.manifest.chains)
                .map(|_| Watch::new(limit))
                .collect(),
            failures: Failures::new(&self.folder),
            strict: self.strict,
            weighs,
            learned: AtomicBool::new(false),
            crew,
        }))
    }

    /// All chains, until they end.
    fn round(
        &self,
        ranks: &mut Ranks,
        job: &Arc<Job>,
        see: &mut dyn FnMut(&Progress),
    ) -> Result<Ended, Error> {
        let chains = self.manifest.chains;
        if ranks.leads() {
            self.manifest.write(&self.folder)?;
        }
        let mut relay = Relay::new(ranks);
        let here: Vec<usize> = (0..chains).filter(|&k| relay.is_here(k)).collect();
        let threads = self.settings.threads_for(here.len());
        let together = if here.len() == chains {
            Together::new(chains, threads)
        } else {
            Together::with_others(chains, threads)
        };
        let (tell, told) = mpsc::channel();
        for k in here {
            let (job, work, tell) = (Arc::clone(job), Arc::clone(&self.work), tell.clone());
            let mut exchange = together.member(k);
            let work = move || {
                let ended = work(k, &job, &mut exchange);
                match &ended {
                    Ok(Ended::Finished | Ended::TargetReached) => {}
                    Ok(_) => exchange.leave("the run was stopped"),
                    Err(error) => {
                        job.control.halt();
                        exchange.leave(&error.to_string());
                    }
                }
                // Nobody listens any more where this chain was given up.
                let _ = tell.send((k, ended));
            };
            std::thread::Builder::new()
                .name(format!("chain {k}"))
                // As much as a main thread has: slow computations are often old Fortran, with its arrays there.
                .stack_size(STACK)
                .spawn(work)
                .map_err(|source| Error::File {
                    doing: "start a thread for",
                    path: self.folder.clone(),
                    source,
                })?;
        }
        drop(tell);
        let outcome = await_chains(job, &told, &together, &mut relay, see);
        see(&job.progress());
        outcome
    }
}
