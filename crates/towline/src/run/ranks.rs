//! A run of several processes: who leads, how the others join, and how they part.

use super::progress::ChainProgress;
use super::{Ended, Run};
use crate::error::Error;
use crate::model::Model;
use crate::store::{Lock, Manifest};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How often the post is looked at.
pub(super) const POST: Duration = Duration::from_millis(1);

/// Carries bytes between the processes of a run, which are numbered from 0: MPI's ranks, or whatever has letters.
///
/// Letters from one rank to another arrive in the order in which they were sent.
pub trait Post {
    /// The number of this process. Rank 0 leads: it holds the run directory's lock and writes the manifest.
    fn rank(&self) -> usize;

    /// How many there are.
    fn ranks(&self) -> usize;

    /// Sends letters, each to the rank beside it, and returns those that have come, each beside the rank it came from.
    /// Does not wait for letters, and takes in those of others while its own are on their way, so that no two
    /// ranks wait for each other.
    ///
    /// # Errors
    /// Where letters can no longer be carried.
    fn carry(&mut self, letters: Vec<(usize, Vec<u8>)>) -> Result<Vec<(usize, Vec<u8>)>, Error>;
}

/// One process on its own.
struct Alone;

impl Post for Alone {
    fn rank(&self) -> usize {
        0
    }

    fn ranks(&self) -> usize {
        1
    }

    fn carry(&mut self, _: Vec<(usize, Vec<u8>)>) -> Result<Vec<(usize, Vec<u8>)>, Error> {
        Ok(Vec::new())
    }
}

/// The processes of a run, as one of them sees them. Chain k is run by rank k, or by k modulo the number of ranks
/// where there are more chains than ranks; draws do not depend on it.
///
/// Every process makes the same run through [`Run::among`] and [`Run::go_among`], and takes leave at the end.
pub struct Ranks {
    post: Box<dyn Post>,
    inbox: VecDeque<(usize, Letter)>,
    /// Those that have taken leave, and why if something was wrong.
    gone: Vec<Option<Option<String>>>,
}

/// What ranks write to each other.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Letter {
    /// To the leader: I have the model, and wait.
    Ready,
    /// From the leader: this is the run.
    Begin { folder: PathBuf, manifest: String },
    /// A chain of mine has brought this to the meeting.
    Brought { chain: usize, numbers: Vec<f64> },
    /// There will be no further meeting.
    Left { why: String, failed: bool },
    /// Somebody told me to stop.
    Stop,
    /// To the leader: so far is a chain of mine.
    Seen {
        chain: usize,
        progress: Box<ChainProgress>,
    },
    /// To the leader: a chain of mine has ended.
    Ended { chain: usize, how: How },
    /// I shall write no more; and why, if something was wrong.
    Farewell { why: Option<String> },
}

/// How a chain ended, as far as it can be written.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum How {
    /// As it should.
    Well(Ended),
    /// Because another had ended.
    Echo(String),
    /// It failed.
    Badly(String),
}

impl std::fmt::Debug for Ranks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "rank {} of {}", self.rank(), self.ranks())
    }
}

impl Ranks {
    /// The ranks that this post reaches.
    pub fn new(post: Box<dyn Post>) -> Self {
        let gone = vec![None; post.ranks()];
        Self {
            post,
            inbox: VecDeque::new(),
            gone,
        }
    }

    /// This process on its own.
    pub fn alone() -> Self {
        Self::new(Box::new(Alone))
    }

    /// The number of this process.
    pub fn rank(&self) -> usize {
        self.post.rank()
    }

    /// How many there are.
    pub fn ranks(&self) -> usize {
        self.post.ranks()
    }

    /// Whether this process leads.
    pub fn leads(&self) -> bool {
        self.rank() == 0
    }

    /// Which rank runs a chain.
    pub(super) fn of(&self, chain: usize) -> usize {
        chain % self.ranks()
    }

    fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let me = self.rank();
        (0..self.ranks()).filter(move |&rank| rank != me)
    }

    /// Sends letters to the rank beside each, or to all others, and takes in what has come.
    pub(super) fn carry(&mut self, letters: Vec<(Option<usize>, Letter)>) -> Result<(), Error> {
        let unreadable = |error: postcard::Error| Error::Post(error.to_string());
        let mut outgoing = Vec::new();
        for (to, letter) in letters {
            let bytes = postcard::to_stdvec(&letter).map_err(unreadable)?;
            match to {
                Some(rank) => outgoing.push((rank, bytes)),
                None => outgoing.extend(self.others().map(|rank| (rank, bytes.clone()))),
            }
        }
        for (from, bytes) in self.post.carry(outgoing)? {
            let letter = postcard::from_bytes(&bytes).map_err(unreadable)?;
            if let Letter::Farewell { why } = &letter
                && let Some(gone) = self.gone.get_mut(from)
            {
                *gone = Some(why.clone());
            }
            self.inbox.push_back((from, letter));
        }
        Ok(())
    }

    /// The next letter that has come.
    pub(super) fn next(&mut self) -> Option<(usize, Letter)> {
        self.inbox.pop_front()
    }

    /// Waits for the next letter before a run; that somebody has gone is an error then.
    fn await_letter(&mut self) -> Result<(usize, Letter), Error> {
        loop {
            match self.next() {
                // A rank without chains was told first, and has done its part.
                Some((rank, Letter::Farewell { why: None })) if rank != 0 && !self.leads() => {}
                Some((rank, Letter::Farewell { why })) => {
                    let message = why.unwrap_or_else(|| "it has ended".to_owned());
                    return Err(Error::Elsewhere { rank, message });
                }
                Some(other) => return Ok(other),
                None => {
                    std::thread::sleep(POST);
                    self.carry(Vec::new())?;
                }
            }
        }
    }

    /// The leader waits until all others have their model.
    fn await_others(&mut self) -> Result<(), Error> {
        for _ in self.others() {
            self.await_letter()?;
        }
        Ok(())
    }

    /// The leader tells all others what to run.
    fn call(&mut self, folder: &Path, manifest: &Manifest) -> Result<(), Error> {
        let manifest =
            serde_json::to_string(manifest).map_err(|error| Error::Post(error.to_string()))?;
        let folder = folder.to_path_buf();
        self.carry(vec![(None, Letter::Begin { folder, manifest })])
    }

    /// The others say that they are ready, and are told.
    fn answer(&mut self) -> Result<(PathBuf, Manifest), Error> {
        self.carry(vec![(Some(0), Letter::Ready)])?;
        let mut early = VecDeque::new();
        loop {
            match self.await_letter()? {
                (_, Letter::Begin { folder, manifest }) => {
                    early.append(&mut self.inbox);
                    self.inbox = early;
                    let manifest = Manifest::parse(&folder, manifest.as_bytes())?;
                    return Ok((folder, manifest));
                }
                // Another rank was told first, and has begun.
                other => early.push_back(other),
            }
        }
    }

    /// Takes leave, at the end of everything, saying why if something went wrong here; waits until all others have done so too.
    ///
    /// # Errors
    /// Where letters can no longer be carried.
    pub fn farewell(&mut self, why: Option<String>) -> Result<(), Error> {
        self.carry(vec![(None, Letter::Farewell { why })])?;
        while self.others().any(|rank| self.gone[rank].is_none()) {
            std::thread::sleep(POST);
            self.carry(Vec::new())?;
            self.inbox.clear();
        }
        Ok(())
    }
}

impl<M: Model + Send + Sync + 'static> Run<M> {
    /// The same run in several processes: the leader makes it ([`create`](Self::create) or [`open`](Self::open)), and the others join in
    /// when it is there. They have the same model.
    ///
    /// # Errors
    /// Where the leader cannot make it, or somebody else cannot take part.
    pub fn among(
        ranks: &mut Ranks,
        model: &Arc<M>,
        make: impl FnOnce() -> Result<Self, Error>,
    ) -> Result<Self, Error> {
        if ranks.leads() {
            let run = make()?;
            ranks.await_others()?;
            // Before anybody else writes to the directory.
            run.manifest.write(&run.folder)?;
            ranks.call(&run.folder, &run.manifest)?;
            return Ok(run);
        }
        let (folder, manifest) = ranks.answer()?;
        let lock = Lock::beside(&folder, ranks.rank())?;
        Self::of(&folder, Arc::clone(model), manifest, lock)
    }
}
