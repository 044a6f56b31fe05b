//! Runs the same work many times on several threads.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
};

/// Does `work` for every number below `count` on `jobs` threads, and passes the results to `take` in the order of the
/// numbers until `take` returns `false`. What `take` sees does not depend on the number of threads.
pub fn each<T: Send>(count: u64, jobs: usize, work: impl Fn(u64) -> T + Sync, take: impl FnMut(u64, T) -> bool + Send) {
    let (next, stopped) = (AtomicU64::new(0), AtomicBool::new(false));
    let results = Mutex::new((0, BTreeMap::new(), take));
    let run = || {
        while !stopped.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                return;
            }
            let result = work(index);
            let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
            let (taken, waiting, take) = &mut *results;
            waiting.insert(index, result);
            while let Some(result) = waiting.remove(taken).filter(|_| !stopped.load(Ordering::Relaxed)) {
                if !take(*taken, result) {
                    stopped.store(true, Ordering::Relaxed);
                }
                *taken += 1;
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(run);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::each;

    #[test]
    fn results_are_taken_in_order_until_enough() {
        for jobs in [1, 4] {
            let mut taken = Vec::new();
            each(
                100,
                jobs,
                |n| n * 10,
                |n, tenfold| {
                    taken.push((n, tenfold));
                    n < 20
                },
            );
            assert_eq!(taken, (0..=20).map(|n| (n, n * 10)).collect::<Vec<_>>());
        }
        let mut all = 0;
        each(
            37,
            3,
            |_| 1,
            |_, one| {
                all += one;
                true
            },
        );
        assert_eq!(all, 37);
    }
}
