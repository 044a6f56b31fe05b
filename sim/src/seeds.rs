//! The same work for many seeds on several threads.

use std::{
    ops::Range,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

/// What `work` makes of each seed, in the seeds' order, on `jobs` threads. `done` is told of every seed.
///
/// # Errors
/// The work on some seed failed: the failure of the smallest of them that was reached.
pub fn each<T: Send>(
    seeds: Range<u64>,
    jobs: usize,
    work: impl Fn(u64) -> Result<T, String> + Sync,
    done: impl Fn() + Sync,
) -> Result<Vec<T>, String> {
    let next = AtomicU64::new(seeds.start);
    let results = Mutex::new(Vec::new());
    let run = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                return;
            }
            let result = work(seed);
            if result.is_err() {
                next.store(seeds.end, Ordering::Relaxed);
            }
            results.lock().unwrap_or_else(PoisonError::into_inner).push((seed, result));
            done();
        }
    };
    thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(run);
        }
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(seed, _)| *seed);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::each;

    #[test]
    fn results_come_in_the_order_of_the_seeds() {
        let tenfold = each(3..40, 4, |seed| Ok(seed * 10), || {}).unwrap();
        assert_eq!(tenfold, (3..40).map(|seed| seed * 10).collect::<Vec<_>>());
        let failed = each(0..9, 1, |seed| if seed == 4 { Err("four".to_owned()) } else { Ok(seed) }, || {});
        assert_eq!(failed, Err("four".to_owned()));
    }
}
