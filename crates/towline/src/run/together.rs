//! Chains on threads: they meet to share what they learn, and take turns where there are fewer threads than chains.

use super::open;
use crate::chain::exchange::Exchange;
use crate::error::Error;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex};

/// What chains on threads share: each takes its [`Member`] and warms up through it.
#[derive(Debug)]
pub struct Together {
    chains: usize,
    meeting: Mutex<Meeting>,
    met: Condvar,
    turns: Mutex<Turns>,
    turn: Condvar,
}

/// Where vectors are left until all have come.
#[derive(Debug)]
struct Meeting {
    /// How many times all have met.
    round: u64,
    /// For each chain what it has brought to the next meeting; a chain of another process may be a meeting ahead.
    brought: Vec<VecDeque<Vec<f64>>>,
    /// What chains here have brought and chains elsewhere have not been sent; nothing where there are none.
    outgoing: Option<Vec<(usize, Vec<f64>)>>,
    /// What was brought to the last complete meeting.
    all: Arc<Vec<Vec<f64>>>,
    /// Why there will be no further one.
    over: Option<String>,
}

/// Who may work: no more than there are threads for, first come, first served.
#[derive(Debug)]
struct Turns {
    free: usize,
    next: u64,
    queue: VecDeque<u64>,
}

/// One chain's part in it.
#[derive(Debug)]
pub struct Member {
    chain: usize,
    shared: Arc<Together>,
}

impl Together {
    /// For so many chains, of which no more than `threads` work at a time.
    pub fn new(chains: usize, threads: usize) -> Arc<Self> {
        Self::make(chains, threads, None)
    }

    /// The same where some of the chains are elsewhere: what those here bring is kept to be sent to them.
    pub(super) fn with_others(chains: usize, threads: usize) -> Arc<Self> {
        Self::make(chains, threads, Some(Vec::new()))
    }

    fn make(chains: usize, threads: usize, outgoing: Option<Vec<(usize, Vec<f64>)>>) -> Arc<Self> {
        Arc::new(Self {
            chains,
            meeting: Mutex::new(Meeting {
                round: 0,
                brought: vec![VecDeque::new(); chains],
                outgoing,
                all: Arc::default(),
                over: None,
            }),
            met: Condvar::new(),
            turns: Mutex::new(Turns {
                free: threads,
                next: 0,
                queue: VecDeque::new(),
            }),
            turn: Condvar::new(),
        })
    }

    /// Chain k's part.
    pub fn member(self: &Arc<Self>, chain: usize) -> Member {
        Member {
            chain,
            shared: Arc::clone(self),
        }
    }

    /// A chain will not come any more: nobody need wait for it.
    pub fn leave(&self, chain: usize, why: &str) {
        self.end(format!("chain {chain}: {why}"));
    }

    /// There will be no further meeting.
    pub(super) fn end(&self, why: String) {
        open(&self.meeting).over.get_or_insert(why);
        self.met.notify_all();
    }

    /// Why there will be no further meeting, where that is so.
    pub(super) fn over(&self) -> Option<String> {
        open(&self.meeting).over.clone()
    }

    /// What chains here have brought since this was asked last.
    pub(super) fn take_outgoing(&self) -> Vec<(usize, Vec<f64>)> {
        let mut meeting = open(&self.meeting);
        meeting
            .outgoing
            .as_mut()
            .map(std::mem::take)
            .unwrap_or_default()
    }

    /// A chain that is elsewhere has brought this.
    pub(super) fn bring(&self, chain: usize, numbers: Vec<f64>) {
        let mut meeting = open(&self.meeting);
        if let Some(brought) = meeting.brought.get_mut(chain) {
            brought.push_back(numbers);
        }
        if meeting.is_complete() {
            self.met.notify_all();
        }
    }

    /// A chain hangs: nobody need wait for it, and its turn is another's.
    pub fn give_up(&self, chain: usize, why: &str) {
        self.leave(chain, why);
        self.give_turn();
    }

