//! Jobs on several threads, with results that do not depend on how many.

use anyhow::Result;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// The results of jobs 0, 1, … in this order; the first error, by number, if there is one.
pub fn map<T: Send>(
    jobs: usize,
    threads: usize,
    job: impl Fn(usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= jobs {
                return done;
            }
            let result = job(number);
            if result.is_err() {
                // Nobody need begin another job: all are lost.
                next.store(jobs, Ordering::Relaxed);
            }
            done.push((number, result));
        }
    };
    let mut done: Vec<(usize, Result<T>)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.min(jobs)).map(|_| scope.spawn(work)).collect();
        let joined = workers.into_iter().map(|worker| {
            worker
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        joined.flatten().collect()
    });
    done.sort_unstable_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::bail;

    #[test]
    fn results_come_in_order_whatever_the_number_of_threads() {
        for threads in [1, 2, 7, 100] {
            let squares = map(20, threads, |k| Ok(k * k)).unwrap();
            assert_eq!(squares, (0..20).map(|k| k * k).collect::<Vec<_>>());
        }
        assert!(map(0, 3, Ok).unwrap().is_empty());
    }

    #[test]
    fn an_error_of_one_job_is_the_error_of_all() {
        let failed = map(20, 3, |k| if k == 5 { bail!("job 5") } else { Ok(k) });
        assert_eq!(failed.unwrap_err().to_string(), "job 5");
    }
}
