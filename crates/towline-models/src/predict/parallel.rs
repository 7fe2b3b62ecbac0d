//! The same for every row, on all cores, in the order of the rows.

use std::thread;

/// What `of` makes of each number below `count`.
pub(crate) fn map<T: Send>(count: usize, of: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.min(count).max(1);
    let share = count.div_ceil(threads);
    thread::scope(|scope| {
        let of = &of;
        let part = |first: usize| first..(first + share).min(count);
        let workers: Vec<_> = (0..count)
            .step_by(share.max(1))
            .map(|first| scope.spawn(move || part(first).map(of).collect::<Vec<T>>()))
            .collect();
        let joined = workers.into_iter().map(|worker| worker.join());
        joined
            .flat_map(|part| part.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_order_is_that_of_the_rows() {
        for count in [0, 1, 2, 7, 100] {
            let found = super::map(count, |k| 3 * k);
            assert_eq!(found, (0..count).map(|k| 3 * k).collect::<Vec<_>>());
        }
    }
}
