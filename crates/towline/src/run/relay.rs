//! Between the chains here and those of other processes, while a run goes on: what was brought, who has left, how far each is.

use super::driver::Job;
use super::ranks::{How, Letter, Ranks};
use super::together::Together;
use super::{Ended, TICK};
use crate::error::Error;
use std::time::{Duration, Instant};

/// How often the leader is told how far chains are.
const NEWS: Duration = Duration::from_millis(500);

/// What the ranks have been told of this one.
pub(super) struct Relay<'a> {
    ranks: &'a mut Ranks,
    told_stop: bool,
    told_over: bool,
    told_failed: bool,
    told_news: Instant,
    /// Endings of chains here that the leader has not been told.
    ended: Vec<(usize, How)>,
}

impl<'a> Relay<'a> {
    pub(super) fn new(ranks: &'a mut Ranks) -> Self {
        Self {
            ranks,
            told_stop: false,
            told_over: false,
            told_failed: false,
            told_news: Instant::now(),
            ended: Vec::new(),
        }
    }

    /// Whether this process runs a chain.
    pub(super) fn is_here(&self, chain: usize) -> bool {
        self.ranks.of(chain) == self.ranks.rank()
    }

    /// Whether this process waits for a chain: the leader for all, the others for their own.
    pub(super) fn waits_for(&self, chain: usize) -> bool {
        self.ranks.leads() || self.is_here(chain)
    }

    /// How long to wait for chains here before the post is looked at.
    pub(super) fn patience(&self) -> Duration {
        match self.ranks.ranks() {
            1 => TICK,
            _ => super::ranks::POST,
        }
    }

    /// A chain here has ended.
    pub(super) fn note(&mut self, chain: usize, ended: &Result<Ended, Error>) {
        let how = match ended {
            Ok(ended) => How::Well(*ended),
            Err(error @ (Error::Exchange(_) | Error::Stopped)) => How::Echo(error.to_string()),
            Err(error) => How::Badly(error.to_string()),
        };
        self.ended.push((chain, how));
    }

    /// Sends what is new here, and takes in what is new elsewhere.
    pub(super) fn carry(
        &mut self,
        job: &Job,
        together: &Together,
        endings: &mut [Option<Result<Ended, Error>>],
    ) -> Result<(), Error> {
        if self.ranks.ranks() == 1 {
            return Ok(());
        }
        let letters = self.letters(job, together);
        self.ranks.carry(letters)?;
        while let Some((from, letter)) = self.ranks.next() {
            self.take(from, letter, job, together, endings);
        }
        Ok(())
    }

    fn letters(&mut self, job: &Job, together: &Together) -> Vec<(Option<usize>, Letter)> {
        let brought = together.take_outgoing().into_iter();
        let mut letters: Vec<(Option<usize>, Letter)> = brought
            .map(|(chain, numbers)| (None, Letter::Brought { chain, numbers }))
            .collect();
        if job.control.should_stop() && !self.told_stop {
            self.told_stop = true;
            letters.push((None, Letter::Stop));
        }
        if let Some(why) = together.over() {
            let failed = job.control.is_halted();
            if !self.told_over || (failed && !self.told_failed) {
                (self.told_over, self.told_failed) = (true, failed);
                letters.push((None, Letter::Left { why, failed }));
            }
        }
        if self.ranks.leads() {
            self.ended.clear();
            return letters;
        }
        if self.told_news.elapsed() > NEWS || !self.ended.is_empty() {
            self.told_news = Instant::now();
            let here = (0..job.watches.len()).filter(|&chain| self.is_here(chain));
            letters.extend(here.map(|chain| {
                let progress = Box::new(job.watches[chain].progress());
                (Some(0), Letter::Seen { chain, progress })
            }));
        }
        let ended = self.ended.drain(..);
        letters.extend(ended.map(|(chain, how)| (Some(0), Letter::Ended { chain, how })));
        letters
    }

    fn take(
        &mut self,
        rank: usize,
        letter: Letter,
        job: &Job,
        together: &Together,
        endings: &mut [Option<Result<Ended, Error>>],
    ) {
        match letter {
            Letter::Brought { chain, numbers } => together.bring(chain, numbers),
            Letter::Stop => {
                self.told_stop = true;
                job.control.stop();
            }
            Letter::Left { why, failed } => {
                self.told_over = true;
                self.told_failed |= failed;
                if failed {
                    job.control.halt();
                }
                together.end(why);
            }
            Letter::Seen { chain, progress } => {
                if let Some(watch) = job.watches.get(chain) {
                    watch.mirror(*progress);
                }
            }
            Letter::Ended { chain, how } => {
                if let Some(ending) = endings.get_mut(chain) {
                    ending.get_or_insert(match how {
                        How::Well(ended) => Ok(ended),
                        How::Echo(why) => Err(Error::Exchange(why)),
                        How::Badly(message) => Err(Error::Elsewhere { rank, message }),
                    });
                }
            }
            Letter::Farewell { why } => self.gone(rank, why, job, together, endings),
            // Only before a run.
            Letter::Ready | Letter::Begin { .. } => {}
        }
    }

    /// A rank has gone: its chains will not come any more, if they have not ended as they should.
    fn gone(
        &mut self,
        rank: usize,
        why: Option<String>,
        job: &Job,
        together: &Together,
        endings: &mut [Option<Result<Ended, Error>>],
    ) {
        if let Some(why) = &why {
            job.control.halt();
            together.end(format!("rank {rank}: {why}"));
        }
        for (chain, ending) in endings.iter_mut().enumerate() {
            if self.ranks.of(chain) == rank && ending.is_none() {
                let message = why.clone().unwrap_or_else(|| "it has ended".to_owned());
                *ending = Some(Err(Error::Elsewhere { rank, message }));
            }
        }
    }
}