    fn take_turn(&self) {
        let mut turns = open(&self.turns);
        let ticket = turns.next;
        turns.next += 1;
        turns.queue.push_back(ticket);
        while turns.free == 0 || turns.queue.front() != Some(&ticket) {
            turns = self
                .turn
                .wait(turns)
                .unwrap_or_else(std::sync::PoisonError::into_inner);
        }
        turns.queue.pop_front();
        turns.free -= 1;
        self.turn.notify_all();
    }

    fn give_turn(&self) {
        open(&self.turns).free += 1;
        self.turn.notify_all();
    }
}

impl Meeting {
    /// Whether all have come; then they have met.
    fn is_complete(&mut self) -> bool {
        let complete = self.brought.iter().all(|brought| !brought.is_empty());
        if complete {
            let all = self.brought.iter_mut().filter_map(VecDeque::pop_front);
            self.all = Arc::new(all.collect());
            self.round += 1;
        }
        complete
    }
}

impl Member {
    /// Works when it is this chain's turn.
    pub fn begin<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        self.shared.take_turn();
        let answer = work(self);
        self.shared.give_turn();
        answer
    }

    /// This chain will not come any more, and why: nobody need wait for it.
    pub fn leave(&self, why: &str) {
        self.shared.leave(self.chain, why);
    }
}

impl Exchange for Member {
    fn chains(&self) -> usize {
        self.shared.chains
    }

    fn chain(&self) -> usize {
        self.chain
    }

    fn gather(&mut self, mine: &[f64]) -> Result<Vec<Vec<f64>>, Error> {
        let mut meeting = open(&self.shared.meeting);
        if let Some(why) = &meeting.over {
            return Err(Error::Exchange(why.clone()));
        }
        let round = meeting.round;
        meeting.brought[self.chain].push_back(mine.to_vec());
        if let Some(outgoing) = &mut meeting.outgoing {
            outgoing.push((self.chain, mine.to_vec()));
        }
        if meeting.is_complete() {
            self.shared.met.notify_all();
            return Ok(meeting.all.to_vec());
        }
        // Whoever waits works not: another chain may have the thread meanwhile.
        self.shared.give_turn();
        // A meeting that was complete counts, even if somebody has left since.
        while meeting.round == round && meeting.over.is_none() {
            meeting = self
                .shared
                .met
                .wait(meeting)
                .unwrap_or_else(std::sync::PoisonError::into_inner);
        }
        let answer = if meeting.round > round {
            Ok(meeting.all.to_vec())
        } else {
            Err(Error::Exchange(meeting.over.clone().unwrap_or_default()))
        };
        drop(meeting);
        self.shared.take_turn();
        answer
    }

    fn aside(&mut self, wait: &mut (dyn FnMut() + Send)) {
        // Whoever waits works not.
        self.shared.give_turn();
        wait();
        self.shared.take_turn();
    }

    fn rest(&mut self) {
        if !open(&self.shared.turns).queue.is_empty() {
            self.shared.give_turn();
            self.shared.take_turn();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn chains_meet_whatever_the_number_of_threads() {
        for threads in [1, 2, 5] {
            let together = Together::new(5, threads);
            let working = AtomicUsize::new(0);
            std::thread::scope(|scope| {
                for k in 0..5 {
                    let (together, working) = (&together, &working);
                    scope.spawn(move || {
                        together.member(k).begin(|member| {
                            for round in 0..200 {
                                let now = working.fetch_add(1, Ordering::SeqCst);
                                assert!(now < threads);
                                working.fetch_sub(1, Ordering::SeqCst);
                                let all = member.gather(&[k as f64, f64::from(round)]).unwrap();
                                let expected: Vec<_> = (0..5)
                                    .map(|j| vec![f64::from(j), f64::from(round)])
                                    .collect();
                                assert_eq!(all, expected);
                                member.rest();
                            }
                        });
                    });
                }
            });
        }
    }

    #[test]
    fn nobody_waits_for_a_chain_that_left() {
        let together = Together::new(3, 2);
        std::thread::scope(|scope| {
            for k in 0..2 {
                let together = &together;
                scope.spawn(move || {
                    let error = together.member(k).begin(|m| m.gather(&[1.0])).unwrap_err();
                    assert!(error.to_string().contains("chain 2: it fell"), "{error}");
                });
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
            together.member(2).begin(|m| m.leave("it fell"));
        });
    }
}
