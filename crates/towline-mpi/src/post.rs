//! MPI as the post between the processes of a run.

use mpi::request::{Request, scope};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Destination, MatchedReceiveVec, Source};
use towline::Error;
use towline::run::Post;

/// All of MPI's ranks.
pub struct World {
    world: SimpleCommunicator,
}

impl World {
    /// Of this communicator, which nobody else may use.
    pub fn new(world: SimpleCommunicator) -> Self {
        Self { world }
    }

    /// Takes in all letters that have come.
    fn collect(&self, inbox: &mut Vec<(usize, Vec<u8>)>) {
        while let Some(letter) = self.world.any_process().immediate_matched_probe() {
            let (bytes, status) = letter.matched_receive_vec::<u8>();
            inbox.push((number(status.source_rank()), bytes));
        }
    }
}

/// A rank as a number; MPI has none below 0 for a process.
fn number(rank: i32) -> usize {
    usize::try_from(rank).unwrap_or_default()
}

impl Post for World {
    fn rank(&self) -> usize {
        number(self.world.rank())
    }

    fn ranks(&self) -> usize {
        number(self.world.size())
    }

    fn carry(&mut self, letters: Vec<(usize, Vec<u8>)>) -> Result<Vec<(usize, Vec<u8>)>, Error> {
        let mut inbox = Vec::new();
        let letters: Vec<(i32, Vec<u8>)> = letters
            .into_iter()
            .map(|(to, bytes)| {
                let to = i32::try_from(to).map_err(|error| Error::Post(error.to_string()))?;
                Ok((to, bytes))
            })
            .collect::<Result<_, Error>>()?;
        scope(|scope| {
            let mut under_way: Vec<Request<'_, [u8], _>> = letters
                .iter()
                .map(|(to, bytes)| {
                    let to = self.world.process_at_rank(*to);
                    to.immediate_send(scope, bytes.as_slice())
                })
                .collect();
            // A long letter leaves only when it is taken in: two ranks that write to each other must both read meanwhile.
            loop {
                self.collect(&mut inbox);
                under_way = under_way
                    .into_iter()
                    .filter_map(|letter| letter.test().err())
                    .collect();
                if under_way.is_empty() {
                    break;
                }
                std::thread::yield_now();
            }
        });
        Ok(inbox)
    }
}
